"""Data files: paths that the program computes, and the present contents of the files.

Computes: the files that `__file__`, `Path(...) / name` and `os.path.join(...)` name; reads of open files, their texts and lines; numbers
read from them (lengths of lists, fields of a line, shapes of arrays), as sizes with the present number as default (`dim.loaded`). Needs:
`Program.data`. Gives: `DATA_FILES`, by canonical name, and functions for other operations on paths and texts. Ignores: files that the
program writes, those with several candidates, and files outside of the given paths. Another run may read another file. So a finding that
depends on such a number is a warning that names it, and no branch is decided by it, except in the analysis of the default run
(`Program.usual`), which uses short texts and all numbers of the present files.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable
from typing import Final

from terra_refactor.analysis.data_contents import (
    archive_headers,
    array_header,
    fields_of_lines,
    rows_of_table,
    table_shape,
    text_of,
)
from terra_refactor.analysis.engine import Site
from terra_refactor.analysis.frames import CallArguments
from terra_refactor.analysis.freezing import freeze
from terra_refactor.analysis.transfer.allocation import new_list, thaw
from terra_refactor.domain.dim import Dim, loaded
from terra_refactor.domain.dtype import FLOAT64, DType, dtype_named
from terra_refactor.domain.file_marks import FileMark, FilePart, mark_of, object_with, text_with
from terra_refactor.domain.state import HeapKey
from terra_refactor.domain.tensor import TensorType
from terra_refactor.domain.value import (
    FALSE,
    NONE,
    TRUE,
    UNKNOWN,
    UNKNOWN_STR,
    BoundMethod,
    Constant,
    FrozenDict,
    FrozenList,
    LibraryValue,
    Scalar,
    TensorKind,
    TensorValue,
    TupleValue,
    Value,
)
from terra_refactor.ir import ops
from terra_refactor.tf_model import registry
from terra_refactor.tf_model.arguments import dtype_argument
from terra_refactor.tf_model.interpreted import PATH, Interpreted, by_name
from terra_refactor.tf_model.name_table import words

_STARTED: Final = "?"
"""Prefix of a path relative to the working directory of the program."""
_WRITTEN: Final = "@written "
"""Prefix of a module's fields that record the files that the program writes."""
_BY_NAME: Final = "by name "
"""Precedes the separator of a table whose rows are dicts."""
_MOST: Final = 10**9
_MOST_TEXT: Final = 8_000
"""Maximum length of a text that is known as a whole."""

Handler = Callable[[Site, CallArguments, Value | None], Value | None]


# --- which file ---------------------------------------------------------------------------------------------------------------------


def name_of_module_file(site: Site) -> Value:
    """`__file__`."""
    program = site.engine.program
    if not program.data:
        return UNKNOWN_STR
    return text_with(FileMark(FilePart.PATH, program.path_of(site.frame.function.id.module)))


def _path(value: Value | None) -> str | None:
    """The path of a value, with a leading `?` if it is relative to the program's working directory."""
    if isinstance(value, Constant) and isinstance(value.value, str) and not posixpath.isabs(value.value):
        return _STARTED + posixpath.normpath(value.value)
    mark = mark_of(value)
    return mark.path if mark is not None and mark.part is FilePart.PATH else None


def _joined(first: str, *parts: str) -> str | None:
    if any(posixpath.isabs(part) for part in parts):
        return None
    started, path = (_STARTED, first[1:]) if first.startswith(_STARTED) else ("", first)
    return started + posixpath.normpath(posixpath.join(path, *parts))


def _texts(values: tuple[Value, ...]) -> list[str] | None:
    texts = [value.value for value in values if isinstance(value, Constant) and isinstance(value.value, str)]
    return texts if len(texts) == len(values) else None


def _is_used(site: Site) -> bool:
    return bool(site.engine.program.data)


