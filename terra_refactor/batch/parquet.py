"""The result of a batch as a Parquet file, with one row per repository.

Computes: rows from result lines, and lines from rows, so that a run can be resumed from the file alone. Needs:
`pyarrow`, an optional extra. Gives: `ParquetFile`, with the interface of `ResultFile`. A Parquet file cannot be
appended to. During a run, its lines are in a JSON-lines file (`FILE.partial.jsonl`), which remains after an
interrupt; at the end, the rows of both are written atomically, and that file is removed.
"""

from __future__ import annotations

import contextlib
import importlib
import os
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Final

from terra_refactor.batch.limits import BATCH_SCHEMA
from terra_refactor.batch.results import ResultFile
from terra_refactor.errors import UsageError

SUFFIX: Final = ".parquet"
_TEXTS: Final = ("schema", "name", "kind", "location", "revision", "identity", "version", "status", "error")
_COUNTS: Final = ("files", "lines", "functions", "safe", "speculative", "unsafe")
"""Members of `summary` that become columns."""
_NUMBERS: Final = ("peak_memory_mb", "candidates", "unreadable_files")
_MAPS: Final = ("findings", "unsafe_by")


class ParquetFile(ResultFile):
    """An open result file. Use it as a context; the Parquet file is written when it ends without an exception."""

    def __init__(self, file: Path) -> None:
        super().__init__(file.with_name(f"{file.name}.partial.jsonl"))
        self._parquet = file

    def __enter__(self) -> ParquetFile:
        _arrow("pyarrow")
        kept = _read(self._parquet) if self._parquet.exists() else {}
        super().__enter__()
        self.lines = {**kept, **self.lines}
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        super().__exit__(kind, error, traceback)
        if kind is None:
            _write(self._parquet, tuple(self.lines.values()))
            self._file.unlink(missing_ok=True)


def _arrow(module: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise UsageError("--output: Parquet needs `pip install terra-refactor[parquet]`") from error


def _schema() -> Any:
    arrow = _arrow("pyarrow")
    counts = arrow.map_(arrow.string(), arrow.int64())
    return arrow.schema(
        [
            *((name, arrow.string()) for name in _TEXTS),
            ("seconds", arrow.float64()),
            *((name, arrow.int64()) for name in (*_NUMBERS, *_COUNTS)),
            ("analysis_seconds", arrow.float64()),
            ("actions", counts),
            *((name, counts) for name in _MAPS),
        ]
    )


def _write(file: Path, lines: tuple[Mapping[str, Any], ...]) -> None:
    arrow, parquet = _arrow("pyarrow"), _arrow("pyarrow.parquet")
    table = arrow.Table.from_pylist([_row(line) for line in lines], schema=_schema())
    beside = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        parquet.write_table(table, beside)
        os.replace(beside, file)
    except OSError as error:
        raise UsageError(f"{file}: cannot be written: {error.strerror or error}") from error
    finally:
        with contextlib.suppress(OSError):
            beside.unlink()


def _read(file: Path) -> dict[str, Mapping[str, Any]]:
    arrow, parquet = _arrow("pyarrow"), _arrow("pyarrow.parquet")
    try:
        table = parquet.read_table(file)
    except (OSError, arrow.ArrowException) as error:
        raise UsageError(f"{file}: is not a readable Parquet file: {error}") from error
    if not table.schema.equals(_schema()):
        raise UsageError(f"{file}: was not written by this program")
    lines = [_line(row) for row in table.to_pylist()]
    for line in lines:
        if line["schema"] != BATCH_SCHEMA:
            raise UsageError(f"{file}: has the schema {line['schema']}, not {BATCH_SCHEMA}")
    return {str(line["identity"]): line for line in lines}


def _row(line: Mapping[str, Any]) -> dict[str, Any]:
    summary: Mapping[str, Any] = line.get("summary") or {}
    return {
        **{name: line.get(name) for name in (*_TEXTS, "seconds", *_NUMBERS)},
        **{name: summary.get(name) for name in _COUNTS},
        "analysis_seconds": summary.get("seconds"),
        "actions": _pairs(summary.get("actions")),
        **{name: _pairs(line.get(name)) for name in _MAPS},
    }


def _line(row: Mapping[str, Any]) -> dict[str, Any]:
    line = {name: row[name] for name in (*_TEXTS, "seconds", *_NUMBERS) if row[name] is not None}
    if row["functions"] is not None:
        counts = {name: row[name] for name in _COUNTS}
        line["summary"] = {**counts, "actions": dict(row["actions"]), "seconds": row["analysis_seconds"]}
    line.update({name: dict(row[name]) for name in _MAPS if row[name] is not None})
    return line


def _pairs(counts: Mapping[str, int] | None) -> list[tuple[str, int]] | None:
    return None if counts is None else sorted(counts.items())
