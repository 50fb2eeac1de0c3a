"""The single lookup of library models by qualified name.

Computes: canonical names, entities, members of modules and classes. Needs: the generated catalogue (`catalogue.py`),
the tables of names, effects, traits and costs, and the rules of the family modules. Gives: frozen `Entity` objects,
created on first use and then cached. Reads the data once, on first use; later lookups are dictionary accesses.
Ignores: installed packages. An unknown name is None, never an error.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from enum import Enum
from functools import cache
from types import ModuleType
from typing import Final, TypeAlias

from terra_refactor.domain.dtype import dtype_named
from terra_refactor.domain.effect import EffectKind
from terra_refactor.domain.value import (
    OBJECT_DICT,
    BoundMethod,
    Constant,
    DatasetValue,
    DTypeValue,
    FrozenDict,
    FrozenList,
    PartialValue,
    RangeValue,
    Scalar,
    SequenceValue,
    ShapeValue,
    SliceValue,
    SpecValue,
    TensorKind,
    TensorValue,
    TupleValue,
    Value,
)
from terra_refactor.errors import InternalError
from terra_refactor.tf_model.aliases import FORMER_MODULES, FORMER_NAMES, NUMPY_BEHAVIOUR, OPEN_MODULES, OPEN_OBJECTS
from terra_refactor.tf_model.catalogue import catalogue_files, catalogued_members, entry, parse_signature, parse_value
from terra_refactor.tf_model.costs import DEFAULT_BY_BASE, OPERATIONS
from terra_refactor.tf_model.effects import EFFECTS
from terra_refactor.tf_model.packages import PACKAGE_EFFECTS, PACKAGE_TRAITS, PACKAGES
from terra_refactor.tf_model.python_effects import PYTHON_EFFECTS
from terra_refactor.tf_model.releases import BACKEND_OF_KERAS_3, KERAS, OF_KERAS_1, OLDER_PARAMETERS
from terra_refactor.tf_model.spec import Entity, EntityKind, OperationRule, ParameterPassing, ParameterSpec, Trait
from terra_refactor.tf_model.traits import TRAITS

NAME_FAMILIES: Final = (
    "terra_refactor.tf_model.attributes",
    "terra_refactor.tf_model.data",
    "terra_refactor.tf_model.keras",
    "terra_refactor.tf_model.numpy_api",
    "terra_refactor.tf_model.ops.array",
    "terra_refactor.tf_model.ops.compat_v1",
    "terra_refactor.tf_model.ops.contrib",
    "terra_refactor.tf_model.ops.control",
    "terra_refactor.tf_model.ops.creation",
    "terra_refactor.tf_model.ops.image",
    "terra_refactor.tf_model.ops.io",
    "terra_refactor.tf_model.ops.linalg",
    "terra_refactor.tf_model.ops.lookup",
    "terra_refactor.tf_model.ops.losses",
    "terra_refactor.tf_model.ops.math",
    "terra_refactor.tf_model.ops.nn",
    "terra_refactor.tf_model.ops.ragged",
    "terra_refactor.tf_model.ops.random",
    "terra_refactor.tf_model.ops.recurrent",
    "terra_refactor.tf_model.ops.signal",
    "terra_refactor.tf_model.ops.sparse",
    "terra_refactor.tf_model.ops.strings",
    "terra_refactor.tf_model.ops.variables",
    "terra_refactor.tf_model.probability",
    "terra_refactor.tf_model.python_api",
    "terra_refactor.tf_model.sample_data",
)
"""The modules with `RULES: Mapping[str, Rule]` or `ATTRIBUTES: Mapping[str, AttributeRule]`, or packages that merge
those of their modules.
"""

AttributeRule: TypeAlias = Callable[[Value], Value]
"""From the receiver to the value of one of its attributes, for attributes that are read, not called."""

TENSOR_CLASSES: Final[Mapping[TensorKind, str]] = {
    TensorKind.TENSOR: "tensorflow.Tensor",
    TensorKind.VARIABLE: "tensorflow.Variable",
    TensorKind.NDARRAY: "numpy.ndarray",
    TensorKind.NUMPY_SCALAR: "numpy.generic",
    TensorKind.KERAS: "keras.KerasTensor",
    TensorKind.SPARSE: "tensorflow.sparse.SparseTensor",
    TensorKind.RAGGED: "tensorflow.RaggedTensor",
    TensorKind.INDEXED_SLICES: "tensorflow.IndexedSlices",
}
"""The class whose methods a value of each kind has."""

EAGER_TENSOR: Final = "tensorflow.python.framework.ops.EagerTensor"
"""The class of eager tensors, a subclass of `tf.Tensor` that has no public name."""


_UFUNC_METHODS: Final = frozenset({"accumulate", "at", "outer", "reduce", "reduceat"})

_TRAITS_OF_OPERATIONS: Final = frozenset({Trait.TENSOR_OPERATION, Trait.RETURNS_TENSOR, Trait.TAKES_TENSORS})
"""Traits that a module's classes do not share with its functions."""


