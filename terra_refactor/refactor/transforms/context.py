"""Input and result of a transformation.

Computes: nothing. Gives: `FileContext` (one file being changed), which `file_context` makes, `Made` (edits and imports) and `NotMade` (a
reason).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from terra_refactor.refactor.locate import DefinitionSite, locate_definitions
from terra_refactor.refactor.names import ModuleNames, collect_names
from terra_refactor.refactor.text import ModuleText
from terra_refactor.syntax.edit import Edit
from terra_refactor.syntax.source import Source


@dataclass(frozen=True, slots=True)
class FileContext:
    """One file that is being changed."""

    module: ModuleText
    names: ModuleNames
    sites: Mapping[int, DefinitionSite]


def file_context(source: Source) -> FileContext:
    """The context of a file to change. Raises SourceError if it does not parse."""
    module = ModuleText(source)
    names = collect_names(module.tree, lambda node: module.line(module.offsets(node)[0]))
    return FileContext(module, names, locate_definitions(module))


@dataclass(frozen=True, slots=True)
class Made:
    """The edits of one change, and the import statements that it needs."""

    edits: tuple[Edit, ...]
    imports: tuple[str, ...] = ()
    assumptions: tuple[str, ...] = ()
    """Assumptions for the user to check, in addition to those of the decision or the hint."""


@dataclass(frozen=True, slots=True)
class NotMade:
    """The change is not possible here; `reason` is one sentence for the user."""

    reason: str


Transformed: TypeAlias = Made | NotMade


def line_insertion(context: FileContext, site: DefinitionSite, offset: int, line: str) -> Edit:
    """The edit that inserts a line, with the definition's indentation, before the line that begins at `offset`."""
    return Edit(offset, offset, f"{site.indent}{line}{context.module.newline_at(offset)}")
