"""`tf.data`: what datasets are made of, what each transformation makes of their elements, and what iterating gives.

Computes: the structure of one element and, where it is known, the number of elements. Functions that a dataset applies are called through
`BoundCall.invoke` as graphs. Gives: `RULES`, `ATTRIBUTES`.

Source: `tf.data.Dataset`. In structures tuples and dicts are structures, lists are tensors. A size that differs between elements
(the last batch) is unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from terra_refactor.domain.dim import (
    Dim,
    Truth,
    add,
    ceil_divide,
    definitely_different,
    floor_divide,
    format_dim,
    multiply,
)
from terra_refactor.domain.dtype import INT64, STRING
from terra_refactor.domain.lattice import join
from terra_refactor.domain.shape import Shape, compatible, format_shape
from terra_refactor.domain.tensor import TensorType
from terra_refactor.domain.value import (
    LOST_SHAPE,
    NOT_A_TENSOR,
    UNKNOWN,
    UNKNOWN_TENSOR,
    Constant,
    DatasetValue,
    DTypeValue,
    FrozenDict,
    FrozenList,
    PythonType,
    Scalar,
    SequenceValue,
    ShapeValue,
    SpecValue,
    TensorKind,
    TensorValue,
    TupleValue,
    UnknownValue,
    Value,
)
from terra_refactor.tf_model import arguments as read
from terra_refactor.tf_model.spec import BoundCall, ErrorKind, OperationError, Rule

_STRING_SCALAR: Final = TensorValue(TensorType(STRING, ()))
_INT64_SCALAR: Final = TensorValue(TensorType(INT64, ()))
_COMPOSITE: Final = (TensorKind.SPARSE, TensorKind.RAGGED, TensorKind.INDEXED_SLICES)


def _map(function: Callable[[Value], Value], structure: Value) -> Value:
    """`function` on every component: tuples and dicts are structures, everything else is a component."""
    match structure:
        case TupleValue(items, name, fields):
            return TupleValue(tuple(_map(function, item) for item in items), name, fields)
        case FrozenDict(entries, rest):
            return FrozenDict(
                tuple((key, _map(function, entry)) for key, entry in entries),
                None if rest is None else _map(function, rest),
            )
        case _:
            return function(structure)


def _components(structure: Value) -> list[Value]:
    """The components of a structure; of a dict of unknown keys those that are known."""
    match structure:
        case TupleValue(items):
            return [component for item in items for component in _components(item)]
        case FrozenDict(entries, rest):
            parts = [component for _, entry in entries for component in _components(entry)]
            return parts if rest is None else [*parts, *_components(rest)]
        case _:
            return [structure]


def as_component(value: Value) -> Value:
    """What one component becomes in a dataset: a tensor; a nested dataset stays one."""
    match value:
        case DatasetValue():
            return value
        case TensorValue(tensor_type, kind) if kind in _COMPOSITE:
            return TensorValue(tensor_type, kind)
        case UnknownValue():
            return UNKNOWN_TENSOR
        case _:
            return TensorValue(read.converted_type(value))


def _element(value: Value) -> Value:
    """What a value becomes as an element of a dataset; `UNKNOWN` where its structure is not known."""
    return UNKNOWN if isinstance(value, UnknownValue) else _map(_component, value)


def _component(value: Value) -> Value:
    """A leaf of an element; that TensorFlow does not know its rank stays true of it."""
    if isinstance(value, TensorValue) and value.content == LOST_SHAPE:
        return value
    return as_component(value)


def _receiver(call: BoundCall) -> DatasetValue | None:
    return call.receiver if isinstance(call.receiver, DatasetValue) else None


def _on_dataset(transform: Callable[[BoundCall, DatasetValue], Value]) -> Rule:
    """A method of a dataset; of a dataset that is not known it makes another that is not known."""

    def rule(call: BoundCall) -> Value:
        dataset = _receiver(call)
        return transform(call, DatasetValue(UNKNOWN) if dataset is None else dataset)

    return rule


# --- sources -------------------------------------------------------------------------------------------------------------------


def _from_tensor_slices(call: BoundCall) -> Value:
    structure = call.argument("tensors")
    if structure is None or isinstance(structure, UnknownValue):
        return DatasetValue(UNKNOWN)
    sizes: list[Dim] = []

    def sliced(value: Value) -> Value:
        component = as_component(value)
        if not isinstance(component, TensorValue):
            return UNKNOWN
        shape = component.type.shape
        if shape is None:
            sizes.append(None)
            return TensorValue(TensorType(component.type.dtype), component.kind)
        if not shape:
            raise OperationError(
                ErrorKind.RANK, "from_tensor_slices: a component of rank 0 cannot be sliced", ("tensors",)
            )
        sizes.append(shape[0])
        if component.kind is TensorKind.RAGGED:
            return UNKNOWN_TENSOR
        return TensorValue(TensorType(component.type.dtype, shape[1:]), component.kind)

    element = _map(sliced, structure)
    return DatasetValue(element, _common_size(sizes))


def _common_size(sizes: Sequence[Dim]) -> Dim:
    common: Dim = None
    for size in sizes:
        if definitely_different(common, size):
            raise OperationError(
                ErrorKind.SHAPE,
                f"from_tensor_slices: axis 0 of the components differs: {format_dim(common)} and {format_dim(size)}",
                ("tensors",),
            )
        common = size if common is None or (isinstance(size, int) and not isinstance(common, int)) else common
    return common


def _from_tensors(call: BoundCall) -> Value:
    value = call.argument("tensors")
    return DatasetValue(UNKNOWN if value is None else _element(value), 1)


def _spec_element(spec: Value) -> Value:
    """The element that a structure of specs describes."""

    def described(value: Value) -> Value:
        match value:
            case SpecValue(tensor_type, kind):
                return TensorValue(tensor_type, TensorKind.TENSOR if kind is TensorKind.VARIABLE else kind)
            case DatasetValue():
                return value
            case _:
                return UNKNOWN

    return _map(described, spec)


def typed_element(types: Value, shapes: Value | None) -> Value:
    """The element of a structure of dtypes and, where given, one of shapes (`output_types`, `output_shapes`)."""
    match types:
        case TupleValue(items, name, fields):
            parts = shapes.elements if isinstance(shapes, TupleValue) else (None,) * len(items)
            if len(parts) != len(items):
                parts = (None,) * len(items)
            return TupleValue(tuple(typed_element(a, b) for a, b in zip(items, parts, strict=True)), name, fields)
        case FrozenDict(entries, None):
            by_key = dict(shapes.items) if isinstance(shapes, FrozenDict) else {}
            return FrozenDict(tuple((key, typed_element(entry, by_key.get(key))) for key, entry in entries))
        case DTypeValue() | Constant():
            shape: Shape = None
            if isinstance(shapes, ShapeValue | TupleValue | FrozenList):
                shape = read.shape_argument(shapes)
            return TensorValue(TensorType(read.dtype_argument(types), shape))
        case _:
            dtype = read.dtype_argument(types)
            return UNKNOWN if dtype is None else TensorValue(TensorType(dtype))


def _from_generator(call: BoundCall) -> Value:
    signature = call.argument("output_signature")
    if not read.is_none(signature):
        assert signature is not None
        element = _spec_element(signature)
        _check_yielded(call, element)
        return DatasetValue(element)
    types = call.argument("output_types")
    if types is None or read.is_none(types):
        return DatasetValue(UNKNOWN)
    shapes = call.argument("output_shapes")
    return DatasetValue(typed_element(types, None if read.is_none(shapes) else shapes))


def _check_yielded(call: BoundCall, declared: Value) -> None:
    """Raises OperationError if what the generator yields certainly has another shape than its signature says."""
    generator = call.argument("generator")
    if generator is None or not read.is_none(call.argument("args")):
        return
    made = call.invoke(generator, [])
    if not isinstance(made, SequenceValue):
        return
    expected, yielded = read.leaves(declared), read.leaves(made.element)
    if expected is None or yielded is None or len(expected) != len(yielded):
        return
    for wanted, given in zip(expected, yielded, strict=True):
        if (
            not isinstance(wanted, TensorValue)
            or wanted.kind is not TensorKind.TENSOR
            or not isinstance(given, TensorValue)
        ):
            continue
        if compatible(wanted.type.shape, given.type.shape) is Truth.NO:
            raise OperationError(
                ErrorKind.SHAPE,
                f"from_generator: the generator yields {format_shape(given.type.shape)}, its signature says "
                f"{format_shape(wanted.type.shape)}",
                ("output_signature",),
            )


def _range(call: BoundCall) -> Value:
    dtype_value = call.argument("output_type") or call.extra_keywords.get("output_type")
    dtype = INT64 if read.is_none(dtype_value) else read.dtype_argument(dtype_value)
    element = TensorValue(TensorType(dtype, ()))
    parts = call.extra_arguments
    if not 1 <= len(parts) <= 3 or call.incomplete:
        return DatasetValue(element)
    bounds = [read.integer(part) for part in parts]
    if len(bounds) == 1:
        return DatasetValue(element, bounds[0])
    start, stop = bounds[0], bounds[1]
    step: Dim = 1 if len(bounds) == 2 else bounds[2]
    if isinstance(start, int) and isinstance(stop, int) and isinstance(step, int) and step != 0:
        return DatasetValue(element, len(range(start, stop, step)))
    return DatasetValue(element)


def _strings(call: BoundCall) -> Value:
    """Datasets of file names, lines or records."""
    return DatasetValue(_STRING_SCALAR)


def _counter(call: BoundCall) -> Value:
    dtype = call.argument("dtype")
    return DatasetValue(TensorValue(TensorType(INT64 if dtype is None else read.dtype_argument(dtype), ())))


def _zip(call: BoundCall) -> Value:
    """`Dataset.zip(a, b)`, `Dataset.zip((a, b))`, of a dict too."""
    given = call.argument("datasets")
    if given is None or read.is_none(given):
        parts = call.extra_arguments
        if call.incomplete or not parts:
            return DatasetValue(UNKNOWN)
        given = parts[0] if len(parts) == 1 else TupleValue(parts)
    sizes: list[Dim] = []

    def element(value: Value) -> Value:
        if isinstance(value, DatasetValue):
            sizes.append(value.cardinality)
            return value.element
        sizes.append(None)
        return UNKNOWN

    if isinstance(given, FrozenList) and given.elements is not None:
        given = TupleValue(given.elements)
    return DatasetValue(_map(element, given), _least(sizes))


def _least(sizes: Sequence[Dim]) -> Dim:
    known = [size for size in sizes if isinstance(size, int)]
    if len(known) == len(sizes) and known:
        return min(known)
    return sizes[0] if sizes and all(size == sizes[0] for size in sizes) else None


def _mixed(call: BoundCall) -> Value:
    """`sample_from_datasets`, `choose_from_datasets`: an element of any of them."""
    items = read.elements(call.argument("datasets"))
    elements = [item.element for item in items or () if isinstance(item, DatasetValue)]
    if items is None or not elements or len(elements) < len(items):
        return DatasetValue(UNKNOWN)
    whole = elements[0]
    for element in elements[1:]:
        whole = join_elements(whole, element)
    return DatasetValue(whole)


def join_elements(left: Value, right: Value) -> Value:
    """What is known of an element of one dataset or another of the same structure."""
    if isinstance(left, TupleValue) and isinstance(right, TupleValue) and len(left.elements) == len(right.elements):
        parts = tuple(join_elements(a, b) for a, b in zip(left.elements, right.elements, strict=True))
        return TupleValue(parts, left.name, left.fields, left.cls)
    return join(left, right)


# --- transformations -----------------------------------------------------------------------------------------------------------


def _same(call: BoundCall, dataset: DatasetValue) -> Value:
    """`shuffle`, `prefetch`, `cache`, `with_options`: the same elements, perhaps in another order."""
    return dataset


def _fewer(call: BoundCall, dataset: DatasetValue) -> Value:
    """`filter`, `take_while`, `shard`, `unique`: some of the elements."""
    return DatasetValue(dataset.element)


def _take(call: BoundCall, dataset: DatasetValue) -> Value:
    count, size = read.integer(call.argument("count")), dataset.cardinality
    if count == -1:
        return dataset
    if isinstance(count, int) and isinstance(size, int):
        return DatasetValue(dataset.element, min(count, size))
    return DatasetValue(dataset.element)


def _skip(call: BoundCall, dataset: DatasetValue) -> Value:
    count, size = read.integer(call.argument("count")), dataset.cardinality
    if isinstance(count, int) and isinstance(size, int):
        return DatasetValue(dataset.element, 0 if count == -1 else max(size - count, 0))
    return DatasetValue(dataset.element)


def _repeat(call: BoundCall, dataset: DatasetValue) -> Value:
    count = call.argument("count")
    times = None if read.is_none(count) else read.integer(count)
    if isinstance(times, int) and times < 0:
        times = None
    last = None if times == 0 else dataset.last
    return DatasetValue(dataset.element, multiply(dataset.cardinality, times), last=last)


def _batch_size(call: BoundCall, dataset: DatasetValue) -> tuple[Dim, Dim]:
    """The first axis of every batch, None where the last one may differ, and the number of batches."""
    size, total = read.integer(call.argument("batch_size")), dataset.cardinality
    drop = call.argument("drop_remainder")
    dropped = False if drop is None else read.truth(drop)
    if dropped is True:
        return size, floor_divide(total, size)
    if dropped is None:
        return None, None
    count = ceil_divide(total, size)
    if isinstance(size, int) and isinstance(total, int) and size > 0:
        if total % size == 0:
            return size, count
        return (total if total < size else None), count
    if count is not None:
        return size, count  # a symbolic number of elements that is a multiple
    return None, None


def _batched(value: Value, size: Dim) -> Value:
    match value:
        case TensorValue(TensorType(dtype, shape), kind) if kind not in (TensorKind.RAGGED, TensorKind.INDEXED_SLICES):
            return TensorValue(TensorType(dtype, None if shape is None else (size, *shape)), kind)
        case TensorValue(TensorType(dtype, _), kind):
            return TensorValue(TensorType(dtype), kind)
        case _:
            return UNKNOWN_TENSOR


def _batch(call: BoundCall, dataset: DatasetValue) -> Value:
    size, count = _batch_size(call, dataset)
    if isinstance(dataset.element, UnknownValue):
        return DatasetValue(UNKNOWN, count)
    element = _map(lambda value: _batched(value, size), dataset.element)
    rest = _rest(call, dataset)
    last = None if rest is None else _map(lambda value: _batched(value, rest), dataset.element)
    return DatasetValue(element, count, last=last)


def _rest(call: BoundCall, dataset: DatasetValue) -> int | None:
    """How many elements the last batch has where that is known, and fewer than the others."""
    size, total, drop = read.integer(call.argument("batch_size")), dataset.cardinality, call.argument("drop_remainder")
    if not isinstance(size, int) or not isinstance(total, int) or not 0 < size < total:
        return None
    if drop is not None and read.truth(drop) is not False:
        return None
    return total % size or None


def _padded_batch(call: BoundCall, dataset: DatasetValue) -> Value:
    """Every element is padded: to the longest of its batch where a size is not fixed by the element or by `padded_shapes`."""
    size, count = _batch_size(call, dataset)
    targets = call.argument("padded_shapes")
    element = _pad(dataset.element, None if read.is_none(targets) else targets, size)
    return DatasetValue(element, count)


def _pad(element: Value, target: Value | None, size: Dim) -> Value:
    match element:
        case TupleValue(items, name, fields):
            parts = read.elements(target)
            if parts is None or len(parts) != len(items):
                unknown = None if target is None else UNKNOWN
                return TupleValue(tuple(_pad(item, unknown, size) for item in items), name, fields)
            return TupleValue(tuple(_pad(a, b, size) for a, b in zip(items, parts, strict=True)), name, fields)
        case FrozenDict(entries, None):
            by_key = dict(target.items) if isinstance(target, FrozenDict) else {}
            fallback = None if target is None else UNKNOWN
            return FrozenDict(tuple((key, _pad(entry, by_key.get(key, fallback), size)) for key, entry in entries))
        case TensorValue(TensorType(dtype, shape), TensorKind.TENSOR):
            if target is None:
                return TensorValue(TensorType(dtype, None if shape is None else (size, *shape)))
            wanted = read.shape_argument(target) if isinstance(target, TupleValue | FrozenList | ShapeValue) else None
            if wanted is None:
                return TensorValue(TensorType(dtype, None if shape is None else (size, *(None,) * len(shape))))
            known = shape if shape is not None and len(shape) == len(wanted) else (None,) * len(wanted)
            return TensorValue(
                TensorType(dtype, (size, *(b if a is None else a for a, b in zip(wanted, known, strict=True))))
            )
        case _:
            return UNKNOWN_TENSOR


def _unbatch(call: BoundCall, dataset: DatasetValue) -> Value:
    sizes: list[Dim] = []

    def row(value: Value) -> Value:
        if not isinstance(value, TensorValue) or value.kind is TensorKind.RAGGED or not value.type.shape:
            return TensorValue(TensorType(value.type.dtype)) if isinstance(value, TensorValue) else UNKNOWN_TENSOR
        sizes.append(value.type.shape[0])
        return TensorValue(TensorType(value.type.dtype, value.type.shape[1:]), value.kind)

    if isinstance(dataset.element, UnknownValue):
        return DatasetValue(UNKNOWN)
    element = _map(row, dataset.element)
    return DatasetValue(element, multiply(dataset.cardinality, sizes[0]) if sizes else None)


def _arguments(element: Value) -> list[Value]:
    """How an element is passed to a function: a plain tuple as several arguments."""
    if isinstance(element, TupleValue) and element.name is None:
        return list(element.elements)
    return [element]


def _returned(outcome: Value) -> Value:
    """What a function's result becomes as an element: a list is a structure here, as a tuple is."""
    if isinstance(outcome, FrozenList):
        return UNKNOWN if outcome.elements is None else _element(TupleValue(outcome.elements))
    return _element(outcome)


