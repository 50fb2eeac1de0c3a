"""A function that writes an attribute of a class: only what depends on its value is analysed again."""

from __future__ import annotations

import pytest
from analysis_support import analyze_text

PROGRAM = """
import unknown_library

class Box:
    level = 0
    size = 5

    def get(self):
        return self.level

class Inner(Box):
    pass

def level():
    return Box.level

def through():
    return level()

def size():
    return Box.size

def of_inner():
    return Inner().get()

def write():
    WRITE

def after():
    through(), size(), of_inner()
    write()
    return through(), size(), of_inner()

def test_it():
    after()
"""


@pytest.mark.parametrize(
    ("write", "returned", "again"),
    [
        ("pass", (0, 5, 0), set()),
        ("Box.level = 7", (7, 5, 7), {"level", "through", "of_inner", "Box.get"}),
        ("Inner.level = 7", (0, 5, 7), {"of_inner", "Box.get"}),
        ("Box.other = 7", (0, 5, 0), set()),
    ],
)
def test_a_write_of_a_class_attribute_drops_what_depends_on_it(
    write: str, returned: tuple[int | None, ...], again: set[str]
) -> None:
    found = analyze_text(PROGRAM.replace("WRITE", write))
    functions = ("level", "through", "size", "of_inner", "Box.get")
    assert {name for name in functions if len(found.contexts(name)) > 1} == again
    (context,) = found.contexts("after")
    assert [getattr(value, "value", None) for value in context.returns.elements] == list(returned)  # type: ignore[union-attr]


def test_a_write_under_an_unknown_name_drops_what_depends_on_any_attribute() -> None:
    found = analyze_text(PROGRAM.replace("WRITE", "setattr(Box, unknown_library.name(), 7)"))
    assert len(found.contexts("size")) == len(found.contexts("through")) == len(found.contexts("of_inner")) == 2
    (context,) = found.contexts("after")
    assert "7" in str(context.returns.elements[1])  # type: ignore[union-attr]