class MethodBinding(Enum):
    """The first argument of a function found in a class."""

    INSTANCE = "instance"
    CLASS = "class"
    STATIC = "static"


@cache
def canonical_name(name: str) -> str:
    """The canonical name: aliases of modules, classes and functions are resolved from left to right.

    `tensorflow.keras.layers.Dense` is `keras.layers.Dense`, `tensorflow.add` is `tensorflow.math.add`,
    `tensorflow.placeholder` (of TensorFlow 1) is `tensorflow.compat.v1.placeholder`, `keras.layers.Dense.add_weight`
    is `keras.layers.Layer.add_weight`. Of an unknown name only the known part is resolved.
    """
    current = ""
    for leaf in name.split("."):
        current = _step(current, leaf)
    return current


def _step(owner: str, leaf: str) -> str:
    """The canonical name of member `leaf` of the canonical `owner`."""
    resolved = attribute(owner, leaf)
    if resolved is not None:
        return resolved
    return f"{owner}.{leaf}" if owner else leaf


def _catalogue_name(name: str) -> str:
    """`canonical_name` by the catalogue's aliases only: an inherited member keeps the name of the requested class."""
    current = ""
    for leaf in name.split("."):
        current = _follow(current, leaf) or (f"{current}.{leaf}" if current else leaf)
    return current


def _follow(name: str, leaf: str) -> str | None:
    """The canonical name of a member that the catalogue lists under `name`; None if there is none."""
    found = catalogued_members(name).get(leaf)
    if found is None:
        return None
    if found[0].startswith("="):
        return _catalogue_name(found[0][1:])
    return f"{name}.{leaf}" if name else leaf


@cache
def attribute(name: str, attr: str) -> str | None:
    """The canonical name of attribute `attr` of the module or class `name` (canonical); None if it is not known to have one.

    Attributes of a class are looked up along its method resolution order, names of TensorFlow 1 in
    `tensorflow.compat.v1` or by their replacements. Below a module that is not listed completely (`PACKAGES`,
    `OPEN_MODULES`) every name is assumed to exist.
    """
    full = f"{name}.{attr}" if name else attr
    own = _follow(name, attr)
    if own is not None:
        return own
    if full in _declared_names():
        return full
    for base in class_bases(name):
        inherited = _follow(base, attr)
        if inherited is not None:
            return inherited
        if f"{base}.{attr}" in _declared_names():
            return f"{base}.{attr}"
    if attr == "__init__" and (found := entry(name)) is not None and found[0].startswith("c"):
        return full
    if (
        attr in _UFUNC_METHODS
        and name.startswith("numpy.")
        and (found := entry(name)) is not None
        and found[0][0] == "f"
    ):
        return f"numpy.ufunc.{attr}"
    if isinstance(_constant(name), DTypeValue):
        return attribute("tensorflow.dtypes.DType", attr)
    return _former(name, attr, full)


