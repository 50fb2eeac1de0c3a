"""Inlay hints: names of sizes from the source, one shape for alternatives, and nothing where nothing is known."""

from __future__ import annotations

from pathlib import Path

import pytest
from ide_support import project, shown

from terra_refactor.ide.inlay_hints import inlay_hints
from terra_refactor.ide.values import LONGEST_HINT

TEXT = """\
import tensorflow as tf

def heads(x: tf.Tensor, num_heads, depth, flag, many):
    batch = tf.shape(x)[0]
    a = tf.reshape(x, (batch, -1, num_heads, depth))
    b = tf.transpose(a, [0, 2, 1, 3])
    c = tf.nn.softmax(tf.cast(b, tf.float32))
    d = tf.zeros([many, 3])
    many = many + 1
    if flag:
        e = tf.zeros([depth, 4])
    else:
        e = tf.zeros([num_heads, 4])
    f = e * 2.0
    for _ in range(3):
        g = tf.reshape(c, (batch, depth, 5)) + 1.0
    return f

class Pool(tf.keras.layers.Layer):
    def __init__(self, width):
        super().__init__()
        self.width = width
        self.dense = tf.keras.layers.Dense(width)

    def call(self, inputs):
        rows = tf.reshape(inputs, (-1, 2 * 4))
        n, m = inputs.shape
        wide = self.dense(rows)
        return wide

def varies(x):
    y = x * 2.0
    z = tf.strings.length(x)
    return y

def ranks(x):
    y = x * 2.0
    return y

for size in (8, 16):
    varies(tf.ones([2, size]))
varies(tf.ones([2, 32]))
ranks(tf.ones([2, 3]))
ranks(tf.ones([2, 3, 4]))

def guessed(data: tf.Tensor):
    h = data + 1.0
    return tf.nn.relu(h)
"""


