"""Converts arguments to keys and templates: two calls with equal keys do the same on tensors of the same kind.

Computes: for the arguments of a call, a flat key and, when recording, a template. Needs: the run's tables of slots
and inputs. Gives: `Encoder`, `Unencodable`. Ignores: unknown objects, which raise `Unencodable`; the call is then
decomposed or run immediately.

Tensors created in the segment are encoded by their slot (0, 1, …); tensors from outside by ~index (-1, -2, …) after a
first occurrence with dtype and shape; constants include their type, because 1, 1.0 and True are equal in Python.
"""

from __future__ import annotations

import enum
import math
import weakref
from dataclasses import dataclass
from typing import Any

import numpy as np

from terra_refactor.runtime.executor import shape_of
from terra_refactor.runtime.lazy_tensor import LazyTensor
from terra_refactor.runtime.tf_internals import (
    EagerTensor,
    IndexedSlices,
    KerasVariable,
    UnreadVariable,
    Variable,
    convert_to_tensor,
    keras_global_state,
    make_constant,
    tf,
)
from terra_refactor.runtime.trie import Arrays, Hung, InputRef, Rebuild, SlotRef
from terra_refactor.runtime.values import hung_on

SMALL_ARRAY = 64  # elements: arrays up to this size are constants of the path (shapes, axes, class weights)

LARGE_ARRAY = "large array"


class Unencodable(Exception):  # noqa: N818  (not an error: the call is not deferred)
    """The arguments contain something that cannot be part of a path's key."""


class Mark(enum.Enum):
    """Structure marks in keys; never equal to a value of the program."""

    LIST = enum.auto()
    TUPLE = enum.auto()
    DICT = enum.auto()
    SLICE = enum.auto()
    SLICES = enum.auto()
    ARRAY = enum.auto()
    SCALAR = enum.auto()


class _Type(enum.IntEnum):
    CONSTANT = 0
    LAZY = 1
    EAGER = 2
    OBJECT = 3
    LIST = 4
    TUPLE = 5
    DICT = 6
    ARRAY = 7
    NUMPY_SCALAR = 8
    SLICE = 9
    SLICES = 10
    FLOAT = 11
    NAMED_TUPLE = 12
    UNKNOWN = 13


_TYPES: dict[type, _Type] = {
    int: _Type.CONSTANT,
    bool: _Type.CONSTANT,
    str: _Type.CONSTANT,
    bytes: _Type.CONSTANT,
    type(None): _Type.CONSTANT,
    type(Ellipsis): _Type.CONSTANT,
    type: _Type.CONSTANT,
    tf.DType: _Type.CONSTANT,
    tf.TensorShape: _Type.CONSTANT,
    float: _Type.FLOAT,
    complex: _Type.FLOAT,
    LazyTensor: _Type.LAZY,
    EagerTensor: _Type.EAGER,
    list: _Type.LIST,
    tuple: _Type.TUPLE,
    dict: _Type.DICT,
    slice: _Type.SLICE,
    np.ndarray: _Type.ARRAY,
    IndexedSlices: _Type.SLICES,
}


def _classify(kind: type) -> _Type:
    if issubclass(kind, (Variable, KerasVariable)):
        found = _Type.OBJECT
    elif issubclass(kind, np.generic):
        found = _Type.NUMPY_SCALAR
    elif issubclass(kind, tuple) and hasattr(kind, "_fields"):
        found = _Type.NAMED_TUPLE
    elif issubclass(kind, (enum.Enum, np.dtype)):
        found = _Type.CONSTANT
    elif (kind.__module__.partition(".")[0], kind.__name__) in (
        ("tensorflow", "ListWrapper"),
        ("keras", "TrackedList"),
    ):
        found = _Type.LIST
    else:
        found = _Type.UNKNOWN
    _TYPES[kind] = found
    return found


def _make_slices(items: list[Any]) -> Any:
    return IndexedSlices(*items)


def _make_slice(items: list[Any]) -> Any:
    return slice(*items)


def keras_scope_active() -> bool:
    """Whether a Keras autocast or stateless scope is active, which changes the values of variables."""
    state = keras_global_state.GLOBAL_STATE_TRACKER
    return getattr(state, "autocast_scope", None) is not None or getattr(state, "stateless_scope", None) is not None


# The result of an assignment represents the variable, but cannot be used in another graph; by handle, the variable
# itself.
_assigned: weakref.WeakValueDictionary[int, Any] = weakref.WeakValueDictionary()


def note_assignment(variable: Any) -> None:
    """Records an assignment to `variable`, whose result represents the variable from now on."""
    _assigned[id(variable.handle)] = variable


def assigned_variable(unread: Any) -> Any:
    """The variable behind the result of an assignment.

    Raises:
        Unencodable: the assignment was not observed.
    """
    found = _assigned.get(id(unread.handle))
    if found is None:
        raise Unencodable("the result of an assignment elsewhere")
    return found


@dataclass(frozen=True, slots=True)
class Fact:
    """Facts from an earlier segment about a tensor: its value (as bytes), or an exclusive upper bound on its elements."""

    tensor: Any
    value: bytes | None
    bound: int | None


