"""The cost of a deep hierarchy: contexts, not seconds."""

from __future__ import annotations

import pytest
from analysis_support import analyze_files

from terra_refactor.analysis import contexts, interpreter
from terra_refactor.domain.effect import EffectKind


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


def many_subclasses(count: int) -> str:
    """A small property of a base class, which methods of `count` subclasses read."""
    text = "class Block:\n    def __init__(self, size):\n        self.size = size\n\n"
    text += "    @property\n    def half(self):\n        return self.size // 2\n\n"
    for i in range(count):
        text += f"class B{i}(Block):\n    def __init__(self):\n        super().__init__({2 * i})\n\n"
        text += f"    def total(self):\n        return self.half + {i}\n\nprint(B{i}().total())\n\n"
    return text


def test_a_small_method_of_a_base_class_is_followed_for_each_of_many_subclasses() -> None:
    count = contexts.MAX_CONTEXTS + 14
    found = analyze_files({"m.py": many_subclasses(count)})
    assert not [each for each in found.facts.functions.values() if each.problem]
    for i in range(count):
        (context,) = found.contexts(f"B{i}.total")
        assert EffectKind.UNKNOWN_CALL not in {effect.kind for effect in context.effects}
