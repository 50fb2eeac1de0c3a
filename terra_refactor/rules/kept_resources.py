"""Tables and queues that a function creates (part of TR603).

Computes: calls that create a lookup table or a queue, which a graph creates only once; tables that cannot be changed count only if a tensor
parameter fills them. Needs: facts. Gives: `kept_resources`. Ignores: state that is tested before (`if self.table is None`).

Source: TensorFlow creates the resource when the function is traced, and initialises a table once; seen for each class of `KEEPS_CONTENTS`.
"""

from __future__ import annotations

from collections.abc import Iterator

from terra_refactor.domain.value import may_be_tensor, members
from terra_refactor.facts.records import Call, NameRead
from terra_refactor.facts.view import ContextView
from terra_refactor.rules.rule import LocalHazard
from terra_refactor.tf_model.spec import Trait


def kept_resources(view: ContextView) -> Iterator[LocalHazard]:
    """The calls that create them."""
    for call, _ in view.calls_with(Trait.KEEPS_CONTENTS):
        yield LocalHazard(
            call.op,
            f"`{view.written(call.op)}` creates something that a graph creates only once: calls of the graph share its contents",
        )
    for call, _ in view.calls_with(Trait.FILLED_ONCE):
        filling = next(_parameters_behind(view, call), None)
        if filling is not None:
            yield LocalHazard(
                call.op,
                f"`{view.written(call.op)}` is filled only once in a graph: later calls find the contents of the first `{filling}`",
            )


def _parameters_behind(view: ContextView, call: Call) -> Iterator[str]:
    """The parameters with tensors from which the contents of a table are computed."""
    for argument in call.arguments:
        for fact in view.code.behind(argument.value):
            if isinstance(fact, NameRead) and view.code.has_parameter(fact.name):
                if any(map(may_be_tensor, members(view.value(fact.op)))):
                    yield fact.name
