"""Random numbers whose seed code sets again between calls (part of TR106).

Computes: the operations of a function that draw by the global seed, if `tf.random.set_seed` is called between two calls. Needs: facts.
Gives: `seed_set_again`. Ignores: that a graph draws other numbers than eager code after the first `set_seed`, too.

Source: `tf.random.set_seed` starts the sequence of eager operations again; the kernels of a traced graph go on with theirs.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from terra_refactor.analysis.facts import ContextFacts, ContextId, ProgramFacts
from terra_refactor.facts.codes import Codes, naming_of
from terra_refactor.facts.view import ContextView
from terra_refactor.facts.whole_program import with_all_callers
from terra_refactor.rules.between_calls import is_repeated
from terra_refactor.rules.rule import LocalHazard
from terra_refactor.tf_model.graph_traits import SETS_SEED
from terra_refactor.tf_model.registry import draws_by_global_seed
from terra_refactor.tf_model.spec import Trait

_NAMES: Final = naming_of(SETS_SEED.split())


def seed_set_again(view: ContextView) -> Iterator[LocalHazard]:
    """The first operation that draws by the global seed, if code between the calls sets the seed."""
    drawn = next((call.op for call, name in view.library_calls() if draws_by_global_seed(name)), None)
    if drawn is None:
        return
    written = _set_between_calls(view)
    if written is not None:
        yield LocalHazard(
            drawn,
            f"`{written}` between the calls starts the random numbers again eagerly, and not those of a graph",
            f"no result depends on `{written}` after the first call",
        )


def _seeding(codes: Codes, facts: ProgramFacts) -> tuple[ContextId, ...]:
    """The contexts that set the global seed."""
    readers = dict.fromkeys(each for name in _NAMES for each in codes.naming(name))
    contexts = (context for reader in readers for context in facts.contexts_of(reader))
    return tuple(each.id for each in contexts if next(_sets(ContextView(codes, facts, each)), None) is not None)


def _sets(view: ContextView) -> Iterator[str]:
    return (view.written(call.op) for call, _ in view.calls_with(Trait.SETS_SEED))


def _set_between_calls(view: ContextView) -> str | None:
    """The call that sets the seed between two calls of the function; None if there is none."""
    found = view.codes.answered(_seeding, view.facts)
    if not found:
        return None
    seeding, running = (with_all_callers(view.facts, each) for each in (found, view.function_facts.contexts))
    if any(_sets_between(view, view.facts.contexts[each], seeding, running) for each in sorted(running)):
        return next(_sets(view.of(found[0])))
    return None


def _sets_between(view: ContextView, around: ContextFacts, seeding: set[ContextId], running: set[ContextId]) -> bool:
    """Whether a function or module body sets the seed, itself or in a callee, between two calls that run the view's function."""
    outer = view.of(around.id)
    calls = {call.op for call in around.calls if not running.isdisjoint(call.callees)}
    sets = {call.op for call in around.calls if call.op not in calls and not seeding.isdisjoint(call.callees)}
    sets |= {call.op for call, _ in outer.calls_with(Trait.SETS_SEED)}
    return is_repeated(view, around, seeding, running) or any(
        outer.code.is_between(number, calls) for number in (sets if calls else ())
    )
