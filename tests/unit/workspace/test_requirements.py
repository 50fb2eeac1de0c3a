"""Requirements from files of a project, in each of their forms."""

from __future__ import annotations

from pathlib import Path

import pytest

from terra_refactor.workspace.requirements import (
    MAX_LENGTH,
    is_requirements_file,
    read_cell_requirements,
    read_requirements,
)


@pytest.mark.parametrize(
    ("name", "text", "asked"),
    [
        ("requirements.txt", "tensorflow==2.3.1  # the last with\n", [("tensorflow", "==2.3.1", 1)]),
        ("requirements-gpu.txt", "-r base.txt\nTensorFlow_GPU [x] ~= 2.4.0\n", [("tensorflow", "~=2.4.0", 2)]),
        ("requirements.txt", "tensorflow\nnumpy >=1.18, <1.20\n", [("numpy", ">=1.18,<1.20", 2)]),
        ("requirements.txt", "tensorflow-addons==0.11\ntensorflow-hub==1\ntf-nightly==2.5\n", []),
        (
            "environment.yml",
            "dependencies:\n  - python=3.7\n  - tensorflow=2.3.0=gpu_py37\n  - pip:\n    - keras==2.4.3\n",
            [("tensorflow", "==2.3.0.*", 3), ("keras", "==2.4.3", 5)],
        ),
        (
            "Dockerfile",
            "FROM tensorflow/tensorflow:2.3.1-gpu\n# pip install keras==9\nRUN pip install -q 'numpy<1.20' && ls\n",
            [("tensorflow", "==2.3.1", 1), ("numpy", "<1.20", 3)],
        ),
        ("pyproject.toml", '[project]\ndependencies = ["tensorflow>=2.3,<2.5"]\n', [("tensorflow", ">=2.3,<2.5", 2)]),
        ("pyproject.toml", '[tool.poetry.dependencies]\ntensorflow = "^2.3"\n', [("tensorflow", ">=2.3,<3", 2)]),
        ("pyproject.toml", '[tool.poetry.dependencies]\nnumpy = "~1.19"\n', [("numpy", ">=1.19,<1.20", 2)]),
        ("Pipfile", '[packages]\nkeras = "*"\ntensorflow = "==2.3"\n', [("tensorflow", "==2.3", 3)]),
        ("setup.cfg", "[options]\ninstall_requires =\n  numpy\n  tensorflow<2\n", [("tensorflow", "<2", 4)]),
        (
            "setup.py",
            "needs = [\n 'tensorflow==2.1',\n other,\n]\nsetup(install_requires=needs)\n",
            [("tensorflow", "==2.1", 2)],
        ),
        ("setup.py", "setup(install_requires=open('requirements.txt').read().split())\n", []),
        ("setup.py", "setup(install_requires=[\n", []),
        ("setup.py", "(" * 5_000, []),
        ("pyproject.toml", "[project\n", []),
        ("setup.cfg", "no section\n", []),
        ("requirements.txt", "tensorflow" + "==1" * 100_000 + "(", []),
        ("requirements.txt", "#" * MAX_LENGTH + "\ntensorflow==2.3\n", []),
    ],
)
def test_what_a_file_asks_for(name: str, text: str, asked: list[tuple[str, str, int]]) -> None:
    assert [(each.library, each.specifier, each.line) for each in read_requirements(name, text)] == asked


def test_a_setup_is_never_run(tmp_path: Path) -> None:
    trace = tmp_path / "ran"
    text = f"open({str(trace)!r}, 'w')\nsetup(install_requires=['tensorflow==2.1'])\n"
    assert [each.specifier for each in read_requirements("setup.py", text)] == ["==2.1"]
    assert not trace.exists()


def test_lines_under_conditions_are_told_apart() -> None:
    text = "tensorflow==2.3; python_version < '3.9'\nnumpy==1.19\n"
    assert [(each.library, each.conditional) for each in read_requirements("requirements.txt", text)] == [
        ("tensorflow", True),
        ("numpy", False),
    ]


@pytest.mark.parametrize(
    ("line", "asked"),
    [
        ("!pip install -q tensorflow==2.0.0-beta1", [("tensorflow", "==2.0.0-beta1")]),
        ("%pip install 'keras<3' \"numpy==1.19\"", [("keras", "<3"), ("numpy", "==1.19")]),
        ("%tensorflow_version 1.x", [("tensorflow", "==1.*")]),
        ("!pip install tensorflow", []),
        ("# !pip install tensorflow==2.0", []),
        ("print('pip install tensorflow==2.0')", []),
        ("!pip uninstall -y tensorflow==2.0", []),
    ],
)
def test_what_a_cell_installs(line: str, asked: list[tuple[str, str]]) -> None:
    assert [(each.library, each.specifier) for each in read_cell_requirements(f"import os\n{line}\n")] == asked


def test_other_files_ask_for_nothing() -> None:
    names = ["train.py", "poetry.lock", "README.md", "setup.py.orig", "config.yml"]
    assert not [name for name in names if is_requirements_file(name)]
