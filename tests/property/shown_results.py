"""Training classes that store and print results of their steps, for `test_shown_results.py`.

Each ends with two arrays, `w` and `v`.
"""

from __future__ import annotations

import textwrap
from typing import Final

_PROGRAM: Final = """\
import contextlib

import numpy as np
import tensorflow as tf

xs = tf.reshape(tf.sin(tf.range(192.0)), [12, 4, 4])
w = tf.Variable(tf.reshape(tf.range(16.0) / 16.0, [4, 4]))
v = tf.Variable(0.5)


class Recorder:
    def __init__(self, variable):
        self.variable = variable
        self.kept = []

    def append(self, value):
        self.kept.append(float(value) + float(tf.reduce_sum(self.variable)))

    def __len__(self):
        return len(self.kept)


class Trainer:
    def __init__(self):
        self.w = w
        self.v = v
        self.losses = []
        self.history = {{"loss": [], "norm": []}}
        self.step = 0
{setup}

    def loss_of(self, x):
        h = tf.tanh(tf.tanh(x @ self.w) @ self.w) * self.v
        return tf.reduce_mean(tf.square(h)), {second}

    def current(self):
        return self.v

    def show(self, loss, every=50):
{show}

    def update(self, gw, gv):
{update}

    def train(self):
        for epoch in range(20):
            for x in xs:
                with tf.GradientTape() as tape:
                    loss, part = self.loss_of(x)
                    norm = tf.norm(self.w)
{inside}
                gw, gv = tape.gradient(loss, [self.w, self.v])
{between}
                self.w.assign_sub(0.1 * gw)
                self.v.assign_sub(0.1 * gv)
                self.step += 1
        print(np.round([float(each) for each in self.losses], 5).tolist()[::40], len(self.losses))
        print(np.round(self.history["loss"], 5).tolist()[::40], np.round(self.history["norm"], 5).tolist()[::40])


trainer = Trainer()
trainer.train()
"""
_SHOW: Final = """\
'''Says how it goes.'''
if self.step % every == 0:
    print(self.step, float(loss))
"""


def _program(
    *,
    setup: str = "",
    show: str = _SHOW,
    update: str = "pass",
    inside: str = "",
    between: str = "",
    end: str = "",
    second: str = "tf.reduce_sum(tf.abs(h))",
) -> str:
    parts = {
        "setup": (setup, 8),
        "show": (show, 8),
        "update": (update, 8),
        "inside": (inside, 20),
        "between": (between, 16),
    }
    filled = {name: textwrap.indent(text, " " * by).rstrip() for name, (text, by) in parts.items()}
    return _PROGRAM.format(second=second, **filled) + end


def _with_functions(functions: str, *, inside: str = "", between: str = "", end: str = "") -> str:
    program = _program(inside=inside, between=between, end=end)
    return program.replace("class Recorder:", f"{functions}\n\nclass Recorder:")


def _with_metric(*, inside: str = "", between: str = "") -> str:
    """A metric that is created in each epoch."""
    made = "            mean = tf.keras.metrics.Mean()\n            kept = []\n"
    program = _program(inside=inside, between=between)
    return program.replace("(20):\n", f"(20):\n{made}").replace(
        "self.step += 1\n        print", "self.step += 1\n            print(kept[::5])\n        print"
    )


