"""Programs in which a failing operation is no error: its exception is caught on the path, the program ends before, or its operands may
change.
"""

from __future__ import annotations

START = """\
import contextlib
import functools
import sys
import unittest
from unittest import mock

import numpy as np
import pytest
import tensorflow as tf

A, B = tf.ones((2, 5)), tf.ones((3, 4))
"""

NO_ERRORS = {
    "a context manager of the program": """
@contextlib.contextmanager
def tolerant():
    try:
        yield
    except Exception:
        pass


with tolerant():
    tf.matmul(A, B)
""",
    "an `__exit__` that gives True": """
class Tolerant:
    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        return kind is not None


with Tolerant():
    tf.matmul(A, B)
""",
    "a context manager that a stack enters": """
with contextlib.ExitStack() as stack:
    stack.enter_context(contextlib.suppress(ValueError))
    tf.matmul(A, B)
""",
    "a function that a stack calls": """
with contextlib.ExitStack() as stack:
    stack.push(lambda kind, value, trace: True)
    tf.matmul(A, B)
""",
    "a context manager around a caller": """
class Tolerant:
    def __enter__(self):
        return self

    def __exit__(self, *error):
        return True


def product():
    return tf.matmul(A, B)


with Tolerant():
    product()
""",
    "a `finally` that returns": """
def product():
    try:
        return tf.matmul(A, B)
    finally:
        return None


product()
""",
    "a function that an assertion calls": """
class Test(unittest.TestCase):
    def test(self):
        self.assertRaises(ValueError, lambda: tf.matmul(A, B))
""",
    "a test that is expected to fail": """
class Test(unittest.TestCase):
    @unittest.expectedFailure
    def test(self):
        tf.matmul(A, B)
""",
    "a class of tests that is skipped": """
@unittest.skip("not yet")
class Test(unittest.TestCase):
    def test(self):
        tf.matmul(A, B)
""",
    "a test that pytest is told to fail": """
@pytest.mark.xfail(raises=ValueError)
def test():
    tf.matmul(A, B)
""",
    "a test that skips itself": """
class Test(unittest.TestCase):
    def test(self):
        self.skipTest("not yet")
        tf.matmul(A, B)
""",
    "a program that ends before": """
def main():
    usage()
    tf.matmul(A, B)


def usage():
    print("usage")
    sys.exit()


main()
""",
    "a call before that raises": """
class Agent:
    def learn(self, samples):
        return tf.reduce_sum(samples)

    def check(self):
        return tf.matmul(A, B)


agent = Agent()
for _ in range(3):
    agent.learn(A, B)
    agent.check()
""",
    "a name before that nothing defines": """
def main():
    print(size)
    tf.matmul(A, B)


main()
""",
    "a tuple before of another length": """
rows, columns = (1, 2, 3)
tf.matmul(A, B)
""",
    "a shape before of another rank": """
rows, columns, channels = A.shape
tf.matmul(A, B)
""",
    "a new object before that raises": """
class Agent:
    def __init__(self, size):
        self.size = size


Agent()
tf.matmul(A, B)
""",
    "a patch": """
SIZE = 5


def product():
    return tf.matmul(tf.ones((2, SIZE)), B)


with mock.patch(f"{__name__}.SIZE", 3):
    product()
""",
    "a patch that decorates": """
SIZE = {"n": 5}


@mock.patch.dict(SIZE, n=3)
def test():
    tf.matmul(tf.ones((2, SIZE["n"])), B)
""",
    "pytest's patches": """
SIZE = 5


def test(monkeypatch):
    monkeypatch.setattr(sys.modules[__name__], "SIZE", 3)
    tf.matmul(tf.ones((2, SIZE)), B)
""",
    "a function of TensorFlow that is replaced": """
product = tf.matmul
tf.matmul = lambda a, b: product(a, tf.zeros((a.shape[1], 4)))
tf.matmul(A, B)
""",
    "a function behind the operands that is replaced": """
zeros = np.zeros
setattr(np, "zeros", lambda shape: zeros((2, 3)))
np.zeros((2, 5)) @ np.ones((3, 4))
""",
    "names that a text sets": """
SIZE = 5
exec("SIZE = 3")
tf.matmul(tf.ones((2, SIZE)), B)
""",
    "defaults that are set": """
def product(size=5):
    return tf.matmul(tf.ones((2, size)), B)


product.__defaults__ = (3,)
product()
""",
    "dtypes that are promoted": """
from tensorflow.python.ops.numpy_ops import np_config

np_config.enable_numpy_behavior()
tf.constant([1]) + tf.constant([1.0])
""",
    "a metaclass that sets attributes": """
class Meta(type):
    def __call__(cls, *arguments):
        made = super().__call__(*arguments)
        made.size = 3
        return made


class Part(metaclass=Meta):
    def __init__(self):
        self.size = 5


tf.matmul(tf.ones((2, Part().size)), B)
""",
    "a `__setattr__` of the program": """
class Part:
    def __init__(self):
        self.size = 5

    def __setattr__(self, name, value):
        super().__setattr__(name, 3)


tf.matmul(tf.ones((2, Part().size)), B)
""",
    "an object behind a `__setattr__`": """
class Part:
    size = 5


class Proxy:
    def __init__(self, inner):
        object.__setattr__(self, "inner", inner)

    def __setattr__(self, name, value):
        setattr(self.inner, name, value)


part = Part()
Proxy(part).size = 3
tf.matmul(tf.ones((2, part.size)), B)
""",
    "an attribute of an object that is not known": """
import weakref


class Part:
    def __init__(self):
        self.size = 5


part = Part()
weakref.ref(part)().size = 3
tf.matmul(tf.ones((2, part.size)), B)
""",
    "a class that is registered with another one": """
import abc


class Small(abc.ABC):
    pass


@Small.register
class Part:
    pass


size = 3 if isinstance(Part(), Small) else 5
tf.matmul(tf.ones((2, size)), B)
""",
    "a metaclass that says what an instance is": """
class Meta(type):
    def __instancecheck__(cls, other):
        return True


class Small(metaclass=Meta):
    pass


class Part:
    pass


size = 3 if isinstance(Part(), Small) else 5
tf.matmul(tf.ones((2, size)), B)
""",
    "functions in another order": """
def use(x):
    return tf.matmul(x, B)


def cut(x):
    return x[:, :3]


def run(steps):
    x = A
    for step in steps:
        x = step(x)
    return x


steps = [(1, use), (0, cut)]
steps.sort()
run([step for _, step in steps])
run(sorted([use, cut], key=lambda step: step.__name__))
while steps:
    A = steps.pop(0)[1](A)
""",
    "functions that a condition chooses in each iteration": """
def use(x):
    return tf.matmul(x, B)


def cut(x):
    return x[:, :3]


done = set()
for _ in range(2):
    A = use(A) if "cut" in done else cut(A)
    done.add("cut")
A, done = tf.ones((2, 5)), set()
while len(done) < 2:
    if "cut" in done:
        A = use(A)
        done.add("use")
    else:
        A = cut(A)
        done.add("cut")
""",
    "functions that are shuffled": """
import random


def use(x):
    return tf.matmul(x, B)


def cut(x):
    return x[:, :3]


steps = [use, cut]
random.Random(1).shuffle(steps)
for step in steps:
    A = step(A)
""",
    "the function behind a wrapper": """
def counted(function):
    @functools.wraps(function)
    def inner(x):
        inner.calls += 1
        return function(x)

    inner.calls = 0
    return inner


@counted
def double(x):
    return x * 2


step = tf.function(double.__wrapped__)
step(A)
print(double.calls)
""",
    "a list in a deep copy": """
import copy

settings = {"sizes": [3]}
other = copy.deepcopy(settings)
other["sizes"][0] = 5
tf.matmul(tf.ones((2, settings["sizes"][0])), B)
""",
    "a variable of the environment that the program sets": """
import os

os.environ.setdefault("SIZE_OF_PARTS", "3")
tf.matmul(tf.ones((2, int(os.getenv("SIZE_OF_PARTS", 5)))), B)
""",
    "a setting of a layer that is set later": """
layer = tf.keras.layers.Dense(5)
layer.units = 3
tf.matmul(layer(A), B)
""",
    "a layer that is taken out of a model": """
model = tf.keras.Sequential([tf.keras.layers.Dense(3), tf.keras.layers.Dense(5)])
model.pop()
tf.matmul(model(A), B)
""",
    "an array that is resized": """
array = np.ones((2, 5))
array.resize((2, 3), refcheck=False)
array @ np.ones((3, 4))
""",
    "a handler in a graph": """
@tf.function
def value(x):
    try:
        return tf.constant(x.numpy())
    except AttributeError:
        return x


value(A)
""",
    "a handler around a caller of a graph": """
@tf.function
def value(x):
    return x.numpy()


def attempt():
    return value(A)


try:
    attempt()
except AttributeError:
    pass
""",
    "a graph that an assertion calls": """
@tf.function
def value(x):
    return x.numpy()


class Test(unittest.TestCase):
    def test(self):
        self.assertRaises(AttributeError, value, A)
        self.assertRaises(AttributeError, lambda: value(A))
""",
    "a test of what the tensor is": """
@tf.function
def value(x):
    return x.numpy() if not tf.is_symbolic_tensor(x) else x


value(A)
""",
    "a test of what the tensor is that returns": """
@tf.function
def value(x):
    if tf.is_symbolic_tensor(x):
        return x
    return x.numpy()


value(A)
""",
    "an attribute of the function": """
@tf.function
def value(x):
    return x.numpy() if value.eager else x


value.eager = False
value(A)
""",
    "code that leaves the graph": """
@tf.function
def value(x):
    with tf.init_scope():
        size = tf.constant(3.0)
        size = size.numpy()
    return x * size


value(A)
""",
    "a start of a sum": """
@tf.function
def total(x, **parts):
    return sum(parts.values(), x)


total(A, b=A)
""",
    "a variable in a cache": """
@functools.lru_cache(None)
def weight(name):
    return tf.Variable(tf.ones((5,)))


@tf.function
def step(x):
    return x + weight("w")


step(A)
""",
    "a variable after an exception": """
class Part:
    @tf.function
    def step(self, x):
        try:
            weight = self.weight
        except AttributeError:
            weight = self.weight = tf.Variable(tf.ones((5,)))
        return x + weight


part = Part()
part.step(A)
""",
    "a variable that is kept if there is one": """
class Part:
    weight = None

    @property
    def kept(self):
        self.weight = self.weight if self.weight is not None else tf.Variable(tf.ones((5,)))
        return self.weight

    @tf.function
    def step(self, x):
        return x + self.kept


part = Part()
part.step(A)
""",
    "a variable of a descriptor": """
class Lazy:
    def __get__(self, owner, kind=None):
        if "weight" not in owner.__dict__:
            owner.__dict__["weight"] = tf.Variable(tf.ones((5,)))
        return owner.__dict__["weight"]


class Part:
    weight = Lazy()

    @tf.function
    def step(self, x):
        return x + self.weight


part = Part()
part.step(A)
""",
    "an object of a library that is looked into": """
import gym


class Agent:
    def __init__(self):
        self.space = gym.spaces.Dict({"camera": gym.spaces.Box(0, 1, (3,))})

    @tf.function
    def step(self, camera):
        return camera if len(camera.shape) == len(self.space["camera"].shape) else camera[0]


agent = Agent()
agent.step(A)
agent.step(B)
""",
    "a constant that TensorFlow 1 fills": """
import tensorflow.compat.v1 as tf1

tf1.disable_v2_behavior()
tf1.constant([0, 1, 2], shape=[8])
""",
    "a class with a hash": """
class Mode(str):
    def __eq__(self, other):
        return True

    __hash__ = str.__hash__


@tf.function
def step(x, mode):
    return x if mode == "a" else -x


step(A, Mode("b"))
""",
}
