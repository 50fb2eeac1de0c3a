"""Operations with their shape rule filled in: inputs and output of a call or an operator.

Computes: text of one operation in each context. Needs: a snapshot. Gives: `call_text`, `operator_text`, `callers_of`.

    matmul: (4, 128) × (128, 10) → (4, 10) · float32
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from terra_refactor.analysis.facts import ContextFacts
from terra_refactor.domain.shape import format_shape
from terra_refactor.domain.value import Constant, Scalar, TensorKind, TensorValue, Value
from terra_refactor.ide.names import fenced
from terra_refactor.ide.snapshot import Snapshot
from terra_refactor.ide.values import full_text, tensor_text
from terra_refactor.ir import ops
from terra_refactor.ir.function import Function
from terra_refactor.ir.ids import OpId
from terra_refactor.ir.walk import walk

_MOST_ROWS = 4
_LONGEST_ARGUMENT = 24
_PRODUCTS = ("matmul", "dot", "batch_dot", "einsum", "tensordot")
"""Operations that are usually written with a multiplication sign between the shapes."""


def callers_of(function: Function) -> Mapping[OpId, ops.Call]:
    """The call operation of each called operation."""
    return {op.function: op for op in walk(function.body) if isinstance(op, ops.Call) and op.decorates is None}


def call_text(snapshot: Snapshot, contexts: tuple[ContextFacts, ...], call: ops.Call, name: str) -> str | None:
    """A call in each context that reaches it; None if neither its arguments nor its result are informative."""
    rows: dict[str, None] = {}
    for context in contexts:
        arguments = [(argument.keyword, context.values[argument.value]) for argument in call.arguments]
        row = _row(snapshot, name, arguments, context.values[call.id])
        if row is not None:
            rows[row] = None
    return _rows(rows)


def operator_text(snapshot: Snapshot, contexts: tuple[ContextFacts, ...], op: ops.Binary | ops.Compare) -> str | None:
    """`(2, 3) + (3,) → (2, 3)`, in each context."""
    rows: dict[str, None] = {}
    for context in contexts:
        left, right, result = context.values[op.left], context.values[op.right], context.values[op.id]
        if result is None or left is None or right is None or tensor_text(snapshot, [result]) is None:
            continue
        dtype = _common_dtype([left, right, result])
        sides = [_argument(snapshot, side, dtype) or "?" for side in (left, right)]
        rows[f"{sides[0]} {op.operator} {sides[1]} → {_result(snapshot, result, dtype)}"] = None
    return _rows(rows)


def _rows(rows: Mapping[str, None]) -> str | None:
    if not rows:
        return None
    told = [row for row in rows if not _says_nothing(row)] or list(rows)
    more = f"\n… and {len(told) - _MOST_ROWS} more" if len(told) > _MOST_ROWS else ""
    return fenced("\n".join(told[:_MOST_ROWS]) + more)


def _says_nothing(row: str) -> bool:
    """Whether a row has no shape of the result, for example because it is the call with unknown arguments."""
    result = row.rpartition("→ ")[2]
    return result == "?" or result.startswith("(...)")


def _row(
    snapshot: Snapshot, name: str, arguments: list[tuple[str | None, Value | None]], result: Value | None
) -> str | None:
    shown = None if result is None else tensor_text(snapshot, [result])
    tensors = [value for _, value in arguments if value is not None and tensor_text(snapshot, [value]) is not None]
    if shown is None and not tensors:
        return None
    dtype = _common_dtype([*tensors, *([result] if result is not None and shown is not None else [])])
    parts: list[str] = []
    others: list[str] = []
    for keyword, value in arguments:
        text = None if value is None else _argument(snapshot, value, dtype)
        if value is not None and tensor_text(snapshot, [value]) is not None and text is not None:
            parts.append(text)
        elif keyword is not None and text is not None:
            others.append(f"{keyword}={text}")
        elif keyword is None:
            parts.append(text or "?")
    separator = " × " if name in _PRODUCTS and len(parts) == 2 else ", "
    given = " ".join(filter(None, [separator.join(parts), f"[{', '.join(others)}]" if others else "", "→"]))
    return f"{name}: {given} {'?' if result is None else _result(snapshot, result, dtype)}"


def _result(snapshot: Snapshot, value: Value, dtype: str | None) -> str:
    text = _argument(snapshot, value, dtype) or "?"
    return text if dtype is None else f"{text} · {dtype}"


def _common_dtype(values: list[Value]) -> str | None:
    """The common dtype of all dense tensors among the values, to be named once."""
    found = {
        str(value.type.dtype) for value in values if isinstance(value, TensorValue) and value.type.dtype is not None
    }
    plain = all(isinstance(value, TensorValue) and value.type.dtype is not None for value in values)
    return found.pop() if len(found) == 1 and plain else None


def _argument(snapshot: Snapshot, value: Value, dtype: str | None) -> str | None:
    match value:
        case TensorValue(type, kind):
            prefix = "" if kind in (TensorKind.TENSOR, TensorKind.KERAS) else f"{kind.value} "
            return prefix + (format_shape(type.shape) if dtype is not None else str(type))
        case Constant() | Scalar():
            return _short(full_text(snapshot, value))
        case _:
            text = tensor_text(snapshot, [value])
            if text is None:
                text = full_text(snapshot, value)
                return text if len(text) <= _LONGEST_ARGUMENT and "<" not in text and text != "unknown" else None
            return text


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST_ARGUMENT else text[: _LONGEST_ARGUMENT - 1] + "…"


def reached(contexts: tuple[ContextFacts, ...], op: OpId) -> Iterator[Value]:
    """The values of an operation in the contexts that reach it."""
    for context in contexts:
        value = context.values[op]
        if value is not None:
            yield value
