"""Ragged and sparse tensors, and tables: the rules against TensorFlow, an expression at a time, on generated sizes.

A rule's dtype, kind and sizes must hold in TensorFlow; of most expressions all of it must be known.
"""

from __future__ import annotations

import random
from typing import Any, Final

import pytest
from analysis_support import analyze_text

from terra_refactor.domain.dim import eager
from terra_refactor.domain.value import TensorKind, TensorValue, Value
from terra_refactor.ir.ops import StoreName
from terra_refactor.ir.walk import walk

pytestmark = pytest.mark.tensorflow

HEAD: Final = """\
import numpy as np
import tensorflow as tf
from tensorflow.keras import layers


class Cell(layers.Layer):
    def __init__(self, units):
        super().__init__()
        self.state_size = self.output_size = units

    def build(self, input_shape):
        self.kernel = self.add_weight(shape=(input_shape[-1], self.state_size))

    def call(self, inputs, states):
        step = tf.matmul(inputs, self.kernel) + states[0]
        return step, [step]


sp = tf.sparse.SparseTensor(np.array([[0, 0], [{rows} - 1, {columns} - 1]], "int64"), np.ones((2,), "float32"), [{rows}, {columns}])
ids_of = tf.sparse.SparseTensor(np.array([[0, 0], [{rows} - 1, 1]], "int64"), np.zeros((2,), "int64"), [{rows}, {columns}])
table = tf.ones([{columns}, {width}])
rt = tf.RaggedTensor.from_row_lengths(tf.ones([3 * {rows}, {width}]), [3] * {rows})
ids = tf.RaggedTensor.from_row_lengths(tf.zeros([2 * {rows}], tf.int64), [2] * {rows})
deep = tf.RaggedTensor.from_row_lengths(rt, [1] * {rows})
words = tf.strings.split(tf.constant(["a b", "c"]))
keys = tf.lookup.KeyValueTensorInitializer(tf.constant(["a", "b"]), tf.range(2, dtype=tf.int64))
vocabulary = tf.lookup.StaticVocabularyTable(keys, num_oov_buckets=2)
counts = tf.lookup.experimental.MutableHashTable(tf.string, tf.int64, 0)
x = tf.ones([{rows}, 1])
"""
EXACT: Final = """\
sp.with_values(tf.cast(sp.values, tf.float64))
tf.sparse.reduce_sum(sp)
tf.sparse.reduce_sum(sp, axis=1)
tf.sparse.reduce_sum(sp, axis=0, keepdims=True)
tf.sparse.reduce_max(sp, -1)
tf.sparse.map_values(tf.cast, sp, tf.int32)
tf.sparse.map_values(tf.ones_like, sp)
tf.sparse.add(sp, sp)
tf.sparse.add(sp, tf.ones([{rows}, {columns}]))
tf.sparse.expand_dims(sp, 0)
tf.sparse.expand_dims(sp)
tf.sparse.concat(0, [sp, sp])
tf.sparse.concat(1, [sp, sp, sp])
tf.sparse.maximum(sp, sp)
tf.sparse.reset_shape(sp, [{rows} + 2, {columns} + 1])
tf.sparse.to_indicator(ids_of, 7)
tf.nn.safe_embedding_lookup_sparse(table, ids_of)
sp * x
sp / x
tf.nn.embedding_lookup(table, ids)
tf.gather(table, ids)
tf.reverse(ids, axis=[1])
tf.reduce_sum(rt, axis=1)
tf.reduce_sum(deep, axis=1)
tf.reduce_max(deep, axis=2)
tf.reduce_mean(deep, axis=-1)
deep.row_lengths(axis=2)
deep.row_starts()
deep.row_limits()
deep.row_splits
deep[:1]
deep[:, :1]
deep[:, :, :1]
deep[:, :, :, :1]
rt[0:1, 1:]
rt.with_flat_values(tf.ones([3 * {rows}, 2]))
deep.with_flat_values(tf.ones([3 * {rows}, 2], tf.float64))
deep.with_values(rt)
tf.gather(rt, [0, 0, 0])
tf.gather(deep, tf.constant([[0], [0]]))
tf.ragged.map_flat_values(tf.matmul, deep, tf.ones([{width}, 5]))
tf.strings.split(words)
tf.nn.embedding_lookup(table, tf.RaggedTensor.from_row_lengths(ids, [1] * {rows}))
tf.reduce_mean(rt, axis=-1)
tf.reduce_max(ids, axis=1)
tf.ragged.map_flat_values(vocabulary.lookup, words)
vocabulary.lookup(words)
vocabulary.lookup(tf.constant(["a", "c", "d"]))
vocabulary[tf.constant([["a"]])]
vocabulary.size()
counts.lookup(tf.constant(["a", "c"]))
tf.strings.ngrams(words, 2)
tf.concat([ids, ids], axis=1)
tf.concat([ids, ids], axis=0)
tf.concat([tf.fill([{rows}, 1], tf.constant(0, tf.int64)), ids], axis=1)
tf.ragged.stack([tf.constant([1, 2]), tf.constant([3])])
layers.Discretization([0.5, 2.0], output_mode="one_hot")(x)
layers.Discretization([0.5, 2.0], output_mode="multi_hot")(tf.ones([{rows}, {columns}]))
layers.Discretization([0.5, 2.0], output_mode="one_hot")(tf.ones([{rows}, {columns}]))
layers.HashedCrossing(7)((tf.ones([{rows}], tf.int32), tf.ones([{rows}], tf.int64)))
layers.HashedCrossing(7, output_mode="one_hot")((tf.ones([{rows}], tf.int32), tf.ones([{rows}], tf.int64)))
layers.HashedCrossing(7, output_mode="one_hot")((tf.ones([{rows}, 1], tf.int32), tf.ones([{rows}, 1], tf.int64)))
layers.RNN([Cell(u) for u in ({width}, 3)])(tf.ones([{rows}, 4, {columns}]))
""".splitlines()
PARTLY: Final = """\
tf.sparse.reset_shape(sp)
deep[0]
rt[0]
tf.nn.embedding_lookup_sparse(table, ids_of, None)
tf.sparse.reduce_sum(sp, axis=1, output_is_sparse=True)
tf.ragged.stack([ids, ids])
tf.reduce_sum(rt, axis=0)
tf.concat([rt, rt], axis=1)
tf.ragged.boolean_mask(ids, tf.reduce_max(ids, axis=1) >= 0)
tf.gather(table, ids, axis=1)
tf.strings.ngrams(tf.constant(["a", "b", "c"]), 2)
layers.Discretization([0.5, 2.0])(x)
""".splitlines()
_KINDS: Final = {"SparseTensor": TensorKind.SPARSE, "RaggedTensor": TensorKind.RAGGED, "EagerTensor": TensorKind.TENSOR}


