"""An unknown value has one origin only if it is unambiguous; arrays in annotations may be generic."""

from __future__ import annotations

import pytest
from analysis_support import analyze_modules

from terra_refactor.domain.lattice import join
from terra_refactor.domain.value import NONE, Origin, Reference, UnknownValue


def test_an_unknown_value_that_may_be_another_object_has_no_origin() -> None:
    given = UnknownValue(origin=Origin("parameter", "p"))
    assert join(given, Reference(3)) == UnknownValue()
    assert join(Reference(3), given) == UnknownValue()
    assert join(given, NONE) == given


@pytest.mark.parametrize(
    "annotation",
    [
        "Union[np.ndarray[Any, Any], tf.Tensor]",
        "Union[np.ndarray[Any, np.dtype[np.float64]], tf.Tensor, tf.Variable]",
        "Optional[Union[tf.Tensor, np.ndarray[Any, Any]]]",
        "Union[Union[np.ndarray[Any, Any]], tf.Tensor]",
    ],
)
def test_an_array_in_a_union_may_be_generic(annotation: str) -> None:
    text = f"""
from typing import Any, Optional, Union
import numpy as np
import tensorflow as tf
Given = {annotation}
def f(x: Given, helper):
    return helper(x)
"""
    parameter = analyze_modules({"m": text}).decision("f").parameters[0]
    assert (parameter.kind.value, parameter.evidence.value) == ("tensor", "annotation")
