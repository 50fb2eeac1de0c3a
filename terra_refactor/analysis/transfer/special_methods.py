"""Built-in functions that call methods of an object of the program: `int(x)` runs its `__int__`, `str(x)` and `f"{x}"` its `__str__`.

Computes: the method's result and side effects. Needs: class lookup, calls. Gives: `asked_of_object`, `note_array_of`,
`format_object`, `ordering_of`, `has_objects`, `run_equality`, `run_hash`, `as_index`. Ignores:
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
from terra_refactor.domain.lattice import join_all
from terra_refactor.domain.value import Constant, EnumMember, Reference, TupleValue, Value, members

_ASKED: Final = {
    "builtins.int": ("__int__", "__index__", "__trunc__"),
    "builtins.float": ("__float__", "__index__"),
    "builtins.complex": ("__complex__", "__float__", "__index__"),
    "builtins.bool": ("__bool__", "__len__"),
    "builtins.str": ("__str__", "__repr__"),
    "builtins.repr": ("__repr__",),
    "builtins.ascii": ("__repr__",),
    "builtins.print": ("__str__", "__repr__"),
    "builtins.format": ("__format__", "__str__", "__repr__"),
    "builtins.bytes": ("__bytes__",),
    "builtins.abs": ("__abs__",),
    "builtins.round": ("__round__",),
    "builtins.hash": ("__hash__",),
    "builtins.dir": ("__dir__",),
    "builtins.divmod": ("__divmod__",),
    "builtins.pow": ("__pow__",),
    "builtins.reversed": ("__reversed__",),
    "builtins.hex": ("__index__",),
    "builtins.bin": ("__index__",),
    "builtins.chr": ("__index__",),
    "math.trunc": ("__trunc__",),
    "math.floor": ("__floor__",),
    "math.ceil": ("__ceil__",),
    "operator.index": ("__index__",),
    "operator.abs": ("__abs__",),
    "operator.neg": ("__neg__",),
    "operator.length_hint": ("__length_hint__",),
    "os.fspath": ("__fspath__",),
}
"""The special methods that a function looks up on its first argument, in this order."""


def asked_of_object(site: Site, name: str, arguments: CallArguments) -> Value | None:
    """The result of a function for objects of the program that define a special method for it; None if an alternative
    of the argument does not.
    """
    looked_for = _ASKED.get(name)
    if looked_for is None or not arguments.positional:
        return None
    further = arguments.positional[1:] if looked_for[0] in ("__divmod__", "__pow__", "__format__", "__round__") else ()
    results = [_ask(site, member, looked_for, CallArguments(further)) for member in members(arguments.positional[0])]
    known = [result for result in results if result is not None]
    return join_all(known) if known and len(known) == len(results) else None


def note_array_of(site: Site, name: str, arguments: CallArguments) -> None:
    """Runs the `__array__` of objects that are passed to NumPy or TensorFlow, for its side effects."""
    if name.startswith(("numpy.", "tensorflow.", "keras.")):
        for value in (*arguments.positional, *(value for _, value in arguments.keywords)):
            for member in members(value):
                _ask(site, member, ("__array__",), CallArguments())


def format_object(site: Site, value: Value) -> None:
    """Runs the formatting method of an object, or of each object in a tuple, for its side effects."""
    for member in members(value):
        if isinstance(member, TupleValue):
            for element in member.elements:
                format_object(site, element)
        else:
            _ask(site, member, _ASKED["builtins.format"], CallArguments((Constant(""),)))


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
