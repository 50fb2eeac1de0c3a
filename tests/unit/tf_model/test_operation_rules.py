"""Rules of `tf_model.ops` that need no TensorFlow: symbolic sizes, contents, callbacks, and the words of errors."""

from __future__ import annotations

import contextlib
import importlib
import pkgutil
from collections.abc import Sequence

import pytest

from terra_refactor.domain.dim import add, multiply, roots_of, symbol
from terra_refactor.domain.dtype import FLOAT32, INT32
from terra_refactor.domain.roots import EVERYWHERE
from terra_refactor.domain.shape import Shape
from terra_refactor.domain.tensor import TensorType
from terra_refactor.domain.traced import without_marks
from terra_refactor.domain.value import (
    NONE,
    UNKNOWN,
    Constant,
    FrozenList,
    LibraryValue,
    SliceValue,
    SpecValue,
    TensorKind,
    TensorValue,
    TupleValue,
    UnknownValue,
    Value,
)
from terra_refactor.tf_model import ops, registry
from terra_refactor.tf_model.name_table import words
from terra_refactor.tf_model.ops.operators import convert_rule, index_rule, operator_rule
from terra_refactor.tf_model.registry import canonical_name, lookup
from terra_refactor.tf_model.spec import BoundCall, EntityKind, ErrorKind, OperationError, OperationRule

N = symbol("N")


def rule(name: str) -> OperationRule:
    entity = lookup(name)
    assert entity is not None and entity.rule is not None
    return entity.rule


def tensor(shape: Shape, dtype: str = "float32") -> TensorValue:
    found = FLOAT32 if dtype == "float32" else INT32
    return TensorValue(TensorType(found, shape))


def call(name: str, extra: tuple[Value, ...] = (), **arguments: Value) -> Value:
    return rule(name)(BoundCall(name, arguments, extra))


def shape_of(value: Value) -> Shape:
    assert isinstance(value, TensorValue)
    return value.type.shape


def ints(*numbers: int) -> FrozenList:
    return FrozenList(tuple(Constant(number) for number in numbers))


def test_rule_names_are_canonical() -> None:
    for module in pkgutil.iter_modules(ops.__path__):
        rules = getattr(importlib.import_module(f"terra_refactor.tf_model.ops.{module.name}"), "RULES", {})
        for name in rules:
            assert canonical_name(name) == name


def test_symbolic_batch_survives_flattening() -> None:
    images = tensor((N, 28, 28, 1))
    assert shape_of(call("tensorflow.reshape", tensor=images, shape=ints(-1, 784))) == (N, 784)
    size = index_rule(call("tensorflow.shape", input=images), Constant(0))
    rows = FrozenList((size, Constant(-1)))
    assert shape_of(call("tensorflow.reshape", tensor=images, shape=rows)) == (N, 784)


def test_sizes_are_computed_with() -> None:
    size = index_rule(call("tensorflow.shape", input=tensor((N, 3))), Constant(0))
    doubled = operator_rule("*", size, Constant(2))
    assert shape_of(call("tensorflow.zeros", shape=FrozenList((doubled, Constant(3))))) == (multiply(N, 2), 3)


def test_slices_of_symbolic_axes() -> None:
    last = SliceValue(NONE, Constant(-1), NONE)
    assert shape_of(index_rule(tensor((N, 3)), last)) == (add(N, -1), 3)
    assert shape_of(index_rule(tensor((N, 3)), TupleValue((Constant(...), NONE)))) == (N, 3, 1)


def test_concat_adds_symbolic_sizes() -> None:
    made = call("tensorflow.concat", values=FrozenList((tensor((N, 3)), tensor((1, 3)))), axis=Constant(0))
    assert shape_of(made) == (add(N, 1), 3)


