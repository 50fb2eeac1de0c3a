"""Proof of a hazard without the analysis's assumptions, as required for errors and removals.

The analysis relies on annotations, and on the uses of a parameter, for functions without callers. Such evidence
justifies caution, but not an error: an unpacked parameter may be a tuple, and an annotation may be outdated. A value
is *proven* to be a tensor (or an array) if data flow leads back from it to a call of TensorFlow, Keras or NumPy that
returns one. Computes: whether a value is proven, and the doubts about a hazard. Needs: facts and hazards. Gives:
`Proof`. Ignores: whether the program calls the function at all, since code that fails for all arguments is an error
in any case.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from functools import partial
from typing import Final

from terra_refactor.analysis.effects import own_field
from terra_refactor.analysis.facts import BranchKind, ContextFacts, EntryKind, FailureFact
from terra_refactor.classify.conversion import is_excluded, leaves_conversion, leaves_conversion_for_keras
from terra_refactor.classify.graph_conditions import (
    asks_what_tensors_are,
    is_up_to_tensor,
    open_conditions,
    runs_in_handler,
)
from terra_refactor.classify.hazards import MAX_CHAIN, HazardMap
from terra_refactor.classify.onlookers import (
    goes_nowhere,
    is_captured_unread,
    is_used_in_graph,
    reads_of_these,
    written_objects,
)
from terra_refactor.classify.provenance import Provenance, is_array
from terra_refactor.classify.reached_hazard import ReachedHazard
from terra_refactor.classify.scratch import readers_outside
from terra_refactor.domain.dim import Why
from terra_refactor.domain.effect import Effect, EffectKind, EffectSite, RootKind
from terra_refactor.domain.value import (
    Constant,
    ObjectId,
    Origin,
    TensorKind,
    TensorValue,
    UnknownValue,
    Value,
    members,
)
from terra_refactor.facts.open_sizes import uses_of_open_sizes
from terra_refactor.facts.records import (
    AttributeRead,
    AttributeWrite,
    Call,
    Choice,
    Display,
    Fact,
    Imported,
    ItemRead,
    ItemWrite,
    Literal,
    NameRead,
    Operation,
    RegionKind,
    Return,
    Write,
)
from terra_refactor.ir.function import FunctionKind
from terra_refactor.ir.ids import FunctionId, OpId
from terra_refactor.rules.registry import all_rules
from terra_refactor.rules.rule import Doubt, LocalHazard, Nature, in_words
from terra_refactor.tf_model import releases
from terra_refactor.tf_model.decorators import Decoration, decoration
from terra_refactor.tf_model.graph_traits import SETS_LAYOUT, is_of_keras, makes_variables_late
from terra_refactor.tf_model.packages import may_only_compute
from terra_refactor.tf_model.registry import has_trait
from terra_refactor.tf_model.spec import Trait
from terra_refactor.tf_model.traits import SEEDED_LAYERS

_OF_THE_HOST: Final = frozenset(
    {EffectKind.PRINT, EffectKind.LOG, EffectKind.INPUT_OUTPUT, EffectKind.RANDOM, EffectKind.TIME}
)
"""Python effects of a trace that later calls do not repeat."""
_HOOKS: Final = frozenset({"call", "update_state", "result"})
"""Methods that Keras calls eagerly as well as in graphs."""
UP_TO_TENSOR: Final = "if the enclosing condition on a tensor lets it run"
"""The doubt about eager code on one side of such a condition."""


class Proof:
    """Proofs about the values of a program, computed on demand."""

    def __init__(self, hazards: HazardMap) -> None:
        self.hazards = hazards
        self.facts = hazards.whole_facts
        self.values = Provenance(hazards)
        self.makings = Provenance(hazards, whole=True)

    # --- hazards -------------------------------------------------------------------------------------------------------------------

    def doubt(self, context: ContextFacts, hazard: ReachedHazard) -> Doubt | None:
        """The unproven condition for the hazard in a graph that runs this context; None if it is certain."""
        if hazard.is_effect:
            return self._doubt_of_effect(context, hazard)
        place, rule = hazard.site.op, all_rules()[hazard.rule]
        if hazard.parameter is not None and "input_signature" in dict(
            self.facts.functions[context.function].hybrid or ()
        ):
            return "if its input signature does not convert what it is given"
        for inner, number in self.steps_to(context, hazard):
            view = self.hazards.view(inner)
            if view.is_within(number, Trait.LEAVES_GRAPH):
                return "if the code that `tf.init_scope` runs eagerly affects the graph"
            if any(asks_what_tensors_are(view, test) for test in open_conditions(view, number)):
                return "if the condition on the kind of the tensor lets it run"
        if hazard.nature is Nature.UNCONVERTED and self._is_left_by_keras_only(context, hazard.via):
            return releases.KERAS_LEAVES_CALL
        doubts: list[Doubt] = []
        for inner in self._contexts_at(context, hazard.via):
            if inner.function != FunctionId(hazard.site.module, hazard.site.function):
                continue  # the last call may reach other functions, too
            local = [
                each
                for found, each in self.hazards.found(inner)
                if found is rule and each.op == place and each.assumption is None
            ]
            unproven = self._unproven(inner, place, local[0] if local else None)
            structure = self._supposed_structure(inner) if rule.compares_structures else None
            if structure is not None:
                doubts.append(f"if `{structure}` is passed as a tuple, list or dict, which no call shows")
                continue
            if unproven is not None:
                doubts.append(f"if `{self._written(inner, unproven)}` is a tensor, which no call shows")
                continue
            if rule.speaks_of_sizes and self._is_supposed_size(inner, place):
                doubts.append("if that size is computed from tensors, which no call shows")
                continue
            in_use = local[0].in_use if local else None
            return in_words(in_use)
        return doubts[0] if doubts else None

    def doubt_of_failure(self, context: ContextFacts, failure: FailureFact) -> Doubt | None:
        """The unproven condition under which an operation fails on these arguments; None if it is certain."""
        if failure.only is not None and failure.only.is_condition:
            return failure.only
        code = self.values.code(context)
        if self.is_up_to_tensor(context, failure.op):
            return UP_TO_TENSOR
        fact = code.facts[failure.op]
        asked = [*code.inputs(failure.op)]
        if isinstance(fact, Call) and fact.owner is not None:
            asked.append(fact.owner)
        for number in asked:
            if self.makings.is_relevant(context.values[number]) and not self.makings.is_proven(context, number):
                return f"if `{self._written(context, number)}` has the assumed type, which no call shows"
        if not SETS_LAYOUT.isdisjoint(self.facts.library_functions()) and self._rests_on_keras(context, failure):
            return "if the order of the axes of images is the default, which the program changes"
        decorator = self.makings.decorator_behind(context, asked)
        return None if decorator is None else f"if the decorator `{decorator}` changes nothing"

    def _rests_on_keras(self, context: ContextFacts, failure: FailureFact) -> bool:
        """Whether a failing operation, or one that its operands are computed by, is a layer or model of Keras."""
        return is_of_keras(failure.operation) or any(
            any(map(is_of_keras, self.hazards.view(inner).library_of(number)))
            for inner, number in self.makings.behind(context, [failure.op])
            if isinstance(self.values.code(inner).facts[number], Call)
        )

    def missing_before(self, context: ContextFacts, place: OpId) -> str | None:
        """An undefined name that the function reads before the place on every path, which raises NameError."""
        code = self.values.code(context)
        for read in code.of_kind(NameRead):
            value = context.values[read.op]
            is_missing = isinstance(value, UnknownValue) and value.origin == Origin("global", read.name)
            if read.op < place and is_missing and not any(True for _ in code.around(read.op)):
                module = self.hazards.whole_program.modules[context.function.module]
                codes = [self.hazards.index(each.id) for each in module.functions]
                is_open = any(each.name == "*" for inner in codes for each in inner.of_kind(Imported))
                if not is_open and not any(read.name in inner.writes for inner in codes):
                    return read.name
        return None

    def _contexts_at(self, context: ContextFacts, via: Iterable[EffectSite]) -> list[ContextFacts]:
        """The contexts at the end of a chain of calls."""
        found = [context]
        for site in via:
            identity = FunctionId(site.module, site.function)
            found = [
                self.facts.contexts[callee]
                for each in found
                if each.function == identity
                for call in each.calls
                if call.op == site.op
                for callee in call.callees
            ]
        return found

    def _supposed_structure(self, context: ContextFacts) -> str | None:
        """A parameter that the function reassigns, and that is assumed to be a structure because of a library's convention."""
        code = self.values.code(context)
        for name, value in context.parameters.items():
            is_structure = self.values.is_relevant(value) and not is_array(value)
            if is_structure and name in code.writes:
                # which structures Keras passes depends on the data
                if self._comes_from_library(context, name) or not self.values.of_parameter(context, name):
                    return name
        return None

    def _comes_from_library(self, context: ContextFacts, name: str, depth: int = 0) -> bool:
        """Whether a library passes the value of the parameter, directly or through functions that pass their arguments on."""
        for calling, call in self.values.calls_of(context):
            if call.library:
                return True
            given = self.values.argument(calling, call, context, name)
            outer = None if given is None else self.hazards.view(calling).parameter_behind(given)
            if outer is not None and depth < MAX_CHAIN and self._comes_from_library(calling, outer, depth + 1):
                return True
        return False

    def _is_left_by_keras_only(self, context: ContextFacts, via: tuple[EffectSite, ...]) -> bool:
        """Whether AutoGraph leaves the code at the end of a path unconverted only because Keras 3 calls something on it."""
        for end in range(len(via) + 1):
            for inner in self._contexts_at(context, via[:end]):
                view = self.hazards.view(inner)
                if is_excluded(view):
                    return False
                for call in inner.calls if end < len(via) else ():
                    for callee in call.callees if call.op == via[end].op else ():
                        code = self.values.code(self.facts.contexts[callee]).function
                        if leaves_conversion(view, call, code) and not leaves_conversion_for_keras(view, call, code):
                            return False
        return True

    def _unproven(self, context: ContextFacts, place: OpId, local: LocalHazard | None) -> OpId | None:
        """The first value that makes an operation a hazard and is not proven to be a tensor."""
        code = self.values.code(context)
        if local is not None and local.tensor is not None:
            return None if self.values.is_proven(context, local.tensor) else local.tensor
        fact = code.facts[place]
        asked = [*code.inputs(place, results=True)]
        if isinstance(fact, Call) and fact.owner is not None:
            asked.insert(0, fact.owner)
        asked.extend(self._deciding(context, place))
        for number in asked:
            value = context.values[number]
            if value is not None and is_array(value) and not self.values.is_proven(context, number):
                return number
        return None

    def _is_supposed_size(self, context: ContextFacts, place: OpId) -> bool:
        """Whether a size is open only if some value is a tensor, for which no call is evidence."""
        uses = [use for use in uses_of_open_sizes(self.hazards.view(context), frozenset(Why)) if use.op == place]
        for use in uses:
            view, size = use.source
            # a signature's declaration is certain
            if use.why is Why.DECLARED or self.makings.is_proven(view.context, size):
                return False
        return bool(uses) or not self.makings.is_proven(context, place)

    def steps_to(self, context: ContextFacts, hazard: ReachedHazard) -> Iterator[tuple[ContextFacts, OpId]]:
        """The operations on the path from a context to a hazard: the calls, and the operation of the hazard itself."""
        sites = (*hazard.via, hazard.site)
        return (
            (inner, site.op)
            for end, site in enumerate(sites)
            for inner in self._contexts_at(context, sites[:end])
            if inner.function == FunctionId(site.module, site.function)
        )

    def always_runs(self, context: ContextFacts, hazard: ReachedHazard) -> bool:
        """Whether a call of the graph always reaches a hazard: no condition of unknown truth, such as a debug flag,
        decides about it.
        """
        return not any(self.is_optional(inner, number) for inner, number in self.steps_to(context, hazard))

    def is_optional(self, context: ContextFacts, place: OpId) -> bool:
        """Whether a condition of unknown truth, within the function, decides whether an operation runs."""
        code = self.values.code(context)
        open_ones = {
            branch.op
            for branch in context.branches
            if branch.taken == (True, True) and branch.kind in (BranchKind.PYTHON, BranchKind.UNKNOWN)
        }
        decisions = (RegionKind.IF, RegionKind.CHOICE)
        return any(region.op in open_ones and region.kind in decisions for region in code.around(place))

    def _deciding(self, context: ContextFacts, place: OpId) -> Iterator[OpId]:
        """The tensors that decide, within the function, whether an operation runs."""
        code = self.values.code(context)
        kinds = {branch.op: branch.kind for branch in context.branches}
        for region in code.around(place):
            if kinds.get(region.op) is BranchKind.TENSOR:
                yield from code.inputs(region.op, results=True)

    def is_up_to_tensor(self, context: ContextFacts, place: OpId) -> bool:
        """Whether a condition on a tensor, within the function, decides whether an operation runs in eager code, which
        may test the rank first. A graph has both sides.
        """
        return not context.in_graph and is_up_to_tensor(self.hazards.view(context), place)

    def _doubt_of_effect(self, context: ContextFacts, hazard: ReachedHazard) -> Doubt | None:
        effects = [each for each in context.effects if each.site == hazard.site and each.via == hazard.via]
        if effects and all(effect.assumed for effect in effects):
            return "if it happens at all, which depends on unresolved code"
        rule = all_rules()[hazard.rule]
        if rule.counts_if_used and self.is_unused(context, hazard):
            return "if some code reads it"
        if any(effect.kind is EffectKind.VARIABLE_CREATION for effect in effects):
            return self._doubt_of_creation(context, hazard)
        done = [effect for effect in effects if effect.kind is not EffectKind.STATE_READ]
        if done and all(effect.kind in _OF_THE_HOST for effect in done):
            return self._doubt_of_host(context, hazard)
        writes = [effect for effect in effects if effect.kind is EffectKind.STATE_WRITE]
        if not writes:
            return None
        if not self.hazards.is_hybrid(context.function) and self.values.code(context).function.name in _HOOKS:
            return "if Keras traces it: a call of the layer from eager code does not"
        if self._stores_the_same_item(context, hazard):
            return "if a later call would store another value under this key, which no call shows"
        if self._is_always_the_same(context, hazard):
            return "if something else sets it between the calls: each call would set it to the same value"
        if not self.is_looked_at(context, hazard, writes):
            return "if some code reads it between the calls"
        if rule.keeps_tensor:
            if not any(self._keeps_tensor(inner, hazard.site.op) for inner in self._contexts_at(context, hazard.via)):
                return "if it contains a tensor of the trace, which no call shows"
        return None

    def _doubt_of_host(self, context: ContextFacts, hazard: ReachedHazard) -> str | None:
        """The doubt about an effect during a trace: a later call may have had no other effect."""
        read = self.hazards.library_at(hazard.site)
        if read and all(
            has_trait(name, Trait.READS_KEPT)
            or (has_trait(name, Trait.OPENS_FILE) and self._opens_to_read(hazard.site))
            for name in read
        ):
            return "if what it reads changes between the calls"
        if read and all(map(may_only_compute, read)):
            return "if it does input or output: it creates an object, or reads an item of one"
        if read and all(has_trait(name, Trait.KEEPS_SETTING) for name in read):
            places = self._contexts_at(context, hazard.via)
            if not any(self._is_given_value(each, hazard.site.op) for each in places if _is_at(each, hazard.site)):
                return "if it is given another object in a later call, or something else sets it between the calls"
        if any(self._runs_first_time(site) for site in (*hazard.via, hazard.site)):
            return "if it runs more than once: its result is kept"
        if self._is_called_once(context.function):
            return "if it is called again: the program calls it once"
        return None

    def _opens_to_read(self, site: EffectSite) -> bool:
        """Whether a call opens a file with a literal, read-only mode."""
        call = self.hazards.index(FunctionId(site.module, site.function)).facts[site.op]
        if not isinstance(call, Call) or not call.is_plain:
            return False
        named = [argument.value for argument in call.arguments if argument.keyword == "mode"]
        modes = [*call.positional[1:2], *named]
        if not modes:
            return True
        mode = self.hazards.index(FunctionId(site.module, site.function)).facts[modes[0]]
        return isinstance(mode, Literal) and isinstance(mode.value, str) and set(mode.value) <= set("rbtU")

    def _is_given_value(self, context: ContextFacts, place: OpId) -> bool:
        """Whether the argument of a call is certainly a value of this call, not a variable or other object that a later
        call may receive again.
        """
        call = self.values.code(context).facts[place]
        given = [context.values[argument.value] for argument in call.arguments] if isinstance(call, Call) else []
        return any(
            isinstance(value, Constant) or (value is not None and is_array(value) and not _is_any_variable(value))
            for value in given
        )

    def _runs_first_time(self, site: EffectSite) -> bool:
        code = self.hazards.whole_program.function(FunctionId(site.module, site.function))
        return self.hazards.is_guarded(code, site.op)

    def _is_called_once(self, identity: FunctionId, depth: int = 0) -> bool:
        """Whether a run of the program calls a function once: at one place, not through a library, and outside of loops.

        A module-level call may be an example of frequent calls elsewhere, except in a notebook and under a condition.
        """
        found, contexts = self.facts.functions[identity], self.facts.contexts_of(identity)
        if found.open_callers or found.recursive or any(each.entry is not EntryKind.CALLED for each in contexts):
            return False
        calls = [made for context in contexts for made in self.values.calls_of(context)]
        places = {(calling.function, call.op) for calling, call in calls}
        if depth >= MAX_CHAIN or len(places) != 1 or any(call.library for _, call in calls):
            return False
        ((caller, op),) = places
        index = self.hazards.index(caller)
        if any(True for _ in index.loops_around(op)):
            return False
        if index.function.kind is not FunctionKind.MODULE:
            return self._is_called_once(caller, depth + 1)
        is_notebook = self.hazards.whole_program.modules[caller.module].path.endswith(".ipynb")
        return is_notebook or any(outer.kind is RegionKind.IF for outer in index.around(op))

    def _doubt_of_creation(self, context: ContextFacts, hazard: ReachedHazard) -> Doubt | None:
        made = self.hazards.library_at(hazard.site)
        if made and made <= SEEDED_LAYERS:
            return releases.SEEDED_LAYERS_HAVE_VARIABLES
        if made and all(name.endswith(".__call__") for name in made):
            return "if the object has not created its variables yet, which it does once"
        for inner, number in self.steps_to(context, hazard):
            view = self.hazards.view(inner)
            if any(True for _ in open_conditions(view, number)) or runs_in_handler(view, number):
                return "if it runs more than once, which depends on a condition"
            if any(decoration(name)[0] is Decoration.CACHED for name in self.facts.functions[inner.function].wrappers):
                return "if it runs more than once: a cache keeps it"
        places = [each for each in self._contexts_at(context, hazard.via) if _is_at(each, hazard.site)]
        if made and all(map(makes_variables_late, made)) and not is_used_in_graph(self.hazards, places, hazard.site.op):
            return "once it is used there: its constructor creates none, except for optimizers of TensorFlow 2.11 and newer"
        return None

    def _keeps_tensor(self, context: ContextFacts, place: OpId) -> bool:
        """Whether an operation certainly stores a tensor or a container of tensors, not an object that may contain one."""
        match self.values.code(context).facts[place]:
            case Write(value=value):
                stored = [value]
            case Call(arguments=arguments):
                stored = [argument.value for argument in arguments]
            case _:
                return True
        return any(
            self.values.is_relevant(context.values[each]) and self.values.is_proven(context, each) for each in stored
        )

    def _is_always_the_same(self, context: ContextFacts, hazard: ReachedHazard) -> bool:
        """Whether each call would set an attribute to the same value as the trace, and no other code (except
        constructors) sets it.
        """
        for inner in self._contexts_at(context, hazard.via):
            write = self.values.code(inner).facts[hazard.site.op]
            if not isinstance(write, AttributeWrite):
                return False
            if any(True for _ in self._deciding(inner, write.op)) or self._varies(inner, write, write.value):
                return False
            value = inner.values[write.value]
            for identity, number, target in self.values.setters_of(write.name):
                if self._is_constructor(identity) or (identity, number) == (inner.function, write.value):
                    continue
                if identity == inner.function and _are_apart(inner.values[target], inner.values[write.owner]):
                    continue
                others = [setter.values[number] for setter in self.facts.contexts_of(identity)]
                if not isinstance(value, Constant) or any(other not in (None, value) for other in others):
                    return False
        return True

    def _stores_the_same_item(self, context: ContextFacts, hazard: ReachedHazard) -> bool:
        """Whether an item is set under a key that is the same in each call, to a value that is not known to differ, like
        an entry of a registry of names.
        """
        places = [each for each in self._contexts_at(context, hazard.via) if _is_at(each, hazard.site)]
        for inner in places:
            write = self.values.code(inner).facts[hazard.site.op]
            if not isinstance(write, ItemWrite) or self._varies(inner, write, write.index):
                return False
            if self._varies(inner, write, write.value):
                return False
        return bool(places)

    def _varies(self, context: ContextFacts, write: AttributeWrite | ItemWrite, number: OpId) -> bool:
        """Whether a value may differ in the next call of the same trace: it depends on state that changes between
        calls, or on tensors. For an item, only if that is known: a result of unknown code may be equal.
        """
        pending, seen = [(context, number)], {(context.id, number)}
        while pending:
            inner, each = pending.pop()
            code = self.values.code(inner)
            value = inner.values[each]
            if value is not None and is_array(value) and not _is_any_variable(value):
                return True
            fact = code.facts[each]
            if self._changes_between_calls(inner, fact, write, context):
                return True
            # a value that is not a tensor depends only on invariant properties of tensors, such as static shapes
            given = ((part, inner.values[part]) for part in code.inputs(each, results=True))
            further = [(inner, part) for part, known in given if known is not None and not is_array(known)]
            if isinstance(fact, NameRead):
                further += [(inner, other.value) for other in code.writes.get(fact.name, ())]
            if isinstance(fact, Call):
                further += self._results_of(inner, fact.op)
            pending += [part for part in further if (part[0].id, part[1]) not in seen]
            seen.update((part[0].id, part[1]) for part in further)
        return False

    def _results_of(self, context: ContextFacts, op: OpId) -> list[tuple[ContextFacts, OpId]]:
        """The results of the program's functions that a call reaches."""
        call = next((call for call in context.calls if call.op == op), None)
        callees = [] if call is None else [self.facts.contexts[each] for each in call.callees]
        return [
            (callee, place.value)
            for callee in callees
            for place in self.values.code(callee).of_kind(Return)
            if place.value is not None
        ]

    def _changes_between_calls(
        self, context: ContextFacts, fact: Fact | None, write: AttributeWrite | ItemWrite, writing: ContextFacts
    ) -> bool:
        """Whether the value read or computed there, for a write, may differ in the next call."""
        match fact:
            case ItemRead(owner=owner) if isinstance(write, ItemWrite):
                return not _are_apart(context.values[owner], writing.values[write.owner])
            case AttributeRead(owner=owner, name=name):
                given = context.values[owner]
                if (
                    isinstance(write, AttributeWrite)
                    and name == write.name
                    and not _are_apart(given, writing.values[write.owner])
                ):
                    return True
                return any(
                    not self._is_constructor(setter)
                    and (setter, number) != (writing.function, write.value)
                    and not (setter == writing.function and _are_apart(writing.values[target], given))
                    for setter, number, target in self.values.setters_of(name)
                )
            case Call(op=op, owner=owner, arguments=arguments):
                call = next((call for call in context.calls if call.op == op), None)
                asked = (*(() if owner is None else (owner,)), *(argument.value for argument in arguments))
                if isinstance(write, ItemWrite) and any(
                    # `counts.get(name, 0) + 1`, `len(counts)`
                    not _are_apart(context.values[each], writing.values[write.owner])
                    for each in asked
                ):
                    return True
                if isinstance(write, ItemWrite) and any(
                    each.site.op == op and not each.via and each.kind in _OF_THE_HOST for each in context.effects
                ):
                    return True
                if call is None or call.unknown is not None:
                    return isinstance(write, AttributeWrite)
                effects = (each for callee in call.callees for each in self.facts.contexts[callee].effects)
                return any(each.kind not in (EffectKind.STATE_READ, EffectKind.VARIABLE_CREATION) for each in effects)
            case Literal() | ItemRead() | NameRead() | Display(is_comprehension=False) | Choice() | Imported():
                return False
            case Operation(is_comparison=is_comparison):
                return is_comparison
            case _:
                return True

    def _is_constructor(self, identity: FunctionId) -> bool:
        return self.hazards.index(identity).function.name in ("__init__", "build")

    def _is_read(self, name: str, written: frozenset[ObjectId] | None, writer: FunctionId, reader: FunctionId) -> bool:
        """Whether eager code of a function reads the attribute of one of these objects; a name alone is no proof."""
        return written is not None and reads_of_these(self.hazards, reader, name, written, writer)

    def is_looked_at(self, context: ContextFacts, hazard: ReachedHazard, writes: Collection[Effect]) -> bool:
        """Whether some function of the program reads an attribute that a call sets on these objects, or a captured
        container that it changes; True if it is neither.
        """
        if all(
            effect.target.root is RootKind.CLOSURE
            and effect.target.path == "[]"
            and is_captured_unread(self.hazards, context.function, effect.target.name)
            for effect in writes
        ):
            return False
        stored = {
            own_field(effect.target).removeprefix(".")
            for effect in writes
            if own_field(effect.target).startswith(".") and effect.target.root is not RootKind.GLOBAL
        }
        facts, codes = self.hazards.facts, self.hazards.codes
        places = [each for each in self._contexts_at(context, hazard.via) if _is_at(each, hazard.site)]
        written = written_objects(self.hazards, places, hazard.site.op)
        writer = FunctionId(hazard.site.module, hazard.site.function)
        return not stored or any(
            readers_outside(
                facts,
                codes,
                context.function,
                name,
                by_name=True,
                reads=partial(self._is_read, name, written, writer),
            )
            for name in stored
        )

    def is_unused(self, context: ContextFacts, hazard: ReachedHazard) -> bool:
        """Whether a call's result, and everything computed from it, is unused."""
        found = [each for each in self._contexts_at(context, hazard.via) if _is_at(each, hazard.site)]
        return bool(found) and all(goes_nowhere(self.hazards, each, hazard.site.op) for each in found)

    def _written(self, context: ContextFacts, number: OpId) -> str:
        return self.values.code(context).written(number)


def _is_at(context: ContextFacts, site: EffectSite) -> bool:
    return context.function == FunctionId(site.module, site.function)


def _are_apart(one: Value | None, other: Value | None) -> bool:
    """Whether two results of one context are certainly different objects."""
    return one is not None and other is not None and set(members(one)).isdisjoint(members(other))


def _is_any_variable(value: Value) -> bool:
    return all(isinstance(member, TensorValue) and member.kind is TensorKind.VARIABLE for member in members(value))
