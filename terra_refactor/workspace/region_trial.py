"""One candidate during its judgement, and values that its function should receive as arguments instead of computing
them.

Gives: `Trial`, `coercible`, `convertible`, `made_tensors`, `conflicts`, `meetings_of`, `tensors`, `hoistable`, `line_in_file`, `holds`,
`doubts` and the unknown inputs. Needs: the last decision about the function. Ignores: its consequences (`regions.py`).
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from terra_refactor.classify.decision import (
    Action,
    Classification,
    Decision,
    Hazard,
    Level,
    ParameterDecision,
    ParameterValueKind,
)
from terra_refactor.classify.sample import ConstantSample
from terra_refactor.classify.samples import MAX_SAMPLES
from terra_refactor.domain.dtype import FLOATING
from terra_refactor.refactor.regions.candidates import Candidate
from terra_refactor.refactor.regions.coercions import coerced, modules_of
from terra_refactor.refactor.regions.conversions import (
    CONVERTED,
    Meetings,
    number_as_tensor,
    numpy_name,
    used_as_operand,
)
from terra_refactor.refactor.regions.early_conversions import early_conversions
from terra_refactor.refactor.regions.hoisting import (
    Hoisted,
    attribute_behind,
    attributes_of,
    call_behind,
    made_of_arrays,
    with_arguments,
)
from terra_refactor.refactor.regions.outline import Outliner, Placement
from terra_refactor.refactor.regions.region import ExtractedFunction
from terra_refactor.refactor.regions.taped import TapedNames
from terra_refactor.refactor.regions.variables import updates_variables
from terra_refactor.rules.graph_failures.conflicting_eager_coercion import RULE as CONFLICTING_COERCION
from terra_refactor.rules.graph_failures.numpy_on_tensor import RULE as NUMPY_ON_TENSOR
from terra_refactor.rules.graph_failures.python_value_needed import RULE as PYTHON_VALUE_NEEDED
from terra_refactor.rules.graph_failures.unhashable_argument import RULE as UNHASHABLE_ARGUMENT
from terra_refactor.rules.host_effects.frozen_host_value import RULE as FROZEN_VALUE
from terra_refactor.rules.host_effects.stale_host_state import RULE as STALE_STATE
from terra_refactor.syntax.name_flow import Statements


@dataclass(slots=True, eq=False)
class Trial:
    """One candidate on its way to a decision."""

    path: str
    candidate: Candidate
    outliner: Outliner
    placements: tuple[Placement, ...]
    region: ExtractedFunction | None = None
    decision: Decision | None = None
    reason: str = ""
    best: tuple[ExtractedFunction, Decision] | None = None
    """The last possible attempt, while a better one is searched for."""
    last: tuple[ExtractedFunction, Decision] | None = None
    """The last attempt; its hazards are reported if none succeeds."""
    shim: tuple[ExtractedFunction, Decision] | None = None
    """The first attempt, with the longest run, whose function the shim may run although it cannot be a graph."""
    settled: bool = False
    depth: int = 0
    """The number of loops inside of which the function is defined."""
    passed: frozenset[str] = frozenset()
    """Names that are always parameters."""
    converted: dict[str, str] = field(default_factory=dict)
    """The expressions for converted arrays and numbers in the call."""
    hoisted: tuple[Hoisted, ...] = ()
    """Expressions that the call evaluates and the function receives."""
    tried: frozenset[str] = frozenset()
    """Numbers that are passed as float64 in this attempt, to find out whether they are combined with float32."""
    assumed: dict[str, None] = field(default_factory=dict)
    """Assumptions of the conversions."""
    taped: TapedNames = field(default_factory=lambda: TapedNames(()))
    """The functions of the program that tapes of other functions may record."""

    @property
    def name(self) -> str | None:
        return None if self.region is None else self.region.function_name

    @property
    def statements(self) -> Statements:
        """The statements of the function, with its parameters for hoisted expressions."""
        return with_arguments(self.candidate.statements, self.hoisted)

    def given(self, name: str) -> str:
        """The argument of the call for a parameter, before its conversion."""
        return next((each.text for each in self.hoisted if each.name == name), name)


def hoistable(trial: Trial, decision: Decision, hazard: Hazard, found: Sequence[Hoisted]) -> tuple[Hoisted, ...]:
    """Expressions that should be evaluated before the run, because of a hazard at the tape, in addition to `found`."""
    assert trial.region is not None
    candidate = trial.candidate
    if hazard.rule == UNHASHABLE_ARGUMENT.id:
        names = [name for name in trial.region.inputs if name == hazard.subject.written]
        return tuple(each for name in names for each in attributes_of(candidate, name, found))
    line = line_in_file(trial.region, decision, hazard.span.line)
    if line is None or not any(holds(statement, line) for statement in (candidate.anchor, *candidate.core)):
        return ()
    new: Hoisted | None = None
    if hazard.rule == STALE_STATE.id:
        new = attribute_behind(candidate, line, hazard.subject.state, found)
    elif hazard.rule == FROZEN_VALUE.id:
        new = call_behind(candidate, line, hazard.subject.written, found)
    elif hazard.rule in (NUMPY_ON_TENSOR.id, PYTHON_VALUE_NEEDED.id) or (
        hazard.rule == CONFLICTING_COERCION.id and hazard.subject.by_numpy
    ):
        kinds = (ParameterValueKind.NDARRAY, ParameterValueKind.PRIMITIVE, ParameterValueKind.CONTAINER)
        given = frozenset(
            each.name
            for each in decision.parameters
            if each.kind in kinds
            # the only evidence may be one call that passes an array
            or (
                each.kind in (ParameterValueKind.UNKNOWN, ParameterValueKind.TENSOR)
                and each.name == hazard.subject.array
            )
        )
        new = made_of_arrays(candidate, line, hazard.subject.written, found, given, numpy_name(trial.outliner.tree))
    return () if new is None else (new,)


def converted_early(trial: Trial, decision: Decision) -> tuple[Hoisted, ...]:
    """The conversions of lists, arrays and unknown values to tensors that the call can make."""
    assert trial.region is not None
    inside = trial.candidate.scope.qualname.rpartition(".")[2]
    if not updates_variables(trial.candidate.block) and inside and trial.taped.may_be_recorded(inside):
        return ()  # a caller's tape may record the conversion of a variable
    kinds = (ParameterValueKind.CONTAINER, ParameterValueKind.NDARRAY, ParameterValueKind.UNKNOWN)
    names = frozenset(
        each.name
        for each in decision.parameters
        if each.kind in kinds and each.name in trial.region.inputs and each.name not in trial.converted
    )
    return early_conversions(trial.candidate, names, trial.hoisted, numpy_name(trial.outliner.tree))


def tensors(decision: Decision) -> frozenset[str]:
    """The parameters that are tensors of a known dtype."""
    return frozenset(
        parameter.name
        for parameter in decision.parameters
        if parameter.kind is ParameterValueKind.TENSOR and any(each.dtype is not None for each in parameter.types)
    )


def conflicts(trial: Trial, decision: Decision) -> frozenset[int]:
    """The lines where an array is combined with a tensor of another dtype."""
    assert trial.region is not None
    found = [
        line_in_file(trial.region, decision, each.span.line)
        for each in decision.hazards
        if each.rule == CONFLICTING_COERCION.id
    ]
    return frozenset(line for line in found if line is not None)


def meetings_of(trial: Trial, decision: Decision) -> Meetings:
    """The places where an array is combined with a tensor of another dtype, also in functions that the run calls."""
    assert trial.region is not None
    places = {
        (line, tuple(name.rpartition(".")[2] for name in each.via), each.subject.array, each.message)
        for each in decision.hazards
        if each.rule == CONFLICTING_COERCION.id
        and (line := line_in_file(trial.region, decision, each.span.line)) is not None
    }
    return Meetings(
        frozenset(line for line, via, _, _ in places if not via),
        Counter((line, via, array) for line, via, array, _ in places),
    )


def convertible(trial: Trial, decision: Decision) -> dict[str, str]:
    """The arrays whose dtype differs from the tensors with which they are combined, and which the call can convert like
    eager operations.
    """
    assert trial.region is not None
    lines = conflicts(trial, decision)
    if not lines:
        return {}
    # if nothing else is known about an array, the hazard says that it is one
    arrays = {each.subject.array for each in decision.hazards if each.rule == CONFLICTING_COERCION.id}
    return {
        parameter.name: CONVERTED.format(trial.given(parameter.name))
        for parameter in decision.parameters
        if (parameter.kind is ParameterValueKind.NDARRAY or parameter.name in arrays)
        and parameter.name in trial.region.inputs
        and parameter.types
        and used_as_operand(
            trial.statements,
            parameter.name,
            tensors(decision),
            lines,
            frozenset(trial.region.outputs),
            # NumPy combines floating-point arrays in their own dtype, before they are combined with the tensor
            whole=all(each.dtype is not None and each.dtype not in FLOATING for each in parameter.types),
        )
    }


def coercible(trial: Trial, decision: Decision) -> dict[str, str]:
    """The arrays, and arguments of unknown type, that are combined with tensors in the run, and that the call can convert to arrays of
    their dtype.

    The output of an unknown network is assumed to be float32, as for Keras networks, if the module does not mention
    float64.
    """
    assert trial.region is not None
    candidate = trial.candidate
    host = candidate.scope.host_code
    said = [
        (coercion.network, coercion.dtype, each.subject.array)
        for each in decision.hazards
        if (coercion := each.subject.coercion) is not None
    ]
    numpy = numpy_name(trial.outliner.tree)
    if not said or not (numpy or host.tensorflow):
        return {}
    inside = candidate.scope.qualname.rpartition(".")[2]
    updates = updates_variables(candidate.block)
    if not updates and inside and trial.taped.may_be_recorded(inside):
        return {}  # no gradient flows through an array
    given: dict[str, str] = {}
    for parameter in decision.parameters:
        name = parameter.name
        known = parameter.kind is not ParameterValueKind.NDARRAY and any(each.dtype for each in parameter.types)
        if known or name not in trial.region.inputs or name in trial.converted:
            continue
        found = coerced(trial.statements, name, tensors(decision), host, modules_of(trial.outliner.tree))
        if found is None or not found.meets or name in trial.region.outputs:
            continue
        wanted = {dtype or "float32" for _, dtype, array in said if array in found.names}
        networks = sorted({network for network, _, array in said if array in found.names and network})
        if len(wanted) != 1 or (networks and "float64" in trial.outliner.text):
            continue
        trial.assumed |= {f"`{network}` gives float32": None for network in networks}
        if not updates and inside:
            trial.assumed |= {f"no tape records a call of `{inside}`": None}
        cast = "{1}.asarray({0}, {2!r})" if numpy else "{1}.cast({0}, {2!r})"
        given[name] = cast.format(trial.given(name), numpy or min(host.tensorflow), min(wanted)).replace("'", '"')
    return given


def made_tensors(trial: Trial, decision: Decision) -> dict[str, str]:
    """The Python floats, different in each call, that TensorFlow functions convert to float32 tensors."""
    assert trial.region is not None
    numpy = numpy_name(trial.outliner.tree)
    if numpy is None:
        return {}
    changing = trial.outliner.changing(trial.candidate) | {each.name for each in trial.hoisted}
    returned = frozenset(trial.region.outputs)
    return {
        parameter.name: f"{numpy}.float32({trial.given(parameter.name)})"
        for parameter in decision.parameters
        if parameter.name in changing
        and parameter.name in trial.region.inputs
        and parameter.name not in trial.converted
        and _is_float(parameter)
        and number_as_tensor(trial.outliner.tree, trial.statements, parameter.name, returned)
    }


def _is_float(parameter: ParameterDecision) -> bool:
    """Whether only Python floats are passed for it. Of many samples, some are left out."""
    return (
        parameter.kind is ParameterValueKind.PRIMITIVE
        and 0 < len(parameter.samples) < MAX_SAMPLES
        and all(isinstance(each, ConstantSample) and _IS_FLOAT.fullmatch(each.text) for each in parameter.samples)
    )


_IS_FLOAT: Final = re.compile(r"-?(\d+\.\d*(e[+-]?\d+)?|\d+e[+-]?\d+)")
"""The source text of a finite float."""


def holds(statement: ast.stmt, line: int) -> bool:
    return statement.lineno <= line <= (statement.end_lineno or statement.lineno)


def line_in_file(region: ExtractedFunction, decision: Decision, line: int) -> int | None:
    """The original line in the file of a line of the new function; None for its header and its `return`."""
    body = decision.end_line - (1 if region.outputs else 0) - len(region.body_lines) + 1
    at = line - body
    return region.body_lines[at] if 0 <= at < len(region.body_lines) else None


def unknown_arguments(decision: Decision) -> frozenset[str]:
    """The parameters whose values, or whose contents, are unknown."""
    unknown = {each.name for each in decision.parameters if each.kind is ParameterValueKind.UNKNOWN}
    return frozenset(unknown) | unknown_structures(decision)


def unknown_structures(decision: Decision) -> frozenset[str]:
    """The parameters that receive containers of unknown content: a different structure is a new trace."""
    return frozenset(
        each.name for each in decision.parameters if each.kind is ParameterValueKind.CONTAINER and not each.types
    )


def doubts(decision: Decision) -> tuple[int, int]:
    """The number of unknowns, to compare attempts. No assumption covers that a structure stays the same: these come first."""
    return len(unknown_structures(decision)), len(decision.assumptions)


def with_assumptions(trial: Trial, decision: Decision) -> Decision:
    """The decision with an assumption for each conversion, and for each argument with containers of unknown content."""
    decision = with_assumed_structures(decision)
    reread = () if trial.region is None else trial.region.reread
    assumed = dict.fromkeys((*trial.assumed, *(f"`{text}` has the same variables in each call" for text in reread)))
    found = tuple(each for each in assumed if each not in decision.assumptions)
    if not found:
        return decision
    if decision.action is Action.CO_EXECUTE:
        return replace(decision, assumptions=(*decision.assumptions, *found))
    count = len(decision.assumptions) + len(found)
    return replace(
        decision,
        classification=Classification.SPECULATIVE,
        level=Level.SPECULATIVE,
        assumptions=(*decision.assumptions, *found),
        reason=decision.reason if decision.pays is None else decision.pays.text(count),
    )


def with_assumed_structures(decision: Decision) -> Decision:
    """The decision with an assumption for each argument that receives containers of unknown content."""
    found = sorted(unknown_structures(decision))
    if not found:
        return decision
    listed = ", ".join(f"`{name}`" for name in found)
    return replace(
        decision,
        pays=None if decision.pays is None else replace(decision.pays, traces=listed),
        classification=Classification.SPECULATIVE,
        level=Level.SPECULATIVE,
        assumptions=(
            *decision.assumptions,
            *(f"`{name}` has the same structure in most calls: each new one is traced" for name in found),
        ),
        reason=f"{decision.reason}; a trace for each structure of {listed}",
    )


def judge_together(
    trials: Sequence[Trial],
    judged: Callable[[Sequence[Trial]], Mapping[tuple[str, str], Decision]],
    action: Action,
    leave_out: Callable[[Trial, Decision | None], None],
) -> None:
    """Judges the functions of trials as a set; those without the action in the set are left out, and the others judged again."""
    left = list(trials)
    while left:
        found = judged(left)
        right = []
        for trial in left:
            decision = found.get((trial.path, trial.name or ""))
            if decision is None or decision.action is not action:
                leave_out(trial, decision)
            else:
                trial.decision = decision
                right.append(trial)
        if len(right) == len(left):
            return
        left = right
