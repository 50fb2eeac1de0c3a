"""Calls whose arguments are joined with those of other calls, and that have no summary.

Computes: nothing. Needs: a call that is joined, because its function has many contexts. Gives: `note_joined`, `note_refused`, which log
the call, and `joins_to`, `refuse`, which replaying the log repeats.
"""

from __future__ import annotations

from terra_refactor.analysis.engine import Engine
from terra_refactor.analysis.log import ContextKey, Joined
from terra_refactor.domain.state import Naming, State


def note_joined(engine: Engine, call: Joined, key: ContextKey, state: State, naming: Naming | None) -> None:
    """Records a call with joined arguments that has no summary, and why no context is valid in its state."""
    contexts = engine.contexts
    if not (contexts.note_differences(call.key, state, naming) and contexts.note_differences(key, state, naming)):
        engine.spoil_logs()
    if engine.log is not None:
        engine.log.ask(True, joins_to, call, key, contexts.known(key))


def joins_to(engine: Engine, call: Joined, key: ContextKey, known: tuple[int, ...] | None = None) -> bool:
    """Whether a call is joined with others, with the arguments of `key`, and if `known` is given, whether these are its contexts.

    The call is joined with the others from now on.
    """
    contexts = engine.contexts
    if contexts.is_told_apart(call.key) or contexts.known(call.key) != call.known:
        return False
    identity, _, closure, in_graph = call.key
    joined = contexts.joined(call.key, call.parameters)
    return (identity, tuple(joined.values()), closure, in_graph) == key and known in (None, contexts.known(key))


def note_refused(engine: Engine, key: ContextKey) -> None:
    """Records that a function has too many contexts for another one."""
    found = refuse(engine, key)
    if engine.log is not None:
        engine.log.ask(found, refuse, key)


def refuse(engine: Engine, key: ContextKey) -> str | None:
    """Notes that a function has too many contexts. Returns the first problem with it, or None if it has room for another one."""
    identity = key[0]
    if engine.contexts.has_room(key):
        return None
    if identity not in engine.problems:
        engine.journal.put(engine.problems, identity, "budget")
    return engine.problems[identity]
