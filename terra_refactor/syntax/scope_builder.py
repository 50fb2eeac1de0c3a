"""The first half of scope analysis: what is bound, declared and read in each scope.

Computes: one draft per scope, mutable. Needs: a LibCST module. Gives: `build_scopes` to `scopes.py`, which resolves and freezes; nobody
else reads drafts.
Ignores: where a name that is not bound here comes from.

The rules are those of CPython 3.11's symbol table; the annotations of local variables count as read, as there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum
from typing import Any, TypeAlias

import libcst

from terra_refactor.syntax.walk import child_nodes

_CONSTANTS = frozenset({"None", "True", "False"})

_Comprehension: TypeAlias = "libcst.ListComp | libcst.SetComp | libcst.DictComp | libcst.GeneratorExp"


class ScopeType(Enum):
    """What makes a scope."""

    MODULE = "module"
    FUNCTION = "function"
    LAMBDA = "lambda"
    CLASS = "class"
    COMPREHENSION = "comprehension"
    TYPE_PARAMETERS = "type parameters"


class BindingKind(Enum):
    """A way to bind a name."""

    PARAMETER = "parameter"
    ASSIGNMENT = "assignment"
    AUGMENTED = "augmented assignment"
    ANNOTATED = "annotation"
    WALRUS = "walrus"
    LOOP = "loop"
    WITH = "with"
    EXCEPT = "except"
    MATCH = "match"
    IMPORT = "import"
    FUNCTION = "function"
    CLASS = "class"
    TYPE = "type"
    DELETION = "deletion"
    DECLARATION = "declaration"


class DraftScope:
    """A scope while it is being filled. See `scopes.Scope` for the attributes."""

    __slots__ = (
        "bindings", "cells", "class_name", "free", "global_names", "name", "node", "nonlocal_names", "parameters", "parent", "qualname",
        "type", "uses",
    )  # fmt: skip

    def __init__(
        self, kind: ScopeType, node: libcst.CSTNode, name: str, qualname: str, parent: DraftScope | None
    ) -> None:
        self.type = kind
        self.node = node
        self.name = name
        self.qualname = qualname
        self.parent = parent
        self.class_name: str | None = (
            name if kind is ScopeType.CLASS else (parent.class_name if parent is not None else None)
        )
        self.parameters: list[str] = []
        self.bindings: dict[str, set[BindingKind]] = {}
        self.uses: set[str] = set()
        self.global_names: set[str] = set()
        self.nonlocal_names: set[str] = set()
        self.cells: set[str] = set()
        self.free: set[str] = set()


def build_scopes(module: libcst.Module) -> list[DraftScope]:
    """The drafts of all scopes, in the order in which they are entered; an outer one before its inner ones."""
    builder = _Builder(module)
    for statement in module.body:
        builder.visit(statement)
    return builder.drafts


class _Builder:
    """Walks a module once. `visit` dispatches on the node's type; nodes without a rule have their children visited."""

    def __init__(self, module: libcst.Module) -> None:
        self._scope = DraftScope(ScopeType.MODULE, module, "", "", None)
        self.drafts = [self._scope]
        self._lazy_annotations = _has_future_annotations(module)

    def visit(self, node: libcst.CSTNode) -> None:
        rule = _RULES.get(type(node))
        if rule is not None:
            rule(self, node)
        else:
            for child in child_nodes(node):
                self.visit(child)

    def visit_all(self, nodes: Sequence[libcst.CSTNode]) -> None:
        for node in nodes:
            self.visit(node)

    # Names

    def _mangled(self, name: str) -> str:
        class_name = self._scope.class_name
        if class_name is None or not name.startswith("__") or name.endswith("__"):
            return name
        stripped = class_name.lstrip("_")
        return f"_{stripped}{name}" if stripped else name

    def bind(self, name: str, kind: BindingKind) -> None:
        self._scope.bindings.setdefault(self._mangled(name), set()).add(kind)

    def use(self, name: str) -> None:
        self._scope.uses.add(self._mangled(name))
        if name == "super" and self._scope.type not in {ScopeType.MODULE, ScopeType.CLASS}:
            self._scope.uses.add("__class__")  # the call without arguments finds its class there

    def bind_target(self, target: libcst.CSTNode, kind: BindingKind) -> None:
        """Bind the names of an assignment's target; what else it holds is read."""
        match target:
            case libcst.Name(value=name):
                self.bind(name, kind)
            case libcst.Tuple(elements=elements) | libcst.List(elements=elements):
                for element in elements:
                    self.bind_target(element.value, kind)
            case libcst.StarredElement(value=value):
                self.bind_target(value, kind)
            case _:
                self.visit(target)

    def visit_name(self, node: libcst.Name) -> None:
        if node.value not in _CONSTANTS:
            self.use(node.value)

    def visit_attribute(self, node: libcst.Attribute) -> None:
        self.visit(node.value)

    def visit_arg(self, node: libcst.Arg) -> None:
        self.visit(node.value)

    # Scopes

    def _enter(self, kind: ScopeType, node: libcst.CSTNode, name: str) -> DraftScope:
        """Make a scope inside the current one and go into it; gives the one to return to."""
        outer = self._scope
        self._scope = DraftScope(kind, node, name, self._qualname(name), outer)
        self.drafts.append(self._scope)
        return outer

    def _qualname(self, name: str) -> str:
        outer: DraftScope | None = self._scope
        while outer is not None and outer.type is ScopeType.TYPE_PARAMETERS:
            outer = outer.parent
        if outer is None or outer.type is ScopeType.MODULE or self._mangled(name) in outer.global_names:
            return name
        if outer.type is ScopeType.CLASS:
            return f"{outer.qualname}.{name}"
        return f"{outer.qualname}.<locals>.{name}"

    def visit_function(self, node: libcst.FunctionDef) -> None:
        self.visit_all(node.decorators)
        self._visit_defaults(node.params)
        self.bind(node.name.value, BindingKind.FUNCTION)
        before_types = self._enter_type_parameters(node.type_parameters)
        if not self._lazy_annotations:
            for parameter in _parameters(node.params):
                if parameter.annotation is not None:
                    self.visit(parameter.annotation)
            if node.returns is not None:
                self.visit(node.returns)
        outer = self._enter(ScopeType.FUNCTION, node, node.name.value)
        self._bind_parameters(node.params)
        self.visit(node.body)
        self._scope = before_types or outer

    def visit_lambda(self, node: libcst.Lambda) -> None:
        self._visit_defaults(node.params)
        outer = self._enter(ScopeType.LAMBDA, node, "<lambda>")
        self._bind_parameters(node.params)
        self.visit(node.body)
        self._scope = outer

    def visit_class(self, node: libcst.ClassDef) -> None:
        self.visit_all(node.decorators)
        self.bind(node.name.value, BindingKind.CLASS)
        before_types = self._enter_type_parameters(node.type_parameters)
        self.visit_all(node.bases)
        self.visit_all(node.keywords)
        outer = self._enter(ScopeType.CLASS, node, node.name.value)
        self.visit(node.body)
        self._scope = before_types or outer

    def visit_comprehension(self, node: _Comprehension) -> None:
        first = node.for_in
        self.visit(first.iter)  # the first iterable belongs to the scope around
        name = {libcst.ListComp: "<listcomp>", libcst.SetComp: "<setcomp>", libcst.DictComp: "<dictcomp>"}.get(
            type(node), "<genexpr>"
        )
        outer = self._enter(ScopeType.COMPREHENSION, node, name)
        self.bind_target(first.target, BindingKind.LOOP)
        self.visit_all(first.ifs)
        if first.inner_for_in is not None:
            self.visit(first.inner_for_in)
        if isinstance(node, libcst.DictComp):
            self.visit(node.key)
            self.visit(node.value)
        else:
            self.visit(node.elt)
        self._scope = outer

    def visit_comp_for(self, node: libcst.CompFor) -> None:
        self.bind_target(node.target, BindingKind.LOOP)
        self.visit(node.iter)
        self.visit_all(node.ifs)
        if node.inner_for_in is not None:
            self.visit(node.inner_for_in)

    def _enter_type_parameters(self, node: libcst.TypeParameters | None) -> DraftScope | None:
        if node is None:
            return None
        outer = self._enter(ScopeType.TYPE_PARAMETERS, node, "<type parameters>")
        for parameter in node.params:
            self.bind(parameter.param.name.value, BindingKind.TYPE)
        for parameter in node.params:
            if isinstance(parameter.param, libcst.TypeVar) and parameter.param.bound is not None:
                self.visit(parameter.param.bound)
            if parameter.default is not None:
                self.visit(parameter.default)
        return outer

    def visit_type_alias(self, node: libcst.TypeAlias) -> None:
        self.bind(node.name.value, BindingKind.TYPE)
        outer = self._enter_type_parameters(node.type_parameters)
        self.visit(node.value)
        if outer is not None:
            self._scope = outer

    def _visit_defaults(self, parameters: libcst.Parameters) -> None:
        for parameter in _parameters(parameters):
            if parameter.default is not None:
                self.visit(parameter.default)

    def _bind_parameters(self, parameters: libcst.Parameters) -> None:
        for parameter in _parameters(parameters):
            self.bind(parameter.name.value, BindingKind.PARAMETER)
            self._scope.parameters.append(self._mangled(parameter.name.value))

    # Statements

    def visit_assign_target(self, node: libcst.AssignTarget) -> None:
        self.bind_target(node.target, BindingKind.ASSIGNMENT)

    def visit_annotated(self, node: libcst.AnnAssign) -> None:
        if isinstance(node.target, libcst.Name):
            if node.value is not None or not node.target.lpar:
                self.bind(node.target.value, BindingKind.ANNOTATED)
        else:
            self.visit(node.target)
        if not self._lazy_annotations:
            self.visit(node.annotation)
        if node.value is not None:
            self.visit(node.value)

    def visit_augmented(self, node: libcst.AugAssign) -> None:
        if isinstance(node.target, libcst.Name):
            self.use(node.target.value)
        self.bind_target(node.target, BindingKind.AUGMENTED)
        self.visit(node.value)

    def visit_walrus(self, node: libcst.NamedExpr) -> None:
        self.visit(node.value)
        target = node.target
        if not isinstance(target, libcst.Name):
            self.visit(target)
            return
        name = self._mangled(target.value)
        holder = self._scope
        while holder.type is ScopeType.COMPREHENSION and holder.parent is not None:
            holder = holder.parent
        holder.bindings.setdefault(name, set()).add(BindingKind.WALRUS)
        inner = self._scope
        while inner is not holder and inner.parent is not None:
            belongs_to_module = holder.type is ScopeType.MODULE or name in holder.global_names
            (inner.global_names if belongs_to_module else inner.nonlocal_names).add(name)
            inner = inner.parent

    def visit_for(self, node: libcst.For) -> None:
        self.visit(node.iter)
        self.bind_target(node.target, BindingKind.LOOP)
        self.visit(node.body)
        if node.orelse is not None:
            self.visit(node.orelse)

    def visit_with_item(self, node: libcst.WithItem) -> None:
        self.visit(node.item)
        if node.asname is not None:
            self.bind_target(node.asname.name, BindingKind.WITH)

    def visit_handler(self, node: libcst.ExceptHandler | libcst.ExceptStarHandler) -> None:
        if node.type is not None:
            self.visit(node.type)
        if node.name is not None:
            self.bind_target(node.name.name, BindingKind.EXCEPT)
        self.visit(node.body)

    def visit_del(self, node: libcst.Del) -> None:
        self.bind_target(node.target, BindingKind.DELETION)

    def visit_import(self, node: libcst.Import) -> None:
        for alias in node.names:
            self._bind_import(alias)

    def visit_import_from(self, node: libcst.ImportFrom) -> None:
        if not isinstance(node.names, libcst.ImportStar):
            for alias in node.names:
                self._bind_import(alias)

    def _bind_import(self, alias: libcst.ImportAlias) -> None:
        if alias.asname is not None:
            self.bind_target(alias.asname.name, BindingKind.IMPORT)
            return
        name: libcst.BaseExpression = alias.name
        while isinstance(name, libcst.Attribute):
            name = name.value
        if isinstance(name, libcst.Name):
            self.bind(name.value, BindingKind.IMPORT)

    def visit_global(self, node: libcst.Global) -> None:
        for item in node.names:
            self._scope.global_names.add(self._mangled(item.name.value))
            if self._scope.type is not ScopeType.MODULE:
                self.bind(item.name.value, BindingKind.DECLARATION)

    def visit_nonlocal(self, node: libcst.Nonlocal) -> None:
        for item in node.names:
            self._scope.nonlocal_names.add(self._mangled(item.name.value))
            self.bind(item.name.value, BindingKind.DECLARATION)

    # Patterns

    def visit_match_as(self, node: libcst.MatchAs) -> None:
        if node.pattern is not None:
            self.visit(node.pattern)
        if node.name is not None:
            self.bind(node.name.value, BindingKind.MATCH)

    def visit_match_star(self, node: libcst.MatchStar) -> None:
        if node.name is not None:
            self.bind(node.name.value, BindingKind.MATCH)

    def visit_match_mapping(self, node: libcst.MatchMapping) -> None:
        self.visit_all(node.elements)
        if node.rest is not None:
            self.bind(node.rest.value, BindingKind.MATCH)

    def visit_match_keyword(self, node: libcst.MatchKeywordElement) -> None:
        self.visit(node.pattern)