def _map_function(call: BoundCall, dataset: DatasetValue) -> Value:
    function = call.argument("map_func")
    if function is None or isinstance(dataset.element, UnknownValue):
        return DatasetValue(UNKNOWN, dataset.cardinality)
    outcome = call.invoke(function, _arguments(dataset.element), graph=True)
    return DatasetValue(_returned(outcome), dataset.cardinality)


def _flat_map(call: BoundCall, dataset: DatasetValue) -> Value:
    """`flat_map`, `interleave`: the elements of the datasets that the function makes."""
    function = call.argument("map_func")
    if function is None or isinstance(dataset.element, UnknownValue):
        return DatasetValue(UNKNOWN)
    outcome = call.invoke(function, _arguments(dataset.element), graph=True)
    return DatasetValue(outcome.element if isinstance(outcome, DatasetValue) else UNKNOWN)


def _filter(call: BoundCall, dataset: DatasetValue) -> Value:
    predicate = call.argument("predicate")
    if predicate is not None and not isinstance(dataset.element, UnknownValue):
        call.invoke(predicate, _arguments(dataset.element), graph=True)
    return DatasetValue(dataset.element)


def _apply(call: BoundCall, dataset: DatasetValue) -> Value:
    function = call.argument("transformation_func")
    outcome = UNKNOWN if function is None else call.invoke(function, [dataset])
    return outcome if isinstance(outcome, DatasetValue) else DatasetValue(UNKNOWN)


