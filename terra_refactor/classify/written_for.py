"""The library releases for which code is written, by the names that it uses, and the consequences for findings.

Computes: for each file, the releases that have all names in its program; and findings as they apply to given
releases. Needs: facts. Gives: `written_for`, `in_releases`. Ignores: the requirements of projects (see
`workspace.pins`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Final

from terra_refactor.analysis.facts import ContextFacts, ContextId
from terra_refactor.classify.answers import Question
from terra_refactor.classify.generation import programs_of_tensorflow_1
from terra_refactor.classify.hazards import HazardMap
from terra_refactor.domain.value import LibraryValue
from terra_refactor.facts.records import AttributeRead, Call, Imported, Region, RegionKind
from terra_refactor.ir.ids import FunctionId
from terra_refactor.rules.registry import all_rules
from terra_refactor.rules.rule import Finding, Severity
from terra_refactor.tf_model import registry
from terra_refactor.tf_model.releases import (
    BEFORE_KERAS_2,
    BEFORE_KERAS_3,
    BEFORE_TENSORFLOW_2,
    KERAS,
    KERNELS_BY_POSITION,
    NEWEST,
    OLDER_METHODS,
    Releases,
)

_ASKED_FOR = (RegionKind.TRY, RegionKind.IF, RegionKind.CHOICE)


def written_for(hazards: HazardMap) -> dict[str, tuple[Releases, str]]:
    """The releases that have the names in a program, with a reason, by the path of each file that uses them or depends
    on such a file.
    """
    program = hazards.whole_program
    old = programs_of_tensorflow_1(hazards)
    found = {
        module.path: (BEFORE_TENSORFLOW_2, "the program is for TensorFlow 1, by the names that it uses")
        for name, module in program.modules.items()
        if name in old
    }
    bodies = {name: module.body.id for name, module in program.modules.items()}
    contexts = hazards.whole_facts.contexts
    if any(hazards.ask(_KERAS_1, (context.id, bodies[context.function.module])) for context in contexts):
        for module in program.modules.values():
            found.setdefault(module.path, (BEFORE_KERAS_2, "the program is for Keras 1, by the names that it uses"))
    elif any(hazards.ask(_OLDER_KERAS, (context.id, bodies[context.function.module])) for context in contexts):
        for module in program.modules.values():
            found.setdefault(
                module.path, (BEFORE_KERAS_3, "the program is for an older Keras, by the names that it uses")
            )
    return found


def _has_older_keras(hazards: HazardMap, about: tuple[ContextId, FunctionId]) -> bool:
    number, module_body = about
    return any(True for _ in _names_of_older_keras(hazards, hazards.facts.contexts[number], module_body))


_OLDER_KERAS: Final = Question(_has_older_keras, meanwhile=False)


def _has_keras_1(hazards: HazardMap, about: tuple[ContextId, FunctionId]) -> bool:
    """Whether a call has parameters of Keras 1, or its order of them in a program that imports `keras` by itself."""
    number, module_body = about
    view = hazards.view(hazards.facts.contexts[number])
    for call in view.code.of_kind(Call):
        keywords = {argument.keyword for argument in call.arguments if argument.keyword}
        for name in view.library_of(call.op):
            if any(registry.is_parameter_of_keras_1(name, each) for each in keywords):
                return True
            positions = KERNELS_BY_POSITION.get(name)
            if positions is not None and len(call.positional) >= positions and _imports_keras(hazards, module_body):
                return True
    return False


def _imports_keras(hazards: HazardMap, module_body: FunctionId) -> bool:
    """Whether a module imports `keras` by itself, and no other one, as that of TensorFlow."""
    imported = {each.module for each in hazards.index(module_body).of_kind(Imported) if not each.level}
    by_itself = any(module.partition(".")[0] == KERAS for module in imported)
    return by_itself and not any(f".{KERAS}" in module for module in imported)


_KERAS_1: Final = Question(_has_keras_1, meanwhile=False)


def _names_of_older_keras(hazards: HazardMap, context: ContextFacts, module_body: FunctionId) -> Iterator[str]:
    """Names that Keras 3 does not have: parameters, methods of models, and, for an import of `keras` itself, also
    members.

    Imports and members do not count if the surrounding code tests for them.
    """
    view = hazards.view(context)
    own = {call.op for call in context.calls if call.callees}
    for call in view.code.of_kind(Call):
        if call.owner is not None and call.method in OLDER_METHODS and call.op not in own:
            yield call.method
        for name in view.library_of(call.op):
            for keyword in filter(None, (argument.keyword for argument in call.arguments)):
                if registry.is_parameter_of_older_keras(name, keyword):
                    yield f"{name}({keyword}=...)"
    imports = [each for each in view.code.of_kind(Imported) if not each.level]
    for each in imports:
        if each.module.partition(".")[0] == KERAS and not _is_asked_for(view.enclosing(each.op)):
            *owners, last = each.module.split(".")
            parts = [(".".join(owners[:end]), owners[end]) for end in range(1, len(owners))]
            parts += [(".".join(owners), last)] if owners else []
            parts += [(each.module, each.name)] if each.name not in (None, "*") else []
            yield from (f"{owner}.{name}" for owner, name in parts if registry.is_of_older_keras(owner, str(name)))
    if not _imports_keras(hazards, module_body):
        return
    for read in view.code.of_kind(AttributeRead):
        owner = context.value(read.owner)
        if isinstance(owner, LibraryValue) and registry.is_of_older_keras(owner.name, read.name):
            if f".{KERAS}" not in view.written(read.owner) and not _is_asked_for(view.enclosing(read.op)):
                yield f"{owner.name}.{read.name}"


def _is_asked_for(around: Iterable[Region]) -> bool:
    return any(region.kind in _ASKED_FOR for region in around)


def in_releases(finding: Finding, releases: Releases, why: str) -> Finding | None:
    """The finding as it applies to these releases; None if it occurs in none of them.

    `why` names the evidence for these releases. A failure that is certain only in the newest release is an error if that is one of
    them.
    """
    behaviour = finding.release
    if behaviour is None:
        return finding
    has = releases.have(behaviour)
    if has is True and behaviour.is_condition:
        message = finding.message.removesuffix(f" ({behaviour.condition})")
        if message == finding.message:
            return finding
        return replace(finding, severity=all_rules()[finding.rule].severity, message=message)
    if has is False and behaviour.before:
        return None
    is_other = has is False or (has is None and bool(behaviour.before))
    if finding.severity is not Severity.ERROR or not is_other or not releases.excludes_newest(behaviour.library):
        return finding
    return replace(finding, severity=Severity.WARNING, message=f"{finding.message} (in TensorFlow {NEWEST}: {why})")
