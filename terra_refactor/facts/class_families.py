"""Whether a method that reads any attribute of its own object (`self.__dict__`) may read one that other methods set.

Computes: which classes can have a common instance, by the names of their bases. Needs: the code of the program.
Gives: `ClassFamilies`. Ignores: classes created without a `class` statement.
"""

from __future__ import annotations

from collections.abc import Callable

from terra_refactor.facts.code import CodeFacts
from terra_refactor.facts.records import AttributeWrite, ClassMade, NameRead
from terra_refactor.ir.function import FunctionKind
from terra_refactor.ir.ids import FunctionId
from terra_refactor.ir.program import Program


class ClassFamilies:
    """The classes of a program, each with its base classes. Computed on first use."""

    def __init__(self, program: Program, index_of: Callable[[FunctionId], CodeFacts]) -> None:
        self._program = program
        self._index_of = index_of
        self._known: tuple[frozenset[str], ...] | None = None
        self._setters: dict[str, frozenset[str] | None] | None = None

    def may_read(self, reader: FunctionId, attribute: str, *, by_name: bool = False) -> bool:
        """Whether an object on which the attribute is set may be an instance of the reader's class.

        With `by_name`, only for methods.
        """
        if self._setters is None:
            self._setters = self._classes_that_set()
        setting, own = self._setters.get(attribute), self._class_of(reader)
        if own is None:
            return not by_name
        if not setting:
            return True
        return any(own in family and not setting.isdisjoint(family) for family in self._families())

    def are_related(self, one: str, other: str) -> bool:
        """Whether an instance of one of these classes may also be one of the other."""
        return one == other or any(one in family and other in family for family in self._families())

    def _classes_that_set(self) -> dict[str, frozenset[str] | None]:
        """By attribute, the classes whose methods set it on their own object; None if other code sets it, too."""
        found: dict[str, set[str]] = {}
        by_others: set[str] = set()
        for module in self._program.modules.values():
            for function in module.functions:
                code = self._index_of(function.id)
                own = self._class_of(function.id)
                for write in code.of_kind(AttributeWrite):
                    owner = code.facts[write.owner]
                    if own is not None and isinstance(owner, NameRead) and owner.name == "self":
                        found.setdefault(write.name, set()).add(own)
                    else:
                        by_others.add(write.name)
        return {name: None if name in by_others else frozenset(classes) for name, classes in found.items()}

    def _class_of(self, method: FunctionId) -> str | None:
        code = self._program.function(method)
        if code.kind is not FunctionKind.METHOD or code.parent is None:
            return None
        return self._program.function(code.parent).name

    def _families(self) -> tuple[frozenset[str], ...]:
        if self._known is None:
            bases: dict[str, set[str]] = {}
            for module in self._program.modules.values():
                for function in module.functions:
                    code = self._index_of(function.id)
                    for made in code.of_kind(ClassMade):
                        bases.setdefault(made.name, set()).update(filter(None, code.names_of_bases(made)))
            self._known = tuple(_ancestors(name, bases) for name in bases)
        return self._known


def _ancestors(name: str, bases: dict[str, set[str]]) -> frozenset[str]:
    pending, seen = [name], {name}
    while pending:
        new = bases.get(pending.pop(), set()) - seen
        pending.extend(new)
        seen |= new
    return frozenset(seen)
