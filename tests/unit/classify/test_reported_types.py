"""Which types the report tells of parameters and results, where some calls are real and others only supposed."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from analysis_support import analyze_text

from terra_refactor.classify.decision import Decision, ParameterValueKind
from terra_refactor.classify.parameters import reported_types
from terra_refactor.classify.sample import InstanceSample, SequenceSample
from terra_refactor.domain.evidence import Evidence
from terra_refactor.domain.value import Constant, FrozenDict, FrozenList, TensorValue, UnknownValue, Value

ESTIMATOR = """import tensorflow as tf

def scale(x):
    return x / tf.reduce_max(x)

def score(x, y):
    return tf.reduce_sum(scale(x) * y)
"""


def decisions(text: str) -> dict[str, Decision]:
    return {decision.qualname: decision for decision in analyze_text(text).decisions}


def types(decision: Decision) -> tuple[list[str], list[str]]:
    return [str(entry) for entry in decision.parameters[0].types], [str(entry) for entry in decision.returns]


def test_what_nobody_calls_adds_nothing_to_what_calls_bring() -> None:
    found = decisions(ESTIMATOR + "\nscale(tf.ones([4, 2]))\n")
    assert types(found["scale"]) == (["float32 (4, 2)"], ["float32 (4, 2)"])
    assert found["scale"].input_signature is None  # `score` may be called with anything


def test_what_a_decorator_has_that_is_not_understood_may_be_called() -> None:
    registered = ESTIMATOR.replace("def score", '@registry.dispatch("score")\ndef score').replace(
        "\n\n", "\nimport registry\n\n", 1
    )
    found = decisions(registered + "\nscale(tf.ones([4, 2]))\n")
    assert types(found["scale"])[0] == ["float32 (4, 2)", "? (...)"]


def test_what_is_known_of_a_call_that_nobody_reaches_is_told() -> None:
    found = decisions(ESTIMATOR + "\ndef half():\n    return scale(tf.ones([3]))\n\nscale(tf.ones([4, 2]))\n")
    assert types(found["scale"]) == (["float32 (4, 2)", "float32 (3,)"], ["float32 (4, 2)", "float32 (3,)"])


def test_without_real_calls_the_supposed_one_is_told() -> None:
    assert types(decisions(ESTIMATOR)["scale"])[0] == ["? (...)"]


def test_a_real_call_with_something_unknown_is_told() -> None:
    found = decisions(ESTIMATOR + "\nimport data\n\nscale(tf.ones([4, 2]))\nscale(tf.identity(data.load()))\n")
    assert types(found["scale"])[0] == ["float32 (4, 2)", "? (...)"]


def test_what_the_other_keys_of_a_dict_have_is_told() -> None:
    (some,) = decisions(ESTIMATOR + "\nscale(tf.ones([4, 2]))\n")["scale"].parameters[0].types
    row = TensorValue(some)
    unknown = UnknownValue(may_be_tensor=True)

    def told(value: Value) -> list[str]:
        return [str(entry) for entry in reported_types([value])]

    items = ((Constant("a"), row),)
    assert told(FrozenDict(items, None)) == ["float32 (4, 2)"]
    assert told(FrozenDict((), row)) == ["float32 (4, 2)"]
    assert told(FrozenDict(items, Constant(1))) == ["float32 (4, 2)"]
    assert told(FrozenDict(items, unknown)) == ["float32 (4, 2)", "? (...)"]
    assert told(FrozenList((row,), None)) == ["float32 (4, 2)"]
    assert told(FrozenList(None, row)) == ["float32 (4, 2)"]
    assert told(FrozenList((row,), unknown)) == ["float32 (4, 2)", "? (...)"]


def test_a_call_with_something_unknown_is_evidence_all_the_same() -> None:
    text = "import tensorflow as tf\nimport data\n\ndef f(x, y):\n    return RESULT\n\nf(tf.ones([3]), data.load())\n"
    called = decisions(text.replace("RESULT", "tf.tanh(x), y"))["f"].parameters[1]
    assert (called.kind, called.evidence) == (ParameterValueKind.UNKNOWN, Evidence.DATAFLOW)
    used = decisions(text.replace("RESULT", "tf.tanh(x) * y"))["f"].parameters[1]
    assert (used.kind, used.evidence) == (ParameterValueKind.TENSOR, Evidence.USAGE)
    alone = decisions("def f(y):\n    return y\n")["f"].parameters[0]
    assert (alone.kind, alone.evidence) == (ParameterValueKind.UNKNOWN, Evidence.NONE)


def test_an_object_is_passed_with_the_place_of_its_class() -> None:
    text = "import tensorflow as tf\n\nclass Settings:\n    rate = 2.0\n\ndef f(x, settings):\n    return x * settings.rate\n\n"
    (sample,) = decisions(text + "f(tf.ones([3]), Settings())\n")["f"].parameters[1].samples
    assert isinstance(sample, InstanceSample)
    assert (sample.cls.path, sample.cls.qualname) == ("m.py", "Settings")


def test_a_named_tuple_is_passed_with_the_place_of_its_class() -> None:
    text = (
        "import typing\nimport tensorflow as tf\n\n"
        "class Pair(typing.NamedTuple):\n    a: tf.Tensor\n    b: tf.Tensor\n\n"
        "def f(x):\n    return x.a + x.b\n\nf(Pair(tf.ones([3]), tf.ones([3])))\n"
    )
    (sample,) = decisions(text)["f"].parameters[0].samples
    assert isinstance(sample, SequenceSample)
    assert len(sample.items) == 2
    assert sample.cls is not None
    assert sample.cls.qualname == "Pair"


def test_what_lies_too_deep_is_not_passed() -> None:
    text = "import tensorflow as tf\n\ndef f(x):\n    return x[0]\n\ndef g(x):\n    return x[0]\n\n"
    found = decisions(text + "f(((((tf.ones([3]),),),),))\ng((((((tf.ones([3]),),),),),))\n")
    assert len(found["f"].parameters[0].samples) == 1
    assert found["g"].parameters[0].samples == ()


def test_what_a_call_brings_says_more_than_what_a_caller_makes_of_it() -> None:
    text = "import tensorflow as tf\n\ndef scale(x):\n    return x * 2.0\n\n"
    text += "def score(x):\n    return scale(tf.convert_to_tensor(x))\n\nscale(3.0)\n"
    assert decisions(text)["scale"].parameters[0].kind is ParameterValueKind.PRIMITIVE


def test_what_a_body_suggests_makes_no_tensor_of_an_array_that_calls_bring() -> None:
    text = """import copy
