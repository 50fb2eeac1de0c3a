"""TR903: a file that could not be analysed."""

from __future__ import annotations

from typing import Final

from terra_refactor.rules.rule import Rule, RuleKind, Samples, Severity

RULE: Final = Rule(
    id="TR903",
    name="unreadable-file",
    kind=RuleKind.DIAGNOSTIC,
    severity=Severity.ERROR,
    summary="A file that could not be analysed.",
    explanation=(
        "The file does not parse, cannot be decoded, or cannot be read. Other files are analysed without it: names that they import from "
        "it are unknown. It is never written to. It is listed among the errors of a report, not among its findings; no option silences it, "
        "and the exit code is 3."
    ),
    samples=Samples(
        bad="""\
def scale(x:  # TR903
    return x * 2
""",
        good="""\
def scale(x):
    return x * 2
""",
    ),
    cure="Fix the file, or exclude it with `exclude`.",
)
