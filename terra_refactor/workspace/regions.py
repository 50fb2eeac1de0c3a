"""Decisions about hot statements: they are extracted into a function in memory, which is judged like any other.

Computes: for each candidate of `refactor.regions` the longest run of statements around its tape whose function should become a graph.
Needs: a program, the sources of its files, the decisions about its functions, and their judge. Gives: `judge_regions`.

The next attempt leaves out the statements to which the decision objected: those with hazards (a print, a log, a number taken from a
tensor), and those that use a Python number that differs between calls. So the rules define what host code is.
"""

from __future__ import annotations

import ast
import logging
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final, TypeAlias

from terra_refactor.classify.decision import (
    Action,
    Classification,
    Decision,
    Hazard,
    Level,
    ParameterDecision,
    ParameterValueKind,
)
from terra_refactor.classify.judgement import FunctionNames
from terra_refactor.classify.region import RegionDecision
from terra_refactor.errors import SourceError
from terra_refactor.ir.build.module import lower_module
from terra_refactor.ir.program import ModuleIR, Program
from terra_refactor.refactor.plan import refactor_file
from terra_refactor.refactor.regions.candidates import Candidate
from terra_refactor.refactor.regions.early_conversions import without_inner
from terra_refactor.refactor.regions.hoisting import Hoisted, hoisted_inside, is_used_as_object
from terra_refactor.refactor.regions.outline import Placement
from terra_refactor.refactor.regions.own_names import made_by_scope
from terra_refactor.refactor.regions.region import ExtractedFunction
from terra_refactor.refactor.regions.variables import (
    made_inside,
    updates_variables,
    variables_among,
    with_variables,
)
from terra_refactor.refactor.result import Outcome
from terra_refactor.rules.graph_failures.conflicting_eager_coercion import RULE as CONFLICTING_COERCION
from terra_refactor.rules.graph_failures.numpy_on_tensor import RULE as NUMPY_ON_TENSOR
from terra_refactor.rules.host_effects.stale_host_state import RULE as STALE_STATE
from terra_refactor.rules.misuse.variable_created_in_graph import RULE as VARIABLE_CREATED
from terra_refactor.syntax.edit import Edit, minimal_edits
from terra_refactor.syntax.lines import LineIndex
from terra_refactor.syntax.location import Span
from terra_refactor.syntax.name_flow import Statements, usage_of
from terra_refactor.syntax.parse import parse_module
from terra_refactor.syntax.source import Source
from terra_refactor.workspace.cache import LoweringCache
from terra_refactor.workspace.found_region import FoundRegion, rewritten
from terra_refactor.workspace.region_numbers import give_numbers, is_python_number, may_be_number, try_numbers
from terra_refactor.workspace.region_trial import (
    Trial,
    coercible,
    converted_early,
    convertible,
    doubts,
    hoistable,
    holds,
    judge_together,
    line_in_file,
    made_tensors,
    unknown_arguments,
    unknown_structures,
    with_assumptions,
)
from terra_refactor.workspace.region_trials import find_trials
from terra_refactor.workspace.shim_regions import choose_co_executed, may_co_execute

LOGGER = logging.getLogger(__name__)

Decide: TypeAlias = Callable[[Program, FunctionNames], Sequence[Decision]]
"""The decisions about the functions of a program with such a path and name."""
_MAX_ROUNDS: Final = 12
"""Maximum number of times that a program is judged with other statements as functions."""
MAX_CANDIDATES: Final = 40
"""Maximum number of candidates of a component. One with more tapes outside of functions is a collection of examples."""


def judge_regions(
    program: Program,
    sources: Mapping[str, Source],
    decisions: Sequence[Decision],
    decide: Decide,
    cache: LoweringCache | None = None,
) -> tuple[FoundRegion, ...]:
    """The decisions about the regions of a program, by path and line. `cache` has files with regions that an earlier run has tried."""
    return judge_trials(program, sources, find_trials(sources, decisions), decide, cache)


