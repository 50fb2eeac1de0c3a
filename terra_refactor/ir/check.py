"""Checks the invariants of a lowered module.

Computes: nothing. Needs: a `ModuleIR`. Gives: `check_module`, one sentence for each violation. The tests run it on everything that is
lowered; it is not part of an analysis.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from terra_refactor.ir.build.expressions import BINARY_OPERATORS, COMPARISON_OPERATORS, UNARY_OPERATORS
from terra_refactor.ir.function import Function, FunctionKind, ParameterKind
from terra_refactor.ir.ids import OpId, numbers_of
from terra_refactor.ir.ops import (
    Binary,
    Block,
    Break,
    Call,
    CollectElement,
    Compare,
    Comprehension,
    ComprehensionKind,
    Continue,
    DeleteName,
    For,
    If,
    LoadName,
    MakeClass,
    MakeFunction,
    NextItem,
    Op,
    Return,
    Scope,
    ShortCircuit,
    Spread,
    StoreName,
    Try,
    Unary,
    UnpackElement,
    While,
    With,
    Yield,
    YieldFrom,
)
from terra_refactor.ir.program import ModuleIR
from terra_refactor.ir.walk import block_results, operands, walk
from terra_refactor.syntax.deep_stack import call_with_deep_stack

_ALL_BINARY = frozenset(BINARY_OPERATORS.values())
_ALL_COMPARISONS = frozenset(COMPARISON_OPERATORS.values())
_ALL_UNARY = frozenset(UNARY_OPERATORS.values())
_PARAMETER_ORDER = list(ParameterKind)


def check_module(module: ModuleIR) -> tuple[str, ...]:
    """Violations in the module's IR, one sentence each."""
    problems: list[str] = []
    expected = (0, *numbers_of([function.qualname for function in module.functions[1:]]))
    for index, function in zip(expected, module.functions, strict=True):
        if function.id.index != index or function.id.module != module.name:
            problems.append(f"{function.qualname} of {module.name} has the number of {function.id}")
    problems.extend(_check_family(module))
    for function in module.functions:
        problems.extend(f"{function.id} {function.qualname}: {problem}" for problem in check_function(function))
    return tuple(problems)


def check_function(function: Function) -> tuple[str, ...]:
    """Violations within one function."""
    problems = [*_check_numbers(function), *_check_variables(function), *_check_parameters(function)]
    for op in walk(function.body):
        problems.extend(f"%{op.id} {type(op).__name__} {problem}" for problem in _check_op(op, function))
    scan = _BlockScan(problems)
    call_with_deep_stack(lambda: scan.block(function.body, set()))
    if function.is_generator != scan.has_yield:
        problems.append(f"is_generator is {function.is_generator}, but that it yields is {scan.has_yield}")
    return tuple(problems)


# --- the functions of a module -----------------------------------------------------------------------------------------------


def _check_family(module: ModuleIR) -> Iterator[str]:
    """Checks parents and children: the definer of each function, its kind, and its variables."""
    by_id = {function.id: function for function in module.functions}
    makers: Counter[object] = Counter()
    captured: dict[object, set[str]] = {}
    for function in module.functions:
        for op in walk(function.body):
            if isinstance(op, MakeFunction | MakeClass):
                made = by_id.get(op.function if isinstance(op, MakeFunction) else op.body)
                if made is None:
                    yield f"{function.id} %{op.id} creates a function that the module lacks"
                    continue
                makers[made.id] += 1
                if made.parent != function.id:
                    yield f"{made.id} is created by {function.id}, but its parent is {made.parent}"
                if isinstance(op, MakeClass) != (made.kind is FunctionKind.CLASS_BODY):
                    yield f"{made.id} is a {made.kind.value}, but created by {type(op).__name__}"
                if isinstance(op, MakeFunction):
                    defaults = {name for name, _ in op.defaults}
                    if defaults != {parameter.name for parameter in made.parameters if parameter.has_default}:
                        yield f"{made.id}: the defaults of its parameters are not those of its MakeFunction"
    for function in module.functions:
        if function.parent is None:
            if function.kind is not FunctionKind.MODULE or function.id.index != 0:
                yield f"{function.id} has no parent"
            if function.frees:
                yield f"{function.id} is a module body with free variables"
            continue
        parent = by_id[function.parent]
        if makers[function.id] != 1:
            yield f"{function.id} is created {makers[function.id]} times"
        expected = {FunctionKind.MODULE: FunctionKind.FUNCTION, FunctionKind.CLASS_BODY: FunctionKind.METHOD}
        if function.kind in {FunctionKind.FUNCTION, FunctionKind.METHOD, FunctionKind.NESTED}:
            if function.kind is not expected.get(parent.kind, FunctionKind.NESTED):
                yield f"{function.id} is a {function.kind.value} in a {parent.kind.value}"
        missing = set(function.frees) - set(parent.cells) - set(parent.frees)
        if missing:
            yield f"{function.id}: its parent has no variable {', '.join(sorted(missing))}"
        captured.setdefault(parent.id, set()).update(function.frees)
    for function in module.functions:
        unused = set(function.cells) - captured.get(function.id, set())
        if unused:
            yield f"{function.id}: no function captures the cell {', '.join(sorted(unused))}"


