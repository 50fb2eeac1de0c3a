"""A program that certainly raises before an operation that fails does not reach it: the finding is a warning.

Each program of `ENDED` raises in its first failing line, in TensorFlow 2.21 with NumPy 2; beside it stands almost the same one, which
reaches the operation.
"""

from __future__ import annotations

import pytest
from analysis_support import analyze_text

from terra_refactor.rules.rule import Severity

START = """\
import numpy as np
import tensorflow as tf
from tensorflow.keras import layers

A, B = tf.ones((2, 5)), tf.ones((3, 4))
X = np.ones((10, 3))
"""

ENDED = {
    "a misspelt keyword of a layer": """
layers.SimpleRNN(3, return_sequence=True)
tf.matmul(A, B)
""",
    "a misspelt keyword of an optimizer": """
tf.keras.optimizers.Adam(learning_rates=0.1)
tf.matmul(A, B)
""",
    "a misspelt keyword of `fit`": """
model = tf.keras.Sequential([layers.Dense(1)])
model.compile(loss="mse")
model.fit(X, X[:, :1], epoch=3)
tf.matmul(A, B)
""",
    "a misspelt keyword of `compile`": """
model = tf.keras.Sequential([layers.Dense(1)])
model.compile(loss="mse", matrics=["accuracy"])
tf.matmul(A, B)
""",
    "an attribute that datasets do not have": """
dataset = tf.data.Dataset.from_tensor_slices(X)
print(dataset.shape)
tf.matmul(A, B)
""",
    "an attribute that tensors do not have": """
print(A.size())
tf.matmul(A, B)
""",
    "a misspelt layer": """
layers.MaxPolling2D()
tf.matmul(A, B)
""",
    "a misspelt function": """
def main():
    print(tf.reduce_summ(A))
    tf.matmul(A, B)


main()
""",
    "a function that a module does not have": """
tf.random.seed(3)
tf.matmul(A, B)
""",
    "a misspelt name that is imported": """
from tensorflow.keras.layers import Flaten

tf.matmul(A, B)
""",
    "a misspelt keyword in a constructor": """
class Net(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.first = layers.GRU(3, return_sequence=True)
        self.second = layers.GRU(3)

    def call(self, x):
        return self.second(self.first(x))


def main():
    net = Net()
    net(tf.ones((2, 4, 5)))


main()
""",
    "a misspelt method of an optimizer": """
def main():
    optimizer = tf.keras.optimizers.Adam()
    for _ in range(3):
        optimizer.apply_gradient([])
        tf.matmul(A, B)


main()
""",
    "a misspelt attribute of a tensor": """
print(A.shaep)
tf.matmul(A, B)
""",
    "a misspelt attribute of an array": """
print(X.reshpae(3, 10))
tf.matmul(A, B)
""",
    "a product with nothing": """
def weights(shape):
    made = tf.Variable(tf.ones(shape))
    tf.nn.l2_loss(made)


tf.matmul(A, weights((5, 2)))
tf.matmul(A, B)
""",
    "a chain of comparisons of an array": """
print(X[0 < X <= 3])
tf.matmul(A, B)
""",
    "a float as a bound of a slice": """
print(X[: len(X) * 0.7 - 1])
tf.matmul(A, B)
""",
    "a quotient as an index": """
print(A[len(X) / 10])
tf.matmul(A, B)
""",
    "a float as a bound of a slice of a list": """
rows = [1, 2, 3]
print(rows[: len(rows) / 2])
tf.matmul(A, B)
""",
    "elements that are left out": """
labels = tf.constant([0, 37, ...])
tf.matmul(A, B)
""",
    "a graph that is called behind it": """
@tf.function
def rows(x):
    return [row * 2.0 for row in x]


print(A.shaep)
rows(A)
""",
    "a mapped function whose dataset is made behind it": """
def rows(x):
    return [row * 2.0 for row in x]


def main():
    print(A.shaep)
    return tf.data.Dataset.from_tensor_slices(X).batch(2).map(rows)


main()
""",
    "a hazard behind it in a graph": """
@tf.function
def rows(x):
    print(x.shaep)
    return [row * 2.0 for row in x]


rows(A)
""",
    "a function that always raises": """
def build():
    return layers.Dense(3, activations="relu")


def main():
    build()
    tf.matmul(A, B)


main()
""",
}

