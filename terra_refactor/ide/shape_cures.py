"""Cures of operations that certainly fail (TR401 to TR403): another axis, an open size, a cast, a transposition, an
added or removed axis, if exactly one of them works.

Computes: the edit of one argument. Needs: a snapshot and a finding. Gives: `shape_cure`, `ShapeCure`.

Each candidate is tried with the operation's own rule, in every context in which the operation fails. A cure is
offered if exactly one candidate works; otherwise the user decides. The cure changes the call's own arguments
(`axis=`, the sizes of `tf.reshape`) if it has any, otherwise an operand. For operands, candidates whose result has
the shape of one of them, or at least no more axes, are preferred to those that broadcast both.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from terra_refactor.analysis.binding import bind_library_arguments
from terra_refactor.analysis.facts import ContextFacts
from terra_refactor.analysis.frames import CallArguments
from terra_refactor.domain.dtype import BOOL, FLOATING, INTEGER, DType
from terra_refactor.domain.shape import Shape, format_shape
from terra_refactor.domain.value import (
    UNKNOWN,
    Constant,
    FrozenList,
    LibraryValue,
    TensorKind,
    TensorValue,
    TupleValue,
    Value,
)
from terra_refactor.ide.snapshot import Snapshot, tensorflow_name
from terra_refactor.ir import ops
from terra_refactor.ir.function import Function
from terra_refactor.ir.ids import OpId
from terra_refactor.ir.walk import walk
from terra_refactor.rules.registry import rules_by_failure
from terra_refactor.rules.rule import Finding
from terra_refactor.syntax.edit import Edit
from terra_refactor.syntax.lines import LineIndex
from terra_refactor.syntax.location import Span
from terra_refactor.tf_model.ops.operators import operator_rule
from terra_refactor.tf_model.registry import lookup
from terra_refactor.tf_model.spec import BoundCall, OperationError, ParameterPassing

_SHAPE_RULES = frozenset(rule.id for rule in rules_by_failure().values())
_MATMUL = "tensorflow.linalg.matmul"


@dataclass(frozen=True, slots=True)
class ShapeCure:
    """One edit, with a short description."""

    title: str
    edits: tuple[Edit, ...]


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A possible form of an operand: the text that wraps it, and its resulting value."""

    operand: OpId
    before: str
    after: str
    value: Value
    written: OpId | None = None
    """The text that `before` replaces if it wraps nothing: a part of the operand, or all of it."""


def shape_cure(snapshot: Snapshot, finding: Finding) -> ShapeCure | None:
    """The single cure of a finding; None if there is none, or more than one."""
    tf = tensorflow_name(snapshot, finding.path) if finding.rule in _SHAPE_RULES else None
    if tf is None:
        return None
    for function in snapshot.functions(finding.path):
        for op in walk(function.body):
            if function.spans[op.id] == finding.span and isinstance(op, ops.Binary | ops.Call):
                failing = [
                    context
                    for context in snapshot.contexts(function)
                    if any(failure.op == op.id for failure in (*context.failures, *context.guarded_failures))
                ]
                if failing:
                    return _cure(snapshot, finding, function, op, failing, tf)
    return None


def _cure(
    snapshot: Snapshot,
    finding: Finding,
    function: Function,
    op: ops.Binary | ops.Call,
    failing: list[ContextFacts],
    tf: str,
) -> ShapeCure | None:
    text = snapshot.sources[finding.path].text
    settings = list(_settings(function, op, failing[0]))
    if settings:  # replacing an operand to correct a wrong axis is rarely intended
        right = [
            (candidate, gives[0])
            for candidate in settings
            if None not in (gives := [_set(function, op, context, candidate) for context in failing])
        ]
        return _replaced(text, function, *right[0]) if len(right) == 1 else None
    working: list[tuple[_Candidate, TensorValue]] = []
    for candidate in _candidates(op, failing[0], tf):
        results = [_result(op, context, _in_context(candidate, context, failing[0])) for context in failing]
        if all(result is not None for result in results) and results[0] is not None:
            working.append((candidate, results[0]))
    given = [
        value.type.shape for operand in _operands(op) if isinstance(value := failing[0].values[operand], TensorValue)
    ]
    axes = max(
        (len(shape or ()) for shape in given), default=0
    )  # for example a list that is converted to a tensor only here
    for preferred in (
        [each for each in working if each[1].type.shape in given],
        [each for each in working if len(each[1].type.shape or ()) <= axes],
    ):
        if preferred:
            working = preferred
            break
    if len(working) != 1:
        return None
    candidate, result = working[0]
    place = function.spans[candidate.operand]
    written = _written(text, place)
    start, end = _offsets(text, place)
    shown = f": {format_shape(result.type.shape)}" if result.type.shape else ""
    short = written if len(written) <= 30 and "\n" not in written else "…"
    return ShapeCure(
        f"Write {candidate.before}{short}{candidate.after}{shown}",
        (Edit(start, end, f"{candidate.before}{written}{candidate.after}"),),
    )


