"""The longest modules come first, some are divided among workers, and there are more examples where everything is run."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import processor_time
import pytest
import warm_programs
from kept_answers import SETTING
from running_time import LONGEST_FIRST, SPREAD, TOGETHER, examples, is_left_out, unit_of


def test_the_longest_modules_are_there() -> None:
    root = Path(__file__).parents[2]
    assert [name for name in LONGEST_FIRST if not (root / name).is_file()] == []
    assert len(set(LONGEST_FIRST)) == len(LONGEST_FIRST)
    assert set(LONGEST_FIRST) >= SPREAD | set(TOGETHER)


def test_they_come_first(request: pytest.FixtureRequest) -> None:
    modules = list(dict.fromkeys(item.nodeid.partition("::")[0] for item in request.session.items))
    long = [name for name in modules if name in LONGEST_FIRST]
    assert modules[: len(long)] == sorted(long, key=LONGEST_FIRST.index)


def test_a_worker_takes_a_module_or_a_test_of_one_that_is_spread() -> None:
    spread = min(SPREAD)
    assert unit_of(f"{spread}::test_a[b]") == f"{spread}::test_a[b]"
    assert unit_of("tests/unit/test_a.py::test_b") == unit_of("tests/unit/test_a.py::test_c") == "tests/unit/test_a.py"
    assert unit_of("tests/unit/test_a.py::TestB::test_c") == "tests/unit/test_a.py::TestB"
    assert len({unit_of(f"{module}::test_a") for module in TOGETHER}) == len(set(TOGETHER.values()))


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="copies are forks")
def test_the_workers_of_a_run_share_the_process_that_is_forked(monkeypatch: pytest.MonkeyPatch) -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as run:
        monkeypatch.setenv("PYTEST_XDIST_TESTRUNUID", f"run {run.pid}")
        monkeypatch.setattr(os, "getppid", lambda: run.pid)
        addresses = {warm_programs._start("lsp_server", sys.executable) for _ in range(2)}
        run.communicate(b"\n")
    (address,) = addresses
    until = time.monotonic() + 60
    while Path(address).exists() and time.monotonic() < until:
        time.sleep(0.05)
    assert not Path(address).parent.exists(), "it has ended with the run"


@pytest.mark.parametrize(
    ("text", "marks", "expected"),
    [
        ("pytestmark = pytest.mark.slow\n", "not slow and not tensorflow", True),
        ("pytestmark = [\n    pytest.mark.usefixtures('a'),\n    pytest.mark.tensorflow,\n]\n", "not tensorflow", True),
        ("pytestmark = pytest.mark.slow\n", "not tensorflow", False),
        ("pytestmark = pytest.mark.slow\n", "slow", False),
        ("pytestmark = pytest.mark.slow\n", "not slow or tensorflow", False),
        ("@pytest.mark.slow\ndef test_a(): ...\n", "not slow", False),
        ("pytestmark = pytest.mark.slow\n", "", False),
    ],
)
def test_a_module_without_a_test_that_is_wanted_is_not_imported(text: str, marks: str, expected: bool) -> None:
    assert is_left_out(text, marks) is expected


def test_what_each_test_takes_is_added_up(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "test_two.py").write_text(
        "import subprocess, sys\n\n\ndef test_one():\n    sum(range(10**7))\n\n\ndef test_other():\n"
        "    subprocess.run([sys.executable, '-c', 'sum(range(10**7))'])\n"
    )
    times = tmp_path / "build" / "times.jsonl"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", "0", str(tmp_path / "test_two.py")]
    command += ["-p", "conftest", "--rootdir", str(tmp_path)]
    tests = str(Path(__file__).parents[1])
    environment = {**os.environ, "PYTHONPATH": tests, "TERRA_REFACTOR_TIMES": str(times)}
    done = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    lines = [json.loads(line) for line in times.read_text().splitlines()]
    assert [line["test"] for line in lines] == ["collection", "test_two.py::test_one", "test_two.py::test_other"]
    assert lines[1]["own"] > 0 and lines[2]["children"] > 0
    assert list(processor_time.sums(lines, 2)) == ["test_two.py", "collection"]
    processor_time.main(str(times))
    assert "test_two.py::test_other" in capsys.readouterr().out


@pytest.mark.parametrize("module", sorted(SPREAD))
def test_what_is_spread_shares_nothing(module: str) -> None:
    text = (Path(__file__).parents[2] / module).read_text(encoding="utf-8")
    assert not re.search(r"fixture\(.*scope=|lru_cache|functools\.cache", text)


@pytest.mark.parametrize(
    ("answers", "hypothesis", "expected"),
    [("", "", 1), ("write", "repeatable", 1), ("fresh", "", 2), ("", "explore", 2)],
)
def test_everything_is_more(monkeypatch: pytest.MonkeyPatch, answers: str, hypothesis: str, expected: int) -> None:
    monkeypatch.setenv(SETTING, answers)
    monkeypatch.setenv("TERRA_REFACTOR_HYPOTHESIS", hypothesis)
    assert examples(usual=1, many=2) == expected
