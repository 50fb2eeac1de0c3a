"""What code does with one of many containers, with arrays of objects, and with states whose number is not known, proves nothing.

Each program of `NO_ERRORS` runs in TensorFlow (the cell of TensorFlow 1 is of a release before Keras 3); beside it stands almost the same
one, which fails there.
"""

from __future__ import annotations

import pytest
from analysis_support import analyze_text

from terra_refactor.classify.decide import DecisionOptions
from terra_refactor.classify.decision import Classification
from terra_refactor.rules.rule import Severity

START = """\
import sys

import numpy as np
import tensorflow as tf

NAMES = sys.argv[1:]
IMAGES = tf.ones((2, 4, 8, 8, 3))
"""
LISTS = """
groups = []
for _ in range(12):
    groups.append([])
for name in NAMES:
    groups[int(name)].append(tf.ones((3,)))
"""
CELLS = """
layers = tf.keras.layers
cells = layers.StackedRNNCells([layers.LSTMCell(8) for _ in range(2)])
"""
MEMORY = """
class Memory(tf.keras.layers.Layer):
    def __init__(self):
        super().__init__()
        self.state_size = [7, (7, 3)]
        self.output_size = 7

    def call(self, x, states):
        last, memory = states
        memory = tf.concat([memory[:, :, 1:], last[:, :, None]], axis=2)
        return last + x + tf.reduce_sum(memory, -1), [last + 1.0, memory]

    def get_initial_state(self, batch_size=None):
        return [tf.zeros((batch_size, 7)), tf.zeros((batch_size, 7, 3))]


output, last, memory = tf.keras.layers.RNN(Memory(), return_state=True)(tf.ones((2, 5, 7)))
"""
NARROW = """
class Narrow(tf.keras.layers.Layer):
    def __init__(self):
        super().__init__()
        self.units = 8
        self.state_size = 8
        self.projection = tf.keras.layers.Dense(2)

    def call(self, x, states):
        state = tf.tanh(states[0] + tf.reduce_sum(x, -1, keepdims=True))
        return self.projection(state), [state]


layer = tf.keras.layers.RNN(Narrow(), return_sequences=True)
"""
OUTER = """
class Outer(tf.keras.layers.Layer):
    def __init__(self):
        super().__init__()
        self.state_size = 3
        self.output_size = 3

    def call(self, x, states):
        state = states[0] + tf.reduce_mean(x, -1, keepdims=True)
        return state[:, :, None] * state[:, None, :], [state]


layer = tf.keras.layers.RNN(Outer())
"""
TABLE = """
class Table:
    def mean(self, axis=None, dtype=None, out=None, **options):
        return np.array([1.0, 2.0])

    std = max = mean


table = Table()
"""
CELL_OF_PARTS = """
import tensorflow.compat.v1 as tf1


class Parts(tf1.nn.rnn_cell.RNNCell):
    @property
    def state_size(self):
        return 5

    @property
    def output_size(self):
        return (5, 5)

    def __call__(self, x, state, scope=None):
        return (state, state), state


with tf.Graph().as_default():
    (first, second), state = tf1.nn.dynamic_rnn(Parts(), tf1.placeholder(tf.float32, (4, 7, 5)), dtype=tf.float32)
    tf.reduce_mean(tf.reduce_mean(first - second, axis=1), axis=1)
"""
OPTIMIZERS = """
@tf.function
def step(x, w, optimizer):
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(x * w)
    optimizer.apply_gradients([(tape.gradient(loss, w), w)])  # error


def fit(w):
    optimizer = tf.keras.optimizers.Adam()
    step(tf.ones(3), w, optimizer)


def resume(w):
    optimizer = tf.keras.optimizers.Adam()
    step(tf.ones(3), w, optimizer)
"""
OBJECTS = """
class Trainer:
    def __init__(self):
        self.optimizer = tf.keras.optimizers.Adam()

    def fit(self):
        self.step(tf.ones(3), self.optimizer)

    @tf.function
    def step(self, x, optimizer):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(x * w)
        optimizer.apply_gradients([(tape.gradient(loss, w), w)])  # error


w = tf.Variable(tf.ones(3))
"""
BATCHES = """
import threading


class Metric:
    def __init__(self):
        self.sizes = []
        self.predictions = []
        self.sizes.append([1, 2])

    def add(self, batch):
        self.predictions.append(batch)


metric = Metric()
thread = threading.Thread(target=metric.add, args=([1.0],))
thread.start()
thread.join()
"""
STEPS = """
class Trainer:
    def __init__(self):
        self.step = tf.Variable(0)

    @tf.function
    def train(self, x):
        self.step = self.step.assign_add(1)
        return x


count = tf.Variable(0)


@tf.function
def counted(x):
    global count
    count = count.assign_add(1)
    return x


trainer = Trainer()
for _ in range(3):
    counted(trainer.train(tf.ones((3,))))
print(trainer.step.numpy(), count.numpy())
"""
NO_ERRORS = {
    "optimizers of functions that nothing calls together": OPTIMIZERS.replace("  # error", ""),
    "optimizers of several objects, each of which has a graph": (
        f"{OBJECTS.replace('  # error', '')}first, second = Trainer(), Trainer()\nfirst.fit()\nsecond.fit()\n"
    ),
    "a list that another method fills": f"{BATCHES}print(np.asarray(metric.predictions)[0][0])\n",
    "an axis that Keras adds to a declared input": """
model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_dim=1)])
print(model.predict(np.array([0.5]))[0][0])
""",
    "a variable of the module that is assigned again": """
bias = tf.zeros((3,))


def loss():
    return tf.ones((2, 3)) @ tf.ones((3, 3)) + bias


eval("loss")()
bias = tf.constant([[3], [2]])
""",
    "a part that an object of NumPy selects": """
part, parts = np.s_[:1], np.index_exp[:1]
rows = []
for name in range(3):
    rows.append([float(name)][part])
print(np.array(rows)[0, 0], IMAGES[0][parts][0, 0, 0, 0], [1.0, 2.0][np.s_[0]] + IMAGES)
""",
    "an item or a part of a tuple": """
part = eval("slice(0, 2)")
print(np.array(([1, 2], [3, 4])[part])[0, 0])
""",
    "an item or a part of a list": """
part, rows = eval("slice(0, 2)"), [[0]]
for name in NAMES:
    rows.append([int(name)])
print(np.array(rows[part])[0, 0])
""",
    "a list of one input": """
model = tf.keras.Sequential([tf.keras.Input((8, 8, 3)), tf.keras.layers.Lambda(lambda x: x)])
print(model.predict([np.ones((1, 8, 8, 3))])[0, 0])
""",
    "a variable that is assigned to itself": STEPS,
    "columns of an array of objects": """
memory = [[np.ones(4), i % 2, 1.0, np.ones(4)] for i in range(8)]
rows = np.reshape(np.array(memory, dtype=object), [8, 4])
tf.matmul(tf.cast(np.vstack(rows[:, 0]), tf.float32), tf.ones((4, 2)))
print(np.stack(rows[:, 3])[:, 2], np.concatenate(rows[:, 0])[5])
""",
    "a dataset of as many labels as there are": """
labels = tuple([np.ones((4, 3)) for _ in range(len(NAMES) + 2)])


def mixed(image, parts):
    return image, tuple([tf.cast(part, tf.float32) for part in parts])


for image, parts in tf.data.Dataset.from_tensor_slices((np.ones((4, 5)), labels)).padded_batch(2).map(mixed):
    print(parts[1].shape)
""",
    "a dataset of labels whose structure is not known": """
labels = eval("(np.ones((4, 3)), np.ones((4, 2)))")


def mixed(image, parts):
    return image, [part + 1.0 for part in parts]


for image, parts in tf.data.Dataset.from_tensor_slices((np.ones((4, 5)), labels)).batch(2).map(mixed):
    print(parts[1].shape)
""",
    "a constant of a tensor with a shape": """
tf.matmul(tf.constant(tf.range(1, 10), shape=[3, 3]), tf.constant(tf.range(9), shape=[3, 3]))
tf.constant(tf.zeros(1), shape=(2, 3)) + tf.ones((2, 3))
""",
    "the texts of a tensor": """
words = tf.constant(["first", "second"])
print(words.numpy()[0][:2], [word[0] for word in words.numpy()], np.array(["a", "b"])[1][0], words[0].numpy()[1:])
for batch in tf.data.Dataset.from_tensor_slices(["a", "b"]).batch(2):
    print(batch.numpy()[0][:20])
""",
    "a table whose mean has an item for each column": f"{TABLE}print(np.mean(table)[0], np.std(table)[1], np.max(table)[0])\n",
    "a cell of TensorFlow 1 with several outputs": CELL_OF_PARTS,
    "one of many lists is filled": f"{LISTS}\ntf.gather(groups[0], [0])[0, 0]\n",
    "one of many lists in a dict is filled": """
groups = {key: [] for key in "abcdefghijkl"}
for name in NAMES:
    groups[name].append(tf.ones((3,)))
tf.gather(groups["a"], [0])[0, 0]
""",
    "one of many lists is filled, or a new one": """
groups = {"a": [], "b": [], "c": [], "d": [], "e": [], "f": [], "g": [], "h": [], "i": [], "j": []}
for name in NAMES:
    groups.setdefault(name, []).append(tf.ones((3,)))
tf.gather(groups["a"], [0])[0, 0]
""",
    "an array of arrays": """
losses = np.empty(len(NAMES), dtype=object)
for position, _ in enumerate(NAMES):
    losses[position] = np.array([1.0, 2.0])
print(np.mean(losses, axis=0)[0], losses.sum()[1], (losses + 1)[0][1])
""",
    "an array of given arrays": """
print(np.array([np.ones(2), 3.0], dtype=object).sum()[0], np.full(2, None, dtype=object)[0])
""",
    "states of several cells": f"""{CELLS}
output, first, second = layers.RNN(cells, return_state=True)(tf.ones((2, 5, 4)))
output, a, b, c, d = layers.Bidirectional(layers.RNN(cells, return_state=True))(tf.ones((2, 5, 4)))
""",
    "states of cells that a graph unpacks": f"""{CELLS}
rnn = layers.RNN(cells, return_state=True)


@tf.function
def step(x):
    output, first, second = rnn(x)
    return output


step(tf.ones((2, 5, 4)))
""",
    "a state whose size is a shape": f"{MEMORY}memory[:, :, 0] + output\n",
    "a cell gives another size than its units": f"{NARROW}layer(tf.ones((2, 5, 4))) + tf.ones((2, 5, 2))\n",
    "a cell gives a matrix": f"{OUTER}layer(tf.ones((2, 5, 4)))[:, :, 0]\n",
    "states of another size are passed": f"{OUTER}layer(tf.ones((2, 5, 4)), initial_state=[tf.ones((2, 6))])[:, 5]\n",
    "a symbolic input of a cell": f"{NARROW}layer(tf.keras.Input((5, 4))).shape[2] + tf.ones((8,))\n",
    "a wrapper of a layer without variables": """
pooling = tf.keras.layers.GlobalAveragePooling2D()


@tf.function
def pooled(x):
    return tf.keras.layers.TimeDistributed(pooling)(x)


pooled(IMAGES)
""",
    "a layer that is given its mean": """
def normalised(image):
    return tf.keras.layers.Normalization(mean=[0.4, 0.4, 0.4], variance=[0.2, 0.2, 0.2])(image)


tf.data.Dataset.from_tensor_slices(IMAGES).map(normalised)
""",
    "a graph that returns a dataset": """
@tf.function
def prepared(data):
    return data.map(lambda x: x + 1.0).batch(2)


tf.data.Dataset.from_tensor_slices(IMAGES).apply(prepared)
""",
}
ERRORS = {
    "optimizers of functions that are called together": f"{OPTIMIZERS}w = tf.Variable(tf.ones(3))\nfit(w)\nresume(w)\n",
    "optimizers of one object": (
        f"{OBJECTS}trainer = Trainer()\nfor optimizer in [trainer.optimizer, tf.keras.optimizers.Adam()]:\n"
        "    trainer.step(tf.ones(3), optimizer)\n"
    ),
    "a list that a constructor fills": f"{BATCHES}print(np.asarray(metric.sizes)[0][0][0])  # error\n",
    "another variable is assigned": STEPS.replace(
        "self.step = self.step.assign_add(1)", "self.step = tf.Variable(1) if x is None else x[0]  # error"
    ),
    "a dataset of an array of labels": """
def mixed(image, parts):
    return image, [part + 1.0 for part in parts]  # error


print(tf.data.Dataset.from_tensor_slices((np.ones((4, 5)), np.ones((4, 3)))).batch(2).map(mixed))
""",
    "a constant of a tensor with another shape": "tf.constant(tf.range(9), shape=[3, 4])  # error\n",
    "a variable of the module that is assigned once": """
bias = tf.constant([3, 2])


def loss():
    return tf.ones((2, 3)) @ tf.ones((3, 3)) + bias  # error


eval("loss")()
""",
    "a part that an object of NumPy selects, and a further axis": """
rows = [[0.0][np.s_[:1]], [1.0][np.s_[:1]]]
np.array(rows)[0, 0, 0]  # error
""",
    "texts of what is not known": """
tf.constant([str(each) for each in eval("[1, 2]")])[0, 0]  # error
""",
    "an item of a list": """
position, rows = int(np.argmax(np.ones((3,)))), []
for name in NAMES:
    rows.append([int(name)])
np.array(rows[position])[0, 0]  # error
""",
    "an item of a dict": """
np.array({"a": [1, 2]}[eval("'a'")])[0, 0]  # error
""",
    "the numbers of a tensor": """
numbers = tf.constant([1.0, 2.0])
print(numbers.numpy()[0][:2])  # error
print(np.mean(numbers.numpy())[0])  # error
""",
    "one of many lists is filled behind it": LISTS.replace(
        "for name", "tf.gather(groups[0], [0])[0, 0, 0]  # error\nfor name"
    ),
    "a known one of many lists is filled": """
groups = []
for _ in range(12):
    groups.append([])
groups[3].append(tf.ones((3,)))
tf.gather(groups[3], [0])[0, 0, 0]  # error
""",
    "an array of numbers": """
losses = np.empty(len(NAMES))
np.mean(losses, axis=0)[0]  # error
""",
    "a layer without its states": f"""{CELLS}
rnn = layers.RNN(layers.LSTMCell(8))


@tf.function
def step(x):
    output, first, second = rnn(x)  # error
    return output


step(tf.ones((2, 5, 4)))
""",
    "what a cell gives": f"{NARROW}layer(tf.ones((2, 5, 4))) + tf.ones((2, 5, 8))  # error\n",
    "the matrices of a cell": f"{OUTER}layer(tf.ones((2, 5, 4))) + tf.ones((2, 4))  # error\n",
    "a wrapped layer that each trace makes": """
@tf.function
def scaled(x):
    return tf.keras.layers.TimeDistributed(tf.keras.layers.Dense(3))(tf.keras.layers.Dense(2)(x))  # error


scaled(tf.ones((2, 3, 4)))
""",
    "a layer that is not given its mean": """
def normalised(image):
    return tf.keras.layers.Normalization()(image)  # error


tf.data.Dataset.from_tensor_slices(IMAGES).map(normalised)
""",
}


