"""Programs with a training step inline in a loop do the same when `fix` has made a function of it.

The programs are put together from parts that a person writes around a tape: sums that are carried, counters, prints in all places, lists,
conditions, early exits, names that live on. TensorFlow runs both texts; what they print and the values that they end with are compared. Its
answer to a pair of texts is kept (`kept_answers`).
"""

from __future__ import annotations

import os
import random
import re
import textwrap
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
from kept_answers import SETTING, Harness
from region_runs import difference_of_runs
from running_time import examples

from terra_refactor.config import Config
from terra_refactor.workspace.workspace import Options, fix

# answers are kept for all of them
SEEDS = 60 if os.environ.get(SETTING) == "write" else examples(usual=24, many=60)
REGIONS = Harness("region_programs", (Path(__file__).with_name("region_runs.py"),))

HEAD = """\
import tensorflow as tf
import numpy as np

xs = np.linspace(-1.0, 1.0, 48, dtype=np.float32).reshape(12, 4)
np.random.seed(7)
w = tf.Variable(np.linspace(0.1, 0.9, 16, dtype=np.float32).reshape(4, 4))
v = tf.Variable(0.5)
"""
SETUP = """\
total = 0.0
mean = tf.constant(0.0)
count = 0
seen = []
best = None
last = tf.zeros([4])
"""
BEFORE = (
    "x = tf.convert_to_tensor(x)",
    "x = x * 2.0 if count % 2 else x",
    "scale = tf.reduce_max(tf.abs(x))\nx = x / (scale + 1.0)",
    "count += 1",
    "if count > 9:\n    break",
    "if count % 5 == 4:\n    count += 1\n    continue",
    "seen.append(float(x[0]))",
    "noise = last * 0.1\nx = x + noise",
    "# a comment",
)
IN_TAPE = (
    "h = tf.tanh(tf.linalg.matvec(w, x))",
    "h = x\nfor _ in range(2):\n    h = tf.nn.relu(tf.linalg.matvec(w, h)) + 0.1",
    "h = tf.linalg.matvec(w, x) * v\nh = tf.where(h > 0, h, 0.1 * h)",
    "h = tf.stack([tf.reduce_sum(x * row) for row in tf.unstack(w)])",
)
DRAWN = (
    "noise = np.random.normal(size=4)\nh = tf.tanh(tf.linalg.matvec(w, x)) + noise",
    "h = tf.linalg.matvec(w, x + np.random.uniform(-0.1, 0.1, size=4).astype('float32'))",
    "h = tf.tanh(tf.linalg.matvec(w, x)) * np.random.uniform(0.5, 1.0)\nh = h + np.random.normal(size=4)",
    "h = tf.linalg.matvec(w, x)\nif count % 2:\n    h = h + np.random.normal(size=4)",
)
"""Host numbers that are drawn in the tape."""
ATTRIBUTES = (
    "h = tf.tanh(tf.linalg.matvec(w, x)) * self.beta",
    "h = tf.tanh(tf.linalg.matvec(w, x)) + self.last * 0.1",
    "h = tf.linalg.matvec(w, x)\nself.beta = self.beta * 0.5\nh = h * self.beta",
    "h = tf.tanh(tf.linalg.matvec(w, x)) * self.decayed()",
    "h = tf.tanh(tf.linalg.matvec(w, x)) * self.last\nh = h + self.last * np.random.normal(size=4)",
)
"""State of the object that other code of the loop changes."""
CHANGES = ("self.beta *= 0.9", "self.last = tf.convert_to_tensor(x) * 0.5", "self.beta = float(tf.reduce_max(x))")
LOSSES = (
    "loss = tf.reduce_mean((h - 0.3) ** 2) + 0.01 * v ** 2",
    "loss = tf.reduce_sum(tf.abs(h)) + 0.01 * tf.reduce_sum(w ** 2) + v ** 2",
    "loss = 0.0\nfor each in (h, h * 0.5):\n    loss += tf.reduce_mean(each ** 2)\nloss = loss + v * v",
)
BETWEEN = (
    *("", "", "", "print('between', count, loss.numpy())", "seen.append(float(loss))", "total += loss.numpy()"),
    "print('w', w)",
)
INSIDE = ("", "", "", "print('in', count)", "total += float(loss)", "seen.append(loss.numpy())", "print('w', w)")
UPDATES = (
    "g, gv = tape.gradient(loss, [w, v])\nw.assign_sub(0.1 * g)\nv.assign_sub(0.1 * gv)",
    "grads = tape.gradient(loss, [w, v])\nfor variable, grad in zip((w, v), grads):\n    variable.assign_sub(0.05 * grad)",
)
BEHIND = (
    "total += float(loss)",
    "mean = 0.9 * mean + 0.1 * loss",
    "count += 1",
    "last = h",
    "best = loss if best is None or loss < best else best",
    "seen.append(loss.numpy())",
    "if count % 3 == 0:\n    print(count, float(loss))",
    "norm = tf.norm(w)",
    "loss = loss * 2.0",
    "if loss < 0.01:\n    break",
)
END = "print(total, float(mean), count, np.round(seen, 5).tolist(), np.round(last.numpy(), 5).tolist(), best is None)\n"
PLACES = ("module", "main", "method", "while")
SHIMMED = (2, 6, 10, 21, 39, 40)
"""Seeds of programs whose step cannot be a graph, but runs under the shim."""


