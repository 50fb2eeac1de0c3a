"""Control flow: `match` and generators; the handlers of branches, loops and exits.

Needs: `branches`, `loops`, `exceptions`. Gives: `HANDLERS`. Approximates: generators run to their end where they are called.
"""

from __future__ import annotations

from terra_refactor.analysis.classes import class_of_instance, find_in_class, resolution_order
from terra_refactor.analysis.engine import OpHandler, Site
from terra_refactor.analysis.facts import ObjectKind
from terra_refactor.analysis.instances import is_instance
from terra_refactor.analysis.transfer import exceptions
from terra_refactor.analysis.transfer.branches import branch, if_expression, short_circuit
from terra_refactor.analysis.transfer.iteration import iterate, length_of
from terra_refactor.analysis.transfer.loops import collect_element, comprehension, for_loop, next_item, while_loop
from terra_refactor.domain.lattice import join, join_all
from terra_refactor.domain.value import (
    NONE,
    UNKNOWN,
    UNKNOWN_BOOL,
    Constant,
    LibraryValue,
    Reference,
    TupleValue,
    Value,
    members,
)
from terra_refactor.ir import ops
from terra_refactor.ir.ops import Op
from terra_refactor.tf_model.class_names import OBJECT

# --- match -----------------------------------------------------------------------------------------------------------------------


def pattern_test(site: Site, op: Op) -> Value:
    assert isinstance(op, ops.PatternTest)
    answers = {_pattern_answer(site, op, member) for member in members(site.frame.value(op.subject))}
    answer = answers.pop() if len(answers) == 1 else None
    return UNKNOWN_BOOL if answer is None else Constant(answer)


def _pattern_answer(site: Site, op: ops.PatternTest, subject: Value) -> bool | None:
    match op.kind:
        case ops.PatternKind.SEQUENCE:
            if isinstance(subject, Reference) and _is_no_sequence(site, subject):
                return False
            length = length_of(site, subject) if isinstance(subject, TupleValue | Reference) else None
            if isinstance(length, Constant) and isinstance(length.value, int):
                return length.value >= op.length if op.at_least else length.value == op.length
            return False if isinstance(subject, Constant) else None
        case ops.PatternKind.CLASS:
            return is_instance(site, subject, site.frame.value(op.operands[0]))
        case _:
            return False if isinstance(subject, Constant) else None


def _is_no_sequence(site: Site, subject: Reference) -> bool:
    """Whether a sequence pattern certainly does not match: a dict, a set, an instance of a class without bases from libraries."""
    frame = site.frame
    kind = site.engine.objects.facts[subject.object].kind
    if kind is ObjectKind.INSTANCE:
        cls = class_of_instance(frame, subject)
        return cls is not None and all(
            isinstance(base, Reference) or base == OBJECT
            for candidate in members(cls)
            for base in resolution_order(frame, candidate)
        )
    return kind in (ObjectKind.DICT, ObjectKind.SET)


def pattern_attribute(site: Site, op: Op) -> Value:
    assert isinstance(op, ops.PatternAttribute)
    frame = site.frame
    cls, subject = frame.value(op.cls), frame.value(op.subject)
    if isinstance(cls, LibraryValue):
        return subject if op.position == 0 else UNKNOWN
    found = find_in_class(frame, cls, "__match_args__")
    if found is not None and isinstance(found[0], TupleValue) and op.position < len(found[0].elements):
        name = found[0].elements[op.position]
        if isinstance(name, Constant) and isinstance(name.value, str):
            return join_all(site.attribute(member, name.value) for member in members(subject))
    return UNKNOWN


# --- generators ---------------------------------------------------------------------------------------------------------------------


def yield_value(site: Site, op: Op) -> Value:
    assert isinstance(op, ops.Yield)
    frame = site.frame
    frame.yields = join(frame.yields, NONE if op.value is None else frame.value(op.value))
    return UNKNOWN


def yield_from(site: Site, op: Op) -> Value:
    assert isinstance(op, ops.YieldFrom)
    frame = site.frame
    frame.yields = join(frame.yields, iterate(site, frame.value(op.value)).element)
    return UNKNOWN


def await_value(site: Site, op: Op) -> Value:
    assert isinstance(op, ops.Await)
    return site.frame.value(op.value)


HANDLERS: dict[type[Op], OpHandler] = {
    **exceptions.HANDLERS,
    ops.If: branch,
    ops.IfExpression: if_expression,
    ops.ShortCircuit: short_circuit,
    ops.For: for_loop,
    ops.While: while_loop,
    ops.NextItem: next_item,
    ops.Comprehension: comprehension,
    ops.CollectElement: collect_element,
    ops.PatternTest: pattern_test,
    ops.PatternAttribute: pattern_attribute,
    ops.Yield: yield_value,
    ops.YieldFrom: yield_from,
    ops.Await: await_value,
}
