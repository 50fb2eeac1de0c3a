"""Remove `@tf.function`.

    @tf.function(
        reduce_retracing=True,
    )                           ->    def step(x):
    def step(x):                          ...
        ...

Gives: the deletion of the decorator's lines, including trailing comments, which refer to the decorator. Comments on
separate lines stay, and so does the import of TensorFlow, even if it becomes unused.
"""

from __future__ import annotations

from terra_refactor.classify.decision import Decision
from terra_refactor.refactor.locate import DefinitionSite
from terra_refactor.refactor.transforms.context import FileContext, Made, NotMade, Transformed
from terra_refactor.refactor.transforms.placement import decorators_named
from terra_refactor.syntax.edit import Edit
from terra_refactor.tf_model.graph_traits import TF_FUNCTION


def remove_tf_function(context: FileContext, site: DefinitionSite, decision: Decision) -> Transformed:
    """The edits that remove the definition's `tf.function`."""
    found = decorators_named(context.names, site, TF_FUNCTION)
    if not found:
        return NotMade(no_decorator_reason(decision))
    return Made(tuple(Edit(decorator.line_start, decorator.line_end, "") for decorator in found))


def no_decorator_reason(decision: Decision) -> str:
    """The reason why there is no decorator to change."""
    if decision.hybrid:
        return "its `tf.function` is not written as a decorator here (`f = tf.function(f)`, or under another name): change it by hand"
    return "it is not a `tf.function`"
