"""Gradients of several results of a segment: what is above them is differentiated once, and rows of a variable stay rows."""

from __future__ import annotations

from typing import Any

import pytest

tf = pytest.importorskip("tensorflow")

from tensorflow.python.framework import func_graph  # noqa: E402

from terra_refactor.runtime.junctions import junctions  # noqa: E402

pytestmark = [pytest.mark.tensorflow, pytest.mark.kept]


def test_the_way_back_meets_where_results_part() -> None:
    graph = func_graph.FuncGraph("parting")
    with graph.as_default():
        x = tf.compat.v1.placeholder(tf.float32, [3])
        trunk = tf.tanh(x) * 2.0
        left = tf.sin(trunk) + trunk  # the same way twice
        upper = tf.cos(trunk)
        right, top = upper * 2.0, upper + tf.ones([3])
        table = tf.ones([3]) * 5.0  # depends on nothing that is watched
        results = [left + table, right * table, top]
    assert [tensor.name for tensor in junctions(graph, results, [x])] == [trunk.name, upper.name]
    assert [tensor.name for tensor in junctions(graph, [*results, trunk], [x])] == [upper.name]
    assert junctions(graph, results[:1], [x]) == []
    assert junctions(graph, results, []) == []


def test_there_is_none_at_the_value_of_a_variable() -> None:
    table = tf.Variable(tf.ones([5, 2]))
    graph = func_graph.FuncGraph("rows")
    with graph.as_default():
        value = tf.cast(tf.identity(table.read_value()), tf.float64)
        results = [tf.gather(value, [1]) * 2.0, tf.gather(value, [2]) * 3.0]
    handles = list(graph.inputs)
    assert handles
    assert junctions(graph, results, handles) == []


def test_a_shared_trunk_with_heads_and_a_part_whose_shape_depends_on_data(same: Any) -> None:
    def build() -> Any:
        table = tf.Variable(tf.reshape(tf.linspace(tf.constant(0.1, tf.float64), 1.0, 12), [6, 2]))
        weights = [tf.Variable(tf.eye(2, dtype=tf.float64) * 0.1 * i) for i in range(1, 5)]
        unused = tf.Variable(tf.constant(1.0, tf.float64))

        def step(number: int) -> Any:
            with tf.GradientTape() as tape:
                x = tf.gather(table, [number % 6, 2, 3, 4])
                trunk = tf.tanh(x @ weights[0]) @ weights[1]
                heads = [tf.sin(trunk @ weights[2]), trunk @ weights[3] + tf.reduce_sum(trunk)]
                unused * 2.0
                loss = tf.constant(0.0, tf.float64)
                for head in heads:
                    kept = tf.boolean_mask(head, head[:, 0] > -0.5 + 0.1 * number)
                    loss += tf.reduce_sum(kept * kept)
            variables = [table, *weights, unused]
            gradients = tape.gradient(loss, variables)
            for variable, gradient in zip(variables, gradients, strict=True):
                if gradient is not None:
                    variable.assign_sub(0.01 * tf.convert_to_tensor(gradient))
            return [type(gradient).__name__ == "IndexedSlices" for gradient in gradients], [
                gradient for gradient in gradients if gradient is not None
            ]

        return step, lambda: [table, *weights]

    same(build, calls=8)
    assert "Where" in same.report


def test_rows_looked_up_in_a_result_stay_rows(same: Any) -> None:
    """A norm of a gradient in rows is that of the rows before equal ones are added: a dense one has another norm."""

    def build() -> Any:
        start = tf.reshape(tf.linspace(tf.constant(0.1, tf.float64), 1.0, 12), [6, 2])
        tables = [tf.Variable(start), tf.Variable(start * 2.0), tf.Variable(start * 3.0), tf.Variable(start)]

        def step(number: int) -> Any:
            with tf.GradientTape() as tape:
                values = [
                    tf.convert_to_tensor(tables[0]),
                    -tf.identity(tables[1]),  # the gradient of a negation keeps rows
                    tf.tanh(tables[2]) * tables[2],  # this one does not
                    tf.concat([tables[3], tables[0]], 0),
                ]
                loss = tf.reduce_sum(tf.gather(values[0], [0, 0]))
                if number % 3 == 1:
                    loss += tf.norm(values[2])  # a path that not all calls take: a segment ends here
                if float(loss) > -1e9:
                    loss += tf.add_n(
                        [tf.reduce_sum(tf.sin(tf.gather(value, [1, 3, 1, number % 6]))) for value in values]
                    )
            gradients = tape.gradient(loss, tables)
            found = []
            for table, gradient in zip(tables, gradients, strict=True):
                clipped = tf.clip_by_norm(gradient, 0.1)
                found += [type(gradient).__name__, type(clipped).__name__, gradient, clipped]
                table.assign_sub(0.1 * tf.convert_to_tensor(clipped))
            return found

        return step, lambda: tables

    same(build, calls=9)
    assert "under an open tape" not in same.report
