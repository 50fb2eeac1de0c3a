"""Hot code that is no function of its own: what becomes one, what stays, and the text after."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from region_projects import HEAD, STEP, analyzed, fixed, in_loop, indented, new_text, options

from terra_refactor.cli.output import to_string
from terra_refactor.refactor.apply import write_file
from terra_refactor.report.schema import build_report
from terra_refactor.report.to_html import to_html
from terra_refactor.report.to_json import to_json
from terra_refactor.report.to_markdown import to_markdown
from terra_refactor.report.to_text import print_analysis
from terra_refactor.rules.registry import all_rules
from terra_refactor.workspace.workspace import fix


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_people_see_it_in_every_report() -> None:
    report = analyzed(in_loop())
    text = to_string(lambda console: print_analysis(console, report))
    assert text.startswith("To do\n") and "m.py:10" in text and "extract tf.function: train_step(): " in text
    markdown = to_markdown(report)
    assert "### To do (1)" in markdown and "extract `tf.function`" in markdown
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
    middle = STEP.replace("grad =", "shown = loss.numpy()\ngrad =")
    kept = new_text(in_loop(inside=middle))
    assert kept.endswith("        loss = train_step(x, y)\n        shown = loss.numpy()\n")


@pytest.mark.parametrize(
    "host",
    [
        "print(w.numpy())",  # which the update changes
        "print(w)",
        "print('loss', loss.numpy(), data)",
        "print(time.time())",
        "shown = w.numpy()",
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
        STEP.replace("    loss =", "    h = h * [1.0, 2.0][epoch % 2]\n    loss ="),  # a trace for each number
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


EXTRA = "if SET:\n    extra = tf.reduce_mean(x)\n" + STEP.replace(
    "    loss = ", "    if READ:\n        h = h * extra\n    loss = "
)


@pytest.mark.parametrize(
    ("bound", "read", "more", "whole"),
    [
        ("flag", "flag", "", True),
        ("flag and scale > 1", "flag and scale > 1", "", True),
        ("flag", "not flag", "", False),
        ("flag", "scale > 1", "", False),
        ("epoch > 3", "epoch > 3", "", False),  # in each epoch another
        ("flag", "flag", "flag = float(loss) < 0.5\n", False),
        ("flag", "flag", "if flag:\n    print(extra)\n", False),
    ],
)
def test_a_name_under_a_condition_is_the_own_one_of_a_step_that_reads_it_under_the_same(
    bound: str, read: str, more: str, whole: bool
) -> None:
    inside = EXTRA.replace("SET", bound).replace("READ", read)
    text = new_text(
        in_loop(inside=inside + more).replace("import time\n", "import sys\n\nflag, scale = len(sys.argv) > 2, 2.0\n")
    )
    step = f"def train_step(x, y):\n    if {bound}:\n        extra = tf.reduce_mean(x)\n    with tf.GradientTape() as tape:\n"
    assert (step in text) is whole
    assert "return loss, extra" not in text


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
    text = new_text(MAIN.replace("range(1000)", "range(20)") + calls, "speculative")
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
