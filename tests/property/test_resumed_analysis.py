"""A run that resumes from what the last one left on disk gives what a run from nothing gives.

Programs of the corpus are edited at random: bodies, signatures, functions more and less, imports. After each edit the run with the cache
is compared with one without it.
"""

from __future__ import annotations

import ast
import random
import shutil
from pathlib import Path

import pytest

from terra_refactor.config import Config
from terra_refactor.workspace import kept_analysis
from terra_refactor.workspace.results import WorkspaceReport
from terra_refactor.workspace.workspace import Options, analyze

PROGRAMS = Path(__file__).parents[2] / "corpus" / "programs"
NAMES = ("vae", "graph_network", "layers_library", "wgan_gp", "cli_package", "policy_gradient")
EDITS = 6
LINES = (
    "print('x')",
    "x = 1",
    "x = tf.zeros([2, 3])",
    "items = [1, 2]",
    "raise ValueError",
    "import math",
    "import os.path as tf2",
)


def told(report: WorkspaceReport) -> dict[str, object]:
    """The result of a run, without its costs."""
    return {
        "decisions": report.decisions,
        "findings": report.findings,
        "errors": report.errors,
        "regions": report.regions,
        "size": (report.stats.files, report.stats.lines),
    }


def edited(text: str, choose: random.Random) -> str:
    """The text with one function or statement changed."""
    tree = ast.parse(text)
    lines = text.split("\n")
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    statements = [node for function in functions for node in function.body]
    kind = choose.randrange(6)
    if kind == 0 and functions:
        # a parameter more
        function = choose.choice(functions)
        line = lines[function.lineno - 1]
        lines[function.lineno - 1] = (
            line.replace("(", "(" + ("" if "(self" in line else "extra=None, "), 1).replace("(self", "(self, *", 1)
            if "(self)" not in line
            else line.replace("(self)", "(self, extra=None)")
        )
    elif kind == 1 and functions:
        # a function more, before the others
        lines.insert(choose.choice(tree.body).lineno - 1, "def added(x):\n    return x\n\n")
    elif kind == 2 and functions:
        # a function less
        function = choose.choice(functions)
        end = function.end_lineno or function.lineno
        indent = lines[function.lineno - 1][: function.col_offset]
        lines[function.lineno - 1 : end] = [f"{indent}{function.name} = None"]
    elif kind == 3:
        lines.insert(
            choose.choice(tree.body).lineno - 1,
            choose.choice(("import math", "import tensorflow as tf", "import json")),
        )
    elif statements:
        # a statement more or less in a body
        statement = choose.choice(statements)
        at = statement.lineno - 1
        indent = lines[at][: statement.col_offset]
        if kind == 4 or lines[at][: statement.col_offset].strip():
            lines.insert(at, indent + choose.choice(LINES))
        else:
            lines[at : statement.end_lineno] = [indent + "pass"]
    return "\n".join(lines)


@pytest.mark.slow
@pytest.mark.parametrize("program", NAMES)
def test_a_resumed_run_gives_what_a_run_from_nothing_gives(
    program: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    choose = random.Random(program)
    folder = tmp_path / "project"
    shutil.copytree(PROGRAMS / program, folder)
    monkeypatch.setenv("TERRA_REFACTOR_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.chdir(folder)
    resumed = 0
    wakes = kept_analysis.resumed_judge

    def counted(*given: object) -> object:
        nonlocal resumed
        judge = wakes(*given)  # type: ignore[arg-type]
        resumed += judge is not None
        return judge

    monkeypatch.setattr(kept_analysis, "resumed_judge", counted)
    config = Config(jobs=1)
    files = sorted(folder.rglob("*.py"))
    analyze(["."], Options(config))
    edits = 0
    while edits < EDITS:
        file = choose.choice(files)
        before = file.read_text(encoding="utf-8")
        text = edited(before, choose)
        try:
            ast.parse(text)
        except SyntaxError:
            continue
        edits += 1
        file.write_text(text, encoding="utf-8")
        assert told(analyze(["."], Options(config))) == told(analyze(["."], Options(config, use_cache=False))), (
            file,
            edits,
        )
    assert resumed > EDITS / 3, "hardly any run resumed: the test compares runs from nothing"
