"""TensorFlow is the judge of the table of equivalents: each row gives the same values, shapes and dtypes as NumPy."""

from __future__ import annotations

from functools import reduce
from typing import Any

import pytest

from terra_refactor.tf_model.numpy_equivalents import Equivalent, names, numpy_equivalent

GIVEN: dict[str, Any] = {
    "axis": 0,
    "keepdims": True,
    "shape": [3, 2],
    "axes": [1, 0],
    "reps": [2, 1],
    "a_min": -0.5,
    "a_max": 0.5,
}
"""A value for each parameter that is no array."""


def calls(equivalent: Equivalent) -> list[dict[str, Any]]:
    """Arguments by NumPy's names: with what is required only, and with everything."""
    import numpy as np  # noqa: PLC0415 - only these tests need it

    data = np.array([[0.1, -0.3, 0.9], [0.7, 0.2, 0.5]], np.float32)
    if equivalent.name in ("math.log", "math.log1p", "sqrt", "pow", "acosh"):
        data = np.abs(data) + (1.0 if equivalent.name == "acosh" else 0.1)
    if equivalent.name in ("reduce_any", "reduce_all"):
        data = data > 0.0
    if equivalent.name == "squeeze":
        data = data[:1]
    first, *rest = equivalent.parameters
    least = {first: [data, data] if first == "arrays" else data.astype(data.dtype)}
    arrays = rest[: equivalent.arrays - 1]
    least |= dict.fromkeys(arrays, np.abs(data) if equivalent.name == "pow" else data[::-1].copy())
    if equivalent.name == "matmul":
        least["x2"] = data.T.copy()
    optional = [name for name in rest if name not in arrays]
    needed = {name: GIVEN[name] for name in optional if name in equivalent.required or name in ("shape", "reps")}
    if equivalent.name == "expand_dims":
        needed["axis"] = 0
    return [{**least, **needed}, {**least, **{name: GIVEN[name] for name in optional}}]


@pytest.mark.tensorflow
@pytest.mark.slow
@pytest.mark.parametrize("name", names())
def test_row_means_the_same(name: str) -> None:
    import numpy as np  # noqa: PLC0415
    import tensorflow as tf  # noqa: PLC0415

    equivalent = numpy_equivalent(name)
    assert equivalent is not None
    original = getattr(np, name.removeprefix("numpy."))
    replacement = reduce(getattr, equivalent.name.split("."), tf)
    renamed = dict(zip(equivalent.parameters, equivalent.renamed, strict=True))
    for arguments in calls(equivalent):
        positional = [arguments[parameter] for parameter in equivalent.parameters if parameter in arguments]
        keywords = {parameter: value for parameter, value in arguments.items() if parameter in ("axis", "keepdims")}
        leading = [value for value in positional if not any(value is other for other in keywords.values())]
        expected = original(*leading, **keywords)
        given = {renamed[parameter]: value for parameter, value in arguments.items() if parameter not in keywords}
        result = replacement(*given.values(), **{renamed[key]: value for key, value in keywords.items()})
        assert result.dtype.as_numpy_dtype == expected.dtype
        assert tuple(result.shape) == expected.shape
        np.testing.assert_allclose(result.numpy(), expected, rtol=1e-5, atol=1e-6)
