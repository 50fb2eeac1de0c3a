"""Names from the source for sizes that are unknown to the analysis.

Computes: for the operations of one function, values in which unknown sizes are symbols. Needs: a snapshot. Gives: `named_values`.

    batch = tf.shape(x)[0]                                     the first size of x is `batch`
    x = tf.reshape(x, (batch, -1, self.heads, self.depth))     float32 (batch, ?, heads, depth)

Sizes get their names from reads of a tensor's shape, and from names in a shape or a layer's setting. The rules of `tf_model` propagate
them. A variable names a size only if it is set once in the function; a size that differs between branches or changes in a loop has no
name. Only the editor uses these names, not decisions and findings.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import reduce

from terra_refactor.analysis.binding import bind_library_arguments
from terra_refactor.analysis.frames import CallArguments
from terra_refactor.domain.dim import Dim, SymbolicDim, add, format_dim, multiply, subtract, symbol
from terra_refactor.domain.lattice import dim_of, join_all, python_type
from terra_refactor.domain.shape import Shape
from terra_refactor.domain.tensor import join_tensor_types
from terra_refactor.domain.value import (
    UNKNOWN,
    UNKNOWN_INT,
    BoundMethod,
    Constant,
    FrozenList,
    LibraryValue,
    PythonType,
    Reference,
    Scalar,
    TensorValue,
    TupleValue,
    UnionValue,
    UnknownValue,
    Value,
    members,
)
from terra_refactor.ide.layers import configuration_sources
from terra_refactor.ide.snapshot import Snapshot
from terra_refactor.ir import ops
from terra_refactor.ir.function import Function, FunctionKind
from terra_refactor.ir.ids import OpId
from terra_refactor.ir.walk import blocks, walk
from terra_refactor.tf_model.ops.operators import operator_rule
from terra_refactor.tf_model.registry import lookup
from terra_refactor.tf_model.spec import BoundCall, Entity, EntityKind, OperationError

_SHAPE_FUNCTIONS = (
    "tensorflow.shape",
    "keras.ops.shape",
    "keras.backend.shape",
    "keras.backend.int_shape",
    "numpy.shape",
)
_SHAPES = ("shape", "dims", "newshape", "target_shape", "batch_shape", "multiples")
"""Parameters that take sizes: an unknown one is an int."""
_WEIGHTS = ("keras.layers.Layer.add_weight", "keras.layers.Layer.add_variable")
_OF_WEIGHTS = ("shape", "name")
_NO_SIZES = ("dtype", "name", "seed")
"""Parameters on which no size depends."""
_WIDTHS = ("units", "filters", "output_dim")
"""Settings of layers that give a size of their output."""
_ARITHMETIC: Mapping[str, Callable[[Dim, Dim], Dim]] = {"+": add, "-": subtract, "*": multiply}
"""The expression by which the source computes a size."""


def named_values(snapshot: Snapshot, function: Function) -> tuple[Mapping[str, Value], Mapping[OpId, Value]]:
    """The parameters, and the values of the operations for which more sizes are named than in the analysis."""
    if not snapshot.contexts(function) or function.kind is FunctionKind.CLASS_BODY:
        return {}, {}
    naming = _Naming(snapshot, function)
    return naming.parameters, naming.run()


class _Naming:
    """One pass over one function."""

    def __init__(self, snapshot: Snapshot, function: Function) -> None:
        self._snapshot = snapshot
        self._function = function
        self._contexts = snapshot.contexts(function)
        self._by_id = {op.id: op for op in walk(function.body)}
        self._values: dict[OpId, Value] = {}
        self._variables: dict[str, Value] = {}
        self._attributes: dict[str, Value | None] = {}
        """The attributes of `self` that the function sets once, so far."""
        self._found: dict[OpId, Value] = {}
        self._changed_items: set[str] = set()
        """The variables whose elements the function sets."""
        stored: dict[str, int] = {parameter.name: 1 for parameter in function.parameters}
        attributes: dict[str, int] = {}
        for op in self._by_id.values():
            if isinstance(op, ops.StoreName):
                stored[op.name] = stored.get(op.name, 0) + 1
            elif isinstance(op, ops.StoreAttribute):
                attributes[op.name] = attributes.get(op.name, 0) + 1
            elif isinstance(op, ops.StoreItem) and isinstance(changed := self._by_id.get(op.object), ops.LoadName):
                self._changed_items.add(changed.name)
        self._stored = frozenset(stored)
        self._stable = {name for name, number in stored.items() if number == 1}
        self._changed_attributes = attributes
        self._read = self._read_off()
        self.parameters = self._parameters()

    def run(self) -> Mapping[OpId, Value]:
        """The values of the whole function."""
        self._variables = dict(self.parameters)
        self._block(self._function.body)
        return self._found

    def _parameters(self) -> dict[str, Value]:
        """The initial values of the parameters."""
        found: dict[str, Value] = {}
        for parameter in self._function.parameters:
            name = parameter.name
            values = [context.parameters[name] for context in self._contexts if name in context.parameters]
            if values:
                found[name] = self._with_sizes(_one(values), self._read.get((name, -1), {}))
        return found

    # --- origins of names ----------------------------------------------------------------------------------------------------------

    def _read_off(self) -> dict[tuple[str, int], dict[int, str]]:
        """Sizes that are read into a variable: by the variable of the tensor and the store of its value (-1: a parameter)."""
        found: dict[tuple[str, int], dict[int, str]] = {}
        current: dict[str, int] = {parameter.name: -1 for parameter in self._function.parameters}
        for op in self._by_id.values():
            if not isinstance(op, ops.StoreName) or op.value is None:
                continue
            source = self._element(op.value)
            axis: int | None = None
            shape: ops.Op | None = None
            if isinstance(source, ops.LoadItem):
                index = self._joined(source.index)
                if isinstance(index, Constant) and type(index.value) is int:
                    axis, shape = index.value, self._by_id.get(source.object)
            elif isinstance(source, ops.UnpackElement) and source.star is None:
                axis, shape = source.position, self._by_id.get(source.source)
                if isinstance(shape, ops.LoadItem) and (first := self._first_of_slice(shape)) is not None:
                    axis, shape = first + axis, self._by_id.get(shape.object)
            tensor = self._tensor_of_shape(shape)
            if axis is not None and tensor is not None and op.name in self._stable and tensor in self._stable:
                found.setdefault((tensor, current.get(tensor, -1)), {}).setdefault(axis, op.name)
            current[op.name] = op.id
        return found

    def _element(self, op: OpId) -> ops.Op | None:
        """The operation that computes a value; in `a, b = x[0], x[1]` that of the element."""
        found = self._by_id.get(op)
        if isinstance(found, ops.UnpackElement) and found.star is None:
            display = self._by_id.get(found.source)
            if isinstance(display, ops.BuildContainer) and len(display.elements) == found.total:
                if not any(element.starred for element in display.elements):
                    return self._by_id.get(display.elements[found.position].value)
        return found

    def _first_of_slice(self, item: ops.LoadItem) -> int | None:
        """The first axis of `shape[1:3]`; None if unknown, or counted from the end."""
        part = self._by_id.get(item.index)
        if not isinstance(part, ops.BuildSlice) or part.step is not None:
            return None
        first = Constant(0) if part.lower is None else self._joined(part.lower)
        if isinstance(first, Constant) and type(first.value) is int and first.value >= 0:
            return first.value
        return None

    def _tensor_of_shape(self, op: ops.Op | None) -> str | None:
        """The variable whose shape an operation reads: `x.shape`, `tf.shape(x)`, or a variable that holds one of these."""
        if isinstance(op, ops.LoadName) and op.name in self._stable:
            stores = [
                store for store in self._by_id.values() if isinstance(store, ops.StoreName) and store.name == op.name
            ]
            op = self._by_id.get(stores[0].value) if len(stores) == 1 and stores[0].value is not None else None
        owner: ops.Op | None = None
        if isinstance(op, ops.LoadAttribute) and op.name == "shape":
            owner = self._by_id.get(op.object)
        elif isinstance(op, ops.Call):
            callee, method = self._joined(op.function), self._by_id.get(op.function)
            if isinstance(callee, LibraryValue) and len(op.arguments) == 1:
                if callee.name in _SHAPE_FUNCTIONS:
                    owner = self._by_id.get(op.arguments[0].value)
                elif callee.name == "tensorflow.unstack":
                    return self._tensor_of_shape(self._by_id.get(op.arguments[0].value))
            elif isinstance(method, ops.LoadAttribute) and not op.arguments:
                if method.name == "get_shape":
                    owner = self._by_id.get(method.object)
                elif method.name == "as_list":
                    return self._tensor_of_shape(self._by_id.get(method.object))
        return owner.name if isinstance(owner, ops.LoadName) else None

    def _with_sizes(self, value: Value, names: Mapping[int, str]) -> Value:
        if not names or not isinstance(value, TensorValue) or value.type.shape is None:
            return value
        sizes = list(value.type.shape)
        for axis, name in names.items():
            if -len(sizes) <= axis < len(sizes) and sizes[axis] is None:
                sizes[axis] = symbol(name)
        return replace(value, type=replace(value.type, shape=tuple(sizes)))

    # --- the pass ------------------------------------------------------------------------------------------------------------------

    def _block(self, block: ops.Block) -> None:
        for op in block:
            self._op(op)

    def _op(self, op: ops.Op) -> None:
        match op:
            case ops.If(then_block=first, else_block=second):
                before, outside = dict(self._variables), dict(self._attributes)
                self._block(first)
                after, self._variables, self._attributes = self._variables, before, dict(outside)
                self._block(second)
                self._variables = {name: value for name, value in after.items() if self._variables.get(name) == value}
                self._attributes = outside
                return
            case ops.StoreName(name=name, value=result):
                value = None if result is None else self._value(result)
                if value is None:
                    self._variables.pop(name, None)
                else:
                    named = self._with_sizes(value, self._read.get((name, op.id), {}))
                    if named is not value and result is not None:
                        self._found[result] = named
                    self._variables[name] = named
                return
            case ops.DeleteName(name=name):
                self._variables.pop(name, None)
                return
            case ops.StoreAttribute(name=name, value=result, object=owner):
                if self._changed_attributes[name] == 1 and result is not None and _is_self(self._by_id.get(owner)):
                    self._attributes[name] = self._value(result)
                return
        inner = blocks(op)
        if inner:
            stored = {each.name for block in inner for each in walk(block) if isinstance(each, ops.StoreName)}
            for name in stored:
                self._variables.pop(name, None)
            outside = dict(self._attributes)
            for block in inner:
                self._block(block)
            self._attributes = outside
            for name in stored:
                self._variables.pop(name, None)
        base = self._joined(op.id)
        if base is None:
            return
        better = self._better(op, base)
        if better is not None and better != base:
            self._values[op.id] = self._found[op.id] = better
        else:
            self._values[op.id] = base

    def _better(self, op: ops.Op, base: Value) -> Value | None:
        match op:
            case ops.LoadName(name=name):
                if _is_open_size(base):
                    return Scalar(PythonType.INT, symbol(name)) if self._names_one_size(op) else None
                return _refined(base, self._variables.get(name))
            case ops.LoadAttribute(name=name, object=owner):
                return self._attribute(name, owner, base)
            case ops.Binary(operator=operator, left=left, right=right) if _is_open_size(base):
                return self._computed(operator, left, right)
            case ops.Binary(operator=operator, left=left, right=right):
                return self._guarded(base, lambda: operator_rule(operator, self._input(left), self._input(right)))
            case ops.Call():
                return self._call(op, base)
            case ops.LoadItem(object=owner, index=index):
                if _is_open_size(base):
                    return self._written_item(owner, index)
                item = _item(base, self._value(owner), self._joined(index))
                written = None if _has_size(item or base) else self._written_item(owner, index)
                return item if written is None or not isinstance(base, TensorValue) else replace(base, content=written)
            case _:
                return None

    def _attribute(self, name: str, owner: OpId, base: Value) -> Value | None:
        """A size that is an attribute of `self`, unless it changes here, or a variable of that name means something else."""
        if not _is_open_size(base) or not _is_self(self._by_id.get(owner)):
            return None
        if name in self._changed_attributes:
            if name not in self._attributes:
                return None
            kept = self._attributes[name]
            size = None if kept is None else dim_of(kept)
            return Scalar(PythonType.INT, size if isinstance(size, SymbolicDim) else symbol(name))
        return Scalar(PythonType.INT, symbol(f"self.{name}" if name in self._stored else name))

    def _written_item(self, owner: OpId, index: OpId) -> Value | None:
        """A size that is written as an element of a shape: `input_shape[-1]`, `x.shape[1]`."""
        number, shape = self._joined(index), self._by_id.get(owner)
        if not isinstance(number, Constant) or type(number.value) is not int:
            return None
        if isinstance(shape, ops.LoadName) and self._names_one_size(shape) and "shape" in shape.name:
            if shape.name in self._changed_items:
                return None
            return Scalar(PythonType.INT, symbol(f"{shape.name}[{number.value}]"))
        tensor = self._tensor_of_shape(shape)
        if tensor is None or tensor not in self._stable:
            return None
        return Scalar(PythonType.INT, symbol(f"{tensor}.shape[{number.value}]"))

    def _computed(self, operator: str, left: OpId, right: OpId) -> Value | None:
        """A size that is computed from others: `height * width`."""
        compute, sizes = _ARITHMETIC.get(operator), [dim_of(self._value(side) or UNKNOWN) for side in (left, right)]
        if operator == "//" and all(isinstance(size, int | SymbolicDim) for size in sizes):
            return Scalar(PythonType.INT, symbol("//".join(map(_factor, sizes))))
        size = None if compute is None or None in sizes else compute(*sizes)
        return Scalar(PythonType.INT, size) if isinstance(size, SymbolicDim) else None

    def _names_one_size(self, op: ops.LoadName) -> bool:
        return op.name in self._stable and "%" not in op.name

    def _call(self, op: ops.Call, base: Value) -> Value | None:
        if not isinstance(base, TensorValue) or _is_known(base):
            return None
        entity, receiver, configuration = self._callee(op)
        if (
            entity is None
            or entity.rule is None
            or any(argument.spread is not ops.Spread.PLAIN for argument in op.arguments)
        ):
            return None
        arguments = CallArguments(
            tuple(self._input(argument.value) for argument in op.arguments if argument.keyword is None),
            tuple(
                (argument.keyword, self._input(argument.value))
                for argument in op.arguments
                if argument.keyword is not None
            ),
        )
        bound, extra, keywords, incomplete = bind_library_arguments(entity, arguments)
        rule = entity.rule
        for name in _SHAPES:
            if name in bound:
                bound[name] = _sizes_of(bound[name])
        if entity.name in _WEIGHTS:
            bound = {name: bound[name] for name in _OF_WEIGHTS if name in bound}
            keywords = {name: keywords[name] for name in _OF_WEIGHTS if name in keywords}
        # unknown sizes are not passed to the rule, which would treat them as plain numbers
        plain = [value for name, value in (*bound.items(), *keywords.items()) if name not in _NO_SIZES]
        if any(map(_is_open, (*plain, *extra))):
            return None
        call = BoundCall(
            entity.name, bound, extra, keywords, receiver, configuration, incomplete, lambda *_, **__: UNKNOWN
        )
        return self._guarded(base, lambda: rule(call))

    def _callee(self, op: ops.Call) -> tuple[Entity | None, Value | None, Mapping[str, Value]]:
        """The callee, with its receiver and, for a layer, its constructor arguments."""
        callee = self._values.get(op.function)
        if isinstance(callee, BoundMethod) and isinstance(callee.function, LibraryValue):
            method = self._by_id.get(op.function)
            receiver = self._input(method.object) if isinstance(method, ops.LoadAttribute) else callee.receiver
            if callee.function.name in _WEIGHTS:
                return lookup(callee.function.name), callee.receiver, {}
            return (
                (lookup(callee.function.name), receiver, {}) if isinstance(receiver, TensorValue) else (None, None, {})
            )
        if isinstance(callee, LibraryValue):
            entity = lookup(callee.name)
            return (entity if entity is not None and entity.kind is EntityKind.FUNCTION else None), None, {}
        if isinstance(callee, Reference):
            made = configuration_sources(self._snapshot, self._snapshot.facts.objects[callee.object])
            if made is not None:
                cls, values, texts = made
                for name in _WIDTHS:
                    if name in texts and _is_open_size(values.get(name, Constant(None))):
                        values[name] = Scalar(PythonType.INT, symbol(texts[name]))
                if any(isinstance(value, Reference | UnionValue) for value in values.values()):
                    return None, None, {}
                return lookup(f"{cls}.__call__"), callee, values
        return None, None, {}

    def _guarded(self, base: Value, compute: Callable[[], Value]) -> Value | None:
        try:
            result = compute()
        except OperationError:
            return None
        return _refined(base, result)

    def _input(self, op: OpId) -> Value:
        """The value of an operand in the form for rules: a list display by its elements."""
        made = self._by_id.get(op)
        if isinstance(made, ops.BuildContainer) and not any(element.starred for element in made.elements):
            elements = tuple(self._size(element.value) for element in made.elements)
            return TupleValue(elements) if made.kind is ops.ContainerKind.TUPLE else FrozenList(elements)
        return self._size(op)

    def _size(self, op: OpId) -> Value:
        value = self._value(op)
        if value is None:
            return UNKNOWN
        if (
            isinstance(value, TensorValue)
            and value.type.shape == ()
            and (value.content is None or _has_open_sizes(value.content) or _is_item(value.content))
        ):
            loaded = self._by_id.get(op)
            if (
                isinstance(loaded, ops.LoadName)
                and loaded.name in self._stable
                and value.type.dtype in ("int32", "int64")
            ):
                return replace(value, content=Scalar(PythonType.INT, symbol(loaded.name)))
        return value

    def _value(self, op: OpId) -> Value | None:
        return self._values.get(op, self._joined(op))

    def _joined(self, op: OpId) -> Value | None:
        values = [value for context in self._contexts if (value := context.values[op]) is not None]
        return _one(values) if values else None


def _one(values: list[Value]) -> Value:
    """The join of values; tensors of one rank become one tensor, in which differing sizes are unknown."""
    joined = join_all(values)
    alternatives = members(joined)
    if len(alternatives) > 1 and all(isinstance(member, TensorValue) for member in alternatives):
        tensors = [member for member in alternatives if isinstance(member, TensorValue)]
        merged = reduce(join_tensor_types, (tensor.type for tensor in tensors))
        if merged.shape is not None:
            return TensorValue(merged, tensors[0].kind)
    if len(alternatives) > 1 and all(
        isinstance(member, Scalar | Constant) and python_type(member) is PythonType.INT for member in alternatives
    ):
        return UNKNOWN_INT
    return joined


def _sizes_of(shape: Value) -> Value:
    """A shape expression, in which unknown values are unknown ints."""
    if isinstance(shape, TupleValue):
        return replace(shape, elements=tuple(UNKNOWN_INT if _is_open(size) else size for size in shape.elements))
    if isinstance(shape, FrozenList) and shape.elements is not None:
        return FrozenList(tuple(UNKNOWN_INT if _is_open(size) else size for size in shape.elements))
    return shape


def _is_open(value: Value) -> bool:
    """Whether a rule cannot be applied to a value."""
    match value:
        case UnknownValue() | UnionValue() | Reference():
            return True
        case TupleValue(elements=elements):
            return any(map(_is_open, elements))
        case FrozenList(elements=elements):
            return elements is None or any(map(_is_open, elements))
        case _:
            return False


def _is_open_size(value: Value) -> bool:
    """Whether a value is an unknown int, or may be one."""
    return (isinstance(value, Scalar) and value.type is PythonType.INT and value.dim is None) or (
        isinstance(value, UnknownValue)
    )


def _has_size(value: Value) -> bool:
    """Whether it is not an integer scalar, or is one with a value or name."""
    if not isinstance(value, TensorValue) or value.type.shape != () or value.type.dtype not in ("int32", "int64"):
        return True
    return value.content is not None and not _has_open_sizes(value.content)


def _is_item(content: Value) -> bool:
    """Whether its name is an element of a shape, to which the name of a variable is preferred."""
    return isinstance(content, Scalar) and isinstance(content.dim, SymbolicDim) and "[" in format_dim(content.dim)


def _factor(size: Dim) -> str:
    """A size as an operand of a division."""
    text = format_dim(size)
    return text if text.replace("_", "").replace(".", "").isalnum() else f"({text})"


def _is_self(op: ops.Op | None) -> bool:
    return isinstance(op, ops.LoadName) and op.name == "self"


def _is_known(value: TensorValue) -> bool:
    shape = value.type.shape
    return shape is not None and None not in shape and value.type.dtype is not None and shape != ()


def _item(base: Value, owner: Value | None, index: Value | None) -> Value | None:
    """An element of `tf.shape(x)`."""
    if (
        not isinstance(owner, TensorValue)
        or not isinstance(owner.content, TupleValue)
        or not isinstance(base, TensorValue)
    ):
        return None
    elements = owner.content.elements
    if (
        not isinstance(index, Constant)
        or type(index.value) is not int
        or not -len(elements) <= index.value < len(elements)
    ):
        return None
    return _refined(base, replace(base, content=elements[index.value]))


def _refined(base: Value, better: Value | None) -> Value | None:
    """A value with the size names from another form of it; known sizes are unchanged."""
    if not isinstance(base, TensorValue) or not isinstance(better, TensorValue):
        return None
    shape = _named_shape(base.type.shape, better.type.shape)
    if shape is None:
        return None
    content = better.content if base.content is None or _has_open_sizes(base.content) else base.content
    return replace(base, type=replace(base.type, shape=shape), content=content)


def _has_open_sizes(content: Value) -> bool:
    parts = content.elements if isinstance(content, TupleValue) else (content,)
    return any(isinstance(part, Scalar) and part.dim is None for part in parts)


def _named_shape(base: Shape, better: Shape) -> Shape:
    if base is None or better is None or len(base) != len(better):
        return None
    sizes: list[Dim] = []
    for known, named in zip(base, better, strict=True):
        sizes.append(named if known is None and isinstance(named, SymbolicDim) else known)
    return tuple(sizes)
