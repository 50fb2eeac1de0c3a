"""Results do not depend on the current folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from terra_refactor.config import Config
from terra_refactor.workspace.loading import read_project
from terra_refactor.workspace.workspace import Options, analyze

TEXTS = {
    "pkg/__init__.py": "from pkg.core.layers import Scale\n",
    "pkg/core/__init__.py": "",
    "pkg/core/layers.py": (
        "import tensorflow as tf\n"
        "from pkg import numbers\n\n\n"
        "class Scale(tf.Module):\n"
        "    def __call__(self, x):\n"
        "        return x * numbers.factor()\n"
    ),
    "pkg/numbers.py": "def factor():\n    print('factor')\n    return 2.0\n",
    "examples/run.py": (
        "import helpers\nimport tensorflow as tf\nimport pkg\n\n"
        "print(pkg.Scale()(tf.ones([2])), helpers.twice(tf.ones([2])))\n"
    ),
    "examples/helpers.py": "def twice(x):\n    return x + x\n",
}
PLACES = [
    (".", "."),
    ("pkg", ".."),
    ("pkg/core", "../.."),
    ("examples", ".."),
    ("..", "project"),
    ("pkg", "absolute"),
    ("/", "absolute"),
]


@pytest.fixture(name="project", params=["", "setup.py", "src"])
def _project(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """A project without and with a build configuration, and one in a folder whose name says nothing, being above the project."""
    project = tmp_path / "src" / "project" if request.param == "src" else tmp_path / "project"
    for name, text in TEXTS.items():
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text(text)
    if request.param == "setup.py":
        (project / "setup.py").write_text("import setuptools\n\nsetuptools.setup()\n")
    return project


@pytest.mark.parametrize(("folder", "path"), PLACES)
def test_modules_have_the_same_names(project: Path, folder: str, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project / folder)
    read = read_project([str(project) if path == "absolute" else path], Config())
    names = {str(Path(shown).resolve().relative_to(project)): task.name for shown, task in read.tasks.items()}
    names.pop("setup.py", None)
    assert names == {
        "pkg/__init__.py": "pkg",
        "pkg/core/__init__.py": "pkg.core",
        "pkg/core/layers.py": "pkg.core.layers",
        "pkg/numbers.py": "pkg.numbers",
        "examples/run.py": "examples.run",
        "examples/helpers.py": "examples.helpers",
    }
    layers = next(shown for shown in read.tasks if shown.endswith("layers.py"))
    assert read.index.resolve(layers, "numbers", 2) == "pkg.numbers"
    assert read.index.resolve(layers, "pkg", 0) == "pkg"
    assert read.index.resolve(layers, "numbers", 3) is None


@pytest.mark.parametrize(("folder", "path"), [*PLACES, ("pkg", "."), ("pkg/core", "..")])
def test_functions_are_decided_alike(project: Path, folder: str, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project / folder)
    report = analyze([str(project) if path == "absolute" else path], Options(config=Config(jobs=1), use_cache=False))
    (call,) = (decision for decision in report.decisions if decision.qualname == "Scale.__call__")
    assert call.module == "pkg.core.layers"
    assert [callee.module for callee in call.callees] == ["pkg.numbers"]
    assert any("factor" in effect.detail or "factor" in effect.via for effect in call.side_effects), call.side_effects


def test_a_package_that_is_the_current_folder_has_its_name(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project / "pkg")
    read = read_project(["."], Config())
    assert {shown: task.name for shown, task in read.tasks.items()} == {
        "__init__.py": "pkg",
        "core/__init__.py": "pkg.core",
        "core/layers.py": "pkg.core.layers",
        "numbers.py": "pkg.numbers",
    }
    assert read.index.resolve_path("core/layers.py", "pkg.numbers") == "numbers.py"
    assert read.index.resolve_path("core/layers.py", "numbers", 2) == "numbers.py"
