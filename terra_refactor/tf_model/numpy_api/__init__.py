"""Results of NumPy's functions and methods: shapes, dtypes by NumPy's own promotion, contents of small arrays.

Gives: `RULES`, `ATTRIBUTES`, merged from the files of this package, a file per family. Assumes NumPy 2 on a 64-bit system.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from terra_refactor.domain.value import Value
from terra_refactor.tf_model.numpy_api import creation, elementwise, linear, manipulation, methods
from terra_refactor.tf_model.spec import OperationRule

RULES: Final[Mapping[str, OperationRule]] = {
    **creation.RULES,
    **elementwise.RULES,
    **linear.RULES,
    **manipulation.RULES,
    **methods.RULES,
}

ATTRIBUTES: Final[Mapping[str, Callable[[Value], Value]]] = methods.ATTRIBUTES
