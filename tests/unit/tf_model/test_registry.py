"""The look-up of library knowledge: names, aliases, classes, members, and the tables that speak of them."""

from __future__ import annotations

import pytest

from terra_refactor.domain.dtype import DType
from terra_refactor.domain.effect import EffectKind
from terra_refactor.domain.tensor import UNKNOWN_TENSOR_TYPE
from terra_refactor.domain.value import (
    FALSE,
    NONE,
    UNKNOWN,
    Constant,
    DatasetValue,
    DTypeValue,
    FrozenList,
    Reference,
    TensorKind,
    TensorValue,
    TupleValue,
)
from terra_refactor.tf_model import registry
from terra_refactor.tf_model.aliases import FORMER_MODULES, FORMER_NAMES
from terra_refactor.tf_model.catalogue import (
    catalogue_files,
    catalogued_members,
    entry,
    parse_signature,
    parse_value,
    value_of,
)
from terra_refactor.tf_model.spec import EntityKind, ParameterPassing, Trait


@pytest.mark.parametrize(
    ("name", "canonical"),
    [
        ("tensorflow.add", "tensorflow.math.add"),
        ("tensorflow.matmul", "tensorflow.linalg.matmul"),
        ("tensorflow.reshape", "tensorflow.reshape"),
        ("tensorflow.keras.layers.Dense", "keras.layers.Dense"),
        ("tf_keras.layers.Dense", "keras.layers.Dense"),
        ("tensorflow.python.keras.layers.Dense", "keras.layers.Dense"),
        ("keras.src.layers.core.dense.Dense", "keras.layers.Dense"),
        ("keras.models.Model.fit", "keras.Model.fit"),
        ("keras.layers.Input", "keras.Input"),
        ("keras.Layer", "keras.layers.Layer"),
        ("tensorflow.keras.losses.mse", "keras.losses.mean_squared_error"),
        ("tensorflow.keras.metrics.mean_squared_error", "keras.losses.mean_squared_error"),
        ("keras.layers.Dense.add_weight", "keras.layers.Layer.add_weight"),
        ("tensorflow.compat.v2.reshape", "tensorflow.reshape"),
        ("tensorflow.compat.v1.math.sin", "tensorflow.math.sin"),
        ("tensorflow.compat.v1.reduce_sum", "tensorflow.compat.v1.reduce_sum"),
        ("tensorflow.compat.v1.where", "tensorflow.compat.v1.where"),
        ("tensorflow.placeholder", "tensorflow.compat.v1.placeholder"),
        ("tensorflow.train.AdamOptimizer", "tensorflow.compat.v1.train.AdamOptimizer"),
        ("tensorflow.layers.dense", "tensorflow.compat.v1.layers.dense"),
        ("tensorflow.mul", "tensorflow.math.multiply"),
        ("tensorflow.contrib.rnn.BasicLSTMCell", "tensorflow.compat.v1.nn.rnn_cell.BasicLSTMCell"),
        ("tensorflow.python.ops.math_ops.add", "tensorflow.math.add"),
        ("tensorflow.optimizers.Adam", "keras.optimizers.Adam"),
        ("numpy.bool_", "numpy.bool"),
        ("numpy.int", "builtins.int"),
        ("posixpath.join", "os.path.join"),
        ("no.such.module", "no.such.module"),
    ],
)
def test_a_name_has_one_canonical_form(name: str, canonical: str) -> None:
    assert registry.canonical_name(name) == canonical
    assert registry.canonical_name(canonical) == canonical


def test_every_alias_of_the_catalogue_leads_to_an_entity() -> None:
    for owner in {owner for file in catalogue_files() for owner in file.owners}:
        for leaf, (text, _) in catalogued_members(owner).items():
            if not text.startswith("="):
                continue
            name = registry.canonical_name(f"{owner}.{leaf}" if owner else leaf)
            found = entry(name)
            assert found is not None, (owner, leaf, text)
            assert not found[0].startswith("="), (owner, leaf, text)