def judge_trials(
    program: Program,
    sources: Mapping[str, Source],
    trials: list[Trial],
    decide: Decide,
    cache: LoweringCache | None = None,
) -> tuple[FoundRegion, ...]:
    """The decisions about candidates found by `find_trials`; see `judge_regions`."""
    if not trials or len(trials) > MAX_CANDIDATES:
        return ()
    judged = _Judged(program, sources, decide, cache)
    for _ in range(_MAX_ROUNDS):
        trials = _apart(trials)
        waiting = [trial for trial in trials if not trial.settled and trial.region is not None]
        if not waiting:
            break
        made = [trial for trial in trials if trial.region is not None]
        found = judged.with_functions(made)
        for trial in waiting:
            _advance(trial, found.get((trial.path, trial.name or "")))
    for trial in trials:
        _settle(trial)
    _confirm([trial for trial in trials if trial.best is not None], judged)
    choose_co_executed(trials, judged.with_functions)
    modules = {module.path: module.name for module in program.modules.values()}
    found_regions = (_found(trial, modules[trial.path], sources[trial.path]) for trial in trials)
    return tuple(sorted(found_regions, key=lambda found: (found.decision.path, found.decision.line)))


def _apart(trials: Sequence[Trial]) -> list[Trial]:
    """The trials whose function shares no statement with an earlier one, as far as that is known."""
    kept: list[Trial] = []
    for trial in trials:
        waits = False
        for other in kept:
            if trial.settled or other.path != trial.path or not trial.candidate.overlapping(other.candidate):
                continue
            if not other.settled:
                waits = True
            elif other.best is not None and trial.candidate.anchor in list(_inside(other.candidate.statements)):
                break  # it is part of that function
            elif other.best is not None:
                shorter = trial.candidate.without(trial.candidate.overlapping(other.candidate))
                if shorter is None or shorter.overlapping(other.candidate):
                    break
                trial.candidate = shorter
        else:
            kept.append(trial)
            if not waits and not trial.settled and trial.region is None:
                _outline(trial)
    return kept


def _inside(statements: Statements) -> Iterable[ast.stmt]:
    return (node for statement in statements for node in ast.walk(statement) if isinstance(node, ast.stmt))


def _outline(trial: Trial) -> None:
    """Creates the function of a trial, at the first possible position."""
    while trial.placements:
        trial.hoisted = hoisted_inside(trial.candidate, trial.hoisted)
        made = trial.outliner.outline(
            trial.candidate, trial.placements[0], trial.name, trial.depth, trial.passed, trial.converted, trial.hoisted
        )
        if isinstance(made, ExtractedFunction):
            trial.region = made
            return
        shorter = _without_readers(trial.candidate, made.names)
        if shorter is not None:
            trial.candidate = shorter
            continue
        trial.reason = trial.reason or made.reason
        trial.placements = trial.placements[1:]
    trial.region = None
    trial.settled = True


def _without_readers(candidate: Candidate, names: frozenset[str]) -> Candidate | None:
    """The run without the statements before the tape that read some names, or those at the end of its block; or else without all
    that read or bind them outside of its core.
    """
    block, at = candidate.path[candidate.level]
    core = {id(statement) for statement in candidate.core}
    above = frozenset(id(each) for each in block[candidate.start : at] if names & usage_of([each]).needs.keys())
    above |= {id(each) for each in candidate.movable_inside if names & usage_of([each]).needs.keys()}
    users = above or frozenset(
        id(each)
        for each in block[candidate.start : candidate.end]
        if id(each) not in core and names & (usage_of([each]).needs.keys() | usage_of([each]).binds.keys())
    )
    if users - candidate.stays:
        return candidate.without(users)
    # the branch that contains the tape may have all statements that it needs
    return None if block[at] is candidate.anchor else candidate.without(frozenset({id(block[at])}))


