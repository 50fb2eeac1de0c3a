"""When a failing operation is reported, and with what; and what is no proof."""

from __future__ import annotations

import sys
import textwrap
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2]))

from analysis_support import analyze_modules

from terra_refactor.rules.rule import Finding

HEADER = "import numpy as np\nimport tensorflow as tf\n"


def findings(text: str) -> list[Finding]:
    """The findings of the shape rules about a program, which starts at line 3."""
    result = analyze_modules({"program": HEADER + textwrap.dedent(text).lstrip("\n")})
    return [finding for finding in result.findings if finding.rule.startswith("TR4")]


SILENT = {
    "a test expects the error of a call": """
        def loss(a, b):
            return tf.matmul(a, b)
        def test_loss(self):
            with self.assertRaises(ValueError):
                loss(tf.ones([2, 3]), tf.ones([2, 3]))
        """,
    "a test expects the error in place": """
        import pytest
        def test_loss():
            with pytest.raises(ValueError):
                tf.matmul(tf.ones([2, 3]), tf.ones([2, 3]))
        """,
    "a condition about the argument that nobody can answer": """
        def pick(x, mystery):
            if mystery(x):
                return x[0, 0, 0]
            return x
        pick(tf.ones([2, 3]), lambda x: unheard_of(x))
        """,
    "the rest after such a condition": """
        def pick(x, mystery):
            if mystery(x):
                return x
            return x[0, 0, 0]
        pick(tf.ones([2, 3]), lambda x: unheard_of(x))
        """,
    "a call under such a condition": """
        def deeper(x):
            return x[0, 0, 0]
        def pick(x, mystery):
            if mystery(x):
                return deeper(x)
            return x
        pick(tf.ones([2, 3]), lambda x: unheard_of(x))
        """,
    "the last iteration, left out by a condition": """
        states = np.zeros((7, 2))
        last = unheard_of()
        for i in range(7):
            if i != last:
                following = states[i + 1]
        """,
    "one of several alternatives that exclude each other": """
        def squeeze(t):
            return tf.squeeze(t, [0])
        def steps(x):
            return tf.nest.map_structure(squeeze, x)
        steps(tf.ones([1, 4]) if unheard_of() else tf.ones([7, 4]))
        """,
    "an array that nothing but its use tells": """
        def shuffled(X):
            X = X - np.mean(X, axis=0)
            order = np.random.default_rng(1).permutation(X.shape[0])
            return X[order]
        """,
    "identity of tensors in a graph of TensorFlow 1": """
        x = tf.placeholder(tf.float32, [None, 3])
        same = x == "default"
        """,
    "a range against a column": """
        def one_hot(labels):
            return tf.equal(tf.range(10), labels)
        one_hot(tf.zeros([10, 1], tf.int32))
        """,
    "an outer difference that is written": """
        x = tf.ones([5])
        column = tf.expand_dims(x, 1)
        d = column - x
        """,
    "an axis of size 1 in one call of several": """
        def classes(scores):
            return tf.argmax(scores, axis=1)
        classes(tf.ones([4, 1]))
        classes(tf.ones([4, 3]))
        """,
    "steps merged with the batch, and back": """
        def every_step(x):
            flat = tf.reshape(x, [-1, 8])
            return tf.reshape(flat, [-1, 5, 8])
        every_step(tf.ones([3, 5, 8]))
        """,
    "a result of a Python function that eager code gets": """
        @tf.function
        def load(i):
            return tf.numpy_function(lambda n: np.ones((4, 4, 3), np.float32), [i], tf.float32)
        @tf.function
        def use(image):
            return tf.image.resize(image, [2, 2])
        use(load(1))
        """,
    "a full batch only": """
        for batch in tf.data.Dataset.from_tensor_slices(tf.ones([10, 3])).batch(4, drop_remainder=True):
            tf.reshape(batch, [4, 3])
        """,
}


@pytest.mark.parametrize("text", SILENT.values(), ids=SILENT.keys())
def test_no_proof_no_finding(text: str) -> None:
    assert findings(text) == []


REPORTED = {
    "in a branch on a flag": (
        """
        flag = unheard_of()
        if flag:
            tf.matmul(tf.ones([2, 3]), tf.ones([2, 3]))
        """,
        "TR401",
    ),
    "after a guard that raises": (
        """
        def f(x):
            if unheard_of(x):
                raise ValueError
            return tf.matmul(x, x)
        f(tf.ones([2, 3]))
        """,
        "TR401",
    ),
    "in every iteration": (
        """
        for i in range(3):
            tf.matmul(tf.ones([2, 3]), tf.ones([2, 3]))
        """,
        "TR401",
    ),
    "on the last batch": (
        """
        for batch in tf.data.Dataset.from_tensor_slices(tf.ones([10, 3])).batch(4):
            tf.reshape(batch, [4, 3])
        """,
        "TR401",
    ),
    "a list that is fed": (
        """
        x = tf.placeholder(tf.float32, [None, 3])
        with tf.Session() as sess:
            sess.run(x * 2, {x: [[1.0, 2.0], [3.0, 4.0]]})
        """,
        "TR401",
    ),
    "a tensor that is evaluated with feeds": (
        """
        x = tf.placeholder(tf.float32, [None, 3])
        y = x * 2
        with tf.Session():
            y.eval(feed_dict={x: np.zeros(3)})
        """,
        "TR402",
    ),
    "an operation that is run by a session from elsewhere": (
        """
        x = tf.placeholder(tf.float32, [None, 3])
        def train(session, data):
            session.run(x, feed_dict={x: data})
        train(unheard_of(), np.zeros([5, 4]))
        """,
        "TR401",
    ),
}


