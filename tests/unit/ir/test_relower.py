"""Lowering again after an edit: the answer is that of lowering the whole file."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from running_time import examples

import terra_refactor
from terra_refactor.errors import SourceError
from terra_refactor.ir.build.module import lower_module
from terra_refactor.ir.build.relower import relower
from terra_refactor.ir.program import ModuleIR
from terra_refactor.syntax.parse import parse_module
from terra_refactor.syntax.source import source_from_text

FOLDER = Path(terra_refactor.__file__).parent
FILES = (
    "syntax/notebook.py",
    "refactor/transforms/tune.py",
    pytest.param("domain/lattice.py", marks=pytest.mark.slow),
    pytest.param("analysis/interpreter.py", marks=pytest.mark.slow),
)
LINES = (
    "x = 1",
    "y = [v for v in z]",
    "g = lambda q: q",
    "return x",
    "# note",
    "",
    "if x:",
    "    pass",
    "(",
    '"""',
    "\\",
)


def lowered(text: str) -> ModuleIR | None:
    try:
        return lower_module(parse_module(source_from_text(text, "m.py")), "m")
    except SourceError:
        return None


def edited(text: str, random_source: random.Random) -> str:
    """One edit as people make them: a character more or less, a line more or less, a line changed."""
    lines = text.splitlines(keepends=True)
    at = random_source.randrange(len(lines))
    indent = lines[at][: len(lines[at]) - len(lines[at].lstrip())].strip("\r\n")
    match random_source.randrange(5):
        case 0:
            lines.insert(at, f"{indent}{random_source.choice(LINES)}\n")
        case 1:
            del lines[at]
        case 2:
            place = random_source.randrange(len(lines[at]))
            lines[at] = lines[at][:place] + random_source.choice("ab (1.,:'#\n") + lines[at][place:]
        case 3:
            place = random_source.randrange(len(lines[at]))
            lines[at] = lines[at][:place] + lines[at][place + 1 :]
        case _:
            lines[at] = f"{indent}{random_source.choice(LINES)}\n"
    return "".join(lines)


@pytest.mark.parametrize("file", FILES)
def test_an_edit_lowers_to_what_the_whole_file_lowers_to(file: str) -> None:
    random_source = random.Random(file)
    text = (FOLDER / file).read_text(encoding="utf-8")
    module = lowered(text)
    assert module is not None
    made = 0
    for _ in range(examples(usual=20, many=60)):
        new_text = edited(text, random_source)
        again = relower(module, text, source_from_text(new_text, "m.py"))
        whole = lowered(new_text)
        if again is not None:
            made += 1
            assert again == whole
        if whole is not None:
            text, module = new_text, whole
    assert made > 5, "hardly any edit was lowered alone: the test compares nothing"


SOURCE = """\
import tensorflow as tf

class A:
    @tf.function(
        jit_compile=True)
    def f(self, x=lambda: 1):
        a = x
        return a

    class B:
        def g(self):
            return __class__

def last():
    def inner(p: int):
        return p
    return inner
# end"""


@pytest.mark.parametrize(
    ("old", "new", "alone"),
    [
        ("        a = x\n", "        a = x + 1\n", True),
        ("        return a\n", "        return a\n\n        # more\n", True),
        ("            return __class__\n", "            return __class__, 1\n", True),
        ("            return __class__\n", "            return 1\n", False),
        ("        return p\n", "        return p + p\n        return 1\n", True),
        ("    return inner\n", "    return inner\nx = 1\n", False),
        ("# end", "# the end", True),
        ("def last():", "def last(q):", False),
        ("        a = x\n", "        a = lambda: x\n", False),
        ("        a = x\n", "        a = (x\n", False),
        ("import tensorflow", "import tensorflow.keras", False),
        ("        return a\n", "        return a \\\n", True),
        ("    return inner\n", "    return inner \\\n", True),
    ],
)
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("first_line", ["from __future__ import annotations\n", ""])
def test_what_can_be_lowered_alone(old: str, new: str, alone: bool, newline: str, first_line: str) -> None:
    text = (first_line + SOURCE).replace("\n", newline)
    new_text = (first_line + SOURCE.replace(old, new)).replace("\n", newline)
    module = lowered(text)
    assert module is not None
    again = relower(module, text, source_from_text(new_text, "m.py"))
    assert (again is not None) is alone
    if alone:
        assert again == lowered(new_text)