def _advance(trial: Trial, decision: Decision | None) -> None:
    """Applies the decision about a trial's function: it is settled, or tried in another way."""
    trial.decision = decision
    if decision is None:
        trial.reason, trial.settled, trial.region = "it could not be analysed", True, None
        return
    assert trial.region is not None
    if trial.tried:
        give_numbers(trial, decision)
        _outline(trial)
        return
    trial.last = (trial.region, decision)
    others = _other_objects(trial, decision)
    if trial.shim is None and not others and may_co_execute(trial, decision):
        trial.shim = trial.last
    hazards = {hazard.rule for hazard in decision.hazards if not hazard.assumed}
    if others and (decision.action is Action.ADD_TF_FUNCTION or hazards == {VARIABLE_CREATED.id}):
        # creating variables of an optimizer or a network in a second trace is an error
        made = _made_each_call(trial, decision)
        in_loop = trial.candidate.loops and not made
        once = "each iteration of a loop" if in_loop else "each call of the enclosing function"
        trial.reason = f"`{min(others)}` is another object in {once}"
        users = trial.candidate.movable(others)
        if users is not None and _cut(trial, users):
            return
        trial.placements = trial.placements[1:] if made else _deeper(trial)
        _outline(trial)
        return
    if variables_among(trial.candidate.statements) & set(trial.region.outputs):
        # a graph returns tensors in their place, which an optimizer cannot change
        trial.reason, trial.settled, trial.region = "it would return variables", True, None
        return
    inside = made_inside(trial.candidate.statements)
    if inside and decision.action is Action.ADD_TF_FUNCTION and _cut(trial, inside):
        return
    if decision.action is Action.ADD_TF_FUNCTION:
        if trial.best is None or doubts(decision) < doubts(trial.best[1]):
            trial.best = (trial.region, decision)
        if updates_variables(trial.candidate.statements) and _try_numbers(trial, decision, may_be_number):
            return
        if _hoist_assumed(trial, decision):
            return
        core = frozenset(map(id, (trial.candidate.anchor, *trial.candidate.core)))
        doubtful = _with_unknown(trial, decision)
        if decision.level is not Level.SAFE:
            doubtful |= _with_hazards(trial, decision, assumed=True)
        if not _cut(trial, doubtful - core):
            trial.settled = True
        return
    if trial.best is not None:
        trial.settled = True
        return
    trial.reason = decision.reason
    again = trial.outliner.bound_again(trial.candidate) - trial.passed
    if again and any(hazard.rule == STALE_STATE.id for hazard in decision.hazards):
        # a name that is rebound further down: the function receives the object of this loop
        trial.passed |= again
        _outline(trial)
        return
    given = coercible(trial, decision) | {
        name: text for name, text in convertible(trial, decision).items() if name not in trial.converted
    }
    given |= made_tensors(trial, decision)
    if given:
        trial.converted |= given
        _outline(trial)
        return
    if _convert_early(trial, decision) or _try_numbers(trial, decision, is_python_number):
        return
    against = _held_against(trial, decision, assumed=False)
    if decision.classification is Classification.UNSAFE and not against:
        against = _held_against(trial, decision, assumed=True)
        # the update belongs to its tape, as far as nothing but assumptions is held against it
        against = (against - frozenset(map(id, (trial.candidate.anchor, *trial.candidate.core)))) or against
    if _cut(trial, against) or _hoist(trial, decision):
        return
    if decision.classification is Classification.UNSAFE and _cut(trial, _above_the_tape(trial, decision)):
        return
    trial.placements = trial.placements[1:]
    _outline(trial)


def _above_the_tape(trial: Trial, decision: Decision) -> frozenset[int]:
    """The statements before the tape whose hazards come from unknown values, independent of other hazards of the run; also those that
    unpack lists whose contents are passed to NumPy.
    """
    doubtful = _with_hazards(trial, decision, assumed=True)
    taken_apart = {hazard.subject.container for hazard in decision.hazards}
    return frozenset(
        id(each)
        for each in trial.candidate.statements
        if each.lineno < trial.candidate.anchor.lineno
        and (id(each) in doubtful or taken_apart & usage_of([each]).needs.keys())
    )