@pytest.mark.parametrize(("text", "rule"), REPORTED.values(), ids=REPORTED.keys())
def test_what_is_definite_is_reported(text: str, rule: str) -> None:
    assert {finding.rule for finding in findings(text)} == {rule}


def test_a_finding_names_its_operands_and_the_calls() -> None:
    (finding,) = findings(
        """
        def dense(x, w):
            flat = tf.reshape(x, [4, 6])
            return tf.matmul(flat, w)
        def model(x):
            return dense(x, tf.ones([5, 2]))
        model(tf.ones([4, 2, 3]))
        """
    )
    assert finding.span.line == 5
    assert "(4, 6)" in finding.message and "(5, 2)" in finding.message and "axis -1" in finding.message
    assert [(place.span.line, place.message) for place in finding.related] == [
        (4, "`flat` is float32 (4, 6)"),
        (7, "called from model"),
        (8, "called from <module>"),
    ]


ODD = {
    "empty": "x = tf.zeros([0, 3]) @ tf.zeros([3, 0])\ny = tf.reshape(x, [-1])\nz = tf.argmax(x, axis=0)\n",
    "negative": "x = tf.zeros([-1, 3])\ny = x - tf.ones([3])\n",
    "floats": "x = tf.zeros([2.5, 3])\ny = tf.reshape(x, [1.5, -1.0])\nz = tf.argmax(x, axis=1.0)\n",
    "rank 12": "x = tf.zeros([1] * 12)\ny = x - tf.zeros([2] * 11)\nz = tf.reshape(x, [-1] + [1] * 12)\n",
    "large": "x = tf.zeros([10**12, 10**12])\ny = tf.reshape(x, [-1, 10**13])\n",
    "recursive list": "a = []\na.append(a)\nx = tf.stack(a)\ny = tf.placeholder(tf.float32, a)\n",
    "recursive dict": "d = {}\nd['d'] = d\nx = tf.Session().run(d, feed_dict=d)\n",
    "a class that replaces its methods": (
        "class A:\n    def f(self, x):\n        self.f = self.g\n        return tf.zeros([2]) + x\n"
        "    def g(self, x):\n        A.f = lambda self, x: self.g(x)\n        return tf.zeros([3]) + x\n"
        "a = A()\nfor i in range(9):\n    a.f(a.f(1.0) * 0.0)\n    setattr(a, 'f' + str(i), a.f)\n"
    ),
    "an object that holds itself": "class B: pass\nb = B()\nb.b = b\nb.x = [b, {'b': b}]\ny = tf.stack(b.b.b.x)\n",
    "a name that is made of itself": "x = tf.ones([3, 1])\nfor i in unheard_of():\n    x = tf.cast(x, tf.float32)\ny = tf.ones([3]) - x\n",
    "two names of each other": "a = b = tf.ones([3, 1])\nfor i in unheard_of():\n    a = b\n    b = a\ny = tf.ones([3]) - a\n",
}


@pytest.mark.parametrize("text", ODD.values(), ids=ODD.keys())
def test_odd_shapes_cost_nothing_else(text: str) -> None:
    result = analyze_modules({"program": HEADER + text + "tf.matmul(tf.ones([2, 3]), tf.ones([2, 3]))\n"})
    last = HEADER.count("\n") + text.count("\n") + 1
    assert last in result.lines("TR401")
    assert all(context.problem is None for context in result.facts.contexts)


def test_thousands_of_layers() -> None:
    result = analyze_modules(
        {
            "program": HEADER
            + textwrap.dedent(
                """
                model = tf.keras.Sequential([tf.keras.layers.Input((8,))])
                for _ in range(5000):
                    model.add(tf.keras.layers.Dense(8))
                x = tf.ones([2, 8])
                w = [tf.ones([8, 8]) for _ in range(5000)]
                for layer in w:
                    x = x @ layer
                print(model(x).shape)
                """
            )
        }
    )
    assert all(context.problem is None for context in result.facts.contexts)


OLD = {
    "concat": ("c = tf.concat(1, [tf.zeros([2, 3]), tf.zeros([2, 4])])\ntf.matmul(c, tf.zeros([6, 1]))\n", "(2, 7)"),
    "split": ("a, b = tf.split(1, 2, tf.zeros([2, 6]))\ntf.matmul(a, tf.zeros([6, 1]))\n", "(2, 3)"),
    "mul": ("c = tf.mul(tf.zeros([2, 3]), 2.0)\ntf.matmul(c, tf.zeros([6, 1]))\n", "(2, 3)"),
    "pack": ("c = tf.pack([tf.zeros([3]), tf.zeros([3])])\ntf.matmul(c, tf.zeros([6, 1]))\n", "(2, 3)"),
    "dense": ("c = tf.layers.dense(tf.zeros([2, 3]), 5)\ntf.matmul(c, tf.zeros([6, 1]))\n", "(2, 5)"),
    "fully connected": (
        "c = tf.contrib.layers.fully_connected(tf.zeros([2, 3]), 5)\ntf.matmul(c, tf.zeros([6, 1]))\n",
        "(2, 5)",
    ),
    "convolution": (
        "c = tf.contrib.slim.conv2d(tf.zeros([2, 8, 8, 3]), 5, [3, 3], 1, 'VALID')\n"
        "tf.matmul(tf.contrib.layers.flatten(c), tf.zeros([6, 1]))\n",
        "(2, 180)",
    ),
}


@pytest.mark.parametrize(("text", "shape"), OLD.values(), ids=OLD.keys())
def test_names_of_tensorflow_1_are_no_errors_and_have_shapes(text: str, shape: str) -> None:
    (finding,) = findings(text)
    assert (finding.rule, finding.span.line) == ("TR401", 4)
    assert shape in finding.message
