"""Operands and expressions of Python's and NumPy's arithmetic, and their real results.

Computes: for each expression the kind, dtype and shape of its result, or that it raises. Needs: NumPy; TensorFlow
only for expressions with it. Gives: `pairs`, `calls`, `Evaluator`, and, run as a program under two versions of NumPy
one after the other, the different results of the second: `python2 arithmetic_table.py < /dev/null | python1
arithmetic_table.py > numpy_1_answers.json`.
"""

from __future__ import annotations

import copy
import itertools
import json
import operator
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import numpy as np

ARRAY_DTYPES = (
    "bool",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint32",
    "float16",
    "float32",
    "float64",
    "complex64",
)
SCALARS = ("bool_", "int8", "int32", "int64", "uint8", "float16", "float32", "float64", "complex64")
TENSOR_DTYPES = (
    "bool",
    "int8",
    "int32",
    "int64",
    "uint8",
    "float16",
    "bfloat16",
    "float32",
    "float64",
    "complex64",
)

PYTHON = {
    "python_bool": "True",
    "python_int": "3",
    "python_large": "300",
    "python_negative": "-3",
    "python_float": "2.5",
    "python_complex": "1j",
    "python_text": "'a'",
    "nothing": "None",
}
LISTS = {
    "list_int": "[1, 2]",
    "list_float": "[1.5, 2.5]",
    "list_bool": "[True, False]",
    "list_mixed": "[1, 2.5]",
    "list_int64": "[np.int64(1), np.int64(2)]",
    "list_float32": "[np.float32(1), np.float32(2)]",
    "list_empty": "[]",
    "tuple_int": "(1, 2)",
    "tuple_float": "(1.5, 2.5)",
}
NUMPY = {
    **{f"scalar_{name}": f"np.{name}(1)" for name in SCALARS},
    "scalar_wide": "np.int64(300)",
    **{f"zero_{name}": f"np.array(1, '{name}')" for name in ("int32", "int64", "float32", "float64")},
    **{f"array_{name}": f"np.ones([2], '{name}')" for name in ARRAY_DTYPES},
}
TENSORS = {
    **{f"tensor_{name}": f"tf.ones([2], '{name}')" for name in TENSOR_DTYPES},
    "tensor_string": "tf.constant(['a', 'b'])",
    "tensor_number": "tf.constant(2.0)",
    **{
        f"variable_{name}": f"tf.Variable(np.ones([2], '{name}'))"
        for name in ("bool", "int32", "int64", "float32", "float64")
    },
}
OPERANDS = {**PYTHON, **LISTS, **NUMPY, **TENSORS}
"""By name, the expression for a concrete operand."""

OBJECTS = ("nothing", "python_text", "texts", "tensor_string")
"""The elements of NumPy arrays of objects and of strings."""

ELEMENTS = {
    "range_": "range(3)",
    "nested": "[[1, 2], [3, 4]]",
    "rows": "[np.ones([2], 'float32'), np.ones([2], 'float32')]",
    "rows_double": "[np.ones([2]), np.ones([2])]",
    "rows_int64": "(np.ones([2], 'int64'), np.ones([2], 'int64'))",
    "rows_bool": "[np.ones([2], 'bool')]",
    "number_and_scalar": "[1, np.int64(2)]",
    "number_and_double": "[1.5, np.float64(2)]",
    "float_and_scalar": "[np.float32(1), 2.5]",
    "scalar_and_float": "[2.5, np.float32(1)]",
    "scalars_mixed": "[np.float32(1), np.float64(2)]",
    "scalars_integers": "[np.int32(1), np.int64(2)]",
    "scalars_apart": "[np.int32(1), np.float32(2)]",
    "scalars_bool": "[np.bool_(True), np.bool_(False)]",
    "scalars_uint8": "[np.uint8(1), np.uint8(2)]",
    "scalars_half": "(np.float16(1), np.float16(2))",
    "doubles": "[np.mean([1.0, 2.0]), np.float64(3)]",
    "arguments": "[np.argmax(row) for row in np.ones([3, 2])]",
    "sizes": "[2**40, 1]",
    "nested_scalars": "[[np.float64(1)], [np.float64(2)]]",
    "nested_mixed": "[[np.int64(1), 2], [3, 4]]",
    "tensors": "[tf.ones([2], tf.float64), tf.ones([2], tf.float64)]",
    "tensor_and_number": "[tf.constant(1.0, tf.float64), 2.0]",
    "tensor_and_array": "[np.ones([2], 'float64'), tf.ones([2], tf.float32)]",
    "scalar_tensors": "[tf.constant(1), tf.constant(2)]",
    "variables": "[tf.Variable([1.0, 2.0]), tf.Variable([1.0, 2.0])]",
    "matrix_bool": "np.ones([2, 3], 'bool')",
    "matrix_float32": "np.ones([2, 3], 'float32')",
    "matrix_int32": "np.ones([2, 3], 'int32')",
    "compared": "(np.ones([3]) == np.zeros([3]))",
    "made_bool": "(value > 0 for value in np.ones([3], 'int32'))",
    "made_float": "(value * 2.0 for value in [1.0, 2.0])",
    "texts": "['a', 'b']",
}
"""Further operands for functions of one operand."""

