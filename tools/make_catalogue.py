"""Generates `terra_refactor/tf_model/catalogue_data/`: the public names of the libraries that are installed in the running environment.

Run it as `python tools/make_catalogue.py` with the environment's Python: it writes one file for each library that is importable
(TensorFlow, Keras, tf_keras, NumPy, TensorFlow Probability, Python's standard library); `--only tensorflow` writes some of them,
`--check` writes nothing and exits with 1 where a file would change. The result depends on the installed versions only: sorted, no
time stamps. The form of a file is documented in `tf_model/catalogue.py`.

Where several public names lead to one object, one is canonical and the others are aliases:

- TensorFlow: its own choice (the first name it exports the symbol under, which is also the address of its
  documentation page). Names of `tf.compat.v1` only stay `tensorflow.compat.v1.X`, the shortest name; but a function
  that has the same name and parameters in both is the same one (TensorFlow merely wraps it twice), except for those
  in `DIFFERENT_IN_V1`.
- Keras: a module's name before the package's, except for those in `catalogue_libraries.KERAS_ROOT`; then by
  `catalogue_libraries.keras_choice`.
- NumPy: the shortest name, then the first.

Private base classes do not appear: members inherited from them are listed as the class's own.
"""

from __future__ import annotations

import argparse
import ast
import enum
import functools
import gzip
import importlib
import importlib.util
import inspect
import json
import math
import os
import re
import sys
import types
import warnings
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from catalogue_libraries import LIBRARIES, PACKAGES, PYTHON_MODULES, Library, Symbol, words

FORMAT = 1
DATA = Path(__file__).resolve().parent.parent / "terra_refactor" / "tf_model" / "catalogue_data"


DIFFERENT_IN_V1 = frozenset({"where", "case", "executing_eagerly", "variable_creator_scope"})
"""Functions that have the same parameters in `tf.compat.v1`, but another meaning (`where` broadcasts in TensorFlow 2 only)."""

MACHINE_CONSTANTS = frozenset({"CXX11_ABI_FLAG", "MONOLITHIC_BUILD", "little_endian"})

DUNDERS = frozenset(
    f"__{name}__"
    for name in words(
        "call getitem setitem delitem len iter next contains enter exit bool index int float complex array abs "
        "neg pos invert add radd iadd sub rsub isub mul rmul imul truediv rtruediv itruediv floordiv rfloordiv "
        "ifloordiv mod rmod imod pow rpow ipow matmul rmatmul imatmul and rand or ror xor rxor lshift rshift lt "
        "le gt ge eq ne divmod rdivmod nonzero reversed missing"
    )
)
"""The special methods that a program can reach by syntax."""

KNOWN_SIGNATURES = {
    "builtins.bytes": "*args, **kwargs",
    "builtins.dict": "*args, **kwargs",
    "builtins.dir": "*args",
    "builtins.getattr": "object, name, /, *default",
    "builtins.int": "x=0, /, base=10",
    "builtins.iter": "object, /, *sentinel",
    "builtins.max": "*args, key=None, default=_",
    "builtins.min": "*args, key=None, default=_",
    "builtins.next": "iterator, /, *default",
    "builtins.range": "*args",
    "builtins.slice": "*args",
    "builtins.str": "object='', encoding=_, errors=_",
    "builtins.super": "*args",
    "builtins.type": "*args, **kwds",
    "builtins.vars": "*args",
    "builtins.dict.pop": "key, /, *default",
    "builtins.dict.update": "*args, **kwargs",
    "builtins.bool": "x=False, /",
    "functools.partial": "func, /, *args, **keywords",
    "functools.reduce": "function, iterable, /, *initial",
    "itertools.accumulate": "iterable, func=None, *, initial=None",
    "itertools.chain": "*iterables",
    "itertools.islice": "iterable, /, *bounds",
    "itertools.repeat": "object, *times",
    "itertools.zip_longest": "*iterables, fillvalue=None",
    "math.log": "x, /, *base",
    "operator.attrgetter": "attr, /, *attrs",
    "operator.itemgetter": "item, /, *items",
    "operator.methodcaller": "name, /, *args, **kwargs",
    "collections.deque": "iterable=_, maxlen=None",
    "collections.defaultdict": "default_factory=None, /, *args, **kwargs",
    "collections.OrderedDict": "*args, **kwargs",
    "datetime.datetime": "year, month, day, hour=0, minute=0, second=0, microsecond=0, tzinfo=None, *, fold=0",
    "datetime.timedelta": "days=0, seconds=0, microseconds=0, milliseconds=0, minutes=0, hours=0, weeks=0",
}
"""Signatures of functions that Python cannot inspect, or that have several forms."""


