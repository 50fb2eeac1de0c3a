"""Which decisions about graphs the linter tells of, and once."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from analysis_support import analyze_text

from terra_refactor.classify.decide import DecisionOptions


@pytest.mark.parametrize(
    ("program", "rules"),
    [
        ("@tf.function\ndef f(x):\n    return x * random.random()\n\nf(tf.ones([3]))", ["TR105"]),  # says it all
        ("@tf.function\ndef f(x):\n    y = 1\n\nf(1)", ["TR502"]),
        ("def f(x):\n    return tf.tanh(x) * 2.0\n\nf(tf.ones([3]))", ["TR506"]),
        (
            "@tf.function\ndef f(x):\n    return tf.tanh(x)\n\nf(tf.ones([3]))\nf(tf.ones([4]))\nf(tf.ones([5]))",
            ["TR202"],
        ),
        ("@tf.function\ndef f(x):\n    return tf.tanh(x)\n\nf(tf.ones([3]))", []),
    ],
)
def test_a_decision_is_a_finding_where_no_hazard_says_the_same(program: str, rules: list[str]) -> None:
    found = analyze_text(f"import random\nimport tensorflow as tf\n\n{program}\n", DecisionOptions(min_ops=0)).findings
    assert [finding.rule for finding in found] == rules
