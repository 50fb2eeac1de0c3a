"""Answers of the analysis about the expressions of `arithmetic_table`, and whether they cover the real results.

Computes: one analysed module for each few thousand expressions. Gives: `Verdict`, `analysed`, `judged`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum

import arithmetic_table as table
from arithmetic_table import Answer

from terra_refactor.analysis.driver import AnalysisOptions, analyze_program
from terra_refactor.domain.value import (
    Bottom,
    Constant,
    FrozenList,
    PythonType,
    Reference,
    Scalar,
    SequenceValue,
    TensorKind,
    TensorValue,
    TupleValue,
    UnionValue,
    UnknownValue,
    Value,
)
from terra_refactor.ir.build.module import lower_module
from terra_refactor.ir.ops import StoreName
from terra_refactor.ir.program import Program
from terra_refactor.ir.walk import walk
from terra_refactor.syntax.parse import parse_module
from terra_refactor.syntax.source import source_from_text

_CHUNK = 4000

_TEXTS = ("nothing", "python_text", "tensor_string")
_NUMBERS = tuple(name for name in table.OPERANDS if name not in _TEXTS)

UNKNOWN: dict[str, tuple[str, tuple[str, ...]]] = {
    "unknown": ("outside.thing()", tuple(table.OPERANDS)),
    "unknown_json": (
        "json.load(open('c'))['x']",
        ("python_bool", "python_int", "python_float", "python_text", "nothing", "list_int", "list_mixed", "list_empty"),
    ),
    "unknown_int": ("int(input())", ("python_int", "python_large", "python_negative")),
    "unknown_float": ("float(input())", ("python_float",)),
    "unknown_array": ("", tuple(name for name in table.OPERANDS if name.startswith("array"))),
    "unknown_tensor": (
        "",
        tuple(name for name in _NUMBERS if name.startswith("tensor") and name != "tensor_bool"),
    ),
}
"""By name, an expression of which less is known, and the operands that it may be; for an empty expression, a parameter.

