"""Runs functions of `path_programs` in TensorFlow: whether a graph has the same result as eager code.

As a script: reads a JSON object of function texts from a file, writes a line `name verdict` for each. The verdicts:
`same` (values and types), `tensors` (the same values, but tensors where eager code returns Python values), `differs` (a
result or its dtype, or an exception only in the graph), `partly` (the same for arguments for which eager code does not
raise), `fails` (it raises for all of them: no information). `judge` does this in child processes with a time limit,
since TensorFlow itself may hang.
"""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from types import FrameType
from typing import Any

LIMIT_SECONDS = 20
"""Seconds for one function."""


def judge(texts: dict[str, str], arguments: tuple[tuple[str, ...], ...], head: str) -> dict[str, str]:
    """The verdict on each function, by name."""
    verdicts: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as folder:
        asked, answered = Path(folder, "asked.json"), Path(folder, "answered.txt")
        waiting = dict(texts)
        while waiting:
            asked.write_text(json.dumps([head, arguments, waiting]), encoding="utf-8")
            answered.write_text("", encoding="utf-8")
            environment = {
                **os.environ,
                "TF_CPP_MIN_LOG_LEVEL": "3",
                "CUDA_VISIBLE_DEVICES": "",
                "AUTOGRAPH_VERBOSITY": "0",
            }
            subprocess.run(
                [sys.executable, __file__, str(asked), str(answered)], env=environment, capture_output=True, check=False
            )
            lines = answered.read_text(encoding="utf-8").splitlines()
            for line in lines:
                name, verdict = line.split(" ", 1)
                verdicts[name] = verdict
                waiting.pop(name, None)
            if waiting:
                # the function that crashed the process
                name = next(iter(waiting))
                verdicts[name] = "differs: ended the process"
                del waiting[name]
    return verdicts


# --- in the child --------------------------------------------------------------------------------------------------------------------


class TooLong(BaseException):
    """The time limit of one function."""


def _ring(_number: int, _frame: FrameType | None) -> None:
    raise TooLong


def _shown(value: Any) -> Any:
    """A result in comparable form: lists and tuples alike, numbers and tensors alike."""
    import numpy as np  # noqa: PLC0415 - only the child needs it
    import tensorflow as tf  # noqa: PLC0415

    if value is None or callable(value):
        return getattr(value, "__name__", "None")
    if isinstance(value, list | tuple):
        return [_shown(each) for each in value]
    if isinstance(value, tf.Tensor | bool | int | float | str):
        array = np.asarray(value)
        return array.tolist() if array.dtype.kind != "f" else np.round(array.astype(np.float64), 3).tolist()
    return repr(value)


def _form(value: Any) -> Any:
    """The types of a result, without its values."""
    import tensorflow as tf  # noqa: PLC0415

    if isinstance(value, list | tuple):
        return [type(value).__name__, *map(_form, value)]
    return f"tensor {value.dtype.name}" if isinstance(value, tf.Tensor) else f"Python {type(value).__name__}"


def _of_graph(expected: Any, seen: Any) -> str:
    """How a graph's types relate to those of eager code: `same`, `tensors` for Python values, or `differs`."""
    if isinstance(expected, list) and isinstance(seen, list) and len(expected) == len(seen):
        each = set(map(_of_graph, expected, seen))
        return next((word for word in ("differs", "tensors") if word in each), "same")
    if expected == seen:
        return "same"
    return "tensors" if str(expected).startswith("Python ") and str(seen).startswith("tensor ") else "differs"


def _same(first: Any, second: Any) -> bool:
    if isinstance(first, list) and isinstance(second, list):
        return len(first) == len(second) and all(map(_same, first, second))
    if isinstance(first, int | float) and isinstance(second, int | float):
        return (
            first == second
            or abs(first - second) <= 1e-2 * max(1.0, abs(first))
            or (math.isnan(first) and math.isnan(second))
        )
    if isinstance(first, bytes) and isinstance(second, str):
        return first == second.encode()
    if isinstance(second, bytes) and isinstance(first, str):
        return second == first.encode()
    return bool(first == second)


def _verdict(name: str, path: Path, head: str, text: str, arguments: list[list[str]]) -> str:
    import tensorflow as tf  # noqa: PLC0415

    path.write_text(head + text, encoding="utf-8")
    scope: dict[str, Any] = {"__name__": name}
    exec(compile(head + text, str(path), "exec"), scope)
    function = scope[name]
    graph = tf.function(function)
    verdicts: set[str] = set()
    for x, k, flag, n in arguments:
        given = (tf.constant(json.loads(x)), tf.constant(int(k)), flag == "True", int(n))
        try:
            of_eager = function(*given)
            expected = _shown(of_eager)
        except Exception:
            verdicts.add("fails")
            continue
        try:
            of_graph = graph(*given)
            seen = _shown(of_graph)
        except TooLong:
            return "differs: takes too long"
        except Exception as error:
            return "differs: " + " ".join(str(error).split())[-300:]
        if not _same(expected, seen):
            return f"differs: {str(expected)[:80]} {str(seen)[:80]}"
        types = _of_graph(_form(of_eager), _form(of_graph))
        if types == "differs":
            return f"differs: {_form(of_eager)} {_form(of_graph)}"
        verdicts.add(types)
    if "tensors" in verdicts:
        return "tensors"
    return "partly" if len(verdicts) > 1 else verdicts.pop()


def main(asked: str, answered: str) -> None:
    """Judges the functions of the input file."""
    import tensorflow as tf  # noqa: PLC0415

    # whether the graph optimizer preserves the results is a separate question
    tf.config.optimizer.set_experimental_options({"disable_meta_optimizer": True})
    signal.signal(signal.SIGALRM, _ring)
    head, arguments, texts = json.loads(Path(asked).read_text(encoding="utf-8"))
    folder = Path(asked).parent
    with Path(answered).open("a", encoding="utf-8") as out:
        for number, (name, text) in enumerate(texts.items()):
            signal.alarm(LIMIT_SECONDS)
            try:
                verdict = _verdict(name, folder / f"{name}.py", head, text, arguments)
            except TooLong:
                verdict = "differs: takes too long"
            finally:
                signal.alarm(0)
            out.write(f"{name} {verdict}\n")
            out.flush()
            if number % 100 == 99:
                tf.keras.backend.clear_session()


if __name__ == "__main__":
    main(*sys.argv[1:])