def _hoist(trial: Trial, decision: Decision) -> bool:
    """Tries again with arguments in place of host expressions around the tape that have hazards; False if there are none.

    Models and optimizers are excluded: a second object would create its variables in a second trace, which raises.
    """
    assert trial.region is not None
    objects = {each.name for each in decision.parameters if each.kind is ParameterValueKind.OBJECT}
    if any(each.name in objects for each in trial.hoisted):
        return False
    found = list(trial.hoisted)
    for hazard in decision.hazards:
        if (not hazard.assumed or hazard.rule in (CONFLICTING_COERCION.id, NUMPY_ON_TENSOR.id)) and not hazard.via:
            found += hoistable(trial, decision, hazard, found)
    if len(found) == len(trial.hoisted):
        return False
    _receive(trial, found)
    return True


def _hoist_assumed(trial: Trial, decision: Decision) -> bool:
    """Tries again with attributes as arguments that other methods assign; False if there are none.

    As arguments, they need no assumption. A model keeps it: an optimizer creates variables for another one.
    """
    found = list(trial.hoisted)
    for hazard in decision.hazards:
        if hazard.assumed and hazard.rule == STALE_STATE.id and not hazard.via:
            more = hoistable(trial, decision, hazard, found)
            found += (each for each in more if not is_used_as_object(trial.candidate, each))
    if len(found) == len(trial.hoisted):
        return False
    _receive(trial, found)
    return True


def _convert_early(trial: Trial, decision: Decision) -> bool:
    """Tries again with tensors in place of host values that the tape converts; False if there are none."""
    found = converted_early(trial, decision)
    if found:
        _receive(trial, [*trial.hoisted, *found])
    return bool(found)


def _receive(trial: Trial, hoisted: Sequence[Hoisted]) -> None:
    """Tries again with these arguments, in the order in which the run evaluates them: the second random draw stays the second."""
    order = sorted(without_inner(hoisted), key=lambda each: (each.nodes[0].lineno, each.nodes[0].col_offset))
    trial.hoisted = tuple(order)
    _outline(trial)


def _try_numbers(trial: Trial, decision: Decision, asked: Callable[[ParameterDecision], bool]) -> bool:
    """Tries again with tensor operands that may be another number in each call; False if there are none."""
    found = try_numbers(trial, decision, asked)
    if found:
        _outline(trial)
    return found


def _other_objects(trial: Trial, decision: Decision) -> frozenset[str]:
    """The models, optimizers and similar objects that differ in each iteration, or each enclosing call, and would be arguments of the
    function.
    """
    assert trial.region is not None
    objects = {each.name for each in decision.parameters if each.kind is ParameterValueKind.OBJECT}
    unknown = {each.name for each in decision.parameters if each.kind is ParameterValueKind.UNKNOWN}
    used = objects | (unknown & with_variables(trial.statements))
    found = used & trial.outliner.changing(trial.candidate) if trial.candidate.loops else set[str]()
    found |= _made_each_call(trial, decision)
    if trial.placements[0] in (Placement.BESIDE, Placement.TOP):
        # it is unknown whether each call of the enclosing function creates its own
        opaque = {each.name for each in decision.parameters if each.kind is ParameterValueKind.FUNCTION} | objects
        around = trial.candidate.scope.flow.names | {each.name for each in trial.hoisted}
        found |= (opaque | unknown_structures(decision)) - around
    return frozenset(found) & frozenset(trial.region.inputs)


