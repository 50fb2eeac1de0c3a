"""What is proven of a hazard, beyond what the analysis takes for granted: an error, and taking a decorator away, need it.

The analysis believes annotations, and what a body does with a parameter, so that it can say anything about functions that nobody
calls. That is enough to be careful, and not enough to call a program wrong: a parameter that is unpacked may be a tuple, and an
annotation may be of another time. A value is *proven* to be a tensor (or an array) if data flow leads back from it to a call of
TensorFlow, Keras or NumPy that gives one.

Computes: whether a value is proven, and what is doubtful about a hazard. Needs: facts and hazards. Gives: `Proof`.
Ignores: whether the program calls the function at all; what fails for every argument is an error all the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from terra_refactor.analysis.effects import own_field
from terra_refactor.analysis.facts import BranchKind, CallFact, ContextFacts, ContextId, EntryKind, ObjectKind
from terra_refactor.classify.candidates import derives_from
from terra_refactor.classify.conversion import is_excluded, leaves_conversion, leaves_conversion_for_keras
from terra_refactor.classify.hazards import MAX_CHAIN, HazardMap, ReachedHazard
from terra_refactor.classify.scratch import readers_outside
from terra_refactor.domain.effect import Effect, EffectKind, EffectSite, RootKind
from terra_refactor.domain.value import (
    Constant,
    DatasetValue,
    FrozenDict,
    FrozenList,
    Reference,
    SequenceValue,
    TensorKind,
    TensorValue,
    TupleValue,
    UnknownValue,
    Value,
    is_symbolic_number,
    members,
)
from terra_refactor.facts.code import CodeFacts
from terra_refactor.facts.records import (
    AttributeRead,
    AttributeWrite,
    Call,
    Choice,
    Display,
    Fact,
    ItemRead,
    Literal,
    NameRead,
    NameWrite,
    NextItem,
    Operation,
    RegionKind,
    Return,
    Unpacked,
    Write,
)
from terra_refactor.facts.view import has_trait
from terra_refactor.ir.function import Function
from terra_refactor.ir.ids import FunctionId, OpId
from terra_refactor.rules.registry import all_rules
from terra_refactor.rules.rule import LocalHazard, Nature
from terra_refactor.tf_model.graph_traits import LOSS, makes_arrays
from terra_refactor.tf_model.spec import Trait

MAX_DEPTH: Final = 60
"""So many steps data flow is followed back; what is farther away is not proven."""
_HOOKS: Final = frozenset({"call", "update_state", "result"})
"""Methods that Keras calls eagerly as well as in graphs."""
_LOSSES: Final = frozenset({LOSS})
_HOLDERS: Final = (ObjectKind.LIST, ObjectKind.DICT, ObjectKind.SET)


class Proof:
    """What is proven about the values of a program, found on demand."""

    def __init__(self, hazards: HazardMap) -> None:
        self.hazards = hazards
        self.facts = hazards.whole_facts
        self._known: dict[tuple[ContextId, OpId], bool] = {}
        self._parameters: dict[tuple[ContextId, str], bool] = {}
        self._setters: dict[str, list[tuple[FunctionId, OpId, OpId]]] | None = None
        self._depth = 0

    # --- hazards -------------------------------------------------------------------------------------------------------------------

    def doubt(self, context: ContextFacts, hazard: ReachedHazard) -> str | None:
        """What would have to be so, and is not proven, for the hazard of a graph that runs this context; None if it is one for sure."""
        if hazard.is_effect:
            return self._doubt_of_effect(context, hazard)
        place, rule = hazard.site.op, all_rules()[hazard.rule]
        if hazard.nature is Nature.UNCONVERTED and self._is_left_by_keras_only(context, hazard.via):
            return "under Keras 3, of TensorFlow 2.16 and newer: Keras 2 has `call` and `train_step` converted"
        doubts: list[str] = []
        for inner in self._contexts_at(context, hazard.via):
            if inner.function != FunctionId(hazard.site.module, hazard.site.function):
                continue  # the last call may reach others as well
            local = [
                each
                for found, each in self.hazards.found(inner)
                if found is rule and each.op == place and each.assumption is None
            ]
            unproven = self._unproven(inner, place, local[0] if local else None)
            structure = self._supposed_structure(inner) if rule.compares_structures else None
            if structure is not None:
                doubts.append(f"if `{structure}` is given as a tuple, list or dict, which no call shows")
                continue
            if unproven is None:
                in_use = local[0].in_use if local else None
                return None if in_use is None else f"only if {in_use}"
            doubts.append(f"if `{self._written(inner, unproven)}` is a tensor, which no call shows")
        return doubts[0] if doubts else None

    def _contexts_at(self, context: ContextFacts, via: Iterable[EffectSite]) -> list[ContextFacts]:
        """The contexts to which a way of calls leads."""
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
        """A parameter that the function assigns anew, and that is taken for a structure because of what a library is thought to pass."""
        code = self._code(context)
        for name, value in context.parameters.items():
            is_structure = self._is_relevant(value) and not _is_array(value)
            if is_structure and name in code.writes:
                # which structures Keras passes depends on the data
                if self._comes_from_library(context, name) or not self._of_parameter(context, name):
                    return name
        return None

    def _comes_from_library(self, context: ContextFacts, name: str, depth: int = 0) -> bool:
        """Whether a library passes what the parameter gets, directly or through functions that hand on what they were given."""
        for calling, call in self._calls_of(context):
            if call.library:
                return True
            given = self._argument(calling, call, context, name)
            outer = None if given is None else self.hazards.view(calling).parameter_behind(given)
            if outer is not None and depth < MAX_CHAIN and self._comes_from_library(calling, outer, depth + 1):
                return True
        return False

    def _is_left_by_keras_only(self, context: ContextFacts, via: tuple[EffectSite, ...]) -> bool:
        """Whether AutoGraph leaves the code at the end of a way as it is for no other reason than that Keras 3 calls something on it."""
        for end in range(len(via) + 1):
            for inner in self._contexts_at(context, via[:end]):
                view = self.hazards.view(inner)
                if is_excluded(view):
                    return False
                for call in inner.calls if end < len(via) else ():
                    for callee in call.callees if call.op == via[end].op else ():
                        code = self._code(self.facts.contexts[callee]).function
                        if leaves_conversion(view, call, code) and not leaves_conversion_for_keras(view, call, code):
                            return False
        return True

    def _unproven(self, context: ContextFacts, place: OpId, local: LocalHazard | None) -> OpId | None:
        """The first value that makes an operation a hazard and is not proven to be a tensor."""
        code = self._code(context)
        if local is not None and local.tensor is not None:
            return None if self.is_proven(context, local.tensor) else local.tensor
        fact = code.facts[place]
        asked = [*code.inputs(place, results=True)]
        if isinstance(fact, Call) and fact.owner is not None:
            asked.insert(0, fact.owner)
        asked.extend(self._deciding(context, place))
        for number in asked:
            value = context.values[number]
            if value is not None and _is_array(value) and not self.is_proven(context, number):
                return number
        return None

    def always_runs(self, context: ContextFacts, hazard: ReachedHazard) -> bool:
        """Whether no condition that nobody can answer, such as a flag for debugging, decides if a call of the graph gets to a hazard."""
        sites = (*hazard.via, hazard.site)
        return not any(
            self._is_optional(inner, site.op)
            for end, site in enumerate(sites)
            for inner in self._contexts_at(context, sites[:end])
            if inner.function == FunctionId(site.module, site.function)
        )

    def _is_optional(self, context: ContextFacts, place: OpId) -> bool:
        code = self._code(context)
        open_ones = {
            branch.op
            for branch in context.branches
            if branch.taken == (True, True) and branch.kind in (BranchKind.PYTHON, BranchKind.UNKNOWN)
        }
        decisions = (RegionKind.IF, RegionKind.CHOICE)
        return any(region.op in open_ones and region.kind in decisions for region in code.around(place))

    def _deciding(self, context: ContextFacts, place: OpId) -> Iterator[OpId]:
        """The tensors that decide, within the function, whether an operation runs."""
        code = self._code(context)
        kinds = {branch.op: branch.kind for branch in context.branches}
        for region in code.around(place):
            if kinds.get(region.op) is BranchKind.TENSOR:
                yield from code.inputs(region.op, results=True)

    def _doubt_of_effect(self, context: ContextFacts, hazard: ReachedHazard) -> str | None:
        effects = [each for each in context.effects if each.site == hazard.site and each.via == hazard.via]
        if effects and all(effect.assumed for effect in effects):
            return "if it happens at all: that rests on what could not be resolved"
        rule = all_rules()[hazard.rule]
        if rule.counts_if_used and self.is_unused(hazard.site):
            return "if somebody looks at it"
        writes = [effect for effect in effects if effect.kind is EffectKind.STATE_WRITE]
        if not writes:
            return None
        if not self.hazards.is_hybrid(context.function) and self._code(context).function.name in _HOOKS:
            return "if Keras makes a graph of it: a call of the layer from eager code does not"
        if self._is_always_the_same(context, hazard):
            return "if something else sets it between the calls: each call would set it to the same value"
        if not self.is_looked_at(context, writes):
            return "if somebody looks at it between the calls"
        if rule.keeps_tensor:
            if not any(self._keeps_tensor(inner, hazard.site.op) for inner in self._contexts_at(context, hazard.via)):
                return "if a tensor of the trace is in it, which no call shows"
        return None

    def _keeps_tensor(self, context: ContextFacts, place: OpId) -> bool:
        """Whether what an operation stores is certainly a tensor, or a container of tensors, and no object that may have one."""
        match self._code(context).facts[place]:
            case Write(value=value):
                stored = [value]
            case Call(arguments=arguments):
                stored = [argument.value for argument in arguments]
            case _:
                return True
        return any(self._is_relevant(context.values[each]) and self.is_proven(context, each) for each in stored)

    def _is_always_the_same(self, context: ContextFacts, hazard: ReachedHazard) -> bool:
        """Whether each call would set an attribute to what the trace has set it to, and nobody else (but constructors) sets it."""
        for inner in self._contexts_at(context, hazard.via):
            write = self._code(inner).facts[hazard.site.op]
            if not isinstance(write, AttributeWrite):
                return False
            if any(True for _ in self._deciding(inner, write.op)) or self._varies(inner, write, write.value):
                return False
            value = inner.values[write.value]
            for identity, number, target in self._setters_of(write.name):
                if self._is_constructor(identity) or (identity, number) == (inner.function, write.value):
                    continue
                if identity == inner.function and _are_apart(inner.values[target], inner.values[write.owner]):
                    continue
                others = [setter.values[number] for setter in self.facts.contexts_of(identity)]
                if not isinstance(value, Constant) or any(other not in (None, value) for other in others):
                    return False
        return True

    def _varies(self, context: ContextFacts, write: AttributeWrite, number: OpId) -> bool:
        """Whether a value may be another one in the next call of the same trace: it is computed from what calls change, or from tensors."""
        code = self._code(context)
        pending, seen = [number], {number}
        while pending:
            each = pending.pop()
            value = context.values[each]
            if value is not None and _is_array(value) and not _is_any_variable(value):
                return True
            if self._changes_between_calls(context, write, code.facts[each]):
                return True
            # what is no tensor is made of what of tensors does not vary: their static shapes, say
            given = ((part, context.values[part]) for part in code.inputs(each))
            further = [part for part, known in given if known is None or not _is_array(known)]
            fact = code.facts[each]
            if isinstance(fact, NameRead):
                further += [other.value for other in code.writes.get(fact.name, ())]
            pending += [part for part in dict.fromkeys(further) if part not in seen]
            seen.update(further)
        return False

    def _changes_between_calls(self, context: ContextFacts, write: AttributeWrite, fact: Fact | None) -> bool:
        """Whether what is read or computed there may be another value in the next call."""
        match fact:
            case AttributeRead(owner=owner, name=name):
                given = context.values[owner]
                if name == write.name and not _are_apart(given, context.values[write.owner]):
                    return True
                return any(
                    not self._is_constructor(setter)
                    and (setter, number) != (context.function, write.value)
                    and not (setter == context.function and _are_apart(context.values[target], given))
                    for setter, number, target in self._setters_of(name)
                )
            case Call(op=op):
                call = next((call for call in context.calls if call.op == op), None)
                return call is None or call.unknown is not None or bool(call.callees)
            case Literal() | ItemRead() | NameRead() | Display(is_comprehension=False):
                return False
            case Operation(is_comparison=is_comparison):
                return is_comparison
            case _:
                return True

    def _is_constructor(self, identity: FunctionId) -> bool:
        return self.hazards.index(identity).function.name in ("__init__", "build")

    def is_looked_at(self, context: ContextFacts, writes: Iterable[Effect]) -> bool:
        """Whether some function of the program may read what a call leaves in an attribute; True of what is no attribute."""
        stored = {
            own_field(effect.target).removeprefix(".")
            for effect in writes
            if own_field(effect.target).startswith(".") and effect.target.root is not RootKind.GLOBAL
        }
        return not stored or any(
            readers_outside(self.hazards.facts, self.hazards.codes, context.function, name, by_name=True)
            for name in stored
        )

    def is_unused(self, site: EffectSite) -> bool:
        """Whether nobody looks at what a call gives: it is dropped, or stored in a local variable that nothing reads."""
        module = self.hazards.whole_program.modules[site.module]
        index = self.hazards.index(FunctionId(site.module, site.function))
        users = [index.facts[user] for user in index.readers(site.op)]
        names = {user.name for user in users if isinstance(user, NameWrite)}
        return all(isinstance(user, NameWrite) for user in users) and not any(
            self.hazards.index(function.id).reads_of(name) for function in module.functions for name in names
        )

    # --- values --------------------------------------------------------------------------------------------------------------------

    def is_proven(self, context: ContextFacts, number: OpId) -> bool:
        """Whether a result comes, by data flow, from calls that give tensors or arrays."""
        key = context.id, number
        known = self._known.get(key)
        if known is not None:
            return known
        if self._depth >= MAX_DEPTH:
            return False
        # what a loop carries is proven if all else that it is made from is
        self._known[key] = True
        self._depth += 1
        try:
            found = self._known[key] = self._comes_from_call(context, number)
        finally:
            self._depth -= 1
        return found

    def _comes_from_call(self, context: ContextFacts, number: OpId) -> bool:
        value = context.values[number]
        if value is None or any(isinstance(member, UnknownValue) for member in members(value)):
            return False
        if all(map(_is_variable, members(value))) and members(value):
            return True
        code = self._code(context)
        match code.facts[number]:
            case NameRead(is_local=True, name=name):
                return self._of_local(context, name, number)
            case NameRead(is_captured=True, name=name):
                return self._of_closure(context, name)
            case ItemRead(owner=inner) | Unpacked(source=inner) | Operation(right=None, left=inner):
                return self.is_proven(context, inner)
            case AttributeRead() as read:
                return self._of_attribute(context, read)
            case Operation(sides=sides):
                return any(self.is_proven(context, each) for each in sides if self._is_relevant(context.values[each]))
            case Choice(results=results):
                return self._all(context, results)
            case Display(is_comprehension=True, items=items):
                return self._all(context, [item.value for item in items])
            case Display():
                return self._all(context, code.inputs(number))
            case NextItem(source=source):
                return source is not None and self.is_proven(context, source)
            case Call() as call:
                return self._of_call(context, call)
            case NameRead() | Literal():
                return True  # a global: the module's own code has made it
            case _:
                return False

    def _all(self, context: ContextFacts, numbers: Iterable[OpId]) -> bool:
        return all(self.is_proven(context, each) for each in numbers if self._is_relevant(context.values[each]))

    def _of_local(self, context: ContextFacts, name: str, before: OpId | None) -> bool:
        """A local variable: every assignment that may have set it there."""
        code = self._code(context)
        writes, is_parameter = code.writes.get(name, ()), code.has_parameter(name)
        certain = [each for each in writes if code.parents[each.op] is None and (before is None or each.op < before)]
        if certain:
            # nothing from before that gets here
            writes, is_parameter = tuple(each for each in writes if each.op >= certain[-1].op), False
        if is_parameter and not self._of_parameter(context, name):
            return False
        return self._all(context, [write.value for write in writes])

    def _of_closure(self, context: ContextFacts, name: str) -> bool:
        outer = self._code(context).function.parent
        while outer is not None:
            code = self.hazards.index(outer)
            if name in code.writes or code.has_parameter(name):
                return any(self._of_local(each, name, None) for each in self.facts.contexts_of(outer))
            outer = code.function.parent
        return False

    def _of_attribute(self, context: ContextFacts, read: AttributeRead) -> bool:
        owner = context.values[read.owner]
        if owner is not None and self._is_relevant(owner):
            return self.is_proven(context, read.owner)
        if owner is not None and not any(isinstance(member, Reference) for member in members(owner)):
            return True  # of a module or a library
        setting = [
            (setter, number)
            for identity, number, _ in self._setters_of(read.name)
            for setter in self.facts.contexts_of(identity)
            if self._is_relevant(setter.values[number])
        ]
        return bool(setting) and all(self.is_proven(setter, number) for setter, number in setting)

    def _setters_of(self, attribute: str) -> list[tuple[FunctionId, OpId, OpId]]:
        """The functions that set attributes of that name, with the value and the object of each."""
        if self._setters is None:
            self._setters = {}
            for module in self.hazards.whole_program.modules.values():
                for function in module.functions:
                    for write in self.hazards.index(function.id).of_kind(AttributeWrite):
                        self._setters.setdefault(write.name, []).append((function.id, write.value, write.owner))
        return self._setters.get(attribute, [])

    def _of_call(self, context: ContextFacts, call: Call) -> bool:
        fact = next((each for each in context.calls if each.op == call.op), None)
        if fact is None or fact.unknown is not None:
            return False
        if fact.library:
            if call.owner is not None and self._is_relevant(context.values[call.owner]):
                return self.is_proven(context, call.owner)
            if all(makes_arrays(name) and not has_trait(name, Trait.HANDS_BACK) for name in fact.library):
                return True
            return self._all(context, self._code(context).inputs(call.op))
        return any(self._returns_proven(self.facts.contexts[callee]) for callee in fact.callees)

    def _returns_proven(self, context: ContextFacts) -> bool:
        if self.hazards.is_hybrid(context.function):
            return True
        given = [place.value for place in self._code(context).of_kind(Return) if place.value is not None]
        return self._all(context, given)

    # --- parameters ----------------------------------------------------------------------------------------------------------------

    def _of_parameter(self, context: ContextFacts, name: str) -> bool:
        """Whether calls bring what a parameter is taken for."""
        key = context.id, name
        known = self._parameters.get(key)
        if known is None:
            # a recursive call proves nothing by itself
            self._parameters[key] = False
            known = self._parameters[key] = self._is_brought(context, name)
        return known

    def _is_brought(self, context: ContextFacts, name: str) -> bool:
        code = self._code(context).function
        if context.entry is EntryKind.FRAMEWORK:
            # Keras gives losses and metrics tensors; a layer may take lists and dicts of them
            return code.name != "call" or self._is_of_loss(code)
        if context.entry is not EntryKind.CALLED:
            return False
        return any(self._brings(calling, call, context, name) for calling, call in self._calls_of(context))

    def _is_of_loss(self, code: Function) -> bool:
        codes = self.hazards.codes
        return code.parent is not None and derives_from(codes, self.facts, code.parent, _LOSSES)

    def _calls_of(self, context: ContextFacts) -> Iterator[tuple[ContextFacts, CallFact]]:
        """The calls that lead to a context, each with the context that makes it."""
        for caller in self.facts.functions[context.function].callers:
            calling = self.facts.contexts[caller.context]
            for call in calling.calls:
                if call.op == caller.op and context.id in call.callees:
                    yield calling, call

    def _brings(self, caller: ContextFacts, call: CallFact, context: ContextFacts, name: str) -> bool:
        given = self._argument(caller, call, context, name)
        if given is not None:
            return self.is_proven(caller, given)
        code = self._code(caller)
        made = code.facts[call.op]
        receiver = (made.owner,) if isinstance(made, Call) and made.owner is not None else ()
        given_to_library = (*code.inputs(call.op), *receiver)
        if any(isinstance(member, UnknownValue) for each in given_to_library for member in _alternatives(caller, each)):
            # what it hands on may be a part of that
            return False
        return self._all(caller, given_to_library)

    def _argument(self, caller: ContextFacts, call: CallFact, context: ContextFacts, name: str) -> OpId | None:
        """What a call that reaches the function itself, through no library, passes for a parameter; None if that is not seen."""
        made = self._code(caller).facts[call.op]
        if not isinstance(made, Call) or call.library:
            return None
        return self.hazards.view(caller).given_for(made, self._code(context).function, name)

    # --- looking -------------------------------------------------------------------------------------------------------------------

    def _code(self, context: ContextFacts) -> CodeFacts:
        return self.hazards.whole_codes.of(context.function)

    def _written(self, context: ContextFacts, number: OpId) -> str:
        return self._code(context).written(number)

    def _is_relevant(self, value: Value | None) -> bool:
        """Whether a value is a tensor or array, or may hold one."""
        if value is None:
            return False
        return _is_array(value) or any(
            isinstance(member, TupleValue | SequenceValue | FrozenList | FrozenDict | DatasetValue)
            or (isinstance(member, Reference) and self.facts.objects[member.object].kind in _HOLDERS)
            for member in members(value)
        )


def _is_array(value: Value) -> bool:
    return any(isinstance(member, TensorValue) or is_symbolic_number(member) for member in members(value))


def _are_apart(one: Value | None, other: Value | None) -> bool:
    """Whether two results of one context are certainly other objects."""
    return one is not None and other is not None and set(members(one)).isdisjoint(members(other))


def _is_any_variable(value: Value) -> bool:
    return all(isinstance(member, TensorValue) and member.kind is TensorKind.VARIABLE for member in members(value))


def _is_variable(value: Value) -> bool:
    return isinstance(value, TensorValue) and value.kind is TensorKind.VARIABLE and value.variable is not None


def _alternatives(context: ContextFacts, number: OpId) -> tuple[Value, ...]:
    value = context.values[number]
    return () if value is None else members(value)
