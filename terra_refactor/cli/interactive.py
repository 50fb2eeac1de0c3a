"""`fix --interactive`: asks about one change after the other, with its reason.

Computes: the accepted changes. Needs: the changes of `fix`, answers on standard input. Gives: `choose`: the same report with the
accepted changes, still unwritten. The end of the input rejects the rest.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from enum import Enum

from rich.console import Console
from rich.text import Text

from terra_refactor.classify.decision import Decision, Level
from terra_refactor.config import Config
from terra_refactor.refactor.plan import refactor_file
from terra_refactor.refactor.result import Change, FileRefactoring, Outcome
from terra_refactor.report.to_text import print_diff
from terra_refactor.rules.rule import Finding
from terra_refactor.syntax.edit import apply_edits, unified_diff
from terra_refactor.workspace.fixes import edits_by_function, fix_findings, fixes_of
from terra_refactor.workspace.results import FixReport


class UserAnswer(Enum):
    """A user's answer to a proposed change."""

    YES = "y"
    NO = "n"
    ALL = "a"
    """Accepts this one and all that follow."""
    QUIT = "q"
    """Rejects this one and all that follow; accepted ones are made."""


class _Questions:
    """Asks about each change, until the user accepts or rejects all others."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._standing: bool | None = None

    def wanted(self, change: Change, diff: str, number: int, count: int) -> bool:
        if self._standing is not None:
            return self._standing
        console = self._console
        console.print()
        console.print(
            Text(f"[{number}/{count}] {change.path}:{change.line} {change.qualname}", style="bold"), soft_wrap=True
        )
        console.print(Text(change.reason), soft_wrap=True)
        for assumption in change.assumptions:
            console.print(Text(f"assumes: {assumption}", style="yellow"), soft_wrap=True)
        print_diff(console, diff)
        match self._ask():
            case UserAnswer.YES:
                return True
            case UserAnswer.NO:
                return False
            case UserAnswer.ALL:
                self._standing = True
            case UserAnswer.QUIT:
                self._standing = False
        return self._standing

    def _ask(self) -> UserAnswer:
        while True:
            self._console.print("Make this change? [y]es, [n]o, [a]ll, [q]uit: ", end="")
            line = sys.stdin.readline()
            if not line:
                return UserAnswer.QUIT
            for answer in UserAnswer:
                if line.strip().lower() in (answer.value, answer.name.lower()):
                    return answer


def choose(fixed: FixReport, settings: Config, console: Console) -> FixReport:
    """Asks about every change that would be made."""
    questions = _Questions(console)
    count = sum(change.outcome is Outcome.DONE for file in fixed.files for change in file.changes)
    number = 0
    edits = edits_by_function(fixed.report)
    decisions = {(decision.path, decision.line, decision.qualname): decision for decision in fixed.report.decisions}
    findings = fixes_of(fixed.report, fixed.report.findings)
    files: list[FileRefactoring] = []
    for file in fixed.files:
        source = file.source
        accepted: list[Decision] = []
        kept: list[Finding] = []
        for change in file.changes:
            if change.outcome is not Outcome.DONE:
                continue
            number += 1
            if change.title:
                finding = next(
                    found
                    for found in findings
                    if (found.path, found.span.line, f"{found.rule} {found.name}", found.message)
                    == (change.path, change.line, change.title, change.reason)
                )
                diff = unified_diff(source.path, source.text, apply_edits(source.text, findings[finding]))
                if questions.wanted(change, diff, number, count):
                    kept.append(finding)
                continue
            decision = decisions[change.path, change.line, change.qualname]
            diff = unified_diff(source.path, source.text, apply_edits(source.text, edits[decision.function]))
            if questions.wanted(change, diff, number, count):
                accepted.append(decision)
        if accepted:
            files.append(refactor_file(source, accepted, Level(settings.level)))
        elif kept:
            files.extend(fix_findings(fixed.report, kept, Level(settings.level)))
    return replace(fixed, files=tuple(files))
