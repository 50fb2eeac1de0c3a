"""`def`, `lambda`, `class` and decorators.

Computes: nothing beyond the lowering. Gives: a queued `FunctionBuilder` for each definition, and the operation that
creates it. Order of evaluation: decorators as written, defaults, type parameters, annotations; then the definition is
created and the decorators are applied from the innermost out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import libcst as cst

from terra_refactor.ir.build.builder import FunctionBuilder
from terra_refactor.ir.build.calls import lower_arguments
from terra_refactor.ir.build.literals import docstring_of
from terra_refactor.ir.build.names import private_prefix, qualified_name
from terra_refactor.ir.build.statements import lower_annotation
from terra_refactor.ir.build.type_parameters import generic_base, lower_type_parameters
from terra_refactor.ir.function import Decorator, FunctionKind, Parameter, ParameterKind
from terra_refactor.ir.ids import OpId
from terra_refactor.ir.ops import Argument, Call, Element, MakeClass, MakeFunction, Return, Spread


def lower_function_def(b: FunctionBuilder, node: cst.FunctionDef) -> None:
    appliers = [b.value(decorator.decorator) for decorator in node.decorators]
    defaults = _lower_defaults(b, node.params)
    frame = b.frame
    if node.type_parameters is not None:
        lower_type_parameters(b, node.type_parameters)
    annotations = _lower_annotations(b, node.params)
    if node.returns is not None:
        annotations.append(("return", lower_annotation(b, node.returns, in_body=False)))

    def lower_body(f: FunctionBuilder) -> None:
        f.docstring = docstring_of(node.body)
        f.suite(node.body)

    name = node.name.value
    if b.kind is FunctionKind.CLASS_BODY:
        kind = FunctionKind.METHOD
    elif b.kind is FunctionKind.MODULE:
        kind = FunctionKind.FUNCTION
    else:
        kind = FunctionKind.NESTED
    function = FunctionBuilder(b.module, name, _definition_name(b, name), kind, b, b.span_of(node), lower_body)
    function.is_async = node.asynchronous is not None
    function.decorators = _decorators(b, node.decorators)
    _set_parameters(function, node.params)
    b.frame = frame
    made = b.new_id(node)
    b.ops.append(MakeFunction(made, function.id, defaults, tuple(annotations)))
    b.store(node.name, b.mangled(name), _decorate(b, node.decorators, appliers, made))


def lower_lambda(b: FunctionBuilder, node: cst.Lambda) -> OpId:
    defaults = _lower_defaults(b, node.params)

    def lower_body(f: FunctionBuilder) -> None:
        value = f.value(node.body)
        f.ops.append(Return(f.new_id(node.body), value))

    qualname = qualified_name(b, "<lambda>")
    function = FunctionBuilder(b.module, "<lambda>", qualname, FunctionKind.LAMBDA, b, b.span_of(node), lower_body)
    _set_parameters(function, node.params)
    made = b.new_id(node)
    b.ops.append(MakeFunction(made, function.id, defaults, ()))
    return made


def lower_class_def(b: FunctionBuilder, node: cst.ClassDef) -> None:
    appliers = [b.value(decorator.decorator) for decorator in node.decorators]
    frame = b.frame
    type_parameters: Sequence[OpId] = ()
    if node.type_parameters is not None:
        type_parameters = lower_type_parameters(b, node.type_parameters)

    def lower_body(f: FunctionBuilder) -> None:
        f.docstring = docstring_of(node.body)
        f.suite(node.body)

    name = node.name.value
    qualname = _definition_name(b, name)
    body = FunctionBuilder(b.module, name, qualname, FunctionKind.CLASS_BODY, b, b.span_of(node), lower_body)
    body.class_prefix = private_prefix(name)
    body.decorators = _decorators(b, node.decorators)
    bases = []
    keywords = []
    for argument in lower_arguments(b, (*node.bases, *node.keywords)):
        if argument.keyword is not None:
            keywords.append((argument.keyword, argument.value))
        elif argument.spread is Spread.DOUBLE_STAR:
            keywords.append(("**", argument.value))
        else:
            bases.append(Element(argument.value, argument.spread is Spread.STAR))
    if type_parameters:
        bases.append(Element(generic_base(b, node, type_parameters)))
    b.frame = frame
    made = b.new_id(node)
    b.ops.append(MakeClass(made, name, body.id, tuple(bases), tuple(keywords)))
    b.store(node.name, b.mangled(name), _decorate(b, node.decorators, appliers, made))


def _definition_name(b: FunctionBuilder, name: str) -> str:
    # A definition whose name is declared `global` in its function belongs to the module, and so does its
    # `__qualname__`.
    if b.mangled(name) in b.root_frame.declared_global:
        return name
    return qualified_name(b, name)


# --- decorators ------------------------------------------------------------------------------------------------------------------


def _decorators(b: FunctionBuilder, decorators: Sequence[cst.Decorator]) -> tuple[Decorator, ...]:
    return tuple(Decorator(b.module.text_of(decorator.decorator), b.span_of(decorator)) for decorator in decorators)


def _decorate(b: FunctionBuilder, decorators: Sequence[cst.Decorator], appliers: Sequence[OpId], made: OpId) -> OpId:
    result = made
    for decorator, applier in zip(reversed(decorators), reversed(appliers), strict=True):
        op_id = b.new_id(decorator)
        b.ops.append(Call(op_id, applier, (Argument(result),), decorates=made))
        result = op_id
    return result


# --- parameters ------------------------------------------------------------------------------------------------------------------


def _parameters(parameters: cst.Parameters) -> Iterator[tuple[cst.Param, ParameterKind]]:
    for param in parameters.posonly_params:
        yield param, ParameterKind.POSITIONAL_ONLY
    for param in parameters.params:
        yield param, ParameterKind.POSITIONAL
    if isinstance(parameters.star_arg, cst.Param):
        yield parameters.star_arg, ParameterKind.VAR_POSITIONAL
    for param in parameters.kwonly_params:
        yield param, ParameterKind.KEYWORD_ONLY
    if parameters.star_kwarg is not None:
        yield parameters.star_kwarg, ParameterKind.VAR_KEYWORD


def _lower_defaults(b: FunctionBuilder, parameters: cst.Parameters) -> tuple[tuple[str, OpId], ...]:
    return tuple(
        (b.mangled(param.name.value), b.value(param.default))
        for param, _ in _parameters(parameters)
        if param.default is not None
    )


def _lower_annotations(b: FunctionBuilder, parameters: cst.Parameters) -> list[tuple[str, OpId]]:
    annotations = []
    for param, kind in _parameters(parameters):
        annotation = param.annotation
        if annotation is None:
            continue
        name = b.mangled(param.name.value)
        if kind is ParameterKind.VAR_POSITIONAL and isinstance(annotation.annotation, cst.StarredElement):
            # `*args: *Ts`: the annotation is the one element of the unpacked value (PEP 646).
            annotations.append((name, b.value(annotation.annotation.value)))
        else:
            annotations.append((name, lower_annotation(b, annotation, in_body=False)))
    return annotations


def _set_parameters(function: FunctionBuilder, parameters: cst.Parameters) -> None:
    made = []
    for param, kind in _parameters(parameters):
        name = function.mangled(param.name.value)
        function.root_frame.bound.add(name)
        made.append(
            Parameter(name, kind, param.default is not None, param.annotation is not None, function.span_of(param.name))
        )
    function.parameters = tuple(made)
