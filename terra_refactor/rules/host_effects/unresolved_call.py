"""TR107: a call that cannot be resolved."""

from __future__ import annotations

from typing import Final

from terra_refactor.domain.effect import EffectKind
from terra_refactor.rules.rule import Rule, RuleKind, Samples, Severity

RULE: Final = Rule(
    id="TR107",
    name="unresolved-call",
    kind=RuleKind.HAZARD,
    severity=Severity.INFORMATION,
    summary="A call that cannot be resolved is given state that outlives the call: nobody can tell what it does to it.",
    explanation=(
        "The callee is neither code of the project nor a library that is known, and it gets an object that "
        "others see, too (`self`, a global, "
        "an unknown parameter). It may change that object, print, or read a file, each of which a graph would do only once. If all that it "
        "gets are tensors, numbers and new objects, the function is speculative instead, with the callee's "
        "purity as an assumption. A part of the decision about eager functions: `lint` does not report it."
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
)
