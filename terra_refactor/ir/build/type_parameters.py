"""Type parameters of definitions and `type` statements.

Computes: nothing beyond the lowering. A type parameter becomes a call of `typing.TypeVar` (`TypeVarTuple`, `ParamSpec`), bound to a
fresh name that the definition's body may capture; bounds and defaults are `Lazy`. `type X = value` becomes a call of
`typing.TypeAliasType` with a `Lazy` value. A generic class gets the base `typing.Generic[...]`, as in Python.
Source: PEP 695, PEP 696.
"""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from terra_refactor.ir.build.builder import FrameKind, FunctionBuilder
from terra_refactor.ir.ids import OpId
from terra_refactor.ir.ops import Argument, BuildContainer, Call, ContainerKind, Element, ImportFrom, LoadItem


def lower_type_parameters(b: FunctionBuilder, node: cst.TypeParameters) -> list[OpId]:
    """Binds the type parameters in a new scope, which the caller must leave; returns their values."""
    b.push_frame(FrameKind.TYPE_PARAMETERS)
    return [_lower_type_parameter(b, parameter) for parameter in node.params]


def _lower_type_parameter(b: FunctionBuilder, node: cst.TypeParam) -> OpId:
    parameter = node.param
    maker = _from_typing(b, node, type(parameter).__name__)
    name = parameter.name.value
    arguments = [Argument(b.literal(parameter.name, name))]
    if isinstance(parameter, cst.TypeVar) and parameter.bound is not None:
        if isinstance(parameter.bound, cst.Tuple):
            arguments.extend(Argument(b.lazy(element.value)) for element in parameter.bound.elements)
        else:
            arguments.append(Argument(b.lazy(parameter.bound), "bound"))
    if node.default is not None:
        arguments.append(Argument(b.lazy(node.default), "default"))
    if isinstance(parameter, cst.TypeVar):
        arguments.append(Argument(b.literal(node, True), "infer_variance"))
    made = b.new_id(node)
    b.ops.append(Call(made, maker, tuple(arguments)))
    b.store(parameter.name, b.mangled(name), made)
    return made


def _from_typing(b: FunctionBuilder, node: cst.CSTNode, name: str) -> OpId:
    op_id = b.new_id(node)
    b.ops.append(ImportFrom(op_id, "typing", 0, name))
    return op_id


def generic_base(b: FunctionBuilder, node: cst.ClassDef, type_parameters: Sequence[OpId]) -> OpId:
    """`typing.Generic[type_parameters]`."""
    generic = _from_typing(b, node, "Generic")
    index = _tuple(b, node, type_parameters)
    op_id = b.new_id(node)
    b.ops.append(LoadItem(op_id, generic, index))
    return op_id


def _tuple(b: FunctionBuilder, node: cst.CSTNode, values: Sequence[OpId]) -> OpId:
    op_id = b.new_id(node)
    b.ops.append(BuildContainer(op_id, ContainerKind.TUPLE, tuple(Element(value) for value in values)))
    return op_id


def lower_type_alias(b: FunctionBuilder, node: cst.TypeAlias) -> None:
    frame = b.frame
    maker = _from_typing(b, node, "TypeAliasType")
    name = node.name.value
    label = b.literal(node.name, name)
    parameters = lower_type_parameters(b, node.type_parameters) if node.type_parameters is not None else []
    value = b.lazy(node.value)
    arguments = [Argument(label), Argument(value)]
    if parameters:
        arguments.append(Argument(_tuple(b, node, parameters), "type_params"))
    made = b.new_id(node)
    b.ops.append(Call(made, maker, tuple(arguments)))
    b.frame = frame
    b.store(node.name, b.mangled(name), made)
