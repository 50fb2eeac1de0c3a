"""Truth of abstract values: the outcome of a condition, and whether it depends on a tensor.

Computes: a three-valued answer and its kind. Needs: the heap (for lengths of containers), calls (of `__bool__`). Gives: `truth_of`, and
`asked` for tests in the program itself.
"""

from __future__ import annotations

from dataclasses import dataclass

from terra_refactor.analysis.classes import find_method
from terra_refactor.analysis.engine import Site
from terra_refactor.analysis.facts import BranchKind, ObjectKind
from terra_refactor.analysis.frames import CallArguments
from terra_refactor.domain.state import ITEMS
from terra_refactor.domain.value import (
    BoundMethod,
    Constant,
    EnumMember,
    FrozenDict,
    FrozenList,
    FunctionValue,
    LibraryValue,
    ModuleValue,
    Reference,
    Scalar,
    ShapeValue,
    TensorKind,
    TensorValue,
    TupleValue,
    Unbound,
    UnknownValue,
    Value,
    is_length_in_graph,
    members,
    speaks_of_release,
)
from terra_refactor.tf_model import registry
from terra_refactor.tf_model.environment import known_truth


@dataclass(frozen=True, slots=True)
class Answer:
    """Truth of a condition: `value` is None if it may be either."""

    value: bool | None
    kind: BranchKind
    release: bool = False
    """Whether it depends on the version of a library (see `Scalar.release`)."""


def truth_of(site: Site, value: Value) -> Answer:
    """The truth of a value, and whether a tensor's content decides it."""
    answers: set[bool | None] = set()
    kinds: set[BranchKind] = set()
    for member in members(value):
        if isinstance(member, Unbound):
            continue
        answer = _truth_of_member(site, member)
        answers.add(answer.value)
        kinds.add(answer.kind)
    known = answers.pop() if len(answers) == 1 else None
    if BranchKind.TENSOR in kinds:
        return Answer(known, BranchKind.TENSOR)
    kind = BranchKind.UNKNOWN if BranchKind.UNKNOWN in kinds else BranchKind.PYTHON
    return Answer(known, kind, speaks_of_release(value))


def asked(site: Site, value: Value) -> Answer:
    """The truth of a value that an operation tests, which runs `__bool__` of the program's classes."""
    frame = site.frame
    for member in members(value):
        if isinstance(member, Reference):
            method = find_method(site, member, "__bool__")
            if isinstance(method, BoundMethod) and isinstance(method.function, FunctionValue):
                site.call(method, CallArguments())
            elif frame.state.get((member.object, ITEMS)) is not None:
                frame.note_read(site.op, (member.object, ITEMS))
    return truth_of(site, value)


def _truth_of_member(site: Site, value: Value) -> Answer:
    match value:
        case Constant(EnumMember()) if find_method(site, value, "__bool__") is not None:
            return Answer(None, BranchKind.PYTHON)
        case Constant(constant):
            return Answer(bool(constant), BranchKind.PYTHON)
        case TupleValue(elements):
            return Answer(bool(elements), BranchKind.PYTHON)
        case TensorValue():
            if value.kind in (TensorKind.NDARRAY, TensorKind.NUMPY_SCALAR):
                return Answer(None, BranchKind.PYTHON)
            return Answer(None, BranchKind.TENSOR)
        case FunctionValue() | BoundMethod() | ModuleValue():
            return Answer(True, BranchKind.PYTHON)
        case LibraryValue(name):
            return Answer(True if registry.is_definition(name) else known_truth(name), BranchKind.PYTHON)
        case ShapeValue(shape) if shape is not None:
            return Answer(bool(shape), BranchKind.PYTHON)
        case Reference():
            content = site.frame.state.get((value.object, ITEMS))
            if isinstance(content, FrozenList) and content.elements is not None:
                return Answer(bool(content.elements), BranchKind.PYTHON)
            if isinstance(content, FrozenDict) and content.rest is None and not content.items:
                return Answer(False, BranchKind.PYTHON)
            if site.engine.objects.facts[value.object].kind is ObjectKind.CLASS:
                return Answer(True, BranchKind.PYTHON)
            if content is None and all(find_method(site, value, name) is None for name in ("__bool__", "__len__")):
                return Answer(True, BranchKind.PYTHON)
            return Answer(None, BranchKind.PYTHON)
        case Scalar() if value.symbolic or is_length_in_graph(value):
            return Answer(None, BranchKind.TENSOR)
        case UnknownValue():
            return Answer(None, BranchKind.UNKNOWN if value.may_be_tensor else BranchKind.PYTHON)
        case _:
            return Answer(None, BranchKind.PYTHON)
