"""Values and templates: decomposes results, and replaces deferred tensors by real ones.

Computes: nothing of its own. Needs: templates (trie.py). Gives: `collect`, `real_value`, `real_values`, `as_given`,
`hangs`. Ignores: the contents of containers that are not plain.
"""

from __future__ import annotations

from typing import Any

from terra_refactor.runtime.lazy_tensor import LazyTensor
from terra_refactor.runtime.tf_internals import IndexedSlices
from terra_refactor.runtime.trie import Hung, InputRef, Rebuild, SlotRef


def collect(template: Any, value: Any, first: int, found: list[Any]) -> bool:
    """Collects the tensors of `value` that are new slots according to `template`; False if the structure differs."""
    kind = type(template)
    if kind is SlotRef:
        if template.index == first + len(found):
            if not hasattr(value, "dtype"):
                return False
            found.append(value)
        return True
    if kind is InputRef:
        return True
    if kind is Rebuild:
        if type(value) is IndexedSlices:
            parts: Any = (value.values, value.indices, value.dense_shape)
        elif isinstance(value, dict):
            parts = tuple(value.values())
        elif isinstance(value, (list, tuple)):
            parts = tuple(value)
        else:
            return False
        return len(parts) == len(template.items) and all(
            collect(item, part, first, found) for item, part in zip(template.items, parts, strict=True)
        )
    if kind is Hung:
        return collect(template.item, value, first, found) and all(
            collect(item, getattr(value, name, None), first, found)
            for name, item in zip(template.names, template.values, strict=True)
        )
    return template is None or value is not None


def hung_on(tensor: Any) -> dict[str, Any]:
    """Attributes of a tensor, deferred or not. Those of the deferred one take precedence."""
    own: dict[str, Any] = tensor.__dict__
    if type(tensor) is LazyTensor and tensor._value is not None:
        below = tensor._value.__dict__
        return {**below, **own} if below else own
    return own


def real_value(value: Any) -> Any:
    """`value` with every deferred tensor in it, at any depth of plain containers, replaced by the real one."""
    kind = type(value)
    if kind is LazyTensor:
        return value._real()
    if kind is list or kind is tuple:
        if any(
            type(item) in (LazyTensor, list, tuple, dict, IndexedSlices) or hasattr(item, "_fields") for item in value
        ):
            return kind(real_value(item) for item in value)
        return value
    if kind is dict:
        return {name: real_value(item) for name, item in value.items()}
    if kind is slice:
        return slice(real_value(value.start), real_value(value.stop), real_value(value.step))
    if kind is IndexedSlices:
        return IndexedSlices(real_value(value.values), real_value(value.indices), real_value(value.dense_shape))
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return kind._make(real_value(item) for item in value)
    return value


def real_values(values: Any) -> list[Any]:
    """`real_value` of each."""
    return [real_value(value) for value in values]


def as_given(result: Any, args: Any) -> Any:
    """The program's own object, if a call returned an argument: `tf.convert_to_tensor(x) is x`."""
    for arg in args:
        if type(arg) is LazyTensor and arg._value is result:
            return arg
    return result


def hangs(template: Any) -> bool:
    """Whether a tensor of a result has attributes."""
    kind = type(template)
    return kind is Hung or (kind is Rebuild and any(hangs(item) for item in template.items))
