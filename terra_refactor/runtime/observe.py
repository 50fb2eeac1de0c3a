"""Observation of one eager call: whether it may be deferred next time.

Computes: from the raw operations that a call ran, the reasons why it may not be deferred, its guards, and which of its
results the path fixes. Needs: the catch-all hooks to pass on every operation. Gives: `Observation`. Ignores: Python
side effects; only calls of TensorFlow and of Keras' own classes are observed, never the program's.

A tensor is *dynamic* if its value may differ next time: the call's tensor arguments, values read from variables, and
everything computed from those, except their shapes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from terra_refactor.runtime import op_rules
from terra_refactor.runtime.function_rules import function_problem
from terra_refactor.runtime.lazy_tensor import LazyTensor
from terra_refactor.runtime.tf_internals import EagerTensor, KerasVariable, Variable, as_dtype, op_def_registry, tf
from terra_refactor.runtime.trie import Guard, InputRef, SlotSpec

_MAX_STATIC_ELEMENTS = 1024
# float, double, int32, int64: they represent every index below _MAX_BOUND exactly, so a cast there and back preserves
# it
_EXACT = (1, 2, 3, 9)
_BOOL = 10
_MAX_BOUND = 2**24

_definitions: dict[str, Any] = {}


def op_definition(name: str) -> Any:
    """The registered definition of an operation; None if the name is that of a function."""
    if name not in _definitions:
        _definitions[name] = op_def_registry.get(name)
    return _definitions[name]


def flat_tensors(values: Any) -> list[Any]:
    """The eager tensors in nested lists and tuples, in order."""
    found: list[Any] = []
    for value in values:
        if type(value) is EagerTensor:
            found.append(value)
        elif isinstance(value, (list, tuple)):
            found.extend(flat_tensors(value))
    return found


class Observation:
    """Records what one call does. `problem` is the first reason against deferring it, `intrinsic`: whether it always applies."""

    def __init__(self, trusted: bool, creation: bool = False) -> None:
        self.trusted = trusted
        self.creation = creation
        self.problem: str | None = None
        self.intrinsic = False
        self.guards: set[Guard] = set()
        self.ops = 0
        self.reads: set[int] = set()  # ids of the handles of variables
        self.writes: set[int] = set()
        self.touches_variables = False
        self.rehung: Any = None  # the result on which the call set functions of its own
        self._negative: dict[int, tuple[Any, Any]] = {}  # id of a comparison `x < 0` -> (tensor, the source of x)
        self._dynamic: dict[int, tuple[Any, Any, int | None]] = {}  # id -> (tensor, source, bound)

    def add_argument(self, tensor: Any, source: Any, bound: int | None) -> None:
        """Adds a dynamic tensor argument of the call."""
        self._dynamic[id(tensor)] = (tensor, source, bound)

    def is_dynamic(self, tensor: Any) -> bool:
        return id(tensor) in self._dynamic

    def refuse(self, reason: str, intrinsic: bool = False) -> None:
        if self.problem is None:
            self.problem = reason
            self.intrinsic = intrinsic

    def saw_value(self, tensor: Any) -> None:
        """Records that Python read the value of `tensor` during the call."""
        if id(tensor) in self._dynamic and not self.trusted:
            self.refuse("looks at a value")

    def saw_operation(self, name: str, args: Any, result: Any) -> None:
        """Records a raw operation with its arguments (operands first) and its result."""
        self.ops += 1
        definition = op_definition(name)
        if definition is None:
            operands = list(args)
            reason, random = function_problem(name)
            if reason is not None and not self.trusted:
                self.refuse(reason, intrinsic=random)
        else:
            operands = list(args[: len(definition.input_arg)])
            if definition.is_stateful:
                self._check_state(name)
            if not self.trusted:
                self._check_total(name, operands)
        outputs = flat_tensors(result if isinstance(result, (list, tuple)) else [result])
        tensors = flat_tensors(operands)
        # A variable passed to an operation is read inside TensorFlow; any other non-plain value may change, too.
        handles = [tensor for tensor in tensors if tensor._datatype_enum() == 20]
        if any(_changes_shape(handle) for handle in _handles_in(operands)):
            self.refuse(f"{name} on a variable whose shape may change")
        reads_variable = bool(handles) or _has_objects(operands)
        if reads_variable:
            self.touches_variables = True
            reads = name in op_rules.VARIABLE_READ_OPS or name in op_rules.INDEX_OPS or not (handles or not definition)
            (self.reads if reads else self.writes).update(touched_handles(operands))
        if name in op_rules.SHAPE_READING_OPS:
            return
        if not reads_variable and not any(id(tensor) in self._dynamic for tensor in tensors):
            if name in op_rules.STATEFUL_RANDOM_OPS or definition is None:
                for output in outputs:
                    self._dynamic[id(output)] = (output, None, None)
            return
        source, bound = self._origin(name, tensors)
        for output in outputs:
            exact = output._datatype_enum() in _EXACT
            self._dynamic[id(output)] = (output, source if exact else None, bound if exact else None)
        if name == "Less" and len(operands) == 2 and outputs and self._is_zero(operands[1]):
            self._negative[id(outputs[0])] = (outputs[0], self._dynamic.get(id(operands[0]), (None, None, None))[1])
        if name in ("TopKV2", "TopK") and len(outputs) == 2 and tensors:
            size = tensors[0]._shape_tuple()[-1]
            self._dynamic[id(outputs[1])] = (outputs[1], None, size)

    def _check_state(self, name: str) -> None:
        if name in op_rules.VARIABLE_READ_OPS or name in op_rules.VARIABLE_WRITE_OPS or name in op_rules.INDEX_OPS:
            return
        if self.trusted and name.startswith(("ResourceScatter", "ResourceSparseApply")):
            return
        self.refuse(f"{name} keeps state outside variables", intrinsic=name in op_rules.STATEFUL_RANDOM_OPS)

    def _check_total(self, name: str, operands: list[Any]) -> None:
        for position in op_rules.SHAPE_OPERANDS.get(name, ()):
            if position < len(operands) and any(self.is_dynamic(t) for t in flat_tensors([operands[position]])):
                self.refuse(f"the shape of the result of {name} depends on a value")
        floating = bool(operands) and _is_floating(operands)
        if op_rules.is_total_op(name, floating):
            return
        if name in op_rules.TOTAL_FLOAT_OPS and name != "Pow" and len(operands) == 2:
            if not any(self.is_dynamic(tensor) for tensor in flat_tensors([operands[1]])):
                return  # the divisor is a constant of the path, and was not zero
        if name in op_rules.INDEX_OPS:
            data, indices, axis = op_rules.INDEX_OPS[name]
            size = _size_along(operands[data], 0 if axis is None else operands[axis])
            self._bound_indices(name, operands[indices], size)
        elif name in op_rules.SEGMENT_OPS:
            indices, count = op_rules.SEGMENT_OPS[name]
            known = operands[count]
            self._bound_indices(name, operands[indices], int(known if type(known) is int else known._numpy_internal()))
        elif name in op_rules.LABEL_OPS:
            data, indices = op_rules.LABEL_OPS[name]
            self._bound_indices(name, operands[indices], _size_along(operands[data], -1))
        else:
            self.refuse(f"{name} can fail on values")

    def _bound_indices(self, name: str, indices: Any, size: int | None) -> None:
        known = self._dynamic.get(id(indices))
        if known is None and type(indices) is EagerTensor:
            return  # the path fixes them, and they were in range
        if known is not None and size is not None:
            _, source, bound = known
            if bound is not None and bound <= size:
                return
            if type(source) is InputRef and size <= _MAX_BOUND:
                self.guards.add(Guard(source.index, size))
                return
        self.refuse(f"{name} can fail on indices")

    def _is_zero(self, operand: Any) -> bool:
        if type(operand) is EagerTensor:
            return not self.is_dynamic(operand) and operand._num_elements() == 1 and not operand._numpy_internal()
        return type(operand) in (int, float) and operand == 0

    def _origin(self, name: str, tensors: list[Any]) -> tuple[Any, int | None]:
        if name == "Cast" and tensors and tensors[0]._datatype_enum() == _BOOL:
            return None, 2
        if name in op_rules.ELEMENT_KEEPING_OPS:
            dynamic = [tensor for tensor in tensors if id(tensor) in self._dynamic]
            if len(dynamic) == 1:
                known = self._dynamic[id(dynamic[0])]
                return known[1], known[2]
        if name in ("Select", "SelectV2") and len(tensors) == 3:
            # where(x < 0, x + n, x) is x for every x that passes the guard that the lookup puts on x
            negative = self._negative.get(id(tensors[0]))
            data = self._dynamic.get(id(tensors[2]))
            if negative is not None and data is not None and data[1] is not None and negative[1] == data[1]:
                return data[1], None
        if name in ("ArgMax", "ArgMin") and tensors:
            sizes = tensors[0]._shape_tuple()
            return None, max(sizes) if sizes else None
        return None, None

    def spec(self, tensor: Any) -> SlotSpec:
        """The description of a result of the call."""
        known = self._dynamic.get(id(tensor))
        if known is None and (self.ops or self.creation) and tensor._num_elements() <= _MAX_STATIC_ELEMENTS:
            return SlotSpec(tensor.dtype, tensor.shape, static=tensor)
        source, bound = (known[1], known[2]) if known is not None else (None, None)
        return SlotSpec(tensor.dtype, tensor.shape, source=source, bound=bound)


_PLAIN = (
    EagerTensor,
    int,
    float,
    complex,
    bool,
    str,
    bytes,
    type(None),
    np.ndarray,
    np.generic,
    tf.DType,
    tf.TensorShape,
)


def _changes_shape(handle: Any) -> bool:
    """Whether the variable behind a handle may take values of several shapes."""
    data = getattr(handle, "_handle_data", None)
    if data is None or not data.is_set:
        return False  # not a variable: a table, an iterator, a random generator
    return any(each.shape.unknown_rank or any(dim.size < 0 for dim in each.shape.dim) for each in data.shape_and_type)


def _has_objects(values: Any) -> bool:
    for value in values:
        if isinstance(value, (list, tuple)):
            if _has_objects(value):
                return True
        elif not isinstance(value, _PLAIN):
            return True
    return False


def touched_handles(values: Any) -> list[int]:
    """The ids of the handles of the variables among the operands of an operation."""
    return [id(handle) for handle in _handles_in(values)]


def _handles_in(values: Any) -> list[Any]:
    """The handles among the operands, and those of variables that TensorFlow itself reads."""
    found: list[Any] = []
    for value in values:
        if isinstance(value, KerasVariable):
            value = value.value  # noqa: PLW2901
        if isinstance(value, Variable):
            found.append(value.handle)
        elif type(value) is EagerTensor:
            if value._datatype_enum() == 20:
                found.append(value)
        elif isinstance(value, (list, tuple)):
            found.extend(_handles_in(value))
    return found


def _is_floating(operands: list[Any]) -> bool:
    for operand in operands:
        if isinstance(operand, (list, tuple)):
            return _is_floating(list(operand))
        if hasattr(operand, "dtype"):
            dtype = as_dtype(operand.dtype)
            return bool(dtype.is_floating or dtype.is_complex)
    return False


def _size_along(data: Any, axis: Any) -> int | None:
    if type(data) is LazyTensor:
        return None
    if isinstance(data, (Variable, KerasVariable)):
        sizes: tuple[int, ...] = tuple(data.shape)
    elif type(data) is not EagerTensor:
        return None
    elif data._datatype_enum() == 20:
        handle = getattr(data, "_handle_data", None)
        if handle is None or not handle.is_set or not handle.shape_and_type:
            return None
        sizes = tuple(dim.size for dim in handle.shape_and_type[0].shape.dim)
    else:
        sizes = data._shape_tuple()
    index = int(axis) if not hasattr(axis, "_numpy_internal") else int(axis._numpy_internal())
    return sizes[index] if -len(sizes) <= index < len(sizes) else None
