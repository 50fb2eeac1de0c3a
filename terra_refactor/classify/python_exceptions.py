"""Operations that certainly raise because of Python's own rules, or because a name does not exist.

An operation behind one of them is not reached, so a failure that it would have is no error. These are attributes that
strings, tuples, lists, dicts, None and objects of the program's own classes do not have, operators and calls of values
that have none, items and iterations of numbers and None, items of tuples that are missing, members that modules of the
program, TensorFlow and Keras lack, and `raise` and `assert` under conditions that are known to hold.

Computes: these operations in one context. Needs: facts. Gives: `PythonExceptions`. Ignores: exceptions that depend on
values rather than types, such as missing keys of dicts, which other code may add.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from typing import Any, Final

from terra_refactor.analysis.facts import CallFact, ContextFacts, ObjectKind
from terra_refactor.classify.hazards import HazardMap
from terra_refactor.domain.value import (
    BOTTOM,
    Constant,
    EnumMember,
    FunctionValue,
    LibraryValue,
    ModuleValue,
    PythonType,
    Reference,
    Scalar,
    ShapeValue,
    TupleValue,
    Value,
    members,
)
from terra_refactor.facts.code import CodeFacts
from terra_refactor.facts.records import (
    Arm,
    AttributeRead,
    AttributeWrite,
    Call,
    Imported,
    ItemRead,
    NameWrite,
    Operation,
    Raise,
    Region,
    RegionKind,
)
from terra_refactor.ir.ids import OpId
from terra_refactor.ir.python_operators import BINARY, COMPARISON
from terra_refactor.tf_model import registry
from terra_refactor.tf_model.catalogue import catalogued_members

_OPERATORS: Final = {**BINARY, **COMPARISON}
_NEVER_OF_SHAPES: Final = frozenset({"-", "/", "//", "%", "**", "&", "|", "^", "<<", ">>"})
"""Operators of which a shape, a `tf.TensorShape` or a tuple, has none with numbers."""
_SAMPLES: Final[Mapping[PythonType, object]] = {
    PythonType.INT: 1,
    PythonType.FLOAT: 1.0,
    PythonType.COMPLEX: 1j,
    PythonType.BOOL: True,
    PythonType.STR: "a",
    PythonType.BYTES: b"a",
}
_CONTAINERS: Final[Mapping[ObjectKind, object]] = {ObjectKind.LIST: [], ObjectKind.DICT: {}, ObjectKind.SET: set()}
_HOOKS: Final = frozenset({"__getattr__", "__getattribute__", "__class_getitem__", "__new__"})
_INDIRECT: Final = frozenset({"setattr", "vars", "exec", "globals", "locals"})
"""Calls that may set attributes or names which are not written in the source."""
_OWN: Final = frozenset({"object", "Exception", "ABC"})
"""Base classes of the standard library that add no attributes which programs read."""


def _function() -> None:
    pass


class PythonExceptions:
    """Exceptions of Python in the contexts of a program, found on demand."""

    def __init__(self, hazards: HazardMap) -> None:
        self.hazards = hazards
        self.facts = hazards.whole_facts
        self._written: frozenset[str] | None = None

    def in_context(self, context: ContextFacts) -> Iterator[OpId]:
        """The operations of a context that certainly raise if they run."""
        code, values = self.hazards.index(context.function), context.values
        for read in code.of_kind(AttributeRead):
            if _all(values[read.owner], partial(self._lacks, name=read.name)):
                yield read.op
        for each in code.of_kind(Imported):
            if each.name not in (None, "*") and self._is_missing(context, each):
                yield each.op
        for operation in code.of_kind(Operation):
            if operation.right is None:
                continue
            clash = partial(_never_combine, other=values[operation.right], symbol=operation.symbol)
            if _all(values[operation.left], clash):
                yield operation.op
        for item in code.of_kind(ItemRead):
            if _all(values[item.owner], partial(_has_no_item, index=values[item.index])):
                yield item.op
        for call in code.of_kind(Call):
            if _all(values[call.function], _is_no_function):
                yield call.op
        for region in code.of_kind(Region):
            if region.iterated is not None and _all(values[region.iterated], _is_number_or_none):
                yield region.op
        for raising in code.of_kind(Raise):
            yield from self._certain(context, code, raising)
        for made in context.calls:
            if self._never_returns(made):
                yield made.op

    # --- exits ---------------------------------------------------------------------------------------------------------------------

    def _certain(self, context: ContextFacts, code: CodeFacts, raising: Raise) -> Iterator[OpId]:
        """A `raise` whose conditions hold, or the outermost of the conditions that lead to it."""
        taken = {branch.op: branch.taken for branch in context.branches}
        around: list[Region] = list(code.around(raising.op))
        for region in around:
            runs = taken.get(region.op)
            if region.kind is not RegionKind.IF or runs not in ((True, False), (False, True)):
                return
            if region.holds(raising.op, Arm.FIRST) is not runs[0]:
                return
        yield around[-1].op if around else raising.op

    def _never_returns(self, call: CallFact) -> bool:
        """Whether each function of the program that is called raises, by conditions that hold, or does not end."""
        if call.library or not call.callees or call.unknown is not None:
            return False
        found = [self.facts.contexts[each] for each in call.callees]
        return all(
            each.returns == BOTTOM
            and each.problem is None
            and not self.hazards.index(each.function).function.is_generator
            for each in found
        )

    # --- names ---------------------------------------------------------------------------------------------------------------------

    def _lacks(self, value: Value, name: str) -> bool:
        """Whether a value certainly has no attribute of that name."""
        if name.startswith("__"):
            return False
        match value:
            case LibraryValue(name=module):
                return _lacks_member(module, name) and name not in self._set_attributes()
            case ModuleValue(name=module):
                return self._lacks_name(module, name) and name not in self._set_attributes()
            case Reference() if self.facts.objects[value.object].kind is ObjectKind.INSTANCE:
                return self._lacks_attribute(value, name)
            case Constant(str() | bytes() | None) | Scalar(PythonType.STR | PythonType.BYTES) | Reference():
                sample = self._sample(value)
                return sample is not _UNKNOWN and not hasattr(sample, name)
            case TupleValue(fields=(), cls=None, name=None):
                return not hasattr((), name)
            case _:
                return False

    def _lacks_attribute(self, value: Reference, name: str) -> bool:
        """Whether the program's own class of an object, its bases and all other code set no such attribute."""
        if name in self._set_attributes() or self._sets_indirectly():
            return False
        pending, seen = [self.facts.objects[value.object].name], set[str]()
        while pending:
            cls = pending.pop()
            if cls in seen or cls in _OWN:
                continue
            seen.add(cls)
            outlines = self.hazards.whole_codes.classes_named(cls)
            if len(outlines) != 1:
                return False
            outline = outlines[0]
            if outline.decorators or outline.defines(name) or outline.binds(name):
                return False
            if outline.defines(*_HOOKS) or outline.binds("__slots__"):
                return False
            body = self.hazards.index(outline.body).function
            made = None if body.parent is None else self.hazards.whole_codes.class_made_of(body.parent, outline.body)
            if made is None or body.parent is None:
                return False
            bases = self.hazards.index(body.parent).names_of_bases(made)
            if None in bases:
                return False
            pending += filter(None, bases)
        return bool(seen)

    def _sample(self, value: Value) -> object:
        if isinstance(value, Reference):
            made = self.facts.objects[value.object]
            # not a subclass, as of `collections`
            return _CONTAINERS.get(made.kind, _UNKNOWN) if made.name == made.kind.value else _UNKNOWN
        return _sample(value)

    def _is_missing(self, context: ContextFacts, imported: Imported) -> bool:
        program, name = self.hazards.whole_program, imported.name or ""
        importer = context.function.module
        found = program.imports.resolve(importer, imported.module, imported.level)
        if found is None:
            return not imported.level and _lacks_member(registry.canonical_name(imported.module), name)
        inside = f"{imported.module}.{name}" if imported.module else name
        is_module = program.imports.resolve(importer, inside, imported.level) is not None
        return found in program.modules and not is_module and self._lacks_name(found, name)

    def _lacks_name(self, module: str, name: str) -> bool:
        """Whether a module of the program binds no such name."""
        made = self.hazards.whole_program.modules.get(module)
        if made is None or self._sets_indirectly():
            return False
        if f"{module}.{name}" in self.hazards.whole_program.modules:
            return False
        codes = [self.hazards.index(each.id) for each in made.functions]
        body = self.hazards.index(made.body.id)
        is_open = any(each.name == "*" for each in body.of_kind(Imported)) or "__getattr__" in body.writes
        return not is_open and not any(
            name in code.writes and (code is body or any(each.outlives_call for each in code.of_kind(NameWrite)))
            for code in codes
        )

    def _set_attributes(self) -> frozenset[str]:
        """The names of the attributes that the program sets, of any object."""
        if self._written is None:
            self._written = frozenset(each.name for code in self._codes() for each in code.of_kind(AttributeWrite))
        return self._written

    def _sets_indirectly(self) -> bool:
        """Whether some code may set attributes or names that are computed."""
        return self.hazards.whole_codes.once(
            "sets attributes by computed names",
            lambda: any(
                call.called_name in _INDIRECT or (call.method == "update" and _is_of_dict(code, call))
                for code in self._codes()
                for call in code.of_kind(Call)
            ),
        )

    def _codes(self) -> Iterator[CodeFacts]:
        modules = self.hazards.whole_program.modules.values()
        return (self.hazards.index(each.id) for module in modules for each in module.functions)


