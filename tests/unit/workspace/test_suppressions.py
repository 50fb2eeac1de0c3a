"""Suppression comments: what they silence, and the rules about the comments themselves."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from terra_refactor.config import Config
from terra_refactor.rules.registry import all_rules
from terra_refactor.syntax.edit import apply_edits
from terra_refactor.workspace.results import WorkspaceReport
from terra_refactor.workspace.workspace import Options, analyze

HEAD = "import tensorflow as tf\n\n\n@tf.function\ndef f(x):\n"
TAIL = "\n\nf(tf.ones([3]))\n"


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def linted(text: str, **settings: object) -> WorkspaceReport:
    Path("m.py").write_text(text)
    return analyze(["m.py"], Options(config=Config(jobs=1, **settings), use_cache=False))  # type: ignore[arg-type]


def about_comments(report: WorkspaceReport) -> list[tuple[str, int]]:
    return [(finding.rule, finding.span.line) for finding in report.findings if finding.rule.startswith("TR9")]


@pytest.mark.parametrize("rule", ["TR901", "TR902"])
def test_samples(rule: str) -> None:
    samples = all_rules()[rule].samples
    bad = re.sub(rf"  # {rule}$", "", samples.bad, flags=re.MULTILINE)
    marked = [number for number, line in enumerate(samples.bad.splitlines(), start=1) if line.endswith(f"# {rule}")]
    assert about_comments(linted(bad)) == [(rule, line) for line in marked]
    for text in (samples.good, samples.near_miss):
        assert about_comments(linted(text)) == []


def test_the_sample_of_an_unreadable_file_cannot_be_read() -> None:
    samples = all_rules()["TR903"].samples
    assert [error.path for error in linted(samples.bad).errors] == ["m.py"]
    assert linted(samples.good).errors == ()


def test_what_is_suppressed_is_known_with_its_reason() -> None:
    report = linted(HEAD + "    print(x)  # terra: ignore[TR101] until the logger works\n    return x" + TAIL)
    assert report.findings == ()
    (entry,) = report.suppressed
    assert (entry.finding.rule, entry.reason) == ("TR101", "until the logger works")


def test_a_comment_at_a_hazard_of_an_eager_function_is_of_use() -> None:
    text = "import tensorflow as tf\n\n\ndef f(x):\n    print(x)  # terra: ignore[TR101]\n    return x * 2" + TAIL
    assert about_comments(linted(text)) == []
    assert about_comments(linted(text.replace("TR101", "TR302"))) == [("TR901", 5)]


def test_a_comment_for_a_rule_that_is_not_selected_is_of_use() -> None:
    text = HEAD + "    print(x)  # terra: ignore[TR101]\n    return x" + TAIL
    assert about_comments(linted(text, select=("TR9",))) == []
    assert about_comments(linted(text.replace("TR101", "TR102"), select=("TR9",))) == [("TR901", 6)]
    assert about_comments(linted(text.replace("TR101", "TR102"), ignore=("TR901",))) == []


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("    return x  # terra: ignore[TR101] why\n", "    return x\n"),
        ("    # terra: ignore[TR101]\n    return x\n", "    return x\n"),
        ("    return x  # noqa: B1 # terra: ignore\n", "    return x  # noqa: B1\n"),
        ("    return x  # terra: ignore[TR3] # noqa\n", "    return x  # noqa\n"),
        (
            "    print(x)  # terra: ignore[TR101, TR302] why\n    return x\n",
            "    print(x)  # terra: ignore[TR101] why\n    return x\n",
        ),
        ("    # terra: off[TR3]\n    y = x\n    # terra: on[TR3]\n    return y\n", "    y = x\n    return y\n"),
        ("    # terra: off\n    return x\n", "    return x\n"),
        ("    return x  # terra: ignore-file[TR101]\n", "    return x\n"),
    ],
)
def test_the_fix_removes_what_is_of_no_use(before: str, after: str) -> None:
    report = linted(HEAD + before + TAIL)
    found = [finding for finding in report.findings if finding.rule == "TR901"]
    assert found and all(finding.fixable for finding in found)
    text = apply_edits(HEAD + before + TAIL, [edit for finding in found for edit in finding.fix])
    assert text == HEAD + after + TAIL
    assert about_comments(linted(text)) == []


def test_a_block_that_shares_its_end_is_left_to_a_person() -> None:
    text = (
        HEAD
        + "    # terra: off[TR3]\n    # terra: off[TR101]\n    print(x)\n    # terra: on[TR3, TR101]\n    return x"
        + TAIL
    )
    (finding,) = [finding for finding in linted(text).findings if finding.rule == "TR901"]
    assert not finding.fixable


def test_an_unknown_rule_in_a_comment_is_said() -> None:
    report = linted(HEAD + "    print(x)  # terra: ignore[TR10l]\n    return x" + TAIL)
    assert ("TR902", 6) in about_comments(report)
    assert any(finding.rule == "TR101" for finding in report.findings)
