"""Names: constants spelled as names, loads, `:=`, `global`/`nonlocal`, and the variable of a name.

Computes: the `Scope` of every name. Needs: all functions of the file lowered, because a name assigned anywhere in a function is local to
it. Gives: `resolve_names`, which also fills the cells and free variables of each function. Ignores: `exec`, `globals()` and star imports,
which do not change local names.
Source: Python language reference, 4.2 "Naming and binding"; PEP 227, PEP 572 (`:=` in comprehensions), PEP 695 (type parameters).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from terra_refactor.ir.build.builder import FrameKind, FunctionBuilder, LoweringFrame, ModuleBuilder
from terra_refactor.ir.function import FunctionKind
from terra_refactor.ir.ids import OpId
from terra_refactor.ir.ops import Scope

if TYPE_CHECKING:
    from collections.abc import Mapping

CONSTANTS: Mapping[str, bool | None] = {"None": None, "True": True, "False": False}


def lower_name(b: FunctionBuilder, node: cst.Name) -> OpId:
    name = node.value
    if name in CONSTANTS:
        return b.literal(node, CONSTANTS[name])
    return b.load(node, b.mangled(name))


def lower_named_expression(b: FunctionBuilder, node: cst.NamedExpr) -> OpId:
    value = b.value(node.value)
    assert isinstance(node.target, cst.Name)
    # `:=` in a comprehension binds in the function that contains the comprehension.
    b.store(node.target, b.mangled(node.target.value), value, frame=b.root_frame, is_expression=True)
    return value


def lower_global(b: FunctionBuilder, node: cst.Global) -> None:
    b.root_frame.declared_global.update(b.mangled(item.name.value) for item in node.names)


def lower_nonlocal(b: FunctionBuilder, node: cst.Nonlocal) -> None:
    b.root_frame.declared_nonlocal.update(b.mangled(item.name.value) for item in node.names)


def resolve_names(module: ModuleBuilder) -> None:
    """Gives each name operation of the file its scope (and its fresh name), and each function its cells and free variables."""
    owners: list[tuple[LoweringFrame, str, LoweringFrame]] = []
    for function in module.functions:
        for frame in function.frames:
            if frame.kind is FrameKind.MODULE:
                continue
            for name in frame.uses:
                owner = _owner(frame, name)
                if owner is not None:
                    owners.append((frame, name, owner))
                    _capture(frame, name, owner)
            # `nonlocal` captures even unused names, and `super()` without arguments finds its class through a cell.
            implicit = frame.declared_nonlocal - frame.uses.keys()
            if "super" in frame.uses:
                implicit.add("__class__")
            for name in implicit:
                owner = _owner(frame, name)
                if owner is not None:
                    _capture(frame, name, owner)
    # Only now is it known which variables are captured. The operations are not published yet: they are completed in place.
    for frame, name, owner in owners:
        stored = owner.stored_name(name)
        if owner.function is not frame.function:
            scope = Scope.FREE
        elif owner.kind is FrameKind.CLASS:
            scope = Scope.CLASS
        elif stored in owner.function.cells:
            scope = Scope.CELL
        else:
            scope = Scope.LOCAL
        for op in frame.uses[name]:
            object.__setattr__(op, "scope", scope)
            if stored is not name:
                object.__setattr__(op, "name", stored)


def local_names(function: FunctionBuilder) -> set[str]:
    """The names that live in `function`, captured ones included."""
    names: set[str] = set()
    for frame in function.frames:
        if frame.kind is not FrameKind.MODULE:
            names.update(
                frame.stored_name(name) for name in frame.bound - frame.declared_global - frame.declared_nonlocal
            )
    return names | function.cells


def _owner(start: LoweringFrame, name: str) -> LoweringFrame | None:
    """The scope that owns the variable to which `name` refers in `start`; None for a global."""
    frame: LoweringFrame | None = start
    class_is_visible = True
    while frame is not None:
        if frame.kind is FrameKind.MODULE:
            return None
        if frame.kind is not FrameKind.CLASS or class_is_visible:
            if name in frame.declared_global:
                return None
            if name in frame.bound and name not in frame.declared_nonlocal:
                return frame
        elif name == "__class__":
            return frame
        if frame.kind is not FrameKind.TYPE_PARAMETERS:
            class_is_visible = False
        frame = frame.parent
    return None


def _capture(start: LoweringFrame, name: str, owner: LoweringFrame) -> None:
    """If a function captures the variable, records it as a cell of its owner and as free in every function in between."""
    stored = owner.stored_name(name)
    function: FunctionBuilder | None = start.function
    if function is owner.function:
        return
    while function is not None and function is not owner.function:
        function.frees.add(stored)
        function = function.parent
    owner.function.cells.add(stored)


def private_prefix(class_name: str) -> str | None:
    """The prefix that Python adds to private names in `class class_name`; empty if the class name consists of underscores."""
    stripped = class_name.lstrip("_")
    return f"_{stripped}" if stripped else None


def qualified_name(b: FunctionBuilder, name: str) -> str:
    """Python's `__qualname__` of a definition `name` in `b`.

    A generator expression counts as a step of its own. The other comprehensions do not: they are inlined since Python 3.12 (PEP 709).
    """
    if b.kind is FunctionKind.MODULE:
        prefix = ""
    elif b.kind is FunctionKind.CLASS_BODY:
        prefix = f"{b.qualname}."
    else:
        prefix = f"{b.qualname}.<locals>."
    frame: LoweringFrame | None = b.frame
    while frame is not None and frame.function is b:
        if frame.kind is FrameKind.GENERATOR:
            prefix += "<genexpr>."
        frame = frame.parent
    return prefix + name
