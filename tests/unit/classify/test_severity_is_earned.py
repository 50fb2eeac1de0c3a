"""A finding is an error where the program shows that it is one, and a warning where that rests on a name, a use or a release."""

from __future__ import annotations

import pytest
from analysis_support import analyze_text

from terra_refactor.classify.decision import Action
from terra_refactor.rules.rule import Severity

OF_THE_SAME_NAME = """\
import tensorflow as tf


class Encoder(tf.keras.Model):
    pass


class Trainer:
    def __init__(self):
        self.encoder = Encoder()

    @tf.function
    def step(self, x):
        self.losses = tf.reduce_sum(x)  # warning
        self.total = tf.reduce_sum(x)  # error
        return tf.reduce_mean(x) + self.losses + self.total


def report(other):
    print(Encoder().losses, other.losses)


trainer = Trainer()
for _ in range(9):
    trainer.step(tf.ones([3]))
print(trainer.total)
"""

LOOKED_AT = """\
import numpy as np
import tensorflow as tf


@tf.function
def dropped(x):
    noise = np.random.uniform(-1, 1, [3]).astype(np.float32)  # warning
    scaled = (noise * 2)[:2]
    return x * 2


@tf.function
def used(x):
    noise = np.random.uniform(-1, 1, [3]).astype(np.float32)  # error
    scaled = (noise * 2)[:2]
    return x * scaled[0]


@tf.function
def printed(x):
    noise = np.random.uniform(-1, 1, [3])  # error
    tf.print(noise.sum())
    return x * 2


for _ in range(3):
    dropped(tf.ones([3]))
    used(tf.ones([3]))
    printed(tf.ones([3]))
"""

CAPTURED = """\
import tensorflow as tf


def loaded(names):
    sizes = {}
    for name in names:
        sizes[name] = 1

    def step(x):
        sizes.pop("a")  # warning
        return x * 2.0

    return tf.data.Dataset.from_tensor_slices(tf.ones([3, 4])).map(step)


def shown(names):
    sizes = {}
    for name in names:
        sizes[name] = 1

    def step(x):
        sizes.pop("a")  # error
        return x * 2.0

    data = tf.data.Dataset.from_tensor_slices(tf.ones([3, 4])).map(step)
    print(sizes)
    return data


def given(sizes):
    def step(x):
        sizes.pop("a")  # error
        return x * 2.0

    return tf.data.Dataset.from_tensor_slices(tf.ones([3, 4])).map(step)


loaded(["a", "b"])
shown(["a", "b"])
given({"a": 1, "b": 2})
"""

CHOSEN = """\
import sys

import tensorflow as tf

DATA = tf.data.Dataset.from_tensor_slices(tf.ones([3, 4]))


def doubled(x):
    return x * 2.0


def shown(x):
    open("shapes.txt", "a").write("x")  # warning
    return x


def written(x):
    open("shapes.txt", "a").write("x")  # error
    return x


def added(cls):
    def add(function):
        setattr(cls, function.__name__, function)

    return add


class Window:
    def split(self, x):
        return x[:2], x[2:]

    def make(self):
        return DATA.map(self.split)


@added(Window)
def plot(self):
    open("shapes.txt", "a").write("x")
    for x in self.make():
        print(x)


chosen = {"a": doubled, "b": shown}[sys.argv[1]]
for _ in DATA.map(chosen).map(written):
    Window().plot()
"""

LAYOUT = """\
import tensorflow as tf
from tensorflow.keras import backend

IMAGES = tf.ones([2, 1, 32, 32])
tf.keras.layers.Conv2D(8, 3)(IMAGES)  # warning
tf.matmul(IMAGES, tf.ones([2, 1, 31, 2]))  # error


def chosen():
    backend.set_image_data_format("channels_first")
"""

SIZES = """\
import tensorflow as tf


class Images:
    def __init__(self, flags):
        self.flags = flags

    @tf.function
    def augmented(self, image):
        return self.cropped(image, self.flags["height"], self.flags["width"])

    @tf.function
    def cropped(self, image, height, width):
        top = tf.random.uniform([], 0, tf.shape(image)[1] - height + 1, tf.int32)
        image = tf.image.crop_to_bounding_box(image, top, 0, height, width)
        return tf.cond(tf.reduce_sum(image) > 0.0, lambda: tinted(image), lambda: image)  # warning

    @tf.function
    def scaled(self, image):
        image = tf.image.resize(image, [tf.random.uniform([], 9, 20, tf.int32), 8])
        return image * tf.ones([image.shape[1], 1, 1])  # error


@tf.function
def tinted(image):
    _, height, width, _ = image.get_shape().as_list()
    return image * tf.ones([height, width, 1])


def main(flags):
    images = Images(flags)
    images.augmented(tf.ones([2, 20, 20, 3]))
    images.scaled(tf.ones([2, 20, 20, 3]))
"""

RELEASES = """\
import tensorflow as tf

image = tf.keras.Input([3])
factor = tf.keras.Input([1])
model = tf.keras.Model([image, factor], image * factor)
model([tf.ones([2, 3]), tf.constant(1.0)])  # warning
model([tf.ones([2, 3]), tf.ones([2, 3, 1])])  # error
"""

