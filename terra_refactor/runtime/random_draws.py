"""Random operations with new seeds at each call: drawn in segments, with the same bits.

Computes: for a seeded random operation, the stateless operation that draws the same numbers. Needs: TensorFlow's
kernels on the processor. Gives: `seeded`, `before_kernel`, `forget_kernels`. Ignores: operations without seeds, whose
numbers are not reproducible anyway.

After `tf.random.set_seed` every call of `tf.random.uniform` has its own seed as an attribute, and so its own kernel,
which makes it slow and different from all earlier calls. The first draw of such a kernel depends only on the seeds:
it equals that of the stateless operation with key `[seed]` and counter `[0, seed2]` (Philox). Later draws continue
the kernel's stream, so the kernel does them, after it has been advanced past the numbers drawn without it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from terra_refactor.runtime.lazy_tensor import LazyTensor
from terra_refactor.runtime.tf_internals import EagerTensor, context, make_constant, tf
from terra_refactor.runtime.trie import Call

_WITHOUT_STATE = {
    "RandomUniform": tf.raw_ops.StatelessRandomUniformV2,
    "RandomStandardNormal": tf.raw_ops.StatelessRandomNormalV2,
    "TruncatedNormal": tf.raw_ops.StatelessTruncatedNormalV2,
}
_PHILOX = 1
_WHOLE = 2**64 - 1

# The draws with a pair of seeds since the kernels were last deleted: the operands of draws that the kernel has not
# made, or None if it has made all of them.
_drawn: dict[tuple[Any, ...], Any] = {}
_unseen: list[bool] = []  # non-empty if kernels may have made draws that were not observed


def _draw(name: str) -> Call:
    operation = _WITHOUT_STATE[name]

    def draw(shape: Any, key: Any, counter: Any, dtype: Any) -> Any:
        return operation(shape=shape, key=key, counter=counter, alg=_PHILOX, dtype=dtype)

    return Call(name, draw, draw, draw)


_CALLS = {name: _draw(name) for name in _WITHOUT_STATE}


def _seeds(args: Any) -> dict[str, Any]:
    """The attributes of a random operation by name; in the arguments they follow the shape in pairs."""
    return dict(zip(args[1::2], args[2::2], strict=False))


def _identity(name: str, args: Any, attributes: dict[str, Any]) -> tuple[Any, ...]:
    """The identity of a kernel."""
    dtype = tf.as_dtype(attributes["dtype"]).as_datatype_enum
    wide = getattr(args[0], "dtype", None) == tf.int64
    return name, attributes.get("seed"), attributes.get("seed2"), dtype, wide


def seeded(run: Any, name: str, args: Any) -> tuple[Call, tuple[Any, ...]] | None:
    """The call that draws the same numbers without a kernel's state; None if the kernel must draw them."""
    call = _CALLS.get(name)
    if call is None or _unseen or run.program.xla or context.context().num_gpus():
        return None
    attributes = _seeds(args)
    seed, second = attributes.get("seed") or 0, attributes.get("seed2") or 0
    if not seed and not second:
        return None
    identity = _identity(name, args, attributes)
    if identity in _drawn:
        return None
    shape = args[0]
    if type(shape) is LazyTensor:
        shape = shape._value  # the path fixes it, or this code would not be reached
    elif type(shape) is not EagerTensor or not run.knows_value(shape):
        return None  # another shape at another time would be another path
    dtype = tf.as_dtype(attributes["dtype"])
    _drawn[identity] = (shape, "seed", seed, "seed2", second, "dtype", dtype)
    key = make_constant(np.array([seed & _WHOLE], np.uint64))
    counter = make_constant(np.array([0, second & _WHOLE], np.uint64))
    return call, (tuple(shape._numpy_internal().tolist()), key, counter, dtype)


def before_kernel(fast_path: Any, ctx: Any, name: str, args: Any) -> None:
    """Called before a kernel draws: advances it past the numbers that were drawn without it."""
    if name in _CALLS:
        attributes = _seeds(args)
        if not attributes.get("seed") and not attributes.get("seed2"):
            return
        identity = _identity(name, args, attributes)
        earlier = _drawn.get(identity)
        _drawn[identity] = None
        if earlier is not None:
            fast_path(ctx, name, None, *earlier)


def forget_kernels() -> None:
    """Records that TensorFlow has deleted its kernels and their states."""
    _drawn.clear()
    _unseen.clear()


def may_look_away() -> bool:
    """Whether no kernel is behind, so that draws need no hook. From then on kernels draw until they are deleted."""
    if _drawn:
        return False
    _unseen[:] = [True]
    return True
