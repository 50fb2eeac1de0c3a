"""Which scope each name belongs to.

Computes: the scopes of a module (functions, lambdas, classes, comprehensions, type parameters) and, in each, where a name is found: what
CPython's symbol table computes.
Needs: a LibCST module. Gives: `ScopeTable`, `Scope`.
Ignores: what a name is bound to, in which order, and names made by `exec`, `globals()` or `from m import *`, which bind names unseen.

Names are those of the run time: `__x` within `class C` is `_C__x`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum

import libcst

from terra_refactor.syntax.deep_stack import call_with_deep_stack
from terra_refactor.syntax.scope_builder import BindingKind, DraftScope, ScopeType, build_scopes

__all__ = ["BindingKind", "Scope", "ScopeKind", "ScopeTable", "ScopeType", "analyze_scopes", "mangle_name"]


class ScopeKind(Enum):
    """Where a name, used in a scope, is found."""

    LOCAL = "local"  # bound here, and in no inner function
    CELL = "cell"  # bound here, and used by an inner function
    FREE = "free"  # bound in an enclosing function, or `__class__` of the enclosing class
    GLOBAL = "global"  # of the module, or built in
    CLASS = "class"  # bound in this class body


@dataclass(frozen=True, slots=True)
class Scope:
    """One scope.

    Attributes:
        type: what makes the scope.
        name: the name of the function or class; `<lambda>`, `<listcomp>` and so on; empty for the module.
        qualname: Python's own `__qualname__`; empty for the module.
        parent: the scope around it, None for the module.
        parameters: names of the parameters in the order of the signature, without stars.
        bindings: in which ways each name is bound here, declared names (`global`, `nonlocal`) included.
        uses: names read here.
        global_names: names declared `global` here.
        nonlocal_names: names declared `nonlocal` here, or bound here for an enclosing function by `:=` in a comprehension.
        cells: names bound here that inner functions use.
        free: names of enclosing functions that this scope or one inside it uses.
        class_name: name of the innermost class around, by which private names are mangled; None outside of classes.
    """

    type: ScopeType
    name: str
    qualname: str
    parent: Scope | None = field(repr=False)
    parameters: tuple[str, ...]
    bindings: Mapping[str, frozenset[BindingKind]] = field(repr=False, hash=False)
    uses: frozenset[str] = field(repr=False)
    global_names: frozenset[str]
    nonlocal_names: frozenset[str]
    cells: frozenset[str]
    free: frozenset[str]
    class_name: str | None = field(repr=False)

    @property
    def is_function_like(self) -> bool:
        """Whether names bound here are seen by inner functions, and end with the call."""
        return self.type is not ScopeType.MODULE and self.type is not ScopeType.CLASS

    def mangle(self, name: str) -> str:
        """The name at run time of a name written in this scope."""
        return mangle_name(name, self.class_name)

    def binds(self, name: str) -> bool:
        """Whether the name is this scope's own: bound here and not declared to belong elsewhere."""
        mangled = self.mangle(name)
        return mangled in self.bindings and mangled not in self.global_names and mangled not in self.nonlocal_names

    def resolve(self, name: str) -> ScopeKind:
        """Where a name written in this scope is found. A name that does not occur here is answered as if it were read here."""
        if self.type is ScopeType.MODULE:
            return ScopeKind.GLOBAL
        mangled = self.mangle(name)
        if mangled in self.global_names:
            return ScopeKind.GLOBAL
        if self.binds(name):
            if self.type is ScopeType.CLASS:
                return ScopeKind.CLASS
            return ScopeKind.CELL if mangled in self.cells else ScopeKind.LOCAL
        return ScopeKind.FREE if self._enclosing_owner(mangled) is not None else ScopeKind.GLOBAL

    def owner(self, name: str) -> Scope:
        """The scope in which a name written here is bound; the module's for globals and built-ins."""
        match self.resolve(name):
            case ScopeKind.LOCAL | ScopeKind.CELL | ScopeKind.CLASS:
                return self
            case ScopeKind.FREE:
                found = self._enclosing_owner(self.mangle(name))
                return found if found is not None else self.module
            case ScopeKind.GLOBAL:
                return self.module

    @property
    def module(self) -> Scope:
        """The module's scope."""
        scope = self
        while scope.parent is not None:
            scope = scope.parent
        return scope

    def _enclosing_owner(self, mangled: str) -> Scope | None:
        inner, scope = self, self.parent
        while scope is not None and scope.type is not ScopeType.MODULE:
            if scope.type is ScopeType.CLASS:
                if mangled == "__class__" and inner.is_function_like:
                    return scope
            elif mangled in scope.global_names:
                return None
            elif mangled in scope.bindings and mangled not in scope.nonlocal_names:
                return scope
            inner, scope = scope, scope.parent
        return None