def _replaced(text: str, function: Function, candidate: _Candidate, result: Value | None) -> ShapeCure | None:
    """The cure that replaces an argument or a part of it."""
    assert candidate.written is not None
    place = function.spans[candidate.written]
    start, end = _offsets(text, place)
    shown = f": {format_shape(result.type.shape)}" if isinstance(result, TensorValue) else ""
    return ShapeCure(f"Write {candidate.before} for {text[start:end]}{shown}", (Edit(start, end, candidate.before),))


def _settings(function: Function, op: ops.Binary | ops.Call, context: ContextFacts) -> Iterator[_Candidate]:
    """A call with one of its literal numbers changed: its axis to another one, or one size of a shape to an open one."""
    name = _called(op, context)
    entity = None if name is None else lookup(name)
    if not isinstance(op, ops.Call) or entity is None or entity.parameters is None:
        return
    by_id = {each.id: each for each in walk(function.body)}
    positions = [each.name for each in entity.parameters if each.passing in _BY_POSITION]
    for number, argument in enumerate(op.arguments):
        parameter = argument.keyword or (positions[number] if number < len(positions) else "")
        value = context.values[argument.value]
        made = by_id.get(argument.value)
        if parameter in _AXES and isinstance(value, Constant) and type(value.value) is int:
            yield from _other_axes(argument.value, value.value, _most_axes(function, op, context))
        elif parameter in _SIZES and isinstance(made, ops.BuildContainer):
            yield from _open_sizes(argument.value, made, context)


_BY_POSITION = (ParameterPassing.POSITIONAL, ParameterPassing.POSITIONAL_ONLY)
_AXES = ("axis", "dim", "concat_dim", "split_dim")
_SIZES = ("shape", "newshape")


def _other_axes(argument: OpId, written: int, rank: int) -> Iterator[_Candidate]:
    """Every axis except the present one; counted from the end if that is."""
    for axis in range(rank):
        other = axis - rank if written < 0 else axis
        if other != written:
            yield _Candidate(argument, str(other), "", Constant(other), argument)


def _open_sizes(argument: OpId, made: ops.BuildContainer, context: ContextFacts) -> Iterator[_Candidate]:
    """A display of sizes with -1 for one of them."""
    sizes = [context.values[element.value] for element in made.elements]
    if any(not isinstance(size, Constant) or type(size.value) is not int for size in sizes) or Constant(-1) in sizes:
        return
    for position, element in enumerate(made.elements):
        changed = tuple(Constant(-1) if number == position else size or UNKNOWN for number, size in enumerate(sizes))
        yield _Candidate(argument, "-1", "", _display(made, changed), element.value)


def _display(made: ops.BuildContainer, elements: tuple[Value, ...]) -> Value:
    return TupleValue(elements) if made.kind is ops.ContainerKind.TUPLE else FrozenList(elements)


def _most_axes(function: Function, op: ops.Call, context: ContextFacts) -> int:
    """The largest rank among the tensors passed to a call, including those in displays."""
    ranks = [0]
    for argument in op.arguments:
        value = _given(function, context, argument.value)
        elements = value.elements or () if isinstance(value, TupleValue | FrozenList) else (value,)
        ranks.extend(len(each.type.shape or ()) for each in elements if isinstance(each, TensorValue))
    return max(ranks)


def _given(function: Function, context: ContextFacts, operand: OpId) -> Value:
    """An argument in the form for rules: a display by its elements."""
    for made in walk(function.body):
        if made.id == operand and isinstance(made, ops.BuildContainer) and made.kind in _SEQUENCES:
            if not any(element.starred for element in made.elements):
                return _display(made, tuple(context.values[each.value] or UNKNOWN for each in made.elements))
    return context.values[operand] or UNKNOWN


_SEQUENCES = (ops.ContainerKind.LIST, ops.ContainerKind.TUPLE)


def _set(function: Function, op: ops.Binary | ops.Call, context: ContextFacts, candidate: _Candidate) -> Value | None:
    """The result of a call with another setting; None if it fails, or if that is not certain."""
    assert isinstance(op, ops.Call)
    values = [
        candidate.value if argument.value == candidate.operand else _given(function, context, argument.value)
        for argument in op.arguments
    ]
    try:
        result = _call(op, context, values)
    except OperationError:
        return None
    parts = result.elements or () if isinstance(result, TupleValue | FrozenList) else (result,)
    known = bool(parts) and all(
        isinstance(part, TensorValue) and part.type.shape is not None and None not in part.type.shape for part in parts
    )
    return result if known else None