def _made_each_call(trial: Trial, decision: Decision) -> frozenset[str]:
    """The networks and optimizers that each call of the enclosing function may create, unless the new function is created with them."""
    if trial.placements[0] in (Placement.MODULE, Placement.NESTED):
        return frozenset()
    kinds = (ParameterValueKind.OBJECT, ParameterValueKind.UNKNOWN)
    given = frozenset(each.name for each in decision.parameters if each.kind in kinds)
    return given & made_by_scope(trial.candidate.scope) & with_variables(trial.statements)


def _deeper(trial: Trial) -> tuple[Placement, ...]:
    """The positions with the function defined inside one more of the loops; none if it would be defined in each iteration."""
    trial.depth += 1
    if trial.depth >= len(trial.candidate.loops):
        return ()
    return tuple(place for place in trial.placements if place in (Placement.MODULE, Placement.NESTED))


def _held_against(trial: Trial, decision: Decision, *, assumed: bool) -> frozenset[int]:
    """The statements, by identity, that should stay outside because of the decision."""
    return _with_hazards(trial, decision, assumed=assumed) | _with_numbers(trial, decision)


def _with_numbers(trial: Trial, decision: Decision) -> frozenset[int]:
    """The statements that use Python numbers, or lists of them, that loops bind: they differ between calls."""
    changing = trial.outliner.changing(trial.candidate)
    kinds = {ParameterValueKind.PRIMITIVE}
    if decision.classification is not Classification.UNSAFE:
        kinds.add(ParameterValueKind.CONTAINER)
    numbers = {
        parameter.name for parameter in decision.parameters if parameter.kind in kinds and parameter.name in changing
    }
    found: set[int] = set()
    for statement in _statements_down_to_tape(trial.candidate):
        if statement.lineno == trial.candidate.anchor.lineno:
            inside = frozenset(
                id(each) for each in trial.candidate.movable_inside if numbers & usage_of([each]).needs.keys()
            )
            found |= inside
            rest = trial.candidate.tape_without(inside | trial.candidate.deferred | trial.candidate.leading)
            if numbers & usage_of([rest]).needs.keys():
                found.add(id(trial.candidate.anchor))
        elif numbers & usage_of([statement]).needs.keys():
            found.add(id(statement))
    return frozenset(found)


def _with_unknown(trial: Trial, decision: Decision) -> frozenset[int]:
    """The statements before the tape that use unknown values: their results, usually tensors, are known."""
    unknown = unknown_arguments(decision)
    above = (each for each in trial.candidate.statements if each.lineno < trial.candidate.anchor.lineno)
    return frozenset(id(each) for each in above if unknown & usage_of([each]).needs.keys())


def _with_hazards(trial: Trial, decision: Decision, *, assumed: bool) -> frozenset[int]:
    """The statements with hazards in the decision; for a hazard of the result, the last statement that computes a result."""
    assert trial.region is not None
    against = [hazard for hazard in decision.hazards if (hazard.assumed and not hazard.is_possible) == assumed]
    places = {line_in_file(trial.region, decision, hazard.span.line) for hazard in against}
    lines = places - {None}
    found: set[int] = set()
    for statement in _statements_down_to_tape(trial.candidate):
        here = {line for line in lines if line is not None and holds(statement, line)}
        if statement.lineno == trial.candidate.anchor.lineno:
            apart = (*trial.candidate.movable_inside, *trial.candidate.leading_inside)
            inside = [each for each in apart if any(holds(each, line) for line in here)]
            found.update(map(id, inside))
            here -= {line for line in here if any(holds(each, line) for each in inside)}
            if here:
                found.add(id(trial.candidate.anchor))
        elif here:
            found.add(id(statement))
    if not found - trial.candidate.stays and None in places:
        # its result is not a tensor: the last statement that computes a result may be the reason
        for statement in reversed(trial.candidate.statements):
            if statement.lineno == trial.candidate.anchor.lineno:
                break
            if usage_of([statement]).binds.keys() & set(trial.region.outputs):
                found.add(id(statement))
                break
    return frozenset(found)


