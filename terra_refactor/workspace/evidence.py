"""Evidence from records of runs about the present sources.

Computes: the present function for each recorded one, and recorded functions that no longer exist. Needs: the record
files of the configuration, and the texts. Gives: `read_evidence`, `RunEvidence`.

A recorded function is recognised by its file, its qualified name and its text from `def` to its end. If the text
differs, the record is about other code, and is not used. Decorators may change, and functions may move within their
file.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, TypeAlias

from terra_refactor.config import Config
from terra_refactor.ir.ids import FunctionId
from terra_refactor.ir.program import Program
from terra_refactor.record.child.places import definitions
from terra_refactor.record.record_file import FunctionSeen, Record, both, read_record
from terra_refactor.syntax.source import Source

_FEW: Final = 3

_Key: TypeAlias = tuple[str, str, int]
"""Path as in reports, qualified name, line of the `def`."""


@dataclass(frozen=True, slots=True)
class RunEvidence:
    """Evidence from runs."""

    functions: Mapping[_Key, FunctionSeen] = field(default_factory=dict)
    notices: tuple[str, ...] = ()
    """Notices for the user: records of other files, or of older texts."""

    def key(self, paths: Iterable[str]) -> str:
        """A text with all recorded facts about the functions of some files, for use in keys."""
        wanted = frozenset(paths)
        return repr(sorted((key, repr(seen)) for key, seen in self.functions.items() if key[0] in wanted))

    def given_to(self, program: Program) -> Program:
        """The program with the recorded facts about its functions."""
        if not self.functions:
            return program
        found: dict[FunctionId, FunctionSeen] = {}
        for module in program.modules.values():
            for code in module.functions:
                seen = self.functions.get((module.path, code.qualname, code.def_line))
                if seen is not None:
                    found[code.id] = seen
        return replace(program, recorded=found)


NO_EVIDENCE: Final = RunEvidence()


def evidence_files(config: Config) -> tuple[str, ...]:
    """The record files of a configuration."""
    return tuple(str(Path(config.folder or ".", file)) for file in config.evidence)


def read_evidence(config: Config, sources: Mapping[str, Source]) -> RunEvidence:
    """Evidence about these sources from the records of the configuration.

    Raises:
        UsageError: a record cannot be read.
    """
    files = evidence_files(config)
    return match_records([(file, read_record(file)) for file in files], sources) if files else NO_EVIDENCE


def match_records(records: Sequence[tuple[str, Record]], sources: Mapping[str, Source]) -> RunEvidence:
    """Evidence about these sources from records."""
    by_file: dict[str, str] = {}
    for path, source in sources.items():
        if source.notebook is None:
            by_file[os.path.realpath(source.file or path)] = path
    known: dict[str, dict[tuple[str, str], list[int]]] = {}
    functions: dict[_Key, FunctionSeen] = {}
    notices: list[str] = []
    for file, record in records:
        by_path: dict[str, list[FunctionSeen]] = defaultdict(list)
        for seen in record.functions:
            by_path[seen.path].append(seen)
        met, stale = 0, list[str]()
        for recorded_path, seen_here in by_path.items():
            file_of_record = os.path.realpath(os.path.join(record.root, recorded_path))
            if file_of_record not in by_file:
                continue
            path = by_file[file_of_record]
            if path not in known:
                known[path] = _definitions_of(sources[path])
            for seen in seen_here:
                met += 1
                lines = known[path].get((seen.qualname, seen.digest))
                if not lines:
                    stale.append(f"{path}: {seen.qualname}")
                    continue
                key = (path, seen.qualname, min(lines, key=lambda line: abs(line - seen.line)))
                functions[key] = seen if key not in functions else both(functions[key], seen)
        name = os.path.basename(file)
        if by_path and not met:
            notices.append(f"{name}: records no function of the given files")
        if stale:
            more = f" and {len(stale) - _FEW} more" if len(stale) > _FEW else ""
            notices.append(
                f"{name}: {len(stale)} of {met} recorded functions have changed since, so their record is not used: "
                f"{', '.join(stale[:_FEW])}{more}"
            )
    return RunEvidence(functions, tuple(notices))


def _definitions_of(source: Source) -> dict[tuple[str, str], list[int]]:
    found: dict[tuple[str, str], list[int]] = defaultdict(list)
    for qualname, line, digest in definitions(source.text.encode("utf-8", "replace")).values():
        found[qualname, digest].append(line)
    return found
