"""Pass a tensor instead of a Python number.

    step(x, number)      ->    step(x, tf.constant(number))

Needs: the hint's detail `argument`, the position of the argument in the call. Gives: the edit of that argument.
"""

from __future__ import annotations

import libcst as cst

from terra_refactor.refactor.imports import Missing, Unreachable, reach_tensorflow
from terra_refactor.refactor.places import NodePlace
from terra_refactor.refactor.transforms.context import FileContext, Made, NotMade, Transformed
from terra_refactor.rules.rule import CureHint
from terra_refactor.syntax.edit import Edit


def scalar_to_tensor(context: FileContext, place: NodePlace, hint: CureHint) -> Transformed:
    """The edit that puts `tf.constant(...)` around an argument."""
    if not isinstance(place.node, cst.Call):
        return NotMade("it is not a plain call")
    argument = place.node.args[int(hint.detail("argument"))]
    if argument.star:
        return NotMade("it unpacks its arguments with `*` or `**`")
    reached = reach_tensorflow(context.names, place)
    if isinstance(reached, Unreachable):
        return NotMade(reached.reason)
    start, end = context.module.offsets(argument.value)
    edits = (Edit(start, end, f"{reached.expression}.constant({context.module.source_of(argument.value)})"),)
    return Made(edits, (reached.statement,) if isinstance(reached, Missing) else ())
