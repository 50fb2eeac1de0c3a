"""Training programs for `test_usual_training.py`. Each ends with two arrays, `w` and `v`, and prints its losses."""

from __future__ import annotations

import textwrap
from typing import Final

_DATA: Final = """\
import numpy as np
import tensorflow as tf

tf.keras.utils.set_random_seed(3)
data = tf.data.Dataset.from_tensor_slices((tf.reshape(tf.sin(tf.range(240.0)), [40, 6]), tf.range(40) % 2)).batch(8)


"""
HEAD: Final = (
    _DATA
    + """\
class Coder(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.encoder = tf.keras.layers.Dense(8, activation="relu")
        self.middle = tf.keras.layers.Dense(4)
        self.decoder = tf.keras.layers.Dense(6)

    def call(self, inputs):
        z = self.middle(self.encoder(inputs))
        self.add_loss(tf.reduce_mean(tf.square(z)))
        return self.decoder(z)


"""
)
END: Final = "\n\nw, v = model.trainable_weights[0], model.trainable_weights[2]\n"

_ADDED_LOSSES = """\
def train(epochs=20):
    model = Coder()
    optimizer = tf.keras.optimizers.Adam(1e-2)
    mse = tf.keras.losses.MeanSquaredError()
    for epoch in range(epochs):
        for batch, _ in data:
            with tf.GradientTape() as tape:
                loss = mse(batch, model(batch)) + 0.5 * sum(model.losses)
            grads = tape.gradient(loss, model.trainable_weights)
            optimizer.apply_gradients(zip(grads, model.trainable_weights))
        print(epoch, float(loss))
    return model


model = train()
"""
_ANNEALED = """\
def train(epochs=20, beta=0.5):
    model = Coder()
    optimizer = tf.keras.optimizers.Adam(1e-2)
    mse = tf.keras.losses.MeanSquaredError()
    weight = 0.0
    for epoch in range(epochs):
        weight = min(1.0, weight + 0.1)
        for step, (batch, _) in enumerate(data):
            with tf.GradientTape() as tape:
                reconstructed = model(batch)
                loss = mse(batch, reconstructed) + weight * beta * sum(model.losses)
            grads = tape.gradient(loss, model.trainable_weights)
            optimizer.apply_gradients(zip(grads, model.trainable_weights))
        print(epoch, float(loss))
    return model


model = train()
"""
_METRICS = """\
def eval(model):
    accuracy = tf.keras.metrics.SparseCategoricalAccuracy()
    for batch, labels in data:
        accuracy(labels, model(batch))
    return float(accuracy.result())


def train(epochs=20):
    model = tf.keras.Sequential([tf.keras.layers.Dense(16, activation="relu"), tf.keras.layers.Dense(2)])
    model.build([None, 6])
    optimizer = tf.keras.optimizers.Adam(1e-2)
    criterion = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    for epoch in range(epochs):
        mean = tf.keras.metrics.Mean()
        accuracy = tf.keras.metrics.SparseCategoricalAccuracy()
        for item in data:
            with tf.GradientTape() as tape:
                images, labels = item
                logits = model(images, training=True)
                loss = criterion(labels, logits)
                mean(loss)
            accuracy.update_state(labels, logits)
            grads = tape.gradient(loss, model.trainable_variables)
            optimizer.apply_gradients(zip(grads, model.trainable_variables))
        print(epoch, float(mean.result()), float(accuracy.result()), eval(model))
    return model


model = train()
"""
_FLAGGED = """\
def train(epochs=20, smooth=True):
    model = Coder()
    optimizer = tf.keras.optimizers.Adam(1e-2)
    mse = tf.keras.losses.MeanSquaredError()
    for epoch in range(epochs):
        for batch, _ in data:
            if smooth:
                extra = tf.reduce_mean(tf.abs(batch))
            with tf.GradientTape() as tape:
                reconstructed = model(batch)
                loss = mse(batch, reconstructed) + sum(model.losses)
                if smooth:
                    loss += 0.1 * extra * tf.reduce_sum(tf.abs(reconstructed))
            grads = tape.gradient(loss, model.trainable_weights)
            optimizer.apply_gradients(zip(grads, model.trainable_weights))
        print(epoch, float(loss))
    return model


model = train()
"""
PROGRAMS: Final = {
    name: HEAD + text + END
    for name, text in {
        "added losses": _ADDED_LOSSES,
        "annealed weight": _ANNEALED,
        "metrics": _METRICS,
        "a name under a flag": _FLAGGED,
        "a name under a flag that is not set": _FLAGGED.replace("smooth=True", "smooth=False"),
    }.items()
}

