"""NumPy's functions and methods that change arrays in place, return views, or make new arrays.

Computes: nothing. Gives: sets of canonical names.
"""

from __future__ import annotations

from typing import Final

from terra_refactor.tf_model.name_table import words

CHANGE_ARRAYS: Final = frozenset(
    f"numpy.ndarray.{name}" for name in ("fill", "sort", "put", "resize", "itemset", "partition", "setfield")
)
RESIZES_ARRAY: Final = "numpy.ndarray.resize"

_VIEWS: Final = ["ravel", "reshape", "squeeze", "swapaxes", "transpose", "view"]
GIVE_VIEWS: Final = frozenset(
    (
        *(f"numpy.ndarray.{name}" for name in _VIEWS),
        *(f"numpy.{name}" for name in _VIEWS if name != "view"),
        *(f"numpy.{name}" for name in ("asarray", "asanyarray", "atleast_1d", "atleast_2d", "expand_dims", "moveaxis")),
    )
)
"""Calls that return a view of the same elements if possible."""
MAKE_ARRAYS: Final = frozenset(
    f"numpy.{name}"
    for name in words(
        "arange concatenate copy empty empty_like eye full full_like hstack identity linspace logspace ndarray.copy ones ones_like stack "
        "vstack zeros zeros_like"
    )
)
"""Calls that always return a new array."""
RESHAPE: Final = "numpy.reshape"


def is_of_arrays(name: str) -> bool:
    """Whether a function is a method of arrays."""
    return name.startswith("numpy.ndarray.")