def write_program(seed: int) -> str:
    """One program; the same for the same seed."""
    chance = random.Random(seed)
    place = chance.choice(PLACES)
    steps = chance.choice((IN_TAPE, DRAWN, ATTRIBUTES if place == "method" else IN_TAPE))
    tape = "\n".join((chance.choice(steps), chance.choice(LOSSES), chance.choice(INSIDE)))
    parts = [
        *chance.sample(BEFORE, chance.randint(0, 3)),
        *([chance.choice(CHANGES)] if steps is ATTRIBUTES else []),
        "with tf.GradientTape() as tape:\n" + textwrap.indent(tape, "    "),
        chance.choice(BETWEEN),
        chance.choice(UPDATES),
        *chance.sample(BEHIND, chance.randint(1, 5)),
    ]
    body = "\n".join(part for part in parts if part)
    loop = f"for epoch in range(2):\n    for x in xs:\n{textwrap.indent(body, ' ' * 8)}\n"
    if place == "while":
        loop = f"at = 0\nwhile at < len(xs):\n    x = xs[at]\n    at += 1\n{textwrap.indent(body, ' ' * 4)}\n"
    if place == "main":
        inner = textwrap.indent(SETUP + loop + END, "    ")
        return f"{HEAD}\n\ndef main():\n{inner}\n\nif __name__ == '__main__':\n    main()\n"
    if place == "method":
        inner = textwrap.indent(SETUP + loop + END, " " * 8)
        inner = inner.replace(" w", " self.w").replace("(w", "(self.w").replace("[w", "[self.w")
        made = (
            "    def __init__(self):\n        self.w = w\n        self.beta = 1.0\n        self.last = tf.ones([4])\n\n"
        )
        made += "    def decayed(self):\n        self.beta *= 0.99\n        return self.beta\n\n"
        return f"{HEAD}\n\nclass Trainer:\n{made}    def fit(self):\n{inner}\n\nTrainer().fit()\n"
    return f"{HEAD}{SETUP}{loop}{END}"