def plain(value: object) -> bool:
    """Whether `value` is a constant that `literal` can write."""
    if isinstance(value, enum.Enum):
        return False
    if isinstance(value, float):
        return math.isfinite(value)
    if type(value) in (tuple, list):
        return all(plain(element) for element in value)  # type: ignore[attr-defined]
    return value is None or value is ... or type(value) in (bool, int, str, bytes, complex)


def dtype_name(value: object) -> str | None:
    """TensorFlow's name of a dtype object (TensorFlow's or NumPy's, or NumPy's scalar classes), else None."""
    if type(value).__name__ == "DType" and type(value).__module__.startswith("tensorflow."):
        return str(value.name)  # type: ignore[attr-defined]
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        if isinstance(value, numpy.dtype) and value.kind in "biufcS":
            return str(value.name)
        if isinstance(value, type) and issubclass(value, (numpy.number, numpy.bool_)):
            name = value.__name__
            return "bool" if name in ("bool", "bool_") else name
    return None


def literal(value: object) -> str:
    """The text of a constant, `dtype("float32")` for a dtype, `_` for anything else."""
    if isinstance(value, str) and value.startswith("/"):
        return "_"  # a path on this machine
    if plain(value):
        text = repr(value)
        return text if len(text) <= 120 else "_"
    name = dtype_name(value)
    return f'dtype("{name}")' if name is not None else "_"


def signature_text(function: object, *, drop_first: bool) -> str | None:
    """The parameter list of a callable as Python text; None if it cannot be determined."""
    known = KNOWN_SIGNATURES.get(f"{getattr(function, '__module__', '')}.{getattr(function, '__qualname__', '')}")
    if known is not None:
        return known
    try:
        signature = inspect.signature(function)  # type: ignore[arg-type]
    except (TypeError, ValueError, AttributeError, NameError):
        return documented_signature(function)
    parameters = list(signature.parameters.values())
    if drop_first:
        if parameters and parameters[0].kind in (parameters[0].POSITIONAL_ONLY, parameters[0].POSITIONAL_OR_KEYWORD):
            parameters = parameters[1:]
        elif not parameters:
            return None
    return render(parameters)


def render(parameters: Iterable[inspect.Parameter]) -> str:
    """The parameters as in the parentheses of a definition, without annotations."""
    parts: list[str] = []
    last_kind = None
    for parameter in parameters:
        if last_kind is parameter.POSITIONAL_ONLY and parameter.kind is not parameter.POSITIONAL_ONLY:
            parts.append("/")
        if parameter.kind is parameter.KEYWORD_ONLY and last_kind not in (
            parameter.KEYWORD_ONLY,
            parameter.VAR_POSITIONAL,
        ):
            parts.append("*")
        text = parameter.name
        if parameter.kind is parameter.VAR_POSITIONAL:
            text = f"*{text}"
        elif parameter.kind is parameter.VAR_KEYWORD:
            text = f"**{text}"
        if parameter.default is not parameter.empty:
            text += f"={literal(parameter.default)}"
        parts.append(text)
        last_kind = parameter.kind
    if last_kind is inspect.Parameter.POSITIONAL_ONLY:
        parts.append("/")
    return ", ".join(parts)


def documented_signature(function: object) -> str | None:
    """The signature in the first line of a C function's documentation, if it is a valid Python parameter list."""
    documentation = getattr(function, "__doc__", None)
    name = getattr(function, "__name__", None)
    if not isinstance(documentation, str) or not isinstance(name, str):
        return None
    found = re.match(rf"\s*(?:\w+\.)*{re.escape(name)}\(([^()]*(?:\([^()]*\)[^()]*)*)\)", documentation)
    if found is None:
        return None
    text = re.sub(r"\s+", " ", found.group(1)).strip()
    if len(re.findall(rf"^\s*{re.escape(name)}\(", documentation, re.MULTILINE)) > 1:
        return None  # several forms, none of which is the signature
    try:
        definition = ast.parse(f"def f({text}): ...").body[0]
    except SyntaxError:
        return None
    assert isinstance(definition, ast.FunctionDef)
    for default in [*definition.args.defaults, *definition.args.kw_defaults]:
        if default is None:
            continue
        try:
            if not plain(ast.literal_eval(default)):
                return None
        except ValueError:
            if not isinstance(default, ast.Name | ast.Attribute):
                return None
    names = ast.unparse(definition.args)
    # A name as a default (`dtype=float`) is not a constant that this format can hold.
    return re.sub(r"=(?!None\b|True\b|False\b)[A-Za-z_][\w.]*", "=_", names)


