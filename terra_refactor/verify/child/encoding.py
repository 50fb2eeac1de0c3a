"""Encodes Python values as plain records that another process can compare.

Computes: a JSON-like node for a value; the numbers of arrays go to a separate file. Needs: a `Store`. Gives:
`Encoder`.

A node is a dict with `k`, its kind: `tensor`, `variable`, `array`, `number` (a NumPy scalar) with `dtype`, `shape`
and `at` (the position of the numbers); `python` with `type` and `value`; `sequence` and `mapping` with `type` and
`items`; `composite` (ragged, sparse, ...) with `type` and `items`; `symbolic` (a tensor of a graph, outside of it);
`object` with `type`. Ignores: the contents of plain objects; see `state.py`.
"""

from __future__ import annotations

import dataclasses
import math
import os
import sys
from typing import Any, BinaryIO, Final

MAX_NUMBERS: Final = 1_000_000
"""Of a larger array, only every n-th element is stored."""
MAX_ITEMS: Final = 1000
"""Maximum number of stored elements of a container."""
MAX_DEPTH: Final = 8

Node = dict[str, Any]


class Store:
    """A file of raw numbers, written immediately, so that they survive if the process dies."""

    def __init__(self, stream: BinaryIO) -> None:
        self.stream = stream
        self.owner = os.getpid()

    def put(self, data: bytes) -> tuple[int, int]:
        """Appends the bytes; returns their offset and number."""
        if os.getpid() != self.owner:  # a fork of user code must not write between our lines
            return (0, 0)
        start = self.stream.tell()
        self.stream.write(data)
        self.stream.flush()
        return start, len(data)


class Encoder:
    """Encodes values; `store` receives their numbers."""

    def __init__(self, store: Store) -> None:
        self.store = store

    def encode(self, value: Any, depth: int = 0) -> Node:
        """The node of a value."""
        if value is None or isinstance(value, bool | int | float | complex | str | bytes):
            return _python(value)
        if depth > MAX_DEPTH:
            return {"k": "object", "type": _type_name(value)}
        tensor = self._tensor(value, depth)
        if tensor is not None:
            return tensor
        numpy = sys.modules.get("numpy")
        if numpy is not None:
            if isinstance(value, numpy.ndarray):
                return self._numbers("array", value)
            if isinstance(value, numpy.generic):
                return self._numbers("number", numpy.asarray(value))
        if isinstance(value, list | tuple | set | frozenset):
            items = sorted(value, key=repr) if isinstance(value, set | frozenset) else list(value)
            return {
                "k": "sequence",
                "type": _container_name(value),
                "length": len(items),
                "items": [self.encode(item, depth + 1) for item in items[:MAX_ITEMS]],
            }
        if isinstance(value, dict):
            return {
                "k": "mapping",
                "type": "dict",
                "length": len(value),
                "items": [[repr(key), self.encode(item, depth + 1)] for key, item in list(value.items())[:MAX_ITEMS]],
            }
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            fields = [(field.name, getattr(value, field.name, None)) for field in dataclasses.fields(value)]
            return {
                "k": "mapping",
                "type": _type_name(value),
                "length": len(fields),
                "items": [[name, self.encode(item, depth + 1)] for name, item in fields],
            }
        return {"k": "object", "type": _type_name(value)}

    def _tensor(self, value: Any, depth: int) -> Node | None:
        tf = sys.modules.get("tensorflow")
        if tf is None or not hasattr(tf, "Tensor"):
            return None
        if isinstance(value, tf.Variable):
            return self._read("variable", value)
        keras = sys.modules.get("keras")
        if keras is not None and isinstance(value, getattr(keras, "Variable", ())):
            return self._read("variable", value)
        if isinstance(value, tf.Tensor):
            return self._read("tensor", value)
        if isinstance(value, tf.RaggedTensor | tf.SparseTensor | tf.IndexedSlices):
            parts = tf.nest.flatten(value, expand_composites=True)
            return {
                "k": "composite",
                "type": type(value).__name__,
                "items": [self.encode(part, depth + 1) for part in parts],
            }
        return None

    def _read(self, kind: str, value: Any) -> Node:
        try:
            array = value.numpy()
        except Exception as error:
            if hasattr(value, "graph"):
                return {"k": "symbolic", "type": str(getattr(value, "dtype", "?"))}
            return {"k": "object", "type": f"{_type_name(value)} ({type(error).__name__})"}
        import numpy as np  # noqa: PLC0415 - the process that has tensors has NumPy

        return self._numbers(kind, np.asarray(array), str(getattr(value.dtype, "name", value.dtype)))

    def _numbers(self, kind: str, array: Any, dtype: str | None = None) -> Node:
        import numpy as np  # noqa: PLC0415 - as above

        node: Node = {"k": kind, "dtype": dtype or str(array.dtype), "shape": list(array.shape)}
        flat = array.reshape(-1)
        if flat.size > MAX_NUMBERS:
            flat = flat[:: math.ceil(flat.size / MAX_NUMBERS)]
        if array.dtype.kind in "OSU":
            node["text"] = [repr(item) for item in flat[:MAX_ITEMS].tolist()]
            return node
        if array.dtype.kind == "V" or (array.dtype.itemsize < 2 and array.dtype.kind == "f"):
            flat = flat.astype(np.float32)  # bfloat16 and float8 are not plain NumPy types
        elif array.dtype.kind not in "?biufc":
            node["text"] = [repr(item) for item in flat[:MAX_ITEMS].tolist()]
            return node
        start, length = self.store.put(np.ascontiguousarray(flat).tobytes())
        node["at"] = [start, length, flat.dtype.str]
        return node


def _python(value: object) -> Node:
    return {"k": "python", "type": type(value).__name__, "value": repr(value)[:10_000]}


def _type_name(value: object) -> str:
    cls = type(value)
    return cls.__qualname__ if cls.__module__ == "builtins" else f"{cls.__module__}.{cls.__qualname__}"


def _container_name(value: object) -> str:
    """`list`, `tuple`, `set`, or a named tuple's name; TensorFlow's own list wrappers count as lists."""
    if isinstance(value, list):
        return "list"
    if isinstance(value, tuple):
        return type(value).__name__ if hasattr(value, "_fields") else "tuple"
    return "set"