def write_nested(seed: int) -> str:
    """A program whose step is a function that each call of another function, or method, defines."""
    chance = random.Random(seed)
    tape = "\n".join((chance.choice(IN_TAPE), chance.choice(LOSSES), "loss = loss * scale"))
    step = "\n".join(
        (
            chance.choice(("x = x + 0.0", "x = x * bound", "x = tf.convert_to_tensor(x) * bound")),
            "with tf.GradientTape() as tape:\n" + textwrap.indent(tape, "    "),
            chance.choice(UPDATES),
            "return loss",
        )
    )
    lines = [
        chance.choice(("scale = tf.reduce_max(tf.abs(x)) + 1.0", "scale = tf.reduce_sum(x ** 2)")),
        chance.choice(("bound = tf.constant(0.5)", "bound = scale / (scale + 1.0)")),
        "",
        "def step(x):\n" + textwrap.indent(step, "    "),
        "",
        "loss = step(x)",
        chance.choice(("seen.append(float(loss))", "print(float(loss))")),
        "return loss",
    ]
    body = "\n".join(lines)
    loop = "for epoch in range(6):\n    for x in xs:\n        last = {}(tf.convert_to_tensor(x))\nprint(float(last), len(seen))\n"
    if chance.random() < 0.5:
        return f"{HEAD}seen = []\n\n\ndef update(x):\n{textwrap.indent(body, '    ')}\n\n\n{loop.format('update')}"
    body = re.sub(r"\bw\b", "self.w", body)
    made = "    def __init__(self):\n        self.w = w\n\n"
    method = f"    def update(self, x):\n{textwrap.indent(body, ' ' * 8)}\n\n\ntrainer = Trainer()\n"
    return f"{HEAD}seen = []\n\n\nclass Trainer:\n{made}{method}{loop.format('trainer.update')}"


LEADING = (
    "count += 1",
    "drawn = np.random.normal(size=4).astype('float32')\nx = x + drawn",
    "print('opened', count)\ncount += 1",
    "at_first = count\ndrawn = np.random.uniform(-0.1, 0.1, size=4)\nx = x + drawn.astype('float32') * 0.1",
    "drawn = np.random.uniform(-0.1, 0.1, 4)\nprint(len(seen))\nseen = seen[-20:]",
)
"""Statements at the beginning of the tape: host code, and what follows it."""


def write_leading(seed: int) -> str:
    """A program with host code at the beginning of its tape's block."""
    chance = random.Random(seed)
    before, tape, after = write_program(seed).partition("with tf.GradientTape() as tape:\n")
    indent = " " * (len(before) - len(before.rstrip(" ")) + 4)
    return before + tape + textwrap.indent(chance.choice(LEADING), indent) + "\n" + after


def fixed(text: str, level: str = "speculative") -> tuple[str, int]:
    """The text after `fix`, and how many steps became functions."""
    Path("m.py").write_text(text, encoding="utf-8")
    files = fix(["m.py"], Options(Config(level=level, min_ops=0, jobs=1), use_cache=False)).files
    made = [change for file in files for change in file.changes if change.action.value == "extract_tf_function"]
    return (files[0].new_text if files else text), sum(change.outcome.value == "done" for change in made)


def check(seeds: Iterable[int], write: Callable[[int], str], level: str) -> int:
    """Compares the programs of some seeds; gives how many steps became functions."""
    extracted = 0
    changed: dict[str, tuple[str, str]] = {}
    for seed in seeds:
        text = write(seed)
        after, count = fixed(text, level)
        extracted += count
        if count:
            changed[f"seed {seed}"] = (text, after)

    def ask(asked: dict[str, str]) -> dict[str, str]:
        return {name: difference_of_runs(*changed[name]) for name in asked}

    answers = REGIONS.answers({name: "\n# fixed\n".join(texts) for name, texts in changed.items()}, ask)
    wrong = [f"{name}: {answer}\n{changed[name][1]}" for name, answer in answers.items() if answer != "same"]
    assert not wrong, "\n\n".join(wrong)
    return extracted


@pytest.mark.tensorflow
@pytest.mark.parametrize(
    ("seeds", "write", "level", "fewest"),
    [
        pytest.param(range(8), write_program, "speculative", 3, id="few"),
        pytest.param(range(8, SEEDS), write_program, "speculative", SEEDS // 3, id="many", marks=pytest.mark.slow),
        pytest.param(range(8), write_nested, "speculative", 6, id="step defined in each call"),
        pytest.param(SHIMMED, write_program, "coexec", len(SHIMMED), id="no graph, under the shim"),
        pytest.param(range(6), write_leading, "speculative", 3, id="host code at the beginning of the tape"),
    ],
)
def test_programs_do_the_same(
    seeds: Iterable[int],
    write: Callable[[int], str],
    level: str,
    fewest: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pytest.importorskip("tensorflow")
    monkeypatch.chdir(tmp_path)
    assert check(seeds, write, level) >= fewest
