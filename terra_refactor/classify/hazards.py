"""Hazards that a call of a function reaches, with the path to each.

Computes: for each context the hazards of its own code (effects and checks of the rules) and, through its calls, of everything it reaches.
Needs: facts and rules. Gives: `HazardMap`. Hazards in a function that already is a graph are not its callers' hazards: a change does not
affect them. Code that a host callback (`tf.py_function`) runs is no hazard.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import Any, Final, TypeVar

from terra_refactor.analysis.effects import own_field
from terra_refactor.analysis.facts import ContextFacts, ContextId, ProgramFacts
from terra_refactor.classify.answers import Answers, Question, Renumbered
from terra_refactor.classify.conversion import is_never_converted, leaves_conversion, tensor_decisions
from terra_refactor.classify.decided_before import DecidedBefore, moved_functions
from terra_refactor.classify.each_context import EachContext
from terra_refactor.classify.effect_assumptions import assumed_about, hidden_message
from terra_refactor.classify.first_time import (
    SETS_UP,
    decides_more,
    is_set_first,
    runs_first_time,
    written_through_calls,
)
from terra_refactor.classify.keyed_creation import is_made_again, is_made_in_call, made_for_each
from terra_refactor.classify.layer_losses import are_read_later
from terra_refactor.classify.passed_arguments import ALWAYS, passed_on
from terra_refactor.classify.possible_callees import possible_callees, possible_properties
from terra_refactor.classify.reached_hazard import ReachedHazard, through
from terra_refactor.classify.scratch import is_scratch
from terra_refactor.classify.trace_counts import may_be_filled_before, sets_up_new_object
from terra_refactor.domain.effect import Effect, EffectKind, EffectSite, RootKind
from terra_refactor.domain.value import FunctionValue, TupleValue, members
from terra_refactor.facts.argument_flow import Carried
from terra_refactor.facts.code import CodeFacts
from terra_refactor.facts.codes import Codes
from terra_refactor.facts.records import AttributeRead, AttributeWrite, Call, Imported, ItemWrite, NameWrite
from terra_refactor.facts.staged_exceptions import ends_all
from terra_refactor.facts.unconverted import unconverted_construct
from terra_refactor.facts.view import ContextView
from terra_refactor.facts.watch import SELECTIVE, Look, Looks, Watch, WatchedCodes, changed_looks
from terra_refactor.ir.function import Function, FunctionKind, ParameterKind
from terra_refactor.ir.ids import FunctionId, OpId
from terra_refactor.ir.program import Program
from terra_refactor.rules.graph_failures.tensor_as_bool import RULE as AS_BOOL
from terra_refactor.rules.registry import all_rules, local_hazards, rule_about_kept_tensors, rules_by_effect
from terra_refactor.rules.rule import CureHint, LocalHazard, Nature, Rule, RuleKind, Subject
from terra_refactor.tf_model.decorators import Decoration, decoration
from terra_refactor.tf_model.graph_traits import is_of_pipelines
from terra_refactor.tf_model.registry import has_trait
from terra_refactor.tf_model.spec import Trait

MAX_HAZARDS = 60
"""Maximum number of hazards per context: a single one makes it unsafe."""
MAX_CHAIN = 10
_OWN = frozenset({RootKind.PARAMETER, RootKind.CLOSURE, RootKind.FRESH})
"""The object that an inner function changes there may belong to its definer, and be created in the same call."""
_T = TypeVar("_T")
_NOT_CONVERTED: Final = "this tests the value of a tensor in code that AutoGraph does not convert: in a graph it raises"


def _go_on() -> None:
    pass


class HazardMap:
    """The hazards of every context, computed on demand.

    With `remembers`, it can be the `earlier` map of another state of the program, which reuses its valid answers. `program`, `facts` and
    `codes` are the inputs of answers; with `remembers`, they record looks.
    """

    def __init__(
        self,
        program: Program,
        facts: ProgramFacts,
        *,
        remembers: bool = False,
        earlier: HazardMap | None = None,
        others: Iterable[Look] = (),
    ) -> None:
        """`others` are looks besides those of the answers, for which it is also determined whether they changed since the earlier state."""
        self.whole_program = program
        """For queries about the whole program, which are not kept."""
        self.whole_facts = facts
        self.whole_codes: Codes = Codes(program, None if earlier is None else earlier.whole_codes)
        self.program: Program = program
        self.facts: ProgramFacts = facts
        self.codes: Codes = self.whole_codes
        self._notes: Looks | None = None
        if remembers:
            watch = Watch(self.whole_codes, facts)
            self.program, self.facts, self.codes, self._notes = (
                watch.codes.program,
                watch.facts,
                watch.codes,
                watch.notes,
            )
        self._answers: Answers[HazardMap] = Answers(keeps=remembers) if earlier is None else earlier._answers
        changed = None
        if earlier is not None:
            before = earlier.whole_codes, earlier.whole_facts
            asked = (*self._answers.looked_at(*SELECTIVE), *others)
            changed = changed_looks(*before, self.whole_codes, facts, asked)
        self.changed = changed
        """The looks whose results changed since the earlier state; None if the states cannot be compared."""
        self._answers.begin(self, self._notes, changed)
        if remembers:
            watch.codes.ask = partial(self._answers.ask, _OF_PROGRAM)
        self.moved = None if changed is None or earlier is None else moved_functions(earlier.whole_program, program)
        """The functions that changed since the earlier state, including only in positions; None if the states cannot be compared."""
        self.decided: dict[FunctionId, DecidedBefore] = {} if self.moved is None or earlier is None else earlier.decided
        """The decisions of the earlier state, for reuse."""
        self.ask = self._answers.ask
        self.check: Callable[[], None] = _go_on
        """Called between functions and at the end of the decisions; may raise to cancel them."""
        self._views: dict[ContextId, ContextView] = {}
        self._each: EachContext = EachContext(facts, self.whole_codes, None if earlier is None else earlier._each)

    def kept(self) -> tuple[object, ...]:
        """The results as data, without the program."""
        facts = self.whole_facts
        return facts, self._answers.kept(), self.decided

    @staticmethod
    def restored(kept: tuple[Any, ...], program: Program) -> HazardMap:
        """Restores the stored state of a finished map for this program."""
        facts, answers, decided = kept
        hazards = HazardMap(program, facts, remembers=True)
        hazards._answers.restore(answers)
        hazards.decided = decided
        hazards.end()
        return hazards

    def forget_moved_decisions(self) -> None:
        """Drops the decisions of the earlier state that contain changed positions."""
        if self.moved is not None:
            moved = self.moved
            self.decided = {each: known for each, known in self.decided.items() if known.places.isdisjoint(moved)}

    def view(self, context: ContextFacts) -> ContextView:
        """The view of a context for rules."""
        if self._notes is not None:
            self._notes.add(("context", context.id))
            self._notes.add(("code", context.function))
        view = self._views.get(context.id)
        if view is None:
            # recorded with the context itself, whichever query comes first
            noting = context if self._notes is None else self.facts.contexts[context.id]
            view = self._views[context.id] = ContextView(self.codes, self.facts, noting)
        return view

    def index(self, identity: FunctionId) -> CodeFacts:
        """The index of a function's operations."""
        return self.codes.of(identity)

    def imports_of(self, identity: FunctionId) -> tuple[Imported, ...]:
        """The imports in a function; not recorded as a look, because all functions are queried."""
        return self.whole_codes.of(identity).of_kind(Imported)

    def of_each(self, question: Callable[[ContextView], _T]) -> Iterator[tuple[ContextFacts, _T]]:
        """A result for each context, from its own code and values. It covers all contexts, so no dependency is recorded."""
        return self._each.ask(question, self.view_unnoted)

    def view_unnoted(self, context: ContextFacts) -> ContextView:
        """The view of a context without recording, for queries about all contexts."""
        if self._notes is None:
            return self.view(context)
        outer, self._notes.looks = self._notes.looks, {}
        try:
            return self.view(context)
        finally:
            self._notes.looks = outer

    def answers_are_steady(self, places: Renumbered) -> bool:
        """Whether all answers computed in this state equal those in the earlier one, with the same dependencies, up to positions."""
        return self._answers.are_steady(places)

    def new_looks(self) -> Iterator[Look] | None:
        """The looks of answers that were computed in this state, not reused; None if unknown."""
        if self._notes is None or not self._answers.are_complete:
            return None
        return chain(self._notes.looks, self._answers.looks_of_new())

    def found(self, context: ContextFacts) -> tuple[tuple[Rule, LocalHazard], ...]:
        """Findings of the rules' checks in a context's own code."""
        return self.ask(_FOUND, context.id)

    def one_by_one(self, functions: Iterable[Function]) -> Iterator[Function]:
        """Iterates over functions, calling `check` before each."""
        for function in functions:
            self.check()
            yield function

    def end(self) -> None:
        """Drops data that this state no longer needs, after all queries: from now on, only the next state reuses its answers."""
        self.whole_codes.forget_earlier()
        self.whole_codes.forget_tables()
        self.codes.forget_tables()
        self._answers.end()
        self._each.end()
        self._views = {}
        self.check = _go_on

    def reached(self, context: ContextFacts) -> tuple[ReachedHazard, ...]:
        """All hazards that a call in this context reaches."""
        return self.ask(_REACHED, context.id)

    def in_graph(self, context: ContextFacts) -> Iterator[ReachedHazard]:
        """The hazards that a call in this context reaches if its function is the graph."""
        return (hazard for hazard in self.reached(context) if hazard.waits is None)

    def unconverted(self, context: ContextFacts) -> tuple[ReachedHazard, ...]:
        """Code that raises if AutoGraph leaves it, and thus all its callees, unconverted."""
        return self.ask(_UNCONVERTED, context.id)

    def all_from(self, context: ContextFacts) -> tuple[ReachedHazard, ...]:
        """The hazards of the context's own code and of all its callees."""
        merged: dict[tuple[str, EffectSite], ReachedHazard] = {}
        view = self.view(context)
        as_it_is = self.unconverted(context) if is_never_converted(view) else ()
        if not as_it_is and unconverted_construct(view) is not None:
            # its own tensor conditions are TR305
            as_it_is = tuple(hazard for hazard in self.unconverted(context) if hazard.via)
        found_here = (
            *self._local(context),
            *as_it_is,
            *self._from_effects(context, context.effects),
            *self._from_calls(context),
            *self._from_gradient(context),
            *self._from_possible_callees(context),
        )
        for hazard in found_here:
            key = (hazard.rule, hazard.site)
            known = merged.get(key)
            if (
                known is None
                or (known.waits is not None and hazard.waits is None)
                or (known.assumption is not None and hazard.assumption is None and hazard.waits is None)
            ):
                if known is not None or len(merged) < MAX_HAZARDS:
                    merged[key] = hazard
        return tuple(merged.values())

    def all_unconverted(self, context: ContextFacts) -> tuple[ReachedHazard, ...]:
        """The tensor conditions in the context's own code and in all its callees."""
        view = self.view(context)
        here = context.function
        hazards = [
            ReachedHazard(
                AS_BOOL.id,
                EffectSite(here.module, here.index, op),
                (),
                _NOT_CONVERTED,
                None,
                nature=Nature.UNCONVERTED,
            )
            for op in tensor_decisions(view)
        ]
        callbacks = self._host_callbacks(here)
        for call in context.calls:
            site = EffectSite(here.module, here.index, call.op)
            converts = any(map(is_of_pipelines, call.library))
            if call.op in callbacks or converts:
                continue
            for callee in call.callees:
                inner = self.facts.contexts[callee]
                if self.is_hybrid(inner.function):
                    continue
                chains: dict[int, tuple[EffectSite, ...]] = {}
                for hazard in self.unconverted(inner):
                    if len(hazard.via) < MAX_CHAIN and len(hazards) < MAX_HAZARDS:
                        hazards.append(through(site, hazard, ALWAYS, chains))
        return tuple(hazards)

    def _local(self, context: ContextFacts) -> Iterator[ReachedHazard]:
        """The hazards that the rules' checks find in a context's own code."""
        identity = context.function
        code = self.index(identity)
        for rule, hazard in self.found(context):
            if rule.kind is RuleKind.HAZARD:
                yield ReachedHazard(
                    rule.id,
                    EffectSite(identity.module, identity.index, hazard.op),
                    (),
                    hazard.message,
                    hazard.assumption,
                    hazard.cure,
                    hazard.parameter,
                    hazard.boundary,
                    nature=hazard.nature,
                    subject=replace(hazard.subject, written=code.written(hazard.op)),
                    waits=hazard.waits,
                )

    def _host_callbacks(self, identity: FunctionId) -> frozenset[OpId]:
        """The calls in a function that run their arguments on the host (`tf.py_function`), in any context."""
        return self.ask(_HOST_CALLBACKS, identity)

    def _from_calls(self, context: ContextFacts) -> Iterator[ReachedHazard]:
        here = context.function
        callbacks = self._host_callbacks(here)
        for call in context.calls:
            site = EffectSite(here.module, here.index, call.op)
            if call.op in callbacks:
                continue
            chains: dict[int, tuple[EffectSite, ...]] = {}
            for callee in call.callees:
                inner = self.facts.contexts[callee]
                if self.program.function(inner.function).kind is FunctionKind.CLASS_BODY:
                    continue
                wrapped = self.is_hybrid(inner.function)
                if not wrapped and leaves_conversion(self.view(context), call, self.program.function(inner.function)):
                    for hazard in self.unconverted(inner):
                        if len(hazard.via) < MAX_CHAIN:
                            yield through(site, hazard, ALWAYS, chains)
                for hazard in self._operations_of(inner):
                    # a certain hazard there occurs with or without the change; an assumption there is an assumption here
                    if len(hazard.via) >= MAX_CHAIN or hazard.boundary or (wrapped and hazard.assumption is None):
                        continue
                    if hazard.nature is Nature.RAISED:
                        raising = self.facts.contexts_of(FunctionId(hazard.site.module, hazard.site.function))
                        if ends_all(self.view(context), call.op, map(self.view, raising), hazard.site.op):
                            continue
                    passed = passed_on(
                        self.view(context),
                        call.op,
                        self.program.function(inner.function),
                        (hazard.parameter, hazard.waits),
                        is_assumed=hazard.assumption is not None,
                    )
                    if passed is not None:
                        yield through(site, hazard, passed, chains)

    def _from_possible_callees(self, context: ContextFacts) -> Iterator[ReachedHazard]:
        """A certain hazard of each method that an unresolved call, or property that a read of an unknown object, in eager code may run."""
        here = context.function
        if context.in_graph or self.is_hybrid(here):
            return
        view = self.view(context)
        calls = [(call.op, possible_callees(view, call), False) for call in context.calls]
        # nothing else says that a read of an attribute may depend on state
        reads = [(read.op, possible_properties(view, read), True) for read in view.reached(AttributeRead)]
        for op, callees, is_read in (*calls, *reads):
            for callee in callees:
                hazard = self._certain(callee.function, effects=is_read)
                if hazard is None:
                    continue
                method = self.program.function(callee.function).name
                yield ReachedHazard(
                    hazard.rule,
                    EffectSite(here.module, here.index, op),
                    (),
                    f"it may call `{callee.cls}.{method}`: {hazard.message}",
                    f"`{callee.owner}` is not a `{callee.cls}`",
                    nature=Nature.POSSIBLE,
                )
                break

    def _certain(self, function: FunctionId, *, effects: bool) -> ReachedHazard | None:
        """A hazard of a function that occurs for all callers, or that another unresolved call in it may have; with
        `effects`, also one of state that is assumed not to change.
        """
        found = [
            hazard
            for context in self.facts.contexts_of(function)
            for hazard in self.reached(context)
            if hazard.parameter is None and hazard.waits is None and not hazard.boundary
        ]
        certain = (each for each in found if each.assumption is None and each.nature is Nature.FOUND)
        further = (each for each in found if each.nature is Nature.POSSIBLE or (effects and each.is_effect))
        return next(certain, None) or next(further, None)

    def _operations_of(self, context: ContextFacts) -> Iterator[ReachedHazard]:
        """The hazards of operations that a context reaches; effects are composed by the analysis, which knows the owners of the objects."""
        rules = all_rules()
        return (hazard for hazard in self.reached(context) if not hazard.is_effect and rules[hazard.rule].inherited)

    def is_hybrid(self, identity: FunctionId) -> bool:
        """Whether the function is wrapped by `tf.function`."""
        return self.facts.functions[identity].hybrid is not None

    def _from_gradient(self, context: ContextFacts) -> Iterator[ReachedHazard]:
        """Effects of the gradient function that a `tf.custom_gradient` function returns: a tape calls it, and traces it in a graph."""
        wrappers = self.facts.functions[context.function].wrappers
        if not any(decoration(name)[0] is Decoration.GIVES_GRADIENT for name in wrappers):
            return
        pairs = [member.elements for member in members(context.returns) if isinstance(member, TupleValue)]
        for gradient in (function for pair in pairs if len(pair) == 2 for function in members(pair[1])):
            if isinstance(gradient, FunctionValue):
                for inner in self.facts.contexts_of(FunctionId(*gradient.function)):
                    outside = [effect for effect in inner.effects if effect.target.root not in _OWN]
                    yield from self._from_effects(inner, outside)
                    yield from (
                        hazard for hazard in self._operations_of(inner) if not hazard.boundary and hazard.waits is None
                    )

    def _from_effects(self, context: ContextFacts, effects: Iterable[Effect]) -> Iterator[ReachedHazard]:
        rules = rules_by_effect()
        for effect in effects:
            candidates = rules.get(effect.kind, ())
            if not candidates or self._is_harmless(effect) or self._changes_own_keywords(context, effect):
                continue
            if self._sets_up_new_object(context, effect):
                continue
            if is_set_first(self.view(context), effect, self.is_guarded):
                continue
            if effect.kind is EffectKind.STATE_WRITE and self._is_scratch(context, effect):
                continue
            rule, cure = self._reporter(effect.kind, effect.site)
            done, changed = self._written_of(effect)
            yield ReachedHazard(
                rule.id,
                effect.site,
                effect.via,
                rule.says_of(effect.kind, done, changed, str(effect.target)),
                assumed_about(effect)
                or self._filled_before(context, effect)
                or self._same_key(effect)
                or self._hidden_message(context, effect),
                cure,
                is_effect=True,
                subject=Subject(done, str(effect.target).removesuffix("[]")),
            )

    def _sets_up_new_object(self, context: ContextFacts, effect: Effect) -> bool:
        """Whether a traced `__init__` writes Python values to its new object, independent of tensor conditions."""
        if not self.is_hybrid(context.function) or not sets_up_new_object(
            self.program.function(context.function), effect
        ):
            return False
        return not self._reports(rule_about_kept_tensors(), effect.site) and not any(
            self.view(inner).under_tensor_condition(site.op)
            for site in (*effect.via, effect.site)
            for inner in self.facts.contexts_of(FunctionId(site.module, site.function))
        )

    def _same_key(self, effect: Effect) -> str | None:
        """The assumption under which a variable that is created once per key is created in the first trace."""
        chain = (*effect.via, effect.site) if effect.kind is EffectKind.VARIABLE_CREATION else ()
        for position, site in enumerate(chain):
            if self.is_guarded(self.program.function(FunctionId(site.module, site.function)), site.op):
                parameter = made_for_each(self.facts, self.index, self.view, chain[: position + 1])
                return f"all calls pass the same key in `{parameter}`" if parameter else None
        return None

    def _hidden_message(self, context: ContextFacts, effect: Effect) -> str | None:
        """The assumption under which a message is not shown, or only once, outside of existing graphs."""
        if effect.kind is not EffectKind.LOG or context.in_graph or self.is_hybrid(context.function):
            return None
        call = self.index(FunctionId(effect.site.module, effect.site.function)).facts[effect.site.op]
        return hidden_message(self.codes, call, self.library_at(effect.site), self.written(effect.site))

    def _filled_before(self, context: ContextFacts, effect: Effect) -> str | None:
        """The assumption under which a write never occurs in this graph."""
        if not (context.in_graph or self.is_hybrid(context.function)):
            return None
        identity = FunctionId(effect.site.module, effect.site.function)
        if may_be_filled_before(self.index(identity), self.facts.contexts_of(identity), effect):
            return f"the key that is looked up in `{effect.target}` exists before the graph is traced"
        return None

    def _reporter(self, kind: EffectKind, site: EffectSite) -> tuple[Rule, CureHint | None]:
        """The rule that reports an effect at a place, for any caller, and its cure there."""
        reporter = self.ask(_REPORTER, (kind, site))
        assert reporter is not None
        return reporter

    def reporter_of(self, kind: EffectKind, site: EffectSite) -> tuple[Rule, CureHint | None]:
        """The first rule for that kind of effect that reports it there."""
        rule = next(rule for rule in rules_by_effect()[kind] if self._reports(rule, site))
        return rule, self._cure(rule, site)

    def _changes_own_keywords(self, context: ContextFacts, effect: Effect) -> bool:
        """Whether the effect is on the dict of `**kwargs`, which is new in each call."""
        if effect.target.root is not RootKind.PARAMETER or effect.target.path != "[]":
            return False
        return any(
            parameter.name == effect.target.name and parameter.kind is ParameterKind.VAR_KEYWORD
            for parameter in self.program.function(context.function).parameters
        )

    def _is_scratch(self, context: ContextFacts, effect: Effect) -> bool:
        """Whether the written place is an attribute that the call, or a call on the path, uses as a local variable."""
        field = own_field(effect.target)
        name = field.removeprefix(".")
        if not field.startswith(".") or effect.target.object is None:
            return False
        # a call on the path without outside effects has none for its callers, on whichever of several objects it is called
        around = {FunctionId(site.module, site.function) for site in (*effect.via, effect.site)}
        if name in context.overwrites:
            around.add(context.function)
        return any(self.ask(_SCRATCH, (identity, name)) for identity in sorted(around))

    def _reports(self, rule: Rule, site: EffectSite) -> bool:
        """Whether the rule reports the effect at that place, in every context that reaches it."""
        if rule.only_effects is None:
            return True
        contexts = self.facts.contexts_of(FunctionId(site.module, site.function))
        views = [self.view(context) for context in contexts if any(effect.site == site for effect in context.effects)]
        return bool(views) and all(rule.only_effects(view, site.op) for view in views)

    def _cure(self, rule: Rule, site: EffectSite) -> CureHint | None:
        """The cure of an effect, if it applies in every context of the function that contains it."""
        if rule.cure_of_effect is None:
            return None
        contexts = self.facts.contexts_of(FunctionId(site.module, site.function))
        found = {
            rule.cure_of_effect(self.view(context), site.op)
            for context in contexts
            if any(call.op == site.op for call in context.calls)
        }
        return found.pop() if len(found) == 1 else None

    def _is_harmless(self, effect: Effect) -> bool:
        if effect.target.root is RootKind.FRESH:
            return True
        chain = (*effect.via, effect.site)
        is_write = effect.kind in (EffectKind.VARIABLE_CREATION, EffectKind.STATE_WRITE)
        is_once = is_write or effect.kind in (EffectKind.PRINT, EffectKind.LOG)
        if effect.kind is EffectKind.INPUT_OUTPUT and self._ends_program(chain):
            return True
        if any(site.op in self._host_callbacks(FunctionId(site.module, site.function)) for site in chain):
            return True
        for position, site in enumerate(chain):
            code, until = self.program.function(FunctionId(site.module, site.function)), chain[: position + 1]
            if position > 0 and code.name == "call" and effect.target.path.endswith(".losses"):
                # Keras collects the losses that `call` adds, once per call of the layer; after a trace they are symbolic tensors
                return not are_read_later(self.facts, self.codes, FunctionId(chain[0].module, chain[0].function))
            if position > 0 and self.is_hybrid(code.id) and assumed_about(effect) is None:
                return True
            if position > 0 and code.kind is FunctionKind.METHOD and code.name == "build":
                caller = chain[position - 1]
                around = self.index(FunctionId(caller.module, caller.function))
                made = around.facts[caller.op]
                # Keras calls it when it builds a layer for the first time, while a graph is traced already; one that the program calls
                # is a method like others; what it does once under `if not self.built` is done once in a graph, too
                is_implicit = not (isinstance(made, Call) and made.method == "build")
                if (
                    (is_implicit and not is_made_in_call(self.facts, self.index, self.view, self.is_guarded, until))
                    or around.function.name in SETS_UP
                    or (not is_write and self.is_guarded(around.function, caller.op))
                ):
                    return True
            if position > 0 and self._is_cached(code.id):
                return True
            if (
                is_once
                and self.is_guarded(code, site.op)
                and not (
                    is_made_again(self.facts, self.index, self.view, self.is_guarded, until)
                    if effect.kind is EffectKind.VARIABLE_CREATION
                    else self.ask(_DECIDES_MORE, (code.id, site.op, self._is_result_used(chain, position)))
                )
            ):
                # an object created the first time is stored; a tensor of the trace has no value later
                return effect.kind is not EffectKind.STATE_WRITE or not self._reports(
                    rule_about_kept_tensors(), effect.site
                )
        return False

    def _is_cached(self, identity: FunctionId) -> bool:
        """Whether a decorator such as `functools.lru_cache` runs a function once for all calls with equal arguments (a tensor has no
        hash), and no code clears the cache.
        """
        wrappers = self.facts.functions[identity].wrappers
        return any(decoration(name)[0] is Decoration.CACHED for name in wrappers) and not self.codes.naming(_CLEARS)

    def _ends_program(self, chain: tuple[EffectSite, ...]) -> bool:
        """Whether a chain of calls leads to `sys.exit` or similar, which ends a trace like a call, independent of tensor conditions."""
        names = self.library_at(chain[-1])
        return (
            bool(names)
            and all(has_trait(name, Trait.ENDS_PROGRAM) for name in names)
            and not any(
                any(True for _ in self.view(context).staged_around(site.op))
                for site in chain
                for context in self.facts.contexts_of(FunctionId(site.module, site.function))
            )
        )

    def is_guarded(self, code: Function, op: int) -> bool:
        """Whether the operation runs only once: under `if self.x is None`, `if not self.built`, `if not hasattr(...)`."""
        return self.ask(_GUARDED, (code.id, op))

    def _is_result_used(self, chain: Sequence[EffectSite], position: int) -> bool:
        """Whether the result of the function at a position of a chain of calls may be used; unknown callers may use the first one's."""
        if position == 0:
            return True
        caller = chain[position - 1]
        return bool(self.index(FunctionId(caller.module, caller.function)).readers(caller.op))

    def _written_of(self, effect: Effect) -> tuple[str, str]:
        """The source text of an effect (`history.append(...)`), and the changed object (`history`)."""
        index = self.index(FunctionId(effect.site.module, effect.site.function))
        changed = str(effect.target).removesuffix("[]")
        match index.facts[effect.site.op]:
            case AttributeWrite() | NameWrite():
                changed = self.written(effect.site)
                return f"{changed} = ...", changed
            case ItemWrite(owner=container):
                return f"{self.written(effect.site)} = ...", index.written(container)
            case Call(owner=int() as receiver):
                owner = index.written(receiver)
                return effect.detail, changed if owner == "..." or "(" in owner else owner
            case _:
                return effect.detail, changed

    def library_at(self, site: EffectSite) -> frozenset[str]:
        """Canonical names of the library functions that the operation at a place calls, in any context."""
        return frozenset(
            name
            for context in self.facts.contexts_of(FunctionId(site.module, site.function))
            for call in context.calls
            if call.op == site.op
            for name in call.library
        )

    def written(self, site: EffectSite) -> str:
        """The source text of the operation at a place."""
        return self.index(FunctionId(site.module, site.function)).written(site.op)


