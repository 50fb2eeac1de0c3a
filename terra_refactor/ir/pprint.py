"""Prints the IR readably and stably.

Computes: nothing. Needs: a function or a module. Gives: its text, the form of the golden tests. One operation per
line: `%3 = value` if it has a result, `%3 : action` if not; the operations of a nested block are indented below. A
variable is followed by `@` and its scope, unless it is local. Ignores: positions, unless the caller adds them by
`annotate`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Final, cast

from typing_extensions import assert_never

from terra_refactor.ir.function import Function, FunctionKind, Parameter, ParameterKind
from terra_refactor.ir.ids import FunctionId, OpId
from terra_refactor.ir.ops import (
    Argument,
    Await,
    Binary,
    Block,
    Break,
    BuildContainer,
    BuildDict,
    BuildSlice,
    Call,
    CollectElement,
    Compare,
    Comprehension,
    ContainerKind,
    Continue,
    DeleteAttribute,
    DeleteItem,
    DeleteName,
    Element,
    For,
    FormatField,
    FormatString,
    If,
    IfExpression,
    Import,
    ImportFrom,
    ImportStar,
    Lazy,
    Literal,
    LoadAttribute,
    LoadItem,
    LoadName,
    MakeClass,
    MakeFunction,
    NextItem,
    Op,
    OpKind,
    PatternAttribute,
    PatternKind,
    PatternTest,
    Raise,
    Return,
    Scope,
    ShortCircuit,
    StoreAttribute,
    StoreItem,
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
from terra_refactor.syntax.deep_stack import call_with_deep_stack

_INDENT = "  "
_NO_PLACES: Final[Mapping[FunctionId, str]] = MappingProxyType({})
_BRACKETS = {ContainerKind.TUPLE: "()", ContainerKind.LIST: "[]", ContainerKind.SET: "{}"}

Annotate = Callable[[Op], str]
"""Comment at the end of an operation's line; may be empty."""


def format_module(module: ModuleIR, annotate: Callable[[Function], Annotate] | None = None) -> str:
    """All functions of a module in source order."""
    places = {function.id: f"{module.name}#{place}" for place, function in enumerate(module.functions)}
    return "\n".join(
        format_function(function, annotate(function) if annotate is not None else None, places)
        for function in module.functions
    )


def format_function(
    function: Function, annotate: Annotate | None = None, places: Mapping[FunctionId, str] = _NO_PLACES
) -> str:
    """A function as text: a line for each decorator, its header, its variables, its body; ends in a newline.

    `places` are readable names for functions, instead of numbers.
    """
    lines = [f"@{' '.join(decorator.text.split())}" for decorator in function.decorators]
    lines.append(f"{_head(function)}  # {places.get(function.id, function.id)}")
    for label, names in (("locals", function.locals), ("cells", function.cells), ("frees", function.frees)):
        if names:
            lines.append(f"{_INDENT}{label}: {', '.join(names)}")
    lines.extend(call_with_deep_stack(lambda: list(_format_block(function.body, _INDENT, annotate, places))))
    return "\n".join(lines) + "\n"


def _head(function: Function) -> str:
    words = []
    if function.is_async:
        words.append("async")
    if function.is_generator:
        words.append("generator")
    words.append(function.kind.value)
    head = " ".join(words)
    if function.kind in {FunctionKind.MODULE, FunctionKind.CLASS_BODY}:
        return f"{head} {function.qualname}"
    return f"{head} {function.qualname}({', '.join(_format_parameters(function.parameters))})"


def _format_parameters(parameters: Sequence[Parameter]) -> Iterator[str]:
    previous: ParameterKind | None = None
    for parameter in parameters:
        kind = parameter.kind
        if previous is ParameterKind.POSITIONAL_ONLY and kind is not previous:
            yield "/"
        if kind is ParameterKind.KEYWORD_ONLY and previous not in {
            ParameterKind.VAR_POSITIONAL,
            ParameterKind.KEYWORD_ONLY,
        }:
            yield "*"
        stars = {ParameterKind.VAR_POSITIONAL: "*", ParameterKind.VAR_KEYWORD: "**"}.get(kind, "")
        annotation = ":" if parameter.has_annotation else ""
        default = "=" if parameter.has_default else ""
        yield f"{stars}{parameter.name}{annotation}{default}"
        previous = kind
    if previous is ParameterKind.POSITIONAL_ONLY:
        yield "/"