def _statements_down_to_tape(candidate: Candidate) -> Iterable[ast.stmt]:
    """The statements of the run; for the one that contains the tape's block, also those of the blocks in between."""
    yield from candidate.statements
    for block, _ in candidate.path[candidate.level + 1 :]:
        yield from block


def _cut(trial: Trial, stays: frozenset[int]) -> bool:
    """Tries again with some statements outside; False if there is nothing left to try."""
    new = stays - trial.candidate.stays
    if not new:
        return False
    inside = {id(trial.candidate.anchor), *map(id, trial.candidate.anchor.body)}
    if new - inside:
        # which statements may move out of the tape's block depends on the remaining ones after it
        stays = stays - inside
    shorter = trial.candidate.without(stays)
    if shorter is None:
        return False
    placements = trial.outliner.placements(shorter)
    before = trial.candidate, trial.placements, trial.region, trial.reason
    trial.candidate = shorter
    trial.placements = tuple(place for place in placements if place in trial.placements) or placements
    _outline(trial)
    if trial.region is None:
        trial.candidate, trial.placements, trial.region, _ = before
        # if no attempt was possible, the next position is tried
        trial.settled = trial.best is not None
        return trial.settled
    return True


def _settle(trial: Trial) -> None:
    trial.settled = True
    if trial.best is None:
        trial.region = None
    else:
        trial.region, trial.decision = trial.best


def _confirm(trials: Sequence[Trial], judged: _Judged) -> None:
    """Judges the functions as a set, at each level; those that are not correct in the set are not extracted."""

    def leave_out(trial: Trial, decision: Decision | None) -> None:
        trial.reason = "it could not be analysed" if decision is None else decision.reason
        trial.best = trial.region = None

    judge_together(trials, judged.with_functions, Action.ADD_TF_FUNCTION, leave_out)


class _Judged:
    """The decisions about a program in which some runs of statements are functions."""

    def __init__(
        self, program: Program, sources: Mapping[str, Source], decide: Decide, cache: LoweringCache | None
    ) -> None:
        self.program = program
        self.sources = sources
        self.decide = decide
        self.cache = cache
        self.modules = {module.path: module for module in program.modules.values()}
        self.known: dict[tuple[ExtractedFunction, ...], dict[tuple[str, str], Decision]] = {}
        self.lowered: dict[tuple[str, tuple[ExtractedFunction, ...]], ModuleIR | None] = {}
        """Files by their regions: most files keep theirs while those of other files are tried."""

    def with_functions(self, trials: Sequence[Trial]) -> dict[tuple[str, str], Decision]:
        """The decisions about the functions of the trials, by path and name."""
        key = tuple(trial.region for trial in trials if trial.region is not None)
        if key not in self.known:
            self.known[key] = self._decided(trials)
        return self.known[key]

    def _decided(self, trials: Sequence[Trial]) -> dict[tuple[str, str], Decision]:
        by_path: dict[str, list[ExtractedFunction]] = {}
        for trial in trials:
            if trial.region is not None:
                by_path.setdefault(trial.path, []).append(trial.region)
        changed: dict[str, ModuleIR] = {}
        for path, regions in by_path.items():
            made = (path, tuple(regions))
            if made not in self.lowered:
                self.lowered[made] = self._with_regions(path, regions)
            module = self.lowered[made]
            if module is not None:
                changed[module.name] = module
        names = {
            (path, region.function_name)
            for path, regions in by_path.items()
            if self.modules[path].name in changed
            for region in regions
        }
        if not names:
            return {}
        found: dict[tuple[str, str], Decision] = {}
        for decision in self.decide(replace(self.program, modules={**self.program.modules, **changed}), names):
            key = (decision.path, decision.qualname.rpartition(".")[2])
            if key in names:
                found[key] = decision
        return found

    def _with_regions(self, path: str, regions: Sequence[ExtractedFunction]) -> ModuleIR | None:
        """A file with some regions extracted as functions."""
        module, source = self.modules[path], rewritten(self.sources[path], regions)
        if self.cache is not None:
            known = self.cache.find(source.digest, module.name, path, is_package=module.is_package)
            if known is not None:
                return known
        try:
            made = lower_module(parse_module(source), module.name, is_package=module.is_package)
        except SourceError:
            LOGGER.exception("a region of %s does not parse as a function", path)
            return None
        if self.cache is not None:
            self.cache.keep(made)
        return made


