"""Each link of the proof of an error must hold: the release, the object, the alternative, the repetition, what a library is given."""

from __future__ import annotations

import pytest
from analysis_support import analyze_files, analyze_text

from terra_refactor.classify.decision import Action
from terra_refactor.rules.rule import Severity

LOSSES = """\
import tensorflow as tf

scores = tf.ones([32, 1, 1, 10])
tf.keras.losses.SparseCategoricalCrossentropy()(tf.zeros([32], tf.int32), scores)  # warning
tf.keras.losses.SparseCategoricalCrossentropy()(tf.zeros([32, 3], tf.int32), scores)  # error
tf.keras.losses.SparseCategoricalCrossentropy()(tf.zeros([32, 10], tf.int32), tf.ones([32, 10]))  # error
tf.keras.losses.BinaryCrossentropy()(tf.ones([32, 1, 2]), tf.ones([32, 2, 1]))  # warning
tf.keras.losses.BinaryCrossentropy()(tf.ones([32, 3]), tf.ones([32, 2]))  # error
tf.keras.losses.CategoricalCrossentropy()(tf.ones([32]), tf.ones([32, 10]))  # error
tf.keras.losses.MeanSquaredError()(tf.ones([32]), tf.ones([16, 1]))  # warning
tf.keras.losses.MeanSquaredError()(tf.ones([32, 3]), tf.ones([32, 2]))  # error
"""

READ_AGAIN = """\
import random
import time

import numpy as np
import tensorflow as tf


@tf.function
def trained(x):
    data = np.load("data.npy")  # warning
    (images, _), _ = tf.keras.datasets.mnist.load_data()  # warning
    return x + tf.reduce_sum(data) + tf.cast(tf.reduce_sum(images), tf.float32)


@tf.function
def waits(x):
    time.sleep(0.1)  # error
    return x + random.random()  # error


@tf.function
def runs_once(x):
    return x * random.random()  # warning


for _ in range(3):
    trained(tf.ones([]))
    waits(tf.ones([]))


def main():
    print(runs_once(tf.ones([])))


if __name__ == "__main__":
    main()
"""

OF_LAMBDAS = """\
import tensorflow as tf


@tf.function
def read_by_lambdas(image):
    chance = tf.random.uniform([])
    if chance == tf.constant(1.0):
        return image
    other = image * 2.0
    return tf.cond(chance > 0.5, lambda: image, lambda: other)


@tf.function
def read_by_a_function(image):
    chance = tf.random.uniform([])
    if chance > 0.5:  # error
        other = image * 2.0

    def given():
        return other

    return given() + image


for _ in range(3):
    read_by_lambdas(tf.ones([3]))
    read_by_a_function(tf.ones([3]))
"""

FORMATS = """\
import keras
from keras import backend
from keras.datasets import mnist

(_, _), (x, _) = mnist.load_data()
if backend.image_data_format() == "channels_first":
    x = x.reshape(x.shape[0], 1, 28, 28)
    shape = (1, 28, 28)
else:
    x = x.reshape(x.shape[0], 28, 28, 1)
    shape = (28, 28, 1)
model = keras.models.Sequential()
model.add(keras.layers.Conv2D(32, kernel_size=(3, 3), input_shape=shape))
model.add(keras.layers.Flatten())
model.predict(x)
"""

READERS = """\
import tensorflow as tf


class Decoder(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.dense = tf.keras.layers.Dense(3)

    def call(self, x):
        self.angles = self.dense(x)  # warning
        self.kept = self.dense(x)  # warning
        return x


class Trainer:
    def __init__(self):
        self.decoder = Decoder()
        self.history = []

    @tf.function
    def step(self, x):
        self.decoder(x)
        self.history.append(tf.reduce_sum(x))  # error
        return self.loss()

    def loss(self):
        return tf.reduce_sum(self.decoder.angles)


def shown(trainer):
    for name in trainer.decoder.__dict__:
        print(getattr(trainer.decoder, name))


trainer = Trainer()
for _ in range(3):
    trainer.step(tf.ones([2, 3]))
shown(trainer)
print(trainer.history)
"""

SIGNATURES = """\
import numpy as np
import tensorflow as tf


@tf.function(input_signature=[tf.TensorSpec([None], tf.int32)])
def declared(sizes):
    return tf.convert_to_tensor(sizes, tf.int32) + 1  # warning


@tf.function
def open(sizes):
    return tf.convert_to_tensor(sizes, tf.int32) + 1  # error


for _ in range(3):
    declared(np.ones([3], np.int64))
    open(np.ones([3], np.int64))
"""

KEPT_AFTER_THE_FIRST = """\
import gym
import tensorflow as tf


class Wrapper:
    def __init__(self):
        self.actions = None

    def count(self):
        if self.actions is None:
            self.actions = gym.make("CartPole-v1").action_space.n  # warning
        return self.actions


wrapper = Wrapper()


@tf.function
def step(x):
    return x * tf.cast(wrapper.count(), tf.float32)


@tf.function
def anew(x):
    return x * tf.cast(gym.make("CartPole-v1").action_space.n, tf.float32)  # error


for _ in range(3):
    step(tf.ones([]))
    anew(tf.ones([]))
"""

NUMBERS_AS_TEXT = """\
import numpy as np
import tensorflow as tf

for name in "/data/images":
    image = np.expand_dims(name, axis=0).astype(np.float32)
    tf.reshape(image, (1, 28, 28, 3))
w = tf.random.normal(3, 2)  # error
[[1.0, 2.0, 3.0]] @ w
"""

_SEVERITIES = (Severity.ERROR, Severity.WARNING)


@pytest.mark.parametrize(
    "text",
    [LOSSES, READ_AGAIN, OF_LAMBDAS, FORMATS, READERS, SIGNATURES, KEPT_AFTER_THE_FIRST, NUMBERS_AS_TEXT],
    ids=["losses", "read again", "lambdas", "formats", "readers", "signatures", "kept", "text"],
)
def test_a_link_that_does_not_hold_makes_a_warning(text: str) -> None:
    marked = {
        (number, severity)
        for number, line in enumerate(text.splitlines(), 1)
        for severity in _SEVERITIES
        if line.endswith(f"# {severity.value}")
    }
    found = {
        (each.span.line, each.severity)
        for each in analyze_text(text).findings
        if each.severity is Severity.ERROR or (each.severity is Severity.WARNING and each.message.endswith(")"))
    }
    assert found == marked


def test_an_array_that_a_signature_converts_takes_no_decorator_away() -> None:
    result = analyze_text(SIGNATURES)
    assert result.decision("declared").action is not Action.REMOVE_TF_FUNCTION
    assert result.decision("open").action is Action.REMOVE_TF_FUNCTION


def test_a_model_that_a_place_makes_once_more_begins_without_layers() -> None:
    models = """\
from tensorflow import keras


def made():
    return keras.models.Sequential([keras.layers.Flatten(input_shape=[28, 28]), keras.layers.Dense(10)])


def run():
    (x, y), _ = keras.datasets.fashion_mnist.load_data()
    model = made()
    model.compile(loss="sparse_categorical_crossentropy")
    model.fit(x, y)
"""
    main = "import models\nimport missing\n\nmissing.run()\n"
    assert analyze_files({"models.py": models, "main.py": main}).findings == ()
