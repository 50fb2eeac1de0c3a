"""One function in one context, as rules see it: the facts of its code with the values from the analysis.

Computes: lookups, and the origin of a result. Needs: the program and its facts. Gives: `ContextView`. Following a result back to its
inputs terminates, since no operation is visited twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final

from terra_refactor.analysis.facts import (
    BranchFact,
    BranchKind,
    CallerFact,
    CallFact,
    ContextFacts,
    ContextId,
    FunctionFacts,
    ObjectKind,
    ProgramFacts,
)
from terra_refactor.domain.dtype import FLOAT32, INT32
from terra_refactor.domain.value import (
    BOTTOM,
    Bottom,
    BoundMethod,
    Constant,
    FunctionValue,
    Reference,
    Scalar,
    ShapeValue,
    TensorKind,
    TensorValue,
    TupleValue,
    UnknownValue,
    Value,
    is_symbolic_number,
    members,
)
from terra_refactor.facts.argument_flow import Carried, carried_argument
from terra_refactor.facts.code import CodeFacts, FactType
from terra_refactor.facts.codes import Codes
from terra_refactor.facts.records import (
    DECISIONS,
    AttributeRead,
    Call,
    Display,
    Fact,
    ItemRead,
    NameRead,
    NextItem,
    Operation,
    Region,
    RegionKind,
    Return,
    Text,
    Unpacked,
    Write,
)
from terra_refactor.ir.function import Function, FunctionKind
from terra_refactor.ir.ids import OpId
from terra_refactor.ir.ops import Scope
from terra_refactor.tf_model import registry
from terra_refactor.tf_model.graph_traits import made_by_autograph, method_of_tensor
from terra_refactor.tf_model.registry import has_trait
from terra_refactor.tf_model.spec import ParameterPassing, Trait

TAPES = frozenset({"GradientTape", "ForwardAccumulator"})
_PARTS_OF_DICT = frozenset({"items", "values", "get", "pop"})
_COPIES = frozenset({"dict", "list", "tuple", "sorted", "reversed", "enumerate", "zip"})
_NOT_SYMBOLIC = (TensorKind.NDARRAY, TensorKind.NUMPY_SCALAR, TensorKind.KERAS)
_ORDER: Final = frozenset({"<", "<=", ">", ">=", "==", "!="})
_BY_PLACE: Final = (ParameterPassing.POSITIONAL, ParameterPassing.POSITIONAL_ONLY)
_MAX_STEPS: Final = 8


class ContextView:
    """One context of one function."""

    __slots__ = (
        "_budget",
        "_tables",
        "branches",
        "calls",
        "code",
        "codes",
        "context",
        "facts",
        "function",
        "program",
        "staging",
    )

    def __init__(self, codes: Codes, facts: ProgramFacts, context: ContextFacts) -> None:
        self.codes = codes
        self._budget = codes.budget
        self.program = codes.program
        self.facts = facts
        self.context = context
        self.code: CodeFacts = codes.of(context.function)
        self.function: Function = self.code.function
        self.staging: object = None
        """The `Staging` of the view, for `facts.staging`."""
        self._tables = codes.tables(self.code, context)
        self.calls: dict[OpId, CallFact] = self._tables.calls
        self.branches: dict[OpId, BranchFact] = self._tables.branches

    def of(self, context: ContextId) -> ContextView:
        """The view of another context."""
        return ContextView(self.codes, self.facts, self.facts.contexts[context])

    @property
    def function_facts(self) -> FunctionFacts:
        """The facts of the function over all contexts."""
        return self.facts.functions[self.context.function]

    @property
    def callers(self) -> tuple[CallerFact, ...]:
        """The call sites of the function, in any context."""
        return self.function_facts.callers

    # --- facts ------------------------------------------------------------------------------------------------------------------------

    def _look(self) -> None:
        budget = self._budget
        budget.left -= 1
        if budget.left < 0:
            budget.end()

    def made(self, number: OpId) -> Fact | None:
        """The fact that computes a result."""
        self._look()
        return self.code.facts[number]

    def value(self, number: OpId) -> Value:
        """A result; `BOTTOM` if it is not reached."""
        self._look()
        value = self.context.values[number]
        return BOTTOM if value is None else value

    def reached(self, *kinds: type[FactType]) -> Iterator[FactType]:
        """The facts of some kinds that are reached in this context."""
        values = self.context.values
        for fact in self.code.of_kind(*kinds):
            if isinstance(fact, Write | Return):
                if fact.value is not None and values[fact.value] is not None:
                    yield fact
            elif values[fact.op] is not None or fact.op in self.calls or fact.op in self.branches:
                yield fact

    def returns(self) -> Iterator[tuple[OpId, OpId]]:
        """The `return`s with a value that are reached in this context, each with the value."""
        for fact in self.reached(Return):
            if fact.value is not None:
                yield fact.op, fact.value

    def library_calls(self) -> tuple[tuple[Call, str], ...]:
        """The calls that reach library functions, with the canonical name of each."""
        return self._tables.library_calls

    def calls_with(self, trait: Trait) -> Iterator[tuple[Call, str]]:
        """The calls of library functions with a trait, and the name of each function."""
        return ((call, name) for call, name in self.library_calls() if has_trait(name, trait))

    def written(self, number: OpId) -> str:
        """The source text of a result."""
        return self.code.written(number)

    def enclosing(self, number: OpId) -> Iterator[Region]:
        """The regions that contain an operation, innermost first."""
        for region in self.code.around(number):
            self._look()
            yield region

    def innermost_loop(self, number: OpId) -> Region | None:
        """The innermost loop around an operation within this function; None if there is none."""
        return next(self.code.loops_around(number), None)

    def kind_of(self, region: Region) -> BranchKind | None:
        """The kind of condition of a branch or loop; None if it is not reached."""
        fact = self.branches.get(region.op)
        return None if fact is None else fact.kind

    def staged_around(self, number: OpId) -> Iterator[Region]:
        """The branches and loops around an operation that AutoGraph stages, innermost first; also the branches of a
        `continue` before it.
        """
        for region in self.enclosing(number):
            if region.is_loop:
                yield from (
                    each for each in self.code.skipped_by(number, region) if self.kind_of(each) is BranchKind.TENSOR
                )
            kind = self.kind_of(region)
            if (kind is BranchKind.TENSOR and region.kind in DECISIONS | {RegionKind.FOR}) or (
                kind is BranchKind.DATASET and region.kind is RegionKind.FOR
            ):
                yield region

    def under_tensor_condition(self, number: OpId) -> bool:
        """Whether, within this function, a tensor's value decides whether the operation runs."""
        return any(region.kind not in (RegionKind.FOR, RegionKind.CONNECTIVE) for region in self.staged_around(number))

    def is_within(self, number: OpId, *traits: Trait) -> bool:
        """Whether a `with` around an operation enters the result of a library function with one of these traits."""
        return any(
            outer.kind is RegionKind.WITH
            and any(has_trait(name, trait) for name in self.library_of(outer.subject) for trait in traits)
            for outer in self.enclosing(number)
        )

    def changes_in(self, region: Region, number: OpId) -> bool:
        """Whether an expression reads a variable that a region sets."""
        match self.made(number):
            case NameRead(name=name):
                return bool(self.code.set_in(region, name))
            case Operation(sides=sides, is_arithmetic=True):
                return any(self.changes_in(region, side) for side in sides)
            case Text(fields=fields):
                return any(self.changes_in(region, value) for value, _ in fields)
            case _:
                return False

    def library_of(self, number: OpId | None) -> tuple[str, ...]:
        """The canonical names of the library functions that an operation calls."""
        fact = None if number is None else self.calls.get(number)
        return () if fact is None else fact.library

    def called_from(self, contexts: Iterable[ContextId]) -> Iterator[ContextFacts]:
        """The given contexts and all that they call, directly or indirectly."""
        pending = list(dict.fromkeys(contexts))
        seen = set(pending)
        while pending:
            context = self.facts.contexts[pending.pop()]
            yield context
            for call in context.calls:
                pending.extend(callee for callee in call.callees if callee not in seen)
                seen.update(call.callees)

    # --- the origin of a result -------------------------------------------------------------------------------------------------------

    def stored_once(self, name: str) -> OpId | None:
        """The assigned value of a local variable with one assignment."""
        writes = self.code.writes.get(name, ())
        return writes[0].value if len(writes) == 1 else None

    def stored_before(self, read: NameRead) -> OpId | None:
        """The assigned value of a local variable with one assignment that is complete at the read.

        Operations are numbered in the order of the source, and read only what is complete (`ir/check.py`). So following the reads
        of an operation, also through names, leads to earlier operations only, and terminates.
        """
        writes = self.code.writes.get(read.name, ())
        return writes[0].value if len(writes) == 1 and writes[0].op < read.op else None

    def behind_name(self, number: OpId) -> OpId:
        """The operation that produces a result; for a local variable that is set once, before the read, the producer of its value."""
        fact = self.made(number)
        while isinstance(fact, NameRead) and self._is_own_variable(fact):
            value = self.stored_before(fact)
            if value is None or self.code.has_parameter(fact.name):
                break
            number, fact = value, self.made(value)
        return number

    def _is_own_variable(self, read: NameRead) -> bool:
        return read.is_local or (self.function.parent is None and not read.is_captured)

    def origin(self, number: OpId) -> Fact | None:
        """The fact that computes a result, through local variables with one assignment."""
        return self.made(self.behind_name(number))

    def behind(self, number: OpId, follow: Callable[[Fact], Iterable[OpId]]) -> Iterator[Fact]:
        """Sources of a result: through local variables, and through the parts of each fact that `follow` returns."""
        pending, seen = [number], {number}
        while pending:
            fact = self.made(pending.pop())
            if fact is None:
                continue
            yield fact
            further = list(follow(fact))
            if isinstance(fact, NameRead) and self._is_own_variable(fact):
                further += [write.value for write in self.code.given_to(fact)]
            pending += [each for each in dict.fromkeys(further) if each not in seen]
            seen.update(further)

    def tensor_of_shape(self, number: OpId) -> OpId | None:
        """The tensor whose static shape is the result: `x.shape`, `x.get_shape()`, `x.shape.as_list()`; None for other results."""
        match self.origin(number):
            case Call(owner=int() as owner, method="as_list", arguments=()):
                return self.tensor_of_shape(owner)
            case (
                Call(op=op, owner=int() as owner, method="get_shape", arguments=())
                | AttributeRead(op=op, owner=owner, name="shape")
            ) if self.all_are(op, ShapeValue, empty=True):
                return owner
            case _:
                return None

    def parameter_behind(self, number: OpId) -> str | None:
        """The parameter that a result is, or is computed from by operators and items; None if there is none, or several."""
        found = self._parameters_behind(number, 0)
        return next(iter(found)) if len(found) == 1 else None

    def _parameters_behind(self, number: OpId, depth: int) -> frozenset[str]:
        if depth > _MAX_STEPS:
            return frozenset()
        match self.made(number):
            case NameRead(name=name, is_local=True) as read:
                if self.code.has_parameter(name) and self._is_as_given(read):
                    return frozenset({name})
                value = self.stored_before(read)  # a parameter may be bound again, as to `x + 1`
                sources: tuple[OpId, ...] = () if value is None else (value,)
            case Operation(symbol=symbol, sides=sides, is_comparison=is_comparison):
                sources = sides if not is_comparison or symbol in _ORDER else ()
            case Unpacked(source=container, position=position) if isinstance(display := self.made(container), Display):
                # `x, y = a, b`: only the item at its position
                plain = not any(item.starred for item in display.items)
                sources = (display.items[position].value,) if plain and 0 <= position < len(display.items) else ()
            case ItemRead(owner=container) | Unpacked(source=container):
                sources = (container,)
            case AttributeRead(owner=container) if self.all_are(container, TupleValue):
                sources = (container,)  # a field of a named tuple
            case NextItem(source=int() as source) if self._is_element_of_structure(number, source):
                sources = (source,)
            case _:
                return frozenset()
        return frozenset().union(*(self._parameters_behind(each, depth + 1) for each in sources))

    def _is_element_of_structure(self, number: OpId, source: OpId) -> bool:
        holder = next(self.code.around(number))
        return holder.iterated == source and _is_structure(self.value(source))

    def parameter_around(self, number: OpId) -> str | None:
        """The parameter that a result may be a part of: through items, loops, views and copies of containers; None if there is none.

        Unlike `parameter_behind` it ignores the kind of the container: for uses that are assumptions.
        """

        def parts(fact: Fact) -> Iterable[OpId]:
            match fact:
                case ItemRead(owner=container) | Unpacked(source=container):
                    return (container,)
                case NextItem(source=int() as source, is_element=True):
                    return (source,)
                case Display(is_comprehension=True, items=items):
                    return [item.value for item in items]
                case Call(owner=int() as owner, method=method) if method in _PARTS_OF_DICT:
                    return (owner,)
                case Call(called_name=name, first=int() as first) if name in _COPIES:
                    return (first,)
                case _:
                    return ()

        reads = (fact for fact in self.behind(number, parts) if isinstance(fact, NameRead) and fact.is_local)
        given = (read.name for read in reads if self.code.has_parameter(read.name) and self._is_as_given(read))
        return next(given, None)

    def _is_as_given(self, read: NameRead) -> bool:
        """Whether a parameter still has its argument as value at that read."""
        is_seen_by_others = read.scope is not Scope.LOCAL
        return not (self.code.writes.get(read.name) if is_seen_by_others else self.code.given_to(read))

    def values_given(self, name: str) -> tuple[Value, ...]:
        """The arguments that calls pass for a parameter of the function, including the elements of lists."""
        found = self.facts.functions.get(self.function.id)
        given = () if found is None else found.parameters
        return next((parameter.values for parameter in given if parameter.name == name), ())

    def argument_behind(self, number: OpId) -> str | None:
        """The parameter that an ndarray is, or is computed from; a traced function gets a tensor in its place."""
        if not self.all_of(number, _is_array):
            return None
        name = self.parameter_behind(number)
        if name is None and not self.context.in_graph and self.function_facts.hybrid is None:
            # an error in an existing graph needs a way without doubt
            return carried_argument(self, number)
        given = members(self.context.parameters.get(name, BOTTOM)) if name is not None else ()
        if given and all(isinstance(member, Constant | Scalar) for member in given):
            # an array that is computed from a Python number is created during the trace
            return None
        return name

    def is_argument(self, number: OpId) -> bool:
        """Whether an ndarray comes from an argument of the function itself: a traced function has a tensor in its place."""
        found = self.argument_behind(number)
        return found is not None and not isinstance(found, Carried)

    # --- arguments --------------------------------------------------------------------------------------------------------------------

    def library_argument(self, call: Call, name: str, *parameters: str) -> OpId | None:
        """The argument that a call of a library function passes for the first of these parameters that the function has; None if there is
        none.
        """
        entity = registry.lookup(name)
        if entity is None or not call.is_plain:
            return None
        for parameter in parameters:
            given = call.keyword(parameter)
            if given is not None:
                return given
        by_place = [parameter.name for parameter in entity.parameters or () if parameter.passing in _BY_PLACE]
        return next(
            (value for place, value in zip(by_place, call.positional, strict=False) if place in parameters), None
        )

    def library_arguments(self, call: Call, name: str) -> Iterator[tuple[str, OpId]]:
        """The arguments of a library call before the first one that is spread, with the names of their parameters if known."""
        entity = registry.lookup(name)
        declared = () if entity is None else entity.parameters or ()
        names = [parameter.name for parameter in declared if parameter.passing in _BY_PLACE]
        for position, argument in enumerate(call.arguments):
            if argument.spread:
                return
            yield argument.keyword or (names[position] if position < len(names) else ""), argument.value

    def given_for(self, call: Call, code: Function, name: str) -> OpId | None:
        """The argument that a call passes for a parameter of a function of the program; None if it is left to its default, or unknown."""
        return call.given_for(code, name, is_bound=self.is_bound(call, code))

    def is_bound(self, call: Call, code: Function) -> bool:
        """Whether a call implicitly passes a method its object."""
        called = members(self.value(call.function))
        if code.kind is not FunctionKind.METHOD:
            return False
        if any(isinstance(member, BoundMethod | Reference) for member in called):
            return True
        return call.owner is not None and not any(isinstance(member, FunctionValue) for member in called)

    def calls_of_function(self) -> Iterator[tuple[ContextView, Call | None]]:
        """The calls of the function in any context, each with the view of the caller; None for an implicit call."""
        views: dict[ContextId, ContextView] = {}
        for caller in self.callers:
            view = views.get(caller.context)
            if view is None:
                view = views[caller.context] = self.of(caller.context)
            call = view.code.facts[caller.op]
            yield view, call if isinstance(call, Call) else None

    def traced_callees(self, number: OpId) -> tuple[FunctionFacts, ...]:
        """The functions that a call enters as traced functions; () unless all its possible callees are traced."""
        fact = self.calls.get(number)
        if fact is None or fact.library or fact.unknown is not None:
            return ()
        found = tuple(self.facts.functions[self.facts.contexts[callee].function] for callee in fact.callees)
        return found if all(callee.hybrid is not None for callee in found) else ()

    # --- values -----------------------------------------------------------------------------------------------------------------------

    def all_of(self, number: OpId, test: Callable[[Value], bool]) -> bool:
        """Whether a result is reached, and each of its alternatives passes a test."""
        alternatives = members(self.value(number))
        return bool(alternatives) and all(map(test, alternatives))

    def any_of(self, number: OpId, test: Callable[[Value], bool]) -> bool:
        """Whether an alternative of a result passes a test."""
        return any(map(test, members(self.value(number))))

    def all_are(self, number: OpId, *kinds: type[Value], empty: bool = False) -> bool:
        """Whether each alternative of a result is a value of some kinds; with `empty` also if it is not reached."""
        alternatives = members(self.value(number))
        return (empty or bool(alternatives)) and all(isinstance(member, kinds) for member in alternatives)

    def object_kind(self, value: Value) -> ObjectKind | None:
        """The kind of the object of a value; None if it is not an object."""
        return self.facts.objects[value.object].kind if isinstance(value, Reference) else None

    def class_of(self, value: Value) -> str | None:
        """The name of an object's class; None for other values."""
        found = self.facts.objects[value.object] if isinstance(value, Reference) else None
        return found.name if found is not None and found.kind is ObjectKind.INSTANCE else None

    def is_object(self, number: OpId, *kinds: ObjectKind) -> bool:
        """Whether each alternative of a result is an object of some kinds."""
        return self.all_of(number, lambda member: self.object_kind(member) in kinds)

    def becomes_tensor(self, number: OpId) -> tuple[bool, str | None]:
        """Whether a trace has a symbolic tensor here; and the parameter, if this holds only where it is an argument of the graph itself."""
        if self.is_symbolic(number):
            return True, None
        parameter = self.argument_behind(number)
        if parameter is None:
            # AutoGraph converts `int(x)` and `float(x)` to tensors
            call = self.origin(number)
            fact = None if call is None else self.calls.get(call.op)
            if (
                isinstance(call, Call)
                and len(call.arguments) == 1
                and fact is not None
                and made_by_autograph(fact.library) in (INT32, FLOAT32)
            ):
                parameter = self.argument_behind(call.arguments[0].value)
        return parameter is not None, parameter

    def is_tape(self, number: OpId) -> bool:
        """Whether the result is, or may be, a `tf.GradientTape` or a forward accumulator."""
        return self.any_of(
            number,
            lambda member: (
                isinstance(member, Reference) and self.facts.objects[member.object].name.rpartition(".")[2] in TAPES
            ),
        )

    def is_taping(self, region: Region) -> bool:
        """Whether a `with` opens a gradient tape."""
        return region.kind is RegionKind.WITH and region.subject is not None and self.is_tape(region.subject)

    def is_taped(self, number: OpId) -> bool:
        """Whether a gradient tape opened in this function records an operation."""
        return any(map(self.is_taping, self.enclosing(number)))

    def is_comparison(self, number: OpId) -> bool:
        """Whether it is a comparison operator."""
        fact = self.made(number)
        return isinstance(fact, Operation) and fact.is_comparison

    def is_symbolic(self, number: OpId) -> bool:
        """Whether the operation's result is certainly a tensor that a trace would make symbolic.

        A tensor that is read from an attribute, a global or a closure was created before the trace and does not change.
        """
        alternatives = members(self.value(number))
        if not alternatives or not all(_becomes_symbolic(member) for member in alternatives):
            return False
        fact = self.made(number)
        if isinstance(fact, NameRead) and self.code.has_parameter(fact.name):
            # a Python number that the caller took from a tensor: it is unknown here whether the caller runs in a graph, too
            if not all(is_tensorflow_tensor(member) for member in alternatives):
                return False
        return not self.is_captured(number) or self._is_set_here(number)

    def _is_set_here(self, number: OpId) -> bool:
        """Whether the result is a number that a branch or loop of the graph has set as an attribute of an object made in this call."""
        read = self.made(number)
        owners = members(self.value(read.owner)) if isinstance(read, AttributeRead) else ()
        made = [self.facts.objects[each.object] for each in owners if isinstance(each, Reference)]
        return (
            bool(made)
            and all(each.function == self.function.id and each.op is not None for each in made)
            and all(map(is_symbolic_number, members(self.value(number))))
        )

    def is_variable(self, number: OpId) -> bool:
        """Whether the result is a variable on some path: reading it in a trace gives a symbolic tensor, wherever it was created."""
        return self.any_of(number, is_variable)

    def may_be_symbolic(self, number: OpId) -> bool:
        """Whether the result may be a symbolic tensor."""
        return not self.is_captured(number) and self.any_of(
            number,
            lambda member: _becomes_symbolic(member) or (isinstance(member, UnknownValue) and member.may_be_tensor),
        )

    def holds_symbolic(self, number: OpId) -> bool:
        """Whether the result is a symbolic tensor, or a display or tuple that contains one."""
        made = self.origin(number)
        if isinstance(made, Display) and not made.is_comprehension:
            return any(self.holds_symbolic(item.value) for item in made.items)
        value = self.value(number)
        if isinstance(value, TupleValue):
            return any(_becomes_symbolic(element) for element in value.elements) and not self.is_captured(number)
        return self.is_symbolic(number)

    def gives_symbolic(self, number: OpId) -> bool:
        """Whether an operation on the result certainly gives a symbolic tensor in a trace, be it a tensor of the call or an
        older one.
        """
        return self.is_symbolic(number) or self.all_of(number, is_tensorflow_tensor)

    def is_captured(self, number: OpId, depth: int = _MAX_STEPS) -> bool:
        """Whether the result existed before the call: it is read from an attribute, a global or an enclosing function."""
        made = self.origin(number)
        match made:
            case NameRead(outlives_call=outlives):
                return outlives
            case AttributeRead(owner=owner) | ItemRead(owner=owner) | Unpacked(source=owner) if self.all_of(
                owner, is_tensorflow_tensor
            ):
                return False  # `t.T` and `t[0]` of a tensor are computed, whereas `self.tables[0]` is stored
            case NextItem(source=int() as source, is_element=True):
                # an element of a list or dict; a dataset creates its elements
                return (
                    depth > 0
                    and self.all_of(
                        source, lambda value: isinstance(value, Reference) and self._contains_elements(value)
                    )
                    and self.is_captured(source, depth - 1)
                )
            case Call() | AttributeRead() | ItemRead() if (
                call := self.calls.get(made.op)
            ) is not None and call.callees:
                # functions and properties of the program
                return (
                    depth > 0
                    and call.unknown is None
                    and all(
                        inner.is_captured(value, depth - 1)
                        for inner in map(self.of, call.callees)
                        for _, value in inner.returns()
                    )
                )
            case ItemRead(owner=owner) | Unpacked(source=owner):
                return depth > 0 and self.is_captured(owner, depth - 1)
            case AttributeRead(owner=owner):
                return not isinstance(self.value(owner), Bottom)
            case _:
                return False

    def _contains_elements(self, value: Reference) -> bool:
        """Whether it is a list, tuple, set or dict, not an iterator or an object of the program."""
        return self.facts.objects[value.object].container_class is not None


