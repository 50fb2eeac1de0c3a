"""Equal conditions for both versions: seeds, and random operations that draw the same numbers eagerly and in a graph.

TensorFlow's stateful random operations (`tf.random.normal`, dropout of `tf.nn`, ...) draw different numbers eagerly
and in a graph with the same seed (see `tf.random.set_seed`), so that functions that use them could not be compared.
Here each of them is replaced by a stateless operation whose seed is a counter in a variable: the n-th draw is the
same in both. Functions of `tf.data` pipelines keep the original operations: they are graphs in both versions, and run
ahead of the program.

Gives: `seed_python`, `seed_tensorflow`.
"""

from __future__ import annotations

import itertools
import random
import types
from collections.abc import Callable
from typing import Any, Final

SEED: Final = 20
_COUNTER: list[Any] = []


def seed_python() -> None:
    """Seeds Python's and NumPy's generators, including those created later without a seed."""
    random.seed(SEED)
    try:
        import numpy as np  # noqa: PLC0415 - the interpreter may have none
    except ImportError:
        return
    np.random.seed(SEED)
    original = np.random.default_rng
    numbers = itertools.count(SEED)

    def default_rng(seed: Any = None) -> Any:
        return original(next(numbers) if seed is None else seed)

    np.random.default_rng = default_rng


def seed_tensorflow(tf: Any) -> None:
    """Seeds TensorFlow, and makes its stateful random operations repeatable."""
    tf.random.set_seed(SEED)
    tf.random.set_global_generator(tf.random.Generator.from_seed(SEED))
    tf.random.Generator.from_non_deterministic_state = classmethod(lambda cls, alg=None: cls.from_seed(SEED))
    _replace_random_operations(tf)


def _replace_random_operations(tf: Any) -> None:
    from tensorflow.python.framework import random_seed  # noqa: PLC0415 - only here once TensorFlow is loaded
    from tensorflow.python.ops import gen_random_ops, random_ops  # noqa: PLC0415 - as above

    _COUNTER.append(tf.Variable(SEED, dtype=tf.int64, trainable=False, name="draws"))
    random_ops.random_seed = types.SimpleNamespace(
        get_seed=lambda seed: (0, 0) if _draws_here(tf) else random_seed.get_seed(seed)
    )
    stateless = tf.random
    replacements: dict[str, Callable[..., Any]] = {
        "random_standard_normal": lambda shape, dtype, **_: stateless.stateless_normal(shape, _seed(tf), dtype=dtype),
        "random_uniform": lambda shape, dtype, **_: stateless.stateless_uniform(shape, _seed(tf), dtype=dtype),
        "random_uniform_int": lambda shape, minval, maxval, **_: stateless.stateless_uniform(
            shape, _seed(tf), minval, maxval, dtype=tf.convert_to_tensor(minval).dtype
        ),
        "truncated_normal": lambda shape, dtype, **_: stateless.stateless_truncated_normal(
            shape, _seed(tf), dtype=dtype
        ),
        "random_shuffle": lambda value, **_: stateless.experimental.stateless_shuffle(value, _seed(tf)),
        "multinomial": lambda logits, num_samples, output_dtype=tf.int64, **_: stateless.stateless_categorical(
            logits, num_samples, _seed(tf), dtype=output_dtype
        ),
        "random_gamma": lambda shape, alpha, **_: stateless.stateless_gamma(
            tf.concat([tf.cast(shape, tf.int32), tf.shape(alpha)], 0), _seed(tf), alpha, dtype=alpha.dtype
        ),
        "random_poisson_v2": lambda shape, rate, dtype=tf.int64, **_: stateless.stateless_poisson(
            tf.concat([tf.cast(shape, tf.int32), tf.shape(rate)], 0), _seed(tf), rate, dtype=dtype
        ),
    }
    for name, replacement in replacements.items():
        setattr(gen_random_ops, name, _either(tf, getattr(gen_random_ops, name), replacement))


def _either(tf: Any, original: Callable[..., Any], replacement: Callable[..., Any]) -> Callable[..., Any]:
    def draw(*arguments: Any, **keywords: Any) -> Any:
        if not _draws_here(tf):
            return original(*arguments, **keywords)
        for unused in ("seed", "seed2", "name"):
            keywords.pop(unused, None)
        return replacement(*arguments, **keywords)

    return draw


def _seed(tf: Any) -> Any:
    return tf.stack([tf.constant(SEED, tf.int64), _COUNTER[0].assign_add(1)])


def _draws_here(tf: Any) -> bool:
    """Whether the program itself draws the numbers: eagerly, or in a graph that is not part of a data pipeline."""
    if tf.executing_eagerly():
        return True
    graph = tf.compat.v1.get_default_graph()
    while graph is not None:
        if not hasattr(graph, "outer_graph") or "Dataset_" in str(graph.name):
            return False
        outer = graph.outer_graph
        if outer is graph or not hasattr(outer, "outer_graph"):
            return True
        graph = outer
    return True