AVERAGES = """\
import tensorflow as tf

weights = tf.Variable(tf.ones([3]))
average = tf.train.ExponentialMovingAverage(0.9)


@tf.function
def kept(x):
    weights.assign_add(x)
    average.apply([weights])
    return average.average(weights)


@tf.function
def made(x):
    weights.assign_add(x)
    fresh = tf.train.ExponentialMovingAverage(0.9)  # error
    fresh.apply([weights])
    return fresh.average(weights)


kept(tf.ones([3]))
made(tf.ones([3]))
"""

OF_OTHERS = """\
import numpy as np
import skimage.transform
import tensorflow as tf


def pasted(mask, box):
    mask = skimage.transform.resize(mask, box)
    mask = np.where(mask >= 0.5, 1, 0)
    return mask[:3, :4]


class Losses:
    def loss(self, y_true, y_pred):
        return tf.keras.losses.binary_crossentropy(y_true, y_pred[0])  # warning


def train(x, y):
    inputs = tf.keras.Input([2])
    hidden = tf.keras.layers.Dense(8)(inputs)
    model = tf.keras.Model(inputs, [tf.keras.layers.Dense(1)(hidden), hidden])
    model.compile("adam", loss=Losses().loss)
    model.fit(x, [y, y], batch_size=10)


train(tf.ones([20, 2]), tf.ones([20, 1]))
"""

FAILURES = """\
import numpy as np
import tensorflow as tf


def grown(parts):
    rows = []
    for index, part in enumerate(parts):
        part = np.reshape(part, [-1, 4])
        if index == 0:
            rows = part
        else:
            rows = np.concatenate((rows, part), axis=0)
    return rows


def never_fits(parts):
    rows = np.zeros([0])
    for part in parts:
        rows = np.concatenate((rows, np.reshape(part, [-1, 4])), axis=0)  # warning
    return rows


def logarithm(x, base=10.0):
    return tf.math.log(x) / tf.math.log(base)  # warning


def noise_ratio(first, second, largest=255):
    return logarithm(largest) - logarithm(first - second)


def filled(image: tf.Tensor, value: int):
    return tf.concat([value, tf.ones([1], image.dtype)], 0)  # warning


def joined(image):
    height, width, channels = tf.shape(image)
    return tf.concat([height, width], axis=0)  # error


def always(x):
    return x + tf.matmul(tf.ones([2, 3]), tf.ones([2, 3]))  # error
"""

OF_KERAS = """\
import tensorflow as tf


def bounded(weight):
    count = tf.Variable(0.0, trainable=False)  # warning
    count.assign_add(1.0)
    return tf.reduce_sum(weight)


layer = tf.keras.layers.Dense(3, kernel_regularizer=bounded)
other = tf.keras.layers.Dense(3, kernel_regularizer=bounded)
optimizer = tf.keras.optimizers.Adam()


@tf.function
def step(x):
    return other(layer(x))


@tf.function
def dropped(x):
    return tf.keras.layers.Dropout(0.4)(x, training=True)  # warning


@tf.function
def dense(x):
    return tf.keras.layers.Dense(4)(x)  # error


def train(first, second, first_gradients, second_gradients):
    optimizer.apply_gradients(zip(first_gradients, first.trainable_variables))
    optimizer.apply_gradients(zip(second_gradients, second.trainable_variables))  # warning


step(tf.ones([2, 3]))
dropped(tf.ones([2, 3]))
dense(tf.ones([2, 3]))
train(tf.keras.Sequential([layer]), tf.keras.Sequential([other]), [], [])
"""

_SEVERITIES = (Severity.ERROR, Severity.WARNING)


@pytest.mark.parametrize(
    "text",
    [OF_THE_SAME_NAME, LOOKED_AT, CAPTURED, CHOSEN, LAYOUT, SIZES, RELEASES, AVERAGES, OF_OTHERS, FAILURES, OF_KERAS],
    ids=[
        "of the same name",
        "looked at",
        "captured",
        "chosen",
        "layout",
        "sizes",
        "releases",
        "averages",
        "of others",
        "failures",
        "of keras",
    ],
)
def test_only_what_the_program_shows_is_an_error(text: str) -> None:
    marked = {
        (number, severity)
        for number, line in enumerate(text.splitlines(), 1)
        for severity in _SEVERITIES
        if line.endswith(f"# {severity.value}")
    }
    found = {(each.span.line, each.severity) for each in analyze_text(text).findings if each.severity in _SEVERITIES}
    assert found == marked


def test_a_decorator_stays_where_a_size_is_only_supposed_to_be_open() -> None:
    result = analyze_text(SIZES)
    assert result.decision("Images.cropped").action is Action.NONE
    assert result.decision("Images.scaled").action is Action.REMOVE_TF_FUNCTION


@pytest.mark.parametrize(("keras", "severity"), [("keras.layers.normalization", "warning"), ("keras.layers", "error")])
def test_an_older_keras_reads_the_order_of_axes_from_its_configuration(keras: str, severity: str) -> None:
    text = f"""\
from keras.layers import Conv2D
from keras.models import Sequential
from {keras} import BatchNormalization

model = Sequential()
model.add(Conv2D(8, 3, input_shape=(1, 32, 32)))
"""
    assert [each.severity.value for each in analyze_text(text).findings if each.rule == "TR401"] == [severity]
