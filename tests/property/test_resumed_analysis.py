"""A run that resumes from what the last one left on disk gives what a run from nothing gives.

Programs of the corpus are edited at random: bodies, signatures, functions more and less, imports. After each edit the run with the cache
is compared with one without it.
"""

from __future__ import annotations

import ast
import random
import re
import shutil
from pathlib import Path

import pytest
from running_time import examples

from terra_refactor.config import Config
from terra_refactor.workspace import kept_analysis, regions
from terra_refactor.workspace.results import WorkspaceReport
from terra_refactor.workspace.workspace import Options, analyze

PROGRAMS = Path(__file__).parents[2] / "corpus" / "programs"
NAMES = ("vae", "graph_network", "layers_library", "wgan_gp", "cli_package", "policy_gradient")
EDITS = examples(usual=4, many=6)
REGION_EDITS = 16
LINES = (
    "print('x')",
    "x = 1",
    "x = tf.zeros([2, 3])",
    "items = [1, 2]",
    "raise ValueError",
    "import math",
    "import os.path as tf2",
)


def told(report: WorkspaceReport) -> dict[str, object]:
    """The result of a run, without its costs."""
    return {
        "decisions": report.decisions,
        "findings": report.findings,
        "errors": report.errors,
        "regions": report.regions,
        "size": (report.stats.files, report.stats.lines),
    }


def edited(text: str, choose: random.Random) -> str:
    """The text with one function or statement changed."""
    tree = ast.parse(text)
    lines = text.split("\n")
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    statements = [node for function in functions for node in function.body]
    kind = choose.randrange(6)
    if kind == 0 and functions:
        # a parameter more
        function = choose.choice(functions)
        line = lines[function.lineno - 1]
        lines[function.lineno - 1] = (
            line.replace("(", "(" + ("" if "(self" in line else "extra=None, "), 1).replace("(self", "(self, *", 1)
            if "(self)" not in line
            else line.replace("(self)", "(self, extra=None)")
        )
    elif kind == 1 and functions:
        # a function more, before the others
        lines.insert(choose.choice(tree.body).lineno - 1, "def added(x):\n    return x\n\n")
    elif kind == 2 and functions:
        # a function less
        function = choose.choice(functions)
        end = function.end_lineno or function.lineno
        indent = lines[function.lineno - 1][: function.col_offset]
        lines[function.lineno - 1 : end] = [f"{indent}{function.name} = None"]
    elif kind == 3:
        lines.insert(
            choose.choice(tree.body).lineno - 1,
            choose.choice(("import math", "import tensorflow as tf", "import json")),
        )
    elif statements:
        # a statement more or less in a body
        statement = choose.choice(statements)
        at = statement.lineno - 1
        indent = lines[at][: statement.col_offset]
        if kind == 4 or lines[at][: statement.col_offset].strip():
            lines.insert(at, indent + choose.choice(LINES))
        else:
            lines[at : statement.end_lineno] = [indent + "pass"]
    return "\n".join(lines)


