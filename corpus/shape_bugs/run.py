"""Runs programs of the gallery in TensorFlow: `python -m corpus.shape_bugs.run GENERATION FILE...`, one JSON object a line.

Each object has `path`, `type` (the exception's class, or null), `error` (null, or its text with all its file names
and lines), and `output`. With generation 1, `import tensorflow` gives `tf.compat.v1` without eager execution; this
cannot be undone, so it runs in a separate process.
"""

from __future__ import annotations

import contextlib
import io
import json
import random
import runpy
import sys
import traceback
from pathlib import Path

import numpy as np
import tensorflow as tf


def run(path: Path, generation: int) -> dict[str, str | None]:
    """Runs one program as a script and returns the outcome."""
    random.seed(1)
    np.random.seed(1)  # noqa: NPY002 - the programs use it
    if generation == 1:
        tf.compat.v1.reset_default_graph()
        tf.compat.v1.set_random_seed(1)
    else:
        tf.keras.utils.set_random_seed(1)
    output = io.StringIO()
    kind = error = None
    with contextlib.redirect_stdout(output):
        try:
            runpy.run_path(str(path), run_name="__main__")
        except Exception as raised:
            kind = type(raised).__name__
            error = "".join(traceback.format_exception(type(raised), raised, raised.__traceback__))
    return {"path": str(path), "type": kind, "error": error, "output": output.getvalue()}


def main(arguments: list[str]) -> None:
    """Runs the programs and prints the outcome of each."""
    generation = int(arguments[0])
    if generation == 1:
        tf.compat.v1.disable_eager_execution()
        sys.modules["tensorflow"] = tf.compat.v1
    for name in arguments[1:]:
        print(json.dumps(run(Path(name), generation)), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
