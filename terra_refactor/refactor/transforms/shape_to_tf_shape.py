"""Replace a static size by the size at run time.

    rows = x.shape[0]      ->    rows = tf.shape(x)[0]

Gives: the edit of one item. Ignores: shapes that are first stored in a variable.
"""

from __future__ import annotations

import libcst as cst

from terra_refactor.refactor.imports import Missing, Unreachable, reach_tensorflow
from terra_refactor.refactor.places import NodePlace
from terra_refactor.refactor.transforms.context import FileContext, Made, NotMade, Transformed
from terra_refactor.rules.rule import CureHint
from terra_refactor.syntax.edit import Edit


def shape_to_tf_shape(context: FileContext, place: NodePlace, hint: CureHint) -> Transformed:
    """The edit that replaces `x.shape[i]` by an item of `tf.shape(x)`."""
    match place.node:
        case cst.Subscript(value=cst.Attribute(value=tensor, attr=cst.Name("shape")) as shape):
            pass
        case _:
            return NotMade("the shape went through a variable: write `tf.shape(...)` where it is taken")
    reached = reach_tensorflow(context.names, place)
    if isinstance(reached, Unreachable):
        return NotMade(reached.reason)
    start, end = context.module.offsets(shape)
    if shape.lpar:
        return NotMade("the shape stands in parentheses")
    imports = (reached.statement,) if isinstance(reached, Missing) else ()
    edit = Edit(start, end, f"{reached.expression}.shape({context.module.source_of(tensor)})")
    return Made((edit,), imports)
