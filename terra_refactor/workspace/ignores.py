"""Suppression comments for findings that are to stay: what `lint --add-ignores` writes.

Computes: the text of each file with a comment for each finding. Needs: findings and sources. Gives: `add_ignores`. Ignores: findings that a
comment cannot reach (each line of theirs ends inside a string or in a backslash): they are listed, and their file is as it was.

    print(x)           ->  print(x)  # terra: ignore[TR101] until the logger works
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from terra_refactor.errors import SourceError
from terra_refactor.refactor.result import FileRefactoring
from terra_refactor.rules.rule import Finding
from terra_refactor.syntax.comments import read_suppressions
from terra_refactor.syntax.edit import Edit, apply_edits
from terra_refactor.syntax.layout import comments_of
from terra_refactor.syntax.parse import parse_module
from terra_refactor.syntax.positions import LineIndex
from terra_refactor.syntax.source import Source

_EXISTING = re.compile(r"#\s*terra:\s*ignore\s*\[([^\]]*)\]", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class AddedIgnores:
    """The files with their comments, and the findings that got none."""

    files: tuple[FileRefactoring, ...]
    comments: int
    missed: tuple[Finding, ...]


def add_ignores(findings: Iterable[Finding], sources: Mapping[str, Source], reason: str) -> AddedIgnores:
    """Add a comment for each finding; several of one line share one."""
    by_path: dict[str, list[Finding]] = {}
    missed: list[Finding] = []
    for finding in findings:
        if finding.path in sources:
            by_path.setdefault(finding.path, []).append(finding)
        else:
            missed.append(finding)
    files: list[FileRefactoring] = []
    count = 0
    for path, found in sorted(by_path.items()):
        source = sources[path]
        text, added, left = _commented(source, found, " ".join(reason.split()))
        missed.extend(left)
        if added:
            count += added
            files.append(FileRefactoring(source, (), text))
    return AddedIgnores(tuple(files), count, tuple(missed))


def _commented(source: Source, findings: list[Finding], reason: str) -> tuple[str, int, list[Finding]]:
    rules: dict[int, set[str]] = {}
    left: list[Finding] = []
    lines = LineIndex(source.text)
    for finding in findings:
        place = next(
            (
                line
                for line in range(finding.span.line, finding.span.end_line + 1)
                if _takes_comment(source.text, lines, line)
            ),
            None,
        )
        if place is None:
            left.append(finding)
        else:
            rules.setdefault(place, set()).add(finding.rule)
    text = apply_edits(source.text, [_comment(source, lines, line, codes, reason) for line, codes in rules.items()])
    if not _is_same_code(source, text):
        return source.text, 0, findings
    silenced = read_suppressions(text)
    left.extend(
        finding
        for finding in findings
        if finding not in left
        and silenced.find(finding.rule, finding.span.line, finding.span.end_line, finding.name) is None
    )
    return text, len(rules), left


def _end_of_line(text: str, lines: LineIndex, line: int) -> int:
    end = lines.offset(line + 1, 1) if line < len(lines) else len(text)
    return end - (len(text[:end]) - len(text[:end].rstrip("\r\n"))) if end > lines.offset(line, 1) else end


def _takes_comment(text: str, lines: LineIndex, line: int) -> bool:
    """Whether a comment at the end of the line would be one: not in a string, not after a backslash."""
    start, end = lines.offset(line, 1), _end_of_line(text, lines, line)
    content = text[start:end]
    if not content.strip() or content.rstrip().endswith("\\"):
        return False
    probe = f"{text[:end]}  # {text[end:]}"
    return any(at in (end + 2,) or start <= at < end <= to for at, to in comments_of(probe))


def _comment(source: Source, lines: LineIndex, line: int, codes: set[str], reason: str) -> Edit:
    start, end = lines.offset(line, 1), _end_of_line(source.text, lines, line)
    existing = _EXISTING.search(source.text, start, end)
    if existing is not None:
        together = sorted(codes | {name.strip() for name in existing[1].split(",") if name.strip()})
        return Edit(existing.start(1), existing.end(1), ", ".join(together))
    after = f" {reason}" if reason else ""
    return Edit(end, end, f"  # terra: ignore[{', '.join(sorted(codes))}]{after}")


def _is_same_code(source: Source, text: str) -> bool:
    """Whether both texts are the same program: comments may differ, nothing else."""
    try:
        parse_module(replace(source, text=text))
        source.encode(text)
        return ast.dump(ast.parse(source.text)) == ast.dump(ast.parse(text))
    except (SourceError, SyntaxError, ValueError, RecursionError):
        return False
