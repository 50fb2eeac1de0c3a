"""NumPy functions with an equivalent in TensorFlow.

Computes: nothing. Gives: `numpy_equivalent(name)`. Equivalence holds for arguments of one floating-point dtype: there
NumPy and TensorFlow agree in values and dtype (only NumPy widens sums of integers, for example). `any_dtype`: it
holds for all dtypes. Source: the documentation of both; `tests/proof` runs every row.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Equivalent:
    """The TensorFlow function to call instead."""

    name: str
    """Below the package `tensorflow`, for example `reduce_sum`."""
    parameters: tuple[str, ...]
    """NumPy's leading parameters, in order; a call that uses others has no equivalent."""
    renamed: tuple[str, ...]
    """TensorFlow's names of these parameters."""
    any_dtype: bool = False
    arrays: int = 1
    """The number of array parameters, whose dtypes must agree."""
    required: frozenset[str] = frozenset()
    """Parameters that have a default in NumPy but not in TensorFlow."""

    @property
    def of_bools(self) -> bool:
        """Whether it accepts only bools."""
        return self.name in ("reduce_any", "reduce_all")


def _elementwise(names: str, *, any_dtype: bool = False) -> dict[str, Equivalent]:
    rows = {}
    for row in names.split():
        numpy_name, _, tensorflow_name = row.partition("=")
        rows[f"numpy.{numpy_name}"] = Equivalent(tensorflow_name or numpy_name, ("x",), ("x",), any_dtype)
    return rows


def _binary(names: str, *, any_dtype: bool = False) -> dict[str, Equivalent]:
    rows = {}
    for row in names.split():
        numpy_name, _, tensorflow_name = row.partition("=")
        rows[f"numpy.{numpy_name}"] = Equivalent(
            tensorflow_name or numpy_name, ("x1", "x2"), ("x", "y"), any_dtype, arrays=2
        )
    return rows


def _reductions(names: str, *, any_dtype: bool = False) -> dict[str, Equivalent]:
    rows = {}
    for row in names.split():
        numpy_name, _, tensorflow_name = row.partition("=")
        rows[f"numpy.{numpy_name}"] = Equivalent(
            tensorflow_name, ("a", "axis", "keepdims"), ("input_tensor", "axis", "keepdims"), any_dtype
        )
    return rows


_ROWS: Final[Mapping[str, Equivalent]] = {
    **_elementwise(
        "exp log=math.log log1p=math.log1p expm1=math.expm1 sqrt sin cos tan tanh sinh cosh arcsin=asin arccos=acos arctan=atan "
        "arcsinh=asinh arccosh=acosh arctanh=atanh floor ceil=math.ceil reciprocal=math.reciprocal"
    ),
    **_elementwise("abs absolute=abs square sign negative zeros_like ones_like", any_dtype=True),
    **_elementwise("isnan=math.is_nan isfinite=math.is_finite isinf=math.is_inf"),
    **_binary("power=pow arctan2=math.atan2"),
    **_binary("maximum minimum add subtract multiply", any_dtype=True),
    **_binary("divide true_divide=divide"),
    **_reductions("sum=reduce_sum mean=reduce_mean prod=reduce_prod std=math.reduce_std var=math.reduce_variance"),
    **_reductions("max=reduce_max amax=reduce_max min=reduce_min amin=reduce_min", any_dtype=True),
    **_reductions("any=reduce_any all=reduce_all"),
    "numpy.matmul": Equivalent("matmul", ("x1", "x2"), ("a", "b"), arrays=2),
    "numpy.argmax": Equivalent("argmax", ("a", "axis"), ("input", "axis"), True, required=frozenset({"axis"})),
    "numpy.argmin": Equivalent("argmin", ("a", "axis"), ("input", "axis"), True, required=frozenset({"axis"})),
    "numpy.reshape": Equivalent("reshape", ("a", "shape"), ("tensor", "shape"), True),
    "numpy.transpose": Equivalent("transpose", ("a", "axes"), ("a", "perm"), True),
    "numpy.squeeze": Equivalent("squeeze", ("a", "axis"), ("input", "axis"), True),
    "numpy.expand_dims": Equivalent("expand_dims", ("a", "axis"), ("input", "axis"), True),
    "numpy.concatenate": Equivalent(
        "concat", ("arrays", "axis"), ("values", "axis"), True, required=frozenset({"axis"})
    ),
    "numpy.stack": Equivalent("stack", ("arrays", "axis"), ("values", "axis"), True),
    "numpy.tile": Equivalent("tile", ("A", "reps"), ("input", "multiples"), True),
    "numpy.clip": Equivalent(
        "clip_by_value",
        ("a", "a_min", "a_max"),
        ("t", "clip_value_min", "clip_value_max"),
        True,
        required=frozenset({"a_min", "a_max"}),
    ),
    "numpy.cumsum": Equivalent("cumsum", ("a", "axis"), ("x", "axis"), required=frozenset({"axis"})),
}


def names() -> tuple[str, ...]:
    """The NumPy functions with an equivalent, sorted."""
    return tuple(sorted(_ROWS))


def numpy_equivalent(name: str) -> Equivalent | None:
    """TensorFlow's equivalent of the NumPy function of that canonical name; None if there is none."""
    return _ROWS.get(name)
