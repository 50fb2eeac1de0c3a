"""What is asked about a whole program: found from what calls a function and what writes an attribute, and found again after an edit of
another file that changes it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from analysis_support import FilesByName, analyze_text

from terra_refactor.analysis.driver import AnalysisOptions, analyze_program
from terra_refactor.analysis.facts import ProgramFacts
from terra_refactor.classify.hazards import _OF_PROGRAM, HazardMap
from terra_refactor.config import Config
from terra_refactor.facts.codes import Codes
from terra_refactor.facts.view import ContextView
from terra_refactor.facts.watch import Watch
from terra_refactor.facts.whole_program import with_all_callers
from terra_refactor.ir.build.module import lower_module
from terra_refactor.ir.ids import FunctionId
from terra_refactor.ir.program import ModuleIR, Program
from terra_refactor.rules.misuse.one_optimizer_many_models import RULE as MANY_MODELS
from terra_refactor.rules.misuse.variable_created_in_graph import RULE as VARIABLE_CREATED
from terra_refactor.rules.registry import local_hazards
from terra_refactor.rules.rule import LocalHazard, Rule
from terra_refactor.syntax.parse import parse_module
from terra_refactor.syntax.source import source_from_text
from terra_refactor.tf_model.registry import has_trait
from terra_refactor.tf_model.spec import Trait
from terra_refactor.workspace.judgement import RepeatedJudge, judge_facts

CALLS = """
def leaf(x):
    return x

def one(x):
    return leaf(x) if x else leaf("text")

def even(n):
    return leaf(n) if n == 0 else odd(n - 1)

def odd(n):
    return even(n - 1)

class Thing:
    def method(self):
        return one(self) + one(2.0)

def alone():
    return 3

Thing().method()
even(7)
alone()
"""


def test_callers_are_those_that_calls_lead_to() -> None:
    facts = analyze_text(CALLS).facts
    for function in facts.functions.values():
        for start in function.contexts:
            expected, size = {start}, 0
            while len(expected) > size:
                size = len(expected)
                expected |= {
                    context.id
                    for context in facts.contexts
                    if any(not expected.isdisjoint(call.callees) for call in context.calls)
                }
            assert with_all_callers(facts, [start]) == expected
    leaves = next(each.contexts for each in facts.functions.values() if len(each.contexts) > 2)
    assert len(with_all_callers(facts, leaves)) > len(leaves) + 3, "the program has calls of calls"


def test_contexts_lead_to_what_they_or_their_callees_call() -> None:
    facts = analyze_text(CALLS + "\nprint(next(iter([1])))\ndef last(n):\n    return even(max(n, 2))\nlast(3)\n").facts
    seen = set()
    for name in sorted(facts.library_functions()):
        for start in facts.contexts:
            reached, size = {start.id}, 0
            while len(reached) > size:
                size = len(reached)
                reached |= {
                    callee for number in reached for call in facts.contexts[number].calls for callee in call.callees
                }
            expected = any(name in call.library for number in reached for call in facts.contexts[number].calls)
            assert facts.leads_to(start.id, name) is expected
            seen.add(expected)
    assert seen == {True, False}
    assert not facts.leads_to(next(iter(facts.contexts)).id, "tensorflow.tanh")


def test_contexts_lead_to_library_functions_with_a_trait() -> None:
    facts = analyze_text(
        CALLS + "\nimport tensorflow as tf\ndef last(n):\n    return [even(n), tf.io.read_file('x')]\nlast(3)\n"
    ).facts
    reading = [name for name in facts.library_functions() if has_trait(name, Trait.READS_FILE)]
    assert reading
    answers = {context.id: facts.leads_to(context.id, Trait.READS_FILE) for context in facts.contexts}
    assert answers == {number: any(facts.leads_to(number, name) for name in reading) for number in answers}
    assert set(answers.values()) == {True, False}
    assert not any(facts.leads_to(number, Trait.HOST_CALLBACK) for number in answers)


def test_calling_functions_are_those_of_the_callers() -> None:
    facts = analyze_text(CALLS).facts
    found = {function: set(facts.calling(function)) for function in facts.functions}
    assert found == {
        function: {facts.function_of(caller.context) for caller in each.callers}
        for function, each in facts.functions.items()
    }
    assert any(len(calling) > 1 for calling in found.values())


def module(name: str, text: str) -> ModuleIR:
    return lower_module(parse_module(source_from_text(text, f"{name}.py")), name)


STEP = """
import keras
import tensorflow as tf