_NOT_FINITE: Final[Mapping[str, Value]] = {
    f"{module}.{name}": Constant(value)
    for module in ("numpy", "math")
    for name, value in (("inf", float("inf")), ("nan", float("nan")))
}
"""Constants without a literal, which the catalogue cannot hold."""


def _constant(name: str) -> Value | None:
    """The value of a constant of the catalogue."""
    found = entry(name)
    return parse_value(found[0][1:]) if found is not None and found[0].startswith("v") else None


def _former(name: str, attr: str, full: str) -> str | None:
    """The value of an attribute that no supported version has under that name."""
    if full in FORMER_NAMES:
        return FORMER_NAMES[full]
    if full in FORMER_MODULES:
        return FORMER_MODULES[full]
    if name in FORMER_MODULES and (moved := attribute(FORMER_MODULES[name], attr)) is not None:
        return moved
    if name == "tensorflow" or (name.startswith("tensorflow.") and not name.startswith("tensorflow.compat.v1")):
        earlier = _follow("tensorflow.compat.v1" + name.removeprefix("tensorflow"), attr)
        if earlier is not None:
            return earlier
    if not name:
        return attr if attr in PACKAGES else None
    if name in OPEN_OBJECTS or full.startswith(OPEN_MODULES) or name.partition(".")[0] in PACKAGES:
        return full
    return None


def is_taken_to_exist(name: str) -> bool:
    """Whether a canonical name is known only as a possible member of a module or class that is not listed completely."""
    return entry(name) is None and name not in _declared_names()


@cache
def is_former(name: str, attr: str) -> bool:
    """Whether TensorFlow 1 had that member of a TensorFlow module, and TensorFlow 2 has it only in
    `tensorflow.compat.v1`, if at all.
    """
    if name.partition(".")[0] != "tensorflow" or name.startswith(("tensorflow.compat", "tensorflow.python")):
        return False
    full = f"{name}.{attr}"
    if full == "tensorflow.contrib" or full.startswith("tensorflow.contrib.") or full in FORMER_NAMES:
        return True
    former = f"tensorflow.compat.v1{name.removeprefix('tensorflow')}"
    return _follow(name, attr) is None and full not in _declared_names() and _follow(former, attr) is not None


@cache
def is_of_older_keras(name: str, attr: str) -> bool:
    """Whether `keras` itself has had no such member since Keras 3; `tf.keras`, which kept more of them, is not meant.

    All public names of Keras 2 and 3 are known, so a name of neither is internal or from an earlier release.
    """
    found = entry(name)
    if name.partition(".")[0] != KERAS or attr in ("src", "api") or found is None or found[0] != "M":
        return False
    if name == "keras.backend":
        return attr not in BACKEND_OF_KERAS_3
    full = f"{name}.{attr}"
    return full in FORMER_NAMES or full in FORMER_MODULES or attribute(name, attr) is None


@cache
def is_parameter_of_older_keras(name: str, keyword: str) -> bool:
    """Whether the constructor of that canonical name had the parameter before Keras 3, which rejects it."""
    older = next((names for prefix, names in OLDER_PARAMETERS.items() if name.startswith(prefix)), frozenset[str]())
    found = lookup(name) if keyword in older else None
    return found is not None and keyword not in {parameter.name for parameter in found.parameters or ()}


@cache
def is_parameter_of_keras_1(name: str, keyword: str) -> bool:
    """Whether the constructor or method of that canonical name had the parameter in Keras 1, and later releases have no such one."""
    found = lookup(name) if keyword in OF_KERAS_1 and name.startswith(f"{KERAS}.") else None
    return found is not None and keyword not in {parameter.name for parameter in found.parameters or ()}


