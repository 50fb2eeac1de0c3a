"""Calls beyond those that are told apart: what they are joined with."""

from __future__ import annotations

from analysis_support import analyze_text

from terra_refactor.analysis.contexts import MAX_TOLD_APART
from terra_refactor.domain.effect import EffectKind

CALLED_IN_MANY_WAYS = """
import numpy as np
import tensorflow as tf

class Sampler:
    def __call__(self, step, prompt, k):
        return step(prompt) * k

def clean(p):
    return p + 1.0
def noisy(p):
    return p + np.random.uniform()
"""
IN_A_GRAPH = """
def test_in_a_graph():
    @tf.function
    def generate(p):
        return Sampler()(clean, p, 1.0)
    generate(tf.ones([2]))
"""


def test_what_eager_calls_bring_is_no_argument_of_a_graph() -> None:
    eager = "".join(
        f"def test_{i}():\n    Sampler()({'noisy' if i == 3 else 'clean'}, tf.ones([{i + 1}]), {i}.0)\n"
        for i in range(MAX_TOLD_APART + 1)
    )
    found = analyze_text(CALLED_IN_MANY_WAYS + eager + IN_A_GRAPH)
    in_graph = [context for context in found.contexts("Sampler.__call__") if context.in_graph]
    assert [[effect.kind for effect in context.effects] for context in in_graph] == [[]]
    eagerly = [context for context in found.contexts("Sampler.__call__") if not context.in_graph]
    assert EffectKind.RANDOM in {effect.kind for context in eagerly for effect in context.effects}
