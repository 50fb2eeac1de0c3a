"""Integrations with forges and hooks: the same scripts and commands, run here."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[3]
CODE = "import tensorflow as tf\n\n\n@tf.function\ndef f(x):\n    print(x)\n    return x\n\n\nf(tf.ones([3]))\n"


@pytest.fixture(name="environment")
def _environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """A project in the current folder, and `terra-refactor` on the path."""
    project, tools = tmp_path / "project", tmp_path / "bin"
    (project / "a b").mkdir(parents=True)
    (project / "a b" / "m.py").write_text(CODE)
    (project / "other.py").write_text(CODE)
    tools.mkdir()
    command = tools / "terra-refactor"
    command.write_text(f'#!/bin/sh\nPYTHONPATH="{ROOT}" exec "{sys.executable}" -m terra_refactor "$@"\n')
    command.chmod(0o755)
    monkeypatch.chdir(project)
    return {**os.environ, "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}", "XDG_CACHE_HOME": str(tmp_path / "cache")}


def loaded(name: str) -> Any:
    return yaml.safe_load((ROOT / name).read_text(encoding="utf-8"))


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
@pytest.mark.parametrize(
    ("paths", "arguments", "code", "findings"),
    [(".", "", 1, 2), ("a b\n", "--fail-on=error\n", 0, 1), (".", "--ignore\nTR101", 0, 0), ("nowhere", "", 2, None)],
)
def test_the_step_of_the_action(
    environment: dict[str, str], tmp_path: Path, paths: str, arguments: str, code: int, findings: int | None
) -> None:
    (step,) = [step for step in loaded("action.yml")["runs"]["steps"] if step.get("id") == "lint"]
    summary, output = tmp_path / "summary.md", tmp_path / "output"
    summary.write_text("before\n")
    variables = {
        "RUNNER_TEMP": tmp_path,
        "GITHUB_STEP_SUMMARY": summary,
        "GITHUB_OUTPUT": output,
        "GITHUB_ACTION_PATH": ROOT,
    }
    assert set(step["env"]) == {"TERRA_PATHS", "TERRA_ARGS"}
    done = subprocess.run(
        ["bash", "-c", step["run"]],
        env={
            **environment,
            **{name: str(value) for name, value in variables.items()},
            "TERRA_PATHS": paths,
            "TERRA_ARGS": arguments,
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == code, done.stderr
    if findings is None:
        assert not output.exists()
        assert "nowhere" in done.stderr
        return
    values = dict(line.split("=", 1) for line in output.read_text().splitlines())
    assert int(values["findings"]) == findings == done.stdout.count("::warning ")
    assert len(json.loads(Path(values["sarif"]).read_text())["runs"][0]["results"]) == findings
    assert summary.read_text().startswith("before\n## terra-refactor")


def test_the_job_of_gitlab(environment: dict[str, str]) -> None:
    job = loaded("integrations/gitlab-ci.yml")[".terra-refactor"]
    (script,) = job["script"]
    variables = {**environment, **job["variables"], "TERRA_ARGS": "--select TR1"}
    done = subprocess.run(["sh", "-c", script], env=variables, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stderr
    reports = job["artifacts"]["reports"]
    assert len(json.loads(Path(reports["codequality"]).read_text())) == 2
    assert len(ElementTree.parse(reports["junit"]).getroot().findall(".//failure")) == 2


def test_the_hooks(environment: dict[str, str]) -> None:
    for hook in loaded(".pre-commit-hooks.yaml"):
        words = [*hook["entry"].split(), *hook["args"]]
        done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == (1 if "lint" in hook["id"] else 0), done.stderr
        assert hook["pass_filenames"] is False


@pytest.mark.slow
def test_pre_commit_reads_the_hooks() -> None:
    clientlib = pytest.importorskip("pre_commit.clientlib")
    manifest = clientlib.load_manifest(str(ROOT / ".pre-commit-hooks.yaml"))
    assert [hook["id"] for hook in manifest] == ["terra-refactor-lint", "terra-refactor-fix"]


def test_actions_are_pinned_to_commits() -> None:
    used = [step["uses"] for step in loaded("action.yml")["runs"]["steps"] if "uses" in step]
    used += re.findall(r"uses: (actions/\S+)", (ROOT / "docs" / "ci.md").read_text(encoding="utf-8"))
    assert len(used) >= 3
    assert [each for each in used if not re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", each)] == []


def test_the_image_copies_what_the_package_is_built_from() -> None:
    lines = (ROOT / "integrations" / "Dockerfile").read_text(encoding="utf-8").splitlines()
    copied = {
        name for line in lines if line.startswith("COPY ") and "--from" not in line for name in line.split()[1:-1]
    }
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    needed = {project["project"]["readme"], *project["project"]["license-files"]}
    needed |= set(project["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]) | {"pyproject.toml"}
    assert copied == needed
    ignored = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    assert {line[1:] for line in ignored if line.startswith("!")} == copied
    (entry,) = [line for line in lines if line.startswith("ENTRYPOINT ")]
    assert Path(json.loads(entry.partition(" ")[2])[0]).name in project["project"]["scripts"]


def test_issue_forms_have_what_github_asks_for() -> None:
    forms = sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"))
    assert len(forms) == 4
    for form in forms:
        content = loaded(str(form.relative_to(ROOT)))
        if form.name == "config.yml":
            continue
        assert {"name", "description", "body"} <= set(content)
        identifiers = [each["id"] for each in content["body"]]
        assert len(set(identifiers)) == len(identifiers)
        assert all(each["attributes"]["label"] for each in content["body"])
