"""Effects: the side effects of a call.

Computes: nothing. Gives: `Effect`, a small frozen value; a set of them is a function's effect summary. Tensor operations, optimizer,
metric and variable updates are effects on TensorFlow state, which a graph performs as eager code does: they are not Python side effects.

Source: the effect kinds follow the families of docs/rules; the composition over calls is in `analysis.effects`.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Final

from terra_refactor.domain.value import ObjectId


class EffectKind(Enum):
    """Kind of side effect."""

    __hash__ = object.__hash__

    PRINT = "print"
    LOG = "log"
    INPUT_OUTPUT = "input_output"
    """Files, sockets, processes, sleeping, environment writes."""
    RANDOM = "random"
    """Draws from Python's or NumPy's generators."""
    TIME = "time"
    """Clocks, unique ids, environment reads: differs from call to call."""
    ITERATE = "iterate"
    """Advances an iterator that outlives the call."""
    STATE_WRITE = "state_write"
    """Writes an attribute, an element, a global or a captured variable."""
    STATE_READ = "state_read"
    """Reads such state, which other code changes."""
    TENSOR_STATE = "tensor_state"
    """Assigns a variable or updates an optimizer or a metric: fine in a graph."""
    TENSOR_RANDOM = "tensor_random"
    """Draws from TensorFlow's generators: fine in a graph."""
    VARIABLE_CREATION = "variable_creation"
    """Makes a variable, layer, metric, optimizer or model."""
    UNKNOWN_CALL = "unknown_call"
    """Calls an unresolved function."""


ELEMENTS: Final = "[...]"
"""The path of an effect on the elements of an array, which has no identity here."""


class RootKind(Enum):
    """The owner of the state, seen from the function that has the effect."""

    __hash__ = object.__hash__

    PARAMETER = "parameter"
    SELF = "self"
    GLOBAL = "global"
    CLOSURE = "closure"
    FRESH = "fresh"
    """Created inside the call: dropped when the effect is translated to the caller."""
    EXTERNAL = "external"
    """The world outside the program."""
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Target:
    """The target of an effect: a root and a path from it, for example `self.history`."""

    root: RootKind
    name: str
    """The parameter, global or captured variable; `self`; empty for the external world."""
    path: str = ""
    """Attributes and items from the root, for example `.history[]`."""
    object: ObjectId | None = None

    def __str__(self) -> str:
        return f"{self.name}{self.path}" or self.root.value


@dataclass(frozen=True, slots=True)
class EffectSite:
    """A place in a function: `function` as in `domain.value.FunctionKey`, `op` its operation."""

    module: str
    function: int
    op: int


@dataclass(frozen=True, slots=True)
class Effect:
    """One effect of one function in one context."""

    kind: EffectKind
    target: Target
    detail: str
    """A short description for the user: `print(...)`, `self.history.append(...)`."""
    site: EffectSite
    """Where the effect occurs (in the innermost callee)."""
    via: tuple[EffectSite, ...] = ()
    """The calls that lead there from this function, outermost first; empty for an effect of the function's own code."""
    assumed: bool = False
    """It occurs only if an assumption holds (about an unknown callee, or a weak alias)."""
    keeps_tensor: bool = False
    """For a write: the stored object contains a tensor that the call has created."""
