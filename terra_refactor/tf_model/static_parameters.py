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
tensorflow.approx_top_k: aggregate_to_topk is_max_k k recall_target reduction_dimension reduction_input_size_override
tensorflow.argsort: axis
tensorflow.constant: value
tensorflow.conv: batch_dims groups
tensorflow.dynamic_partition: num_partitions
tensorflow.ensure_shape: shape
tensorflow.gather: batch_dims
tensorflow.gather_nd: batch_dims
tensorflow.image.random_brightness: max_delta seed
tensorflow.image.random_contrast: lower seed upper
tensorflow.image.random_crop: seed
tensorflow.image.random_flip_left_right: seed
tensorflow.image.random_flip_up_down: seed
tensorflow.image.resize: antialias preserve_aspect_ratio
tensorflow.image.resize_with_pad: antialias
tensorflow.image.stateless_random_brightness: max_delta
tensorflow.image.stateless_random_contrast: lower upper
tensorflow.linalg.banded_triangular_solve: adjoint lower
tensorflow.linalg.lu_matrix_inverse: validate_args
tensorflow.linalg.lu_reconstruct: validate_args
tensorflow.linalg.lu_solve: validate_args
tensorflow.linalg.matmul: a_is_sparse adjoint_a adjoint_b b_is_sparse grad_a grad_b transpose_a transpose_b
tensorflow.linalg.matrix_transpose: conjugate
tensorflow.linalg.matvec: a_is_sparse adjoint_a b_is_sparse transpose_a
tensorflow.linalg.normalize: axis ord
tensorflow.linalg.qr: full_matrices
tensorflow.linalg.svd: compute_uv full_matrices
tensorflow.linalg.triangular_solve: adjoint lower
tensorflow.math.approx_max_k: aggregate_to_topk k recall_target reduction_dimension reduction_input_size_override
tensorflow.math.bincount: axis binary_output
tensorflow.math.count_nonzero: keepdims
tensorflow.math.cumprod: exclusive reverse
tensorflow.math.cumsum: exclusive reverse
tensorflow.math.cumulative_logsumexp: exclusive reverse
tensorflow.math.reduce_all: keepdims
tensorflow.math.reduce_any: keepdims
tensorflow.math.reduce_euclidean_norm: keepdims
tensorflow.math.reduce_logsumexp: keepdims
tensorflow.math.reduce_max: keepdims
tensorflow.math.reduce_mean: keepdims
tensorflow.math.reduce_min: keepdims
tensorflow.math.reduce_prod: keepdims
tensorflow.math.reduce_std: keepdims
tensorflow.math.reduce_sum: keepdims
tensorflow.math.reduce_variance: keepdims
tensorflow.math.top_k: sorted
tensorflow.nn.atrous_conv2d: rate
tensorflow.nn.avg_pool1d: ksize strides
tensorflow.nn.avg_pool2d: ksize strides
tensorflow.nn.avg_pool3d: ksize strides
tensorflow.nn.avg_pool: ksize strides
tensorflow.nn.ctc_beam_search_decoder: beam_width top_paths
tensorflow.nn.ctc_greedy_decoder: blank_index merge_repeated
tensorflow.nn.fractional_avg_pool: overlapping pseudo_random seed
tensorflow.nn.fractional_max_pool: overlapping pooling_ratio pseudo_random seed
tensorflow.nn.gelu: approximate
tensorflow.nn.isotonic_regression: axis decreasing
tensorflow.nn.leaky_relu: alpha
tensorflow.nn.local_response_normalization: alpha beta bias depth_radius
tensorflow.nn.log_poisson_loss: compute_full_loss
tensorflow.nn.log_softmax: axis
tensorflow.nn.max_pool1d: ksize strides
tensorflow.nn.max_pool2d: ksize strides
tensorflow.nn.max_pool: ksize strides
tensorflow.nn.max_pool_with_argmax: include_batch_in_index ksize strides
tensorflow.nn.moments: axes keepdims
tensorflow.nn.softmax: axis
tensorflow.nn.softmax_cross_entropy_with_logits: axis
tensorflow.nn.space_to_depth: block_size
tensorflow.nn.sufficient_statistics: keepdims
tensorflow.nn.weighted_moments: axes keepdims
tensorflow.norm: axis keepdims ord
tensorflow.one_hot: axis
tensorflow.ragged_fill_empty_rows: nrows
tensorflow.random.categorical: seed
tensorflow.random.create_rng_state: alg
tensorflow.random.fold_in: alg
tensorflow.random.gamma: seed
tensorflow.random.normal: seed
tensorflow.random.poisson: seed
tensorflow.random.shuffle: seed
tensorflow.random.split: alg
tensorflow.random.stateless_normal: alg
tensorflow.random.stateless_truncated_normal: alg
tensorflow.random.stateless_uniform: alg
tensorflow.random.truncated_normal: seed
tensorflow.random.uniform: seed
tensorflow.repeat: axis
tensorflow.signal.dct: axis n
tensorflow.signal.frame: pad_end
tensorflow.signal.idct: axis n
tensorflow.signal.linear_to_mel_weight_matrix: lower_edge_hertz num_mel_bins upper_edge_hertz
tensorflow.sort: axis
tensorflow.stack: axis
tensorflow.strided_slice: begin_mask ellipsis_mask end_mask new_axis_mask shrink_axis_mask
tensorflow.transpose: conjugate
tensorflow.unstack: axis num
"""
"""Found by `tools/find_static_parameters.py` in the namespaces `tensorflow`, `math`, `nn`, `linalg`, `image`, `signal`
and `random`, without functions that need more than five arguments.
"""
_OBSERVED: Final = """
tensorflow.TensorShape: dims
tensorflow.image.extract_patches: sizes strides rates
tensorflow.nn.conv3d: strides
tensorflow.nn.depth_to_space: block_size
tensorflow.nn.depthwise_conv2d: strides
tensorflow.squeeze: axis
tensorflow.strings.to_hash_bucket_fast: num_buckets
keras.activations.softmax: axis
keras.layers.Dropout: rate
keras.ops.bartlett: x
keras.ops.corrcoef: x
keras.ops.digitize: bins
keras.ops.isin: x1 x2
keras.ops.kron: x1 x2
keras.ops.softmax: axis
keras.ops.tile: repeats
keras.ops.tri: N M
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

