"""TR505: `model.predict` on single items in a loop."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from terra_refactor.domain.value import TensorValue, members
from terra_refactor.facts.view import ContextView
from terra_refactor.rules.rule import LocalHazard, Rule, RuleKind, Samples, Severity
from terra_refactor.tf_model.graph_traits import is_of_keras


def check(view: ContextView) -> Iterator[LocalHazard]:
    for call, name in view.library_calls():
        if not (is_of_keras(name) and name.endswith(".predict")) or not call.arguments:
            continue
        given = members(view.value(call.arguments[0].value))
        single = bool(given) and all(
            isinstance(member, TensorValue) and member.type.shape is not None and member.type.shape[:1] == (1,)
            for member in given
        )
        if single and view.innermost_loop(call.op) is not None:
            yield LocalHazard(
                call.op,
                f"`{view.written(call.op)}` predicts one item in each iteration: every call sets up a dataset, callbacks and a loop",
            )


RULE: Final = Rule(
    id="TR505",
    name="per-item-predict",
    kind=RuleKind.DIAGNOSTIC,
    severity=Severity.WARNING,
    summary="`model.predict` on single items in a loop sets up a data pipeline for each of them.",
    explanation=(
        "`predict` is made for many batches: it creates a dataset, runs callbacks, and takes milliseconds before it computes anything; in "
        "long loops, memory grows. `model(x, training=False)` on one item avoids all of that, and `predict` on all items at once does it "
        "only once."
    ),
    samples=Samples(
        bad="""\
import keras
import tensorflow as tf

model = keras.Sequential([keras.Input([3]), keras.layers.Dense(2, kernel_initializer="ones")])
data = tf.ones([4, 3])
results = []
for row in range(4):
    results.append(model.predict(tf.expand_dims(data[row], 0), verbose=0))  # TR505
""",
        good="""\
import keras
import tensorflow as tf

model = keras.Sequential([keras.Input([3]), keras.layers.Dense(2, kernel_initializer="ones")])
data = tf.ones([4, 3])
results = model.predict(data, verbose=0)
""",
        near_miss="""\
import keras
import tensorflow as tf

model = keras.Sequential([keras.Input([3]), keras.layers.Dense(2, kernel_initializer="ones")])
data = tf.ones([4, 3])
results = []
for scale in range(4):
    results.append(model.predict(data * float(scale), verbose=0))
""",
    ),
    cure="Predict all items at once, or call the model: `model(x, training=False)`.",
    check=check,
)
