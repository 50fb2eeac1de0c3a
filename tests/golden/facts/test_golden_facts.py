"""The printed facts of the programs in the folders beside this file.

Each folder is a program; `facts.txt` in it is what `analysis.dump.format_facts` prints of it, with the IDs of objects left out. `--update`
rewrites it.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from analysis_support import analyze_files

from terra_refactor.analysis.dump import format_facts

PROGRAMS = sorted(path.parent for path in Path(__file__).parent.glob("*/facts.txt"))


def printed(folder: Path) -> str:
    texts = {path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8") for path in folder.rglob("*.py")}
    result = analyze_files(dict(sorted(texts.items())))
    return format_facts(result.program, result.facts)


@pytest.mark.parametrize("folder", PROGRAMS, ids=lambda folder: folder.name)
def test_golden(folder: Path, update: bool) -> None:
    text = printed(folder)
    if update:
        (folder / "facts.txt").write_text(text, encoding="utf-8")
    else:
        assert text == (folder / "facts.txt").read_text(encoding="utf-8")


@pytest.mark.parametrize("folder", PROGRAMS, ids=lambda folder: folder.name)
def test_facts_are_the_same_each_time(folder: Path) -> None:
    assert printed(folder) == printed(folder)
