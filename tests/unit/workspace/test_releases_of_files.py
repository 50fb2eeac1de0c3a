"""Errors in the release that a project asks for, and in cells that are known to have run."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from terra_refactor.config import Config
from terra_refactor.report.schema import build_report
from terra_refactor.rules.rule import Severity
from terra_refactor.workspace.results import WorkspaceReport
from terra_refactor.workspace.workspace import Options, analyze

ARITHMETIC = "import tensorflow as tf\ny = tf.ones([2, 3]) @ tf.ones([4, 5])\n"
LOSS = """\
import tensorflow as tf
y = tf.keras.losses.sparse_categorical_crossentropy(tf.ones([3]), tf.ones([4, 5]))
"""
GRAPH = """\
import tensorflow as tf


@tf.function
def step(x):
    return [row for row in x]


step(tf.ones([2]))
"""
MODEL = """\
import tensorflow as tf

inputs = tf.keras.Input([4])
model = tf.keras.Model(inputs, tf.keras.layers.ReLU()(inputs))
model(tf.ones([2, 3]))
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(path: str = ".", **settings: Any) -> WorkspaceReport:
    return analyze([path], Options(Config(jobs=1, **settings), use_cache=False))


def severities(report: WorkspaceReport) -> list[Severity]:
    shown = {Severity.ERROR, Severity.WARNING}
    return [finding.severity for finding in report.findings if finding.severity in shown and finding.rule != "TR501"]


@pytest.mark.parametrize(
    ("text", "requirement", "found"),
    [
        (ARITHMETIC, "", [Severity.ERROR]),
        (ARITHMETIC, "tensorflow==1.15", [Severity.ERROR]),
        (ARITHMETIC, "tensorflow==2.3", [Severity.ERROR]),
        (LOSS, "", [Severity.WARNING]),
        (LOSS, "tensorflow==2.3", []),
        (LOSS, "tensorflow==2.18", [Severity.ERROR]),
        (LOSS, "tensorflow>=2.3", [Severity.WARNING]),
        (LOSS, "tensorflow==2.3\ntensorflow-gpu==2.18", [Severity.WARNING]),
        (LOSS, "tensorflow==2.3; python_version < '3.9'", [Severity.WARNING]),
        (MODEL, "", [Severity.ERROR]),
        (MODEL, "tensorflow==2.2", []),
        (MODEL, "tensorflow==2.4.1", [Severity.ERROR]),
        (GRAPH, "tensorflow==2.0", [Severity.ERROR]),
        (GRAPH, "tensorflow==1.14", [Severity.WARNING]),
    ],
)
def test_what_is_asked_for_decides(folder: Path, text: str, requirement: str, found: list[Severity]) -> None:
    (folder / "requirements.txt").write_text(requirement)
    (folder / "train.py").write_text(text)
    assert severities(run()) == found


def test_the_nearest_folder_counts_library_by_library(folder: Path) -> None:
    (folder / "requirements.txt").write_text("tensorflow==2.18\nnumpy==1.26\n")
    (folder / "old" / "deep").mkdir(parents=True)
    (folder / "old" / "setup.py").write_text("setup(install_requires=['tensorflow==2.3'])")
    (folder / "old" / "deep" / "train.py").write_text(LOSS)
    (folder / "train.py").write_text(LOSS)
    report = run()
    assert {finding.path for finding in report.findings} == {"train.py"}
    asked = {(each.library, each.requirement, each.path, each.line, each.files) for each in report.releases}
    assert asked == {
        ("tensorflow", "==2.3", "old/setup.py", 1, 2),
        ("tensorflow", "==2.18", "requirements.txt", 1, 1),
        ("numpy", "==1.26", "requirements.txt", 2, 3),
    }


def test_the_configuration_wins(folder: Path) -> None:
    (folder / "requirements.txt").write_text("tensorflow==2.3")
    (folder / "train.py").write_text(LOSS)
    report = run(tf_version="2.18")
    assert severities(report) == [Severity.ERROR]
    assert [(each.requirement, each.path) for each in report.releases] == [("==2.18.*", "")]


