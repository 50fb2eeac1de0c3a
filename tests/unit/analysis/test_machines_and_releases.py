"""Tests on the machine and the releases that a program runs on decide nothing: both ways are analysed, in every form of the test."""

from __future__ import annotations

import pytest
from analysis_support import Result, analyze_modules

from terra_refactor.classify.decide import DecisionOptions

MACHINES = (
    'platform == "darwin"',
    'sys.platform.startswith("win")',
    'os.name in ("nt", "ce")',
    'plat.system() == "Windows"',
    'sys.byteorder != "big"',
    'sys.platform in ["linux", "darwin"]',
    "sys.maxsize > 2 ** 32",
    '{"linux": 1, "win32": 0}[sys.platform]',
    'os.environ.get("X") == "1"',
    '"%s" % sys.platform == "linux"',
    'sys.platform[:3] == "win"',
    "sys.flags.optimize",
    "errno.ENOENT == 2",
    "socket.has_ipv6",
)
RELEASES = (
    'tf.__version__ == "2.21.0"',
    'tf.__version__.split(".")[0] == "2"',
    "float(tf.__version__[:3]) > 2.0",
    'int(tf.version.VERSION.split(".")[1]) >= 4',
    '[int(p) for p in tf.__version__.split(".")[:2]] >= [2, 4]',
    'tuple(map(int, tf.__version__.split(".")[:2])) > (1, 14)',
    'LooseVersion(tf.__version__) >= LooseVersion("2.0.0")',
    "version.parse(np.__version__).major == 2",
    "sys.version_info >= (3, 8)",
    "sys.version_info.major == 3",
    "six.PY3",
    'hasattr(tf, "function")',
    '"2.21.0" in (tf.__version__,)',
    'compat.__version__[0] in "12"',
    '"{}".format(tf.__version__) == "2"',
    'any(tf.__version__.startswith(p) for p in ("1.", "2."))',
    "releases.MAJOR == 2 and releases.MINOR > 3",
    'releases.is_old("2.4")',
)
RELEASES_MODULE = """
    import tensorflow as tf

    MAJOR, MINOR = [int(p) for p in tf.__version__.split(".")[:2]]

    def is_old(text):
        return tf.__version__ < text
"""
HEAD = """
import errno, os, socket, sys
import platform as plat
from sys import platform
from distutils.version import LooseVersion
from packaging import version
import six
import numpy as np
import tensorflow as tf
import tensorflow.compat.v1 as compat
import releases

class Host:
    n = 0

def bump():
    Host.n += 1
    return True

a = tf.ones([2, 3])
b = tf.ones([4, 5])
"""


def _analysed(text: str) -> Result:
    return analyze_modules({"m": HEAD + text, "releases": RELEASES_MODULE}, DecisionOptions(min_ops=0))


FUNCTIONS = {
    "if": "if TEST:\n        bump()",
    "else": "if bool(TEST):\n        pass\n    else:\n        bump()",
    "elif": "if x.shape[0] == 77:\n        return x\n    elif TEST:\n        bump()",
    "conditional expression": "y = bump() if TEST else 0",
    "other side": "y = 0 if TEST else bump()",
    "and": "(TEST) and bump()",
    "or": "(TEST) or bump()",
    "assert": "assert TEST\n    bump()",
    "assert not": "assert not (TEST)\n    bump()",
    "while": "while TEST:\n        bump()\n        break",
    "comprehension": "y = [bump() for _ in range(3) if TEST]",
    "return": "if TEST:\n        return x\n    bump()",
    "raise": "if not (TEST):\n        raise RuntimeError\n    bump()",
    "match": "match bool(TEST):\n        case True:\n            bump()",
    "table": "{True: bump, False: int}[bool(TEST)]()",
}


@pytest.mark.parametrize("form", FUNCTIONS)
def test_what_a_function_does_on_one_machine_only_it_does(form: str) -> None:
    tests = MACHINES + RELEASES
    text = "".join(
        f"\ndef f{number}(x):\n    {FUNCTIONS[form].replace('TEST', test)}\n    return tf.matmul(x, x)\nf{number}(tf.ones([2, 2]))\n"
        for number, test in enumerate(tests)
    )
    result = _analysed(text)
    safe = [test for number, test in enumerate(tests) if result.decision(f"f{number}").classification.value == "safe"]
    assert safe == []


@pytest.mark.parametrize(
    "flag",
    [
        "class C:\n    FLAG = TEST\n",
        "class C:\n    pass\nC.FLAG = not (TEST)\n",
        "C = type('C', (), {})\nC.FLAG = TEST\n",
    ],
)
def test_flags_are_as_little_known_as_what_they_are_made_from(flag: str) -> None:
    for test in MACHINES + RELEASES:
        text = (
            flag.replace("TEST", test)
            + "def f(x):\n    if C.FLAG:\n        bump()\n    return tf.matmul(x, x)\nf(tf.ones([2, 2]))\n"
        )
        assert _analysed(text).decision("f").classification.value != "safe", test


