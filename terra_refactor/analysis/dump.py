"""The facts as text: for developers and for golden tests.

Computes: nothing. Gives: `format_facts`, stable from run to run.
"""

from __future__ import annotations

from typing_extensions import assert_never

from terra_refactor.analysis.facts import ContextFacts, ProgramFacts
from terra_refactor.domain.dim import format_dim
from terra_refactor.domain.file_marks import mark_of
from terra_refactor.domain.lattice import join_all
from terra_refactor.domain.shape import format_shape
from terra_refactor.domain.value import (
    Bottom,
    BoundMethod,
    Constant,
    DatasetValue,
    DTypeValue,
    FrozenDict,
    FrozenList,
    FunctionValue,
    LibraryValue,
    ModuleValue,
    PartialValue,
    RangeValue,
    Reference,
    Scalar,
    SequenceValue,
    ShapeValue,
    SliceValue,
    SpecValue,
    SuperValue,
    TensorKind,
    TensorValue,
    TupleValue,
    Unbound,
    UnionValue,
    UnknownValue,
    Value,
)
from terra_refactor.ir.function import FunctionKind
from terra_refactor.ir.program import Program


def format_value(program: Program, facts: ProgramFacts, value: Value) -> str:
    """A value in the notation used in messages and tests."""

    def shown(inner: Value) -> str:
        return format_value(program, facts, inner)

    match value:
        case Bottom():
            return "never"
        case Unbound():
            return "unbound"
        case Constant(constant):
            return repr(constant)
        case Scalar(kind, dim, symbolic):
            shown_kind = f"{kind.value} of a tensor" if symbolic else kind.value
            return shown_kind if dim is None or mark_of(value) is not None else f"{shown_kind} {format_dim(dim)}"
        case TensorValue(type, kind, content):
            prefix = "" if kind is TensorKind.TENSOR else f"{kind.value} "
            return f"{prefix}{type}" + ("" if content is None else f" = {shown(content)}")
        case TupleValue(elements, name, fields):
            if fields:
                return f"{name}({', '.join(f'{f}={shown(e)}' for f, e in zip(fields, elements, strict=True))})"
            return "(" + ", ".join(shown(element) for element in elements) + ("," if len(elements) == 1 else "") + ")"
        case SequenceValue(element, kind):
            return f"{kind} of {shown(element)}"
        case RangeValue(start, stop, step):
            return f"range({shown(start)}, {shown(stop)}, {shown(step)})"
        case SliceValue(lower, upper, step):
            return f"slice({shown(lower)}, {shown(upper)}, {shown(step)})"
        case FrozenList(elements, element):
            return (
                f"list of {shown(element) if element else 'never'}"
                if elements is None
                else f"[{', '.join(map(shown, elements))}]"
            )
        case FrozenDict(items, rest):
            parts = [f"{shown(key)}: {shown(item)}" for key, item in items]
            return "{" + ", ".join([*parts, *([f"**{shown(rest)}"] if rest is not None else [])]) + "}"
        case Reference(number):
            found = facts.objects[number]
            return f"<{found.kind.value} {found.name}>"
        case FunctionValue(key):
            return f"<function {program.modules[key[0]].by_index[key[1]].qualname}>"
        case BoundMethod(function, receiver):
            return f"<method {shown(function)} of {shown(receiver)}>"
        case PartialValue(function, arguments, keywords):
            inner = [*map(shown, arguments), *(f"{name}={shown(argument)}" for name, argument in keywords)]
            return f"partial({', '.join([shown(function), *inner])})"
        case ModuleValue(name):
            return f"<module {name}>"
        case LibraryValue(name):
            return name
        case SuperValue(cls, receiver):
            return f"super({shown(cls)}, {shown(receiver)})"
        case DatasetValue(element, cardinality, iterator):
            return f"{'iterator' if iterator else 'dataset'} of {shown(element)}" + (
                "" if cardinality is None else f" × {format_dim(cardinality)}"
            )
        case SpecValue(type):
            return f"TensorSpec {type}"
        case ShapeValue(shape):
            return f"shape {format_shape(shape)}"
        case DTypeValue(dtype):
            return f"dtype {dtype or '?'}"
        case UnknownValue(may_be_tensor):
            return "unknown" if may_be_tensor else "no tensor"
        case UnionValue(alternatives):
            return " | ".join(map(shown, alternatives))
        case _ as never:
            assert_never(never)


def format_facts(program: Program, facts: ProgramFacts, *, values: bool = False) -> str:
    """The facts of every function; with `values`, of every operation."""
    lines: list[str] = []
    for module in program.modules.values():
        for function in module.functions:
            if function.kind is FunctionKind.CLASS_BODY:
                continue
            found = facts.functions[function.id]
            lines.append(
                f"{function.qualname} in {module.name}" + (f"  problem: {found.problem}" if found.problem else "")
            )
            for parameter in found.parameters:
                shown = format_value(program, facts, join_all(parameter.values))
                lines.append(f"  {parameter.name} [{parameter.evidence.value}]: {shown}")
            lines.append(f"  returns {format_value(program, facts, found.returns)}")
            for context in facts.contexts_of(function.id):
                lines.extend(_format_context(program, facts, context, values=values))
    return "\n".join(lines) + "\n"


def _format_context(program: Program, facts: ProgramFacts, context: ContextFacts, *, values: bool) -> list[str]:
    lines = [
        f"  context {context.entry.value}{' in graph' if context.in_graph else ''}{f' ({context.problem})' if context.problem else ''}"
    ]
    function = program.function(context.function)
    for effect in context.effects:
        places = "".join(f" via line {_line(program, site.module, site.function, site.op)}" for site in effect.via)
        line = _line(program, effect.site.module, effect.site.function, effect.site.op)
        assumed = " (assumed)" if effect.assumed else ""
        lines.append(
            f"    {effect.kind.value} {effect.target.root.value} {effect.target}: {effect.detail} at line {line}{places}{assumed}"
        )
    lines.extend(
        f"    fails: {failure.message} at line {function.span_of(failure.op).line}" for failure in context.failures
    )
    for call in context.calls:
        if call.unknown is not None:
            lines.append(f"    unknown call {call.unknown} at line {function.span_of(call.op).line}")
    if values:
        for number, value in enumerate(context.values):
            if value is not None:
                lines.append(f"    {function.span_of(number)} {format_value(program, facts, value)}")
    return lines


def _line(program: Program, module: str, function: int, op: int) -> int:
    return program.modules[module].by_index[function].span_of(op).line
