"""The programs of corpus/programs: what the analysis says of them agrees with what a reviewer expects, and its plan keeps what they do."""

from __future__ import annotations

import importlib.util
import inspect
import json
from pathlib import Path

import pytest
from kept_answers import Harness, digest

from corpus.expectations import Disagreement, Program, decisions_of, disagreements, missing, programs, said
from terra_refactor import verify
from terra_refactor.workspace.results import FixReport

NEEDS_TENSORFLOW = pytest.mark.skipif(importlib.util.find_spec("tensorflow") is None, reason="needs TensorFlow")
MIN_ACTIONS = 0.95
"""Share of functions for which the action must be what the reviewer expects."""
RUNS = Harness("program_runs", tuple(sorted(Path(verify.__file__).parent.rglob("*.py"))))
"""The result of `verify` for a program with all changes: the same changes, by the same code, need no second run."""


@pytest.fixture(scope="module")
def judged() -> list[tuple[Program, list[str], list[Disagreement]]]:
    found = []
    for program in programs():
        decisions = decisions_of(program)
        found.append((program, missing(program, decisions), list(disagreements(program, decisions))))
    return found


def test_every_function_has_an_expectation(judged: list[tuple[Program, list[str], list[Disagreement]]]) -> None:
    assert len(judged) >= 12
    assert {program.name: names for program, names, _ in judged if names} == {}


def test_nothing_is_called_safe_that_a_reviewer_calls_unsafe(
    judged: list[tuple[Program, list[str], list[Disagreement]]],
) -> None:
    assert [said(each) for _, _, found in judged for each in found if each.kind == "safety"] == []


def test_actions_are_what_a_reviewer_expects(judged: list[tuple[Program, list[str], list[Disagreement]]]) -> None:
    wrong = [said(each) for _, _, found in judged for each in found if each.kind == "action"]
    total = sum(len(program.expectations) for program, _, _ in judged)
    assert 1 - len(wrong) / total >= MIN_ACTIONS, "\n".join(wrong)


def test_no_type_contradicts_the_reviewer(judged: list[tuple[Program, list[str], list[Disagreement]]]) -> None:
    assert [said(each) for _, _, found in judged for each in found if each.kind == "type"] == []


@NEEDS_TENSORFLOW
@pytest.mark.tensorflow
@pytest.mark.slow
@pytest.mark.parametrize("program", programs(), ids=lambda program: program.name)
def test_all_changes_together_keep_what_the_program_does(program: Program) -> None:
    from corpus.evaluate import plan, run  # noqa: PLC0415 - the other tests need less

    planned = plan(program, "speculative")
    assert not planned.report.errors, "where nothing is planned nothing is shown"

    def ask() -> str:
        verification = run(planned, program, record=True)
        wrong = [
            f"{each.qualname}: {each.status.value}: {each.detail}"
            for each in verification.functions
            if each.status.value in ("different", "fails")
        ]
        assert wrong == []
        whole = verification.program
        assert not verification.functions or (whole is not None and whole.difference is None)
        return json.dumps([wrong, "not run" if whole is None else whole.difference, len(verification.functions)])

    # a wrong answer is never kept
    wrong, difference, functions = json.loads(RUNS.answer(question(program, planned, inspect.getsource(run)), ask))
    assert wrong == []
    assert difference is None or not functions


def question(program: Program, planned: FixReport, how: str) -> str:
    """The inputs that determine the outcome of a run of both versions: every file, every change, the command, and how it is run."""
    files = sorted(path for path in program.folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    before = [
        (path.relative_to(program.folder).as_posix(), digest(path.read_bytes().hex()))
        for path in files
        if path.name != "expected.toml"
    ]
    after = [
        (
            file.source.path,
            digest(file.new_text),
            [(each.qualname, each.line, each.action.value, each.outcome.value) for each in file.changes],
        )
        for file in planned.files
    ]
    return repr((program.command, before, after, how))
