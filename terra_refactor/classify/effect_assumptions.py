"""Assumptions under which an effect is the same in a graph.

Computes: the assumption about an effect that is only assumed; the one under which no call of a log or warning shows a message that a
graph would not. Needs: effects, and the code of all functions, which may configure `logging` or `warnings`. Gives: `assumed_about`,
`hidden_message`. Ignores: configuration by other programs.

Source: the manual of Python: the level of the root logger is WARNING, and a warning is shown once per place.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from terra_refactor.domain.effect import Effect, EffectKind, RootKind
from terra_refactor.facts.codes import Codes, naming_of
from terra_refactor.facts.records import Call, Fact
from terra_refactor.tf_model.python_effects import (
    BELOW_DEFAULT_LEVEL,
    CONFIGURES_LOGGING,
    CONFIGURES_WARNINGS,
    SHOWN_ONCE,
)

_PLACE: Final = "stacklevel"


def assumed_about(effect: Effect) -> str | None:
    """The assumption under which an assumed effect does not exist; None for others."""
    if not effect.assumed:
        return None
    if effect.kind is EffectKind.STATE_READ:
        # no run of the writer between two calls is known
        return f"`{effect.target}` does not change between calls"
    if effect.kind is EffectKind.STATE_WRITE and effect.target.root in (
        RootKind.PARAMETER,
        RootKind.SELF,
        RootKind.GLOBAL,
    ):
        return None
    if effect.kind is EffectKind.STATE_WRITE:
        return f"`{effect.detail}` changes nothing that outlives the call"
    if effect.kind is EffectKind.UNKNOWN_CALL:
        return f"`{effect.detail}` has no side effects"
    if effect.kind is EffectKind.ITERATE:
        return "`next(...)` advances a TensorFlow iterator"
    return None


def hidden_message(codes: Codes, call: Fact | None, library: Collection[str], written: str) -> str | None:
    """The assumption about a call of these library functions; None if each call of it shows a message."""
    if library and all(name in BELOW_DEFAULT_LEVEL for name in library) and not _is_named(codes, CONFIGURES_LOGGING):
        return f"`{written}` shows nothing: `logging` is not configured to show messages below WARNING"
    if library and all(name in SHOWN_ONCE for name in library) and not _is_named(codes, CONFIGURES_WARNINGS):
        # with a place of a caller, a warning is shown once for each of them
        is_blamed = not isinstance(call, Call) or call.keyword(_PLACE) is not None
        return None if is_blamed else f"`{written}` is shown once, as by default"
    return None


def _is_named(codes: Codes, names: Collection[str]) -> bool:
    """Whether any function of the program names one of these functions of a library."""
    return any(map(codes.naming, naming_of(names)))
