"""The meaning of a module's names, as far as imports determine it.

Computes: for each scope of a module the bindings of its names. Needs: the LibCST tree and the line of each binding
node. Gives: `ModuleNames`, which resolves the dotted name of a decorator to a qualified name such as
`tensorflow.function`, in the scope in which it is evaluated. Ignores: assignments (an assigned name resolves to
nothing) and star imports.
"""

# ruff: noqa: N802 - LibCST calls a visitor's methods after its node classes
from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import TypeAlias

import libcst as cst

from terra_refactor.refactor.walk import Walker

CstScope: TypeAlias = cst.Module | cst.FunctionDef | cst.ClassDef


class BindingKind(Enum):
    """The binding of a name."""

    IMPORT = "import"
    """An import that has certainly run before the code after it."""
    CONDITIONAL_IMPORT = "conditional import"
    """An import under a condition, or in a `try` that continues without it."""
    TYPING_IMPORT = "typing import"
    """An import only for type checkers."""
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Binding:
    """One place that binds a name. `target` is the qualified name of an import, None for every other kind of binding."""

    kind: BindingKind
    line: int
    target: str | None = None


@dataclass(frozen=True, slots=True)
class ModuleNames:
    """The bindings of every scope of a module.

    Attributes:
        scopes: for each scope, the bindings of its names in source order.
        used: every identifier that occurs anywhere in the module; a new name must not be among them.
        has_star_import: whether some names come from a star import.
        star_line: the line of the first star import of the module itself that always runs; None if there is none.
    """

    scopes: Mapping[CstScope, Mapping[str, tuple[Binding, ...]]]
    used: frozenset[str]
    has_star_import: bool
    star_line: int | None = None

    def comes_from_star(self, name: str) -> bool:
        """Whether the module uses the name, and only a star import can bind it."""
        return self.has_star_import and name in self.used and not any(name in scope for scope in self.scopes.values())

    def bindings(self, name: str, enclosing: Sequence[CstScope]) -> tuple[tuple[Binding, ...], bool]:
        """The bindings of `name` when it is looked up in the innermost of `enclosing` (outermost first), and whether
        they belong to that very scope.
        """
        for depth, scope in enumerate(reversed(enclosing)):
            if depth and isinstance(scope, cst.ClassDef):
                continue  # a class body's names are not seen from inside its functions
            found = self.scopes[scope].get(name)
            if found:
                return found, depth == 0
        return (), False

    def resolve(self, expression: cst.BaseExpression, enclosing: Sequence[CstScope]) -> str | None:
        """The qualified name of a dotted expression once one of its imports has run; None if no import binds it."""
        dotted = dotted_name(expression)
        if dotted is None:
            return None
        root, _, rest = dotted.partition(".")
        found, _ = self.bindings(root, enclosing)
        targets = {binding.target for binding in found if binding.target is not None}
        if not targets and not found and self.has_star_import and root in ("tf", "tensorflow"):
            targets = {"tensorflow"}  # only the star import can bind it
        if len(targets) != 1:
            return None
        (target,) = targets
        return canonical(f"{target}.{rest}" if rest else target)


def canonical(name: str) -> str:
    """The canonical spelling of a TensorFlow name: `tensorflow.compat.v2.function` is `tensorflow.function`."""
    for prefix in ("tensorflow.compat.v2", "tensorflow._api.v2.v2"):
        if name == prefix or name.startswith(prefix + "."):
            return "tensorflow" + name[len(prefix) :]
    return name


def dotted_name(expression: cst.CSTNode) -> str | None:
    """`a.b.c` as text, or None if the expression is anything else."""
    parts: list[str] = []
    while isinstance(expression, cst.Attribute):
        parts.append(expression.attr.value)
        expression = expression.value
    if not isinstance(expression, cst.Name):
        return None
    parts.append(expression.value)
    return ".".join(reversed(parts))


def collect_names(module: cst.Module, line_of: Callable[[cst.CSTNode], int]) -> ModuleNames:
    """Read the bindings of every scope. `line_of` gives the line of an import statement or of a definition."""
    collector = _Collector(line_of)
    collector.walk(module)
    return ModuleNames(
        scopes={
            scope: {name: tuple(found) for name, found in names.items()} for scope, names in collector.scopes.items()
        },
        used=frozenset(collector.used),
        has_star_import=collector.has_star_import,
        star_line=collector.star_line,
    )


@dataclass(slots=True)
class _Frame:
    node: CstScope
    globals: set[str] = field(default_factory=set)
    nonlocals: set[str] = field(default_factory=set)
    conditions: list[BindingKind] = field(default_factory=list)
    """The conditions under which a statement here may not run, outermost first."""