def _format_block(
    block: Block, indent: str, annotate: Annotate | None, places: Mapping[FunctionId, str]
) -> Iterator[str]:
    for op in block:
        sign = ":" if isinstance(op, _ACTIONS) else "="
        note = annotate(op) if annotate is not None else ""
        yield f"{indent}%{op.id} {sign} {_format_op(op, places)}{'  # ' + note if note else ''}"
        for label, inner, result in _parts(op):
            if label:
                yield f"{indent}{_INDENT}{label}:"
            yield from _format_block(inner, indent + _INDENT * (2 if label else 1), annotate, places)
            if result is not None:
                yield f"{indent}{_INDENT * (2 if label else 1)}-> %{result}"


_ACTIONS = (
    StoreName,
    DeleteName,
    StoreAttribute,
    DeleteAttribute,
    StoreItem,
    DeleteItem,
    ImportStar,
    If,
    While,
    For,
    CollectElement,
    Try,
    With,
    Return,
    Raise,
    Break,
    Continue,
)


def _parts(op: Op) -> Iterator[tuple[str, Block, OpId | None]]:
    """The nested blocks, each with a label (none where it is the only one) and its result."""
    match op:
        case ShortCircuit(block=block, value=value) | Lazy(block=block, value=value):
            yield "", block, value
        case IfExpression():
            yield "then", op.then_block, op.then_value
            yield "else", op.else_block, op.else_value
        case If():
            yield "then", op.then_block, None
            if op.else_block:
                yield "else", op.else_block, None
        case While():
            yield "test", op.test_block, op.test
            yield "do", op.body, None
            if op.else_block:
                yield "else", op.else_block, None
        case For():
            yield "do", op.body, None
            if op.else_block:
                yield "else", op.else_block, None
        case Comprehension(body=body) | With(body=body):
            yield "", body, None
        case Try():
            yield "do", op.body, None
            for handler in op.handlers:
                star = "*" if handler.is_group else ""
                if handler.type is not None:
                    yield f"except{star} type", handler.type_block, handler.type
                yield f"except{star}", handler.body, None
            if op.else_block:
                yield "else", op.else_block, None
            if op.final_block:
                yield "finally", op.final_block, None
        case _:
            pass


def _variable(name: str, scope: Scope) -> str:
    return name if scope is Scope.LOCAL else f"{name}@{scope.value}"


