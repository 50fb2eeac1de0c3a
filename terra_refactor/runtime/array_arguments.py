"""Which NumPy arrays among the arguments of a call may be converted to tensors before it.

Computes: whether that changes the call's behaviour, and their dtype. Needs: the call's rule for arrays. Gives:
`has_tensor`, `may_convert_arrays`, `array_hint`. Ignores: which of them become inputs of a segment (encoding.py).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from terra_refactor.runtime.tf_internals import EagerTensor, Variable, as_dtype
from terra_refactor.runtime.trie import ArrayRule, Call


def has_tensor(values: Any) -> bool:
    """Whether the values, or lists in them, contain a tensor or a variable."""
    for value in values:
        if isinstance(value, (list, tuple)):
            if has_tensor(value):
                return True
        elif isinstance(value, (EagerTensor, Variable)):
            return True
    return False


def may_convert_arrays(call: Call, args: Any) -> bool:
    """Whether the arrays among the arguments may be converted to tensors before the call without changing its behaviour."""
    if call.array_rule is ArrayRule.OWN:
        return True
    if call.array_rule is ArrayRule.HINT:
        return array_hint(call, args) is not None
    dtypes = set()
    tensors = 0
    for arg in args:
        if isinstance(arg, (list, tuple)):
            return False
        if isinstance(arg, (np.ndarray, np.generic)):
            dtypes.add(arg.dtype)
        elif hasattr(arg, "dtype"):
            tensors += 1
            dtypes.add(np.dtype(as_dtype(arg.dtype).as_numpy_dtype))
    return tensors > 0 and len(dtypes) == 1


def array_hint(call: Call, args: Any) -> Any:
    """The dtype that an operator determines for an array operand: that of the tensor operand."""
    if call.array_rule is not ArrayRule.HINT:
        return None
    for arg in args:
        if hasattr(arg, "dtype") and not isinstance(arg, (np.ndarray, np.generic)):
            return as_dtype(arg.dtype)
    return None