@cache
def class_bases(name: str) -> tuple[str, ...]:
    """Canonical names of a class's bases in method resolution order, without itself and `object`; empty for anything else."""
    if name == EAGER_TENSOR:
        return (TENSOR_CLASSES[TensorKind.TENSOR],)
    found = entry(name)
    if found is None or not found[0].startswith("c"):
        return ()
    _, _, bases = found[0].partition(";")
    return tuple(dict.fromkeys(_catalogue_name(base) for base in bases.split(","))) if bases else ()


def find_library_method(class_name: str, method: str) -> Entity | None:
    """The method (or property) that instances of a class have under a name, looked up along the method resolution order."""
    found = attribute(class_name, method)
    return lookup(found) if found is not None else None


def is_keras_object(name: str) -> bool:
    """Whether Keras has a class of layers, optimizers, metrics or losses of that name."""
    rooms = ("layers", "optimizers", "metrics", "losses")
    return any(lookup(f"keras.{room}.{name}") is not None for room in rooms)


def is_library_subclass(name: str, base: str) -> bool:
    """Whether one class (canonical name) is the other or derives from it."""
    return name == base or base in class_bases(name)


def class_of(value: Value) -> str | None:
    """The canonical name of the library class of a value; None for program objects, library entities and unknown values."""
    match value:
        case TensorValue(kind=kind):
            return TENSOR_CLASSES[kind]
        case Constant(value=None):
            return "types.NoneType"
        case Constant(value=content):
            return f"builtins.{type(content).__name__}"
        case Scalar(type=python_type):
            return f"builtins.{python_type.value}"
        case TupleValue():
            return "builtins.tuple"
        case SequenceValue(kind=kind):
            return f"builtins.{kind}" if kind in ("tuple", "range", "zip", "map", "filter", "enumerate") else None
        case RangeValue():
            return "builtins.range"
        case SliceValue():
            return "builtins.slice"
        case FrozenList():
            return "builtins.list"
        case FrozenDict():
            return "builtins.dict"
        case DatasetValue(iterator=iterator):
            return "tensorflow.data.Iterator" if iterator else "tensorflow.data.Dataset"
        case SpecValue(kind=TensorKind.SPARSE):
            return "tensorflow.SparseTensorSpec"
        case SpecValue(kind=TensorKind.RAGGED):
            return "tensorflow.RaggedTensorSpec"
        case SpecValue():
            return "tensorflow.TensorSpec"
        case ShapeValue():
            return "tensorflow.TensorShape"
        case DTypeValue():
            return "tensorflow.dtypes.DType"
        case PartialValue(function=function):
            return "builtins.dict" if function == OBJECT_DICT else "functools.partial"
        case BoundMethod():
            return "types.MethodType"
        case _:
            return None


@cache
def binding(name: str) -> MethodBinding | None:
    """The binding of a function that is a member of a class; None for other names."""
    found = entry(name)
    if found is None:
        owner, _, leaf = name.rpartition(".")
        container = entry(owner)
        is_member = container is not None and container[0].startswith("c")
        if container is None and owner.partition(".")[0] in PACKAGES and _is_class_name(owner):
            # a class of a package that is not listed has the methods with a rule
            return MethodBinding.INSTANCE if name in _declared_names() else None
        return MethodBinding.INSTANCE if is_member and (leaf == "__init__" or name in _declared_names()) else None
    return {"m": MethodBinding.INSTANCE, "k": MethodBinding.CLASS, "s": MethodBinding.STATIC}.get(found[0][0])


@cache
def is_definition(name: str) -> bool:
    """Whether a canonical name is known to be that of a module, a function or a class.

    Such an object is true, not None, and equal only to itself. A name without a dot is one that an `import` binds.
    Any other name that is not in the catalogue may be a constant.
    """
    found = entry(name)
    return found[0][0] in "Mfmskc" if found is not None else "." not in name or name in _declared_names()


@cache
def is_library_property(name: str) -> bool:
    """Whether a member of a class is an attribute of its instances that is read, not called."""
    found = entry(name)
    return found is not None and found[0].startswith("p")


