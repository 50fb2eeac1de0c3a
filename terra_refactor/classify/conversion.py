"""Code that AutoGraph does not convert, and the effect on tensor conditions in it.

AutoGraph converts a callee of a traced function if the call is in converted code: `f(x)`, `obj.method(x)`, `obj(x)`.
It does not convert functions that Python or a library calls: properties, operators, `__getitem__`, `__enter__`,
constructors, methods that a `typing.NamedTuple` defines, the functions that `map`, `filter`, `sorted` or
`functools.reduce` get, and all functions that Keras calls (`call` through `layer(x)`, `train_step`, losses), unless
they are defined in converted code. It also does not convert `do_not_convert` functions, those under
`tf.function(autograph=False)`, and their callees. There, `if`, `while`, `for`, `and` and `or` on a symbolic tensor
raise. Source: behaviour of TensorFlow 2.21 with Keras 3.15; tests/proof runs the cases. Computes: the places in a
context's own code where the value of a tensor controls Python, and whether a call leads to code that is not
converted. Needs: the view of a context. Gives: `tensor_decisions`, `leaves_conversion`, `is_never_converted`.
Ignores: Keras 2, which converted `call`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from terra_refactor.analysis.facts import BranchKind, CallFact
from terra_refactor.classify.candidates import has_own_gradient, is_keras_class
from terra_refactor.domain.value import FALSE, members
from terra_refactor.facts.class_bases import base_values
from terra_refactor.facts.records import DECISIONS, Call, RegionKind
from terra_refactor.facts.view import ContextView
from terra_refactor.ir.function import Function
from terra_refactor.ir.ids import OpId
from terra_refactor.tf_model.class_names import NAMED_TUPLE
from terra_refactor.tf_model.graph_traits import is_of_keras, is_of_tensorflow
from terra_refactor.tf_model.registry import has_trait
from terra_refactor.tf_model.spec import Trait

_CONSTRUCTORS: Final = frozenset({"__init__", "__new__", "__post_init__"})
_CALLED_BY_KERAS: Final = frozenset({"call", "train_step", "test_step", "predict_step", "compute_loss"})


def tensor_decisions(view: ContextView) -> Iterator[OpId]:
    """The statements and expressions in which the value of a symbolic tensor controls Python, or Python iterates over a tensor."""
    for number, fact in view.branches.items():
        region = view.code.regions.get(number)
        if region is None or region.subject is None or fact.kind not in (BranchKind.TENSOR, BranchKind.DATASET):
            continue
        if region.kind is RegionKind.FOR:
            # while a graph is traced no tensor can be iterated over, not even one created eagerly before
            goes_through = view.is_symbolic(region.subject) or view.is_captured(region.subject)
            if fact.kind is BranchKind.TENSOR and goes_through:
                yield number
        elif region.kind in DECISIONS and not region.is_assert and view.is_symbolic(region.subject):
            yield number


def leaves_conversion(view: ContextView, call: CallFact, callee: Function) -> bool:
    """Whether AutoGraph does not convert the callee of this call, although it converts the caller."""
    if _is_nested_in(view, callee):
        return False
    if not isinstance(view.made(call.op), Call) or callee.name in _CONSTRUCTORS:
        return True
    if (
        callee.takes_self
        and callee.parent is not None
        and any(NAMED_TUPLE in members(base) for base in base_values(view.codes, view.facts, callee.parent))
    ):
        return True
    return any(
        has_trait(name, Trait.CALLS_UNCONVERTED)
        or not (is_of_tensorflow(name) or has_trait(name, Trait.CALLS_CONVERTED))
        for name in call.library
    )


def _is_nested_in(view: ContextView, callee: Function) -> bool:
    """Whether a function is defined in the code of the caller, with which AutoGraph converts it, whoever calls it."""
    around = callee.parent
    while around is not None and around != view.function.id:
        around = view.program.function(around).parent
    return around is not None


def is_never_converted(view: ContextView) -> bool:
    """Whether the function is never converted, whatever calls it (except, for Keras's methods, an explicit call)."""
    return is_excluded(view) or is_called_by_keras(view)


def is_excluded(view: ContextView) -> bool:
    """Whether the function itself is excluded from conversion."""
    if any("do_not_convert" in decorator.text for decorator in view.function.decorators):
        return True
    if dict(view.function_facts.hybrid or ()).get("autograph") == FALSE:
        return True
    return has_own_gradient(view.program, view.facts, view.function.id)


def is_called_by_keras(view: ContextView) -> bool:
    """Whether Keras 3 calls the method unconverted; Keras 2 converted it."""
    function = view.function
    return (
        function.name in _CALLED_BY_KERAS
        and function.parent is not None
        and view.function_facts.hybrid is None
        and is_keras_class(view.codes, view.facts, function.parent)
    )


def leaves_conversion_for_keras(view: ContextView, call: CallFact, callee: Function) -> bool:
    """Whether AutoGraph does not convert the callee of this call, but would if Keras 2 called it."""
    if not leaves_conversion(view, call, callee):
        return False
    return (
        isinstance(view.made(call.op), Call)
        and callee.name not in _CONSTRUCTORS
        and all(map(is_of_keras, call.library))
    )
