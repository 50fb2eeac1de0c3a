"""The folder that `verify` copies."""

from __future__ import annotations

from pathlib import Path

import pytest

from terra_refactor.verify.copies import project_folder


def _written(folder: Path, *names: str) -> list[str]:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()
    return [str(folder / name) for name in names]


def test_a_marked_folder_is_the_project(tmp_path: Path) -> None:
    files = _written(tmp_path, "pyproject.toml", "src/pkg/__init__.py", "src/pkg/a.py")
    assert project_folder(files[2:]) == tmp_path.resolve()


def test_scripts_are_in_the_innermost_folder(tmp_path: Path) -> None:
    assert project_folder(_written(tmp_path, "x/a.py", "x/b.py")) == tmp_path.resolve() / "x"


@pytest.mark.parametrize("inner", ["pkg/__init__.py", "pkg/inner/__init__.py"])
def test_a_package_is_in_the_folder_around_it(tmp_path: Path, inner: str) -> None:
    files = _written(tmp_path, "x/pkg/__init__.py", f"x/{inner}", "x/pkg/inner/a.py")
    assert project_folder(files[1:]) == tmp_path.resolve() / "x"


def test_no_project_reaches_beyond_the_home_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    files = _written(tmp_path, "pkg/__init__.py", "pkg/a.py")
    assert project_folder(files) == tmp_path.resolve() / "pkg"
