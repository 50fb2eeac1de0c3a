"""The project of the conversations with a server: a function with a loop, its callers, and one that calls a package
that is not installed.
"""

from __future__ import annotations

SHAPES = """\
import tensorflow as tf

def scale(x, w):
    y = tf.matmul(x, w)
    for _ in range(20):
        y = tf.nn.relu(y + 1.0)
    return y
"""
MAIN = """\
import tensorflow as tf
from shapes import scale

result = scale(tf.ones([2, 3]), tf.ones([3, 4]))

for _ in range(1000):
    scale(tf.zeros([2, 3]), tf.zeros([3, 4]))
"""
LOOP = """\
for _ in range(1000):
    result = scale(tf.ones([2, 3]), tf.ones([3, 4]))
"""
SPECULATIVE = """\
import tensorflow as tf
import mystery

def train_step(images):
    y = images
    for _ in range(20):
        y = tf.nn.relu(y * 2.0) + 1.0
    return mystery.scale(y)
"""
FILES = {"shapes.py": SHAPES, "main.py": MAIN, "guess.py": SPECULATIVE}


def wrong(text: str) -> str:
    """The text with incompatible shapes."""
    return text.replace("[3, 4]", "[5, 4]")
