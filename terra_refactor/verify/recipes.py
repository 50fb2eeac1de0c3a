"""Recipes of arguments, from the known types of parameters.

Computes: for a function some variants of its arguments, and for classes the arguments of their constructors, as JSON
from which a child process builds values (`child.building`). Needs: decisions with samples. Gives: `job_of`,
`constructor_recipes`. Ignores: parameters with a default and unknown type, `*args` and `**kwargs`.

A symbol is one size throughout a variant; unknown sizes are taken from `SIZES` in turn, so that variants differ in
them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from typing_extensions import assert_never

from terra_refactor.classify.decision import Decision, ParameterDecision
from terra_refactor.classify.sample import (
    ConstantSample,
    FunctionSample,
    InstanceSample,
    LibrarySample,
    Sample,
    SampledPlace,
    SequenceSample,
    SizeSample,
    TensorSample,
)
from terra_refactor.domain.dim import Dim, SymbolicDim
from terra_refactor.domain.value import TensorKind
from terra_refactor.ir.function import FunctionKind, ParameterKind

Recipe = dict[str, Any]
FileOf = Callable[[str], str]
"""From a path in the report to the file to import."""

SIZES: Final = (4, 6, 5)
RANKS: Final = (2, 3, 4, 1)
"""The ranks of tensors of unknown rank: one in each variant, since a function may accept only some of them."""
_RECEIVERS: Final = ("self", "cls")
_FORMS: Final = {
    TensorKind.TENSOR: "tensor",
    TensorKind.KERAS: "tensor",
    TensorKind.VARIABLE: "variable",
    TensorKind.NDARRAY: "array",
    TensorKind.NUMPY_SCALAR: "number",
}


def job_of(decision: Decision, key: str, file: str, file_of: FileOf) -> dict[str, Any] | None:
    """How to call a function; None if too little is known about its arguments."""
    if "<" in decision.qualname or decision.kind is FunctionKind.LAMBDA:
        return None
    is_method = decision.kind is FunctionKind.METHOD
    parameters = list(decision.parameters)
    static = not (is_method and parameters and parameters[0].name == "self")
    if is_method and parameters and parameters[0].name in _RECEIVERS:
        parameters = parameters[1:]
    if any(parameter.required and not parameter.samples for parameter in parameters):
        return None
    variants: list[dict[str, Any]] = []
    for index in range(_variant_count(parameters)):
        arguments: list[Recipe] = []
        keywords: dict[str, Recipe] = {}
        for parameter in parameters:
            if not parameter.samples or parameter.form in (ParameterKind.VAR_POSITIONAL, ParameterKind.VAR_KEYWORD):
                continue
            recipe = _recipe(parameter.samples[index % len(parameter.samples)], index, file_of)
            if recipe is None:
                if parameter.required:
                    return None
                continue
            if parameter.form is ParameterKind.POSITIONAL_ONLY:
                arguments.append(recipe)
            elif parameter.form is ParameterKind.KEYWORD_ONLY or len(arguments) + len(keywords) < parameters.index(
                parameter
            ):
                keywords[parameter.name] = recipe
            else:
                arguments.append(recipe)
        variant = {"arguments": arguments, "keywords": keywords}
        if variant not in variants:
            variants.append(variant)
    return {
        "key": key,
        "file": file,
        "module": decision.module.partition("@")[0],
        "qualname": decision.qualname,
        "static": static,
        "variants": variants,
    }


def constructor_recipes(decisions: Iterable[Decision], file_of: FileOf) -> dict[str, dict[str, Recipe]]:
    """For each class with an `__init__`, by `module:qualname`, its known constructor arguments."""
    found: dict[str, dict[str, Recipe]] = {}
    for decision in decisions:
        owner, _, name = decision.qualname.rpartition(".")
        if name != "__init__" or not owner or "<" in owner:
            continue
        recipes: dict[str, Recipe] = {}
        for parameter in decision.parameters[1:]:
            recipe = _recipe(parameter.samples[0], 0, file_of) if parameter.samples else None
            if recipe is not None:
                recipes[parameter.name] = {**recipe, "optional": not parameter.required}
            elif parameter.required:
                recipes[parameter.name] = {"r": "unknown", "reason": "its type is unknown"}
        found[f"{decision.module.partition('@')[0]}:{owner}"] = recipes
    return found


def _variant_count(parameters: Iterable[ParameterDecision]) -> int:
    """One for each alternative, and one more if sizes are open; one for each of `RANKS` if a rank is unknown."""
    counts = [1]
    for parameter in parameters:
        counts.append(len(parameter.samples))
        if any(_is_open(sample) for sample in parameter.samples):
            counts.append(2)
        if any(isinstance(sample, TensorSample) and sample.type.shape is None for sample in parameter.samples):
            counts.append(len(RANKS))
    return max(counts)


def _is_open(sample: Sample) -> bool:
    return isinstance(sample, TensorSample) and (
        sample.type.shape is None or any(not isinstance(dim, int) for dim in sample.type.shape)
    )


def _recipe(sample: Sample, variant: int, file_of: FileOf) -> Recipe | None:
    match sample:
        case TensorSample(type, kind):
            form = _FORMS.get(kind)
            if form is None:
                return None
            shape = (None,) * RANKS[variant % len(RANKS)] if type.shape is None else type.shape
            return {
                "r": "tensor",
                "dtype": type.dtype or "float32",
                "shape": [size_of(dim, variant) for dim in shape],
                "as": form,
            }
        case ConstantSample(text):
            return {"r": "constant", "value": text}
        case SizeSample(dim):
            return {"r": "constant", "value": str(size_of(dim, variant))}
        case SequenceSample("range", items):
            bounds = [int(item.text) for item in items if isinstance(item, ConstantSample)]
            return {"r": "range", "bounds": bounds}
        case SequenceSample(kind, items, cls):
            recipes = [_recipe(item, variant, file_of) for item in items]
            if any(recipe is None for recipe in recipes):
                return None
            return {"r": kind, "items": recipes, "class": None if cls is None else _place(cls, file_of)}
        case InstanceSample(cls):
            return {"r": "instance", "class": _place(cls, file_of)}
        case FunctionSample(function):
            return {"r": "function", "function": _place(function, file_of)}
        case LibrarySample(name):
            return {"r": "library", "name": name}
        case _:
            assert_never(sample)


def _place(place: SampledPlace, file_of: FileOf) -> list[str]:
    return [file_of(place.path), place.module.partition("@")[0], place.qualname]


def size_of(dim: Dim, variant: int, sizes: Mapping[str, int] | None = None) -> int:
    """A concrete size: for a symbol 4 (then 6, 5) plus the alphabetical index of its name, small and consistent."""
    if isinstance(dim, int):
        return dim
    base = SIZES[variant % len(SIZES)]
    if not isinstance(dim, SymbolicDim):
        return base
    total = 0
    for monomial, factor in dim.terms:
        product = factor
        for name in monomial:
            product *= (sizes or {}).get(name, base + sum(name.encode()) % 3)
        total += product
    return max(total, 0)
