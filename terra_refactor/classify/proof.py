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

from terra_refactor.analysis.describe import written_form
from terra_refactor.analysis.effects import own_field
from terra_refactor.analysis.facts import BranchKind, CallFact, ContextFacts, ContextId, EntryKind, ObjectKind
from terra_refactor.classify.candidates import derives_from
from terra_refactor.classify.conversion import is_excluded, leaves_conversion, leaves_conversion_for_keras
from terra_refactor.classify.hazards import MAX_CHAIN, NOT_CONVERTED, HazardMap, ReachedHazard
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
from terra_refactor.ir import ops
from terra_refactor.ir.function import Function, FunctionKind
from terra_refactor.ir.ids import FunctionId, OpId
from terra_refactor.ir.index import CodeIndex
from terra_refactor.ir.walk import block_results, operands, walk
from terra_refactor.rules.rule import LocalHazard

MAX_DEPTH: Final = 60
"""So many steps data flow is followed back; what is farther away is not proven."""
_MAKERS: Final = ("tensorflow.", "keras.", "numpy.", "tensorflow_probability.", "tensorflow_addons.")
"""Libraries whose functions give tensors or arrays, whatever they are given."""
_HANDS_BACK: Final = (".nest.", "tensorflow.identity_n")
"""Those of their functions that give back what they were given."""
_OF_BRANCHES: Final = ("TR306", "TR307")
"""Rules about what a variable is on both sides of a branch, or before and after an iteration."""
_HOOKS: Final = frozenset({"call", "update_state", "result"})
"""Methods that Keras calls eagerly as well as in graphs."""
_LOSSES: Final = frozenset({"keras.losses.Loss"})
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
        place = hazard.site.op
        if hazard.message == NOT_CONVERTED and self._is_left_by_keras_only(context, hazard.via):
            return "under Keras 3, of TensorFlow 2.16 and newer: Keras 2 has `call` and `train_step` converted"
        doubts: list[str] = []
        for inner in self._contexts_at(context, hazard.via):
            if inner.function != FunctionId(hazard.site.module, hazard.site.function):
                continue  # the last call may reach others as well
            local = [
                each
                for rule, each in self.hazards.found(inner)
                if rule.id == hazard.rule and each.op == place and each.assumption is None
            ]
            unproven = self._unproven(inner, place, local[0] if local else None)
            structure = self._supposed_structure(inner) if hazard.rule in _OF_BRANCHES else None
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
            if is_structure and name in code.stores:
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
        op = code.ops[place]
        assert op is not None
        asked = [*operands(op), *(number for _, number in block_results(op))]
        if isinstance(op, ops.Call):
            method = code.ops[op.function]
            if isinstance(method, ops.LoadAttribute):
                asked.insert(0, method.object)
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
        parent = code.parents[place]
        while parent is not None:
            if parent in open_ones and isinstance(code.ops[parent], ops.If | ops.IfExpression):
                return True
            parent = code.parents[parent]
        return False

    def _deciding(self, context: ContextFacts, place: OpId) -> Iterator[OpId]:
        """The tensors that decide, within the function, whether an operation runs."""
        code = self._code(context)
        kinds = {branch.op: branch.kind for branch in context.branches}
        parent = code.parents[place]
        while parent is not None:
            outer = code.ops[parent]
            if kinds.get(parent) is BranchKind.TENSOR and outer is not None:
                yield from operands(outer)
                yield from (number for _, number in block_results(outer))
            parent = code.parents[parent]

    def _doubt_of_effect(self, context: ContextFacts, hazard: ReachedHazard) -> str | None:
        effects = [each for each in context.effects if each.site == hazard.site and each.via == hazard.via]
        if effects and all(effect.assumed for effect in effects):
            return "if it happens at all: that rests on what could not be resolved"
        if hazard.rule == "TR105" and self.is_unused(hazard.site):
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
        if hazard.rule == "TR104":
            if not any(self._keeps_tensor(inner, hazard.site.op) for inner in self._contexts_at(context, hazard.via)):
                return "if a tensor of the trace is in it, which no call shows"
        return None

    def _keeps_tensor(self, context: ContextFacts, place: OpId) -> bool:
        """Whether what an operation stores is certainly a tensor, or a container of tensors, and no object that may have one."""
        op = self._code(context).ops[place]
        match op:
            case ops.StoreAttribute(value=int() as value) | ops.StoreItem(value=value):
                stored = [value]
            case ops.StoreName(value=int() as value):
                stored = [value]
            case ops.Call(arguments=arguments):
                stored = [argument.value for argument in arguments]
            case _:
                return True
        return any(self._is_relevant(context.values[each]) and self.is_proven(context, each) for each in stored)

    def _is_always_the_same(self, context: ContextFacts, hazard: ReachedHazard) -> bool:
        """Whether each call would set an attribute to what the trace has set it to, and nobody else (but constructors) sets it."""
        for inner in self._contexts_at(context, hazard.via):
            op = self._code(inner).ops[hazard.site.op]
            if not isinstance(op, ops.StoreAttribute) or op.value is None:
                return False
            if any(True for _ in self._deciding(inner, op.id)) or self._varies(inner, op, op.value):
                return False
            value = inner.values[op.value]
            for identity, number, target in self._setters_of(op.name):
                if self._is_constructor(identity) or (identity, number) == (inner.function, op.value):
                    continue
                if identity == inner.function and _are_apart(inner.values[target], inner.values[op.object]):
                    continue
                others = [setter.values[number] for setter in self.facts.contexts_of(identity)]
                if not isinstance(value, Constant) or any(other not in (None, value) for other in others):
                    return False
        return True

    def _varies(self, context: ContextFacts, store: ops.StoreAttribute, number: OpId) -> bool:
        """Whether a value may be another one in the next call of the same trace: it is computed from what calls change, or from tensors."""
        code = self._code(context)
        changed = context.values[store.object]
        pending, seen = [number], {number}
        while pending:
            each = pending.pop()
            op, value = code.ops[each], context.values[each]
            if value is not None and _is_array(value) and not _is_any_variable(value):
                return True
            if isinstance(op, ops.LoadAttribute):
                owner = context.values[op.object]
                if op.name == store.name and not _are_apart(owner, changed):
                    return True
                if any(
                    not self._is_constructor(setter)
                    and (setter, given) != (context.function, store.value)
                    and not (setter == context.function and _are_apart(context.values[target], owner))
                    for setter, given, target in self._setters_of(op.name)
                ):
                    return True
            elif isinstance(op, ops.Call):
                fact = next((call for call in context.calls if call.op == each), None)
                if fact is None or fact.unknown is not None or fact.callees:
                    return True
            elif isinstance(op, ops.LoadName):
                stores = code.stores.get(op.name, ())
                new = [store.value for store in stores if store.value is not None and store.value not in seen]
                pending.extend(new)
                seen.update(new)
            elif not isinstance(
                op, ops.Literal | ops.LoadItem | ops.Unary | ops.Binary | ops.BuildContainer | ops.BuildDict
            ):
                return True
            # what is no tensor is made of what of tensors does not vary: their static shapes, say
            given = ((part, context.values[part]) for part in operands(op) if part not in seen)
            inner = [part for part, known in given if known is None or not _is_array(known)]
            pending.extend(inner)
            seen.update(inner)
        return False

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
        users = [
            op
            for op in self.hazards.index(FunctionId(site.module, site.function)).ops
            if op and site.op in operands(op)
        ]
        names = {op.name for op in users if isinstance(op, ops.StoreName)}
        return all(isinstance(op, ops.StoreName) for op in users) and not any(
            read.name in names
            for function in module.functions
            for read in self.hazards.index(function.id).of_kind(ops.LoadName)
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
        op = self._code(context).ops[number]
        match op:
            case ops.LoadName(scope=ops.Scope.LOCAL | ops.Scope.CELL):
                return self._of_local(context, op.name, op.id)
            case ops.LoadName(scope=ops.Scope.FREE):
                return self._of_closure(context, op.name)
            case ops.LoadItem(object=inner) | ops.UnpackElement(source=inner) | ops.Unary(operand=inner):
                return self.is_proven(context, inner)
            case ops.LoadAttribute():
                return self._of_attribute(context, op)
            case ops.Binary(left=left, right=right) | ops.Compare(left=left, right=right):
                return any(
                    self.is_proven(context, each) for each in (left, right) if self._is_relevant(context.values[each])
                )
            case ops.ShortCircuit(left=left, value=right):
                return self._all(context, (left, right))
            case ops.IfExpression(then_value=left, else_value=right):
                return self._all(context, (left, right))
            case ops.BuildContainer() | ops.BuildDict():
                return self._all(context, operands(op))
            case ops.Comprehension(body=body):
                return self._all(context, [each.value for each in walk(body) if isinstance(each, ops.CollectElement)])
            case ops.NextItem():
                return self._of_item(context, number)
            case ops.Call():
                return self._of_call(context, op)
            case ops.LoadName() | ops.Literal():
                return True  # a global: the module's own code has made it
            case _:
                return False

    def _all(self, context: ContextFacts, numbers: Iterable[OpId]) -> bool:
        return all(self.is_proven(context, each) for each in numbers if self._is_relevant(context.values[each]))

    def _of_local(self, context: ContextFacts, name: str, before: OpId | None) -> bool:
        """A local variable: every assignment that may have set it there."""
        code = self._code(context)
        stores = [store for store in code.stores.get(name, ()) if store.value is not None]
        is_parameter = any(parameter.name == name for parameter in code.function.parameters)
        certain = [
            store for store in stores if code.parents[store.id] is None and (before is None or store.id < before)
        ]
        if certain:
            # nothing from before that gets here
            stores, is_parameter = [store for store in stores if store.id >= certain[-1].id], False
        if is_parameter and not self._of_parameter(context, name):
            return False
        return self._all(context, [store.value for store in stores if store.value is not None])

    def _of_closure(self, context: ContextFacts, name: str) -> bool:
        outer = self._code(context).function.parent
        while outer is not None:
            code = self.hazards.index(outer)
            if name in code.stores or any(parameter.name == name for parameter in code.function.parameters):
                return any(self._of_local(each, name, None) for each in self.facts.contexts_of(outer))
            outer = code.function.parent
        return False

    def _of_attribute(self, context: ContextFacts, op: ops.LoadAttribute) -> bool:
        owner = context.values[op.object]
        if owner is not None and self._is_relevant(owner):
            return self.is_proven(context, op.object)
        if owner is not None and not any(isinstance(member, Reference) for member in members(owner)):
            return True  # of a module or a library
        setting = [
            (setter, number)
            for identity, number, _ in self._setters_of(op.name)
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
                    for store in self.hazards.index(function.id).of_kind(ops.StoreAttribute):
                        if store.value is not None:
                            self._setters.setdefault(store.name, []).append((function.id, store.value, store.object))
        return self._setters.get(attribute, [])

    def _of_item(self, context: ContextFacts, number: OpId) -> bool:
        code = self._code(context)
        parent = code.parents[number]
        holder = None if parent is None else code.ops[parent]
        match holder:
            case ops.For(iterable=source) | ops.Comprehension(iterable=source) | ops.With(manager=source):
                return self.is_proven(context, source)
            case _:
                return False

    def _of_call(self, context: ContextFacts, op: ops.Call) -> bool:
        fact = next((call for call in context.calls if call.op == op.id), None)
        if fact is None or fact.unknown is not None:
            return False
        method = self._code(context).ops[op.function]
        if fact.library:
            if isinstance(method, ops.LoadAttribute) and self._is_relevant(context.values[method.object]):
                return self.is_proven(context, method.object)
            if all(name.startswith(_MAKERS) and not any(part in name for part in _HANDS_BACK) for name in fact.library):
                return True
            return self._all(context, operands(op))
        return any(self._returns_proven(self.facts.contexts[callee]) for callee in fact.callees)

    def _returns_proven(self, context: ContextFacts) -> bool:
        if self.hazards.is_hybrid(context.function):
            return True
        given = [op.value for op in self._code(context).of_kind(ops.Return) if op.value is not None]
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
        op = self._code(caller).ops[call.op]
        assert op is not None
        method = self._code(caller).ops[op.function] if isinstance(op, ops.Call) else None
        receiver = (method.object,) if isinstance(method, ops.LoadAttribute) else ()
        given_to_library = (*operands(op), *receiver)
        if any(isinstance(member, UnknownValue) for each in given_to_library for member in _alternatives(caller, each)):
            # what it hands on may be a part of that
            return False
        return self._all(caller, given_to_library)

    def _argument(self, caller: ContextFacts, call: CallFact, context: ContextFacts, name: str) -> OpId | None:
        """What a call that reaches the function itself, through no library, passes for a parameter; None if that is not seen."""
        op = self._code(caller).ops[call.op]
        if not isinstance(op, ops.Call) or call.library:
            return None
        if any(argument.spread is not ops.Spread.PLAIN for argument in op.arguments):
            return None
        code = self._code(context).function
        is_bound = code.kind is FunctionKind.METHOD and isinstance(
            self._code(caller).ops[op.function], ops.LoadAttribute
        )
        position = [parameter.name for parameter in code.parameters].index(name) - int(is_bound)
        by_place = [argument.value for argument in op.arguments if argument.keyword is None]
        by_name = [argument.value for argument in op.arguments if argument.keyword == name]
        if by_name:
            return by_name[0]
        return by_place[position] if 0 <= position < len(by_place) else None

    # --- looking -------------------------------------------------------------------------------------------------------------------

    def _code(self, context: ContextFacts) -> CodeIndex:
        return self.hazards.whole_codes.of(context.function)

    def _written(self, context: ContextFacts, number: OpId) -> str:
        code = self._code(context)
        return written_form(lambda inner: code.ops[inner], number)

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