def file_at(site: Site, value: Value | None) -> str | None:
    """The data file of a value (a path, an open file, its text), if it exists and the program does not write it."""
    mark = mark_of(value)
    path = _path(value) if mark is None or mark.part is FilePart.PATH else mark.path
    program = site.engine.program
    if path is None or not program.data:
        return None
    if not path.startswith(_STARTED):
        found = path if path in program.data else None
    else:
        # a program is usually started in its own folder or a parent
        folder, candidates = posixpath.dirname(program.path_of(site.frame.function.id.module)), list[str]()
        while True:
            candidates.append(posixpath.normpath(posixpath.join(folder, path[1:])))
            if not folder or posixpath.dirname(folder) == folder:
                break
            folder = posixpath.dirname(folder)
        there = [candidate for candidate in candidates if candidate in program.data]
        found = there[0] if there and all(program.data[each] == program.data[there[0]] for each in there) else None
    return None if found is None or site.frame.state.get(_place(site, found)) is not None else found


def _place(site: Site, file: str) -> HeapKey:
    return site.engine.loader.object_of(next(iter(site.engine.program.modules))), f"{_WRITTEN}{file}"


def _note_written(site: Site, value: Value | None) -> None:
    file = file_at(site, value)
    if file is not None:
        place = _place(site, file)
        site.engine.unsettle(place)
        site.frame.state.set(place, TRUE)


def _content(site: Site, file: str) -> bytes:
    return site.engine.program.data[file]


def number_in_file(site: Site, file: str, what: str, number: int, shown: str) -> Dim:
    """A number from a file: `what` identifies it, and `shown` is its name in messages."""
    if site.engine.program.usual:
        return number
    return loaded(f"{file}\t{what}", shown, 1, number, file) if 1 <= number <= _MOST else None


# --- paths --------------------------------------------------------------------------------------------------------------------------


def _make_path(site: Site, arguments: CallArguments, receiver: Value | None) -> Value | None:
    """`Path(...)`."""
    return _join_paths(site, arguments, None, is_text=False) if arguments.positional else None


def _join_paths(site: Site, arguments: CallArguments, receiver: Value | None, *, is_text: bool) -> Value | None:
    given = arguments.positional if receiver is None else (receiver, *arguments.positional)
    first = _path(given[0]) if given and _is_used(site) else None
    rest = _texts(given[1:])
    joined = None if first is None or rest is None else _joined(first, *rest)
    if joined is None or (is_text and all(isinstance(each, Constant) for each in given)):
        return None
    mark = FileMark(FilePart.PATH, joined)
    return text_with(mark) if is_text else object_with(mark)


def _join_texts(site: Site, arguments: CallArguments, receiver: Value | None) -> Value | None:
    return _join_paths(site, arguments, None, is_text=True)


def _join_objects(site: Site, arguments: CallArguments, receiver: Value | None) -> Value | None:
    return None if receiver is None else _join_paths(site, arguments, receiver, is_text=False)


def _same_text(site: Site, arguments: CallArguments, receiver: Value | None) -> Value | None:
    """`os.path.abspath(path)`, `str(path)`."""
    given = arguments.positional[0] if len(arguments.positional) == 1 and not arguments.keywords else None
    mark = mark_of(given)
    return text_with(mark) if mark is not None and mark.part is FilePart.PATH else None


def _same_object(site: Site, arguments: CallArguments, receiver: Value | None) -> Value | None:
    """`path.resolve()`."""
    return receiver if mark_of(receiver) is not None else None


def _folder_text(site: Site, arguments: CallArguments, receiver: Value | None) -> Value | None:
    mark = mark_of(arguments.positional[0]) if len(arguments.positional) == 1 else None
    above = None if mark is None or mark.part is not FilePart.PATH else _joined(mark.path, "..")
    return None if above is None else text_with(FileMark(FilePart.PATH, above))


def _renamed(site: Site, arguments: CallArguments, receiver: Value | None) -> Value | None:
    """`path.with_name(name)`."""
    mark, names = mark_of(receiver), _texts(arguments.positional)
    joined = _joined(mark.path, "..", *names) if mark is not None and names else None
    return None if joined is None else object_with(FileMark(FilePart.PATH, joined))


