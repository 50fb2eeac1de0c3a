"""The calls from a function to the code that keeps it from being a graph.

Computes: the decisions along the path, each with its hazard. Needs: the decisions about the program. Gives:
`way_to_hazard`.
"""

from __future__ import annotations

from collections.abc import Mapping

from terra_refactor.classify.decision import Decision, Hazard
from terra_refactor.ir.ids import FunctionId


def way_to_hazard(
    decisions: Mapping[FunctionId, Decision], decision: Decision, hazard: Hazard
) -> tuple[tuple[Decision, Hazard], ...]:
    """The functions from a decided one to that whose code is the hazard; each hazard has the position of the call.

    The path is shorter if there is no decision about a function on it (a module's body, a lambda).
    """
    way = [(decision, hazard)]
    while hazard.via:
        following = [
            (callee, reason)
            for callee in (decisions.get(function) for function in decision.callees)
            if callee is not None and callee.qualname == hazard.via[0]
            for reason in callee.hazards
            if (reason.rule, reason.via) == (hazard.rule, hazard.via[1:])
        ]
        if not following:
            break
        # of several, the one with the same message
        message = hazard.message
        decision, hazard = min(following, key=lambda found: found[1].message != message)
        way.append((decision, hazard))
    return tuple(way)
