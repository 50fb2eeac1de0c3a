"""Random functions in which a value flows along paths: branches, loops, `continue`, `break`, early `return`, unbound
names.

Computes: the text of a function from a seed, always the same. Gives: `write_function`, `module_of`, `Program`. Each
function takes `x` (float32, three elements), `k` (an int32 scalar), `flag` and `n` (Python's), and has one or two
variables of a `Theme`: two values between which a graph may not be able to choose, and a way to read them. Loops end:
each has its own counter.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Theme:
    """The content of a variable, and how it is read."""

    name: str
    values: tuple[str, ...]
    uses: tuple[str, ...]
    """Statements that read it, with `{v}` for the variable."""
    changes: tuple[str, ...] = ()
    """Statements that compute it from its old value."""


_ADD: Final = "x = x + {v}"
_CAST: Final = "x = x + tf.cast({v}, tf.float32)"
THEMES: Final = (
    Theme(
        "dtype",
        ("k", "k + 1", "tf.reduce_sum(x)", "tf.constant(2)", "k / 2"),
        (_CAST,),
        ("{v} = {v} / 2", "{v} = {v} * 2"),
    ),
    Theme("int and float", ("1", "0.5", "2"), (_ADD, "x = x * {v}"), ("{v} = {v} + 1", "{v} = {v} / 2")),
    Theme(
        "number and tensor",
        ("1.0", "tf.reduce_sum(x)", "2", "0.0"),
        (_ADD,),
        ("{v} = {v} + 1.0", "{v} = {v} + tf.reduce_max(x)"),
    ),
    Theme(
        "None",
        ("None", "tf.reduce_sum(x)", "tf.zeros([])"),
        ("if {v} is not None:\n    x = x + {v}", "x = x + (0.0 if {v} is None else {v})"),
    ),
    Theme("None or number", ("None", "1.0"), ("if {v} is not None:\n    x = x + {v}",)),
    Theme("structure", ("(x, x)", "x", "(x, x, x)"), ("x = x + tf.reduce_sum({v})", "x = x + {v}[0]")),
    Theme("list", ("[x]", "[x, x]", "(x,)"), ("x = x + tf.reduce_sum(tf.stack({v}))", "x = x + {v}[0]")),
    Theme("appended", ("[x]", "[]"), ("x = x + len({v})", "x = x + sum({v})"), ("{v}.append(x * 0.5)",)),
    Theme(
        "shape",
        ("x", "tf.concat([x, x], 0)", "x[:1]", "tf.reduce_sum(x)"),
        ("x = x + tf.reduce_sum({v})",),
        ("{v} = tf.concat([{v}, x], 0)",),
    ),
    Theme("function", ("half", "twice", "tf.tanh"), ("x = {v}(x)",)),
    Theme(
        "text",
        ("'plus'", "'minus'"),
        ("x = x + (1.0 if {v} == 'plus' else -1.0)", "if {v} == 'plus':\n    x = x + 1.0"),
    ),
    Theme("Python bool", ("True", "False"), ("if {v}:\n    x = x + 1.0", "x = x * (0.5 if {v} else 2.0)")),
    Theme("tensor", ("x", "x * 0.5", "tf.tanh(x)"), (_ADD,), ("{v} = {v} * 0.5",)),
    Theme("scalar", ("tf.reduce_sum(x)", "tf.constant(1.0)"), (_ADD,), ("{v} = {v} * 0.5",)),
)
_TENSOR_TESTS: Final = ("tf.reduce_sum(x) > 0.0", "x[0] < x[1]", "k > 2", "tf.reduce_max(x) > 2.0")
_PYTHON_TESTS: Final = ("flag", "not flag", "n > 1", "flag and n > 1")
_PARAMETERS: Final = "x, k, flag, n"
ARGUMENTS: Final = (
    ("[0.5, -1.0, 2.0]", "2", "True", "2"),
    ("[-1.0, -2.0, -0.5]", "7", "False", "3"),
    ("[3.0, 4.0, 5.0]", "0", "True", "3"),
    ("[-3.0, 1.0, 1.5]", "3", "False", "1"),
)
"""The arguments of each function."""
HEAD: Final = """\
import os

import tensorflow as tf

FLAG = "FLAG" in os.environ


def half(x):
    return x * 0.5


def twice(x):
    return x * 2.0


