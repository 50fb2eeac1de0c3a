"""The libraries of the catalogue: the roots of their public names, the choice of canonical names, private names.

Computes: nothing until a library's function is called, which imports the library. Gives: `LIBRARIES`. `make_catalogue.py` walks them.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
import types
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any


def words(text: str) -> list[str]:
    """The names in a text, separated by white space."""
    return text.split()


KERAS_ROOT = frozenset(
    words(
        "Model Sequential Input Variable KerasTensor Function StatelessScope RematScope SymbolicScope DTypePolicy "
        "FloatDTypePolicy Operation Quantizer name_scope device remat version"
    )
)
"""Names of the package itself that a module also has."""

PYTHON_MODULES = words(
    "abc argparse array ast atexit base64 bisect builtins calendar cmath codecs collections collections.abc "
    "concurrent.futures configparser contextlib contextvars copy csv ctypes dataclasses datetime decimal difflib enum "
    "errno fnmatch fractions ftplib functools gc getpass glob gzip hashlib heapq html http importlib "
    "importlib.metadata importlib.resources importlib.util inspect io itertools json keyword linecache locale "
    "logging logging.handlers math multiprocessing multiprocessing.pool numbers operator os os.path pathlib "
    "pickle pkgutil platform pprint queue random re select shelve shlex shutil signal socket sqlite3 stat "
    "statistics string struct subprocess sys sysconfig tarfile tempfile textwrap threading time timeit token "
    "tokenize traceback types typing unicodedata unittest unittest.mock urllib urllib.error urllib.parse "
    "urllib.request uuid warnings weakref xml.etree.ElementTree zipfile zlib"
)
"""Standard library modules that programs of this field use."""

NUMPY_MODULES = words(
    "numpy numpy.char numpy.ctypeslib numpy.dtypes numpy.exceptions numpy.fft numpy.lib numpy.lib.format "
    "numpy.lib.stride_tricks numpy.linalg numpy.ma numpy.polynomial numpy.polynomial.chebyshev numpy.polynomial.hermite "
    "numpy.polynomial.hermite_e numpy.polynomial.legendre numpy.polynomial.polynomial numpy.random "
    "numpy.rec numpy.strings numpy.testing numpy.typing"
)


PROBABILITY_MODULES = words("bijectors distributions util")
"""TensorFlow Probability modules from whose classes programs derive, and whose objects they use."""


@dataclass
class Symbol:
    """One object of a library and every public name that leads to it."""

    value: Any
    names: list[str] = field(default_factory=list)
    canonical: str = ""


@dataclass
class Library:
    """Data for the traversal of a library."""

    name: str
    version: str
    roots: tuple[tuple[str, types.ModuleType], ...]
    """Public module names and modules; a module reached from one is walked under the extended name."""
    inside: Callable[[types.ModuleType], bool]
    """Whether a module that is found as an attribute belongs to the library's public part."""
    choose: Callable[[Symbol], str]
    private: tuple[str, ...] = ()
    """Prefixes of private modules in which an exported object is known under the name of its definition."""
    renamed: dict[str, str] = field(default_factory=dict)
    """Aliases of modules, for example `tensorflow.keras` for `keras`."""
    extra_members: dict[str, type] = field(default_factory=dict)
    """Canonical class to the class its instances really have, for example `tensorflow.Tensor` to the eager tensor."""
    only_own_names: bool = False
    """Whether names that a module imports from elsewhere, and does not list in `__all__`, are private."""


def tensorflow_library() -> Library:
    # tf.keras and tf.compat.v1.layers are Keras 2's where tf_keras is installed.
    if importlib.util.find_spec("tf_keras") is not None:
        os.environ.setdefault("TF_USE_LEGACY_KERAS", "1")
    tf = importlib.import_module("tensorflow")
    tf_export = importlib.import_module("tensorflow.python.util.tf_export")
    variables = importlib.import_module("tensorflow.python.ops.resource_variable_ops")
    iterators = importlib.import_module("tensorflow.python.data.ops.iterator_ops")

    def choose(symbol: Symbol) -> str:
        modern = [name for name in symbol.names if not name.startswith("tensorflow.compat.v1.")]
        if modern:
            own = tf_export.get_canonical_name_for_symbol(symbol.value)
            if own is not None and f"tensorflow.{own}" in modern:
                return f"tensorflow.{own}"
            # `tf.experimental.numpy` and names without an export: the shortest is the one of the documentation.
            return min(modern, key=lambda name: (name.startswith("tensorflow.experimental."), name.count("."), name))
        return min(symbol.names, key=lambda name: (name.count("."), name))

    renamed = {
        "tensorflow.keras": "keras",
        "tensorflow.compat.v1.keras": "keras",
        "tensorflow.initializers": "keras.initializers",
        "tensorflow.losses": "keras.losses",
        "tensorflow.metrics": "keras.metrics",
        "tensorflow.optimizers": "keras.optimizers",
        "tensorflow.compat.v2": "tensorflow",
        "tensorflow.compat.v1.compat": "tensorflow.compat",
        "tensorflow._api.v2": "tensorflow",
        "tensorflow.python.keras": "keras",
    }
    return Library(
        name="tensorflow",
        version=tf.__version__,
        roots=(("tensorflow", tf), ("tensorflow.compat.v1", tf.compat.v1)),
        inside=lambda module: getattr(module, "__name__", "").startswith(
            ("tensorflow._api.", "tf_keras.api._v1.keras.__internal__.legacy")
        ),
        choose=choose,
        private=("tensorflow.python.", "tensorflow.lite."),
        renamed=renamed,
        extra_members={
            "tensorflow.Tensor": type(tf.constant(0)),
            "tensorflow.Variable": variables.ResourceVariable,
            "tensorflow.data.Iterator": iterators.OwnedIterator,
        },
    )


