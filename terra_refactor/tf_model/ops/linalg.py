"""Rules for `tf.linalg`: products, contractions, decompositions, solvers, diagonals and norms.

Computes: shapes of batched matrix operations; dtypes as in TensorFlow (no promotion). Gives: `RULES`.
Source: `tf.linalg`, `tf.einsum`, `tf.tensordot`, TensorFlow 2.21. Approximates: diagonals other than the main one have unknown sizes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from terra_refactor.domain.dim import Dim, definitely_different, format_dim
from terra_refactor.domain.dtype import COMPLEX64, COMPLEX128, FLOAT32, FLOAT64, FLOATING, INT32, DType
from terra_refactor.domain.shape import Shape, format_shape, meet_shapes
from terra_refactor.domain.value import UNKNOWN, Constant, TupleValue, Value
from terra_refactor.tf_model.arguments import dtype_argument, elements, integer, integers, is_none, text
from terra_refactor.tf_model.ops.conversion import operand
from terra_refactor.tf_model.ops.math import agreed_dtype
from terra_refactor.tf_model.ops.results import argument, call_name, check_dtype, flag, primary, result, table
from terra_refactor.tf_model.shape_rules.broadcasting import broadcast_shapes
from terra_refactor.tf_model.shape_rules.einsum import einsum_shape, tensordot_shape
from terra_refactor.tf_model.shape_rules.matmul import matmul_shape
from terra_refactor.tf_model.shape_rules.reduction import reduced_shape
from terra_refactor.tf_model.spec import BoundCall, ErrorKind, OperationError, OperationRule

_MAGNITUDE: Final = {COMPLEX64: FLOAT32, COMPLEX128: FLOAT64}


def _transposed(call: BoundCall, side: str) -> bool | None:
    first, second = flag(call.argument(f"transpose_{side}"), False), flag(call.argument(f"adjoint_{side}"), False)
    if first is None or second is None:
        return None
    return first or second


def _matmul(call: BoundCall) -> Value:
    left, right = operand(call.argument("a")), operand(call.argument("b"))
    output_type = call.argument("output_type")
    dtype = (
        agreed_dtype(call, left, right, alone=False, names=("a", "b"))
        if is_none(output_type)
        else dtype_argument(output_type)
    )
    flip_left, flip_right = _transposed(call, "a"), _transposed(call, "b")
    if flip_left is None or flip_right is None:
        return result(dtype)
    shape = matmul_shape(
        left.type.shape,
        right.type.shape,
        transpose_left=flip_left,
        transpose_right=flip_right,
        what=call_name(call),
    )
    return result(dtype, shape)


def _matvec(call: BoundCall) -> Value:
    left, right = operand(call.argument("a")), operand(call.argument("b"))
    dtype = agreed_dtype(call, left, right, alone=False, names=("a", "b"))
    flip = (
        _transposed(call, "a") if call.argument("adjoint_a") is not None else flag(call.argument("transpose_a"), False)
    )
    vector = right.type.shape
    if vector is None or flip is None:
        return result(dtype)
    if not vector:
        raise OperationError(ErrorKind.RANK, "linalg.matvec: b is a number (shape ()), not a vector", ("b",))
    shape = matmul_shape(left.type.shape, (*vector, 1), transpose_left=flip, what=call_name(call))
    return result(dtype, None if shape is None else shape[:-1])


def _einsum(call: BoundCall) -> Value:
    equation = text(call.argument("equation"))
    operands = [operand(value) for value in call.extra_arguments]
    dtypes = {part.type.dtype for part in operands if part.is_tensor and part.type.dtype is not None}
    if len(dtypes) > 1:
        raise OperationError(ErrorKind.DTYPE, f"einsum: operands of dtypes {', '.join(sorted(dtypes))}", ("inputs",))
    dtype = next(iter(dtypes)) if dtypes else None
    if equation is None or call.incomplete or not operands:
        return result(dtype)
    return result(dtype, einsum_shape(equation, [part.type.shape if part.known else None for part in operands]))


def _tensordot(call: BoundCall) -> Value:
    left, right = operand(call.argument("a")), operand(call.argument("b"))
    dtype = agreed_dtype(call, left, right, alone=False, names=("a", "b"))
    axes = call.argument("axes")
    count = integer(axes)
    if isinstance(count, int):
        return result(dtype, tensordot_shape(left.type.shape, right.type.shape, count))
    pair = elements(axes)
    if pair is None or len(pair) != 2:
        return result(dtype)
    sides = []
    for side in pair:
        single = integer(side)
        several = (single,) if isinstance(single, int) else integers(side)
        if several is None or not all(isinstance(axis, int) for axis in several):
            return result(dtype)
        sides.append(tuple(axis for axis in several if isinstance(axis, int)))
    return result(dtype, tensordot_shape(left.type.shape, right.type.shape, (sides[0], sides[1])))


def _matrix(call: BoundCall, shape: Shape, name: str, *, square: bool = False) -> None:
    """Raises OperationError if a value has fewer than two axes, or (`square`) certainly is not square."""
    if shape is None:
        return
    if len(shape) < 2:
        raise OperationError(
            ErrorKind.RANK,
            f"{call_name(call)}: {name} has shape {format_shape(shape)}; a matrix has at least 2 axes",
            (name,),
        )
    if square and definitely_different(shape[-1], shape[-2]):
        raise OperationError(
            ErrorKind.SHAPE,
            f"{call_name(call)}: {name} of shape {format_shape(shape)} is not square (axis -2: {format_dim(shape[-2])}, axis -1: "
            f"{format_dim(shape[-1])})",
            (name,),
        )


def _square(call: BoundCall) -> Value:
    data = primary(call)
    _matrix(call, data.type.shape, "input", square=True)
    shape = data.type.shape
    if shape is not None:
        size = shape[-1] if shape[-2] is None else shape[-2]
        shape = (*shape[:-2], size, size)
    return result(data.type.dtype, shape)


def _determinant(call: BoundCall) -> Value:
    data = primary(call)
    _matrix(call, data.type.shape, "input", square=True)
    shape = None if data.type.shape is None else data.type.shape[:-2]
    dtype = data.type.dtype
    if call.name.endswith("slogdet"):
        real = _MAGNITUDE.get(dtype, dtype) if dtype is not None else None
        return TupleValue(
            (result(dtype, shape), result(real, shape)), "LogMatrixDeterminant", ("sign", "log_abs_determinant")
        )
    if call.name.endswith("logdet") and dtype is not None:
        dtype = _MAGNITUDE.get(dtype, dtype)
    return result(dtype, shape)


def _eigh(call: BoundCall) -> Value:
    data = primary(call)
    shape = data.type.shape
    _matrix(call, shape, "tensor", square=True)
    values: Shape = None
    if shape is not None:
        size = shape[-1] if shape[-2] is None else shape[-2]
        values, shape = (*shape[:-2], size), (*shape[:-2], size, size)
    dtype = data.type.dtype
    if call.name.endswith(("eig", "eigvals")) and dtype is not None:
        dtype = {FLOAT32: COMPLEX64, FLOAT64: COMPLEX128}.get(dtype, dtype)
    if call.name.endswith("vals") or call.name.endswith("valsh"):
        return result(dtype, values)
    return TupleValue((result(dtype, values), result(dtype, shape)))


def _smaller(rows: Dim, columns: Dim) -> Dim:
    if isinstance(rows, int) and isinstance(columns, int):
        return min(rows, columns)
    return rows if rows == columns else None


def _svd(call: BoundCall) -> Value:
    data = primary(call)
    shape = data.type.shape
    _matrix(call, shape, "tensor")
    vectors, full = flag(call.argument("compute_uv"), True), flag(call.argument("full_matrices"), False)
    dtype = data.type.dtype
    real = _MAGNITUDE.get(dtype, dtype) if dtype is not None else None
    if vectors is None:
        return UNKNOWN
    if shape is None or full is None:
        values = result(real)
        return values if vectors is False else TupleValue((values, result(dtype), result(dtype)))
    batch, rows, columns = shape[:-2], shape[-2], shape[-1]
    small = _smaller(rows, columns)
    values = result(real, (*batch, small))
    if not vectors:
        return values
    left = (*batch, rows, rows if full else small)
    right = (*batch, columns, columns if full else small)
    return TupleValue((values, result(dtype, left), result(dtype, right)))


def _qr(call: BoundCall) -> Value:
    data = primary(call)
    shape = data.type.shape
    _matrix(call, shape, "input")
    full = flag(call.argument("full_matrices"), False)
    if shape is None or full is None:
        return TupleValue((result(data.type.dtype), result(data.type.dtype)), "Qr", ("q", "r"))
    batch, rows, columns = shape[:-2], shape[-2], shape[-1]
    inner = rows if full else _smaller(rows, columns)
    return TupleValue(
        (result(data.type.dtype, (*batch, rows, inner)), result(data.type.dtype, (*batch, inner, columns))),
        "Qr",
        ("q", "r"),
    )


def _solve(call: BoundCall) -> Value:
    """A batch of square systems: triangular_solve, solve, cholesky_solve, lstsq."""
    name = "chol" if call.name.endswith("cholesky_solve") else "matrix"
    matrix, right = operand(call.argument(name)), operand(call.argument("rhs"))
    dtype = agreed_dtype(call, matrix, right, alone=False, names=(name, "rhs"))
    least_squares = call.name.endswith("lstsq")
    _matrix(call, matrix.type.shape, name, square=not least_squares)
    _matrix(call, right.type.shape, "rhs")
    same_rank = call.name.endswith(".solve")
    if same_rank and matrix.type.shape is not None and right.type.shape is None:
        return result(dtype, (*matrix.type.shape[:-2], matrix.type.shape[-1], None))
    if matrix.type.shape is None or right.type.shape is None or not right.known or not matrix.known:
        return result(dtype, right.type.shape if same_rank else None)
    if same_rank and len(matrix.type.shape) != len(right.type.shape):
        raise OperationError(
            ErrorKind.RANK,
            f"{call_name(call)}: {name} of shape {format_shape(matrix.type.shape)} and rhs of shape {format_shape(right.type.shape)} "
            "differ in rank",
            (name, "rhs"),
        )
    a, b = matrix.type.shape, right.type.shape
    if definitely_different(a[-2], b[-2]):
        raise OperationError(
            ErrorKind.SHAPE,
            f"{call_name(call)}: {name} of shape {format_shape(a)} and rhs of shape {format_shape(b)} differ in axis -2: "
            f"{format_dim(a[-2])} and {format_dim(b[-2])}",
            (name, "rhs"),
        )
    if call.name.endswith("triangular_solve"):
        batch = broadcast_shapes(a[:-2], b[:-2], call_name(call), (name, "rhs"))
    else:
        batch = meet_shapes(a[:-2], b[:-2]) if len(a) == len(b) else None
    if batch is None:
        return result(dtype)
    rows = a[-1] if least_squares else _known(b[-2], a[-2], a[-1])
    return result(dtype, (*batch, rows, b[-1]))


def _known(*sizes: Dim) -> Dim:
    return next((size for size in sizes if size is not None), None)


def _main_diagonal(call: BoundCall) -> bool:
    return call.argument("k") in (None, Constant(0))


def _diag(call: BoundCall) -> Value:
    data = operand(call.argument("diagonal"))
    shape = data.type.shape
    if shape is None:
        return result(data.type.dtype)
    if not shape:
        raise OperationError(ErrorKind.RANK, "linalg.diag: the diagonal is a number (shape ())", ("diagonal",))
    sized = any(call.argument(name) not in (None, Constant(-1)) for name in ("num_rows", "num_cols"))
    offset = call.argument("k")
    if sized or not isinstance(offset, Constant) or not isinstance(offset.value, int):
        return result(data.type.dtype, (*shape[:-1], None, None) if isinstance(offset, Constant) else None)
    size = shape[-1]
    if offset.value:
        size = size + abs(offset.value) if isinstance(size, int) else None
    return result(data.type.dtype, (*shape[:-1], size, size))


def _diag_part(call: BoundCall) -> Value:
    data = primary(call)
    shape = data.type.shape
    _matrix(call, shape, "input")
    if shape is None or not _main_diagonal(call):
        return result(data.type.dtype)
    return result(data.type.dtype, (*shape[:-2], _smaller(shape[-2], shape[-1])))


def _set_diag(call: BoundCall) -> Value:
    data, diagonal = operand(call.argument("input")), operand(call.argument("diagonal"))
    shape, given = data.type.shape, diagonal.type.shape
    _matrix(call, shape, "input")
    if shape is not None and given is not None and _main_diagonal(call):
        wanted = (*shape[:-2], _smaller(shape[-2], shape[-1]))
        if len(wanted) != len(given) or any(definitely_different(a, b) for a, b in zip(wanted, given, strict=True)):
            raise OperationError(
                ErrorKind.SHAPE,
                f"linalg.set_diag: the diagonal of shape {format_shape(given)} does not fit input of shape {format_shape(shape)} "
                f"(it needs {format_shape(wanted)})",
                ("input", "diagonal"),
            )
    return result(data.type.dtype, shape)


def _matrix_transpose(call: BoundCall) -> Value:
    data = operand(argument(call, "a", "matrix"))
    shape = data.type.shape
    _matrix(call, shape, "a")
    return result(data.type.dtype, None if shape is None else (*shape[:-2], shape[-1], shape[-2]))


def _band_part(call: BoundCall) -> Value:
    data = primary(call)
    _matrix(call, data.type.shape, "input")
    return result(data.type.dtype, data.type.shape)


def _trace(call: BoundCall) -> Value:
    data = primary(call)
    _matrix(call, data.type.shape, "x")
    return result(data.type.dtype, None if data.type.shape is None else data.type.shape[:-2])


def _cross(call: BoundCall) -> Value:
    left, right = operand(call.argument("a")), operand(call.argument("b"))
    return result(
        agreed_dtype(call, left, right, alone=False, names=("a", "b")), meet_shapes(left.type.shape, right.type.shape)
    )


def _tensor_diag(call: BoundCall) -> Value:
    data = operand(call.argument("diagonal"))
    return result(data.type.dtype, None if data.type.shape is None else (*data.type.shape, *data.type.shape))


def _tensor_diag_part(call: BoundCall) -> Value:
    data = primary(call)
    shape = data.type.shape
    return result(data.type.dtype, None if shape is None else shape[: len(shape) // 2])


def _norm(call: BoundCall) -> Value:
    data = primary(call)
    dtype = data.type.dtype
    if data.is_tensor:
        check_dtype(call, dtype, FLOATING | {COMPLEX64, COMPLEX128}, "tensor")
    if dtype is not None:
        dtype = _MAGNITUDE.get(dtype, dtype)
    axis = argument(call, "axis")
    keepdims = flag(argument(call, "keepdims", "keep_dims"), False)
    shape = data.type.shape
    if axis is None:
        return result(dtype, reduced_shape(shape, None, keepdims, everything=True))
    single = integer(axis)
    several = (single,) if isinstance(single, int) else integers(axis)
    if shape is None or several is None or not all(isinstance(item, int) for item in several):
        return result(dtype)
    known = [item for item in several if isinstance(item, int)]
    if any(not -len(shape) <= item < len(shape) for item in known):
        raise OperationError(
            ErrorKind.RANK, f"norm: axis {known} does not exist in shape {format_shape(shape)}", ("axis",)
        )
    return result(dtype, reduced_shape(shape, tuple(item % len(shape) for item in known), keepdims))


def _normalize(call: BoundCall) -> Value:
    data = primary(call)
    shape = data.type.shape
    axis = argument(call, "axis")
    norm: Shape = None
    if shape is not None:
        single = integer(axis)
        several = (single,) if isinstance(single, int) else integers(axis)
        if axis is None:
            norm = (1,) * len(shape)
        elif several is not None and all(
            isinstance(item, int) and -len(shape) <= item < len(shape) for item in several
        ):
            positions = {item % len(shape) for item in several if isinstance(item, int)}
            norm = tuple(1 if position in positions else size for position, size in enumerate(shape))
    dtype: DType | None = data.type.dtype
    return TupleValue((result(dtype, shape), result(dtype, norm)))


def _pinv(call: BoundCall) -> Value:
    data = primary(call)
    shape = data.type.shape
    return result(data.type.dtype, None if shape is None or len(shape) < 2 else (*shape[:-2], shape[-1], shape[-2]))


def _lu(call: BoundCall) -> Value:
    data = primary(call)
    shape = data.type.shape
    _matrix(call, shape, "input", square=True)
    return TupleValue(
        (result(data.type.dtype, shape), result(INT32, None if shape is None else shape[:-1])), "Lu", ("lu", "p")
    )


def _tridiagonal_solve(call: BoundCall) -> Value:
    right = operand(call.argument("rhs"))
    return result(right.type.dtype, right.type.shape)


def _matrix_rank(call: BoundCall) -> Value:
    shape = primary(call).type.shape
    return result(INT32, None if shape is None or len(shape) < 2 else shape[:-2])


RULES: Final[Mapping[str, OperationRule]] = table(
    {
        "linalg.matmul": _matmul,
        "linalg.matvec": _matvec,
        "einsum": _einsum,
        "tensordot": _tensordot,
        **{f"linalg.{name}": _square for name in ("cholesky", "inv", "expm", "sqrtm", "logm")},
        **{f"linalg.{name}": _determinant for name in ("det", "logdet", "slogdet")},
        **{f"linalg.{name}": _eigh for name in ("eigh", "eigvalsh", "eig", "eigvals")},
        "linalg.svd": _svd,
        "linalg.qr": _qr,
        **{f"linalg.{name}": _solve for name in ("triangular_solve", "solve", "cholesky_solve", "lstsq")},
        "linalg.diag": _diag,
        "linalg.diag_part": _diag_part,
        "linalg.set_diag": _set_diag,
        "linalg.matrix_transpose": _matrix_transpose,
        "linalg.adjoint": _matrix_transpose,
        "linalg.band_part": _band_part,
        "linalg.trace": _trace,
        "linalg.cross": _cross,
        "linalg.tensor_diag": _tensor_diag,
        "linalg.tensor_diag_part": _tensor_diag_part,
        "norm": _norm,
        "linalg.normalize": _normalize,
        "linalg.pinv": _pinv,
        "linalg.lu": _lu,
        "linalg.tridiagonal_solve": _tridiagonal_solve,
        "linalg.banded_triangular_solve": _tridiagonal_solve,
        "linalg.tridiagonal_matmul": _tridiagonal_solve,
        "linalg.matrix_rank": _matrix_rank,
    }
)
