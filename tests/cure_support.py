"""The cases of cures, which `unit/refactor` checks as texts and `proof` runs in TensorFlow.

`unit/refactor/cures/*.md` holds them: a section has a program whose line with the mark `# TRnnn` is cured, the
program afterwards, or the reason why there is no cure (`refused:`); `assumes:` is an assumption of the cure
(`nothing`: it has none).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent / "unit/refactor/cures"
_BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_MARK = re.compile(r" *# (TR\d{3})$", re.MULTILINE)
_REFUSED = re.compile(r"^refused: (.+)$", re.MULTILINE)
_ASSUMES = re.compile(r"^assumes: (.+)$", re.MULTILINE)


@dataclass(frozen=True)
class Case:
    """One section."""

    name: str
    before: str
    after: str | None
    rule: str
    line: int
    refused: str | None
    assumes: tuple[str, ...]


def read_cases(path: Path) -> Iterator[Case]:
    """The cases of one Markdown file."""
    for section in re.split(r"^## ", path.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]:
        title, _, text = section.partition("\n")
        blocks = _BLOCK.findall(text)
        mark = _MARK.search(blocks[0])
        assert mark is not None, title
        refused = _REFUSED.search(text)
        yield Case(
            f"{path.stem}: {title}",
            _MARK.sub("", blocks[0]),
            blocks[1] if len(blocks) > 1 else None,
            mark[1],
            blocks[0].count("\n", 0, mark.start()) + 1,
            refused[1] if refused else None,
            tuple(_ASSUMES.findall(text)),
        )


def cure_cases() -> tuple[Case, ...]:
    """All cases."""
    return tuple(case for path in sorted(HERE.glob("*.md")) for case in read_cases(path))
