"""TR107: an unresolved call."""

from __future__ import annotations

from typing import Final

from terra_refactor.domain.effect import EffectKind
from terra_refactor.rules.rule import Rule, RuleKind, Samples, Severity

RULE: Final = Rule(
    id="TR107",
    name="unresolved-call",
    kind=RuleKind.HAZARD,
    severity=Severity.INFORMATION,
    summary="A call of unknown code receives state that outlives the call, so its side effects are unknown.",
    explanation=(
        "The callee is neither code of the project nor a known library, and it gets an object that other code can see "
        "(`self`, a global, an unknown parameter). It may change that object, print, or read a file, and a graph would do "
        "each of these only once. If all its arguments are tensors, numbers and new objects, the function is speculative, "
        "with the assumption that the callee is pure."
    ),
    samples=Samples(
        bad="""\
import tensorflow as tf

from mylib import track


class Trainer:
    def step(self, x):
        track(self)  # TR107
        return tf.nn.softmax(x) * 2.0 + 1.0
""",
        good="""\
import tensorflow as tf


class Trainer:
    def step(self, x):
        return tf.nn.softmax(x) * 2.0 + 1.0
""",
        near_miss="""\
import tensorflow as tf

from mylib import scale


def step(x):
    return tf.nn.softmax(scale(tf.shape(x)[0])) * x
""",
    ),
    cure="Declare the library as pure in the configuration, or call it outside of the function.",
    effects=frozenset({EffectKind.UNKNOWN_CALL}),
    only_decides=True,
    effect_message="`{done}` cannot be resolved, so its side effects are unknown",
)
