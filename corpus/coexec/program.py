"""What a driver needs to run any of the ten programs, and nothing of what the programs are about.

Every program module of this folder has one entry point, `build(size, dtype) -> Program`. The step it returns is plain
Python: whoever runs it may leave it so, or wrap it in `tf.function` or in the co-execution shim. `record` runs some steps
and keeps all that can be seen from outside (what the steps return, what they print, the variables, the Python objects they
changed); `first_difference` compares two such records. What `tf.function` on the step does to each program is written in
`tf_function.toml`.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import keras
import numpy as np
import tensorflow as tf

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

Size = Literal["small", "large"]

NAMES = (
    "dropblock",
    "bert_question_answering",
    "music_transformer",
    "sdpoint",
    "bert_classification",
    "gpt2",
    "dcgan",
    "resnet50",
    "faster_rcnn",
    "yolov3",
)


@dataclass(frozen=True, slots=True)
class Program:
    """One training program, built and ready to run.

    step: one training step as its author wrote it, without any decorator
    batches: argument tuples for the step; a driver goes through them in order, again and again
    variables: everything TensorFlow keeps between steps: weights, optimizer slots, metrics, random generators
    host: the Python objects that the step changes, as a fresh mapping from name to object
    """

    step: Callable[..., Any]
    batches: Sequence[tuple[Any, ...]]
    variables: Sequence[Any]
    host: Callable[[], Mapping[str, Any]] = dict

    def state(self) -> dict[str, Any]:
        """Variables (as arrays, keyed by position and name) and Python objects, as they are now."""
        return {
            "variables": {
                f"{i} {v.path if isinstance(v, keras.Variable) else v.name}": np.array(v.numpy())
                for i, v in enumerate(self.variables)
            },
            "host": to_host(self.host()),
        }

    def arguments(self, steps: int, start: int = 0) -> Iterator[tuple[Any, ...]]:
        """The argument tuples of the steps `start` to `start + steps - 1`."""
        for i in range(start, start + steps):
            yield self.batches[i % len(self.batches)]


@dataclass(frozen=True, slots=True)
class Record:
    """All that can be seen of a run from outside, free of tensors."""

    results: tuple[Any, ...]
    printed: str
    state: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Expectation:
    """What `tf.function` on the step does to one program: a row of `tf_function.toml`."""

    model: str
    outcome: Literal["agrees", "differs", "raises"]
    because: str
    hazards: tuple[str, ...] = ()
    where: str = ""
    error: str = ""


def build(name: str, size: Size = "small", dtype: str = "float32", seed: int = 7) -> Program:
    """Build a program by name, with every random generator of Python, NumPy and TensorFlow seeded."""
    if name not in NAMES:
        raise ValueError(f"no program {name!r}; the programs are {', '.join(NAMES)}")
    keras.backend.clear_session()
    keras.config.set_floatx(dtype)
    keras.utils.set_random_seed(seed)
    return importlib.import_module(f"{__package__}.{name}").build(size, dtype)


def expectations() -> dict[str, Expectation]:
    """The rows of `tf_function.toml`, one for each program."""
    rows = tomllib.loads(Path(__file__).with_name("tf_function.toml").read_text(encoding="utf-8"))
    return {name: Expectation(**{**row, "hazards": tuple(row.get("hazards", ()))}) for name, row in rows.items()}


def to_host(value: Any) -> Any:
    """Replace tensors and variables by arrays, through lists, tuples and mappings; the rest stays as it is.

    A symbolic tensor, which has no value, becomes a text that says so.
    """
    if isinstance(value, Mapping):
        return {str(key): to_host(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [to_host(item) for item in value]
    if tf.is_symbolic_tensor(value):
        return f"symbolic tensor {value.name}"
    if isinstance(value, (tf.Tensor, tf.Variable, keras.Variable)):
        return np.array(value.numpy())
    return value


def record(program: Program, steps: int, step: Callable[..., Any] | None = None) -> Record:
    """Run `steps` steps, with `step` in place of the program's own if it is given.

    What the step returns is read after each step; whatever the step raises goes through.
    """
    step = step or program.step
    results = []
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        for arguments in program.arguments(steps):
            results.append(to_host(step(*arguments)))
    return Record(tuple(results), printed.getvalue(), program.state())


def first_difference(expected: Record, actual: Record, rtol: float = 1e-10, atol: float = 1e-12) -> str | None:
    """Say where two records first differ, or None.

    Floating-point values may differ by `atol + rtol * largest magnitude` within one array; everything else, printed text
    and the order of things included, must be identical. The absolute part is for weights whose gradient is zero but for
    rounding (the bias of an attention key, for one).
    """
    parts = (
        ("results", list(expected.results), list(actual.results)),
        ("host", expected.state["host"], actual.state["host"]),
        ("printed", expected.printed, actual.printed),
        ("variables", expected.state["variables"], actual.state["variables"]),
    )
    for path, left, right in parts:
        found = _differ(path, left, right, rtol, atol)
        if found:
            return found
    return None


def _differ(path: str, left: Any, right: Any, rtol: float, atol: float) -> str | None:
    if isinstance(left, dict) and isinstance(right, dict):
        if list(left) != list(right):
            return f"{path}: keys {list(left)} against {list(right)}"
        return next(filter(None, (_differ(f"{path}.{key}", left[key], right[key], rtol, atol) for key in left)), None)
    if isinstance(left, list) and isinstance(right, list):
        if len(left) != len(right):
            return f"{path}: {len(left)} elements against {len(right)}"
        pairs = enumerate(zip(left, right, strict=True))
        return next(filter(None, (_differ(f"{path}[{i}]", a, b, rtol, atol) for i, (a, b) in pairs)), None)
    if isinstance(left, (float, np.ndarray, np.generic)) and type(left) is type(right):
        left_array, right_array = np.asarray(left), np.asarray(right)
        if left_array.shape != right_array.shape or left_array.dtype != right_array.dtype:
            return f"{path}: {left_array.dtype}{left_array.shape} against {right_array.dtype}{right_array.shape}"
        if left_array.dtype.kind == "f":
            scale = float(np.max(np.abs(left_array[np.isfinite(left_array)]), initial=0.0))
            apart = np.where(np.isnan(left_array) & np.isnan(right_array), 0.0, np.abs(left_array - right_array))
            if np.all(apart <= atol + rtol * scale):
                return None
            return f"{path}: {float(np.max(apart)):.3g} apart at magnitude {scale:.3g}"
        return None if np.array_equal(left_array, right_array) else f"{path}: {left!r} against {right!r}"
    if type(left) is not type(right) or left != right:
        return f"{path}: {left!r} against {right!r}"
    return None
