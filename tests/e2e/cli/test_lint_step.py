"""Features for a lint step: baselines, comments, statistics, settings, questions, watching."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import warm_programs
from typer.testing import CliRunner, Result

from terra_refactor.cli.main import app
from terra_refactor.cli.watch import watch_files
from terra_refactor.config import parse_config
from terra_refactor.workspace.workspace import Options

CODE = """\
import tensorflow as tf


def step(x, w):
    for _ in range(30):
        x = tf.tanh(tf.matmul(x, w) + 1.0)
    return tf.reduce_sum(x)


def noisy(x):
    print(x)
    return x * 2


for size in range(300):
    step(tf.zeros([2, 4]), tf.zeros([4, 4]))
    noisy(tf.zeros([2]))
"""
LINTED = CODE.replace("def noisy", "@tf.function\ndef noisy")


@pytest.fixture(name="folder", autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / ".cache"))
    monkeypatch.delenv("COLUMNS", raising=False)
    return tmp_path


def run(*arguments: str, stdin: str | None = None) -> Result:
    return CliRunner().invoke(app, list(arguments), input=stdin)


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "terra_refactor", *arguments]


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])}


def test_a_baseline_is_written_read_and_shrunk(folder: Path) -> None:
    Path("m.py").write_text(LINTED)
    assert run("lint", ".", "--write-baseline").exit_code == 0
    assert Path("terra-refactor-baseline.json").exists()
    known = run("lint", ".", "--baseline", "terra-refactor-baseline.json")
    assert known.exit_code == 0
    assert "known from terra-refactor-baseline.json" in known.stdout
    Path("m.py").write_text("x = 1\n")
    fewer = run("lint", ".", "--baseline", "terra-refactor-baseline.json", "--shrink-baseline")
    assert fewer.exit_code == 0
    assert json.loads(Path("terra-refactor-baseline.json").read_text())["findings"] == []
    Path("terra-refactor.toml").write_text('baseline = "terra-refactor-baseline.json"\n')
    assert run("lint", ".").exit_code == 0
    assert run("lint", ".", "--shrink-baseline", "--baseline", "none.json").exit_code == 2


def test_sarif_tells_what_the_baseline_knows(folder: Path) -> None:
    Path("m.py").write_text(LINTED)
    run("lint", ".", "--write-baseline")
    Path("m.py").write_text(
        LINTED.replace("    print(x)\n", "    print(x)\n    print(2)\n").replace("range(30)", "range(1)")
    )
    log = json.loads(run("lint", ".", "--baseline", "terra-refactor-baseline.json", "--format", "sarif").stdout)
    states = {(result["ruleId"], result["baselineState"]) for result in log["runs"][0]["results"]}
    assert {("TR101", "unchanged"), ("TR101", "new"), ("TR506", "absent")} <= states


def test_ignores_are_added_and_unused_ones_removed(folder: Path) -> None:
    Path("m.py").write_text(LINTED)
    assert run("lint", ".", "--select", "TR101", "--add-ignores", "--reason", "as it was").exit_code == 0
    assert "print(x)  # terra: ignore[TR101] as it was" in Path("m.py").read_text()
    assert run("lint", ".", "--select", "TR101,TR901").exit_code == 0
    Path("m.py").write_text(Path("m.py").read_text().replace("print(x)", "y = x"))
    result = run("lint", ".", "--select", "TR901")
    assert result.exit_code == 1
    assert "1 fixable" in result.stdout
    assert run("fix", ".", "--select", "TR901", "--write").exit_code == 0
    assert Path("m.py").read_text() == LINTED.replace("print(x)", "y = x")


def test_statistics_and_severities(folder: Path) -> None:
    Path("m.py").write_text(LINTED)
    lines = run("lint", ".", "--statistics").stdout.splitlines()
    assert any(line.split()[:3] == ["1", "TR101", "host-print-or-log"] for line in lines)
    assert run("lint", ".", "--fail-on", "error").exit_code == 0
    assert run("lint", ".", "--fail-on", "warning").exit_code == 1
    assert run("lint", ".", "--exit-zero").exit_code == 0
    assert run("lint", ".", "--fail-on", "eror").exit_code == 2
    Path("terra-refactor.toml").write_text('fail-on = "error"\n[severity]\nTR1 = "information"\nTR101 = "error"\n')
    assert run("lint", ".").exit_code == 1
    assert run("lint", ".", "--isolated", "--fail-on", "error").exit_code == 0
    found = json.loads(run("lint", ".", "--format", "json").stdout)["diagnostics"]
    assert {entry["severity"] for entry in found if entry["rule"] == "TR101"} == {"error"}


def test_settings_are_shown_as_a_file_that_would_say_the_same(folder: Path) -> None:
    text = 'select = ["TR1"]\nmin-ops = 3\nrespect-gitignore = false\n\n[per-file-ignores]\n"te\\"st*" = ["TR101"]\n'
    Path("terra-refactor.toml").write_text(text)
    for command_name in ("lint", "analyze", "fix"):
        shown = run(command_name, ".", "--show-settings", "--jobs", "3").stdout
        assert str(folder / "terra-refactor.toml") in shown.splitlines()[0]
        again = parse_config(shown, str(folder / "terra-refactor.toml"))
        assert (again.select, again.min_ops, again.jobs, again.per_file_ignores) == (
            ("TR1",),
            3,
            3,
            {'te"st*': ("TR101",)},
        )
    assert run("lint", ".", "--show-settings", "--isolated").stdout.startswith("# no configuration file")
    assert run("lint", ".", "--config", "terra-refactor.toml", "--isolated").exit_code == 2


def test_rules_are_listed(folder: Path) -> None:
    assert "TR901" in run("rules").stdout
    listed = json.loads(run("rules", "--format", "json").stdout)
    assert [rule["id"] for rule in listed] == sorted(rule["id"] for rule in listed)
    assert {"id", "name", "severity", "summary", "bad", "good"} <= set(listed[0])
    assert run("rules", "--format", "markdown").stdout.startswith("| rule |")
    assert run("rules", "--format", "xml").exit_code == 2


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        ("y\n", {"a.py"}),
        ("n\ny\n", {"b.py"}),
        ("what\na\n", {"a.py", "b.py"}),
        ("q\n", set()),
        ("", set()),
        ("y\nq\n", {"a.py"}),
    ],
)
def test_interactive_fix_makes_what_is_wanted(folder: Path, answers: str, expected: set[str]) -> None:
    for name in ("a.py", "b.py"):
        Path(name).write_text(CODE)
    result = run("fix", ".", "--interactive", stdin=answers)
    assert result.exit_code == 0, result.output
    assert "+@tf.function" in result.stderr
    assert {name for name in ("a.py", "b.py") if "@tf.function" in Path(name).read_text()} == expected


def test_watching_runs_again_when_a_file_changes(folder: Path) -> None:
    Path("m.py").write_text("x = 1\n")
    options = Options()
    runs: list[str] = []
    looks = 0

    def sleep(seconds: float) -> None:
        nonlocal looks
        looks += 1
        if looks == 2:
            Path("m.py").write_text(LINTED)
        if looks == 5:
            Path("new.py").write_text("y = 2\n")
        if looks == 9:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        watch_files(["."], options, lambda: runs.append("run"), sleep)
    assert len(runs) == 2


@pytest.mark.parametrize(
    ("words", "offered", "not_offered"),
    [
        ("li", "lint", "fix"),
        ("lint --format s", "sarif", "text"),
        ("lint --select TR101,TR90", "TR101,TR901", "TR101,TR101"),
        ("fix --ignore shape-m", "shape-mismatch", "TR401"),
        ("fix --level spec", "speculative", "safe"),
        ("lint --fail-on n", "never", "error"),
        ("explain TR9", "TR902", "unused-suppression"),
    ],
)
def test_a_shell_completes_commands_and_values(folder: Path, words: str, offered: str, not_offered: str) -> None:
    done = subprocess.run(
        command() if words == "li" else warm_programs.tool(),
        env={
            **environment(),
            "_TERRA_REFACTOR_COMPLETE": "complete_bash",
            "COMP_WORDS": f"terra-refactor {words}",
            "COMP_CWORD": str(len(words.split())),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert offered in done.stdout.split()
    assert not_offered not in done.stdout.split()


def test_the_summary_says_how_to_go_on(folder: Path) -> None:
    Path("m.py").write_text(LINTED)
    assert "2 fixable with `fix --select TR101,TR506`" in run("lint").stdout
    result = run("fix", "--select", "ALL", "--write")
    assert result.exit_code == 0, result.output
    assert "tf.print(x)" in Path("m.py").read_text()
    Path("m.py").write_text(
        LINTED.replace("print(x)", "seen.append(x)").replace("\n\n\ndef", "\n\nseen = []\n\n\ndef", 1)
    )
    assert "1 needs --level speculative (--verbose lists them)" in run("fix").stderr


def test_the_baseline_says_what_is_gone(folder: Path) -> None:
    Path("m.py").write_text(LINTED)
    run("lint", "--write-baseline")
    Path("m.py").write_text(LINTED.replace("print(x)", "pass"))
    assert (
        "1 finding of terra-refactor-baseline.json is gone."
        in run("lint", "--baseline", "terra-refactor-baseline.json").stdout
    )


def test_fixes_of_selected_rules_can_be_chosen(folder: Path) -> None:
    Path("m.py").write_text(LINTED.replace("return x * 2", "return x * 2  # terra: ignore[TR302]"))
    result = run("fix", ".", "--select", "TR101,TR901", "--interactive", stdin="n\ny\n")
    assert result.exit_code == 0, result.output
    assert Path("m.py").read_text() == LINTED


def test_a_cache_that_cannot_be_written_changes_nothing(folder: Path) -> None:
    Path("m.py").write_text(LINTED)
    expected = run("lint", ".").stdout
    Path("file").write_text("")
    result = run("lint", ".", "--cache-dir", "file/below")
    assert (result.exit_code, result.stdout, result.stderr) == (1, expected, "")


def test_the_page_tells_the_trend(folder: Path) -> None:
    Path("m.py").write_text(LINTED)
    run("lint", ".", "--write-baseline")
    Path("m.py").write_text(LINTED.replace("    print(x)\n", ""))
    page = run("lint", ".", "--baseline", "terra-refactor-baseline.json", "--format", "html").stdout
    data = json.loads(page.partition('id="data">')[2].partition("</script>")[0])
    assert data["comparison"]["totals"]["findings"] == 2
    assert data["comparison"]["known"] == 1
    assert [entry["rule"] for entry in data["comparison"]["gone"]] == ["TR101"]