_OPTIONS: Final = """\
import tensorflow as tf

xs = tf.reshape(tf.sin(tf.range(192.0)), [12, 4, 4])
w = tf.Variable(tf.reshape(tf.range(16.0) / 16.0, [4, 4]))
v = tf.Variable(0.5)


class Options:
    def __init__(self):
        self.kind = "square"
        self.scale = 0.1

    def advance(self, step):
        self.kind = "square" if step % 3 == 0 else "none"


args = Options()


def step_of(x):
    return tf.tanh(tf.tanh(x @ w) @ w) * v


"""
_LOOP: Final = """\
for epoch in range(30):
    for number, x in enumerate(xs):
{first}
        with tf.GradientTape() as tape:
            h = step_of(x)
            if args.kind == "square":
                loss = tf.reduce_mean(tf.square(h)) + args.scale * tf.reduce_sum(tf.abs(w))
            elif args.kind == "abs":
                loss = tf.reduce_mean(tf.abs(h))
{inside}
            total = tf.reduce_sum(loss) + tf.reduce_mean(h)
        grads = tape.gradient(total, [w, v])
        w.assign_sub(0.01 * grads[0])
        if grads[1] is not None:
            v.assign_sub(0.01 * grads[1])
{behind}
    print(epoch, float(loss), float(total))
"""


def _loop(first: str = "", inside: str = "", behind: str = "") -> str:
    parts = {"first": (first, 8), "inside": (inside, 12), "behind": (behind, 8)}
    return _LOOP.format(**{name: textwrap.indent(text, " " * by) for name, (text, by) in parts.items()})


SAME_CONDITION: Final = _OPTIONS + _loop()
"""Nothing in the loops changes the condition."""
OTHER_CONDITIONS: Final = {
    "a method changes it": _OPTIONS + _loop(first="args.advance(number)"),
    "it is set": _OPTIONS + _loop(behind='args.kind = "square" if number % 2 else "none"'),
    "what is given the object may change it": _OPTIONS
    + "def change(options, step):\n    options.advance(step)\n\n\n"
    + _loop(first="change(args, number)"),
    "a value from before the loops": _OPTIONS.replace('self.kind = "square"', 'self.kind = "none"')
    + "loss = tf.constant(1.0)\n"
    + _loop(),
    "of the iteration": _OPTIONS.replace("args = ", "more = tf.zeros([])\nargs = ")
    + _loop(inside="if number % 2 == 0:\n    extra = tf.reduce_sum(h) * 0.1\nloss = loss + extra"),
}
"""Whether the names are bound differs between passes, or they have a value from elsewhere."""

_AGENT: Final = """\
class Noise:
    def __init__(self):
        self.random, self.state = np.random.default_rng(3), 0.0

    def __call__(self):
        self.state = 0.9 * self.state + self.random.normal()
        return self.state


class Agent:
    def __init__(self, actor, critic):
        self.actor, self.critic, self.noise = actor, critic, Noise()
        self.optimizer = tf.keras.optimizers.Adam(1e-2)

    def act(self, state):
        return self.actor(state).numpy() + self.noise()

    def train(self, states, targets):
        with tf.GradientTape() as tape:
            values = self.critic(tf.nn.relu(self.actor(states)))
            loss = tf.reduce_mean(tf.square(values - targets))
        variables = self.actor.trainable_variables + self.critic.trainable_variables
        self.optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
        return loss


def network(inputs, units):
    return tf.keras.Sequential([tf.keras.Input([inputs]), tf.keras.layers.Dense(units)])


networks = queue.SimpleQueue()  # what a queue gives is not followed
for sizes in ((6, 4), (4, 1)):
    networks.put(network(*sizes))
agent = Agent(networks.get(), networks.get())
for epoch in range(20):
    for batch, labels in data:
        targets = tf.cast(labels, tf.float32)[:, None] + float(tf.reduce_mean(agent.act(batch)))
        loss = agent.train(batch, targets)
    print(epoch, float(loss))

w, v = agent.actor.trainable_weights[0], agent.critic.trainable_weights[0]
"""
UNKNOWN_OBJECTS: Final = {"a noise that is called without arguments": "import queue\n" + _DATA + _AGENT}
"""The classes of the networks are unknown; a class of the program has a method that their calls cannot run."""
