"""The major version of TensorFlow for which a module is written, by the names that it uses.

Computes: the modules that build graphs and run them in sessions; those of programs that run with TensorFlow 1, or
without eager execution. Needs: facts. Gives: `tensorflow_1_modules`, `programs_of_tensorflow_1`, `imported_modules`.
Names mean the same in both versions, as far as they exist (`tf_model.aliases` has the old ones), except `==` of
tensors, which is identity in graphs of TensorFlow 1. Ignores: single names of `tf.compat.v1` that programs of
TensorFlow 2 keep using, such as `tf.compat.v1.where`.
"""

from __future__ import annotations

from collections.abc import Iterator, Set
from typing import Final

from terra_refactor.analysis.facts import ContextFacts, ContextId, ProgramFacts
from terra_refactor.analysis.testing import is_in_test_file
from terra_refactor.classify.answers import Question
from terra_refactor.classify.hazards import HazardMap
from terra_refactor.domain.value import LibraryValue
from terra_refactor.facts.records import AttributeRead, Imported, RegionKind
from terra_refactor.ir.ids import OpId
from terra_refactor.tf_model import registry
from terra_refactor.tf_model.graph_traits import is_of_sessions, turns_eager_on
from terra_refactor.tf_model.registry import has_trait
from terra_refactor.tf_model.spec import Trait

_OF_TAPES: Final = ("Tape.gradient", "Tape.jacobian")


def tensorflow_1_modules(facts: ProgramFacts) -> frozenset[str]:
    """The modules that call functions which only graphs of TensorFlow 1 need."""
    of_sessions = frozenset(filter(is_of_sessions, facts.library_functions()))
    if not of_sessions:
        return frozenset()
    return frozenset(
        context.function.module
        for context in facts.contexts
        for call in context.calls
        if not of_sessions.isdisjoint(call.library)
    )


def programs_of_tensorflow_1(hazards: HazardMap, version: str | None = None) -> frozenset[str]:
    """The names of the modules that run only in programs without eager execution: they use a name that TensorFlow 2
    does not have, or disable eager execution.

    All modules, if the repository requires a `version` 1, unless nothing runs graphs in sessions or enables eager
    execution and their tapes are eager.

    Among modules connected by imports, if some have eager code, only those that disable it or that no module imports.
    In a package without a script that uses it, those that disable it.
    """
    facts, program = hazards.whole_facts, hazards.whole_program
    if (version or "").startswith("1.") and not _is_of_tapes(hazards):
        return frozenset(program.modules)
    without_eager: set[str] = set()
    old: set[str] = set()
    eager: set[str] = set()
    for context in facts.contexts:
        ends_eager, needs_eager, has_former = hazards.ask(_SIGNS, context.id)
        if not (ends_eager or needs_eager or has_former):
            continue
        if is_in_test_file(program, program.function(context.function)):
            continue
        module = context.function.module
        if ends_eager:
            without_eager.add(module)
        if needs_eager:
            eager.add(module)
        if has_former:
            old.add(module)
    old -= eager
    old |= without_eager
    if not old:
        return frozenset()
    eager -= old
    imported = imported_modules(hazards)
    # modules that build graphs for sessions, and are imported by modules that disable eager execution
    reached = {other for name in without_eager for other in _reached(name, imported)}
    old |= (tensorflow_1_modules(facts) & reached) - eager
    importers: dict[str, set[str]] = {name: set() for name in program.modules}
    for name, others in imported.items():
        for other in others:
            importers[other].add(name)
    if eager:
        found = old
        while more := {
            name for name, by in importers.items() if by and by <= found and name not in found and name not in eager
        }:
            found |= more
        return frozenset(found)
    # a program is a started module with all its imports; the importers of package modules that no program here
    # imports are unknown
    started = [name for name, by in importers.items() if not by - {name}] or list(program.modules)
    scripts = [name for name in started if "." not in name and not program.modules[name].is_package]
    parts = [_reached(name, imported) for name in scripts]
    of_programs = (
        name
        for name in program.modules
        if (own := [part for part in parts if name in part]) and not any(part.isdisjoint(old) for part in own)
    )
    return frozenset(old).union(of_programs)


def _is_of_tapes(hazards: HazardMap) -> bool:
    """Whether it computes gradients with tapes, without sessions and without enabling eager execution."""
    called = hazards.whole_facts.library_functions()
    of_tapes = any(has_trait(name, Trait.COMPUTES_GRADIENT) and name.endswith(_OF_TAPES) for name in called)
    return of_tapes and not any(is_of_sessions(name) or turns_eager_on(name) for name in called)


def _signs(hazards: HazardMap, number: ContextId) -> tuple[bool, bool, bool]:
    """Whether a context disables eager execution, calls functions that only eager programs need, or reads a name that
    exists only in TensorFlow 1.
    """
    context = hazards.facts.contexts[number]
    called = [name for call in context.calls for name in call.library]
    return (
        any(has_trait(name, Trait.ENDS_EAGER) for name in called),
        any(has_trait(name, Trait.EAGER_PROGRAMS) for name in called),
        any(_former_names(hazards, context)),
    )


_SIGNS: Final = Question(_signs, (False, False, False))


def _former_names(hazards: HazardMap, context: ContextFacts) -> Iterator[str]:
    """The TensorFlow names read in a context that exist only in TensorFlow 1, unless the surrounding code tests for them."""
    view = hazards.view(context)
    places: list[tuple[OpId, str, str]] = []
    for read in view.code.of_kind(AttributeRead):
        owner = context.value(read.owner)
        if isinstance(owner, LibraryValue):
            places.append((read.op, owner.name, read.name))
    for imported in view.code.of_kind(Imported):
        if imported.name is None:
            places.append((imported.op, *imported.module.rpartition(".")[::2]))
        elif not imported.level and imported.name != "*":
            places.append((imported.op, imported.module, imported.name))
    for number, owner_name, name in places:
        if registry.is_former(owner_name, name) and not any(
            outer.kind in (RegionKind.TRY, RegionKind.IF, RegionKind.CHOICE) for outer in view.enclosing(number)
        ):
            yield f"{owner_name}.{name}"


def imported_modules(hazards: HazardMap) -> dict[str, frozenset[str]]:
    """The modules that each module of a program imports."""
    program = hazards.whole_program
    found: dict[str, frozenset[str]] = {}
    for name, module in program.modules.items():
        others: set[str] = set()
        for function in module.functions:
            named: list[tuple[str, int]] = []
            for each in hazards.imports_of(function.id):
                named.append((each.module, each.level))
                if each.name is not None and each.name != "*":
                    named.append((f"{each.module}.{each.name}" if each.module else each.name, each.level))
            others.update(program.imports.resolve(name, module_name, level) or "" for module_name, level in named)
        found[name] = frozenset(others & program.modules.keys() - {name})
    return found


def _reached(name: str, imported: dict[str, frozenset[str]]) -> Set[str]:
    pending, seen = [name], {name}
    while pending:
        for other in imported[pending.pop()]:
            if other not in seen:
                seen.add(other)
                pending.append(other)
    return seen