def test_nothing_is_read_outside_of_what_is_given(folder: Path) -> None:
    (folder / "requirements.txt").write_text("tensorflow==2.3")
    (folder / "inner").mkdir()
    (folder / "inner" / "train.py").write_text(LOSS)
    assert severities(run("inner")) == [Severity.WARNING]
    assert severities(run("inner/train.py")) == [Severity.WARNING]


def test_links_and_pipes_are_not_read(folder: Path) -> None:
    outside = folder / "elsewhere.txt"
    outside.write_text("tensorflow==2.3")
    inner = folder / "inner"
    inner.mkdir()
    (inner / "train.py").write_text(LOSS)
    (inner / "requirements.txt").symlink_to(outside)
    os.mkfifo(inner / "requirements-dev.txt")
    assert severities(run("inner")) == [Severity.WARNING]


def test_an_exact_release_decides_tests_of_the_version(folder: Path) -> None:
    text = ARITHMETIC.replace("y = ", "if tf.__version__.startswith('1.'):\n    y = ")
    (folder / "train.py").write_text(text)
    (folder / "requirements.txt").write_text("tensorflow==2.3.1")
    assert severities(run()) == []
    (folder / "requirements.txt").write_text("tensorflow==1.15")
    assert severities(run()) == [Severity.ERROR]


def test_the_report_says_what_is_assumed(folder: Path) -> None:
    (folder / "train.py").write_text(ARITHMETIC)
    entries = build_report(run()).releases
    assert entries is not None
    assert [(each.library, each.requirement, each.path, each.files) for each in entries] == [
        ("tensorflow", "2.21", None, 1)
    ]


# --- notebooks -----------------------------------------------------------------------------------------------------------------------


def cell(source: str, number: int | None = None, *outputs: dict[str, Any]) -> dict[str, Any]:
    return {
        "cell_type": "code",
        "metadata": {},
        "source": source,
        "execution_count": number,
        "outputs": list(outputs),
    }


TEXT = {"output_type": "stream", "name": "stdout", "text": ["1\n"]}
FAILED = {"output_type": "error", "ename": "ValueError", "evalue": "", "traceback": []}


def write_notebook(folder: Path, *cells: dict[str, Any]) -> None:
    document = {"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": list(cells)}
    (folder / "n.ipynb").write_text(json.dumps(document))


@pytest.mark.parametrize(
    ("cells", "found"),
    [
        ([cell(ARITHMETIC)], Severity.ERROR),
        ([cell(ARITHMETIC, 3)], Severity.WARNING),
        ([cell(ARITHMETIC, None, TEXT)], Severity.WARNING),
        ([cell(ARITHMETIC, 3, FAILED)], Severity.ERROR),
        ([cell("1 + 1", 1), cell(ARITHMETIC)], Severity.ERROR),
        # what a function does has run if all that may call it has
        ([cell(GRAPH.replace("step(tf.ones", "0 and (tf.ones"), 1), cell("step(tf.ones([2]))", 2)], Severity.WARNING),
        ([cell(GRAPH.replace("step(tf.ones", "0 and (tf.ones"), 1), cell("step(tf.ones([2]))")], Severity.ERROR),
        (
            [cell(GRAPH.replace("step(tf.ones", "0 and (tf.ones"), 1), cell("step(tf.ones([2]))", 2, FAILED)],
            Severity.ERROR,
        ),
    ],
)
def test_what_outputs_show_of_a_cell(folder: Path, cells: list[dict[str, Any]], found: Severity) -> None:
    write_notebook(folder, *cells)
    assert severities(run()) == [found]


def test_what_a_graph_does_silently_is_not_refuted_by_an_output(folder: Path) -> None:
    text = (
        "import random\nimport tensorflow as tf\n\n\n@tf.function\ndef step(x):\n    return x * random.random()\n\n\n"
    )
    write_notebook(folder, cell(text + "for _ in range(3):\n    print(step(tf.ones([2])))\n", 1, TEXT))
    assert severities(run()) == [Severity.ERROR]


def test_a_cell_that_installs_a_release_counts_before_the_folder(folder: Path) -> None:
    (folder / "requirements.txt").write_text("tensorflow==2.18")
    write_notebook(folder, cell("!pip install tensorflow==2.3"), cell(LOSS))
    assert severities(run()) == []
    write_notebook(folder, cell("%tensorflow_version 1.x"), cell(MODEL))
    assert severities(run()) == []


