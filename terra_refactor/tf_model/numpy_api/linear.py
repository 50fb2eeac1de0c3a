"""NumPy's linear algebra and Fourier transforms.

Computes: output types. Gives: `RULES`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from terra_refactor.domain.dim import Dim, definitely_different
from terra_refactor.domain.dtype import BOOL, COMPLEX64, COMPLEX128, FLOAT32, FLOAT64, INT64, INTEGER, DType
from terra_refactor.domain.shape import Shape, format_shape
from terra_refactor.domain.value import UNKNOWN, TupleValue, Value
from terra_refactor.tf_model import arguments as read
from terra_refactor.tf_model.numpy_api import shapes
from terra_refactor.tf_model.numpy_api.arrays import array, array_operand, array_result, promoted_strong
from terra_refactor.tf_model.numpy_api.elementwise import axes_argument, keepdims_argument
from terra_refactor.tf_model.numpy_dtypes import real_dtype
from terra_refactor.tf_model.spec import BoundCall, ErrorKind, OperationError, OperationRule


def _worked(dtype: DType | None) -> DType | None:
    """The dtype in which `numpy.linalg` computes: float64 for integers; float16 is not supported."""
    if dtype in INTEGER or dtype == BOOL:
        return FLOAT64
    return dtype if dtype in (FLOAT32, FLOAT64, COMPLEX64, COMPLEX128) else None


def _product(call: BoundCall) -> Value:
    """`numpy.matmul`."""
    left, right = array_operand(call.argument("x1")).type, array_operand(call.argument("x2")).type
    return array_result(
        promoted_strong([left.dtype, right.dtype]), shapes.matrix_product("matmul", left.shape, right.shape)
    )


def _dot(call: BoundCall) -> Value:
    is_method = call.receiver is not None
    first, second = (call.receiver, call.argument("other")) if is_method else (call.argument("a"), call.argument("b"))
    left, right = array_operand(first).type, array_operand(second).type
    return array_result(promoted_strong([left.dtype, right.dtype]), shapes.dot("dot", left.shape, right.shape))


def _vdot(call: BoundCall) -> Value:
    left, right = array_operand(call.argument("a")).type, array_operand(call.argument("b")).type
    return array_result(promoted_strong([left.dtype, right.dtype]), ())


def _inner(call: BoundCall) -> Value:
    left, right = array_operand(call.argument("a")).type, array_operand(call.argument("b")).type
    dtype = promoted_strong([left.dtype, right.dtype])
    if left.shape is None or right.shape is None:
        return array_result(dtype, None)
    if not left.shape or not right.shape:
        return array_result(dtype, (*left.shape, *right.shape))
    return array_result(dtype, (*left.shape[:-1], *right.shape[:-1]))


def _outer(call: BoundCall) -> Value:
    left, right = array_operand(call.argument("a")).type, array_operand(call.argument("b")).type
    sizes: list[Dim] = []
    for shape in (left.shape, right.shape):
        count: Dim = None
        if shape is not None and all(isinstance(size, int) for size in shape):
            count = 1
            for size in shape:
                assert isinstance(size, int) and isinstance(count, int)
                count *= size
        elif shape is not None and len(shape) == 1:
            count = shape[0]
        sizes.append(count)
    return array(promoted_strong([left.dtype, right.dtype]), tuple(sizes))


def _tensordot(call: BoundCall) -> Value:
    left, right = array_operand(call.argument("a")).type, array_operand(call.argument("b")).type
    dtype = promoted_strong([left.dtype, right.dtype])
    if left.shape is None or right.shape is None:
        return array(dtype, None)
    axes = call.argument("axes")
    count = 2 if axes is None else read.known_integer(axes)
    if count is not None:
        first, second = tuple(range(len(left.shape) - count, len(left.shape))), tuple(range(count))
    else:
        pair = read.elements(axes)
        if pair is None or len(pair) != 2:
            return array(dtype, None)
        both = [read.integers(part) or (read.integer(part),) for part in pair]
        if any(not isinstance(axis, int) for part in both for axis in part):
            return array(dtype, None)
        first, second = (tuple(axis for axis in part if isinstance(axis, int)) for part in both)
    if len(first) != len(second) or any(not -len(left.shape) <= axis < len(left.shape) for axis in first):
        return array(dtype, None)
    if any(not -len(right.shape) <= axis < len(right.shape) for axis in second):
        return array(dtype, None)
    kept = {axis % len(left.shape) for axis in first}, {axis % len(right.shape) for axis in second}
    for one, two in zip(first, second, strict=True):
        if definitely_different(left.shape[one], right.shape[two]):
            raise OperationError(
                ErrorKind.SHAPE,
                f"tensordot: axis {one} of {format_shape(left.shape)} and axis {two} of {format_shape(right.shape)} differ",
            )
    rest = [size for axis, size in enumerate(left.shape) if axis not in kept[0]]
    rest += [size for axis, size in enumerate(right.shape) if axis not in kept[1]]
    return array(dtype, tuple(rest))


def _einsum(call: BoundCall) -> Value:
    """`numpy.einsum("ij,jk->ik", a, b)` with an explicit output and no ellipsis."""
    equation = read.text(call.extra_arguments[0]) if call.extra_arguments else None
    operands = [array_operand(value).type for value in call.extra_arguments[1:]]
    dtype = promoted_strong([item.dtype for item in operands]) if operands else None
    if equation is None or "->" not in equation or "." in equation or call.incomplete:
        return array_result(dtype, None)
    left, _, output = equation.replace(" ", "").partition("->")
    terms = left.split(",")
    if len(terms) != len(operands):
        return array_result(dtype, None)
    sizes: dict[str, Dim] = {}
    for term, item in zip(terms, operands, strict=True):
        if item.shape is None:
            continue
        if len(term) != len(item.shape):
            raise OperationError(ErrorKind.RANK, f"einsum: {term} does not fit the shape {format_shape(item.shape)}")
        for label, size in zip(term, item.shape, strict=True):
            known = sizes.get(label)
            if known is None or known == 1:
                sizes[label] = size
            elif size != 1 and definitely_different(known, size):
                raise OperationError(
                    ErrorKind.SHAPE, f"einsum: axis {label} of {equation} has sizes {known} and {size}"
                )
    return array_result(dtype, tuple(sizes.get(label) for label in output))


def _norm(call: BoundCall) -> Value:
    given = array_operand(call.argument("x")).type
    dtype = real_dtype(FLOAT64 if given.dtype in INTEGER or given.dtype == BOOL else given.dtype)
    axes = axes_argument(call.argument("axis"))
    if isinstance(axes, bool):
        return array_result(dtype, None)
    return array_result(dtype, shapes.reduced("norm", given.shape, axes, keepdims_argument(call)))


def _square(name: str, shape: Shape) -> None:
    """Raises OperationError if the last two axes certainly differ in size."""
    if shape is None:
        return
    if len(shape) < 2:
        raise OperationError(ErrorKind.RANK, f"{name}: {format_shape(shape)} is not a matrix")
    if definitely_different(shape[-1], shape[-2]):
        raise OperationError(ErrorKind.SHAPE, f"{name}: the last two axes of {format_shape(shape)} differ")


def _same(call: BoundCall) -> Value:
    """`inv`, `cholesky`: a matrix of the same size."""
    given = array_operand(read.first_of(call, "a")).type
    _square(call.name.rpartition(".")[2], given.shape)
    return array(_worked(given.dtype), given.shape)


def _pseudo_inverse(call: BoundCall) -> Value:
    given = array_operand(call.argument("a")).type
    shape = given.shape
    return array(_worked(given.dtype), None if shape is None or len(shape) < 2 else (*shape[:-2], shape[-1], shape[-2]))


def _determinant(call: BoundCall) -> Value:
    given = array_operand(call.argument("a")).type
    _square("det", given.shape)
    return array_result(_worked(given.dtype), None if given.shape is None else given.shape[:-2])


def _eigenvalues(call: BoundCall) -> Value:
    """`eigvalsh`: real, of the dtype in which it computes."""
    given = array_operand(call.argument("a")).type
    _square("eigvalsh", given.shape)
    return array(real_dtype(_worked(given.dtype)), None if given.shape is None else given.shape[:-1])


def _hermitian(call: BoundCall) -> Value:
    given = array_operand(call.argument("a")).type
    _square("eigh", given.shape)
    dtype = _worked(given.dtype)
    values = array(real_dtype(dtype), None if given.shape is None else given.shape[:-1])
    return TupleValue((values, array(dtype, given.shape)), None, ())


def _solve(call: BoundCall) -> Value:
    left, right = array_operand(call.argument("a")).type, array_operand(call.argument("b")).type
    _square("solve", left.shape)
    dtype = _worked(promoted_strong([left.dtype, right.dtype]))
    if left.shape is None or right.shape is None or len(left.shape) != 2 or not 1 <= len(right.shape) <= 2:
        return array(dtype, None)
    if definitely_different(left.shape[0], right.shape[0]):
        raise OperationError(
            ErrorKind.SHAPE, f"solve: {format_shape(left.shape)} and {format_shape(right.shape)} do not fit"
        )
    return array(dtype, right.shape)


def _qr(call: BoundCall) -> Value:
    given = array_operand(call.argument("a")).type
    mode = call.argument("mode")
    if mode is not None and read.text(mode) != "reduced":
        return UNKNOWN
    dtype = _worked(given.dtype)
    if given.shape is None or len(given.shape) < 2:
        return TupleValue((array(dtype, None), array(dtype, None)))
    rows, columns = given.shape[-2:]
    least: Dim = min(rows, columns) if isinstance(rows, int) and isinstance(columns, int) else None
    batch = given.shape[:-2]
    return TupleValue((array(dtype, (*batch, rows, least)), array(dtype, (*batch, least, columns))))


def _svd(call: BoundCall) -> Value:
    given = array_operand(call.argument("a")).type
    full = True if call.argument("full_matrices") is None else read.truth(call.argument("full_matrices"))
    wanted = True if call.argument("compute_uv") is None else read.truth(call.argument("compute_uv"))
    dtype = _worked(given.dtype)
    if wanted is None:
        return UNKNOWN
    if given.shape is None or len(given.shape) < 2:
        values = array(real_dtype(dtype), None)
        return TupleValue((array(dtype, None), values, array(dtype, None))) if wanted else values
    rows, columns = given.shape[-2:]
    least: Dim = min(rows, columns) if isinstance(rows, int) and isinstance(columns, int) else None
    batch = given.shape[:-2]
    values = array(real_dtype(dtype), (*batch, least))
    if not wanted:
        return values
    left: Dim = rows if full else (least if full is False else None)
    right: Dim = columns if full else (least if full is False else None)
    return TupleValue((array(dtype, (*batch, rows, left)), values, array(dtype, (*batch, right, columns))))


def _rank(call: BoundCall) -> Value:
    given = array_operand(call.argument("A")).type
    return array_result(INT64, None if given.shape is None else (given.shape[:-2] if len(given.shape) > 1 else ()))


def _slogdet(call: BoundCall) -> Value:
    given = array_operand(call.argument("a")).type
    _square("slogdet", given.shape)
    dtype = _worked(given.dtype)
    shape = None if given.shape is None else given.shape[:-2]
    return TupleValue((array_result(dtype, shape), array_result(real_dtype(dtype), shape)))


def _eigenvalues_any(call: BoundCall) -> Value:
    """`eigvals`: real or complex, depending on the values."""
    given = array_operand(call.argument("a")).type
    _square("eigvals", given.shape)
    return array(None, None if given.shape is None else given.shape[:-1])


def _eigen_any(call: BoundCall) -> Value:
    given = array_operand(call.argument("a")).type
    _square("eig", given.shape)
    return TupleValue((array(None, None if given.shape is None else given.shape[:-1]), array(None, given.shape)))


def _transformed(call: BoundCall) -> Value:
    """Fourier transforms that keep the shape; complex128 for float64 and integers (for float32 only before NumPy 2)."""
    given = array_operand(call.argument("a")).type
    dtype = COMPLEX128 if given.dtype in (FLOAT64, COMPLEX128) or given.dtype in INTEGER else None
    plain = all(read.is_none(call.argument(name)) for name in ("n", "s"))
    return array(dtype, given.shape if plain and given.shape != () else None)


def _quadrature(call: BoundCall) -> Value:
    """Gauss quadrature: the points and the weights."""
    count = read.integer(call.argument("deg"))
    return TupleValue((array(FLOAT64, (count,)), array(FLOAT64, (count,))))


_FOURIER: Final = ("fft", "ifft", "fft2", "ifft2", "fftn", "ifftn")
_QUADRATURES: Final = ("hermite.hermgauss", "hermite_e.hermegauss", "legendre.leggauss", "laguerre.laggauss")

RULES: Final[Mapping[str, OperationRule]] = {
    **{f"numpy.fft.{name}": _transformed for name in _FOURIER},
    **{f"numpy.polynomial.{name}": _quadrature for name in _QUADRATURES},
    "numpy.linalg.eig": _eigen_any,
    "numpy.linalg.eigvals": _eigenvalues_any,
    "numpy.matmul": _product,
    "numpy.dot": _dot,
    "numpy.ndarray.dot": _dot,
    "numpy.vdot": _vdot,
    "numpy.inner": _inner,
    "numpy.outer": _outer,
    "numpy.tensordot": _tensordot,
    "numpy.einsum": _einsum,
    "numpy.linalg.norm": _norm,
    "numpy.linalg.inv": _same,
    "numpy.linalg.cholesky": _same,
    "numpy.linalg.pinv": _pseudo_inverse,
    "numpy.linalg.det": _determinant,
    "numpy.linalg.eigvalsh": _eigenvalues,
    "numpy.linalg.eigh": _hermitian,
    "numpy.linalg.solve": _solve,
    "numpy.linalg.qr": _qr,
    "numpy.linalg.svd": _svd,
    "numpy.linalg.slogdet": _slogdet,
    "numpy.linalg.matrix_rank": _rank,
}
