"""Code around a failing operation that expects its exception, or never reaches the operation.

A failure is certain only if nothing on the path catches its exception (a handler, a context manager, an assertion of a test, a test that
is expected to fail) and nothing before it ends the program (`sys.exit`, `self.skipTest`, another exception) or replaces a function that
it calls (`mock.patch`).

Computes: whether this holds for an operation, and for all calls that lead to its function. Needs: facts. Gives: `Expected`. Ignores:
handlers that re-raise at the end, and `sys.exit` under conditions.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from terra_refactor.analysis.facts import CallFact, ContextFacts, ContextId, EntryKind, FailureFact
from terra_refactor.classify.each_context import about_each_context
from terra_refactor.classify.hazards import HazardMap
from terra_refactor.classify.python_exceptions import PythonExceptions
from terra_refactor.domain.shape import element_count
from terra_refactor.domain.value import (
    NONE,
    BoundMethod,
    FunctionValue,
    LibraryValue,
    Reference,
    ShapeValue,
    TensorKind,
    TensorValue,
    TupleValue,
    Value,
    members,
)
from terra_refactor.facts.catching import Catch, catches_of
from terra_refactor.facts.code import CodeFacts
from terra_refactor.facts.records import (
    Arm,
    AttributeRead,
    AttributeWrite,
    Call,
    Choice,
    Display,
    Imported,
    Literal,
    Region,
    RegionKind,
    Return,
    Unpacked,
)
from terra_refactor.facts.view import ContextView
from terra_refactor.ir.function import FunctionKind
from terra_refactor.ir.ids import FunctionId, OpId
from terra_refactor.tf_model.expected_errors import (
    LEFT_OUT,
    OTHER_ERRORS,
    OTHER_ERRORS_OF_GRAPHS,
    PRODUCT,
    REPLACING,
    REPLACING_FIXTURES,
    expects,
)
from terra_refactor.tf_model.misspelt import (
    is_misspelt_attribute,
    is_misspelt_keyword,
    is_misspelt_member,
    is_refused_keyword,
)
from terra_refactor.tf_model.registry import canonical_name, class_of, has_trait
from terra_refactor.tf_model.releases import REFUSES_FLOAT_INDEX
from terra_refactor.tf_model.spec import Trait

_CATCHING: Final = frozenset({RegionKind.TRY, RegionKind.WITH})
_MAX_DEPTH: Final = 4
"""Maximum number of calls that are followed to one that ends the program."""


class Expected:
    """Answers about the operations of a program, computed on demand."""

    def __init__(self, hazards: HazardMap) -> None:
        self.hazards = hazards
        self.facts = hazards.whole_facts
        self._given: frozenset[FunctionId] | None = None
        self._ending: dict[ContextId, tuple[OpId, ...]] = {}
        self._exiting: dict[ContextId, tuple[OpId, ...]] = {}
        self._left_out: dict[FunctionId, bool] = {}
        self._written: frozenset[str] | None = None
        self._exceptions = PythonExceptions(hazards)

    def holds(self, context: ContextFacts, number: OpId, *, in_graph: bool = False) -> bool:
        """Whether a failure of the operation leaves its function, and nothing before it in the function ends the
        program.

        A module is analysed to its end, because an early exit may be temporary (`is_behind_end`). `in_graph`: it
        fails because a graph is traced, with exceptions that eager code does not raise.
        """
        is_module = self.hazards.index(context.function).function.kind is FunctionKind.MODULE
        return not self.is_expected(context, number, in_graph=in_graph) and (
            is_module or not self._is_behind(self._exits(context), context, number)
        )

    def is_expected(self, context: ContextFacts, number: OpId, *, in_graph: bool = False) -> bool:
        """Whether code around the operation, in its function, expects an exception or replaces a function that is called there."""
        if self._is_left_out(context.function):
            return True
        around = [each for each in self.hazards.index(context.function).around(number) if each.kind in _CATCHING]
        if not around:
            return False
        view = self.hazards.view(context)
        others = OTHER_ERRORS_OF_GRAPHS if in_graph else OTHER_ERRORS
        return any(
            self._ends_by_return(view.code, region)
            or (region.kind is RegionKind.TRY and view.code.is_for_errors(region, others))
            or (
                region.kind is RegionKind.WITH
                and (
                    any(_is_for(catch, others) for catch in catches_of(view, region))
                    or any(name.startswith(REPLACING) for name in view.library_of(region.subject))
                )
            )
            for region in around
            if region.holds(number, Arm.FIRST)
        )

    def only_as_expected(self, context: ContextFacts) -> bool:
        """Whether each path to the context leads through code that expects an exception."""
        return self._only_as_expected(context, {context.id})

    def _only_as_expected(self, context: ContextFacts, seen: set[int]) -> bool:
        is_given = context.function in self._given_to_expecting()
        calls = list(self._calls_of(context))
        if self._is_left_out(context.function):
            return True
        if not calls or (context.entry is not EntryKind.CALLED and not is_given):
            return is_given
        for calling, call in calls:
            if self.is_expected(calling, call.op, in_graph=True) or calling.id in seen:
                continue
            seen.add(calling.id)
            if not self._only_as_expected(calling, seen):
                return False
        return True

    def never_comes_to(self, context: ContextFacts, number: OpId) -> bool:
        """Whether the program ends or raises before an operation, in its function or on each path to it."""
        return self._never_comes_to(context, number, {context.id})

    def _never_comes_to(self, context: ContextFacts, number: OpId, seen: set[int]) -> bool:
        if self.is_behind_end(context, number):
            return True
        calls = list(self._calls_of(context))
        if not calls or context.entry is not EntryKind.CALLED:
            return False
        for calling, call in calls:
            if calling.id not in seen:
                seen.add(calling.id)
                if not self._never_comes_to(calling, call.op, seen):
                    return False
        return True

    def starts(self, context: ContextFacts) -> bool:
        """Whether a context without callers is a real start: not a skipped test, or one that is expected to fail."""
        return not self._is_left_out(context.function) and context.function not in self._given_to_expecting()

    # --- where exceptions end ------------------------------------------------------------------------------------------------------

    @staticmethod
    def _ends_by_return(code: CodeFacts, region: Region) -> bool:
        """Whether a `finally` suppresses exceptions, because it returns."""
        finals = [part for part in region.parts if part.arm is Arm.FINAL]
        return bool(finals) and any(
            part.start <= fact.op < part.end and next(code.around(fact.op)) is region
            for part in finals
            for fact in code.of_kind(Return)
        )

    def _calls_of(self, context: ContextFacts) -> Iterator[tuple[ContextFacts, CallFact]]:
        for caller in self.facts.functions[context.function].callers:
            calling = self.facts.contexts[caller.context]
            for call in calling.calls:
                if call.op == caller.op and context.id in call.callees:
                    yield calling, call

    def _given_to_expecting(self) -> frozenset[FunctionId]:
        """The functions that are passed to a callee that expects an exception: `self.assertRaises(ValueError, function, x)`."""
        if self._given is None:
            self._given = frozenset[FunctionId]().union(
                *(given for _, given in self.hazards.of_each(_given_where_expected))
            )
        return self._given

    def _is_left_out(self, function: FunctionId) -> bool:
        """Whether a decorator marks the function as failing or skipped, or replaces a function on which it depends."""
        found = self._left_out.get(function)
        if found is None:
            found = self._left_out[function] = self._is_marked(function)
        return found

    def _is_marked(self, function: FunctionId) -> bool:
        code = self.hazards.index(function).function
        if any(name in LEFT_OUT or name.startswith(REPLACING) for name in self.facts.functions[function].wrappers):
            return True
        if any(parameter.name in REPLACING_FIXTURES for parameter in code.parameters) and code.name.startswith("test"):
            return True
        outer = code.parent
        if outer is None:
            return False
        owner = self.hazards.index(outer).function
        if owner.kind is not FunctionKind.CLASS_BODY:
            return False
        last = {name.rpartition(".")[2] for name in LEFT_OUT}
        return any(each.text.partition("(")[0].rpartition(".")[2] in last for each in owner.decorators)

    # --- exits before the operation --------------------------------------------------------------------------------------------------

    def is_behind_end(self, context: ContextFacts, number: OpId) -> bool:
        """Whether something before the operation certainly ends the program or the test, or raises an exception."""
        return self._is_behind(self._endings(context, 0), context, number)

    def _is_behind(self, ending: tuple[OpId, ...], context: ContextFacts, number: OpId) -> bool:
        """Whether one of some operations, in order, is before another on each path to it."""
        if not ending or ending[0] > number:
            return False
        code = self.hazards.index(context.function)
        around = {region.op for region in code.around(number)}
        return any(
            op < number
            and all(region.op in around and region.holds(op, *_arms_of(region, number)) for region in code.around(op))
            for op in ending
        )

    def _exits(self, context: ContextFacts) -> tuple[OpId, ...]:
        """The calls of a function that end the program or the test."""
        if not self.facts.is_called(Trait.ENDS_PROGRAM):
            return ()
        found = self._exiting.get(context.id)
        if found is None:
            found = self._exiting[context.id] = tuple(call.op for call in context.calls if self._ends(call, 0))
        return found

    def _ends(self, call: CallFact, depth: int) -> bool:
        if call.library and not call.callees:
            return all(has_trait(name, Trait.ENDS_PROGRAM) for name in call.library)
        if call.library or not call.callees or depth >= _MAX_DEPTH or call.unknown is not None:
            return False
        return all(
            any(
                not any(True for _ in self.hazards.index(callee.function).around(inner.op))
                and self._ends(inner, depth + 1)
                for inner in callee.calls
            )
            and not any(True for _ in self.hazards.index(callee.function).of_kind(Return))
            for callee in (self.facts.contexts[each] for each in call.callees)
        )

    def _endings(self, context: ContextFacts, depth: int) -> tuple[OpId, ...]:
        """The operations of a function that certainly end the program or raise, in order, wherever they are.

        Those that raise are calls whose arguments do not fit, misspelt names of libraries, `and` and `or` of arrays, floats as
        indices, `...` in a list that becomes a tensor, products with None, tuples that are unpacked to another number of names, and
        calls of functions that always do.
        """
        found = self._ending.get(context.id)
        if found is None:
            code = self.hazards.index(context.function)
            self._ending[context.id] = ()  # of a function that calls itself
            ending = {*self._exits(context), *(failure.op for failure in context.failures if _is_of_index(failure))}
            ending.update(call.op for call in context.calls if call.is_refused or self._raises(call, depth))
            unpacked = code.of_kind(Unpacked)
            ending.update(each.op for each in unpacked if _does_not_fit(context.values[each.source], each.count))
            ending.update(
                each.op
                for each in code.of_kind(Call)
                if self._has_misspelt_keyword(context, each)
                or self._converts_ellipsis(context, each)
                or self._multiplies_none(context, each)
            )
            ending.update(each.op for each in code.of_kind(Choice) if _is_of_many(context.values[each.test]))
            ending.update(each.op for each in code.of_kind(AttributeRead) if self._is_misspelt(context, each))
            ending.update(self._exceptions.in_context(context))
            ending.update(
                each.op
                for each in code.of_kind(Imported)
                if each.name and not each.level and is_misspelt_member(canonical_name(each.module), each.name)
            )
            found = self._ending[context.id] = tuple(sorted(ending))
        return found

    def _raises(self, call: CallFact, depth: int) -> bool:
        """Whether each function of the program that is called ends the program or raises, on each path."""
        if call.library or not call.callees or depth >= _MAX_DEPTH or call.unknown is not None:
            return False
        return all(self._always_ends(self.facts.contexts[each], depth + 1) for each in call.callees)

    def _always_ends(self, context: ContextFacts, depth: int) -> bool:
        code = self.hazards.index(context.function)
        if code.function.is_generator:
            return False  # the call only creates the generator
        endings = [op for op in self._endings(context, depth) if not any(True for _ in code.around(op))]
        return bool(endings) and all(each.op > endings[0] for each in code.of_kind(Return))

    def _has_misspelt_keyword(self, context: ContextFacts, call: Call) -> bool:
        keywords = [argument.keyword for argument in call.arguments if argument.keyword]
        called = self.hazards.view(context).library_of(call.op) if keywords else ()
        # Keras also calls other methods
        names = [name for name in called if name.rpartition(".")[2] == call.method] or called
        return bool(names) and any(
            all(is_misspelt_keyword(name, each) or is_refused_keyword(name, each) for name in names)
            for each in keywords
        )

    def _converts_ellipsis(self, context: ContextFacts, call: Call) -> bool:
        """Whether TensorFlow gets a list in which `...` stands for elements that are left out."""
        facts = self.hazards.index(context.function).facts
        lists = [each for argument in call.arguments if isinstance(each := facts[argument.value], Display)]
        items = [facts[item.value] for each in lists if not each.is_comprehension for item in each.items]
        left_out = any(isinstance(item, Literal) and item.value is ... for item in items)
        names = self.hazards.view(context).library_of(call.op) if left_out else ()
        return bool(names) and all(has_trait(name, Trait.CONVERTS_ARRAYS) for name in names)

    def _multiplies_none(self, context: ContextFacts, call: Call) -> bool:
        """Whether a product of matrices gets None, as the result of a function that returns nothing."""
        names = self.hazards.view(context).library_of(call.op) if call.is_plain else ()
        return names == PRODUCT and any(context.values[each] == NONE for each in call.positional[:2])

    def _is_misspelt(self, context: ContextFacts, read: AttributeRead) -> bool:
        """Whether each object whose attribute is read is of a library's class without it, and the program sets none of that name."""
        value = context.values[read.owner]
        if isinstance(value, LibraryValue):
            return is_misspelt_member(value.name, read.name) and read.name not in self._set_attributes()
        classes = [self._library_class(member) for member in members(value)] if value is not None else []
        return (
            bool(classes)
            and all(each is not None and is_misspelt_attribute(each, read.name) for each in classes)
            and read.name not in self._set_attributes()
        )

    def _library_class(self, value: Value) -> str | None:
        """The canonical name of the library class of an object; None of another."""
        if not isinstance(value, Reference):
            return class_of(value)
        made = self.facts.objects[value.object]
        if made.function is None or made.op is None:
            return None
        contexts = (self.facts.contexts[each] for each in self.facts.functions[made.function].contexts)
        names = {name for each in contexts for name in self.hazards.view(each).library_of(made.op)}
        return names.pop() if len(names) == 1 else None

    def _set_attributes(self) -> frozenset[str]:
        """The names of the attributes that the program sets, of any object."""
        if self._written is None:
            modules = self.hazards.whole_program.modules.values()
            codes = (self.hazards.index(each.id) for module in modules for each in module.functions)
            self._written = frozenset(each.name for code in codes for each in code.of_kind(AttributeWrite))
        return self._written


