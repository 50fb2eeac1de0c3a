"""Writes into a `tf.TensorArray`: the shape of its elements, which `stack` and `read` return, and whether it grows.

Computes: the fields `WRITTEN` and `WITHIN` of the array's instance, joined over everything that is written. Needs:
the heap. Gives: `TENSOR_ARRAYS`, by canonical name of the method. The rules of `tf_model` read them; an
`element_shape` of the constructor takes precedence over the former.
"""

from __future__ import annotations

from typing import Final

from terra_refactor.analysis.configuration import WITHIN, WRITTEN, configuration_of
from terra_refactor.analysis.engine import Site
from terra_refactor.analysis.frames import CallArguments, Frame
from terra_refactor.analysis.freezing import freeze
from terra_refactor.domain.lattice import join, join_all
from terra_refactor.domain.shape import Shape
from terra_refactor.domain.value import (
    FALSE,
    TRUE,
    Constant,
    Reference,
    Scalar,
    ShapeValue,
    TensorValue,
    Value,
    members,
)
from terra_refactor.tf_model import arguments as read
from terra_refactor.tf_model.interpreted import Interpreted, by_name


def write(site: Site, arguments: CallArguments, receiver: Value | None) -> Value | None:
    """`array.write(index, value)`."""
    frame = site.frame
    _note(frame, receiver, arguments, 1, whole=True)
    if isinstance(receiver, Reference):
        size = read.integer(configuration_of(frame, receiver).get("size"))
        index = dict(arguments.keywords).get("index", arguments.positional[0] if arguments.positional else None)
        last = None if index is None else _largest(index)
        _note_within(frame, receiver, isinstance(size, int) and last is not None and last < size)
    return None


def unstack(site: Site, arguments: CallArguments, receiver: Value | None) -> Value | None:
    """`array.unstack(value)`: the first axis is that of the array."""
    _note(site.frame, receiver, arguments, 0, whole=False)
    return None


def scatter(site: Site, arguments: CallArguments, receiver: Value | None) -> Value | None:
    """`array.scatter(indices, value)`."""
    _note(site.frame, receiver, arguments, 1, whole=False)
    return None


def split(site: Site, arguments: CallArguments, receiver: Value | None) -> Value | None:
    """`array.split(value, lengths)`: elements of several lengths."""
    _note(site.frame, receiver, arguments, 0, whole=True, lengths_differ=True)
    return None


def _largest(index: Value) -> int | None:
    """The largest value of an index that is never negative."""
    match index:
        case Constant(int() as number) if number >= 0:
            return number
        case Scalar(limit=limit):
            return limit
        case TensorValue(content=Constant() | Scalar() as content):
            return _largest(content)
        case _:
            return None


def _note_within(frame: Frame, array: Reference, within: bool) -> None:
    known = frame.state.get((array.object, WITHIN))
    grew = known is not None and FALSE in members(known)
    frame.state.set((array.object, WITHIN), TRUE if within and not grew else FALSE)


def _note(
    frame: Frame,
    receiver: Value | None,
    arguments: CallArguments,
    position: int,
    *,
    whole: bool,
    lengths_differ: bool = False,
) -> None:
    if not isinstance(receiver, Reference):
        return
    given = dict(arguments.keywords).get("value")
    if given is None and len(arguments.positional) > position:
        given = arguments.positional[position]
    shapes: list[Value] = []
    for member in members(given) if given is not None else ():
        shape: Shape = read.converted_type(freeze(frame, member)).shape
        if lengths_differ and shape:
            shape = (None, *shape[1:])
        elif not whole:
            shape = shape[1:] if shape else None
        shapes.append(ShapeValue(shape))
    if position == 0 or not whole:
        _note_within(frame, receiver, within=False)
    written = join_all(shapes) if shapes else ShapeValue(None)
    known = frame.state.get((receiver.object, WRITTEN))
    frame.state.set((receiver.object, WRITTEN), written if known is None else join(known, written))


TENSOR_ARRAYS: Final = by_name(
    {
        Interpreted.ARRAY_WRITE: write,
        Interpreted.ARRAY_UNSTACK: unstack,
        Interpreted.ARRAY_SCATTER: scatter,
        Interpreted.ARRAY_SPLIT: split,
    }
)
