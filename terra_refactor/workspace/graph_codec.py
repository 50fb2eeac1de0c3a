"""Serialises objects that refer to each other as bytes without code.

Computes: bytes for everything reachable from one object, and equal objects from these bytes. Needs: the classes that
may occur, and names for objects that are not data (functions of this tool, code stored elsewhere). Gives: `encode`,
`decode`, `Names`.

The objects are numbered, referenced ones first, and written in columns: for each class, for each of its fields, the
numbers of the values. So an object takes a few bytes, and its class is processed once for thousands of objects. Equal
immutable objects are written once. Only the listed classes are called, and nothing is imported.

Python's `marshal` writes the columns: numbers, strings and tuples of these.
"""

from __future__ import annotations

import marshal
from array import array
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from functools import partial
from itertools import chain, islice
from operator import attrgetter
from types import EllipsisType
from typing import Any, Final

from terra_refactor.errors import TerraError

_ATOMS: Final = frozenset({type(None), bool, int, float, complex, str, bytes, EllipsisType})
_CHECKED_EACH: Final = 5_000
_CONTAINERS: Final[tuple[type, ...]] = (tuple, frozenset, list, set, dict)


class CodecError(TerraError):
    """An object that cannot be encoded, or invalid bytes."""


@dataclass(frozen=True, slots=True)
class Names:
    """Objects that are written by name: for each class of such objects, the functions from object to name and back."""

    name_of: Mapping[type, Callable[[Any], object]]
    """Returns atoms, or tuples of these."""
    found: Mapping[str, Callable[[Any], object]]
    """By the name of the class."""
    name_of_class: Callable[[type], str]
    """Raises CodecError for a class that is not data."""
    class_named: Callable[[str], type]
    """Raises CodecError if there is no data class of that name."""


def _nothing_to_check() -> None:
    """The default `check`, which never cancels."""


def encode(root: object, names: Names, check: Callable[[], None] = _nothing_to_check) -> bytes:
    """The bytes of an object.

    Raises CodecError for objects that are not data of these classes and have no name. `check` is called regularly,
    and may raise to cancel.
    """
    return _Encoder(names, check).encoded(root)


def decode(data: bytes | memoryview, names: Names) -> object:
    """The object of these bytes. Raises CodecError, or an exception of `marshal`, for invalid bytes."""
    try:
        kinds, batches, root = marshal.loads(data)
    except (EOFError, ValueError, TypeError) as error:
        raise CodecError("no such form") from error
    table: list[object] = []
    for kind, count, columns in batches:
        made = _batch(kinds[kind], count, columns, table, names)
        table.extend(made)
    return table[root]


def _batch(kind: str, count: int, columns: Sequence[Any], table: list[object], names: Names) -> Iterable[object]:
    """Objects of one class, from parts in the table."""
    take = table.__getitem__
    if kind == "atoms":
        return columns
    if kind == "...":
        return (...,)
    if kind in _BY_CONTAINER:
        lengths, flat = _numbers(columns[0]), _numbers(columns[1])
        parts = map(take, flat)
        if kind == "dict":
            held = map(take, _numbers(columns[2]))
            return [dict(zip(islice(parts, length), islice(held, length), strict=True)) for length in lengths]
        make: Any = _BY_CONTAINER[kind]
        return [make(islice(parts, length)) for length in lengths]
    if kind in names.found:
        find = names.found[kind]
        return [find(take(number)) for number in _numbers(columns[0])]
    cls = names.class_named(kind)
    if issubclass(cls, Enum):
        return [cls[take(number)] for number in _numbers(columns[0])]  # type: ignore[index]
    new = object.__new__
    made: list[object] = [new(cls) for _ in range(count)]
    for name, column in zip(_fields(cls), columns, strict=True):
        put = getattr(cls, name).__set__
        deque(map(put, made, map(take, _numbers(column))), maxlen=0)
    return made


def _numbers(column: bytes) -> array[int]:
    numbers = array("I")
    numbers.frombytes(column)
    return numbers


_BY_CONTAINER: Final[Mapping[str, type]] = {cls.__name__: cls for cls in _CONTAINERS}
_FIELDS: Final[dict[type, tuple[str, ...]]] = {}


def _fields(cls: type) -> tuple[str, ...]:
    """The fields of a class with slots, in order."""
    known = _FIELDS.get(cls)
    if known is None:
        if is_dataclass(cls):
            known = tuple(each.name for each in fields(cls))
        else:
            known = tuple(
                dict.fromkeys(name for base in cls.__mro__[::-1] for name in base.__dict__.get("__slots__", ()))
            )
        _FIELDS[cls] = known
    return known