def _concatenate(call: BoundCall, dataset: DatasetValue) -> Value:
    other = call.argument("dataset")
    if not isinstance(other, DatasetValue):
        return DatasetValue(UNKNOWN)
    return DatasetValue(join_elements(dataset.element, other.element), add(dataset.cardinality, other.cardinality))


def _enumerate(call: BoundCall, dataset: DatasetValue) -> Value:
    return DatasetValue(TupleValue((_INT64_SCALAR, dataset.element)), dataset.cardinality)


def _window(call: BoundCall, dataset: DatasetValue) -> Value:
    """Every component becomes a dataset of `size` elements, of fewer at the end."""
    drop = call.argument("drop_remainder")
    size = read.integer(call.argument("size")) if drop is not None and read.truth(drop) else None
    if isinstance(dataset.element, UnknownValue):
        return DatasetValue(UNKNOWN)
    return DatasetValue(_map(lambda value: DatasetValue(value, size), dataset.element))


def _reduce(call: BoundCall, dataset: DatasetValue) -> Value:
    """The final state: that of one step joined with the initial one."""
    initial, function = call.argument("initial_state"), call.argument("reduce_func")
    if initial is None or function is None:
        return UNKNOWN
    state = _element(initial)
    outcome = call.invoke(function, [state, dataset.element], graph=True)
    if isinstance(outcome, UnknownValue):
        return UNKNOWN
    return join_elements(state, _element(outcome))


