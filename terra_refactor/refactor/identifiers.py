"""The identifiers that a piece of code reads and binds.

Computes: the names that are read and bound anywhere below a node. Gives: `read_names`, `bound_names`, `occurrences`. Ignores: scopes;
names that a nested function binds count as bound, which is safe for deciding whether code may move.
"""

# ruff: noqa: N802 - LibCST calls a visitor's methods after its node classes
from __future__ import annotations

import libcst as cst

from terra_refactor.refactor.walk import Walker


def read_names(node: cst.CSTNode) -> frozenset[str]:
    """The identifiers that are looked up below a node: no attribute names, no keywords of calls, no targets."""
    return frozenset(name.value for name in occurrences(node)) - _only_bound(node)


def bound_names(node: cst.CSTNode) -> frozenset[str]:
    """The identifiers that are bound below a node, by any kind of statement or expression."""
    collector = _Bound()
    collector.walk(node)
    return frozenset(name.value for name in collector.found)


def occurrences(node: cst.CSTNode, name: str | None = None) -> tuple[cst.Name, ...]:
    """The `Name` nodes below a node that are variables, in source order; only those of that name if it is given."""
    collector = _Names()
    collector.walk(node)
    return tuple(found for found in collector.found if name is None or found.value == name)


def _only_bound(node: cst.CSTNode) -> frozenset[str]:
    """The names whose every occurrence is a target."""
    targets = _Targets()
    targets.walk(node)
    everywhere = occurrences(node)
    return frozenset(
        name
        for name in {found.value for found in everywhere}
        if all(found in targets.found for found in everywhere if found.value == name)
    )


class _Names(Walker):
    def __init__(self) -> None:
        self.found: list[cst.Name] = []

    def visit_Attribute(self, node: cst.Attribute) -> bool:
        self.walk(node.value)
        return False

    def visit_Arg(self, node: cst.Arg) -> bool:
        self.walk(node.value)
        return False

    def visit_FunctionDef(self, node: cst.FunctionDef) -> bool:
        for part in (*node.decorators, node.params, node.body):
            self.walk(part)
        return False

    def visit_Param(self, node: cst.Param) -> bool:
        for part in (node.annotation, node.default):
            if part is not None:
                self.walk(part)
        return False

    def visit_Name(self, node: cst.Name) -> None:
        self.found.append(node)


class _Targets(Walker):
    """The `Name` nodes that are assigned to."""

    def __init__(self) -> None:
        self.found: set[cst.Name] = set()

    def _target(self, target: cst.CSTNode) -> None:
        match target:
            case cst.Name():
                self.found.add(target)
            case cst.Tuple() | cst.List():
                for element in target.elements:
                    self._target(element.value)

    def visit_AssignTarget(self, node: cst.AssignTarget) -> None:
        self._target(node.target)

    def visit_AnnAssign(self, node: cst.AnnAssign) -> None:
        self._target(node.target)

    def visit_For(self, node: cst.For) -> None:
        self._target(node.target)

    def visit_CompFor(self, node: cst.CompFor) -> None:
        self._target(node.target)

    def visit_AsName(self, node: cst.AsName) -> None:
        self._target(node.name)

    def visit_NamedExpr(self, node: cst.NamedExpr) -> None:
        self._target(node.target)


class _Bound(_Targets):
    """Adds names that are bound without an assignment."""

    def visit_AugAssign(self, node: cst.AugAssign) -> None:
        self._target(node.target)

    def visit_Del(self, node: cst.Del) -> None:
        self._target(node.target)

    def visit_FunctionDef(self, node: cst.FunctionDef) -> None:
        self.found.add(node.name)

    def visit_ClassDef(self, node: cst.ClassDef) -> None:
        self.found.add(node.name)

    def visit_Param(self, node: cst.Param) -> None:
        self.found.add(node.name)

    def visit_ImportAlias(self, node: cst.ImportAlias) -> None:
        if node.asname is None and isinstance(node.name, cst.Name):
            self.found.add(node.name)
