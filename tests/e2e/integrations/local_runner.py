"""Runs the composite action of this repository on this machine, like a GitHub runner.

Computes: the steps whose `if` is true, in order, with inputs and outputs filled in. Needs: bash; the environment of
the job. Gives: `run_action`, and with it the outputs, the exit code and the steps that use other actions, which are
only listed. Ignores: everything that `action.yml` does not use; an expression with another function or operator is an
error.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

_TOKEN = re.compile(r"\s*(&&|\|\||==|!=|'(?:[^']|'')*'|always\(\)|[A-Za-z_][\w.-]*)")
_TEMPLATE = re.compile(r"\$\{\{(.*?)\}\}")


@dataclass
class Job:
    """A job that uses the action: the environment of its steps, and their results."""

    action: Path
    folder: Path
    """The checkout of the user's repository."""
    temporary: Path
    environment: Mapping[str, str]
    inputs: dict[str, str]
    outputs: dict[str, dict[str, str]] = field(default_factory=dict)
    """By id of the step."""
    used: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    """The other actions that would run, each with its parameters."""
    log: str = ""
    code: int = 0
    """The exit code of the first step that failed; later steps run only with `always()`."""

    @property
    def summary(self) -> str:
        return (self.temporary / "summary.md").read_text(encoding="utf-8")

    def value(self, expression: str) -> str | bool:
        """An expression without `${{ }}`: comparisons joined by `&&`, or by `||`."""
        text, tokens, at = expression.strip(), [], 0
        while at < len(text):
            match = _TOKEN.match(text, at)
            if match is None:
                raise ValueError(f"not understood: {text[at:]!r} in {expression!r}")
            tokens.append(match[1])
            at = match.end()
        for joint, combine in (("||", any), ("&&", all)):
            if joint in tokens:
                at = tokens.index(joint)
                return combine(bool(self.value(" ".join(part))) for part in (tokens[:at], tokens[at + 1 :]))
        if len(tokens) == 3:
            left, operator, right = tokens
            return (self.value(left) == self.value(right)) == (operator == "==")
        (token,) = tokens
        if token == "always()":
            return True
        if token.startswith("'"):
            return token[1:-1].replace("''", "'")
        match token.split("."):
            case ["inputs", name]:
                return self.inputs[name]
            case ["steps", step, "outputs", name]:
                return self.outputs.get(step, {}).get(name, "")
        raise ValueError(f"not understood: {token!r}")

    def filled(self, text: str) -> str:
        """A text with its templates replaced by their values."""
        return _TEMPLATE.sub(lambda match: str(self.value(match[1])), text)

    def run(self, step: Mapping[str, Any]) -> None:
        """Runs one step, if its condition holds."""
        condition = str(step.get("if", "always()" if self.code == 0 else "''"))
        if (self.code and "always()" not in condition) or not self.value(condition):
            return
        if "uses" in step:
            self.used.append((step["uses"], {name: self.filled(str(each)) for name, each in step["with"].items()}))
            return
        assert step["shell"] == "bash"
        output = self.temporary / f"output-{len(self.outputs)}"
        output.touch()
        variables = {
            "GITHUB_ACTION_PATH": str(self.action.parent),
            "GITHUB_OUTPUT": str(output),
            "GITHUB_STEP_SUMMARY": str(self.temporary / "summary.md"),
            "RUNNER_TEMP": str(self.temporary),
            "GITHUB_ACTIONS": "true",
            **{name: self.filled(str(each)) for name, each in step.get("env", {}).items()},
        }
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", self.filled(step["run"])],
            cwd=self.folder,
            env={**self.environment, **variables},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        self.log += done.stdout
        lines = output.read_text(encoding="utf-8").splitlines()
        self.outputs[step.get("id", str(len(self.outputs)))] = dict(line.split("=", 1) for line in lines)
        self.code = self.code or done.returncode


def run_action(
    action: Path, folder: Path, temporary: Path, environment: Mapping[str, str], inputs: Mapping[str, str]
) -> tuple[Job, dict[str, str]]:
    """The job after all steps, and the outputs of the action. Raises ValueError for an unknown input or expression."""
    declared = yaml.safe_load(action.read_text(encoding="utf-8"))
    if unknown := set(inputs) - set(declared["inputs"]):
        raise ValueError(f"unknown inputs: {sorted(unknown)}")
    given = {name: str(inputs.get(name, each.get("default", ""))) for name, each in declared["inputs"].items()}
    temporary.mkdir(exist_ok=True)
    (temporary / "summary.md").touch()
    job = Job(action, folder, temporary, environment, given)
    for step in declared["runs"]["steps"]:
        job.run(step)
    return job, {name: job.filled(each["value"]) for name, each in declared["outputs"].items()}
