"""A tensor whose operation has not run yet: dtype and shape are known, the value is computed when Python needs it.

Computes: nothing; makes its run flush when a value is needed. Needs: the run that deferred it (`run.force`). Gives:
`LazyTensor`, `real_of`. Ignores: the operators: they are hooked on `Tensor` itself, and inherited.
"""

from __future__ import annotations

import threading
import weakref
from typing import Any

import numpy as np

from terra_refactor.runtime.state import thread
from terra_refactor.runtime.tf_internals import EagerTensor, Reference, Tensor, ops, tf

_missing: dict[str, str] = {}
"""Attributes that no tensor has, with their error message: Keras looks up a mask on every tensor, and TensorFlow's
lookup is slow.
"""
_MOST_MISSING = 256


class _Named(type(Tensor)):  # type: ignore[misc]
    """The type of `LazyTensor`, which reports the name of eager tensors: short in Python, and with its module in
    Python's own messages.
    """

    @property
    def __name__(cls) -> str:
        name: str = EagerTensor.__name__
        return name


class LazyTensor(Tensor, metaclass=_Named):  # type: ignore[misc]
    """Represents one output of a deferred operation.

    Attributes:
        _owner: the list of slots of the segment in which it was deferred (compared by identity).
        _slot: its number in that segment.
        _value: the EagerTensor, once there is one.

    `__dict__` contains only attributes that the program or Keras set on the tensor.
    """

    __slots__ = ("_lazy_dtype", "_lazy_shape", "_owner", "_run", "_slot", "_value")

    _handle_data = None  # its value for everything except resources; tf.identity copies it from tensor to tensor

    def __init__(self, run: Any, owner: list[Any], slot: int, dtype: Any, shape: Any, value: Any = None) -> None:
        # Tensor.__init__ builds a graph tensor; none of its state applies here.
        self._run: Any = run
        self._owner: Any = owner
        self._slot = slot
        self._lazy_dtype = dtype
        self._lazy_shape = shape
        self._value = value

    def _force(self) -> Any:
        value = self._value
        if value is None:
            self._run.force(self)
            value = self._value
            if value is None:
                raise RuntimeError(
                    "a deferred tensor was asked for its value after its run had failed"
                    if self._run is thread.run or not self._run.pending
                    else "a deferred tensor was asked for its value while its own thread is blocked under an open tape"
                )
        return value

    def _release(self) -> None:
        """Drops references to the run once the value is known. A stored scalar keeps only a scalar alive."""
        self._run = self._owner = None

    def __getattr__(self, name: str) -> Any:
        if name in LazyTensor.__slots__:
            raise AttributeError(name)
        value = self._value
        if value is not None and name in value.__dict__:
            return value.__dict__[name]
        text = _missing.get(name)
        if text is not None:
            raise AttributeError(text)
        try:
            return Tensor.__getattr__(self, name)
        except AttributeError as error:
            text = str(error)
            if len(_missing) < _MOST_MISSING and not hasattr(
                LazyTensor, name
            ):  # otherwise a property explains why it is missing
                _missing[name] = text
            raise AttributeError(text) from None

    def __delattr__(self, name: str) -> None:
        holders = [self.__dict__] if self._value is None else [self.__dict__, self._value.__dict__]  # see `_real`
        if not [holder.pop(name) for holder in holders if name in holder]:
            super().__delattr__(name)

    # `isinstance(x, EagerTensor)` and TensorFlow's own `is_eager` checks read this.
    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        return EagerTensor

    @property
    def dtype(self) -> Any:
        return self._lazy_dtype

    @property
    def shape(self) -> Any:
        return self._lazy_shape

    @property
    def ndim(self) -> int:
        return len(self._lazy_shape)

    @property
    def _dtype(self) -> Any:
        return self._lazy_dtype

    @property
    def _shape(self) -> Any:
        return self._lazy_shape

    def get_shape(self) -> Any:
        return self._lazy_shape

    def set_shape(self, shape: Any) -> None:
        EagerTensor.set_shape(self, shape)  # tests whether the two are compatible, which needs no value

    def _shape_tuple(self) -> Any:
        return tuple(self._lazy_shape.as_list())

    def _shape_as_list(self) -> Any:
        return self._lazy_shape.as_list()

    def _rank(self) -> int:
        return len(self._lazy_shape)

    def _num_elements(self) -> Any:
        return self._lazy_shape.num_elements()

    def _datatype_enum(self) -> int:
        return int(self._lazy_dtype.as_datatype_enum)

    def __len__(self) -> int:
        if not self._lazy_shape.rank:
            raise TypeError("Scalar tensor has no `len()`")
        return int(self._lazy_shape[0])

    def __iter__(self) -> Any:
        if self._lazy_shape.rank == 0:
            raise TypeError("Cannot iterate over a scalar tensor.")
        return (self[index] for index in range(int(self._lazy_shape[0])))

    def __tf_tensor__(self, dtype: Any = None, name: Any = None) -> Any:
        run = thread.run
        if (
            run is not None
            and (run is self._run or self._value is not None)
            and not run.depth
            and run.tld.is_eager
            and dtype in (None, self._lazy_dtype)
        ):
            return self  # it stays the tensor known to tapes and later calls
        return self._real().__tf_tensor__(dtype, name)

    def _real(self) -> Any:
        """The real tensor with the attributes of this one: Keras reads the logits from the result of a softmax."""
        real = self._force()
        if self.__dict__:
            for name, item in self.__dict__.items():
                setattr(real, name, item if type(item) is not LazyTensor or item._value is None else item._value)
        return real

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        # EagerTensor's own __array__ is never reached, because it is a buffer; it would not return an array for a
        # scalar
        real = np.asarray(self._force(), dtype)
        return real.copy() if copy else real

    def __buffer__(self, flags: int) -> memoryview:  # used by Python 3.12 and later
        return memoryview(self._force())

    def __bytes__(self) -> bytes:
        return bytes(self._force())  # before Python 3.12 it is not a buffer itself

    def ref(self) -> Any:
        return _Reference(self)

    def __reduce__(self) -> Any:
        return self._force().__reduce__()

    def __reduce_ex__(self, protocol: Any) -> Any:
        return self._force().__reduce_ex__(protocol)

    def __copy__(self) -> Any:
        return self

    def __deepcopy__(self, memo: Any) -> Any:
        return self

    def __dir__(self) -> Any:
        return dir(EagerTensor)