def keras_choice(symbol: Symbol) -> str:
    """The canonical one among a Keras symbol's public names."""

    def order(name: str) -> tuple[bool, bool, int, int, bool, str]:
        parts = name.split(".")
        at_root = len(parts) == 2
        return (
            at_root != (parts[-1] in KERAS_ROOT),
            ".legacy" in name or ".experimental" in name,
            # A function that is both a loss and a metric counts as a loss; `keras.saving` comes before `keras.utils`,
            # which comes before the rest.
            {"utils": 1, "models": 1, "metrics": 2, "backend": 2, "preprocessing": 2}.get(parts[1], 0),
            len(parts),
            # A class's own name before its function-style alias, `MeanSquaredError` before `mse`.
            parts[-1] != getattr(symbol.value, "__name__", ""),
            name,
        )

    return min(symbol.names, key=order)


def keras_library() -> Library:
    keras = importlib.import_module("keras")
    tf = importlib.import_module("tensorflow")

    return Library(
        name="keras",
        version=keras.__version__,
        # `tf.keras` has a few names of Keras 2 that `keras` does not have.
        roots=(("keras", keras), ("keras", tf.keras)),
        # Keras 3 has one class for all of Keras 2's optimizers, which only raises an error.
        inside=lambda module: (
            module.__name__.startswith("keras.")
            and not module.__name__.startswith("keras.src")
            and not module.__name__.endswith("optimizers.legacy")
        ),
        choose=keras_choice,
        private=("keras.src.",),
        renamed={"keras._tf_keras.keras": "keras", "keras.api": "keras"},
    )


def tf_keras_library() -> Library:
    tf_keras = importlib.import_module("tf_keras")

    return Library(
        name="tf_keras",
        version=tf_keras.__version__,
        roots=(("keras", tf_keras),),
        inside=lambda module: module.__name__.startswith("tf_keras.") and ".src" not in module.__name__,
        choose=keras_choice,
        private=("tf_keras.src.",),
        renamed={"tf_keras": "keras"},
    )


def tensorflow_probability_library() -> Library:
    os.environ.setdefault("TF_USE_LEGACY_KERAS", "1")
    tensorflow_probability = importlib.import_module("tensorflow_probability")

    modules = {
        f"tensorflow_probability.{name}": f"tensorflow_probability.python.{name}" for name in PROBABILITY_MODULES
    }
    return Library(
        name="tensorflow_probability",
        version=tensorflow_probability.__version__,
        roots=tuple((name, importlib.import_module(module)) for name, module in modules.items()),
        inside=lambda module: False,
        choose=lambda symbol: min(
            symbol.names,
            key=lambda name: (name.count("."), name.split(".")[-1] != getattr(symbol.value, "__name__", ""), name),
        ),
        private=("tensorflow_probability.python.",),
    )


def numpy_library() -> Library:
    numpy = importlib.import_module("numpy")

    modules: dict[str, types.ModuleType] = {}
    for name in NUMPY_MODULES:
        if importlib.util.find_spec(name) is not None:
            modules[name] = importlib.import_module(name)
    return Library(
        name="numpy",
        version=numpy.__version__,
        roots=tuple(modules.items()),
        inside=lambda module: False,
        choose=lambda symbol: min(
            symbol.names,
            key=lambda name: (name.count("."), name.split(".")[-1] != getattr(symbol.value, "__name__", ""), name),
        ),
        renamed={"numpy.core": "numpy", "numpy._core": "numpy"},
    )


def python_library() -> Library:
    modules = {name: importlib.import_module(name) for name in PYTHON_MODULES}
    renamed = {"posixpath": "os.path", "ntpath": "os.path", "_collections_abc": "collections.abc", "posix": "os"}

    def choose(symbol: Symbol) -> str:
        module = getattr(symbol.value, "__module__", "") or ""
        own = f"{renamed.get(module, module)}.{getattr(symbol.value, '__qualname__', '')}"
        return min(
            symbol.names, key=lambda name: (not name.startswith("builtins."), name != own, name.count("."), name)
        )

    return Library(
        name="python",
        version=".".join(map(str, sys.version_info[:2])),
        roots=tuple(modules.items()),
        inside=lambda module: False,
        choose=choose,
        renamed=renamed,
        only_own_names=True,
    )


LIBRARIES: dict[str, Callable[[], Library]] = {
    "tensorflow": tensorflow_library,
    "keras": keras_library,
    "tf_keras": tf_keras_library,
    "numpy": numpy_library,
    "tensorflow_probability": tensorflow_probability_library,
    "python": python_library,
}
PACKAGES = {"python": "sys"}
