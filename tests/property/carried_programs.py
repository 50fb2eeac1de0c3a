"""The random functions of `path_programs`, with the variable `v` stored elsewhere: in an attribute, an item, or a variable that nested
functions set and read.

Computes: the text of a function from a seed, always the same. Gives: `write_carried`. No test runs them yet; `path_measure`
counts them (`PYTHONPATH=tests python path_measure.py FIRST NUMBER ANSWERS 10 carried`).
"""

from __future__ import annotations

import random
import re
from dataclasses import replace
from typing import Final

from path_programs import HEAD, Program, themes_of, write_function

HEAD_OF_CARRIED: Final = f"""{HEAD}class Box:
    pass


def store(box, value):
    box.v = value


def load(box):
    return box.v


def fill(values, value):
    values[0] = value


"""
_WAYS: Final = {
    "nonlocal": ("put({0})", "v"),
    "nonlocal read": ("put({0})", "get()"),
    "attribute": ("box.v = {0}", "box.v"),
    "alias": ("other.v = {0}", "box.v"),
    "helper": ("store(box, {0})", "box.v"),
    "helper read": ("store(box, {0})", "load(box)"),
    "dict": ("d['v'] = {0}", "d['v']"),
    "cell": ("c[0] = {0}", "c[0]"),
    "cell helper": ("fill(c, {0})", "c[0]"),
}
"""How a value is stored, and how it is read."""
_NESTED: Final = "v = {0}\n\ndef put(value):\n    nonlocal v\n    v = value\n\ndef get():\n    return v\n"
_BEFORE: Final = {
    "nonlocal": _NESTED,
    "nonlocal read": _NESTED,
    "alias": "box = Box()\nbox.v = {0}\nother = box",
    "dict": "d = {{'v': {0}}}",
    "cell": "c = [{0}]",
    "cell helper": "c = [{0}]",
}
_BOX: Final = "box = Box()\nbox.v = {0}"
_VARIABLE: Final = re.compile(r"\bv\b")


def write_carried(seed: int) -> Program:
    """The function of a seed."""
    program, chosen = write_function(seed), random.Random(seed * 7 + 1)
    way = chosen.choice(list(_WAYS))
    store, read = _WAYS[way]
    head, *lines = program.text.split("\n")
    before = _BEFORE.get(way, _BOX).format(themes_of(seed)["v"].values[0])
    text = [head, *(f"    {line}" if line else "" for line in before.split("\n"))]
    for line in lines:
        indent = line[: len(line) - len(line.lstrip())]
        _, stores, value = line.partition(f"{indent}v = ")
        written = _VARIABLE.sub(read, value if stores else line)
        text.append(f"{indent}{store.format(written)}" if stores else written)
    return replace(program, text="\n".join(text), constructs=program.constructs | {way}, head=HEAD_OF_CARRIED)