The assumption: an array of unknown rank has axes, and a tensor of unknown dtype contains numbers.
"""


def covered(expression: str, name: str) -> tuple[str, ...]:
    """The operands for all of which the answer to an expression with an unknown operand must hold."""
    operands = UNKNOWN[name][1]
    if "np." in expression:
        # NumPy has strings and None in object arrays
        operands = tuple(operand for operand in operands if operand not in _TEXTS)
    if ".astype(" in expression:
        operands = tuple(operand for operand in operands if "list" in operand or "array" in operand)
    if expression == f"{name} ** python_float":
        # the base of a power is assumed to be non-negative
        operands = tuple(operand for operand in operands if operand != "python_negative")
    return operands


class _NoImports:
    def resolve(self, importing_module: str, name: str, level: int) -> str | None:
        return None


class Verdict(Enum):
    """The verdict on an answer of the analysis, compared with the real one."""

    WRONG = "wrong"
    UNKNOWN = "unknown"
    PARTLY = "partly known"
    EXACT = "exact"
    FAILS = "fails, as told"
    OVERLOOKED = "fails, not told"


@dataclass(frozen=True)
class Told:
    """The answer of the analysis about one expression."""

    value: Value | None
    fails: bool


def analysed(expressions: Sequence[str], names: Iterable[str]) -> list[Told]:
    """The answer of the analysis about each expression; `names` are those of operands that they use."""
    found: list[Told] = []
    for start in range(0, len(expressions), _CHUNK):
        found += _analysed_module(expressions[start : start + _CHUNK], set(names))
    return found


def _analysed_module(expressions: Sequence[str], names: set[str]) -> list[Told]:
    known = {**table.OPERANDS, **table.ELEMENTS, **{name: text for name, (text, _) in UNKNOWN.items() if text}}
    head = ["import json", "import outside", "import numpy as np", "import tensorflow as tf"]
    head += [f"{name} = {known[name]}" for name in sorted(names & set(known)) if not name.startswith("made_")]
    head.append("def use(unknown_array: np.ndarray, unknown_tensor: tf.Tensor):")
    lines = [
        f"    result_{number} = {text}"
        if (symbol := _symbol_in_place(text)) is None
        else f"    result_{number} = {text.split()[0]}; result_{number} {symbol} {text.split()[2]}"
        for number, text in enumerate(expressions)
    ]
    inner = any(name.startswith("unknown") and name not in known for name in names)
    if not inner:
        lines = [line[4:] for line in lines]
        head = head[:-1]
    module = lower_module(parse_module(source_from_text("\n".join([*head, *lines, ""]), "m.py")), "m")
    program = Program({"m": module}, _NoImports())
    facts = analyze_program(program, AnalysisOptions())
    function = module.functions[1 if inner else 0]
    (context,) = facts.contexts_of(function.id)
    assert context.problem is None, context.problem
    failed = {function.span_of(fact.op).line for fact in context.failures}
    values: dict[str, Value | None] = {}
    for op in walk(function.body):
        if isinstance(op, StoreName):
            values[op.name] = context.value(op.value)
    return [
        Told(values.get(f"result_{number}"), len(head) + number + 1 in failed) for number in range(len(expressions))
    ]


def _symbol_in_place(text: str) -> str | None:
    parts = text.split()
    return parts[1] if len(parts) == 3 and parts[1] in table.IN_PLACE else None


# --- comparison -----------------------------------------------------------------------------------------------------------------


def judged(told: Told, answers: Sequence[Answer]) -> Verdict:
    """Whether the answer covers all of these real results."""
    results = [answer for answer in answers if answer[0] != "error"]
    if not results:
        return Verdict.FAILS if told.fails else Verdict.OVERLOOKED
    if told.fails or told.value is None or not all(covers(told.value, answer) for answer in results):
        return Verdict.WRONG
    if is_exact(told.value):
        return Verdict.EXACT
    return Verdict.UNKNOWN if isinstance(told.value, UnknownValue) else Verdict.PARTLY


_KINDS = {
    "tensor": (TensorKind.TENSOR,),
    "variable": (TensorKind.VARIABLE,),
    "array": (TensorKind.NDARRAY,),
    "scalar": (TensorKind.NUMPY_SCALAR,),
}


def covers(value: Value, answer: Answer) -> bool:
    """Whether an abstract value covers the real one."""
    kind = answer[0]
    match value:
        case Bottom():
            return False
        case UnknownValue():
            return value.may_be_tensor or kind not in ("tensor", "variable")
        case UnionValue(alternatives):
            return any(covers(member, answer) for member in alternatives)
        case TensorValue():
            # an array of unknown rank may be of rank 0, for which NumPy returns scalars
            kinds = ("array", "scalar") if value.kind is TensorKind.NDARRAY and value.type.shape is None else (kind,)
            if kind not in kinds or kind not in _KINDS or (len(kinds) == 1 and value.kind not in _KINDS[kind]):
                return False
            dtype, shape = answer[1:]
            sizes = value.type.shape
            return value.type.dtype in (None, dtype) and (
                sizes is None
                or (
                    len(sizes) == len(shape)
                    and all(not isinstance(ours, int) or ours == real for ours, real in zip(sizes, shape, strict=True))
                )
            )
        case Constant(content):
            return bool(answer == ("python", type(content).__name__, repr(content)))
        case Scalar(PythonType() as python_type):
            return kind == "python" and answer[1] == python_type.value
        case TupleValue(elements):
            return kind == "tuple" and _all_covered(elements, answer[1])
        case FrozenList(elements, element):
            if kind != "list":
                return False
            return (
                _all_covered(elements, answer[1])
                if elements is not None
                else all(element is None or covers(element, part) for part in answer[1])
            )
        case SequenceValue(element):
            return kind == "tuple" and all(covers(element, part) for part in answer[1])
        case Reference():
            return kind in ("list", "object")
        case _:
            return kind in ("object", "dtype")


def _all_covered(elements: Sequence[Value], answers: Sequence[Answer]) -> bool:
    return len(elements) == len(answers) and all(covers(a, b) for a, b in zip(elements, answers, strict=True))


def is_exact(value: Value) -> bool:
    """Whether type, dtype and shape are all known."""
    match value:
        case TensorValue():
            sizes = value.type.shape
            return value.type.dtype is not None and sizes is not None and all(size is not None for size in sizes)
        case TupleValue(elements) | FrozenList(elements):
            return elements is not None and all(is_exact(element) for element in elements)
        case Constant() | Scalar():
            return True
        case _:
            return False
