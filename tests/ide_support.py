"""A project in a folder, and positions in its texts marked with `‸` (the cursor before the next character)."""

from __future__ import annotations

import textwrap
from pathlib import Path

from terra_refactor.config import Config
from terra_refactor.ide.session import Session
from terra_refactor.ide.snapshot import Snapshot
from terra_refactor.syntax.source import display_path, source_from_text

MARK = "‸"


def project(folder: Path, files: dict[str, str], config: Config | None = None) -> Session:
    """A session over a folder with these files."""
    for name, text in files.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(textwrap.dedent(text).encode())
    return Session(str(folder), config or Config(jobs=1))


def shown(folder: Path, name: str) -> str:
    """The path of a file as reports show it."""
    return display_path(folder / name)


def open_text(session: Session, folder: Path, name: str, text: str) -> None:
    """Opens an unsaved text in place of a file."""
    path = shown(folder, name)
    session.set_buffer(path, source_from_text(textwrap.dedent(text), str(folder / name)))


def at_mark(folder: Path, text: str) -> tuple[Snapshot, str, int, int]:
    """The snapshot of one module, and the position of the mark in it: path, line and column from 1."""
    marked = textwrap.dedent(text)
    offset = marked.index(MARK)
    line = marked.count("\n", 0, offset) + 1
    column = offset - (marked.rfind("\n", 0, offset) + 1) + 1
    session = project(folder, {"m.py": marked.replace(MARK, "")})
    path = shown(folder, "m.py")
    return session.snapshot(path), path, line, column
