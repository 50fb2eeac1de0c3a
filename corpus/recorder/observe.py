"""Runs a program or a module eagerly and records the types that reach the parameters and results of a project's functions.

Needs: only the interpreter that runs it (and the program's own imports), so that it works in any environment: `python
observe.py ROOT OUTPUT [--eager] (-m MODULE | SCRIPT) [ARGUMENT ...]`. Gives: OUTPUT, JSON, written when the program
ends, for any reason: `{"functions": [{"path", "name", "line", "calls", "parameters": {NAME: [TYPE ...]}, "returns":
[TYPE ...]}]}` with paths relative to ROOT, the line of the first decorator (or of the `def`), and types `{"kind",
"dtype", "shape", "symbolic", "held"}`, each once; `held` are the arrays that a container holds.

How: `sys.setprofile`, also in every thread in which TensorFlow calls back. Only calls of code below ROOT are
recorded. `--eager` makes `tf.function`, Keras and `tf.data` run everything eagerly. At most MAX_CALLS calls of one
function are recorded.

Ignores: functions that only a graph calls, when not `--eager`; values that differ only in content; items of containers beyond
MAX_ITEMS.
"""

from __future__ import annotations

import json
import os
import runpy
import sys
import threading
from collections.abc import Mapping
from types import CodeType, FrameType
from typing import Any, Final

MAX_CALLS: Final = 10_000
MAX_ITEMS: Final = 40
MAX_DEPTH: Final = 5
MAX_TYPES: Final = 200
_GENERATOR: Final = 0x20 | 0x80 | 0x200
_PRIMITIVES: Final = (int, float, complex, bool, str, bytes, type(None))
_SKIPPED: Final = frozenset({"<module>", "<listcomp>", "<dictcomp>", "<setcomp>", "<genexpr>"})


class Recorded:
    """Observations of one function."""

    __slots__ = ("calls", "code", "first", "parameters", "path", "returns")

    def __init__(self, code: CodeType, path: str) -> None:
        self.code = code
        self.path = path
        self.calls = 0
        self.first = -2
        """The first instruction of a frame, as opposed to the resumption of a generator."""
        self.parameters: dict[str, dict[str, None]] = {name: {} for name in _parameter_names(code)}
        self.returns: dict[str, None] = {}


class Recorder:
    """The profile function and its records."""

    def __init__(self, root: str) -> None:
        self.root = os.path.join(os.path.realpath(root), "")
        self.functions: dict[CodeType, Recorded | None] = {}
        self.busy = threading.local()

    def install(self) -> None:
        threading.setprofile(self)
        sys.setprofile(self)

    def __call__(self, frame: FrameType, event: str, argument: object) -> None:
        if event not in ("call", "return"):
            return
        code = frame.f_code
        try:
            recorded = self.functions[code]
        except KeyError:
            recorded = self.functions[code] = self._of_interest(code)
        if recorded is None or getattr(self.busy, "now", False):
            return
        self.busy.now = True
        try:
            if event == "call":
                self._note_call(recorded, frame)
            elif recorded.calls <= MAX_CALLS:
                _add(recorded.returns, argument)
        finally:
            self.busy.now = False

    def _note_call(self, recorded: Recorded, frame: FrameType) -> None:
        if recorded.first == -2:
            recorded.first = frame.f_lasti
        elif recorded.code.co_flags & _GENERATOR and frame.f_lasti != recorded.first:
            return
        recorded.calls += 1
        if recorded.calls <= MAX_CALLS:
            values = frame.f_locals
            for name, seen in recorded.parameters.items():
                if name in values:
                    _add(seen, values[name])

    def _of_interest(self, code: CodeType) -> Recorded | None:
        if code.co_name in _SKIPPED or not code.co_flags & 0x2 or code.co_filename.startswith("<"):
            return None
        path = os.path.realpath(code.co_filename)
        if not path.startswith(self.root) or "site-packages" in path:
            return None
        return Recorded(code, path[len(self.root) :].replace(os.sep, "/"))

    def as_json(self) -> dict[str, Any]:
        functions = [
            {
                "path": recorded.path,
                "name": recorded.code.co_name,
                "line": recorded.code.co_firstlineno,
                "calls": recorded.calls,
                "parameters": {name: _listed(seen) for name, seen in recorded.parameters.items()},
                "returns": _listed(recorded.returns),
            }
            for recorded in self.functions.values()
            if recorded is not None and recorded.calls
        ]
        return {"functions": sorted(functions, key=lambda entry: (entry["path"], entry["line"], entry["name"]))}


def _parameter_names(code: CodeType) -> tuple[str, ...]:
    number = code.co_argcount + code.co_kwonlyargcount
    number += bool(code.co_flags & 0x04) + bool(code.co_flags & 0x08)
    return code.co_varnames[:number]


def _listed(seen: dict[str, None]) -> list[Any]:
    return [json.loads(text) for text in sorted(seen)]


def _add(seen: dict[str, None], value: object) -> None:
    if len(seen) < MAX_TYPES:
        try:
            seen[json.dumps(describe(value), sort_keys=True)] = None
        except Exception as error:  # access to a program's value may have side effects
            seen[json.dumps({"kind": "object", "problem": type(error).__name__})] = None