# --- names -----------------------------------------------------------------------------------------------------------------------------


def test_names_of_tensorflow_1_say_for_which_release_a_program_is(folder: Path) -> None:
    chosen = "import tensorflow as tf\ny = tf.where(tf.ones([3]) > 0, tf.ones([3, 2]), tf.ones([3, 2]))\n"
    (folder / "train.py").write_text(chosen)
    assert severities(run()) == [Severity.ERROR]
    (folder / "train.py").write_text(chosen + "with tf.Session() as session:\n    session.run(y)\n")
    assert severities(run()) == []


def test_names_of_an_older_keras_do_so_too(folder: Path) -> None:
    text = """\
from keras import backend as K
from keras.layers import Dense, Input
from keras.models import Model

x = Input([3])
y = Dense(2)(x)


def loss(y_true, y_pred):
    return K.mean(K.square(y)) + 0 * y_pred


model = Model(x, y)
model.compile("sgd", loss)
model.fit(K.ones([2, 3]), K.ones([2, 2]))
"""
    (folder / "train.py").write_text(text)
    assert [finding.severity for finding in run().findings if finding.rule == "TR311"] == [Severity.WARNING]
    (folder / "train.py").write_text(text.replace("from keras", "from tensorflow.keras"))
    assert [finding.severity for finding in run().findings if finding.rule == "TR311"] == [Severity.ERROR]


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("", Severity.ERROR),
        ("tf.keras.optimizers.Adam(learning_rate=0.1)", Severity.ERROR),
        ("tf.keras.optimizers.Adam(lr=0.1)", Severity.WARNING),
        ("model.fit_generator(None)", Severity.WARNING),
        ("tf.keras.layers.Embedding(3, output_dim=2)", Severity.ERROR),
        ("tf.keras.layers.Conv2D(3, 2, border_mode='same')", Severity.WARNING),
    ],
)
def test_so_do_parameters_and_methods(folder: Path, line: str, found: Severity) -> None:
    # models compare their inputs since TensorFlow 2.4
    (folder / "train.py").write_text(f"{MODEL}{line}\n")
    assert severities(run()) == [found]


def test_older_releases_of_keras_do_the_same_arithmetic(folder: Path) -> None:
    (folder / "train.py").write_text(f"{ARITHMETIC}tf.keras.optimizers.Adam(lr=0.1)\n")
    assert severities(run()) == [Severity.ERROR]
    (folder / "train.py").write_text(f"{GRAPH}tf.keras.optimizers.Adam(lr=0.1)\n")
    assert severities(run()) == [Severity.ERROR]


def test_a_module_that_ends_before_proves_nothing(folder: Path) -> None:
    (folder / "train.py").write_text(ARITHMETIC.replace("y = ", "print(inputs)\ny = "))
    report = run()
    assert severities(report) == [Severity.WARNING]
    assert "`inputs`" in report.findings[0].message
    (folder / "train.py").write_text(ARITHMETIC.replace("y = ", "try:\n    inputs\nexcept NameError:\n    pass\ny = "))
    assert severities(run()) == [Severity.ERROR]


def test_a_call_that_is_refused_gives_nothing_that_is_known(folder: Path) -> None:
    (folder / "train.py").write_text("import numpy as np\nfor row in np.zeros(2, 2, dtype=int):\n    print(row[0])\n")
    assert severities(run()) == []


@pytest.mark.parametrize(("step", "found"), [("optimizer.iterations", Severity.WARNING), ("now", Severity.ERROR)])
def test_a_default_that_is_set_to_the_same_variable_again(folder: Path, step: str, found: Severity) -> None:
    text = f"""\
import tensorflow as tf

optimizer = tf.keras.optimizers.Adam()


@tf.function
def train(x, now):
    tf.summary.experimental.set_step({step})
    return x


for now in range(3):
    train(tf.ones([2]), now)
"""
    (folder / "train.py").write_text(text)
    assert [finding.severity for finding in run().findings if finding.rule == "TR103"] == [found]


