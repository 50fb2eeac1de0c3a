"""After an edit of a function, callers to which it gives what it gave before are not run again, and all results are those of an analysis
from nothing.

Programs of small functions that call each other are made at random: closures, recursion, attributes, state of modules, containers,
exceptions, effects. Each edit gives a function another body, which may give its callers the same or not.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest
from analysis_support import FilesByName
from running_time import examples

from terra_refactor.analysis import contexts
from terra_refactor.analysis.driver import AnalysisOptions, analyze_program
from terra_refactor.analysis.dump import format_facts
from terra_refactor.analysis.facts import ProgramFacts
from terra_refactor.config import Config
from terra_refactor.ir.build.module import lower_module
from terra_refactor.ir.program import ModuleIR, Program
from terra_refactor.syntax.parse import parse_module
from terra_refactor.syntax.source import source_from_text
from terra_refactor.workspace.judgement import RepeatedJudge, judge_facts

FUNCTIONS = 9
EDITS = 25
BODIES = (
    "return {call} + 1",
    "return {call} + 2",
    "return {call} * 1.5",
    "y = {call}\n    return y",
    "y = {call}\n    z = {other}\n    return y",
    "print(x)\n    return {call}",
    "print('other', x)\n    return {call}",
    "items = [x]\n    items.append({call})\n    return items[0]",
    "items = {{'a': {call}}}\n    return items['a']",
    "def inner(z):\n        return z if z is None else {other}\n    return inner({call})",
    "count = 0\n    def inner(z):\n        nonlocal count\n        count += 1\n        return z\n    return inner({call})",
    "return (lambda z: {call})(x)",
    "box = Box({call})\n    box.set({other})\n    return box.get()",
    "STATE.last = {call}\n    return x",
    "STATE.last = x\n    return {call}",
    "return STATE.last",
    "STATE.items.append({call})\n    return {other}",
    "return STATE.items[0] if STATE.items else {call}",
    "global COUNT\n    COUNT = COUNT + 1\n    return {call}",
    "return COUNT",
    "return {call} if x is None else {other}",
    "if tf.reduce_sum(x) > 0:\n        return {call}\n    return {other}",
    "raise ValueError(x)",
    "try:\n        return {call}\n    except ValueError:\n        return {other}",
    "return [{call} for each in (1, 2)][0]",
    "for each in range(3):\n        x = {call}\n    return x",
    "return {itself}(None) if x is not None else {call}",
    "return {itself}({call}) if COUNT > 3 else {other}",
    "return sum(map({name}, [x, x]))",
    "return {name}",
    "return tf.function({name})(x)",
    "return tf.zeros([3, 2]) @ tf.zeros([4, 5]) if x is None else {call}",
    "return Box",
    "return other.extra({call})",
    "return other.TABLE.get('a', {call})",
    "Box.level = {call}\n    return x",
    "Other.level = x\n    return {call}",
    "return Box.level if x is None else STATE.level",
    "other.LEVEL = {call}\n    return other.LEVEL",
    "other.TABLE = {{'b': x}}\n    return {call}",
    "return other.LEVEL",
    "other.Shared.kept = {call}\n    return x",
    "return other.Shared.kept",
    "setattr(Box, x, {call})\n    return {other}",
)
METHODS = (
    "return self.value",
    "return self.count",
    "print(self.value)\n        return self.value",
    "self.count += 1\n        return self.value",
    "first = self.value\n        return first",
    "return f8(self.value)",
    "return f7(None) if self.count else self.value",
    "return getattr(self, 'value', COUNT)",
    "return self",
)
HEAD = """\
import tensorflow as tf
import other

COUNT = 0

class Box:
    level = 0

    def __init__(self, value):
        self.value = value
        self.count = 0

    def get(self):
        {get}

    def set(self, value):
        self.count += 1
        self.value = value

class Other(Box):
    def get(self):
        {inherited}

STATE = Other(None)
STATE.last = None
STATE.items = []
"""
OTHER = """\
import tensorflow as tf

