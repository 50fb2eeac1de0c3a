"""Hot code that is no function of its own: what becomes one, what stays, and the text after."""

from __future__ import annotations

import json
import re
import textwrap
from pathlib import Path

import pytest

from terra_refactor.cli.output import to_string
from terra_refactor.config import Config
from terra_refactor.refactor.apply import write_file
from terra_refactor.report.schema import build_report
from terra_refactor.report.to_html import to_html
from terra_refactor.report.to_json import to_json
from terra_refactor.report.to_markdown import to_markdown
from terra_refactor.report.to_text import print_analysis
from terra_refactor.rules.registry import all_rules
from terra_refactor.workspace.results import FixReport, WorkspaceReport
from terra_refactor.workspace.workspace import Options, analyze, fix

HEAD = """\
import time

import tensorflow as tf

w = tf.Variable(tf.ones([8, 8]))
data = tf.data.Dataset.from_tensor_slices((tf.ones([64, 8]), tf.ones([64, 8]))).batch(8)
"""
STEP = """\
with tf.GradientTape() as tape:
    h = x
    for _ in range(4):
        h = tf.tanh(h @ w)
    loss = tf.reduce_mean((h - y) ** 2)
grad = tape.gradient(loss, w)
w.assign_sub(0.1 * grad)
"""


def indented(text: str, by: int) -> str:
    return textwrap.indent(text, " " * by)


def in_loop(before: str = "", behind: str = "", *, inside: str = STEP, after: str = "") -> str:
    body = indented(before + inside + behind, 8)
    return f"{HEAD}\nfor epoch in range(20):\n    for x, y in data:\n{body}{after}"


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def options(level: str = "safe", **settings: object) -> Options:
    return Options(config=Config(level=level, jobs=1, **settings), use_cache=False)  # type: ignore[arg-type]


def analyzed(text: str) -> WorkspaceReport:
    Path("m.py").write_text(text, encoding="utf-8")
    return analyze(["m.py"], options())


def fixed(text: str, level: str = "safe", **settings: object) -> FixReport:
    Path("m.py").write_text(text, encoding="utf-8", newline="")
    return fix(["m.py"], options(level, **settings))


def new_text(text: str, level: str = "safe") -> str:
    report = fixed(text, level)
    return report.files[0].new_text if report.files else text


def test_people_see_it_in_every_report() -> None:
    report = analyzed(in_loop())
    text = to_string(lambda console: print_analysis(console, report))
    assert text.startswith("To do\n") and "m.py:10" in text and "extract tf.function: train_step(): " in text
    assert "### Proposed (1)" in to_markdown(build_report(report)) and "extract `tf.function`" in to_markdown(
        build_report(report)
    )
    assert '"action":"extract_tf_function"' in to_html(report)


def test_samples_of_the_rule() -> None:
    samples = all_rules()["TR507"].samples
    found = [finding for finding in analyzed(samples.bad).findings if finding.rule == "TR507"]
    marked = [number for number, line in enumerate(samples.bad.splitlines(), 1) if "# TR507" in line]
    assert [finding.span.line for finding in found] == marked
    for fine in (samples.good, samples.near_miss):
        assert [finding for finding in analyzed(fine).findings if finding.rule == "TR507"] == []
    # `good` is what becomes of it
    assert new_text(samples.bad).replace("  # TR507", "") == samples.good


def test_the_step_of_a_loop_becomes_a_function_before_the_loop() -> None:
    text = in_loop("# the step\n", "if epoch % 5 == 0:\n    print(epoch, loss.numpy())\n")
    function = "@tf.function\ndef train_step(x, y):\n    # the step\n" + indented(STEP, 4) + "    return loss\n\n\n"
    assert new_text(text) == (
        f"{HEAD}\n\n{function}for epoch in range(20):\n    for x, y in data:\n        loss = train_step(x, y)\n"
        "        if epoch % 5 == 0:\n            print(epoch, loss.numpy())\n"
    )


def test_host_code_between_tensor_work_moves_behind_where_it_only_shows_numbers() -> None:
    middle = STEP.replace("grad =", "# shown\nprint(epoch, loss.numpy())\ngrad =")
    text = new_text(in_loop(inside=middle))
    call = "        loss = train_step(x, y)\n        # shown\n        print(epoch, loss.numpy())\n"
    assert text.endswith(call)
    assert "def train_step(x, y):\n" + indented(STEP, 4) in text