MODULES = {
    "assert": 'assert TEST, "needs it"\ntf.matmul(a, b)',
    "assert not": "assert not (TEST)\ntf.matmul(a, b)",
    "raise": 'if TEST:\n    raise ImportError("x")\ntf.matmul(a, b)',
    "exit": "if not (TEST):\n    print()\n    sys.exit(1)\ntf.matmul(a, b)",
    "function that exits": "def check():\n    if TEST:\n        raise SystemExit\ncheck()\ntf.matmul(a, b)",
    "the same on both sides": "if TEST:\n    c = tf.ones([2, 3])\nelse:\n    c = tf.zeros([2, 3])\ntf.matmul(c, b)",
    "the same size": "n = 3 if TEST else 3\ntf.matmul(tf.ones([2, n]), b)",
    "rebound": "if TEST:\n    tf = tf.compat.v1\ntf.matmul(a, b)",
}


@pytest.mark.parametrize("form", MODULES)
@pytest.mark.parametrize("test", MACHINES[::4] + RELEASES[::4])
def test_what_stands_behind_the_test_is_analysed(form: str, test: str) -> None:
    result = _analysed(MODULES[form].replace("TEST", test) + "  # bug\n")
    assert len(result.lines("TR401")) == 1


ONE_SIDE = {
    "then": "if TEST:\n    tf.matmul(a, b)\nelse:\n    tf.matmul(a, tf.ones([3, 1]))\n",
    "else": "if TEST:\n    tf.matmul(a, tf.ones([3, 1]))\nelse:\n    tf.matmul(a, b)\n",
    "conditional expression": "c = tf.matmul(a, b) if TEST else 1\n",
    "and": "c = (TEST) and tf.matmul(a, b)\n",
    "return": "def f(x, y):\n    if TEST:\n        return tf.matmul(x, y)\n    return x\nf(a, b)\n",
    "flag": "OLD = TEST\nif not OLD:\n    tf.matmul(a, b)\n",
}


@pytest.mark.parametrize("form", ONE_SIDE)
def test_code_for_another_release_may_fail_with_this_one(form: str) -> None:
    for test in RELEASES:
        assert _analysed(ONE_SIDE[form].replace("TEST", test)).lines("TR401") == (), test


@pytest.mark.parametrize("form", ONE_SIDE)
def test_code_for_another_machine_fails_there(form: str) -> None:
    for test in MACHINES[:6]:
        assert len(_analysed(ONE_SIDE[form].replace("TEST", test)).lines("TR401")) == 1, test


@pytest.mark.parametrize(
    "end",
    [
        'assert False, "work in progress"',
        "raise SystemExit",
        "sys.exit(0)",
        "if a is None:\n    raise ValueError\nelse:\n    exit()",
        "while True:\n    a = a + 1",
        "x = sys.exit() if True else exit()",
        'try:\n    import surely_absent\nexcept ImportError:\n    raise SystemExit("pip install")',
    ],
)
def test_a_module_is_read_to_its_end(end: str) -> None:
    result = _analysed(f"{end}\ndef f(x):\n    return tf.matmul(x, b)\nf(a)\n")
    assert len(result.lines("TR401")) == 1


def test_a_function_ends_where_it_certainly_raises() -> None:
    assert _analysed("def f(x):\n    assert False\n    return tf.matmul(x, b)\nf(a)\n").lines("TR401") == ()


def test_functions_classes_and_modules_of_libraries_are_known() -> None:
    text = """
def f(x, act=tf.nn.relu, cls=tf.Variable):
    if act == "relu" or act is None or not act or tf is None or act in ("relu", "tanh"):
        Host.n += 1
    if act == tf.nn.tanh or act is tf.nn.tanh or cls == tf.Module or act != tf.nn.relu:
        Host.n += 1
    return tf.matmul(x, x)
f(tf.ones([2, 2]))
"""
    assert _analysed(text).decision("f").classification.value == "safe"


def test_a_constant_of_which_nothing_is_known_may_be_none() -> None:
    text = """
from elsewhere import SETTING, Thing
def f(x):
    if SETTING is None:
        return tf.matmul(x, x)
    Host.n += 1
    return x
def g(x):
    if Thing:
        return tf.matmul(x, x)
    Host.n += 1
    return x
f(tf.ones([2, 2])), g(tf.ones([2, 2]))
"""
    result = _analysed(text)
    assert [result.decision(name).classification.value for name in "fg"] == ["unsafe", "unsafe"]


def test_type_checking_never_runs_and_names_types() -> None:
    text = """
from typing import TYPE_CHECKING
import typing
counter = 0
if TYPE_CHECKING:
    from tensorflow import Tensor
    SIZE = 3
else:
    SIZE = 4
def f(x: "Tensor"):
    if not typing.TYPE_CHECKING:
        Host.n += 1
    return x
def g(x: "Tensor"):
    global counter
    if TYPE_CHECKING:
        counter += 1
    for _ in range(20):
        x = tf.matmul(x, x)
    return x
assert not TYPE_CHECKING
tf.matmul(tf.ones([2, SIZE]), tf.ones([3, 3]))
"""
    result = _analysed(text)
    assert [result.decision(name).classification.value for name in "fg"] == ["unsafe", "safe"]
    assert len(result.lines("TR401")) == 1
    assert [entry.evidence.value for entry in result.decision("g").parameters] == ["annotation"]
