"""What a rule sees: one function in one context, with questions in the terms of the language.

Computes: look-ups only. Needs: the program and its facts. Gives: `ContextView`; `Codes`, the indexes of the program's functions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

from terra_refactor.analysis.describe import written_form
from terra_refactor.analysis.facts import (
    BranchFact,
    BranchKind,
    CallerFact,
    CallFact,
    ContextFacts,
    ContextId,
    FunctionFacts,
    ProgramFacts,
)
from terra_refactor.domain.value import (
    BOTTOM,
    Constant,
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
from terra_refactor.ir import ops
from terra_refactor.ir.control import Flow, flow_of
from terra_refactor.ir.dataflow import Names, live_names
from terra_refactor.ir.function import Function, FunctionKind
from terra_refactor.ir.ids import FunctionId, OpId
from terra_refactor.ir.index import CodeIndex
from terra_refactor.ir.ops import Op
from terra_refactor.ir.program import Program
from terra_refactor.rules.budget import LookBudget
from terra_refactor.rules.class_families import ClassFamilies
from terra_refactor.tf_model import registry
from terra_refactor.tf_model.spec import ParameterPassing, Trait

OpType = TypeVar("OpType", bound=Op)

TAPES = frozenset({"GradientTape", "ForwardAccumulator"})
_NUMBERS = (("builtins.int",), ("builtins.float",))
_PARTS_OF_DICT = frozenset({"items", "values", "get", "pop"})
_COPIES = frozenset({"dict", "list", "tuple", "sorted", "reversed", "enumerate", "zip"})
_NOT_SYMBOLIC = (TensorKind.NDARRAY, TensorKind.NUMPY_SCALAR, TensorKind.KERAS)


@dataclass(frozen=True, slots=True)
class StaticFlow:
    """The control flow of a function as AutoGraph makes it, with the names that are live at each node."""

    function: Function
    flow: Flow
    live: tuple[Names, ...]


@dataclass(frozen=True, slots=True)
class _Classes:
    """The operations that make classes in one function, by the body of the class."""

    code: CodeIndex
    by_body: Mapping[FunctionId, ops.MakeClass]


@dataclass(frozen=True, slots=True)
class ClassOutline:
    """What the source says of a class apart from its operations."""

    body: FunctionId
    decorators: tuple[str, ...]
    """As they are written."""
    methods: frozenset[str]
    """The functions that are defined in its body, classes and lambdas among them."""


_ANY_ATTRIBUTE = "*"


def _attributes_read(code: CodeIndex) -> Iterator[str]:
    for read in code.of_kind(ops.LoadAttribute):
        yield _ANY_ATTRIBUTE if read.name == "__dict__" else read.name
    for call in code.of_kind(ops.Call):
        function = code.ops[call.function]
        if isinstance(function, ops.LoadName) and function.name in ("getattr", "hasattr", "vars") and call.arguments:
            asked = code.ops[call.arguments[1].value] if len(call.arguments) > 1 else None
            if isinstance(asked, ops.Literal) and isinstance(asked.value, str):
                yield asked.value
            else:
                owner = code.ops[call.arguments[0].value]
                if isinstance(owner, ops.LoadName) and owner.name == "self":
                    yield _ANY_ATTRIBUTE


class Codes:
    """The indexes of the functions of a program, each made when it is first asked for.

    What `earlier` has of a function whose body is the same is taken over.
    """

    def __init__(self, program: Program, earlier: Codes | None = None) -> None:
        self.program = program
        self._earlier = {} if earlier is None else earlier._indexes
        self._indexes: dict[FunctionId, CodeIndex] = {}
        self._classes: dict[FunctionId, _Classes] = {}
        self._flows: dict[FunctionId, StaticFlow] = {}
        self._outlines: dict[str, tuple[ClassOutline, ...]] | None = None
        self.budget = LookBudget()
        self._readers: dict[str, tuple[FunctionId, ...]] | None = None
        self._families = ClassFamilies(program, self.of)

    def readers_of(self, attribute: str, *, by_name: bool = False) -> tuple[FunctionId, ...]:
        """The functions that read an attribute of that name, of whatever object, or ask an object for one by a computed name.

        With `by_name`, of the latter only methods, which as a rule ask their own object.
        """
        readers = self._all_readers()
        of_any = readers.get(_ANY_ATTRIBUTE, ())
        return (
            *readers.get(attribute, ()),
            *(each for each in of_any if self._families.may_read(each, attribute, by_name=by_name)),
        )

    def _all_readers(self) -> dict[str, tuple[FunctionId, ...]]:
        if self._readers is None:
            found: dict[str, dict[FunctionId, None]] = {}
            for module in self.program.modules.values():
                for function in module.functions:
                    for name in _attributes_read(self.of(function.id)):
                        found.setdefault(name, {})[function.id] = None
            self._readers = {name: tuple(functions) for name, functions in found.items()}
        return self._readers

    def classes_named(self, name: str) -> tuple[ClassOutline, ...]:
        """The classes of the program that have that name."""
        if self._outlines is None:
            self._outlines = _outlines(self.program)
        return self._outlines.get(name, ())

    def class_made_of(self, parent: FunctionId, body: FunctionId) -> ops.MakeClass | None:
        """The operation of `parent` that makes the class with that body; None if there is none."""
        code = self.of(parent)
        known = self._classes.get(parent)
        if known is None or known.code is not code:
            known = _Classes(code, {op.body: op for op in code.of_kind(ops.MakeClass)})
            self._classes[parent] = known
        return known.by_body.get(body)

    def flow(self, identity: FunctionId) -> StaticFlow:
        """The control flow of a function, and what is live in it. Made when it is first asked for."""
        code = self.of(identity)
        known = self._flows.get(identity)
        if known is None or known.function.body is not code.function.body:
            flow = flow_of(code.function)
            known = self._flows[identity] = StaticFlow(code.function, flow, live_names(flow))
        return known

    def of(self, identity: FunctionId) -> CodeIndex:
        """The index of the function with that identity."""
        index = self._indexes.get(identity)
        if index is None:
            function = self.program.function(identity)
            known = self._earlier.get(identity)
            if known is not None and known.function.body is function.body:
                index = known if known.function is function else replace(known, function=function)
            else:
                index = CodeIndex.of(function)
            self._indexes[identity] = index
        return index

    def forget_earlier(self) -> None:
        """Lets go of the earlier indexes."""
        self._earlier = {}


def _outlines(program: Program) -> dict[str, tuple[ClassOutline, ...]]:
    """The outlines of all classes by their names."""
    found: dict[str, list[ClassOutline]] = {}
    for module in program.modules.values():
        methods: dict[FunctionId | None, set[str]] = {}
        for code in module.functions:
            methods.setdefault(code.parent, set()).add(code.name)
        for code in module.functions:
            if code.kind is FunctionKind.CLASS_BODY:
                decorators = tuple(decorator.text for decorator in code.decorators)
                outline = ClassOutline(code.id, decorators, frozenset(methods.get(code.id, ())))
                found.setdefault(code.name, []).append(outline)
    return {name: tuple(outlines) for name, outlines in found.items()}


class ContextView:
    """One context of one function."""

    __slots__ = (
        "_budget",
        "_library_calls",
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
        self.code = codes.of(context.function)
        self.function = self.code.function
        self._library_calls: tuple[tuple[ops.Call, str], ...] | None = None
        self.staging: object = None
        """Kept for `rules.staging`."""
        self.calls: dict[OpId, CallFact] = {call.op: call for call in context.calls}
        self.branches: dict[OpId, BranchFact] = {branch.op: branch for branch in context.branches}

    def of(self, context: ContextId) -> ContextView:
        """The view of another context."""
        return ContextView(self.codes, self.facts, self.facts.contexts[context])

    @property
    def function_facts(self) -> FunctionFacts:
        """The facts of the function over all its contexts."""
        return self.facts.functions[self.context.function]

    @property
    def callers(self) -> tuple[CallerFact, ...]:
        """The places that call the function, in any context."""
        return self.function_facts.callers

    def op(self, number: OpId) -> Op:
        """The operation with that number."""
        budget = self._budget
        budget.left -= 1
        if budget.left < 0:
            budget.end()
        op = self.code.ops[number]
        assert op is not None
        return op

    def reached(self, kind: type[OpType]) -> Iterator[OpType]:
        """The operations of a kind that this context reaches."""
        values = self.context.values
        for op in self.code.of_kind(kind):
            if values[op.id] is not None or op.id in self.calls or op.id in self.branches:
                yield op

    def stores(self) -> Iterator[ops.StoreItem]:
        """The assignments to items that this context reaches."""
        for op in self.code.of_kind(ops.StoreItem):
            if self.context.values[op.value] is not None:
                yield op

    def returns(self) -> Iterator[ops.Return]:
        """The `return`s of a value that this context reaches."""
        for op in self.code.ops:
            if isinstance(op, ops.Return) and op.value is not None and self.context.values[op.value] is not None:
                yield op

    def value(self, number: OpId) -> Value:
        """The result of an operation; `BOTTOM` where it is not reached."""
        budget = self._budget
        budget.left -= 1
        if budget.left < 0:
            budget.end()
        value = self.context.values[number]
        return BOTTOM if value is None else value

    def library_calls(self) -> tuple[tuple[ops.Call, str], ...]:
        """The calls that reach library functions, with the canonical name of each."""
        found = self._library_calls
        if found is None:
            called = ((self.op(number), fact.library) for number, fact in self.calls.items() if fact.library)
            found = self._library_calls = tuple(
                (op, name) for op, names in called if isinstance(op, ops.Call) for name in names
            )
        return found

    def stored_once(self, name: str) -> OpId | None:
        """What a local variable is set to, if one operation sets it."""
        stores = self.code.stores.get(name, ())
        return stores[0].value if len(stores) == 1 else None

    def stored_before(self, load: ops.LoadName) -> OpId | None:
        """What a local variable is set to, if one operation sets it, and that is complete where the variable is read.

        Operations are numbered in the order of the source, and read only what is complete (`ir/check.py`). So looking back from an
        operation to what it reads, through names too, leads to earlier ones only, and ends, whatever is set from what.
        """
        stores = self.code.stores.get(load.name, ())
        return stores[0].value if len(stores) == 1 and stores[0].id < load.id else None

    def behind_name(self, number: OpId) -> OpId:
        """The operation that gives a result; of a local variable that is set once, before, the one that gives what it is set to."""
        op = self.op(number)
        own = (ops.Scope.LOCAL, ops.Scope.CELL, *((ops.Scope.GLOBAL,) if self.function.parent is None else ()))
        while isinstance(op, ops.LoadName) and op.scope in own:
            value = self.stored_before(op)
            if value is None or any(parameter.name == op.name for parameter in self.function.parameters):
                break
            op = self.op(value)
        return op.id

    def tensor_of_shape(self, number: OpId) -> OpId | None:
        """The tensor of which a result is the static shape: `x.shape`, `x.get_shape()`, `x.shape.as_list()`; None if it is no such."""
        op = self.op(self.behind_name(number))
        if isinstance(op, ops.Call) and not op.arguments:
            method = self.op(op.function)
            if isinstance(method, ops.LoadAttribute) and method.name == "as_list":
                return self.tensor_of_shape(method.object)
            if isinstance(method, ops.LoadAttribute) and method.name == "get_shape" and self._is_shape(op.id):
                return method.object
        if isinstance(op, ops.LoadAttribute) and op.name == "shape" and self._is_shape(op.id):
            return op.object
        return None

    def _is_shape(self, number: OpId) -> bool:
        return all(isinstance(member, ShapeValue) for member in members(self.value(number)))

    def parameter_behind(self, number: OpId) -> str | None:
        """The parameter that a result is, or is computed from by operators and items; None if there is none, or several."""
        found = self._parameters_behind(number, 0)
        return next(iter(found)) if len(found) == 1 else None

    def _parameters_behind(self, number: OpId, depth: int) -> frozenset[str]:
        op = self.op(number)
        match op:
            case _ if depth > 8:
                return frozenset()
            case ops.LoadName(name=name, scope=ops.Scope.LOCAL | ops.Scope.CELL) as op:
                if any(parameter.name == name for parameter in self.function.parameters):
                    return frozenset({name}) if self._is_as_given(op) else frozenset()
                value = self.stored_before(op)
                return frozenset() if value is None else self._parameters_behind(value, depth + 1)
            case ops.Binary(left=left, right=right):
                return self._parameters_behind(left, depth + 1) | self._parameters_behind(right, depth + 1)
            case ops.Compare(left=left, right=right) if op.operator in ("<", "<=", ">", ">=", "==", "!="):
                return self._parameters_behind(left, depth + 1) | self._parameters_behind(right, depth + 1)
            case ops.Unary(operand=operand):
                return self._parameters_behind(operand, depth + 1)
            case ops.LoadItem(object=container) | ops.UnpackElement(source=container):
                return self._parameters_behind(container, depth + 1)
            case ops.NextItem():
                parent = self.code.parents[number]
                loop = None if parent is None else self.op(parent)
                if not isinstance(loop, ops.For) or not _is_structure(self.value(loop.iterable)):
                    return frozenset()
                return self._parameters_behind(loop.iterable, depth + 1)
            case _:
                return frozenset()

    def parameter_around(self, number: OpId) -> str | None:
        """The parameter that a result may be a part of: through items, loops, views and copies of containers; None if there is none.

        Unlike `parameter_behind` it asks nobody what the container is: for what rests on an assumption.
        """
        pending, seen = [number], {number}
        while pending:
            op = self.op(pending.pop())
            found: list[OpId | None] = []
            match op:
                case ops.LoadName(name=name, scope=ops.Scope.LOCAL | ops.Scope.CELL):
                    if any(each.name == name for each in self.function.parameters) and self._is_as_given(op):
                        return name
                    found = [store.value for store in self.code.stores.get(name, ()) if store.id < op.id]
                case ops.LoadItem(object=container) | ops.UnpackElement(source=container):
                    found = [container]
                case ops.NextItem():
                    parent = self.code.parents[op.id]
                    loop = None if parent is None else self.op(parent)
                    found = [loop.iterable] if isinstance(loop, ops.For | ops.Comprehension) else []
                case ops.Comprehension():
                    collected = self.code.of_kind(ops.CollectElement)
                    found = [each.value for each in collected if op in self.enclosing(each.id)]
                case ops.Call(function=function, arguments=arguments):
                    method = self.op(function)
                    if isinstance(method, ops.LoadAttribute) and method.name in _PARTS_OF_DICT:
                        found = [method.object]
                    elif isinstance(method, ops.LoadName) and method.name in _COPIES and arguments:
                        found = [arguments[0].value]
                case _:
                    pass
            new = [each for each in found if each is not None and each not in seen]
            pending.extend(new)
            seen.update(new)
        return None

    def _is_as_given(self, load: ops.LoadName) -> bool:
        """Whether nothing sets a parameter before it is read there."""
        stores = self.code.stores.get(load.name, ())
        if not stores or (load.scope is ops.Scope.LOCAL and all(store.id > load.id for store in stores)):
            loops = self._loops_around(load.id)
            return all(loops.isdisjoint(self._loops_around(store.id)) for store in stores)
        return False

    def _loops_around(self, number: OpId) -> frozenset[OpId]:
        return frozenset(
            outer.id for outer in self.enclosing(number) if isinstance(outer, ops.For | ops.While | ops.Comprehension)
        )

    def becomes_tensor(self, number: OpId) -> tuple[bool, str | None]:
        """Whether a trace has a symbolic tensor here, and the parameter if that is so only where it is an argument of the graph itself."""
        if self.is_symbolic(number):
            return True, None
        parameter = self.argument_behind(number)
        if parameter is None:
            # AutoGraph makes tensors of `int(x)` and `float(x)`
            op = self.op(self.behind_name(number))
            fact = self.calls.get(op.id)
            if isinstance(op, ops.Call) and len(op.arguments) == 1 and fact is not None and fact.library in _NUMBERS:
                parameter = self.argument_behind(op.arguments[0].value)
        return parameter is not None, parameter

    def values_given(self, name: str) -> tuple[Value, ...]:
        """What calls bring for a parameter of the function, with what lists hold."""
        found = self.facts.functions.get(self.function.id)
        given = () if found is None else found.parameters
        return next((parameter.values for parameter in given if parameter.name == name), ())

    def argument_behind(self, number: OpId) -> str | None:
        """The parameter that an ndarray is, or is computed from: a traced function gets a tensor in its place."""
        is_array = all(
            isinstance(member, TensorValue) and member.kind in (TensorKind.NDARRAY, TensorKind.NUMPY_SCALAR)
            for member in members(self.value(number))
        )
        name = self.parameter_behind(number) if is_array and members(self.value(number)) else None
        given = members(self.context.parameters.get(name, BOTTOM)) if name is not None else ()
        if given and all(isinstance(member, Constant | Scalar) for member in given):
            # an array that is computed from a Python number is made while the graph is
            return None
        return name

    def reached_stores(self) -> Iterator[ops.StoreName]:
        """The assignments to names that this context reaches."""
        for op in self.code.of_kind(ops.StoreName):
            if op.value is not None and self.context.values[op.value] is not None:
                yield op

    def library_argument(self, call: ops.Call, name: str, *parameters: str) -> OpId | None:
        """What a call of a library function passes for the first of these parameters that it has; None if nothing."""
        entity = registry.lookup(name)
        if entity is None or any(argument.spread is not ops.Spread.PLAIN for argument in call.arguments):
            return None
        keywords = {argument.keyword: argument.value for argument in call.arguments if argument.keyword is not None}
        for parameter in parameters:
            if parameter in keywords:
                return keywords[parameter]
        given = [argument.value for argument in call.arguments if argument.keyword is None]
        places = [
            parameter.name
            for parameter in entity.parameters or ()
            if parameter.passing in (ParameterPassing.POSITIONAL, ParameterPassing.POSITIONAL_ONLY)
        ]
        for place, value in zip(places, given, strict=False):
            if place in parameters:
                return value
        return None

    def written(self, number: OpId) -> str:
        """How an operation's result is written in the source."""
        return written_form(lambda inner: self.code.ops[inner], number)

    def enclosing(self, number: OpId) -> Iterator[Op]:
        """The operations that hold this one, innermost first."""
        parent = self.code.parents[number]
        while parent is not None:
            yield self.op(parent)
            parent = self.code.parents[parent]

    def innermost_loop(self, number: OpId) -> ops.For | ops.While | ops.Comprehension | None:
        """The loop that repeats an operation, within this function; None if none does."""
        inner = number
        for outer in self.enclosing(number):
            if isinstance(outer, ops.While | ops.Comprehension):
                return outer
            if isinstance(outer, ops.For) and all(part.id != inner for part in outer.else_block):
                return outer
            inner = outer.id
        return None

    def traced_callees(self, number: OpId) -> tuple[FunctionFacts, ...]:
        """The functions that a call enters as traced functions; () unless all that it may call are such."""
        fact = self.calls.get(number)
        if fact is None or fact.library or fact.unknown is not None:
            return ()
        found = tuple(self.facts.functions[self.facts.contexts[callee].function] for callee in fact.callees)
        return found if all(callee.hybrid is not None for callee in found) else ()

    def is_tape(self, number: OpId) -> bool:
        """Whether the result is, or may be, a `tf.GradientTape` or a forward accumulator."""
        return any(
            isinstance(member, Reference) and self.facts.objects[member.object].name.rpartition(".")[2] in TAPES
            for member in members(self.value(number))
        )

    def under_tensor_condition(self, number: OpId) -> bool:
        """Whether the operation runs only if a tensor's value says so (within this function)."""
        for outer in self.enclosing(number):
            fact = self.branches.get(outer.id)
            if (
                fact is not None
                and fact.kind is BranchKind.TENSOR
                and isinstance(outer, ops.If | ops.IfExpression | ops.While)
            ):
                return True
        return False

    def is_symbolic(self, number: OpId) -> bool:
        """Whether the operation's result is certainly a tensor that a trace would make symbolic.

        A tensor that is read from an attribute, a global or a closure was made before the trace and stays what it is.
        """
        value = self.value(number)
        alternatives = members(value)
        if not alternatives or not all(_becomes_symbolic(member) for member in alternatives):
            return False
        if self._is_parameter(number) and not all(is_tensorflow_tensor(member) for member in alternatives):
            # a Python number that the caller took from a tensor: whether the caller is a graph too is not known here
            return False
        return not self.is_captured(number)

    def is_variable(self, number: OpId) -> bool:
        """Whether the result is a variable on some path: reading it in a trace gives a symbolic tensor, wherever it was made."""
        return any(
            isinstance(member, TensorValue) and member.kind is TensorKind.VARIABLE
            for member in members(self.value(number))
        )

    def may_be_symbolic(self, number: OpId) -> bool:
        """Whether the result may be such a tensor."""
        value = self.value(number)
        if self.is_captured(number):
            return False
        return any(
            _becomes_symbolic(member) or (isinstance(member, UnknownValue) and member.may_be_tensor)
            for member in members(value)
        )

    def holds_symbolic(self, number: OpId) -> bool:
        """Whether the result is, or is a display or tuple that has, a symbolic tensor."""
        value = self.value(number)
        op = self.op(self.behind_name(number))
        if isinstance(op, ops.BuildContainer):
            return any(self.holds_symbolic(element.value) for element in op.elements)
        if isinstance(op, ops.BuildDict):
            return any(self.holds_symbolic(item.value) for item in op.items)
        if isinstance(value, TupleValue):
            return any(_becomes_symbolic(element) for element in value.elements) and not self.is_captured(number)
        return self.is_symbolic(number)

    def _is_parameter(self, number: OpId) -> bool:
        op = self.op(number)
        return isinstance(op, ops.LoadName) and any(parameter.name == op.name for parameter in self.function.parameters)

    def is_captured(self, number: OpId) -> bool:
        """Whether the result was made before the call: it is read from an attribute, a global or an enclosing function."""
        op = self.op(number)
        if isinstance(op, ops.LoadName):
            return op.scope in (ops.Scope.GLOBAL, ops.Scope.FREE)
        if isinstance(op, ops.LoadAttribute):
            return not self._is_library_member(op)
        if isinstance(op, ops.LoadItem):
            return self.is_captured(op.object)
        return False

    def _is_library_member(self, op: ops.LoadAttribute) -> bool:
        # `x.T` of a tensor is computed; `self.table` is stored
        return all(is_tensorflow_tensor(member) for member in members(self.value(op.object)))


