"""Losses, metrics, optimizers and learning rate schedules.

Computes: output types of calls and methods. Gives: `RULES`, `ATTRIBUTES`.

Source: `keras.losses` (inputs are converted to float32, ranks that differ by one axis of size 1 are made equal, the
last axis is reduced, then all values by `reduction`), `keras.metrics`, `keras.optimizers`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod
from typing import Final

from terra_refactor.domain.dim import Dim, definitely_different
from terra_refactor.domain.dtype import BFLOAT16, FLOAT16, FLOAT32, FLOAT64, FLOATING, DType
from terra_refactor.domain.shape import BroadcastError, Shape, broadcast, format_shape
from terra_refactor.domain.tensor import TensorType
from terra_refactor.domain.value import (
    NONE,
    UNKNOWN,
    Constant,
    FrozenDict,
    FrozenList,
    LibraryValue,
    PythonType,
    Scalar,
    TensorKind,
    TensorValue,
    Value,
)
from terra_refactor.tf_model import arguments as read
from terra_refactor.tf_model.keras.layer_call import Settings, call_argument, output_kind
from terra_refactor.tf_model.ops.control import minimize
from terra_refactor.tf_model.releases import KERAS, TENSORFLOW, Behaviour
from terra_refactor.tf_model.spec import BoundCall, ErrorKind, OperationError, OperationRule


def equal_ranks(labels: Shape, predictions: Shape) -> tuple[Shape, Shape] | None:
    """Two shapes as Keras adjusts them if their ranks differ by one: an axis of size 1 is dropped or added; None if unknown."""
    if labels is None or predictions is None:
        return None
    if len(labels) == len(predictions) + 1:
        return _drop_or_add(labels, predictions)
    if len(predictions) == len(labels) + 1:
        adjusted = _drop_or_add(predictions, labels)
        return None if adjusted is None else (adjusted[1], adjusted[0])
    return labels, predictions


def _drop_or_add(longer: Shape, shorter: Shape) -> tuple[Shape, Shape] | None:
    assert longer is not None and shorter is not None
    last = longer[-1]
    if last != 1:
        return (longer, shorter) if isinstance(last, int) else None
    return (longer, (*shorter, 1)) if len(shorter) == 1 else (longer[:-1], shorter)


_COUNTS: Final = Behaviour(KERAS, "3", "Keras 2 does not compare the numbers of examples")
_BROADCASTS: Final = Behaviour(KERAS, "3", "Keras 2 broadcasts them, which may not be what is meant")
_COMPARES: Final = Behaviour(TENSORFLOW, "2.2", "`fit` broadcasts the labels", assumed=True)
_FLATTENS: Final = Behaviour(KERAS, "3", "Keras 2 flattens labels and scores")


def _mismatch(name: str, labels: Shape, predictions: Shape, only: Behaviour | None = None) -> OperationError:
    kind = ErrorKind.SHAPE if labels and predictions and len(labels) == len(predictions) else ErrorKind.RANK
    return OperationError(
        kind,
        f"{name}: labels of shape {format_shape(labels)} do not fit predictions of shape {format_shape(predictions)}",
        ("y_true", "y_pred"),
        only,
    )


def _broadcast_by_keras_2(labels: Shape, predictions: Shape) -> Behaviour | None:
    """The release since which such shapes are rejected: Keras 2 broadcasts labels unchanged, and `fit` broadcasts
    labels of rank 1 as a column.
    """
    assert labels is not None
    for given in (labels, (*labels, 1)) if len(labels) == 1 else (labels,):
        try:
            broadcast(given, predictions)
        except BroadcastError:
            continue
        return _BROADCASTS
    return None


def _broadcast_loss(name: str, labels: Shape, predictions: Shape) -> Shape:
    """The values of a loss that is element-wise, and then reduces the last axis."""
    adjusted = equal_ranks(labels, predictions)
    if adjusted is None:
        return None
    try:
        whole = broadcast(*adjusted)
    except BroadcastError as error:
        raise _mismatch(name, labels, predictions, _broadcast_by_keras_2(labels, predictions)) from error
    return whole[:-1] if whole else None


def _same_shape_loss(name: str, labels: Shape, predictions: Shape, *, in_keras_2: bool = True) -> Shape:
    """The values of a loss that requires equal shapes (crossentropies); `in_keras_2`: whether it also does in Keras 2."""
    adjusted = equal_ranks(labels, predictions)
    if adjusted is None:
        return None
    left, right = adjusted
    assert left is not None and right is not None
    if len(left) != len(right) or any(definitely_different(a, b) for a, b in zip(left, right, strict=True)):
        raise _mismatch(
            name, labels, predictions, _COMPARES if in_keras_2 else _broadcast_by_keras_2(labels, predictions)
        )
    if not right:
        return None
    return tuple(a if isinstance(a, int) and b is None else b for a, b in zip(left[:-1], right[:-1], strict=True))


def _binary_loss(name: str, labels: Shape, predictions: Shape) -> Shape:
    """The values of a loss that requires equal shapes since Keras 3."""
    return _same_shape_loss(name, labels, predictions, in_keras_2=False)


def _taken_in_a_row(labels: tuple[Dim, ...], predictions: tuple[Dim, ...]) -> Behaviour | None:
    """The release since which labels of another rank than the scores are rejected: Keras 2 flattens both and compares
    their number.
    """
    given, wanted = labels, predictions[:-1]
    if labels and wanted and not definitely_different(labels[0], wanted[0]):
        given, wanted = labels[1:], wanted[1:]
    counts = [prod(axis for axis in shape if isinstance(axis, int)) for shape in (given, wanted)]
    known = all(isinstance(axis, int) for axis in (*given, *wanted))
    return None if known and counts[0] != counts[1] else _FLATTENS


def _sparse_loss(name: str, labels: Shape, predictions: Shape) -> Shape:
    """The values of a loss of class indices against scores: the shape of the scores without the last axis."""
    if predictions is None:
        return None
    if not predictions:
        raise _mismatch(name, labels, predictions)
    if labels is None:
        return None
    if len(labels) == len(predictions):
        if labels[-1] != 1:
            if isinstance(labels[-1], int):
                raise _mismatch(name, labels, predictions, _taken_in_a_row(labels, predictions))
            return None
        labels = labels[:-1]
    expected = predictions[:-1]
    if len(labels) != len(expected):
        raise _mismatch(name, labels, predictions, _taken_in_a_row(labels, predictions))
    if any(definitely_different(a, b) for a, b in zip(labels, expected, strict=True)):
        raise _mismatch(name, labels, predictions, _COUNTS)
    return tuple(a if isinstance(a, int) and b is None else b for a, b in zip(labels, expected, strict=True))


ValuesRule = Callable[[str, Shape, Shape], Shape]

_LOSSES: Final[Mapping[str, tuple[str, ValuesRule]]] = {
    "MeanSquaredError": ("mean_squared_error", _broadcast_loss),
    "MeanAbsoluteError": ("mean_absolute_error", _broadcast_loss),
    "MeanAbsolutePercentageError": ("mean_absolute_percentage_error", _broadcast_loss),
    "MeanSquaredLogarithmicError": ("mean_squared_logarithmic_error", _broadcast_loss),
    "Huber": ("huber", _broadcast_loss),
    "LogCosh": ("log_cosh", _broadcast_loss),
    "KLDivergence": ("kl_divergence", _broadcast_loss),
    "Poisson": ("poisson", _broadcast_loss),
    "Hinge": ("hinge", _broadcast_loss),
    "SquaredHinge": ("squared_hinge", _broadcast_loss),
    "CategoricalHinge": ("categorical_hinge", _broadcast_loss),
    "CosineSimilarity": ("cosine_similarity", _broadcast_loss),
    "BinaryCrossentropy": ("binary_crossentropy", _binary_loss),
    "BinaryFocalCrossentropy": ("binary_focal_crossentropy", _binary_loss),
    "CategoricalCrossentropy": ("categorical_crossentropy", _same_shape_loss),
    "CategoricalFocalCrossentropy": ("categorical_focal_crossentropy", _broadcast_loss),
    "SparseCategoricalCrossentropy": ("sparse_categorical_crossentropy", _sparse_loss),
}

_WHOLE_LOSSES: Final = ("Dice", "Tversky")
"""Losses that reduce all axes themselves unless they are given an axis."""


def _reduction(settings: Settings) -> bool | None:
    """Whether the values of a loss are reduced to a scalar; None if unknown."""
    value = settings.get("reduction")
    if isinstance(value, LibraryValue):
        value = Constant(value.name.rpartition(".")[2].lower())
    if value is None:
        return True
    if isinstance(value, Constant) and value.value is None:
        return False
    name = read.text(value)
    return None if name is None else name != "none"


def _loss_dtype(settings: Settings, predictions: TensorType) -> DType | None:
    """Keras 3 converts to float32; Keras 2 keeps the predictions' floating-point dtype; unknown where they differ."""
    if not read.is_none(settings.get("dtype")):
        return settings.compute_dtype()
    return None if predictions.dtype in (FLOAT16, BFLOAT16, FLOAT64) else FLOAT32