_WRITERS: Final = """\
class Writer:
    def __init__(self, name):
        self.name = name

    def as_default(self):
        return contextlib.nullcontext()

    def flush(self):
        print("flushed", self.name)


writers = [Writer("first"), Writer("second")]


def log(writer, step, value, name="norm"):
    with writer.as_default():
        if step % 5 == 0:
            print(name, step, float(value))
        writer.flush()
"""
MOVED: Final = {
    "a list of losses in the tape": _program(inside="self.losses.append(loss)"),
    "a history in the tape": _program(inside='self.history["loss"].append(float(loss))'),
    "lists before the update": _program(
        between='self.losses.append(loss.numpy())\nself.history["norm"].append(float(norm))'
    ),
    "a method that prints": _program(inside="self.show(loss)"),
    "a method that prints, before the update": _program(between="self.show(norm, every=30)\nself.losses.append(loss)"),
    "a message with a counter": _program(between="if epoch % 5 == 0:\n    print(self.step, f'{float(loss):.5f}')"),
    "what operations make of a result": _program(
        inside="self.losses.append(tf.reduce_mean(loss).numpy())",
        between="print(epoch, float(tf.reduce_sum(tf.cast(tf.greater(norm, 1.0), tf.float32))))",
    ),
    "what a function of operations makes of a result": _with_functions(
        "def shown(value, scale=2.0):\n    return scale * tf.math.sqrt(tf.abs(value))\n",
        inside="self.losses.append(shown(loss))",
        between="print(shown(norm, 3.0).numpy())",
    ),
    "a function that writes with one of some writers": _with_functions(
        _WRITERS, inside='log(writers[0], epoch, tf.reduce_mean(loss).numpy(), "loss")\nlog(writers[1], epoch, norm)'
    ),
    "what a metric gives": _with_metric(
        inside="current = mean(loss)\nself.losses.append(current)", between="print(float(norm))"
    ),
    "what a metric gives, as a number": _with_metric(
        inside="kept.append(float(mean(loss)))\nself.losses.append(mean(norm).numpy())"
    ),
}
"""The host code moves behind the step."""
_READS_LIST: Final = "self.v.assign(self.v * (1.0 - 0.001 * len(self.losses)))"
OTHERS: Final = {
    "the update uses the list": _program(
        inside="self.losses.append(loss)", between="gw = gw * (1.0 / (1.0 + len(self.losses)))"
    ),
    "a method uses the list": _program(
        inside="self.losses.append(loss)", update=_READS_LIST, between="self.update(gw, gv)"
    ),
    "another name of the list": _program(
        setup="self.kept = self.losses",
        inside="self.losses.append(loss)",
        between="if len(self.kept) > 100:\n    gw = gw * 0.5",
    ),
    "no list": _program(setup="self.losses = Recorder(self.w)", inside="self.losses.append(loss)").replace(
        "for each in self.losses]", "for each in self.losses.kept]"
    ),
    "a list from elsewhere": _program(
        inside="self.losses.append(loss)", end="trainer.losses = Recorder(trainer.w)\ntrainer.losses.kept.append(0.0)\n"
    ),
    "a method that shows a variable": _program(show="print(float(loss), float(self.v))", inside="self.show(loss)"),
    "a method that counts": _program(
        show="self.step += 1\nif self.step % 40 == 0:\n    print(self.step, float(loss))", between="self.show(loss)"
    ),
    "a counter that is a variable": _program(
        setup="self.step = tf.Variable(0)",
        inside="if int(self.step) % 40 == 0:\n    print(int(self.step), float(loss))",
        between="self.step.assign_add(1)",
    ).replace("self.step += 1", "self.step.assign_add(1)"),
    "a method that changes the variable": _program(
        show="self.v.assign(self.v * 0.999)\nprint(float(loss))", between="self.show(loss)"
    ),
    "a counter that is a property": _program(
        inside="if self.step % 10 == 0:\n    print(self.step, float(loss))"
    ).replace(
        "    def current(self)",
        "    @property\n    def step(self):\n        return int(1000 * self.v)\n\n"
        "    @step.setter\n    def step(self, value):\n        pass\n\n    def current(self)",
    ),
    "a variable that the loss comes with": _program(second="self.v", inside="self.losses.append(float(part))"),
    "a variable that a method gives": _program(
        inside="scale = self.current()", between="self.losses.append(float(scale))"
    ),
    "what operations make of a variable": _program(
        inside="self.losses.append(tf.reduce_sum(self.w).numpy())", between="print(float(tf.abs(self.v)))"
    ),
    "what operations make of another name of a variable": _program(
        inside="scale = self.current()", between="self.losses.append(tf.reduce_sum(scale).numpy())"
    ),
    "what a function makes of a result and a variable": _with_functions(
        "def shown(value):\n    return value * tf.reduce_sum(w)\n", inside="self.losses.append(shown(loss))"
    ),
    "a random number": _with_functions(
        "tf.random.set_seed(3)\n",
        inside="self.losses.append(tf.random.normal([]).numpy() * 0.0)",
        between="gw = gw + 0.01 * tf.random.normal([4, 4])",
    ),
    "a writer that the update replaces": _with_functions(
        _WRITERS, inside='log(writers[0], epoch, norm, "loss")', between="writers[0] = Writer(str(self.step))"
    ),
    "a function that looks at its writer": _with_functions(
        _WRITERS.replace('print("flushed", self.name)', "self.name = float(w[0, 0])").replace(
            "print(name, step, float(value))", "print(writer.name, step, float(value))"
        ),
        inside='log(writers[0], epoch, norm, "loss")',
    ),
    "a metric that is reset before the update": _with_metric(
        inside="self.losses.append(mean(loss))", between="mean.reset_state()"
    ),
    "a metric whose result the update uses": _with_metric(
        inside="self.losses.append(mean(loss))", between="gw = gw * tf.tanh(mean.result())"
    ),
    "a metric of a variable": _with_metric(inside="self.losses.append(mean(self.v))"),
    "a method that an object has of its own": _program(
        setup="self.show = lambda loss: print(float(self.v))", inside="self.show(loss)"
    ),
}
"""Code that could observe the difference: whatever `fix` does, the program behaves the same."""

