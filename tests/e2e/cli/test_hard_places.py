"""A cache that two runs share, a full disk, a file system that cannot be written: the same answer, and nothing is half written."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import warm_programs

CODE = """\
import tensorflow as tf


@tf.function
def noisy(x):
    print(x)
    return x * 2


noisy(tf.zeros([2]))
"""


def environment(cache: Path) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(Path(__file__).parents[3]), "XDG_CACHE_HOME": str(cache)}


def run(cache: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        warm_programs.tool(*arguments), env=environment(cache), capture_output=True, encoding="utf-8", check=False
    )


@pytest.fixture(name="project", autouse=True)
def _project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    project = tmp_path / "project"
    project.mkdir()
    for number in range(6):
        (project / f"m{number}.py").write_text(CODE)
    monkeypatch.chdir(project)
    return project


def mounted(place: Path, *options: str) -> bool:
    """Whether a file system in memory could be put there."""
    place.mkdir(exist_ok=True)
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", ",".join(options), "tmpfs", str(place)], capture_output=True, check=False
    )
    return done.returncode == 0


@pytest.fixture(name="full")
def _full(tmp_path: Path) -> Iterator[Path]:
    """A disk without room for one more page, with a copy of a file of the project on it."""
    place = tmp_path / "full"
    if sys.platform != "linux" or os.geteuid() != 0 or not mounted(place, "size=64k"):
        pytest.skip("needs the right to mount a file system")
    try:
        (place / "m.py").write_text(CODE)
        with pytest.raises(OSError), (place / "ballast").open("wb", buffering=0) as stream:
            while True:
                stream.write(b"\0" * 4096)
        yield place
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)


@pytest.mark.slow
def test_two_runs_at_once_share_a_cache(tmp_path: Path) -> None:
    expected = run(tmp_path / "other", "lint", ".")
    assert expected.returncode == 1
    for _ in range(2):  # cold, then warm
        runs = [
            subprocess.Popen(
                warm_programs.tool("lint", ".", "--jobs", str(jobs)),
                env=environment(tmp_path / "shared"),
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                encoding="utf-8",
            )
            for jobs in (1, 2, 1)
        ]
        assert [(*each.communicate(timeout=300), each.returncode) for each in runs] == [(expected.stdout, "", 1)] * 3


@pytest.mark.slow
def test_a_cache_on_a_full_disk_changes_nothing(full: Path, tmp_path: Path) -> None:
    expected = run(tmp_path / "other", "lint", ".")
    found = run(full / "cache", "lint", ".")
    assert (found.stdout, found.stderr, found.returncode) == (expected.stdout, expected.stderr, expected.returncode)
    again = run(full / "cache", "lint", ".")
    assert (again.stdout, again.returncode) == (expected.stdout, expected.returncode)


@pytest.mark.parametrize(
    "arguments",
    [
        ("fix", "{full}/m.py", "--select", "TR101", "--write"),
        ("lint", "--output", "sarif:{full}/report"),
        ("lint", "--output", "{full}/report"),
        ("lint", "--write-baseline", "--baseline", "{full}/baseline.json"),
        ("lint", "{full}/m.py", "--add-ignores", "--reason", "a reason that has no room " * 400),
        ("batch", "manifest.txt", "--output", "{full}/lines.jsonl"),
    ],
)
def test_a_full_disk_is_said_in_a_line_and_leaves_what_was_there(
    full: Path, project: Path, tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    Path("manifest.txt").write_text(".\n")
    before = {path.name: path.read_bytes() for path in full.iterdir()}
    result = run(tmp_path / "cache", *(argument.replace("{full}", str(full)) for argument in arguments))
    assert result.returncode in (2, 3), result
    assert "No space left" in result.stderr
    assert "Traceback" not in result.stderr
    after = {path.name: path.read_bytes() for path in full.iterdir()}
    assert {name: after[name] for name in before} == before
    assert all(content == b"" for name, content in after.items() if name not in before)


def test_what_cannot_be_written_is_read_all_the_same(tmp_path: Path) -> None:
    place = tmp_path / "fixed"
    if sys.platform != "linux" or os.geteuid() != 0 or not mounted(place, "size=1m"):
        pytest.skip("needs the right to mount a file system")
    try:
        (place / "m.py").write_text(CODE)
        subprocess.run(["mount", "-o", "remount,ro", str(place)], check=True)
        found = run(place / "cache", "lint", str(place))
        assert (found.returncode, found.stderr) == (1, "")
        assert "TR101" in found.stdout
        fixed = run(place / "cache", "fix", str(place), "--select", "TR101", "--write")
        assert fixed.returncode == 3
        assert "m.py: error: " in fixed.stderr
        assert "Traceback" not in fixed.stderr
        assert (place / "m.py").read_text() == CODE
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)
