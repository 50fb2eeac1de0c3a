"""Inferred types of a function, for insertion into its signature.

Computes: the parameters and results that are dense tensors without an annotation, and their types over all calls; the
edits that write them. Needs: a snapshot, a function, and a style for types. Gives: `AnnotationStyle`, `KnownTypes`,
`known_types`, `write_types`, `with_type_of`, `writes_shapes`. Ignores: values that may be something other than a
tensor, such as None or a NumPy array.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum
from functools import reduce

from terra_refactor.domain.dim import OpenDim
from terra_refactor.domain.tensor import TensorType, join_tensor_types
from terra_refactor.domain.value import TensorValue, Value, members
from terra_refactor.ide.size_names import named_values
from terra_refactor.ide.snapshot import NAMED, Snapshot
from terra_refactor.ide.values import is_plain_tensor
from terra_refactor.ir import ops
from terra_refactor.ir.function import Function
from terra_refactor.ir.walk import walk
from terra_refactor.refactor.annotate import JAXTYPING, annotated, written_type
from terra_refactor.refactor.transforms.context import NotMade
from terra_refactor.syntax.edit import Edit, apply_edits

_LONGEST = 60


class AnnotationStyle(Enum):
    """The notation of types; the values are those of the setting."""

    AUTO = "auto"
    """With sizes if a file of the component imports jaxtyping."""
    TENSOR = "tf.Tensor"
    JAXTYPING = "jaxtyping"


@dataclass(frozen=True, slots=True)
class KnownTypes:
    """Annotations that can be inserted into one signature."""

    parameters: Mapping[str, TensorType]
    returns: TensorType | None
    with_shapes: bool

    @property
    def summary(self) -> str:
        """The types in short form: `x: tf.Tensor, rate: tf.Tensor → tf.Tensor`."""
        parts = ", ".join(f"{name}: {self._short(tensor)}" for name, tensor in self.parameters.items())
        result = "" if self.returns is None else f"→ {self._short(self.returns)}"
        text = " ".join(filter(None, [parts, result]))
        return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"

    def _short(self, tensor: TensorType) -> str:
        written = written_type(tensor) if self.with_shapes else None
        return "tf.Tensor" if written is None else f"{written[0]}[{written[1]}]"


def known_types(snapshot: Snapshot, function: Function, style: AnnotationStyle) -> KnownTypes | None:
    """Annotations that can be inserted into the signature of a function; None if there are none."""
    facts = snapshot.facts.functions.get(function.id)
    if facts is None or function.kind not in NAMED:
        return None
    with_shapes = writes_shapes(snapshot, style)
    named = named_values(snapshot, function)[0] if with_shapes else {}
    bare = {parameter.name for parameter in function.parameters if not parameter.has_annotation}
    found = {
        parameter.name: _joined(parameter.values, named.get(parameter.name))
        for parameter in facts.parameters
        if parameter.name in bare and is_plain_tensor(parameter.values) and not any(map(_is_guess, parameter.values))
    }
    plain = is_plain_tensor([facts.returns]) and not function.is_generator and not function.is_async
    returns = _joined((facts.returns,), None) if plain and not _has_returns(snapshot, function) else None
    return KnownTypes(found, returns, with_shapes) if found or returns is not None else None


def _is_guess(value: Value) -> bool:
    """Whether it is only known to be used like a tensor, as a dict of tensors may be, too."""
    return any(member.type == TensorType() for member in members(value) if isinstance(member, TensorValue))


def writes_shapes(snapshot: Snapshot, style: AnnotationStyle) -> bool:
    """Whether types are written with dtypes and sizes."""
    return style is AnnotationStyle.JAXTYPING or (style is AnnotationStyle.AUTO and _uses_jaxtyping(snapshot))


def with_type_of(snapshot: Snapshot, path: str, function: Function, name: str, style: AnnotationStyle) -> str | None:
    """The text of the file with the type of one parameter inserted; None if it cannot be."""
    known = known_types(snapshot, function, style)
    if known is None or name not in known.parameters:
        return None
    edits = write_types(
        snapshot, path, function, replace(known, parameters={name: known.parameters[name]}, returns=None)
    )
    return None if isinstance(edits, NotMade) else apply_edits(snapshot.sources[path].text, edits)


def write_types(snapshot: Snapshot, path: str, function: Function, known: KnownTypes) -> tuple[Edit, ...] | NotMade:
    """The edits that insert them."""
    source = snapshot.sources[path]
    return annotated(source, function.def_line, known.parameters, known.returns, with_shapes=known.with_shapes)


def _joined(values: tuple[Value, ...], named: Value | None) -> TensorType:
    """The common type: properties that differ are unknown.

    A size that a graph does not know is not a number, even if it was always the same.
    """
    types = [member.type for value in values for member in members(value) if isinstance(member, TensorValue)]
    joined = reduce(join_tensor_types, types)
    if joined.shape is None:
        return joined
    names = named.type.shape if isinstance(named, TensorValue) else None
    sizes = tuple(
        (names[axis] if names is not None and len(names) == len(joined.shape) else None)
        if size is None or isinstance(size, OpenDim)
        else size
        for axis, size in enumerate(joined.shape)
    )
    return TensorType(joined.dtype, tuple(None if isinstance(size, OpenDim) else size for size in sizes))


def _uses_jaxtyping(snapshot: Snapshot) -> bool:
    """Whether a file of the component imports it."""
    for module in snapshot.program.modules.values():
        for op in walk(module.functions[0].body):
            if isinstance(op, ops.Import | ops.ImportFrom) and op.module.partition(".")[0] == JAXTYPING:
                return True
    return False


def _has_returns(snapshot: Snapshot, function: Function) -> bool:
    """Whether the `def` annotates the result."""
    if function.parent is None:
        return True
    for op in walk(snapshot.program.function(function.parent).body):
        if isinstance(op, ops.MakeFunction) and op.function == function.id:
            return any(name == "return" for name, _ in op.annotations)
    return True
