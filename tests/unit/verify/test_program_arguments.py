"""The program that a command line selects, for `verify` and for `record`."""

from __future__ import annotations

import pytest

from terra_refactor.errors import UsageError
from terra_refactor.record.python_command import Invocation, invocation_of, is_python
from terra_refactor.verify.commands import script_of, source_of
from terra_refactor.verify.verdict import Script
from terra_refactor.verify.verdict import Tests as RunOfTests


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("train.py", Script("train.py", "train.py", None, ())),
        ("python train.py --steps 3", Script("python train.py --steps 3", "train.py", None, ("--steps", "3"))),
        ("/usr/bin/python3.11 -u train.py", Script("/usr/bin/python3.11 -u train.py", "train.py", None, ())),
        ("python -m package.train -m x", Script("python -m package.train -m x", None, "package.train", ("-m", "x"))),
    ],
)
def test_a_script_or_module_with_its_arguments(command: str, expected: Script) -> None:
    assert script_of(command) == expected
    assert source_of(command) == expected


@pytest.mark.parametrize("command", ["python -W error train.py", "python -c 1", "python -", "-m", "python -m", "'x"])
def test_what_verify_does_not_run(command: str) -> None:
    with pytest.raises(UsageError):
        script_of(command)


def test_pytest_is_a_run_of_tests() -> None:
    assert source_of("pytest -k a") == RunOfTests("pytest -k a", ("-k", "a"))
    assert source_of("python -m pytest tests") == RunOfTests("python -m pytest tests", ("tests",))
    assert source_of("  ") is None


def test_options_of_the_interpreter_with_values() -> None:
    words = ["-X", "dev", "-W", "error", "-B", "train.py", "-W"]
    assert invocation_of(words) == Invocation(("-X", "dev", "-W", "error", "-B"), "train.py", False, ("-W",))


@pytest.mark.parametrize(("name", "answer"), [("pypy3", True), (r"C:\Python\pythonw.EXE", True), ("pythonic", False)])
def test_names_of_interpreters(name: str, answer: bool) -> None:
    assert is_python(name) is answer
