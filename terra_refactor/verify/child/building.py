"""Builds arguments from recipes: tensors of given types, constants, containers, functions, and instances of the
program's classes.

Computes: a value for a recipe. Needs: the recipes of the request (see `terra_refactor.verify.recipes`), and a way to
import the program's modules. Gives: `Builder`. Random numbers depend only on the position of the recipe, so that both
versions get the same.

Raises `CannotBuildError` if a recipe cannot be built.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import zlib
from collections.abc import Callable, Mapping
from typing import Any

Recipe = dict[str, Any]


class CannotBuildError(Exception):
    """An argument cannot be built; the message has the reason."""


class Builder:
    """Builds values. `find` returns the object of a (file, module, qualified name); `constructors` has the recipes of
    each class's `__init__`.
    """

    def __init__(self, find: Callable[[str, str, str], Any], constructors: Mapping[str, Mapping[str, Recipe]]) -> None:
        self.find = find
        self.constructors = constructors

    def build(self, recipe: Recipe, seed: str) -> Any:
        """The value of a recipe."""
        kind = recipe["r"]
        if kind == "tensor":
            return self._tensor(recipe, seed)
        if kind == "constant":
            return _constant(recipe)
        if kind in ("tuple", "list", "set"):
            items = [self.build(item, f"{seed}.{i}") for i, item in enumerate(recipe["items"])]
            cls = recipe.get("class")
            if cls is not None:
                return self.find(*cls)(*items)
            return {"tuple": tuple, "list": list, "set": set}[kind](items)
        if kind == "dict":
            return {
                self.build(key, f"{seed}.k{i}"): self.build(item, f"{seed}.{i}")
                for i, (key, item) in enumerate(recipe["items"])
            }
        if kind == "range":
            return range(*recipe["bounds"])
        if kind == "function":
            return self.find(*recipe["function"])
        if kind == "library":
            return _library(recipe["name"])
        if kind == "instance":
            return self.instance(recipe["class"], seed)
        raise CannotBuildError(recipe.get("reason", f"no recipe of kind {kind}"))

    def instance(self, place: list[str], seed: str) -> Any:
        """An object of a class of the program, built with known constructor arguments."""
        cls = self.find(*place)
        constructor = inspect.getattr_static(cls, "__init__", None)
        recipes = self._constructor(cls, constructor)
        keywords = {}
        for name, recipe in recipes.items():
            try:
                keywords[name] = self.build(recipe, f"{seed}.{name}")
            except CannotBuildError as error:
                if recipe.get("optional"):
                    continue
                raise CannotBuildError(f"an instance of {place[2]} needs `{name}`: {error}") from error
        try:
            return cls(**keywords)
        except Exception as error:
            raise CannotBuildError(f"{place[2]}(...) raised {type(error).__name__}: {error}") from error

    def _constructor(self, cls: type, constructor: Any) -> Mapping[str, Recipe]:
        code = getattr(constructor, "__code__", None)
        if code is None:
            return {}
        for base in cls.__mro__:
            if base.__dict__.get("__init__") is constructor:
                return self.constructors.get(f"{base.__module__}:{base.__qualname__}", {})
        return {}

    def _tensor(self, recipe: Recipe, seed: str) -> Any:
        import numpy as np  # noqa: PLC0415 - loaded with TensorFlow

        tf = importlib.import_module("tensorflow")
        array = numbers(np, recipe["dtype"], tuple(recipe["shape"]), seed)
        form = recipe["as"]
        if form == "array":
            return array
        if form == "number":
            return array[()]
        tensor = (
            tf.constant(array, dtype=recipe["dtype"])
            if recipe["dtype"] == "string"
            else tf.cast(array, recipe["dtype"])
        )
        return tf.Variable(tensor) if form == "variable" else tensor


def numbers(np: Any, dtype: str, shape: tuple[int, ...], seed: str) -> Any:
    """Random numbers: floats between 0.05 and 0.95 (valid as probabilities and for logarithms), integers 0 and 1 (valid
    as labels and indices), and short strings. The seed is a string.
    """
    generator = np.random.RandomState(zlib.crc32(seed.encode()))
    if dtype == "string":
        return np.asarray(generator.randint(0, 5, shape)).astype(str).astype(object)
    if dtype == "bool":
        return np.asarray(generator.randint(0, 2, shape)).astype(bool)
    if "int" in dtype:
        return np.asarray(generator.randint(0, 2, shape)).astype(dtype)
    values = np.asarray(generator.uniform(0.05, 0.95, shape))
    if dtype.startswith("complex"):
        return (values + 1j * np.asarray(generator.uniform(0.05, 0.95, shape))).astype(dtype)
    return values.astype("float32" if dtype in ("bfloat16", "float16") else dtype)


def _constant(recipe: Recipe) -> Any:
    text = recipe["value"]
    if text == "Ellipsis":
        return ...
    try:
        return ast.literal_eval(text)
    except ValueError:
        return float(text)


def _library(name: str) -> Any:
    parts = name.split(".")
    for cut in range(len(parts) - 1, 0, -1):
        try:
            found: Any = importlib.import_module(".".join(parts[:cut]))
        except ImportError:
            continue
        try:
            for part in parts[cut:]:
                found = getattr(found, part)
        except AttributeError:
            continue
        return found
    raise CannotBuildError(f"`{name}` was not found")