@pytest.mark.parametrize(
    "host",
    [
        "print(w.numpy())",  # which the update changes
        "print(w)",
        "print('loss', loss.numpy(), data)",
        "print(time.time())",
        "shown = loss.numpy()",
        "last = last + epoch",
    ],
)
def test_host_code_that_could_tell_the_difference_does_not_move(host: str) -> None:
    middle = STEP.replace("grad =", f"{host}\ngrad =")
    text = in_loop(inside=middle, after="print(last)\n").replace("\nfor epoch", "\nlast = 0\nfor epoch")
    assert new_text(text, "speculative") == text


def test_values_that_are_carried_from_iteration_to_iteration_go_in_and_come_out() -> None:
    text = in_loop(behind="total = total + loss\n", after="print(total)\n")
    text = text.replace("\nfor epoch", "\ntotal = tf.constant(0.0)\nfor epoch")
    assert "def train_step(x, y, total):" in new_text(text)
    assert "        total = train_step(x, y, total)\n" in new_text(text)


def test_python_numbers_stay_outside() -> None:
    text = in_loop(behind="total += float(loss)\nsteps += 1\n", after="print(total, steps)\n")
    text = text.replace("\nfor epoch", "\ntotal = 0.0\nsteps = 0\nfor epoch")
    assert new_text(text).endswith(
        "        loss = train_step(x, y)\n        total += float(loss)\n        steps += 1\nprint(total, steps)\n"
    )


@pytest.mark.parametrize(
    "inside",
    [
        STEP.replace("    loss =", "    print(w)\n    loss ="),  # inside of the tape's block
        STEP.replace("    loss =", "    h = h * epoch\n    loss ="),  # a trace for each number
        STEP.replace("grad =", "history = tape.watched_variables()\ntime.sleep(0.0)\ngrad ="),
    ],
)
def test_what_cannot_be_a_graph_stays_and_says_why(inside: str) -> None:
    report = analyzed(in_loop(inside=inside))
    assert [found.decision.extract for found in report.regions] == [False]
    assert report.regions[0].decision.reason
    assert [finding for finding in report.findings if finding.rule == "TR507"] == []


def test_a_name_that_may_be_unbound_is_no_argument() -> None:
    inside = "if epoch:\n    scale = scale * 0.9\nelse:\n    scale = tf.constant(1.0)\n" + STEP
    report = analyzed(in_loop(inside=inside + "w.assign(w * scale)\n"))
    assert [found.decision.extract for found in report.regions] == [True]
    # `scale` is bound below its first use: what stays outside is what reads it first
    assert [each.name for each in report.regions[0].decision.inputs] == ["x", "y", "scale"]


MAIN = (
    "import tensorflow as tf\n\n\ndef main():\n    w = tf.Variable(tf.ones([8, 8]))\n    x = y = tf.ones([8, 8])\n"
    "    for step in range(1000):\n"
    + indented(STEP, 8)
    + "        if step % 100 == 0:\n            print(float(loss))\n"
)


def test_in_main_the_function_is_nested() -> None:
    text = new_text(MAIN + "\n\nif __name__ == '__main__':\n    main()\n")
    assert "    x = y = tf.ones([8, 8])\n\n    @tf.function\n    def train_step():\n" in text
    assert "        loss = train_step()\n" in text


def test_a_function_that_is_called_again_and_again_gets_one_outside() -> None:
    calls = "\n\nfor _ in range(50):\n    main()\n"
    text = new_text(MAIN.replace("range(1000)", "range(100)") + calls, "speculative")
    assert "\n\n@tf.function\ndef train_step(x, w, y):\n" in text
    assert "        loss = train_step(x, w, y)\n" in text


METHOD = (
    "import tensorflow as tf\n\n\nclass Trainer:\n    def __init__(self):\n        self.w = tf.Variable(tf.ones([8, 8]))\n\n"
    "    # trains\n    def fit(self, batches):\n        for x, y in batches:\n"
    + indented(STEP.replace(" w", " self.w").replace("w.assign", "self.w.assign"), 12)
    + "            print(float(loss))\n\n\n"
    "Trainer().fit(tf.data.Dataset.from_tensor_slices((tf.ones([640, 8]), tf.ones([640, 8]))).batch(8))\n"
)