class _Encoder:
    def __init__(self, names: Names, check: Callable[[], None]) -> None:
        self.check = check
        self.kinds: dict[type, str] = {}
        """The names of classes."""
        self.names = names
        self.numbers: dict[int, int | None] = {}
        """By the address of an object; None while it is being numbered."""
        self.alive: list[object] = []
        """Objects created here, kept alive so that no other object gets their address."""
        self.same: dict[object, int] = {}
        """Immutable objects, by value."""
        self.levels: list[int] = []
        """For each node: the nodes of lower numbers that it refers to."""
        self.nodes: list[tuple[type, Any]] = []
        self.parts: dict[type, tuple[Callable[[Any], Sequence[object]] | None, bool]] = {
            tuple: (None, False),
            frozenset: (tuple, False),
            list: (None, True),
            set: (tuple, True),
            dict: (_parts_of_dict, True),
            **{cls: (partial(_named, name), False) for cls, name in names.name_of.items()},
        }
        """For each class: how to split its objects into fields, and whether they are mutable."""

    def encoded(self, root: object) -> bytes:
        top = self.number(root)
        # nodes in the order in which they can be created, grouped by class
        groups: dict[tuple[int, str], list[int]] = {}
        kinds = {cls: cls.__name__ for cls in (*_CONTAINERS, *self.names.name_of)} | self.kinds
        for number, (cls, _) in enumerate(self.nodes):
            kind = kinds.get(cls, "atoms")
            groups.setdefault((self.levels[number], "..." if cls is EllipsisType else kind), []).append(number)
        order = sorted(groups)
        new = array("I", bytes(4 * len(self.nodes)))
        for position, number in enumerate(number for group in order for number in groups[group]):
            new[number] = position
        used: dict[str, int] = {}
        batches: list[tuple[int, int, object]] = []
        for group in order:
            kind, members = group[1], groups[group]
            parts = [self.nodes[number][1] for number in members]
            batches.append((used.setdefault(kind, len(used)), len(members), _columns(kind, parts, new)))
        return marshal.dumps((tuple(used), batches, new[top]))

    def number(self, whole: Any) -> int:
        """The number of an object's node; it is created after those of all its parts."""
        numbers, address, cls = self.numbers, id(whole), type(whole)
        if cls in _ATOMS:
            number = numbers[address] = self.atom(whole, cls)
            self.alive.append(whole)
            return number
        if address in numbers:
            raise CodecError(f"a {cls.__name__} that contains itself")
        numbers[address] = None
        known = self.parts.get(cls)
        if known is None:
            known = self.parts[cls] = self.class_parts(cls)
        take, changes = known
        parts = whole if take is None else take(whole)
        made = [numbers.get(id(part)) for part in parts]
        if None in made:
            for position, part in enumerate(parts):
                if made[position] is None:
                    found = numbers.get(id(part))
                    made[position] = self.number(part) if found is None else found
        if changes:
            number = self.add(cls, made)
        else:
            key = (cls, *made)
            found = self.same.get(key)
            if found is None:
                found = self.same[key] = self.add(cls, made)
            number = found
        if parts is not whole:
            self.alive.append(parts)
        numbers[address] = number
        return number

    def class_parts(self, cls: type) -> tuple[Callable[[Any], Sequence[object]], bool]:
        self.kinds[cls] = self.names.name_of_class(cls)
        if issubclass(cls, Enum):
            return _name_of_member, False
        fields = _fields(cls)
        get = attrgetter(*fields) if fields else _nothing
        parameters = getattr(cls, "__dataclass_params__", None)
        return (get if len(fields) != 1 else lambda whole: (get(whole),)), parameters is None or not parameters.frozen

    def atom(self, value: Any, cls: type) -> int:
        # 0.0 and -0.0 are equal, and NaN equals nothing
        exact = repr(value) if cls is float or cls is complex else value
        known = self.same.get((cls, exact, None))
        if known is None:
            known = self.same[cls, exact, None] = self.add(cls, value, 0)
        return known

    def add(self, cls: type, parts: Any, level: int | None = None) -> int:
        if level is None:
            level = 1 + max(map(self.levels.__getitem__, parts), default=0)
        self.nodes.append((cls, parts))
        self.levels.append(level)
        if not len(self.nodes) % _CHECKED_EACH:
            self.check()
        return len(self.nodes) - 1


def _parts_of_dict(whole: dict[object, object]) -> Sequence[object]:
    return [*whole, *whole.values()]


def _named(name: Callable[[Any], object], whole: object) -> Sequence[object]:
    return (name(whole),)


def _name_of_member(whole: Enum) -> Sequence[object]:
    return (whole.name,)


def _nothing(whole: object) -> Sequence[object]:
    return ()


def _columns(kind: str, parts: list[Any], new: array[int]) -> object:
    """The parts of nodes of one class, by their new numbers."""
    number = new.__getitem__
    if kind == "atoms":
        return parts
    if kind == "...":
        return ()
    if kind == "dict":
        lengths = [len(part) // 2 for part in parts]
        keys = [part[:length] for part, length in zip(parts, lengths, strict=True)]
        held = [part[length:] for part, length in zip(parts, lengths, strict=True)]
        return _bytes(lengths), *(_bytes(map(number, chain.from_iterable(column))) for column in (keys, held))
    if kind in _BY_CONTAINER:
        return _bytes(map(len, parts)), _bytes(map(number, chain.from_iterable(parts)))
    return tuple(_bytes(map(number, column)) for column in zip(*parts, strict=True))


def _bytes(numbers: Iterable[int]) -> bytes:
    return array("I", numbers).tobytes()
