"""`verify` and `fix --verify` through the real command and real TensorFlow."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from terra_refactor.cli.main import app

pytestmark = [pytest.mark.tensorflow, pytest.mark.slow]

ROOT = Path(__file__).parents[3]

LIBRARY = """\
import tensorflow as tf


def smooth(x: tf.Tensor) -> tf.Tensor:
    for _ in range(20):
        x = tf.tanh(x) * 2.0
    return x


class Model(tf.Module):
    def __init__(self, width: int):
        super().__init__()
        self.weight = tf.Variable(tf.ones([width, width]))

    def step(self, x: tf.Tensor) -> tf.Tensor:
        for _ in range(10):
            x = tf.nn.relu(tf.matmul(x, self.weight)) + tf.random.normal([3, 4]) * 0.1
        self.weight.assign_sub(0.01 * tf.matmul(x, x, transpose_a=True))
        return tf.reduce_sum(x)
"""

SCRIPT = """\
import sys

import tensorflow as tf

from lib import Model, smooth

model = Model(4)
total = 0.0
for number in range(int(sys.argv[1])):
    total += float(model.step(tf.ones([3, 4]) * 0.01))
    total += float(tf.reduce_sum(smooth(tf.ones([2, 3]) * number)))
with open("written.txt", "w") as stream:
    stream.write("by the run")
print(f"total {total:.3f}")
"""

CALLER = """\
import tensorflow as tf

from lib import Model, smooth


def use():
    smooth(tf.ones([2, 3]))
    model = Model(4)
    for _ in range(3):
        model.step(tf.ones([3, 4]))
"""


def command(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "XDG_CACHE_HOME": str(folder.parent / "cache")}
    return subprocess.run(
        [sys.executable, "-m", "terra_refactor", *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


class Answer:
    """Output and exit code of a command that ran in this process."""

    def __init__(self, result: Result) -> None:
        self.returncode = result.exit_code
        self.stdout = result.stdout
        self.stderr = result.stderr


@pytest.fixture
def warm_command(warm_children: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Answer]:
    """The command in this process, with children that have loaded TensorFlow; the other tests start everything as a user does."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))

    def run(folder: Path, *arguments: str) -> Answer:
        monkeypatch.chdir(folder)
        return Answer(CliRunner().invoke(app, list(arguments)))

    return run


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "lib.py").write_text(LIBRARY)
    (folder / "train.py").write_text(SCRIPT)
    return folder


def contents(folder: Path) -> dict[str, str]:
    return {str(path.relative_to(folder)): path.read_text() for path in sorted(folder.rglob("*")) if path.is_file()}


def statuses(report: dict[str, Any]) -> dict[str, str]:
    """The result of each function. On a busy machine what is the same may be slower (`unit/verify` has one that always is)."""
    return {entry["qualname"]: entry["status"].replace("slower", "same") for entry in report["functions"]}


def test_a_recorded_run_is_the_same_and_changes_no_file(project: Path) -> None:
    before = contents(project)
    done = command(project, "verify", ".", "--level", "speculative", "--format", "json", "--run", "python train.py 12")
    assert done.returncode == 0, done.stderr + done.stdout
    report = json.loads(done.stdout)
    assert statuses(report) == {"smooth": "same", "Model.step": "same"}
    assert report["program"]["difference"] is None and report["program"]["exit_codes"] == [0, 0]
    step = next(entry for entry in report["functions"] if entry["qualname"] == "Model.step")
    assert step["compared"] >= 6 and step["after"]["traces"] == 1 and step["before"]["traces"] is None
    assert contents(project) == before


def test_a_package_below_the_project_runs_from_its_own_folder(
    project: Path, warm_command: Callable[..., Answer]
) -> None:
    (project / "pyproject.toml").write_text("")
    inner = project / "examples" / "first"
    (inner / "app").mkdir(parents=True)
    (project / "lib.py").rename(inner / "app" / "lib.py")
    (project / "train.py").rename(inner / "app" / "__main__.py")
    main = (inner / "app" / "__main__.py").read_text().replace("from lib import", "from app.lib import")
    (inner / "app" / "__main__.py").write_text(main)
    done = warm_command(inner, "verify", ".", "--level", "speculative", "--format", "json", "--run", "python -m app 12")
    assert done.returncode == 0, done.stderr + done.stdout
    assert statuses(json.loads(done.stdout)) == {"smooth": "same", "Model.step": "same"}


def test_made_inputs_reach_functions_and_methods(project: Path, warm_command: Callable[..., Answer]) -> None:
    (project / "train.py").unlink()
    (project / "caller.py").write_text(CALLER)
    done = warm_command(project, "verify", ".", "--level", "speculative", "--format", "json")
    assert done.returncode == 0, done.stderr + done.stdout
    report = json.loads(done.stdout)
    assert statuses(report).items() >= {"smooth": "same", "Model.step": "same"}.items()


def test_fix_verify_leaves_out_what_no_run_reached(project: Path, warm_command: Callable[..., Answer]) -> None:
    script = SCRIPT.replace("    total += float(tf.reduce_sum(smooth(tf.ones([2, 3]) * number)))\n", "")
    (project / "train.py").write_text(script.replace(", smooth", ""))
    done = warm_command(
        project, "fix", ".", "--level", "speculative", "--write", "--verify", "--run", "python train.py 3"
    )
    assert done.returncode == 0, done.stderr
    text = (project / "lib.py").read_text()
    assert "    @tf.function\n    def step" in text
    assert "@tf.function\ndef smooth" not in text
    assert "not verified: not reached" in done.stderr


def test_tests_are_a_run_too(project: Path, warm_command: Callable[..., Answer]) -> None:
    (project / "tests").mkdir()
    (project / "tests" / "test_lib.py").write_text(
        "import tensorflow as tf\nfrom lib import smooth\n\n\ndef test_smooth():\n    assert smooth(tf.zeros([2])).shape == [2]\n"
    )
    done = warm_command(
        project,
        "verify",
        ".",
        "--level",
        "speculative",
        "--format",
        "json",
        "--pytest",
        "tests -q",
        "--function",
        "smooth",
    )
    report = json.loads(done.stdout)
    assert statuses(report) == {"smooth": "same"}, done.stderr
    assert report["program"]["difference"] is None and report["program"]["exit_codes"] == [0, 0]
    assert done.returncode == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--run", "train.sh"), "there is no file train.sh"),
        (("--run", "bash -c true"), "there is no file bash"),
        (("--run", "python train.py", "--pytest", "tests"), "cannot be combined with --pytest"),
        (("--python", "/no/such/python"), "no such interpreter"),
        (("--timeout", "0"), "a positive number of seconds"),
        (("--function", "smoth"), "did you mean `smooth`"),
    ],
)
def test_a_wrong_call_says_so(project: Path, arguments: tuple[str, ...], said: str) -> None:
    done = command(project, "verify", ".", "--level", "speculative", *arguments)
    assert done.returncode == 2
    assert said in " ".join(done.stderr.split())


def test_an_interpreter_without_tensorflow_is_a_clear_error(project: Path, tmp_path: Path) -> None:
    bare = tmp_path / "bare"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(bare)], check=True)
    done = command(project, "verify", ".", "--level", "speculative", "--python", str(bare / "bin" / "python"))
    assert done.returncode == 2
    assert "cannot import TensorFlow" in " ".join(done.stderr.split())