layer = keras.layers.Dense(2)
layer.build([None, 3])
optimizer = keras.optimizers.Adam(0.1)

def count(x):
    return tf.reduce_sum(x) * float(len(layer.trainable_variables))

def step(model, x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(model(x)))
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    return loss

def smart(f):
    return f

@smart
def converted(x):
    for _ in range(10):
        x = tf.tanh(x) * 0.5
    return x
"""
OTHER = """
import keras
import tensorflow as tf
from step import converted, count, layer, optimizer, step

first = keras.Sequential([keras.Input([3]), keras.layers.Dense(1)])
second = keras.Sequential([keras.Input([3]), keras.layers.Dense(1)])
for _ in range(300):
    step(first, tf.ones([2, 3]))
    step(second, tf.ones([2, 3]))
    count(tf.ones([3]))
    print(converted(tf.ones([3])))
{rest}
"""


def freezes(result: object) -> bool:
    return "trainable_variables` does not change" in repr(result)


def gives_up(result: object) -> bool:
    return MANY_MODELS.id in repr(result)


def is_converted(result: object) -> bool:
    return "converts it with AutoGraph" in repr(result)


@pytest.mark.parametrize(
    ("added", "shows"),
    [
        ("    layer.trainable = False\n", freezes),
        ("optimizer.build(first.trainable_variables)\n", gives_up),
        ("def smart(f):\n    return tf.autograph.to_graph(f)\n\nsmart(lambda x: x)\n", is_converted),
    ],
)
def test_an_edit_of_another_file_is_seen(added: str, shows: Callable[[object], bool]) -> None:
    step, judge = module("step", STEP), RepeatedJudge()
    seen: list[bool] = []
    for rest in ("", added, ""):
        modules = {"step": step, "other": module("other", OTHER.format(rest=rest))}
        state = Program(modules, FilesByName(frozenset(modules)))
        _, decisions, findings = judge.judge(state, Config(), None)
        assert (decisions, findings) == judge_facts(state, analyze_program(state, AnalysisOptions()), Config())
        seen.append(shows((decisions, findings)))
    assert seen[0] is seen[2] is not seen[1], "the edit changes nothing: the test compares nothing"


HELPER = """
def following(iterator):
    return {following}
"""
READER = """
import tensorflow as tf
from helper import following

def first(iterator):
    return following(iterator)

def run():
    iterator = iter(tf.data.Dataset.range(3))
    try:
        return first(iterator)
    except StopIteration:
        return None

run()
"""


def test_a_call_in_another_file_that_asks_for_an_element_is_seen() -> None:
    reader, judge = module("reader", READER), RepeatedJudge()
    seen: list[bool] = []
    for following in ("iterator", "next(iterator)", "iterator"):
        modules = {"reader": reader, "helper": module("helper", HELPER.format(following=following))}
        state = Program(modules, FilesByName(frozenset(modules)))
        _, decisions, findings = judge.judge(state, Config(), None)
        assert (decisions, findings) == judge_facts(state, analyze_program(state, AnalysisOptions()), Config())
        seen.append("catches the `StopIteration` of" in repr(decisions))
    assert seen == [False, True, False]


LOGGED = """
import tensorflow as tf

def logged(x):
    {body}
    return x
"""
LOGS = """
import tensorflow as tf
from logged import logged

def step(x):
    y = logged(x)
    return tf.io.read_file("log.txt"), y

step(tf.ones([2]))
"""


def test_a_file_that_another_file_begins_to_write_is_seen() -> None:
    logs, judge = module("logs", LOGS), RepeatedJudge()
    seen: list[bool] = []
    for inner in ("pass", "tf.io.write_file('log.txt', tf.strings.as_string(x))", "pass"):
        modules = {"logs": logs, "logged": module("logged", LOGGED.format(body=inner))}
        state = Program(modules, FilesByName(frozenset(modules)))
        _, decisions, findings = judge.judge(state, Config(), None)
        assert (decisions, findings) == judge_facts(state, analyze_program(state, AnalysisOptions()), Config())
        seen.append("keeps no order between the two" in repr(decisions))
    assert seen == [False, True, False]


TAPED = """
import tensorflow as tf

