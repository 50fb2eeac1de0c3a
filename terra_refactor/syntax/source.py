"""The text of one module, as Python decodes it, and its conversion back to bytes.

Computes: text, encoding, line ending and digest of a file, of standard input, or of a notebook.
Needs: bytes. Gives: `Source`, whose `encode` turns an edited text back into the bytes of the file; a text that was not edited
gives back exactly the bytes that were read.
Ignores: whether the text parses (`parse.py` does that).
"""

from __future__ import annotations

import codecs
import contextlib
import io
import os
import re
import stat
import tokenize
from dataclasses import dataclass, field
from hashlib import blake2b

from terra_refactor.errors import SourceError
from terra_refactor.syntax.notebook import Cell, Notebook, read_notebook

STDIN_NAME = "<stdin>"
"""The name of standard input in reports if no other name was given."""

MAX_SOURCE_BYTES = 256 * 1024 * 1024
"""Larger than any source file; a notebook may hold outputs."""
_CHUNK = 1 << 20

_STREAMS = ("/dev/fd/", "/dev/stdin", "/proc/self/fd/")
"""Path prefixes that a shell passes for the output of a command (`<(...)`)."""
_UNPRINTABLE = re.compile("[\0-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
_DIGEST_SIZE = 16
_NEWLINE = re.compile(r"\r\n?|\n")


@dataclass(frozen=True, slots=True)
class Source:
    """One module as text.

    Attributes:
        path: name for reports, relative to the current folder, with `/`.
        text: the decoded text, without a byte order mark and with its own line endings. For a notebook, the text of
            its cells.
        digest: BLAKE2b of the bytes that were read, in hexadecimal; the identity of this content.
        encoding: name of the codec; `utf-8-sig` when the file begins with a byte order mark.
        newline: the first line ending of the text, `"\\n"` when it has none; inserted lines use it.
        file: the absolute path on disk, or None when the text came from elsewhere.
        notebook: the notebook that the text was taken from, or None for a plain module.
        reversible: whether encoding the text again gives the bytes that were read. False only for codecs with several
            spellings of one character; such a file is analysed but never written.
        real: its path when it was read, with all links resolved; None if not looked up.
        is_outside: whether a link inside the run's paths led to this file outside of them; such a file is analysed
            but never written.
    """

    path: str
    text: str
    digest: str
    encoding: str = "utf-8"
    newline: str = "\n"
    file: str | None = None
    notebook: Notebook | None = field(default=None, repr=False)
    reversible: bool = True
    real: str | None = None
    is_outside: bool = False

    @property
    def cells(self) -> tuple[Cell, ...]:
        """The code cells of a notebook in order; empty for a plain module."""
        return self.notebook.cells if self.notebook is not None else ()

    def encode(self, text: str) -> bytes:
        """The bytes of the file when its module text is replaced by `text`.

        Raises:
            SourceError: the text does not fit the file's encoding, or the unchanged parts could not be reproduced
                byte for byte.
        """
        if not self.reversible:
            raise SourceError(self.path, f"cannot be written back byte for byte in its encoding {self.encoding}")
        document = text if self.notebook is None else self.notebook.with_module_text(text, self.path)
        try:
            return document.encode(self.encoding)
        except UnicodeError as error:
            line = document.count("\n", 0, error.start) + 1 if isinstance(error, UnicodeEncodeError) else None
            raise SourceError(self.path, f"the new text does not fit the encoding {self.encoding}", line) from error


def read_source(path: str | os.PathLike[str]) -> Source:
    """Read a `.py`, `.pyi` or `.ipynb` file.

    Raises:
        SourceError: the file is missing, is no file, may not be read, or does not decode.
    """
    name = os.fspath(path)
    shown = display_path(name)
    try:
        if not stat.S_ISREG(os.stat(name).st_mode) and not os.path.isdir(name) and not name.startswith(_STREAMS):
            raise SourceError(shown, "is not a regular file")  # opening a pipe may block, and a device may never end
        with open(name, "rb", opener=_open_at_once) as stream:
            if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode) and not name.startswith(_STREAMS):
                raise SourceError(shown, "is not a regular file")  # the file was replaced between the two calls
            # a reader allocates as much as requested; a source without a size is read up to the limit
            size = os.fstat(stream.fileno()).st_size
            data = stream.read(min(size, MAX_SOURCE_BYTES) + 1)
            while size < len(data) <= MAX_SOURCE_BYTES and (more := stream.read(_CHUNK)):
                data += more
    except OSError as error:
        raise SourceError(shown, describe_os_error(name, error)) from error
    except ValueError as error:  # a null character, or another that a file name cannot contain
        raise SourceError(shown, f"cannot be read: {error}") from error
    if len(data) > MAX_SOURCE_BYTES:
        raise SourceError(shown, f"is too large to be read: more than {MAX_SOURCE_BYTES:,} bytes")
    return _source(data, shown, os.path.abspath(name))


def _open_at_once(name: str, flags: int) -> int:
    """Opens a file, without blocking if it has become a pipe."""
    return os.open(name, flags if name.startswith(_STREAMS) else flags | getattr(os, "O_NONBLOCK", 0))


def source_from_bytes(data: bytes, name: str = STDIN_NAME) -> Source:
    """A source that is not on disk: standard input, or an editor's buffer.

    The suffix of `name` decides whether it is a notebook.
    """
    shown = name if name == STDIN_NAME else display_path(name)
    return _source(data, shown, None)


def source_from_text(text: str, name: str = STDIN_NAME) -> Source:
    """A source whose text is available already (an editor's buffer); an encoding declared in it is ignored."""
    shown = name if name == STDIN_NAME else display_path(name)
    data = text.encode("utf-8", "surrogatepass")
    return _finish(text, data, "utf-8", shown, None)


