"""Whether the private interfaces of TensorFlow and Keras still behave as the shim assumes.

Computes: at the first use of the shim, from their parameters and from a small program that uses all of them, the
first unexpected behaviour. Needs: the hooks in place. Gives: `problem`, `INTERFACES`. Ignores: missing names, which
are an ImportError (tf_internals.py).

A problem is not an error: every function then runs eagerly, with one warning.
"""

from __future__ import annotations

import inspect
from typing import Any, Final

from terra_refactor.runtime.program import Program
from terra_refactor.runtime.tf_internals import (
    ForwardAccumulator,
    GradientTape,
    KerasLayer,
    KerasLoss,
    KerasOptimizer,
    constant_op,
    context,
    func_graph,
    gradients_util,
    keras,
    keras_global_state,
    make_constant,
    ops,
    resource_variable_ops,
    tf,
)

INTERFACES: Final[tuple[tuple[Any, str, tuple[str, ...]], ...]] = (
    (GradientTape, "_push_tape", ("self",)),
    (GradientTape, "_pop_tape", ("self",)),
    (GradientTape, "watch", ("self", "tensor")),
    (GradientTape, "gradient", ("self", "target", "sources")),
    (ForwardAccumulator, "__enter__", ("self",)),
    (context._EagerDeviceContext, "__enter__", ("self",)),
    (context.Context, "add_op_callback", ("self", "callback")),
    (func_graph.FuncGraph, "capture", ("self", "tensor")),
    (constant_op, "convert_to_eager_tensor", ("value", "ctx", "dtype")),
    (ops._EagerTensorBase, "_numpy", ("self",)),
    (resource_variable_ops.BaseResourceVariable, "_read_variable_op", ("self",)),
    (
        resource_variable_ops.BaseResourceVariable,
        "_strided_slice_assign",
        ("self", "begin", "end", "strides", "value", "name"),
    ),
    (gradients_util, "_GradientsHelper", ("ys", "xs", "grad_ys")),
    (KerasLayer, "__call__", ("self",)),
    (KerasLoss, "__call__", ("self", "y_true", "y_pred")),
    (KerasOptimizer, "apply", ("self", "grads", "trainable_variables")),
)
"""(owner, name, first parameters) of the functions of TensorFlow and Keras that are replaced or called."""

CALLS: Final = 3
MOST_CALLS: Final = 24
SEGMENTS: Final = 2
"""Minimum number of segments that run, calls of the small program after which they must, and maximum number of calls."""


def changed_interface() -> str | None:
    """The first interface with changed parameters. To be called before the hooks are installed."""
    for owner, name, expected in INTERFACES:
        found = tuple(inspect.signature(getattr(owner, name)).parameters)
        if found[: len(expected)] != expected:
            return f"{owner.__name__}.{name} takes {', '.join(found)}"
    return None


def lost_attribute() -> str | None:
    """The first missing attribute. Code reads them with a default, so it would not fail.

    The objects have explicit names and no weights, so that Keras's counters and random streams do not change.
    """
    layer = keras.layers.Masking(name="self_test_masking")
    inputs = keras.Input((1,), name="self_test_input")
    model = keras.Model(inputs, layer(inputs), name="self_test_model")
    masked = layer(make_constant([[[1.0]]]))
    loss = keras.losses.BinaryCrossentropy(name="self_test_loss")
    handle_data = getattr(tf.Variable(0.0, name="self_test").handle, "_handle_data", None)
    with keras.StatelessScope():
        scope = getattr(keras_global_state.GLOBAL_STATE_TRACKER, "stateless_scope", None)
    found = {
        "the operations of a functional model (_operations)": hasattr(model, "_operations"),
        "the losses that a layer adds (_losses)": "_losses" in vars(layer),
        "the mask on a tensor (_keras_mask)": getattr(masked, "_keras_mask", None) is not None,
        "the options of a loss (_fn_kwargs)": "_fn_kwargs" in vars(loss),
        "the shape behind a handle (_handle_data)": bool(getattr(handle_data, "is_set", False)),
        "the scope in which variables have other values (stateless_scope)": scope is not None,
    }
    return next((f"{what} is not where the shim expects it" for what, there in found.items() if not there), None)


def _step(x: Any, variable: Any) -> Any:
    with tf.GradientTape() as tape:
        y = tf.tanh(x * variable + 1.0)
        probabilities = keras.ops.sigmoid(y * 40.0)
        loss = tf.reduce_sum(keras.ops.binary_crossentropy(x * 0.0, probabilities))
    gradient = tape.gradient(loss, variable)
    variable[0].assign(2.0)
    variable.assign_sub(0.1 * gradient)
    return loss, gradient, variable + 0.0, probabilities._keras_logits


def changed_behaviour(execute: Any) -> str | None:
    """The failure of a small co-executed program, with the hooks in place.

    Other threads may run operations meanwhile, and may build layers, after which paths are recorded again: then it is
    called more often.
    """
    program = Program("self-test", xla=False, shadow=False, max_paths=4 * MOST_CALLS, measure=False)
    program.alone = True
    x = make_constant([0.5, -1.0, 2.0])
    eager, deferred = (tf.Variable([1.0, 2.0, 3.0], name="self_test") for _ in range(2))
    try:
        for number in range(MOST_CALLS):
            if number >= CALLS and program.segments_run >= SEGMENTS:
                break
            expected = _step(x, eager)
            found = execute(program, _step, (x, deferred), {})
            for one, other in zip(expected, found, strict=True):
                if type(other) is not type(one) or not tf.experimental.numpy.allclose(one, other, 1e-5, 1e-6):
                    return "a small program gives different numbers than in eager execution"
    except Exception as error:
        return f"a small program raises {type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
    if program.segments_run < SEGMENTS or program.fallbacks or program.build_failures:
        return "a small program is not co-executed"
    return None
