"""`--add-ignores`: a comment for each finding where one can stand, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from terra_refactor.config import Config
from terra_refactor.workspace.ignores import AddedIgnores, add_ignores
from terra_refactor.workspace.workspace import Options, analyze

HEAD = "import tensorflow as tf\n@tf.function\ndef f(x):\n"
TAIL = "    return x\nf(tf.ones([3]))\n"


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def added(text: str, reason: str = "") -> AddedIgnores:
    Path("m.py").write_bytes(text.encode())
    report = analyze(["m.py"], Options(config=Config(jobs=1, select=("TR1",)), use_cache=False))
    assert report.findings
    return add_ignores(report.findings, report.sources, reason)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("    print(x)\n", "    print(x)  # terra: ignore[TR101] why\n"),
        ("    print(x)  # noqa\n", "    print(x)  # noqa  # terra: ignore[TR101] why\n"),
        ("    print(x)  # terra: ignore[TR3] old\n", "    print(x)  # terra: ignore[TR3, TR101] old\n"),
        ("    print('''a\n''', x)\n", "    print('''a\n''', x)  # terra: ignore[TR101] why\n"),
        ("    print(1, \\\n      x)\n", "    print(1, \\\n      x)  # terra: ignore[TR101] why\n"),
        ("    print(x); print(x)\n", "    print(x); print(x)  # terra: ignore[TR101] why\n"),
        ("    print('#', x)\n", "    print('#', x)  # terra: ignore[TR101] why\n"),
    ],
)
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_comments(before: str, after: str, newline: str) -> None:
    result = added((HEAD + before + TAIL).replace("\n", newline), "why")
    assert result.missed == ()
    (file,) = result.files
    assert file.new_text == (HEAD + after + TAIL).replace("\n", newline)
    Path("m.py").write_bytes(file.new_text.encode())
    left = analyze(["m.py"], Options(config=Config(jobs=1, select=("TR1",)), use_cache=False))
    assert left.findings == ()


def test_findings_about_comments_are_listed_and_get_none() -> None:
    text = HEAD + "    x = x + 1  # terra: ignore[TR3]\n    print(x)  # terra: ignore[TR1O1]\n" + TAIL
    Path("m.py").write_text(text)
    report = analyze(["m.py"], Options(config=Config(jobs=1, select=("TR1", "TR9")), use_cache=False))
    result = add_ignores(report.findings, report.sources, "")
    assert [finding.rule for finding in result.missed] == ["TR901", "TR902"]
    assert result.silenced == 1
    (file,) = result.files
    assert file.new_text == text.replace("[TR1O1]", "[TR1O1, TR101]")


def test_where_no_comment_can_stand_the_finding_is_listed() -> None:
    result = added(HEAD + "    s = f'''\n{print(x)}\n'''\n" + TAIL)
    assert result.files == ()
    assert len(result.missed) == 1
