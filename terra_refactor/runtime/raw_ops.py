"""The catch-all below the API: every raw operation, and every access to tapes that does not go through GradientTape.

Computes: nothing; passes raw operations to the run, to its observation, or to TensorFlow. Needs: pywrap_tfe, whose
functions the generated code looks up at each call. Gives: `RAW_HOOKS`. Ignores: the public API, which is hooked above
(api_hooks.py): only what was not caught there arrives here.

Outside of runs the hooks still do two things: replace leaked LazyTensors by real tensors, and wait for segments
before an operation touches a variable.
"""

from __future__ import annotations

import gc
from typing import Any

import numpy as np

from terra_refactor.runtime import foreign, op_rules, random_draws
from terra_refactor.runtime.executor import outstanding, settle_after, sum_later, wait_for_segments
from terra_refactor.runtime.lazy_tensor import LazyTensor
from terra_refactor.runtime.observe import op_definition, touched_handles
from terra_refactor.runtime.state import thread
from terra_refactor.runtime.tf_internals import (
    EagerTensor,
    ForwardAccumulator,
    as_dtype,
    constant_op,
    context,
    convert_to_tensor,
    execute,
    func_graph,
    op_def_library,
    ops,
    pywrap_tfe,
)
from terra_refactor.runtime.trie import Call
from terra_refactor.runtime.values import real_value, real_values

_fast_path = pywrap_tfe.TFE_Py_FastPathExecute
_execute = pywrap_tfe.TFE_Py_Execute
_execute_cancelable = pywrap_tfe.TFE_Py_ExecuteCancelable

_calls: dict[str, Call] = {}
_HOLDERS = frozenset((LazyTensor, list, tuple))
_ONLY_PROCESSOR = frozenset(
    (
        "CPU",
        "CPU:0",
        "/CPU",
        "/CPU:0",
        "cpu",
        "cpu:0",
        "/cpu",
        "/cpu:0",
        "/device:CPU:0",
        "/job:localhost/replica:0/task:0/device:CPU:0",
    )
)


def _eager(name: str) -> Any:
    def run(*args: Any) -> Any:
        try:
            return fast_path(tf_context(), name, None, *args)  # through the hook, so that the observation sees it
        except ops.core._FallbackException as fallback:
            converted = _with_tensors_for_lists(name, args)
            if converted is None:
                raise
            try:
                return fast_path(tf_context(), name, None, *converted)
            except ops.core._NotOkStatusException:
                raise fallback from None  # TensorFlow raises the error itself

    return run


def _with_tensors_for_lists(name: str, args: Any) -> list[Any] | None:
    """The arguments with each Python list operand converted to a tensor, as in the generated code.

    The fast path rejects such operands, and the generated code then takes a path that ends every segment. None if
    that is correct: there is no such operand, one does not convert, one contains floats (which may change at each
    step), or the operation has state and must not run twice.
    """
    definition = op_definition(name)
    if definition is None or definition.is_stateful:
        return None
    converted = list(args)
    groups: dict[
        str, list[tuple[int, int | None]]
    ] = {}  # type attribute -> operands, with the index in a list of operands
    for position, operand in enumerate(definition.input_arg):
        value = args[position]
        if operand.type_list_attr:
            return None
        if operand.number_attr:
            if not isinstance(value, (list, tuple)):
                return None
            converted[position] = list(value)
            places: list[tuple[int, int | None]] = [(position, index) for index in range(len(value))]
        else:
            places = [(position, None)]
        if any(_has_float(_at(args, place)) for place in places):
            return None
        groups.setdefault(operand.type_attr or str(operand.type), []).extend(places)
    attributes = {attribute.name: attribute for attribute in definition.attr}
    found = False
    try:
        for type_attribute, places in groups.items():
            if not any(isinstance(_at(args, place), (list, tuple)) for place in places):
                continue
            found = True
            attribute = attributes.get(type_attribute)
            if attribute is None:
                tensors = [convert_to_tensor(_at(args, place), as_dtype(int(type_attribute))) for place in places]
            else:
                allowed = [as_dtype(number) for number in attribute.allowed_values.list.type]
                default = as_dtype(attribute.default_value.type) if attribute.HasField("default_value") else None
                _, tensors = execute.args_to_matching_eager(
                    [_at(args, place) for place in places], tf_context(), allowed, default
                )
            for (position, index), tensor in zip(places, tensors, strict=True):
                if index is None:
                    converted[position] = tensor
                else:
                    converted[position][index] = tensor
    except (TypeError, ValueError, ops.core._SymbolicException):
        return None
    return converted if found else None


def _at(args: Any, place: tuple[int, int | None]) -> Any:
    position, index = place
    return args[position] if index is None else args[position][index]