def _parameters(parameters: libcst.Parameters) -> list[libcst.Param]:
    """All parameters in the order of the signature."""
    found = [*parameters.posonly_params, *parameters.params]
    if isinstance(parameters.star_arg, libcst.Param):
        found.append(parameters.star_arg)
    found.extend(parameters.kwonly_params)
    if parameters.star_kwarg is not None:
        found.append(parameters.star_kwarg)
    return found


def _has_future_annotations(module: libcst.Module) -> bool:
    for statement in module.body:
        if isinstance(statement, libcst.SimpleStatementLine):
            for small in statement.body:
                if isinstance(small, libcst.ImportFrom) and isinstance(small.module, libcst.Name):
                    if small.module.value == "__future__" and not isinstance(small.names, libcst.ImportStar):
                        if any(alias.evaluated_name == "annotations" for alias in small.names):
                            return True
    return False


_RULES: dict[type, Callable[[_Builder, Any], None]] = {
    libcst.Name: _Builder.visit_name,
    libcst.Attribute: _Builder.visit_attribute,
    libcst.Arg: _Builder.visit_arg,
    libcst.FunctionDef: _Builder.visit_function,
    libcst.Lambda: _Builder.visit_lambda,
    libcst.ClassDef: _Builder.visit_class,
    libcst.ListComp: _Builder.visit_comprehension,
    libcst.SetComp: _Builder.visit_comprehension,
    libcst.DictComp: _Builder.visit_comprehension,
    libcst.GeneratorExp: _Builder.visit_comprehension,
    libcst.CompFor: _Builder.visit_comp_for,
    libcst.TypeAlias: _Builder.visit_type_alias,
    libcst.AssignTarget: _Builder.visit_assign_target,
    libcst.AnnAssign: _Builder.visit_annotated,
    libcst.AugAssign: _Builder.visit_augmented,
    libcst.NamedExpr: _Builder.visit_walrus,
    libcst.For: _Builder.visit_for,
    libcst.WithItem: _Builder.visit_with_item,
    libcst.ExceptHandler: _Builder.visit_handler,
    libcst.ExceptStarHandler: _Builder.visit_handler,
    libcst.Del: _Builder.visit_del,
    libcst.Import: _Builder.visit_import,
    libcst.ImportFrom: _Builder.visit_import_from,
    libcst.Global: _Builder.visit_global,
    libcst.Nonlocal: _Builder.visit_nonlocal,
    libcst.MatchAs: _Builder.visit_match_as,
    libcst.MatchStar: _Builder.visit_match_star,
    libcst.MatchMapping: _Builder.visit_match_mapping,
    libcst.MatchKeywordElement: _Builder.visit_match_keyword,
}
