"""docs/tutorial.md shows what the commands print, as text and in pictures; they run here on a copy of the package, if it was fetched
(`python -m corpus fetch`)."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path
from xml.etree import ElementTree

import pytest
import warm_programs

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")
SCRIPT = (ROOT / "corpus" / "tutorial" / "train.py").read_text(encoding="utf-8")
PACKAGE = ROOT / "corpus" / "packages" / "bnnsurv-0.1.3"
PICTURES = ROOT / "docs" / "pictures"
NOT_RUN = ("pip", "tar", "cd", "verify")
"""`verify` needs TensorFlow Probability and scikit-survival; its output is that of one run."""
SECONDS = re.compile(r"\d+\.\d s")


def shown() -> list[tuple[list[str], list[str]]]:
    """The commands of the page that are run here, each with the lines that are shown below it."""
    found = []
    for block in re.findall(r"```console\n\$ (.*?)```", PAGE, re.DOTALL):
        command, *lines = block.splitlines()
        words = shlex.split(command)
        if words[0] not in NOT_RUN and words[1] not in NOT_RUN:
            found.append((words, lines))
    return found


def printed(words: list[str], folder: Path) -> list[str]:
    """The lines that a command prints, both streams."""
    command = warm_programs.tool(*words[1:], "--no-cache")
    variables = {**os.environ, "COLUMNS": "100", "NO_COLOR": "1", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=folder, env=variables, capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1), done.stderr
    return [SECONDS.sub("", line).rstrip() for line in (done.stdout + done.stderr).splitlines()]


def drawn(picture: Path) -> list[str]:
    """The lines of a picture of a terminal, without the seconds that a command takes."""
    rows: dict[float, list[tuple[float, str]]] = {}
    for element in ElementTree.parse(picture).iter("{http://www.w3.org/2000/svg}text"):
        if "clip-path" in element.attrib:
            place = float(element.attrib["x"]), (element.text or "").replace("\N{NO-BREAK SPACE}", " ")
            rows.setdefault(float(element.attrib["y"]), []).append(place)
    last = max(rows)
    height = min(later - y for y, later in zip(sorted(rows), sorted(rows)[1:], strict=False))
    found = []
    for number in range(round((last - min(rows)) / height) + 1):
        line = ""
        for x, text in sorted(rows.get(round(min(rows) + number * height, 1), [])):
            line = line.ljust(round(x / 12.2)) + text
        found.append(SECONDS.sub("", line).rstrip())
    return found


def test_the_pictures_are_there_and_small() -> None:
    shown = re.findall(r"!\[[^\]]{20,}\]\(pictures/([^)]+)\)", PAGE)
    assert sorted(shown) == sorted(path.name for path in PICTURES.iterdir())
    assert len(shown) == 3
    for name in shown:
        assert (PICTURES / name).stat().st_size < 100_000
        assert b"http" not in (PICTURES / name).read_bytes().replace(b"http://www.w3.org/", b"").replace(b"https://www.textualize.io", b"")


def test_the_script_is_the_one_of_the_page() -> None:
    assert f"```python\n{SCRIPT}```" in PAGE


@pytest.mark.slow
@pytest.mark.skipif(not PACKAGE.is_dir(), reason="python -m corpus fetch brings the package")
def test_the_commands_print_what_the_page_shows(tmp_path: Path) -> None:
    project = tmp_path / PACKAGE.name
    shutil.copytree(PACKAGE, project)
    (project / "train.py").write_text(SCRIPT, encoding="utf-8")
    commands = shown()
    assert [words[1] for words, _ in commands] == ["fix", "fix", "lint"]
    for command, *lines in (drawn(PICTURES / name) for name in ("tutorial-analyze.svg", "tutorial-fix.svg")):
        output = printed(shlex.split(command)[1:], project)
        assert lines == output[: len(lines)], f"python tools/tutorial_pictures.py: {command}"
        assert len(lines) > 20
    for words, lines in commands:
        rest = iter(printed(words, project))
        for line in lines:
            if line != "...":
                assert SECONDS.sub("", line).rstrip() in rest, f"{shlex.join(words)} does not print, or not here: {line}"