def test_in_a_method_it_is_a_method() -> None:
    text = new_text(METHOD, "speculative")
    assert "\n\n    @tf.function\n    def train_step(self, x, y):\n" in text
    assert "\n        return loss\n\n    # trains\n    def fit(self, batches):\n" in text
    assert "            loss = self.train_step(x, y)\n            print(float(loss))\n" in text


def test_a_method_gets_no_name_that_a_base_class_may_have() -> None:
    text = METHOD.replace("class Trainer:", "class Trainer(tf.Module):")
    assert "def _train_step_on_batch(self, x, y):" in new_text(text, "speculative")


def test_a_name_that_the_file_has_is_not_taken() -> None:
    text = in_loop(after="train_step = 1\n")
    assert "def train_step_2(x, y):" in new_text(text)


def test_nothing_else_changes_byte_for_byte() -> None:
    text = in_loop("s = TEXT\n").replace("\n", "\r\n").replace("    ", "\t").replace("TEXT", "'''a\r\n  b'''")
    result = new_text(text)
    assert "\n" not in result.replace("\r\n", "")
    assert "def train_step(x, y):\r\n\twith tf.GradientTape() as tape:\r\n\t\th = x\r\n" in result
    assert "\t\ts = '''a\r\n  b'''\r\n\t\ttrain_step(x, y)\r\n" in result


def test_lines_inside_of_strings_keep_their_indentation() -> None:
    text = in_loop(inside=STEP.replace("(h - y)", "(h - y * len(TEXT))")).replace("TEXT", "'''\n          1'''")
    assert "        loss = tf.reduce_mean((h - y * len('''\n          1''')) ** 2)\n" in new_text(text)


def test_a_second_fix_changes_nothing() -> None:
    for level in ("safe", "speculative", "coexec"):
        report = fixed(in_loop(behind="print(loss.numpy())\n"), level)
        assert [change.action.value for change in report.files[0].changes] == ["extract_tf_function"]
        write_file(report.files[0])
        assert not any(file.changed for file in fix(["m.py"], options(level)).files)


def test_helpers_of_the_step_are_parts_of_its_graph() -> None:
    helper = "def forward(h):\n    for _ in range(20):\n        h = tf.tanh(h @ w)\n    return h\n\n"
    step = STEP.replace("h = tf.tanh(h @ w)", "h = forward(h)")
    report = fixed(in_loop(inside=step).replace("\nfor epoch", f"\n\n{helper}\nfor epoch"))
    assert report.files[0].new_text.count("@tf.function") == 1


def test_the_lines_of_other_changes_are_those_of_the_file() -> None:
    other = "\n\ndef other(h):\n    for _ in range(50):\n        h = tf.tanh(h @ w)\n    return h\n\n\n"
    text = in_loop(after=other + "for _ in range(500):\n    other(w)\n")
    line = text.splitlines().index("def other(h):") + 1
    changes = {change.qualname: change.line for change in fixed(text).files[0].changes}
    assert changes == {"train_step": text.splitlines().index(indented(STEP, 8).splitlines()[0]) + 1, "other": line}


def test_it_can_be_switched_off() -> None:
    assert not fixed(in_loop(), extract=False).files


def test_only_what_is_named_is_extracted() -> None:
    Path("m.py").write_text(in_loop(), encoding="utf-8")
    assert fix(["m.py"], options(), ["train_step"]).files[0].changed


def test_findings_bring_the_change_with_them() -> None:
    Path("m.py").write_text(in_loop(), encoding="utf-8")
    of_finding = fix(["m.py"], options(select=("TR507",)), of_findings=True).files[0].new_text
    assert of_finding == fix(["m.py"], options()).files[0].new_text


def test_the_report_lists_regions() -> None:
    report = json.loads(to_json(build_report(analyzed(in_loop(behind="print(float(loss))\n")))))
    assert report["summary"]["actions"] == {"extract_tf_function": 1}
    (region,) = report["regions"]
    assert (region["inside"], region["line"], region["end_line"]) == ("<module>", 10, 16)
    assert (region["classification"], region["action"], region["function_name"]) == (
        "safe",
        "extract_tf_function",
        "train_step",
    )
    assert [(each["name"], each["kind"]) for each in region["inputs"]] == [("x", "tensor"), ("y", "tensor")]
    assert [each["name"] for each in region["outputs"]] == ["loss"]
    assert "regions" not in json.loads(to_json(build_report(analyzed(HEAD))))


