"""Definitions of a module and their decorators, by position.

Computes: for each `def` its decorators, its indentation and its enclosing scopes, as offsets into the text. Needs:
the tree and the text. Gives: `DefinitionSite`, looked up by the line of `def`, which is unique: no two `def`
statements begin on one line, while two functions of one name are two sites. Ignores: lambdas, which cannot have
decorators.
"""

# ruff: noqa: N802 - LibCST calls a visitor's methods after its node classes
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import libcst as cst

from terra_refactor.refactor.names import CstScope
from terra_refactor.refactor.text import ModuleText
from terra_refactor.refactor.walk import Walker


@dataclass(frozen=True, slots=True)
class DecoratorSite:
    """A decorator: offsets of its `@`, of the end of its expression, and of its line or lines."""

    node: cst.Decorator = field(repr=False)
    start: int
    end: int
    line_start: int
    line_end: int
    """Offset just after its line ending: its trailing comment is included."""


@dataclass(frozen=True, slots=True)
class DefinitionSite:
    """A `def` in the text."""

    node: cst.FunctionDef = field(repr=False)
    qualname: str
    line: int
    line_start: int
    """Offset of the beginning of the line of `def`."""
    indent: str
    """The white space before `def`, without form feeds."""
    placeable: bool
    """Whether a line can be inserted before `def`: only white space precedes it on its line."""
    decorators: tuple[DecoratorSite, ...]
    enclosing: tuple[CstScope, ...]
    """The enclosing scopes, outermost (the module) first."""


def locate_definitions(module: ModuleText) -> Mapping[int, DefinitionSite]:
    """Every `def` of the module by its line."""
    finder = _Finder(module)
    finder.walk(module.tree)
    return finder.sites


class _Finder(Walker):
    def __init__(self, module: ModuleText) -> None:
        self.module = module
        self.enclosing: list[CstScope] = [module.tree]
        self.qualname: list[str] = []
        self.sites: dict[int, DefinitionSite] = {}

    def visit_FunctionDef(self, node: cst.FunctionDef) -> bool:
        module = self.module
        start, _ = module.offsets(node)
        line_start = module.line_start(start)
        before = module.text[line_start:start]
        line = module.line(start)
        self.sites[line] = DefinitionSite(
            node=node,
            qualname=".".join([*self.qualname, node.name.value]),
            line=line,
            line_start=line_start,
            indent=before.rpartition("\f")[2],
            placeable=not before.strip(" \t\f"),
            decorators=tuple(self._decorator(decorator) for decorator in node.decorators),
            enclosing=tuple(self.enclosing),
        )
        self._inside(node, [node.name.value, "<locals>"])
        return False

    def visit_ClassDef(self, node: cst.ClassDef) -> bool:
        self._inside(node, [node.name.value])
        return False

    def _inside(self, node: cst.FunctionDef | cst.ClassDef, names: Sequence[str]) -> None:
        self.enclosing.append(node)
        self.qualname.extend(names)
        self.walk(node.body)
        del self.qualname[-len(names) :]
        self.enclosing.pop()

    def _decorator(self, node: cst.Decorator) -> DecoratorSite:
        start, end = self.module.offsets(node)
        return DecoratorSite(node, start, end, self.module.line_start(start), self.module.line_end(end))
