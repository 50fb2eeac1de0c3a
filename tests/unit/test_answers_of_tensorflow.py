"""Answers that are kept: nothing is asked twice, what changed is asked again, and a run of everything notices an answer that is wrong."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from kept_answers import FOLDER, SETTING, UNKEPT, Harness, OutdatedError, digest, read

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
    """Makes the harness anew, as the next run would."""
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
