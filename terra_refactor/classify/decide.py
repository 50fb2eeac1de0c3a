"""The decision about every function, and about the set of them.

Computes: classification (safe, speculative, unsafe) with reason and assumptions; then which functions to change,
since a function that is only entered from graphs needs no decorator of its own. Needs: facts, hazards, the operation
estimate. Gives: `decide`.

Order: safe to trace? does it pay off? where (outermost functions entered from outside of graphs)? how (decorator's arguments)?
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from terra_refactor.analysis.facts import EntryKind
from terra_refactor.classify.assessment import (
    Portrait,
    assess,
    is_part_of_test,
    obstacle_of,
    portray,
    proposal_of,
    takes_tensors,
)
from terra_refactor.classify.assumptions import are_too_many
from terra_refactor.classify.benefit import DEFAULT_MIN_OPS, asks_tape, does_most_in, why_repeated
from terra_refactor.classify.calls import BOMB, BOMB_CALLS, HUGE, MARGIN, OFTEN, CallCount, calls_until_paid, cost_of
from terra_refactor.classify.candidates import varying_python_value
from terra_refactor.classify.co_execution import called_by, does_equal_steps, is_kept_eager, may_run_eagerly
from terra_refactor.classify.coverage import Coverage
from terra_refactor.classify.decided_before import decided_from
from terra_refactor.classify.decision import (
    Action,
    Classification,
    Decision,
    ExpectedGain,
    GraphPays,
    HybridArguments,
    Level,
    ParameterValueKind,
)
from terra_refactor.classify.expected import Expected
from terra_refactor.classify.frequency import CallFrequency, Frequency, imports_relatively
from terra_refactor.classify.generation import programs_of_tensorflow_1, tensorflow_1_modules
from terra_refactor.classify.graph_contexts import is_always_graph, of_libraries, run_eagerly_all_the_same, without
from terra_refactor.classify.hazards import HazardMap
from terra_refactor.classify.judgement import FunctionNames, Judgement, has_own_decorator
from terra_refactor.classify.pipelines import given_to_pipelines, synchronized_in_replicas
from terra_refactor.classify.proof import Proof
from terra_refactor.classify.reach import has_unresolved_calls, is_converted_by_decorator, is_handed_out
from terra_refactor.classify.reached import hazards_of, side_effects_of, way_to
from terra_refactor.classify.reached_hazard import ReachedHazard
from terra_refactor.classify.recorded import gain_of, gain_without_retraces, recorded_calls, varying_value
from terra_refactor.classify.signature import written_options
from terra_refactor.domain.effect import Effect
from terra_refactor.domain.evidence import Evidence
from terra_refactor.ir.function import Function, FunctionKind
from terra_refactor.ir.ids import FunctionId, OpId
from terra_refactor.rules.no_benefit.no_tensor_input import RULE as NO_TENSOR_INPUT
from terra_refactor.rules.no_benefit.redundant_nesting import RULE as REDUNDANT_NESTING
from terra_refactor.rules.registry import all_rules
from terra_refactor.rules.rule import Nature
from terra_refactor.tf_model.graph_traits import makes_identifier

_CALLED_ONCE: Final = "the program calls it once: a trace costs more than one call saves"
_SELDOM: Final = {
    Frequency.NEVER: "the script never calls it: a graph would not help",
    Frequency.IN_GRAPHS: "every call in the project is made in a graph: it is part of that graph",
    Frequency.SET_UP: "it is called once per object, or once in a run: a trace costs more than that saves",
}
"""Reasons why a function with this frequency of calls gains nothing from its own graph."""
_DEFINED_ANEW: Final = "the enclosing function creates it on every call, so each copy would be traced again"
_OF_TENSORFLOW_1: Final = "its program uses TensorFlow 1 or disables eager execution: it builds graphs already"
_DECIDED_KINDS: Final = (FunctionKind.FUNCTION, FunctionKind.METHOD, FunctionKind.NESTED, FunctionKind.LAMBDA)


@dataclass(frozen=True, slots=True)
class DecisionOptions:
    """User settings for decisions."""

    min_ops: int | None = None
    """Minimum number of estimated operations per call for a conversion; 0 converts all functions with tensor work; None is the default."""
    tf_version: str | None = None
    """The TensorFlow release `X.Y` that the program targets; None if unknown. Programs for TensorFlow 1 are not changed."""


_NONE_WANTED: Final[Mapping[FunctionId, Judgement]] = {}


def decide(hazards: HazardMap, options: DecisionOptions, names: FunctionNames | None = None) -> tuple[Decision, ...]:
    """The decision about every `def` and `lambda`, sorted by path and line; with `names`, only about those with such a path and name."""
    decider = _Decider(hazards, options, names)
    try:
        return decider.run()
    finally:
        # it refers back to the decider: without the cycle, an edit in the editor frees the whole analysis at once
        del decider.coverage


class _Decider:
    def __init__(self, hazards: HazardMap, options: DecisionOptions, names: FunctionNames | None) -> None:
        self.names = names
        self.program = hazards.whole_program
        self.facts = facts = hazards.whole_facts
        self.min_ops = DEFAULT_MIN_OPS if options.min_ops is None else options.min_ops
        self.hazards = hazards
        self.proof, self.expected = Proof(hazards), Expected(hazards)
        self.calls = CallCount(self.hazards)
        self.frequency = CallFrequency(self.hazards)
        self.judgements: dict[FunctionId, Judgement] = {}
        self.removed: frozenset[FunctionId] = frozenset()
        """Functions that will no longer be graphs."""
        self.graph_contexts = frozenset(context.id for context in facts.contexts if context.in_graph)
        """Functions that run in graphs before the changes."""
        self.eager = run_eagerly_all_the_same(facts)
        self.old = programs_of_tensorflow_1(hazards, options.tf_version)
        self.of_sessions = tensorflow_1_modules(facts)
        self.piped: frozenset[FunctionId] = frozenset()
        """Functions that datasets seem to trace; none while removals are decided."""
        self.in_replicas: frozenset[FunctionId] = frozenset()
        """Functions that `strategy.run` calls outside of graphs and that update variables."""
        self.coverage = self.covered_by({})
        """Which functions run as part of graphs; rebuilt when the set of graphs changes."""

    def run(self) -> tuple[Decision, ...]:
        for module in self.program.modules.values():
            for code in self.hazards.one_by_one(module.functions):
                if code.kind in _DECIDED_KINDS:
                    self.judgements[code.id] = self.judge(code)
        self.choose()
        self.hazards.forget_moved_decisions()  # these are not requested, so they are not compared
        decisions = [self.decision_about(judgement) for judgement in self.asked_for()]
        return tuple(sorted(decisions, key=lambda decision: (decision.path, decision.line)))

    def asked_for(self) -> Iterator[Judgement]:
        """The functions whose decisions are requested; the set depends on all functions."""
        paths = {name: module.path for name, module in self.program.modules.items()}
        for each in self.judgements.values():
            if self.names is None or (paths[each.code.id.module], each.code.name) in self.names:
                yield each

    def judge(self, code: Function) -> Judgement:
        """Judges a function before the set is decided."""
        found, contexts = self.facts.functions[code.id], self.facts.contexts_of(code.id)
        return Judgement(code, found, contexts, assess(self.hazards, code.id))

    # --- the set -------------------------------------------------------------------------------------------------------------------

    def choose(self) -> None:
        """Chooses the functions to change: among the candidates, the outermost ones entered from outside of graphs."""
        hybrids = [judgement for judgement in self.judgements.values() if judgement.found.hybrid is not None]
        for judgement in hybrids:
            self.judge_hybrid(judgement)
        self.note_removed()
        self.coverage = self.covered_by({})
        for judgement in hybrids:
            self.judge_nested(judgement)
        self.note_removed()
        self.piped = given_to_pipelines(self.hazards)
        self.in_replicas = synchronized_in_replicas(self.hazards)
        wanted: dict[FunctionId, Judgement] = {}
        for identity, judgement in self.judgements.items():
            if judgement.found.hybrid is not None:
                continue
            reason = self.why_not(judgement)
            if reason is not None:
                judgement.reason = reason
                continue
            wanted[identity] = judgement
        for judgement in wanted.values():
            judgement.level = Level.SAFE if judgement.classification is Classification.SAFE else Level.SPECULATIVE
        self.coverage = self.covered_by(wanted)
        self.leave_out_short_lived(wanted)
        for judgement in wanted.values():
            if self.is_covered(judgement):
                judgement.covered = True
                judgement.reason = "every caller is, or becomes, a graph: it is part of that graph"
        for judgement in wanted.values():
            if not judgement.covered:
                judgement.covered_at_speculative = self.is_covered(judgement, Level.SPECULATIVE)
                judgement.action = Action.ADD_TF_FUNCTION
                judgement.pays = GraphPays(judgement.count.executed, judgement.paid_after, judgement.seen_repeated)
                judgement.reason = judgement.pays.text(len(judgement.assumptions.found))
        for judgement in self.asked_for():
            if judgement.action is Action.NONE and judgement.found.hybrid is None:
                self.consider_co_execution(judgement, wanted)
        self.piped = frozenset()
        self.coverage = self.covered_by(wanted)
        for judgement in self.asked_for():
            judgement.held_back = judgement.found.hybrid is None and self.is_held_back(judgement)
        for judgement in hybrids:
            # functions that the next run would find to be part of the graphs created by this one
            self.judge_nested(judgement, wanted)

    def leave_out_short_lived(self, wanted: dict[FunctionId, Judgement]) -> None:
        """Removes functions that are called too rarely to pay for a trace; this may uncover their callees, which are checked next.

        A function with an unknown number of calls may be called too rarely, so it needs a level above safe.
        """
        settled = False
        while not settled:
            settled = True
            for identity, judgement in list(wanted.items()):
                if self.is_covered(judgement):
                    continue
                level = judgement.level

                def is_graph(caller: FunctionId, level: Level = level) -> bool:
                    return self.coverage.runs_as_graph(caller, level)

                reason = self.why_not_paid(judgement, is_graph)
                if reason is not None:
                    judgement.reason = reason
                    del wanted[identity]
                    self.coverage.fewer_graphs()
                    settled = False
                elif not self.is_seen_to_pay(judgement) and level is Level.SAFE and self.min_ops:
                    judgement.level = Level.SPECULATIVE
                    self.coverage.fewer_graphs()
                    settled = False

    def is_seen_to_pay(self, judgement: Judgement) -> bool:
        """Whether the project itself calls the function often enough. A training step is assumed to be repeated by any caller."""
        trains = judgement.count.differentiated and judgement.updates_variables
        return judgement.paid_after is None and (judgement.seen_repeated or trains)

    def would_pay(self, judgement: Judgement) -> bool:
        """Whether a graph of an unsafe function would pay off without its hazards."""
        certain = any(hazard.assumption is None for hazard in judgement.hazards)
        return (
            judgement.classification is Classification.UNSAFE
            and certain
            and judgement.count.executed >= max(self.min_ops, 1)
            and judgement.code.id.module not in self.old
            and not any(all_rules()[hazard.rule].of_set_up for hazard in judgement.hazards)
            and obstacle_of(self.hazards, judgement.code.id) is None
        )

    def is_held_back(self, judgement: Judgement) -> bool:
        """Whether only hazards in the function's own code keep it from becoming a graph that pays off."""
        if judgement.action is not Action.NONE or not self.would_pay(judgement):
            return False
        if all(context.id in self.graph_contexts for context in judgement.contexts):
            return False
        if not any(hazard.assumption is None and not hazard.via for hazard in judgement.hazards):
            return False

        def is_graph(caller: FunctionId) -> bool:
            return self.coverage.runs_as_graph(caller, Level.SPECULATIVE)

        return self.frequency.of(judgement.code.id, is_graph) >= Frequency.UNKNOWN

    def why_not_paid(self, judgement: Judgement, is_graph: Callable[[FunctionId], bool]) -> str | None:
        """The reason why calls from outside of graphs do not pay for the traces of the function; None if they may.

        If the number of calls is unknown, records the required number.
        """
        identity = judgement.code.id
        if self.min_ops == 0:
            # `--min-ops 0` includes small functions; one that runs once still gains nothing from a graph
            calls, copies = self.calls.of(identity, is_graph), self.calls.definitions(identity)
            if copies is None or (copies > 1 and (calls is None or calls <= copies)):
                return _DEFINED_ANEW
            return _CALLED_ONCE if calls is not None and calls <= 1 else self.why_bomb(judgement, is_graph)
        under_tape, proposed = self.calls.under_tape(identity, is_graph), proposal_of(self.hazards, identity)
        # if shapes vary, the first one is traced unchanged, and the second one relaxed
        each = 2 if "reduce_retracing" in dict(() if proposed is None else proposed.arguments) else 1
        pays = not under_tape and self.calls.pays_each_definition(identity, judgement.count, traces=each)
        definitions = self.calls.definitions(identity) or (1 if pays else None)
        if definitions is None:
            return _DEFINED_ANEW
        traces = each * definitions
        needed = calls_until_paid(judgement.count, traces=traces, under_tape=under_tape)
        where = "outside of graphs, under a tape of the caller" if under_tape else "outside of graphs"
        if math.isinf(needed):
            return f"it is called {where}: calling a graph there costs more than {judgement.count.executed} operations"
        recorded = recorded_calls(self.program.recorded.get(identity))
        if pays or (recorded is not None and definitions == 1 and recorded >= MARGIN * needed):
            judgement.paid_after, judgement.seen_repeated = None, True
            return self.why_bomb(judgement, is_graph)
        calls = self.calls.of(identity, is_graph)
        if calls is None and definitions > 1 and judgement.code.kind is FunctionKind.FUNCTION:
            # a `def` in a loop of a script is used only by that script
            calls = self.calls.of(identity, is_graph, seen_only=True)
        if calls is None and definitions > 1:
            return _DEFINED_ANEW
        bomb = self.why_bomb(judgement, is_graph) if calls is None else None
        if bomb is not None:
            return bomb
        frequency = Frequency.REPEATED if calls is not None else self.frequency.of(identity, is_graph)
        if frequency < Frequency.UNKNOWN:
            return _SELDOM[frequency]
        judgement.paid_after = needed if calls is None and MARGIN * needed > OFTEN else None
        judgement.seen_repeated = frequency is Frequency.REPEATED
        if calls is None or calls >= MARGIN * needed:
            return None
        plural = "s" if calls != 1 else ""
        cost = {1: "a trace costs", 2: "two traces cost"}.get(traces, f"{traces} traces cost")
        return (
            f"the program calls it {calls} time{plural} {where}: {cost} more than that saves "
            f"(pays off after about {needed:.0f} calls)"
        )

    def why_bomb(self, judgement: Judgement, is_graph: Callable[[FunctionId], bool]) -> str | None:
        """The reason why a trace of the function may cost more than all its eager calls; None if it cannot."""
        count = judgement.count
        if count.open_loops > 1:
            return "nested Python loops of unknown length: a trace has a copy of the inner body for each iteration of all of them"
        if count.flat < BOMB:
            return None
        calls = self.calls.of(judgement.code.id, is_graph, seen_only=True)
        recorded = recorded_calls(self.program.recorded.get(judgement.code.id))
        if calls is not None and recorded is not None:
            calls = max(calls, recorded)
        if calls is None and count.flat >= HUGE:
            return f"a trace has about {count.flat} operations, which takes minutes; the number of calls is unknown"
        if calls is None or calls >= BOMB_CALLS:
            return None
        return f"a trace has about {count.flat} operations, and the program is seen to call it {calls} time{'s' if calls != 1 else ''}"

    def why_not(self, judgement: Judgement) -> str | None:
        """The reason why the function should not be decorated; None if there is none."""
        if judgement.classification is Classification.UNSAFE:
            return self.why_unsafe(judgement)
        obstacle = obstacle_of(self.hazards, judgement.code.id)
        if obstacle is not None:
            return obstacle.reason
        if judgement.code.id.module in self.old:
            return _OF_TENSORFLOW_1
        if not self.calls.is_counted(judgement.code.id):
            return _DEFINED_ANEW
        if not judgement.tensor_computation:
            return "no tensor computation: a graph would not help"
        if (
            not takes_tensors(judgement.parameters)
            and any(parameter.kind is ParameterValueKind.UNKNOWN for parameter in judgement.parameters)
            # a function that updates variables or metrics, or has a tape, is a step, whatever its batches are
            and not (judgement.updates_variables or asks_tape(self.hazards, judgement.contexts))
        ):
            return "no parameter is known to be a tensor"
        if are_too_many(judgement.assumptions.found, is_step=judgement.count.differentiated):
            return f"safe only if {len(judgement.assumptions.found)} assumptions hold: too many to propose the change"
        possible = next((each.message for each in judgement.hazards if each.nature is Nature.POSSIBLE), None)
        held = possible or why_repeated(self.hazards, judgement.contexts)
        held = held or varying_value(self.program.recorded.get(judgement.code.id))
        if held is not None:
            return held
        if judgement.count.executed < self.min_ops:
            plural = "s" if judgement.count.executed != 1 else ""
            return (
                f"about {judgement.count.executed} tensor operation{plural} per call: calling a graph costs more than that "
                f"(the threshold is {self.min_ops})"
            )
        if judgement.contexts and all(context.id in self.graph_contexts for context in judgement.contexts):
            judgement.covered = True
            return "every caller is already a graph"
        if judgement.code.id in self.piped:
            judgement.covered = True
            return "a dataset or a graph already traces it, or all of its callers"
        if judgement.code.id in self.in_replicas:
            return "`strategy.run` calls it: the graph has to contain that call, because replicas synchronise when variables are updated"
        return None

    def why_unsafe(self, judgement: Judgement) -> str:
        """The first certain hazard in words (its rule is stored, too); otherwise why the function cannot be analysed."""
        certain = [hazard for hazard in judgement.hazards if hazard.assumption is None]
        if certain and judgement.found.problem is None:
            rest = f" (and {len(certain) - 1} more)" if len(certain) > 1 else ""
            way = way_to(self.program, certain[0])
            judgement.rule, judgement.cause = certain[0].rule, certain[0]
            return certain[0].message + (f", through {' → '.join(way)}" if way else "") + rest
        # an internal error is the reason for code that was not fully analysed
        assert judgement.assumptions.unknowable is not None
        return judgement.assumptions.unknowable

    def is_covered(self, judgement: Judgement, level: Level | None = None) -> bool:
        """Whether every caller is a graph, or will be one at a level: by default the level at which this function would be changed."""
        level = level or judgement.level
        if any(context.entry is not EntryKind.CALLED for context in judgement.contexts):
            return False
        callers = {self.facts.contexts[caller.context].function for caller in judgement.found.callers}
        callers.discard(judgement.code.id)
        if not callers:
            return False
        coverage = self.coverage
        return all(coverage.runs_as_graph(caller, level) for caller in callers)

    def covered_by(self, wanted: Mapping[FunctionId, Judgement]) -> Coverage:
        """The functions that run in graphs if the wanted ones become graphs."""

        def is_graph(identity: FunctionId, level: Level) -> bool:
            if identity in self.piped or (identity not in self.removed and is_always_graph(self.facts, identity)):
                return True
            judgement = wanted.get(identity)
            return judgement is not None and (judgement.level is Level.SAFE or level is not Level.SAFE)

        return Coverage(is_graph, self._callers_with_a_say)

    def _callers_with_a_say(self, identity: FunctionId) -> frozenset[FunctionId] | bool:
        """The callers that decide whether a function runs as part of a graph; or the answer itself, if it does not depend on callers."""
        judgement = self.judgements.get(identity)
        if judgement is None or not judgement.contexts:
            return False
        if any(context.entry is not EntryKind.CALLED for context in judgement.contexts):
            return False
        if all(context.id in self.graph_contexts for context in judgement.contexts):
            return True
        return frozenset(self.facts.contexts[place.context].function for place in judgement.found.callers) or False

    def judge_hybrid(self, judgement: Judgement) -> None:
        """The action for a function that already is a `tf.function`."""
        if not has_own_decorator(judgement.code):
            judgement.reason = (
                "it is wrapped by `tf.function(...)` where it is used: change that call, not the definition"
            )
            return
        if is_part_of_test(self.hazards, judgement.code.id):
            judgement.reason = "it is part of a test, which may test the graph itself"
            return
        if judgement.contexts and all(context.id in self.eager for context in judgement.contexts):
            judgement.reason = "the program runs it eagerly anyway (`tf.config.run_functions_eagerly`)"
            return
        certain = [
            hazard
            for hazard in judgement.hazards
            if hazard.assumption is None
            and all_rules()[hazard.rule].breaks_graph
            and not self.makes_a_name(hazard)
            and self.is_proven(judgement, hazard)
        ]
        judgement.cause = certain[0] if certain else None
        if certain and {context.id for context in judgement.contexts} <= of_libraries(self.facts):
            judgement.reason = (
                f"{certain[0].message}; without a decorator, too, since it is called as part of a library's graph"
            )
            return
        if certain:
            judgement.action = Action.REMOVE_TF_FUNCTION
            judgement.level = Level.SPECULATIVE
            judgement.reason = f"it is a graph, and {certain[0].message}"
            return
        if (
            judgement.contexts
            and not judgement.tensor_computation
            and judgement.classification is Classification.SAFE
            and judgement.returns_tensors_only
            and not any(has_unresolved_calls(self.hazards, context) for context in judgement.contexts)
        ):
            judgement.action = Action.REMOVE_TF_FUNCTION
            judgement.reason = "it is a graph without tensor computation: the call costs more than it saves"
            return
        if self.why_needless(judgement):
            return
        proposal = proposal_of(self.hazards, judgement.code.id)
        if proposal is not None:
            judgement.action = Action.TUNE_TF_FUNCTION
            judgement.reason, judgement.rule = proposal.reason, proposal.rule
            return
        if judgement.classification is Classification.UNSAFE:
            judgement.reason = self.why_unsafe(judgement)
        elif judgement.classification is Classification.SPECULATIVE:
            judgement.reason = "it is already a graph, and correct as one if the assumptions hold"
        else:
            judgement.reason = "it is already a graph, and correct as one"

    def is_proven(self, judgement: Judgement, hazard: ReachedHazard) -> bool:
        """Whether the graph is certainly wrong. Its author has run it, so a removal needs as much proof as an addition.

        It must be wrong for all arguments, not only if a parameter of unknown type is a tensor, or a flag is set. A stored value is not
        an error if no known code reads it between calls.
        """
        if not hazard.is_effect and any(
            parameter.evidence in (Evidence.KEYWORD, Evidence.NONE, Evidence.RECORDED)
            for parameter in judgement.found.parameters
        ):
            return False
        return all(
            any(
                (each.rule, each.site, each.assumption) == (hazard.rule, hazard.site, None)
                and self.proof.doubt(context, each) is None
                and self.proof.always_runs(context, each)
                and not self.expected.never_comes_to(context, OpId((*each.via, each.site)[0].op))
                for each in self.hazards.in_graph(context)
            )
            for context in judgement.contexts
        )

    def is_internal(self, judgement: Judgement) -> bool:
        """Whether only the program calls the function: it is private or nested, or in a script that no module imports."""
        code: Function = judgement.code
        if code.kind is FunctionKind.NESTED or (code.name.startswith("_") and not code.name.endswith("__")):
            return True
        module = self.program.modules[code.id.module]
        if module.is_package or ("." in module.name and not module.path.endswith(".ipynb")):
            return False
        if imports_relatively(self.hazards, code.id.module):
            return False
        pending, seen = [code.id], {code.id}
        while pending:
            identity = pending.pop()
            found = self.facts.functions[identity]
            if self.program.function(identity).kind is FunctionKind.MODULE:
                continue
            if found.open_callers or not found.callers:
                return False
            callers = {self.facts.function_of(caller.context) for caller in found.callers}
            pending.extend(callers - seen)
            seen |= callers
        return True

    def makes_a_name(self, hazard: ReachedHazard) -> bool:
        """Whether the graph freezes only a new name: its author may want one per trace, to distinguish parts of the graph."""
        names = self.hazards.library_at(hazard.site)
        return all_rules()[hazard.rule].counts_if_used and bool(names) and all(map(makes_identifier, names))

    def why_needless(self, judgement: Judgement) -> bool:
        """The reason why the graph is correct but only costs time: it is traced in each call."""
        if judgement.classification is not Classification.SAFE:
            return False
        primitive = all(
            parameter.kind in (ParameterValueKind.PRIMITIVE, ParameterValueKind.OBJECT)
            for parameter in judgement.parameters
        )
        options = dict(judgement.found.hybrid or ())
        varying = varying_python_value(
            self.hazards.codes, self.facts, judgement.code, judgement.found, judgement.parameters
        )
        if primitive and varying is not None and "input_signature" not in options and self.is_internal(judgement):
            judgement.action = Action.REMOVE_TF_FUNCTION
            judgement.rule, judgement.cause = NO_TENSOR_INPUT.id, None
            judgement.reason = (
                f"it takes no tensor, and different Python values on each call: each call is traced ({judgement.rule})"
            )
            return True
        return False

    def judge_nested(self, judgement: Judgement, wanted: Mapping[FunctionId, Judgement] = _NONE_WANTED) -> None:
        """Removes the decorators of functions that are part of other graphs: of graphs that remain, or of those in `wanted`."""
        if judgement.action not in (Action.NONE, Action.TUNE_TF_FUNCTION):
            return
        if judgement.classification is not Classification.SAFE or not has_own_decorator(judgement.code):
            return
        if is_part_of_test(self.hazards, judgement.code.id) or not self.is_internal(judgement):
            return
        nested = (
            not dict(judgement.found.hybrid or ())
            # the same test as for additions, so that the next run does not remove what one run adds
            and self.is_covered(judgement, Level.SPECULATIVE)
            and bool(judgement.found.callers)
            and not judgement.found.open_callers
            and not is_handed_out(self.hazards, judgement.code)
            and all(context.entry is EntryKind.CALLED for context in judgement.contexts)
            and all(
                (bool(wanted) or self.facts.contexts[caller.context].in_graph)
                and self.facts.contexts[caller.context].function != judgement.code.id
                for caller in judgement.found.callers
            )
        )
        if nested and not is_converted_by_decorator(self.hazards, judgement.code, judgement.found):
            judgement.action = Action.REMOVE_TF_FUNCTION
            judgement.level = Level.SPECULATIVE
            judgement.covered_at_speculative = bool(wanted)
            judgement.rule, judgement.cause = REDUNDANT_NESTING.id, None
            judgement.reason = f"every caller in the project is a graph, which traces it anyway ({judgement.rule})"

    def note_removed(self) -> None:
        """The functions that are no longer graphs, and the contexts that run in graphs without them."""
        self.removed = frozenset(
            identity for identity, each in self.judgements.items() if each.action is Action.REMOVE_TF_FUNCTION
        )
        if self.removed:
            self.graph_contexts = without(self.facts, self.removed)

    def consider_co_execution(self, judgement: Judgement, wanted: Mapping[FunctionId, Judgement]) -> None:
        """Considers the shim for a function that cannot be a graph, but whose tensor work would pay off."""
        module = judgement.code.id.module
        # a training step is worth it for any arguments, if it runs the same operations in each call
        is_step = does_equal_steps(self.hazards, judgement)
        is_kept = is_step and module not in self.old and is_kept_eager(self.hazards, judgement)
        if not (self.would_pay(judgement) or (is_kept and judgement.count.executed >= max(self.min_ops, 1))):
            return
        in_graph = judgement.code.id in self.piped or any(context.in_graph for context in judgement.contexts)
        if module in self.of_sessions or in_graph:
            return
        if not may_run_eagerly(judgement, self.calls.definitions(judgement.code.id)):
            return
        certain = [all_rules()[hazard.rule] for hazard in judgement.hazards if hazard.assumption is None]
        if not any(rule.cured_by_shim for rule in certain) and (certain or not is_step):
            return
        if not takes_tensors(judgement.parameters) and not is_step:
            return
        if (calls := self.calls.of(judgement.code.id, lambda _: False)) is not None and calls <= 1:
            return
        graphs = {
            callee
            for callee in called_by(self.facts, judgement)
            if (callee in wanted and not wanted[callee].covered)
            or (self.hazards.is_hybrid(callee) and callee not in self.removed)
        }
        if graphs and (not is_step or does_most_in(self.hazards, judgement.contexts, graphs)):
            # its tensor work is (mostly) in functions that are, or become, graphs themselves
            return
        judgement.action = Action.CO_EXECUTE
        judgement.level = Level.COEXEC

    # --- the record -------------------------------------------------------------------------------------------------------------------

    def decision_about(self, judgement: Judgement) -> Decision:
        """The decision; that of an earlier state of the program is reused if it would be the same."""
        identity = judgement.code.id
        portrait = portray(self.hazards, identity)
        made_from = (
            judgement.assessment,
            portrait,
            judgement.found,
            judgement.action,
            judgement.level,
            judgement.covered,
            judgement.covered_at_speculative,
            proposal_of(self.hazards, identity),
            *judgement.contexts,
        )
        known, moved = self.hazards.decided.get(identity), self.hazards.moved
        if (
            known is not None
            and moved is not None
            and known.decision.reason == judgement.reason
            and known.decision.rule == judgement.rule
            and known.decision.held_back is judgement.held_back
            and len(known.made_from) == len(made_from)
            and all(one is other for one, other in zip(known.made_from, made_from, strict=True))
            and known.places.isdisjoint(moved)
        ):
            return known.decision
        decision = self.decision(judgement, portrait)
        reached: tuple[ReachedHazard | Effect, ...] = (*judgement.hazards, *portrait.effects)
        self.hazards.decided[identity] = decided_from(made_from, decision, [(*each.via, each.site) for each in reached])
        return decision

    def decision(self, judgement: Judgement, portrait: Portrait) -> Decision:
        code, found = judgement.code, judgement.found
        module = self.program.modules[code.id.module]
        options = dict(found.hybrid or ())
        proposal = HybridArguments()
        if judgement.action in (Action.ADD_TF_FUNCTION, Action.TUNE_TF_FUNCTION):
            proposed = proposal_of(self.hazards, code.id)
            if proposed is not None:
                proposal = HybridArguments(proposed.arguments)
        return Decision(
            function=code.id,
            path=module.path,
            module=module.name,
            qualname=code.qualname,
            line=code.def_line,
            end_line=code.span.end_line,
            kind=code.kind,
            hybrid=found.hybrid is not None,
            hybrid_arguments=written_options(code, options),
            classification=judgement.classification,
            action=judgement.action,
            level=judgement.level,
            reason=judgement.reason,
            rule=judgement.rule,
            assumptions=judgement.assumptions.sentences,
            parameters=portrait.parameters,
            returns=portrait.returns,
            side_effects=side_effects_of(self.program, portrait.effects),
            recursive=found.recursive,
            tensor_computation=judgement.tensor_computation,
            covered_by_graph_callers=judgement.covered,
            covered_at_speculative=judgement.covered_at_speculative,
            input_signature=portrait.input_signature,
            expected_gain=self.expected_gain(judgement),
            proposal=proposal,
            hazards=hazards_of(self.program, judgement.hazards, judgement.cause),
            callees=portrait.callees,
            runs_in_graph=any(context.in_graph for context in judgement.contexts),
            runs_eagerly=any(not context.in_graph for context in judgement.contexts),
            operations=judgement.count.executed,
            held_back=judgement.held_back,
            pays=judgement.pays if judgement.action is Action.ADD_TF_FUNCTION else None,
        )

    def expected_gain(self, judgement: Judgement) -> ExpectedGain | None:
        """Seconds that the action saves in a run, if a record or the program gives the number of calls."""
        identity = judgement.code.id
        seen = self.program.recorded.get(identity)
        if judgement.action is Action.TUNE_TF_FUNCTION:
            return gain_without_retraces(seen)
        if judgement.action is not Action.ADD_TF_FUNCTION:
            return None

        def is_graph(caller: FunctionId) -> bool:
            return self.hazards.is_hybrid(caller) and caller not in self.removed

        cost = cost_of(judgement.count, under_tape=self.calls.under_tape(identity, is_graph))
        return gain_of(seen, self.calls.of(identity, is_graph), judgement.count, cost)
