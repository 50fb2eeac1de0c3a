"""The positions and texts of the functions in a file, by which a record is matched with a source.

Computes: from the bytes of a file its functions, each with its qualified name, its line, and a digest of its text.
Needs: the bytes. Gives: `definitions`, `text_of`, `digest_of`. The same code is used when the program runs and when
it is analysed.
"""

from __future__ import annotations

import ast
import hashlib
from typing import Final

_LONGEST: Final = 20_000_000
"""Maximum size of a file, in bytes, whose functions are searched."""

Place = tuple[str, int, str]
"""Qualified name, line of the `def`, and digest of the text from there to the end, so that decorators may change."""


def text_of(data: bytes) -> str:
    """The lines of a file with uniform line endings: sources that differ only in these are equal."""
    text = data.decode("utf-8-sig", "replace")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def digest_of(text: str) -> str:
    return hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=16).hexdigest()


def definitions(data: bytes) -> dict[tuple[int, str], Place]:
    """The functions of a file, by the line at which their code begins (that of the first decorator) and their name."""
    text = text_of(data)
    try:
        tree = ast.parse(text) if len(data) <= _LONGEST else ast.Module([], [])
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return {}
    lines = text.split("\n")
    found: dict[tuple[int, str], Place | None] = {}
    pending: list[tuple[ast.AST, str]] = [(tree, "")]
    while pending:
        node, prefix = pending.pop()
        for child in ast.iter_child_nodes(node):
            inner = prefix
            if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
                name = "<lambda>" if isinstance(child, ast.Lambda) else child.name
                first = child.lineno
                if not isinstance(child, ast.Lambda) and child.decorator_list:
                    first = min(first, child.decorator_list[0].lineno)
                body = "\n".join(lines[child.lineno - 1 : child.end_lineno])
                place = (prefix + name, child.lineno, digest_of(body))
                found[first, name] = None if (first, name) in found else place
                inner = f"{prefix}{name}.<locals>."
            elif isinstance(child, ast.ClassDef):
                inner = f"{prefix}{child.name}."
            pending.append((child, inner))
    return {key: place for key, place in found.items() if place is not None}
