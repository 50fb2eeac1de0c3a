"""The cost of a deep hierarchy: contexts, not seconds."""

from __future__ import annotations

import pytest
from analysis_support import analyze_files

from terra_refactor.analysis import interpreter


def hierarchy(classes: int) -> str:
    """Classes of which each has the one before as its base, and hands on to it."""
    text = "class C0:\n    def __init__(self):\n        self.a0 = 0\n\n    def total(self):\n        return self.a0\n\n"
    for i in range(1, classes):
        text += (
            f"class C{i}(C{i - 1}):\n    def __init__(self):\n        super().__init__()\n        self.a{i} = {i}\n\n"
        )
        text += f"    def total(self):\n        return super().total() + self.a{i}\n\n"
    return text + f"print(C{classes - 1}().total())\n"


def contexts_of(classes: int) -> int:
    return len(analyze_files({"m.py": hierarchy(classes)}).facts.contexts)


def test_a_class_more_costs_contexts_for_so_many_of_its_bases(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interpreter, "MAX_NAMESAKES", 6)
    shorter, longer = contexts_of(20), contexts_of(30)
    assert longer - shorter <= 10 * 2 * (6 + 2)


def test_a_hierarchy_within_the_limit_is_followed_to_its_end() -> None:
    found = analyze_files({"m.py": hierarchy(interpreter.MAX_NAMESAKES)}).facts
    assert not [each for each in found.functions.values() if each.problem]


def test_methods_beyond_the_limit_are_named() -> None:
    found = analyze_files({"m.py": hierarchy(interpreter.MAX_NAMESAKES + 3)}).facts
    assert {each.problem for each in found.functions.values()} == {None, "recursion depth"}