def _loss_inputs(call: BoundCall) -> tuple[Value | None, Value | None, Value | None]:
    return (
        call_argument(call, "y_true", 0),
        call_argument(call, "y_pred", 1),
        call_argument(call, "sample_weight", 2),
    )


def _loss_class(name: str, values_rule: ValuesRule) -> OperationRule:
    def rule(call: BoundCall) -> Value:
        settings = Settings(call.configuration)
        labels_value, predictions_value, weights = _loss_inputs(call)
        labels, predictions = read.converted_type(labels_value), read.converted_type(predictions_value)
        dtype = _loss_dtype(settings, predictions)
        kind = output_kind(predictions_value)
        if not read.is_none(settings.get("axis")) and read.known_integer(settings.get("axis")) != -1:
            values: Shape = None
        else:
            values = values_rule(name, labels.shape, predictions.shape)
        reduced = _reduction(settings)
        if reduced is None:
            return read.tensor(dtype, None, kind)
        if reduced:
            return read.tensor(dtype, (), kind)
        return read.tensor(dtype, values if read.is_none(weights) else None, kind)

    return rule


def _loss_function(name: str, values_rule: ValuesRule) -> OperationRule:
    def rule(call: BoundCall) -> Value:
        labels, predictions = read.converted_type(call.argument("y_true")), read.converted_type(call.argument("y_pred"))
        values = values_rule(name, labels.shape, predictions.shape)
        axis = call.argument("axis")
        if axis is not None and read.known_integer(axis) != -1:
            values = None
        dtype = predictions.dtype if predictions.dtype in FLOATING else None
        return read.tensor(dtype, values, output_kind(call.argument("y_pred")))

    return rule


