"""Programs of TensorFlow 1 build graphs already: nothing is decorated. A name of `tf.compat.v1` makes no such program."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from textwrap import dedent

import pytest

from terra_refactor.classify.decision import Action, Decision
from terra_refactor.config import Config
from terra_refactor.tf_model import registry
from terra_refactor.workspace.workspace import Options, analyze

PENALTY = """
import tensorflow as tf

def penalty(x):
    for _ in range(30):
        x = tf.nn.relu(x + 1.0)
    return tf.reduce_sum(x)
"""


def decided(folder: Path, files: Mapping[str, str]) -> dict[str, Decision]:
    for name, text in files.items():
        (folder / name).write_text(dedent(text))
    report = analyze([str(folder)], Options(Config(jobs=1, min_ops=0), use_cache=False))
    assert not report.errors
    return {decision.qualname: decision for decision in report.decisions}


def is_left(decision: Decision) -> bool:
    return decision.action is Action.NONE and "TensorFlow 1" in decision.reason


OLD = {
    "placeholder": "x = tf.placeholder(tf.float32, [None, 3])\n",
    "session": "with tf.Session() as session:\n    print(session.run(penalty(tf.ones([3]))))\n",
    "contrib": "y = tf.contrib.layers.fully_connected(tf.ones([2, 3]), 4)\n",
    "from contrib": "from tensorflow.contrib import slim\n",
    "contrib module": "import tensorflow.contrib.slim as slim\n",
    "optimizer": "optimizer = tf.train.AdamOptimizer(0.1)\n",
    "turned off": "tf.compat.v1.disable_eager_execution()\n",
    "behaviour": "tf.compat.v1.disable_v2_behavior()\n",
    "turned off by another name": "import tensorflow.compat.v1 as tf1\ntf1.disable_v2_behavior()\n",
    "name of TensorFlow 0": "z = tf.mul(tf.ones([3]), 2.0)\n",
    "in main": 'def main(_):\n    tf.get_variable("w", [3])\n\nif __name__ == "__main__":\n    tf.app.run(main)\n',
}
NEW = {
    "nothing": "",
    "compat": "w = tf.compat.v1.where(tf.ones([3]) > 0)\n",
    "session of compat": "with tf.Graph().as_default():\n    with tf.compat.v1.Session() as s:\n        print(s)\n",
    "module of compat": "import tensorflow.compat.v1 as tf1\nw = tf1.get_variable('w', [3])\n",
    "asked for": "if tf.__version__ < '2':\n    x = tf.placeholder(tf.float32)\n",
    "tried": "try:\n    Session = tf.Session\nexcept AttributeError:\n    Session = tf.compat.v1.Session\n",
    "leftover": "x = tf.Variable(1.0)\nwith tf.GradientTape() as tape:\n    y = tf.log(x)\nprint(y)\n",
    "turned on": "tf.enable_eager_execution()\ny = tf.log(tf.ones([3]))\n",
    "eager": "print(penalty(tf.ones([3])).numpy(), tf.random_uniform([3]))\n",
}


@pytest.mark.parametrize("more", OLD.values(), ids=OLD)
def test_of_tensorflow_1(more: str, tmp_path: Path) -> None:
    assert is_left(decided(tmp_path, {"a.py": PENALTY + more})["penalty"])


@pytest.mark.parametrize("more", NEW.values(), ids=NEW)
def test_of_tensorflow_2(more: str, tmp_path: Path) -> None:
    found = decided(tmp_path, {"a.py": PENALTY + more})["penalty"]
    assert found.action is Action.ADD_TF_FUNCTION


TRAIN = "import {module}\nimport tensorflow as tf\nsession = tf.Session()\nprint(session.run({module}.penalty(tf.ones([3]))))\n"
USE = "import losses\nimport tensorflow as tf\nfor _ in range(1000):\n    losses.penalty(tf.ones([3]))\n"


def test_what_such_a_program_imports_is_a_part_of_it(tmp_path: Path) -> None:
    found = decided(tmp_path, {"losses.py": PENALTY, "train.py": TRAIN.format(module="losses")})
    assert is_left(found["penalty"])


def test_what_another_program_imports_too_is_not(tmp_path: Path) -> None:
    found = decided(tmp_path, {"losses.py": PENALTY, "train.py": TRAIN.format(module="losses"), "use.py": USE})
    assert found["penalty"].action is Action.ADD_TF_FUNCTION


def test_a_module_of_old_code_does_not_decide_about_eager_ones(tmp_path: Path) -> None:
    eager = "import legacy\nimport tensorflow as tf\n" + PENALTY + "\ndef show(x):\n    print(penalty(x).numpy())\n"
    legacy = PENALTY.replace("penalty", "old_penalty") + "\ndef read():\n    return tf.placeholder(tf.float32)\n"
    found = decided(tmp_path, {"modern.py": eager, "legacy.py": legacy})
    assert found["penalty"].action is Action.ADD_TF_FUNCTION
    assert is_left(found["old_penalty"])


def test_a_test_that_turns_eager_execution_off_says_nothing_of_what_it_tests(tmp_path: Path) -> None:
    off = "import losses\nimport tensorflow as tf\ntf.compat.v1.disable_eager_execution()\n"
    test = "\ndef test_it():\n    losses.penalty(tf.ones([3]))\n"
    found = decided(tmp_path, {"losses.py": PENALTY, "test_losses.py": off + test})
    assert found["penalty"].action is Action.ADD_TF_FUNCTION


@pytest.mark.parametrize(
    ("module", "name", "former"),
    [
        ("tensorflow", "placeholder", True),
        ("tensorflow", "contrib", True),
        ("tensorflow.train", "AdamOptimizer", True),
        ("tensorflow.train", "Checkpoint", False),
        ("tensorflow", "reduce_sum", False),
        ("tensorflow.compat.v1", "placeholder", False),
        ("tensorflow", "keras", False),
        ("tensorflow", "no_such_name", False),
        ("numpy", "float", False),
    ],
)
def test_names_that_only_tensorflow_1_has(module: str, name: str, former: bool) -> None:
    assert registry.is_former(module, name) is former
