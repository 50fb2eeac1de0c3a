"""Small programs that make TensorFlow say what people search for, with the rule that finds the cause without running them.

Each file but this and `run.py` is a program. Its docstring begins with the message as TensorFlow 2.21 prints it, where `...` stands for
what differs from program to program; the rest of the docstring says what the message means. Lines that a rule reports end in its id.
docs/rules/messages.md shows them all (`make generated`); tests/proof/test_messages.py asks TensorFlow and the linter.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
SCRIPT = FOLDER / "run.py"
_MARK = re.compile(r"# (TR\d{3})$", re.MULTILINE)
_WILD = re.compile(r"\s*\.\.\.\s*")


@dataclass(frozen=True)
class MessageProgram:
    """A program that ends in, or logs, a message."""

    name: str
    message: str
    meaning: str
    """What it means, as Markdown."""
    text: str
    """The file."""
    code: str
    """The file without its docstring."""

    @property
    def marks(self) -> tuple[tuple[int, str], ...]:
        """Line in the file and rule of each mark."""
        return tuple(
            (number, match[1])
            for number, line in enumerate(self.text.splitlines(), start=1)
            if (match := _MARK.search(line))
        )

    def is_said_by(self, seen: str) -> bool:
        """Whether what TensorFlow said holds the message."""
        return says(self.message, seen)


def says(message: str, seen: str) -> bool:
    """Whether a text holds a message, in which `...` stands for anything."""
    return re.search(".*?".join(map(re.escape, _WILD.split(message.strip()))), seen) is not None


def message_programs() -> tuple[MessageProgram, ...]:
    """The programs, sorted by message. Raises ValueError for one without a message or a mark."""
    return tuple(sorted(map(_read, _files()), key=lambda program: (program.message.lower(), program.name)))


def _files() -> list[Path]:
    return [path for path in sorted(FOLDER.glob("*.py")) if path not in (SCRIPT, FOLDER / "__init__.py")]


def _read(path: Path) -> MessageProgram:
    text = path.read_text(encoding="utf-8")
    tree = ast.parse(text)
    message, _, meaning = (ast.get_docstring(tree) or "").partition("\n")
    code = "\n".join(text.splitlines()[tree.body[0].end_lineno or 0 :]).strip("\n") + "\n"
    program = MessageProgram(path.stem, message, " ".join(meaning.split()), text, code)
    if not message or not program.marks:
        raise ValueError(f"{path.name}: the docstring begins with the message, and a line is marked with a rule")
    return program