v, w = tf.Variable([1.0, 2.0]), tf.Variable([3.0, 4.0])

def chosen(flag):
    return v * 2.0 if tf.reduce_sum(flag) > 0.0 else w * 2.0
"""
ASKS = """
import tensorflow as tf
from taped import chosen, v

def run(flag):
    with tf.GradientTape() as tape:
        y = tf.reduce_sum(chosen(flag))
    {asks}
    return y

run(tf.ones([2]))
"""


def test_a_caller_that_begins_to_ask_for_a_gradient_is_seen() -> None:
    taped, judge = module("taped", TAPED), RepeatedJudge()
    seen: list[bool] = []
    for asks in ("pass", "print(tape.gradient(y, v) is None)", "pass"):
        modules = {"taped": taped, "asks": module("asks", ASKS.format(asks=asks))}
        state = Program(modules, FilesByName(frozenset(modules)))
        _, decisions, findings = judge.judge(state, Config(), None)
        assert (decisions, findings) == judge_facts(state, analyze_program(state, AnalysisOptions()), Config())
        seen.append("of a caller depends on variables" in repr((decisions, findings)))
    assert seen == [False, True, False]


FAR = """
import tensorflow as tf

class Scale:
    def __init__(self, by):
        self.by = by

    def __call__(self, x):
        return x * self.by

@tf.function
def norm(x, power=2):
    if power == 2:
        return tf.sqrt(tf.reduce_sum(x * x))
    return tf.reduce_sum(x)

print(norm(tf.ones([3])), norm(tf.ones([3]), 3.0), Scale(2.0)(tf.ones([2])))
"""
NEAR = """
import tensorflow as tf
import far

def there(x, tape, optimizer):
    x.trainable = True
    tf.debugging.assert_positive(x)
    tf.io.write_file("name", "text")
    return tape.gradient(x, x.by), x.watched_variables()

there(tf.Variable(1.0), None, None)
"""
EDITED = (
    "def step(x):\n    with tf.GradientTape() as tape:\n        y = x * x\n    return tape.gradient(y, x)",
    "def step(x):\n    tf.print(x)\n    tf.io.write_file('name', 'text')\n    return tf.io.read_file('name')",
    "def step(x):\n    x.trainable = False\n    return x.by, x.gradient, x.power",
    "class Other:\n    def step(self, x):\n        return next(x)",
    "def step(x):\n    tf.debugging.assert_positive(x)\n    return getattr(x, 'by')",
    "import inspect\ndef step(x):\n    return inspect.isfunction(x)\nstep(there)",
)


@pytest.mark.parametrize("text", EDITED)
def test_rules_are_not_asked_again_about_what_an_edit_elsewhere_does_not_touch(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def noted(view: ContextView) -> Iterator[tuple[Rule, LocalHazard]]:
        asked.append(view.context.function.module)
        return local_hazards(view)

    monkeypatch.setattr("terra_refactor.classify.hazards.local_hazards", noted)
    far, judge = module("far", FAR), RepeatedJudge()
    for code in ("pass", text):
        asked.clear()
        modules = {"far": far, "near": module("near", f"{NEAR}\n{code}\n")}
        state = Program(modules, FilesByName(frozenset(modules)))
        _, decisions, findings = judge.judge(state, Config(), None)
        assert "near" in asked
        assert ("far" in asked) is (code == "pass")
    assert (decisions, findings) == judge_facts(state, analyze_program(state, AnalysisOptions()), Config())


@pytest.mark.parametrize(("used", "asks"), [("apply_gradients([])", True), ("get_config()", False)])
def test_callers_are_compared_only_where_an_optimizer_is_applied(used: str, asks: bool) -> None:
    text = analyze_text(
        f"""
import tensorflow as tf

def use(optimizer):
    return optimizer.{used}

def one():
    return use(tf.keras.optimizers.Adam())