def test_a_notebook_keeps_its_cells() -> None:
    cells = [HEAD, "%time\n" + in_loop(behind="loss\n").removeprefix(HEAD + "\n"), "print(float(loss))"]
    document = {
        "cells": [
            {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": [], "source": cell}
            for cell in cells
        ],
        "metadata": {},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    Path("n.ipynb").write_text(json.dumps(document, indent=1))
    report = fix(["n.ipynb"], options("speculative"))
    write_file(report.files[0])
    after = [cell["source"] for cell in json.loads(Path("n.ipynb").read_text())["cells"]]
    assert (after[0], after[2]) == (cells[0], cells[2])
    assert after[1].startswith("%time\n")
    assert "@tf.function\ndef train_step(x, y):\n" in after[1]
    assert "        loss = train_step(x, y)\n        loss\n" in after[1]


FOLDS = """\
import tensorflow as tf

data = tf.data.Dataset.from_tensor_slices((tf.ones([64, 8]), tf.ones([64, 1]))).batch(8)
for fold in range(3):
    model = tf.keras.Sequential([tf.keras.layers.Dense(8, activation="relu"), tf.keras.layers.Dense(1)])
    optimizer = tf.keras.optimizers.Adam()
    for epoch in range(EPOCHS):
        for x, y in data:
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean((model(x) - y) ** 2)
            grads = tape.gradient(loss, model.trainable_variables)
            optimizer.apply_gradients(zip(grads, model.trainable_variables))
    print(fold, float(loss))
"""


def test_models_that_a_loop_makes_get_a_function_each() -> None:
    # an optimizer that makes its variables in the second trace of one function is an error
    text = new_text(FOLDS.replace("EPOCHS", "100"), "speculative")
    assert "Adam()\n\n    @tf.function\n    def train_step(x, y):\n" in text
    assert "        return loss\n\n    for epoch in range(100):\n" in text
    few = FOLDS.replace("EPOCHS", "2")
    assert new_text(few, "speculative") == few


def test_models_of_the_loop_itself_are_no_arguments() -> None:
    text = FOLDS.replace(
        "    for epoch in range(EPOCHS):\n        for x, y in data:\n",
        "    x = y = tf.ones([8, 8])\n    if fold:\n        if x is y:\n",
    )
    text = text.replace("range(3)", "range(3000)")
    assert new_text(text, "speculative") == text


REPLAY = """\
import random

import numpy as np
import tensorflow as tf


class Agent:
    def __init__(self):
        self.w = tf.Variable(tf.ones([4, 2]))
        self.memory = []

    def learn(self):
        batch = random.sample(self.memory, 8)
        states, actions = (np.array(each) for each in zip(*batch))
        with tf.GradientTape() as tape:
            q = tf.tanh(tf.tanh(states @ self.w) * 2.0) ** 2
            loss = tf.reduce_mean(tf.reduce_sum(q * tf.one_hot(actions, 2), axis=1))
            loss += tf.reduce_sum(self.w ** 2) + tf.reduce_mean(tf.abs(self.w)) + tf.norm(self.w)
        self.w.assign_sub(0.1 * tape.gradient(loss, self.w))
        return loss.numpy()


agent = Agent()
for step in range(500):
    agent.memory.append((np.ones([4], np.float32), random.randint(0, 1)))
    if step > 10:
        agent.learn()
"""


def test_lists_of_python_numbers_are_made_arrays_outside() -> None:
    text = new_text(REPLAY, "speculative")
    assert "    def train_step(self, states, actions):\n        with tf.GradientTape() as tape:\n" in text
    assert "zip(*batch))\n        loss = self.train_step(states, actions)\n        return loss.numpy()\n" in text


def test_a_list_of_arrays_in_the_tape_is_no_argument() -> None:
    text = REPLAY.replace("states @", "np.array(states) @").replace(
        "(np.array(each) for each in zip(*batch))",
        "[], []\n        for state, action in batch:\n            states.append(state)\n            actions.append(action)",
    )
    assert new_text(text, "speculative") == text


def test_numbers_that_are_shown_inside_of_the_tape_s_block_move_behind() -> None:
    inside = STEP.replace("grad =", "    # kept\n    total += loss.numpy()\n    print(epoch, float(loss))\ngrad =")
    text = in_loop(inside=inside, after="print(total)\n").replace("\nfor epoch", "\ntotal = 0.0\nfor epoch")
    assert new_text(text).endswith(
        "        loss = train_step(x, y)\n        # kept\n        total += loss.numpy()\n        print(epoch, float(loss))\n"
        "print(total)\n"
    )


def test_what_is_bound_again_behind_the_update_is_not_shown_late() -> None:
    middle = STEP.replace("grad =", "print(float(loss))\ngrad =") + "loss = loss * 2.0\n"
    assert new_text(in_loop(inside=middle, after="print(loss)\n")).endswith(
        "        loss = train_step(x, y)\n        print(float(loss))\n        loss = loss * 2.0\nprint(loss)\n"
    )


SETS_AN_ATTRIBUTE = """\
import tensorflow as tf
{imports}

def train(w, model):
    for epoch in range(1000):
        {sets}
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.tanh(tf.tanh(model(w))) ** 2)
        grads = tape.gradient(loss, w)
        opt.apply_gradients([(grads, w)])


opt = tf.keras.optimizers.Adam()
w = tf.Variable(tf.ones([4, 4]))
{calls}
"""
SCALED = """

class Scaled:
    keep = 1.0

    def __call__(self, x):
        return tf.nn.softmax(tf.tanh(x * self.keep))
"""


@pytest.mark.parametrize(
    ("imports", "calls"),
    [("from somewhere import Net", "train(w, Net())"), ("", ""), (SCALED, "train(w, Scaled())")],
    ids=["a class of an unknown package", "a parameter that nobody passes", "a class of the program"],
)
def test_a_step_whose_object_is_set_between_its_calls_stays(imports: str, calls: str) -> None:
    """The object may read what is set: a graph would keep the first value."""
    text = SETS_AN_ATTRIBUTE.format(imports=imports, calls=calls, sets="model.keep = 1.0 / (epoch + 1)")
    (region,) = analyzed(text).regions
    assert not region.decision.extract
    assert "TR106" in {hazard.rule for hazard in region.decision.hazards if not hazard.assumed}


def test_a_step_beside_attributes_that_it_does_not_read_is_extracted() -> None:
    text = SETS_AN_ATTRIBUTE.format(imports=SCALED, calls="train(w, Scaled())", sets="opt.epoch = epoch")
    (region,) = analyzed(text).regions
    assert region.decision.extract


def test_a_step_of_a_loop_under_the_main_guard_stays_where_its_model_is_changed() -> None:
    text = "import tensorflow as tf\n" + SCALED
    text += (
        "\n\nif __name__ == '__main__':\n    model = Scaled()\n    w = tf.Variable(tf.ones([4, 4]))\n"
        "    for epoch in range(1000):\n        model.keep = 1.0 / (epoch + 1)\n"
        "        with tf.GradientTape() as tape:\n            loss = tf.reduce_sum(tf.tanh(tf.tanh(model(w))) ** 2)\n"
        "        w.assign_sub(0.1 * tape.gradient(loss, w))\n"
    )
    (region,) = analyzed(text).regions
    assert not region.decision.extract
    assert "TR106" in {hazard.rule for hazard in region.decision.hazards}


LEARNER = """\
import numpy as np
import tensorflow as tf

net = tf.keras.Sequential([tf.keras.layers.Dense(16, activation="relu"), tf.keras.layers.Dense(1)])
opt = tf.keras.optimizers.Adam(1e-3)
memory = np.random.rand(100, 4).astype("float32")
marks = (np.random.rand(100) > 0.5).astype(np.int64)


def learn():
    at = np.random.choice(100, 8)
    states, done = tf.convert_to_tensor(memory[at]), marks[at]
    with tf.GradientTape() as tape:
        value = tf.squeeze(net(states), 1)
        {loss}
    grads = tape.gradient(loss, net.trainable_variables)
    opt.apply_gradients(zip(grads, net.trainable_variables))


for _ in range(1000):
    learn()
"""


def test_an_array_that_meets_a_tensor_is_converted_by_the_call() -> None:
    """Eager operations make float32 of it; a graph would get an int64 tensor."""
    text = LEARNER.format(loss="loss = tf.reduce_mean((0.99 * value * (1 - done) - 1.0) ** 2)")
    new = new_text(text)
    assert '    train_step(states, done.astype("float32"))\n' in new
    assert "        loss = tf.reduce_mean((0.99 * value * (1 - done) - 1.0) ** 2)\n" in new


def test_an_array_may_be_scaled_before_it_meets_a_tensor() -> None:
    text = LEARNER.format(loss="loss = tf.reduce_mean((2.5 * done + 0.99 * value) ** 2)").replace(
        "np.int64", "np.float64"
    )
    assert '    train_step(states, done.astype("float32"))\n' in new_text(text)
    cancelled = text.replace("2.5 * done", "(done - 2.5)")
    assert "astype" not in new_text(cancelled).split("\ndef learn")[-1]


@pytest.mark.parametrize(
    "loss",
    [
        "loss = tf.reduce_mean(value * done) + tf.cast(tf.reduce_max(done), tf.float32)",
        "loss = tf.reduce_mean(value * done) + len([each for each in done])",
        "loss = tf.reduce_mean(value * (done // 2))",
    ],
)
def test_an_array_that_is_used_otherwise_too_is_not_converted(loss: str) -> None:
    assert "astype" not in new_text(LEARNER.format(loss=loss)).split("\ndef learn")[-1]


@pytest.mark.parametrize(
    ("loss", "given", "inside"),
    [
        (
            "loss = tf.reduce_mean(value * tf.constant(done, tf.float32))",
            "tf.constant(done, tf.float32)",
            "value * done_value",
        ),
        (
            "loss = tf.reduce_mean(np.sqrt(1 + done).astype('float32') * value)",
            "np.sqrt(1 + done).astype('float32')",
            "done_value * value",
        ),
        ("done = done + 1\n        loss = tf.reduce_mean(value * np.sqrt(done).astype('float32'))", "", None),
        ("done[0] = 1\n        loss = tf.reduce_mean(value * np.sqrt(done).astype('float32'))", "", None),
    ],
)
def test_what_numpy_makes_of_arrays_comes_before_the_call(loss: str, given: str, inside: str | None) -> None:
    text = new_text(LEARNER.format(loss=loss), "speculative")
    if inside is None:
        assert "def learn():\n    train_step" not in text
        assert "value * np.sqrt(done)" not in text.split("def learn")[0]
        return
    assert f"train_step(states, {given})" in text
    assert inside in text


def test_a_configuration_that_no_graph_takes_gives_its_attributes() -> None:
    text = LEARNER.format(loss="loss = settings.rate * tf.reduce_mean(value) + settings.rate * settings.bound")
    text = text.replace("def learn():", "def learn(settings):").replace("    learn()", "    learn(Settings(0.5))")
    made = "@dataclass\nclass Settings:\n    rate: float\n    bound: float = 1.0\n\n\ndef learn"
    new = new_text("from dataclasses import dataclass\n" + text.replace("def learn", made, 1), "speculative")
    assert "train_step(states, settings.rate, settings.bound)" in new
    assert "loss = rate * tf.reduce_mean(value) + rate * bound" in new


def test_numbers_become_tensors_before_the_step() -> None:
    """Inside of it each reward would be another Python number, and the step traced for each."""
    before = "x = tf.convert_to_tensor(x)\nreward = tf.constant(float(epoch))\n"
    new = new_text(in_loop(before, inside=STEP.replace("- y) ** 2)", "- y) ** 2) * reward")), "speculative")
    assert indented(f"{before}train_step(x, y, reward)\n", 8) in new


def test_a_semicolon_at_the_end_of_a_line_is_no_other_statement() -> None:
    new = new_text(in_loop(inside=STEP.replace("(0.1 * grad)", "(0.1 * grad);")))
    assert "    w.assign_sub(0.1 * grad);\n\n\n" in new
    shared = new_text(in_loop(inside=STEP.replace("(0.1 * grad)", "(0.1 * grad); print(x)")))
    assert "        w.assign_sub(0.1 * grad); print(x)\n" in shared


TRAINING = """\
import tensorflow as tf

w = tf.Variable(tf.ones([8, 8]))


def train(batches, {more}):
    for epoch in range(epochs):
{body}
        print(epoch)
"""


def test_epochs_of_batches_pay_a_trace_for_each_training() -> None:
    """Whoever calls `train`: each of its calls traces the step once, and runs it for all batches of all epochs."""
    body = indented("for x, y in batches:\n" + indented(STEP, 4), 8)
    text = TRAINING.format(more="epochs", body=body)
    assert "    @tf.function\n    def train_step(x, y):\n" in new_text(text, "speculative")
    inner = TRAINING.format(more="x, y, epochs", body=indented(STEP, 8))
    assert "    def train_step" not in new_text(inner, "speculative")


DELETED = """\
with tf.GradientTape(persistent=True) as tape:
    h = x
    for _ in range(4):
        h = tf.tanh(h @ w)
    loss = tf.reduce_mean((h - y) ** 2)
grad = tape.gradient(loss, w)
w.assign_sub(0.1 * grad)
losses.append(float(loss))
# free it
del tape, h, loss, grad, x
"""


def test_what_is_deleted_behind_the_step_ends_with_its_function() -> None:
    text = in_loop(inside=DELETED).replace("\nfor epoch", "\nlosses = []\nfor epoch", 1)
    new = new_text(text)
    assert indented("loss = train_step(x, y)\nlosses.append(float(loss))\n# free it\ndel loss, x\n", 8) in new
    assert "    return loss\n" in new and "del tape" not in new


def test_what_only_a_branch_binds_stays_outside_with_what_reads_it() -> None:
    behind = "if epoch > 2:\n    print(late)\n"
    text = in_loop("if epoch > 1:\n    late = epoch\n", behind)
    new = new_text(text)
    assert "@tf.function\ndef train_step(" in new
    assert "        if epoch > 2:\n            print(late)\n" in new


ACTOR_CRITIC = """\
import numpy as np
import tensorflow as tf

body = tf.keras.Sequential([tf.keras.layers.Dense(16, activation="relu"), tf.keras.layers.Dense(2)])
opt = tf.keras.optimizers.Adam(1e-3)
rng = np.random.default_rng(1)


def learn(state, reward, next_state, done):
    with tf.GradientTape() as tape:
        value = body(state)[0, 0]
        {target}
        loss = tf.square(target - value) + tf.reduce_mean(tf.square(body(state) - value))
    grads = tape.gradient(loss, body.trainable_variables)
    opt.apply_gradients(zip(grads, body.trainable_variables))
    return loss.numpy()


state = rng.normal(size=(1, 4)).astype("float32")
for step in range(1000):
    next_state = rng.normal(size=(1, 4)).astype("float32")
    print(learn(state, float(step % 7) / 3, next_state, step % 50 == 0))
    state = next_state
"""


def test_a_number_that_meets_a_tensor_is_converted_by_the_call() -> None:
    """A graph would be traced for each reward, and gets it as a tensor."""
    text = ACTOR_CRITIC.format(target="target = reward + (1 - done) * 0.99 * body(next_state)[0, 1]")
    new = new_text(text)
    assert "np.float32(reward)" in new
    assert "np.float32(done)" in new


@pytest.mark.parametrize(
    "target",
    [
        "target = reward + 1.0 if done else reward + body(next_state)[0, 1]",
        "bonus = reward + 0.1\n        target = int(bonus) + (1 - done) * body(next_state)[0, 1]",
        "target = reward / 3 + (1 - done) * body(next_state)[0, 1]",
        "target = reward * len(state) + 1.0",
    ],
)
def test_a_number_that_is_used_otherwise_too_is_not_converted(target: str) -> None:
    assert "np.float" not in new_text(ACTOR_CRITIC.format(target=target))


def test_an_empty_list_begins_the_run_that_appends_to_it() -> None:
    body = (
        "hidden = []\nwith tf.GradientTape() as tape:\n    for _ in range(4):\n        hidden.append(tf.tanh(x @ w))\n"
    )
    body += "    loss = tf.reduce_mean((tf.add_n(hidden) - y) ** 2)\nw.assign_sub(0.1 * tape.gradient(loss, w))\n"
    new = new_text(in_loop(inside=body))
    assert "@tf.function\ndef train_step(x, y):\n    hidden = []\n" in new


def test_the_variables_of_a_model_are_no_arguments() -> None:
    """Keras 3 gives them to a graph as tensors, of which there is no gradient."""
    text = LEARNER.format(loss="loss = tf.reduce_mean(value ** 2)")
    named = text.replace("    with tf.GradientTape", "    params = net.trainable_variables\n    with tf.GradientTape")
    named = named.replace("grads = tape.gradient(loss, net.trainable_variables)", "grads = tape.gradient(loss, params)")
    named = named.replace("zip(grads, net.trainable_variables)", "zip(grads, params)")
    assert "    train_step(states)\n" in new_text(named)
    away = named.replace("    params = net.trainable_variables\n", "").replace("def learn():\n", "def learn(params):\n")
    away = away.replace("    learn()\n", "    learn(net.trainable_variables)\n")
    (region,) = analyzed(away).regions
    assert not region.decision.extract
    assert "brings the variables of a model" in region.decision.reason


AGENT = """\
import numpy as np
import tensorflow as tf


class Agent:
    def __init__(self):
        self.action = None
        self.rate = 1.0
        self.w = tf.Variable(tf.ones([8, 8]))

    def choose(self, x):
        self.rate *= 0.99
        self.action = tf.argmax(x @ self.w, axis=1)
        return self.action.numpy()

    def learn(self, x):
        with tf.GradientTape() as tape:
            h = x
            for _ in range(4):
                h = tf.tanh(h @ self.w)
{lines}
            loss = tf.reduce_mean(h)
        grad = tape.gradient(loss, self.w)
        self.w.assign_sub(0.1 * grad)
        return loss


if __name__ == "__main__":
    agent = Agent()
    for step in range(300):
        x = tf.random.normal([8, 8])
        agent.choose(x)
        agent.learn(x)
"""


@pytest.mark.parametrize(
    ("lines", "given", "body"),
    [
        ("h = h * tf.one_hot(self.action, 8)", "self.action", "h = h * tf.one_hot(action, 8)"),
        (
            "h = h * tf.one_hot(self.action, 8) + tf.one_hot(self.action, 8)",
            "self.action",
            "h = h * tf.one_hot(action, 8) + tf.one_hot(action, 8)",
        ),
        ("h = h * self.rate", "np.float32(self.rate)", "h = h * rate"),
        (
            "noise = np.random.normal(size=(8, 8))\nh = h + noise",
            'np.random.normal(size=(8, 8)).astype("float32")',
            "noise = drawn",
        ),
        (
            "h = h + np.random.normal(size=h.shape[1:]).astype(np.float32)",  # what the run binds
            None,
            "",
        ),
        (
            "h = h + np.random.normal(size=8).astype(np.float32)",
            "np.random.normal(size=8).astype(np.float32)",
            "h = h + drawn",
        ),
        (
            "a = np.random.normal(size=8).astype(np.float32)\nh = h * a + np.random.normal(size=8).astype(np.float32)",
            "np.random.normal(size=8).astype(np.float32), np.random.normal(size=8).astype(np.float32)",
            "h = h * a + drawn_2",
        ),
        (
            "h = h * tf.constant(np.random.normal(), tf.float32) + np.random.normal(size=8).astype(np.float32)",
            None,  # another Python number in each call
            "",
        ),
        (
            "h = h * np.random.normal() + np.random.normal()",
            "np.float32(np.random.normal()), np.float32(np.random.normal())",
            "h = h * drawn + drawn_2",
        ),
    ],
)
def test_host_expressions_around_the_tape_become_arguments(lines: str, given: str | None, body: str) -> None:
    text = new_text(AGENT.replace("{lines}", indented(lines, 12)), "speculative")
    if given is None:
        assert "train_step" not in text
        return
    assert f"self.train_step(x, {given})".replace(" ", "") in re.sub(r"\s", "", text)
    assert f"            {body}\n" in text


@pytest.mark.parametrize(
    "lines",
    [
        "self.rate = self.rate * 0.5\nh = h * self.rate",
        "for _ in range(2):\n    h = h + np.random.normal(size=8).astype(np.float32)",
        "h = h + np.random.normal(size=8).astype(np.float32) if step_of(x) else h",
        "size = 8\nh = h + np.random.normal(size=size).astype(np.float32)",
        "h = [h * self.rate for _ in range(2)][0]",
    ],
)
def test_what_may_not_come_before_the_run_stays_in_it(lines: str) -> None:
    head = "def step_of(x):\n    return x.numpy().sum() > 0\n\n\nclass Agent"
    text = AGENT.replace("{lines}", indented(lines, 12)).replace("class Agent", head)
    assert "train_step" not in new_text(text, "speculative")
