"""In-place changes of arrays: `w[0] = x`, `w.fill(0)`, `np.copyto(w, x)`, `np.add(w, x, out=w)`.

Computes: the write, as a write of the variable or attribute that holds the array, because arrays have no identity of
their own here: later reads of the variable give the new content. A view (`w.ravel()`, `w[1:]`, a local variable bound
to one) is traced to its array. Needs: the operation that produced the array. Gives: `array_changed`,
`array_given_form`, `changed_by_call`. Ignores: arrays that several variables, attributes or containers hold.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from terra_refactor.analysis.classes import class_of_instance, find_in_class
from terra_refactor.analysis.effects import write_effect
from terra_refactor.analysis.engine import Site
from terra_refactor.analysis.frames import CallArguments, Frame
from terra_refactor.analysis.transfer.names import bind_name
from terra_refactor.domain.effect import ELEMENTS, Effect, EffectKind, RootKind, Target
from terra_refactor.domain.state import ITEMS
from terra_refactor.domain.value import (
    UNKNOWN,
    Constant,
    LibraryValue,
    ObjectId,
    Reference,
    Scalar,
    SliceValue,
    TensorKind,
    TensorValue,
    TupleValue,
    UnknownValue,
    Value,
    members,
)
from terra_refactor.ir import ops
from terra_refactor.ir.function import FunctionKind
from terra_refactor.ir.ids import OpId
from terra_refactor.ir.ops import Op
from terra_refactor.tf_model.class_names import is_of_numpy
from terra_refactor.tf_model.numpy_api.views import (
    CHANGE_ARRAYS,
    GIVE_VIEWS,
    MAKE_ARRAYS,
    RESHAPE,
    RESIZES_ARRAY,
    is_of_arrays,
)
from terra_refactor.tf_model.python_effects import MUTATING_FUNCTIONS

_VIEW_ATTRIBUTES: Final = frozenset({"T", "flat", "imag", "mT", "real"})
_MAX_VIEWS: Final = 8


def array_changed(site: Site, holder: OpId, *, only_through_view: bool = False) -> bool:
    """Records an in-place change of the array from operation `holder`.

    Returns True for an argument of this function, whose effect is exact, and for an array created in this call, which needs no effect.
    `only_through_view` omits the holder of the array itself, if the operation binds it again.
    """
    frame = site.frame
    value = frame.value(holder)
    if not _is_array(value):
        return False
    shown = _shown_by(site, holder)
    source = site.operation(shown)
    detail = _in_words(site, holder)
    if isinstance(source, ops.LoadName) and _is_argument(site, source):
        target = Target(RootKind.PARAMETER, source.name, ELEMENTS)
        frame.add_effect(Effect(EffectKind.STATE_WRITE, target, detail, site.place(), assumed=True))
        return True
    if _is_new(frame, source):
        return True
    if only_through_view and shown == holder:
        return False
    match source:
        case ops.LoadName(name=name, scope=ops.Scope.GLOBAL):
            frame.note_write(site.op, (frame.module_object, name), site.place())
            frame.state.set((frame.module_object, name), _without_content(frame.value(shown)))
            if frame.function.kind is not FunctionKind.MODULE:
                site.engine.unsettle((frame.module_object, name))
                write_effect(site, frame.module_object, f".{name}", detail)
        case ops.LoadName(name=name, scope=ops.Scope.CELL | ops.Scope.FREE as scope):
            bind_name(site, name, scope, _without_content(frame.value(shown)))
        case ops.LoadAttribute(object=owner, name=name):
            for member in members(frame.value(owner)):
                if isinstance(member, Reference):
                    number = _holder_of(frame, member, name)
                    if frame.function.kind is not FunctionKind.MODULE:
                        site.engine.unsettle((number, name))
                    site.engine.write(frame, (number, name), _without_content(frame.value(shown)))
                    write_effect(site, number, f".{name}", detail)
        case ops.LoadItem(object=container):
            for member in members(frame.value(container)):
                if isinstance(member, Reference):
                    write_effect(site, member.object, ITEMS, detail)
        case _:
            pass
    return False


def _holder_of(frame: Frame, owner: Reference, name: str) -> ObjectId:
    """The object that has an attribute: `owner`, or the class that it is found in."""
    cls = class_of_instance(frame, owner) if frame.state.get((owner.object, name)) is None else None
    found = find_in_class(frame, cls, name) if cls is not None else None
    return found[1].object if found is not None and isinstance(found[1], Reference) else owner.object


def _is_new(frame: Frame, made: Op | None) -> bool:
    """Whether an operation certainly creates a new array: arithmetic, and NumPy's functions that never return a view."""
    if isinstance(made, ops.Binary):
        return not made.in_place
    names = frame.call_record(made.id).library if isinstance(made, ops.Call) else ()
    return bool(names) and MAKE_ARRAYS.issuperset(names)


