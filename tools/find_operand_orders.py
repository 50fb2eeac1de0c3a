"""Generates the table of `terra_refactor/tf_model/operand_orders.py`: functions whose operands a graph converts in order.

Run it with the Python of an environment that has the TensorFlow that the table is for. Every public function of the catalogue is
called with a Python number (or list) for one parameter and a tensor of another dtype for another, eagerly and within `tf.function`.
Eagerly the number takes the dtype of the tensor in either order; a graph converts one operand after the other, and the first
determines the dtype. The table has the pairs of parameters for which the first call works and the second raises because the dtypes do
not match. (Lists of operands, as of `tf.concat`, make no difference.) Prints the rows, for some names only if there are arguments;
`--write` replaces them in the module.
"""

from __future__ import annotations

import argparse
import inspect
import itertools
import os
import re
import signal
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("KERAS_BACKEND", "tensorflow")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")

TABLE = Path(__file__).resolve().parent.parent / "terra_refactor" / "tf_model" / "operand_orders.py"
MODULES = (
    *(f"tensorflow.{name}" for name in ("math", "nn", "linalg", "image", "signal", "bitwise", "random", "debugging")),
    *("tensorflow", "tensorflow.experimental.numpy", "tensorflow.compat.v1", "tensorflow.compat.v1.losses"),
    *(f"keras.{name}" for name in ("ops", "backend", "losses", "activations", "metrics", "random")),
)
"""Namespaces such as `sparse`, `ragged` and `strings`, in which invalid arguments of some functions crash the process."""
NOT_CALLED = re.compile(
    r"^(?:enable|disable|set|reset|initialize|while|device|init_scope|no_op|py_f|numpy_f|print|Print|case$|cond$|map_fn|scan$|foldl|foldr"
    r"|vectorized_map|associative_scan|fori_loop|switch|function$|load|import|name_scope|control_dep|Assert|assert_|barrier|abort)"
)
LONGEST_SECONDS = 20
MOST_PARAMETERS = 4
NO_MATCH = ("that does not match type", "Tensor conversion requested dtype")
FILLS: tuple[Any, ...] = ([True, False], "i,i->i", 0, [[0]], [[1, 1]])
"""Arguments for other required parameters: a condition, an equation, an axis, indices, paddings."""


def public_functions() -> Iterator[tuple[str, Callable[..., Any]]]:
    """The functions of the modules by canonical name, without duplicates."""
    import keras  # noqa: F401, PLC0415
    import tensorflow  # noqa: F401, PLC0415

    from terra_refactor.tf_model.registry import canonical_name  # noqa: PLC0415

    seen: set[str] = set()
    for module_name in MODULES:
        module: Any = None
        for step in module_name.split("."):
            module = sys.modules[step] if module is None else getattr(module, step)
        for leaf in sorted(dir(module)):
            name = canonical_name(f"{module_name}.{leaf}")
            found = getattr(module, leaf)
            if name in seen or leaf.startswith("_") or inspect.isclass(found) or not callable(found):
                continue
            seen.add(name)
            if not NOT_CALLED.match(leaf):
                yield name, found


def operands(tf: Any) -> tuple[tuple[Any, Any], ...]:
    """Pairs of a value that is not a tensor and a tensor of another dtype than the value's default."""
    found: list[tuple[Any, Any]] = []
    for dtype, number in (("float64", 1.0), ("int64", 1), ("float32", 1)):
        row, square = tf.ones([2], dtype), tf.ones([2, 2], dtype)
        found += [(number, row), ([number, number], row), ([[number] * 2] * 2, square)]
    for dtype, number in (("float64", 1.0), ("float32", 1)):
        regular = [[2 * number, number], [number, 2 * number]]
        found += [
            (regular, tf.constant(regular, dtype)),
            (regular, tf.ones([2], dtype)),
            ([number] * 3, tf.ones([3], dtype)),
        ]
        found += [([number, number], tf.constant(number, dtype)), ([number, number], tf.ones([1], dtype))]
    return tuple(found)


