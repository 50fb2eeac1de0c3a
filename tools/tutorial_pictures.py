"""Writes the pictures of docs/tutorial.md into docs/pictures.

    python tools/tutorial_pictures.py [--editor [--code-server DIR] [--vsix FILE]]

Needs: the package of the tutorial (`python -m corpus fetch`); for `--editor`, the requirements of `make extension-e2e`. Gives: one
SVG for each command of PICTURES, with the lines and colours that the command prints on a terminal; with `--editor`, pictures of VS
Code (`vscode-extension/e2e/tutorial.mjs`). The SVG loads no font from elsewhere.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from io import StringIO
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "corpus" / "packages" / "bnnsurv-0.1.3"
OUTPUT = ROOT / "docs" / "pictures"
WIDTH = 100
PICTURES = {
    "tutorial-analyze.svg": ["analyze", "."],
    "tutorial-fix.svg": ["fix", ".", "--level", "speculative", "--function", "MLP._train_step_on_batch"],
}
THEME = TerminalTheme(
    (255, 255, 255),
    (36, 41, 47),
    [
        (36, 41, 47),
        (207, 34, 46),
        (17, 99, 41),
        (154, 103, 0),
        (9, 105, 218),
        (130, 80, 223),
        (27, 124, 131),
        (110, 119, 129),
    ],
    [
        (87, 96, 106),
        (164, 14, 38),
        (26, 127, 55),
        (99, 60, 1),
        (33, 139, 255),
        (164, 117, 249),
        (49, 146, 170),
        (140, 149, 159),
    ],
)
"""Light, like the documentation pages."""
_FONTS = re.compile(r"\s*@font-face \{.*?\}", re.DOTALL)
_SECONDS = re.compile(r"\d+\.\d s\)")


def project(folder: Path) -> Path:
    """A copy of the package with the script of the tutorial."""
    if not PACKAGE.is_dir():
        sys.exit("the package is missing: python -m corpus fetch")
    made = folder / PACKAGE.name
    shutil.copytree(PACKAGE, made)
    shutil.copy(ROOT / "corpus" / "tutorial" / "train.py", made)
    return made


def picture(command: list[str], folder: Path) -> str:
    """The output of a command as SVG."""
    variables = {"COLUMNS": str(WIDTH), "FORCE_COLOR": "1", "TERM": "xterm-256color", "PYTHONPATH": str(ROOT)}
    line = [sys.executable, "-m", "terra_refactor", *command, "--no-cache"]
    environment = {name: value for name, value in os.environ.items() if name != "NO_COLOR"} | variables
    printed = subprocess.run(
        line, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True
    ).stdout
    console = Console(record=True, width=WIDTH, file=StringIO(), force_terminal=True)
    console.print(Text(f"$ terra-refactor {' '.join(command)}", style="bold"))
    for each in _SECONDS.sub("4.0 s)", printed).splitlines():  # the same in each run
        console.print(Text.from_ansi(each), no_wrap=True, crop=False, overflow="ignore")
    svg = console.export_svg(title="terra-refactor", theme=THEME, unique_id="t")
    return _FONTS.sub("", svg).replace("font-family: Fira Code, monospace", "font-family: monospace")


def main() -> None:
    """Write the pictures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--editor", action="store_true", help="take the pictures of VS Code, too")
    parser.add_argument("--code-server", default=str(ROOT / ".code-server"))
    parser.add_argument("--vsix", default=str(ROOT / "vscode-extension" / "terra-refactor.vsix"))
    options = parser.parse_args()
    OUTPUT.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        folder = project(Path(scratch))
        for name, command in PICTURES.items():
            (OUTPUT / name).write_text(picture(command, folder), encoding="utf-8")
            print(f"{name}: {(OUTPUT / name).stat().st_size} bytes")
        if options.editor:
            script = ROOT / "vscode-extension" / "e2e" / "tutorial.mjs"
            arguments = [
                "--project",
                str(folder),
                "--output",
                str(OUTPUT),
                "--code-server",
                options.code_server,
                "--vsix",
                options.vsix,
            ]
            subprocess.run(["node", str(script), "--python", sys.executable, *arguments], check=True)


if __name__ == "__main__":
    main()
