"""The printed IR of the programs in the Markdown files beside this one.

Each case is a `## title`, a `python` block and the `ir` block that is expected of it; the prose between is for the reader. `--update`
rewrites the `ir` blocks.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from terra_refactor.ir.build.module import lower_module
from terra_refactor.ir.check import check_module
from terra_refactor.ir.pprint import format_module
from terra_refactor.syntax.parse import parse_module
from terra_refactor.syntax.source import source_from_text

FILES = sorted(Path(__file__).parent.glob("*.md"))
CASE = re.compile(r"^```python\n(?P<source>.*?)^```\n\n^```ir\n(?P<ir>.*?)^```\n", re.MULTILINE | re.DOTALL)


def printed(text: str) -> str:
    module = lower_module(parse_module(source_from_text(text, "case.py")), "case")
    assert check_module(module) == ()
    return format_module(module)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_golden(path: Path, update: bool) -> None:
    text = path.read_text(encoding="utf-8")
    cases = list(CASE.finditer(text))
    assert len(cases) == text.count("```python\n"), "a case lacks its `ir` block"
    assert cases
    renewed = CASE.sub(lambda case: f"```python\n{case['source']}```\n\n```ir\n{printed(case['source'])}```\n", text)
    if update:
        path.write_text(renewed, encoding="utf-8")
    else:
        assert renewed == text
