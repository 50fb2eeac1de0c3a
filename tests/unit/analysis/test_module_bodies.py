"""The body of a module that did the same in the run before is not executed again."""

from __future__ import annotations

import pytest
from analysis_support import FilesByName

from terra_refactor.analysis.driver import AnalysisOptions, analyze_program
from terra_refactor.analysis.dump import format_facts
from terra_refactor.analysis.interpreter import Interpreter
from terra_refactor.analysis.reuse import SummaryStore
from terra_refactor.ir.build.module import lower_module
from terra_refactor.ir.program import ModuleIR, Program
from terra_refactor.syntax.parse import parse_module
from terra_refactor.syntax.source import source_from_text

TEXTS = {
    "a": "import tensorflow as tf\n\n\ndef scale(x, by=2.0):\n    return x * by\n\n\nONES = scale(tf.ones([2, 3]))\n",
    "b": "import tensorflow as tf\nfrom a import ONES, scale\n\n\nclass Layer:\n    size = 4\n    made = scale(ONES)\n\n"
    "    def call(self, x):\n        return scale(x) + self.made\n\n\nlayer = Layer()\nout = layer.call(ONES)\nprint(out)\n",
    "c": "from b import layer, out\n\n\ndef last(x):\n    return layer.call(x)\n\n\nend = last(out)\n",
}


class Runs:
    """States of a program one after the other, each compared with an analysis from nothing."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, texts: dict[str, str]) -> None:
        self.store = SummaryStore()
        self.executed: list[str] = []
        self.texts = dict(texts)
        self.modules: dict[str, ModuleIR] = {}
        original = Interpreter.run_inline

        def run(engine: Interpreter, frame):  # type: ignore[no-untyped-def]
            if engine.adoption is not None and frame.function.qualname == "<module>":
                self.executed.append(frame.function.id.module)
            return original(engine, frame)

        monkeypatch.setattr(Interpreter, "run_inline", run)

    def bodies_after(self, module: str = "", old: str = "", new: str = "") -> list[str]:
        """The modules whose bodies are executed after an edit."""
        if module:
            assert old in self.texts[module]
            self.texts[module] = self.texts[module].replace(old, new)
        for name, text in self.texts.items():
            if name == module or name not in self.modules:
                self.modules[name] = lower_module(parse_module(source_from_text(text, f"{name}.py")), name)
        program = Program(dict(self.modules), FilesByName(frozenset(self.modules)))
        self.executed.clear()
        facts = analyze_program(program, AnalysisOptions(), None, self.store)
        executed = list(self.executed)
        expected = analyze_program(program, AnalysisOptions())
        assert format_facts(program, facts, values=True) == format_facts(program, expected, values=True)
        return executed


def test_the_bodies_of_unchanged_modules_are_not_executed(monkeypatch: pytest.MonkeyPatch) -> None:
    runs = Runs(monkeypatch, TEXTS)
    assert runs.bodies_after() == ["a", "b", "c"]
    assert runs.bodies_after() == []
    # what a function gives its callers is the same
    assert runs.bodies_after("a", "    return x * by", "    unused = 1\n    return x * by") == []
    # an object of its own that no caller sees
    assert runs.bodies_after("a", "    unused = 1", "    unused = [by, {}]") == []
    # the same, for the body of a class
    assert runs.bodies_after("b", "        return scale(x) +", "        print(x)\n        return scale(x) +") == [
        "b",
        "c",
    ]
    assert runs.bodies_after() == []


def test_what_a_body_leaves_determines_which_others_are_executed(monkeypatch: pytest.MonkeyPatch) -> None:
    runs = Runs(monkeypatch, TEXTS)
    runs.bodies_after()
    # it leaves the same, so the next ones begin in the same state
    assert runs.bodies_after("a", "3]))\n", "3]))\nprint(ONES)\n") == ["a"]
    assert runs.bodies_after("a", "tf.ones([2, 3])", "tf.ones([7, 3])") == ["a", "b", "c"]
    assert runs.bodies_after("c", "end = ", "again = last(out)\nend = ") == ["c"]
    assert runs.bodies_after("b", "size = 4", "size = 5") == ["b", "c"]


def test_a_body_that_imports_another_first_is_executed(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = {
        "a": "from b import out\nfirst = out + 1.0\n",
        "b": TEXTS["a"].replace("ONES", "out"),
        "c": "from a import *\n",
    }
    runs = Runs(monkeypatch, texts)
    assert runs.bodies_after() == ["a", "b", "c"]
    # `a` runs `b`, so it has no log; `b` begins as before, and `c` imports all names of another
    assert runs.bodies_after() == ["a", "c"]
    assert runs.bodies_after("b", "by=2.0", "by=3.0") == ["a", "b", "c"]


def test_the_type_of_a_number_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    runs = Runs(monkeypatch, {"a": "import tensorflow as tf\n\n\ndef f():\n    return tf.constant(1.0)\n\n\nx = f()\n"})
    runs.bodies_after()
    assert runs.bodies_after("a", "1.0", "1") == ["a"]
    assert runs.bodies_after("a", "constant(1)", "constant(True)") == ["a"]
    assert runs.bodies_after("a", "constant(True)", "constant(1)") == ["a"]


def test_a_setting_of_floats_above_a_class_is_run_again(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "import tensorflow as tf\n\ntf.keras.backend.set_floatx('float64')\n\n\nclass Scale:\n    by = 2.0\n\n"
    text += "    def call(self, x):\n        return x * self.by\n\n\nout = Scale().call(tf.keras.layers.Dense(3)(tf.ones([2, 2])))\n"
    runs = Runs(monkeypatch, {"a": text})
    assert runs.bodies_after() == ["a"]
    assert runs.bodies_after("a", "by = 2.0", "by = 3.0") == ["a"]
