"""Which findings are reported: selection, suppression comments, and a baseline of findings that are known already.

Computes: the findings that remain. Needs: the configuration, the sources, the rules. Gives: `check_selection`,
`select_findings`. Ignores: decisions; they are never filtered.

A code selects the rule of that id or name, and every rule whose id begins with it: `TR3` is a family.
"""

from __future__ import annotations

import difflib
import json
import os
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

from pathspec import GitIgnoreSpec

from terra_refactor.config import Config
from terra_refactor.errors import UsageError
from terra_refactor.rules.registry import all_rules
from terra_refactor.rules.rule import Finding
from terra_refactor.syntax.comments import read_suppressions
from terra_refactor.syntax.source import Source


def check_selection(config: Config) -> None:
    """Whether every code in the configuration stands for a rule.

    Raises:
        UsageError: one does not; the message names the nearest that does.
    """
    codes = [("select", code) for code in config.select] + [("ignore", code) for code in config.ignore]
    codes += [("per-file-ignores", code) for ignored in config.per_file_ignores.values() for code in ignored]
    for option, code in codes:
        if not any(_stands_for(code, rule.id, rule.name) for rule in all_rules().values()):
            raise UsageError(f"{option}: unknown rule `{code}`{nearest_rule(code)}")


def nearest_rule(code: str) -> str:
    """`; did you mean ...?` for a rule that does not exist, or where to look."""
    names = {rule.id: rule.id for rule in all_rules().values()}
    names.update((rule.name, rule.name) for rule in all_rules().values())
    close = difflib.get_close_matches(code, names, n=1) or difflib.get_close_matches(code.upper(), names, n=1)
    return f"; did you mean `{close[0]}`?" if close else "; `terra-refactor explain` lists the rules"


def select_findings(findings: Iterable[Finding], config: Config, sources: Mapping[str, Source]) -> tuple[Finding, ...]:
    """The findings to report, sorted by place.

    Raises:
        UsageError: the baseline cannot be read.
    """
    selected = [finding for finding in findings if _is_selected(finding, config)]
    suppressions = {
        path: read_suppressions(sources[path].text) for path in {f.path for f in selected} if path in sources
    }
    kept = [
        finding
        for finding in selected
        if finding.path not in suppressions
        or suppressions[finding.path].find(
            finding.rule, finding.span.line, finding.span.end_line, rule_name=finding.name
        )
        is None
    ]
    kept.sort(key=lambda finding: (finding.path, finding.span, finding.rule, finding.message))
    return tuple(kept) if config.baseline is None else _without_known(kept, _read_baseline(config))


def _stands_for(code: str, rule: str, name: str) -> bool:
    return code == name or rule.startswith(code.upper())


def _is_selected(finding: Finding, config: Config) -> bool:
    def among(codes: Iterable[str]) -> bool:
        return any(_stands_for(code, finding.rule, finding.name) for code in codes)

    if config.select and not among(config.select):
        return False
    if among(config.ignore):
        return False
    for glob, codes in config.per_file_ignores.items():
        if among(codes) and GitIgnoreSpec.from_lines([glob]).match_file(_from_folder(finding.path, config)):
            return False
    return True


def _from_folder(path: str, config: Config) -> str:
    return os.path.relpath(path, config.folder or ".").replace(os.sep, "/")


def _read_baseline(config: Config) -> Counter[tuple[str, str, str]]:
    """How often each finding is known: by rule, path and message, since lines move."""
    assert config.baseline is not None
    file = Path(config.folder or ".", config.baseline)
    try:
        data = json.loads(file.read_text(encoding="utf-8"))
        entries = data["diagnostics"]
        return Counter((entry["rule"], entry["path"], entry["message"]) for entry in entries)
    except OSError as error:
        raise UsageError(f"{file}: the baseline cannot be read: {error.strerror or error}") from error
    except (ValueError, KeyError, TypeError) as error:
        raise UsageError(f"{file}: is no baseline: a report written with --format json is expected") from error


def _without_known(findings: Iterable[Finding], known: Counter[tuple[str, str, str]]) -> tuple[Finding, ...]:
    left = Counter(known)
    new: list[Finding] = []
    for finding in findings:
        key = (finding.rule, finding.path, finding.message)
        if left[key] > 0:
            left[key] -= 1
        else:
            new.append(finding)
    return tuple(new)