def attribute_of_path(value: Value, name: str) -> Value | None:
    """`path.name` of a path to data files; None for other values."""
    mark = mark_of(value)
    if mark is None or mark.part is not FilePart.PATH or isinstance(value, Scalar):
        return None
    above = _joined(mark.path, "..")
    if name == "parent" and above is not None:
        return object_with(FileMark(FilePart.PATH, above))
    if name == "parents":
        found: list[Value] = []
        while above is not None and len(found) < 4:
            found.append(object_with(FileMark(FilePart.PATH, above)))
            above = _joined(above, "..")
        return TupleValue(tuple(found))
    canonical = registry.attribute(PATH, name)
    if canonical is None or registry.is_library_property(canonical):
        return None
    return BoundMethod(LibraryValue(canonical), value)


def joined_by_operator(symbol: str, left: Value, right: Value) -> Value | None:
    """`path / "name"`, and `path + "/name"` of texts; None for other operands."""
    mark = mark_of(left)
    if mark is None or mark.part is not FilePart.PATH or not isinstance(right, Constant):
        return None
    text = right.value
    if not isinstance(text, str):
        return None
    if symbol == "/" and not isinstance(left, Scalar):
        joined = _joined(mark.path, text)
        return None if joined is None else object_with(FileMark(FilePart.PATH, joined))
    if symbol == "+" and isinstance(left, Scalar) and text.startswith("/"):
        joined = _joined(mark.path, text.lstrip("/"))
        return None if joined is None else text_with(FileMark(FilePart.PATH, joined))
    return None


def formatted_path(first: Value, rest: str) -> Value | None:
    """`f"{folder}/name"`; None if it is not a path to data files."""
    return joined_by_operator("+", text_with(mark), Constant(rest)) if (mark := mark_of(first)) is not None else None


# --- open files and their texts -----------------------------------------------------------------------------------------------------


def _open(site: Site, arguments: CallArguments, receiver: Value | None) -> Value | None:
    keywords = dict(arguments.keywords)
    given = arguments.positional if receiver is None else (receiver, *arguments.positional)
    path = given[0] if given else keywords.get("file", keywords.get("name"))
    mode = given[1] if len(given) > 1 else keywords.get("mode", Constant("r"))
    if not _is_used(site) or path is None:
        return None
    how = mode.value if isinstance(mode, Constant) else None
    if not isinstance(how, str) or how.replace("t", "").replace("b", "").replace("U", "") != "r":
        _note_written(site, path)
        return None
    file = file_at(site, path)
    return None if file is None else object_with(FileMark(FilePart.STREAM, file, "b" if "b" in how else ""))


def _read_text(site: Site, arguments: CallArguments, receiver: Value | None) -> Value | None:
    file = file_at(site, receiver)
    return None if file is None else _whole_text(site, file)


def _whole_text(site: Site, file: str) -> Value:
    text = text_of(_content(site, file)) if site.engine.program.usual else None
    return text_with(FileMark(FilePart.TEXT, file)) if text is None or len(text) > _MOST_TEXT else Constant(text)


def _write_path(site: Site, arguments: CallArguments, receiver: Value | None) -> Value | None:
    """`path.write_text(...)`."""
    _note_written(site, receiver)
    return None


def _write_array(site: Site, arguments: CallArguments, receiver: Value | None) -> Value | None:
    """`np.save(path, ...)`."""
    given = arguments.positional[0] if arguments.positional else None
    _note_written(site, given)
    if isinstance(given, Constant) and isinstance(given.value, str):
        _note_written(site, Constant(f"{given.value}.npy"))
    return None


def method_of_stream(site: Site, stream: Value, name: str, arguments: CallArguments) -> Value | None:
    """The result of `stream.name(...)` of an open data file; None for other values."""
    mark = mark_of(stream)
    if mark is None or mark.part is not FilePart.STREAM or mark.detail:
        return None
    match name:
        case "read" if not arguments.positional:
            return _whole_text(site, mark.path)
        case "readline":
            return text_with(FileMark(FilePart.LINE, mark.path))
        case "readlines" if not arguments.positional:
            return _list_of_lines(site, mark, (text_of(_content(site, mark.path)) or "").splitlines())
        case _:
            return None


def entered_stream(manager: Value) -> Value | None:
    """The value that `with open(...) as f` binds."""
    mark = mark_of(manager)
    return manager if mark is not None and mark.part in (FilePart.STREAM, FilePart.ARCHIVE) else None


