"""A parameter's name is never part of a certain hazard, of an error, or of the removal of a decorator."""

from __future__ import annotations

import pytest
from analysis_support import analyze_modules

from terra_refactor.classify.decide import DecisionOptions
from terra_refactor.classify.decision import Action
from terra_refactor.rules.rule import Severity

NAMES = ("x", "inputs", "images", "labels", "features", "targets", "batch")
USES = (
    "a, b = P",
    "a, *b = P",
    "for part in P:\n            w.assign_add(part)",
    "a = [tf.exp(part) for part in P]",
    "a = {key: tf.exp(value) for key, value in P.items()}",
    "a = P['image'] if 'image' in P else P['x']",
    "if P:\n            w.assign_add(1.0)",
    "a = 1 if not P else 2",
    "while P:\n            P = P[1:]",
    "assert P",
    "a = tf.zeros([len(P)])",
    "a = int(P)",
    "a = float(P) + 1.0",
    "a = range(P)",
    "a = np.array(P)",
    "a = np.mean(P)",
    "a = {P: 1}",
    "a = {P}",
    "a = P in (1, 2)",
    "a = sorted(P)",
    "a = max(P)",
    "a = sum(P)",
    "a = list(zip(P, P))",
    "a = dict(P)",
    "a = tf.zeros(P[0])",
    "a = P[0][0], P[1]",
    "a = [1, 2][P]",
    "a = 'ab' * P",
    "a = P and 1",
    "a = P == 3 or P > 4",
    "match P:\n            case (a, b):\n                w.assign_add(a)",
)


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("step", ["train_step", "inference"])
def test_a_name_proves_nothing(use: str, step: str) -> None:
    for name in NAMES:
        text = f"""
import numpy as np
import tensorflow as tf
w = tf.Variable(1.0)
class Trainer:
    @tf.function
    def {step}(self, {name}):
        {use.replace("P", name)}
        return tf.exp(w) * 2.0
    def run(self, batches, strategy):
        for each in batches:
            strategy.run(self.{step}, args=(each,))
"""
        result = analyze_modules({"m": text}, DecisionOptions(min_ops=0))
        decision = result.decision(f"Trainer.{step}")
        assert decision.action is not Action.REMOVE_TF_FUNCTION, (name, decision.reason)
        assert [finding for finding in result.findings if finding.severity is Severity.ERROR] == [], name


def test_what_a_body_certainly_does_is_certain_whatever_the_name() -> None:
    text = """
import tensorflow as tf
@tf.function
def train_step(inputs):
    return tf.exp(inputs).numpy()
"""
    assert analyze_modules({"m": text}).decision("train_step").action is Action.REMOVE_TF_FUNCTION
