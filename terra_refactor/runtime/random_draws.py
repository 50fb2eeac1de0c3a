"""Random operations whose seeds are new at each call: drawn inside segments, with the same bits.

Computes: for a random operation with seeds, the operation without state that draws the same numbers.
Needs: TensorFlow's kernels on the processor. Gives: `seeded`, `before_kernel`, `forget_kernels`.
Ignores: operations without seeds: what they draw is nobody's business.

After `tf.random.set_seed` every call of `tf.random.uniform` has a seed of its own, as an attribute, and so a kernel of its
own, which makes it slow and different from every call before. The first draw of such a kernel depends on the seeds alone:
it is what the operation without state draws with key `[seed]` and counter `[0, seed2]` (Philox). Draws after the first
continue the kernel's stream, so they are left to the kernel, once it has caught up with what was drawn without it.
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

# What has been drawn with a pair of seeds since the kernels were last thrown away: the operands of draws that its kernel
# does not know of yet, or None when the kernel knows them all.
_drawn: dict[tuple[Any, ...], Any] = {}
_unseen: list[bool] = []  # not empty when kernels may have drawn what was not seen here


def _draw(name: str) -> Call:
    operation = _WITHOUT_STATE[name]

    def draw(shape: Any, key: Any, counter: Any, dtype: Any) -> Any:
        return operation(shape=shape, key=key, counter=counter, alg=_PHILOX, dtype=dtype)

    return Call(name, draw, draw, draw)


_CALLS = {name: _draw(name) for name in _WITHOUT_STATE}


def _seeds(args: Any) -> dict[str, Any]:
    """The attributes of a random operation, by name: they follow the shape in pairs."""
    return dict(zip(args[1::2], args[2::2], strict=False))


def _identity(name: str, args: Any, attributes: dict[str, Any]) -> tuple[Any, ...]:
    """The identity of a kernel."""
    dtype = tf.as_dtype(attributes["dtype"]).as_datatype_enum
    wide = getattr(args[0], "dtype", None) == tf.int64
    return name, attributes.get("seed"), attributes.get("seed2"), dtype, wide


def seeded(run: Any, name: str, args: Any) -> tuple[Call, tuple[Any, ...]] | None:
    """The call that draws the same numbers without a kernel's state, or None where the kernel must draw them."""
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
        shape = shape._value  # the path fixes it, or it would not have come here
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
    """Note that TensorFlow has deleted its kernels and their states."""
    _drawn.clear()
    _unseen.clear()


def may_look_away() -> bool:
    """Whether no kernel is behind, so that draws need no hook. From then on kernels draw until they are deleted."""
    if _drawn:
        return False
    _unseen[:] = [True]
    return True
