"""Laws of the rewrites, on generated modules: what is not edited stays, the result parses, undoing gives the text
back."""

from __future__ import annotations

import ast

from hypothesis import given, settings
from hypothesis import strategies as st
from made_decisions import decide_for
from running_time import examples

from terra_refactor.classify.decision import Action, Level
from terra_refactor.refactor.plan import refactor_file
from terra_refactor.refactor.result import Outcome
from terra_refactor.syntax.source import source_from_text

NEWLINES = st.sampled_from(["\n", "\r\n"])
INDENTS = st.sampled_from(["    ", "  ", "\t"])
LINES_BEFORE = st.sampled_from(["", "# comment", "", "   ", "x = '''a\n  b'''", "\x0c"])
DECORATORS = st.sampled_from(["register", "staticmethod", "other.thing(1, k=[2])", "(a)(\n  b\n)"])


@st.composite
def functions(draw: st.DrawFn, depth: int, indent: str, level: int) -> str:
    """The text of one function or class, maybe with others inside it, with `\\n` line endings."""
    margin = indent * level
    lines: list[str] = []
    before = draw(LINES_BEFORE)
    if before and (level == 0 or "'''" not in before):
        lines.append((margin if before.startswith("#") else "") + before)
    name = draw(st.sampled_from("abc"))
    if depth and draw(st.booleans()):
        lines.append(f"{margin}class {name.upper()}:")
        inside = draw(st.lists(functions(depth - 1, indent, level + 1), min_size=1, max_size=3))
        return "\n".join([*lines, *inside])
    lines.extend(f"{margin}@{decorator}" for decorator in draw(st.lists(DECORATORS, max_size=2)))
    comment = draw(st.sampled_from(["", "  # c", "\t"]))
    if draw(st.booleans()):
        return "\n".join([*lines, f"{margin}def {name}(x): return x{comment}"])
    lines.append(f"{margin}def {name}(x,{comment}\n y=1):")
    if depth and draw(st.booleans()):
        lines.append(draw(functions(depth - 1, indent, level + 1)))
    return "\n".join([*lines, f"{margin}{indent}return x"])


@st.composite
def modules(draw: st.DrawFn) -> str:
    """The text of a module."""
    indent = draw(INDENTS)
    head = draw(
        st.sampled_from(
            [
                "import tensorflow as tf\n",
                "",
                '"""Doc."""\n',
                "# c\n\n",
                "import os\n\nimport numpy\n",
                "from a import *\n",
            ]
        )
    )
    text = head + "\n".join(draw(st.lists(functions(2, indent, 0), min_size=1, max_size=4)))
    text += draw(st.sampled_from(["", "\n", "\n\n", "\n# end"]))
    return text.replace("\n", draw(NEWLINES))


@settings(max_examples=examples(60, 500), deadline=None)
@given(modules())
def test_adding_and_removing_gives_the_text_back(text: str) -> None:
    reached = "import tensorflow as tf\n" + text
    source = source_from_text(reached, "m.py")
    added = refactor_file(source, decide_for(source, {"*": (Action.ADD_TF_FUNCTION, ())}), Level.SAFE)
    assert all(change.outcome is Outcome.DONE for change in added.changes)
    ast.parse(added.new_text)
    decorated = source_from_text(added.new_text, "m.py")
    removed = refactor_file(decorated, decide_for(decorated, {"*": (Action.REMOVE_TF_FUNCTION, ())}), Level.SAFE)
    assert removed.new_text == reached


@settings(max_examples=examples(60, 500), deadline=None)
@given(modules(), st.sampled_from([Action.ADD_TF_FUNCTION, Action.CO_EXECUTE]))
def test_only_lines_are_added_and_twice_is_once(text: str, action: Action) -> None:
    source = source_from_text(text, "m.py")
    first = refactor_file(source, decide_for(source, {"*": (action, ())}), Level.COEXEC)
    assert not any(change.outcome is Outcome.FAILED for change in first.changes)
    ast.parse(first.new_text)
    remaining = first.new_text.split("\n")
    for line in text.split("\n"):
        assert line in remaining
        remaining = remaining[remaining.index(line) + 1 :]
    again = source_from_text(first.new_text, "m.py")
    second = refactor_file(again, decide_for(again, {"*": (action, ())}), Level.COEXEC)
    assert second.new_text == first.new_text


ARGUMENTS = st.sampled_from(["jit_compile", "reduce_retracing", "autograph", "name"])
VALUES = st.sampled_from(["True", "None", "(1 + 2)", "['a', (2)]", "f(x, y=3)", "(\n  4\n)"])
GAPS = st.sampled_from(["", " ", "\n    ", "  # c\n    "])


@st.composite
def calls(draw: st.DrawFn) -> tuple[str, dict[str, str]]:
    """The arguments of a `tf.function` in an awkward layout, and what they are."""
    arguments = draw(st.dictionaries(ARGUMENTS, VALUES, max_size=4))
    parts = [f"{draw(GAPS)}{keyword}{draw(st.sampled_from(['', ' ']))}={value}" for keyword, value in arguments.items()]
    text = ",".join(parts)
    if parts and draw(st.booleans()):
        text += ","
    return text + draw(GAPS), arguments


@settings(max_examples=examples(100, 500), deadline=None)
@given(calls(), st.dictionaries(ARGUMENTS, VALUES.filter(lambda value: "\n" not in value), max_size=4), NEWLINES)
def test_tuning_gives_exactly_the_proposed_arguments(
    call: tuple[str, dict[str, str]], wanted: dict[str, str], newline: str
) -> None:
    written, _ = call
    text = f"import tensorflow as tf\n@tf.function({written})\ndef f(x): return x\n".replace("\n", newline)
    source = source_from_text(text, "m.py")
    decisions = decide_for(source, {"f": (Action.TUNE_TF_FUNCTION, list(wanted.items()))})
    tuned = refactor_file(source, decisions, Level.SAFE)
    (change,) = tuned.changes
    assert change.outcome is not Outcome.FAILED, change.reason
    (function,) = (node for node in ast.parse(tuned.new_text).body if isinstance(node, ast.FunctionDef))
    (decorator,) = function.decorator_list
    found = (
        {keyword.arg: ast.dump(keyword.value) for keyword in decorator.keywords}
        if isinstance(decorator, ast.Call)
        else {}
    )
    assert found == {key: ast.dump(ast.parse(f"({value})", mode="eval").body) for key, value in wanted.items()}
    again = source_from_text(tuned.new_text, "m.py")
    second = refactor_file(again, decide_for(again, {"f": (Action.TUNE_TF_FUNCTION, list(wanted.items()))}), Level.SAFE)
    assert second.new_text == tuned.new_text