def test_every_entry_can_be_decoded() -> None:
    kinds = set()
    for owner in {owner for file in catalogue_files() for owner in file.owners}:
        for leaf, (text, file) in catalogued_members(owner).items():
            kinds.add(text[0])
            if text[0] in "fmskc" and (number := text[1:].partition(";")[0]):
                parse_signature(catalogue_files()[file].signatures[int(number)])
            elif text[0] == "v":
                parse_value(text[1:])
            elif text[0] not in "=Mpfmskc":
                pytest.fail(f"{owner}.{leaf}: {text}")
    assert kinds == set("=Mpfmskcv")


def test_every_base_class_is_a_known_class() -> None:
    for owner in {owner for file in catalogue_files() for owner in file.owners}:
        for leaf, (text, _) in catalogued_members(owner).items():
            if text.startswith("c") and ";" in text and owner.partition(".")[0] in ("tensorflow", "keras", "numpy"):
                for base in registry.class_bases(f"{owner}.{leaf}"):
                    found = registry.lookup(base)
                    assert found is not None and found.kind is EntityKind.CLASS, (owner, leaf, base)


def test_a_function_has_its_parameters_in_order() -> None:
    entity = registry.lookup("tensorflow.reduce_sum")
    assert entity is not None
    assert entity.name == "tensorflow.math.reduce_sum"
    assert entity.parameters is not None
    assert [parameter.name for parameter in entity.parameters] == ["input_tensor", "axis", "keepdims", "name"]
    assert [parameter.default for parameter in entity.parameters] == [None, NONE, FALSE, NONE]
    assert not entity.parameters[0].has_default


def test_a_dtype_default_is_a_dtype() -> None:
    entity = registry.lookup("tensorflow.zeros")
    assert entity is not None and entity.parameters is not None
    assert entity.parameters[1].default == DTypeValue(DType("float32"))


def test_constants_have_their_values() -> None:
    assert registry.lookup("tensorflow.float32").value == DTypeValue(DType("float32"))  # type: ignore[union-attr]
    assert registry.lookup("numpy.float64").value == DTypeValue(DType("float64"))  # type: ignore[union-attr]
    assert registry.lookup("tensorflow.newaxis").value == NONE  # type: ignore[union-attr]
    assert registry.lookup("tensorflow.__version__").value is None  # type: ignore[union-attr]


def test_methods_are_found_along_the_bases() -> None:
    method = registry.find_library_method("keras.layers.Conv2D", "add_weight")
    assert method is not None and method.name == "keras.layers.Layer.add_weight"
    assert registry.is_library_subclass("keras.layers.Conv2D", "keras.layers.Layer")
    assert not registry.is_library_subclass("keras.layers.Layer", "keras.layers.Conv2D")
    assert registry.find_library_method("keras.layers.Conv2D", "no_such_method") is None


def test_a_layers_call_has_the_parameters_of_its_body() -> None:
    entity = registry.find_library_method("keras.layers.LSTM", "__call__")
    assert entity is not None and entity.parameters is not None
    assert [parameter.name for parameter in entity.parameters] == ["sequences", "initial_state", "mask", "training"]
    dense = registry.find_library_method("keras.layers.Dense", "__call__")
    assert dense is not None and dense.parameters is not None
    assert [p.name for p in dense.parameters if p.passing is ParameterPassing.KEYWORD_ONLY] == ["mask"]


def test_tensors_of_each_kind_have_their_methods() -> None:
    assert registry.attribute(registry.TENSOR_CLASSES[TensorKind.TENSOR], "numpy") == "tensorflow.Tensor.numpy"
    assert (
        registry.attribute(registry.TENSOR_CLASSES[TensorKind.VARIABLE], "assign_add")
        == "tensorflow.Variable.assign_add"
    )
    assert registry.attribute(registry.TENSOR_CLASSES[TensorKind.NDARRAY], "astype") == "numpy.ndarray.astype"
    assert (
        registry.attribute(registry.TENSOR_CLASSES[TensorKind.RAGGED], "to_tensor")
        == "tensorflow.RaggedTensor.to_tensor"
    )
    assert (
        registry.attribute(registry.TENSOR_CLASSES[TensorKind.SPARSE], "values")
        == "tensorflow.sparse.SparseTensor.values"
    )
    assert registry.attribute(registry.TENSOR_CLASSES[TensorKind.TENSOR], "no_such_method") is None
    for class_name in registry.TENSOR_CLASSES.values():
        entity = registry.lookup(class_name)
        assert entity is not None and entity.name == class_name and entity.kind is EntityKind.CLASS