TABLE = {'a': 1}
LEVEL = 2

class Shared:
    kept = None

def extra(x):
    return tf.cast(x, tf.float32)
"""


def body(number: int, choose: random.Random) -> str:
    """A body of the function of that number. It calls functions behind it, now and then itself or one before it."""
    if number == FUNCTIONS:
        return choose.choice(METHODS)
    if number > FUNCTIONS:
        return choose.choice((*METHODS, "return super().get()", "return super().get() + 1"))
    template = choose.choice(BODIES)

    def call(argument: str) -> str:
        behind = range(number + 1, FUNCTIONS)
        if choose.random() < 0.05:
            return f"f{choose.randrange(FUNCTIONS)}({argument})"
        return (
            f"f{choose.choice(behind)}({argument})" if behind else choose.choice((f"tf.identity({argument})", "None"))
        )

    name = f"f{choose.randrange(number, FUNCTIONS)}"
    return template.format(
        call=call("x"), other=call(choose.choice(("x", "1", "None"))), itself=f"f{number}", name=name
    )


def text_of(bodies: Sequence[str]) -> str:
    functions = "".join(f"\ndef f{number}(x):\n    {inner}\n" for number, inner in enumerate(bodies[:FUNCTIONS]))
    head = HEAD.format(get=bodies[FUNCTIONS], inherited=bodies[FUNCTIONS + 1])
    return f"{head}{functions}\nf0(tf.ones([2]))\n\ndef test_numbers():\n    f1(3)\n    f2(None)\n"


def program_of(text: str) -> Program:
    modules: dict[str, ModuleIR] = {
        name: lower_module(parse_module(source_from_text(code, f"{name}.py")), name)
        for name, code in {"main": text, "other": OTHER}.items()
    }
    return Program(modules, FilesByName(frozenset(modules)))


def compared(judge: RepeatedJudge, text: str) -> ProgramFacts:
    """The facts of a program that was edited, which must be those of an analysis from nothing, as must all that follows from them."""
    state = program_of(text)
    facts, decisions, findings = judge.judge(state, Config(), None)
    again = analyze_program(state, AnalysisOptions())
    assert format_facts(state, facts, values=True) == format_facts(state, again, values=True), text
    assert (decisions, findings) == judge_facts(state, again, Config()), text
    return facts


@pytest.mark.parametrize(
    "seed", [pytest.param(seed, marks=[pytest.mark.slow] if seed > 2 else []) for seed in range(examples(5, 24))]
)
def test_edits_give_what_an_analysis_from_nothing_gives(seed: int) -> None:
    edited_at_random(seed)


@pytest.mark.parametrize(
    "seed",
    [pytest.param(seed, marks=[pytest.mark.slow] if seed > 101 else []) for seed in range(100, examples(104, 116))],
)
def test_so_do_edits_where_calls_are_joined_and_refused(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contexts, "MAX_TOLD_APART", 1)
    monkeypatch.setattr(contexts, "MAX_CONTEXTS", 2)
    monkeypatch.setattr(contexts, "MAX_OPERATIONS", 0)
    edited_at_random(seed)


def edited_at_random(seed: int) -> None:
    choose = random.Random(seed)
    bodies = [body(number, choose) for number in range(FUNCTIONS + 2)]
    judge = RepeatedJudge()
    compared(judge, text_of(bodies))
    for _ in range(EDITS):
        number = choose.randrange(FUNCTIONS + 2)
        bodies[number] = body(number, choose)
        compared(judge, text_of(bodies))


def test_a_function_that_writes_an_attribute_of_a_class_does_not_end_the_reuse() -> None:
    judge = RepeatedJudge()
    writing = CALLED.replace("self.steps += 1", "self.steps += 1\n        Net.scaled = True")
    writing = writing.replace("class Net:", "class Net:\n    scaled = False\n")
    assert writing != CALLED
    facts = compared(judge, writing)
    compared(judge, writing)
    assert judge.kept_contexts > len(facts.contexts) // 2
    compared(judge, writing.replace("return x * 2", "return x * 3"))
    assert judge.kept_contexts > len(facts.contexts) // 3


CALLED = """\
import tensorflow as tf

