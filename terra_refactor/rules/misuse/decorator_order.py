"""TR605: `tf.function` above a decorator whose result it cannot trace, or applied twice."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from terra_refactor.facts.records import Call
from terra_refactor.facts.view import ContextView
from terra_refactor.ir.ids import OpId
from terra_refactor.rules.rule import LocalHazard, Rule, RuleKind, Samples, Severity
from terra_refactor.tf_model.decorators import Decoration, decoration

_NOT_BELOW: Final[Mapping[Decoration, str]] = {
    Decoration.PROPERTY: "is not a function: `TypeError: <property object> is not a callable object`",
    Decoration.CACHED_PROPERTY: "is not a function: `TypeError: <functools.cached_property object> is not a callable object`",
    Decoration.CLASS_METHOD: "is not a function: `TypeError: <classmethod(...)> is not a callable object`",
    Decoration.CONTEXT_MANAGER: "gives a context manager, which no graph can return",
    Decoration.HYBRIDISES: "is a `tf.function` already: every call goes through two of them",
}


def check(view: ContextView) -> Iterator[LocalHazard]:
    below: dict[OpId, list[Decoration]] = {}
    for call in view.code.of_kind(Call):
        if call.decorates is None:
            continue
        found = [decoration(name)[0] for name in view.library_of(call.op)]
        if Decoration.HYBRIDISES in found:
            wrong = next((each for each in reversed(below.get(call.decorates, [])) if each in _NOT_BELOW), None)
            if wrong is not None:
                yield LocalHazard(call.op, f"the object below this `tf.function` {_NOT_BELOW[wrong]}")
        below.setdefault(call.decorates, []).extend(found)


RULE: Final = Rule(
    id="TR605",
    name="decorator-order",
    kind=RuleKind.DIAGNOSTIC,
    severity=Severity.WARNING,
    summary="`tf.function` above `property`, `classmethod` or a context manager raises; applied twice, it only costs time.",
    explanation=(
        "`tf.function` takes a function. A property or class method is not a function (`TypeError: ... is not a callable object`, at the "
        "first use); `tf.function` has to be below them. Applied twice, it nests one graph in another."
    ),
    samples=Samples(
        bad="""\
import tensorflow as tf


class Ring:
    def __init__(self):
        self.radius = tf.constant(2.0)

    @tf.function  # TR605
    @property
    def area(self):
        return 3.0 * self.radius * self.radius


area = Ring().area
""",
        good="""\
import tensorflow as tf


class Ring:
    def __init__(self):
        self.radius = tf.constant(2.0)

    @property
    @tf.function
    def area(self):
        return 3.0 * self.radius * self.radius


ring = Ring()
area = ring.area
""",
        near_miss="""\
import tensorflow as tf


class Ring:
    @tf.function
    @staticmethod
    def area(radius):
        return 3.0 * radius * radius


area = Ring.area(tf.constant(2.0))
""",
    ),
    cure="Put `tf.function` next to the `def`, once.",
    check=check,
)
