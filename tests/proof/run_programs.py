"""Runs programs in real TensorFlow, as graphs and eagerly, and reports the observable behaviour of each run: a script
for `observations.py`.

Called with a JSON file of programs (`{name: text}`) and the name of the output file, which gets a line of JSON for
each program. For the eager run `tf.function` is replaced by an identity function.

Observed of a run: what it printed, logged and slept (`output`), the values of its global variables (`values`), the
exception that ended it (`error`), the maximum number of traces of any traced function, and the number of all traces
(`traces`, `functions`).
"""

from __future__ import annotations

import faulthandler
import importlib.util
import json
import logging
import os
import sys
import tempfile
import time
import traceback
import warnings
from pathlib import Path
from types import ModuleType
from typing import Any

LIMIT_SECONDS = 240
"""Time limit of one run of one program; most take less than one second.

Then the process prints the stack of each thread, and ends.
"""
RECURSION_LIMIT = 500


def _shown(value: Any, depth: int = 0) -> Any:
    """A value in a form that JSON can store and that can be compared between runs."""
    import numpy as np  # noqa: PLC0415 - only the child needs it
    import tensorflow as tf  # noqa: PLC0415

    if depth > 5:
        return "..."
    if isinstance(value, tf.Variable):
        return ["variable", value.dtype.name, repr(value.numpy().tolist())]
    if isinstance(value, tf.Tensor):
        if not hasattr(value, "numpy"):
            return ["symbolic"]
        return [
            "tensor",
            value.dtype.name,
            value.shape.as_list(),
            repr(np.round(value.numpy(), 4).tolist())
            if value.dtype.is_floating
            else repr(np.asarray(value.numpy()).tolist()),
        ]
    if isinstance(value, np.ndarray | np.generic):
        return ["array", str(value.dtype), repr(value.tolist())]
    if isinstance(value, bool | int | float | complex | str | bytes) or value is None:
        return [type(value).__name__, repr(value)]
    if isinstance(value, list | tuple):
        return [
            type(value).__name__.strip("_").replace("ListWrapper", "list").replace("TupleWrapper", "tuple"),
            [_shown(each, depth + 1) for each in value],
        ]
    if isinstance(value, dict):
        return ["dict", [[repr(key), _shown(each, depth + 1)] for key, each in value.items()]]
    if type(value).__module__.startswith("program_"):
        return [
            "object",
            {name: _shown(each, depth + 1) for name, each in sorted(vars(value).items()) if not name.startswith("_")},
        ]
    return [type(value).__name__.partition("_")[0]] if isinstance(value, Exception) else ["other"]


class _Watch:
    """Replaces the functions with which a program prints, logs, sleeps and traces by recorders."""

    def __init__(self, tf: Any, eager: bool, path: Path) -> None:
        self.tf, self.eager, self.path = tf, eager, path
        self.traced: list[Any] = []
        self.saved = (tf.function, tf.print, time.sleep, sys.stdout, warnings.showwarning)

    def __enter__(self) -> _Watch:
        self.path.write_text("")
        self.stream = self.path.open("a", buffering=1)
        sys.stdout = self.stream
        original_print, original_function = self.saved[1], self.saved[0]

        def recorded(func: Any = None, *arguments: Any, **options: Any) -> Any:
            if func is None:
                return lambda inner: recorded(inner, *arguments, **options)
            if self.eager:
                return func
            made = original_function(func, *arguments, **options)
            self.traced.append(made)
            return made

        self.tf.function = recorded
        self.tf.print = lambda *values, **options: original_print(
            *values, **{**options, "output_stream": f"file://{self.path}"}
        )
        time.sleep = lambda seconds: self.note(f"slept {seconds}")
        warnings.showwarning = lambda message, *rest, **more: self.note(f"warning: {message}")
        warnings.simplefilter("always", UserWarning)
        self.handler = logging.StreamHandler(self.stream)
        logging.getLogger("program").addHandler(self.handler)
        logging.getLogger("program").setLevel(logging.INFO)
        return self

    def __exit__(self, *error: object) -> None:
        self.tf.function, self.tf.print, time.sleep, sys.stdout, warnings.showwarning = self.saved
        logging.getLogger("program").removeHandler(self.handler)
        self.stream.close()

    def note(self, text: str) -> None:
        self.stream.write(text + "\n")

    def counts(self) -> list[int]:
        """Traces of each traced function; a method has a copy for each instance."""
        found = []
        for made in self.traced:
            copies = [made, *getattr(made, "_descriptor_cache", {}).values()]
            found.append(sum(copy.experimental_get_tracing_count() for copy in copies))
        return found


def _run(tf: Any, name: str, text: str, eager: bool, folder: Path) -> dict[str, Any]:
    import keras  # noqa: PLC0415
    import numpy as np  # noqa: PLC0415

    keras.utils.clear_session()
    keras.utils.set_random_seed(7)
    module_name = f"program_{name}_{'eager' if eager else 'graph'}"
    file = folder / f"{module_name}.py"
    file.write_text(text, encoding="utf-8")
    output = folder / f"{module_name}.out"
    spec = importlib.util.spec_from_file_location(module_name, file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[module_name] = module
    error: str | None = None
    before = Path.cwd()
    usual_limit = sys.getrecursionlimit()
    place = folder / module_name
    place.mkdir()
    os.chdir(place)
    os.environ.pop("TERRA_PROOF", None)
    np.random.seed(7)
    started = time.perf_counter()
    # an endless trace ends sooner
    sys.setrecursionlimit(RECURSION_LIMIT)
    faulthandler.dump_traceback_later(LIMIT_SECONDS, exit=True)
    with _Watch(tf, eager, output) as watch:
        try:
            spec.loader.exec_module(module)
        except Exception as caught:
            error = f"{type(caught).__name__}: {caught}"
            if os.environ.get("PROOF_TRACEBACKS"):
                traceback.print_exc()
    faulthandler.cancel_dump_traceback_later()
    seconds = time.perf_counter() - started
    sys.setrecursionlimit(usual_limit)
    os.chdir(before)
    counts = watch.counts()
    values = {
        key: _shown(value)
        for key, value in vars(module).items()
        if not key.startswith("_") and not callable(value) and not isinstance(value, ModuleType)
    }
    return {
        "output": output.read_text().replace(module_name, "program"),
        "values": values,
        "error": error,
        "traces": max(counts, default=0),
        "functions": len(counts),
        "seconds": round(seconds, 2),
    }


def main(asked: str, answered: str) -> None:
    """Runs the programs of one JSON file and writes the observations to the other."""
    import tensorflow as tf  # noqa: PLC0415

    programs: dict[str, str] = json.loads(Path(asked).read_text(encoding="utf-8"))
    tf.get_logger().setLevel("ERROR")
    with tempfile.TemporaryDirectory() as temporary, Path(answered).open("w", encoding="utf-8", buffering=1) as answers:
        folder = Path(temporary)
        for name, text in programs.items():
            both = {"eager": _run(tf, name, text, True, folder), "graph": _run(tf, name, text, False, folder)}
            answers.write(json.dumps({"name": name, **both}) + "\n")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