def _scan(call: BoundCall, dataset: DatasetValue) -> Value:
    initial, function = call.argument("initial_state"), call.argument("scan_func")
    if initial is None or function is None or isinstance(dataset.element, UnknownValue):
        return DatasetValue(UNKNOWN, dataset.cardinality)
    outcome = call.invoke(function, [_element(initial), dataset.element], graph=True)
    parts = read.elements(outcome)
    if parts is None or len(parts) != 2:
        return DatasetValue(UNKNOWN, dataset.cardinality)
    return DatasetValue(_element(parts[1]), dataset.cardinality)


def _group_by_window(call: BoundCall, dataset: DatasetValue) -> Value:
    function = call.argument("reduce_func")
    if function is None or isinstance(dataset.element, UnknownValue):
        return DatasetValue(UNKNOWN)
    outcome = call.invoke(function, [_INT64_SCALAR, DatasetValue(dataset.element)], graph=True)
    return DatasetValue(outcome.element if isinstance(outcome, DatasetValue) else UNKNOWN)


def _bucket(call: BoundCall, dataset: DatasetValue) -> Value:
    """`bucket_by_sequence_length`: padded batches of a size that depends on the bucket."""
    targets = call.argument("padded_shapes")
    return DatasetValue(_pad(dataset.element, None if read.is_none(targets) else targets, None))


