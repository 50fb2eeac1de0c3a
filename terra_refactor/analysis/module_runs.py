"""Runs the body of a module, unless an earlier run did the same (`module_bodies`).

Computes: the summary of a body, with its log. Needs: an engine that writes logs. Gives: `run_body`.
"""

from __future__ import annotations

from typing import Protocol

from terra_refactor.analysis.frames import Frame, Summary
from terra_refactor.analysis.log import Flags, Log
from terra_refactor.analysis.module_bodies import Beginning
from terra_refactor.analysis.reuse import Adoption, Resumable
from terra_refactor.ir.ids import FunctionId


class Logging(Resumable, Protocol):
    """The engine of a run whose contexts have logs."""

    adoption: Adoption | None
    logs: list[Log]
    running: list[FunctionId]

    def circumstances(self, *, general: bool) -> Flags: ...


def run_body(engine: Logging, adoption: Adoption, frame: Frame, beginning: Beginning) -> Summary:
    """The result of a module's body, from an earlier run if it would be the same."""
    identity, flags = frame.function.id, engine.circumstances(general=False)
    known = adoption.adopt_module(identity.module, beginning, flags)
    if known is not None:
        return known
    log = Log((identity, (), (), False), flags, engine.epoch)
    outer, engine.log = engine.log, log
    engine.objects.log = log
    engine.logs.append(log)
    engine.running.append(identity)
    try:
        summary = engine.run_inline(frame)
    finally:
        engine.running.pop()
        engine.logs.pop()
        engine.log = engine.objects.log = outer
    log.told.clear()
    is_whole = frame.problem is None and len(frame.returns) == 1
    if is_whole and not log.spoiled and engine.adoption is adoption:
        summary.log = log
    # the state in which it ended: it was made part of the program's
    adoption.ran_module(summary, beginning, frame.returns[0][1].heap if is_whole else None)
    return summary
