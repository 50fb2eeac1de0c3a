"""Numbers with a new value in each call of an extracted step: the call passes them as float32.

Computes: which of them are combined with tensors, by an attempt that passes them as float64: the decision about it names
the places where they meet a float32. Needs: a trial and its last decision. Gives: `try_numbers`, `give_numbers`, and the
parameters that are asked for, `is_python_number` and `may_be_number`. Ignores: how the function is created again (`regions.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from terra_refactor.classify.decision import Decision, ParameterDecision, ParameterValueKind
from terra_refactor.refactor.regions.conversions import number_as_operand, numpy_name
from terra_refactor.workspace.region_trial import Trial, meetings_of, tensors

_TRIED: Final = {"numpy": "{1}.float64({0})", "tensorflow": "{1}.cast({0}, {1}.float64).numpy()"}
_GIVEN: Final = {"numpy": "{1}.float32({0})", "tensorflow": "{1}.cast({0}, {1}.float32)"}
"""The spelling of a number as an argument of the call; a Boolean is a number, too."""


def try_numbers(trial: Trial, decision: Decision, asked: Callable[[ParameterDecision], bool]) -> bool:
    """Passes tensor operands that may be another number in each call as float64 in the next attempt; False if there are none.

    A float64 conflicts with a tensor that is known to be float32, so the decision shows the dtype of the other operand.
    """
    assert trial.region is not None
    modules = _modules_for_numbers(trial)
    changing = trial.outliner.changing(trial.candidate) | {each.name for each in trial.hoisted}
    trial.tried = frozenset(
        parameter.name
        for parameter in decision.parameters
        if modules is not None
        and asked(parameter)
        and parameter.name in trial.region.inputs
        and parameter.name in changing
        and parameter.name not in trial.converted
        and number_as_operand(
            trial.statements,
            parameter.name,
            tensors(decision),
            frozenset(trial.region.outputs),
            trial.candidate.scope.host_code,
        )
    )
    if trial.tried and modules is not None:
        trial.converted |= {name: _TRIED[modules[0]].format(trial.given(name), modules[1]) for name in trial.tried}
    return bool(trial.tried)


def _modules_for_numbers(trial: Trial) -> tuple[str, str] | None:
    """The library, and its name in the module, that makes an array or tensor of a number; None if the module imports neither."""
    numpy = numpy_name(trial.outliner.tree)
    if numpy is not None:
        return "numpy", numpy
    tensorflow = trial.candidate.scope.host_code.tensorflow
    return ("tensorflow", min(tensorflow)) if tensorflow else None


def is_python_number(parameter: ParameterDecision) -> bool:
    return parameter.kind is ParameterValueKind.PRIMITIVE


def may_be_number(parameter: ParameterDecision) -> bool:
    """Whether callers know nothing about its type: the result of another library's environment is usually a number.

    Arrays of such numbers may be float64, which eager operations convert and a graph does not.
    """
    return parameter.kind is ParameterValueKind.UNKNOWN or (
        parameter.kind in (ParameterValueKind.TENSOR, ParameterValueKind.NDARRAY)
        and all(
            each.dtype is None and (each.shape is None or parameter.kind is ParameterValueKind.NDARRAY)
            for each in parameter.types
        )
    )


def give_numbers(trial: Trial, decision: Decision) -> None:
    """From now on passes the numbers that were combined with a float32 as float32, and the others unchanged."""
    assert trial.region is not None
    modules = _modules_for_numbers(trial)
    assert modules is not None
    library, module = modules
    meetings, outputs = meetings_of(trial, decision), frozenset(trial.region.outputs)
    host = trial.candidate.scope.host_code
    for name in trial.tried:
        meets = number_as_operand(trial.statements, name, tensors(decision), outputs, host, meetings)
        given = trial.given(name)
        trial.converted[name] = _GIVEN[library].format(given, module) if meets else given
        if meets:
            trial.best = None  # without the conversion, a float64 raises
    trial.tried = frozenset()