def _list_of_lines(site: Site, mark: FileMark, lines: list[str]) -> Value:
    line = text_with(FileMark(FilePart.LINE, mark.path))
    shown = f"lines of {posixpath.basename(mark.path)}"
    return new_list(
        site, FrozenList(None, line, number_in_file(site, mark.path, "lines" + mark.detail, len(lines), shown))
    )


def iterated(site: Site, value: Value) -> tuple[Value, Dim] | None:
    """The value that a loop over an open file or a table reader binds, and the number of iterations; None for other values."""
    mark = mark_of(value)
    if mark is None or mark.path not in site.engine.program.data:
        return None
    text = text_of(_content(site, mark.path))
    if text is None or mark.detail == "b":
        return None
    if mark.part is FilePart.STREAM:
        line = text_with(FileMark(FilePart.LINE, mark.path))
        return line, _number_of_rows(site, mark, len(text.splitlines()))
    if mark.part is FilePart.TABLE:
        return _row_of_table(site, mark, text)
    return None


def _row_of_table(site: Site, mark: FileMark, text: str) -> tuple[Value, Dim]:
    """A row from a reader, and the number of remaining ones."""
    separator = mark.detail.removeprefix(_BY_NAME)
    known = rows_of_table(text, separator)
    before = _rows_before(site)
    rows = None
    if known is not None and before is not None and known[0] > before:
        first = 1 if mark.detail.startswith(_BY_NAME) else 0
        number = known[0] - before - first
        shown = f"rows of {posixpath.basename(mark.path)}"
        rows = number_in_file(site, mark.path, f"rows{before + first}", number, shown) if number else None
    if not mark.detail.startswith(_BY_NAME):
        return _row(site, mark, fields_of_lines(text, separator, quoted=True)), rows
    if known is None:
        return UNKNOWN, None
    fields = FrozenDict(tuple((Constant(name), UNKNOWN_STR) for name in known[1]))
    return thaw(site, fields, "row"), rows


def _rows_before(site: Site) -> int | None:
    """The number of rows that a function takes with `next` before it iterates over the others; None if a loop may take some."""
    function, code = site.frame.function, site.engine.code
    asked = [load.id for load in code.index(function).of_kind(ops.LoadName) if load.name == "next"]
    in_loops = any(first < op <= last for op in asked for first, last in code.loops_of(function))
    return None if in_loops else len(asked)


def _number_of_rows(site: Site, mark: FileMark, number: int) -> Dim:
    """The number of lines of a loop over an open file, unless some of them are read before."""
    if any(name in site.engine.names.of(site.frame.function).mentioned for name in ("next", "readline", "readlines")):
        return None
    return number_in_file(site, mark.path, "lines", number, f"lines of {posixpath.basename(mark.path)}")


def _row(site: Site, mark: FileMark, fields: int | None) -> Value:
    shown = f"columns of {posixpath.basename(mark.path)}"
    count = None if fields is None else number_in_file(site, mark.path, f"fields{mark.detail}", fields, shown)
    return new_list(site, FrozenList(None, UNKNOWN_STR, count), "row")


def _reader(site: Site, arguments: CallArguments, receiver: Value | None) -> Value | None:
    """`csv.reader(stream, delimiter=",")`."""
    return _table(arguments, "")


def _dict_reader(site: Site, arguments: CallArguments, receiver: Value | None) -> Value | None:
    """`csv.DictReader(stream, delimiter=",")`, with the names of the first row."""
    return _table(arguments, _BY_NAME)


def _table(arguments: CallArguments, how: str) -> Value | None:
    given = mark_of(arguments.positional[0]) if arguments.positional else None
    separator = dict(arguments.keywords).get("delimiter", Constant(","))
    if given is None or given.part is not FilePart.STREAM or len(arguments.positional) > 1:
        return None
    if any(name not in ("delimiter", "skipinitialspace") for name, _ in arguments.keywords):
        return None
    if not isinstance(separator, Constant) or not isinstance(separator.value, str) or len(separator.value) != 1:
        return None
    return object_with(FileMark(FilePart.TABLE, given.path, how + separator.value))


_STRIPPING: Final = {"strip": str.strip, "rstrip": str.rstrip, "lstrip": str.lstrip}