def _check(hazards: HazardMap, context: ContextId) -> tuple[tuple[Rule, LocalHazard], ...]:
    found = local_hazards(hazards.view(hazards.facts.contexts[context]))
    return tuple((rule, _as_carried(hazard)) for rule, hazard in found)


def _as_carried(hazard: LocalHazard) -> LocalHazard:
    """A hazard of an array that only callers know to be an argument: it waits for them."""
    carried = hazard.parameter
    if not isinstance(carried, Carried):
        return hazard
    return replace(
        hazard, parameter=None, waits=carried.source, subject=replace(hazard.subject, array=str(hazard.subject.array))
    )


def _called_back(hazards: HazardMap, identity: FunctionId) -> frozenset[OpId]:
    return frozenset(
        call.op
        for context in hazards.facts.contexts_of(identity)
        for call in context.calls
        if any(has_trait(name, Trait.HOST_CALLBACK) for name in call.library)
    )


def _runs_first_time(hazards: HazardMap, place: tuple[FunctionId, OpId]) -> bool:
    identity, op = place
    return runs_first_time(hazards.index(identity), op, lambda: hazards.ask(_WRITTEN_THROUGH_CALLS, identity))


def _about_program(hazards: HazardMap, asked: tuple[Callable[..., object], tuple[Hashable, ...]]) -> object:
    question, about = asked
    codes = hazards.codes
    assert isinstance(codes, WatchedCodes)
    return codes.answer_now(question, hazards.facts, about)


