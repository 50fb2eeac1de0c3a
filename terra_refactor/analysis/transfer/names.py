"""Names, imports and literals.

Computes: reads and writes of variables in every scope. Needs: the module loader for imports. Gives: `HANDLERS`.
"""

from __future__ import annotations

from typing_extensions import assert_never

from terra_refactor.analysis.effects import write_effect
from terra_refactor.analysis.engine import OpHandler, Site
from terra_refactor.analysis.facts import EntryKind
from terra_refactor.analysis.transfer.data_files import name_of_module_file
from terra_refactor.analysis.transfer.kept_tensors import holds_new_tensor, is_known_variable, is_same_variable
from terra_refactor.domain.effect import Effect, EffectKind, RootKind, Target
from terra_refactor.domain.lattice import without_unbound
from terra_refactor.domain.state import CELL
from terra_refactor.domain.traced import without_marks
from terra_refactor.domain.value import (
    NOT_BOUND,
    UNBOUND,
    UNKNOWN_STR,
    Bottom,
    Constant,
    LibraryValue,
    Origin,
    UnknownValue,
    Value,
)
from terra_refactor.ir import ops
from terra_refactor.ir.function import FunctionKind
from terra_refactor.ir.ops import Op
from terra_refactor.tf_model import registry
from terra_refactor.tf_model.class_names import builtin_named
from terra_refactor.tf_model.library_members import library_member

_MODULE_TEXTS = frozenset({"__name__", "__file__", "__doc__", "__package__"})


def literal(site: Site, op: Op) -> Value:
    assert isinstance(op, ops.Literal)
    return Constant(op.value)


def load_name(site: Site, op: Op) -> Value | None:
    assert isinstance(op, ops.LoadName)
    frame = site.frame
    name = op.name
    match op.scope:
        case ops.Scope.LOCAL:
            value = frame.state.locals.get(name)
            return _bound(value)
        case ops.Scope.CELL:
            return _bound(frame.state.get((frame.cells[name], CELL)))
        case ops.Scope.FREE:
            cell = frame.closure.get(name)
            if cell is None:
                return UnknownValue(origin=Origin("closure", name))
            frame.note_read(op.id, (cell, CELL))
            return _bound(frame.state.get((cell, CELL)))
        case ops.Scope.CLASS:
            assert frame.class_object is not None
            value = frame.state.get((frame.class_object, name))
            if value is not None and value != UNBOUND:
                return _bound(value)
            return load_global(site, name)
        case ops.Scope.GLOBAL:
            return load_global(site, name)
        case ops.Scope.BUILTIN:
            builtin = builtin_named(name)
            return UnknownValue() if builtin is None else LibraryValue(builtin)
        case _ as never:
            assert_never(never)


def _bound(value: Value | None) -> Value:
    """The value that is assigned. A read of an unset variable raises, which is never assumed without proof."""
    if value is None or value is UNBOUND:
        return UnknownValue(reason=NOT_BOUND)
    return without_unbound(value)


def load_global(site: Site, name: str) -> Value:
    """The value of a global of the frame's module, or of the built-in of that name."""
    frame = site.frame
    key = (frame.module_object, name)
    value = frame.state.get(key)
    if value is not None and value is not UNBOUND and type(value) is not Bottom:
        frame.note_read(site.op, key)
        return without_unbound(value)
    if name == "__file__":
        return name_of_module_file(site)
    if name in _MODULE_TEXTS:
        return UNKNOWN_STR
    module = frame.function.id.module
    for library in site.engine.loader.stars_of(module):
        if registry.attribute(library, name) is not None:
            return library_member(library, name)
    if (builtin := builtin_named(name)) is not None:
        return LibraryValue(builtin)
    return UnknownValue(origin=Origin("global", name))


def store_name(site: Site, op: Op) -> None:
    assert isinstance(op, ops.StoreName)
    frame = site.frame
    if op.value is None:
        if op.scope is ops.Scope.CLASS and frame.class_object is not None:
            frame.class_annotations[op.name] = frame.value(op.annotation)
        return
    value = frame.value(op.value)
    if op.scope is ops.Scope.CLASS and op.annotation is not None:
        frame.class_annotations[op.name] = frame.value(op.annotation)
    if frame.function.kind is FunctionKind.MODULE:
        value = without_marks(value)  # a module body is not traced
    bind_name(site, op.name, op.scope, value)