def conflicts(tf: Any, function: Callable[..., Any]) -> list[str]:
    """The pairs of parameters, as `first second`, that only a graph cannot convert."""
    try:
        signature = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return []
    positional = [each for each in signature if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)]
    first = [each.name for each in positional[:MOST_PARAMETERS]]
    required = [each.name for each in positional if each.default is each.empty]
    found: dict[str, None] = {}
    for number, tensor in operands(tf):
        for one, other in itertools.combinations(first, 2):
            arguments = {one: number, other: tensor}
            others = [name for name in required if name not in arguments]
            for fill in (tensor, *FILLS) if others else (None,):
                given = {**dict.fromkeys(others, fill), **arguments}
                if _differs(tf, function, given, other) and _fits(tf, function, given, one, other):
                    found[f"{one} {other}"] = None
    return list(found)


def _differs(tf: Any, function: Callable[..., Any], given: dict[str, Any], changing: str) -> bool:
    try:
        function(**given)
    except Exception:
        return False

    def traced(tensor: Any) -> Any:
        return function(**{**given, changing: tensor})

    try:
        tf.function(traced, autograph=False)(given[changing])
    except (TypeError, ValueError) as error:
        return any(words in str(error) for words in NO_MATCH)
    except Exception:
        return False
    return False


def _fits(tf: Any, function: Callable[..., Any], given: dict[str, Any], one: str, other: str) -> bool:
    """Whether a graph accepts a tensor of the other's dtype in place of the number, so that the number is the reason."""
    try:
        fitting = {**given, one: tf.constant(given[one], given[other].dtype)}
        tf.function(lambda tensor: function(**{**fitting, other: tensor}), autograph=False)(given[other])
    except Exception:
        return False
    return True


def _too_long(number: int, frame: object) -> None:
    raise TimeoutError


def look(names: list[str], describe: Callable[[Any, str, Callable[..., Any]], str]) -> None:
    """Prints the rows of these functions; before each `@` and its name, since some end the process."""
    import tensorflow as tf  # noqa: PLC0415

    warnings.simplefilter("ignore")
    tf.get_logger().setLevel("ERROR")
    signal.signal(signal.SIGPROF, _too_long)
    functions = dict(public_functions())
    for name in names:
        print(f"@{name}", flush=True)
        signal.setitimer(signal.ITIMER_PROF, LONGEST_SECONDS)  # of processor time: the machine may be busy
        try:
            row = describe(tf, name, functions[name])
        except TimeoutError:
            continue
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
        if row:
            print(f"{name}: {row}", flush=True)


def rows_of(names: list[str], script: str) -> Iterator[str]:
    """The rows of these functions, from as many processes as necessary."""
    while names:
        seen: list[str] = []
        command = [sys.executable, script, "--here", *names]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as child:
            assert child.stdout is not None
            for line in child.stdout:
                if line.startswith("@"):
                    seen.append(line[1:].strip())
                else:
                    yield line.strip()
        if not seen:
            sys.exit("the functions cannot be looked at here")
        names = names[len(seen) :]


def search(
    table: Path, describe: Callable[[Any, str, Callable[..., Any]], str], script: str, description: str | None
) -> None:
    """Prints the rows of a table, or writes them into the module that has it."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--here", action="store_true", help="in this process")
    parser.add_argument("names", nargs="*", help="canonical names of functions; none for all")
    options = parser.parse_args()
    names = options.names or [name for name, _ in public_functions()]
    if options.here:
        look(names, describe)
        return
    rows: list[str] = []
    for row in rows_of(names, script):
        rows.append(row)
        print(row, flush=True)
    if not options.write:
        return
    text = table.read_text(encoding="utf-8")
    block = '_ROWS: Final = """\n' + "\n".join(sorted(rows)) + '\n"""'
    table.write_text(re.sub(r'_ROWS: Final = """\n.*?"""', lambda _: block, text, flags=re.DOTALL), encoding="utf-8")


if __name__ == "__main__":
    search(TABLE, lambda tf, name, function: ", ".join(conflicts(tf, function)), __file__, __doc__)
