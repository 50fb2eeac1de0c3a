"""The commands as a user types them: output, exit codes, files."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import warm_programs
from typer.testing import CliRunner, Result

from terra_refactor.cli import fix as fix_module
from terra_refactor.cli.main import app
from terra_refactor.refactor.result import FileRefactoring

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
BROKEN = "import tensorflow as tf\ndef f(:\n"


@pytest.fixture(name="folder", autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / ".cache"))
    monkeypatch.delenv("COLUMNS", raising=False)
    return tmp_path


def run(*arguments: str, stdin: str | bytes | None = None) -> Result:
    return CliRunner().invoke(app, list(arguments), input=stdin)


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "terra_refactor", *arguments]


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])}


def test_analyze_prints_what_to_do_and_all_functions_on_request(folder: Path) -> None:
    Path("m.py").write_text(CODE)
    result = run("analyze", ".")
    assert result.exit_code == 0, result.output
    assert "step" in result.stdout
    assert "add tf.function" in result.stdout
    assert "2 functions in 1 file" in result.stdout
    assert result.stderr == ""
    every = run("analyze", ".", "--all").stdout
    assert "line  function" in every and "line  function" not in result.stdout
    assert "--all" in result.stdout and "--all" not in every


def test_a_file_that_does_not_parse_costs_only_itself(folder: Path) -> None:
    Path("m.py").write_text(CODE)
    Path("broken.py").write_text(BROKEN)
    for arguments in (("analyze", "."), ("lint", "."), ("fix", ".", "--write")):
        result = run(*arguments)
        assert result.exit_code == 3, result.output
        assert "broken.py:2: error: does not parse" in result.output
    assert "@tf.function" in Path("m.py").read_text()
    assert Path("broken.py").read_text() == BROKEN


def test_lint_ends_with_1_where_it_finds_something(folder: Path) -> None:
    Path("m.py").write_text(LINTED)
    result = run("lint", "m.py", "--select", "TR101")
    assert result.exit_code == 1
    assert result.stdout.splitlines()[0].startswith("m.py:12:5: TR101 [")
    assert "Found 1 finding" in result.stdout
    assert run("lint", "m.py", "--ignore", "TR1,TR2,TR3,TR5").exit_code == 0


def test_a_baseline_silences_what_is_known(folder: Path) -> None:
    Path("m.py").write_text(LINTED)
    assert run("lint", "m.py", "--format", "json", "--output", "known.json").exit_code == 1
    assert run("lint", "m.py", "--baseline", "known.json").exit_code == 0
    Path("m.py").write_text(
        "# moved down\n"
        + LINTED
        + "\n\n@tf.function\ndef more(x):\n    print(x)\n    return x\n\nmore(tf.zeros([1]))\n"
    )
    result = run("lint", "m.py", "--baseline", "known.json", "--select", "TR101")
    assert result.exit_code == 1
    assert "Found 1 finding" in result.stdout
    Path("known.json").write_text("{}")
    assert run("lint", "m.py", "--baseline", "known.json").exit_code == 2


@pytest.mark.parametrize("command", ["analyze", "lint", "fix"])
def test_it_says_that_there_was_nothing_to_read(folder: Path, command: str) -> None:
    Path(".git").mkdir()
    Path(".gitignore").write_text("*.gen.py\n")
    Path("m.gen.py").write_text(LINTED)
    result = run(command, ".")
    assert result.exit_code == 0
    assert "no Python files found" in result.stderr
    assert "no Python files found" not in run(command, "m.gen.py").stderr


def test_fix_shows_a_diff_and_writes_nothing(folder: Path) -> None:
    Path("m.py").write_text(CODE)
    result = run("fix", "m.py")
    assert result.exit_code == 0
    assert result.stdout.startswith("--- a/m.py\n+++ b/m.py\n")
    assert "+@tf.function\n def step(x, w):\n" in result.stdout
    assert "1 change in 1 file" in result.stderr
    assert Path("m.py").read_text() == CODE


def test_the_diff_can_be_applied(folder: Path) -> None:
    Path("m.py").write_bytes(CODE.replace("\n", "\r\n").encode().removesuffix(b"\r\n"))
    diff = subprocess.run(command("fix", "m.py", "--quiet"), env=environment(), capture_output=True, check=True).stdout
    subprocess.run(["git", "apply", "-"], input=diff, check=True, cwd=folder)
    patched = Path("m.py").read_bytes()
    assert patched.count(b"@tf.function\r\ndef step") == 1
    assert run("fix", "m.py", "--check").exit_code == 0


def test_fix_twice_changes_nothing_more(folder: Path) -> None:
    Path("m.py").write_text(CODE)
    assert run("fix", "m.py", "--check").exit_code == 1
    assert run("fix", "m.py", "--write").exit_code == 0
    once = Path("m.py").read_text()
    assert once == CODE.replace("def step", "@tf.function\ndef step")
    assert run("fix", "m.py", "--check").exit_code == 0
    assert run("fix", "m.py", "--write").exit_code == 0
    assert Path("m.py").read_text() == once


def test_only_the_named_function_is_changed(folder: Path) -> None:
    Path("m.py").write_text(CODE)
    result = run("fix", "m.py", "--function", "noisy", "--level", "speculative")
    assert result.exit_code == 0
    assert "@tf.function" not in result.stdout
    assert "noisy" in result.stderr
    assert run("fix", "m.py", "--function", "stepp").exit_code == 2


def test_standard_input(folder: Path) -> None:
    result = run("fix", "-", "--stdin-filename", "pkg/mod.py", stdin=CODE)
    assert result.exit_code == 0
    assert result.stdout.startswith("--- a/pkg/mod.py\n")
    report = json.loads(run("analyze", "-", "--format", "json", stdin=CODE).stdout)
    assert [entry["path"] for entry in report["functions"]] == ["<stdin>", "<stdin>"]
    assert run("lint", "-", stdin=b"x = 1\0").exit_code == 3
    assert run("fix", "-", "--write", stdin=CODE).exit_code == 2


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("analyze", "nowhere"), "nowhere: no such file or folder"),
        (("lint", ".", "--select", "TR99"), "unknown rule `TR99`"),
        (("lint", ".", "--select", "host-print-or-lgo"), "did you mean `host-print-or-log`?"),
        (("analyze", ".", "--format", "jsn"), "did you mean `json`?"),
        (("analyze", ".", "--format", "srif"), "did you mean `sarif`?"),
        (("lint", ".", "--output", "srif:x"), "did you mean `sarif:x`?"),
        (("lint", ".", "--output", "json:"), "is not the name of a file"),
        (("lint", ".", "--output", "json:x", "--output", "html:x"), "two reports for x"),
        (("lint", ".", "--output", "x", "--output", "y"), "only one file without a format"),
        (("fix", ".", "--level", "spekulative"), "did you mean `speculative`?"),
        (("fix", ".", "--write", "--check"), "--write: cannot be combined with --check"),
        (("analyze", ".", "--tf-version", "two"), "version"),
        (("lint", ".", "--tf-version", "1.15"), "TensorFlow 2 or later"),
        (("analyze", ".", "--min-ops", "-1"), "whole number"),
        (("analyze", ".", "--config", "none.toml"), "none.toml: cannot be read"),
        (("analyze", ".", "--output", "no/such/folder"), "cannot be written"),
        (("analyze", ".", "--stdin-filename", "x.py"), "--stdin-filename"),
        (("lint", ".", "--baseline", "none.json"), "none.json: there is no such baseline"),
        (("explain", "TR9999"), "unknown rule `TR9999`"),
        (("explain", "shape-mismach"), "unknown rule"),
    ],
)
def test_a_wrong_call_is_one_clear_line_and_ends_with_2(folder: Path, arguments: tuple[str, ...], words: str) -> None:
    Path("m.py").write_text("x = 1\n")
    result = run(*arguments)
    assert result.exit_code == 2
    assert words in result.stderr
    assert len(result.stderr.splitlines()) == 1
    assert "Traceback" not in result.output


@pytest.mark.parametrize(
    "arguments", [("explain", "a", "b"), ("analyze", ".", "--nope"), ("analyz", "."), ("fix", ".", "--jobs", "x")]
)
def test_usage_errors_of_the_command_line_end_with_2(arguments: tuple[str, ...]) -> None:
    assert run(*arguments).exit_code == 2


def test_an_unknown_key_of_the_configuration_is_said(folder: Path) -> None:
    Path("pyproject.toml").write_text("[tool.terra-refactor]\nselekt = []\n")
    Path("m.py").write_text("x = 1\n")
    result = run("analyze", ".")
    assert result.exit_code == 2
    assert "did you mean `select`?" in result.stderr


def test_the_configuration_is_used(folder: Path) -> None:
    Path("pyproject.toml").write_text('[tool.terra-refactor]\nmin-ops = 10000\nexclude = ["left*"]\n')
    Path("m.py").write_text(CODE)
    Path("left_out.py").write_text(CODE)
    result = run("analyze", ".")
    assert "left_out" not in result.stdout
    assert "add tf.function" not in result.stdout
    assert "add tf.function" in run("analyze", ".", "--min-ops", "1").stdout


def test_output_goes_to_a_file_as_a_whole(folder: Path) -> None:
    Path("m.py").write_text(CODE)
    result = run("analyze", ".", "--format", "json", "--output", "report.json")
    assert (result.exit_code, result.stdout) == (0, "")
    assert json.loads(Path("report.json").read_text())["summary"]["functions"] == 2
    assert sorted(entry.name for entry in folder.iterdir() if not entry.name.startswith(".c")) == [
        "m.py",
        "report.json",
    ]


def test_several_reports_at_once(folder: Path) -> None:
    Path("m.py").write_text(LINTED)
    outputs = [
        f"{name}:out.{name}"
        for name in ("json", "jsonl", "sarif", "html", "github", "markdown", "gitlab", "junit", "rdjson")
    ]
    result = run("lint", ".", *(part for output in outputs for part in ("--output", output)))
    assert result.exit_code == 1
    assert "TR101" in result.stdout
    for output in outputs:
        assert "TR101" in Path(output.partition(":")[2]).read_text()
    quiet = run("lint", ".", "--format", "json", "--output", "report", "--output", "text:out.txt")
    assert quiet.stdout == ""
    assert json.loads(Path("report").read_text())["diagnostics"]
    assert "Found" in Path("out.txt").read_text()
    assert json.loads(run("lint", ".", "--output", "sarif:-").stdout)["version"] == "2.1.0"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="has no full device")
def test_a_full_disk_is_one_line(folder: Path) -> None:
    Path("m.py").write_text(CODE)
    for arguments in (("--format", "json"), ("--format", "html"), ()):
        with open("/dev/full", "w") as full:
            done = subprocess.run(
                warm_programs.tool("analyze", ".", *arguments) if arguments else command("analyze", "."),
                env=environment(),
                stdout=full,
                stderr=subprocess.PIPE,
                text=True,
                check=False,
            )
        assert done.returncode == 2, done.stderr
        assert "No space left on device" in done.stderr
        assert len(done.stderr.splitlines()) == 1
    result = run("analyze", ".", "--output", "/dev/full")
    assert (result.exit_code, "No space left" in result.stderr) == (2, True)
    assert not Path("/dev/full").is_file()


@pytest.mark.parametrize("command", ["analyze", "lint", "fix"])
def test_without_a_path_the_current_folder_is_meant(folder: Path, command: str) -> None:
    Path("m.py").write_text(CODE)
    said = [run(command, *paths, "--format", "json").stdout for paths in ((), (".",))]
    reports = [json.loads(text) for text in said]
    assert reports[0]["functions"]
    assert reports[0]["functions"] == reports[1]["functions"]


def test_help_has_a_short_name_and_fits(folder: Path) -> None:
    result = run("-h")
    assert result.exit_code == 0
    assert "..." not in result.stdout.partition("Commands")[2]
    assert run("lint", "-h").stdout == run("lint", "--help").stdout


def test_explain_and_the_list_of_rules() -> None:
    result = run("explain", "TR101")
    assert result.exit_code == 0
    assert "host-print-or-log" in result.stdout
    assert "# terra: ignore[TR101]" in result.stdout
    for name in ("TR2", "tr2xx"):
        family = run("explain", name).stdout
        assert family.startswith("TR2xx: retracing.") and "TR201" in family and "TR101" not in family
    listed = run("explain").stdout
    assert "TR101" in listed
    assert "TR301" in listed


def test_cache_info_and_clean(folder: Path) -> None:
    Path("m.py").write_text(CODE)
    run("analyze", ".", "--no-cache")
    assert ": 0 modules" in run("cache", "info").stdout
    run("analyze", ".")
    assert ": 1 module, 1 result" in run("cache", "info").stdout
    assert "removed 2 entries" in run("cache", "clean").stdout
    assert ": 0 modules" in run("cache", "info").stdout


def test_an_interrupt_between_two_files_says_what_was_written(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("a.py").write_text(CODE)
    Path("b.py").write_text(CODE)
    written = fix_module.write_file

    def interrupted(refactoring: FileRefactoring) -> None:
        if refactoring.source.path == "b.py":
            raise KeyboardInterrupt
        written(refactoring)

    monkeypatch.setattr(fix_module, "write_file", interrupted)
    result = run("fix", ".", "--write")
    assert result.exit_code == 130
    assert "1 written, 1 not; no file is half written" in result.stderr
    assert "written      a.py" in result.stderr
    assert "not written  b.py" in result.stderr
    assert "@tf.function" in Path("a.py").read_text()
    assert Path("b.py").read_text() == CODE


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="sends a signal")
def test_an_interrupt_of_the_process_ends_it_with_130(folder: Path) -> None:
    files = [Path(f"m{number}.py") for number in range(150)]
    for file in files:
        file.write_text(CODE)
    # a process started in the background may inherit that interrupts are ignored
    start = (
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler);"
        "from terra_refactor.cli.main import main; main()"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", start, "fix", ".", "--write", "--no-cache", "--jobs", "1", "--quiet"],
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    first = min(files, key=str)
    while first.read_text() == CODE and process.poll() is None:
        time.sleep(0.002)
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=60)
    assert process.returncode == 130, stderr
    assert "no file is half written" in stderr
    assert "Traceback" not in stderr
    texts = [file.read_text() for file in files]
    after = CODE.replace("def step", "@tf.function\ndef step")
    assert set(texts) == {CODE, after}
    assert f"interrupted: {texts.count(after)} written, {texts.count(CODE)} not" in stderr
    assert not [entry for entry in folder.iterdir() if entry.name.endswith(".tmp")]


def test_the_installed_command_needs_no_tensorflow(folder: Path) -> None:
    Path("m.py").write_text(CODE)
    probe = (
        "import sys\n"
        "sys.modules['tensorflow'] = sys.modules['keras'] = None\n"
        "from terra_refactor.cli.main import app\n"
        "app(['analyze', '.', '--no-cache'])\n"
    )
    finished = subprocess.run(
        [sys.executable, "-c", probe], env=environment(), capture_output=True, text=True, check=False
    )
    assert finished.returncode == 0, finished.stderr
    assert "2 functions" in finished.stdout


@pytest.mark.slow
@pytest.mark.parametrize("arguments", [("--all",), ("--format", "json")], ids=" ".join)
def test_a_reader_that_leaves_early_is_no_error(arguments: tuple[str, ...], folder: Path) -> None:
    # the output is larger than a pipe
    Path("m.py").write_text("".join(f"def f{number}(x):\n    return x\n" for number in range(900)))
    process = subprocess.Popen(
        command("analyze", ".", "--no-cache", *arguments),
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.readline()
    process.stdout.close()
    stderr = process.stderr.read()
    process.stderr.close()
    process.wait(timeout=60)
    assert b"Traceback" not in stderr
    assert b"BrokenPipe" not in stderr


def test_a_record_is_evidence_for_the_other_commands(folder: Path) -> None:
    program = "class tf:\n    pass\n\n\ndef step(x, n):\n    return x * n\n\n\nfor n in range(60):\n    step(2.0, n)\n"
    (folder / "train.py").write_text(program, encoding="utf-8")
    done = subprocess.run(
        command("record", "--", sys.executable, "train.py"),
        capture_output=True,
        text=True,
        check=False,
        env=environment(),
    )
    assert done.returncode == 0
    assert "recording runs the program" in done.stderr
    assert "terra-record.json: 1 function of 1 file" in done.stderr
    (folder / "terra-refactor.toml").write_text('evidence = ["terra-record.json"]\n', encoding="utf-8")
    for options in (["--evidence", "terra-record.json"], []):
        report = json.loads(run("analyze", "--format", "json", *options, "train.py").stdout)
        (step,) = (each for each in report["functions"] if each["qualname"] == "step")
        assert step["expected_gain"] is None
    (folder / "train.py").write_text(program.replace("x * n", "x + n"), encoding="utf-8")
    for name in ("analyze", "lint", "fix"):
        result = run(name, "train.py")
        assert result.exit_code == 0
        assert "1 of 1 recorded functions have changed since" in result.stderr
    missing = run("lint", "--evidence", "nowhere.json", "train.py")
    assert missing.exit_code == 2 and "nowhere.json: cannot be read" in missing.stderr
