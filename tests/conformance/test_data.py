"""Every rule of `tf.data` against TensorFlow: pipelines built for real, their element specs and elements compared with ours."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from terra_refactor.domain.dtype import DType
from terra_refactor.domain.tensor import TensorType
from terra_refactor.domain.value import (
    UNKNOWN,
    Constant,
    DatasetValue,
    DTypeValue,
    FrozenDict,
    FrozenList,
    ShapeValue,
    SpecValue,
    TensorKind,
    TensorValue,
    TupleValue,
    UnknownValue,
    Value,
)
from terra_refactor.tf_model.data import RULES
from terra_refactor.tf_model.data.reading import element_spec
from terra_refactor.tf_model.registry import lookup
from terra_refactor.tf_model.spec import BoundCall, OperationError, ParameterPassing

pytestmark = [pytest.mark.tensorflow]

EXAMPLES = int(os.environ.get("TERRA_CONFORMANCE_EXAMPLES", "50"))


def abstract(argument: Any) -> Value:
    """The abstract value of a Python argument."""
    match argument:
        case np.ndarray():
            return TensorValue(TensorType(DType(argument.dtype.name), argument.shape), TensorKind.NDARRAY)
        case tf.Tensor():
            return TensorValue(TensorType(DType(argument.dtype.name), tuple(argument.shape)))
        case tf.TensorSpec():
            return SpecValue(TensorType(DType(argument.dtype.name), _shape(argument.shape)))
        case tf.TensorShape():
            return ShapeValue(_shape(argument))
        case tf.DType():
            return DTypeValue(DType(argument.name))
        case tuple():
            return TupleValue(tuple(abstract(item) for item in argument))
        case list():
            return FrozenList(tuple(abstract(item) for item in argument))
        case dict():
            return FrozenDict(tuple((Constant(key), abstract(value)) for key, value in argument.items()))
        case _:
            return Constant(argument)


def _shape(shape: Any) -> Any:
    return None if shape.rank is None else tuple(shape.as_list())


class FakeFunction:
    """A function and what it does with abstract values, since no interpreter is behind these calls."""

    def __init__(self, real: Any, abstractly: Any) -> None:
        self.real = real
        self.abstractly = abstractly


FUNCTIONS = {
    "first": FakeFunction(lambda *parts: parts[0], lambda *parts: parts[0]),
    "pair": FakeFunction(lambda *parts: (parts[0], parts[-1]), lambda *parts: TupleValue((parts[0], parts[-1]))),
    "named": FakeFunction(lambda *parts: {"x": parts[0]}, lambda *parts: FrozenDict(((Constant("x"), parts[0]),))),
    "number": FakeFunction(lambda *parts: (parts[0], 1.5), lambda *parts: TupleValue((parts[0], Constant(1.5)))),
    "listed": FakeFunction(
        lambda *parts: [1, 2, 3], lambda *parts: FrozenList((Constant(1), Constant(2), Constant(3)))
    ),
}


def invoke(function: Value, arguments: Sequence[Value], *, graph: bool = False) -> Value:
    assert isinstance(function, Constant) and isinstance(function.value, str)
    result: Value = FUNCTIONS[function.value].abstractly(*arguments)
    return result


def bound(name: str, positional: Sequence[Any], keywords: dict[str, Any], receiver: Value | None) -> BoundCall:
    """The call as the interpreter binds it."""
    entity = lookup(name)
    assert entity is not None and entity.parameters is not None
    unused = [argument if isinstance(argument, DatasetValue) else abstract(argument) for argument in positional]
    arguments: dict[str, Value] = {}
    extra: tuple[Value, ...] = ()
    for parameter in entity.parameters:
        if parameter.passing is ParameterPassing.VAR_POSITIONAL:
            extra, unused = tuple(unused), []
        elif parameter.name in keywords:
            arguments[parameter.name] = abstract(keywords[parameter.name])
        elif unused and parameter.passing is ParameterPassing.POSITIONAL:
            arguments[parameter.name] = unused.pop(0)
        elif parameter.default is not None:
            arguments[parameter.name] = parameter.default
    return BoundCall(name, arguments, extra_arguments=extra, receiver=receiver, invoke=invoke)


def check_value(ours: Value, found: Any, where: str) -> None:
    """Asserts that what we say of an element is true of a real one."""
    match ours:
        case UnknownValue():
            return
        case TupleValue(items):
            assert isinstance(found, tuple) and len(found) == len(items), f"{where}: {found!r:.100} is not {ours}"
            for item, part in zip(items, found, strict=True):
                check_value(item, part, where)
        case FrozenDict(entries, _):
            assert isinstance(found, dict), f"{where}: {found!r:.100} is not {ours}"
            for key, entry in entries:
                assert isinstance(key, Constant)
                check_value(entry, found[key.value], where)
        case DatasetValue():
            assert isinstance(found, tf.data.Dataset), f"{where}: {type(found)} is not {ours}"
            check_dataset(ours, found, where)
        case TensorValue(tensor_type):
            if isinstance(found, tf.data.Dataset):
                raise AssertionError(f"{where}: a dataset, the rule says {ours}")
            assert hasattr(found, "dtype"), f"{where}: {found!r:.100}, the rule says {tensor_type}"
            dtype = found.dtype.name
            assert tensor_type.dtype in (None, dtype), f"{where}: {dtype}, the rule says {tensor_type}"
            if tensor_type.shape is not None:
                assert len(tensor_type.shape) == len(found.shape), (
                    f"{where}: {found.shape}, the rule says {tensor_type}"
                )
                for size, dim in zip(found.shape, tensor_type.shape, strict=True):
                    assert not isinstance(dim, int) or dim == size, (
                        f"{where}: {found.shape}, the rule says {tensor_type}"
                    )
        case _:
            raise AssertionError(f"{where}: {ours} is not compared")


def check_spec(ours: Value, spec: Any, where: str) -> None:
    """Asserts that we know at least what `element_spec` knows."""
    match ours, spec:
        case SpecValue(tensor_type), tf.TensorSpec():
            assert tensor_type.dtype == spec.dtype.name, f"{where}: {spec}, the rule says {tensor_type}"
            theirs = _shape(spec.shape)
            if theirs is not None:
                assert tensor_type.shape is not None, f"{where}: {spec}, the rule says {tensor_type}"
                for size, dim in zip(theirs, tensor_type.shape, strict=True):
                    assert size is None or dim == size, f"{where}: {spec}, the rule says {tensor_type}"
        case TupleValue(items), tuple():
            for item, part in zip(items, spec, strict=True):
                check_spec(item, part, where)
        case FrozenDict(entries, _), dict():
            for key, entry in entries:
                assert isinstance(key, Constant)
                check_spec(entry, spec[key.value], where)
        case _, tf.data.DatasetSpec():
            return
        case _:
            raise AssertionError(f"{where}: {spec}, the rule says {ours}")


def check_dataset(ours: DatasetValue, found: Any, where: str, *, elements: bool = True) -> None:
    """Compares element by element (the first twelve), the spec, and the number of elements."""
    known = int(found.cardinality())
    if isinstance(ours.cardinality, int) and known >= 0:
        assert ours.cardinality == known, f"{where}: {known} elements, the rule says {ours.cardinality}"
    if elements:
        for element in found.take(12):
            check_value(ours.element, element, where)
    if not isinstance(ours.element, UnknownValue):
        check_spec(element_spec(ours), found.element_spec, where)


@st.composite
def sources(draw: st.DrawFn) -> tuple[str, str, tuple[Any, ...], dict[str, Any]]:
    """A way to make a dataset."""
    count = draw(st.integers(1, 6))
    x = np.zeros(
        (count, *draw(st.lists(st.integers(1, 3), max_size=2))), draw(st.sampled_from(["float32", "float64", "int32"]))
    )
    y = np.zeros((count,), "int64")
    kind = draw(st.integers(0, 6))
    owner = "tensorflow.data.Dataset"
    if kind == 0:
        return owner, "from_tensor_slices", (x,), {}
    if kind in (1, 2):
        return owner, "from_tensor_slices", ((x, y),), {}
    if kind == 3:
        return owner, "from_tensor_slices", ({"a": x, "b": y},), {}
    if kind == 4:
        return owner, "from_tensor_slices", ([[1.0, 2.0], [3.0, 4.0]],), {}
    if kind == 5:
        return owner, "range", tuple(draw(st.lists(st.integers(1, 9), min_size=1, max_size=3))), {}
    return owner, "from_tensors", ((x, y),), {}


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("batch"), st.integers(1, 4), st.sampled_from([None, True, False])),
        st.tuples(st.just("map"), st.sampled_from(sorted(FUNCTIONS)), st.none()),
        st.tuples(st.just("take"), st.integers(-1, 5), st.none()),
        st.tuples(st.just("skip"), st.integers(0, 3), st.none()),
        st.tuples(st.just("repeat"), st.sampled_from([None, 1, 2]), st.none()),
        st.tuples(st.just("shuffle"), st.just(5), st.none()),
        st.tuples(st.just("prefetch"), st.just(1), st.none()),
        st.tuples(st.just("enumerate"), st.none(), st.none()),
        st.tuples(st.just("padded_batch"), st.integers(1, 3), st.sampled_from([None, True])),
        st.tuples(st.just("unbatch"), st.none(), st.none()),
        st.tuples(st.just("window"), st.integers(1, 3), st.sampled_from([None, True])),
    ),
    max_size=4,
)


@settings(
    max_examples=EXAMPLES, deadline=None, database=None, derandomize=True, suppress_health_check=list(HealthCheck)
)
@given(sources(), STEPS)
def test_pipeline(source: tuple[str, str, tuple[Any, ...], dict[str, Any]], steps: list[tuple[str, Any, Any]]) -> None:
    owner, name, positional, keywords = source
    real = getattr(tf.data.Dataset, name)(*positional, **keywords)
    ours = RULES[f"{owner}.{name}"](bound(f"{owner}.{name}", positional, keywords, None))
    where = f"{name}{positional!r:.60}"
    assert isinstance(ours, DatasetValue)
    for method, argument, drop in steps:
        arguments = () if argument is None else (argument,)
        options = {} if drop is None else {"drop_remainder": drop}
        where += f".{method}({argument}, {options})"
        if any(isinstance(spec, tf.data.DatasetSpec) for spec in tf.nest.flatten(real.element_spec)):
            return
        actual = (FUNCTIONS[argument].real,) if method == "map" else arguments
        try:
            real = getattr(real, method)(*actual, **options)
        except (ValueError, TypeError):
            return
        ours = RULES[f"{owner}.{method}"](bound(f"{owner}.{method}", arguments, options, ours))
        assert isinstance(ours, DatasetValue)
        check_dataset(ours, real, where, elements=False)
    try:
        check_dataset(ours, real, where)
    except tf.errors.InvalidArgumentError:
        return  # elements of different sizes in one batch


def test_zip_takes_the_shorter() -> None:
    a, b = DatasetValue(UNKNOWN, 3), DatasetValue(TensorValue(TensorType(DType("int64"), ())), 5)
    ours = RULES["tensorflow.data.Dataset.zip"](BoundCall("tensorflow.data.Dataset.zip", {}, extra_arguments=(a, b)))
    assert ours == DatasetValue(TupleValue((UNKNOWN, b.element)), 3)
    real = tf.data.Dataset.zip((tf.data.Dataset.range(3), tf.data.Dataset.range(5)))
    assert int(real.cardinality()) == 3


@pytest.mark.parametrize(
    "signature",
    [
        tf.TensorSpec((None, 3), tf.float32),
        (tf.TensorSpec((), tf.int32), {"k": tf.TensorSpec(None, tf.string)}),
    ],
)
def test_from_generator_with_signature(signature: Any) -> None:
    name = "tensorflow.data.Dataset.from_generator"
    real = tf.data.Dataset.from_generator(lambda: iter(()), output_signature=signature)
    ours = RULES[name](BoundCall(name, {"output_signature": abstract(signature)}))
    check_spec(element_spec(ours), real.element_spec, name)


@pytest.mark.parametrize(
    ("types", "shapes"),
    [
        (tf.float32, None),
        ((tf.float32, tf.int64), ((None, 2), ())),
        ({"a": tf.float32}, {"a": (3,)}),
        ((tf.float32, tf.int64), (tf.TensorShape([2]), tf.TensorShape(None))),
    ],
)
def test_from_generator_with_types(types: Any, shapes: Any) -> None:
    name = "tensorflow.data.Dataset.from_generator"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        real = tf.data.Dataset.from_generator(lambda: iter(()), output_types=types, output_shapes=shapes)
    arguments = {"output_types": abstract(types)}
    if shapes is not None:
        arguments["output_shapes"] = abstract(shapes)
    check_spec(element_spec(RULES[name](BoundCall(name, arguments))), real.element_spec, name)


def test_components_of_different_sizes_are_refused() -> None:
    name = "tensorflow.data.Dataset.from_tensor_slices"
    components = (np.zeros((3, 2)), np.zeros((4,)))
    with pytest.raises(ValueError):
        tf.data.Dataset.from_tensor_slices(components)
    with pytest.raises(OperationError):
        RULES[name](BoundCall(name, {"tensors": abstract(components)}))


def test_padded_batch_with_shapes() -> None:
    name = "tensorflow.data.Dataset.padded_batch"
    element = (tf.TensorSpec((None,), tf.int32), tf.TensorSpec((), tf.int64))
    real = tf.data.Dataset.from_generator(lambda: iter(()), output_signature=element)
    ours = DatasetValue(
        TupleValue((TensorValue(TensorType(DType("int32"), (None,))), TensorValue(TensorType(DType("int64"), ()))))
    )
    for shapes in (((None,), ()), ((7,), ()), ([5], []), ((-1,), ())):
        call = BoundCall(
            name,
            {"batch_size": Constant(2), "padded_shapes": abstract(shapes), "drop_remainder": Constant(True)},
            receiver=ours,
        )
        batched = RULES[name](call)
        check_spec(element_spec(batched), real.padded_batch(2, shapes, drop_remainder=True).element_spec, str(shapes))


def test_numpy_iterator_gives_arrays() -> None:
    name = "tensorflow.data.Dataset.as_numpy_iterator"
    dataset = DatasetValue(
        TupleValue((TensorValue(TensorType(DType("float32"), (2,))), TensorValue(TensorType(DType("int64"), ()))))
    )
    ours = RULES[name](BoundCall(name, {}, receiver=dataset))
    assert isinstance(ours, DatasetValue) and isinstance(ours.element, TupleValue)
    real = next(tf.data.Dataset.from_tensors((tf.zeros(2), tf.constant(1, tf.int64))).as_numpy_iterator())
    kinds = [item.kind for item in ours.element.elements if isinstance(item, TensorValue)]
    assert [isinstance(part, np.ndarray) for part in real] == [kind is TensorKind.NDARRAY for kind in kinds]
