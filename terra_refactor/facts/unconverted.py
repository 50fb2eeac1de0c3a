"""Python constructs that AutoGraph does not convert: it warns, and runs the function unconverted.

Computes: the first such construct of a function. Needs: a `ContextView`. Gives: `unconverted_construct`. Source:
AutoGraph's `unsupported_features_checker`, and the constructs that its parser does not know.
"""

from __future__ import annotations

from terra_refactor.facts.records import AttributeRead, AttributeWrite, NameWrite, Region
from terra_refactor.facts.view import ContextView


def unconverted_construct(view: ContextView) -> str | None:
    """The construct that AutoGraph cannot convert, so that the function stays unconverted; None if there is none."""
    code = view.code
    found = [
        *((region.op, "`match`") for region in code.of_kind(Region) if region.is_case),
        *((region.op, "`else` of a loop") for region in code.of_kind(Region) if region.is_loop and region.has_else),
        *((write.op, "`:=`") for write in code.of_kind(NameWrite) if write.is_expression),
    ]
    if (prefix := view.program.private_prefix(view.function)) is not None:
        attributes: list[AttributeRead | AttributeWrite] = [*code.of_kind(AttributeRead), *code.of_kind(AttributeWrite)]
        found += [
            (each.op, f"the private name `{each.name.removeprefix(prefix)}`")
            for each in attributes
            if each.name.startswith(f"{prefix}__") and not each.name.endswith("__")
        ]
    return min(found)[1] if found else None  # the first