@pytest.mark.slow
@pytest.mark.parametrize("program", NAMES)
def test_a_resumed_run_gives_what_a_run_from_nothing_gives(
    program: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    choose = random.Random(program)
    folder = tmp_path / "project"
    shutil.copytree(PROGRAMS / program, folder)
    monkeypatch.setenv("TERRA_REFACTOR_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.chdir(folder)
    resumed = 0
    wakes = kept_analysis.resumed_judge

    def counted(*given: object) -> object:
        nonlocal resumed
        judge = wakes(*given)  # type: ignore[arg-type]
        resumed += judge is not None
        return judge

    monkeypatch.setattr(kept_analysis, "resumed_judge", counted)
    config = Config(jobs=1)
    files = sorted(folder.rglob("*.py"))
    analyze(["."], Options(config))
    edits = 0
    while edits < EDITS:
        file = choose.choice(files)
        before = file.read_text(encoding="utf-8")
        text = edited(before, choose)
        try:
            ast.parse(text)
        except SyntaxError:
            continue
        edits += 1
        file.write_text(text, encoding="utf-8")
        assert told(analyze(["."], Options(config))) == told(analyze(["."], Options(config, use_cache=False))), (
            file,
            edits,
        )
    assert resumed > EDITS / 3, "hardly any run resumed: the test compares runs from nothing"


LIBRARY = """\
import tensorflow as tf


class Model:
    def __init__(self, size=8):
        self.w = tf.Variable(tf.ones([size, size]))
        self.calls = 0
        self.history = []

    def __call__(self, x):
        return hidden(scaled(x), self.w)

    def count(self):
        self.calls += 1
        return self.calls

    def describe(self, x):
        shape = self(x).shape
        return [str(shape), self.count()]


def hidden(x, w):
    h = x
    for _ in range(4):
        h = tf.tanh(h @ w)
    return h


def scaled(x, by=2.0):
    y = x * by
    return y + offset(by)


def offset(by):
    table = {"one": 1.0, "two": 2.0}
    return table["one"] * by


def loss_of(h, y):
    return tf.reduce_mean((h - y) ** 2)


def report(step, loss):
    text = shown(loss)
    print(step, text)


def shown(loss):
    parts = [float(loss), 1]
    return str(parts)


def kept(model, value):
    model.history.append(value)
    return len(model.history)


def pipeline(data, size):
    batches = data.batch(size)
    return batches.map(normalized)


def normalized(x, y):
    return x / 2.0, y / 2.0


class Table:
    def __init__(self, rows):
        self.rows = rows
        self.width = 3

    def cells(self):
        return [cell(row, self.width) for row in self.rows]

    def total(self):
        found = tf.zeros([2])
        for row in self.cells():
            found = found + row
        return found


def cell(row, width):
    y = tf.reduce_sum(row * weight(width))
    return tf.stack([y, y])


def weight(width):
    half = width / 2
    return rounded(half)


def rounded(half):
    return half + 0.5
"""
SCRIPT = """\
import tensorflow as tf

from library import Model, kept, loss_of, pipeline, report

model = Model()
data = tf.data.Dataset.from_tensor_slices((tf.ones([64, 8]), tf.ones([64, 8])))
for epoch in range(20):
    for x, y in pipeline(data, 8):
        with tf.GradientTape() as tape:
            loss = loss_of(model(x), y)
        grad = tape.gradient(loss, model.w)
        model.w.assign_sub(0.1 * grad)
    report(epoch, loss)
    kept(model, loss)
"""
USER = """\
import tensorflow as tf

from library import Model, Table, hidden, shown


def evaluate(model, x):
    for _ in range(3):
        model.count()
    return hidden(x, model.w)


def test_evaluate():
    model = Model(4)
    assert evaluate(model, tf.ones([2, 4])).shape == [2, 4]
    assert model.describe(tf.ones([2, 4])) and shown(1.0)


def test_table():
    assert Table([tf.ones([3]), tf.zeros([3])]).total().shape == [2]


def average(table):
    value = table.total() / len(table.rows)
    return value
"""
HARMLESS = (
    "extra = 1",
    "extra = 2.0, 'x'",
    "extra = -3",
    "extra = 'text'",
    "extra = [], 2.0",
    "if 'text' > 'x': extra = 2",
)


FAR_FROM_THE_STEP = ("cells", "total", "cell", "average", "evaluate")


def changed_inside(text: str, choose: random.Random) -> str:
    """The text with a function in which a line is added, most of which change nothing for its callers, or a number is another one."""
    tree = ast.parse(text)
    lines = text.split("\n")
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    functions += [function for function in functions if function.name in FAR_FROM_THE_STEP] * 4
    statement = choose.choice(choose.choice(functions).body)
    indent = lines[statement.lineno - 1][: statement.col_offset]
    if choose.randrange(4) == 0 and re.search(r"\d", lines[statement.lineno - 1]):
        lines[statement.lineno - 1] = re.sub(r"\d", lambda _: str(choose.randrange(1, 5)), lines[statement.lineno - 1])
    else:
        lines.insert(statement.lineno - 1, indent + choose.choice((*HARMLESS, *HARMLESS, *HARMLESS, *LINES)))
    return "\n".join(lines)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_regions_of_the_last_run_are_those_of_a_run_from_nothing(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    choose = random.Random(seed)
    folder = tmp_path / "project"
    folder.mkdir()
    monkeypatch.setenv("TERRA_REFACTOR_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.chdir(folder)
    texts = {"library.py": LIBRARY, "train.py": SCRIPT, "test_library.py": USER}
    for name, text in texts.items():
        Path(name).write_text(text, encoding="utf-8")
    judged = 0
    judge_trials = regions.judge_trials

    def counted(*given: object) -> object:
        nonlocal judged
        judged += 1
        return judge_trials(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(regions, "judge_trials", counted)
    config = Config(jobs=1)
    analyze(["."], Options(config))
    shutil.copytree(tmp_path / "cache", tmp_path / "first", copy_function=shutil.copy2)
    edits = taken_over = 0
    while edits < REGION_EDITS:
        shutil.rmtree(tmp_path / "cache")
        shutil.copytree(tmp_path / "first", tmp_path / "cache", copy_function=shutil.copy2)
        changed = dict(texts)
        for _ in range(choose.choice((1, 1, 2))):
            name = choose.choice(("library.py", "library.py", "library.py", "test_library.py"))
            changed[name] = changed_inside(changed[name], choose)
        try:
            list(map(ast.parse, changed.values()))
        except SyntaxError:
            continue
        edits += 1
        for name, text in changed.items():
            Path(name).write_text(text, encoding="utf-8")
        judged = 0
        found = analyze(["."], Options(config))
        taken_over += judged == 0
        assert told(found) == told(analyze(["."], Options(config, use_cache=False))), (edits, changed)
    assert taken_over, "no regions are taken over: the test compares runs that judge them"