class _Reference(Reference):  # type: ignore[misc]
    """A reference to the real tensor, equal to every other reference; it returns the tensor that the program has."""

    __slots__ = ("_deferred",)

    def __init__(self, deferred: LazyTensor) -> None:
        super().__init__(deferred._force())
        self._deferred = deferred

    def deref(self) -> Any:
        return self._deferred


_kept: list[weakref.ref[LazyTensor]] = []
_kept_lock = threading.Lock()
_FEW = 64
_many = _FEW  # with this many entries, dead ones are removed


def keep(references: list[weakref.ref[LazyTensor]]) -> None:
    """Records tensors that outlive their segments because the program references them."""
    _kept.extend(references)
    if len(_kept) > _many:
        any_kept()


def any_kept() -> bool:
    """Whether the program has any deferred tensor, with or without a value."""
    global _many  # noqa: PLW0603
    if _kept_lock.acquire(blocking=False):  # never waited for: an interruption may have left it acquired
        try:
            before = list(_kept)
            _kept[: len(before)] = [reference for reference in before if reference() is not None]
            _many = 2 * len(_kept) + _FEW
        finally:
            _kept_lock.release()
    return any(reference() is not None for reference in list(_kept))


def real_of(value: Any) -> Any:
    """The EagerTensor behind `value` if it is a deferred tensor, else `value` itself."""
    return value._real() if type(value) is LazyTensor else value


def _forward_method(name: str) -> Any:
    def method(self: LazyTensor, *args: Any, **kwargs: Any) -> Any:
        return getattr(self._force(), name)(*args, **kwargs)

    method.__name__ = name
    return method


def _forward_property(name: str) -> Any:
    return property(lambda self: getattr(self._force(), name), lambda self, value: setattr(self._force(), name, value))


_KEPT = (
    {"__class__", "__new__", "__init__", "__init_subclass__", "__subclasshook__", "__getattribute__", "__getattr__"}
    | {"__setattr__", "__delattr__", "__dict__", "__weakref__", "__doc__", "__module__", "__slots__", "__hash__"}
    | {"__sizeof__", "__annotations__", "__abstractmethods__", "OVERLOADABLE_OPERATORS", "_override_operator"}
    | {"_USE_EQUALITY", "__array_priority__", "_abc_impl", "__parameters__", "__orig_bases__", "_is_protocol"}
    | {"__class_getitem__", "_tf_api_names", "_tf_api_names_v1", "__protocol_attrs__", "__static_attributes__"}
    | {"__firstlineno__", "_keras_mask", "__tf_tracing_type__"}
    | set(tf.Tensor.OVERLOADABLE_OPERATORS)
)
# On an eager tensor these raise for any value, so the value is not computed.
_UNDEFINED = frozenset(("op", "graph", "name", "value_index", "consumers"))


def _forward_everything_else() -> None:
    """All other operations of an EagerTensor first compute the deferred tensor's value."""
    for name in dir(EagerTensor):
        if name in _KEPT or name in LazyTensor.__dict__:
            continue
        attribute = getattr(EagerTensor, name)
        if name in _UNDEFINED:
            setattr(LazyTensor, name, vars(ops._EagerTensorBase)[name])
        elif callable(attribute):
            setattr(LazyTensor, name, _forward_method(name))
        else:
            setattr(LazyTensor, name, _forward_property(name))


def _bear_the_name_of_eager_tensors() -> None:
    """Messages of Python and of programs contain the type's name: `type(x).__name__`, "'tensorflow….EagerTensor' object …"."""
    for name in ("__qualname__", "__module__"):
        setattr(LazyTensor, name, getattr(EagerTensor, name))
    # for a C type, messages show a name with its module, which is not in `__name__`
    vars(type)["__name__"].__set__(LazyTensor, f"{EagerTensor.__module__}.{EagerTensor.__qualname__}")


_forward_everything_else()
_bear_the_name_of_eager_tensors()