def other():
    return use(tf.keras.optimizers.RMSprop())

one(), other()
"""
    )
    watch = Watch(Codes(text.program), text.facts)
    function = next(each for each in text.facts.functions if text.program.function(each).name == "use")
    (context, *_) = text.facts.functions[function].contexts
    assert VARIABLE_CREATED.check is not None
    list(VARIABLE_CREATED.check(ContextView(watch.codes, watch.facts, watch.facts.contexts[context])))
    assert (("function", (function, "callers")) in watch.notes.looks) is asks


def test_what_is_computed_once_is_a_dependency_of_each_who_asks() -> None:
    text = analyze_text(CALLS)
    watch = Watch(Codes(text.program), text.facts)
    function, made = next(iter(text.facts.functions)), []

    def compute() -> int:
        made.append(1)
        return len(watch.codes.of(function).facts)

    for _ in range(2):
        watch.notes.looks = {("read", "before"): None}
        assert watch.codes.once_with_looks("key", compute) == len(watch.codes._inner.of(function).facts)
        assert list(watch.notes.looks) == [("read", "before"), ("code", function)]
    assert made == [1]
    watch.codes.forget_tables()
    watch.codes.once_with_looks("key", compute)
    assert made == [1, 1]


BOXES = """
class Box:
    def __init__(self, width):
        self.width = width
{method}
"""
USES_BOXES = """
import tensorflow as tf
from boxes import Box

@tf.function
def scaled(box, x):
    return tf.tanh(x) * box.width

print(scaled(Box(2.0), tf.ones([3])), scaled(Box(3.0), tf.ones([3])))
"""


@pytest.mark.parametrize(
    ("method", "is_asked_again"),
    [
        ("    def grown(self):\n        return 7\n", False),
        ("    def __eq__(self, other):\n        return True\n", True),
    ],
)
def test_rules_are_asked_again_about_a_class_only_where_it_defines_what_they_ask_for(
    method: str, is_asked_again: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def noted(view: ContextView) -> Iterator[tuple[Rule, LocalHazard]]:
        asked.append(view.function.name)
        return local_hazards(view)

    monkeypatch.setattr("terra_refactor.classify.hazards.local_hazards", noted)
    uses, judge = module("uses", USES_BOXES), RepeatedJudge()
    for text, expected in (("", True), (method, is_asked_again), ("", is_asked_again)):
        asked.clear()
        modules = {"uses": uses, "boxes": module("boxes", BOXES.format(method=text))}
        state = Program(modules, FilesByName(frozenset(modules)))
        _, decisions, findings = judge.judge(state, Config(), None)
        assert ("scaled" in asked) is expected
        assert (decisions, findings) == judge_facts(state, analyze_program(state, AnalysisOptions()), Config())
        assert ("TR324" in repr(decisions)) is (text != "" and is_asked_again)


def is_many(codes: Codes, facts: ProgramFacts, function: FunctionId) -> bool:
    return codes.answered(count_of_contexts, facts, function) > 1


def count_of_contexts(codes: Codes, facts: ProgramFacts, function: FunctionId) -> int:
    return len(facts.contexts_of(function))


def test_an_answer_about_the_program_is_one_dependency_of_who_asks() -> None:
    judge = RepeatedJudge()
    for calls, count in (("f(1)", 1), ("f(1), f('a')", 2), ("f(1), f('a'), f(2.0)", 3)):
        program = Program({"m": module("m", f"def f(x):\n    return x\n\n{calls}\n")}, FilesByName(frozenset({"m"})))
        judge.judge(program, Config(), None)
        hazards = judge._hazards
        assert hazards is not None
        function = next(each for each in hazards.whole_facts.functions if program.function(each).name == "f")
        hazards = HazardMap(program, hazards.whole_facts, remembers=True, earlier=hazards)
        assert hazards.codes.answered(is_many, hazards.facts, function) is (count > 1)
        of_question = {key[1][0]: found for key, found in hazards._answers._found.items() if key[0] is _OF_PROGRAM}
        (used,) = of_question[is_many].looks
        assert used is of_question[count_of_contexts] and used.value == count
        hazards.end()
        judge._hazards = hazards
