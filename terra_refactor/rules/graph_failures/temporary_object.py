"""TR335: a traced method of an object that nothing else holds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from terra_refactor.analysis.facts import ObjectKind, ProgramFacts
from terra_refactor.domain.value import Reference, UnknownValue, members
from terra_refactor.facts.codes import TEMPORARY, Codes
from terra_refactor.facts.records import AttributeRead
from terra_refactor.facts.temporaries import is_temporary, outlives_object
from terra_refactor.facts.view import ContextView
from terra_refactor.rules.rule import LocalHazard, Rule, RuleKind, Samples, Severity


def check(view: ContextView) -> Iterator[LocalHazard]:
    function, place = view.function, view.code.first()
    # Python looks these up in the class, by a caller that holds the object.
    is_implicit = function.name.startswith("__") and function.name.endswith("__")
    if (
        place is None
        or is_implicit
        or not function.takes_self
        or any(_is_of_class(each.text) for each in function.decorators)
    ):
        return
    own = function.parameters[0].name
    classes = {
        view.facts.objects[member.object].name
        for value in view.values_given(own)
        for member in members(value)
        if isinstance(member, Reference)
    }
    for written, names in view.codes.answered(
        _reads_from_temporaries, view.facts, view.program.attribute_name(function)
    ):
        if names is None or not classes.isdisjoint(names):
            yield LocalHazard(
                place,
                f"`{written}` uses this method of an object that nothing else holds: a traced method refers to its object only weakly, "
                f"so `{own}` is None when it runs",
                boundary=True,
                in_use="the object is in no reference cycle, which keeps it until the next garbage collection",
            )
            return


def _is_of_class(decorator: str) -> bool:
    return decorator.rpartition(".")[2] in ("classmethod", "property", "cached_property")


def _reads_from_temporaries(
    codes: Codes, facts: ProgramFacts, name: str
) -> tuple[tuple[str, frozenset[str] | None], ...]:
    """The reads of an attribute of an object that is released after it, and the names of its classes; None if they are unknown."""
    return tuple(_find(codes, facts, name))


def _find(codes: Codes, facts: ProgramFacts, name: str) -> Iterator[tuple[str, frozenset[str] | None]]:
    for reader in codes.naming(f"{name}{TEMPORARY}"):
        for context in facts.contexts_of(reader):
            caller = ContextView(codes, facts, context)
            for read in caller.reached(AttributeRead):
                if read.name == name and (is_temporary(caller, read.owner) or outlives_object(caller, read)):
                    held = members(caller.value(read.owner))
                    instances = [facts.objects[each.object] for each in held if isinstance(each, Reference)]
                    names = frozenset(found.name for found in instances if found.kind is ObjectKind.INSTANCE)
                    is_unknown = any(isinstance(each, UnknownValue) for each in held)
                    yield caller.written(read.op), None if is_unknown else names


RULE: Final = Rule(
    id="TR335",
    name="method-of-temporary-object",
    kind=RuleKind.HAZARD,
    severity=Severity.ERROR,
    summary="A traced method refers to its object weakly: called on an object that nothing else holds, it fails.",
    explanation=(
        "`Scaler(2.0).apply(x)` looks up `apply` on an object that only this expression holds. A plain method keeps its object alive. A "
        "method with `@tf.function` refers to it weakly, so the object is gone before the body runs, and `self` is None: "
        "`AttributeError: 'NoneType' object has no attribute ...`. The same holds for the object of a factory or of `copy.copy`, and "
        "for a method that a function returns of an object in a local variable. `Scaler(2.0)(x)` works: Python looks up `__call__` in "
        "the class."
    ),
    samples=Samples(
        bad="""\
import tensorflow as tf


class Scaler:
    def __init__(self, factor):
        self.factor = factor

    @tf.function
    def apply(self, x):
        return x * self.factor  # TR335


result = Scaler(2.0).apply(tf.ones([3]))
""",
        good="""\
import tensorflow as tf


class Scaler:
    def __init__(self, factor):
        self.factor = factor

    @tf.function
    def apply(self, x):
        return x * self.factor


scaler = Scaler(2.0)
result = scaler.apply(tf.ones([3]))
""",
        near_miss="""\
import tensorflow as tf


class Scaler:
    def __init__(self, factor):
        self.factor = factor

    @tf.function
    def __call__(self, x):
        return x * self.factor


result = Scaler(2.0)(tf.ones([3]))
""",
    ),
    cure="Keep the object in a variable as long as its method is used.",
    check=check,
)
