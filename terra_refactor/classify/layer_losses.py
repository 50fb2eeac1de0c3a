"""Losses that layers add during a call, and functions that read them afterwards.

Computes: whether a function of the program reads the losses that a call of another one leaves in its layers; a traced call
leaves symbolic tensors. Needs: attribute reads and effects. Gives: `are_read_later`. Ignores: programs that assign `losses` themselves.
"""

from __future__ import annotations

from terra_refactor.analysis.facts import ProgramFacts
from terra_refactor.classify.scratch import readers_outside
from terra_refactor.domain.effect import EffectKind
from terra_refactor.domain.value import LibraryValue
from terra_refactor.facts.codes import Codes
from terra_refactor.facts.records import AttributeRead
from terra_refactor.ir.ids import FunctionId

LOSSES = "losses"


def are_read_later(facts: ProgramFacts, codes: Codes, outer: FunctionId) -> bool:
    """Whether other code reads the losses that a call of the function `outer` leaves in its layers."""

    def reads(reader: FunctionId) -> bool:
        # `keras.losses` is a module, and a function that calls such layers itself reads the losses of its own calls
        contexts = facts.contexts_of(reader)
        adds = any(
            effect.kind is EffectKind.STATE_WRITE
            and effect.target.path.endswith(f".{LOSSES}")
            and all(FunctionId(site.module, site.function) != outer for site in (*effect.via, effect.site))
            for context in contexts
            for effect in context.effects
        )
        places = [read.op for read in codes.of(reader).of_kind(AttributeRead) if read.name == LOSSES]
        return not adds and any(not isinstance(each.values[op], LibraryValue) for each in contexts for op in places)

    return not codes.writers_of(LOSSES) and readers_outside(facts, codes, outer, LOSSES, reads=reads)
