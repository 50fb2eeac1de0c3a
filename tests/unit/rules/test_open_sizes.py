"""Sizes that a graph does not know, by the ways on which they come: what TensorFlow says of each function is written beside it."""

from __future__ import annotations

import pytest
from analysis_support import analyze_text

from terra_refactor.classify.decide import DecisionOptions
from terra_refactor.classify.decision import Classification
from terra_refactor.domain.dim import OpenDim, Why
from terra_refactor.domain.lattice import join
from terra_refactor.domain.roots import Traced
from terra_refactor.domain.tensor import TensorType
from terra_refactor.domain.traced import without_marks
from terra_refactor.domain.value import (
    BoundMethod,
    Constant,
    LibraryValue,
    PythonType,
    Scalar,
    TensorValue,
    TupleValue,
    Value,
)
from terra_refactor.tf_model.registry import lookup
from terra_refactor.tf_model.spec import BoundCall
from terra_refactor.tf_model.traced_sizes import result_of

HEAD = """\
import tensorflow as tf


class Keeper:
    def take(self, t):
        self.last = t
        return self

    def rows(self):
        return self.last.shape[0]


def step(batch):
    return batch * float(batch.shape[0])


"""

RAISES = {
    "an attribute": "return x * float(Keeper().take(tf.range(k)).rows())",
    "a list": "parts = []\n    parts.append(x[:k])\n    return x * float(parts[0].shape[0])",
    "a closure": "y = tf.unique(x)[0]\n\n    def inner():\n        return y.shape[0] + 1\n\n    return x * inner()",
    "one of several": "m = 1\n    for part in (x, x[x > 0]):\n        m = m * part.shape[0]\n    return x * m",
    "a comprehension": "sizes = [t.shape[0] for t in (x, tf.zeros([k, 2]))]\n    return x * float(sum(sizes))",
    "a mask along an axis": "return x * tf.boolean_mask(tf.stack([x, x]), x > 0, axis=1).shape[1]",
    "a new axis": "y = x[x > 0][tf.newaxis]\n    return x * y.shape[1]",
    "sizes in a list": "y = tf.stack([x[x > 0], x[x > 0]])\n    return tf.zeros(y.shape.as_list())",
    "the largest of several": "sizes = [t.shape[0] for t in (x, x[x > 0])]\n    return x * float(max(sizes))",
    "what grows in a loop": "y = tf.zeros([0])\n    for i in tf.range(k):\n        tf.autograph.experimental.set_loop_options("
    "shape_invariants=[(y, tf.TensorShape([None]))])\n        y = tf.concat([y, x], 0)\n    return tf.zeros([y.shape[0]])",
    "an invariant": "y = tf.while_loop(lambda i, t: i < 2, lambda i, t: (i + 1, tf.concat([t, x], 0)), [0, x], "
    "shape_invariants=[tf.TensorShape([]), tf.TensorShape([None])])[1]\n    return tf.zeros([y.shape[0]])",
    "a key": "return x * float(max([x[:k], x], key=lambda t: 1).shape[0])",
}
SAME = {
    "an attribute": "return x * float(Keeper().take(x).rows())",
    "a test for None": "y = x[x > 0]\n    if y.shape[0] is None:\n        m = tf.shape(y)[0]\n    else:\n        m = y.shape[0]\n"
    "    return x * tf.cast(m, tf.float32)",
    "a name that a test for None closes": "y = x[x > 0]\n    size = y.shape[0]\n    if size is None:\n        size = tf.shape(y)[0]\n"
    "    return tf.zeros([size])",
    "a spec": "spec = tf.TensorSpec([None, 3])\n    return x * float(spec.shape[0] != 2)",
    "the other one of several": "sizes = [t.shape[0] for t in (x[x > 0], x)]\n    return x * float(sizes[1])",
    "a loop that sets the shape": "y = x\n    for i in tf.range(k):\n        y = tf.numpy_function(lambda t: t, [y], tf.float32)\n"
    "        y.set_shape(x.shape)\n    return y",
    "what is fixed": "y = tf.ensure_shape(x[x > -9], [3])\n    return y * float(y.shape[0])",
}


def classified(body: str) -> Classification:
    text = f"{HEAD}def f(x, k):\n    {body}\n\n\nif __name__ == '__main__':\n    f(tf.constant([1.0, 2.0, 3.0]), tf.constant(2))\n"
    return analyze_text(text, DecisionOptions(min_ops=0)).decision("f").classification


