"""Collect the elements of a tensor loop in a `tf.TensorArray` instead of a Python list.

    rows = []                          rows = tf.TensorArray(tf.float32, size=0, dynamic_size=True)
    for row in x:                      for row in x:
        rows.append(row * 2.0)    ->       rows = rows.write(rows.size(), row * 2.0)
    return tf.stack(rows)              return rows.stack()

Needs: the hint's detail `dtype`, of the appended tensors. Gives: the edits of all uses of the list. Rejects lists
with uses other than appends at one place, followed by stacking or concatenation.
"""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from terra_refactor.refactor.identifiers import occurrences
from terra_refactor.refactor.imports import Missing, Unreachable, reach_tensorflow
from terra_refactor.refactor.places import NodePlace, parents_of
from terra_refactor.refactor.transforms.context import FileContext, Made, NotMade, Transformed
from terra_refactor.rules.rule import CureHint
from terra_refactor.syntax.edit import Edit

_STACKS = ("tensorflow.stack", "tensorflow.convert_to_tensor")


def list_to_tensor_array(context: FileContext, place: NodePlace, hint: CureHint) -> Transformed:
    """The edits that replace a list by a `tf.TensorArray`."""
    module = context.module
    function = place.function
    match place.node:
        case cst.Call(
            func=cst.Attribute(value=cst.Name(name) as filled, attr=cst.Name("append")),
            args=[cst.Arg(star="") as added],
        ) if function is not None:
            pass
        case _:
            return NotMade("it is not `list.append` in a function")
    reached = reach_tensorflow(context.names, place)
    if isinstance(reached, Unreachable):
        return NotMade(reached.reason)
    if not isinstance(place.ancestors[-1], cst.Expr):
        return NotMade("`append` is part of another expression")
    parents = parents_of(function)
    made = 0
    varies = False
    start, end = module.offsets(place.node)
    edits = [Edit(start, end, f"{name} = {name}.write({name}.size(), {module.source_of(added.value)})")]
    for use in occurrences(function.body, name):
        if use is filled:
            continue
        parent = parents[use]
        if isinstance(parent, cst.AssignTarget):
            assignment = parents[parent]
            assert isinstance(assignment, cst.Assign)
            if len(assignment.targets) != 1 or not _is_empty_list(assignment.value):
                return NotMade(f"`{name}` is also set to something other than an empty list")
            made += 1
            opening = assignment.value
            continue
        if not isinstance(parent, cst.Arg) or not isinstance(call := parents[parent], cst.Call):
            return NotMade(f"`{name}` is used for more than stacking")
        called = context.names.resolve(call.func, place.enclosing)
        start, end = module.offsets(call)
        others = call.args[1:]
        if called in _STACKS and call.args[0] is parent and _are_first_axis(others):
            edits.append(Edit(start, end, f"{name}.stack()"))
        elif called == "tensorflow.concat" and call.args[0] is parent and len(others) == 1 and _are_first_axis(others):
            edits.append(Edit(start, end, f"{name}.concat()"))
            varies = True
        else:
            return NotMade(f"`{name}` is used for more than stacking or concatenating along the first axis")
    if made != 1:
        return NotMade(f"`{name}` is not set to an empty list once in this function")
    start, end = module.offsets(opening)
    shape = ", infer_shape=False" if varies else ""
    dtype = f"{reached.expression}.{hint.detail('dtype')}"
    array = f"{reached.expression}.TensorArray({dtype}, size=0, dynamic_size=True{shape})"
    edits.append(Edit(start, end, array))
    return Made(tuple(sorted(edits)), (reached.statement,) if isinstance(reached, Missing) else ())


def _is_empty_list(value: cst.BaseExpression) -> bool:
    match value:
        case cst.List(elements=[]) | cst.Call(func=cst.Name("list"), args=[]):
            return True
        case _:
            return False


def _are_first_axis(arguments: Sequence[cst.Arg]) -> bool:
    """Whether the arguments are empty, or only the axis 0."""
    return all(argument.keyword is None or argument.keyword.value == "axis" for argument in arguments) and all(
        isinstance(argument.value, cst.Integer) and argument.value.value == "0" for argument in arguments
    )
