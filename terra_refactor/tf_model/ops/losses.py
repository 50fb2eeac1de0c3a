"""Rules for `tf.losses` of TensorFlow 1, which compare the static shapes of labels and predictions.

Computes: the loss, a scalar unless `reduction` requests one per example. Gives: `RULES`. Ignores: whether the weights
can be broadcast to the losses. Source: `tf.compat.v1.losses`, TensorFlow 2.21 (`losses_impl.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from terra_refactor.domain.dim import Truth
from terra_refactor.domain.dtype import FLOAT32, DType
from terra_refactor.domain.shape import Shape, compatible, format_shape, meet_shapes
from terra_refactor.domain.value import Constant, LibraryValue, Value
from terra_refactor.tf_model.ops.conversion import operand
from terra_refactor.tf_model.ops.nn import sparse_softmax_loss_shape
from terra_refactor.tf_model.ops.results import argument, call_name, result, table
from terra_refactor.tf_model.shape_rules.labels import without_squeezable
from terra_refactor.tf_model.spec import BoundCall, ErrorKind, OperationError, OperationRule


def _reduced(call: BoundCall, dtype: DType | None, losses: Shape) -> Value:
    """The losses after `reduction`."""
    wanted = argument(call, "reduction")
    match wanted:
        case None:
            return result(dtype, ())
        case LibraryValue(name=name):
            kind = name.rpartition(".")[2].lower()
        case Constant(value=str(kind)):
            pass
        case _:
            return result(dtype)
    return result(dtype, losses if kind == "none" else ())


def _elementwise(labels: str, predictions: str) -> OperationRule:
    """A loss of predictions and labels of equal shapes."""

    def rule(call: BoundCall) -> Value:
        given, made = operand(argument(call, labels)).type.shape, operand(argument(call, predictions)).type.shape
        if compatible(given, made) is Truth.NO:
            assert given is not None and made is not None
            kind = ErrorKind.SHAPE if len(given) == len(made) else ErrorKind.RANK
            raise OperationError(
                kind,
                f"{call_name(call)}: {labels} of shape {format_shape(given)} and {predictions} of shape {format_shape(made)} must have "
                "the same shape",
                (labels, predictions),
            )
        return _reduced(call, FLOAT32, None if given is None or made is None else meet_shapes(given, made))

    return rule


def _softmax_cross_entropy(call: BoundCall) -> Value:
    logits = operand(argument(call, "logits"))
    _elementwise("onehot_labels", "logits")(call)
    shape = logits.type.shape
    return _reduced(call, logits.type.dtype, shape[:-1] if shape else None)


def _sparse_softmax_cross_entropy(call: BoundCall) -> Value:
    labels, logits = operand(argument(call, "labels")), operand(argument(call, "logits"))
    given, shape = without_squeezable(labels.type.shape, logits.type.shape, 1)
    return _reduced(call, logits.type.dtype, sparse_softmax_loss_shape(call_name(call), given, shape))


RULES: Final[Mapping[str, OperationRule]] = table(
    {
        **{
            f"losses.{name}": _elementwise("labels", "predictions")
            for name in ("absolute_difference", "huber_loss", "log_loss", "mean_squared_error")
        },
        "losses.hinge_loss": _elementwise("labels", "logits"),
        "losses.sigmoid_cross_entropy": _elementwise("multi_class_labels", "logits"),
        "losses.softmax_cross_entropy": _softmax_cross_entropy,
        "losses.sparse_softmax_cross_entropy": _sparse_softmax_cross_entropy,
        "losses.get_total_loss": lambda call: result(FLOAT32, ()),
        "losses.get_regularization_loss": lambda call: result(FLOAT32, ()),
    },
    prefix="tensorflow.compat.v1.",
)
