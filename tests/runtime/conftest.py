"""Fixtures of the shim's tests: hooks are removed after each module, and one way of comparing with eager execution.

A test with the mark `kept` depends on nothing but the shim, its own code and the libraries: if it passed, it is not run
again until one of them changes (`kept_answers`). Tests with threads or processes at the same time (`concurrent`) and
one in SAMPLE of the others are run every time, and all of them by `make test-all`.
"""

from __future__ import annotations

import contextlib
import io
import os
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from kept_answers import Harness, digest, modules_of, version

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")


# TensorFlow is imported where it is used: a machine without it collects these tests and skips them.
# ruff: noqa: PLC0415


@pytest.fixture(autouse=True, scope="module")
def hooks_removed() -> Iterator[None]:
    """Other modules must not run with our hooks."""
    yield
    from terra_refactor.runtime import disable, enable

    disable()
    enable()


@pytest.fixture(scope="module")
def float64() -> Iterator[None]:
    """Keras computes learning rates in its default type: float32 would leave seven digits to compare."""
    import keras

    # Keras keeps the policy created from the setting on first use
    keras.config.set_floatx("float64")
    keras.config.set_dtype_policy("float64")
    yield
    keras.config.set_floatx("float32")
    keras.config.set_dtype_policy("float32")


def observe(build: Callable[[], tuple[Callable[..., Any], Callable[[], Any]]], wrap: Any, calls: int) -> Any:
    """Builds a new program and calls its step `calls` times: results, raised errors, printed text and state."""
    import numpy as np
    import tensorflow as tf

    def plain(value: Any) -> Any:
        if isinstance(value, (list, tuple)):
            return [plain(item) for item in value]
        if isinstance(value, dict):
            return {name: plain(item) for name, item in value.items()}
        if isinstance(value, tf.IndexedSlices):
            return ["rows", len(value.indices), plain(tf.convert_to_tensor(value))]
        if isinstance(value, (tf.RaggedTensor, tf.SparseTensor)):
            return plain(
                tf.convert_to_tensor(
                    value.to_tensor() if isinstance(value, tf.RaggedTensor) else tf.sparse.to_dense(value)
                )
            )
        return np.array(value.numpy()) if hasattr(value, "numpy") else value

    import keras

    keras.utils.set_random_seed(11)
    step, state = build()
    wrapped = wrap(step)
    printed = io.StringIO()
    results: list[Any] = []
    with contextlib.redirect_stdout(printed):
        for number in range(calls):
            try:
                results.append(plain(wrapped(number)))
            except Exception as error:
                results.append(type(error).__name__)
    return results, printed.getvalue(), plain(state())


def difference(one: Any, other: Any, tolerance: float = 1e-10) -> str | None:
    """The first difference of two observations: floats beyond rounding, or anything else."""
    import numpy as np

    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
        if len(one) != len(other):
            return f"{len(one)} against {len(other)} elements"
        for index, (a, b) in enumerate(zip(one, other, strict=True)):
            found = difference(a, b, tolerance)
            if found:
                return f"[{index}] {found}"
        return None
    if isinstance(one, dict) and isinstance(other, dict):
        return difference(sorted(one.items()), sorted(other.items()), tolerance)
    if isinstance(one, (float, np.ndarray, np.generic)) and isinstance(other, (float, np.ndarray, np.generic)):
        a, b = np.asarray(one), np.asarray(other)
        if a.shape != b.shape or a.dtype != b.dtype:
            return f"{a.dtype}{a.shape} against {b.dtype}{b.shape}"
        if a.dtype.kind not in "fc":
            return None if np.array_equal(a, b) else f"{a!r} against {b!r}"
        limit = tolerance if a.dtype.itemsize >= 8 else 1e-5
        scale = float(np.max(np.abs(np.where(np.isfinite(a), a, 0)), initial=0.0))
        if np.allclose(a, b, rtol=0, atol=limit * max(scale, 1e-3), equal_nan=True):
            return None
        return f"{a!r} against {b!r}"
    return None if type(one) is type(other) and one == other else f"{one!r} against {other!r}"


class Comparison:
    """Runs a program eagerly and through the shim. `report` is the shim's report about the last one."""

    def __init__(self) -> None:
        self.report = ""
        self.program: Any = None

    def __call__(self, build: Any, calls: int = 6, tolerance: float = 1e-10, **options: Any) -> None:
        from terra_refactor.runtime import co_execute
        from terra_refactor.runtime import report as reports

        options.setdefault("shadow", True)
        expected = observe(build, lambda step: step, calls)
        kept: list[Any] = []

        def wrap(step: Any) -> Any:
            kept.append(co_execute(step, **options))
            return kept[0]

        actual = observe(build, wrap, calls)
        import sys

        self.program = sys.modules["terra_refactor.runtime.report"].programs()[-1]  # type: ignore[attr-defined]
        self.report = sys.modules["terra_refactor.runtime.report"].describe(self.program)  # type: ignore[attr-defined]
        del reports
        assert difference(expected, actual, tolerance) is None, (
            f"{difference(expected, actual, tolerance)}\n{self.report}"
        )
        assert not self.program.shadow_differences, self.report
        assert not self.program.build_failures, self.report


@pytest.fixture
def same() -> Comparison:
    """Call it with a function that builds `(step, state)`."""
    return Comparison()


ROOT = Path(__file__).parents[2]
SHIM = tuple(sorted((ROOT / "terra_refactor" / "runtime").glob("*.py")))
"""The files of the shim, which imports no other room."""
SAMPLE = 6


@cache
def harness_of(module: Path) -> Harness:
    """For the comparisons of a test module: the answers are valid for these texts of the shim, of the module with the
    ones here that it imports, and of this file.
    """
    modules = {Path(__file__), *modules_of(module, ROOT, "tests/runtime")}
    return Harness(f"shim_{module.stem.removeprefix('test_')}", (*SHIM, *sorted(modules)))


def is_run_every_time(name: str) -> bool:
    """Whether the test is one of the sample."""
    return int(digest(name), 16) % SAMPLE == 0


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Runs a test with the mark `kept`, unless it passed before and nothing that it depends on has changed."""
    marks = {mark.name for mark in pyfuncitem.iter_markers()}
    if "kept" not in marks or "concurrent" in marks or is_run_every_time(pyfuncitem.name):
        return None
    names = pyfuncitem._fixtureinfo.argnames
    arguments = {name: pyfuncitem.funcargs[name] for name in names}

    def run() -> str:
        pyfuncitem.obj(**arguments)
        return "passed"

    question = f"{pyfuncitem.name} hypothesis {version('hypothesis')}"
    assert harness_of(pyfuncitem.path).answer(question, run) == "passed"
    return True


@pytest.fixture
def agrees(same: Comparison, request: pytest.FixtureRequest) -> Callable[..., None]:
    """Like `same`, for tests that only compare: what agreed is not compared again until something changes."""

    def check(build: Any, calls: int = 6) -> None:
        def ask() -> str:
            same(build, calls)
            return "agrees"

        answer = harness_of(request.node.path).answer(f"{request.node.name} {calls}", ask)
        assert answer == "agrees"

    return check
