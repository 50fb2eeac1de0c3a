"""Binding of the arguments of a call to the parameters of a function.

Computes: the value of each parameter, by Python's rules. Needs: the callee's code, its defaults, the arguments.
Gives: a dict in the order of the parameters, or None where the call certainly raises TypeError.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from terra_refactor.analysis.facts import ObjectKind
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

if TYPE_CHECKING:
    from terra_refactor.analysis.frames import CallArguments, Frame
    from terra_refactor.analysis.interpreter import Interpreter


def bind_arguments(
    interpreter: Interpreter, frame: Frame, op: int, code: Function, function: FunctionValue, arguments: CallArguments
) -> dict[str, Value] | None:
    """The value of each parameter of `code`; None if the arguments cannot fit."""
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
            case ParameterKind.VAR_KEYWORD:
                number = interpreter.allocate(frame, op, ObjectKind.DICT, "dict", tag=("kwargs", name))
                items = tuple((Constant(keyword), value) for keyword, value in keywords.items())
                frame.state.set((number, ITEMS), FrozenDict(items, arguments.open_keywords))
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