@pytest.mark.parametrize(
    ("name", "arguments", "kind", "words"),
    [
        (
            "tensorflow.linalg.matmul",
            {"a": tensor((2, 3)), "b": tensor((4, 5))},
            ErrorKind.SHAPE,
            ["(2, 3)", "(4, 5)", "axis -1"],
        ),
        (
            "tensorflow.math.add",
            {"x": tensor((2, 3)), "y": tensor((2, 4))},
            ErrorKind.SHAPE,
            ["(2, 3)", "(2, 4)", "axis -1"],
        ),
        ("tensorflow.math.add", {"x": tensor((2,)), "y": tensor((2,), "int32")}, ErrorKind.DTYPE, ["float32", "int32"]),
        ("tensorflow.reshape", {"tensor": tensor((N, 6)), "shape": ints(-1, 7, 0)}, None, []),
        ("tensorflow.reshape", {"tensor": tensor((2, 3)), "shape": ints(4, 2)}, ErrorKind.SHAPE, ["(2, 3)", "(4, 2)"]),
        ("tensorflow.expand_dims", {"input": tensor((2,)), "axis": Constant(3)}, ErrorKind.RANK, ["axis 3", "(2,)"]),
    ],
)
def test_errors_name_both_shapes(
    name: str, arguments: dict[str, Value], kind: ErrorKind | None, words: list[str]
) -> None:
    if kind is None:
        call(name, **arguments)
        return
    with pytest.raises(OperationError) as raised:
        call(name, **arguments)
    assert raised.value.kind is kind
    for word in words:
        assert word in raised.value.message


def test_unequal_rows_are_no_tensor() -> None:
    with pytest.raises(OperationError):
        convert_rule(FrozenList((ints(1, 2), ints(1))))


FUNCTION = LibraryValue("example.function")


def test_map_fn_stacks_what_the_function_gives() -> None:
    def invoke(function: Value, arguments: Sequence[Value], *, graph: bool = False) -> Value:
        assert not graph and arguments == (tensor((5,)),)
        return TupleValue((tensor((5, 5)), tensor(())))

    made = rule("tensorflow.map_fn")(
        BoundCall("tensorflow.map_fn", {"fn": FUNCTION, "elems": tensor((N, 5))}, invoke=invoke)
    )
    assert made == TupleValue((tensor((N, 5, 5)), tensor((N,))))


@pytest.mark.parametrize("given", [UNKNOWN, UnknownValue(reason="budget")])
def test_the_result_of_map_fn_has_the_structure_of_its_signature(given: Value) -> None:
    """What the function gives need not be known for it, and where neither is known the result may be a structure."""
    spec = SpecValue(TensorType(FLOAT32, None))

    def made(signature: Value) -> Value:
        arguments: dict[str, Value] = {"fn": FUNCTION, "elems": tensor((N, 5)), "fn_output_signature": signature}
        return rule("tensorflow.map_fn")(BoundCall("tensorflow.map_fn", arguments, invoke=lambda *_, **__: given))

    assert made(TupleValue((spec, spec))) == TupleValue((tensor(None), tensor(None)))
    assert made(spec) == tensor(None)
    assert isinstance(made(UnknownValue(reason="budget")), UnknownValue)
    assert made(TupleValue((spec, UNKNOWN))) == TupleValue((tensor(None), UNKNOWN))


def test_a_loop_variable_that_grows_has_an_unknown_size() -> None:
    grown = iter([tensor((3,)), tensor((4,))])

    def invoke(function: Value, arguments: Sequence[Value], *, graph: bool = False) -> Value:
        return TupleValue((next(grown),))

    arguments: dict[str, Value] = {"cond": FUNCTION, "body": FUNCTION, "loop_vars": FrozenList((tensor((2,)),))}
    made = rule("tensorflow.while_loop")(BoundCall("tensorflow.while_loop", arguments, invoke=invoke))
    assert without_marks(made) == FrozenList((tensor((None,)),))
    assert isinstance(made, FrozenList) and made.elements is not None
    (variable,) = made.elements
    assert isinstance(variable, TensorValue) and variable.type.shape is not None
    assert roots_of(variable.type.shape[0]) == EVERYWHERE