# --- one function ----------------------------------------------------------------------------------------------------------------


def _check_numbers(function: Function) -> Iterator[str]:
    numbers = [op.id for op in walk(function.body)]
    if numbers != list(range(function.op_count)):
        yield "the operations are not numbered 0, 1, 2, ... in pre-order, with a span for each"
    for number, span in enumerate(function.spans):
        if not (1 <= span.line <= span.end_line and (span.line, span.column) <= (span.end_line, span.end_column)):
            yield f"%{number} has the impossible span {span}"
        elif function.kind is not FunctionKind.MODULE and not function.span.encloses(span):
            yield f"%{number} at {span} is outside of its function at {function.span}"


def _check_variables(function: Function) -> Iterator[str]:
    for label, names in (("locals", function.locals), ("cells", function.cells), ("frees", function.frees)):
        if list(names) != sorted(set(names)):
            yield f"{label} are not sorted or not unique"
    groups = [function.locals, function.cells, function.frees]
    if function.kind is FunctionKind.CLASS_BODY:
        # A class may bind a name of its own while its methods capture the enclosing function's variable of that name.
        groups = [function.cells, (*function.locals, *function.frees)]
    counts = Counter(name for names in groups for name in set(names))
    several = sorted(name for name, count in counts.items() if count > 1 and name != "__class__")
    if several:
        yield f"in two groups of variables: {', '.join(several)}"


def _check_parameters(function: Function) -> Iterator[str]:
    names = [parameter.name for parameter in function.parameters]
    if len(names) != len(set(names)):
        yield "two parameters have one name"
    unknown = set(names) - set(function.locals) - set(function.cells)
    if unknown:
        yield f"parameters that are not variables: {', '.join(sorted(unknown))}"
    places = [_PARAMETER_ORDER.index(parameter.kind) for parameter in function.parameters]
    if places != sorted(places):
        yield "the parameters are out of order"


def _check_op(op: Op, function: Function) -> Iterator[str]:
    match op:
        case LoadName(name=name, scope=scope) | StoreName(name=name, scope=scope) | DeleteName(name=name, scope=scope):
            groups = {Scope.LOCAL: function.locals, Scope.CELL: function.cells, Scope.FREE: function.frees}
            if scope is Scope.CLASS:
                if function.kind is not FunctionKind.CLASS_BODY:
                    yield "has Scope.CLASS outside of a class body"
            elif scope not in (Scope.GLOBAL, Scope.BUILTIN) and name not in groups[scope]:
                yield f"has Scope.{scope.name}, but the function does not list {name}"
        case Binary(operator=operator):
            if operator not in _ALL_BINARY:
                yield f"has the operator {operator}"
        case Compare(operator=operator):
            if operator not in _ALL_COMPARISONS:
                yield f"has the operator {operator}"
        case Unary(operator=operator):
            if operator not in _ALL_UNARY:
                yield f"has the operator {operator}"
        case ShortCircuit(operator=operator):
            if operator not in {"and", "or"}:
                yield f"has the operator {operator}"
        case UnpackElement(position=position, total=total, star=star):
            if not 0 <= position < total or (star is not None and not 0 <= star < total):
                yield "has a position outside of its targets"
        case Call(arguments=arguments):
            if any(argument.keyword is not None and argument.spread is not Spread.PLAIN for argument in arguments):
                yield "spreads a keyword argument"
        case Return():
            if function.kind in {FunctionKind.MODULE, FunctionKind.CLASS_BODY}:
                yield f"in a {function.kind.value}"
        case _:
            pass