def _is_of_index(failure: FailureFact) -> bool:
    return failure.only is not None and failure.only == REFUSES_FLOAT_INDEX


def _is_of_many(value: Value | None) -> bool:
    """Whether a value certainly is an array of several elements, which has no truth."""
    alternatives = () if value is None else members(value)
    counts = [
        element_count(each.type.shape)
        if isinstance(each, TensorValue) and each.kind is TensorKind.NDARRAY and each.type.shape is not None
        else None
        for each in alternatives
    ]
    return bool(counts) and all(isinstance(count, int) and count > 1 for count in counts)


def _does_not_fit(value: Value | None, count: int | None) -> bool:
    """Whether a tuple, or a shape of known rank, has another number of elements than the names into which it is unpacked."""
    alternatives = () if value is None or count is None else members(value)
    lengths = [_length(each) for each in alternatives]
    return bool(lengths) and all(length is not None and length != count for length in lengths)


def _length(value: Value) -> int | None:
    match value:
        case TupleValue(elements):
            return len(elements)
        case ShapeValue(shape) if shape is not None:
            return len(shape)
        case _:
            return None


@about_each_context
def _given_where_expected(view: ContextView) -> frozenset[FunctionId]:
    return frozenset(
        FunctionId(*function.function)
        for call in view.code.of_kind(Call)
        if expects(call.method)
        for argument in call.arguments
        for function in _functions(view.context.values[argument.value])
    )


def _arms_of(region: Region, number: OpId) -> tuple[Arm, ...]:
    return tuple(part.arm for part in region.parts if part.start <= number < part.end)


def _is_for(catch: Catch, others: frozenset[str]) -> bool:
    """Whether a context manager or `try` catches exceptions other than those unrelated to tensors."""
    if catch.is_handler and not catch.classes:
        return catch.everything
    return catch.everything or any(
        not isinstance(cls, LibraryValue) or cls.name.rpartition(".")[2] not in others for cls in catch.classes
    )


def _functions(value: Value | None) -> Iterator[FunctionValue]:
    for member in () if value is None else members(value):
        inner = member.function if isinstance(member, BoundMethod) else member
        if isinstance(inner, FunctionValue):
            yield inner
