"""Modules at run time: imports, and the code that runs at import.

Computes: the state of the program after its modules were imported. Needs: the engine. Gives: `ModuleLoader`, which runs each module's
body once, in the order of the imports, against the state of the program (`Interpreter.world`).

Approximates: in an import cycle, classes and containers of a running module, and names that are not bound yet, are
unknown in the first pass; the importing module is run once more at the end.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from typing import Final

from terra_refactor.analysis.engine import Code, Engine
from terra_refactor.analysis.facts import EntryKind, ObjectKind
from terra_refactor.analysis.frames import Frame, Summary
from terra_refactor.analysis.module_bodies import Beginning
from terra_refactor.domain.lattice import join, references
from terra_refactor.domain.state import EXISTS, ITEMS, HeapKey
from terra_refactor.domain.value import (
    TRUE,
    Constant,
    FrozenList,
    FunctionValue,
    LibraryValue,
    ModuleValue,
    ObjectId,
    Origin,
    Reference,
    TupleValue,
    UnknownValue,
    Value,
    members,
)
from terra_refactor.ir.ids import FunctionId
from terra_refactor.ir.program import Program
from terra_refactor.tf_model import registry
from terra_refactor.tf_model.library_members import library_member

STEPS_OF_A_MODULE: Final = 150
"""Minimum steps of a module per operation of its code, however many modules have run."""
_SELDOM_BOUND_AGAIN: Final = frozenset({FunctionValue, Reference, LibraryValue, ModuleValue})


class ModuleLoader:
    """The modules of a program and their progress."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.engine: Engine
        self.star_libraries: dict[str, dict[str, None]] = {}
        """For each module, the libraries from which it imports `*`."""
        self.bodies: dict[str, Summary] = {}
        self._objects: dict[str, ObjectId] = {}
        self._names: dict[str, dict[str, None]] = {}
        self._state: dict[str, str] = {}
        self._again: dict[str, None] = {}
        self._made: dict[str, dict[HeapKey, Value]] = {}
        """For each module that will run again: the fields of its objects at its end."""
        self._running: dict[str, Frame] = {}
        self._finished = 0
        """The number of bodies that have run."""
        self._packages = {
            ".".join(name.split(".")[:depth]) for name in program.modules for depth in range(1, name.count(".") + 1)
        }

    def object_of(self, module: str) -> ObjectId:
        """The object that holds a module's globals."""
        number = self._objects.get(module)
        if number is None:
            self.engine.spoil_logs()
            number = self.engine.objects.at_site(ObjectKind.MODULE, module, FunctionId(module, 0), None)
            self._objects[module] = number
            self.engine.world.set((number, EXISTS), TRUE)
        return number

    def is_module(self, name: str) -> bool:
        """Whether the repository has a module or (namespace) package of that name."""
        return name in self.program.modules or name in self._packages

    def note_name(self, module: str, name: str) -> None:
        """Records that a module has a global of that name."""
        self.engine.journal.put_inside(self._names, module, name, None)
        log = self.engine.log
        if log is not None:
            log.tell_once(_note_name, module, name)

    def globals_of(self, module: str) -> tuple[tuple[str, Value], ...]:
        """A module's globals and their values in the state of the program."""
        found = self._globals_of(module)
        if self.engine.log is not None:
            self.engine.log.ask(found, _globals_of, module)
        return found

    def _globals_of(self, module: str) -> tuple[tuple[str, Value], ...]:
        number = self.object_of(module)
        get = self.engine.world.get
        found = ((name, get((number, name))) for name in self._names.get(module, ()))
        return tuple((name, value) for name, value in found if value is not None)

    def stars_of(self, module: str) -> tuple[str, ...]:
        """The libraries from which a module imports `*`."""
        found = tuple(self.star_libraries.get(module, ()))
        log = self.engine.log
        if log is not None:
            log.ask_once(found, _stars_of, module)
        return found

    def names_of(self, module: str) -> tuple[str, ...]:
        """The names of a module's globals, in the order in which they were first bound."""
        return tuple(self._names.get(module, ()))

    def run_all(self, advance: Callable[[int], None] = lambda _: None) -> None:
        """Runs every module that has not run, then repeats those in import cycles.

        `advance` receives the number that have run.
        """
        for number, name in enumerate(self.program.modules):
            advance(number)
            self.ensure_run(name)
        again, self._again = list(self._again), {}
        for name in again:
            self._run_again(name)

    def settle(self) -> None:
        """Declares the bindings of the modules as settled: globals that no function assigns, and attributes of classes."""
        engine = self.engine
        settled = engine.world.settled
        whole: set[ObjectId] = set()
        for module in self.program.modules.values():
            number = self.object_of(module.name)
            assigned = {name for code in module.functions[1:] for name in engine.names.of(code).globals_set}
            for name in self.names_of(module.name):
                value = engine.world.get((number, name))
                if value is not None and name not in assigned:
                    settled.fields[number, name] = value
            if not assigned:
                whole.add(number)
        for (number, name), value in engine.world.heap.items():
            if number in whole or engine.objects.facts[number].kind is ObjectKind.CLASS:
                settled.objects.add(number)
                settled.fields[number, name] = value
        engine.settle()

    def ensure_run(self, name: str) -> None:
        """Runs a module's body if it has not run; its parent packages first."""
        for depth in range(1, name.count(".") + 1):
            package = ".".join(name.split(".")[:depth])
            if package in self.program.modules and package not in self._state:
                self._run(package)
        if name in self.program.modules and name not in self._state:
            self._run(name)

    def _run_again(self, name: str) -> None:
        """Runs a module once more: its objects are created again under their old names, and keep the changes by other modules."""
        world = self.engine.world
        changed = {
            key: value
            for key, made in self._made.pop(name, {}).items()
            if (value := world.get(key)) is not None and value != made
        }
        self._run(name)
        for key, value in changed.items():
            current = world.get(key)
            world.set(key, value if current is None else join(value, current))

    def _run(self, name: str) -> None:
        engine = self.engine
        engine.spoil_logs()
        is_again = name in self._state
        self._state[name] = "running"
        body = self.program.modules[name].body
        number = self.object_of(name)
        heap = engine.world.heap
        before = len(heap)
        frame = Frame(body, engine.world, {}, {}, number, EntryKind.MODULE, in_graph=False)
        beginning = Beginning(self._finished, tuple(self._running), before)
        self._running[name] = frame
        try:
            with engine.steps.share(STEPS_OF_A_MODULE * body.op_count):
                self.bodies[name] = engine.run_inline(frame) if is_again else engine.run_module(frame, beginning)
        finally:
            del self._running[name]
        self._state[name] = "done"
        self._finished += 1
        if frame.problem is not None:
            self._forget_values(name, frame.problem)
        if name in self._again:
            # nothing is removed from the heap: newer objects come after the older ones
            made = frame.allocated | {number}
            self._made[name] = {key: value for key, value in islice(heap.items(), before, None) if key[0] in made}

    def _forget_values(self, name: str, problem: str) -> None:
        """Makes bindings of a module unknown that did not run to its end, since the names may be bound later."""
        number, world = self.object_of(name), self.engine.world
        for variable in self.names_of(name):
            value = world.get((number, variable))
            if value is not None and not all(type(member) in _SELDOM_BOUND_AGAIN for member in members(value)):
                world.set((number, variable), UnknownValue(reason=problem))

    def import_module(self, importer: str, name: str, level: int, *, whole: bool) -> Value:
        """The value of `import name` (the top package, unless `whole`)."""
        resolved = self.program.imports.resolve(importer, name, level)
        if resolved is None:
            if level:
                return UnknownValue(reason=f"unresolved import of {'.' * level}{name}")
            return LibraryValue(registry.canonical_name(name if whole else name.partition(".")[0]))
        self.ensure_run(resolved)
        if whole:
            return ModuleValue(resolved)
        depth = resolved.count(".") - name.count(".")
        return ModuleValue(".".join(resolved.split(".")[: depth + 1]))

    def import_from(self, frame: Frame, importer: str, module: str, level: int, name: str) -> Value:
        """The value of `from module import name`."""
        resolved = self.program.imports.resolve(importer, module, level)
        if resolved is None:
            if level:
                full = f"{self._absolute(importer, module, level)}.{name}"
                if full in self.engine.declarations:
                    return LibraryValue(full)
                return UnknownValue(reason=f"unresolved import of {'.' * level}{module}.{name}")
            return library_member(registry.canonical_name(module), name)
        self.ensure_run(resolved)
        return self.member(frame, importer, resolved, name)

    def member(self, frame: Frame, importer: str, module: str, name: str) -> Value:
        """The value of attribute `name` of a module of the repository."""
        value = frame.state.get((self.object_of(module), name))
        if value is not None:
            return value
        if self._state.get(module) != "done":
            self.engine.spoil_logs()
            running = self._running.get(module)
            bound = None if running is None else running.state.get((self.object_of(module), name))
            if bound is not None and not references(bound):
                # the importing module runs at the same time, and gets the present bindings
                return bound
            if bound is not None:
                # its objects are in a state that is not yet the program's
                self._again[importer] = None
                return UnknownValue(origin=Origin("global", f"{module}.{name}"))
        submodule = f"{module}.{name}"
        if self.is_module(submodule):
            self.ensure_run(submodule)
            return ModuleValue(submodule)
        for library in self.stars_of(module):
            if registry.attribute(library, name) is not None:
                return library_member(library, name)
        getter = frame.state.get((self.object_of(module), "__getattr__"))
        if self._state.get(module) == "running" and getter is None:
            self._again[importer] = None
        return UnknownValue(origin=Origin("global", f"{module}.{name}"))

    def _absolute(self, importer: str, module: str, level: int) -> str:
        """The absolute name of a relative import."""
        up = level - self.program.modules[importer].is_package
        parts = importer.split(".")
        return ".".join([*parts[: len(parts) - up], *([module] if module else [])])

    def import_star(self, frame: Frame, importer: str, module: str, level: int) -> None:
        """Binds everything that `from module import *` binds."""
        self.engine.spoil_logs()
        resolved = self.program.imports.resolve(importer, module, level)
        if resolved is None:
            if not level:
                self.star_libraries.setdefault(importer, {})[registry.canonical_name(module)] = None
            return
        self.ensure_run(resolved)
        if self._state.get(resolved) == "running":
            self._again[importer] = None
        target = self.object_of(importer)
        for library in self.star_libraries.get(resolved, ()):
            self.star_libraries.setdefault(importer, {})[library] = None
        public = self._public_names(frame, resolved)
        for name in self.names_of(resolved) if public is None else public:
            if public is None and name.startswith("_"):
                continue
            if public is None:
                value = frame.state.get((self.object_of(resolved), name))
            else:
                # a listed name may be a submodule
                value = self.member(frame, importer, resolved, name)
            if value is not None:
                frame.state.set((target, name), value)
                self.note_name(importer, name)

    def _public_names(self, frame: Frame, module: str) -> tuple[str, ...] | None:
        """The names in a module's `__all__`; None if there is none, or if it is unknown."""
        listed = frame.state.get((self.object_of(module), "__all__"))
        content = frame.state.get((listed.object, ITEMS)) if isinstance(listed, Reference) else listed
        elements = content.elements if isinstance(content, FrozenList | TupleValue) else None
        if elements is None or not all(isinstance(element, Constant) for element in elements):
            return None
        return tuple(str(element.value) for element in elements if isinstance(element, Constant))


def _note_name(engine: Code, module: str, name: str) -> None:
    engine.loader.note_name(module, name)


def _globals_of(engine: Code, module: str) -> tuple[tuple[str, Value], ...]:
    return engine.loader.globals_of(module)


def _stars_of(engine: Code, module: str) -> tuple[str, ...]:
    return engine.loader.stars_of(module)