# --- places ------------------------------------------------------------------------------------------------------------------------------


def _moved(region: ExtractedFunction, decision: Decision, hazard: Hazard) -> Hazard:
    span = hazard.span
    line = line_in_file(region, decision, span.line) or region.line
    end_line = max(line, line_in_file(region, decision, span.end_line) or line)
    return replace(hazard, span=Span(line, span.column, end_line, span.end_column), cure=None)


# --- results -----------------------------------------------------------------------------------------------------------------------------


def _found(trial: Trial, module: str, source: Source) -> FoundRegion:
    if trial.decision is not None and trial.region is not None:
        region, decision = trial.region, with_assumptions(trial, trial.decision)
        edits = _all_edits(source, region, decision)
        if edits:
            action = Action.EXTRACT_TF_FUNCTION if trial.best is not None else Action.CO_EXECUTE
            return FoundRegion(_decision(trial, module, region, decision, action), region, edits)
        trial.reason = "the function has no place for a decorator"
    if trial.last is not None:
        region, decision = trial.last
        return FoundRegion(_decision(trial, module, region, decision, Action.NONE), None)
    inside = trial.candidate.scope.qualname or "<module>"
    first, last = trial.candidate.statements[0], trial.candidate.statements[-1]
    return FoundRegion(
        RegionDecision(
            path=trial.path,
            module=module,
            inside=inside,
            line=first.lineno,
            end_line=last.end_lineno or last.lineno,
            classification=Classification.UNSAFE,
            extract=False,
            co_execute=False,
            level=Level.SPECULATIVE,
            reason=trial.reason,
            assumptions=(),
            hazards=(),
            inputs=(),
            outputs=(),
            output_types=(),
            function_name="",
            qualname="",
        ),
        None,
    )


def _all_edits(source: Source, region: ExtractedFunction, decision: Decision) -> tuple[Edit, ...]:
    """The edits that turn one region into a decorated function; none if it cannot be decorated."""
    alone = rewritten(source, [region])
    found = re.search(rf"^[ \t]*def {region.function_name}\b", alone.text, re.MULTILINE)
    assert found is not None
    placed = replace(decision, line=LineIndex(alone.text).place(found.start())[0])
    done = refactor_file(alone, [placed], Level.COEXEC)
    if any(change.outcome is not Outcome.DONE for change in done.changes):
        return ()
    return minimal_edits(source.text, done.new_text)


def _decision(
    trial: Trial, module: str, region: ExtractedFunction, decision: Decision, action: Action
) -> RegionDecision:
    taken = [parameter for parameter in decision.parameters if parameter.name in region.inputs]
    # the last attempt shows why it cannot be a graph
    held = (region, decision) if action is Action.EXTRACT_TF_FUNCTION or trial.last is None else trial.last
    return RegionDecision(
        path=trial.path,
        module=module,
        inside=region.inside,
        line=region.line,
        end_line=region.end_line,
        classification=decision.classification,
        extract=action is Action.EXTRACT_TF_FUNCTION,
        co_execute=action is Action.CO_EXECUTE,
        level=decision.level,
        reason=decision.reason if action is Action.EXTRACT_TF_FUNCTION else trial.reason or decision.reason,
        assumptions=decision.assumptions,
        hazards=tuple(_moved(*held, hazard) for hazard in held[1].hazards),
        inputs=tuple(taken),
        outputs=region.outputs,
        output_types=decision.returns,
        function_name=region.function_name,
        qualname=decision.qualname,
    )
