"""Losses and models by name: registries filled by decorators, a config dictionary, partial, a class decorator, multiple inheritance."""

from functools import partial, wraps

import tensorflow as tf

LOSSES = {}
MODELS = {}


def register(table, name=None):
    def decorate(thing):
        table[name or thing.__name__] = thing
        return thing

    return decorate


def traced(function):
    @wraps(function)
    def wrapper(*args, **kwargs):
        with tf.name_scope(function.__name__):
            return function(*args, **kwargs)

    return wrapper


@register(LOSSES, "l2")
@traced
def squared(targets, outputs):
    return tf.reduce_mean(tf.math.squared_difference(targets, outputs))


@register(LOSSES)
@traced
def huber(targets, outputs, delta=1.0):
    error = tf.abs(targets - outputs)
    return tf.reduce_mean(tf.where(error < delta, 0.5 * error * error, delta * (error - 0.5 * delta)))


class Loggable:
    history = None

    def log(self, name, value):
        if self.history is None:
            self.history = {}
        self.history.setdefault(name, []).append(value)


class Normalizer:
    def normalize(self, x, eps=1e-6):
        mean, variance = tf.nn.moments(x, axes=[0])
        return (x - mean) * tf.math.rsqrt(variance + eps)


@register(MODELS, "mlp")
class Perceptron(Loggable, Normalizer, tf.Module):
    def __init__(self, sizes, activation=tf.nn.relu):
        super().__init__()
        self.activation = activation
        self.weights = []
        for fan_in, fan_out in zip(sizes[:-1], sizes[1:]):
            self.weights.append((tf.Variable(tf.random.normal([fan_in, fan_out])), tf.Variable(tf.zeros([fan_out]))))

    @property
    def depth(self):
        return len(self.weights)

    def dense(self, x, index):
        kernel, bias = self.weights[index]
        return tf.linalg.matvec(kernel, x, transpose_a=True) + bias if x.shape.rank == 1 else x @ kernel + bias

    def __call__(self, x):
        x = self.normalize(x)
        for index in range(self.depth):
            x = self.dense(x, index)
            if index < self.depth - 1:
                x = self.activation(x)
        return x


CONFIG = {"model": "mlp", "loss": "huber", "sizes": (6, 12, 2), "options": {"delta": 0.5}, "rate": 0.1}


def build(config):
    model = MODELS[config["model"]](config["sizes"], activation=partial(tf.nn.leaky_relu, alpha=0.1))
    loss = partial(LOSSES[config["loss"]], **config.get("options", {}))
    return model, loss


def step(model, loss, x, y, rate):
    with tf.GradientTape() as tape:
        value = loss(y, model(x))
    variables = model.trainable_variables
    for variable, gradient in zip(variables, tape.gradient(value, variables)):
        variable.assign_sub(rate * gradient)
    model.log("loss", value)
    return value


model, loss = build(CONFIG)
features = tf.random.normal((20, 6))
answers = tf.stack([tf.reduce_sum(features, axis=1), features[:, 0]], axis=1)
for _ in range(3):
    step(model, loss, features, answers, CONFIG["rate"])
print([float(value) for value in model.history["loss"]])
print(float(LOSSES["l2"](answers, model(features))))
