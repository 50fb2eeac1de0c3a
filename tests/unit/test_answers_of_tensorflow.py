"""Answers that are kept: nothing is asked twice, what changed is asked again, and a run of everything notices an answer that is wrong."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from kept_answers import FOLDER, SETTING, UNKEPT, Harness, OutdatedError, digest, modules_of, read

sys.path.append(str(Path(__file__).parents[2] / "tools"))
import keep_answers

QUESTIONS = {"one": "1 + 1", "two": "2 + 2"}
CODE = '"""Asks."""\n\n\ndef ask(text):\n    return eval(text)  # that is all\n'


class Asked(list[str]):
    """The questions, in order; the answers are what Python says."""

    def __call__(self, questions: dict[str, str]) -> dict[str, str]:
        self.extend(questions)
        return {name: str(eval(text)) for name, text in questions.items()}


@pytest.fixture(autouse=True)
def _unset(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(SETTING, raising=False)


@pytest.fixture
def harness(tmp_path: Path) -> Callable[[], Harness]:
    """Creates a new harness, as the next run would."""
    (tmp_path / "asks.py").write_text(CODE)
    return lambda: Harness("sums", (tmp_path / "asks.py",), folder=tmp_path / "answers", new=tmp_path / "new")


def keep(
    harness: Callable[[], Harness], monkeypatch: pytest.MonkeyPatch, questions: dict[str, str] = QUESTIONS
) -> None:
    """Writes the answers, as `make answers` does."""
    made = harness()
    shutil.rmtree(made.new, ignore_errors=True)
    with monkeypatch.context() as patch:
        patch.setenv(SETTING, "write")
        made.answers(questions, Asked())
    keep_answers.merge(made.new, made.folder, whole=True)


def test_what_has_no_answer_is_asked(harness: Callable[[], Harness]) -> None:
    asked = Asked()
    assert harness().answers(QUESTIONS, asked) == {"one": "2", "two": "4"}
    assert asked == ["one", "two"]
    assert not harness().folder.exists(), "only `make answers` writes"


def test_a_kept_answer_is_not_asked_for(harness: Callable[[], Harness], monkeypatch: pytest.MonkeyPatch) -> None:
    keep(harness, monkeypatch)
    asked = Asked()
    assert harness().answers({**QUESTIONS, "three": "3 + 3", "again": "1 + 1"}, asked)["again"] == "2"
    assert asked == ["three"]


def test_questions_that_take_time_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "asks.py").write_text(CODE)
    monkeypatch.setattr("kept_answers.UNKEPT", counts := type(UNKEPT)())
    harness = Harness("sums that are never kept", (tmp_path / "asks.py",))
    assert harness.folder == FOLDER
    harness.answers(QUESTIONS, Asked())
    harness.answer("3 + 3", lambda: "6")
    assert counts == {"sums that are never kept": 3}


def test_one_question(harness: Callable[[], Harness], monkeypatch: pytest.MonkeyPatch) -> None:
    keep(harness, monkeypatch)
    assert harness().answer("1 + 1", lambda: "asked") == "2"
    assert harness().answer("1 + 2", lambda: "asked") == "asked"


@pytest.mark.parametrize(
    ("text", "same"),
    [
        (CODE.replace("that is all", "the comment is another one"), True),
        (CODE.replace("Asks.", "Asks Python."), True),
        (CODE.replace("eval(text)", "eval(text) + 1"), False),
    ],
)
def test_other_code_that_asks_has_no_answers(
    harness: Callable[[], Harness], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, text: str, same: bool
) -> None:
    keep(harness, monkeypatch)
    (tmp_path / "asks.py").write_text(text)
    asked = Asked()
    harness().answers(QUESTIONS, asked)
    assert asked == ([] if same else ["one", "two"])


def test_another_version_has_no_answers(harness: Callable[[], Harness], monkeypatch: pytest.MonkeyPatch) -> None:
    keep(harness, monkeypatch)
    monkeypatch.setattr("kept_answers.version", lambda library: "0.1" if library == "keras" else "none")
    asked = Asked()
    harness().answers(QUESTIONS, asked)
    assert asked == ["one", "two"]


def test_a_run_of_everything_notices_a_wrong_answer(
    harness: Callable[[], Harness], monkeypatch: pytest.MonkeyPatch
) -> None:
    keep(harness, monkeypatch)
    monkeypatch.setenv(SETTING, "fresh")
    asked = Asked()
    harness().answers(QUESTIONS, asked)
    assert asked == ["one", "two"]
    file = harness().folder / "sums.txt"
    file.write_text(file.read_text().replace(" 4\n", " 5\n"))
    with pytest.raises(OutdatedError, match=r"two: kept 5, seen 4"):
        harness().answers(QUESTIONS, Asked())
    with pytest.raises(OutdatedError, match=r"one: kept 2, seen None"):
        harness().answers({"one": "1 + 1"}, lambda _: {})
    tolerant = harness()
    tolerant.alike = lambda kept, seen: int(kept) == int(seen) + 1 or kept == seen
    assert tolerant.answers(QUESTIONS, Asked())["two"] == "4"


def test_the_file_holds_what_was_asked(harness: Callable[[], Harness], monkeypatch: pytest.MonkeyPatch) -> None:
    keep(harness, monkeypatch)
    made = harness()
    assert read(made.folder / "sums.txt") == {made.key("1 + 1"): "2", made.key("2 + 2"): "4"}
    keep(harness, monkeypatch, {"one": "1 + 1", "three": "3 + 3"})
    assert read(made.folder / "sums.txt") == {made.key("1 + 1"): "2", made.key("3 + 3"): "6"}
    lines = (made.folder / "sums.txt").read_text().splitlines()
    assert lines[0].startswith("# ")
    assert lines[1:] == sorted(lines[1:])


def test_a_digest_is_short_and_tells_texts_apart() -> None:
    assert digest("a", 4) != digest("b", 4)
    assert len(digest("a", 4)) == 8
    assert digest("\ud800")


def test_modules_are_followed_wherever_they_are_imported(tmp_path: Path) -> None:
    folder = tmp_path / "tests" / "some"
    folder.mkdir(parents=True)
    (folder / "one.py").write_text(
        "import os\n\ndef f():\n    from tests.some import two\n    from tests.other import four\n"
    )
    (folder / "two.py").write_text("from tests.some.three import name\nimport tests.some.one\n")
    (folder / "three.py").write_text("name = 1\n")
    (folder / "unused.py").write_text("")
    found = modules_of(folder / "one.py", tmp_path, "tests/some")
    assert [path.name for path in found] == ["one.py", "three.py", "two.py"]


@pytest.mark.parametrize(
    ("marks", "name", "runs"),
    [
        (("kept",), "test_a", (1, 1)),  # passed, and is not run again
        (("kept", "concurrent"), "test_a", (0, 0)),  # zero: pytest runs it
        ((), "test_a", (0, 0)),
        (("kept",), "test_j", (0, 0)),  # one of the sample
    ],
)
def test_a_test_of_the_shim_that_passed_is_not_run_again(
    marks: tuple[str, ...],
    name: str,
    runs: tuple[int, int],
    harness: Callable[[], Harness],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from tests.runtime import conftest as of_shim  # noqa: PLC0415

    assert of_shim.is_run_every_time("test_j") and not of_shim.is_run_every_time("test_a")
    calls: list[int] = []

    def test(number: int) -> None:
        calls.append(number)

    item: Any = SimpleNamespace(
        name=name,
        path=Path("test_m.py"),
        iter_markers=lambda: [SimpleNamespace(name=mark) for mark in marks],
        _fixtureinfo=SimpleNamespace(argnames=("number",)),
        funcargs={"number": 3, "unused": 4},
        obj=test,
    )
    monkeypatch.setattr(of_shim, "harness_of", lambda _: made)
    made = harness()
    with monkeypatch.context() as patch:
        patch.setenv(SETTING, "write")
        is_done = of_shim.pytest_pyfunc_call(item)
    assert (len(calls), is_done) == (runs[0], True if runs[0] else None)
    if runs[0]:
        keep_answers.merge(made.new, made.folder, whole=True)
    made = harness()
    assert of_shim.pytest_pyfunc_call(item) == is_done
    assert len(calls) == runs[1]


def test_a_test_of_the_shim_that_fails_is_run_again(
    harness: Callable[[], Harness], monkeypatch: pytest.MonkeyPatch
) -> None:
    from tests.runtime import conftest as of_shim  # noqa: PLC0415

    def fails() -> None:
        raise AssertionError("another result")

    item: Any = SimpleNamespace(
        name="test_a",
        path=Path("test_m.py"),
        iter_markers=lambda: [SimpleNamespace(name="kept")],
        _fixtureinfo=SimpleNamespace(argnames=()),
        funcargs={},
        obj=fails,
    )
    monkeypatch.setattr(of_shim, "harness_of", lambda _: harness())
    monkeypatch.setenv(SETTING, "write")
    for _ in range(2):
        with pytest.raises(AssertionError, match="another result"):
            of_shim.pytest_pyfunc_call(item)
