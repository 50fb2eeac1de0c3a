"""Whether AutoGraph rewrites a function only since it is decorated.

Needs: the hazards of a program and the judgement about a function that is a graph. Gives: `is_converted_by_decorator`. Ignores: functions
that only the change would make graphs.
"""

from __future__ import annotations

from terra_refactor.classify.conversion import leaves_conversion
from terra_refactor.classify.hazards import HazardMap
from terra_refactor.classify.judgement import Judgement


def is_converted_by_decorator(hazards: HazardMap, judgement: Judgement) -> bool:
    """Whether tensors decide something in a function that its callers would leave unconverted, as Keras does with `call`."""
    if not any(hazards.unconverted(context) for context in judgement.contexts):
        return False
    for caller in judgement.found.callers:
        view = hazards.view(hazards.facts.contexts[caller.context])
        call = view.calls.get(caller.op)
        if call is None or leaves_conversion(view, call, judgement.code):
            return True
    return False
