"""TR301: calls that only work eagerly."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from terra_refactor.domain.value import Constant, LibraryValue, TensorValue, TupleValue, UnknownValue, Value, members
from terra_refactor.facts.records import AttributeRead, Call, Fact, NameRead, Operation, RegionKind
from terra_refactor.facts.view import ContextView, is_eager_method
from terra_refactor.ir.ids import OpId
from terra_refactor.rules.rule import LocalHazard, Nature, Rule, RuleKind, Samples, Severity
from terra_refactor.tf_model.graph_traits import (
    COPY_OF_TENSOR,
    COPY_OF_VARIABLE,
    GETATTR,
    HASATTR,
    ISINSTANCE,
    MODEL,
    NUMBER_AS_SHAPE,
    STATIC_VALUE,
    TENSOR,
    TYPE,
    gives_integers,
    is_class_of_a_mode,
    is_method_of_tensor,
)
from terra_refactor.tf_model.registry import has_trait
from terra_refactor.tf_model.spec import Trait

_OF_SYMBOLIC: Final = frozenset({"op", "graph", "name", "consumers", "value_index"})
"""Attributes that symbolic tensors have and eager tensors do not."""


def check(view: ContextView) -> Iterator[LocalHazard]:
    called = {call.function for call in view.reached(Call)}
    for read in view.reached(AttributeRead):
        of_a_mode = read.name == "__class__" or is_eager_method(read.name)
        if of_a_mode and read.op not in called and view.is_symbolic(read.owner):
            yield _asks_for_mode(view, read.op)
        if read.name == "device" and view.is_symbolic(read.owner):
            yield LocalHazard(
                read.op,
                f"`{view.written(read.op)}` names the device of an eager tensor: in a graph it is empty",
                f"nothing depends on `{view.written(read.op)}`",
            )
    for operation in view.reached(Operation):
        if operation.symbol in ("is", "is not") and all(map(view.is_symbolic, operation.sides)):
            written = f" {operation.symbol} ".join(map(view.written, operation.sides))
            other = f"`{written}` is the same for the symbolic tensors of a graph"
            yield LocalHazard(
                operation.op, f"`{written}` depends on the identity of tensors, which differs in a graph", other
            )
    for call, name in view.library_calls():
        yield from _called(view, call, name)
    yield from _methods_of_networks(view)


def _methods_of_networks(view: ContextView) -> Iterator[LocalHazard]:
    """`self.model.predict(...)` of an unknown object that other code calls, `self.model(...)`: a Keras model."""
    for made in view.context.calls:
        call = None if made.unknown is None else view.made(made.op)
        method = view.made(call.function) if isinstance(call, Call) else None
        if (
            isinstance(method, AttributeRead)
            and has_trait(f"{MODEL}.{method.name}", Trait.EAGER_ONLY)
            and view.all_of(method.owner, lambda value: isinstance(value, UnknownValue))
            and _is_called(view, method.owner)
        ):
            written = view.written(made.op)
            yield LocalHazard(made.op, f"`{written}` is a method of a Keras model, which raises in a graph")


def _is_called(view: ContextView, number: OpId) -> bool:
    """Whether code calls the object itself: this function, or for an attribute of `self`, another method of the class."""
    held = view.made(number)
    if isinstance(held, NameRead):
        return any(
            _is_name(view.made(call.function), held.name) for call in view.codes.of(view.function.id).of_kind(Call)
        )
    if not isinstance(held, AttributeRead) or not _is_name(view.made(held.owner), "self"):
        return False
    for reader in view.codes.readers_of(held.name, by_name=True):
        if view.program.function(reader).parent == view.function.parent:
            code = view.codes.of(reader)
            for call in code.of_kind(Call):
                read = code.facts[call.function]
                if (
                    isinstance(read, AttributeRead)
                    and read.name == held.name
                    and _is_name(code.facts[read.owner], "self")
                ):
                    return True
    return False


def _is_name(fact: Fact | None, name: str) -> bool:
    return isinstance(fact, NameRead) and fact.name == name


def _called(view: ContextView, call: Call, name: str) -> Iterator[LocalHazard]:
    written = view.written(call.op)
    if name == HASATTR and _asks_for_eager_method(view, call, 2):
        yield LocalHazard(call.op, f"`{written}` differs for eager tensors: a graph takes the other branch")
    if (
        has_trait(name, Trait.ASKS_FOR_MODE)
        or (name == TYPE and call.first is not None and _asks_for_type(view, call))
        or (name == ISINSTANCE and _asks_for_class_of_mode(view, call))
        or (name == GETATTR and _asks_for_eager_method(view, call, 3))
    ):
        yield _asks_for_mode(view, call.op)
    if name == STATIC_VALUE and _has_value_eagerly_only(view, call):
        other = f"the code gives the same result with None, which `{written}` returns in a graph"
        parameter = None if call.first is None else view.parameter_behind(call.first)
        message = f"`{written}` returns the value of an eager tensor: in a graph it returns None"
        yield LocalHazard(call.op, message, other, parameter=parameter)
    if has_trait(name, Trait.FED_BY_SESSION) and not _is_in_other_graph(view, call):
        yield LocalHazard(call.op, f"`{written}` gets its value from a session: in a traced function it has none")
    if has_trait(name, Trait.REFUSED_EAGERLY) and not view.context.in_graph and not _is_in_other_graph(view, call):
        message = f"`{written}` raises an exception in eager execution, and a graph does not"
        yield LocalHazard(call.op, message, nature=Nature.REFUSED)
    first = call.first
    if has_trait(name, Trait.ASSIGNS_REFERENCE) and first is not None and not view.is_variable(first):
        owner = view.parameter_behind(first)
        if owner is not None and view.all_are(first, TensorValue):
            message = f"`{written}` assigns to a slice of a variable: a traced function gets a tensor in its place"
            yield LocalHazard(call.op, message, parameter=owner)
    if name in (COPY_OF_TENSOR, COPY_OF_VARIABLE):
        what = "a tensor of the call" if name == COPY_OF_TENSOR else "a variable"
        yield LocalHazard(call.op, f"`{written}` copies {what}: in a graph this raises")
    place = NUMBER_AS_SHAPE.get(name)
    shape = None if place is None else call.argument(*place)
    if shape is not None and view.all_of(shape, _is_number):
        message = f"`{written}` gets a number as its shape: eagerly it means one axis, in a graph this raises"
        yield LocalHazard(call.op, message)
    if not has_trait(name, Trait.EAGER_ONLY):
        return
    if is_method_of_tensor(name) and call.owner is not None:
        if view.is_captured(call.owner) and not view.is_variable(call.owner):
            # a tensor created before the trace is still eager; a variable is read in the graph
            return
    if has_trait(name, Trait.READS_VARIABLE) and first is not None and view.is_variable(first):
        unchanged = f"`{view.written(first)}` does not change after the graph is traced"
        yield LocalHazard(call.op, f"`{written}` reads the variable once, while the graph is traced", unchanged)
        return
    yield LocalHazard(call.op, f"`{written}` works on eager tensors only: in a graph it raises")


def _is_number(value: Value) -> bool:
    if isinstance(value, TensorValue):
        return value.type.shape == ()
    return isinstance(value, Constant) and type(value.value) is int


def _has_value_eagerly_only(view: ContextView, call: Call) -> bool:
    """Whether `tf.get_static_value` is called on a tensor that is computed when a graph runs, and that is not a size."""
    first = call.first
    if (
        first is None
        or not view.is_symbolic(first)
        or any(map(gives_integers, view.library_of(view.behind_name(first))))
    ):
        return False
    # the content passed by a call is that of an eager tensor
    return view.parameter_behind(first) is not None or not view.all_are(call.op, TensorValue)


def _is_in_other_graph(view: ContextView, call: Call) -> bool:
    """Whether an enclosing `with graph.as_default()` sets the graph of the placeholder."""
    unknown = any(
        outer.kind is RegionKind.WITH
        and (made := view.calls.get(outer.subject or 0)) is not None
        and made.unknown is not None
        for outer in view.enclosing(call.op)
    )
    return unknown or view.is_within(call.op, Trait.ENTERS_OTHER_GRAPH)


def _asks_for_mode(view: ContextView, number: OpId) -> LocalHazard:
    other = f"the code gives the same result with the other value that `{view.written(number)}` has in a graph"
    return LocalHazard(number, "it tests whether it runs eagerly: in a graph it takes the other branch", other)


def _asks_for_type(view: ContextView, call: Call) -> bool:
    """`type(tensor)`, and calls dispatched by `functools.singledispatch` on the type of eager tensors."""
    assert call.first is not None
    if view.calls[call.op].callees:
        return view.may_be_symbolic(call.first)
    if len(call.arguments) > 1 or not view.may_be_symbolic(call.first):
        return False
    # the value may be a tensor, and its type is compared with the class of eager tensors
    compared = [fact for fact in view.code.of_kind(Operation) if call.op in fact.sides]
    return view.is_symbolic(call.first) or any(
        any(map(is_class_of_a_mode, _classes(view, side)))
        for fact in compared
        for side in fact.sides
        if side != call.op
    )


def _asks_for_class_of_mode(view: ContextView, call: Call) -> bool:
    """`isinstance(tensor, EagerTensor)`, unless all other tensors are accepted, too."""
    if len(call.arguments) != 2 or not view.may_be_symbolic(call.arguments[0].value):
        return False
    asked = _classes(view, call.arguments[1].value)
    return TENSOR not in asked and any(map(is_class_of_a_mode, asked))


def _classes(view: ContextView, number: OpId) -> list[str]:
    """The canonical names of the library classes that a result is or, as a tuple, contains."""
    return [
        part.name
        for member in members(view.value(number))
        for part in (member.elements if isinstance(member, TupleValue) else (member,))
        if isinstance(part, LibraryValue)
    ]


def _asks_for_eager_method(view: ContextView, call: Call, arguments: int) -> bool:
    """`hasattr(tensor, "numpy")`, `getattr(tensor, "numpy", None)`, and the same for other methods that symbolic
    tensors do not have.
    """
    if len(call.arguments) != arguments or not view.is_symbolic(call.arguments[0].value):
        return False
    attribute = view.value(call.arguments[1].value)
    if not isinstance(attribute, Constant) or not isinstance(attribute.value, str):
        return False
    return attribute.value in _OF_SYMBOLIC or is_eager_method(attribute.value)


RULE: Final = Rule(
    id="TR301",
    name="eager-only-call",
    kind=RuleKind.HAZARD,
    severity=Severity.ERROR,
    summary="`.numpy()`, `.item()`, `.tolist()`, Keras `fit`/`predict`/`evaluate` and saving need eager tensors.",
    explanation=(
        "In a graph a tensor is symbolic: `.numpy()` raises `AttributeError: 'SymbolicTensor' object has no attribute 'numpy'`, and "
        "Keras's training and prediction loops raise an exception."
    ),
    samples=Samples(
        bad="""\
import tensorflow as tf


@tf.function
def step(x):
    return tf.reduce_sum(x).numpy()  # TR301


step(tf.ones([3]))
""",
        good="""\
import tensorflow as tf


@tf.function
def step(x):
    return tf.reduce_sum(x)


step(tf.ones([3])).numpy()
""",
        near_miss="""\
import tensorflow as tf

table = tf.constant([1.0, 2.0])


@tf.function
def step(x):
    return x * float(table.numpy()[0])


step(tf.ones([3]))
""",
    ),
    cure="Return the tensor and convert it outside of the function.",
    check=check,
    cured_by_shim=True,
)
