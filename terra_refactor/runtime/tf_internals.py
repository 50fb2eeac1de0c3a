"""All private names of TensorFlow on which the shim relies, imported in one place.

Computes: nothing. Needs: TensorFlow 2.16 or later, with its own Keras 3. Gives: the modules and classes under short
names. Ignores: nothing; a missing name is an ImportError here, at first use, rather than in the middle of a step.
"""

from __future__ import annotations

import warnings
from typing import Any

EXTRA = "terra-refactor[runtime]"
OLDEST = (2, 16)
NEWEST_TESTED = (2, 21)

try:
    import tensorflow as tf
except ImportError as error:
    raise ImportError(
        f"the co-execution shim needs TensorFlow, which is not installed: install the extra, `pip install '{EXTRA}'`"
    ) from error

VERSION = tuple(int(part) for part in tf.__version__.split(".")[:2])
if VERSION < OLDEST:
    raise ImportError(
        f"the co-execution shim needs TensorFlow {OLDEST[0]}.{OLDEST[1]} or later, and found {tf.__version__}"
    )
if VERSION > NEWEST_TESTED:
    warnings.warn(
        f"the co-execution shim was tested up to TensorFlow {NEWEST_TESTED[0]}.{NEWEST_TESTED[1]}, and found"
        f" {tf.__version__}: compare with eager execution (shadow=True) before relying on it",
        RuntimeWarning,
        stacklevel=2,
    )

try:
    import keras
    from keras.src.backend import config as keras_config
    from keras.src.backend.common import global_state as keras_global_state
    from keras.src.layers.layer import Layer as KerasLayer
    from keras.src.losses.loss import Loss as KerasLoss
    from keras.src.ops.operation import Operation as KerasOperation
    from keras.src.optimizers.base_optimizer import BaseOptimizer as KerasOptimizer
    from keras.src.optimizers.schedules.learning_rate_schedule import LearningRateSchedule as KerasSchedule
    from tensorflow.core.framework import attr_value_pb2
    from tensorflow.core.protobuf import config_pb2, rewriter_config_pb2
    from tensorflow.python import pywrap_tfe
    from tensorflow.python.eager import backprop, context, execute, executor, forwardprop
    from tensorflow.python.eager.polymorphic_function import (
        atomic_function,
        concrete_function,
        eager_function_run,
        function_type_utils,
        polymorphic_function,
    )
    from tensorflow.python.framework import (
        constant_op,
        func_graph,
        indexed_slices,
        op_def_library,
        op_def_registry,
        ops,
    )
    from tensorflow.python.framework import tensor as tensor_module
    from tensorflow.python.ops import gradients_util, resource_variable_ops, stateful_random_ops, variables
    from tensorflow.python.util import object_identity

    EagerTensor: Any = ops.EagerTensor
    Tensor: Any = tensor_module.Tensor
    Variable: Any = resource_variable_ops.BaseResourceVariable
    UnreadVariable: Any = resource_variable_ops._UnreadVariable
    KerasVariable: Any = keras.Variable
    IndexedSlices: Any = indexed_slices.IndexedSlices
    GradientTape: Any = backprop.GradientTape
    ForwardAccumulator: Any = forwardprop.ForwardAccumulator
    Reference: Any = object_identity.Reference
    Function: Any = polymorphic_function.Function
except (AttributeError, ImportError) as error:
    raise ImportError(
        f"TensorFlow {tf.__version__} does not have the internals that the co-execution shim uses: {error}"
    ) from error

# Stored before any hook: the shim creates its own constants with it.
make_constant: Any = tf.constant
as_dtype: Any = tf.as_dtype
int32: Any = tf.int32
int64: Any = tf.int64
convert_to_tensor: Any = tf.convert_to_tensor

__all__ = [
    "EagerTensor",
    "ForwardAccumulator",
    "Function",
    "GradientTape",
    "IndexedSlices",
    "KerasLayer",
    "KerasLoss",
    "KerasOperation",
    "KerasOptimizer",
    "KerasSchedule",
    "KerasVariable",
    "Reference",
    "Tensor",
    "UnreadVariable",
    "Variable",
    "as_dtype",
    "atomic_function",
    "attr_value_pb2",
    "backprop",
    "concrete_function",
    "config_pb2",
    "constant_op",
    "context",
    "convert_to_tensor",
    "eager_function_run",
    "execute",
    "executor",
    "func_graph",
    "function_type_utils",
    "gradients_util",
    "int32",
    "int64",
    "keras",
    "keras_config",
    "keras_global_state",
    "make_constant",
    "op_def_library",
    "op_def_registry",
    "ops",
    "pywrap_tfe",
    "resource_variable_ops",
    "rewriter_config_pb2",
    "stateful_random_ops",
    "tf",
    "variables",
]