def unconverted_construct(view: ContextView) -> str | None:
    """What in the function's own code AutoGraph has no conversion for, so that it leaves the function as it is; None if nothing."""
    code = view.code
    found = [
        *((op.id, "`match`") for op in code.of_kind(ops.If) if op.is_case),
        *((op.id, "`else` of a loop") for op in code.of_kind(ops.While) if op.else_block),
        *((op.id, "`else` of a loop") for op in code.of_kind(ops.For) if op.else_block),
        *((op.id, "`:=`") for op in code.of_kind(ops.StoreName) if op.is_expression),
    ]
    return min(found)[1] if found else None  # the first


def _is_structure(value: Value) -> bool:
    """Whether a value is an array, or a display, in which a traced function gets tensors for arrays: no iterator."""
    return all(isinstance(member, TensorValue | TupleValue | Reference) for member in members(value))


def is_tensorflow_tensor(value: Value) -> bool:
    """A tensor or variable of TensorFlow: no ndarray."""
    return isinstance(value, TensorValue) and value.kind not in _NOT_SYMBOLIC


def _becomes_symbolic(value: Value) -> bool:
    return is_tensorflow_tensor(value) or is_symbolic_number(value)


def has_trait(name: str, trait: Trait) -> bool:
    """Whether the library entity of that canonical name has a trait."""
    entity = registry.lookup(name)
    return entity is not None and trait in entity.traits
