"""The same few operations reached in the ways that Python offers."""

import contextlib
import itertools
from collections import namedtuple
from functools import lru_cache, reduce

import tensorflow as tf

Pair = namedtuple("Pair", ["left", "right"])


def add(a, b):
    return a + b


def scale(t, by=2.0):
    return t * by


def total(*tensors, weights=None):
    if weights is None:
        weights = [1.0] * len(tensors)
    return reduce(add, [w * t for w, t in zip(weights, tensors)])


def forward(**named):
    return total(named["first"], named["second"])


def make_counter(start):
    value = start

    def count(step):
        nonlocal value
        value = value + step
        return value

    return count


def rows(matrix):
    for i in range(matrix.shape[0]):
        yield matrix[i]


def all_rows(*matrices):
    for matrix in matrices:
        yield from rows(matrix)


@lru_cache(maxsize=None)
def basis(size):
    return tf.eye(size)


def power(x, n):
    if n == 0:
        return tf.ones_like(x)
    return x * power(x, n - 1)


@contextlib.contextmanager
def temporary(variable, value):
    old = tf.identity(variable)
    variable.assign(value)
    yield variable
    variable.assign(old)


class Stack:
    def __init__(self):
        self._items = []

    def push(self, item):
        self._items.append(item)
        return self

    def __len__(self):
        return len(self._items)

    def __getitem__(self, index):
        return self._items[index]

    def __iter__(self):
        return iter(self._items)

    @staticmethod
    def of(*items):
        stack = Stack()
        for item in items:
            stack.push(item)
        return stack

    @classmethod
    def zeros(cls, *shapes):
        return cls.of(*map(tf.zeros, shapes))


def swap(pair):
    match pair:
        case Pair(left=a, right=b):
            return Pair(b, a)
        case (a, b):
            return b, a
    raise TypeError(pair)


def describe(value):
    if isinstance(value, tf.Tensor):
        return value.shape
    if (length := len(value)) > 1:
        return length
    return None


OPERATIONS = {"add": add, "scale": scale, "power": power}


def apply(name, *arguments):
    return OPERATIONS[name](*arguments)


vector, matrix = tf.constant([1.0, 2.0, 3.0]), tf.ones((2, 3))
print(total(vector, vector * 2, weights=[0.5, 0.25]), forward(first=matrix, second=matrix))
count = make_counter(tf.zeros([3]))
for row in all_rows(matrix, tf.zeros((1, 3))):
    count(row)
print(count(vector), basis(3), power(matrix, 3))
with temporary(tf.Variable([1.0, 1.0]), tf.constant([5.0, 6.0])) as changed:
    print(scale(changed, by=3.0))
stack = Stack.of(vector, matrix).push(tf.constant(7))
print([describe(item) for item in stack], len(stack), scale(stack[0]), describe(Stack.zeros((2,), (3, 3))))
print(swap(Pair(vector, matrix)).left, swap((matrix, vector)))
for name, argument in itertools.product(["add"], [vector, matrix]):
    print(apply(name, argument, argument))
print(apply("power", vector, 2), sorted([(3, matrix), (1, vector)], key=lambda entry: entry[0])[0][1])