def _unknown_dataset(call: BoundCall) -> Value:
    return DatasetValue(UNKNOWN)


# --- reading -------------------------------------------------------------------------------------------------------------------


def _as_array(value: Value) -> Value:
    if not isinstance(value, TensorValue) or value.kind is not TensorKind.TENSOR:
        return UNKNOWN
    if value.type.dtype == STRING:
        return NOT_A_TENSOR if value.type.shape != () else Scalar(PythonType.BYTES)
    kind = TensorKind.NUMPY_SCALAR if value.type.shape == () else TensorKind.NDARRAY
    return TensorValue(value.type, kind)


def _numpy_iterator(call: BoundCall, dataset: DatasetValue) -> Value:
    element = dataset.element if isinstance(dataset.element, UnknownValue) else _map(_as_array, dataset.element)
    return DatasetValue(element, dataset.cardinality, iterator=True)


def _iterator(call: BoundCall, dataset: DatasetValue) -> Value:
    return DatasetValue(dataset.element, dataset.cardinality, iterator=True)


def _next(call: BoundCall, dataset: DatasetValue) -> Value:
    return dataset.element


def _cardinality(call: BoundCall, dataset: DatasetValue) -> Value:
    known = dataset.cardinality
    return TensorValue(TensorType(INT64, ()), content=Constant(known) if isinstance(known, int) else None)


