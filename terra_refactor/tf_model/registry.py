"""The one look-up of library knowledge by qualified name.

Computes: canonical names, entities, members of modules and classes. Needs: the generated catalogue (`catalogue.py`), the tables of names,
effects, traits and costs, and the rules of the family modules. Gives: frozen `Entity` objects, made on first demand and then cached. Reads the
data once, at the first question; every later one is a dictionary access.

Ignores: what is installed on this machine. A name that nobody knows is None, never an error.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable, Mapping
from enum import Enum
from functools import lru_cache
from typing import Final, TypeAlias

from terra_refactor.domain.value import (
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
from terra_refactor.tf_model.catalogue import catalogue_files, entry, members, parse_signature, parse_value
from terra_refactor.tf_model.spec import Entity, EntityKind, ParameterSpec, Rule

FAMILIES: Final = (
    "terra_refactor.tf_model.ops.array",
    "terra_refactor.tf_model.ops.compat_v1",
    "terra_refactor.tf_model.ops.control",
    "terra_refactor.tf_model.ops.creation",
    "terra_refactor.tf_model.ops.image",
    "terra_refactor.tf_model.ops.io",
    "terra_refactor.tf_model.ops.linalg",
    "terra_refactor.tf_model.ops.math",
    "terra_refactor.tf_model.ops.nn",
    "terra_refactor.tf_model.ops.ragged",
    "terra_refactor.tf_model.ops.random",
    "terra_refactor.tf_model.ops.signal",
    "terra_refactor.tf_model.ops.sparse",
    "terra_refactor.tf_model.ops.strings",
    "terra_refactor.tf_model.ops.variables",
    "terra_refactor.tf_model.data",
    "terra_refactor.tf_model.numpy_api",
    "terra_refactor.tf_model.python_api",
)
"""The modules with rules. Each has `RULES: Mapping[str, Rule]`, and may have `ATTRIBUTES: Mapping[str, AttributeRule]`."""

AttributeRule: TypeAlias = Callable[[Value], Value]
"""From the receiver to the value of one of its attributes, for what is read and not called."""

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


class Binding(Enum):
    """What a function that is found in a class gets as its first argument."""

    INSTANCE = "instance"
    CLASS = "class"
    STATIC = "static"


@lru_cache(maxsize=None)
def canonical_name(name: str) -> str:
    """The name under which everything is declared: aliases of modules, classes and functions resolved from left to right.

    `tensorflow.keras.layers.Dense` is `keras.layers.Dense`, `tensorflow.add` is `tensorflow.math.add`, `tensorflow.placeholder` (of TensorFlow 1) is
    `tensorflow.compat.v1.placeholder`, `keras.layers.Dense.add_weight` is `keras.layers.Layer.add_weight`. A name that is not known
    stays as it is, its known part resolved.
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


def _follow(name: str, leaf: str) -> str | None:
    """The canonical name of a member that the catalogue lists under `name`, None if it lists none."""
    found = members(name).get(leaf)
    if found is None:
        return None
    if found[0].startswith("="):
        return canonical_name(found[0][1:])
    return f"{name}.{leaf}" if name else leaf


@lru_cache(maxsize=None)
def attribute(name: str, attr: str) -> str | None:
    """The canonical name of attribute `attr` of the module or class `name` (canonical); None if it has no such attribute.

    For a class, attributes of its bases are found too, along its method resolution order.
    """
    own = _follow(name, attr)
    if own is not None:
        return own
    if f"{name}.{attr}" in _rules():
        return f"{name}.{attr}"
    for base in class_bases(name):
        inherited = _follow(base, attr)
        if inherited is not None:
            return inherited
        if f"{base}.{attr}" in _rules():
            return f"{base}.{attr}"
    if name == "tensorflow":
        return _follow("tensorflow.compat.v1", attr)
    return None


@lru_cache(maxsize=None)
def class_bases(name: str) -> tuple[str, ...]:
    """Canonical names of a class's bases in method resolution order, without itself and `object`; empty for anything else."""
    found = entry(name)
    if found is None or not found[0].startswith("c"):
        return ()
    _, _, bases = found[0].partition(";")
    return tuple(dict.fromkeys(canonical_name(base) for base in bases.split(","))) if bases else ()


