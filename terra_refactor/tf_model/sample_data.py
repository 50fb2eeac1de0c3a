"""Arrays that scikit-learn makes, splits and scales.

Computes: shapes and dtypes of results. Gives: `RULES`.
Ignores: tables of pandas, sparse matrices and `Bunch` objects (their results are unknown), and a configuration in which
transformers return tables. Source: scikit-learn 1.9; the answers in `tests/unit/tf_model/test_sample_data.py` are from it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final

from terra_refactor.domain.dim import Dim
from terra_refactor.domain.dtype import FLOAT32, FLOAT64, INT64, INTEGER, DType
from terra_refactor.domain.shape import Shape
from terra_refactor.domain.tensor import TensorType
from terra_refactor.domain.value import TRUE, UNKNOWN, FrozenList, TensorKind, TensorValue, TupleValue, Value
from terra_refactor.tf_model import arguments as read
from terra_refactor.tf_model.numpy_api.arrays import array
from terra_refactor.tf_model.spec import BoundCall, OperationRule

_PREPROCESSING: Final = "sklearn.preprocessing"
_POSITIONAL: Final = 2
"""Positional parameters that have a rule."""
_SCALERS: Final = ("MaxAbsScaler", "MinMaxScaler", "RobustScaler", "StandardScaler")

_SPLIT_BY_DEFAULT: Final = 0.25

_LOADED: Final[Mapping[str, tuple[int, int, DType]]] = {
    "load_breast_cancer": (569, 30, INT64),
    "load_diabetes": (442, 10, FLOAT64),
    "load_digits": (1797, 64, INT64),
    "load_iris": (150, 4, INT64),
    "load_wine": (178, 13, INT64),
}
"""Rows, columns and dtype of the labels."""

_MADE: Final[Mapping[str, tuple[int, int | None, DType]]] = {
    "make_blobs": (100, 2, INT64),
    "make_circles": (100, None, INT64),
    "make_classification": (100, 20, INT64),
    "make_moons": (100, None, INT64),
    "make_regression": (100, 100, FLOAT64),
}
"""Rows and columns by default (None: always two, and not a parameter), and dtype of the labels."""


def _given(call: BoundCall, position: int, name: str) -> Value | None:
    if position < len(call.extra_arguments):
        return call.extra_arguments[position]
    return call.extra_keywords.get(name)


def _ndarray(value: Value | None) -> TensorType | None:
    """The type of an ndarray; None for anything else."""
    return value.type if isinstance(value, TensorValue) and value.kind is TensorKind.NDARRAY else None


def _loaded(call: BoundCall) -> Value:
    """`load_iris(return_X_y=True)`: the examples and their labels."""
    name = call.name.rpartition(".")[2]
    plain = call.extra_keywords.keys() == {"return_X_y"} and not call.extra_arguments and not call.incomplete
    if not plain or call.extra_keywords["return_X_y"] != TRUE:
        return UNKNOWN
    rows, columns, labels = _LOADED[name]
    return TupleValue((array(FLOAT64, (rows, columns)), array(labels, (rows,))))


def _made(call: BoundCall) -> Value:
    """`make_blobs(60, n_features=6)`: the examples and their labels."""
    name = call.name.rpartition(".")[2]
    if call.incomplete or {"return_centers", "coef", "return_X_y", "n_targets"} & call.extra_keywords.keys():
        return UNKNOWN
    if len(call.extra_arguments) > (1 if _MADE[name][1] is None else _POSITIONAL):
        return UNKNOWN
    rows, columns, labels = _MADE[name]
    count, width = _given(call, 0, "n_samples"), _given(call, 1, "n_features") if columns is not None else None
    # a sequence has the number of each class
    size: Dim = rows if count is None else read.integer(count)
    across: Dim = 2 if columns is None else columns if width is None else read.integer(width)
    return TupleValue((array(FLOAT64, (size, across)), array(labels, (size,))))


def _split(call: BoundCall) -> Value:
    """`train_test_split(x, y, test_size=0.2)`: a list of two parts of each array."""
    types = [_ndarray(value) for value in call.extra_arguments]
    if call.incomplete or not types:
        return UNKNOWN
    parts: list[Value] = []
    for given in types:
        if given is None or given.shape == ():
            parts += [UNKNOWN, UNKNOWN]
            continue
        train, test = (None, None) if given.shape is None else _sizes(call, given.shape[0])
        rest: Shape = None if given.shape is None else given.shape[1:]
        parts += [array(given.dtype, None if rest is None else (size, *rest)) for size in (train, test)]
    return FrozenList(tuple(parts))


def _sizes(call: BoundCall, count: Dim) -> tuple[Dim, Dim]:
    """The numbers of examples for training and for tests: of fractions, the first is rounded down, the second up."""
    test, train = (call.extra_keywords.get(f"{side}_size") for side in ("test", "train"))
    given_test, given_train = (not read.is_none(value) for value in (test, train))
    if not isinstance(count, int):
        return None, None
    tested = _part(test, count, up=True) if given_test else None
    trained = _part(train, count, up=False) if given_train else None
    if not given_test and not given_train:
        tested = math.ceil(count * _SPLIT_BY_DEFAULT)
    if not given_train:
        trained = None if tested is None else count - tested
    elif not given_test:
        tested = None if trained is None else count - trained
    return trained, tested


def _part(value: Value | None, count: int, *, up: bool) -> int | None:
    number = read.number(value)
    if number is None or isinstance(number, bool):
        return None
    if isinstance(number, int):
        return number
    return math.ceil(number * count) if up else math.floor(number * count)


def _scaled(call: BoundCall) -> Value:
    """Scaled examples: floats keep their dtype, integers become float64."""
    given = _ndarray(_given(call, 0, "X"))
    if given is None:
        return UNKNOWN
    dtype = FLOAT64 if given.dtype in INTEGER else given.dtype if given.dtype in (FLOAT32, FLOAT64) else None
    return array(dtype, given.shape)


def _encoded(call: BoundCall) -> Value:
    """The number of each label: rows of one column are flattened."""
    given = _ndarray(_given(call, 0, "y"))
    if given is None or given.shape is None:
        return array(INT64, (None,))
    return array(INT64, given.shape[:1])


def _itself(call: BoundCall) -> Value:
    return UNKNOWN if call.receiver is None else call.receiver


RULES: Final[Mapping[str, OperationRule]] = {
    "sklearn.model_selection.train_test_split": _split,
    **{f"sklearn.datasets.{name}": _loaded for name in _LOADED},
    **{f"sklearn.datasets.{name}": _made for name in _MADE},
    **{
        f"{_PREPROCESSING}.{name}.{method}": _scaled
        for name in _SCALERS
        for method in ("fit_transform", "transform", "inverse_transform")
    },
    **{f"{_PREPROCESSING}.{name}.{method}": _itself for name in _SCALERS for method in ("fit", "partial_fit")},
    **{f"{_PREPROCESSING}.LabelEncoder.{method}": _encoded for method in ("fit_transform", "transform")},
    f"{_PREPROCESSING}.LabelEncoder.fit": _itself,
}
"""Result types by canonical name."""
