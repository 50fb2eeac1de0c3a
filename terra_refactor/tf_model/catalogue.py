"""Reads the generated catalogue of public names.

Computes: one merged view of the files in `catalogue_data/`; later files of `versions.CATALOGUE_FILES` override
earlier ones name by name. Gives: `catalogued_members` of a module or class, `entry` of a name, and the decoders of an
entry's parts. Ignores: the meaning of names.

An entry is a short text whose first letter is its kind:

- `=keras.layers.Dense`: an alias of that name;
- `M`: a module;
- `f12`, `m12`, `s12`, `k12`: a function, method, static method, class method with signature 12 (no number: signature
  unknown);
- `c12;a.B,a.C`: a class, with its constructor's signature and its bases in method resolution order;
- `p`: a property or other attribute of instances;
- `v1.5`: a constant by its literal, or by `dtype:float32`; `v` alone: a constant of unknown value.

A signature is the text of a Python parameter list; `_` is a default that is not a plain constant. Written by tools/make_catalogue.py,
which documents the search for names.
"""

from __future__ import annotations

import ast
import gzip
import json
import pkgutil
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Final

from terra_refactor.domain.dtype import dtype_named
from terra_refactor.domain.value import Constant, DTypeValue, FrozenList, TupleValue, Value
from terra_refactor.errors import InternalError
from terra_refactor.tf_model.spec import ParameterPassing, ParameterSpec
from terra_refactor.tf_model.versions import CATALOGUE_FILES

CATALOGUE_FORMAT = 1
"""Format of the files in `catalogue_data/`; a file of another format is refused."""


@dataclass(frozen=True, slots=True)
class CatalogueFile:
    """One file of `catalogue_data/`, for example of TensorFlow 2.21."""

    library: str
    version: str
    owners: Mapping[str, Mapping[str, str]]
    signatures: tuple[str, ...]


def read_catalogue_file(name: str) -> CatalogueFile:
    """The file `catalogue_data/<name>.json.gz`. Raises InternalError if it has another format."""
    packed = pkgutil.get_data("terra_refactor.tf_model", f"catalogue_data/{name}.json.gz")
    if packed is None:
        raise InternalError(f"catalogue {name} is missing; run tools/make_catalogue.py")
    content = json.loads(gzip.decompress(packed))
    if content["format"] != CATALOGUE_FORMAT:
        raise InternalError(
            f"catalogue {name} has format {content['format']}, not {CATALOGUE_FORMAT}; run tools/make_catalogue.py"
        )
    return CatalogueFile(content["library"], content["version"], content["owners"], tuple(content["signatures"]))


@cache
def catalogue_files() -> tuple[CatalogueFile, ...]:
    """The files of all supported versions, in the order of `versions.CATALOGUE_FILES`; read once."""
    return tuple(read_catalogue_file(name) for name in CATALOGUE_FILES)


_NOTHING: Final[Mapping[str, tuple[str, int]]] = {}


@cache
def catalogued_members(owner: str) -> Mapping[str, tuple[str, int]]:
    """The members of a module or class by leaf name: entry and number of the file it comes from. Empty if unknown."""
    found = [(file.owners[owner], number) for number, file in enumerate(catalogue_files()) if owner in file.owners]
    if not found:
        return _NOTHING
    return {leaf: (entry, number) for entries, number in found for leaf, entry in entries.items()}


def entry(name: str) -> tuple[str, int] | None:
    """The entry under exactly this name, without following aliases, and the number of its file; None if there is none."""
    owner, _, leaf = name.rpartition(".")
    return catalogued_members(owner).get(leaf)


@cache
def parse_signature(text: str) -> tuple[ParameterSpec, ...]:
    """The parameters in `text`, for example `x, axis=-1, *, name=None`."""
    definition = ast.parse(f"def f({text}): ...").body[0]
    assert isinstance(definition, ast.FunctionDef)
    arguments = definition.args
    positional = [(argument, ParameterPassing.POSITIONAL_ONLY) for argument in arguments.posonlyargs]
    positional += [(argument, ParameterPassing.POSITIONAL) for argument in arguments.args]
    defaults: list[ast.expr | None] = [*([None] * (len(positional) - len(arguments.defaults))), *arguments.defaults]
    specs = [_parameter(a.arg, passing, default) for (a, passing), default in zip(positional, defaults, strict=True)]
    if arguments.vararg is not None:
        specs.append(ParameterSpec(arguments.vararg.arg, ParameterPassing.VAR_POSITIONAL))
    for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        specs.append(_parameter(argument.arg, ParameterPassing.KEYWORD_ONLY, default))
    if arguments.kwarg is not None:
        specs.append(ParameterSpec(arguments.kwarg.arg, ParameterPassing.VAR_KEYWORD))
    return tuple(specs)


def _parameter(name: str, passing: ParameterPassing, default: ast.expr | None) -> ParameterSpec:
    if default is None:
        return ParameterSpec(name, passing)
    return ParameterSpec(name, passing, True, _default(default))


def _default(expression: ast.expr) -> Value | None:
    """The value of a default in the generator's notation: a literal, `dtype("float32")`, or `_` for anything else."""
    if isinstance(expression, ast.Name):
        return None
    if isinstance(expression, ast.Call):
        argument = expression.args[0]
        assert isinstance(argument, ast.Constant)
        return DTypeValue(dtype_named(str(argument.value)))
    return value_of(ast.literal_eval(expression))


def parse_value(text: str) -> Value | None:
    """The constant of a `v` entry, without the letter; None if its value is unknown."""
    if not text:
        return None
    return _default(ast.parse(text, mode="eval").body)


def value_of(python: object) -> Value | None:
    """The abstract value of a plain Python constant, tuple or list; None for anything else."""
    if python is None or python is ... or isinstance(python, bool | int | float | complex | str | bytes):
        return Constant(python)
    if isinstance(python, tuple | list):
        elements = [value_of(element) for element in python]
        known = tuple(element for element in elements if element is not None)
        if len(known) < len(elements):
            return None
        return TupleValue(known) if isinstance(python, tuple) else FrozenList(known)
    return None
