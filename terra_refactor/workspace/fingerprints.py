"""Fingerprints that identify a finding when lines move.

Computes: for each finding a digest of its rule, its function, and the text of its line without indentation, with a
number if there are several equal ones. Needs: findings and sources. Gives: `fingerprints`. Ignores: the path and the
line (a file may move, lines do move) and the message (which may name sizes that other code determines).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from hashlib import blake2b

from terra_refactor.rules.rule import Finding
from terra_refactor.syntax.edit import split_lines
from terra_refactor.syntax.source import Source

_SIZE = 16


def fingerprints(findings: Sequence[Finding], sources: Mapping[str, Source]) -> tuple[str, ...]:
    """The fingerprint of each finding, in their order: 32 hexadecimal digits, unique within a file.

    Findings that look the same in one file are distinguished by their order in it.
    """
    lines = {path: split_lines(sources[path].text) for path in {f.path for f in findings} if path in sources}
    seen: Counter[tuple[str, str]] = Counter()
    result: dict[int, str] = {}
    for index in sorted(range(len(findings)), key=lambda index: (findings[index].path, findings[index].span)):
        finding = findings[index]
        text = lines.get(finding.path, ())
        line = text[finding.span.line - 1] if finding.span.line <= len(text) else ""
        key = "\0".join((finding.rule, finding.function, "".join(line.split())))
        result[index] = blake2b(f"{key}\0{seen[finding.path, key]}".encode(), digest_size=_SIZE).hexdigest()
        seen[finding.path, key] += 1
    return tuple(result[index] for index in range(len(findings)))