@dataclass(frozen=True, slots=True)
class ScopeTable:
    """The scopes of one module, by node."""

    _by_node: Mapping[libcst.CSTNode, Scope] = field(repr=False)
    scopes: tuple[Scope, ...]

    @property
    def module_scope(self) -> Scope:
        """The scope of the module."""
        return self.scopes[0]

    def scope_of(self, node: libcst.CSTNode) -> Scope:
        """The scope that a module, function, lambda, class or comprehension makes; also of a `TypeParameters` node.

        Raises:
            KeyError: the node makes no scope, or is not of this tree.
        """
        return self._by_node[node]

    def items(self) -> Iterator[tuple[libcst.CSTNode, Scope]]:
        """All nodes that make a scope, with it, in the order of the text."""
        return iter(self._by_node.items())


def analyze_scopes(module: libcst.Module) -> ScopeTable:
    """The scopes of a module, in the order in which their text begins, outer before inner."""
    drafts = call_with_deep_stack(lambda: build_scopes(module))
    _close_over(drafts)
    frozen: dict[int, Scope] = {}
    by_node: dict[libcst.CSTNode, Scope] = {}
    for draft in drafts:
        scope = Scope(
            type=draft.type,
            name=draft.name,
            qualname=draft.qualname,
            parent=frozen[id(draft.parent)] if draft.parent is not None else None,
            parameters=tuple(draft.parameters),
            bindings={name: frozenset(kinds) for name, kinds in sorted(draft.bindings.items())},
            uses=frozenset(draft.uses),
            global_names=frozenset(draft.global_names),
            nonlocal_names=frozenset(draft.nonlocal_names),
            cells=frozenset(draft.cells),
            free=frozenset(draft.free),
            class_name=draft.class_name,
        )
        frozen[id(draft)] = scope
        by_node[draft.node] = scope
    return ScopeTable(by_node, tuple(frozen.values()))


def mangle_name(name: str, class_name: str | None) -> str:
    """A private name as Python mangles it within a class."""
    if class_name is None or not name.startswith("__") or name.endswith("__") or "." in name:
        return name
    stripped = class_name.lstrip("_")
    return f"_{stripped}{name}" if stripped else name


def _close_over(drafts: list[DraftScope]) -> None:
    """Fill in cells and free names: every use that an enclosing function answers, on the way from the use to the owner."""
    for draft in drafts:
        if draft.type is ScopeType.MODULE:
            continue
        for name in draft.uses | draft.nonlocal_names:
            if name in draft.global_names or (name in draft.bindings and name not in draft.nonlocal_names):
                continue
            passed = [draft]
            scope = draft.parent
            while scope is not None and scope.type is not ScopeType.MODULE:
                if scope.type is ScopeType.CLASS:
                    if name == "__class__" and passed[-1].type is not ScopeType.CLASS:
                        break
                elif name in scope.global_names:
                    scope = None
                    break
                elif name in scope.bindings and name not in scope.nonlocal_names:
                    break
                passed.append(scope)
                scope = scope.parent
            if scope is not None and scope.type is not ScopeType.MODULE:
                scope.cells.add(name)
                for between in passed:
                    between.free.add(name)
