"""Properties of the code of one function, computed once for all its contexts.

Computes: operations by number, the bindings of a variable, loops, the definitions inside; the parameters that the
body uses as containers or tests for their class. Needs: the IR only. Gives: `CodeTable`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from typing import Final, TypeVar

from terra_refactor.analysis.conditions import speaks_of_parameters
from terra_refactor.ir import ops
from terra_refactor.ir.function import Function
from terra_refactor.ir.ids import FunctionId, OpId
from terra_refactor.ir.index import CodeIndex
from terra_refactor.ir.ops import Op
from terra_refactor.ir.walk import block_results, operands, walk

_LOOPS: Final = (ops.For, ops.While, ops.Comprehension)


_Answer = TypeVar("_Answer")


def _of(functions: Set[FunctionId], known: Mapping[FunctionId, _Answer]) -> dict[FunctionId, _Answer]:
    return {function: answer for function, answer in known.items() if function in functions}


class CodeTable:
    """Cached facts about the code of functions."""

    def __init__(self) -> None:
        self._indexes: dict[FunctionId, CodeIndex] = {}
        self._iterated: dict[FunctionId, frozenset[str]] = {}
        self._loops: dict[FunctionId, tuple[tuple[OpId, OpId], ...]] = {}
        self._of_parameters: dict[tuple[FunctionId, OpId], bool] = {}
        self._discriminated: dict[FunctionId, frozenset[str]] = {}
        self._readers: dict[FunctionId, dict[OpId, tuple[Op, ...]]] = {}
        self._called: dict[FunctionId, frozenset[str]] = {}

    def take_over(self, earlier: CodeTable, functions: Iterable[FunctionId]) -> None:
        """Reuses the facts of an earlier analysis about functions with unchanged operations."""
        same = frozenset(functions)
        self._indexes = _of(same, earlier._indexes)
        self._iterated = _of(same, earlier._iterated)
        self._loops = _of(same, earlier._loops)
        self._discriminated = _of(same, earlier._discriminated)
        self._readers = _of(same, earlier._readers)
        self._called = _of(same, earlier._called)

    def index(self, function: Function) -> CodeIndex:
        """The index of a function's operations."""
        index = self._indexes.get(function.id)
        if index is None:
            index = self._indexes[function.id] = CodeIndex.of(function)
        return index

    def op(self, function: Function, number: OpId) -> Op | None:
        """The operation with that number (the refinement of conditions follows operands)."""
        index = self._indexes.get(function.id)
        return (index or self.index(function)).ops[number]

    def readers(self, function: Function, number: OpId) -> tuple[Op, ...]:
        """The operations that read a result, in order; for the result of a block, the operation that contains the block."""
        found = self._readers.get(function.id)
        if found is None:
            every: dict[OpId, list[Op]] = {}
            for op in walk(function.body):
                for read in (*operands(op), *(result for _, result in block_results(op))):
                    every.setdefault(read, []).append(op)
            found = self._readers[function.id] = {read: tuple(ops) for read, ops in every.items()}
        return found.get(number, ())

    def stored_in(self, function: Function, name: str) -> tuple[OpId, ...]:
        """All bindings of a variable in the function."""
        return tuple(op.value for op in self.index(function).stores.get(name, ()) if op.value is not None)

    def loops_of(self, function: Function) -> tuple[tuple[OpId, OpId], ...]:
        """The first and the last operation of each loop in the function."""
        spans = self._loops.get(function.id)
        if spans is None:
            index = self.index(function)
            loops = sorted((op for kind in _LOOPS for op in index.of_kind(kind)), key=lambda op: op.id)
            spans = self._loops[function.id] = tuple((op.id, max(inner.id for inner in walk((op,)))) for op in loops)
        return spans

    def names_called(self, function: Function) -> frozenset[str]:
        """The last parts of the names of all functions and classes that the function calls, as written."""
        found = self._called.get(function.id)
        if found is None:
            callees = (self.op(function, op.function) for op in self.index(function).of_kind(ops.Call))
            named = (op.name for op in callees if isinstance(op, ops.LoadName | ops.LoadAttribute))
            found = self._called[function.id] = frozenset(named)
        return found

    def definition_of(self, inner: FunctionId, function: Function) -> OpId | None:
        """The operation of a function that creates a function defined in it."""
        made = self.index(function).of_kind(ops.MakeFunction)
        return next((op.id for op in reversed(made) if op.function == inner), None)

    def is_about_parameters(self, function: Function, test: OpId) -> bool:
        """Whether a condition is computed from a parameter; cached for all contexts."""
        place = (function.id, test)
        known = self._of_parameters.get(place)
        if known is None:
            known = self._of_parameters[place] = speaks_of_parameters(self, function, test)
        return known

    def iterated_parameters(self, code: Function) -> frozenset[str]:
        """The parameters that the body iterates over, unpacks or indexes by a string key: containers of tensors rather
        than tensors.
        """
        known = self._iterated.get(code.id)
        if known is not None:
            return known
        found: set[str] = set()
        also: dict[str, str] = {}
        for op in self.index(code).ops:
            sources: tuple[OpId, ...] = ()
            if isinstance(op, ops.Comprehension | ops.For):
                sources = (op.iterable,)
            elif isinstance(op, ops.UnpackElement):
                sources = (op.source,)
            elif isinstance(op, ops.StoreName) and op.value is not None:
                renamed = self.op(code, op.value)
                if isinstance(renamed, ops.LoadName):
                    also[op.name] = renamed.name
            elif isinstance(op, ops.LoadItem | ops.StoreItem):
                key = self.op(code, op.index)
                if isinstance(key, ops.Literal) and isinstance(key.value, str):
                    sources = (op.object,)
            elif isinstance(op, ops.Call):
                function = self.op(code, op.function)
                if isinstance(function, ops.LoadName) and function.name in (
                    "zip",
                    "enumerate",
                    "list",
                    "tuple",
                    "len",
                    "sorted",
                ):
                    sources = tuple(argument.value for argument in op.arguments)
            for source in sources:
                made = self.op(code, source)
                if isinstance(made, ops.LoadName):
                    found.add(made.name)
        self._iterated[code.id] = frozenset(found | {also[name] for name in found if name in also})
        return self._iterated[code.id]

    def discriminated_parameters(self, code: Function) -> frozenset[str]:
        """The parameters whose class the body tests: it expects several classes, and a use as a tensor is evidence for one branch only."""
        known = self._discriminated.get(code.id)
        if known is not None:
            return known
        found: set[str] = set()
        for op in self.index(code).ops:
            if not isinstance(op, ops.Call) or not op.arguments:
                continue
            function, subject = self.op(code, op.function), self.op(code, op.arguments[0].value)
            if isinstance(function, ops.LoadName) and function.name in ("isinstance", "hasattr", "callable", "type"):
                if isinstance(subject, ops.LoadName):
                    found.add(subject.name)
        self._discriminated[code.id] = frozenset(found)
        return self._discriminated[code.id]