class Signatures:
    """Numbers the distinct signatures of one file."""

    def __init__(self) -> None:
        self.texts: dict[str, int] = {}

    def number(self, text: str | None) -> str:
        if text is None:
            return ""
        return str(self.texts.setdefault(text, len(self.texts)))


def public_names(module: types.ModuleType, *, only_own: bool) -> Iterator[str]:
    """The names that a program may use from a module."""
    for name in sorted(dir(module)):
        if name.startswith("_") and name != "__version__":
            continue
        if only_own and name not in getattr(module, "__all__", ()):
            home = getattr(getattr(module, name), "__module__", None)
            if isinstance(home, str) and home != module.__name__ and hasattr(module, "__all__"):
                continue
        yield name


class Walk:
    """Finds the public modules and objects of a library."""

    def __init__(self, library: Library) -> None:
        self.library = library
        self.modules: set[str] = set()
        self.symbols: dict[int, Symbol] = {}
        self.constants: dict[str, object] = {}

    def run(self) -> None:
        waiting = list(self.library.roots)
        seen: set[tuple[str, int]] = set()
        while waiting:
            name, module = waiting.pop(0)
            if (name, id(module)) in seen or name in self.library.renamed:
                continue
            seen.add((name, id(module)))
            self.modules.add(name)
            for leaf in public_names(module, only_own=self.library.only_own_names):
                full = f"{name}.{leaf}"
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    try:
                        value = getattr(module, leaf)
                    except (AttributeError, ImportError, RuntimeError):
                        continue
                if isinstance(value, types.ModuleType):
                    if self.library.inside(value) and full.count(".") <= 8:
                        waiting.append((full, value))
                    continue
                self.add(full, value)

    def add(self, name: str, value: object) -> None:
        if self.is_symbol(value):
            self.symbols.setdefault(id(value), Symbol(value)).names.append(name)
        else:
            self.constants.setdefault(name, value)

    @staticmethod
    def is_symbol(value: object) -> bool:
        return isinstance(value, type) or (
            callable(value) and dtype_name(value) is None and not isinstance(value, enum.Enum)
        )


def unwrapped(value: object) -> object:
    """The function under TensorFlow's decorators."""
    decorator = sys.modules.get("tensorflow.python.util.tf_decorator")
    return decorator.unwrap(value)[1] if decorator is not None else value


def is_exception_or_message(cls: type) -> bool:
    """Whether it is a protocol buffer class, whose members are not needed here."""
    return any(base.__module__.startswith("google.") for base in cls.__mro__)


def constructor_signature(cls: type) -> str | None:
    """The signature of a class's constructor, without `self`."""
    known = KNOWN_SIGNATURES.get(f"{cls.__module__}.{cls.__qualname__}")
    if known is not None:
        return known
    initialiser = inspect.getattr_static(cls, "__init__", None)
    if isinstance(initialiser, types.FunctionType) or (
        initialiser is not None and isinstance(unwrapped(initialiser), types.FunctionType)
    ):
        text = signature_text(initialiser, drop_first=True)
        if text != "*args, **kwargs":
            return text
    maker = inspect.getattr_static(cls, "__new__", None)
    if isinstance(maker, staticmethod) and isinstance(maker.__func__, types.FunctionType):
        text = signature_text(maker.__func__, drop_first=True)
        if text != "*args, **kwargs":
            return text
    return signature_text(cls, drop_first=False)