def _is_constant(array: Any, arrays: int) -> bool:
    # Floating-point arrays are data, of any size; small integer arrays are shapes and axes, which must stay constant
    # to keep static shapes.
    if array.size > SMALL_ARRAY or arrays == Arrays.INPUT:
        return False
    return arrays == Arrays.CONSTANT or array.dtype.kind in "bi"


def keras_attributes(tensor: Any) -> tuple[tuple[str, ...], list[Any]]:
    """Names and values of the attributes that Keras set on a tensor."""
    hung = hung_on(tensor)
    names = tuple(sorted(name for name in hung if name.startswith("_keras_")))
    return names, [hung[name] for name in names]


class Encoder:
    """The tables of one segment, and the two traversals of arguments."""

    slots: list[Any]

    def __init__(self) -> None:
        self.slots: list[Any] = []  # LazyTensor or EagerTensor, by slot
        self.inputs: list[Any] = []  # EagerTensor, by input
        self.ids: dict[int, int] = {}  # id of an EagerTensor -> slot, or ~input
        self.facts: dict[int, Fact] = {}  # id of an EagerTensor from an earlier segment -> known facts
        self.anonymous: list[int] = []  # inputs created by the last `key` traversal, in order
        self.hanging = False  # whether attributes that Keras sets on tensors are part of the arguments
        self.widen = False  # whether Python numbers become inputs
        self.scalar_dtype: Any = None
        self.hint: Any = None  # the dtype that an operator would use for an array

    def rollback(self, mark: int) -> None:
        """Removes the inputs from `mark` on; their call is not part of the segment."""
        for tensor in self.inputs[mark:]:
            self.ids.pop(id(tensor), None)
        del self.inputs[mark:]

    def forget(self, mark: int) -> None:
        """Removes the inputs from `mark` on, and those of the last `key` traversal."""
        self.rollback(mark)
        self.anonymous = []

    def new_input(self, tensor: Any) -> int:
        code = ~len(self.inputs)
        self.inputs.append(tensor)
        self.ids[id(tensor)] = code
        return code

    def new_anonymous(self, tensor: Any) -> None:
        """An input from a Python number or an array: its value is not in the key, so the path does not fix it."""
        self.facts.pop(id(tensor), None)  # the hook on constants has just treated it as a size or an axis
        self.anonymous.append(self.new_input(tensor))

    def key(self, values: Any, key: list[Any], arrays: int) -> None:
        """Appends the key of each of `values`. `arrays`: larger arrays may become inputs."""
        ids = self.ids
        for value in values:
            kind = type(value)
            if kind is LazyTensor:
                if value._owner is self.slots:
                    key.append(value._slot)
                    continue
                real = value._value
                if real is None:
                    raise Unencodable("a tensor deferred elsewhere")
                if value.__dict__:
                    value._real()  # a call that returns its argument, like convert_to_tensor, also returns its attributes
                code = ids.get(id(real))
                if code is None:
                    self._outside(real, key, tuple(value._lazy_shape.as_list()))
                else:
                    key.append(code)
                continue
            if kind is EagerTensor:
                code = ids.get(id(value))
                if code is None:
                    self._outside(value, key, shape_of(value))
                else:
                    key.append(code)
                continue
            what = _TYPES.get(kind)
            if what is None:
                what = _classify(kind)
            if what is _Type.CONSTANT:
                if self.widen and kind is int:
                    self._scalar(value, key)
                else:
                    key.append((kind, value))
            elif what is _Type.OBJECT:
                if issubclass(kind, KerasVariable) and keras_scope_active():
                    raise Unencodable("a Keras scope that gives variables other values")
                variable = assigned_variable(value) if kind is UnreadVariable else value
                key.append((type(variable), id(variable)))
            elif what is _Type.FLOAT:
                if self.widen and kind is float:
                    self._scalar(value, key)
                elif kind is float and value and not math.isnan(value):
                    key.append((kind, value))
                else:  # 0.0 equals -0.0 and nan equals nothing, so their text is the key
                    key.append((kind, repr(value)))
            elif what is _Type.LIST:
                key.append((Mark.LIST, len(value)))
                self.key(value, key, arrays)
            elif what is _Type.TUPLE:
                key.append((Mark.TUPLE, len(value)))
                self.key(value, key, arrays)
            elif what is _Type.NAMED_TUPLE:
                key.append((kind, len(value)))
                self.key(value, key, arrays)
            elif what is _Type.DICT:
                key.append((Mark.DICT, tuple(value)))
                self.key(value.values(), key, arrays)
            elif what is _Type.SLICE:
                key.append(Mark.SLICE)
                self.key((value.start, value.stop, value.step), key, arrays)
            elif what is _Type.SLICES:
                key.append(Mark.SLICES)
                self.key((value.values, value.indices, value.dense_shape), key, arrays)
            elif what is _Type.ARRAY:
                self._array(value, key, arrays)
            elif what is _Type.NUMPY_SCALAR:
                if self.widen and value.dtype.kind == "f" and self.scalar_dtype is not None:
                    self._scalar(value, key)
                else:
                    key.append(kind)  # distinguishes it from a rank-0 array with the same element
                    self._array(np.asarray(value), key, arrays)
            else:
                raise Unencodable(kind.__name__)

    def key_hung(self, values: Any, key: list[Any]) -> None:
        """Appends the attributes that Keras set on tensors among `values`.

        Keras's Python reads them, so they are part of the path.
        """
        for position, value in enumerate(values):
            kind = type(value)
            if kind is LazyTensor or kind is EagerTensor:
                if value.__dict__ or (kind is LazyTensor and value._value is not None):
                    names, hung = keras_attributes(value)
                    if names:
                        key.append((position, names))
                        self.key(hung, key, Arrays.CONSTANT)
            elif kind is list or kind is tuple:
                self.key_hung(value, key)
            elif kind is dict:
                self.key_hung(value.values(), key)

    def _outside(self, tensor: Any, key: list[Any], shape: tuple[int, ...]) -> int:
        dtype = tensor._datatype_enum()
        if dtype in (20, 21):  # resource and variant: handles are accessed through their objects, or not at all
            raise Unencodable("resource handle")
        fact = self.facts.get(id(tensor)) if self.facts else None
        if fact is None:
            key.append((dtype, shape))
        else:
            key.append((dtype, shape, fact.value, fact.bound))
        return self.new_input(tensor)

    def _scalar(self, value: Any, key: list[Any]) -> None:
        if self.scalar_dtype is None:
            raise Unencodable("number without an operand that determines its dtype")
        try:
            tensor = make_constant(value, self.scalar_dtype)
        except (TypeError, ValueError, OverflowError) as error:
            raise Unencodable("number that does not fit") from error
        key.append((Mark.SCALAR, self.scalar_dtype.as_datatype_enum))
        self.new_anonymous(tensor)

    def _array(self, value: Any, key: list[Any], arrays: int) -> None:
        if value.dtype.kind not in "biufc":
            raise Unencodable("array of objects")
        if _is_constant(value, arrays):
            key.append((Mark.ARRAY, value.dtype.str, value.shape, value.tobytes()))
            return
        if not arrays:
            raise Unencodable(LARGE_ARRAY)
        copied = value.copy()  # the program may overwrite the array before the segment runs
        try:
            tensor = make_constant(copied) if self.hint is None else convert_to_tensor(copied, dtype_hint=self.hint)
        except (TypeError, ValueError) as error:
            raise Unencodable("array that does not convert") from error
        key.append((tensor._datatype_enum(), value.shape))
        self.new_anonymous(tensor)

    def _tensor_template(self, value: Any) -> Any:
        if type(value) is LazyTensor:
            if value._owner is self.slots:
                return SlotRef(value._slot)
            value = value._value
        code = self.ids[id(value)]
        return SlotRef(code) if code >= 0 else InputRef(~code)

    def template(self, value: Any, anonymous: list[int], arrays: int) -> Any:
        """The template of one argument; `anonymous` holds the inputs made for it by `key`, and is consumed."""
        kind = type(value)
        if self.hanging and (kind is LazyTensor or kind is EagerTensor):
            names, hung = keras_attributes(value)
            if names:
                item = self._tensor_template(value)
                return Hung(item, names, tuple(self.template(part, anonymous, Arrays.CONSTANT) for part in hung))
        if kind is LazyTensor or kind is EagerTensor:
            return self._tensor_template(value)
        what = _TYPES[kind]
        if what in (_Type.CONSTANT, _Type.OBJECT, _Type.FLOAT):
            if self.widen and kind in (int, float):
                return InputRef(~anonymous.pop(0))
            return assigned_variable(value) if kind is UnreadVariable else value
        if what is _Type.LIST:
            return Rebuild(list, tuple(self.template(item, anonymous, arrays) for item in value))
        if what is _Type.TUPLE:
            return Rebuild(tuple, tuple(self.template(item, anonymous, arrays) for item in value))
        if what is _Type.NAMED_TUPLE:
            return Rebuild(kind._make, tuple(self.template(item, anonymous, arrays) for item in value))
        if what is _Type.DICT:
            names = tuple(value)
            return Rebuild(
                lambda items: dict(zip(names, items, strict=True)),
                tuple(self.template(item, anonymous, arrays) for item in value.values()),
            )
        if what is _Type.SLICE:
            parts = (value.start, value.stop, value.step)
            return Rebuild(_make_slice, tuple(self.template(item, anonymous, arrays) for item in parts))
        if what is _Type.SLICES:
            parts = (value.values, value.indices, value.dense_shape)
            return Rebuild(_make_slices, tuple(self.template(item, anonymous, arrays) for item in parts))
        if what is _Type.ARRAY or what is _Type.NUMPY_SCALAR:
            array = np.asarray(value)
            if self.widen and what is _Type.NUMPY_SCALAR and array.dtype.kind == "f" and self.scalar_dtype is not None:
                return InputRef(~anonymous.pop(0))
            if _is_constant(array, arrays):
                return np.array(array) if what is _Type.ARRAY else value
            return InputRef(~anonymous.pop(0))
        raise Unencodable(kind.__name__)