def test_branches_are_joined() -> None:
    found = {FUNCTION: tensor((2, 3)), LibraryValue("example.other"): tensor((2, 4))}

    def invoke(function: Value, arguments: Sequence[Value], *, graph: bool = False) -> Value:
        return found.get(function, UNKNOWN) if isinstance(function, LibraryValue) else UNKNOWN

    arguments: dict[str, Value] = {"pred": tensor(()), "true_fn": FUNCTION, "false_fn": LibraryValue("example.other")}
    made = rule("tensorflow.cond")(BoundCall("tensorflow.cond", arguments, invoke=invoke))
    assert without_marks(made) == tensor((2, None))
    assert isinstance(made, TensorValue) and made.type.shape is not None
    assert [roots_of(size) for size in made.type.shape] == [
        0,
        EVERYWHERE,
    ]  # a graph knows no size that a tensor chooses


def test_gradients_have_the_types_of_their_sources() -> None:
    sources = FrozenList((TensorValue(TensorType(FLOAT32, (3, 4)), TensorKind.VARIABLE), tensor((4,))))
    made = call("tensorflow.GradientTape.gradient", target=tensor(()), sources=sources)
    assert made == FrozenList((tensor((3, 4)), tensor((4,))))


class _Asked(dict[str, Value]):
    """Arguments that record which names are asked for."""

    def __init__(self, values: dict[str, Value]) -> None:
        super().__init__(values)
        self.names: list[str] = []

    def get(self, name: str, default: Value | None = None) -> Value | None:  # type: ignore[override]
        self.names.append(name)
        return super().get(name, default)


@pytest.mark.parametrize("name", ["numpy.ndarray.dot", "math.nextafter", "math.zeta", "keras.ops.stop_gradient"])
def test_results_of_functions_with_unusual_names_of_parameters(name: str) -> None:
    name = f"tensorflow.{name}" if name.startswith("math") else name
    entity = lookup(name)
    assert entity is not None and entity.rule is not None
    kind = TensorKind.NDARRAY if name.startswith("numpy") else TensorKind.TENSOR
    data = TensorValue(TensorType(FLOAT32, (4, 4)), kind)
    given: dict[str, Value] = {each.name: data for each in entity.parameters or () if not each.has_default}
    receiver = data if name.startswith("numpy") else None
    assert entity.rule(BoundCall(name, given, receiver=receiver)) == data


_ALL_ARGUMENTS = words("keras.Model.__call__ keras.layers.InputLayer.__call__ tensorflow.data.Dataset.range")
"""Functions whose catalogued signature is `*args`, or a method that takes the input under any name."""
_CONSTRUCTED = words("numpy.complex64 numpy.complex128 keras.regularizers.OrthogonalRegularizer.__call__")
"""Functions whose result does not depend on the shapes of their arguments."""
_ONLY_OPTIONS = words("operator.pow tensorflow.io.decode_gif tensorflow.compat.v1.data.Dataset.range")
"""Functions whose rule is another one's and does not need the data; `keras.backend.stop_gradient` takes a list, too."""


def test_rules_ask_for_parameters_that_exist() -> None:
    known = _ALL_ARGUMENTS | _CONSTRUCTED | _ONLY_OPTIONS | {"keras.backend.stop_gradient"}
    asking = set()
    for name in registry._rules():
        entity = lookup(name)
        if entity is None or entity.rule is None or not entity.parameters:
            continue
        kind = TensorKind.NDARRAY if name.startswith("numpy") else TensorKind.TENSOR
        data = TensorValue(TensorType(FLOAT32, (4, 4)), kind)
        holder = lookup(name.rpartition(".")[0])
        arguments = _Asked({each.name: data for each in entity.parameters})
        # arguments of no meaning: only the names matter here
        with contextlib.suppress(Exception):
            entity.rule(
                BoundCall(
                    name, arguments, receiver=data if holder is not None and holder.kind is EntityKind.CLASS else None
                )
            )
        if arguments.names and not set(arguments.names) & set(arguments):
            asking.add(name)
    assert asking == known
