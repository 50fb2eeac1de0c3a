"""TR104: tensors that are stored beyond the call that computes them."""

from __future__ import annotations

from typing import Final

from terra_refactor.domain.effect import EffectKind
from terra_refactor.facts.records import Call, Write
from terra_refactor.facts.view import ContextView
from terra_refactor.ir.ids import OpId
from terra_refactor.rules.rule import Rule, RuleKind, Samples, Severity
from terra_refactor.tf_model.spec import Trait

_ADDING: Final = frozenset({"append", "appendleft", "add", "insert", "extend", "setdefault", "put"})


def stores_tensor(view: ContextView, number: OpId) -> bool:
    """Whether the written value is a tensor of the trace, or a display that contains one."""
    if view.is_within(number, Trait.LEAVES_GRAPH):
        return False
    if any(effect.keeps_tensor and not effect.via and effect.site.op == number for effect in view.context.effects):
        return True
    match view.made(number):
        case Write(value=value):
            return _is_kept(view, value)
        case Call(owner=int(), method=method, arguments=arguments) if method in _ADDING:
            return any(_is_kept(view, argument.value) for argument in arguments)
        case _:
            return False


def _is_kept(view: ContextView, number: OpId) -> bool:
    # a variable is not a tensor of the trace
    return view.holds_symbolic(number) and not view.is_variable(number)


RULE: Final = Rule(
    id="TR104",
    name="leaked-symbolic-tensor",
    kind=RuleKind.HAZARD,
    severity=Severity.ERROR,
    summary="A graph stores a symbolic tensor in an attribute, a global or a container; it has no value after the call.",
    explanation=(
        "The assignment runs once per trace and stores a symbolic tensor. Later use raises `TypeError: <tf.Tensor ...> is out of scope and "
        "cannot be used here`, or (in an attribute of a Keras layer) silently keeps a tensor without a value. In eager code the stored "
        "value is that of the last call."
    ),
    samples=Samples(
        bad="""\
import tensorflow as tf


class Encoder:
    def __init__(self):
        self.last = None

    @tf.function
    def encode(self, x):
        y = tf.tanh(x)
        self.last = y  # TR104
        return y


encoder = Encoder()
encoder.encode(tf.ones([3]))
total = tf.reduce_sum(encoder.last)
""",
        good="""\
import tensorflow as tf


class Encoder:
    def __init__(self):
        self.last = tf.Variable(tf.zeros([3]))

    @tf.function
    def encode(self, x):
        y = tf.tanh(x)
        self.last.assign(y)
        return y


encoder = Encoder()
encoder.encode(tf.ones([3]))
total = tf.reduce_sum(encoder.last)
""",
        near_miss="""\
import tensorflow as tf


class Parts:
    def __init__(self):
        self.last = None


@tf.function
def encode(x):
    parts = Parts()
    parts.last = tf.tanh(x)
    return parts.last * 2.0


total = tf.reduce_sum(encode(tf.ones([3])))
""",
    ),
    cure="Return the tensor, or assign it to a `tf.Variable`.",
    effects=frozenset({EffectKind.STATE_WRITE}),
    only_effects=stores_tensor,
    cured_by_shim=True,
    wrong_in_graph=True,
    keeps_tensor=True,
    effect_message="`{done}` keeps a symbolic tensor of the trace in `{changed}`, where it has no value after the call",
)
