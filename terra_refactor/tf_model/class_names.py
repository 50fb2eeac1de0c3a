"""Canonical names of classes, decorators and modules that the analysis handles itself, and families of names.

Computes: nothing. Gives: constants, and queries about a name. The values that belong to the classes of Python, NumPy and
TensorFlow are in `python_classes`, the functions that the analysis runs itself in `interpreted`.
"""

from __future__ import annotations

import builtins
import typing
from typing import Final

from terra_refactor.domain.value import LibraryValue
from terra_refactor.tf_model.name_table import within

OBJECT: Final = LibraryValue("builtins.object")
PROPERTY: Final = LibraryValue("builtins.property")
STATIC_METHOD: Final = LibraryValue("builtins.staticmethod")
CLASS_METHOD: Final = LibraryValue("builtins.classmethod")
CACHED_PROPERTY: Final = LibraryValue("functools.cached_property")
GENERIC: Final = LibraryValue("typing.Generic")
PROTOCOL: Final = LibraryValue("typing.Protocol")
NAMED_TUPLE: Final = LibraryValue("typing.NamedTuple")
NAMED_TUPLE_FACTORY: Final = "collections.namedtuple"
COPIES_OF_OBJECTS: Final = frozenset({"copy.copy", "copy.deepcopy"})
TYPED_DICT: Final = LibraryValue("typing.TypedDict")
UNION: Final = LibraryValue("typing.Union")
OPTIONAL_TYPE: Final = LibraryValue("typing.Optional")
CLASS_VARIABLE: Final = LibraryValue("typing.ClassVar")
NONE_TYPE: Final = LibraryValue("types.NoneType")
NOT_IMPLEMENTED: Final = LibraryValue("builtins.NotImplementedError")
MODULES: Final = LibraryValue("sys.modules")
PLAIN_ENUM: Final = "enum.Enum"
PLAIN_BASES: Final = frozenset({PLAIN_ENUM, OBJECT.name})
"""The library bases of an enumeration whose members compare by identity."""
ENVIRONMENT: Final = "os.environ"
SINGLE_DISPATCH: Final = "functools.singledispatch"
SINGLE_DISPATCH_METHOD: Final = "functools.singledispatchmethod"
REGISTER: Final = "functools.singledispatch.register"
NAMESPACE_OF_OPTIONS: Final = LibraryValue("argparse.Namespace")
PARSERS: Final = ("argparse.ArgumentParser", "argparse._ActionsContainer", "argparse._ArgumentGroup")
ATTRS: Final = ("attr.", "attrs.")
"""The beginnings of decorators of the package attrs, as they are written."""
ATTRS_DECORATORS: Final = frozenset({"s", "attrs", "define", "mutable", "frozen", "attr.s"})
FLAG_MODULES: Final = ("absl.flags", "tensorflow.compat.v1.flags")
CLOSING: Final = "contextlib.closing"
ENTERED: Final = {"contextlib.nullcontext": "enter_result", CLOSING: "thing"}
"""The parameter of the constructor whose value `with` binds."""
TENSOR_METHOD: Final = "__tf_tensor__"
"""The method of `tf.types.experimental.TensorProtocol`, and here of the functions that are registered for a class."""
TO_ARRAY: Final = ("__array__",)
TO_TENSOR: Final = (TENSOR_METHOD, "__array__")
VECTORIZED: Final = "numpy.vectorize.__call__"
SETTINGS_OF_TENSORFLOW: Final = "tensorflow.config"
SETTINGS_OF_KERAS: Final = "keras.config"
TENSOR_TO_ARRAY: Final = "tensorflow.Tensor.numpy"
REPLICATING: Final = "tensorflow.distribute.Strategy"
"""The class of the result of `tf.distribute.get_strategy()`, or its base class."""
ONE_DEVICE: Final = "tensorflow.distribute.OneDeviceStrategy"
MIRRORED: Final = "tensorflow.distribute.MirroredStrategy"
STRATEGIES: Final = tuple(
    within(
        "tensorflow.distribute",
        "Strategy MirroredStrategy OneDeviceStrategy MultiWorkerMirroredStrategy ParameterServerStrategy TPUStrategy "
        "experimental.CentralStorageStrategy experimental.MultiWorkerMirroredStrategy experimental.ParameterServerStrategy "
        "experimental.TPUStrategy",
    ).split()
)
_BUILTINS: Final = frozenset(dir(builtins))
_TYPING: Final = frozenset(typing.__all__)


