"""Every private name of TensorFlow and Keras that the shim uses, and whether each exists.

Computes: at the first use of the shim, the first name that is missing. Needs: tf_internals.py, whose imports fail on
their own. Gives: `PATHS`, `ATTRIBUTES`, `SOUGHT`, `lost_name`. Ignores: what the names mean (self_test.py).

`tests/runtime/test_private_names.py` reads the code of the room and checks that it uses exactly these names.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from terra_refactor.runtime import tf_internals
from terra_refactor.runtime.op_rules import names
from terra_refactor.runtime.tf_internals import (
    GradientTape,
    KerasLayer,
    concrete_function,
    context,
    func_graph,
    keras,
    make_constant,
)

PATHS: Final = names(
    """
    EagerTensor.set_shape Function.__call__ GradientTape._pop_tape GradientTape._push_tape GradientTape.gradient
    GradientTape.watch KerasLayer.__call__ KerasLoss.__call__ KerasOptimizer.apply KerasVariable.trainable
    Tensor.OVERLOADABLE_OPERATORS Tensor.__getattr__ atomic_function.from_func_graph attr_value_pb2.AttrValue
    concrete_function.ConcreteFunction concrete_function.ConcreteFunction.from_func_graph config_pb2.ConfigProto.FromString
    constant_op.convert_to_eager_tensor context.Context context.Context.add_op_callback context.SYNC
    context._EagerDeviceContext context._context context.context eager_function_run.RUN_FUNCTIONS_EAGERLY
    eager_function_run.run_functions_eagerly execute.args_to_matching_eager execute.must_record_gradient
    execute.record_gradient executor.new_executor func_graph.FuncGraph func_graph.FuncGraph.capture
    func_graph.func_graph_from_py_func function_type_utils.derive_from_graph gradients_util._GradientsHelper keras.src.ops
    keras_config._EPSILON keras_config._FLOATX keras_config._IMAGE_DATA_FORMAT keras_global_state.GLOBAL_STATE_TRACKER
    keras_global_state.get_global_attribute keras_global_state.set_global_attribute op_def_library._apply_op_helper
    op_def_registry.get ops._EagerTensorBase ops._EagerTensorBase._numpy ops.core._FallbackException
    ops.core._NotOkStatusException ops.core._SymbolicException ops.core._status_to_exception ops.init_scope
    resource_variable_ops.BaseResourceVariable resource_variable_ops.BaseResourceVariable._read_variable_op
    resource_variable_ops.BaseResourceVariable._strided_slice_assign
    resource_variable_ops.ResourceVariable resource_variable_ops.variable_accessed
    rewriter_config_pb2.RewriterConfig.OFF stateful_random_ops.global_generator variables.Variable
    pywrap_tfe.TFE_ContextClearCaches pywrap_tfe.TFE_ContextGetExecutorForThread pywrap_tfe.TFE_ContextSetExecutorForThread
    pywrap_tfe.TFE_DeleteExecutor pywrap_tfe.TFE_ExecutorIsAsync pywrap_tfe.TFE_Py_Execute
    pywrap_tfe.TFE_Py_ExecuteCancelable pywrap_tfe.TFE_Py_FastPathExecute pywrap_tfe.TFE_Py_ForwardAccumulatorJVP
    pywrap_tfe.TFE_Py_ForwardAccumulatorSetAdd pywrap_tfe.TFE_Py_ForwardAccumulatorSetRemove
    pywrap_tfe.TFE_Py_ForwardAccumulatorWatch pywrap_tfe.TFE_Py_PackEagerTensors pywrap_tfe.TFE_Py_PackJVPs
    pywrap_tfe.TFE_Py_RecordGradient pywrap_tfe.TFE_Py_TapeGradient pywrap_tfe.TFE_Py_TapeSetAdd
    pywrap_tfe.TFE_Py_TapeSetIsEmpty pywrap_tfe.TFE_Py_TapeSetNew pywrap_tfe.TFE_Py_TapeSetPossibleGradientTypes
    pywrap_tfe.TFE_Py_TapeSetRecordOperation pywrap_tfe.TFE_Py_TapeSetRecordOperationBackprop
    pywrap_tfe.TFE_Py_TapeSetRecordOperationForwardprop pywrap_tfe.TFE_Py_TapeSetRemove
    pywrap_tfe.TFE_Py_TapeSetRestartOnThread pywrap_tfe.TFE_Py_TapeSetShouldRecordBackprop
    pywrap_tfe.TFE_Py_TapeSetStopOnThread pywrap_tfe.TFE_Py_TapeVariableAccessed pywrap_tfe.TFE_Py_TapeWatch
    pywrap_tfe.TFE_Py_TapeWatchVariable pywrap_tfe.TFE_Py_TapeWatchedVariables pywrap_tfe.TFE_Py_VariableWatcherNew
    pywrap_tfe.TFE_Py_VariableWatcherRemove pywrap_tfe.TFE_ToDlpackCapsule
    """
)
"""Names reached from a name of tf_internals.py."""


def _operation() -> Any:
    with func_graph.FuncGraph("self_test").as_default():
        return make_constant(1.0).op


ATTRIBUTES: Final[tuple[tuple[str, Callable[[], Any], tuple[str, ...]], ...]] = (
    (
        "a tensor",
        lambda: make_constant(1.0),
        ("_datatype_enum", "_id", "_num_elements", "_numpy_internal", "_rank", "_shape_tuple"),
    ),
    (
        "a tape",
        GradientTape,
        ("_persistent", "_recording", "_tape", "_watch_accessed_variables", "_watched_variables"),
    ),
    ("the context", context.context, ("_handle", "_thread_local_data")),
    ("a device scope", lambda: context.Context.device(context.context(), "CPU:0"), ("_device_name",)),
    ("a graph", lambda: func_graph.FuncGraph("self_test"), ("_functions",)),
    ("an operation", _operation, ("_add_control_input", "_update_input")),
    ("a concrete function", lambda: concrete_function.ConcreteFunction, ("_call_flat",)),
    ("a layer", lambda: KerasLayer, ("_flatten_layers", "_get_call_context")),
    (
        "an optimizer",
        lambda: keras.optimizers.SGD(0.1, name="self_test_optimizer"),
        ("_learning_rate", "_trainable_variables", "_use_weight_decay"),
    ),
)
"""(description, how to get one, its attributes) of objects."""

SOUGHT: Final = names(
    """
    _Arg _Retval _XlaMustCompile _USE_EQUALITY _apply_weight_decay _backend_update_step _called
    _exclude_from_weight_decay_cache _fn_kwargs _handle_data _keras_ _keras_logits _keras_mask _losses _metrics_lock
    _operations _override_operator _parent_path _rng _self_ _tf_api_names _tf_api_names_v1
    """
)
"""Names that may be missing: of graphs, skipped, or read with a default (`self_test.lost_attribute` checks some)."""


def lost_name() -> str | None:
    """The first name that does not exist."""
    for path in sorted(PATHS):
        found: Any = tf_internals
        for name in path.split("."):
            if not hasattr(found, name):
                return f"there is no {path}"
            found = getattr(found, name)
    for what, make, attributes in ATTRIBUTES:
        thing = make()
        for name in attributes:
            if not hasattr(thing, name):
                return f"{what} has no {name}"
    return None