class _Unknown:
    pass


_UNKNOWN: Final = _Unknown()


def _is_of_dict(code: CodeFacts, call: Call) -> bool:
    """Whether a call is `x.__dict__.update(...)`."""
    owner = None if call.owner is None else code.facts[call.owner]
    return isinstance(owner, AttributeRead) and owner.name == "__dict__"


def _all(value: Value | None, holds: Callable[[Value], bool]) -> bool:
    found = () if value is None else members(value)
    return bool(found) and all(map(holds, found))


def _sample(value: Value) -> object:
    """A value of the same built-in type, for types without an identity; `_UNKNOWN` for others."""
    match value:
        case Constant(EnumMember()):
            return _UNKNOWN
        case Constant(int() as known) if not isinstance(known, bool):
            return 1
        case Constant(known):
            return known
        case Scalar(type=kind, symbolic=False):
            return _SAMPLES[kind]
        case TupleValue(fields=(), cls=None, name=None):
            return ()
        case FunctionValue(hybrid=None, wrappers=()):
            return _function
        case _:
            return _UNKNOWN


def _is_number_or_none(value: Value) -> bool:
    """Whether a value certainly is a literal number, or None; a computed number may be an array's."""
    return isinstance(value, Constant) and (value.value is None or isinstance(value.value, int | float | complex))


