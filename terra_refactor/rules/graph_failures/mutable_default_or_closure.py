"""TR317: state kept between calls in a mutable default or a captured variable."""

from __future__ import annotations

from typing import Final

from terra_refactor.domain.effect import EffectKind
from terra_refactor.domain.value import Reference, members
from terra_refactor.facts.records import Call, ItemDeletion, ItemWrite, NameRead, NameWrite
from terra_refactor.facts.view import ContextView
from terra_refactor.ir.ids import OpId
from terra_refactor.rules.rule import Rule, RuleKind, Samples, Severity


def keeps_state(view: ContextView, number: OpId) -> bool:
    """Whether the written object is a captured variable that the function also reads, or a mutable default."""
    match view.made(number):
        case NameWrite(name=name) as write:
            return write.is_captured and bool(view.code.reads_of(name))
        case ItemWrite(owner=owner) | ItemDeletion(owner=owner) | Call(owner=int() as owner):
            container = view.made(owner)
        case _:
            return False
    if not isinstance(container, NameRead):
        return False
    parameter = next((each for each in view.function.parameters if each.name == container.name), None)
    return parameter is not None and parameter.has_default and _is_default(view, container.name)


def _is_default(view: ContextView, name: str) -> bool:
    """Whether the object is the default created by the definition, shared by all calls that omit the argument."""
    parent = view.function.parent
    made = None if parent is None else view.codes.of(parent).maker_of(view.function.id)
    default = None if made is None else dict(made.defaults).get(name)
    if parent is None or default is None:
        return False
    values = view.facts.values_of(parent, default)
    if not any(isinstance(member, Reference) for value in values for member in members(value)):
        return False
    # a call may use either: the default, unless every call passes an argument
    return any(
        call is not None and call.is_plain and caller.given_for(call, view.function, name) is None
        for caller, call in view.calls_of_function()
    )


RULE: Final = Rule(
    id="TR317",
    name="mutable-default-or-closure",
    kind=RuleKind.HAZARD,
    severity=Severity.ERROR,
    summary="State that a function keeps between calls in a mutable default or a captured variable is stale in a graph.",
    explanation=(
        "The trace reads the state once and changes it once. A captured variable that is read and assigned (`nonlocal`) has the "
        "traced value in every call; changing a default raises `ValueError: ... should not modify its Python input arguments. "
        "Modifying a copy is allowed`."
    ),
    samples=Samples(
        bad="""\
import tensorflow as tf


def make():
    total = 0.0

    @tf.function
    def add(x):
        nonlocal total
        total = total + tf.reduce_sum(x)  # TR317
        return total

    return add


add = make()
results = [add(tf.ones([3])), add(tf.ones([3]))]
""",
        good="""\
import tensorflow as tf


def make():
    total = tf.Variable(0.0)

    @tf.function
    def add(x):
        return total.assign_add(tf.reduce_sum(x)) + 0.0

    return add


add = make()
results = [add(tf.ones([3])), add(tf.ones([3]))]
""",
        near_miss="""\
import tensorflow as tf


@tf.function
def add(x, scales=(1.0, 2.0), parts=None):
    parts = []
    for scale in scales:
        parts.append(x * scale)
    return tf.add_n(parts)


results = [add(tf.ones([3])), add(tf.ones([3]))]
""",
    ),
    cure="Keep the state in a `tf.Variable`, or pass it in and return it.",
    effects=frozenset({EffectKind.STATE_WRITE}),
    only_effects=keeps_state,
    cured_by_shim=True,
    effect_message="`{done}` runs only while a graph is traced; later calls see `{changed}` as it was then",
    silent=True,
)