def test_a_definition_that_has_run_does_not_show_that_its_function_has(folder: Path) -> None:
    text = "import tensorflow as tf\n\n\ndef product():\n    return tf.ones([2, 3]) @ tf.ones([4, 5])\n"
    write_notebook(folder, cell(text, 1), cell("product()"))
    assert severities(run()) == [Severity.ERROR]
    write_notebook(folder, cell(text, 1), cell("product()", 2))
    assert severities(run()) == [Severity.WARNING]


@pytest.mark.parametrize(
    ("mode", "found"),
    [("", Severity.WARNING), (", 'rb'", Severity.WARNING), (", 'a'", Severity.ERROR), (", mode='w'", Severity.ERROR)],
)
def test_a_file_that_is_only_read_is_there_in_each_call(folder: Path, mode: str, found: Severity) -> None:
    text = f"""\
import tensorflow as tf


@tf.function
def step(x):
    handle = open("settings"{mode})
    return x * 2.0


for _ in range(3):
    step(tf.ones([2]))
"""
    (folder / "train.py").write_text(text)
    assert {finding.severity for finding in run().findings if finding.rule == "TR103"} == {found}


def test_items_of_a_list_are_indices_one_for_each_axis(folder: Path) -> None:
    text = """\
import tensorflow as tf

x = tf.zeros([3, 4])
places = [slice(None), slice(None)]
axis = int(input())
places[axis] = slice(1, None)
y = x[places]
z = x[[0, 1]]
u = x[[0, 1, 2]]
v = x[:, [0, 1]]
"""
    (folder / "train.py").write_text(text)
    assert [finding.span.line for finding in run().findings if finding.severity is Severity.ERROR] == [9, 10]


@pytest.mark.parametrize(
    ("decorator", "found"), [("", Severity.WARNING), ("@tf.function", Severity.ERROR)], ids=["eager", "graph"]
)
def test_what_a_tensor_decides_runs_or_does_not_but_in_a_graph(folder: Path, decorator: str, found: Severity) -> None:
    text = f"""\
import tensorflow as tf


{decorator}
def first(q):
    if tf.equal(tf.rank(q), 0):
        return tf.reshape(q, [1])
    else:
        return tf.slice(tf.shape(q), begin=(0,), size=(1,))


first(tf.constant(1))
"""
    (folder / "train.py").write_text(text)
    assert [finding.severity for finding in run().findings if finding.rule == "TR401"] == [found]


@pytest.mark.parametrize(("requirement", "action"), [("", "add_tf_function"), ("tensorflow==1.15", "none")])
def test_a_program_for_tensorflow_1_gets_no_decorators(folder: Path, requirement: str, action: str) -> None:
    steps = "".join(f"    x = tf.tanh(x) * {number}.0 + x\n" for number in range(20))
    text = f"import tensorflow as tf\n\n\ndef step(x):\n{steps}    return x\n\n\nfor _ in range(100):\n    step(tf.ones([2]))\n"
    (folder / "requirements.txt").write_text(requirement)
    (folder / "train.py").write_text(text)
    assert [decision.action.value for decision in run().decisions] == [action]


@pytest.mark.parametrize(
    ("before", "action"),
    [("", "add_tf_function"), ("tf.enable_eager_execution()\n", "none"), ("session = tf.Session()\n", "none")],
)
def test_a_program_of_eager_tapes_is_not_for_tensorflow_1_whatever_is_required(
    folder: Path, before: str, action: str
) -> None:
    """Graphs of TensorFlow 1 compute nothing without a session, and eager execution is off there."""
    text = f"""\
import tensorflow as tf

{before}net = tf.keras.Sequential([tf.keras.layers.Dense(8, input_shape=(4,)), tf.keras.layers.Dense(2)])
optimizer = tf.keras.optimizers.Adam()


def step(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(net(x) ** 2)
    gradients = tape.gradient(loss, net.trainable_variables)
    optimizer.apply_gradients(zip(gradients, net.trainable_variables))


for _ in range(1000):
    step(tf.ones([2, 4]))
"""
    (folder / "requirements.txt").write_text("tensorflow-gpu==1.12.0")
    (folder / "train.py").write_text(text)
    assert [decision.action.value for decision in run().decisions if decision.qualname == "step"] == [action]