def describe(value: object) -> dict[str, Any]:
    """The type of a value: its kind; dtype and shape of an array; the arrays in a container."""
    array = _array(value)
    if array is not None:
        return array
    if isinstance(value, _PRIMITIVES):
        return {"kind": "primitive"}
    if isinstance(value, tuple | list | set | frozenset | Mapping):
        held: dict[str, None] = {}
        _collect(value, held, 0)
        return {"kind": "container", "held": _listed(held)}
    if callable(value) and type(value).__name__ in ("function", "method", "builtin_function_or_method", "partial"):
        return {"kind": "function"}
    return {"kind": "object"}


def _collect(value: object, held: dict[str, None], depth: int) -> None:
    array = _array(value)
    if array is not None:
        held[json.dumps(array, sort_keys=True)] = None
    elif depth < MAX_DEPTH and isinstance(value, tuple | list | set | frozenset | Mapping):
        members = list(value.values()) if isinstance(value, Mapping) else list(value)
        for member in members[:MAX_ITEMS]:
            _collect(member, held, depth + 1)


def _array(value: object) -> dict[str, Any] | None:
    """The description of an array by its class, without importing anything; None for other values."""
    names = {base.__name__: base.__module__.partition(".")[0] for base in type(value).__mro__}
    if names.get("ndarray") == "numpy" or names.get("generic") == "numpy":
        return _typed("ndarray", value.dtype.name, value.shape)  # type: ignore[attr-defined]
    if names.get("KerasTensor") in ("keras", "tf_keras"):
        return _typed("tensor", _name(value.dtype), value.shape, symbolic=True)  # type: ignore[attr-defined]
    if names.get("Variable") in ("tensorflow", "keras") or names.get("BaseResourceVariable") == "tensorflow":
        return _typed("variable", _name(value.dtype), value.shape)  # type: ignore[attr-defined]
    if names.get("IndexedSlices") == "tensorflow":
        return _typed("tensor", _name(value.dtype), value.shape)  # type: ignore[attr-defined]
    if names.get("DeferredTensor") == "tensorflow_probability":  # it has dtype and shape, and TensorFlow accepts it as a tensor
        return _typed("deferred tensor", _name(value.dtype), value.shape)  # type: ignore[attr-defined]
    if "tensorflow" in (names.get("Tensor"), names.get("RaggedTensor"), names.get("SparseTensor")):
        eager = "EagerTensor" in names or "Tensor" not in names
        return _typed("tensor", _name(value.dtype), value.shape, symbolic=not eager)  # type: ignore[attr-defined]
    return None


def _name(dtype: Any) -> str:
    return str(getattr(dtype, "name", dtype)).removesuffix("_ref")


def _typed(kind: str, dtype: str, shape: Any, symbolic: bool = False) -> dict[str, Any]:
    rank = getattr(shape, "rank", 0)
    given = shape.as_list() if rank is not None and hasattr(shape, "as_list") else shape  # TensorFlow 1: not plain numbers
    sizes = None if rank is None else [None if size is None else int(size) for size in given]
    name = "string" if dtype.startswith(("str", "bytes")) else dtype
    return {"kind": kind, "dtype": name, "shape": sizes, "symbolic": symbolic}


def _make_eager(recorder: Recorder) -> None:
    """Makes TensorFlow run everything eagerly; its own threads, which run the functions of `tf.data`, are observed, too."""
    import tensorflow as tf  # noqa: PLC0415 - only where it is asked for
    from tensorflow.python.ops import script_ops  # noqa: PLC0415

    tf.config.run_functions_eagerly(True)
    tf.data.experimental.enable_debug_mode()
    original = script_ops.FuncRegistry.__call__

    def watched(self: Any, *arguments: Any) -> Any:
        sys.setprofile(recorder)
        return original(self, *arguments)

    script_ops.FuncRegistry.__call__ = watched
    insert, kept = script_ops.FuncRegistry.insert, []

    def kept_for_good(self: Any, function: Any) -> Any:
        kept.append(function)  # the registry has weak references, and no graph keeps a generator's functions alive if everything is eager
        return insert(self, function)

    script_ops.FuncRegistry.insert = kept_for_good


def main() -> None:
    """See the module's docstring."""
    root, output, *rest = sys.argv[1:]
    eager = rest[:1] == ["--eager"]
    rest = rest[eager:]
    recorder = Recorder(root)
    if eager:
        _make_eager(recorder)
    sys.path[0] = os.getcwd() if rest[0] == "-m" else os.path.dirname(os.path.abspath(rest[0]))
    try:
        if rest[0] == "-m":
            sys.argv = rest[1:]
            recorder.install()
            runpy.run_module(rest[1], run_name="__main__", alter_sys=True)
        else:
            sys.argv = rest
            recorder.install()
            runpy.run_path(rest[0], run_name="__main__")
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
        temporary = f"{output}.part"
        with open(temporary, "w", encoding="utf-8") as file:
            json.dump(recorder.as_json(), file, indent=1)
        os.replace(temporary, output)


if __name__ == "__main__":
    main()