def _length(call: BoundCall, dataset: DatasetValue) -> Value:
    known = dataset.cardinality
    return Constant(known) if isinstance(known, int) else Scalar(PythonType.INT, known)


def _of_argument(transform: Callable[[BoundCall, DatasetValue], Value]) -> Rule:
    """A function that takes the dataset as its first argument."""

    def rule(call: BoundCall) -> Value:
        dataset = read.first_of(call, "dataset", "dataset_or_iterator")
        return transform(call, dataset if isinstance(dataset, DatasetValue) else DatasetValue(UNKNOWN))

    return rule


def element_spec(receiver: Value) -> Value:
    """`Dataset.element_spec`: a structure of specs."""

    def spec(value: Value) -> Value:
        return SpecValue(value.type, value.kind) if isinstance(value, TensorValue) else UNKNOWN

    if not isinstance(receiver, DatasetValue) or isinstance(receiver.element, UnknownValue):
        return UNKNOWN
    return _map(spec, receiver.element)


def _output_types(receiver: Value) -> Value:
    if not isinstance(receiver, DatasetValue) or isinstance(receiver.element, UnknownValue):
        return UNKNOWN
    return _map(
        lambda value: DTypeValue(value.type.dtype if isinstance(value, TensorValue) else None), receiver.element
    )


def _output_shapes(receiver: Value) -> Value:
    if not isinstance(receiver, DatasetValue) or isinstance(receiver.element, UnknownValue):
        return UNKNOWN
    return _map(
        lambda value: ShapeValue(value.type.shape if isinstance(value, TensorValue) else None), receiver.element
    )