def _whole_loss(call: BoundCall) -> Value:
    settings = Settings(call.configuration)
    dtype = _loss_dtype(settings, read.converted_type(_loss_inputs(call)[1]))
    if _reduction(settings) is True or read.is_none(settings.get("axis")):
        return read.tensor(dtype, ())
    return read.tensor(dtype, None)


def _any_loss(call: BoundCall) -> Value:
    """A loss whose values are not modelled: a scalar if reduced."""
    settings = Settings(call.configuration)
    dtype = _loss_dtype(settings, read.converted_type(_loss_inputs(call)[1]))
    return read.tensor(dtype, () if _reduction(settings) is True else None)


_SCALAR_METRICS: Final = (
    "Mean",
    "Sum",
    "MeanMetricWrapper",
    "Accuracy",
    "BinaryAccuracy",
    "CategoricalAccuracy",
    "SparseCategoricalAccuracy",
    "TopKCategoricalAccuracy",
    "SparseTopKCategoricalAccuracy",
    "BinaryCrossentropy",
    "CategoricalCrossentropy",
    "SparseCategoricalCrossentropy",
    "KLDivergence",
    "Poisson",
    "MeanSquaredError",
    "RootMeanSquaredError",
    "MeanAbsoluteError",
    "MeanAbsolutePercentageError",
    "MeanSquaredLogarithmicError",
    "CosineSimilarity",
    "LogCoshError",
    "Hinge",
    "SquaredHinge",
    "CategoricalHinge",
    "AUC",
    "SensitivityAtSpecificity",
    "SpecificityAtSensitivity",
    "PrecisionAtRecall",
    "RecallAtPrecision",
    "IoU",
    "MeanIoU",
    "BinaryIoU",
    "OneHotIoU",
    "OneHotMeanIoU",
)
_THRESHOLD_METRICS: Final = (
    "Precision",
    "Recall",
    "TruePositives",
    "TrueNegatives",
    "FalsePositives",
    "FalseNegatives",
)


def _metric_result(call: BoundCall) -> Value:
    return read.tensor(Settings(call.configuration).compute_dtype(), ())


def _threshold_result(call: BoundCall) -> Value:
    settings = Settings(call.configuration)
    thresholds = settings.get("thresholds")
    count = read.elements(thresholds)
    if read.is_none(thresholds) or read.is_number(thresholds) or (count is not None and len(count) == 1):
        return read.tensor(settings.compute_dtype(), ())
    return read.tensor(settings.compute_dtype(), None if count is None else (len(count),))


