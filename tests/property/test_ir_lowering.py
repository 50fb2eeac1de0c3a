"""Generated programs lower, keep the promises of the IR, and do what Python does with them."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

sys.path.insert(0, str(Path(__file__).parents[1] / "unit" / "ir"))

from lowering import lower_text
from program_writer import ProgramWriter
from reference_interpreter import run_module
from running_time import examples

from terra_refactor.ir.pprint import format_module
from terra_refactor.ir.walk import blocks, operands, walk


def compiled(text: str) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return compile(text, "m.py", "exec", dont_inherit=True)
        except SyntaxError:
            return None


class TooLongError(Exception):
    """The program does too much to be followed."""


def behaviour(run: Callable[[dict[str, Any]], object]) -> tuple[list[str], str]:
    logged: list[str] = []

    def log(value: Any) -> Any:
        logged.append(shown(value))
        if len(logged) > 200:
            raise TooLongError
        return value

    class Manager:
        def __init__(self, value: Any) -> None:
            self.value = value

        def __enter__(self) -> Any:
            log("enter")
            return self.value

        def __exit__(self, kind: type[BaseException] | None, *_: object) -> bool:
            log(("exit", kind and kind.__name__))
            return kind is ValueError

    def drain(value: Any) -> Any:
        return list(value) if hasattr(value, "__next__") else value

    def wrap(function: Any) -> Any:
        log(("wrap", function.__qualname__))
        return function

    def gather(*args: Any, **kwargs: Any) -> Any:
        return log((args, kwargs))

    names = {
        "log": log,
        "gather": gather,
        "manager": Manager,
        "drain": drain,
        "wrap": wrap,
        "self": "self",
        "__name__": "m",
    }
    try:
        run(names)
    except Exception as error:
        return logged, type(error).__name__
    return logged, "end"


def shown(value: Any) -> str:
    """A text of the value without addresses."""
    if isinstance(value, list | tuple):
        return f"{type(value).__name__}({', '.join(map(shown, value))})"
    if isinstance(value, dict):
        return f"dict({', '.join(f'{shown(k)}: {shown(v)}' for k, v in value.items())})"
    if value == "UnboundLocalError":
        # Which of the two it is depends on whether comprehensions are inlined, and so on the version of Python.
        return "'NameError'"
    if value is None or isinstance(value, int | str):
        return repr(value)
    return type(value).__name__


SEEDS = st.integers(0, 2**32)
SETTINGS = settings(max_examples=15, deadline=None)


def program(seed: int) -> str:
    return ProgramWriter(Random(seed)).program()


def check_same_behaviour(seed: int) -> None:
    text = program(seed)
    code = compiled(text)
    assume(code is not None)
    module = lower_text(text)
    expected = behaviour(lambda names: exec(code, names))
    assert behaviour(lambda names: run_module(module, names)) == expected, text


@SETTINGS
@given(SEEDS)
def test_generated_programs_do_the_same(seed: int) -> None:
    check_same_behaviour(seed)


@pytest.mark.slow
@settings(max_examples=examples(usual=60, many=500), deadline=None)
@given(SEEDS)
def test_many_generated_programs_do_the_same(seed: int) -> None:
    check_same_behaviour(seed)


def test_most_programs_do_something() -> None:
    """The property above would mean little if the programs did not compile or ended at once."""
    codes = [code for seed in range(20) if (code := compiled(program(seed))) is not None]
    assert len(codes) >= 15
    assert sum(len(behaviour(lambda names, code=code: exec(code, names))[0]) for code in codes) >= 5 * len(codes)


@SETTINGS
@given(SEEDS)
def test_walk_meets_what_blocks_hold(seed: int) -> None:
    text = program(seed)
    assume(compiled(text) is not None)
    module = lower_text(text)
    assert format_module(module) == format_module(lower_text(text))
    for function in module.functions:
        ops = list(walk(function.body))
        assert [op.id for op in ops] == list(range(function.op_count))
        for op in ops:
            assert all(read < op.id for read in operands(op))
            assert all(inner.id > op.id for block in blocks(op) for inner in block)
