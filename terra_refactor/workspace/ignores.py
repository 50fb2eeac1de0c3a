"""Suppression comments for accepted findings, for `lint --add-ignores`.

Computes: the text of each file with a comment for each finding. Needs: findings and sources. Gives: `add_ignores`.
Not suppressed, but listed: findings that a comment cannot reach without changing the program (their line is part of a
string, say), and findings about such comments.

    print(x)           ->  print(x)  # terra: ignore[TR101] until the logger works
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from terra_refactor.errors import SourceError
from terra_refactor.refactor.result import FileRefactoring
from terra_refactor.rules.rule import Finding
from terra_refactor.syntax.comments import read_suppressions
from terra_refactor.syntax.parse import parse_module
from terra_refactor.syntax.source import Source
from terra_refactor.syntax.suppress import suppressed_text
from terra_refactor.workspace.suppression import ABOUT_COMMENTS


@dataclass(frozen=True, slots=True)
class AddedIgnores:
    """The files with their comments, and the findings without one."""

    files: tuple[FileRefactoring, ...]
    silenced: int
    """The number of findings that the comments suppress."""
    missed: tuple[Finding, ...]


def add_ignores(findings: Iterable[Finding], sources: Mapping[str, Source], reason: str) -> AddedIgnores:
    """Adds a comment for each finding; findings on one line share a comment."""
    by_path: dict[str, list[Finding]] = {}
    missed: list[Finding] = []
    for finding in findings:
        if finding.path in sources and finding.rule not in ABOUT_COMMENTS:
            by_path.setdefault(finding.path, []).append(finding)
        else:
            missed.append(finding)
    files: list[FileRefactoring] = []
    silenced = 0
    for path, found in sorted(by_path.items()):
        source = sources[path]
        text, left = _commented(source, found, reason, careful=False)
        if text != source.text and not _is_same_code(source, text):
            text, left = _commented(source, found, reason, careful=True)
        missed.extend(left)
        silenced += len(found) - len(left)
        if text != source.text:
            files.append(FileRefactoring(source, (), text))
    return AddedIgnores(tuple(files), silenced, tuple(missed))


def _commented(source: Source, findings: list[Finding], reason: str, *, careful: bool) -> tuple[str, list[Finding]]:
    """The text with the comments, and the findings without one.

    `careful`: checks after each comment whether the program is unchanged.
    """
    text = source.text
    left: list[Finding] = []
    # from the bottom up, because a comment on a line of its own moves the lines below it
    for finding in sorted(findings, key=lambda finding: (finding.span, finding.rule), reverse=True):
        span = finding.span
        if read_suppressions(text).find(finding.rule, span.line, span.end_line, finding.name) is not None:
            continue
        changed = suppressed_text(text, finding.rule, span, reason)
        if changed is None or (careful and not _is_same_code(source, changed)):
            left.append(finding)
        else:
            text = changed
    return text, left[::-1]


def _is_same_code(source: Source, text: str) -> bool:
    """Whether both texts are the same program, up to comments."""
    try:
        parse_module(replace(source, text=text))
        source.encode(text)
        return ast.dump(ast.parse(source.text)) == ast.dump(ast.parse(text))
    except (SourceError, SyntaxError, ValueError, RecursionError):
        return False