class Writer:
    """Converts the result of a traversal into the content of a file."""

    def __init__(self, library: Library, walk: Walk, foreign: Callable[[type], str | None]) -> None:
        self.library = library
        self.walk = walk
        self.foreign = foreign
        self.signatures = Signatures()
        self.owners: dict[str, dict[str, str]] = {}
        self.canonical: dict[int, str] = {}
        for symbol in walk.symbols.values():
            symbol.canonical = library.choose(symbol)
            self.canonical[id(symbol.value)] = symbol.canonical
        self.merge_compatible()

    def merge_compatible(self) -> None:
        """Makes `tf.compat.v1` functions aliases of the equal TensorFlow 2 functions."""
        prefix = "tensorflow.compat.v1."
        modern = {
            name: symbol
            for symbol in self.walk.symbols.values()
            for name in symbol.names
            if not name.startswith(prefix)
        }
        for symbol in list(self.walk.symbols.values()):
            if not symbol.canonical.startswith(prefix) or isinstance(symbol.value, type):
                continue
            for name in symbol.names:
                same = modern.get("tensorflow." + name.removeprefix(prefix))
                if same is None or isinstance(same.value, type) or name.removeprefix(prefix) in DIFFERENT_IN_V1:
                    continue
                signature = signature_text(symbol.value, drop_first=False)
                if signature is not None and signature == signature_text(same.value, drop_first=False):
                    same.names.extend(symbol.names)
                    del self.walk.symbols[id(symbol.value)]
                    self.canonical[id(symbol.value)] = same.canonical
                    break

    def content(self) -> dict[str, Any]:
        for name in sorted(self.walk.modules):
            self.put(name, "M")
            self.owners.setdefault(name, {})
        for name, target in self.library.renamed.items():
            self.put(name, f"={target}")
        for name, value in self.walk.constants.items():
            text = literal(value) if self.is_the_same_everywhere(name) else "_"
            self.put(name, "v" if text == "_" else f"v{text}")
        order_of_definition = sorted(
            self.walk.symbols.values(),
            key=lambda symbol: (symbol.canonical.startswith("tensorflow.compat.v1."), symbol.canonical),
        )
        for symbol in order_of_definition:
            for name in symbol.names:
                if name != symbol.canonical:
                    self.put(name, f"={symbol.canonical}")
            self.define(symbol)
            self.put_private(symbol)
        for owner in list(self.owners):
            self.put_parents(owner)
        order = sorted(self.signatures.texts, key=self.signatures.texts.__getitem__)
        return {
            "format": FORMAT,
            "library": self.library.name,
            "version": self.library.version,
            "signatures": order,
            "owners": {owner: dict(sorted(members.items())) for owner, members in sorted(self.owners.items())},
        }

    def is_the_same_everywhere(self, name: str) -> bool:
        """Whether a constant's value is independent of the version, the machine and the run."""
        owner, _, leaf = name.rpartition(".")
        if (
            owner in ("numpy.testing", "tensorflow.sysconfig", "tensorflow.compat.v1.sysconfig")
            or leaf in MACHINE_CONSTANTS
        ):
            return False
        if "version" in leaf.lower() or owner == "tensorflow.version":
            return False
        return self.library.name != "python" or owner in ("math", "cmath", "string", "logging", "builtins")

    def put(self, name: str, entry: str) -> None:
        owner, _, leaf = name.rpartition(".")
        self.owners.setdefault(owner, {})[leaf] = entry

    def put_private(self, symbol: Symbol) -> None:
        """The name under which the library itself defines the object, which programs import, too."""
        value = unwrapped(symbol.value)
        module, name = getattr(value, "__module__", None), getattr(value, "__name__", None)
        if isinstance(module, str) and isinstance(name, str) and module.startswith(self.library.private or ("\0",)):
            full = f"{module}.{name}"
            for former, current in self.library.renamed.items():
                if full.startswith(f"{former}."):
                    full = current + full.removeprefix(former)
            if full != symbol.canonical and self.entry(full) is None:
                self.put(full, f"={symbol.canonical}")

    def put_parents(self, owner: str) -> None:
        """Makes every private module reachable from its package."""
        while owner:
            if self.entry(owner) is None:
                self.put(owner, "M")
            owner = owner.rpartition(".")[0]

    def entry(self, name: str) -> str | None:
        owner, _, leaf = name.rpartition(".")
        return self.owners.get(owner, {}).get(leaf)

    def define(self, symbol: Symbol) -> None:
        value, name = symbol.value, symbol.canonical
        if not isinstance(value, type):
            self.put(name, "f" + self.signatures.number(signature_text(value, drop_first=False)))
            return
        bases = [base_name for base in value.__mro__[1:] if (base_name := self.class_name(base)) is not None]
        bases = [base for base in dict.fromkeys(bases) if base != name]
        entry = "c" + self.signatures.number(constructor_signature(value))
        self.put(name, ";".join([entry, ",".join(bases)]) if bases else entry)
        self.owners.setdefault(name, {})
        if not is_exception_or_message(value):
            for leaf, member in self.members(value):
                self.put_member(name, leaf, member)
            really = self.library.extra_members.get(name)
            if really is not None:
                for leaf, member in self.members(really, everything=True):
                    if leaf not in self.owners[name]:
                        self.put_member(name, leaf, member)

    def class_name(self, cls: type) -> str | None:
        if cls is object:
            return None
        return self.canonical.get(id(cls)) or self.foreign(cls)

    def members(self, cls: type, *, everything: bool = False) -> Iterator[tuple[str, object]]:
        """Members that a class defines, or inherits from private bases before any public one defines them."""
        seen: set[str] = set()
        for base in cls.__mro__:
            if base is object:
                continue
            own = base is cls or (everything or self.class_name(base) is None)
            for leaf, member in sorted(vars(base).items()):
                if leaf in seen or (leaf.startswith("_") and leaf not in DUNDERS):
                    continue
                seen.add(leaf)
                if (own and member is not None) or (own and leaf not in DUNDERS):
                    yield leaf, member

    def put_member(self, owner: str, leaf: str, member: object) -> None:
        name = f"{owner}.{leaf}"
        if isinstance(member, staticmethod):
            self.put(name, "s" + self.signatures.number(signature_text(member.__func__, drop_first=False)))
        elif isinstance(member, classmethod):
            self.put(name, "k" + self.signatures.number(signature_text(member.__func__, drop_first=True)))
        elif isinstance(member, property | functools.cached_property) or inspect.isdatadescriptor(member):
            self.put(name, "p")
        elif isinstance(member, type):
            canonical = self.canonical.get(id(member)) or self.foreign(member)
            self.put(name, f"={canonical}" if canonical is not None and canonical != name else "c")
        elif (
            isinstance(member, types.BuiltinMethodType)
            and member.__self__ is not None
            and isinstance(member.__self__, type)
        ):
            self.put(name, "s" + self.signatures.number(signature_text(member, drop_first=False)))
        elif type(member).__name__ == "classmethod_descriptor":
            self.put(name, "k" + self.signatures.number(signature_text(member, drop_first=True)))
        elif callable(member):
            self.put(name, "m" + self.signatures.number(signature_text(member, drop_first=True)))
        else:
            text = literal(member)
            self.put(name, "v" if text == "_" else f"v{text}")


