"""Objects that create variables on first use, results that a graph may return, and code that only one release of Keras refuses."""

from __future__ import annotations

from analysis_support import analyze_text

from terra_refactor.rules.rule import Severity

MADE = """\
import tensorflow as tf


@tf.function
def only_made(x):
    layer = tf.keras.layers.Dense(3)
    model = tf.keras.Sequential([layer])
    optimizer = tf.keras.optimizers.Adam()
    return x + 1


@tf.function
def called(x):
    return tf.keras.layers.Dense(3)(x)  # error


@tf.function
def handed_on(x):
    layer = tf.keras.layers.Dense(3)  # error
    return helper(layer, x)


def helper(layer, x):
    return layer(x)


@tf.function
def in_model(x):
    model = tf.keras.Sequential([tf.keras.layers.Flatten()])  # error
    return model(x)


@tf.function
def applied(x, w):
    optimizer = tf.keras.optimizers.Adam()  # error
    optimizer.apply_gradients([(x, w)])


@tf.function
def variable(x):
    return tf.Variable(x) + 1.0  # error


w = tf.Variable([1.0, 2.0])
x = tf.ones([2, 2])
only_made(x), called(x), handed_on(x), in_model(x), applied(x[0], w), variable(x)
"""

RETURNED = """\
import tensorflow as tf


class Outputs(tf.experimental.ExtensionType):
    detections: tf.Tensor


class Plain:
    def __init__(self, detections):
        self.detections = detections


@tf.function
def typed(x):
    return Outputs(detections=x)


@tf.function
def plain(x):
    return Plain(x)  # error


typed(tf.ones([2])), plain(tf.ones([2]))
"""

NUMBERS_OF_EXAMPLES = """\
import tensorflow as tf

loss = tf.keras.losses.SparseCategoricalCrossentropy()
loss(tf.ones([1]), tf.ones([2, 4]))
loss(tf.ones([2, 2, 3]), tf.ones([2, 4]))  # error
"""


def errors_in(text: str) -> list[int]:
    """The lines of errors."""
    return sorted({found.span.line for found in analyze_text(text).findings if found.severity is Severity.ERROR})


def marked(text: str) -> list[int]:
    """The lines that are marked as errors."""
    return [number for number, line in enumerate(text.splitlines(), 1) if line.endswith("# error")]


def test_a_layer_that_a_graph_makes_and_does_not_use_makes_no_variable() -> None:
    assert errors_in(MADE) == marked(MADE)


def test_a_graph_returns_what_tensorflow_takes_apart() -> None:
    assert errors_in(RETURNED) == marked(RETURNED)


def test_a_loss_that_one_release_refuses_is_a_warning_that_names_it() -> None:
    assert errors_in(NUMBERS_OF_EXAMPLES) == marked(NUMBERS_OF_EXAMPLES)
    warned = [found for found in analyze_text(NUMBERS_OF_EXAMPLES).findings if found.span.line == 4]
    assert warned and "Keras 3" in warned[0].message


ONE_RELEASE = """\
import keras
import tensorflow as tf

convolution = keras.layers.Conv2D(2, 1)
convolution(tf.ones([5, 2, 8, 8, 3]))
keras.layers.Conv2D(2, 1)(tf.ones([8, 8, 3]))  # error
"""

FORMER_PARAMETERS = """\
import keras

model = keras.Sequential()
model.add(keras.layers.Convolution2D(64, 5, 5, border_mode="same", input_shape=(1, 28, 28)))
model.add(keras.layers.Activation("tanh"))
"""
PRESENT_PARAMETERS = """\
import keras

now = keras.Sequential()
now.add(keras.layers.Conv2D(64, 5, input_shape=(1, 28, 28)))  # error
"""

MULTIPLIED = """\
import tensorflow as tf


def loss(y_true, anchors):
    return tf.math.log(y_true / anchors * (416, 416)), tf.math.log(y_true / anchors * [416, 416])


def main(data):
    loss(data, data)
    tf.math.log([2] * 3)  # error
"""


def test_what_only_keras_3_refuses_or_only_keras_1_takes_is_no_error() -> None:
    assert errors_in(ONE_RELEASE) == marked(ONE_RELEASE)
    assert errors_in(FORMER_PARAMETERS) == []
    assert errors_in(PRESENT_PARAMETERS) == marked(PRESENT_PARAMETERS)
    # in a program of Keras 1, other layers are of Keras 1 as well
    assert errors_in(FORMER_PARAMETERS + PRESENT_PARAMETERS) == []


def test_a_kernel_by_position_is_of_keras_before_2_4() -> None:
    text = """\
from keras.layers import Conv2D
from keras.models import Sequential

model = Sequential([Conv2D(8, 5, 5, input_shape=(28, 28, 1)), Conv2D(8, 6, 6)])
"""
    assert errors_in(text) == []
    assert errors_in(text.replace("from keras", "from tensorflow.keras")) == [4]


def test_the_order_of_labels_and_logits_is_of_tensorflow_2() -> None:
    text = """\
import tensorflow as tf

scores, labels = tf.ones((5, 2)), tf.zeros((5,), tf.int32)
tf.nn.sparse_softmax_cross_entropy_with_logits(scores, labels)
"""
    assert errors_in(text) == [4]
    assert errors_in(text.replace("tf.ones((5, 2))", "tf.placeholder(tf.float32, (5, 2))")) == []


def test_a_list_beside_a_value_that_nothing_is_known_of_proves_no_dtype() -> None:
    assert errors_in(MULTIPLIED) == marked(MULTIPLIED)
