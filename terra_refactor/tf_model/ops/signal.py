"""Rules for `tf.signal`: Fourier transforms, frames, windows. Gives: `RULES`. Source: `tf.signal`, TensorFlow 2.21."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from terra_refactor.domain.dim import Dim, add, ceil_divide, floor_divide, multiply, subtract
from terra_refactor.domain.dtype import COMPLEX64, COMPLEX128, FLOAT32, FLOAT64, DType
from terra_refactor.domain.shape import Shape
from terra_refactor.domain.value import Value
from terra_refactor.tf_model.arguments import integer, integers, is_none
from terra_refactor.tf_model.ops.conversion import operand
from terra_refactor.tf_model.ops.creation import tensor_dtype
from terra_refactor.tf_model.ops.results import argument, check_dtype, flag, primary, result, table
from terra_refactor.tf_model.spec import BoundCall, OperationRule

_TO_COMPLEX: Final[Mapping[DType, DType]] = {FLOAT32: COMPLEX64, FLOAT64: COMPLEX128}
_TO_REAL: Final[Mapping[DType, DType]] = {COMPLEX64: FLOAT32, COMPLEX128: FLOAT64}


def _transform(call: BoundCall) -> Value:
    data = primary(call)
    check_dtype(call, data.type.dtype, frozenset({COMPLEX64, COMPLEX128}), "input")
    return result(data.type.dtype, data.type.shape)


def _length(call: BoundCall) -> Dim | None:
    value = call.argument("fft_length")
    several = integers(value)
    return several[0] if several else integer(value)


def _real_transform(call: BoundCall) -> Value:
    data = primary(call)
    check_dtype(call, data.type.dtype, frozenset({FLOAT32, FLOAT64}), "input_tensor")
    dtype = None if data.type.dtype is None else _TO_COMPLEX.get(data.type.dtype)
    shape = data.type.shape
    if not shape:
        return result(dtype)
    size = shape[-1] if is_none(call.argument("fft_length")) else _length(call)
    return result(dtype, (*shape[:-1], size // 2 + 1 if isinstance(size, int) and size > 0 else None))


def _inverse_real_transform(call: BoundCall) -> Value:
    data = primary(call)
    check_dtype(call, data.type.dtype, frozenset({COMPLEX64, COMPLEX128}), "input_tensor")
    dtype = None if data.type.dtype is None else _TO_REAL.get(data.type.dtype)
    shape = data.type.shape
    if not shape:
        return result(dtype)
    if is_none(call.argument("fft_length")):
        size: Dim = max(0, 2 * (shape[-1] - 1)) if isinstance(shape[-1], int) else None
    else:
        size = _length(call)
    return result(dtype, (*shape[:-1], size))


def _same(call: BoundCall) -> Value:
    data = primary(call)
    return result(data.type.dtype, data.type.shape)


def _cosine(call: BoundCall) -> Value:
    data = primary(call)
    shape = data.type.shape
    size = call.argument("n")
    if shape and not is_none(size):
        return result(data.type.dtype, (*shape[:-1], integer(size)))
    return result(data.type.dtype, shape)


def _frames(size: Dim, length: Dim, step: Dim, pad: bool | None) -> Dim:
    if pad is None or (isinstance(step, int) and step <= 0):
        return None
    if pad:
        return ceil_divide(size, step)
    frames = add(floor_divide(subtract(size, length), step), 1)
    return max(0, frames) if isinstance(frames, int) else frames


def _frame(call: BoundCall) -> Value:
    data = operand(call.argument("signal"))
    shape = data.type.shape
    length, step, axis = (
        integer(call.argument("frame_length")),
        integer(call.argument("frame_step")),
        integer(call.argument("axis")),
    )
    if not shape or axis not in (-1, len(shape) - 1):
        return result(data.type.dtype)
    return result(
        data.type.dtype, (*shape[:-1], _frames(shape[-1], length, step, flag(call.argument("pad_end"), False)), length)
    )


def _stft(call: BoundCall) -> Value:
    data = operand(call.argument("signals"))
    shape: Shape = data.type.shape
    dtype = None if data.type.dtype is None else _TO_COMPLEX.get(data.type.dtype)
    length, step = integer(call.argument("frame_length")), integer(call.argument("frame_step"))
    given = argument(call, "fft_length")
    if given is not None:
        size = integer(given)
    else:
        size = 1 << (length - 1).bit_length() if isinstance(length, int) and length > 0 else None
    if not shape:
        return result(dtype)
    bins = size // 2 + 1 if isinstance(size, int) else None
    return result(dtype, (*shape[:-1], _frames(shape[-1], length, step, flag(call.argument("pad_end"), False)), bins))


def _inverse_stft(call: BoundCall) -> Value:
    data = operand(call.argument("stfts"))
    shape = data.type.shape
    dtype = None if data.type.dtype is None else _TO_REAL.get(data.type.dtype)
    length, step = integer(call.argument("frame_length")), integer(call.argument("frame_step"))
    if shape is None or len(shape) < 2:
        return result(dtype)
    return result(dtype, (*shape[:-2], add(multiply(subtract(shape[-2], 1), step), length)))


def _window(call: BoundCall) -> Value:
    wanted = call.argument("dtype")
    return result(FLOAT32 if is_none(wanted) else tensor_dtype(wanted), (integer(call.argument("window_length")),))


def _mel(call: BoundCall) -> Value:
    wanted = call.argument("dtype")
    shape = (integer(call.argument("num_spectrogram_bins")), integer(call.argument("num_mel_bins")))
    return result(FLOAT32 if is_none(wanted) else tensor_dtype(wanted), shape)


def _overlap(call: BoundCall) -> Value:
    data = operand(call.argument("signal"))
    shape = data.type.shape
    step = integer(call.argument("frame_step"))
    if shape is None or len(shape) < 2:
        return result(data.type.dtype)
    frames, length = shape[-2], shape[-1]
    return result(data.type.dtype, (*shape[:-2], add(multiply(subtract(frames, 1), step), length)))


RULES: Final[Mapping[str, OperationRule]] = table(
    {
        **{f"signal.{name}": _transform for name in ("fft", "fft2d", "fft3d", "ifft", "ifft2d", "ifft3d")},
        "signal.rfft": _real_transform,
        "signal.irfft": _inverse_real_transform,
        "signal.fftshift": _same,
        "signal.ifftshift": _same,
        "signal.dct": _cosine,
        "signal.idct": _same,
        "signal.frame": _frame,
        "signal.stft": _stft,
        "signal.inverse_stft": _inverse_stft,
        **{f"signal.{name}": _window for name in ("hann_window", "hamming_window", "vorbis_window", "kaiser_window")},
        "signal.linear_to_mel_weight_matrix": _mel,
        "signal.mfccs_from_log_mel_spectrograms": lambda call: result(
            operand(call.argument("log_mel_spectrograms")).type.dtype,
            operand(call.argument("log_mel_spectrograms")).type.shape,
        ),
        "signal.overlap_and_add": _overlap,
    }
)
