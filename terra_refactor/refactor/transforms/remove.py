"""Remove `@tf.function`.

    @tf.function(
        reduce_retracing=True,
    )                           ->    def step(x):
    def step(x):                          ...
        ...

Gives: the deletion of the whole lines of the decorator, a comment at their end included: it speaks of the decorator.
Comments on lines of their own stay. The import of TensorFlow stays, even if nothing uses it any more.
"""

from __future__ import annotations

from terra_refactor.classify.decision import Decision
from terra_refactor.refactor.locate import DefinitionSite
from terra_refactor.refactor.transforms.context import FileContext, Made, NotMade, Transformed
from terra_refactor.refactor.transforms.placement import decorators_named
from terra_refactor.syntax.edit import Edit
from terra_refactor.tf_model.graph_traits import TF_FUNCTION


def remove_tf_function(context: FileContext, site: DefinitionSite, decision: Decision) -> Transformed:
    """The edits that make the definition a plain function again."""
    found = decorators_named(context.names, site, TF_FUNCTION)
    if not found:
        return NotMade(no_decorator_reason(decision))
    return Made(tuple(Edit(decorator.line_start, decorator.line_end, "") for decorator in found))


def no_decorator_reason(decision: Decision) -> str:
    """The reason why there is no decorator to change."""
    if decision.hybrid:
        return "its `tf.function` is not written as a decorator here (`f = tf.function(f)`, or under another name): change it by hand"
    return "it is not a `tf.function`"
