"""Values that could be passed to a parameter, by names that code outside of the analysis can follow.

Computes: nothing. Gives: `Sample` and its kinds, and `SampledPlace`. They are part of cached decisions: reading one
needs no analysis.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from terra_refactor.domain.dim import Dim
from terra_refactor.domain.tensor import TensorType
from terra_refactor.domain.value import TensorKind


@dataclass(frozen=True, slots=True)
class SampledPlace:
    """A function or class of the program."""

    path: str
    module: str
    qualname: str


@dataclass(frozen=True, slots=True)
class TensorSample:
    type: TensorType
    kind: TensorKind


@dataclass(frozen=True, slots=True)
class ConstantSample:
    """A Python constant, as source text; if only its type is known, a typical one."""

    text: str


@dataclass(frozen=True, slots=True)
class SizeSample:
    """A Python int that is a size."""

    dim: Dim


@dataclass(frozen=True, slots=True)
class SequenceSample:
    """`kind` is `tuple`, `list` or `range`; `cls` the class of a named tuple of the program."""

    kind: str
    items: tuple[Sample, ...]
    cls: SampledPlace | None = None


@dataclass(frozen=True, slots=True)
class InstanceSample:
    cls: SampledPlace


@dataclass(frozen=True, slots=True)
class FunctionSample:
    function: SampledPlace


@dataclass(frozen=True, slots=True)
class LibrarySample:
    name: str


Sample: TypeAlias = (
    TensorSample | ConstantSample | SizeSample | SequenceSample | InstanceSample | FunctionSample | LibrarySample
)
