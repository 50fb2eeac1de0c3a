"""Hover says where the sizes of a tensor come from: through names, callers and operations, and never from an equal number alone."""

from __future__ import annotations

from pathlib import Path

import pytest
from ide_support import MARK, project, shown

from terra_refactor.ide.hover import hover
from terra_refactor.ide.snapshot import Snapshot

TEXT = """\
import tensorflow as tf

class Net(tf.keras.Model):
    def __init__(self, units):
        super().__init__()
        self.hidden = tf.keras.layers.Dense(units)
        self.again = tf.keras.layers.Dense(64)

    def call(self, x):
        h = self.hidden(x)
        k = self.again(h)
        both = tf.concat([h, k], axis=-1)
        total = h + k
        return both

def feed(images, flag):
    flat = tf.reshape(images, (images.shape[0], -1))
    for _ in range(3):
        flat = flat * 2.0
    if flag:
        picked = tf.zeros([5, 6])
    else:
        picked = tf.ones([5, 6])
    chosen = tf.abs(picked)
    return net(flat)

def square(rows, columns):
    product = tf.matmul(rows, columns)
    return product

net = Net(64)
weights = tf.zeros([10, 10])
out = feed(tf.zeros([32, 28, 14]), True)
product = tf.matmul(tf.ones([7, 10]), weights)
turned = tf.transpose(product)
square(tf.ones([7, 7]), columns=tf.zeros([7, 7]))
one = tf.zeros([1, 9])
"""


@pytest.fixture(scope="module")
def analysed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Snapshot, str]:
    folder = tmp_path_factory.mktemp("origins")
    path = shown(folder, "m.py")
    return project(folder, {"m.py": TEXT}).snapshot(path), path


def line_of(text: str) -> int:
    """The number of the only line that contains a text."""
    (number,) = [number for number, line in enumerate(TEXT.splitlines(), 1) if text in line]
    return number


def origins(analysed: tuple[Snapshot, str], marked: str) -> list[str]:
    """The origins that the hover at the mark lists."""
    plain = marked.replace(MARK, "")
    assert TEXT.count(plain) == 1
    offset = TEXT.index(plain) + marked.index(MARK)
    line, column = TEXT.count("\n", 0, offset) + 1, offset - TEXT.rfind("\n", 0, offset)
    answer = hover(*analysed, line, column)
    assert answer is not None
    return [part.removeprefix("- ") for part in answer.text.splitlines() if part.startswith("- ")]


LOOP = f"- 32: `flat` (line {line_of('return net(flat)')}), through `x`".removeprefix("- ")


@pytest.mark.parametrize(
    ("marked", "expected"),
    [
        # the width of a layer is not the equal width of its input
        (
            "‸k = self.again",
            [
                LOOP,
                f"64: `self.again(h)` (line {line_of('k = self.again')}) of `(32, 64)`, "
                f"by `tf.keras.layers.Dense(64)` (line {line_of('Dense(64)')})",
            ],
        ),
        (
            "‸both = tf",
            [LOOP, f"128: `tf.concat([h, k], axis=-1)` (line {line_of('both = tf')}) of `(32, 64)`"],
        ),
        (
            "‸total = h",
            [
                LOOP,
                f"64: `self.hidden(x)` (line {line_of('h = self.hidden')}) of `(32, 392)`, "
                f"by `tf.keras.layers.Dense(units)` (line {line_of('Dense(units)')})",
            ],
        ),
        # a parameter: what the call passes
        (
            "def feed(‸images",
            [f"32, 28, 14: `tf.zeros([32, 28, 14])` (line {line_of('out = feed')}), through `images`"],
        ),
        (
            "return ‸product",
            [
                f"7: `tf.ones([7, 7])` (line {line_of('square(tf.ones')}), through `rows`",
                f"7: `tf.zeros([7, 7])` (line {line_of('square(tf.ones')}), through `columns`",
            ],
        ),
        # either branch may have made it
        ("‸chosen = tf", []),
        # the ten of the product are the columns of the weights, not its own rows; the line itself shows the seven
        ("‸product = tf.matmul(tf", [f"10: `tf.zeros([10, 10])` (line {line_of('weights = tf')})"]),
        (
            "‸turned = tf",
            [
                f"10: `tf.zeros([10, 10])` (line {line_of('weights = tf')})",
                f"7: `tf.ones([7, 10])` (line {line_of('product = tf.matmul(tf')})",
            ],
        ),
        ("‸one = tf", []),
    ],
)
def test_where_sizes_come_from(analysed: tuple[Snapshot, str], marked: str, expected: list[str]) -> None:
    assert origins(analysed, marked) == expected


def test_an_origin_in_another_file_has_its_name_and_a_link(tmp_path: Path) -> None:
    files = {
        "shared.py": "import tensorflow as tf\n\ndef scaled(values):\n    return values * 2.0\n",
        "use.py": "import tensorflow as tf\nfrom shared import scaled\n\nscaled(tf.ones([3, 5]))\n",
    }
    session = project(tmp_path, files)
    path, other = shown(tmp_path, "shared.py"), shown(tmp_path, "use.py")

    def link(file: str, line: int, words: str) -> str:
        return f"[{words}]({file}#L{line})"

    answer = hover(session.snapshot(path), path, 3, 12, place_link=link)
    assert answer is not None
    assert answer.text.endswith(f"- 3, 5: `tf.ones([3, 5])` ([{other}, line 4]({other}#L4)), through `values`")