def _candidates(op: ops.Binary | ops.Call, context: ContextFacts, tf: str) -> Iterator[_Candidate]:
    """The operand changed in one way at a time."""
    tensors = {
        operand: value
        for operand in _operands(op)
        if isinstance(value := context.values[operand], TensorValue) and value.kind in _CHANGEABLE
    }
    matrices = (isinstance(op, ops.Binary) and op.operator == "@") or _called(op, context) == _MATMUL
    for operand, value in tensors.items():
        yield from _casts(operand, value, tensors, tf)
        shape = value.type.shape
        if shape is None:
            continue
        if matrices and len(shape) >= 2:
            name = "transpose" if len(shape) == 2 else "linalg.matrix_transpose"
            turned = (*shape[:-2], shape[-1], shape[-2])
            yield _Candidate(operand, f"{tf}.{name}(", ")", _shaped(value, turned))
        seen: set[Shape] = set()
        for axis in range(len(shape) + 1):
            wider = (*shape[:axis], 1, *shape[axis:])
            if wider not in seen:
                seen.add(wider)
                written = -1 if axis == len(shape) else axis
                yield _Candidate(operand, f"{tf}.expand_dims(", f", {written})", _shaped(value, wider))
        for axis, size in enumerate(shape):
            if size == 1:
                narrower = (*shape[:axis], *shape[axis + 1 :])
                if narrower not in seen:
                    seen.add(narrower)
                    written = -1 if axis == len(shape) - 1 else axis
                    yield _Candidate(operand, f"{tf}.squeeze(", f", {written})", _shaped(value, narrower))


_CHANGEABLE = (TensorKind.TENSOR, TensorKind.VARIABLE)


def _casts(operand: OpId, value: TensorValue, tensors: Mapping[OpId, TensorValue], tf: str) -> Iterator[_Candidate]:
    """Casts to the dtype of another operand, if that can represent every value of this one."""
    wanted = {other.type.dtype for number, other in tensors.items() if number != operand}
    for dtype in sorted(str(each) for each in wanted if each is not None and _widens(value.type.dtype, each)):
        cast = TensorValue(replace(value.type, dtype=DType(dtype)))
        yield _Candidate(operand, f"{tf}.cast(", f", {tf}.{dtype})", cast)


def _widens(source: DType | None, target: DType) -> bool:
    if source is None or source == target:
        return False
    if source == BOOL:
        return target in FLOATING or target in INTEGER
    if source in INTEGER:
        return target in FLOATING or (source, target) == ("int32", "int64")
    return False


def _shaped(value: TensorValue, shape: Shape) -> TensorValue:
    return TensorValue(replace(value.type, shape=shape))


def _in_context(candidate: _Candidate, context: ContextFacts, first: ContextFacts) -> _Candidate | None:
    """The candidate with the operand's value in another context; None if that is another kind of value."""
    return (
        candidate if context is first or context.values[candidate.operand] == first.values[candidate.operand] else None
    )


def _operands(op: ops.Binary | ops.Call) -> tuple[OpId, ...]:
    if isinstance(op, ops.Binary):
        return (op.left, op.right)
    return tuple(argument.value for argument in op.arguments)


def _called(op: ops.Op, context: ContextFacts) -> str | None:
    callee = context.values[op.function] if isinstance(op, ops.Call) else None
    return callee.name if isinstance(callee, LibraryValue) else None


def _result(op: ops.Binary | ops.Call, context: ContextFacts, candidate: _Candidate | None) -> TensorValue | None:
    """The result of the operation with the candidate; None if it still fails, or gives an implausible result."""
    if candidate is None:
        return None

    def value_of(operand: OpId) -> Value:
        if operand == candidate.operand:
            return candidate.value
        return context.values[operand] or UNKNOWN

    try:
        if isinstance(op, ops.Binary):
            result = operator_rule(op.operator, value_of(op.left), value_of(op.right))
        else:
            result = _call(op, context, [value_of(argument.value) for argument in op.arguments])
    except OperationError:
        return None
    elementwise = isinstance(op, ops.Binary) and op.operator != "@"
    given = [context.values[operand] for operand in _operands(op)]
    shapes = [value.type.shape for value in given if isinstance(value, TensorValue)]
    if not isinstance(result, TensorValue) or (elementwise and result.type.shape not in shapes):
        return None
    return result


def _call(op: ops.Call, context: ContextFacts, values: list[Value]) -> Value:
    name = _called(op, context)
    entity = None if name is None else lookup(name)
    if entity is None or entity.rule is None or any(each.spread is not ops.Spread.PLAIN for each in op.arguments):
        return UNKNOWN
    pairs = list(zip(op.arguments, values, strict=True))
    arguments = CallArguments(
        tuple(value for argument, value in pairs if argument.keyword is None),
        tuple((argument.keyword, value) for argument, value in pairs if argument.keyword is not None),
    )
    bound, extra, keywords, incomplete = bind_library_arguments(entity, arguments)
    return entity.rule(BoundCall(entity.name, bound, extra, keywords, None, {}, incomplete, lambda *_, **__: UNKNOWN))


def _offsets(text: str, span: Span) -> tuple[int, int]:
    lines = LineIndex(text)
    return lines.offset(span.line, span.column), lines.offset(span.end_line, span.end_column)


def _written(text: str, span: Span) -> str:
    start, end = _offsets(text, span)
    return text[start:end]
