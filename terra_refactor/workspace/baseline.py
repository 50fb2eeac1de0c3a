"""Baselines: known findings, so that only new ones are reported.

Computes: the findings that a baseline contains, and those of its findings that no longer occur. Needs: findings,
sources, a baseline file. Gives: `read_baseline`, `compare_with_baseline`, `save_baseline`.

A finding is recognised by its fingerprint (rule, function and text of the line), or else by its rule and message,
never by its line number, so lines may move. Each entry matches one finding. The file is JSON, sorted, with paths
relative to its own folder, so that it can be committed and merged. A report written with `--format json` is accepted
as a baseline, too.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from terra_refactor import __version__
from terra_refactor.classify.decision import Classification
from terra_refactor.errors import UsageError
from terra_refactor.rules.rule import Finding
from terra_refactor.syntax.source import Source, display_path
from terra_refactor.workspace.fingerprints import fingerprints
from terra_refactor.workspace.results import Comparison, KnownFinding, WorkspaceReport
from terra_refactor.workspace.writing import write_whole

_SCHEMA: Final = "terra-refactor/baseline/1"
_LARGEST: Final = 100_000_000
"""Maximum number of characters: a configuration may name any file of its repository."""
DEFAULT_FILE: Final = "terra-refactor-baseline.json"


@dataclass(frozen=True, slots=True)
class Baseline:
    """The content of a baseline file. Paths are as in reports."""

    entries: tuple[KnownFinding, ...] = ()
    totals: Mapping[str, int] = field(default_factory=dict)


def read_baseline(file: Path) -> Baseline:
    """The baseline in a file.

    Raises:
        UsageError: it cannot be read, is not a baseline, or has an unknown format version.
    """
    try:
        with file.open(encoding="utf-8") as stream:
            text = stream.read(_LARGEST + 1)
        if len(text) > _LARGEST:
            raise UsageError(f"{file}: is too large for a baseline")
        data = json.loads(text)
    except FileNotFoundError as error:
        raise UsageError(f"{file}: there is no such baseline; `lint --write-baseline` writes one") from error
    except OSError as error:
        raise UsageError(f"{file}: the baseline cannot be read: {error.strerror or error}") from error
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{file}: is not a baseline: it is not JSON ({error})") from error
    schema = data.get("schema") if isinstance(data, dict) else None
    try:
        match schema:
            case "terra-refactor/baseline/1":
                return _from_baseline(data, file)
            case "terra-refactor/report/1":
                return _from_report(data)
            case str() if schema.startswith("terra-refactor/"):
                raise UsageError(
                    f"{file}: has the schema {schema}, which version {__version__} does not support; write it again with --write-baseline"
                )
            case _:
                raise UsageError(f"{file}: is not a baseline; --write-baseline writes one")
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise UsageError(f"{file}: is not a baseline: it is not complete ({error!r})") from error


def _from_baseline(data: Any, file: Path) -> Baseline:
    folder = os.path.abspath(file.parent)
    entries = tuple(
        KnownFinding(
            display_path(os.path.join(folder, entry["path"])),
            str(entry["rule"]),
            str(entry["function"]),
            str(entry["message"]),
            str(entry["fingerprint"]),
        )
        for entry in data["findings"]
    )
    return Baseline(tuple(sorted(entries)), {str(name): int(count) for name, count in data["totals"].items()})


def _from_report(data: Any) -> Baseline:
    entries = tuple(
        KnownFinding(str(entry["path"]), str(entry["rule"]), "", str(entry["message"]), "")
        for entry in data["diagnostics"]
    )
    summary = data["summary"]
    totals = {name: int(summary[name]) for name in ("safe", "speculative", "unsafe")}
    return Baseline(tuple(sorted(entries)), {**totals, "findings": len(entries)})


def known_findings(findings: Sequence[Finding], sources: Mapping[str, Source]) -> tuple[KnownFinding, ...]:
    """The findings in the form of a baseline, in their order."""
    return tuple(
        KnownFinding(finding.path, finding.rule, finding.function, finding.message, fingerprint)
        for finding, fingerprint in zip(findings, fingerprints(findings, sources), strict=True)
    )


def compare_with_baseline(
    findings: Sequence[Finding], sources: Mapping[str, Source], baseline: Baseline, name: str
) -> tuple[tuple[Finding, ...], Comparison]:
    """The findings that the baseline does not contain, and those that it contains.

    Entries about existing files that were not analysed are neither known nor gone.
    """
    now = known_findings(findings, sources)
    new = list(range(len(findings)))
    left = Counter(baseline.entries)
    for key in (_by_fingerprint, _by_message):
        known: dict[tuple[str, str, str], list[KnownFinding]] = {}
        for entry in left.elements():
            known.setdefault(key(entry), []).append(entry)
        still: list[int] = []
        for index in new:
            matches = known.get(key(now[index]), [])
            if matches:
                left[matches.pop()] -= 1
            else:
                still.append(index)
        new = still
    gone = tuple(sorted(entry for entry in left.elements() if entry.path in sources or not os.path.exists(entry.path)))
    is_new = set(new)
    known_now = tuple(finding for index, finding in enumerate(findings) if index not in is_new)
    return tuple(findings[index] for index in new), Comparison(name, known_now, gone, baseline.totals)


def _by_fingerprint(entry: KnownFinding) -> tuple[str, str, str]:
    return entry.path, entry.rule, entry.fingerprint


def _by_message(entry: KnownFinding) -> tuple[str, str, str]:
    return entry.path, entry.rule, entry.message


def totals_of(report: WorkspaceReport, findings: int) -> dict[str, int]:
    """The counts with which a later run is compared."""
    classes = Counter(decision.classification for decision in report.decisions)
    return {**{each.value: classes[each] for each in Classification}, "findings": findings}


def save_baseline(file: Path, report: WorkspaceReport, *, shrink: bool) -> tuple[int, int]:
    """Writes the findings of the run; with `shrink` only those that the baseline already contains. Returns the numbers of its findings
    now and before.

    Findings of existing files that were not analysed are kept. The file is replaced in one step.

    Raises:
        UsageError: it cannot be written.
    """
    old = read_baseline(file) if file.exists() else Baseline()
    known = report.comparison.known if report.comparison is not None else ()
    kept = list(known) if shrink else sorted([*known, *report.findings], key=lambda f: (f.path, f.span, f.rule))
    elsewhere = [entry for entry in old.entries if entry.path not in report.sources and os.path.exists(entry.path)]
    entries = sorted([*known_findings(kept, report.sources), *elsewhere])
    folder = os.path.abspath(file.parent)
    data = {
        "schema": _SCHEMA,
        "tool": {"name": "terra-refactor", "version": __version__},
        "totals": totals_of(report, len(entries)),
        "findings": [
            {
                "path": os.path.relpath(entry.path, folder).replace(os.sep, "/"),
                "rule": entry.rule,
                "function": entry.function,
                "message": entry.message,
                "fingerprint": entry.fingerprint,
            }
            for entry in entries
        ],
    }
    try:
        write_whole(file, json.dumps(data, indent=2, ensure_ascii=False) + "\n")
    except OSError as error:
        raise UsageError(f"{file}: the baseline cannot be written: {error.strerror or error}") from error
    return len(entries), len(old.entries)
