"""The gallery of shape bugs: small realistic programs, each in a broken and a corrected version.

`tensorflow_1/NAME/` and `tensorflow_2/NAME/` hold `broken.py` and `mended.py`. The line of the bug in the broken one
ends in a comment: `# BUG raises: why` if TensorFlow raises there, `# BUG silent: why` if it continues with a wrong
result. Programs of TensorFlow 1 are in their original form (`import tensorflow as tf`); they run with `tf.compat.v1`
under that name. `python -m corpus.shape_bugs` prints the index.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
_MARK = re.compile(r"# BUG (raises|silent): ")


@dataclass(frozen=True)
class ShapeBug:
    """One pair of programs."""

    name: str
    generation: int
    """1 or 2: the TensorFlow version for which it is written."""
    broken: Path
    mended: Path
    line: int
    """The line of the bug in the broken program, from 1."""
    silent: bool
    """Whether TensorFlow does not detect it."""
    function: str | None
    """The function that contains the bug, which the program calls with the invalid arguments; None at module level."""


def shape_bugs() -> tuple[ShapeBug, ...]:
    """The pairs of the gallery, sorted by generation and name.

    Raises ValueError unless a broken program has exactly one mark and the corrected one has none.
    """
    found: list[ShapeBug] = []
    for generation in (1, 2):
        for folder in sorted((FOLDER / f"tensorflow_{generation}").iterdir()):
            broken, mended = folder / "broken.py", folder / "mended.py"
            if not broken.is_file():
                continue
            marks = [
                (number, match.group(1))
                for number, text in enumerate(broken.read_text(encoding="utf-8").splitlines(), start=1)
                if (match := _MARK.search(text))
            ]
            if len(marks) != 1 or _MARK.search(mended.read_text(encoding="utf-8")):
                raise ValueError(f"{folder.name}: one line of the broken program is marked, none of the mended one")
            line, kind = marks[0]
            function = _function_at(broken, line)
            found.append(ShapeBug(folder.name, generation, broken, mended, line, kind == "silent", function))
    return tuple(found)


def _function_at(path: Path, line: int) -> str | None:
    """The innermost function around a line."""
    around = [
        node
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef) and node.lineno < line <= (node.end_lineno or 0)
    ]
    return max(around, key=lambda node: node.lineno).name if around else None