def display_path(path: str | os.PathLike[str]) -> str:
    """The path as reports show it: `relative_path`, with characters that a report cannot contain escaped.

    File names are bytes: one that is not UTF-8 cannot be printed, and control characters would break the report. The
    result is for display, and identifies a file within a run; use `Source.file` to open it.
    """
    return _UNPRINTABLE.sub(lambda found: found.group().encode("unicode_escape").decode("ascii"), relative_path(path))


def relative_path(path: str | os.PathLike[str]) -> str:
    """The path relative to the current folder, with `/`; absolute if there is no relative one."""
    given = os.fspath(path)
    if os.sep == "/" and not given.startswith(("/", "..")) and os.path.normpath(given) == given:
        return given  # the usual case, and the current folder is not needed
    try:
        relative = os.path.relpath(path)
    except ValueError:  # another drive
        relative = os.path.abspath(path)
    return relative.replace(os.sep, "/")


def describe_os_error(path: str, error: OSError) -> str:
    """One sentence for the user about why a path cannot be read."""
    match error:
        case FileNotFoundError() if os.path.islink(path):
            return f"a symbolic link to {os.readlink(path)}, which does not exist"
        case FileNotFoundError():
            return "does not exist"
        case PermissionError():
            return "permission to read it is denied"
        case IsADirectoryError():
            return "is a folder, not a file"
        case NotADirectoryError():
            return "a part of the path is not a folder"
        case _:
            return f"cannot be read: {error.strerror or error}"


def _source(data: bytes, shown: str, file: str | None) -> Source:
    if shown.endswith(".ipynb"):
        text, encoding = _decode_as(data, "utf-8-sig" if data.startswith(codecs.BOM_UTF8) else "utf-8", shown)
    else:
        text, encoding = _decode(data, shown)
    return _finish(text, data, encoding, shown, file)


def _finish(document: str, data: bytes, encoding: str, shown: str, file: str | None) -> Source:
    notebook = read_notebook(document, shown) if shown.endswith(".ipynb") else None
    text = document if notebook is None else notebook.module_text
    null = text.find("\0")
    if null >= 0:
        line = len(_NEWLINE.findall(text, 0, null)) + 1
        if notebook is not None:
            line, _ = notebook.document_place(line, 1)
        raise SourceError(shown, "contains a null byte, which Python source may not", line)
    first = _NEWLINE.search(text)
    try:
        reversible = (
            encoding == "utf-8" or document.encode(encoding) == data
        )  # text decoded from UTF-8 encodes to the same bytes
    except UnicodeError:  # codecs such as `idna` raise it itself
        reversible = False
    return Source(
        path=shown,
        text=text,
        digest=blake2b(data, digest_size=_DIGEST_SIZE).hexdigest(),
        encoding=encoding,
        newline=first.group() if first is not None else "\n",
        file=file,
        notebook=notebook,
        reversible=reversible,
    )


def _decode(data: bytes, shown: str) -> tuple[str, str]:
    """Decodes by PEP 263: byte order mark, else the declaration in the first two lines, else UTF-8."""
    for mark, name in (
        (codecs.BOM_UTF32_LE, "UTF-32"),
        (codecs.BOM_UTF16_LE, "UTF-16"),
        (codecs.BOM_UTF16_BE, "UTF-16"),
    ):
        if data.startswith(mark):
            raise SourceError(shown, f"is encoded in {name}, which Python source may not be", 1)
    second_line = data.find(b"\n", data.find(b"\n") + 1)
    if not data.startswith(codecs.BOM_UTF8) and b"coding" not in data[: second_line if second_line >= 0 else None]:
        with contextlib.suppress(UnicodeDecodeError):
            return data.decode("utf-8"), "utf-8"  # no encoding is declared, as in most files
    try:
        # Only "\n" ends a line for the tokenizer, while Python reads "\r" as one too; the declaration is in the first two lines.
        head = io.BytesIO(b"\n".join(re.split(rb"\r\n?|\n", data, maxsplit=2)[:2]) + b"\n")
        encoding, _ = tokenize.detect_encoding(head.readline)
    except SyntaxError as error:
        if data.startswith(codecs.BOM_UTF8):
            _decode_as(data, "utf-8-sig", shown)  # names the line, if that is the error
            message = "declares another encoding than its byte order mark, which says UTF-8"
            raise SourceError(shown, message, 1) from error
        if "unknown encoding" in str(error):
            raise SourceError(shown, str(error), 1) from error
        # Without a declaration the tokenizer reports invalid UTF-8 without a line; decoding finds the line.
        encoding = "utf-8"
    return _decode_as(data, encoding, shown)


def _decode_as(data: bytes, encoding: str, shown: str) -> tuple[str, str]:
    try:
        return data.decode(encoding), encoding
    except UnicodeDecodeError as error:
        line = len(re.findall(rb"\r\n?|\n", data[: error.start])) + 1
        byte = data[error.start]
        hint = ""
        if encoding in {"utf-8", "utf-8-sig"}:
            hint = (
                ", and no other encoding is declared" if encoding == "utf-8" else ", which its byte order mark promises"
            )
        message = f"does not decode: byte 0x{byte:02x} is not valid {encoding}{hint}"
        raise SourceError(shown, message, line) from error
    except (LookupError, ValueError, UnicodeError, AssertionError) as error:
        # A declared codec may not be a text encoding (`hex`), or raise errors of its own.
        raise SourceError(shown, f"does not decode as {encoding}: {error}", 1) from error
