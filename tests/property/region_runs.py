"""Runs a program before and after `fix` in this process, and compares the printed output and the final values."""

from __future__ import annotations

import contextlib
import io
import linecache
from collections.abc import Callable
from pathlib import Path
from typing import Any


def run(text: str, at_end: Callable[[dict[str, Any]], list[Any]]) -> tuple[str, list[Any]]:
    """The output of a program, or its failure, and its last values. TensorFlow reads the source of functions from their file."""
    Path("program.py").write_text(text, encoding="utf-8")
    names: dict[str, Any] = {"__name__": "__main__"}
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(text, str(Path("program.py").resolve()), "exec"), names)
    return printed.getvalue(), at_end(names)


def difference_of_runs(before: str, after: str) -> str:
    """`same`, or the first difference on one line. Writes `program.py` into the working directory."""
    import numpy as np  # noqa: PLC0415

    def values(names: dict[str, Any]) -> list[Any]:
        return [names["w"].numpy(), names["v"].numpy()]

    linecache.clearcache()
    printed, ended = run(before, values)
    linecache.clearcache()
    try:
        printed_after, ended_after = run(after, values)
    except Exception as error:
        return " ".join(f"{type(error).__name__}: {error}".split())[:300]
    difference = _difference(printed, printed_after)
    if difference is not None:
        return difference
    for name, one, other in zip("wv", ended, ended_after, strict=True):
        if one.shape != other.shape or not np.allclose(one, other, rtol=1e-4, atol=1e-5, equal_nan=True):
            return f"{name} ends as {other.tolist()}, not as {one.tolist()}"
    return "same"


def _difference(one: str, other: str) -> str | None:
    """The first difference of two texts, whose numbers may differ in the last digits."""
    first, second = one.replace(",", " , ").split(), other.replace(",", " , ").split()
    for left, right in zip(first, second, strict=False):
        try:
            same = abs(float(left.strip("[]")) - float(right.strip("[]"))) < 2e-4
        except ValueError:
            same = left == right
        if not same:
            return f"{left} became {right}"
    return None if len(first) == len(second) else f"{len(first)} words became {len(second)}"