def _stripped(method: str) -> Handler:
    def strip(site: Site, arguments: CallArguments, receiver: Value | None) -> Value | None:
        mark = mark_of(receiver)
        if mark is None or mark.part not in (FilePart.TEXT, FilePart.LINE) or arguments.keywords:
            return None
        if mark.part is FilePart.LINE or not arguments.positional:
            return text_with(FileMark(mark.part, mark.path, mark.detail + f"{method} "))
        return None

    return strip


def _split(site: Site, arguments: CallArguments, receiver: Value | None) -> Value | None:
    """`text.split(separator)`."""
    mark = mark_of(receiver)
    if mark is None or mark.path not in site.engine.program.data or arguments.keywords or len(arguments.positional) > 1:
        return None
    given = arguments.positional[0] if arguments.positional else NONE
    separator = given.value if isinstance(given, Constant) else ""
    text = text_of(_content(site, mark.path))
    if text is None or not (separator is None or (isinstance(separator, str) and separator)):
        return None
    if mark.part is FilePart.LINE:
        return _row(site, FileMark(mark.part, mark.path, repr(separator)), fields_of_lines(text, separator))
    if mark.part is not FilePart.TEXT:
        return None
    parts = _with_methods(text, mark.detail).split(separator)
    if separator == "\n":
        return _list_of_lines(site, FileMark(mark.part, mark.path, f"{mark.detail}split"), parts)
    shown = f"parts of {posixpath.basename(mark.path)}"
    number = number_in_file(site, mark.path, f"parts{mark.detail}{separator!r}", len(parts), shown)
    return new_list(site, FrozenList(None, UNKNOWN_STR, number))


def _split_lines(site: Site, arguments: CallArguments, receiver: Value | None) -> Value | None:
    mark = mark_of(receiver)
    if mark is None or mark.part is not FilePart.TEXT or mark.path not in site.engine.program.data:
        return None
    text = text_of(_content(site, mark.path))
    return None if text is None else _list_of_lines(site, mark, _with_methods(text, mark.detail).splitlines())


def _with_methods(text: str, detail: str) -> str:
    for method in detail.split():
        text = _STRIPPING[method](text)
    return text


# --- arrays -------------------------------------------------------------------------------------------------------------------------

_KINDS: Final = {"f": "float", "i": "int", "u": "uint", "c": "complex"}


def _dtype(kind: str) -> DType | None:
    """`<f4`."""
    letter, size = kind.lstrip("<>|=")[:1], kind.lstrip("<>|=")[1:]
    if letter == "b":
        return dtype_named("bool")
    return dtype_named(f"{_KINDS[letter]}{8 * int(size)}") if letter in _KINDS and size.isdecimal() else None


def _sizes(site: Site, file: str, shape: tuple[int, ...], names: tuple[str, ...]) -> tuple[Dim, ...]:
    return tuple(
        number_in_file(site, file, name, size, f"{name} of {posixpath.basename(file)}")
        for size, name in zip(shape, names, strict=True)
    )


def _load_array(site: Site, arguments: CallArguments, receiver: Value | None) -> Value | None:
    """`np.load("weights.npy")`."""
    file = file_at(site, arguments.positional[0]) if arguments.positional else None
    if file is not None and file.endswith(".npz"):
        known = archive_headers(_content(site, file))
        return None if known is None else object_with(FileMark(FilePart.ARCHIVE, file))
    header = None if file is None else array_header(_content(site, file))
    return None if file is None or header is None else _array(site, file, header)


def _array(site: Site, file: str, header: tuple[str, tuple[int, ...]], name: str = "") -> Value:
    names = tuple(f"axis {axis}{f' of {name}' if name else ''}" for axis in range(len(header[1])))
    return TensorValue(TensorType(_dtype(header[0]), _sizes(site, file, header[1], names)), TensorKind.NDARRAY)


def array_of_archive(site: Site, archive: Value, index: Value) -> Value | None:
    """`archive["name"]` of an archive of arrays among the data files; None for other values, and if it fails."""
    mark = mark_of(archive)
    if mark is None or mark.part is not FilePart.ARCHIVE or mark.path not in site.engine.program.data:
        return None
    known = archive_headers(_content(site, mark.path)) or {}
    name = index.value if isinstance(index, Constant) else None
    if isinstance(name, str) and name in known:
        return _array(site, mark.path, known[name], name)
    return TensorValue(TensorType(), TensorKind.NDARRAY)