def test_values_have_classes() -> None:
    assert registry.class_of(Constant(1)) == "builtins.int"
    assert registry.class_of(Constant(True)) == "builtins.bool"
    assert registry.class_of(TupleValue(())) == "builtins.tuple"
    assert registry.class_of(FrozenList(())) == "builtins.list"
    assert registry.class_of(TensorValue(UNKNOWN_TENSOR_TYPE, TensorKind.VARIABLE)) == "tensorflow.Variable"
    assert registry.class_of(DatasetValue(UNKNOWN)) == "tensorflow.data.Dataset"
    assert registry.class_of(DatasetValue(UNKNOWN, iterator=True)) == "tensorflow.data.Iterator"
    assert registry.class_of(Reference(1)) is None


def test_functions_in_classes_are_bound_in_three_ways() -> None:
    assert registry.binding("tensorflow.Tensor.numpy") is registry.MethodBinding.INSTANCE
    assert registry.binding("tensorflow.data.Dataset.from_tensor_slices") is registry.MethodBinding.STATIC
    assert registry.binding("keras.layers.Layer.from_config") is registry.MethodBinding.CLASS
    assert registry.binding("keras.layers.Dense.__call__") is registry.MethodBinding.INSTANCE
    assert registry.binding("tensorflow.math.add") is None
    assert registry.is_library_property("tensorflow.Tensor.shape")
    assert not registry.is_library_property("tensorflow.Tensor.numpy")


@pytest.mark.parametrize(
    ("name", "effect"),
    [
        ("builtins.print", EffectKind.PRINT),
        ("logging.Logger.info", EffectKind.LOG),
        ("absl.logging.info", EffectKind.LOG),
        ("builtins.open", EffectKind.INPUT_OUTPUT),
        ("tensorflow.io.gfile.GFile.write", EffectKind.INPUT_OUTPUT),
        ("random.random", EffectKind.RANDOM),
        ("numpy.random.rand", EffectKind.RANDOM),
        ("time.time", EffectKind.TIME),
        ("datetime.datetime.now", EffectKind.TIME),
        ("os.environ.get", EffectKind.TIME),
        ("tensorflow.Variable.assign", EffectKind.TENSOR_STATE),
        ("keras.optimizers.Adam.apply_gradients", EffectKind.TENSOR_STATE),
        ("keras.metrics.Mean.update_state", EffectKind.TENSOR_STATE),
        ("tensorflow.random.normal", EffectKind.TENSOR_RANDOM),
        ("keras.layers.Dense", EffectKind.VARIABLE_CREATION),
        ("keras.Model", EffectKind.VARIABLE_CREATION),
        ("tensorflow.Variable", EffectKind.VARIABLE_CREATION),
        ("tqdm.tqdm", EffectKind.PRINT),
    ],
)
def test_what_changes_the_world_says_so(name: str, effect: EffectKind) -> None:
    entity = registry.lookup(name)
    assert entity is not None
    assert effect in entity.effects


@pytest.mark.parametrize(
    "name",
    [
        "tensorflow.math.add",
        "tensorflow.random.stateless_normal",
        "tensorflow.reshape",
        "numpy.sum",
        "numpy.random.default_rng",
        "math.sqrt",
        "time.strftime",
        "logging.getLogger",
        "keras.losses.MeanSquaredError",
        "keras.activations.relu",
        "functools.partial",
        "scipy.special.expit",
        "pathlib.Path",
        "builtins.str.join",
    ],
)
def test_what_is_pure_has_no_effect(name: str) -> None:
    entity = registry.lookup(name)
    assert entity is not None
    assert entity.effects == frozenset()