@pytest.fixture(scope="module")
def labels(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("hints")
    path = shown(folder, "m.py")
    snapshot = project(folder, {"m.py": TEXT}).snapshot(path)
    lines = TEXT.splitlines()
    hints = inlay_hints(snapshot, path, 1, 999)
    assert all(len(hint.label) <= LONGEST_HINT for hint in hints)
    return {f"{hint.name} @ {lines[hint.span.line - 1].strip()}": hint.label for hint in hints}


@pytest.mark.parametrize(
    ("place", "label"),
    [
        ("b @ b = tf.transpose(a, [0, 2, 1, 3])", "(batch, num_heads, ?, depth)"),
        ("c @ c = tf.nn.softmax(tf.cast(b, tf.float32))", "float32 (batch, num_heads, ?, depth)"),
        # what differs between branches has no name
        ("f @ f = e * 2.0", "float32 (?, 4)"),
        ("g @ g = tf.reshape(c, (batch, depth, 5)) + 1.0", "float32 (batch, depth, 5)"),
        # a layer's setting, through the constructor
        ("wide @ wide = self.dense(rows)", "float32 (?, width)"),
        ("y @ y = x * 2.0", "float32 (2, 3) | (2, 3, 4)"),
    ],
)
def test_labels(labels: dict[str, str], place: str, label: str) -> None:
    assert labels.get(place) == label


def test_a_size_that_differs_shows_its_values(labels: dict[str, str]) -> None:
    assert labels["x @ def varies(x):"] == "float32 (2, 8|16|32)"


def test_nothing_is_said_where_no_size_is_known(tmp_path: Path) -> None:
    path = shown(tmp_path, "m.py")
    body = "    h = tf.cast(x, tf.float32)\n    i = tf.reshape(h, (-1, x[0]))\n    return h\n"
    text = f"import tensorflow as tf\n\ndef f(x: tf.Tensor):\n{body}"
    snapshot = project(tmp_path, {"m.py": text}).snapshot(path)
    assert inlay_hints(snapshot, path, 1, 99) == ()
    every = inlay_hints(snapshot, path, 1, 99, unknown_sizes=True)
    assert [(hint.name, hint.label) for hint in every] == [("h", "float32 (...)"), ("i", "float32 (?, ?)")]


def test_long_chains_of_branches_have_hints(tmp_path: Path) -> None:
    """Each `elif` is a level of the tree."""
    branches = "".join(f"    elif k == {number}:\n        y = x\n" for number in range(1_200))
    start = "import tensorflow as tf\ndef f(x: tf.Tensor, k):\n    z = tf.ones([2])\n    if k is None:\n        y = x\n"
    text = f"{start}{branches}    return y\n"
    session = project(tmp_path, {"m.py": text})
    path = shown(tmp_path, "m.py")
    assert inlay_hints(session.snapshot(path), path, 1, 9)


def test_a_size_that_is_computed_from_named_ones_has_their_expression(tmp_path: Path) -> None:
    text = """\
        import tensorflow as tf

        def flatten(image, points):
            sizes = image.get_shape()
            batch, height, width = sizes[0], sizes[1], sizes[2]
            flat = tf.reshape(points, [batch, height * width, 2])
            one_more = tf.reshape(points, [height + 1, width - 1])
            divided = tf.reshape(points, [height // 2, 2])
            height_or_width = height if batch > 1 else width
            product = height_or_width * width
            height_or_width = width
            unnamed = tf.reshape(points, [height_or_width * width, 2])
            return flat
        """
    session = project(tmp_path, {"m.py": text})
    path = shown(tmp_path, "m.py")
    found = {hint.name: hint.label for hint in inlay_hints(session.snapshot(path), path, 1, 99)}
    assert found["flat"] == "(batch, height*width, 2)"
    assert found["one_more"] == "(height + 1, width - 1)"
    assert found["divided"] == "(height//2, 2)"
    # a variable that is set twice names no size
    every = inlay_hints(session.snapshot(path), path, 1, 99, unknown_sizes=True)
    assert {hint.name: hint.label for hint in every}["unnamed"] == "(?, 2)"


def hints_of(folder: Path, text: str) -> list[tuple[str, str]]:
    path = shown(folder, "m.py")
    hints = inlay_hints(project(folder, {"m.py": f"import tensorflow as tf\n{text}"}).snapshot(path), path, 1, 99)
    return [(hint.name, hint.label) for hint in hints]


LAYER = """
class Rates(tf.keras.layers.Layer):
    def __init__(self, rate, width):
        super().__init__()
        self.early = tf.zeros((self.rate, 1))
        self.rate = rate
        self.alpha = tf.zeros((self.rate, 2))
        self.width = width
        if rate:
            self.width = 3
        self.beta = tf.zeros((self.width, 2))

    def build(self, input_shape):
        sizes_shape = list(input_shape)
        sizes_shape[-1] = 2 * sizes_shape[-1]
        self.kernel = self.add_weight(shape=(input_shape[-1], 2))
        self.other = self.add_weight(shape=(sizes_shape[-1], 2))

    def call(self, x, y, rate):
        height, width = x.shape[1:3]
        rows, columns = y.get_shape().as_list()
        a = tf.zeros((height, width))
        b = tf.ones((rows, columns))
        c = tf.ones((rate, self.rate))
        return a
"""


def test_attributes_elements_of_shapes_and_slices_name_sizes(tmp_path: Path) -> None:
    found = hints_of(tmp_path, LAYER)
    assert ("alpha", "float32 (rate, 2)") in found
    assert ("kernel", "variable float32 (input_shape[-1], 2)") in found
    assert ("a", "float32 (height, width)") in found
    assert ("b", "float32 (rows, columns)") in found
    # the parameter is another number than the attribute
    assert ("c", "float32 (rate, self.rate)") in found
    # read before it is set, set on one way only, and changed between two reads
    assert not {"early", "beta", "other"} & {name for name, _ in found}


def test_a_dataset_whose_shapes_are_too_long_has_its_element_types(tmp_path: Path) -> None:
    text = """
short = tf.data.Dataset.from_tensor_slices((tf.zeros([9, 3]), tf.zeros([9])))
long = tf.data.Dataset.from_tensor_slices((tf.zeros([100, 224, 224, 3]), tf.zeros([100, 10], tf.int32)))
def show(dataset):
    return dataset
show(long)
"""
    found = dict(hints_of(tmp_path, text))
    assert found["short"] == "dataset of (float32 (3,), float32 ())"
    assert found["long"] == found["dataset"] == "dataset of (float32, int32)"


ECHOES = """
def echo(x: tf.Tensor, width):
    written = tf.reshape(x, (-1, 4, 1))
    moved = tf.transpose(written, [1, 0, 2])
    most = tf.expand_dims(moved, 0)
    ones = tf.reduce_sum(written, axis=1)
    whole = tf.reshape(x, (width, 3 * width))
    return whole
"""


def test_hints_of_unknown_sizes_are_news(tmp_path: Path) -> None:
    found = dict(hints_of(tmp_path, ECHOES))
    assert "written" not in found  # all that is known stands in the line
    assert found["moved"] == "(4, ?, 1)"
    assert found["most"] == "(1, 4, ?, 1)"
    assert "ones" not in found  # a 1 alone tells nothing
    assert found["whole"] == "(width, 3*width)"


def test_names_that_are_too_long_are_left_out(tmp_path: Path) -> None:
    text = """
def long(x: tf.Tensor, a_long_name_of_a_size, another_long):
    both = tf.cast(tf.reshape(x, (a_long_name_of_a_size, another_long)), tf.float32)
    known = tf.cast(tf.reshape(x, (a_long_name_of_a_size, another_long, 3, 4)), tf.float32)
    next_one = known * 2.0
    later = both * 2.0
    return both
"""
    found = dict(hints_of(tmp_path, text))
    assert "both" not in found  # without the element type it would say what stands beside it
    assert found["later"] == "(a_long_name_of_a_size, another_long)"
    assert found["next_one"] == "float32 (?, ?, 3, 4)"


def test_a_name_is_shown_instead_of_several_numbers(tmp_path: Path) -> None:
    text = """
def double(values):
    width = values.shape[1]
    twice = tf.concat([values, values], axis=1)
    again = tf.zeros((4, width)) + 1.0
    return twice + again[0, 0]

double(tf.ones([4, 8]))
double(tf.ones([4, 16]))
"""
    found = dict(hints_of(tmp_path, text))
    assert found["values"] == "float32 (4, width)"
    assert found["again"] == "float32 (4, 8|16)"  # the name stands beside it