REACHED = {
    "parameters of an older release": """
layers.Dense(3, input_shape=(5,), weights=None)
tf.matmul(A, B)  # error
""",
    "a misspelt keyword whose exception is caught": """
try:
    layers.SimpleRNN(3, return_sequence=True)
except Exception:
    print("no")
tf.matmul(A, B)  # error
""",
    "a misspelt keyword in one branch": """
def main(size):
    if size > 3:
        layers.SimpleRNN(3, return_sequence=True)
    tf.matmul(A, B)  # error


main(int(input()))
""",
    "a graph that is called before it, too": """
@tf.function
def rows(x):
    return [row * 2.0 for row in x]  # error


rows(A)
print(A.shaep)
rows(B)
""",
    "a misspelt keyword after it": """
tf.matmul(A, B)  # error
layers.SimpleRNN(3, return_sequence=True)
""",
    "a generator that would raise": """
def parts():
    yield layers.SimpleRNN(3, return_sequence=True)


parts()
tf.matmul(A, B)  # error
""",
    "a function that may return before": """
def build(size):
    if size:
        return None
    layers.SimpleRNN(3, return_sequence=True)


build(2)
tf.matmul(A, B)  # error
""",
    "an attribute that the program sets": """
optimizer = tf.keras.optimizers.Adam()
optimizer.apply_gradient = print
optimizer.apply_gradient([])
tf.matmul(A, B)  # error
""",
    "a keyword of a function of the program": """
def rnn(units, return_sequence=False):
    return layers.SimpleRNN(units, return_sequences=return_sequence)


rnn(3, return_sequence=True)
tf.matmul(A, B)  # error
""",
    "names of earlier releases": """
try:
    from tensorflow.keras.optimizers import adam
except ImportError:
    from tensorflow.keras.optimizers import Adam as adam
print(adam, hasattr(np, "float"))
tf.matmul(A, B)  # error
""",
    "attributes of earlier releases": """
dataset = tf.data.Dataset.from_tensor_slices(X)
if hasattr(dataset, "output_shapes"):
    print(dataset.output_shapes, A.graph)
tf.matmul(A, B)  # error
""",
    "a chain of comparisons of one number": """
print(X[0 < X[0, 0] <= 3], 0 < X.sum() < 50 and X.any())
tf.matmul(A, B)  # error
""",
    "whole numbers as indices": """
print(X[: int(len(X) * 0.7)], X[len(X) // 2], X[...], A[..., 0])
tf.matmul(A, B)  # error
""",
}


@pytest.mark.parametrize("program", ENDED.values(), ids=ENDED)
def test_what_a_program_does_not_reach_is_a_warning(program: str) -> None:
    found = analyze_text(START + program).findings
    assert [each.severity for each in found if each.severity is Severity.ERROR] == []
    assert any("if the program does not end before" in each.message for each in found)


@pytest.mark.parametrize("program", REACHED.values(), ids=REACHED)
def test_what_a_program_reaches_is_an_error(program: str) -> None:
    text = START + program
    found = [each.span.line for each in analyze_text(text).findings if each.severity is Severity.ERROR]
    assert sorted(set(found)) == [n for n, line in enumerate(text.splitlines(), 1) if line.endswith("# error")]


@pytest.mark.parametrize("ends", [True, False])
def test_what_follows_a_helper_that_ends_the_program_is_no_finding(ends: bool) -> None:
    helper = "def leave():\n    sys.exit(0)\n" if ends else "def leave():\n    print('left')\n"
    text = f"import sys\n{START}\n{helper}\ndef main():\n    leave()\n    tf.matmul(A, B)\n\nmain()\n"
    errors = [finding for finding in analyze_text(text).findings if finding.rule == "TR401"]
    assert bool(errors) is not ends
