"""Inputs and outputs of functional models (`model.output`), against Keras."""

from __future__ import annotations

from typing import Any

import pytest

from terra_refactor.domain.value import TensorKind, TensorValue, members
from terra_refactor.tf_model.keras.models import BATCH
from tests.analysis_support import analyze_text

pytestmark = [pytest.mark.tensorflow, pytest.mark.filterwarnings("ignore")]

HEAD = """\
import tensorflow as tf
from tensorflow.keras import Input, Model, Sequential
from tensorflow.keras.layers import Dense, Flatten
i = Input((4,))
one = Model(i, Dense(3)(i))
two = Model(i, [Dense(3)(i), Dense(5)(i)])
named = Model(i, {"b": Dense(3)(i), "a": Dense(5)(i)})
above = Model(one.input, Dense(7)(one.output))
base = tf.keras.applications.MobileNet(include_top=False, weights=None, input_shape=(64, 32, 3))
class Small(Model):
    def __init__(self):
        x = Input((4,))
        super().__init__(x, Dense(9)(x))
class Own(Model):
    def __init__(self):
        x = Input((4,))
        super().__init__(x, Dense(9)(x))
    @property
    def output(self):
        return tf.zeros([2, 2])
def f(a):
    return a
"""

ENDS = {
    "an input": "one.input",
    "an output": "one.output",
    "a list of one input": "one.inputs[0]",
    "outputs": "two.output[1]",
    "a list of outputs": "two.outputs[0]",
    "an output by name": "named.output['b']",
    "the first of outputs by name": "named.outputs[0]",
    "a model on a model": "above.output",
    "a ready model": "base.output",
    "an input of a ready model": "base.input",
    "a layer of a ready model": "base.get_layer('conv_pw_3_relu').output",
    "a layer by keyword": "base.get_layer(name='conv_dw_6_bn').output",
    "layers of a ready model": "[base.get_layer(n).output for n in ('conv_pw_1', 'conv_pw_6', 'conv1')][1]",
    "a layer that is not trained": "[base.get_layer('conv1'), setattr(base, 'trainable', False)][0].output",
    "a model on a layer of a ready model": "Model(base.inputs, base.get_layer('conv_pw_3').output).output",
    "a model on a ready model": "Model(base.input, Dense(2)(Flatten()(base.output))).output",
    "a model of the program": "Small().output",
    "after a call": "(one(tf.zeros([2, 4])), one.output)[1]",
}
UNKNOWN_ENDS = {
    "an output in a list, which is a tensor in Keras 2": "Model([i], [Dense(3)(i)]).output",
    "layers in a row": "Sequential([Dense(3)]).output",
    "a layer of a model of the program": "one.get_layer(index=1).output",
    "a layer by its number": "base.get_layer(index=3).output",
}


def returned(text: str) -> Any:
    (context,) = analyze_text(f"{HEAD}f({text})\n").contexts("f")
    return context.returns


@pytest.mark.parametrize("text", ENDS.values(), ids=ENDS)
def test_ends(text: str) -> None:
    found, names = returned(text), dict[str, Any]()
    exec(f"{HEAD}made = f({text})\n", names)
    assert isinstance(found, TensorValue) and found.kind is TensorKind.KERAS
    assert found.type.dtype == names["made"].dtype
    assert found.type.shape == tuple(BATCH if size is None else size for size in names["made"].shape)


@pytest.mark.parametrize("text", UNKNOWN_ENDS.values(), ids=UNKNOWN_ENDS)
def test_ends_that_are_not_known(text: str) -> None:
    assert not isinstance(returned(text), TensorValue)


def test_a_property_of_the_program() -> None:
    found = returned("Own().output")
    assert isinstance(found, TensorValue) and found.kind is TensorKind.TENSOR and found.type.shape == (2, 2)


def test_a_model_on_layers_of_a_ready_model() -> None:
    text = "Model(base.input, [base.get_layer('conv_pw_3_relu').output, base.output])(tf.zeros([5, 64, 32, 3]))[0]"
    found, names = returned(text), dict[str, Any]()
    exec(f"{HEAD}made = f({text})\n", names)
    assert isinstance(found, TensorValue) and found.type.shape == tuple(names["made"].shape)


PARTS = {
    "an output": "Model(m.input, m.output)(x)",
    "inputs": "Model(m.inputs, m.get_layer('conv_pw_3_relu').output)(x)",
    "a layer and outputs": "Model(m.inputs, [m.get_layer('conv_pw_3_relu').output, m.outputs[0]])(x)[0]",
    "a layer above": "Model(m.input, Dense(7)(Flatten()(m.output)))(x)",
    "layers by name": "Model(m.input, [m.get_layer(n).output for n in ('conv1', 'conv_pw_2')])(x)[1]",
}


@pytest.mark.parametrize(
    ("text", "graph"),
    # a graph may build a model on layers, but creates no layers
    [(text, graph) for text in PARTS.values() for graph in (False, True) if not graph or "Dense" not in text],
)
def test_a_model_on_parts_of_an_argument(text: str, graph: bool) -> None:
    made = f"def g(m, x):\n    return f({text})\n"
    call = "g(base, tf.zeros([5, 64, 32, 3]))"
    if graph:
        call = f"tf.function(lambda: {call})()"
    program, names = f"{HEAD}{made}made = {call}\n", dict[str, Any]()
    exec(program, names)
    result = analyze_text(program)
    assert result.lines("TR311") == ()
    (found,) = {context.returns for context in result.contexts("f")}
    assert isinstance(found, TensorValue) and found.type.shape == tuple(names["made"].shape)


@pytest.mark.parametrize("test", ["isinstance(layer, Dense)", "hasattr(layer, 'kernel')", "layer.trainable"])
def test_nothing_else_is_told_about_a_layer(test: str) -> None:
    branch = f"def g(layer):\n    if {test}:\n        return 1\n    return tf.zeros([2])\n"
    (context,) = analyze_text(f"{HEAD}{branch}g(base.get_layer('conv_pw_3'))\n").contexts("g")
    assert len(members(context.returns)) == 2


READS = {
    "the shape of an output": "tf.reduce_sum(one(x)) * one.output.shape[-1]",
    "the shape of an output that was kept": "tf.reduce_sum(one(x)) * kept.shape[-1]",
    "the shape of a layer's output": "tf.reduce_sum(x) * base.get_layer('conv1').output.shape[-1]",
    "an input of a ready model": "tf.reduce_sum(base(tf.zeros([1, 64, 32, 3]))) + len(base.inputs)",
}


@pytest.mark.parametrize("text", READS.values(), ids=READS)
def test_a_graph_may_look_at_them(text: str) -> None:
    program = f"{HEAD}kept = one.output\ndef g(x):\n    return {text}\nmade = g(tf.ones([2, 4]))\n"
    assert analyze_text(program).lines("TR311") == ()
    exec(program.replace("def g", "@tf.function\ndef g"), dict[str, Any]())