@cache
def has_trait(name: str, trait: Trait) -> bool:
    """Whether the library entity of that canonical name has a trait."""
    entity = lookup(name)
    return entity is not None and trait in entity.traits


@cache
def names_with(trait: Trait) -> tuple[str, ...]:
    """The last parts, sorted, of the names that have a trait by themselves or as members of a module; no methods."""
    within = [*TRAITS.below.items(), *TRAITS.directly_below.items()]
    members = (leaf for owner, traits in within if trait in traits for leaf in catalogued_members(owner))
    exact = (name.rpartition(".")[2] for name, traits in TRAITS.exact.items() if trait in traits)
    return tuple(sorted({*members, *exact}))


def draws_by_global_seed(name: str) -> bool:
    """Whether a function draws random numbers by the global seed of TensorFlow; those of Keras have variables."""
    entity = lookup(name) if name.startswith("tensorflow.") else None
    return entity is not None and EffectKind.TENSOR_RANDOM in entity.effects


@cache
def lookup(name: str) -> Entity | None:
    """The declaration of a name (canonical or not); None if there is none."""
    canonical = canonical_name(name)
    if canonical != name:
        return lookup(canonical)
    found = entry(name)
    if found is None:
        return _unlisted(name)
    text, file = found
    letter, rest = text[0], text[1:]
    match letter:
        case "M":
            return Entity(name, EntityKind.MODULE)
        case "v":
            return Entity(name, EntityKind.VALUE, value=_NOT_FINITE.get(name) or parse_value(rest))
        case "p":
            return Entity(name, EntityKind.VALUE)
        case "c":
            signature, _, _ = rest.partition(";")
            return _callable(name, EntityKind.CLASS, _parameters(signature, file))
        case "f" | "m" | "s" | "k":
            return _callable(name, EntityKind.FUNCTION, _parameters(rest, file))
        case _:
            raise InternalError(f"the entry of {name} in the catalogue does not parse: {text!r}")


def _unlisted(name: str) -> Entity | None:
    """The declaration of a name that is not in the catalogue but has a rule or a cost, or belongs to a known package."""
    owner, _, leaf = name.rpartition(".")
    if name in _declared_names():
        inherited = next((base for base in class_bases(owner) if leaf in catalogued_members(base)), None)
        known = lookup(f"{inherited}.{leaf}") if inherited is not None else None
        return _callable(name, EntityKind.FUNCTION, known.parameters if known is not None else None)
    if leaf == "__init__":
        constructor = lookup(owner)
        return Entity(name, EntityKind.FUNCTION, constructor.parameters) if constructor is not None else None
    if owner in OPEN_OBJECTS:
        return _callable(name, EntityKind.FUNCTION, None)
    if name.partition(".")[0] in PACKAGES:
        if not owner:
            return Entity(name, EntityKind.MODULE)
        return _callable(name, EntityKind.CLASS if _is_class_name(name) else EntityKind.FUNCTION, None)
    return None


def _is_class_name(name: str) -> bool:
    """Whether a name of a package that is not listed is written as those of classes."""
    return name.rpartition(".")[2][:1].isupper()


def _callable(name: str, kind: EntityKind, parameters: tuple[ParameterSpec, ...] | None) -> Entity:
    candidates = _candidates(name)
    traits = TRAITS.of(candidates) | PACKAGE_TRAITS.of(candidates)
    if kind is EntityKind.CLASS:
        traits -= _TRAITS_OF_OPERATIONS
    return Entity(
        name,
        kind,
        _call_parameters(name) or parameters,
        bases=class_bases(name),
        value=_dtype_class(name),
        effects=EFFECTS.of(candidates) | PYTHON_EFFECTS.of(candidates) | PACKAGE_EFFECTS.of(candidates),
        traits=traits,
        rule=_rules().get(name),
        operations=_operations(candidates, traits),
    )