def find_method(class_name: str, method: str) -> Entity | None:
    """The method (or property) that instances of a class have under a name, looked up along the method resolution order."""
    found = attribute(class_name, method)
    return lookup(found) if found is not None else None


def is_subclass(name: str, base: str) -> bool:
    """Whether one class (canonical name) is, or derives from, the other."""
    return name == base or base in class_bases(name)


@lru_cache(maxsize=None)
def tensor_method(kind: TensorKind, name: str) -> str | None:
    """The canonical name of an attribute of tensors of that kind, for example `tensorflow.Tensor.numpy`."""
    return attribute(TENSOR_CLASSES[kind], name)


def class_of(value: Value) -> str | None:
    """The canonical name of the library class that a value is an instance of; None for program objects, entities and the unknown."""
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
        case PartialValue():
            return "functools.partial"
        case BoundMethod():
            return "types.MethodType"
        case _:
            return None


@lru_cache(maxsize=None)
def binding(name: str) -> Binding | None:
    """How a function that is a member of a class is bound; None for what is no member function of a class."""
    found = entry(name)
    if found is None:
        owner = name.rpartition(".")[0]
        container = entry(owner)
        is_member = container is not None and container[0].startswith("c")
        return Binding.INSTANCE if is_member and name in _rules() else None
    return {"m": Binding.INSTANCE, "k": Binding.CLASS, "s": Binding.STATIC}.get(found[0][0])


@lru_cache(maxsize=None)
def is_property(name: str) -> bool:
    """Whether a member of a class is an attribute of its instances that is read, not called."""
    found = entry(name)
    return found is not None and found[0].startswith("p")


@lru_cache(maxsize=None)
def lookup(name: str) -> Entity | None:
    """What is known about a name (canonical or not); None if nothing is."""
    canonical = canonical_name(name)
    if canonical != name:
        return lookup(canonical)
    found = entry(name)
    rule = _rules().get(name)
    if found is None:
        return Entity(name, EntityKind.FUNCTION, rule=rule) if rule is not None else None
    text, file = found
    letter, rest = text[0], text[1:]
    match letter:
        case "M":
            return Entity(name, EntityKind.MODULE)
        case "v":
            return Entity(name, EntityKind.VALUE, value=parse_value(rest))
        case "p":
            return Entity(name, EntityKind.VALUE)
        case "c":
            signature, _, _ = rest.partition(";")
            return Entity(name, EntityKind.CLASS, _parameters(signature, file), class_bases(name), rule=rule)
        case "f" | "m" | "s" | "k":
            return Entity(name, EntityKind.FUNCTION, _parameters(rest, file), rule=rule)
        case _:
            raise InternalError(f"the catalogue's entry of {name} is not understood: {text!r}")


def _parameters(number: str, file: int) -> tuple[ParameterSpec, ...] | None:
    return parse_signature(catalogue_files()[file].signatures[int(number)]) if number else None


@lru_cache(maxsize=None)
def attribute_rule(owner: str | TensorKind, name: str) -> AttributeRule | None:
    """What reading attribute `name` of an instance of the class `owner` (or of a tensor of a kind) gives; None if that is not known."""
    class_name = TENSOR_CLASSES[owner] if isinstance(owner, TensorKind) else owner
    rules = _attribute_rules()
    for candidate in (class_name, *class_bases(class_name)):
        rule = rules.get(f"{candidate}.{name}")
        if rule is not None:
            return rule
    return None


@lru_cache(maxsize=1)
def _modules() -> tuple[object, ...]:
    return tuple(importlib.import_module(name) for name in FAMILIES if _exists(name))


def _exists(name: str) -> bool:
    package = name.rpartition(".")[0]
    if package != "terra_refactor.tf_model" and importlib.util.find_spec(package) is None:
        return False
    return importlib.util.find_spec(name) is not None


@lru_cache(maxsize=1)
def _rules() -> Mapping[str, Rule]:
    merged: dict[str, Rule] = {}
    for module in _modules():
        for name, rule in getattr(module, "RULES", {}).items():
            if name in merged:
                raise InternalError(f"two rules for {name}")
            merged[name] = rule
    return merged


@lru_cache(maxsize=1)
def _attribute_rules() -> Mapping[str, AttributeRule]:
    merged: dict[str, AttributeRule] = {}
    for module in _modules():
        merged.update(getattr(module, "ATTRIBUTES", {}))
    return merged
