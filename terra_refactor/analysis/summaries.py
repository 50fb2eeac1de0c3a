"""Summaries of contexts that have run.

Computes: a summary from a finished frame. Needs: the frame, with its exits merged, and the writes that outlive it. Gives: `summary_of`.
Parts shared with earlier summaries are stored once (`sharing`).
"""

from __future__ import annotations

from collections.abc import Mapping

from terra_refactor.analysis import staleness
from terra_refactor.analysis.boundary import in_eager_code
from terra_refactor.analysis.effects import resolve_targets
from terra_refactor.analysis.engine import Engine
from terra_refactor.analysis.frames import Frame, Summary
from terra_refactor.analysis.freezing import freeze_in
from terra_refactor.analysis.transfer.kept_tensors import note_filled_later
from terra_refactor.domain.state import HeapKey
from terra_refactor.domain.value import Value


def summary_of(engine: Engine, frame: Frame, returns: Value, writes: Mapping[HeapKey, Value]) -> Summary:
    """The summary of a finished frame; it has no identity yet."""
    sharing = engine.sharing
    staged = {key: value for key, value in writes.items() if key in frame.staged_fields}
    writes = {key: in_eager_code(frame, key, value) if key in staged else value for key, value in writes.items()}
    note_filled_later(engine, frame)
    effects, reads = resolve_targets(engine, frame), staleness.live_reads(frame)
    summary = Summary(
        identity=-1,
        function=frame.function,
        entry=frame.entry,
        in_graph=frame.in_graph,
        parameters=frame.parameters,
        reads=frame.root.reads or {},
        absent=sharing.absent(frame.root.absent),
        writes=writes,
        staged=staged,
        returns=returns,
        contents=freeze_in(frame.state, returns),
        effects=effects,
        allocated=frozenset(frame.allocated),
        state_reads=reads,
        overwrites=staleness.overwrites_of(frame, effects, reads),
        holders=staleness.holders_of(engine, frame),
        stale_reads=staleness.reads_before_writes(engine, frame),
        rewritten_reads=staleness.reads_after_writes(engine, frame),
        repeats=staleness.called_in_loops(engine, frame),
        arrivals={
            target: tuple((name, tuple(values)) for name, values in brought.items())
            for target, brought in frame.arrivals.items()
        },
        values=frame.final_values(),
        calls=sharing.calls(frame.calls),
        entered=tuple(frame.entered),
        branches=frame.branches,
        failures=frame.failures,
        guarded_failures=frame.guarded_failures,
        problem=frame.problem,
        round=engine.contexts.round,
    )
    sharing.share(summary)
    return summary
