"""Python conditions that decide whether code of a graph runs, and whether they test the kind of a tensor.

`x.numpy() if not tf.is_symbolic_tensor(x) else x`: in a graph the other side runs, which the analysis does not
decide.

Computes: the conditions of unknown truth around an operation and before it. Needs: a `ContextView`. Gives: `open_conditions`,
`asks_what_tensors_are`, `runs_in_handler`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from terra_refactor.analysis.facts import BranchFact, BranchKind
from terra_refactor.domain.value import FunctionValue, TensorValue, is_symbolic_number, members
from terra_refactor.facts.records import Arm, AttributeRead, Call, Fact, ItemRead, Operation, Region, RegionKind
from terra_refactor.facts.view import ContextView
from terra_refactor.ir.ids import OpId
from terra_refactor.tf_model.packages import TENSOR_PACKAGES

_DECISIONS: Final = (RegionKind.IF, RegionKind.CHOICE, RegionKind.CONNECTIVE)


def open_conditions(view: ContextView, number: OpId) -> Iterator[OpId]:
    """The unknown conditions that decide, within the function, whether an operation runs; not those on the content of tensors.

    They enclose the operation, or precede it and have a side that leaves the function.
    """
    around = {region.op for region in view.enclosing(number)}
    for branch in view.context.branches:
        region = view.code.regions.get(branch.op)
        if region is None or region.kind not in _DECISIONS or region.subject is None or not _is_open(branch):
            continue
        before = branch.op < number and not all(branch.falls_through) and _is_on_way(view, region, around)
        if branch.op in around or before:
            yield region.subject


def is_up_to_tensor(view: ContextView, number: OpId) -> bool:
    """Whether a condition on the content of a tensor decides, within the function, whether an operation runs.

    It encloses the operation, or precedes it and has a side that leaves the function. A graph has both sides.
    """
    around = {region.op for region in view.enclosing(number)}
    return any(
        branch.kind is BranchKind.TENSOR
        and region.kind in _DECISIONS
        and (
            branch.op in around
            or (branch.op < number and not all(branch.falls_through) and _is_on_way(view, region, around))
        )
        for branch in view.context.branches
        if (region := view.code.regions.get(branch.op)) is not None
    )


def asks_what_tensors_are(view: ContextView, test: OpId) -> bool:
    """Whether a test is computed from a tensor, or by a function of TensorFlow: it may test for eager execution."""
    return any(
        _is_tensor(view, fact.op) or _is_of_tensorflow(view, fact) or _is_of_function(view, fact)
        for fact in view.behind(test, _parts)
    )


def runs_in_handler(view: ContextView, number: OpId) -> bool:
    """Whether an operation runs only after an exception, within the function."""
    return any(region.kind is RegionKind.TRY and region.holds(number, Arm.HANDLER) for region in view.enclosing(number))


def _is_open(branch: BranchFact) -> bool:
    return branch.taken == (True, True) and branch.kind in (BranchKind.PYTHON, BranchKind.UNKNOWN)


def _is_on_way(view: ContextView, region: Region, around: set[OpId]) -> bool:
    return all(outer.op in around for outer in view.enclosing(region.op))


def _parts(fact: Fact) -> Iterable[OpId]:
    match fact:
        case Call(owner=owner, arguments=arguments):
            return (*(() if owner is None else (owner,)), *(argument.value for argument in arguments))
        case Operation(symbol="is" | "is not"):
            return ()  # usually a test whether there is one
        case Operation(sides=sides):
            return sides
        case AttributeRead(owner=owner) | ItemRead(owner=owner):
            return (owner,)
        case _:
            return ()


def _is_tensor(view: ContextView, number: OpId) -> bool:
    return any(isinstance(member, TensorValue) or is_symbolic_number(member) for member in members(view.value(number)))


def _is_of_tensorflow(view: ContextView, fact: Fact) -> bool:
    return isinstance(fact, Call) and any(
        name.partition(".")[0] in TENSOR_PACKAGES for name in view.library_of(fact.op)
    )


def _is_of_function(view: ContextView, fact: Fact) -> bool:
    """Whether it is an attribute of a function object, which is not tracked."""
    return isinstance(fact, AttributeRead) and any(
        isinstance(member, FunctionValue) for member in members(view.value(fact.owner))
    )