def foreign_class_name(cls: type) -> str | None:
    """The name of a base class that belongs to another library of the catalogue."""
    module, name = cls.__module__, cls.__qualname__
    if any(part.startswith("_") for part in name.split(".")):
        return None
    if module in PYTHON_MODULES:
        return f"{module}.{name}"
    if module == "numpy":
        return f"numpy.{name}"
    if module.startswith("tensorflow."):
        exports = importlib.import_module("tensorflow.python.util.tf_export")
        own = exports.get_canonical_name_for_symbol(cls)
        return f"tensorflow.{own}" if own is not None and "__internal__" not in own else None
    return None


def generate(name: str) -> dict[str, Any]:
    """The content of one library's file."""
    library = LIBRARIES[name]()
    walk = Walk(library)
    walk.run()
    return Writer(library, walk, foreign_class_name).content()


def file_name(content: dict[str, Any]) -> str:
    """The name of the file: by minor version for TensorFlow, and libraries before version 1; by major version for others."""
    parts = content["version"].split(".")
    kept = parts[:2] if content["library"] == "tensorflow" or parts[0] == "0" else parts[:1]
    return f"{content['library']}-{'.'.join(kept)}.json.gz"


def packed(content: dict[str, Any]) -> bytes:
    text = json.dumps(content, separators=(",", ":"), sort_keys=False, ensure_ascii=True)
    return gzip.compress(text.encode(), compresslevel=9, mtime=0)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", choices=sorted(LIBRARIES), default=sorted(LIBRARIES))
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 where a file would change")
    options = parser.parse_args()
    stale = False
    for name in options.only:
        if importlib.util.find_spec(PACKAGES.get(name, name)) is None:
            continue
        content = generate(name)
        path = DATA / file_name(content)
        data = packed(content)
        count = sum(len(members) for members in content["owners"].values())
        if options.check:
            same = path.exists() and gzip.decompress(path.read_bytes()) == gzip.decompress(data)
            stale = stale or not same
            print(f"{path.name}: {'up to date' if same else 'stale'}")
            continue
        partial = path.with_suffix(".partial")
        partial.write_bytes(data)
        os.replace(partial, path)
        print(f"{path.name}: {count} names, {len(content['signatures'])} signatures, {len(data) // 1024} KiB")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
