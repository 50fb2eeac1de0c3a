"""`tf.numpy_function` and `tf.py_function` in eager code: they call the function immediately, so the shapes of its
result are known.

Computes: the tensors converted from the function's results. Needs: calls. Gives: `HOST_CALLBACKS`, by canonical name.
In a graph only the dtypes are known, from the rules of `tf_model`. Ignores: functions whose arguments or results are
not known to be tensors, arrays or numbers.
"""

from __future__ import annotations

from typing import Final

from terra_refactor.analysis.engine import Site
from terra_refactor.analysis.frames import CallArguments
from terra_refactor.analysis.freezing import freeze
from terra_refactor.analysis.transfer.allocation import thaw
from terra_refactor.analysis.transfer.container_methods import BuiltinHandler, argument_at
from terra_refactor.analysis.transfer.iteration import iterate
from terra_refactor.domain.tensor import TensorType
from terra_refactor.domain.value import Constant, FrozenList, Scalar, SpecValue, TensorKind, TensorValue, Value
from terra_refactor.tf_model import arguments as read
from terra_refactor.tf_model.interpreted import Interpreted, by_name
from terra_refactor.tf_model.traced_sizes import without_rank

_ARRAYS: Final = (TensorKind.TENSOR, TensorKind.VARIABLE, TensorKind.NDARRAY, TensorKind.NUMPY_SCALAR)


def _dense(value: Value, *, numpy: bool) -> TensorType | None:
    """The type of the array to which a value is converted; None if it may not become one."""
    known = isinstance(value, Constant | Scalar) or (isinstance(value, TensorValue) and value.kind in _ARRAYS)
    made = read.converted_type(value, numpy=numpy) if known else None
    return None if made is None or made == TensorType() else made


def _called(site: Site, arguments: CallArguments, kind: TensorKind) -> Value | None:
    frame = site.frame
    function, given = argument_at(arguments, 0, "func"), argument_at(arguments, 1, "inp")
    declared = argument_at(arguments, 2, "Tout")
    if frame.in_graph or function is None or given is None or declared is None or arguments.open_positional is not None:
        return None
    numpy = kind is TensorKind.NDARRAY
    parts = iterate(site, given).elements
    types = [_dense(part, numpy=numpy) for part in parts or ()]
    if parts is None or None in types:
        return None
    passed = tuple(TensorValue(type_, kind) for type_ in types if type_ is not None)
    returned = freeze(frame, site.call(function, CallArguments(passed)))
    single = read.elements(freeze(frame, declared)) is None
    wanted = (freeze(frame, declared),) if single else read.elements(freeze(frame, declared)) or ()
    results = (returned,) if single else read.elements(returned) or (returned,)
    made = [_dense(result, numpy=False) for result in results]
    if not made or len(made) != len(wanted) or None in made or any(isinstance(dtype, SpecValue) for dtype in wanted):
        return None
    # the NumPy version ignores the declared types
    tensors = tuple(
        without_rank(TensorValue(TensorType(type_.dtype if numpy else read.dtype_argument(dtype), type_.shape)))
        for type_, dtype in zip(made, wanted, strict=True)
        if type_ is not None
    )
    # the NumPy version unpacks a list of one element
    if single or (numpy and len(tensors) == 1):
        return tensors[0]
    return thaw(site, FrozenList(tensors), "result")


def _numpy_function(site: Site, arguments: CallArguments, receiver: Value | None) -> Value | None:
    return _called(site, arguments, TensorKind.NDARRAY)


def _py_function(site: Site, arguments: CallArguments, receiver: Value | None) -> Value | None:
    return _called(site, arguments, TensorKind.TENSOR)


HOST_CALLBACKS: Final[dict[str, BuiltinHandler]] = by_name(
    {
        Interpreted.NUMPY_FUNCTION: _numpy_function,
        Interpreted.PY_FUNCTION: _py_function,
    }
)