def _score_result(call: BoundCall) -> Value:
    """`F1Score`, `FBetaScore`: one value for each class, unless averaged."""
    settings = Settings(call.configuration)
    return read.tensor(settings.compute_dtype(), () if read.text(settings.get("average")) else (None,))


def _accuracy_function(call: BoundCall) -> Value:
    """`keras.metrics.binary_accuracy` and similar functions: a float32 value for each sample."""
    predictions = read.converted_type(call.argument("y_pred")).shape
    return read.tensor(FLOAT32, predictions[:-1] if predictions else None)


def _schedule(call: BoundCall) -> Value:
    """The learning rate at a step: float32, with the shape of the step."""
    step = read.first_of(call, "step")
    shape = read.converted_type(step).shape
    return read.tensor(FLOAT32, () if isinstance(step, Constant | Scalar) else shape)


def _learning_rate(receiver: Value) -> Value:
    return TensorValue(TensorType(FLOAT32, ()), TensorKind.VARIABLE)


def _constant(value: Value) -> OperationRule:
    return lambda call: value


def _loss_rules() -> dict[str, OperationRule]:
    rules: dict[str, OperationRule] = {}
    for class_name, (function, values) in _LOSSES.items():
        rules[f"keras.losses.{class_name}.__call__"] = _loss_class(class_name, values)
        rules[f"keras.losses.{function}"] = _loss_function(class_name, values)
    for class_name in _WHOLE_LOSSES:
        rules[f"keras.losses.{class_name}.__call__"] = _whole_loss
    for class_name in ("Circle", "CTC", "CategoricalGeneralizedCrossEntropy"):
        rules[f"keras.losses.{class_name}.__call__"] = _any_loss
    return rules


def _metric_rules() -> dict[str, OperationRule]:
    rules: dict[str, OperationRule] = {}
    families = (
        (_SCALAR_METRICS, _metric_result),
        (_THRESHOLD_METRICS, _threshold_result),
        (("F1Score", "FBetaScore"), _score_result),
    )
    for names, result in families:
        for name in names:
            rules[f"keras.metrics.{name}.result"] = result
            rules[f"keras.metrics.{name}.__call__"] = result
    for method in ("update_state", "reset_state", "reset_states"):
        rules[f"keras.metrics.Metric.{method}"] = _constant(NONE)
    for name in ("binary_accuracy", "categorical_accuracy", "sparse_categorical_accuracy"):
        rules[f"keras.metrics.{name}"] = _accuracy_function
    for name in ("top_k_categorical_accuracy", "sparse_top_k_categorical_accuracy"):
        rules[f"keras.metrics.{name}"] = _accuracy_function
    return rules


_SCHEDULES: Final = (
    "ExponentialDecay",
    "PiecewiseConstantDecay",
    "PolynomialDecay",
    "InverseTimeDecay",
    "CosineDecay",
    "CosineDecayRestarts",
)

_ITERATIONS: Final = TensorValue(TensorType(None, ()), TensorKind.VARIABLE)

RULES: Final[Mapping[str, OperationRule]] = {
    **_loss_rules(),
    **_metric_rules(),
    "keras.optimizers.Optimizer.apply_gradients": _constant(_ITERATIONS),
    "keras.optimizers.Optimizer.apply": _constant(_ITERATIONS),
    "keras.optimizers.Optimizer.minimize": minimize,
    "keras.optimizers.Optimizer.build": _constant(NONE),
    "keras.optimizers.Optimizer.get_config": _constant(FrozenDict((), UNKNOWN)),
    **{f"keras.optimizers.schedules.{name}.__call__": _schedule for name in _SCHEDULES},
}

ATTRIBUTES: Final[Mapping[str, Callable[[Value], Value]]] = {
    "keras.optimizers.Optimizer.iterations": lambda receiver: _ITERATIONS,
    "keras.optimizers.Optimizer.learning_rate": _learning_rate,
    "keras.optimizers.Optimizer.lr": _learning_rate,
    "keras.optimizers.Optimizer.variables": lambda receiver: FrozenList(
        None, TensorValue(TensorType(), TensorKind.VARIABLE)
    ),
    "keras.metrics.Metric.variables": lambda receiver: FrozenList(None, TensorValue(TensorType(), TensorKind.VARIABLE)),
    "keras.metrics.Metric.name": lambda receiver: Scalar(PythonType.STR),
}
