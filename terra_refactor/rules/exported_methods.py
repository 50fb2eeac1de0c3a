"""Methods that a SavedModel exports once they are traced (part of TR336).

Computes: for a method of a class that TensorFlow tracks, a variable that it reads outside of its object, directly or through calls, if the
program saves an object with `tf.saved_model.save`. Needs: facts. Gives: `exported_method`. Ignores: functions stored as attributes of the
object; variables in objects and containers outside of it. Assumes that an object of another class does not hold this one.

Source: `tf.saved_model.save` writes each traced method of an object with the variables that the object holds (directly or in attributes),
and raises KeyError for others.
"""

from __future__ import annotations

from collections.abc import Iterator

from terra_refactor.analysis.facts import ContextId, ProgramFacts
from terra_refactor.domain.value import members
from terra_refactor.facts.class_bases import derives_from
from terra_refactor.facts.codes import Codes, naming_of
from terra_refactor.facts.records import NameRead
from terra_refactor.facts.view import ContextView
from terra_refactor.ir.ids import OpId
from terra_refactor.rules.rule import LocalHazard
from terra_refactor.tf_model.graph_traits import SAVES_OBJECT, TRACKED_CLASSES
from terra_refactor.tf_model.spec import Trait


def exported_method(view: ContextView) -> Iterator[LocalHazard]:
    """The first operation that leads to such a variable."""
    parent = view.function.parent
    if not view.function.takes_self or parent is None:
        return
    saving = view.codes.answered(_saving, view.facts)
    if saving is None or not derives_from(view.codes, view.facts, parent, TRACKED_CLASSES):
        return
    place, name = next(_variables_outside(view, {view.context.id}), (None, ""))
    if place is not None:
        written, classes = saving
        own = view.program.function(parent).name
        is_saved = any(view.codes.are_related(own, each) for each in classes)
        yield LocalHazard(
            place,
            f"`{written}` exports a traced method with the variables of its object, and fails, since this one uses `{name}`",
            None if is_saved else f"`{written}` saves no object with this method",
            boundary=True,
        )


def _saving(codes: Codes, facts: ProgramFacts) -> tuple[str, frozenset[str]] | None:
    """The first call by which the program saves an object, and the classes of all objects that are saved so."""
    readers = dict.fromkeys(each for name in naming_of(SAVES_OBJECT.split()) for each in codes.naming(name))
    views = [ContextView(codes, facts, context) for reader in readers for context in facts.contexts_of(reader)]
    calls = [(view, call) for view in views for call, _ in view.calls_with(Trait.SAVES_OBJECT)]
    found = ((view, view.value(argument.value)) for view, call in calls for argument in call.arguments)
    classes = {
        name for view, value in found for member in members(value) if (name := view.class_of(member)) is not None
    }
    return (calls[0][0].written(calls[0][1].op), frozenset(classes)) if calls else None


def _variables_outside(view: ContextView, seen: set[ContextId]) -> Iterator[tuple[OpId, str]]:
    """The reads of variables that are globals or captured, here or in a callee, with the place here."""
    for read in view.reached(NameRead):
        if read.outlives_call and view.is_variable(read.op):
            yield read.op, read.name
    for number, call in sorted(view.calls.items()):
        for callee in call.callees:
            if callee not in seen:
                seen.add(callee)
                yield from ((number, name) for _, name in _variables_outside(view.of(callee), seen))
