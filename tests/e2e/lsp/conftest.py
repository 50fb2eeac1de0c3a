"""The folder that a client opens."""

from __future__ import annotations

from pathlib import Path

import pytest
from small_project import FILES


@pytest.fixture(name="folder")
def _folder(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    for name, text in FILES.items():
        (folder / name).write_text(text)
    return folder
