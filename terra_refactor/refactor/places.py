"""An expression or statement of a module by its position, with its ancestors.

Computes: the node that fills a span exactly, and its ancestors. Needs: the tree, the text, and a `Span` from the
analysis. Gives: `NodePlace`, or None if no node fills the span (the text differs from the analysed one). Ignores:
parentheses around an expression, which are not part of it for the analysis or for LibCST.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import libcst as cst

from terra_refactor.refactor.names import CstScope
from terra_refactor.refactor.text import ModuleText
from terra_refactor.syntax.location import Span


@dataclass(frozen=True, slots=True)
class NodePlace:
    """A node and its ancestors."""

    node: cst.CSTNode = field(repr=False)
    ancestors: tuple[cst.CSTNode, ...] = field(repr=False)
    """Outermost (the module) first."""
    line: int
    """The line on which the node begins, from 1."""

    @property
    def enclosing(self) -> tuple[CstScope, ...]:
        """The enclosing scopes, outermost first; lambdas and comprehensions do not count."""
        return tuple(node for node in self.ancestors if isinstance(node, cst.Module | cst.FunctionDef | cst.ClassDef))

    @property
    def function(self) -> cst.FunctionDef | None:
        """The innermost `def` around the node, unless a class is nearer."""
        innermost = self.enclosing[-1]
        return innermost if isinstance(innermost, cst.FunctionDef) else None

    @property
    def statement(self) -> cst.CSTNode:
        """The statement line that contains the node, or the compound statement whose header contains it."""
        kinds = cst.SimpleStatementLine | cst.BaseCompoundStatement | cst.SimpleStatementSuite
        return next(node for node in (self.node, *reversed(self.ancestors)) if isinstance(node, kinds))

    def outwards(self) -> Iterator[cst.CSTNode]:
        """The ancestors, innermost first."""
        return iter(reversed(self.ancestors))


def find_place(module: ModuleText, span: Span) -> NodePlace | None:
    """The outermost expression that fills a span, or else the innermost statement (or decorator); None if there is none."""
    start, end = module.offset(span.line, span.column), module.offset(span.end_line, span.end_column)
    finder = _Finder(module, start, end)
    module.tree.visit(finder)
    return finder.found


def parents_of(root: cst.CSTNode) -> dict[cst.CSTNode, cst.CSTNode]:
    """The parent of every node below a node."""
    found: dict[cst.CSTNode, cst.CSTNode] = {}
    pending = [root]
    while pending:
        node = pending.pop()
        for child in node.children:
            found[child] = node
            pending.append(child)
    return found


class _Finder(cst.CSTVisitor):
    def __init__(self, module: ModuleText, start: int, end: int) -> None:
        super().__init__()
        self.module, self.start, self.end = module, start, end
        self.ancestors: list[cst.CSTNode] = []
        self.found: NodePlace | None = None

    def on_visit(self, node: cst.CSTNode) -> bool:
        if self.found is not None and isinstance(self.found.node, cst.BaseExpression):
            return False
        if isinstance(node, cst.BaseExpression | cst.BaseStatement | cst.BaseSmallStatement | cst.Decorator):
            start, end = self.module.offsets(node)
            if (start, end) == (self.start, self.end):
                self.found = NodePlace(node, tuple(self.ancestors), self.module.line(start))
            # a definition's own extent leaves out its decorators
            if not isinstance(node, cst.FunctionDef | cst.ClassDef) and not start <= self.start <= self.end <= end:
                return False
        self.ancestors.append(node)
        return True

    def on_leave(self, original_node: cst.CSTNode) -> None:
        if self.ancestors and self.ancestors[-1] is original_node:
            self.ancestors.pop()
