"""Generates the table of `terra_refactor/tf_model/static_parameters.py`: parameters whose value a graph must know.

Run it with the Python of an environment that has the TensorFlow that the table is for. Every public function of the catalogue is
called with a Python number for one parameter, eagerly and within `tf.function` with a tensor of the same value in its place. The table
has the parameters for which the first call works and the second raises, unless only the dtypes do not match. Prints the rows, for some
names only if there are arguments; `--write` replaces them in the module.
"""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from find_operand_orders import NO_MATCH, search

from terra_refactor.tf_model.static_parameters import SCALARS

TABLE = Path(__file__).resolve().parent.parent / "terra_refactor" / "tf_model" / "static_parameters.py"
NUMBERS: tuple[Any, ...] = (0, 1, 2, 0.5, True)
MOST_REQUIRED = 5
MOST_BASES = 400
MOST_WORKING = 2
NOT_NUMBERS = frozenset({"name", "dtype", "dtype_hint", "out_type", "output_type", "output_dtype", "type"})
"""Parameters that take no number. A `name` is any text."""


def bases(tf: Any, required: list[str]) -> Iterator[Iterator[dict[str, Any]]]:
    """Arguments for the required parameters, by their tensor: tensors of several ranks and dtypes, and numbers besides."""
    images = tf.ones([1, 4, 4, 1])
    tensors: list[Any] = [
        tf.ones([2, 2]),
        tf.ones([2]),
        images,
        tf.ones([1, 4, 4, 4, 1]),
        tf.ones([2, 2], tf.int32),
        tf.ones([2], tf.int64),
        tf.constant([True, False]),
        tf.constant(["a", "b"]),
        tf.ones([2, 2], tf.complex64),
        [tf.ones([2, 2]), tf.ones([2, 2])],
    ]
    others: list[Any] = [1, 0, 2, 0.5, [0, 1], [1, 1], [2, 2], [1, 1, 1, 1], "SAME", tf.float32, [[0, 0], [0, 0]]]
    for tensor in tensors:
        choices = [[tensor, *others]] * len(required)
        given = itertools.islice(itertools.product(*choices), MOST_BASES)
        yield (dict(zip(required, each, strict=True)) for each in given)
    if len(required) > 1:
        kernel = tf.ones([2, 2, 1, 1])
        rests = itertools.islice(itertools.product(others, repeat=len(required) - 2), MOST_BASES)
        yield (
            {required[0]: images, required[1]: kernel, **dict(zip(required[2:], rest, strict=True))} for rest in rests
        )


def static_parameters(tf: Any, canonical: str, function: Callable[..., Any]) -> str:
    """The parameters, separated by spaces, for which only eager execution takes a tensor in place of a number."""
    try:
        signature = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return ""
    named = [each for each in signature if each.kind in (each.POSITIONAL_OR_KEYWORD, each.KEYWORD_ONLY)]
    required = [each.name for each in named if each.default is each.empty]
    if len(required) > MOST_REQUIRED or not named:
        return ""
    asked = {each.name for each in named if each.name not in NOT_NUMBERS and each.name != SCALARS.get(canonical)}
    answers: dict[str, set[bool | None]] = {name: set() for name in sorted(asked)}
    for group in bases(tf, required) if required else (iter(({},)),):
        for given in itertools.islice((each for each in group if _runs(function, each)), MOST_WORKING):
            for name, found in answers.items():
                if name in given and not isinstance(given[name], int | float):
                    continue
                own = [each.default for each in named if each.name == name and isinstance(each.default, int | float)]
                for number in [given[name]] if name in given else [*own, *NUMBERS]:
                    # a value may make the others irrelevant, so all have to be refused
                    if False not in found and _runs(function, {**given, name: number}):
                        found.add(_raises_in_graph(tf, function, given, name, number))
    return " ".join(name for name, found in answers.items() if True in found and False not in found)


def _runs(function: Callable[..., Any], given: dict[str, Any]) -> bool:
    try:
        function(**given)
    except Exception:
        return False
    return True


def _raises_in_graph(
    tf: Any, function: Callable[..., Any], given: dict[str, Any], name: str, number: float
) -> bool | None:
    """Whether a graph refuses a tensor in place of a number; None if nothing follows: it refuses all, or its dtype."""
    try:
        tf.function(lambda: function(**{**given, name: number}), autograph=False)()
    except Exception:
        return None
    refused = False
    for value in (number, float(number)):
        if value is not number and (isinstance(number, bool | float) or not _runs(function, {**given, name: value})):
            continue
        try:
            tf.function(lambda tensor: function(**{**given, name: tensor}), autograph=False)(tf.constant(value))
        except Exception as error:
            if any(words in str(error) for words in (*NO_MATCH, "same dtype", "must match")):
                return None
            refused = True
        else:
            return False
    return refused


if __name__ == "__main__":
    search(TABLE, static_parameters, __file__, __doc__)
