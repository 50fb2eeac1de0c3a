"""Selection of the findings to report, and their severity.

Computes: the remaining findings. Needs: the configuration, the sources, the rules. Gives: `check_selection`,
`select_findings`, `without_known`, `compared`. Ignores: decisions; they are never filtered.

A code selects the rule of that id or name, and every rule whose id begins with it: `TR3` is a family. `ALL` is every rule.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from pathspec import GitIgnoreSpec

from terra_refactor.classify.decision import Decision
from terra_refactor.config import Config
from terra_refactor.errors import UsageError
from terra_refactor.rules.registry import all_rules
from terra_refactor.rules.rule import Finding, Severity
from terra_refactor.syntax.location import Span
from terra_refactor.syntax.source import Source
from terra_refactor.workspace.baseline import Baseline, compare_with_baseline, read_baseline
from terra_refactor.workspace.results import Comparison, SuppressedFinding
from terra_refactor.workspace.suppression import NOTHING_UNCHECKED, suppress

_EVERY_RULE = "ALL"


def check_selection(config: Config) -> None:
    """Checks that every code in the configuration matches a rule.

    Raises:
        UsageError: a code matches no rule (the message suggests the nearest one), or a glob is invalid.
    """
    codes = [("select", code) for code in config.select] + [("ignore", code) for code in config.ignore]
    codes += [("extend-select", code) for code in config.extend_select]
    codes += [("per-file-ignores", code) for ignored in config.per_file_ignores.values() for code in ignored]
    codes += [("severity", code) for code in config.severity]
    for option, code in codes:
        if not any(_stands_for(code, rule.id, rule.name) for rule in all_rules().values()):
            raise UsageError(f"{option}: unknown rule `{code}`{nearest_rule(code)}")
    for glob in config.per_file_ignores:
        try:
            GitIgnoreSpec.from_lines([glob])
        except ValueError as error:
            raise UsageError(f"per-file-ignores: not a glob: {error}") from error


def nearest_rule(code: str) -> str:
    """`; did you mean ...?` for an unknown rule, or where to find the list."""
    names = {rule.id: rule.id for rule in all_rules().values()}
    names.update((rule.name, rule.name) for rule in all_rules().values())
    close = difflib.get_close_matches(code, names, n=1) or difflib.get_close_matches(code.upper(), names, n=1)
    return f"; did you mean `{close[0]}`?" if close else "; `terra-refactor explain` lists the rules"


@dataclass(frozen=True, slots=True)
class Selection:
    """The findings to report, and for each other one the reason."""

    findings: tuple[Finding, ...]
    suppressed: tuple[SuppressedFinding, ...] = ()
    comparison: Comparison | None = None


def select_findings(
    findings: Iterable[Finding],
    decisions: Iterable[Decision],
    config: Config,
    sources: Mapping[str, Source],
    unchecked: Mapping[str, Collection[str]] = NOTHING_UNCHECKED,
) -> Selection:
    """The findings to report, sorted by position: the selected ones that no comment suppresses. `unchecked` as in `suppress`."""
    everything = suppress(findings, decisions, sources, unchecked)
    chooser = _Chooser(config)
    kept = sorted(
        (chooser.graded(finding) for finding in everything.findings if chooser.is_selected(finding)), key=_order
    )
    suppressed = tuple(
        sorted(
            (
                replace(entry, finding=chooser.graded(entry.finding))
                for entry in everything.suppressed
                if chooser.is_selected(entry.finding)
            ),
            key=lambda entry: _order(entry.finding),
        )
    )
    return Selection(tuple(kept), suppressed)


def without_known(selection: Selection, config: Config, sources: Mapping[str, Source]) -> Selection:
    """The selection without the findings of the configuration's baseline, if there is one.

    Raises:
        UsageError: the baseline cannot be read.
    """
    if config.baseline is None:
        return selection
    file = Path(config.folder or ".", config.baseline)
    return compared(selection, sources, read_baseline(file), file.name)


def compared(selection: Selection, sources: Mapping[str, Source], baseline: Baseline, name: str) -> Selection:
    """The selection without the findings of the baseline."""
    new, comparison = compare_with_baseline(selection.findings, sources, baseline, name)
    return replace(selection, findings=new, comparison=comparison)


def _order(finding: Finding) -> tuple[str, Span, str, str]:
    return finding.path, finding.span, finding.rule, finding.message


class _Chooser:
    """Applies the configuration to each finding; each glob is compiled once."""

    def __init__(self, config: Config) -> None:
        self._config = config
        self._globs = [(GitIgnoreSpec.from_lines([glob]), codes) for glob, codes in config.per_file_ignores.items()]
        self._severities = {
            code: Severity(word) for code, word in sorted(config.severity.items(), key=lambda item: len(item[0]))
        }

    def is_selected(self, finding: Finding) -> bool:
        config = self._config
        if config.select and not self._among(finding, (*config.select, *config.extend_select)):
            return False
        if self._among(finding, config.ignore):
            return False
        return not any(
            self._among(finding, codes) and glob.match_file(_from_folder(finding.path, config))
            for glob, codes in self._globs
        )

    def graded(self, finding: Finding) -> Finding:
        """The finding with the severity that the configuration gives its rule; the longest code wins."""
        severity = finding.severity
        for code, wanted in self._severities.items():
            if _stands_for(code, finding.rule, finding.name):
                severity = wanted
        return finding if severity is finding.severity else replace(finding, severity=severity)

    @staticmethod
    def _among(finding: Finding, codes: Iterable[str]) -> bool:
        return any(_stands_for(code, finding.rule, finding.name) for code in codes)


def _stands_for(code: str, rule: str, name: str) -> bool:
    return code == name or rule.startswith(code.upper()) or code.upper() == _EVERY_RULE


def _from_folder(path: str, config: Config) -> str:
    return os.path.relpath(path, config.folder or ".").replace(os.sep, "/")
