"""TR103: files, sockets, processes, sleeping."""

from __future__ import annotations

from typing import Final

from terra_refactor.domain.effect import EffectKind
from terra_refactor.rules.rule import Rule, RuleKind, Samples, Severity

RULE: Final = Rule(
    id="TR103",
    name="host-input-output",
    kind=RuleKind.HAZARD,
    severity=Severity.ERROR,
    summary="Files, sockets, processes, `input()` and `time.sleep` are used only while a graph is traced, not on every call.",
    explanation=(
        "Opening a file or waiting is Python code, which a `tf.function` runs once per trace. A log file gets one line, a "
        "download happens once."
    ),
    samples=Samples(
        bad="""\
import time

import tensorflow as tf


@tf.function
def step(x):
    time.sleep(0.1)  # TR103
    return x + 1.0


for value in (1.0, 2.0):
    step(tf.constant(value))
""",
        good="""\
import time

import tensorflow as tf


@tf.function
def step(x):
    return x + 1.0


time.sleep(0.1)
for value in (1.0, 2.0):
    step(tf.constant(value))
""",
        near_miss="""\
import tensorflow as tf


@tf.function
def load(path):
    return tf.io.read_file(path)


tf.io.write_file("a.txt", "some text")
load(tf.constant("a.txt"))
""",
    ),
    cure="Do it outside of the function, or use `tf.io`, which is part of the graph.",
    effects=frozenset({EffectKind.INPUT_OUTPUT}),
    cured_by_shim=True,
)