def _is_no_function(value: Value) -> bool:
    """Whether a value certainly cannot be called."""
    sample = _sample(value) if isinstance(value, Constant | TupleValue) else _UNKNOWN
    return sample is not _UNKNOWN and not callable(sample)


def _never_combine(one: Value, other: Value | None, symbol: str) -> bool:
    """Whether a binary operator raises TypeError for a value and each alternative of the other."""
    if isinstance(one, ShapeValue) and symbol in _NEVER_OF_SHAPES:
        return _all(other, _is_number_or_none)
    apply, left = _OPERATORS.get(symbol), _sample(one)
    if apply is None or left is _UNKNOWN or (symbol == "%" and isinstance(left, str | bytes)):
        return False
    return _all(other, lambda each: (right := _sample(each)) is not _UNKNOWN and _raises(apply, left, right))


def _raises(apply: Callable[[Any, Any], object], left: object, right: object) -> bool:
    try:
        apply(left, right)
    except TypeError:
        return True
    except (ArithmeticError, ValueError):
        return False
    return False


def _has_no_item(value: Value, index: Value | None) -> bool:
    """Whether an item of a number, None or a function is read, or one that a tuple does not have."""
    match value:
        case TupleValue(elements) if isinstance(index, Constant) and type(index.value) is int:
            return not -len(elements) <= index.value < len(elements)
        case FunctionValue(hybrid=None, wrappers=()):
            return True
        case _:
            return _is_number_or_none(value)


@cache
def _lacks_member(module: str, name: str) -> bool:
    """Whether no known release of TensorFlow or Keras has that member of a module (canonical name)."""
    if module.partition(".")[0] not in ("tensorflow", "keras") or name.startswith("_"):
        return False
    if not catalogued_members(module) or registry.is_former(module, name):
        return False
    return registry.attribute(module, name) is None