@pytest.mark.parametrize("body", RAISES.values(), ids=RAISES)
def test_a_size_that_is_open_is_followed(body: str) -> None:
    assert classified(body) is Classification.UNSAFE


@pytest.mark.parametrize("body", SAME.values(), ids=SAME)
def test_a_size_that_is_known_is_no_hazard(body: str) -> None:
    assert classified(body) is Classification.SAFE


def test_a_batch_is_open_only_to_what_takes_it() -> None:
    text = f"""{HEAD}
def train():
    for batch in tf.data.Dataset.from_tensor_slices(tf.ones([5, 2])).batch(2):
        step(batch)


if __name__ == '__main__':
    train()
"""
    result = analyze_text(text, DecisionOptions(min_ops=0))
    assert "TR309" not in result.rules_of("step")
    assert "TR309" in result.rules_of("train")


def test_the_eager_view_of_a_result_does_not_depend_on_what_is_open() -> None:
    size, shape = OpenDim(4, 15, Why.BATCH), (OpenDim(4, 15, Why.BATCH), 6)
    tensor, number = TensorValue(TensorType("float32", shape)), Scalar(PythonType.INT, size)
    unknown = TensorValue(TensorType("int32", ()), traced=Traced(content=15))
    calls: list[tuple[str, dict[str, Value]]] = [
        ("tensorflow.reshape", {"tensor": tensor, "shape": TupleValue((Constant(-1), Constant(3)))}),
        ("tensorflow.reshape", {"tensor": tensor, "shape": TupleValue((number, Constant(2), Constant(-1)))}),
        ("tensorflow.zeros", {"shape": unknown}),
        ("tensorflow.zeros", {"shape": TupleValue((number, Constant(2)))}),
        ("tensorflow.split", {"value": tensor, "num_or_size_splits": Constant(2), "axis": Constant(0)}),
        ("tensorflow.unstack", {"value": tensor, "axis": Constant(0)}),
        ("tensorflow.image.resize", {"images": TensorValue(TensorType("float32", (*shape, 6, 3))), "size": unknown}),
        ("tensorflow.tile", {"input": tensor, "multiples": TupleValue((number, Constant(1)))}),
        ("tensorflow.linalg.matmul", {"a": tensor, "b": tensor, "transpose_b": Constant(True)}),
    ]
    for name, arguments in calls:
        entity = lookup(name)
        assert entity is not None and entity.rule is not None
        given = BoundCall(name, arguments)
        eagerly = BoundCall(name, {key: without_marks(value) for key, value in arguments.items()})
        assert without_marks(result_of(entity, given)) == without_marks(entity.rule(eagerly)), name


def test_what_is_the_same_for_eager_code_is_one_alternative() -> None:
    type_, size = TensorType("float32", (None, 3)), OpenDim(None, 1, Why.CONTENT)
    joined = join(TensorValue(type_), TensorValue(TensorType("float32", (size, 3)), traced=Traced(content=2)))
    assert joined == TensorValue(TensorType("float32", (size, 3)), traced=Traced(content=2))
    numbers = join(Constant(4), Scalar(PythonType.INT, OpenDim(4, 1, Why.BATCH)))
    assert numbers == Scalar(PythonType.INT, OpenDim(4, 1, Why.BATCH))
    method = LibraryValue("tensorflow.Tensor.numpy")
    opened = TensorValue(type_, traced=Traced(content=1))
    assert join(BoundMethod(method, TensorValue(type_)), BoundMethod(method, opened)) == BoundMethod(method, opened)


def test_contexts_that_are_the_same_for_eager_code_count_once() -> None:
    """A helper that is called with tensors of many sizes, each at two depths, is still told apart for each size."""
    calls = "\n".join(f"    helper(tf.zeros([{n}]))\n    through(tf.zeros([{n}]))" for n in range(1, 8))
    functions = "def helper(t):\n    return t + 1.0\n\n\ndef through(t):\n    return helper(t)\n\n\n"
    text = f"import tensorflow as tf\n\n\n{functions}def main():\n{calls}\n\n\nmain()\n"
    result = analyze_text(text, DecisionOptions(min_ops=0))
    assert {
        str(context.returns.type) for context in result.contexts("helper") if isinstance(context.returns, TensorValue)
    } == {f"float32 ({n},)" for n in range(1, 8)}