def errors_of(text: str) -> list[int]:
    return sorted({finding.span.line for finding in analyze_text(text).findings if finding.severity is Severity.ERROR})


@pytest.mark.parametrize("program", NO_ERRORS.values(), ids=NO_ERRORS)
def test_what_is_not_known_proves_nothing(program: str) -> None:
    assert errors_of(START + program) == []


@pytest.mark.parametrize("program", ERRORS.values(), ids=ERRORS)
def test_what_is_known_stays_an_error(program: str) -> None:
    text = START + program
    assert errors_of(text) == [n for n, line in enumerate(text.splitlines(), 1) if line.endswith("# error")]


def test_labels_that_only_keras_3_converts_to_floats_are_no_error() -> None:
    text = """\
import tensorflow as tf


class Smoothed(tf.keras.losses.Loss):
    def call(self, labels, scores):
        return tf.reduce_sum(tf.one_hot(labels, 3) * scores, axis=-1)


Smoothed()(tf.constant([0, 1]), tf.ones((2, 3)))
"""
    assert errors_of(text) == []
    assert errors_of(text.replace("[0, 1]", "[0.0, 1.0]")) == [6]


def test_no_function_becomes_a_graph_for_the_dataset_that_it_makes() -> None:
    text = """\
import tensorflow as tf


def prepared(data, scale):
    scale = tf.reduce_sum(tf.exp(scale)) * 2.0
    return data.map(lambda x: x * scale).batch(2)


for _ in range(3):
    print(list(prepared(tf.data.Dataset.from_tensor_slices(tf.ones((4, 3))), tf.ones((3,)))))
"""
    decision = analyze_text(text, DecisionOptions(min_ops=0)).decision("prepared")
    assert decision.classification is Classification.UNSAFE
    assert any("returns a dataset" in each.message for each in decision.hazards)
