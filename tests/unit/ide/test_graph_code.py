"""Code that runs as a graph: lines, and the names in it that are tensors."""

from __future__ import annotations

import textwrap
from pathlib import Path

from ide_support import project, shown

from terra_refactor.ide.graph_code import TokenKind, graph_lines, graph_tokens

MODEL = """\
import tensorflow as tf


def helper(values):
    print("x")
    return values * 2.0


def plain(values):
    return values


class Net(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.w = tf.Variable(tf.zeros([2, 2]))

    @tf.function
    def step(self, values, training=False):
        hidden = tf.matmul(values, self.w)
        if training:
            hidden = plain(hidden)
            hidden += 1.0
        else:
            hidden = helper(hidden)

        def inner(a):
            return a + 1.0

        count = 3
        for i in range(count):
            hidden = inner(hidden)
        return hidden


net = Net()
net.step(tf.ones([2, 2]))
helper(tf.ones([2]))
data = tf.data.Dataset.range(3).map(lambda x: x * 2)
"""


def lines_of(folder: Path, text: str) -> list[tuple[int, int, str, bool]]:
    session = project(folder, {"m.py": text})
    path = shown(folder, "m.py")
    found = graph_lines(session.snapshot(path), path)
    return [(each.first, each.last, each.function, each.eagerly_too) for each in found]


def tokens_of(folder: Path, text: str) -> list[tuple[int, str, TokenKind, bool]]:
    session = project(folder, {"m.py": text})
    path = shown(folder, "m.py")
    lines = textwrap.dedent(text).split("\n")
    return [
        (
            each.span.line,
            lines[each.span.line - 1][each.span.column - 1 : each.span.end_column - 1],
            each.kind,
            each.eagerly_too,
        )
        for each in graph_tokens(session.snapshot(path), path)
    ]


def test_lines_that_a_trace_runs_without_the_branches_that_none_takes(tmp_path: Path) -> None:
    assert lines_of(tmp_path, MODEL) == [
        (4, 6, "helper", True),
        (19, 21, "Net.step", False),
        (24, 26, "Net.step", False),
        (27, 28, "Net.step.<locals>.inner", False),
        (29, 33, "Net.step", False),
    ]


def test_a_branch_that_some_trace_takes_is_marked(tmp_path: Path) -> None:
    text = MODEL.replace("net.step(tf.ones([2, 2]))", "net.step(tf.ones([2, 2]))\nnet.step(tf.ones([2, 2]), True)")
    lines = lines_of(tmp_path, text)
    assert ("plain" in {function for _, _, function, _ in lines}) is True
    assert (19, 26, "Net.step", False) in lines


def test_nothing_is_marked_where_no_trace_is(tmp_path: Path) -> None:
    text = """\
        import tensorflow as tf

        def scale(values):
            return values * 2.0

        scale(tf.ones([2]))
        """
    assert lines_of(tmp_path, text) == []
    assert tokens_of(tmp_path, text) == []


def test_host_code_of_a_graph_is_not_marked(tmp_path: Path) -> None:
    text = """\
        import tensorflow as tf

        def host(values):
            return values.numpy() * 2.0

        @tf.function
        def graph(values):
            return tf.py_function(host, [values], tf.float32)

        graph(tf.ones([2]))
        """
    assert [function for _, _, function, _ in lines_of(tmp_path, text)] == ["graph"]


def test_names_are_tokens_where_they_are_tensors_in_each_trace(tmp_path: Path) -> None:
    found = tokens_of(tmp_path, MODEL)
    assert [(line, name, kind.value) for line, name, kind, _ in found if line in (4, 6, 19, 20, 25, 30, 31, 32)] == [
        (4, "helper", "function"),
        (4, "values", "parameter"),
        (6, "values", "parameter"),
        (19, "step", "method"),
        (19, "values", "parameter"),
        (20, "hidden", "variable"),
        (20, "matmul", "method"),
        (20, "values", "parameter"),
        (20, "w", "property"),
        (25, "hidden", "variable"),
        (25, "helper", "function"),
        (25, "hidden", "variable"),
        (32, "hidden", "variable"),
        (32, "inner", "function"),
        (32, "hidden", "variable"),
    ]
    assert {
        name for line, name, _, _ in found if line in (21, 22, 23, 30, 31)
    } == set()  # Python's numbers, and no trace
    assert {eagerly for line, _, _, eagerly in found if line < 7} == {True}
    assert {eagerly for line, _, _, eagerly in found if line > 18} == {False}
    assert [(name, kind) for line, name, kind, _ in found if line == 39] == [("x", TokenKind.PARAMETER)] * 2


def test_a_name_that_is_no_tensor_in_one_trace_is_no_token(tmp_path: Path) -> None:
    text = """\
        import tensorflow as tf

        @tf.function
        def graph(values, other):
            return values * other

        graph(tf.ones([2]), 3.0)
        graph(tf.ones([2]), tf.ones([2]))
        """
    assert [name for line, name, _, _ in tokens_of(tmp_path, text) if line == 5] == ["values"]


def test_tokens_do_not_overlap_and_are_in_order(tmp_path: Path) -> None:
    session = project(tmp_path, {"m.py": MODEL})
    path = shown(tmp_path, "m.py")
    end = (0, 0)
    for token in graph_tokens(session.snapshot(path), path):
        assert end <= (token.span.line, token.span.column)
        assert token.span.line == token.span.end_line
        end = (token.span.end_line, token.span.end_column)
