"""Cures of operations that fail: offered where exactly one is right, and the failure is gone afterwards."""

from __future__ import annotations

from pathlib import Path

from ide_support import project, shown

from terra_refactor.ide.code_actions import NewText, Task, code_actions, perform
from terra_refactor.ide.snapshot import Snapshot

RIGHT = [
    ("tf.matmul(tf.ones([32, 8]), tf.ones([32, 4]))", "tf.matmul(tf.transpose(tf.ones([32, 8])), tf.ones([32, 4]))"),
    ("tf.ones([2, 3]) @ tf.ones([4, 3])", "tf.ones([2, 3]) @ tf.transpose(tf.ones([4, 3]))"),
    ("tf.ones([32, 10]) + tf.ones([32])", "tf.ones([32, 10]) + tf.expand_dims(tf.ones([32]), -1)"),
    ("tf.ones([4]) * tf.constant([1, 2, 3, 4])", "tf.ones([4]) * tf.cast(tf.constant([1, 2, 3, 4]), tf.float32)"),
    ("tf.add(tf.ones([32, 10]), tf.ones([32]))", "tf.add(tf.ones([32, 10]), tf.expand_dims(tf.ones([32]), -1))"),
    ("tf.matmul(tf.ones([2, 3]), tf.ones([3]))", "tf.matmul(tf.ones([2, 3]), tf.expand_dims(tf.ones([3]), -1))"),
    ("tf.concat([tf.ones([2, 3]), tf.ones([2, 4])], 0)", "tf.concat([tf.ones([2, 3]), tf.ones([2, 4])], 1)"),
    (
        "tf.concat([tf.ones([2, 3, 5]), tf.ones([2, 4, 5])], axis=-1)",
        "tf.concat([tf.ones([2, 3, 5]), tf.ones([2, 4, 5])], axis=-2)",
    ),
    ("tf.squeeze(tf.ones([2, 3, 1]), axis=1)", "tf.squeeze(tf.ones([2, 3, 1]), axis=2)"),
    ("tf.split(tf.ones([2, 9]), 3, axis=0)", "tf.split(tf.ones([2, 9]), 3, axis=1)"),
    ("tf.reduce_sum(tf.ones([4]), axis=1)", "tf.reduce_sum(tf.ones([4]), axis=0)"),
    ("tf.reshape(tf.ones([32, 28, 28]), [32, 785])", "tf.reshape(tf.ones([32, 28, 28]), [32, -1])"),
    ("tf.reshape(tf.ones([6, 4]), (5, 4))", "tf.reshape(tf.ones([6, 4]), (-1, 4))"),
]
OPEN = [
    "tf.ones([2, 3]) + tf.ones([4, 5])",
    "tf.matmul(tf.ones([3, 5]), tf.ones([3, 5]))",  # either may be turned
    "tf.ones([9, 10]) + tf.ones([9, 10, 1])",  # an axis more, or one less
    "tf.ones([4]) * tf.ones([4], tf.float64)",  # which precision is meant?
    "tf.concat([tf.ones([2, 3]), tf.ones([3, 2])], 0)",  # no axis is right
    "tf.reduce_sum(tf.ones([4, 5]), axis=2)",  # either may be meant
    "tf.reshape(tf.ones([6, 4]), (5, 5))",  # no size is right
    "tf.reshape(tf.ones([6, 4]), (-1, 5))",
    "tf.reshape(tf.ones([4, 4]), (8, 4))",  # either size may be wrong
    "tf.squeeze(tf.ones([1, 3, 1]), axis=1)",
    "tf.squeeze(tf.ones([2, 3]), axis=1)",  # no axis more, to be taken away again
]


def analysed(folder: Path, expressions: list[str]) -> tuple[Snapshot, str]:
    """A module with a function for each expression: each fails by itself."""
    body = "".join(f"def f{number}():\n    return {text}\n" for number, text in enumerate(expressions))
    path = shown(folder, "m.py")
    return project(folder, {"m.py": f"import tensorflow as tf\n{body}"}).snapshot(path), path


def test_the_one_right_cure_is_offered_and_cures(tmp_path: Path) -> None:
    snapshot, path = analysed(tmp_path / "bad", [bad for bad, _ in RIGHT])
    assert len(snapshot.findings[path]) == len(RIGHT)
    for number, (_, good) in enumerate(RIGHT):
        line = 3 + 2 * number
        (offer,) = [each for each in code_actions(snapshot, path, line, line) if each.request.task is Task.SHAPE]
        result = perform(snapshot, offer.request)
        assert isinstance(result, NewText)
        assert result.text.splitlines()[line - 1] == f"    return {good}"
        assert offer.finding is not None
    cured, path = analysed(tmp_path / "good", [good for _, good in RIGHT])
    assert not cured.findings.get(path)


def test_what_has_several_cures_or_none_is_left_to_the_author(tmp_path: Path) -> None:
    snapshot, path = analysed(tmp_path, OPEN)
    found = [finding for finding in snapshot.findings[path] if finding.rule in ("TR401", "TR402", "TR403")]
    assert len(found) == len(OPEN)
    offers = code_actions(snapshot, path, 1, 99)
    assert not [offer for offer in offers if offer.request.task is Task.SHAPE]


def test_operands_that_are_no_tensors_have_no_cure(tmp_path: Path) -> None:
    """Found by a mutant: no operand has axes that could be counted."""
    snapshot, path = analysed(tmp_path, ["tf.concat([[[1.0]], [2.0]], 0)", "np.concatenate([[1.0], [[2.0]]], np=-1)"])
    code_actions(snapshot, path, 1, 99)