def builtin_named(name: str) -> str | None:
    """The full name of a built-in of Python; None if there is none of this name."""
    return f"builtins.{name}" if name in _BUILTINS else None


def builtin(name: str) -> str:
    """The full name of a name of the module `builtins`."""
    return f"builtins.{name}"


def is_builtin(name: str) -> bool:
    """Whether a name is one of the module `builtins`."""
    return name.startswith("builtins.")


def of_object(method: str) -> LibraryValue:
    """A method of `object`."""
    return LibraryValue(f"builtins.object.{method}")


def of_named_tuple(method: str) -> LibraryValue:
    """A method of named tuples."""
    return LibraryValue(f"typing.NamedTuple.{method}")


def of_property(method: str) -> LibraryValue:
    """`setter`, `getter` or `deleter` of a property."""
    return LibraryValue(f"builtins.property.{method}")


def of_tf_function(method: str) -> LibraryValue:
    """A method of the result of `tf.function`."""
    return LibraryValue(f"tensorflow.types.experimental.PolymorphicFunction.{method}")


def is_of_enum(name: str) -> bool:
    """Whether a class or function is one of the module `enum`."""
    return name.startswith("enum.")


def is_member_type(name: str) -> bool:
    """Whether such a value in the body of an enumeration defines no member: descriptors and functions of `enum`."""
    return name.startswith(("builtins.", "enum."))


def is_type_form(name: str) -> bool:
    """Whether a name of `typing` may be part of an annotation."""
    return name.startswith("typing.")


def is_generic(name: str) -> bool:
    """Whether `name[...]` may be part of an annotation."""
    return name.startswith(("typing.", "builtins.", "collections.abc.", "numpy.typing.", "jaxtyping."))


def is_shaped_array(name: str) -> bool:
    """Whether `name[...]` declares an array with its shape: jaxtyping's types."""
    return name.startswith("jaxtyping.")


def unqualified(name: str) -> str:
    """The full name of a name that needs no import in a model: a built-in, a name of `typing`, or otherwise one of jaxtyping."""
    return builtin_named(name) or (f"typing.{name}" if name in _TYPING else f"jaxtyping.{name}")


def conversion_methods(name: str) -> tuple[str, ...]:
    """The methods by which a function converts objects, the first that the class has; () if it converts none."""
    if name.startswith("numpy."):
        return TO_ARRAY
    return TO_TENSOR if name.startswith(("tensorflow.", "keras.")) else ()


def is_of_numpy(name: str) -> bool:
    return name.startswith("numpy.")


def is_of_layers(name: str) -> bool:
    """Whether a name is one of the module `keras.layers`."""
    return name.startswith("keras.layers.")


def is_loss_name(name: str) -> bool:
    """Whether a name is one of the module `keras.losses`."""
    return name.startswith("keras.losses.")


def loss_named(name: str) -> str:
    """The name in the module `keras.losses`."""
    return f"keras.losses.{name}"


def keeps_arguments(name: str) -> bool:
    """Whether a function does not advance its iterator arguments, unless it has `Trait.ITERATES`."""
    return name.startswith(("builtins.", "typing.", "itertools.tee"))


def name_as_written(name: str) -> str:
    """The usual spelling of a canonical name: `tf.math.add`, `np.sum`, `print`."""
    for prefix, written in (("tensorflow.", "tf."), ("numpy.", "np."), ("builtins.", "")):
        if name.startswith(prefix):
            return written + name[len(prefix) :]
    return name