def _is_array(value: Value) -> bool:
    return isinstance(value, TensorValue) and value.kind in (TensorKind.NDARRAY, TensorKind.NUMPY_SCALAR)


def _is_structure(value: Value) -> bool:
    """Whether a value is an array or a display, in which a traced function gets tensors for arrays; false for iterators."""
    return all(isinstance(member, TensorValue | TupleValue | Reference) for member in members(value))


def is_variable(value: Value) -> bool:
    """Whether a value is a variable."""
    return isinstance(value, TensorValue) and value.kind is TensorKind.VARIABLE


def is_ndarray(value: Value) -> bool:
    """Whether a value is a NumPy array, and no NumPy scalar."""
    return isinstance(value, TensorValue) and value.kind is TensorKind.NDARRAY


def is_tensorflow_tensor(value: Value) -> bool:
    """Whether a value is a tensor or variable of TensorFlow, not an ndarray."""
    return isinstance(value, TensorValue) and value.kind not in _NOT_SYMBOLIC


def _becomes_symbolic(value: Value) -> bool:
    return is_tensorflow_tensor(value) or is_symbolic_number(value)


def is_eager_method(name: str) -> bool:
    """Whether only eager tensors have a method of that name."""
    return has_trait(method_of_tensor(name), Trait.EAGER_ONLY)