def _has_float(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return any(_has_float(item) for item in value)
    return isinstance(value, (float, complex, np.floating, np.complexfloating))


def tf_context() -> Any:
    """The eager context."""
    return context._context or context.context()


def _graph(name: str) -> Any:
    def build(*args: Any) -> Any:
        definition = op_definition(name)
        count = len(definition.input_arg)
        operands = {argument.name: value for argument, value in zip(definition.input_arg, args, strict=False)}
        attributes = dict(zip(args[count::2], args[count + 1 :: 2], strict=True))
        known = {attribute.name for attribute in definition.attr}
        operands.update({key: value for key, value in attributes.items() if key in known and value is not None})
        # attributes inferred from the operands may not be given twice
        inferred = {a.type_attr for a in definition.input_arg} | {a.number_attr for a in definition.input_arg}
        inferred |= {a.type_list_attr for a in definition.input_arg}
        for key in inferred:
            operands.pop(key, None)
        _, _, op, outputs = op_def_library._apply_op_helper(name, **operands)
        flat = list(outputs) if isinstance(outputs, (list, tuple)) else [outputs]
        if execute.must_record_gradient():
            pairs = [part for a in op.op_def.attr for part in (a.name, op.get_attr(a.name))]
            execute.record_gradient(name, op.inputs, tuple(pairs), list(op.outputs))
        if not definition.output_arg:
            return None
        if len(definition.output_arg) == 1:
            return flat[0] if not definition.output_arg[0].number_attr else list(op.outputs)
        return flat

    return build


def raw_call(name: str) -> Call:
    """The Call of a raw operation."""
    found = _calls.get(name)
    if found is None:
        run = _eager(name)
        found = _calls[name] = Call(name, run, run, _graph(name), raw=name)
    return found


def _has_lazy(values: Any, pending: bool = False) -> bool:
    """Whether there is a deferred tensor among the values; with `pending`, one without a value."""
    for value in values:
        kind = type(value)
        if kind is LazyTensor:
            if not pending or value._value is None:
                return True
        elif (kind is list or kind is tuple) and _has_lazy(value, pending):
            return True
    return False


def _touches_state(name: Any, values: Any) -> bool:
    text = name.decode() if isinstance(name, bytes) else name
    definition = op_definition(text)
    if definition is None or definition.is_stateful:
        return text not in op_rules.STATEFUL_RANDOM_OPS
    return bool(touched_handles(values))  # a variable operand is read inside TensorFlow


def _before_in_crowd(run: Any, operands: Any) -> None:
    """Called before an operation executes on a thread with a run while another thread has one."""
    if run.passive:
        foreign.before_operation()
        return
    handles = touched_handles(operands)
    if handles:
        foreign.before_touching(handles)


def fast_path(ctx: Any, name: str, label: Any, *args: Any) -> Any:
    """Replaces TFE_Py_FastPathExecute."""
    run = thread.run
    if run is None or run.depth:
        if not _HOLDERS.isdisjoint(map(type, args)) and _has_lazy(args):
            args = tuple(real_values(args))
        if run is not None and foreign.several_runs():
            _before_in_crowd(run, args)
        if run is not None and run.log is not None:
            if name in op_rules.SHAPE_ONLY_RANDOM_OPS:
                random_draws.before_kernel(_fast_path, ctx, name, args)
            result = _fast_path(ctx, name, label, *args)
            run.log.saw_operation(name, args, result)
            return result
        if run is not None and name == "AddN":
            total = sum_later(lambda: _fast_path(ctx, name, label, *args), args[0])
            if total is not None:
                return total
        if run is None and foreign.other_runs():
            foreign.before_operation()
        if outstanding.busy and _touches_state(name, args):
            wait_for_segments()
        if name in op_rules.SHAPE_ONLY_RANDOM_OPS:
            random_draws.before_kernel(_fast_path, ctx, name, args)
        return _fast_path(ctx, name, label, *args)
    if name in op_rules.SHAPE_ONLY_RANDOM_OPS and not _has_lazy(args, pending=True):
        drawn = random_draws.seeded(run, name, args)
        if drawn is not None:
            return run.call(*drawn, {})
        # drawn now, in program order; nothing pending can change it
        random_draws.before_kernel(_fast_path, ctx, name, args)
        return _fast_path(ctx, name, label, *real_values(args))
    return run.call(raw_call(name), args, {})


def _slow_path(real: Any, name_position: int, inputs_position: int) -> Any:
    def run_slowly(*args: Any) -> Any:
        run = thread.run
        name = args[name_position]
        inputs = args[inputs_position]
        if run is not None and not run.depth and run.tld.is_eager:
            run.cut()
            run.program.immediates[name if isinstance(name, str) else name.decode()] += 1
            wait_for_segments()
        elif run is None and foreign.other_runs():
            foreign.before_operation()
        if _has_lazy(inputs):
            args = (*args[:inputs_position], real_values(inputs), *args[inputs_position + 1 :])
            inputs = args[inputs_position]
        if run is not None and foreign.several_runs():
            _before_in_crowd(run, inputs)
        if outstanding.busy and _touches_state(name, inputs):
            wait_for_segments()
        result = real(*args)
        if run is not None and run.log is not None:
            run.log.saw_operation(name if isinstance(name, str) else name.decode(), inputs, result)
        return result

    return run_slowly


def _tape_entry(real: Any) -> Any:
    """Wraps an access to tapes below GradientTape: pending operations run first, with their tapes made real."""

    def enter(*args: Any) -> Any:
        run = thread.run
        if run is not None and not run.depth and run.tld.is_eager:
            run.cut()
        if _has_lazy(args):
            args = tuple(real_values(args))
        return real(*args)

    return enter


def _tape_question(real: Any) -> Any:
    """Like `_tape_entry`, for accesses that end the segment only while the run has a tape."""

    def enter(*args: Any) -> Any:
        run = thread.run
        if run is not None and not run.depth and run.tapes and run.tld.is_eager:
            run.cut()
        return real(*args)

    return enter


def _with_real(real: Any) -> Any:
    """Wraps a function that reads a tensor of the program: a deferred tensor becomes real."""
    return lambda tensor: real(real_value(tensor))


def suspend() -> None:
    """Defers nothing from here on: recording is stopped, watched or duplicated in a way that the trace does not represent."""
    run = thread.run
    if run is not None and run.tld.is_eager:
        if not run.depth:
            run.cut()
            wait_for_segments()
        run.depth += 1
        run.suspended += 1


def resume() -> None:
    """Ends `suspend`. A block that began before this run, or in another one, has no effect."""
    run = thread.run
    if run is not None and run.tld.is_eager and run.suspended > 0:
        run.suspended -= 1
        run.depth -= 1


def _suspend(real: Any) -> Any:
    def enter(*args: Any) -> Any:
        suspend()
        return real(*args)

    return enter


def _resume(real: Any) -> Any:
    def leave(*args: Any) -> Any:
        try:
            resume()
        finally:  # for any interruption: recording that stays stopped would lose every later gradient
            result = real(*args)
        return result

    return leave


def _accumulate(real: Any) -> Any:
    """Defer nothing under a forward accumulator, which records every operation of its thread."""

    def enter(accumulator: Any) -> Any:
        suspend()
        result = real(accumulator)
        thread.accumulators += 1
        return result

    return enter


def _stop_accumulating(real: Any) -> Any:
    def leave(accumulator: Any) -> Any:
        thread.accumulators = max(0, thread.accumulators - 1)
        try:
            resume()
        finally:
            result = real(accumulator)
        return result

    return leave


def count_accumulators() -> None:
    """Counts those entered before the hooks were installed; on any thread, since this one waits for them."""
    thread.accumulators = sum(
        1 for thing in gc.get_objects() if isinstance(thing, ForwardAccumulator) and thing._recording
    )


def _in_device(real: Any) -> Any:
    """Runs operations in a device scope immediately, with the scope's placement."""

    def enter(self: Any) -> Any:
        suspended = _places(self._device_name)
        if suspended:
            suspend()
        try:
            return real(self)
        except BaseException:
            if suspended:
                resume()
            raise

    return enter


def _places(device: Any) -> bool:
    """Whether a scope with this device changes the placement: not for the only processor."""
    return device is not None and not (device in _ONLY_PROCESSOR and len(tf_context().list_logical_devices()) == 1)


def _out_of_device(real: Any) -> Any:
    def leave(self: Any, *error: Any) -> Any:
        result = real(self, *error)
        if _places(self._device_name):
            resume()
        return result

    return leave


def _capture(real: Any) -> Any:
    """Makes a deferred tensor real before a graph captures it."""

    def capture(self: Any, tensor: Any, *args: Any, **kwargs: Any) -> Any:
        return real(self, real_value(tensor), *args, **kwargs)

    return capture


def _constant_hook(real: Any) -> Any:
    """A few integers that Python passes to an operation below the API are sizes and axes: the path fixes their values."""

    def convert_to_eager_tensor(value: Any, ctx: Any, dtype: Any = None) -> Any:
        tensor = real(value, ctx, dtype)
        run = thread.run
        if run is not None and not run.depth and run.tld.is_eager and type(value) is not EagerTensor:
            run.learn_constant(tensor)
        return tensor

    return convert_to_eager_tensor


def _add_callback(real: Any) -> Any:
    """Defers nothing in this call from here on: callbacks receive every operation with its value."""

    def add_op_callback(self: Any, callback: Any) -> Any:
        run = thread.run
        if run is not None and not run.depth:
            run.bail_out("operations have callbacks (check_numerics, a debugger)")
        return real(self, callback)

    return add_op_callback


def _numpy_hook(real: Any) -> Any:
    """Reading a value ends the segment while recording; in a deferred call it prevents deferring that call."""

    def _numpy(self: Any) -> Any:
        run = thread.run
        if run is not None:
            if run.log is not None:
                run.log.saw_value(self)
            elif run.real and not run.depth:
                code = run.ids.get(id(self))
                if code is not None and code >= 0 and run.slot_specs[code].static is None:
                    run.cut()
        try:
            return real(self)
        except Exception as error:
            settle_after(error)
            raise

    return _numpy


def _clear_caches(real: Any) -> Any:
    def clear(*args: Any) -> Any:
        random_draws.forget_kernels()
        return real(*args)

    return clear


def raw_hooks() -> list[tuple[Any, str, Any]]:
    """(owner, attribute, replacement) of exactly the hooks below the API that runs and deferred tensors need."""
    hooks: list[tuple[Any, str, Any]] = [
        (pywrap_tfe, "TFE_Py_FastPathExecute", fast_path),
        (pywrap_tfe, "TFE_Py_Execute", _slow_path(_execute, 2, 3)),
        (pywrap_tfe, "TFE_Py_ExecuteCancelable", _slow_path(_execute_cancelable, 2, 3)),
        (ops._EagerTensorBase, "_numpy", _numpy_hook(ops._EagerTensorBase._numpy)),
    ]
    hooks.append((constant_op, "convert_to_eager_tensor", _constant_hook(constant_op.convert_to_eager_tensor)))
    hooks.append((context.Context, "add_op_callback", _add_callback(context.Context.add_op_callback)))
    hooks.append((func_graph.FuncGraph, "capture", _capture(func_graph.FuncGraph.capture)))
    entries = """TFE_Py_RecordGradient TFE_Py_TapeSetRecordOperation TFE_Py_TapeSetRecordOperationBackprop
        TFE_Py_TapeSetRecordOperationForwardprop TFE_Py_TapeSetShouldRecordBackprop TFE_Py_TapeSetPossibleGradientTypes
        TFE_Py_TapeWatch TFE_Py_TapeWatchVariable TFE_Py_TapeGradient TFE_Py_TapeSetNew
        TFE_Py_TapeSetAdd TFE_Py_TapeSetRemove TFE_Py_TapeWatchedVariables TFE_Py_PackJVPs
        TFE_Py_PackEagerTensors TFE_Py_ForwardAccumulatorWatch TFE_Py_ForwardAccumulatorJVP"""
    for name in entries.split():
        hooks.append((pywrap_tfe, name, _tape_entry(getattr(pywrap_tfe, name))))
    for name in ("TFE_Py_TapeVariableAccessed", "TFE_Py_TapeSetIsEmpty"):
        hooks.append((pywrap_tfe, name, _tape_question(getattr(pywrap_tfe, name))))
    hooks.append((pywrap_tfe, "TFE_ToDlpackCapsule", _with_real(pywrap_tfe.TFE_ToDlpackCapsule)))
    return hooks


def standing_hooks() -> list[tuple[Any, str, Any]]:
    """The hooks at the beginning and end of blocks, and on the state of kernels: they must not miss anything between two runs."""
    clear = pywrap_tfe.TFE_ContextClearCaches
    hooks: list[tuple[Any, str, Any]] = [(pywrap_tfe, "TFE_ContextClearCaches", _clear_caches(clear))]
    for name in ("TFE_Py_TapeSetStopOnThread", "TFE_Py_VariableWatcherNew"):
        hooks.append((pywrap_tfe, name, _suspend(getattr(pywrap_tfe, name))))
    for name in ("TFE_Py_TapeSetRestartOnThread", "TFE_Py_VariableWatcherRemove"):
        hooks.append((pywrap_tfe, name, _resume(getattr(pywrap_tfe, name))))
    for name, accumulates in (
        ("TFE_Py_ForwardAccumulatorSetAdd", _accumulate),
        ("TFE_Py_ForwardAccumulatorSetRemove", _stop_accumulating),
    ):
        hooks.append((pywrap_tfe, name, accumulates(getattr(pywrap_tfe, name))))
    device = context._EagerDeviceContext
    hooks.append((device, "__enter__", _in_device(device.__enter__)))
    hooks.append((device, "__exit__", _out_of_device(device.__exit__)))
    return hooks
