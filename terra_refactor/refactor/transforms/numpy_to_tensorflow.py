"""Replace a NumPy call by the equivalent TensorFlow operation.

    np.sum(x, axis=-1)      ->    tf.reduce_sum(x, axis=-1)
    np.clip(x, 0, 1)        ->    tf.clip_by_value(x, 0, 1)

Needs: the hint's detail `function` (NumPy's canonical name), given if the dtypes agree. Gives: the edits of the
function's name and of keyword names. Rejects calls with arguments that TensorFlow's function does not have.
"""

from __future__ import annotations

import libcst as cst

from terra_refactor.refactor.imports import Missing, Unreachable, reach_tensorflow
from terra_refactor.refactor.places import NodePlace
from terra_refactor.refactor.transforms.context import FileContext, Made, NotMade, Transformed
from terra_refactor.rules.rule import CureHint
from terra_refactor.syntax.edit import Edit
from terra_refactor.tf_model.numpy_equivalents import numpy_equivalent


def numpy_to_tensorflow(context: FileContext, place: NodePlace, hint: CureHint) -> Transformed:
    """The edits that replace a NumPy call by a TensorFlow call."""
    call = place.node
    equivalent = numpy_equivalent(hint.detail("function"))
    if not isinstance(call, cst.Call) or equivalent is None:
        return NotMade("TensorFlow has no operation that means the same")
    reached = reach_tensorflow(context.names, place)
    if isinstance(reached, Unreachable):
        return NotMade(reached.reason)
    start, end = context.module.offsets(call.func)
    edits = [Edit(start, end, f"{reached.expression}.{equivalent.name}")]
    given: set[str] = set()
    for position, argument in enumerate(call.args):
        if argument.star:
            return NotMade("it unpacks its arguments with `*` or `**`")
        if argument.keyword is None:
            if position >= len(equivalent.parameters):
                return NotMade("it has an argument that the TensorFlow operation does not have")
            name = equivalent.parameters[position]
            if position and equivalent.renamed[position] == "keepdims":
                return NotMade("it passes `keepdims` by position")
        else:
            name = argument.keyword.value
            if name not in equivalent.parameters:
                return NotMade(f"the TensorFlow operation has no `{name}`")
            start, end = context.module.offsets(argument.keyword)
            edits.append(Edit(start, end, equivalent.renamed[equivalent.parameters.index(name)]))
        given.add(name)
    missing = sorted(equivalent.required - given)
    if missing:
        return NotMade(f"without `{missing[0]}` the TensorFlow operation has another meaning")
    return Made(tuple(edits), (reached.statement,) if isinstance(reached, Missing) else ())
