"""The claims of README.md and the documentation match the commands' results, and the output in README.md is that of the demo."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import warm_programs

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from corpus.claims import BEGIN, END, pages, replaced, results, shim_speeds

README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_tables_are_what_the_commands_wrote() -> None:
    found = pages()
    assert {path.name for path in found} == {"README.md", "index.md", "comparison.md", "accuracy.md"}
    for path, text in found.items():
        assert path.read_text(encoding="utf-8") == text, f"stale: {path.name} (python -m corpus report)"


def test_every_row_names_its_command() -> None:
    rows = results("docs/")[2:]
    assert len(rows) >= 5
    for row in rows:
        assert re.search(r"`(python -m corpus|pytest|make) ?[^`]*`", row.split("|")[3]), row


def test_a_page_without_marks_is_refused() -> None:
    assert replaced(f"a\n{BEGIN}\nold\n{END}\nb\n", ["new"]) == f"a\n{BEGIN}\nnew\n{END}\nb\n"
    with pytest.raises(ValueError, match="claims: begin"):
        replaced("a\n", ["new"])


def test_speeds_are_read_from_the_column_of_the_shim() -> None:
    page = "\n".join(
        [
            "| gan small | 9 | 9 (9.0×) | 9 (9.0×) | |",
            "<!-- coexec: begin -->",
            "| program | eager | tf.function | shim | shim+xla |",
            "| --- | ---: | ---: | ---: | ---: |",
            "| gan small | 4.0 | 1.0 (4.0×)* | 2.0 (2.0×) | 1.0 (4.0×) |",
            "| rcnn small | 4.0 | AttributeError | 5.0 (0.8×) | not measured |",
            "| gan large | 4.0 | 1.0 (4.0×) | not measured | not measured |",
            "| geometric mean, small | | 4.0× | 1.3× | |",
            "<!-- coexec: end -->",
        ]
    )
    assert shim_speeds(page) == {"small": [2.0, 0.8]}


def test_links_and_pictures_are_there() -> None:
    links = re.findall(r"\]\((?!https?:)([^)#]+)", README)
    assert any(link.endswith(".png") for link in links)
    assert [link for link in links if not (ROOT / link).exists()] == []


@pytest.mark.slow
def test_what_is_shown_is_what_the_commands_print(tmp_path: Path) -> None:
    project = tmp_path / "project"
    shutil.copytree(ROOT / "corpus" / "demo" / "project", project)
    blocks = re.findall(r"```console\n\$ (terra-refactor .*?)```", README, re.DOTALL)
    assert [block.split()[1] for block in blocks] == ["analyze", "lint", "fix"]
    (diff,) = re.findall(r"```diff\n(.*?)```", README, re.DOTALL)
    assert diff in (ROOT / "docs" / "index.md").read_text(encoding="utf-8"), "the site begins with the same change"
    for number, block in enumerate((f"terra-refactor fix\n{diff}", *blocks)):
        command, *shown = block.splitlines()
        arguments = [*command.split()[1:], "--no-cache"]
        done = subprocess.run(  # the first as a user starts it
            warm_programs.tool(*arguments) if number else [sys.executable, "-m", "terra_refactor", *arguments],
            cwd=project,
            env={**os.environ, "COLUMNS": "116", "NO_COLOR": "1", "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            encoding="utf-8",
            check=False,
        )
        printed = iter([line.rstrip() for line in (done.stdout + done.stderr).splitlines()])
        for line in shown:
            assert line == "..." or line.rstrip() in printed, line
