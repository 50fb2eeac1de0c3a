"""Cures: small rewrites of one place that remove a hazard or a finding. The interface of this room for editors.

    cure = cure_of(source, finding)          # or one of `decision.hazards`
    cure.title, cure.edits, cure.assumptions

Computes: the edits for the cure that a finding or hazard has a hint for. Needs: the file's source, as it was
analysed, and the hint, which says that the values at the place allow the cure. Gives: `Cure`, or `NotMade` with the
reason if the text does not allow it; `confirm_cures` removes hints without a cure. Ignores: decisions, whose
refactorings are in `plan.py`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Final, Protocol

from typing_extensions import assert_never

from terra_refactor.errors import SourceError
from terra_refactor.refactor.imports import add_imports
from terra_refactor.refactor.places import NodePlace, find_place
from terra_refactor.refactor.transforms.context import FileContext, Made, NotMade, Transformed, file_context
from terra_refactor.refactor.transforms.creation_moved_out import creation_moved_out
from terra_refactor.refactor.transforms.hoist_function import hoist_function
from terra_refactor.refactor.transforms.list_to_tensor_array import list_to_tensor_array
from terra_refactor.refactor.transforms.numpy_to_tensorflow import numpy_to_tensorflow
from terra_refactor.refactor.transforms.print_to_tf_print import print_to_tf_print
from terra_refactor.refactor.transforms.scalar_to_tensor import scalar_to_tensor
from terra_refactor.refactor.transforms.shape_to_tf_shape import shape_to_tf_shape
from terra_refactor.rules.rule import CureHint, CureKind, Finding
from terra_refactor.syntax.deep_stack import call_with_deep_stack
from terra_refactor.syntax.edit import Edit, apply_edits, check_edits
from terra_refactor.syntax.location import Span
from terra_refactor.syntax.parse import parse_module
from terra_refactor.syntax.source import Source

LOGGER = logging.getLogger(__name__)

Transformation = Callable[[FileContext, NodePlace, CureHint], Transformed]

TITLES: Final[Mapping[CureKind, str]] = {
    CureKind.TF_PRINT: "Print with tf.print",
    CureKind.TENSORFLOW_CALL: "Use the TensorFlow operation",
    CureKind.DYNAMIC_SIZE: "Use the size at run time: tf.shape(...)",
    CureKind.TENSOR_ARRAY: "Collect in a tf.TensorArray",
    CureKind.CREATION_OUTSIDE: "Create it once, outside of the function",
    CureKind.HOISTED_FUNCTION: "Make the tf.function before the loop",
    CureKind.TENSOR_ARGUMENT: "Pass a tensor",
}


class Curable(Protocol):
    """A `rules.rule.Finding`, or a `classify.decision.Hazard`."""

    @property
    def rule(self) -> str: ...

    @property
    def span(self) -> Span: ...

    @property
    def cure(self) -> CureHint | None: ...


@dataclass(frozen=True, slots=True)
class Cure:
    """One cure of one place."""

    id: str
    """The kind of the cure, for example `print-to-tf-print`."""
    title: str
    """A short menu entry, in the imperative."""
    rule: str
    """The rule that the place violates."""
    edits: tuple[Edit, ...]
    """Edits of the source's text, in order, without overlaps; the import that is needed is among them."""
    assumptions: tuple[str, ...]
    """Assumptions for the user to check; empty if the meaning is certainly kept."""


def cure_of(source: Source, place: Curable) -> Cure | NotMade:
    """The cure of a finding or a hazard of that file; `NotMade`, with the reason, if there is none.

    Raises SourceError if the source does not parse.
    """
    if place.cure is None:
        return NotMade("there is no automatic rewrite")
    context = call_with_deep_stack(partial(file_context, source))
    return _cure(source, context, place, place.cure)


def confirm_cures(findings: Iterable[Finding], sources: Mapping[str, Source]) -> tuple[Finding, ...]:
    """The findings in their order; those whose text does not allow the cure are marked as not fixable.

    Only files with such findings are parsed.
    """
    contexts: dict[str, FileContext] = {}
    confirmed: list[Finding] = []
    for finding in findings:
        source = sources.get(finding.path)
        if finding.cure is None or source is None:
            confirmed.append(finding)
            continue
        context = contexts.get(finding.path)
        if context is None:
            context = contexts[finding.path] = call_with_deep_stack(partial(file_context, source))
        made = _cure(source, context, finding, finding.cure)
        confirmed.append(finding if isinstance(made, Cure) else replace(finding, fixable=False, cure=None))
    return tuple(confirmed)


def _cure(source: Source, context: FileContext, at: Curable, hint: CureHint) -> Cure | NotMade:
    try:
        place = find_place(context.module, at.span)
        if place is None:
            return NotMade("its position was not found: the text has changed since the analysis")
        outcome = _transformation(hint.kind)(context, place, hint)
    except Exception as error:  # an internal error affects only this cure
        LOGGER.exception("the cure %s failed", hint.kind.value)
        return NotMade(f"{hint.kind.value} failed inside: {error!r}")
    match outcome:
        case NotMade():
            return outcome
        case Made(edits, imports, assumptions):
            try:
                together = check_edits((*edits, *add_imports(context.module, imports)))
                changed = replace(source, text=apply_edits(source.text, together))
                parse_module(changed)
                source.encode(changed.text)
            except (SourceError, ValueError) as error:
                return NotMade(f"the file could not be changed: {error}")
            return Cure(hint.kind.value, TITLES[hint.kind], at.rule, together, (*hint.assumptions, *assumptions))
        case _:
            assert_never(outcome)


def _transformation(kind: CureKind) -> Transformation:
    match kind:
        case CureKind.TF_PRINT:
            return print_to_tf_print
        case CureKind.TENSORFLOW_CALL:
            return numpy_to_tensorflow
        case CureKind.DYNAMIC_SIZE:
            return shape_to_tf_shape
        case CureKind.TENSOR_ARRAY:
            return list_to_tensor_array
        case CureKind.CREATION_OUTSIDE:
            return creation_moved_out
        case CureKind.HOISTED_FUNCTION:
            return hoist_function
        case CureKind.TENSOR_ARGUMENT:
            return scalar_to_tensor
        case _:
            assert_never(kind)
