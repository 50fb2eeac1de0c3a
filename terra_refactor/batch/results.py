"""The result file: one line for each repository, to which a resumed run appends.

Computes: the remaining entries. Needs: the file, if there is one. Gives: `ResultFile`.

Lines are appended and flushed to the disk one by one, so that an interrupt loses at most the running analyses; a
partial line at the end (a full disk, a power cut) is truncated. A repository counts as done if there is a line of the
same identity and version of this program; failed ones are repeated only with `--retry`; then the newest line counts.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from terra_refactor import __version__
from terra_refactor.batch.limits import BATCH_SCHEMA, RepositoryStatus
from terra_refactor.batch.manifest import ManifestEntry
from terra_refactor.errors import UsageError


class ResultFile:
    """An open result file. Use it as a context."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._stream: IO[bytes] | None = None
        self.lines: dict[str, Mapping[str, Any]] = {}
        """The newest line of each identity."""

    def __enter__(self) -> ResultFile:
        try:
            self._stream = open(self._file, "r+b" if self._file.exists() else "w+b")
            self._read(self._stream)
        except BaseException as error:
            self._close()
            if isinstance(error, OSError):
                raise UsageError(f"{self._file}: cannot be written: {error.strerror or error}") from error
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._close()

    def _close(self) -> None:
        if self._stream is not None:
            self._stream.close()

    def _read(self, stream: IO[bytes]) -> None:
        whole = 0
        for number, line in enumerate(stream, start=1):
            if not line.endswith(b"\n"):
                break
            try:
                data = json.loads(line)
                is_ours = data["schema"] == BATCH_SCHEMA
                identity = str(data["identity"])
            except (ValueError, KeyError, TypeError) as error:
                raise UsageError(f"{self._file}:{number}: was not written by this program") from error
            if not is_ours:
                raise UsageError(f"{self._file}:{number}: has the schema {data['schema']}, not {BATCH_SCHEMA}")
            self.lines[identity] = data
            whole += len(line)
        stream.seek(whole)
        stream.truncate()

    def todo(self, entries: Iterable[ManifestEntry], *, retry: bool) -> tuple[ManifestEntry, ...]:
        """The entries without a result of this version; with `retry` also the failed ones."""
        return tuple(entry for entry in entries if not self._has(entry, retry))

    def _has(self, entry: ManifestEntry, retry: bool) -> bool:
        line = self.lines.get(entry.identity)
        if line is None or line.get("version") != __version__:
            return False
        return not retry or line.get("status") == RepositoryStatus.DONE.value

    def add(self, line: Mapping[str, Any]) -> None:
        """Appends a line, and waits until it is on the disk.

        Raises:
            UsageError: it cannot be written; the file then ends with the previous line.
        """
        assert self._stream is not None
        end = self._stream.tell()
        try:
            self._stream.write(json.dumps(line, ensure_ascii=False).encode("utf-8", "backslashreplace") + b"\n")
            self._stream.flush()
            os.fsync(self._stream.fileno())
        except OSError as error:
            os.ftruncate(self._stream.fileno(), end)
            raise UsageError(f"{self._file}: cannot be written: {error.strerror or error}") from error
        self.lines[str(line["identity"])] = line