NOISE: Final = """\
import numpy as np
import tensorflow as tf

np.random.seed(7)
w = tf.Variable(tf.reshape(tf.range(16.0) / 16.0, [4, 4]))
v = tf.Variable(0.5)
xs = tf.reshape(tf.sin(tf.range(192.0)), [12, 4, 4])


def learn(x):
    with tf.GradientTape() as tape:
        noise = {noise}
        h = tf.tanh(tf.tanh(x @ w) @ w) * v + {used}
        h = tf.clip_by_value(h, -1.0, 1.0)
        loss = tf.reduce_mean(tf.square(h)) + tf.reduce_sum(tf.abs(h))
    grads = tape.gradient(loss, [w, v])
    w.assign_sub(0.01 * grads[0])
    v.assign_sub(0.01 * grads[1])
    return loss


for epoch in range(30):
    for x in xs:
        loss = learn(x)
    print(epoch, float(loss))
"""
FLOATS: Final = (
    ("tf.clip_by_value(np.random.normal(scale=0.2), -0.5, 0.5)", "noise"),
    ("tf.abs(np.random.uniform(-1.0, 1.0))", "noise"),
    ("np.random.normal(scale=0.2)", "tf.clip_by_value(noise, -0.5, 0.5)"),
)
"""A float per call that an operation converts to a tensor."""
OTHER_NUMBERS: Final = (
    ("tf.maximum(np.random.normal(scale=0.2), tf.constant(0.0, tf.float64))", "tf.cast(noise, tf.float32)"),
    ("tf.cast(tf.convert_to_tensor(np.random.normal(), dtype=tf.float64), tf.float32)", "noise"),
    ("tf.cast(np.random.randint(5) // 2, tf.float32)", "noise"),
    ("tf.cast(tf.square(np.random.randint(100000)), tf.float32)", "1e-9 * noise"),
    ("tf.clip_by_value(np.random.normal(scale=0.2), -0.5, 0.5) * (1 if np.random.normal() > 0 else 2)", "noise"),
)
"""Numbers whose dtype is determined by another tensor, a dtype argument or Python."""

ROWS: Final = """\
import ast

import numpy as np
import tensorflow as tf

w = tf.Variable(tf.reshape(tf.range(16.0) / 16.0, [4, 4]))
v = tf.Variable(0.5)
states = np.array(ast.literal_eval(str(np.sin(np.arange(48.0)).reshape(12, 4).tolist())))


def learn(states, batches):
    for batch in batches:
        with tf.GradientTape() as tape:
{rows}
            h = tf.tanh(tf.tanh(tf.cast(x, tf.float32) @ w) @ w) * v
            loss = tf.reduce_mean(tf.square(h)) + tf.reduce_sum(tf.abs(h))
        grads = tape.gradient(loss, [w, v])
        w.assign_sub(0.01 * grads[0])
        v.assign_sub(0.01 * grads[1])
    return loss


for epoch in range(60):
    loss = learn(states, np.random.RandomState(epoch).permutation(12).reshape(3, 4))
    print(epoch, float(loss))
"""
CHOSEN: Final = "x = states[batch]"
CHANGED: Final = ("states[0] = states[0] * 0.5\nx = states[batch]", "states = states * 0.5\nx = states[batch]")
"""Rows of an unknown array; or of one that the step itself changes."""

REWARDS: Final = """\
import ast
import random

import numpy as np
import tensorflow as tf

random.seed(3)
w = tf.Variable(tf.reshape(tf.range(16.0) / 16.0, [4, 4]))
v = tf.Variable(0.5)


class Memory:
    def __init__(self):
        self.kept = []

    def add(self, step):
        self.kept.append(step)

    def sample(self, size):
        rewards, ends = [], []
        for reward, end in random.sample(self.kept, size):
            rewards.append(np.array(reward))
            ends.append(np.array(end))
        return np.array(rewards).reshape(-1, 1), np.array(ends).reshape(-1, 1)


def learn(memory, x):
    rewards, ends = memory.sample(4)
    with tf.GradientTape() as tape:
        value = tf.tanh(tf.tanh(x @ w) @ w) * v
        target = {target}
        loss = tf.reduce_mean(tf.square(target - value)) + tf.reduce_sum(tf.abs(value))
    grads = tape.gradient(loss, [w, v])
    w.assign_sub(0.01 * grads[0])
    v.assign_sub(0.01 * grads[1])
    return loss


memory = Memory()
for number in range(20):
    memory.add(ast.literal_eval(str({step})))
for epoch in range(200):
    loss = learn(memory, tf.sin(tf.ones([4, 4]) * epoch))
print(float(loss))
"""
UNKNOWN_ARRAYS: Final = tuple(
    REWARDS.format(target=target, step=step)
    for target in ("rewards + (1 - ends) * 0.9 * value", "ends * value + rewards")
    for step in ("(number / 7, float(number % 5 == 0))", "(number, number % 5)")
)
"""Arrays with a dtype unknown to the analysis: float64, or integers."""
RETURNED_GRADIENTS: Final = tuple(
    text.replace(
        "def learn(memory, x):\n    rewards, ends = memory.sample(4)\n", "def gradients(rewards, ends, x):\n"
    ).replace(
        "    w.assign_sub(0.01 * grads[0])\n    v.assign_sub(0.01 * grads[1])\n    return loss\n",
        "    return loss, grads\n\n\n"
        "def learn(memory, x):\n"
        "    loss, grads = gradients(*memory.sample(4), x)\n"
        "    w.assign_sub(0.01 * grads[0])\n"
        "    v.assign_sub(0.01 * grads[1])\n"
        "    return loss\n",
    )
    for text in UNKNOWN_ARRAYS
)
"""The same, and another function updates the variables."""
