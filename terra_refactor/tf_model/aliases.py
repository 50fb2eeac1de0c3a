"""Names from earlier TensorFlow, Keras and NumPy releases that no supported version has, and their present names.

Computes: nothing. Gives: `FORMER_NAMES`, from a canonical owner's former member to today's name, and `FORMER_MODULES` for whole modules.
The names of TensorFlow 1 that `tf.compat.v1` still has need no row: the registry finds them there.
Source: TensorFlow's release notes and `tf_upgrade_v2`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

FORMER_NAMES: Final[Mapping[str, str]] = {
    # TensorFlow 0.x
    "tensorflow.all_variables": "tensorflow.compat.v1.global_variables",
    "tensorflow.audio_summary": "tensorflow.compat.v1.summary.audio",
    "tensorflow.batch_cholesky": "tensorflow.linalg.cholesky",
    "tensorflow.batch_matmul": "tensorflow.linalg.matmul",
    "tensorflow.batch_matrix_band_part": "tensorflow.linalg.band_part",
    "tensorflow.batch_matrix_determinant": "tensorflow.linalg.det",
    "tensorflow.batch_matrix_diag": "tensorflow.linalg.diag",
    "tensorflow.batch_matrix_inverse": "tensorflow.linalg.inv",
    "tensorflow.complex_abs": "tensorflow.math.abs",
    "tensorflow.concat_v2": "tensorflow.concat",
    "tensorflow.histogram_summary": "tensorflow.compat.v1.summary.histogram",
    "tensorflow.image_summary": "tensorflow.compat.v1.summary.image",
    "tensorflow.inv": "tensorflow.math.reciprocal",
    "tensorflow.listdiff": "tensorflow.compat.v1.setdiff1d",
    "tensorflow.merge_all_summaries": "tensorflow.compat.v1.summary.merge_all",
    "tensorflow.merge_summary": "tensorflow.compat.v1.summary.merge",
    "tensorflow.mul": "tensorflow.math.multiply",
    "tensorflow.neg": "tensorflow.math.negative",
    "tensorflow.pack": "tensorflow.stack",
    "tensorflow.scalar_summary": "tensorflow.compat.v1.summary.scalar",
    "tensorflow.select": "tensorflow.compat.v1.where",
    "tensorflow.sub": "tensorflow.math.subtract",
    "tensorflow.train.SummaryWriter": "tensorflow.compat.v1.summary.FileWriter",
    "tensorflow.unpack": "tensorflow.unstack",
    # tf.contrib, of TensorFlow 1
    "tensorflow.contrib.eager.GradientTape": "tensorflow.GradientTape",
    "tensorflow.contrib.eager.Variable": "tensorflow.Variable",
    "tensorflow.contrib.eager.defun": "tensorflow.function",
    "tensorflow.contrib.layers.l1_regularizer": "keras.regularizers.L1",
    "tensorflow.contrib.layers.l2_regularizer": "keras.regularizers.L2",
    "tensorflow.contrib.layers.variance_scaling_initializer": "tensorflow.compat.v1.variance_scaling_initializer",
    "tensorflow.contrib.layers.xavier_initializer": "tensorflow.compat.v1.glorot_uniform_initializer",
    "tensorflow.contrib.layers.xavier_initializer_conv2d": "tensorflow.compat.v1.glorot_uniform_initializer",
    "tensorflow.contrib.rnn.static_bidirectional_rnn": "tensorflow.compat.v1.nn.static_bidirectional_rnn",
    "tensorflow.contrib.rnn.static_rnn": "tensorflow.compat.v1.nn.static_rnn",
    "tensorflow.nn.rnn": "tensorflow.compat.v1.nn.static_rnn",
    # NumPy's former names of Python's own types, and others that NumPy 1.x dropped
    "numpy.complex": "builtins.complex",
    "numpy.float": "builtins.float",
    "numpy.int": "builtins.int",
    "numpy.long": "builtins.int",
    "numpy.object": "builtins.object",
    "numpy.str": "builtins.str",
    "numpy.unicode": "builtins.str",
    # Keras
    "keras.layers.CuDNNGRU": "keras.layers.GRU",
    "keras.layers.CuDNNLSTM": "keras.layers.LSTM",
    "keras.utils.generic_utils": "keras.utils",
    "keras.utils.np_utils": "keras.utils",
    "keras.layers.advanced_activations": "keras.layers",
    "keras.layers.convolutional": "keras.layers",
    "keras.layers.core": "keras.layers",
    "keras.layers.embeddings": "keras.layers",
    "keras.layers.merge": "keras.layers",
    "keras.layers.normalization": "keras.layers",
    "keras.layers.pooling": "keras.layers",
    "keras.layers.recurrent": "keras.layers",
    "keras.layers.wrappers": "keras.layers",
    "keras.engine.topology": "keras.layers",
    # TensorFlow 2.0 and 2.1
    **{
        f"tensorflow.distribute.{name}.experimental_run_v2": f"tensorflow.distribute.{name}.run"
        for name in (
            *("MirroredStrategy", "MultiWorkerMirroredStrategy", "OneDeviceStrategy", "Strategy", "TPUStrategy"),
            *("experimental.CentralStorageStrategy", "experimental.MultiWorkerMirroredStrategy"),
            *("experimental.ParameterServerStrategy", "experimental.TPUStrategy"),
        )
    },
}
"""From former to present names. Names without a successor are missing."""

FORMER_MODULES: Final[Mapping[str, str]] = {
    "tensorflow.contrib.rnn": "tensorflow.compat.v1.nn.rnn_cell",
    "tensorflow.contrib.keras": "keras",
    "keras.losses": "tensorflow.compat.v1.losses",
    "keras.metrics": "tensorflow.compat.v1.metrics",
    "keras.initializers": "tensorflow.compat.v1.initializers",
    "tensorflow.nn.rnn_cell": "tensorflow.compat.v1.nn.rnn_cell",
    "tensorflow.models.rnn.rnn_cell": "tensorflow.compat.v1.nn.rnn_cell",
    "tensorflow.python.ops.rnn_cell": "tensorflow.compat.v1.nn.rnn_cell",
    "tensorflow.python.platform.gfile": "tensorflow.compat.v1.gfile",
    "tensorflow.python.framework.dtypes": "tensorflow.dtypes",
    "tensorflow.python.framework.tensor_shape": "tensorflow",
    "tensorflow.python.ops.array_ops": "tensorflow",
    "tensorflow.python.ops.math_ops": "tensorflow",
    "tensorflow.python.ops.signal.fft_ops": "tensorflow.signal",
    "tensorflow.python.ops.tensor_array_ops": "tensorflow",
    "tensorflow.python.util.nest": "tensorflow.nest",
    "tensorflow.logging": "tensorflow.compat.v1.logging",
    "tensorflow.gfile": "tensorflow.compat.v1.gfile",
    "tensorflow.contrib.data": "tensorflow.data.experimental",
    "tensorflow.contrib.distributions": "tensorflow.compat.v1.distributions",
    "tensorflow.contrib.lookup": "tensorflow.lookup",
    "tensorflow.contrib.image": "tensorflow.image",
    "tensorflow.contrib.signal": "tensorflow.signal",
    "numpy.matlib": "numpy",
    "numpy.core.multiarray": "numpy",
    "numpy.core.numeric": "numpy",
    "keras.api.keras": "keras",
}
"""A member that is not found in one of these (and has no row above) is looked up in the other."""

NUMPY_BEHAVIOUR: Final = frozenset(
    f"tensorflow.Tensor.{name}"
    for name in ("T", "astype", "clip", "data", "ravel", "reshape", "size", "tolist", "transpose")
)
"""Attributes that tensors have only after `tf.experimental.numpy.experimental_enable_numpy_behavior()`."""

OPEN_OBJECTS: Final = ("logging.root", "os.environ", "sys.modules", "sys.path", "sys.stderr", "sys.stdin", "sys.stdout")
"""Objects of the standard library whose methods are known by name only."""

OPEN_MODULES: Final = (
    "tensorflow.contrib",
    "tensorflow.examples",
    "tensorflow.python",
    "tensorflow.core",
    "keras.src",
    "tensorflow.compiler",
    "tensorflow.__internal__",
)
"""Modules whose members are not listed completely: any name below them may exist."""