ARITHMETIC = ("+", "-", "*", "/", "//", "%", "**", "@", "&", "|", "^", "<<", ">>")
COMPARISONS = ("<", "<=", ">", ">=", "==", "!=")
IN_PLACE = tuple(f"{symbol}=" for symbol in ARITHMETIC)
CHANGED = (
    *(f"array_{name}" for name in ("bool", "uint8", "int32", "int64", "float32", "float64")),
    "zero_float32",
    "scalar_float32",
    "scalar_int64",
    "list_int",
    "tuple_int",
    "python_int",
    "tensor_int32",
    "variable_float32",
)
"""The left side of an in-place operator."""
ALIKE = frozenset({"|", "^", ">>", ">"})
"""Operators (also with a following `=`) that are handled like another one."""
UNARY = ("-{}", "+{}", "~{}", "not {}")

_FUNCTIONS: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "**": operator.pow,
    "@": operator.matmul,
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
    "<<": operator.lshift,
    ">>": operator.rshift,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
    "+=": operator.iadd,
    "-=": operator.isub,
    "*=": operator.imul,
    "/=": operator.itruediv,
    "//=": operator.ifloordiv,
    "%=": operator.imod,
    "**=": operator.ipow,
    "@=": operator.imatmul,
    "&=": operator.iand,
    "|=": operator.ior,
    "^=": operator.ixor,
    "<<=": operator.ilshift,
    ">>=": operator.irshift,
}

FUNCTIONS = (
    "sum prod mean std var max min cumsum cumprod all any argmax count_nonzero median average ptp "
    "exp sqrt square sign abs negative floor ceil round rint reciprocal array asarray zeros_like ones_like "
    "float32 float64 int64 int32 isnan logical_not conjugate diff sort unique stack concatenate"
)
EXPRESSIONS = (
    *UNARY,
    "sum({})",
    "sum({}, 0.5)",
    "sum({}) / len({})",
    "min({})",
    "max({})",
    "min({}, 2)",
    "max(0.5, {})",
    "round({})",
    "round({}, 1)",
    "abs({})",
    "divmod({}, 2)",
    "pow({}, 2)",
    "int({})",
    "float({})",
    "bool({})",
    "len({})",
    "sorted({})",
    "{}[0]",
    "1 / len({})",
    "sum(value for value in {}) / 2",
    *(f"np.{name}({{}})" for name in FUNCTIONS.split()),
    "np.mean({}) * 0.5",
    "np.sum({}) / 2",
    "np.add({}, 1)",
    "np.multiply({}, 2.5)",
    "np.divide({}, np.float64(2))",
    "np.power({}, 2)",
    "np.maximum({}, 0)",
    "np.where({}, 1, 2.5)",
    "np.where([True, False], {}, 0)",
    "np.clip({}, 0, 1)",
    "np.array({}, np.float32)",
    "np.array({}).astype(np.float32) / 255.0",
    "np.array({}).astype('uint8') + 1",
    "np.array({}).dtype == np.float32",
    "np.array({}).dtype == 'float32'",
    "np.array({}) * np.float32(2)",
    "np.array({}) * np.sqrt(2)",
    "isinstance({}, float)",
    "isinstance({}, int)",
    "isinstance({}, bool)",
    "isinstance({}, np.ndarray)",
    "isinstance({}, np.floating)",
    "isinstance({}, (int, float))",
    "isinstance({}, (list, tuple))",
    "tf.convert_to_tensor({})",
    "tf.constant({})",
    "tf.Variable({})",
    "tf.stack({})",
    "tf.concat({}, 0)",
    "tf.cast({}, tf.float16)",
    "tf.convert_to_tensor({}, tf.float32)",
    "tf.convert_to_tensor({}, tf.int64)",
    "tf.constant({}, tf.float64)",
    "tf.reduce_sum({})",
    "tf.reduce_mean({})",
    "tf.zeros_like({})",
    "tf.shape({})",
    "tf.expand_dims({}, 0)",
    "tf.convert_to_tensor({}).dtype == tf.float32",
    "tf.convert_to_tensor({}).dtype == 'float32'",
    "tf.convert_to_tensor({}).dtype == np.float32",
    "tf.convert_to_tensor({}).dtype != tf.int32",
    "isinstance({}, tf.Tensor)",
    "isinstance({}, tf.Variable)",
    "tf.is_tensor({})",
)
"""Expressions of one operand."""


def names_tensorflow(expression: str) -> bool:
    """Whether TensorFlow is used in an expression."""
    return "tf." in expression


