"""A second `fix` finds nothing to do, also where what one level adds covers what another one would."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
from typer.testing import CliRunner

from terra_refactor.cli.main import app

PROGRAM = """\
import tensorflow as tf


def inner(x):
    for _ in range(30):
        x = tf.sin(x) * 2.0 + tf.cos(x)
    return x


def outer(values: tf.Tensor, helper):
    total = inner(tf.ones([3]))
    for _ in range(30):
        total = tf.tanh(total) + tf.reduce_sum(values)
    helper.note("done")
    return total
"""
REPEATED = """

def train(helper):
    while helper.goes_on():
        inner(tf.ones([3]))
"""


@pytest.mark.parametrize(
    ("text", "level", "decorated"),
    [
        (PROGRAM + REPEATED, "safe", ["def inner(x):"]),
        (PROGRAM, "speculative", ["def outer(values: tf.Tensor, helper):"]),
    ],
)
def test_only_the_outermost_function_of_a_level_is_decorated(
    tmp_path: Path, text: str, level: str, decorated: list[str]
) -> None:
    path = tmp_path / "program.py"
    path.write_text(text, encoding="utf-8")
    arguments = ["fix", "--isolated", "--no-cache", "--level", level, str(path)]
    assert CliRunner().invoke(app, [*arguments, "--write"]).exit_code == 0
    lines = path.read_text(encoding="utf-8").splitlines()
    assert [after for before, after in pairwise(lines) if before == "@tf.function"] == decorated
    again = CliRunner().invoke(app, [*arguments, "--check"])
    assert again.exit_code == 0, again.output