def said(head: str, expressions: list[str]) -> dict[str, Value | None]:
    lines = [f"result_{number} = {text}" for number, text in enumerate(expressions)]
    result = analyze_text(head + "\n".join(lines) + "\n")
    (module,) = result.program.modules.values()
    body = module.functions[0]
    (context,) = result.facts.contexts_of(body.id)
    assert context.problem is None and not context.failures
    values = {op.name: context.value(op.value) for op in walk(body.body) if isinstance(op, StoreName)}
    return {text: values.get(f"result_{number}") for number, text in enumerate(expressions)}


@pytest.mark.parametrize("seed", range(3))
def test_what_is_said_is_so(seed: int) -> None:
    chosen = random.Random(seed)
    sizes = {"rows": chosen.randint(2, 5), "columns": chosen.randint(2, 6), "width": chosen.randint(1, 4)}
    exact, partly = ([text.format(**sizes) for text in texts] for texts in (EXACT, PARTLY))
    head = HEAD.format(**sizes)
    names: dict[str, Any] = {}
    exec(head, names)
    for text, value in said(head, [*exact, *partly]).items():
        real = eval(text, names)
        kind, shape = _KINDS[type(real).__name__], tuple(real.shape)
        if not isinstance(value, TensorValue):
            assert text in partly and value is not None, text
            continue
        assert value.kind is kind, text
        assert value.type.dtype in (None, real.dtype.name), text
        known = None if value.type.shape is None else tuple(map(eager, value.type.shape))
        if known is not None:
            assert len(known) == len(shape), text
            assert all(size is None or size == other for size, other in zip(known, shape, strict=True)), text
        if text in exact:
            assert value.type.dtype == real.dtype.name and known == shape, (text, value, shape)


def test_each_cell_of_a_stack_gets_what_the_one_before_it_gives() -> None:
    head = HEAD.format(rows=2, columns=5, width=1)
    result = analyze_text(head + "layers.RNN([Cell(8), Cell(3)])(tf.ones([2, 4, 5]))\n")
    (inputs,) = [each for each in result.decision("Cell.call").parameters if each.name == "inputs"]
    assert {each.shape for each in inputs.types} == {(2, 5), (2, 8)}
