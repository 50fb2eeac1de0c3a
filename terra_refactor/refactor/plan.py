"""From the decisions about one file to its new text.

Computes: which decisions apply at a level, their order, and the resulting text. Needs: the file's source and its
decisions. Gives: `FileRefactoring`: for every function to change, whether it is done, skipped with a reason, or
failed; and the new text, which parses. Ignores: other files; the classification ensures that a set of changes is
correct as a whole.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence, Set
from dataclasses import dataclass, replace

from typing_extensions import assert_never

from terra_refactor.classify.decision import Action, Decision, Level
from terra_refactor.errors import SourceError
from terra_refactor.ir.function import FunctionKind
from terra_refactor.ir.ids import FunctionId
from terra_refactor.refactor.imports import add_imports
from terra_refactor.refactor.locate import DefinitionSite
from terra_refactor.refactor.result import Change, FileRefactoring, Outcome
from terra_refactor.refactor.transforms.add import add_tf_function
from terra_refactor.refactor.transforms.co_execute import add_co_execute
from terra_refactor.refactor.transforms.context import FileContext, Made, NotMade, Transformed, file_context
from terra_refactor.refactor.transforms.remove import remove_tf_function
from terra_refactor.refactor.transforms.tune import tune_tf_function
from terra_refactor.syntax.deep_stack import call_with_deep_stack
from terra_refactor.syntax.edit import Edit, apply_edits, check_edits
from terra_refactor.syntax.parse import parse_module
from terra_refactor.syntax.source import Source

LOGGER = logging.getLogger(__name__)

_IN_ORDER = (Level.SAFE, Level.SPECULATIVE, Level.COEXEC)
"""From the most to the least cautious; each includes those before it."""


def allows(level: Level, needed: Level) -> bool:
    """Whether `fix` at `level` may make changes that need `needed`."""
    return _IN_ORDER.index(needed) <= _IN_ORDER.index(level)


@dataclass(frozen=True, slots=True)
class _Planned:
    decision: Decision
    made: Made


def refactor_file(
    source: Source, decisions: Iterable[Decision], level: Level, only: Set[str] | None = None
) -> FileRefactoring:
    """Refactors one file as far as `level` allows; if `only` is given, only the functions with these qualified names.

    Raises SourceError if the source does not parse.
    """
    selected = sorted(
        (decision for decision in decisions if only is None or decision.qualname in only),
        key=lambda decision: (decision.line, decision.function),
    )
    wanted: list[Decision] = []
    changes: dict[Decision, Change] = {}
    for decision in selected:
        if decision.action is Action.NONE:
            if only is not None:
                changes[decision] = _change(decision, Outcome.SKIPPED, decision.reason)
        elif not allows(level, decision.level):
            changes[decision] = _change(
                decision, Outcome.SKIPPED, f"needs --level {decision.level.value}", decision.level
            )
        elif (
            decision.action is Action.ADD_TF_FUNCTION
            and only is None
            and level is not Level.SAFE
            and decision.covered_at_speculative
        ):
            changes[decision] = _change(decision, Outcome.SKIPPED, "its callers become graphs, and it is part of them")
        else:
            wanted.append(decision)
    new_text = source.text
    if wanted:
        context = call_with_deep_stack(lambda: file_context(source))
        planned: list[_Planned] = []
        for decision in wanted:
            outcome = _transform(context, context.sites.get(decision.line), decision)
            match outcome:
                case Made():
                    planned.append(_Planned(decision, outcome))
                case NotMade():
                    changes[decision] = _change(decision, Outcome.SKIPPED, outcome.reason)
                case Change():
                    changes[decision] = outcome
                case _:
                    assert_never(outcome)
        new_text, failed = _combined(source, context, planned)
        for entry in planned:
            reason = failed.get(entry.decision)
            changes[entry.decision] = (
                _change(entry.decision, Outcome.DONE, entry.decision.reason)
                if reason is None
                else _change(entry.decision, Outcome.FAILED, reason)
            )
    ordered = tuple(changes[decision] for decision in selected if decision in changes)
    return FileRefactoring(source, ordered, new_text)


def edits_of_each(source: Source, decisions: Iterable[Decision]) -> dict[FunctionId, tuple[Edit, ...]]:
    """The edits of each decision's change by itself, including imports, for any level; without changes that cannot be
    made.

    Raises SourceError if the source does not parse.
    """
    wanted = [decision for decision in decisions if decision.action is not Action.NONE]
    if not wanted:
        return {}
    context = call_with_deep_stack(lambda: file_context(source))
    found: dict[FunctionId, tuple[Edit, ...]] = {}
    for decision in wanted:
        outcome = _transform(context, context.sites.get(decision.line), decision)
        if isinstance(outcome, Made):
            imports = add_imports(context.module, outcome.imports)
            found[decision.function] = check_edits(_with_imports(imports, outcome.edits))
    return found


def _transform(context: FileContext, site: DefinitionSite | None, decision: Decision) -> Transformed | Change:
    if decision.kind is FunctionKind.LAMBDA:
        return NotMade("a lambda cannot have a decorator")
    if site is None or site.qualname != decision.qualname:
        return _change(decision, Outcome.FAILED, "its definition was not found at the line that was analysed")
    try:
        return _transformation(decision.action)(context, site, decision)
    except Exception as error:  # after an internal error only this function is not changed
        LOGGER.exception("refactoring %s of %s failed", decision.action.value, decision.qualname)
        return _change(decision, Outcome.FAILED, f"{decision.action.value} failed inside: {error!r}")


def _transformation(action: Action) -> Callable[[FileContext, DefinitionSite, Decision], Transformed]:
    match action:
        case Action.ADD_TF_FUNCTION:
            return add_tf_function
        case Action.REMOVE_TF_FUNCTION:
            return remove_tf_function
        case Action.TUNE_TF_FUNCTION:
            return tune_tf_function
        case Action.CO_EXECUTE:
            return add_co_execute
        case Action.NONE | Action.EXTRACT_TF_FUNCTION:
            raise ValueError("not a change of a function")
        case _:
            assert_never(action)


def _combined(source: Source, context: FileContext, planned: Sequence[_Planned]) -> tuple[str, dict[Decision, str]]:
    """The text after all changes that still parse together, and the reasons for the others."""
    text, reason = _applied(source, context, planned)
    if reason is None:
        return text, {}
    failed: dict[Decision, str] = {}
    for entry in planned:
        _, alone = _applied(source, context, [entry])
        if alone is not None:
            failed[entry.decision] = alone
    rest = [entry for entry in planned if entry.decision not in failed]
    text, reason = _applied(source, context, rest)
    if reason is not None:
        failed.update((entry.decision, reason) for entry in rest)
        return source.text, failed
    return text, failed


def _applied(source: Source, context: FileContext, planned: Sequence[_Planned]) -> tuple[str, str | None]:
    imports = [statement for entry in planned for statement in entry.made.imports]
    edits = [edit for entry in planned for edit in entry.made.edits]
    try:
        text = apply_edits(source.text, _with_imports(add_imports(context.module, imports), edits))
        parse_module(replace(source, text=text))
        source.encode(text)
    except (SourceError, ValueError) as error:
        return source.text, f"the file could not be changed: {error}"
    return text, None


def _with_imports(imports: Sequence[Edit], edits: Sequence[Edit]) -> list[Edit]:
    """The edits of both; an import and a decorator at one position become one edit, the import first."""
    first = {edit.start: edit.replacement for edit in imports}
    joined = [
        replace(edit, replacement=first.pop(edit.start) + edit.replacement)
        if edit.start in first and edit.start == edit.end
        else edit
        for edit in edits
    ]
    return [*(Edit(start, start, text) for start, text in first.items()), *joined]


def _change(decision: Decision, outcome: Outcome, reason: str, level: Level | None = None) -> Change:
    return Change(
        path=decision.path,
        qualname=decision.qualname,
        line=decision.line,
        action=decision.action,
        outcome=outcome,
        reason=reason,
        assumptions=decision.assumptions,
        level=level,
    )
