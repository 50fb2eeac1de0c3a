"""docs/rules/messages.md: TensorFlow says each message to the program below it, and the linter names the rule without running it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from analysis_support import analyze_text
from kept_answers import Harness

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tools")]

from document_rules import quoted_messages  # noqa: E402

from corpus.messages import SCRIPT, MessageProgram, message_programs, says  # noqa: E402

PROGRAMS = message_programs()
MESSAGES = Harness("messages", (SCRIPT,))
each_program = pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)


def said(folder: Path, names: set[str]) -> dict[str, str]:
    """TensorFlow's message for each of the programs; those of which it is not known are run, all in one process."""
    asked, answered = folder / "programs.json", folder / "messages.json"

    def ask(programs: dict[str, str]) -> dict[str, str]:
        asked.write_text(json.dumps(programs), encoding="utf-8")
        environment = {
            **os.environ,
            "TF_CPP_MIN_LOG_LEVEL": "3",
            "CUDA_VISIBLE_DEVICES": "",
            "KERAS_BACKEND": "tensorflow",
        }
        subprocess.run([sys.executable, str(SCRIPT), str(asked), str(answered)], env=environment, check=True)
        found: dict[str, str] = json.loads(answered.read_text(encoding="utf-8"))
        return found

    return MESSAGES.answers({program.name: program.text for program in PROGRAMS if program.name in names}, ask)


@pytest.fixture(name="messages", scope="module")
def _messages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return said(tmp_path_factory.mktemp("messages"), {program.name for program in PROGRAMS})


@pytest.mark.tensorflow
@pytest.mark.slow
@each_program
def test_tensorflow_says_it(program: MessageProgram, messages: dict[str, str]) -> None:
    assert program.is_said_by(messages[program.name]), messages[program.name]


@each_program
def test_lint_names_the_rule_at_the_line(program: MessageProgram) -> None:
    found = [(finding.span.line, finding.rule) for finding in analyze_text(program.text).findings]
    assert set(program.marks) <= set(found), found


@pytest.mark.tensorflow
@pytest.mark.slow
@pytest.mark.parametrize(("rule", "message"), quoted_messages())
def test_what_a_rule_quotes_tensorflow_says(rule: str, message: str, messages: dict[str, str]) -> None:
    assert any(says(message.replace("`", ""), seen.replace("`", "")) for seen in messages.values())


def test_a_message_with_a_gap_is_not_said_by_another() -> None:
    assert says("TypeError: ... is out of scope", "TypeError: <tf.Tensor 'a'> is out of scope and cannot be used")
    assert not says("TypeError: ... is out of scope", "ValueError: <tf.Tensor 'a'> is out of scope")
    assert not says("a ... b ... c", "a c b")