class _Collector(Walker):
    def __init__(self, line_of: Callable[[cst.CSTNode], int]) -> None:
        self.line_of = line_of
        self.scopes: dict[CstScope, dict[str, list[Binding]]] = {}
        self.used: set[str] = set()
        self.has_star_import = False
        self.star_line: int | None = None
        self.frames: list[_Frame] = []

    # --- scopes

    def _enter(self, node: CstScope) -> None:
        frame = _Frame(node)
        self.scopes[node] = {}
        self.frames.append(frame)
        if not isinstance(node, cst.ClassDef):
            declared = _Declarations()
            declared.walk(node.body) if isinstance(node, cst.FunctionDef) else None
            frame.globals, frame.nonlocals = declared.globals, declared.nonlocals

    def visit_Module(self, node: cst.Module) -> None:
        self._enter(node)

    def visit_FunctionDef(self, node: cst.FunctionDef) -> bool:
        self._bind(node.name.value, Binding(BindingKind.OTHER, 0))
        for part in (*node.decorators, node.returns, *_defaults_and_annotations(node.params)):
            if part is not None:
                self.walk(part)
        self.used.add(node.name.value)
        self._enter(node)
        for name in _parameter_names(node.params):
            self.used.add(name)
            self._bind(name, Binding(BindingKind.OTHER, 0))
        self.walk(node.body)
        self.frames.pop()
        return False

    def visit_ClassDef(self, node: cst.ClassDef) -> bool:
        self._bind(node.name.value, Binding(BindingKind.OTHER, 0))
        self.used.add(node.name.value)
        for part in (*node.decorators, *node.bases, *node.keywords):
            self.walk(part)
        self._enter(node)
        self.walk(node.body)
        self.frames.pop()
        return False

    def visit_Lambda(self, node: cst.Lambda) -> None:
        self.used.update(_parameter_names(node.params))

    # --- conditions

    def visit_If(self, node: cst.If) -> bool:
        self.walk(node.test)
        typing_only = dotted_name(node.test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING", "t.TYPE_CHECKING")
        self._under(BindingKind.TYPING_IMPORT if typing_only else BindingKind.CONDITIONAL_IMPORT, [node.body])
        if node.orelse is not None:
            self._under(BindingKind.CONDITIONAL_IMPORT, [node.orelse])
        return False

    def visit_Try(self, node: cst.Try) -> bool:
        if all(_always_leaves(handler.body) for handler in node.handlers):
            return True
        self._under(BindingKind.CONDITIONAL_IMPORT, [node.body, *node.handlers])
        if node.orelse is not None:
            self._under(BindingKind.CONDITIONAL_IMPORT, [node.orelse])
        if node.finalbody is not None:
            self.walk(node.finalbody)
        return False

    def visit_TryStar(self, node: cst.TryStar) -> bool:
        self._under(BindingKind.CONDITIONAL_IMPORT, [node.body, *node.handlers])
        for part in (node.orelse, node.finalbody):
            if part is not None:
                self._under(BindingKind.CONDITIONAL_IMPORT, [part])
        return False

    def visit_For(self, node: cst.For) -> bool:
        self._bind_target(node.target)
        return self._loop(node)

    def visit_While(self, node: cst.While) -> bool:
        return self._loop(node)

    def visit_Match(self, node: cst.Match) -> bool:
        self.walk(node.subject)
        self._under(BindingKind.CONDITIONAL_IMPORT, node.cases)
        return False

    def _loop(self, node: cst.For | cst.While) -> bool:
        self._under(BindingKind.CONDITIONAL_IMPORT, [part for part in node.children if part is not node.orelse])
        if node.orelse is not None:
            self._under(BindingKind.CONDITIONAL_IMPORT, [node.orelse])
        return False

    def _under(self, condition: BindingKind, nodes: Iterable[cst.CSTNode]) -> None:
        self.frames[-1].conditions.append(condition)
        for node in nodes:
            self.walk(node)
        self.frames[-1].conditions.pop()

    # --- bindings

    def _bind(self, name: str, binding: Binding) -> None:
        frame = self.frames[-1]
        owner: CstScope = frame.node
        if name in frame.globals:
            owner = self.frames[0].node
            binding = Binding(BindingKind.OTHER, binding.line)
        elif name in frame.nonlocals:
            for outer in reversed(self.frames[:-1]):
                if isinstance(outer.node, cst.FunctionDef) and name in self.scopes[outer.node]:
                    owner = outer.node
                    break
            binding = Binding(BindingKind.OTHER, binding.line)
        self.scopes[owner].setdefault(name, []).append(binding)

    def _bind_import(self, name: str, target: str | None, node: cst.CSTNode) -> None:
        conditions = self.frames[-1].conditions
        kind = BindingKind.IMPORT
        if conditions:
            kind = BindingKind.TYPING_IMPORT if BindingKind.TYPING_IMPORT in conditions else conditions[-1]
        self.used.add(name)
        self._bind(name, Binding(kind, self.line_of(node), target))

    def visit_Import(self, node: cst.Import) -> bool:
        for alias in node.names:
            module = dotted_name(alias.name)
            if module is None:
                continue
            if alias.asname is not None and isinstance(alias.asname.name, cst.Name):
                self._bind_import(alias.asname.name.value, module, node)
            else:
                root = module.partition(".")[0]
                self._bind_import(root, root, node)
        return False

    def visit_ImportFrom(self, node: cst.ImportFrom) -> bool:
        if isinstance(node.names, cst.ImportStar):
            self.has_star_import = True
            if self.star_line is None and len(self.frames) == 1 and not self.frames[-1].conditions:
                self.star_line = self.line_of(node)
            return False
        module = ("." * len(node.relative)) + (dotted_name(node.module) or "" if node.module is not None else "")
        for alias in node.names:
            name = dotted_name(alias.name) or ""
            bound = alias.asname.name.value if alias.asname and isinstance(alias.asname.name, cst.Name) else name
            self._bind_import(bound, f"{module}.{name}", node)
        return False

    def visit_Name(self, node: cst.Name) -> None:
        self.used.add(node.value)

    def visit_AssignTarget(self, node: cst.AssignTarget) -> None:
        self._bind_target(node.target)

    def visit_AnnAssign(self, node: cst.AnnAssign) -> None:
        if node.value is not None:
            self._bind_target(node.target)

    def visit_AugAssign(self, node: cst.AugAssign) -> None:
        self._bind_target(node.target)

    def visit_NamedExpr(self, node: cst.NamedExpr) -> None:
        self._bind_target(node.target)

    def visit_Del(self, node: cst.Del) -> None:
        self._bind_target(node.target)

    def visit_WithItem(self, node: cst.WithItem) -> None:
        if node.asname is not None:
            self._bind_target(node.asname.name)

    def visit_ExceptHandler(self, node: cst.ExceptHandler) -> None:
        if node.name is not None:
            self._bind_target(node.name.name)

    def visit_ExceptStarHandler(self, node: cst.ExceptStarHandler) -> None:
        if node.name is not None:
            self._bind_target(node.name.name)

    def visit_MatchAs(self, node: cst.MatchAs) -> None:
        if node.name is not None:
            self._bind_target(node.name)

    def visit_MatchStar(self, node: cst.MatchStar) -> None:
        if node.name is not None:
            self._bind_target(node.name)

    def visit_MatchMapping(self, node: cst.MatchMapping) -> None:
        if node.rest is not None:
            self._bind_target(node.rest)

    def visit_TypeAlias(self, node: cst.TypeAlias) -> None:
        self._bind_target(node.name)

    def _bind_target(self, target: cst.CSTNode) -> None:
        match target:
            case cst.Name():
                self._bind(target.value, Binding(BindingKind.OTHER, 0))
            case cst.Tuple() | cst.List():
                for element in target.elements:
                    self._bind_target(element.value)
            case cst.StarredElement():
                self._bind_target(target.value)
            case _:
                pass  # an attribute or an item binds no name


class _Declarations(Walker):
    """The `global` and `nonlocal` names of one function body."""

    def __init__(self) -> None:
        self.globals: set[str] = set()
        self.nonlocals: set[str] = set()

    def visit_FunctionDef(self, node: cst.FunctionDef) -> bool:
        return False

    def visit_ClassDef(self, node: cst.ClassDef) -> bool:
        return False

    def visit_Global(self, node: cst.Global) -> None:
        self.globals.update(item.name.value for item in node.names)

    def visit_Nonlocal(self, node: cst.Nonlocal) -> None:
        self.nonlocals.update(item.name.value for item in node.names)


def _always_leaves(body: cst.BaseSuite) -> bool:
    """Whether a handler certainly does not continue after the `try`: its last statement raises or ends the process."""
    statements: Sequence[cst.CSTNode] = body.body
    if not statements:
        return False
    last = statements[-1]
    if isinstance(last, cst.SimpleStatementLine):
        last = last.body[-1]
    if isinstance(last, cst.Raise):
        return True
    if isinstance(last, cst.Expr) and isinstance(last.value, cst.Call):
        return dotted_name(last.value.func) in ("sys.exit", "os._exit")
    return False


def _all_parameters(parameters: cst.Parameters) -> list[cst.Param]:
    found = [*parameters.posonly_params, *parameters.params, *parameters.kwonly_params]
    if isinstance(parameters.star_arg, cst.Param):
        found.append(parameters.star_arg)
    if parameters.star_kwarg is not None:
        found.append(parameters.star_kwarg)
    return found


def _parameter_names(parameters: cst.Parameters) -> list[str]:
    return [parameter.name.value for parameter in _all_parameters(parameters)]


def _defaults_and_annotations(parameters: cst.Parameters) -> list[cst.CSTNode]:
    parts: list[cst.CSTNode] = []
    for parameter in _all_parameters(parameters):
        parts.extend(part for part in (parameter.annotation, parameter.default) if part is not None)
    return parts
