"""The documentation's site builds, and a broken link would stop it."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("material")

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.slow


def build(project: Path, site: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "-f", str(project / "mkdocs.yml"), "-d", str(site)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_it_builds(tmp_path: Path) -> None:
    done = build(ROOT, tmp_path / "site")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "site" / "rules" / "TR101" / "index.html").is_file()


def test_a_broken_link_stops_it(tmp_path: Path) -> None:
    links = ("nowhere.md", "ci.md#nowhere", "/absolute.md")
    shutil.copytree(ROOT / "docs", tmp_path / "docs")
    shutil.copy(ROOT / "mkdocs.yml", tmp_path)
    with open(tmp_path / "docs" / "index.md", "a") as page:
        page.writelines(f"\n[broken]({link})\n" for link in links)
    done = build(tmp_path, tmp_path / "site")
    assert done.returncode != 0
    said = done.stderr.splitlines()
    assert [link for link in links if not any("WARNING" in line and f"'{link}'" in line for line in said)] == []