def _in_words(site: Site, holder: OpId) -> str:
    """The in-place change made by the present operation, as written."""
    match site.operation(site.op):
        case ops.StoreItem():
            return f"{site.written(holder)}[...] = ..."
        case ops.Binary(operator=operator):
            return f"{site.written(holder)} {operator}= ..."
        case _:
            return site.written(site.op)


def _is_argument(site: Site, read: ops.LoadName) -> bool:
    """Whether a variable is a parameter that is never rebound."""
    return read.scope is ops.Scope.LOCAL and read.name in site.frame.parameters and not _stores(site, read.name)


def array_given_form(site: Site, holder: OpId, attribute: str, value: Value) -> None:
    """`w.shape = (5, 1)`, `w.dtype = ...`: from here on, the holder of the array holds one with another shape or dtype."""
    frame = site.frame
    given = frame.value(holder)
    alternatives = members(given)
    if attribute not in ("shape", "dtype", "strides") or not alternatives or not all(map(_is_array, alternatives)):
        return
    if attribute == "shape":
        formed = site.call(LibraryValue(RESHAPE), CallArguments((given, value)))
    else:
        formed = UNKNOWN
    source = site.operation(holder)
    if isinstance(source, ops.LoadName):
        bind_name(site, source.name, source.scope, formed)
    elif isinstance(source, ops.LoadAttribute):
        for member in members(frame.value(source.object)):
            if isinstance(member, Reference):
                site.engine.write(frame, (member.object, source.name), formed)
                write_effect(site, member.object, f".{source.name}", f"{source.name}.{attribute} = ...")


def _shown_by(site: Site, holder: OpId) -> OpId:
    """The operation that produced the array of a view; the operation itself if it produces no view.

    If several variables or attributes lead to the array, the last one.
    """
    frame = site.frame
    place: OpId | None = None
    for _ in range(_MAX_VIEWS):
        source = site.operation(holder)
        behind: OpId | None = None
        match source:
            case ops.LoadItem(object=array, index=index) if _is_array(frame.value(array)):
                behind = array if _is_basic(frame.value(index)) else None
            case ops.LoadAttribute(object=array, name=name) if name in _VIEW_ATTRIBUTES:
                behind = array if _is_array(frame.value(array)) else None
            case ops.Call(function=function, arguments=arguments):
                names = frame.call_record(source.id).library
                method = site.operation(function)
                if not any(name in GIVE_VIEWS for name in names):
                    behind = None
                elif isinstance(method, ops.LoadAttribute) and any(is_of_arrays(name) for name in names):
                    behind = method.object
                elif arguments:
                    behind = arguments[0].value
            case ops.LoadName(name=name, scope=scope) if scope is ops.Scope.LOCAL or (
                scope is ops.Scope.GLOBAL and frame.function.kind is FunctionKind.MODULE
            ):
                behind = _set_to(site, name)
            case _:
                behind = None
        if isinstance(source, ops.LoadAttribute) or (
            isinstance(source, ops.LoadName) and source.scope is not ops.Scope.LOCAL
        ):
            place = holder
        if behind is None or frame.values[behind] is None:
            break
        holder = behind
    return holder if place is None else place


def _is_basic(index: Value) -> bool:
    """Whether an index may give a view: it contains no arrays or lists, as far as is known."""
    parts = index.elements if isinstance(index, TupleValue) else (index,)
    return all(isinstance(part, Constant | Scalar | SliceValue | UnknownValue) for part in parts)


def _set_to(site: Site, name: str) -> OpId | None:
    """The value of a variable with one assignment, not counting in-place changes of its array."""
    if any(parameter.name == name for parameter in site.frame.function.parameters):
        return None
    stores = _stores(site, name)
    return stores[0] if len(stores) == 1 else None


def _stores(site: Site, name: str) -> list[OpId]:
    """The values that are assigned to a variable, without in-place changes of its array."""
    stored = site.engine.code.stored_in(site.frame.function, name)
    return [value for value in stored if not _is_in_place(site.operation(value))]


def _is_in_place(op: Op | None) -> bool:
    return isinstance(op, ops.Binary) and op.in_place


def changed_by_call(site: Site, name: str) -> None:
    """Records in-place changes by a call of a library function."""
    call = site.operation(site.op)
    if not isinstance(call, ops.Call):
        return
    if name in CHANGE_ARRAYS:
        method = site.operation(call.function)
        if isinstance(method, ops.LoadAttribute):
            array_changed(site, method.object)
            if name == RESIZES_ARRAY:
                array_given_form(site, method.object, "strides", UNKNOWN)
    elif name in MUTATING_FUNCTIONS and call.arguments:
        array_changed(site, call.arguments[0].value)
    elif is_of_numpy(name):
        for argument in call.arguments:
            if argument.keyword == "out":
                array_changed(site, argument.value)


def _is_array(value: Value) -> bool:
    return any(isinstance(member, TensorValue) and member.kind is TensorKind.NDARRAY for member in members(value))


def _without_content(value: Value) -> Value:
    return replace(value, content=None) if isinstance(value, TensorValue) else value
