"""Abstract values as short texts for an editor.

Computes: the text of an informative value. Needs: values and their facts. Gives: `tensor_text`, `hint_text`,
`full_text`, `types_text`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from terra_refactor.analysis.dump import format_value
from terra_refactor.domain.dim import Dim, format_dim
from terra_refactor.domain.lattice import join_all
from terra_refactor.domain.shape import Shape
from terra_refactor.domain.tensor import TensorType
from terra_refactor.domain.value import (
    Constant,
    DatasetValue,
    SpecValue,
    TensorKind,
    TensorValue,
    TupleValue,
    UnionValue,
    Value,
    members,
)
from terra_refactor.ide.snapshot import Snapshot

LONGEST_HINT = 40
_MOST_MEMBERS = 3
"""A union with more alternatives is not shown."""
_MOST_SIZES = 3
"""A size with more alternatives is shown as unknown."""
_WAYS = ((_MOST_SIZES, True), (_MOST_SIZES, False), (1, True))
"""The maximum number of alternatives of a size, and whether its name is shown instead of several."""


def full_text(snapshot: Snapshot, value: Value) -> str:
    """A value in the notation of messages and reports."""
    return format_value(snapshot.program, snapshot.facts, value)


def tensor_text(snapshot: Snapshot, values: Iterable[Value]) -> str | None:
    """The type of a tensor, or of a container of tensors, over several contexts; None if it is not informative."""
    value = join_all(values)
    shown = _shown(value)
    return None if shown is None else full_text(snapshot, shown)


def _shown(value: Value) -> Value | None:
    """The value without the contents of small tensors. None if it is not worth a hint."""
    match value:
        case TensorValue(TensorType(None, None)):
            return None
        case TensorValue(type, kind):
            return TensorValue(type, kind)
        case DatasetValue(element, cardinality, iterator):
            inner = _shown(element)
            return None if inner is None else DatasetValue(inner, cardinality, iterator)
        case SpecValue():
            return value
        case TupleValue(elements, name, fields, cls):
            inner_values = [_shown(element) for element in elements]
            if all(inner is None for inner in inner_values):
                return None
            kept = tuple(
                element if inner is None else inner for element, inner in zip(elements, inner_values, strict=True)
            )
            return TupleValue(kept, name, fields, cls)
        case UnionValue():
            alternatives = members(value)
            kept_members = [_shown(member) for member in alternatives]
            if len(alternatives) > _MOST_MEMBERS or any(
                inner is None and member != Constant(None)
                for inner, member in zip(kept_members, alternatives, strict=True)
            ):
                return None
            return join_all(
                member if inner is None else inner for inner, member in zip(kept_members, alternatives, strict=True)
            )
        case _:
            return None


def hint_text(
    snapshot: Snapshot, value: Value, named: Value | None = None, written: str = "", *, unknown_sizes: bool = False
) -> str | None:
    """16)`.|A type in at most `LONGEST_HINT` characters; None if it is not informative.

    Alternatives of one rank are shown as one shape, in which a differing size is shown by its name or its values:
    `float32 (2, 8|16)`.|16)`. `named` is the value with names for unknown sizes, `written` the source text of the
    hint. A shape with unknown sizes is informative only if at least half of its sizes are known, and one of them is
    neither in the source text nor 1 (with `unknown_sizes` always).
    """
    if tensor_text(snapshot, [value]) is None:
        return None
    alternatives = members(value)
    tensors = [member for member in alternatives if isinstance(member, TensorValue)]
    if not tensors:
        return _other_text(snapshot, value)
    if len(alternatives) - len(tensors) > (Constant(None) in alternatives):
        return None
    heads = list(dict.fromkeys((_head(tensors), _head(tensors, kind=False), "")))
    # a hint that is too long first shows names instead of values, then omits values, the kind, the dtype, and finally
    # all names
    ways = [(named, head, most, by_name) for head in heads for most, by_name in _WAYS]
    for names, head, most, by_name in [*ways, (None, heads[0], 1, False)]:
        shapes = _shapes(tensors, names, most, written if by_name else None)
        if not unknown_sizes and not any(_tells(tensors, sizes, written) for sizes in shapes):
            return None
        text = f"{head} {' | '.join(dict.fromkeys(map(_shape_text, shapes)))}".lstrip()
        text += " | None" if Constant(None) in alternatives else ""
        if len(text) <= LONGEST_HINT:
            if head != heads[0] and not unknown_sizes and not _is_new(shapes, written):
                return None  # the source on that line has the same information, and there is no place for the dtype
            return text
    return None


def _is_new(shapes: list[list[str] | None], written: str) -> bool:
    """Whether the source text does not contain the size."""
    return not written or any(_is_news(size, written) for sizes in shapes for size in sizes or ())


def _other_text(snapshot: Snapshot, value: Value) -> str | None:
    text = full_text(snapshot, value)
    if len(text) > LONGEST_HINT and isinstance(value, TupleValue):
        return f"tuple of {len(value.elements)}" if value.name is None else None
    if len(text) > LONGEST_HINT and isinstance(value, DatasetValue) and isinstance(value.element, TupleValue):
        # without the number of elements, or else only dtypes, which is better than a truncated shape
        bare = text.rpartition(" × ")[0] or text
        if len(bare) <= LONGEST_HINT:
            return bare
        parts = value.element.elements
        dtypes = [str(part.type.dtype) for part in parts if isinstance(part, TensorValue) and part.type.dtype]
        if len(dtypes) == len(parts):
            return _cut(f"{text.partition(' (')[0]} ({', '.join(dtypes)})")
    return _cut(text)


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST_HINT else text[: LONGEST_HINT - 1] + "…"


def _head(tensors: list[TensorValue], *, kind: bool = True) -> str:
    """The kind and dtype, if all have the same."""
    kinds = {tensor.kind for tensor in tensors}
    dtypes = {tensor.type.dtype for tensor in tensors}
    head = [] if kinds <= {TensorKind.TENSOR, TensorKind.KERAS} or len(kinds) > 1 else [tensors[0].kind.value]
    return " ".join([*(head if kind else ()), *(str(each) for each in dtypes if len(dtypes) == 1 and each is not None)])


def _shapes(tensors: list[TensorValue], named: Value | None, most: int, written: str | None) -> list[list[str] | None]:
    """For each rank the sizes in words; an unknown rank covers all others."""
    if any(tensor.type.shape is None for tensor in tensors):
        return [None]
    groups: dict[int, list[Shape]] = {}
    for tensor in tensors:
        groups.setdefault(len(tensor.type.shape or ()), []).append(tensor.type.shape)
    names = named.type.shape if isinstance(named, TensorValue) else None
    return [
        [
            _size_text(
                list(dict.fromkeys(sizes)),
                names[axis] if names is not None and len(names) == rank else None,
                most,
                written,
            )
            for axis, sizes in enumerate(zip(*(shape or () for shape in shapes), strict=True))
        ]
        for rank, shapes in groups.items()
    ]


def _size_text(sizes: list[Dim], name: Dim, most: int, written: str | None) -> str:
    """One size: its name in the source if there are several values, unless the name is next to it in the text or
    `written` is None; otherwise the values.
    """
    called = format_dim(name)
    if None in sizes or len(sizes) > most:
        return called
    if len(sizes) > 1 and name is not None and written is not None and _is_news(called, written):
        return called
    return "|".join(map(format_dim, sizes))


def _tells(tensors: list[TensorValue], sizes: list[str] | None, written: str) -> bool:
    """Whether a shape is more informative than a number of axes and the sizes in the source; a batch axis in front does
    not count.
    """
    if sizes is None:
        return False
    unknown = sizes.count("?")
    if not unknown:
        return any(size != "N" for size in sizes) if sizes else all(tensor.type.dtype for tensor in tensors)
    return 2 * unknown <= len(sizes) and any(_is_news(size, written) for size in sizes)


def _is_news(size: str, written: str) -> bool:
    """Whether the source text does not contain a size of a shape with unknown sizes; an element of a shape
    (`x.shape[0]`) is always new.
    """
    return size not in ("?", "N", "1") and "[" not in size and not re.search(rf"\b{re.escape(size)}(?!\w)", written)


def _shape_text(sizes: list[str] | None) -> str:
    if sizes is None:
        return "(...)"
    return f"({sizes[0]},)" if len(sizes) == 1 else f"({', '.join(sizes)})"


def is_plain_tensor(values: Iterable[Value]) -> bool:
    """Whether all values are dense TensorFlow tensors: the meaning of `tf.Tensor` as the annotation of a parameter."""
    alternatives = [member for value in values for member in members(value)]
    return bool(alternatives) and all(
        isinstance(member, TensorValue) and member.kind is TensorKind.TENSOR for member in alternatives
    )


def types_text(types: Iterable[TensorType]) -> str:
    """Distinct tensor types, as a list in words."""
    return " | ".join(dict.fromkeys(str(tensor) for tensor in types))