def pairs(share: int = 1) -> Iterator[tuple[str, str, str]]:
    """The operators with the names of their operands; of similar operators, all but one only with every fourth pair.

    Of the others, one in `share` combinations, distributed so that each operator meets each operand on both sides, and
    each two operands meet with one in `share` operators.
    """
    for number, symbol in enumerate((*ARITHMETIC, *COMPARISONS, *IN_PLACE)):
        lefts = CHANGED if symbol in IN_PLACE else OPERANDS
        every = itertools.product(enumerate(lefts), enumerate(OPERANDS))
        alike = symbol.removesuffix("=") in ALIKE
        for (row, left), (column, right) in itertools.islice(every, 0, None, 4 if alike else 1):
            if alike or (number + row + column) % share == 0:
                yield symbol, left, right


def calls() -> Iterator[tuple[str, str]]:
    """The expressions of one operand with the name of the operand."""
    for expression in EXPRESSIONS:
        for name in (*OPERANDS, *ELEMENTS):
            if name == "list_empty" and "/ len" in expression:
                continue  # a division by zero ends the process
            if "np." in expression and name in OBJECTS:
                continue
            if name.startswith("made_") and not expression.startswith("sum("):
                continue
            yield expression, name


Answer: TypeAlias = tuple[Any, ...]
"""The compared part of a result: its kind and type, the values of Python numbers, the elements of containers."""


def describe(found: Any) -> Answer:
    """The compared part of a result."""
    match found:
        case np.ndarray():
            return ("array", _dtype(found), found.shape)
        case np.generic():
            return ("scalar", _dtype(found), ())
        case bool() | int() | float() | complex() | str() | None:
            return ("python", type(found).__name__, repr(found))
        case list() | tuple():
            return (type(found).__name__, tuple(describe(item) for item in found))
    name = type(found).__name__
    if hasattr(found, "shape") and hasattr(getattr(found, "dtype", None), "as_numpy_dtype"):
        return ("variable" if "Variable" in name else "tensor", found.dtype.name, tuple(found.shape))
    return ("object", name)


def _dtype(found: Any) -> str:
    return "string" if found.dtype.kind in "SU" else str(found.dtype.name)


def _evaluated(make: Callable[[], Any]) -> Answer:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return describe(make())
        except Exception as error:  # any exception counts as a failure
            return ("error", type(error).__name__)


class Evaluator:
    """Evaluates expressions in this process."""

    def __init__(self, tensorflow: Any = None) -> None:
        self._names = {"np": np, "tf": tensorflow}
        self._has_tensorflow = tensorflow is not None
        self._made: dict[str, Any] = {}
        self._code: dict[str, Any] = {}

    def operand(self, name: str, *, fresh: bool = False) -> Any:
        """An operand; a new one if it may be changed."""
        if name not in self._made:
            self._made[name] = eval((OPERANDS | ELEMENTS)[name], dict(self._names))
        found = self._made[name]
        return copy.copy(found) if fresh and isinstance(found, list | np.ndarray) else found

    def pair(self, symbol: str, left: str, right: str) -> Answer:
        """The answer of an operator."""
        first, second = self.operand(left, fresh=symbol.endswith("=")), self.operand(right)
        return _evaluated(lambda: _FUNCTIONS[symbol](first, second))

    def call(self, expression: str, name: str) -> Answer:
        """The answer of an expression."""
        if name.startswith("made_"):
            return _evaluated(lambda: eval(expression.format((OPERANDS | ELEMENTS)[name]), dict(self._names)))
        code = self._code.setdefault(expression, compile(expression.replace("{}", "it"), expression, "eval"))
        return _evaluated(lambda: eval(code, {**self._names, "it": self.operand(name)}))


def numpy_answers() -> dict[str, Answer]:
    """The answers of the installed NumPy to all expressions without TensorFlow."""
    evaluator = Evaluator()
    found = {
        f"{left} {symbol} {right}": evaluator.pair(symbol, left, right)
        for symbol, left, right in pairs()
        if not (left in TENSORS or right in TENSORS)
    }
    known = OPERANDS | ELEMENTS
    for expression, name in calls():
        if not names_tensorflow(expression) and not names_tensorflow(known[name]):
            found[f"{expression} {name}"] = evaluator.call(expression, name)
    return found


def main() -> None:
    """Reads the answers of one NumPy, if any, and prints the different ones of this NumPy, by answer."""
    given = sys.stdin.read()
    others = {key: answer for answer, keys in json.loads(given).items() for key in keys} if given else {}
    by_answer: dict[str, list[str]] = {}
    for key, answer in numpy_answers().items():
        if others.get(key) != repr(answer) and (not given or answer[0] != "error"):
            by_answer.setdefault(repr(answer), []).append(key)
    json.dump(by_answer, sys.stdout, sort_keys=True, separators=(",", ":"))


if __name__ == "__main__":
    main()
