"""Origins of values by data flow.

A value is *proven* to be a tensor (or an array) if data flow leads back from it to a call of TensorFlow, Keras or
NumPy that returns one. Its shape and dtype follow from the arguments of that call: they are proven only if all
tensors that it was made from are (`whole`).

Computes: whether a value, or a parameter, is proven. Needs: facts. Gives: `Provenance`, `is_array`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from terra_refactor.analysis.facts import CallFact, ContextFacts, ContextId, EntryKind, ObjectKind
from terra_refactor.classify.hazards import HazardMap
from terra_refactor.domain.dim import is_chosen
from terra_refactor.domain.value import (
    Constant,
    DatasetValue,
    FrozenDict,
    FrozenList,
    Reference,
    Scalar,
    SequenceValue,
    ShapeValue,
    SliceValue,
    TensorKind,
    TensorValue,
    TupleValue,
    UnknownValue,
    Value,
    is_symbolic_number,
    members,
)
from terra_refactor.facts.class_bases import derives_from
from terra_refactor.facts.code import CodeFacts
from terra_refactor.facts.records import (
    AttributeRead,
    AttributeWrite,
    Call,
    Choice,
    Display,
    Imported,
    ItemRead,
    ItemWrite,
    Literal,
    NameRead,
    NextItem,
    Operation,
    Return,
    Text,
    Unpacked,
)
from terra_refactor.ir.function import Function, FunctionKind
from terra_refactor.ir.ids import FunctionId, OpId
from terra_refactor.tf_model.decorators import Decoration, decoration
from terra_refactor.tf_model.graph_traits import (
    COMPONENTS_OF_DATASETS,
    FILLING,
    LOSS,
    gives_integers,
    is_of_keras,
    makes_arrays,
)
from terra_refactor.tf_model.registry import has_trait
from terra_refactor.tf_model.spec import Trait

_MAX_DEPTH: Final = 60
"""Maximum number of data-flow steps back; values from farther away are not proven."""
_MAX_DEPTH_OF_WHOLE: Final = 400
"""The same for `whole`, where all inputs count, layer after layer of a model."""
_MOST_STEPS: Final = 5000
"""Maximum number of operations visited backwards from a failing operation."""
_LOSSES: Final = frozenset({LOSS})
_CONSTRUCTORS: Final = frozenset({"__init__", "build"})
_HOOKS: Final = frozenset({"__setattr__", "__getattribute__"})
_HOLDERS: Final = (ObjectKind.LIST, ObjectKind.DICT, ObjectKind.SET)


class Provenance:
    """Provenance of the values of a program, computed on demand.

    With `whole`, all inputs of a value must be proven, too, including sizes and results of functions.
    """

    def __init__(self, hazards: HazardMap, *, whole: bool = False) -> None:
        self.hazards = hazards
        self.facts = hazards.whole_facts
        self.whole = whole
        self._known: dict[tuple[ContextId, OpId], bool] = {}
        self._parameters: dict[tuple[ContextId, str], bool] = {}
        self._setters: dict[str, list[tuple[FunctionId, OpId, OpId]]] | None = None
        self._fillers: dict[str, frozenset[FunctionId]] | None = None
        self._depth = 0

    # --- values --------------------------------------------------------------------------------------------------------------------

    def is_proven(self, context: ContextFacts, number: OpId) -> bool:
        """Whether a result comes, by data flow, from calls that return tensors or arrays."""
        key = context.id, number
        known = self._known.get(key)
        if known is not None:
            return known
        if self._depth >= (_MAX_DEPTH_OF_WHOLE if self.whole else _MAX_DEPTH):
            return False
        # a loop-carried value is proven if all its other inputs are
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
        if not self.whole and any(each.op == number for each in (*context.failures, *context.guarded_failures)):
            return False  # an operation that fails has no result
        if all(map(_is_variable, members(value))) and members(value):
            return True
        if all(isinstance(member, Scalar) and is_chosen(member.dim) for member in members(value)):
            return True  # an option, or a number from a file, known only by its name
        code = self.code(context)
        match code.facts[number]:
            case NameRead(is_local=True, name=name):
                return self._of_local(context, name, number)
            case NameRead(is_captured=True, name=name):
                return self._of_closure(context, name)
            case ItemRead(index=index) if self.whole and self._may_be_part(context, number, index):
                return False
            case ItemRead(owner=inner) | Unpacked(source=inner) | Operation(right=None, left=inner):
                return self.is_proven(context, inner)
            case AttributeRead() as read:
                return self._of_attribute(context, read)
            case Operation(sides=sides) if self.whole and any(_may_be_anything(context.values[each]) for each in sides):
                return False  # the other operand may be an array, or a list that it repeats
            case Operation(sides=sides):
                asked = [each for each in sides if self.is_relevant(context.values[each])]
                return bool(asked) and self._several(self.is_proven(context, each) for each in asked)
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
            case NameRead(name=name) if self.whole:
                return self._of_global(context, name, number)
            case NameRead() | Literal():
                return True  # a global: computed by the module's own code
            case Imported() | Text() if self.whole:
                return True
            case _:
                return False

    def _may_be_part(self, context: ContextFacts, read: OpId, index: OpId) -> bool:
        """Whether an index of unknown kind may select a part of a list, tuple or array, which has other axes than an item."""
        code = self.code(context)
        made = code.facts[read]
        holder = None if not isinstance(made, ItemRead) else context.values[made.owner]
        given = context.values[index]
        return given is not None and not self._is_index(given) and not (holder is not None and self._is_mapping(holder))

    def _is_index(self, value: Value) -> bool:
        """Whether a value certainly is a number, a key, a slice, an array, or a list or tuple of such."""
        return all(
            isinstance(member, Constant | Scalar | SliceValue | TensorValue)
            or (isinstance(member, TupleValue) and all(map(self._is_index, member.elements)))
            or (isinstance(member, Reference) and self.facts.objects[member.object].kind is ObjectKind.LIST)
            for member in members(value)
        )

    def _is_mapping(self, value: Value) -> bool:
        """Whether a value certainly is a dict or another object with keys."""
        return all(
            isinstance(member, FrozenDict)
            or (isinstance(member, Reference) and self.facts.objects[member.object].kind is not ObjectKind.LIST)
            for member in members(value)
        )

    def _several(self, answers: Iterable[bool]) -> bool:
        """Combines the results for several values: one proves the kind of a value, but all are needed for its sizes."""
        return all(answers) if self.whole else any(answers)

    def _all(self, context: ContextFacts, numbers: Iterable[OpId]) -> bool:
        return all(self.is_proven(context, each) for each in numbers if self.is_relevant(context.values[each]))

    def _of_local(self, context: ContextFacts, name: str, before: OpId | None, *, later: bool = False) -> bool:
        """A local variable: every assignment that may reach the place, or, with `later` (for nested functions), is
        executed afterwards.
        """
        code = self.code(context)
        writes, is_parameter = code.writes.get(name, ()), code.has_parameter(name)
        certain = [each for each in writes if code.parents[each.op] is None and (before is None or each.op < before)]
        if certain and not (later and before is None):
            # earlier assignments do not reach this place
            writes, is_parameter = tuple(each for each in writes if each.op >= certain[-1].op), False
        if is_parameter and not self.of_parameter(context, name):
            return False
        return self._all(context, [write.value for write in writes])

    def _of_global(self, context: ContextFacts, name: str, number: OpId) -> bool:
        """A variable of the module: every assignment in its own code that may reach the place, and those of functions."""
        module = self.hazards.whole_program.modules[context.function.module]
        body = module.body.id
        setting = [
            (inner, write.value)
            for function in module.functions
            if function.id != body
            for write in self.hazards.index(function.id).writes.get(name, ())
            if write.outlives_call and not write.is_captured
            for inner in self.facts.contexts_of(function.id)
        ]
        own = [context] if context.function == body else self.facts.contexts_of(body)
        if context.function != body and context.entry is not EntryKind.CALLED:
            # no call shows which of its values the function reads
            written = self.hazards.index(body).writes.get(name, ())
            if len({each.values[write.value] for each in own for write in written}) > 1:
                return False
        return all(
            self._of_local(each, name, number if each is context else None, later=each is not context) for each in own
        ) and all(self.is_proven(*each) for each in setting if self.is_relevant(each[0].values[each[1]]))

    def _of_closure(self, context: ContextFacts, name: str) -> bool:
        inner = context.function
        outer = self.code(context).function.parent
        while outer is not None:
            code = self.hazards.index(outer)
            if name in code.writes or code.has_parameter(name):
                made = code.maker_of(inner)
                before = None if made is None else made.op
                return any(self._of_local(each, name, before, later=True) for each in self.facts.contexts_of(outer))
            inner, outer = outer, code.function.parent
        return False

    def _of_attribute(self, context: ContextFacts, read: AttributeRead) -> bool:
        owner, owned = context.values[read.owner], context.values[read.op]
        if owner is not None and self.is_relevant(owner):
            return self.is_proven(context, read.owner)
        if owner is not None and not any(isinstance(member, Reference) for member in members(owner)):
            return True  # an attribute of a module or a library
        if owner is not None and any(self._is_hooked(member) for member in members(owner)):
            return False
        if self.whole and owned is not None and self._is_filled_elsewhere(context.function, read.name, owned):
            return False
        setting: list[tuple[ContextFacts, OpId]] = []
        for identity, number, target in self.setters_of(read.name):
            for setter in self.facts.contexts_of(identity):
                if self.whole and _may_be_anything(setter.values[target]) and setter.values[number] != owned:
                    return False  # it may be an attribute of this object
                if self.is_relevant(setter.values[number]):
                    setting.append((setter, number))
        return bool(setting) and all(self.is_proven(setter, number) for setter, number in setting)

    def _is_filled_elsewhere(self, reader: FunctionId, attribute: str, value: Value) -> bool:
        """Whether another function than a constructor fills a list, dict or set that is read from an attribute: its content
        depends on which methods were called before.
        """
        kinds = [
            self.facts.objects[member.object].kind if isinstance(member, Reference) else None
            for member in members(value)
        ]
        return any(kind in _HOLDERS for kind in kinds) and any(
            each != reader and self.hazards.index(each).function.name not in _CONSTRUCTORS
            for each in self._fillers_of(attribute)
        )

    def _fillers_of(self, attribute: str) -> frozenset[FunctionId]:
        """The functions that change the content of an attribute of that name by a method or an item."""
        if self._fillers is None:
            found: dict[str, set[FunctionId]] = {}
            for module in self.hazards.whole_program.modules.values():
                for function in module.functions:
                    code = self.hazards.index(function.id)
                    owners = [write.owner for write in code.of_kind(ItemWrite)]
                    owners += [
                        call.owner for call in code.of_kind(Call) if call.owner is not None and call.method in FILLING
                    ]
                    for owner in owners:
                        if isinstance(fact := code.facts[owner], AttributeRead):
                            found.setdefault(fact.name, set()).add(function.id)
            self._fillers = {name: frozenset(functions) for name, functions in found.items()}
        return self._fillers.get(attribute, frozenset())

    def _is_hooked(self, value: Value) -> bool:
        """Whether methods of the program intercept the attributes of an object: `__setattr__`, `__getattribute__`."""
        if not isinstance(value, Reference):
            return False
        name = self.facts.objects[value.object].name
        codes = self.hazards.whole_codes
        return any(name == hooked or codes.are_related(name, hooked) for hooked in codes.classes_with(_HOOKS))

    def setters_of(self, attribute: str) -> list[tuple[FunctionId, OpId, OpId]]:
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
            if self.whole:
                return _is_open_number(context.values[call.op]) or self._is_made_of_proven(context, call, fact)
            if call.owner is not None and self.is_relevant(context.values[call.owner]):
                return self.is_proven(context, call.owner)
            if all(makes_arrays(name) and not has_trait(name, Trait.HANDS_BACK) for name in fact.library):
                return True
            return self._all(context, self.code(context).inputs(call.op))
        return bool(fact.callees) and self._several(
            self._returns_proven(self.facts.contexts[callee]) for callee in fact.callees
        )

    def _is_made_of_proven(self, context: ContextFacts, call: Call, fact: CallFact) -> bool:
        """Whether all arguments of a library function are proven, and the results of the functions that it calls."""
        if all(map(gives_integers, fact.library)):
            return True
        inputs = self.code(context).inputs(call.op)
        given = inputs if call.owner is None else (call.owner, *inputs)
        return self._all(context, given) and all(
            self._returns_proven(self.facts.contexts[callee]) for callee in fact.callees
        )

    def _returns_proven(self, context: ContextFacts) -> bool:
        if self.unknown_decorator(context.function) is not None:
            return False
        if self.hazards.is_hybrid(context.function) and not self.whole:
            return True
        return self._all(context, self._returns(context))

    def _returns(self, context: ContextFacts) -> list[OpId]:
        return [place.value for place in self.code(context).of_kind(Return) if place.value is not None]

    # --- parameters ----------------------------------------------------------------------------------------------------------------

    def of_parameter(self, context: ContextFacts, name: str) -> bool:
        """Whether calls pass values of the kind that a parameter is assumed to have."""
        key = context.id, name
        known = self._parameters.get(key)
        if known is None:
            # a recursive call proves nothing by itself
            self._parameters[key] = False
            known = self._parameters[key] = self._is_brought(context, name)
        return known

    def _is_brought(self, context: ContextFacts, name: str) -> bool:
        code = self.code(context).function
        if context.entry is EntryKind.FRAMEWORK:
            # Keras passes tensors to losses and metrics, with sizes that depend on the data; a layer may receive
            # lists and dicts of them
            return not self.whole and (code.name != "call" or self._is_of_loss(code))
        if context.entry is not EntryKind.CALLED or self.unknown_decorator(context.function) is not None:
            return False
        return any(
            self._brings(calling, call, context, name)
            for calling, call in self.calls_of(context)
            # how `fit` converts its arguments before it calls a loss or a step depends on the model and the data
            if not self.whole or code.name == "call" or not any(map(is_of_keras, call.library))
        )

    def _is_of_loss(self, code: Function) -> bool:
        codes = self.hazards.codes
        return code.parent is not None and derives_from(codes, self.facts, code.parent, _LOSSES)

    def calls_of(self, context: ContextFacts) -> Iterator[tuple[ContextFacts, CallFact]]:
        """The calls that lead to a context, each with the calling context."""
        for caller in self.facts.functions[context.function].callers:
            calling = self.facts.contexts[caller.context]
            for call in calling.calls:
                if call.op == caller.op and context.id in call.callees:
                    yield calling, call

    def _brings(self, caller: ContextFacts, call: CallFact, context: ContextFacts, name: str) -> bool:
        given = self.argument(caller, call, context, name)
        if given is not None:
            return self.is_proven(caller, given)
        code = self.code(caller)
        made = code.facts[call.op]
        receiver = (made.owner,) if isinstance(made, Call) and made.owner is not None else ()
        given_to_library = (*code.inputs(call.op), *receiver)
        if any(isinstance(member, UnknownValue) for each in given_to_library for member in _alternatives(caller, each)):
            # its arguments for others may contain that
            return False
        if self._has_open_components(caller, given_to_library):
            return False
        return self._all(caller, given_to_library)

    def _has_open_components(self, caller: ContextFacts, numbers: Iterable[OpId]) -> bool:
        """Whether a dataset is made of unknown values, which may be tuples or dicts of arrays as well as arrays."""
        if not any(isinstance(member, DatasetValue) for each in numbers for member in _alternatives(caller, each)):
            return False
        return any(
            _contains_unknown(inner.values[each])
            for inner, number in self.behind(caller, numbers)
            if isinstance(self.code(inner).facts[number], Call)
            and not COMPONENTS_OF_DATASETS.isdisjoint(self.hazards.view(inner).library_of(number))
            for each in self.code(inner).inputs(number)
        )

    def argument(self, caller: ContextFacts, call: CallFact, context: ContextFacts, name: str) -> OpId | None:
        """The argument that a direct call of the function passes for a parameter; None if it is not visible, or passed
        by a library.
        """
        made = self.code(caller).facts[call.op]
        if not isinstance(made, Call) or call.library:
            return None
        return self.hazards.view(caller).given_for(made, self.code(context).function, name)

    # --- decorators ----------------------------------------------------------------------------------------------------------------

    def unknown_decorator(self, function: FunctionId) -> str | None:
        """An unknown decorator of a function, which may call it with other arguments, and return something else."""
        names = self.facts.functions[function].wrappers
        return next((name for name in names if decoration(name)[0] is Decoration.UNKNOWN), None)

    def decorator_behind(self, context: ContextFacts, numbers: Iterable[OpId]) -> str | None:
        """An unknown decorator of one of the functions that computed these values, or the library objects that they contain."""
        for inner, number in self.behind(context, numbers):
            if isinstance(self.code(inner).facts[number], Call):
                for callee in self._callees(inner, number):
                    decorator = self.unknown_decorator(callee.function)
                    if decorator is not None:
                        return decorator
        return None

    def behind(self, context: ContextFacts, numbers: Iterable[OpId]) -> Iterator[tuple[ContextFacts, OpId]]:
        """These results and their inputs, through variables and results of functions, up to `_MOST_STEPS`."""
        pending, seen = [(context, number) for number in numbers], set[tuple[ContextId, OpId]]()
        while pending and len(seen) < _MOST_STEPS:
            inner, number = pending.pop()
            if (inner.id, number) in seen:
                continue
            seen.add((inner.id, number))
            yield inner, number
            code = self.code(inner)
            match code.facts[number]:
                case NameRead(name=name):
                    pending += [(inner, write.value) for write in code.writes.get(name, ())]
                case Call(owner=owner):
                    pending += [] if owner is None else [(inner, owner)]
                    pending += [
                        (callee, each) for callee in self._callees(inner, number) for each in self._returns(callee)
                    ]
            pending += [(inner, each) for each in code.inputs(number)]

    def rests_on_arguments(self, context: ContextFacts, number: OpId) -> bool:
        """Whether a result depends on the arguments of the function, except a method's object."""
        code = self.code(context).function
        own = code.parameters[0].name if code.kind is FunctionKind.METHOD and code.parameters else None
        for inner, each in self.behind(context, [number]):
            read = self.code(inner).facts[each]
            if inner is context and isinstance(read, NameRead) and read.name != own:
                if self.code(context).has_parameter(read.name) and read.is_local:
                    return True
        return False

    def _callees(self, context: ContextFacts, number: OpId) -> list[ContextFacts]:
        callees = next((each.callees for each in context.calls if each.op == number), ())
        return [self.facts.contexts[each] for each in callees]

    # --- looking -------------------------------------------------------------------------------------------------------------------

    def code(self, context: ContextFacts) -> CodeFacts:
        """The code of a context's function."""
        return self.hazards.index(context.function)

    def is_relevant(self, value: Value | None) -> bool:
        """Whether a value is a tensor or array, or may contain one; with `whole`, also a number or shape from which
        tensors are created, and an unknown value.
        """
        if value is None:
            return False
        return is_array(value) or any(
            isinstance(member, TupleValue | SequenceValue | FrozenList | FrozenDict | DatasetValue)
            or (isinstance(member, Reference) and self.facts.objects[member.object].kind in _HOLDERS)
            or (self.whole and isinstance(member, ShapeValue | Scalar | Constant | UnknownValue))
            for member in members(value)
        )


def is_array(value: Value) -> bool:
    """Whether a value may be a tensor, an array, or a number in place of one."""
    return any(isinstance(member, TensorValue) or is_symbolic_number(member) for member in members(value))


def _is_variable(value: Value) -> bool:
    return isinstance(value, TensorValue) and value.kind is TensorKind.VARIABLE and value.variable is not None


def _is_open_number(value: Value | None) -> bool:
    """Whether a value is a number or text of a known type and unknown content, such as `str(path)`: no size follows from it."""
    found = () if value is None else members(value)
    return bool(found) and all(isinstance(each, Scalar) and each.dim is None for each in found)


def _contains_unknown(value: Value | None) -> bool:
    """Whether a value, or a component of a tuple, is unknown."""
    return value is not None and any(
        isinstance(member, UnknownValue)
        or (isinstance(member, TupleValue) and any(map(_contains_unknown, member.elements)))
        for member in members(value)
    )


def _may_be_anything(value: Value | None) -> bool:
    return value is not None and any(isinstance(member, UnknownValue) for member in members(value))


def _alternatives(context: ContextFacts, number: OpId) -> tuple[Value, ...]:
    value = context.values[number]
    return () if value is None else members(value)
