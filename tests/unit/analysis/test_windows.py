"""Moving windows over arrays of unknown length, compared with what Python cuts out."""

from __future__ import annotations

import itertools

import pytest

from terra_refactor.domain.value import TensorValue
from tests.analysis_support import analyze_text

HEAD = "import random\nimport numpy as np\n"
SET_UP = "xs = np.zeros((random.randrange(90), 2))\n"
LENGTHS = range(24)
ENDS = ("len(xs)", "xs.shape[0] - 3", "3 + len(xs) - 5", "count - 2", "len(xs) // 3", "count // 4")
BOUNDS = (
    "i * 3 : (i + 1) * 3",
    "3 * i + 1 : i * 3 + 3",
    "4 * i : 4 * (i + 1)",
    "at : at + 3",
    "at : end",
    "i : i + 3",
    "i - 2 : i",
    "i - 2 : i + 1",
    "i + 1 : i + 4",
    "i : 2 + i + 1",
    "i : i",
    "i + 3 : i",
)
STARTS = ("0", "2", "3")


def program(start: str, end: str, step: str, bounds: str) -> str:
    return f"""\
def f(xs, seen):
    count = len(xs)
    for i in range({start}, {end}, {step}):
        at = i * 3
        end = at + 3
        seen(xs[{bounds}])
"""


@pytest.mark.parametrize("end", ENDS)
def test_windows_are_what_python_cuts_out(end: str) -> None:
    known = 0
    for start, step, bounds in itertools.product(STARTS, ("1", "2"), BOUNDS):
        text = program(start, end, step, bounds)
        sizes: set[int] = set()
        code = f"{text}for count in lengths:\n    f(Rows(count), lambda part: sizes.add(len(part)))\n"
        exec(code, {"lengths": LENGTHS, "sizes": sizes, "Rows": Rows})
        result = analyze_text(f"{HEAD}{SET_UP}def seen(part):\n    return part\n{text}f(xs, seen)\n")
        (context,) = result.contexts("seen")
        assert isinstance(context.returns, TensorValue) and context.returns.type.shape is not None
        told = context.returns.type.shape[0]
        assert told is None or sizes <= {told}, (text, told, sizes)
        known += told is not None and bool(sizes)
    assert known > 0


class Rows(list[int]):
    """Rows of an array."""

    def __init__(self, count: int) -> None:
        super().__init__(range(count))
        self.shape = (count, 2)


KNOWN = {
    "of an option": ("len(xs) - size", "i : i + size", "size"),
    "of an option and one more": ("len(xs) - size + 1", "i : i + size", "size"),
    "that may reach the end": ("len(xs) - size + 2", "i : i + size", "None"),
    "of twice an option": ("len(xs) - 2 * size", "i : i + 2 * size", "2*size"),
    "in a column": ("len(xs) - size", "i : i + size, 0", "size"),
    "of another array": ("len(ys) - size", "i : i + size", "None"),
    "of a negative number": ("len(xs) - size", "i + size : i", "None"),
    "that may begin before the array": ("len(xs)", "i - size : i", "None"),
}


@pytest.mark.parametrize(("end", "bounds", "size"), KNOWN.values(), ids=KNOWN)
def test_windows_of_an_option(end: str, bounds: str, size: str) -> None:
    options = "import argparse\np = argparse.ArgumentParser()\np.add_argument('--size', type=int, default=4)\nsize = p.parse_args().size\n"
    loop = f"def f(xs, ys, size):\n    for i in range({end}):\n        seen(xs[{bounds}])\n"
    text = f"{HEAD}{options}{SET_UP}def seen(part):\n    return part\n{loop}f(xs, xs[3:], size)\n"
    (context,) = analyze_text(text).contexts("seen")
    assert isinstance(context.returns, TensorValue) and context.returns.type.shape is not None
    assert str(context.returns.type.shape[0]) == size


PARTS = {
    "of a known array": ("for i in range(100):\n    seen(xs[i * 16 : (i + 1) * 16])", 16),
    "that begin later": ("for i in range(99):\n    seen(xs[i * 16 + 8 : i * 16 + 24])", 16),
    "that end early": ("for i in range(101):\n    seen(xs[i * 16 : (i + 1) * 16])", None),
    "that end in the array": ("for i in range(100):\n    seen(xs[i * 16 + 1 : i * 16 + 17])", None),
    "of as many as fit": ("for i in range(1600 // 15):\n    seen(xs[i * 15 : (i + 1) * 15])", 15),
    "by names": ("for i in range(100):\n    a = i * 16\n    b = a + 16\n    seen(xs[a:b])", 16),
    "set in some iterations": (
        "for i in range(100):\n    b = i * 16 + 16\n    if i % 4 == 0:\n        c = i * 16\n    seen(xs[c:b])",
        None,
    ),
    "set after it": ("for i in range(100):\n    if i:\n        seen(xs[c : i * 16])\n    c = i * 16", None),
    "set again": ("for i in range(100):\n    c = i * 16\n    c += 1\n    seen(xs[c : c + 16])", None),
}


@pytest.mark.parametrize(("loop", "size"), PARTS.values(), ids=PARTS)
def test_parts_of_an_array(loop: str, size: int | None) -> None:
    body = loop.replace("\n", "\n    ")
    head = f"{HEAD}xs = np.zeros((1600, 2))\ndef seen(part):\n    return part\n"
    (context,) = analyze_text(f"{head}def f():\n    {body}\nf()\n").contexts("seen")
    assert isinstance(context.returns, TensorValue) and context.returns.type.shape == (size, 2)


def test_the_variable_or_the_array_may_change() -> None:
    for change in ("i = i + 1", "xs = xs[1:]"):
        loop = f"def f(xs):\n    for i in range(len(xs) - 3):\n        {change}\n        seen(xs[i : i + 3])\n"
        (context,) = analyze_text(f"{HEAD}{SET_UP}def seen(part):\n    return part\n{loop}f(xs)\n").contexts("seen")
        assert isinstance(context.returns, TensorValue) and context.returns.type.shape == (None, 2)


SEQUENCE = """\
import numpy as np
from tensorflow import keras
class Batches(keras.utils.Sequence):
    def __init__(self, xs, size):
        super().__init__()
        self.xs, self.size = xs, size
    def __len__(self):
        return {length}
    def __getitem__(self, index):
        return self.xs[index * self.size : (index + 1) * self.size]
class Net(keras.Model):
    def call(self, x):
        return x
model = Net()
model.compile("sgd", "mse")
model.{method}(Batches(np.zeros((90, 3), np.float32), 8))
"""


@pytest.mark.parametrize("method", ["fit", "predict"])
@pytest.mark.parametrize(
    ("length", "size"), [("len(self.xs) // self.size", 8), ("-(-len(self.xs) // self.size)", None), ("10", 8)]
)
def test_batches_of_a_sequence(method: str, length: str, size: int | None) -> None:
    result = analyze_text(SEQUENCE.format(length=length, method=method))
    (context,) = result.contexts("Net.call")
    assert isinstance(context.returns, TensorValue) and context.returns.type.shape == (size, 3)
