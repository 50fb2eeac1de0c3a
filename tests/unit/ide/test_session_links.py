"""The editor's project is its folder: links lead it nowhere else."""

from __future__ import annotations

from pathlib import Path

import pytest

from terra_refactor.config import Config
from terra_refactor.ide.session import Session


def test_links_out_of_the_folder_are_no_files_of_the_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project, outside = tmp_path / "project", tmp_path / "outside"
    for folder in (project, outside):
        folder.mkdir()
        (folder / "m.py").write_text("import tensorflow as tf\n")
    (project / "link.py").symlink_to(outside / "m.py")
    (project / "linked").symlink_to(outside)
    monkeypatch.chdir(project)
    assert Session(str(project), Config()).files() == ("m.py",)