SCALARS: Final = {
    "tensorflow.batch_to_space": "block_shape",
    "tensorflow.split": "num_or_size_splits",
    "tensorflow.tensordot": "axes",
}
"""Parameters that may be symbolic tensors, but not scalar ones."""


def _parameters(*tables: str) -> dict[str, frozenset[str]]:
    found: dict[str, frozenset[str]] = {}
    for name, _, parameters in (row.partition(":") for table in tables for row in table.strip().splitlines()):
        found[name] = found.get(name, frozenset()) | words(parameters)
    return found


TESTS_TRAINING: Final = words(
    "AlphaDropout AugMix BatchNormalization ConvLSTM1D ConvLSTM2D CutMix Dropout Equalization GRU GaussianDropout "
    "GaussianNoise LSTM MixUp RandAugment RandomBrightness RandomColorDegeneration RandomColorJitter RandomContrast "
    "RandomCrop RandomElasticTransform RandomErasing RandomFlip RandomGaussianBlur RandomGrayscale RandomHeight RandomHue "
    "RandomInvert RandomPerspective RandomPosterization RandomRotation RandomSaturation RandomSharpness RandomShear "
    "RandomWidth RandomZoom SimpleRNN Solarization SpatialDropout1D SpatialDropout2D SpatialDropout3D SpectralNormalization"
)
"""The layers of Keras that test `training` as a Python bool: Keras's own code is not converted by AutoGraph."""

STATIC_PARAMETERS: Final[Mapping[str, frozenset[str]]] = {
    **_parameters(_ROWS, _OBSERVED),
    **{f"keras.layers.{name}.__call__": frozenset({"training"}) for name in TESTS_TRAINING},
}
"""Names of such parameters, by the canonical name of the function."""

WHOLLY_STATIC: Final = ("math.", "cmath.", "statistics.", "fractions.", "decimal.", "bisect.")
"""Modules whose functions accept only Python numbers."""


def static_parameters(name: str) -> frozenset[str] | None:
    """The parameters of a function that must be known at trace time; None for all of them."""
    if name.startswith(WHOLLY_STATIC):
        return None
    return STATIC_PARAMETERS.get(name, frozenset())
