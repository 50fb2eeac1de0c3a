"""The analysis after an edit gives the same as an analysis from nothing.

Programs of the corpus are edited at random (numbers, names, lines more and less), and after each edit that leaves Python the facts of every
operation, the decisions and the findings are compared.
"""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest
from analysis_support import FilesByName

from terra_refactor.analysis.driver import AnalysisOptions, analyze_program
from terra_refactor.analysis.dump import format_facts
from terra_refactor.config import Config
from terra_refactor.errors import SourceError
from terra_refactor.ir.build.module import lower_module
from terra_refactor.ir.build.relower import relower
from terra_refactor.ir.program import ModuleIR, Program
from terra_refactor.syntax.parse import parse_module
from terra_refactor.syntax.source import source_from_text
from terra_refactor.workspace.judgement import RepeatedJudge, judge_facts

PROGRAMS = Path(__file__).parents[2] / "corpus" / "programs"
NAMES = ("vae", "graph_network", "seq2seq", "wgan_gp", "transformer", "policy_gradient")
EDITS = 10
DEFINITIONS = (
    "def extra(x): return x + 1",
    "class Extra:\n    def call(self, x): return lambda: x",
    "extra = lambda x: x * 2",
)
LINES = ("print('x')", "x = 1", "x = tf.zeros([2, 3])", "items = [1, 2]", "raise ValueError", "pass")


def edited(text: str, choose: random.Random) -> str:
    """A number or a name changed, a line more or less, a comment, or a definition more or less at the module's level."""
    lines = text.split("\n")
    at = choose.choice([number for number, line in enumerate(lines) if line.strip()])
    line = lines[at]
    pattern = r"\b\d+(?:\.\d+)?\b" if choose.random() < 0.5 else r"\b[a-z_]{1,12}\b"
    found = list(re.finditer(pattern, line))
    kind = choose.randrange(8)
    if kind < 3 and found:
        place = choose.choice(found)
        new = choose.choice(["0", "1", "7", "2.5"]) if pattern[2] == "\\" else choose.choice(re.findall(pattern, text))
        lines[at] = line[: place.start()] + new + line[place.end() :]
    elif kind == 3:
        del lines[at]
    elif kind == 4:
        lines[at] = line + "  # a comment"
    elif kind in (5, 6):
        starts = [number for number, line in enumerate(lines) if re.match(r"(def|class|@|[a-zA-Z_])", line)]
        at = choose.choice(starts)
        if kind == 5:
            lines[at:at] = choose.choice(DEFINITIONS).split("\n")
        else:
            del lines[at : next((start for start in starts if start > at), len(lines))]
    else:
        indent = line[: len(line) - len(line.lstrip())]
        lines.insert(at, indent + choose.choice(LINES))
    return "\n".join(lines)


def lowered(text: str, name: str, before: tuple[ModuleIR, str] | None) -> ModuleIR | None:
    """The lowered text, as a session makes it; None if it is no Python."""
    source = source_from_text(text, f"{name}.py")
    again = None if before is None else relower(*before, source)
    try:
        return again or lower_module(parse_module(source), name)
    except SourceError:
        return None


@pytest.mark.parametrize("program", NAMES)
def test_an_edit_gives_what_an_analysis_from_nothing_gives(program: str) -> None:
    choose = random.Random(program)
    texts = {path.stem: path.read_text(encoding="utf-8") for path in sorted((PROGRAMS / program).glob("*.py"))}
    modules: dict[str, ModuleIR] = {}
    for name, text in texts.items():
        module = lowered(text, name, None)
        assert module is not None
        modules[name] = module
    judge, partly = RepeatedJudge(), random.Random(f"{program}, partly")
    kept = made = 0
    for number in range(EDITS):
        state = Program(dict(modules), FilesByName(frozenset(modules)))
        again = analyze_program(state, AnalysisOptions())
        expected = judge_facts(state, again, Config())
        if number % 3 == 1:  # only some decisions are asked for, and the next state goes on from there
            names = {(each.path, each.qualname.rpartition(".")[2]) for each in expected[0] if partly.random() < 0.3}
            wanted = [each for each in expected[0] if (each.path, each.qualname.rpartition(".")[2]) in names]
            assert judge.decided_about(state, Config(), names) == tuple(wanted)
        else:
            facts, decisions, findings = judge.judge(state, Config(), None)
            assert format_facts(state, facts, values=True) == format_facts(state, again, values=True)
            assert (decisions, findings) == expected
            assert (facts.missing_rules, facts.rounds) == (again.missing_rules, again.rounds)
        kept, made = kept + judge.kept_contexts, made + len(again.contexts)
        name = choose.choice(sorted(texts))
        text = edited(texts[name], choose)
        module = lowered(text, name, (modules[name], texts[name]))
        if module is not None:
            texts[name], modules[name] = text, module
    assert kept > made / 10, "hardly anything was kept: the test compares one analysis with itself"


def test_the_dtype_of_floats_may_be_set_by_one_of_several_modules() -> None:
    """Results from before and after `set_floatx` are kept, each for its dtype."""
    texts = {
        "model": "import tensorflow as tf\n\ndef weights(n):\n    return tf.keras.layers.Dense(n)\n\n"
        "def used(x):\n    return weights(3)(x)\n",
        "script": "import tensorflow as tf\nfrom model import used\n\nused(tf.ones([2, 2]))\n"
        "tf.keras.backend.set_floatx('float64')\nused(tf.ones([2, 2]))\n\ndef other(x):\n    return x + 1\n",
    }
    modules = {name: module for name, text in texts.items() if (module := lowered(text, name, None)) is not None}
    judge = RepeatedJudge()
    judge.judge(Program(dict(modules), FilesByName(frozenset(modules))), Config(), None)
    changed = lowered(texts["script"] + "\nother(1)\n", "script", None)
    assert changed is not None
    state = Program({**modules, "script": changed}, FilesByName(frozenset(modules)))
    facts, decisions, findings = judge.judge(state, Config(), None)
    again = analyze_program(state, AnalysisOptions())
    assert format_facts(state, facts, values=True) == format_facts(state, again, values=True)
    assert (decisions, findings) == judge_facts(state, again, Config())
    assert judge.kept_contexts >= 3