def _format_op(op: Op, places: Mapping[FunctionId, str]) -> str:
    kind = cast(OpKind, op)
    match kind:
        case Literal(value=value):
            return f"literal {value!r}" if value is not ... else "literal ..."
        case FormatString(parts=parts):
            return "format " + " ".join(_format_part(part) for part in parts)
        case BuildContainer(kind=container, elements=elements):
            brackets = _BRACKETS[container]
            return f"{container.value} {brackets[0]}{', '.join(map(_format_element, elements))}{brackets[1]}"
        case BuildDict(items=items):
            entries = ", ".join(
                f"%{item.key}: %{item.value}" if item.key is not None else f"**%{item.value}" for item in items
            )
            return f"dict {{{entries}}}"
        case BuildSlice(lower=lower, upper=upper, step=step):
            return f"slice {_maybe(lower)}:{_maybe(upper)}:{_maybe(step)}"
        case LoadName(name=name, scope=scope):
            return f"load {_variable(name, scope)}"
        case StoreName(name=name, scope=scope, value=value, annotation=annotation):
            return f"store {_variable(name, scope)}{_annotated(annotation)}{_assigned(value)}"
        case DeleteName(name=name, scope=scope):
            return f"delete {_variable(name, scope)}"
        case LoadAttribute(object=owner, name=name):
            return f"%{owner}.{name}"
        case StoreAttribute(object=owner, name=name, value=value, annotation=annotation):
            return f"store %{owner}.{name}{_annotated(annotation)}{_assigned(value)}"
        case DeleteAttribute(object=owner, name=name):
            return f"delete %{owner}.{name}"
        case LoadItem(object=owner, index=index):
            return f"%{owner}[%{index}]"
        case StoreItem(object=owner, index=index, value=value):
            return f"store %{owner}[%{index}] = %{value}"
        case DeleteItem(object=owner, index=index):
            return f"delete %{owner}[%{index}]"
        case UnpackElement(source=source, position=position, total=total, star=star):
            starred = f", star {star}" if star is not None else ""
            return f"unpack %{source}: {position} of {total}{starred}"
        case Unary(operator=operator, operand=operand):
            return f"{operator} %{operand}"
        case Binary(operator=operator, left=left, right=right, in_place=in_place):
            return f"%{left} {operator}{'=' if in_place else ''} %{right}"
        case Compare(operator=operator, left=left, right=right):
            return f"%{left} {operator} %{right}"
        case ShortCircuit(operator=operator, left=left):
            return f"%{left} {operator}"
        case IfExpression(test=test):
            return f"if %{test}"
        case Lazy():
            return "lazy"
        case Call(function=function, arguments=arguments, decorates=decorates):
            mark = f"  (decorates %{decorates})" if decorates is not None else ""
            return f"call %{function}({', '.join(map(_format_argument, arguments))}){mark}"
        case MakeFunction(function=made, defaults=defaults, annotations=annotations):
            inside = [f"{name}=%{value}" for name, value in defaults]
            inside += [f"{name}: %{value}" for name, value in annotations]
            return f"make function {places.get(made, made)}({', '.join(inside)})"
        case MakeClass(name=name, body=body, bases=bases, keywords=keywords):
            inside = [_format_element(base) for base in bases]
            inside += [f"**%{value}" if name == "**" else f"{name}=%{value}" for name, value in keywords]
            return f"make class {kind.name} {places.get(body, body)}({', '.join(inside)})"
        case Import(module=module, whole=whole):
            return f"import {module}{' (whole)' if whole else ''}"
        case ImportFrom(module=module, level=level, name=name):
            return f"from {'.' * level}{module} import {name}"
        case ImportStar(module=module, level=level):
            return f"from {'.' * level}{module} import *"
        case Await(value=value):
            return f"await %{value}"
        case Yield(value=value):
            return f"yield{_given(value)}"
        case YieldFrom(value=value):
            return f"yield from %{value}"
        case PatternTest():
            return _format_pattern(kind)
        case PatternAttribute(subject=subject, cls=cls, position=position):
            return f"pattern attribute {position} of %{subject} by %{cls}"
        case If(test=test, is_assert=is_assert):
            return f"{'assert' if is_assert else 'if'} %{test}"
        case While():
            return "while"
        case NextItem():
            return "next item"
        case For(iterable=iterable, is_async=is_async):
            return f"{'async ' if is_async else ''}for %{iterable}"
        case Comprehension(kind=result, iterable=iterable, is_async=is_async):
            return f"{'async ' if is_async else ''}{result.value} comprehension for %{iterable}"
        case CollectElement(value=value, key=key):
            return f"collect {f'%{key}: ' if key is not None else ''}%{value}"
        case Try():
            return "try"
        case With(manager=manager, is_async=is_async):
            return f"{'async ' if is_async else ''}with %{manager}"
        case Return(value=value):
            return f"return{_given(value)}"
        case Raise(exception=exception, cause=cause):
            return f"raise{_given(exception)}{f' from %{cause}' if cause is not None else ''}"
        case Break():
            return "break"
        case Continue():
            return "continue"
        case _:
            assert_never(kind)


def _maybe(value: OpId | None) -> str:
    return f"%{value}" if value is not None else ""


def _given(value: OpId | None) -> str:
    return f" %{value}" if value is not None else ""


def _assigned(value: OpId | None) -> str:
    return f" = %{value}" if value is not None else ""


def _annotated(annotation: OpId | None) -> str:
    return f": %{annotation}" if annotation is not None else ""


def _format_element(element: Element) -> str:
    return f"{'*' if element.starred else ''}%{element.value}"


def _format_argument(argument: Argument) -> str:
    if argument.keyword is not None:
        return f"{argument.keyword}=%{argument.value}"
    return f"{argument.spread.value}%{argument.value}"


def _format_part(part: str | FormatField) -> str:
    if isinstance(part, str):
        return repr(part)
    conversion = f"!{part.conversion}" if part.conversion is not None else ""
    spec = f":%{part.spec}" if part.spec is not None else ""
    return f"{{%{part.value}{conversion}{spec}}}"


def _format_pattern(op: PatternTest) -> str:
    words = [f"pattern {op.kind.value} %{op.subject}"]
    if op.operands:
        words.append(f"({', '.join(f'%{operand}' for operand in op.operands)})")
    if op.kind is PatternKind.SEQUENCE or op.length:
        words.append(f"{'at least ' if op.at_least else ''}{op.length}")
    if op.attributes:
        words.append(f"with {', '.join(op.attributes)}")
    return " ".join(words)
