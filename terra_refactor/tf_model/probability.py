"""TensorFlow Probability's `util.DeferredTensor` and `util.TransformedVariable`: objects that are converted to tensors.

Computes: the results of their operators and methods. Needs: the tensor to which the object is converted as the
receiver (`analysis/transfer/deferred_tensors.py` stores it with the object). Gives: `RULES`; `KEPT_FIELDS`, from a
property to the field of the object that it reads; `ELEMENTWISE`, the bijectors that keep every shape.

Source: TensorFlow Probability 0.25. Ignores: the results of distributions and bijectors, of which only names and
signatures are in the catalogue.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from terra_refactor.domain.tensor import TensorType
from terra_refactor.domain.value import (
    NONE,
    UNKNOWN,
    UNKNOWN_TENSOR,
    TensorKind,
    TensorValue,
    UnknownValue,
    Value,
)
from terra_refactor.tf_model.name_table import words
from terra_refactor.tf_model.ops.operators import compare_rule, index_rule, operator_rule, unary_rule
from terra_refactor.tf_model.spec import BoundCall, OperationRule

BIJECTORS: Final = "tensorflow_probability.bijectors."
DEFERRED: Final = "tensorflow_probability.util.DeferredTensor"
TRANSFORMED: Final = "tensorflow_probability.util.TransformedVariable"
DEFERRED_CLASSES: Final = (DEFERRED, TRANSFORMED)

KEPT_FIELDS: Final[Mapping[str, str]] = {
    f"{DEFERRED}.shape": "_shape",
    f"{DEFERRED}.dtype": "_dtype",
    f"{DEFERRED}.pretransformed_input": "_pretransformed_input",
    f"{DEFERRED}.also_track": "_also_track",
    f"{DEFERRED}.name": "_name",
    f"{TRANSFORMED}.bijector": "_bijector",
}
"""Properties that return a field of the instance unchanged, by canonical name."""

ELEMENTWISE: Final = words(
    "Exp Expm1 FrechetCDF GeneralizedExtremeValueCDF GumbelCDF Identity KumaraswamyCDF "
    "Log Log1p MoyalCDF NormalCDF PowerTransform Power RayleighCDF Reciprocal Scale Shift Sigmoid Sinh SinhArcsinh "
    "SoftClip Softfloor Softplus Softsign Square Tanh WeibullCDF"
)
"""Element-wise bijectors: the result has the shape of the argument, in both directions."""

_BINARY: Final = {
    "add": "+",
    "sub": "-",
    "mul": "*",
    "truediv": "/",
    "floordiv": "//",
    "mod": "%",
    "pow": "**",
    "matmul": "@",
    "and": "&",
    "or": "|",
    "xor": "^",
}
_COMPARE: Final = {"lt": "<", "le": "<=", "gt": ">", "ge": ">="}
_UNARY: Final = {"neg": "-", "invert": "~", "abs": "abs"}


def _receiver(call: BoundCall) -> TensorValue:
    return call.receiver if isinstance(call.receiver, TensorValue) else UNKNOWN_TENSOR


def _binary(symbol: str, *, reflected: bool) -> OperationRule:
    def rule(call: BoundCall) -> Value:
        own = _receiver(call)
        other = call.extra_arguments[0] if call.extra_arguments else UNKNOWN
        if isinstance(other, UnknownValue):
            return TensorValue(TensorType(own.type.dtype))
        return operator_rule(symbol, other, own) if reflected else operator_rule(symbol, own, other)

    return rule


def _compare(symbol: str) -> OperationRule:
    return lambda call: compare_rule(
        symbol, _receiver(call), call.extra_arguments[0] if call.extra_arguments else UNKNOWN
    )


def _unary(symbol: str) -> OperationRule:
    return lambda call: unary_rule(symbol, _receiver(call))


def _item(call: BoundCall) -> Value:
    return index_rule(_receiver(call), call.extra_arguments[0] if call.extra_arguments else UNKNOWN)


def _numpy(call: BoundCall) -> Value:
    return TensorValue(_receiver(call).type, TensorKind.NDARRAY)


def _assign(call: BoundCall) -> Value:
    """The underlying variable, whose shape may differ from that of the assigned value."""
    return TensorValue(TensorType(_receiver(call).type.dtype), TensorKind.VARIABLE)


def _of_both(name: str, rule: OperationRule) -> dict[str, OperationRule]:
    return {f"{owner}.{name}": rule for owner in (DEFERRED, TRANSFORMED)}


RULES: Final[Mapping[str, OperationRule]] = {
    **{
        f"{owner}.__{prefix}{name}__": _binary(symbol, reflected=prefix == "r")
        for name, symbol in _BINARY.items()
        for prefix in ("", "r")
        for owner in (DEFERRED, TRANSFORMED)
    },
    **{
        f"{owner}.__{name}__": _compare(symbol)
        for name, symbol in _COMPARE.items()
        for owner in (DEFERRED, TRANSFORMED)
    },
    **{f"{owner}.__{name}__": _unary(symbol) for name, symbol in _UNARY.items() for owner in (DEFERRED, TRANSFORMED)},
    **_of_both("__init__", lambda call: NONE),
    **_of_both("__getitem__", _item),
    f"{DEFERRED}.numpy": _numpy,
    f"{DEFERRED}.__array__": _numpy,
    f"{DEFERRED}.set_shape": lambda call: NONE,
    **{f"{TRANSFORMED}.{name}": _assign for name in ("assign", "assign_add", "assign_sub")},
}
