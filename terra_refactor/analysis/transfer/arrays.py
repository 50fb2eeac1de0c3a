"""Arrays that are changed where they are: `w[0] = x`, `w.fill(0)`, `np.copyto(w, x)`, `np.add(w, x, out=w)`.

Computes: the write, as one of the global variable or the attribute that holds the array, for arrays have no identity of their own here: a
function that reads the variable later gets another content. Needs: the operation that gave the array. Gives: `array_changed`,
`changed_by_call`. Ignores: arrays that several variables hold, and those in containers.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from terra_refactor.analysis.effects import write_effect
from terra_refactor.analysis.frames import Frame
from terra_refactor.analysis.interpreter import Interpreter
from terra_refactor.domain.value import Reference, TensorKind, TensorValue, Value, members
from terra_refactor.ir import ops
from terra_refactor.ir.function import FunctionKind
from terra_refactor.ir.ids import OpId
from terra_refactor.tf_model.python_effects import MUTATING_FUNCTIONS

_METHODS: Final = frozenset(
    f"numpy.ndarray.{name}" for name in ("fill", "sort", "put", "resize", "itemset", "partition", "setfield")
)


def array_changed(interpreter: Interpreter, frame: Frame, op: OpId, holder: OpId) -> None:
    """Records that the array which operation `holder` gave gets another content."""
    value = frame.value(holder)
    if not _is_array(value):
        return
    source = interpreter.op(frame.function, holder)
    detail = f"an in-place change of {frame.written(interpreter, holder)}"
    match source:
        case ops.LoadName(name=name, scope=ops.Scope.GLOBAL):
            frame.note_write(op, (frame.module_object, name), frame.site(op))
            frame.state.set((frame.module_object, name), _without_content(value))
            if frame.function.kind is not FunctionKind.MODULE:
                write_effect(frame, op, frame.module_object, f".{name}", detail)
        case ops.LoadAttribute(object=owner, name=name):
            for member in members(frame.value(owner)):
                if isinstance(member, Reference):
                    write_effect(frame, op, member.object, f".{name}", detail)
        case _:
            return


def changed_by_call(interpreter: Interpreter, frame: Frame, op: OpId, name: str) -> None:
    """Records what a call of a library function changes in place."""
    call = interpreter.op(frame.function, op)
    if not isinstance(call, ops.Call):
        return
    if name in _METHODS:
        method = interpreter.op(frame.function, call.function)
        if isinstance(method, ops.LoadAttribute):
            array_changed(interpreter, frame, op, method.object)
    elif name in MUTATING_FUNCTIONS and call.arguments:
        array_changed(interpreter, frame, op, call.arguments[0].value)
    elif name.startswith("numpy."):
        for argument in call.arguments:
            if argument.keyword == "out":
                array_changed(interpreter, frame, op, argument.value)


def _is_array(value: Value) -> bool:
    return any(isinstance(member, TensorValue) and member.kind is TensorKind.NDARRAY for member in members(value))


def _without_content(value: Value) -> Value:
    return replace(value, content=None) if isinstance(value, TensorValue) else value
