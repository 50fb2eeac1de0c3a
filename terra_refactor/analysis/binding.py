"""Binding of the arguments of a call to the parameters of a function.

Computes: the value of each parameter, by Python's rules. Needs: the callee's code, its defaults, the arguments.
Gives: `bind_arguments` for functions of the program, a dict in the order of the parameters, or None where the call certainly
raises TypeError; `bind_library_arguments` and `is_refused` for those of libraries.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from terra_refactor.analysis.engine import Site
from terra_refactor.analysis.facts import ObjectKind
from terra_refactor.analysis.frames import CallArguments
from terra_refactor.analysis.transfer.loaded_numbers import item_of_loaded
from terra_refactor.domain.lattice import join
from terra_refactor.domain.state import ITEMS
from terra_refactor.domain.value import (
    UNBOUND,
    UNKNOWN,
    Constant,
    FrozenDict,
    FunctionValue,
    Reference,
    SequenceValue,
    TupleValue,
    Value,
)
from terra_refactor.ir.function import Function, ParameterKind
from terra_refactor.tf_model.graph_traits import is_of_tensorflow
from terra_refactor.tf_model.spec import Entity, ParameterPassing, ParameterSpec


def bind_arguments(
    site: Site, code: Function, function: FunctionValue, arguments: CallArguments
) -> dict[str, Value] | None:
    """The value of each parameter of `code`; None if the arguments cannot match."""
    defaults = dict(function.defaults)
    positional = list(arguments.positional)
    keywords = dict(arguments.keywords)
    bound: dict[str, Value] = {}
    for parameter in code.parameters:
        name = parameter.name
        match parameter.kind:
            case ParameterKind.VAR_POSITIONAL:
                if arguments.open_positional is None:
                    bound[name] = TupleValue(tuple(positional))
                else:
                    element = arguments.open_positional
                    for value in positional:
                        element = join(element, value)
                    bound[name] = SequenceValue(element)
                positional = []
                continue
            case ParameterKind.VAR_KEYWORD if arguments.open_mapping is not None and not keywords:
                bound[name] = arguments.open_mapping
                continue
            case ParameterKind.VAR_KEYWORD:
                number = site.allocate(ObjectKind.DICT, "dict", tag=("kwargs", name))
                items = tuple((Constant(keyword), value) for keyword, value in keywords.items())
                site.frame.state.set((number, ITEMS), FrozenDict(items, arguments.open_keywords))
                bound[name] = Reference(number)
                keywords = {}
                continue
            case _:
                pass
        if positional and parameter.kind is not ParameterKind.KEYWORD_ONLY:
            bound[name] = positional.pop(0)
        elif name in keywords and parameter.kind is not ParameterKind.POSITIONAL_ONLY:
            bound[name] = keywords.pop(name)
        else:
            opened: Value | None = None
            if parameter.kind is not ParameterKind.KEYWORD_ONLY:
                opened = arguments.open_positional
            if parameter.kind is not ParameterKind.POSITIONAL_ONLY and arguments.open_keywords is not None:
                opened = arguments.open_keywords if opened is None else join(opened, arguments.open_keywords)
            default = defaults.get(name)
            item = None
            if arguments.open_mapping is not None and opened is arguments.open_keywords:
                item = item_of_loaded(site, arguments.open_mapping, Constant(name), default)
            if item is not None and (default is not None or not parameter.has_default):
                bound[name] = item
                continue
            if default is None and parameter.has_default:
                default = UNKNOWN
            if default is not None:
                bound[name] = default if opened is None else join(default, opened)
            elif opened is not None:
                bound[name] = opened
            else:
                return None
    if positional or keywords:
        return None
    return {name: UNKNOWN if value == UNBOUND else value for name, value in bound.items()}


FORMER_PARAMETERS: Final = {
    "keep_dims": "keepdims",
    **dict.fromkeys(("reduction_indices", "concat_dim", "split_dim", "squeeze_dims", "dimension", "dim"), "axis"),
}
"""TensorFlow 1 names of renamed parameters. Source: the deprecated arguments of `tf.compat.v1`."""


def bind_library_arguments(
    entity: Entity, arguments: CallArguments
) -> tuple[dict[str, Value], tuple[Value, ...], dict[str, Value], bool]:
    """Arguments by parameter (with plain defaults), the arguments of `*args` and `**kwargs`, and whether some may be missing."""
    parameters = entity.parameters
    positional, keywords = list(arguments.positional), dict(arguments.keywords)
    incomplete = arguments.open_positional is not None or arguments.open_keywords is not None
    if parameters is None:
        return {}, tuple(positional), keywords, incomplete
    if is_of_tensorflow(entity.name):
        names = {parameter.name for parameter in parameters}
        for former in keywords.keys() & FORMER_PARAMETERS.keys() - names:
            if (now := FORMER_PARAMETERS[former]) in names and now not in keywords:
                keywords[now] = keywords.pop(former)
    bound: dict[str, Value] = {}
    extra: tuple[Value, ...] = ()
    for parameter in parameters:
        if parameter.passing is ParameterPassing.VAR_POSITIONAL:
            extra, positional = tuple(positional), []
        elif parameter.passing is ParameterPassing.VAR_KEYWORD:
            continue
        elif positional and parameter.passing is not ParameterPassing.KEYWORD_ONLY:
            bound[parameter.name] = positional.pop(0)
        elif parameter.name in keywords:
            bound[parameter.name] = keywords.pop(parameter.name)
        elif parameter.default is not None and not incomplete:
            bound[parameter.name] = parameter.default
    return bound, extra or tuple(positional), keywords, incomplete


def may_be_given(parameter: ParameterSpec, bound: Mapping[str, Value]) -> bool:
    """Whether a spread of unknown length may set a parameter that is not bound."""
    is_rest = parameter.passing in (ParameterPassing.VAR_POSITIONAL, ParameterPassing.VAR_KEYWORD)
    return not is_rest and parameter.name not in bound


def is_refused(
    entity: Entity, bound: Mapping[str, Value], extra: tuple[Value, ...], keywords: Mapping[str, Value]
) -> bool:
    """Whether the call does not match the known signature: a parameter would be given twice, or arguments are missing."""
    passing = {parameter.passing for parameter in entity.parameters or ()}
    too_many = entity.parameters is not None and bool(extra) and ParameterPassing.VAR_POSITIONAL not in passing
    return too_many or not bound.keys().isdisjoint(keywords)