def bind_name(site: Site, name: str, scope: ops.Scope, value: Value) -> None:
    """Binds a variable in its scope, and records the effect if the variable outlives the call."""
    engine, frame = site.engine, site.frame
    match scope:
        case ops.Scope.LOCAL:
            frame.state.locals[name] = value
        case ops.Scope.CELL:
            frame.state.set((frame.cells[name], CELL), value)
            frame.note_write(site.op, (frame.cells[name], CELL), site.place())
        case ops.Scope.FREE:
            cell = frame.closure.get(name)
            if cell is not None and not (
                is_known_variable(value) and is_same_variable(frame.state.get((cell, CELL)), value)
            ):
                engine.write(frame, (cell, CELL), value)
                frame.note_write(site.op, (cell, CELL), site.place())
                if cell not in frame.allocated:
                    target = Target(RootKind.CLOSURE, name, "", cell)
                    kept = holds_new_tensor(site, value)
                    frame.add_effect(
                        Effect(EffectKind.STATE_WRITE, target, f"{name} = ...", site.place(), keeps_tensor=kept)
                    )
        case ops.Scope.CLASS:
            assert frame.class_object is not None
            frame.state.set((frame.class_object, name), value)
        case ops.Scope.GLOBAL:
            engine.loader.note_name(frame.function.id.module, name)
            frame.note_write(site.op, (frame.module_object, name), site.place())
            if frame.function.kind is FunctionKind.MODULE:
                frame.state.set((frame.module_object, name), value)
                return
            known = frame.state.get((frame.module_object, name))
            if is_known_variable(value) and is_same_variable(known, value):
                return
            frame.state.set((frame.module_object, name), value)
            if frame.entry is not EntryKind.MODULE or known is None:
                kept = holds_new_tensor(site, value)
                write_effect(site, frame.module_object, f".{name}", f"global {name}", keeps_tensor=kept)
        case ops.Scope.BUILTIN:
            raise AssertionError(f"the built-in {name} is bound")
        case _ as never:
            assert_never(never)


def delete_name(site: Site, op: Op) -> None:
    assert isinstance(op, ops.DeleteName)
    frame = site.frame
    match op.scope:
        case ops.Scope.LOCAL:
            frame.state.locals.pop(op.name, None)
        case ops.Scope.CELL:
            frame.state.set((frame.cells[op.name], CELL), UNBOUND)
        case ops.Scope.CLASS:
            assert frame.class_object is not None
            frame.state.set((frame.class_object, op.name), UNBOUND)
        case ops.Scope.FREE | ops.Scope.GLOBAL:
            if frame.function.kind is not FunctionKind.MODULE:
                write_effect(site, frame.module_object, f".{op.name}", f"del {op.name}")
            elif frame.uncertainty == 0:
                frame.state.set((frame.module_object, op.name), UNBOUND)
        case ops.Scope.BUILTIN:
            raise AssertionError(f"the built-in {op.name} is deleted")
        case _ as never:
            assert_never(never)


def import_module(site: Site, op: Op) -> Value:
    assert isinstance(op, ops.Import)
    return site.engine.loader.import_module(site.frame.function.id.module, op.module, 0, whole=op.whole)


def import_from(site: Site, op: Op) -> Value:
    assert isinstance(op, ops.ImportFrom)
    frame = site.frame
    return site.engine.loader.import_from(frame, frame.function.id.module, op.module, op.level, op.name)


def import_star(site: Site, op: Op) -> None:
    assert isinstance(op, ops.ImportStar)
    frame = site.frame
    site.engine.loader.import_star(frame, frame.function.id.module, op.module, op.level)


def lazy(site: Site, op: Op) -> Value:
    """The value of the block, evaluated in a scratch state."""
    assert isinstance(op, ops.Lazy)
    frame = site.frame
    saved = dict(frame.effects), dict(frame.failures), dict(frame.calls)
    reached = site.engine.run_branch(frame, op.block)
    frame.effects, frame.failures, frame.calls = saved
    return UnknownValue(may_be_tensor=True) if reached is None else frame.value(op.value)


HANDLERS: dict[type[Op], OpHandler] = {
    ops.Literal: literal,
    ops.LoadName: load_name,
    ops.StoreName: store_name,
    ops.DeleteName: delete_name,
    ops.Import: import_module,
    ops.ImportFrom: import_from,
    ops.ImportStar: import_star,
    ops.Lazy: lazy,
}