import numpy as np

def sample(p):
    q = copy.copy(p)
    q[3] = 0
    chosen = np.greater(q, 0)
    return q[chosen] / np.sum(q[chosen])

def worker(ids, w, out):
    for i in ids:
        row = w[i]
        row[i] = 0.0
        out.append(sample(copy.copy(row)))

sample(np.ones([20]))
"""
    parameter = decisions(text)["sample"].parameters[0]
    assert parameter.kind is ParameterValueKind.NDARRAY
    assert [str(entry) for entry in parameter.types] == ["float64 (20,)"]


def test_what_is_stored_in_by_name_is_no_tensor() -> None:
    text = """import keras

def apply(inputs_dict, gates):
    inputs = inputs_dict
    inputs["groups"] = gates
    return keras.layers.Dense(3)(inputs)
"""
    assert decisions(text)["apply"].parameters[0].kind is not ParameterValueKind.TENSOR


def test_none_beside_what_a_caller_takes_for_a_tensor_leaves_it_one() -> None:
    text = "import tensorflow as tf\n\ndef scale(x):\n    return x if x is None else x * 2.0\n\n"
    text += "def score(x, y=None):\n    return scale(tf.convert_to_tensor(x)), scale(y)\n\nscale(None)\n"
    assert decisions(text)["scale"].parameters[0].kind is ParameterValueKind.TENSOR


def test_an_object_from_one_call_and_something_unknown_from_another_is_unknown() -> None:
    text = "import data\n\nclass Points:\n    pass\n\ndef wrap(points):\n    return points\n\nwrap(Points())\n"
    assert decisions(text)["wrap"].parameters[0].kind is ParameterValueKind.OBJECT
    assert decisions(text + "wrap(data.load())\n")["wrap"].parameters[0].kind is ParameterValueKind.UNKNOWN


def test_an_array_from_one_call_and_something_unknown_from_another_is_unknown() -> None:
    text = "import numpy as np\nimport data\n\ndef norm(x):\n    return (x * x).sum()\n\nnorm(np.ones([3]))\n"
    assert decisions(text)["norm"].parameters[0].kind is ParameterValueKind.NDARRAY
    more = decisions(text + "norm(data.load())\n")["norm"].parameters[0]
    assert more.kind is ParameterValueKind.UNKNOWN
    assert [str(entry) for entry in more.types] == ["float64 (3,)", "? (...)"]


def test_an_array_is_all_that_known_calls_of_a_method_bring_and_others_may_bring_tensors() -> None:
    text = """import numpy as np
import data

class Model:
    def predict(self, x):
        return (x * 2.0).sum()

Model().predict(np.ones([3]))
"""
    assert decisions(text)["Model.predict"].parameters[1].kind is ParameterValueKind.NDARRAY
    assert (
        decisions(text + "data.load().predict(1)\n")["Model.predict"].parameters[1].kind is ParameterValueKind.UNKNOWN
    )
