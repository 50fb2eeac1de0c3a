"""Add `@co_execute`, the shim that runs Python as written and TensorFlow's operations as compiled segments.

    def step(x):              @co_execute
        ...             ->    def step(x):
                                  ...

An existing `@tf.function` is replaced. Gives: one line, and the import of `co_execute` from `terra_refactor.runtime`.
"""

from __future__ import annotations

from terra_refactor.classify.decision import Decision
from terra_refactor.refactor.imports import Missing, Unreachable, reach_co_execute
from terra_refactor.refactor.locate import DefinitionSite
from terra_refactor.refactor.transforms.context import FileContext, Made, NotMade, Transformed, line_insertion
from terra_refactor.refactor.transforms.placement import CO_EXECUTE, decorators_named, place_for_decorator
from terra_refactor.refactor.transforms.remove import no_decorator_reason
from terra_refactor.syntax.edit import Edit
from terra_refactor.tf_model.graph_traits import TF_FUNCTION


def add_co_execute(context: FileContext, site: DefinitionSite, decision: Decision) -> Transformed:
    """The edits that put the definition under the shim."""
    if decorators_named(context.names, site, CO_EXECUTE):
        return NotMade("it is already under `co_execute`")
    place = place_for_decorator(context.names, site)
    if isinstance(place, NotMade):
        return place
    hybrid = decorators_named(context.names, site, TF_FUNCTION)
    if decision.hybrid and not hybrid:
        return NotMade(no_decorator_reason(decision))
    reached = reach_co_execute(context.names, site)
    if isinstance(reached, Unreachable):
        return NotMade(reached.reason)
    removals = [Edit(decorator.line_start, decorator.line_end, "") for decorator in hybrid]
    line = line_insertion(context, site, place, f"@{reached.expression}")
    edits = [
        Edit(removal.start, removal.end, line.replacement) if removal.start == place else removal
        for removal in removals
    ]
    if len(edits) == len(removals) and not any(edit.replacement for edit in edits):
        edits.append(line)
    return Made(tuple(sorted(edits)), (reached.statement,) if isinstance(reached, Missing) else ())