@cache
def _candidates(name: str) -> tuple[str, ...]:
    """The names under which tables may list an entity (see `name_table`)."""
    owner, _, leaf = name.rpartition(".")
    names = [name, *class_bases(name), *(f"{base}.{leaf}" for base in class_bases(owner))]
    if name.startswith("tensorflow.compat.v1."):
        names.append(_catalogue_name("tensorflow." + name.removeprefix("tensorflow.compat.v1.")))
    return tuple(names)


def _operations(candidates: tuple[str, ...], traits: frozenset[Trait]) -> int:
    for table in (OPERATIONS, DEFAULT_BY_BASE):
        for candidate in candidates:
            if candidate in table:
                return table[candidate]
    return 1 if Trait.TENSOR_OPERATION in traits else 0


def _call_parameters(name: str) -> tuple[ParameterSpec, ...] | None:
    """The parameters of a layer's `__call__`: those of its `call`, and those that Keras adds to every layer."""
    owner, _, leaf = name.rpartition(".")
    if leaf != "__call__" or not owner or not is_library_subclass(owner, "keras.layers.Layer"):
        return None
    body = attribute(owner, "call")
    entity = lookup(body) if body is not None and body != "keras.layers.Layer.call" else None
    if entity is None or entity.parameters is None:
        return None
    names = {parameter.name for parameter in entity.parameters}
    rest = next((p for p in entity.parameters if p.passing is ParameterPassing.VAR_KEYWORD), None)
    own = [parameter for parameter in entity.parameters if parameter is not rest]
    if not any(parameter.passing is ParameterPassing.VAR_KEYWORD for parameter in own):
        own += [
            ParameterSpec(extra, ParameterPassing.KEYWORD_ONLY, True, Constant(None))
            for extra in ("training", "mask")
            if extra not in names
        ]
    return (*own, rest) if rest is not None else tuple(own)


def _dtype_class(name: str) -> Value | None:
    """The dtype of a NumPy scalar class, for example `numpy.float32`."""
    package, _, leaf = name.rpartition(".")
    dtype = dtype_named(leaf) if package in ("numpy", "tensorflow.experimental.numpy") else None
    return DTypeValue(dtype) if dtype is not None else None


def _parameters(number: str, file: int) -> tuple[ParameterSpec, ...] | None:
    return parse_signature(catalogue_files()[file].signatures[int(number)]) if number else None


@cache
def attribute_rule(owner: str | TensorKind, name: str) -> AttributeRule | None:
    """The rule for reading attribute `name` of an instance of the class `owner` (or of a tensor of a kind); None if
    there is none.
    """
    class_name = TENSOR_CLASSES[owner] if isinstance(owner, TensorKind) else owner
    rules = _attribute_rules()
    for candidate in (class_name, *class_bases(class_name)):
        rule = rules.get(f"{candidate}.{name}")
        if rule is not None:
            return rule
    return None


@cache
def _modules() -> tuple[ModuleType, ...]:
    return tuple(importlib.import_module(name) for name in NAME_FAMILIES)


@cache
def _rules() -> Mapping[str, OperationRule]:
    merged: dict[str, OperationRule] = {}
    for module in _modules():
        for name, rule in getattr(module, "RULES", {}).items():
            canonical = _catalogue_name(name)
            if canonical == name or canonical not in merged:
                merged[canonical] = rule
    return merged


@cache
def _declared_names() -> frozenset[str]:
    """Names in a table, whether or not the catalogue lists them, such as `keras.layers.Dense.__call__`."""
    return frozenset(_rules()) | frozenset(OPERATIONS) | NUMPY_BEHAVIOUR


@cache
def _attribute_rules() -> Mapping[str, AttributeRule]:
    merged: dict[str, AttributeRule] = {}
    for module in _modules():
        for name, rule in getattr(module, "ATTRIBUTES", {}).items():
            merged[_catalogue_name(name)] = rule
    return merged
