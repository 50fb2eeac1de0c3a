"""TR105: host values that are frozen into a graph."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from terra_refactor.domain.effect import EffectKind
from terra_refactor.facts.view import ContextView
from terra_refactor.rules.host_sources import host_sources
from terra_refactor.rules.rule import LocalHazard, Nature, Rule, RuleKind, Samples, Severity


def check(view: ContextView) -> Iterator[LocalHazard]:
    for number in host_sources(view):
        written = view.written(number)
        yield LocalHazard(
            number,
            f"`{written}` is unknown code without a tensor argument: a graph would keep the result of the trace",
            f"`{written}` returns the same in each call",
            nature=Nature.UNKNOWABLE,
        )


RULE: Final = Rule(
    id="TR105",
    name="frozen-host-value",
    kind=RuleKind.HAZARD,
    severity=Severity.ERROR,
    summary=(
        "Host random numbers, clocks, environment variables and elements of Python iterators are frozen when the graph is "
        "traced."
    ),
    explanation=(
        "`random.*`, `np.random.*`, `time.*`, `datetime.now`, `uuid`, `os.environ` and `next(iterator)` run while a graph "
        "is traced, and their results are constants in it. Every later call silently gets the same value. The same holds "
        "in a function given to `Dataset.map`."
    ),
    samples=Samples(
        bad="""\
import numpy as np
import tensorflow as tf


@tf.function
def augment(x):
    return x + np.random.normal()  # TR105


first = augment(tf.zeros([2]))
second = augment(tf.zeros([2]))
differ = bool(tf.reduce_any(first != second))
del first, second
""",
        good="""\
import tensorflow as tf


@tf.function
def augment(x):
    return x + tf.random.normal([])


first = augment(tf.zeros([2]))
second = augment(tf.zeros([2]))
differ = bool(tf.reduce_any(first != second))
del first, second
""",
        near_miss="""\
import numpy as np
import tensorflow as tf


@tf.function
def augment(x, noise):
    return x + noise


augment(tf.zeros([2]), tf.constant(np.random.normal(), tf.float32))
""",
    ),
    cure="Use `tf.random`, or pass the value as a tensor.",
    check=check,
    effects=frozenset({EffectKind.RANDOM, EffectKind.TIME, EffectKind.ITERATE}),
    cured_by_shim=True,
    wrong_in_graph=True,
    counts_if_used=True,
    effect_message="`{done}` runs only while a graph is traced; every later call gets the same value",
    effect_messages={EffectKind.ITERATE: "`{done}` advances a Python iterator only while a graph is traced"},
)
