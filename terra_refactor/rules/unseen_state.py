"""Attributes that only code which is not analysed can set (part of TR106).

Computes: the reads of attributes of modules and objects that an unresolved import brings, and of objects whose class derives from such a
class, if nothing in the program sets them. Needs: facts. Gives: `unseen_state`. Ignores: methods, whose calls are unresolved; members of
classes (`Color.RED`); names imported by `from`, which the importing module holds; attributes that subclasses set as well; `getattr`.
"""

from __future__ import annotations

from collections.abc import Iterator

from terra_refactor.domain.value import NO_ATTRIBUTE, SUGGESTED, LibraryValue, UnknownValue, Value, members
from terra_refactor.facts.class_bases import has_unseen_base
from terra_refactor.facts.records import AttributeRead, Call
from terra_refactor.facts.view import ContextView
from terra_refactor.ir.function import FunctionKind
from terra_refactor.ir.ids import FunctionId, OpId
from terra_refactor.rules.rule import LocalHazard
from terra_refactor.tf_model import registry
from terra_refactor.tf_model.graph_traits import ISINSTANCE


def unseen_state(view: ContextView) -> Iterator[LocalHazard]:
    """The first read of each such attribute, outside of graphs: the author of a graph knows what it reads."""
    if view.context.in_graph or view.function_facts.hybrid is not None:
        return
    told: set[str] = set()
    for read in view.reached(AttributeRead):
        if not (_is_of_unseen_module(view, read) or _is_of_unseen_base(view, read)) or not _is_used(view, read.op):
            continue
        written = view.written(read.op)
        if written in told:
            continue
        told.add(written)
        yield LocalHazard(
            read.op,
            f"nothing here sets `{written}`: code that is not analysed may change it, and a graph keeps the value that it had when it "
            "was traced",
            f"`{written}` does not change between calls",
        )


def _is_used(view: ContextView, number: OpId) -> bool:
    """Whether something but a call of it, a test of a class, or a read of its attributes uses a value."""
    return any(
        user.function != number and ISINSTANCE not in view.library_of(user.op)
        if isinstance(user, Call)
        else not isinstance(user, AttributeRead)
        for user in (view.code.facts[each] for each in view.code.readers(number))
    )


def _is_of_unseen_module(view: ContextView, read: AttributeRead) -> bool:
    """Whether an unresolved import brings the owner of an attribute, which is no class by its name."""
    return view.all_of(read.op, _is_unseen) and view.all_of(
        read.owner, lambda value: _is_unseen(value) and not _names_class(value)
    )


def _is_unseen(value: Value) -> bool:
    return (
        isinstance(value, LibraryValue)
        and registry.is_taken_to_exist(value.name)
        and registry.lookup(value.name) is None
    )


def _names_class(value: Value) -> bool:
    """Whether a library name is written like that of a class: `Color`."""
    leaf = value.name.rpartition(".")[2] if isinstance(value, LibraryValue) else ""
    return leaf[:1].isupper() and not leaf.isupper()


def _is_of_unseen_base(view: ContextView, read: AttributeRead) -> bool:
    """Whether the class of an attribute's owner has a base that is not analysed, and the program sets no such attribute."""
    if not view.all_of(read.op, _is_unknown):
        return False
    classes = {name for member in members(view.value(read.owner)) if (name := view.class_of(member)) is not None}
    return any(
        any(
            view.codes.answered(has_unseen_base, view.facts, outline.body) for outline in view.codes.classes_named(name)
        )
        and not any(_is_of_related(view, name, writer) for writer in view.codes.writers_of(read.name))
        for name in sorted(classes)
    )


def _is_unknown(value: Value) -> bool:
    return isinstance(value, UnknownValue) and value.reason not in (*SUGGESTED, NO_ATTRIBUTE)


def _is_of_related(view: ContextView, name: str, writer: FunctionId) -> bool:
    """Whether a function is a method of a class that may have an instance in common with another, or no method."""
    function = view.program.function(writer)
    if function.kind is not FunctionKind.METHOD or function.parent is None:
        return True
    return view.codes.are_related(view.program.function(function.parent).name, name)