class Net:
    def __init__(self, size):
        self.size = size
        self.steps = 0

    def scale(self, x):
        self.steps += 1
        return x * self.size

    def depth(self, tree):
        return self.depth(tree.left) if tree else 0

def leaf(x):
    return x + 1

def shown(x):
    return x * 2

def wrapped(x):
    def inner(z):
        return leaf(z) + x
    return inner(x)

def middle(net, x):
    return wrapped(net.scale(x)) + shown(x) + net.depth(x)

def top(x):
    net = Net(3)
    return middle(net, x), net.steps

def test_it():
    top(tf.ones([2]))
    top(tf.ones([3, 4]))
    top(tf.zeros([2], tf.float64))
"""


@pytest.mark.parametrize(
    ("function", "before", "after"),
    [
        ("leaf", "return x + 1", "return x + 2"),
        ("leaf", "return x + 1", "y = x\n    y = 1 + y\n    return y"),
        ("Net.scale", "return x * self.size", "return self.size * x"),
        ("Net.scale", "self.steps += 1", "y = 3\n        y = y + 1\n        self.steps += 1"),
        ("wrapped.<locals>.inner", "return leaf(z) + x", "y = z\n        return leaf(y) + x"),
        ("top", "net = Net(3)", "number = 3\n    net = Net(number)"),
        ("shown", "return x * 2", "y = 2\n    return y * x"),
    ],
)
def test_callers_of_what_gives_the_same_are_not_run_again(function: str, before: str, after: str) -> None:
    judge = RepeatedJudge()
    compared(judge, CALLED)
    compared(judge, CALLED)
    unchanged = judge.kept_contexts
    edited = CALLED.replace(before, after)
    assert edited != CALLED
    facts = compared(judge, edited)
    state = program_of(edited)
    own = [context for context in facts.contexts if state.function(context.function).qualname == function]
    assert own
    assert judge.kept_contexts == unchanged - len(own)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("return x * 2", "print(x)\n    return x * 2"),
        ("return x * 2", "raise ValueError"),
        ("return x * 2", "return 'text'"),
        ("self.steps += 1", "self.steps += 1\n        self.size = x"),
        ("self.steps += 1", "pass"),
        ("self.depth(tree.left) if tree else 0", "self.depth(tree.left) if tree else self.steps"),
        ("return leaf(z) + x", "return middle(Net(x), z)"),
    ],
)
def test_callers_of_what_gives_something_else_are_run_again(before: str, after: str) -> None:
    judge = RepeatedJudge()
    compared(judge, CALLED)
    compared(judge, CALLED)
    unchanged = judge.kept_contexts
    compared(judge, CALLED.replace(before, after))
    assert judge.kept_contexts < unchanged - 3
    compared(judge, CALLED)


def test_the_same_program_again_is_taken_over_whole() -> None:
    """With deep recursions, whose arguments are widened, and with more calls than are told apart."""
    calls = "".join(f"    walked({number}, [])\n    many({number}, {number})\n" for number in range(20))
    text = (
        "def walked(n, seen):\n    if n in seen:\n        return walked(n - 1, seen + [n])\n"
        "    return walked([n], seen)\n\n"
        "def many(n, m):\n    return other_of(n) if m else many(n + 1, [m])\n\n"
        f"def other_of(n):\n    return [n]\n\ndef test_all():\n{calls}"
    )
    judge = RepeatedJudge()
    compared(judge, text)
    compared(judge, text)
    kept = judge.kept_contexts
    assert judge.has_much_that_is_new is False
    compared(judge, text.replace("return [n]", "return [n] * 1"))
    compared(judge, text)
    compared(judge, text)
    assert judge.kept_contexts == kept