_OF_PROGRAM: Final = Question[HazardMap, tuple[Callable[..., object], tuple[Hashable, ...]], object](
    _about_program, None
)
"""The questions of rules about the whole program (`Codes.answered`)."""
_FOUND: Final = Question[HazardMap, ContextId, tuple[tuple[Rule, LocalHazard], ...]](_check, ())
_HOST_CALLBACKS: Final = Question[HazardMap, FunctionId, frozenset[OpId]](_called_back, frozenset())
_REACHED: Final = Question[HazardMap, ContextId, tuple[ReachedHazard, ...]](
    lambda hazards, context: hazards.all_from(hazards.facts.contexts[context]), ()
)
_UNCONVERTED: Final = Question[HazardMap, ContextId, tuple[ReachedHazard, ...]](
    lambda hazards, context: hazards.all_unconverted(hazards.facts.contexts[context]), ()
)
_SCRATCH: Final = Question[HazardMap, tuple[FunctionId, str], bool](
    lambda hazards, asked: is_scratch(hazards.facts, hazards.codes, asked), meanwhile=False
)
_CLEARS: Final = "cache_clear"
_GUARDED: Final = Question[HazardMap, tuple[FunctionId, OpId], bool](_runs_first_time, meanwhile=False)
_DECIDES_MORE: Final = Question[HazardMap, tuple[FunctionId, OpId, bool], bool](
    lambda hazards, asked: decides_more(
        hazards.index(asked[0]), asked[1], hazards.facts.contexts_of(asked[0]), is_result_used=asked[2]
    ),
    meanwhile=False,
)
_WRITTEN_THROUGH_CALLS: Final = Question[HazardMap, FunctionId, frozenset[tuple[OpId, str]]](
    lambda hazards, identity: written_through_calls(hazards.facts.contexts_of(identity)), frozenset()
)
_REPORTER: Final = Question[HazardMap, tuple[EffectKind, EffectSite], tuple[Rule, CureHint | None] | None](
    lambda hazards, effect: hazards.reporter_of(*effect), None
)
