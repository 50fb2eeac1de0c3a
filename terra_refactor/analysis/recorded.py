"""Parameters that were tensors in recorded runs.

Computes: the names of the parameters that received only tensors (or None). Needs: the record. Gives: `recorded_tensors`.

A run shows what happened, not what must happen. So the value of such a parameter stays unknown, with a reason that
makes its function a candidate; no rule is certain because of it, and callees do not use it.
"""

from __future__ import annotations

from terra_refactor.record.record_file import FunctionSeen


def recorded_tensors(seen: FunctionSeen) -> frozenset[str]:
    """The parameters that were tensors."""
    found: set[str] = set()
    for parameter in seen.parameters:
        kinds = {each.type[0] if each.type != ("primitive", "NoneType") else "" for each in parameter.types}
        if kinds - {""} and kinds <= {"tensor", "variable", ""}:
            found.add(parameter.name)
    return frozenset(found)