def names_of_archive(site: Site, archive: Value) -> Value | None:
    """`archive.files`."""
    mark = mark_of(archive)
    if mark is None or mark.part is not FilePart.ARCHIVE or mark.path not in site.engine.program.data:
        return None
    known = archive_headers(_content(site, mark.path)) or {}
    return new_list(site, FrozenList(tuple(map(Constant, known)) if site.engine.program.usual else None, UNKNOWN_STR))


_TABLE_SETTINGS: Final = words("dtype comments delimiter skiprows skip_header usecols unpack ndmin encoding")


def _load_table(site: Site, arguments: CallArguments, receiver: Value | None) -> Value | None:
    """`np.loadtxt("data.csv", delimiter=",", skiprows=1)`."""
    keywords = dict(arguments.keywords)
    file = file_at(site, arguments.positional[0]) if len(arguments.positional) == 1 else None
    text = None if file is None else text_of(_content(site, file))
    if file is None or text is None or not keywords.keys() <= _TABLE_SETTINGS:
        return None
    separator, skipped = (
        keywords.get("delimiter", NONE),
        keywords.get("skiprows", keywords.get("skip_header", Constant(0))),
    )
    comment, least = keywords.get("comments", Constant("#")), keywords.get("ndmin", Constant(0))
    dtype = dtype_argument(keywords["dtype"]) if "dtype" in keywords else FLOAT64
    given = [value.value for value in (separator, skipped, comment, least) if isinstance(value, Constant)]
    if len(given) != 4 or dtype is None or keywords.get("unpack", FALSE) != FALSE:
        return None
    match given:
        case [None | str() as between, int() as first, str() as mark, int() as rank]:
            shape = table_shape(text, between or None, first, mark)
        case _:
            return None
    if shape is None:
        return None
    rows, columns = shape
    chosen = keywords.get("usecols", NONE)
    if chosen != NONE:
        columns = _chosen_columns(freeze(site.frame, chosen))
    row_size, column_size = _sizes(site, file, (rows, columns), ("rows", "columns"))
    if chosen != NONE:
        column_size = columns
    if columns == 0:
        return None
    sizes: tuple[Dim, ...] = (row_size, column_size)
    if rank < 2:
        sizes = tuple(size for size, number in zip(sizes, (rows, columns), strict=True) if number != 1)
    return TensorValue(TensorType(dtype, sizes), TensorKind.NDARRAY)


def _chosen_columns(value: Value) -> int:
    """The number of columns in `usecols`; 0 if unknown."""
    match value:
        case Constant(value=int()):
            return 1
        case TupleValue(elements=elements) | FrozenList(elements=tuple() as elements):
            return len(elements)
        case _:
            return 0


DATA_FILES: Final[dict[str, Handler]] = by_name(
    {
        Interpreted.MAKE_PATH: _make_path,
        Interpreted.JOIN_PATHS: _join_objects,
        Interpreted.RENAME_PATH: _renamed,
        Interpreted.SAME_PATH: _same_object,
        Interpreted.JOIN_TEXTS: _join_texts,
        Interpreted.FOLDER_TEXT: _folder_text,
        Interpreted.SAME_TEXT: _same_text,
        Interpreted.OPEN: _open,
        Interpreted.READ_TEXT: _read_text,
        Interpreted.WRITE_PATH: _write_path,
        Interpreted.SAVE_ARRAY: _write_array,
        Interpreted.CSV_READER: _reader,
        Interpreted.CSV_DICT_READER: _dict_reader,
        Interpreted.STRIP: _stripped("strip"),
        Interpreted.LEFT_STRIP: _stripped("lstrip"),
        Interpreted.RIGHT_STRIP: _stripped("rstrip"),
        Interpreted.SPLIT: _split,
        Interpreted.SPLIT_LINES: _split_lines,
        Interpreted.LOAD_ARRAY: _load_array,
        Interpreted.LOAD_TABLE: _load_table,
    }
)
"""Handlers of library functions, by canonical name; each returns None for everything except data files."""
