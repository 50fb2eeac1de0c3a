"""Parameters whose value must be known when a graph is traced.

Computes: nothing. Gives: `static_parameters`. Eager code may pass a tensor (or `int(tensor)`), since an eager tensor
converts to a Python number; a symbolic one cannot: the parameter becomes an attribute of an operation, determines
which operations are created, or is embedded in the graph. Each row was observed to work eagerly and to raise in a
graph (TensorFlow 2.21, Keras 3.15); most other sizes and axes (`tf.reshape`, `tf.concat`, `tf.reduce_sum`) may be
symbolic. `round` and `divmod` take no tensor at all, but a Python number that a branch of the graph makes one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from terra_refactor.tf_model.name_table import words

_ROWS: Final = """
tensorflow.TensorShape: dims
tensorflow.argsort: axis
tensorflow.constant: value
tensorflow.dynamic_partition: num_partitions
tensorflow.ensure_shape: shape
tensorflow.gather: batch_dims
tensorflow.image.extract_patches: sizes strides rates
tensorflow.image.random_brightness: max_delta
tensorflow.image.random_contrast: lower upper
tensorflow.linalg.matmul: transpose_a transpose_b adjoint_a adjoint_b
tensorflow.math.reduce_all: keepdims
tensorflow.math.reduce_any: keepdims
tensorflow.math.reduce_max: keepdims
tensorflow.math.reduce_mean: keepdims
tensorflow.math.reduce_min: keepdims
tensorflow.math.reduce_prod: keepdims
tensorflow.math.reduce_sum: keepdims
tensorflow.nn.conv3d: strides
tensorflow.nn.depth_to_space: block_size
tensorflow.nn.depthwise_conv2d: strides
tensorflow.nn.gelu: approximate
tensorflow.nn.local_response_normalization: depth_radius
tensorflow.nn.log_softmax: axis
tensorflow.nn.moments: axes
tensorflow.nn.softmax: axis
tensorflow.nn.space_to_depth: block_size
tensorflow.one_hot: axis
tensorflow.random.normal: seed
tensorflow.random.shuffle: seed
tensorflow.sort: axis
tensorflow.squeeze: axis
tensorflow.stack: axis
tensorflow.strings.to_hash_bucket_fast: num_buckets
tensorflow.unstack: axis num
keras.activations.softmax: axis
keras.layers.Dropout: rate
keras.ops.softmax: axis
keras.utils.to_categorical: num_classes
numpy.arange: start_or_stop stop step
numpy.empty: shape
numpy.eye: N M k
numpy.identity: n
numpy.ones: shape
numpy.zeros: shape
operator.index: a
builtins.bin: number
builtins.chr: i
builtins.complex: real imag
builtins.divmod: x y
builtins.hex: number
builtins.oct: number
builtins.round: number
"""

SCALARS: Final = {"tensorflow.split": "num_or_size_splits"}
"""Parameters that may be symbolic tensors, but not scalar ones."""
STATIC_PARAMETERS: Final[Mapping[str, frozenset[str]]] = {
    name: words(parameters) for name, _, parameters in (row.partition(":") for row in _ROWS.strip().splitlines())
}
"""Names of such parameters, by the canonical name of the function."""

WHOLLY_STATIC: Final = ("math.", "cmath.", "statistics.", "fractions.", "decimal.", "bisect.")
"""Modules whose functions accept only Python numbers."""


def static_parameters(name: str) -> frozenset[str] | None:
    """The parameters of a function that must be known at trace time; None for all of them."""
    if name.startswith(WHOLLY_STATIC):
        return None
    return STATIC_PARAMETERS.get(name, frozenset())
