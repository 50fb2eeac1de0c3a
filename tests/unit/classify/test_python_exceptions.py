"""An exception of Python itself before an operation that fails: the program does not reach the operation.

Each program of `ENDED` raises in its line with `# raises`, in Python 3.11 with TensorFlow 2.21; beside it stands almost the same one,
which reaches the operation.
"""

from __future__ import annotations

import pytest
from analysis_support import analyze_files, analyze_text

from terra_refactor.rules.rule import Severity

START = """\
import numpy as np
import tensorflow as tf

A, B = tf.ones((2, 5)), tf.ones((3, 4))


class Box:
    size = 3

    def __init__(self):
        self.width = 1

    def area(self):
        return self.size * self.width


class Wide(Box):
    pass


box, wide = Box(), Wide()
"""
FAILS = "tf.matmul(A, B)  # error\n"

ENDED = {
    "an assertion that does not hold": "assert A.shape[0] == 3  # raises\n",
    "an exception under a condition that holds": """
def check(size):
    if size > 1:
        raise ValueError(size)


check(A.shape[0])  # raises
""",
    "an attribute that no code sets": "print(box.height)  # raises\n",
    "a method that no class has": "wide.draw()  # raises\n",
    "a method that None does not have": """
def shown():
    print(A)


shown().numpy()  # raises
""",
    "a method that lists do not have": "[1, 2].shape  # raises\n",
    "a method that tuples do not have": "(1, 2).append(3)  # raises\n",
    "a method that strings do not have": "'a b'.size()  # raises\n",
    "a call of a number": "size = 3\nsize()  # raises\n",
    "a call of a text": "'a'(A)  # raises\n",
    "a sum of a text and a number": "print('size: ' + len(box.__dict__))  # raises\n",
    "a comparison of a text and a number": "print('3' < 4)  # raises\n",
    "a difference of a number and None": "print(1 - None)  # raises\n",
    "a power of a text": "print('3' ** 2)  # raises\n",
    "a shift of a float": "print(1.5 << 2)  # raises\n",
    "an attribute that no code sets, beside a function `update`": """
def update():
    pass


update()
print(box.height)  # raises
""",
    "an item of a function of the program": "def shown():\n    pass\n\n\nprint(shown[0])  # raises\n",
    "an item of a number": "print((3)[0])  # raises\n",
    "an item that a tuple does not have": "pair = 1, 2\nprint(pair[2])  # raises\n",
    "a loop over a number": "for _ in 3:  # raises\n    pass\n",
    "a loop over None": "for _ in None:  # raises\n    pass\n",
    "a function that TensorFlow does not have": "tf.multiplied(A, A)  # raises\n",
    "a layer that Keras does not have": "from tensorflow.keras.layers import Squeezed  # raises\n",
    "a keyword that a function does not have": "tf.ones((2,), kind='float32')  # raises\n",
}

REACHED = {
    "an assertion that holds": "assert A.shape[0] == 2\n",
    "an assertion about the input": "assert input() == 'a'\n",
    "an exception under another condition": """
def check(size):
    if size > 2:
        raise ValueError(size)


check(A.shape[0])
""",
    "an exception that is caught": "try:\n    box.height\nexcept AttributeError:\n    pass\n",
    "attributes of the class and of a base class": "print(box.size, wide.width, wide.area(), Wide.area, box.__class__)\n",
    "an attribute that other code sets": "box.height = 3\nprint(box.height)\n",
    "an attribute that is set by its name": "setattr(box, 'height', 3)\nprint(box.height)\n",
    "an attribute that is computed": """
class Open:
    def __getattr__(self, name):
        return len(name)


print(Open().height)
""",
    "an attribute of an object of another class": """
import argparse

print(argparse.ArgumentParser().parse_args([]), argparse.Namespace(height=3).height)
""",
    "an attribute of a named tuple": """
from collections import namedtuple

print(namedtuple('Pair', 'a b')(1, 2).b)
""",
    "an attribute of an enumeration": """
from enum import Enum


class Kind(Enum):
    A = 1


print(Kind.A.value, Kind.A.name)
""",
    "methods of built-in types": "print([1].copy(), (1, 2).index(2), 'a'.upper(), {}.get(1), {1}.pop())\n",
    "operators of built-in types": "print('a' * 3, 'a %d' % 3, [1] * 2, (1,) + (2,), True + 1, 3 @ np.ones((2, 2)) if 0 else 1)\n",
    "operators of arrays": "print([1, 2] - np.ones(2), 3 * A, None == A, np.ones(2) < 3)\n",
    "a list of functions": "print([len, abs][1](-3))\n",
    "items of texts and tuples": "pair = 1, 2\nprint('abc'[1], pair[-2], pair[:5])\n",
    "a member that an earlier release has": "if hasattr(tf, 'Session'):\n    print(tf.Session)\n",
    "a keyword that a function has": "tf.ones((2,), dtype='float32', name='a')\n",
    "a raise in a handler": """
def shown(value):
    try:
        return int(value)
    except ValueError:
        raise RuntimeError(value) from None


print(shown('3'))
""",
    "a loop that ends by an exception": """
def found(values):
    for value in values:
        if value > 1:
            return value
    raise LookupError


print(found([1, 2, 3]))
""",
}


def errors_of(text: str) -> list[int]:
    return sorted({finding.span.line for finding in analyze_text(text).findings if finding.severity is Severity.ERROR})


@pytest.mark.parametrize("program", ENDED.values(), ids=ENDED)
def test_what_follows_an_exception_is_a_warning(program: str) -> None:
    found = analyze_text(START + program + FAILS).findings
    assert [each for each in found if each.severity is Severity.ERROR] == []
    assert any("if the program does not end before" in each.message for each in found)


@pytest.mark.parametrize("program", REACHED.values(), ids=REACHED)
def test_what_follows_valid_code_is_an_error(program: str) -> None:
    text = START + program + FAILS
    assert errors_of(text) == [n for n, line in enumerate(text.splitlines(), 1) if line.endswith("# error")]


@pytest.mark.parametrize("name", ["weights", "biases"])
def test_a_name_that_a_module_lacks_ends_the_program(name: str) -> None:
    product = "tf.matmul(tf.ones((2, 5)), "
    files = {
        "parts.py": "import tensorflow as tf\n\nweights = tf.ones((3, 4))\n",
        "m.py": f"import tensorflow as tf\n\nimport parts\n\nprint(parts.{name})\n{product}parts.weights)\n",
        "n.py": f"import tensorflow as tf\nfrom parts import {name}, weights\n\n{product}weights)\n",
    }
    found = [finding.severity is Severity.ERROR for finding in analyze_files(files).findings if finding.rule == "TR401"]
    assert found == [name == "weights"] * 2


def test_a_module_of_a_package_is_a_name_of_it() -> None:
    files = {
        "pkg/__init__.py": "",
        "pkg/parts.py": "import tensorflow as tf\n\nB = tf.ones((3, 4))\n",
        "m.py": f"import tensorflow as tf\nfrom pkg import parts\n\nA, B = tf.ones((2, 5)), parts.B\n{FAILS}",
    }
    assert [finding.severity for finding in analyze_files(files).findings] == [Severity.ERROR]