_METHODS: Final[Mapping[str, Callable[[BoundCall, DatasetValue], Value]]] = {
    "shuffle": _same,
    "prefetch": _same,
    "cache": _same,
    "with_options": _same,
    "snapshot": _same,
    "ignore_errors": _fewer,
    "take": _take,
    "skip": _skip,
    "repeat": _repeat,
    "shard": _fewer,
    "unique": _fewer,
    "take_while": _fewer,
    "filter": _filter,
    "batch": _batch,
    "padded_batch": _padded_batch,
    "unbatch": _unbatch,
    "map": _map_function,
    "flat_map": _flat_map,
    "interleave": _flat_map,
    "apply": _apply,
    "concatenate": _concatenate,
    "enumerate": _enumerate,
    "window": _window,
    "reduce": _reduce,
    "scan": _scan,
    "group_by_window": _group_by_window,
    "bucket_by_sequence_length": _bucket,
    "as_numpy_iterator": _numpy_iterator,
    "get_single_element": _next,
    "cardinality": _cardinality,
    "__iter__": _iterator,
    "__len__": _length,
}


_OLD_METHODS: Final = (
    "shuffle prefetch cache with_options take skip repeat shard filter batch padded_batch unbatch map flat_map interleave apply "
    "concatenate window"
)
"""Methods that `tf.compat.v1.data.Dataset` defines itself; the others it inherits."""


def _rules() -> dict[str, Rule]:
    rules: dict[str, Rule] = {}
    new, old = "tensorflow.data.Dataset", "tensorflow.compat.v1.data.Dataset"
    for name, transform in _METHODS.items():
        rules[f"{new}.{name}"] = _on_dataset(transform)
    for name in _OLD_METHODS.split():
        rules[f"{old}.{name}"] = rules[f"{new}.{name}"]
    sources: dict[str, Rule] = {
        "from_tensor_slices": _from_tensor_slices,
        "from_tensors": _from_tensors,
        "from_generator": _from_generator,
        "range": _range,
        "list_files": _strings,
        "zip": _zip,
    }
    for name, rule in sources.items():
        rules[f"{new}.{name}"] = rules[f"{old}.{name}"] = rule
    rules[f"{new}.counter"] = _counter
    rules[f"{new}.random"] = lambda call: DatasetValue(_INT64_SCALAR)
    rules[f"{new}.load"] = _unknown_dataset
    rules[f"{new}.sample_from_datasets"] = rules[f"{new}.choose_from_datasets"] = _mixed
    for name in ("make_one_shot_iterator", "make_initializable_iterator"):
        rules[f"{old}.{name}"] = _on_dataset(_iterator)
    for name in ("TFRecordDataset", "TextLineDataset", "FixedLengthRecordDataset"):
        rules[f"tensorflow.data.{name}"] = rules[f"tensorflow.compat.v1.data.{name}"] = _strings
    for name in ("__next__", "get_next"):
        rules[f"tensorflow.data.Iterator.{name}"] = _on_dataset(_next)
    rules["tensorflow.compat.v1.data.Iterator.get_next"] = _on_dataset(_next)
    rules["tensorflow.data.Iterator.__iter__"] = _on_dataset(_iterator)
    rules["tensorflow.compat.v1.data.make_one_shot_iterator"] = _of_argument(_iterator)
    rules["tensorflow.compat.v1.data.make_initializable_iterator"] = _of_argument(_iterator)
    rules["tensorflow.data.experimental.get_single_element"] = _of_argument(_next)
    rules["tensorflow.data.experimental.cardinality"] = _of_argument(_cardinality)
    rules["tensorflow.data.experimental.get_structure"] = _of_argument(lambda call, dataset: element_spec(dataset))
    rules["tensorflow.compat.v1.data.get_output_types"] = _of_argument(lambda call, dataset: _output_types(dataset))
    rules["tensorflow.compat.v1.data.get_output_shapes"] = _of_argument(lambda call, dataset: _output_shapes(dataset))
    rules["tensorflow.data.experimental.Counter"] = _counter
    for name in ("sample_from_datasets", "choose_from_datasets"):
        rules[f"tensorflow.data.experimental.{name}"] = _mixed
    return rules


RULES: Final[Mapping[str, Rule]] = _rules()

ATTRIBUTES: Final[Mapping[str, Callable[[Value], Value]]] = {
    f"{owner}.{name}": rule
    for owner in (
        "tensorflow.data.Dataset",
        "tensorflow.data.Iterator",
        "tensorflow.compat.v1.data.Dataset",
        "tensorflow.compat.v1.data.Iterator",
    )
    for name, rule in {
        "element_spec": element_spec,
        "output_types": _output_types,
        "output_shapes": _output_shapes,
    }.items()
}
