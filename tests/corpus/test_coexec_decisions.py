"""Decisions about the ten programs of the shim agree with the results of running them (`tf_function.toml`).

Where `tf.function` on the step raises or gives something else, `analyze` decides for `co_execute` and names a hazard that the
table names, and `fix --level coexec` inserts it. TensorFlow is not needed: the table holds what it did.
"""

from __future__ import annotations

import ast
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import warm_programs

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
TABLE = tomllib.loads((ROOT / "corpus/coexec/tf_function.toml").read_text(encoding="utf-8"))
FAILING = sorted(name for name, row in TABLE.items() if row["outcome"] != "agrees")
# Which step of those that `tf.function` keeps is converted whole; the others hold a pattern that is not proved safe.
CONVERTED = {"bert_question_answering", "dcgan", "gpt2", "yolov3"}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the programs, without any decorator, as a project of its own."""
    folder = tmp_path_factory.mktemp("coexec")
    shutil.copytree(ROOT / "corpus/coexec", folder / "corpus/coexec", ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "corpus/__init__.py").touch()
    return folder


def tool(project: Path, command: str, *arguments: str) -> str:
    """The output of a command; `fix` uses what `analyze` has kept of the same files."""
    line = warm_programs.tool(command, "--isolated", "--quiet", *arguments, "corpus")
    variables = {**os.environ, "TERRA_REFACTOR_CACHE_DIR": str(project.parent / "cache")}
    return subprocess.run(line, cwd=project, env=variables, capture_output=True, text=True, check=False).stdout


@pytest.fixture(scope="module")
def steps(project: Path) -> dict[str, Any]:
    """By program, what is decided about its training step."""
    found = json.loads(tool(project, "analyze", "--format", "json"))["functions"]
    return {Path(f["path"]).stem: f for f in found if f["qualname"].endswith(".train_step")}


@pytest.mark.parametrize("name", FAILING)
def test_a_step_that_fails_as_a_graph_is_to_be_co_executed_and_the_hazards_say_why(
    steps: dict[str, Any], name: str
) -> None:
    step = steps[name]
    assert (step["classification"], step["action"]) == ("unsafe", "co_execute")
    assert step["reason"]
    found = {hazard["rule"] if isinstance(hazard, dict) else hazard for hazard in step["hazards"]}
    assert found & set(TABLE[name]["hazards"])


def test_a_step_that_is_safe_becomes_a_graph(steps: dict[str, Any]) -> None:
    assert {name for name, step in steps.items() if step["action"] == "add_tf_function"} == CONVERTED
    assert not CONVERTED & set(FAILING)


def test_fix_inserts_the_shim_where_it_is_wanted_and_only_there(project: Path, steps: dict[str, Any]) -> None:
    tool(project, "fix", "--level", "coexec", "--write")
    for name, step in steps.items():
        text = (project / f"corpus/coexec/{name}.py").read_text(encoding="utf-8")
        decorated = {
            node.name: {ast.unparse(decorator).partition("(")[0] for decorator in node.decorator_list}
            for node in ast.walk(ast.parse(text))
            if isinstance(node, ast.FunctionDef)
        }
        wanted = {"co_execute": {"co_execute"}, "add_tf_function": {"tf.function"}}.get(step["action"], set())
        assert decorated["train_step"] == wanted, name
        assert ("from terra_refactor.runtime import co_execute" in text) == (step["action"] == "co_execute")
