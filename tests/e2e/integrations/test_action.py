"""The GitHub action, from its first step to its outputs, in an environment that has nothing but Python."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from local_runner import Job, run_action

ROOT = Path(__file__).parents[3]
CODE = "import tensorflow as tf\n\n\n@tf.function\ndef f(x):\n    print(x)\n    return x\n\n\nf(tf.ones([3]))\n"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("bash") is None or sys.platform == "win32", reason="needs bash"),
]


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Variables of a job whose `python` has pip and no other package."""
    folder = tmp_path_factory.mktemp("job") / "venv"
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    kept = {name: value for name, value in os.environ.items() if name.startswith(("PIP_", "SSL_", "HTTP", "http"))}
    path = f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}"
    return {**kept, "PATH": path, "HOME": str(folder.parent), "LANG": "C.UTF-8", "PIP_NO_COMPILE": "1"}


@pytest.fixture(name="project")
def _project(tmp_path: Path) -> Path:
    project = tmp_path / "project"
    (project / "a b").mkdir(parents=True)
    (project / "a b" / "m.py").write_text(CODE)
    (project / "other.py").write_text(CODE)
    return project


def without_index(job: Job) -> None:
    if "Could not find a version" in job.log or "ConnectionError" in job.log:
        pytest.skip(f"pip has no index here: {job.log.splitlines()[-1]}")


def test_all_steps_of_the_action(project: Path, tmp_path: Path, environment: dict[str, str]) -> None:
    inputs = {"paths": "a b\nother.py\n", "args": "--fail-on=warning", "python-version": "3.12", "upload-sarif": "true"}
    job, outputs = run_action(ROOT / "action.yml", project, tmp_path / "temporary", environment, inputs)
    without_index(job)
    assert job.code == 1, job.log
    assert "::warning file=other.py,line=6," in job.log
    assert "::warning file=a b/m.py,line=6," in job.log
    assert outputs["findings"] == "2"
    results = json.loads(Path(outputs["sarif"]).read_text(encoding="utf-8"))["runs"][0]["results"]
    assert [result["ruleId"] for result in results] == ["TR101", "TR101"]
    assert "TR101" in job.summary
    setup, upload = job.used
    assert setup[0].startswith("actions/setup-python@") and setup[1] == {"python-version": "3.12"}
    assert upload[0].startswith("github/codeql-action/upload-sarif@"), (
        "it is uploaded although the step found something"
    )
    assert upload[1] == {"sarif_file": outputs["sarif"], "category": "terra-refactor"}


def test_a_wrong_path_uploads_nothing(project: Path, tmp_path: Path, environment: dict[str, str]) -> None:
    arguments = {"paths": "nowhere", "upload-sarif": "true"}
    job, outputs = run_action(ROOT / "action.yml", project, tmp_path / "temporary", environment, arguments)
    without_index(job)
    assert job.code == 2 and "nowhere" in job.log
    assert (outputs["sarif"], job.used) == ("", [])


def test_the_runner_refuses_what_it_does_not_know(tmp_path: Path) -> None:
    job = Job(tmp_path, tmp_path, tmp_path, {}, {"a": "x"}, {"one": {"out": "2"}})
    assert job.value("inputs.a == 'x' && steps.one.outputs.out != '3'") is True
    assert job.value("inputs.a != 'x' || steps.two.outputs.out == '3'") is False
    assert job.filled("<${{ inputs.a }}-${{ steps.one.outputs.out }}>") == "<x-2>"
    for expression in ("fromJSON(inputs.a)", "inputs.a < 3", "github.ref"):
        with pytest.raises(ValueError, match="not understood"):
            job.value(expression)
