"""Add `@tf.function`.

    def step(x):              @tf.function(reduce_retracing=True)
        ...             ->    def step(x):
                                  ...

Needs: a decision with the arguments it should have. Gives: one inserted line, and an import if TensorFlow is not
imported yet.
"""

from __future__ import annotations

from terra_refactor.classify.decision import Decision
from terra_refactor.refactor.imports import Missing, Unreachable, reach_tensorflow, reach_tf_function
from terra_refactor.refactor.locate import DefinitionSite
from terra_refactor.refactor.transforms.arguments import respell, speaks_of_tensorflow
from terra_refactor.refactor.transforms.context import FileContext, Made, NotMade, Transformed, line_insertion
from terra_refactor.refactor.transforms.placement import decorators_named, place_for_decorator
from terra_refactor.tf_model.graph_traits import TF_FUNCTION


def add_tf_function(context: FileContext, site: DefinitionSite, decision: Decision) -> Transformed:
    """The edits that make the definition a `tf.function`."""
    if decorators_named(context.names, site, TF_FUNCTION):
        return NotMade("it is already a `tf.function`")
    place = place_for_decorator(context.names, site)
    if isinstance(place, NotMade):
        return place
    reached = reach_tf_function(context.names, site)
    if isinstance(reached, Unreachable):
        return NotMade(reached.reason)
    imports = [reached.statement] if isinstance(reached, Missing) else []
    arguments = decision.proposal.arguments
    if any(speaks_of_tensorflow(text) for _, text in arguments):
        module = reach_tensorflow(context.names, site)
        if isinstance(module, Unreachable):
            return NotMade(module.reason)
        if isinstance(module, Missing):
            imports.append(module.statement)
        arguments = tuple((keyword, respell(text, module.expression)) for keyword, text in arguments)
    written = ", ".join(f"{keyword}={text}" for keyword, text in arguments)
    line = f"@{reached.expression}({written})" if written else f"@{reached.expression}"
    return Made((line_insertion(context, site, place, line),), tuple(imports))