@pytest.mark.parametrize(
    ("name", "trait", "has"),
    [
        ("tensorflow.Tensor.numpy", Trait.EAGER_ONLY, True),
        ("keras.Model.fit", Trait.EAGER_ONLY, True),
        ("keras.Sequential.predict", Trait.EAGER_ONLY, True),
        ("tensorflow.Tensor.get_shape", Trait.EAGER_ONLY, False),
        ("numpy.mean", Trait.CONCRETE_ARRAYS, True),
        ("numpy.zeros", Trait.CONCRETE_ARRAYS, False),
        ("cv2.resize", Trait.CONCRETE_ARRAYS, True),
        ("tensorflow.math.add", Trait.RETURNS_TENSOR, True),
        ("tensorflow.compat.v1.reduce_sum", Trait.TENSOR_OPERATION, True),
        ("keras.ops.mean", Trait.TENSOR_OPERATION, True),
        ("keras.layers.Dense.__call__", Trait.RETURNS_TENSOR, True),
        ("keras.losses.MeanSquaredError", Trait.RETURNS_TENSOR, False),
        ("keras.losses.MeanSquaredError.get_config", Trait.TENSOR_OPERATION, False),
        ("tensorflow.py_function", Trait.HOST_CALLBACK, True),
        ("tensorflow.data.Dataset.map", Trait.DATASET, True),
        ("tensorflow.strings.upper", Trait.XLA_UNSUPPORTED, True),
        ("tensorflow.random.set_seed", Trait.RETURNS_TENSOR, False),
        ("keras.layers.Layer", Trait.CREATES_STATE, True),
        ("keras.losses.Loss", Trait.CREATES_STATE, False),
    ],
)
def test_traits_follow_the_bases(name: str, trait: Trait, has: bool) -> None:
    entity = registry.lookup(name)
    assert entity is not None
    assert (trait in entity.traits) is has


def test_costs_follow_the_bases() -> None:
    assert registry.lookup("tensorflow.math.add").operations == 1  # type: ignore[union-attr]
    assert registry.lookup("keras.layers.Dense.__call__").operations == 4  # type: ignore[union-attr]
    assert registry.find_library_method("keras.Sequential", "__call__").operations > 5  # type: ignore[union-attr]
    assert registry.lookup("builtins.len").operations == 0  # type: ignore[union-attr]


def test_names_of_unlisted_packages_exist_but_other_names_do_not() -> None:
    assert registry.attribute("", "scipy") == "scipy"
    assert registry.attribute("scipy", "stats") == "scipy.stats"
    assert registry.lookup("scipy").kind is EntityKind.MODULE  # type: ignore[union-attr]
    assert registry.lookup("pandas.DataFrame").kind is EntityKind.CLASS  # type: ignore[union-attr]
    assert registry.attribute("", "my_own_package") is None
    assert registry.lookup("my_own_package.f") is None
    assert registry.attribute("tensorflow", "no_such_function") is None
    assert registry.attribute("tensorflow.python.ops", "no_such_module") == "tensorflow.python.ops.no_such_module"


def test_python_constants_become_values() -> None:
    assert value_of((1, [2.0, None])) == TupleValue((Constant(1), FrozenList((Constant(2.0), NONE))))
    assert value_of(object()) is None
    assert value_of((1, object())) is None


def test_former_names_lead_to_what_exists() -> None:
    for old, new in {**FORMER_NAMES, **FORMER_MODULES}.items():
        assert registry.lookup(new) is not None, old
        assert registry.canonical_name(new) == new, old


def test_an_entity_is_made_once() -> None:
    """Look-ups are asked for millions of times."""
    for name in (
        "tensorflow.math.add",
        "tensorflow.add",
        "keras.layers.Dense",
        "keras.layers.Dense.__call__",
        "no.such",
    ):
        assert registry.lookup(name) is registry.lookup(name)
    assert registry.lookup("tensorflow.add") is registry.lookup("tensorflow.math.add")
