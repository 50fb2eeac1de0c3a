"""Modules and programs of the IR.

Computes: nothing. Gives: `ModuleIR` (one lowered source file) and `Program` (all of a repository, with its module index).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from terra_refactor.ir.function import Function, FunctionKind
from terra_refactor.ir.ids import FunctionId
from terra_refactor.record.record_file import FunctionSeen


@dataclass(frozen=True, slots=True)
class ModuleIR:
    """One lowered source file. Picklable, so that worker processes and the cache can exchange it."""

    name: str
    """Name of the module in its repository; unique within a program."""
    path: str
    """As in reports: relative to the current folder, with `/`."""
    is_package: bool
    """True for `__init__.py`: relative imports start one level deeper."""
    functions: tuple[Function, ...]
    """In source order; the first is the module's body."""
    digest: str
    """Digest of the source text, which identifies the text that a fact is about."""
    line_count: int
    by_index: Mapping[int, Function] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "by_index", {function.id.index: function for function in self.functions})

    @property
    def body(self) -> Function:
        """The module's own code."""
        return self.functions[0]


class ImportResolver(Protocol):
    """Resolves imports to modules of the repository (`syntax.modules.ModuleIndex` does)."""

    def resolve(self, importing_module: str, name: str, level: int) -> str | None:
        """The module's name, or None if the import leads outside the repository."""
        ...


@dataclass(frozen=True, slots=True)
class Program:
    """The modules that are analysed together, by name."""

    modules: Mapping[str, ModuleIR]
    imports: ImportResolver
    stubs: Mapping[str, str] = field(default_factory=dict)
    """The texts of the `.pyi` files among them, by module name."""
    recorded: Mapping[FunctionId, FunctionSeen] = field(default_factory=dict)
    """Recorded facts about functions, at their current places."""
    data: Mapping[str, bytes] = field(default_factory=dict)
    """Contents of the data files among them that the program's text names, by path as in reports; of arrays only the
    beginning.
    """
    usual: bool = False
    """Whether this is the default run: without options, with the present files and environment."""

    def function(self, identity: FunctionId) -> Function:
        """The function with that identity; KeyError if there is none."""
        return self.modules[identity.module].by_index[identity.index]

    def private_prefix(self, function: Function) -> str | None:
        """What Python puts before private names in the class around a function: `_Policy` for `__bound`; None outside of classes."""
        around = function.parent
        while around is not None:
            outer = self.function(around)
            if outer.kind is FunctionKind.CLASS_BODY:
                return f"_{outer.name.lstrip('_')}"
            around = outer.parent
        return None

    def attribute_name(self, function: Function) -> str:
        """The attribute under which its class holds a method: `_Policy__bound` for `__bound`."""
        is_private = function.name.startswith("__") and not function.name.endswith("__")
        prefix = self.private_prefix(function) if is_private else None
        return function.name if prefix is None else prefix + function.name

    def path_of(self, module: str) -> str:
        """The path of a module's file, as in reports; KeyError if there is none."""
        return self.modules[module].path
