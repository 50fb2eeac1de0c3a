"""TR507: a training step inline in a loop that could be a function and a graph."""

from __future__ import annotations

from typing import Final

from terra_refactor.rules.rule import Rule, RuleKind, Samples, Severity

RULE: Final = Rule(
    id="TR507",
    name="missed-extraction",
    kind=RuleKind.DECISION,
    severity=Severity.INFORMATION,
    summary="A training step inline in a loop, which could be a graph as a function of its own.",
    explanation=(
        "`tf.function` needs a function. A step that is written into the loop of a script, of a notebook cell or of a long function "
        "runs eagerly, operation by operation."
    ),
    samples=Samples(
        bad="""\
import tensorflow as tf

weights = tf.Variable(tf.zeros([8, 1]))
batches = tf.data.Dataset.from_tensor_slices((tf.ones([640, 8]), tf.ones([640, 1]))).batch(32)

for epoch in range(20):
    for features, targets in batches:
        with tf.GradientTape() as tape:  # TR507
            loss = tf.reduce_mean(tf.square(tf.sigmoid(features @ weights) - targets))
        weights.assign_sub(0.1 * tape.gradient(loss, weights))
    print(epoch, float(loss))
""",
        good="""\
import tensorflow as tf

weights = tf.Variable(tf.zeros([8, 1]))
batches = tf.data.Dataset.from_tensor_slices((tf.ones([640, 8]), tf.ones([640, 1]))).batch(32)


@tf.function
def train_step(features, targets):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(tf.sigmoid(features @ weights) - targets))
    weights.assign_sub(0.1 * tape.gradient(loss, weights))
    return loss


for epoch in range(20):
    for features, targets in batches:
        loss = train_step(features, targets)
    print(epoch, float(loss))
""",
        near_miss="""\
import tensorflow as tf

weights = tf.Variable(tf.zeros([8, 1]))
features = tf.ones([640, 8])

# runs once
with tf.GradientTape() as tape:
    loss = tf.reduce_mean(tf.square(tf.sigmoid(features @ weights)))
weights.assign_sub(0.1 * tape.gradient(loss, weights))
""",
    ),
    cure="Extract a function and decorate it with `tf.function`, as `terra-refactor fix` does.",
)
