"""Built-in functions that call methods of an object of the program: `int(x)` runs its `__int__`, `str(x)` and `f"{x}"` its `__str__`.

Computes: the method's result and side effects. Needs: class lookup, calls. Gives: `asked_of_object`, `note_array_of`, `convert_objects`,
`format_object`, `ordering_of`, `has_objects`, `run_equality`, `run_hash`, `as_index`,
`note_comparison_with_tensor`. Ignores:
`__hash__` of elements that a container already has.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from terra_refactor.analysis.classes import find_method, is_library_function
from terra_refactor.analysis.engine import Site
from terra_refactor.analysis.facts import BranchFact, BranchKind
from terra_refactor.analysis.frames import CallArguments
from terra_refactor.analysis.transfer.kept_tensors import has_new_tensor
from terra_refactor.analysis.transfer.staged import note_branch
from terra_refactor.domain.lattice import join_all, python_type
from terra_refactor.domain.state import ITEMS
from terra_refactor.domain.value import (
    BOTTOM,
    UNKNOWN,
    Constant,
    EnumMember,
    FrozenList,
    Reference,
    TensorKind,
    TensorValue,
    TupleValue,
    Value,
    members,
)
from terra_refactor.tf_model.class_names import conversion_methods
from terra_refactor.tf_model.python_classes import FORMATTING, SPECIAL_METHODS

_ARRAYS: Final = (TensorKind.NDARRAY, TensorKind.NUMPY_SCALAR, TensorKind.KERAS)


def asked_of_object(site: Site, name: str, arguments: CallArguments) -> Value | None:
    """The result of a function for objects of the program that define a special method for it; None if an alternative
    of the argument does not.
    """
    looked_for = SPECIAL_METHODS.get(name)
    if looked_for is None or not arguments.positional:
        return None
    further = arguments.positional[1:] if looked_for[0] in ("__divmod__", "__pow__", "__format__", "__round__") else ()
    if looked_for[0] == "__deepcopy__":
        further = (UNKNOWN,)  # the dict of already copied objects
    results = [_ask(site, member, looked_for, CallArguments(further)) for member in members(arguments.positional[0])]
    known = [result for result in results if result is not None]
    return join_all(known) if known and len(known) == len(results) else None


def note_array_of(site: Site, name: str, arguments: CallArguments) -> None:
    """Converts the objects that are passed to a function of NumPy, TensorFlow or Keras."""
    asked = conversion_methods(name)
    if asked:
        given = (*arguments.positional, *(value for _, value in arguments.keywords))
        convert_objects(site, given, asked)


def convert_objects(site: Site, values: Iterable[Value], asked: tuple[str, ...]) -> None:
    """Runs the methods that convert objects of the program, also in tuples and lists with few elements, for their side effects."""
    for value in values:
        for member in members(value):
            content = site.frame.state.get((member.object, ITEMS)) if isinstance(member, Reference) else member
            parts = content.elements if isinstance(content, TupleValue | FrozenList) else None
            for part in (member,) if parts is None else parts:
                _ask(site, part, asked, CallArguments())


def format_object(site: Site, value: Value) -> None:
    """Runs the formatting method of an object, or of each object in a tuple, for its side effects."""
    for member in members(value):
        if isinstance(member, TupleValue):
            for element in member.elements:
                format_object(site, element)
        else:
            _ask(site, member, FORMATTING, CallArguments((Constant(""),)))


def ordering_of(site: Site, value: Value, other: Value) -> Value | None:
    """The result of `value < other` for an object of the program that defines the comparison; None for other values."""
    return _ask(site, value, ("__lt__", "__gt__"), CallArguments((other,)), same_arguments=True)


def has_objects(values: Iterable[Value]) -> bool:
    """Whether a comparison of the values may run a method of the program; cheap, for the look-ups and tests that run none."""
    return any(
        isinstance(member, Reference | TupleValue)
        or (isinstance(member, Constant) and isinstance(member.value, EnumMember))
        for value in values
        for member in members(value)
    )


def run_equality(site: Site, value: Value, other: Value) -> None:
    """Runs the `__eq__` of objects that a container compares with each other, and tests the truth of its result; of tuples that of the
    elements.
    """
    for one, two in ((value, other), (other, value)):
        for member in members(one):
            for part in member.elements if isinstance(member, TupleValue) else (member,):
                result = _ask(site, part, ("__eq__",), CallArguments((two,)))
                if result is not None and all(has_new_tensor(site.frame, each) for each in members(result)):
                    note_branch(site.frame, BranchFact(site.op, BranchKind.TENSOR, (True, True), (True, True)))
        if one != BOTTOM and all(python_type(member) is not None for member in members(one)):
            note_comparison_with_tensor(site, two)


def run_hash(site: Site, key: Value, keys: Sequence[Value]) -> None:
    """Runs the `__hash__` of a key that is looked up, and the `__eq__` of keys that it is compared with, for their side effects."""
    if not has_objects((key, *keys)):
        return
    for member in members(key):
        for part in member.elements if isinstance(member, TupleValue) else (member,):
            _ask(site, part, ("__hash__",), CallArguments())
    run_equality(site, key, join_all(keys))


def as_index(site: Site, value: Value) -> Value:
    """An index as a sequence sees it: the result of `__index__` for an object that has it."""
    if not any(isinstance(member, Reference) for member in members(value)):
        return value
    asked = [(member, _ask(site, member, ("__index__",), CallArguments())) for member in members(value)]
    return join_all(member if result is None else result for member, result in asked)


def _ask(
    site: Site, value: Value, names: tuple[str, ...], arguments: CallArguments, *, same_arguments: bool = False
) -> Value | None:
    """Calls the first of these methods that the class of the program defines; None if there is none.

    The methods after the first get no arguments, except with `same_arguments`.
    """
    if not isinstance(value, Reference) and not (isinstance(value, Constant) and isinstance(value.value, EnumMember)):
        return None
    for name in names:
        method = find_method(site, value, name)
        if method is not None and not is_library_function(method):
            return site.call(method, arguments if same_arguments or name == names[0] else CallArguments())
    return None


def note_comparison_with_tensor(site: Site, *values: Value) -> None:
    """Records that a comparison with a tensor or variable is tested: whenever it was created, the comparison is a tensor in a graph."""
    if any(all(map(_is_tensor, map(first_compared, members(value)))) and members(value) for value in values):
        note_branch(site.frame, BranchFact(site.op, BranchKind.TENSOR, (True, True), (True, True)))


def _is_tensor(value: Value) -> bool:
    return isinstance(value, TensorValue) and value.kind not in _ARRAYS


def first_compared(value: Value) -> Value:
    """The part of a value that is compared first, where this is known."""
    return value.elements[0] if isinstance(value, TupleValue) and value.elements else value