"""


@dataclass(frozen=True, slots=True)
class Program:
    """One function: its name, its text, its components."""

    name: str
    text: str
    constructs: frozenset[str]
    known_flag: bool
    """The analyser sees the values of `flag`; otherwise it is any bool."""
    head: str = HEAD
    """The text of its module before it."""


class _Writer:
    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.themes = {"v": self.random.choice(THEMES)}
        if self.random.random() < 0.25:
            self.themes["w"] = self.random.choice(THEMES)
        self.lines: list[str] = []
        self.constructs = {theme.name for theme in self.themes.values()}
        self.counters = 0
        self.budget = self.random.randint(3, 9)
        self.only_flag = self.random.random() < 0.15
        self.returns = self.random.choice(("x", "x", "x", "tensor", "v", "mixed"))

    def function(self, name: str) -> str:
        initial = [each for each in self.themes if self.random.random() < 0.75]
        for each in initial:
            self.line(0, f"{each} = {self.random.choice(self.themes[each].values)}")
        if len(initial) < len(self.themes):
            self.constructs.add("unbound")
        while self.budget > 0:
            self.statement(0, loop=None)
        for each, theme in self.themes.items():
            if not any(line.strip().startswith(f"{each} = ") for line in self.lines):
                # a name without a binding is a global
                self.lines.insert(0, f"    {each} = {theme.values[0]}")
        if self.random.random() < 0.4:
            self.use(0)
        if self.random.random() < 0.95:
            self.line(0, f"return {self.result()}")
        else:
            self.constructs.add("no return")
        return "\n".join([f"def {name}({_PARAMETERS}):", *self.lines])

    def line(self, depth: int, text: str) -> None:
        self.lines.extend("    " * (depth + 1) + each for each in text.split("\n"))

    def block(self, depth: int, loop: str | None) -> None:
        before = len(self.lines)
        for _ in range(self.random.choice((1, 1, 2, 2, 3))):
            if self.leaves(self.lines[-1]) and len(self.lines) > before:
                return
            self.statement(depth, loop)

    @staticmethod
    def leaves(line: str) -> bool:
        return line.strip().split(" ")[0] in ("return", "break", "continue", "raise")

    def statement(self, depth: int, loop: str | None) -> None:
        self.budget -= 1
        draw = self.random.random()
        if depth < 3 and self.budget > 0 and draw < 0.42:
            self.compound(depth, loop)
        elif draw < 0.62:
            self.store(depth)
        elif draw < 0.72:
            self.use(depth)
        elif loop is not None and draw < 0.82 and depth > 1:
            word = self.random.choice(("continue", "break"))
            self.constructs.add(word)
            self.line(depth, word)
        elif depth > 0 and draw < 0.89:
            self.constructs.add("return in loop" if loop is not None else "early return")
            self.line(depth, f"return {self.result()}")
        else:
            self.line(depth, self.random.choice(("x = x * 0.5 + 1.0", "x = tf.tanh(x)", "x = x - tf.reduce_mean(x)")))

    def store(self, depth: int) -> None:
        each = self.random.choice(list(self.themes))
        theme = self.themes[each]
        if theme.changes and self.random.random() < 0.3:
            self.line(depth, self.random.choice(theme.changes).format(v=each))
        else:
            self.line(depth, f"{each} = {self.random.choice(theme.values)}")

    def use(self, depth: int) -> None:
        each = self.random.choice(list(self.themes))
        text = self.random.choice(self.themes[each].uses).format(v=each)
        if self.random.random() < 0.3:
            inner = text.replace("\n", "\n    ")
            text = f"if {self.random.choice(_PYTHON_TESTS)}:\n    {inner}"
            self.constructs.add("read under a flag")
        self.line(depth, text)

    def test(self) -> str:
        if self.random.random() < 0.55:
            self.constructs.add("tensor if")
            return self.random.choice(_TENSOR_TESTS)
        self.constructs.add("Python if")
        return self.random.choice(_PYTHON_TESTS)

    def compound(self, depth: int, loop: str | None) -> None:
        draw = self.random.random()
        if draw < 0.58:
            test = self.test()
            if loop is not None and loop.startswith("i") and self.random.random() < 0.25:
                test = f"{loop} == 1"
            self.line(depth, f"if {test}:")
            self.block(depth + 1, loop)
            if self.random.random() < 0.25:
                self.constructs.add("elif")
                self.line(depth, f"elif {self.test()}:")
                self.block(depth + 1, loop)
            if self.random.random() < 0.55:
                self.line(depth, "else:")
                self.block(depth + 1, loop)
        elif draw < 0.78:
            self.counters += 1
            target, kind = (
                f"i{self.counters}",
                self.random.choice(("range(3)", "range(n)", "x", "tf.range(3)", "range(k)")),
            )
            self.constructs.add("Python for" if kind in ("range(3)", "range(n)") else "tensor for")
            self.line(depth, f"for {target} in {kind}:")
            self.block(depth + 1, target)
        elif draw < 0.95:
            self.counters += 1
            counter = f"c{self.counters}"
            kind = self.random.choice(("python", "tensor", "true", "both"))
            self.constructs.add({"python": "Python while", "true": "while True"}.get(kind, "tensor while"))
            self.line(depth, f"{counter} = {'tf.constant(0)' if kind == 'tensor' else '0'}")
            test = {"true": "True", "both": f"{counter} < 3 and tf.reduce_sum(x) < 50.0"}.get(kind, f"{counter} < 3")
            self.line(depth, f"while {test}:")
            self.line(depth + 1, f"{counter} = {counter} + 1")
            if kind == "true":
                self.line(depth + 1, f"if {counter} > 3:\n    break")
            self.block(depth + 1, counter)
        else:
            self.constructs.add("try")
            self.line(depth, "try:")
            self.block(depth + 1, loop)
            self.line(depth, "except ValueError:")
            self.line(depth + 1, "x = x * 0.0")

    def result(self) -> str:
        each = self.random.choice(list(self.themes))
        if self.returns == "mixed":
            return self.random.choice(("x", "x * 2.0", each, f"(x, {each})", "None", "tf.reduce_sum(x)"))
        return {"x": "x", "tensor": self.random.choice(("x * 2.0", "x", "tf.tanh(x)")), "v": each}[self.returns]


def write_function(seed: int) -> Program:
    """The function of a seed."""
    writer = _Writer(seed)
    name = f"f{seed}"
    text = writer.function(name)
    return Program(name, text, frozenset(writer.constructs), writer.random.random() < 0.6)


def themes_of(seed: int) -> dict[str, Theme]:
    """The themes of the variables of that function."""
    return _Writer(seed).themes


def module_of(programs: list[Program]) -> str:
    """A module with these functions, and calls with their arguments."""
    calls = []
    for program in programs:
        for x, k, flag, n in ARGUMENTS:
            calls.append(
                f"    {program.name}(tf.constant({x}), tf.constant({k}), {flag if program.known_flag else 'FLAG'}, {n})"
            )
    bodies = "\n\n\n".join(program.text for program in programs)
    return f"{programs[0].head}{bodies}\n\n\nif __name__ == '__main__':\n" + "\n".join(calls) + "\n"