class _BlockScan:
    """Walks nested blocks, with the results that are visible in each."""

    def __init__(self, problems: list[str]) -> None:
        self.problems = problems
        self.has_yield = False
        self.definitions: set[OpId] = set()
        self.collectors: set[OpId] = set()
        """The `CollectElement`s at the ends of comprehensions."""

    def block(self, block: Block, visible: set[OpId], *, takes_item: bool = False, in_loop: bool = False) -> set[OpId]:
        """Checks a block at whose start the results `visible` can be read; returns those that can be read at its end."""
        seen = set(visible)
        before = -1
        if takes_item and not (block and isinstance(block[0], NextItem)):
            self.problems.append("a body that receives an item does not start with NextItem")
        for place, op in enumerate(block):
            if isinstance(op, NextItem) and not (takes_item and place == 0):
                self._complain(op, "is not at the start of a body that receives an item")
            if op.id <= before:
                self._complain(op, f"is numbered before %{before}, which comes earlier")
            before = op.id
            for read in operands(op):
                if read not in seen:
                    self._complain(op, f"reads %{read}, which cannot be read there")
            self._op(op, seen, in_loop)
            seen.add(op.id)
        return seen

    def _complain(self, op: Op, problem: str) -> None:
        self.problems.append(f"%{op.id} {type(op).__name__} {problem}")

    def _op(self, op: Op, seen: set[OpId], in_loop: bool) -> None:
        for block, value in block_results(op):
            if value not in self.block(block, seen):
                self._complain(op, f"has the result %{value}, which cannot be read at the end of its block")
        match op:
            case For():
                self.block(op.body, seen, takes_item=True, in_loop=True)
                self.block(op.else_block, seen, in_loop=in_loop)
            case While():
                self.block(op.body, seen, in_loop=True)
                self.block(op.else_block, seen, in_loop=in_loop)
            case With():
                self.block(op.body, seen, takes_item=True, in_loop=in_loop)
            case Comprehension():
                self._find_collector(op)
                self.block(op.body, seen, takes_item=True)
            case Try():
                self.block(op.body, seen, in_loop=in_loop)
                for handler in op.handlers:
                    self.block(handler.body, seen, takes_item=True, in_loop=in_loop)
                self.block(op.else_block, seen, in_loop=in_loop)
                self.block(op.final_block, seen, in_loop=in_loop)
            case If():
                self.block(op.then_block, seen, in_loop=in_loop)
                self.block(op.else_block, seen, in_loop=in_loop)
            case Break() | Continue():
                if not in_loop:
                    self._complain(op, "is in no loop")
            case Yield() | YieldFrom():
                self.has_yield = True
            case MakeFunction() | MakeClass():
                self.definitions.add(op.id)
            case CollectElement():
                if op.id not in self.collectors:
                    self._complain(op, "is not at the end of a comprehension")
            case Call():
                if op.decorates is not None and op.decorates not in self.definitions:
                    self._complain(op, f"decorates %{op.decorates}, which is not a definition")
            case _:
                pass

    def _find_collector(self, comprehension: Comprehension) -> None:
        """Follows the clauses, each the last operation of the one before, to the element."""
        last: Op | None = comprehension.body[-1] if comprehension.body else None
        while isinstance(last, For | If):
            inner = last.body if isinstance(last, For) else last.then_block
            last = inner[-1] if inner else None
        if not isinstance(last, CollectElement):
            self._complain(comprehension, "does not end in CollectElement")
            return
        self.collectors.add(last.id)
        if (last.key is not None) != (comprehension.kind is ComprehensionKind.DICT):
            self._complain(comprehension, "collects keys though it is not a dict, or none though it is one")
