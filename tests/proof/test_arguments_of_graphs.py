"""TensorFlow's treatment of each kind of argument of a traced function, and the decision about a function that receives it.

Each program calls a function in a loop. TensorFlow says whether it is traced once, traced in every call, or raises; what is traced in
every call must not be decorated without an assumption, what raises must not be safe, and what is traced once must not be refused.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from terra_refactor.classify.decision import Action, Classification
from terra_refactor.config import Config
from terra_refactor.workspace.workspace import Options, analyze

CALLS = 6
PROGRAM = """\
import collections
import functools
import os

import numpy as np
import tensorflow as tf


class Model:
    def __init__(self):
        self.scale = tf.Variable(0.5)

    def apply(self, x):
        return x * self.scale

    def __call__(self, x):
        return x + self.scale


class Ordered(collections.namedtuple("Ordered", "a b")):
    def __new__(cls, a, b):
        return super().__new__(cls, *((a, b) if float(a) < float(b) else (b, a)))


class Signal:
    def __init__(self):
        self.rate = 2.0

    def __array__(self, dtype=None, copy=None):
        return np.ones(3, np.float32)


Pair = collections.namedtuple("Pair", "a b")
model = Model()
held = model.apply
all_models = [Model(), Model()]
one = tf.constant(1.0)
table = {"a": one, "b": one}


def double(x):
    return x * 2.0


def scaled(factor):
    def scale(x):
        return x * factor

    return scale


def models(number):
    found = []
    for _ in range(number):
        found.append(Model())
    return found


def models_and_number(number):
    return models(number), number


def step(v, x):
    for _ in range(10):
        x = tf.tanh(x) * 0.5
        x = BODY
    return x


def run(n):
    x = tf.ones([3])
    for i in range(n):
        v = ARGUMENT
        x = step(v, x)
    return x


def main():
    run(int(os.environ.get("PROOF_CALLS", "6")))
"""
ONCE, EACH, RAISES = "once", "each", "raises"
KINDS = {
    "a function": ("double", "v(x)", ONCE),
    "a lambda": ("lambda x: x + 1.0", "v(x)", EACH),
    "a bound method": ("model.apply", "v(x)", EACH),
    "a bound method that is held": ("held", "v(x)", ONCE),
    "an object that is held": ("model", "v(x)", ONCE),
    "an object for each call": ("Model()", "v(x)", EACH),
    "a partial": ("functools.partial(tf.add, 1.0)", "v(x)", EACH),
    "a number that counts": ("i", "x * v", EACH),
    "a number": ("2.0", "x * v", ONCE),
    "a NumPy number": ("np.float32(i)", "x * v", ONCE),
    "a list of numbers that change": ("[0.5 * i, 1.0]", "x * v[0]", EACH),
    "a dict of numbers that change": ('{"a": 0.5 * i}', 'x * v["a"]', EACH),
    "a list that is collected": ("[0.5 * k + np.random.rand() for k in range(2)]", "x * v[0]", EACH),
    "a closure for each call": ("scaled(0.5)", "v(x)", EACH),
    "a dict of tensors": ('{"a": one}', 'x * v["a"]', ONCE),
    "a dict whose keys have no order": ('{"a": one, 0: one}', "x * v[0]", RAISES),
    "the values of a dict": ("table.values()", "x + len(v)", RAISES),
    "the keys of a dict": ("table.keys()", "x + len(v)", RAISES),
    "a set": ("{1, 2}", "x * len(v)", RAISES),
    "a deque": ("collections.deque([1.0])", "x * len(v)", RAISES),
    "a slice": ("slice(0, 3)", "x[v] + 1.0", RAISES),
    "a generator": ("(k for k in range(3))", "x + sum(v)", EACH),
    "a zip": ("zip([1.0], [2.0])", "x + sum(k for k, _ in v)", EACH),
    "a named tuple": ("Pair(one, one)", "x * v.a", ONCE),
    "a named tuple that looks at its values": ("Ordered(one, one)", "x * v.a", RAISES),
    "a list that a function fills with objects": ("models(2)", "v[1](x)", EACH),
    "such a list beside a number": ("models_and_number(2)[0]", "v[1](x)", EACH),
    "such a list that is held": ("all_models", "v[1](x)", ONCE),
    "an object that can be an array": ("Signal()", "x * v.rate", RAISES),
}


def _program(argument: str, body: str) -> str:
    return PROGRAM.replace("ARGUMENT", argument).replace("BODY", body)


@pytest.mark.tensorflow
@pytest.mark.parametrize("kind", KINDS)
def test_tensorflow_does_so(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("tensorflow")
    argument, body, expected = KINDS[kind]
    traces: list[int] = []
    text = _program(argument, body).replace(
        "def step(v, x):\n", "@tf.function\ndef step(v, x):\n    TRACES.append(1)\n"
    )
    file = tmp_path / "program.py"  # AutoGraph reads the source
    file.write_text(text)
    monkeypatch.setenv("PROOF_CALLS", str(CALLS))
    names: dict[str, object] = {"TRACES": traces, "__name__": "program"}
    exec(compile(text, str(file), "exec"), names)
    main = names["main"]
    assert callable(main)
    if expected == RAISES and not (kind == "a slice" and _slices_have_a_hash()):
        with pytest.raises((TypeError, AttributeError)):
            main()
    else:
        main()
        assert len(traces) == (1 if expected == ONCE else CALLS)


def _slices_have_a_hash() -> bool:
    try:
        hash(slice(0, 1))
    except TypeError:
        return False
    return True


@pytest.mark.parametrize("kind", KINDS)
def test_it_is_decided_so(kind: str, tmp_path: Path) -> None:
    argument, body, expected = KINDS[kind]
    file = tmp_path / "program.py"
    file.write_text(_program(argument, body))
    report = analyze([str(file)], Options(Config(jobs=1), use_cache=False))
    (step,) = (decision for decision in report.decisions if decision.qualname == "step")
    match expected:
        case "once":
            assert step.action is Action.ADD_TF_FUNCTION and step.classification is not Classification.UNSAFE
        case "each":
            assert step.action is not Action.ADD_TF_FUNCTION
        case _:
            assert step.classification is Classification.UNSAFE or any(
                "from symbolic tensors" in each for each in step.assumptions
            )
