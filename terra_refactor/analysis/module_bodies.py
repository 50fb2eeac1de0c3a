"""Which bodies of modules a run need not execute, because an earlier run did the same from the same state.

Computes: nothing. Gives: `ModuleBody` (what one body left, kept for the next run), `ModuleBodies` (of one run). Needs: the order in which
bodies finish, and their writes.

A module's body reads the state of the program, which only the bodies before it have changed. So it begins in the same state as in the run
before if the same bodies have finished, in the same order, and each has left the same; it need not be known what it reads. Besides, its log
has to hold (`reuse`). A body that imports a module that has not run yet has no log: it is executed, and compared by its writes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from terra_refactor.domain.state import HeapKey
from terra_refactor.domain.value import Value


@dataclass(frozen=True, slots=True)
class Beginning:
    """Where in the order of the imports a body began."""

    finished: int
    """The number of bodies that had finished."""
    running: tuple[str, ...]
    """The modules that were importing it, outermost first."""
    fields: int
    """The number of fields in the state of the program."""


@dataclass(frozen=True, slots=True)
class ModuleBody:
    """The result of a module's body."""

    module: str
    beginning: Beginning
    identity: int
    """That of its summary."""
    writes: Mapping[HeapKey, Value] | None
    """Its writes to the state of the program, in order; None if these are not all."""


class ModuleBodies:
    """The bodies that have finished in a run, compared with those of the run before."""

    def __init__(self, before: Sequence[ModuleBody]) -> None:
        self.finished: list[ModuleBody] = []
        self._before = before
        self._by_name = {body.module: body for body in before}
        self._left_the_same = True
        """All that have finished left what they left in the run before."""

    def at(self, module: str, beginning: Beginning) -> ModuleBody | None:
        """The result of a body that began in the same state in the run before."""
        known = self._by_name.get(module)
        return known if known is not None and self._left_the_same and known.beginning == beginning else None

    def finish(self, body: ModuleBody) -> None:
        """Notes that a body was executed, or taken over."""
        place = len(self.finished)
        self.finished.append(body)
        if self._left_the_same:
            known = self._before[place] if place < len(self._before) else None
            self._left_the_same = known is not None and (
                known is body
                or (known.module == body.module and known.writes is not None and known.writes == body.writes)
            )

    def differ(self) -> None:
        """The state of the program was changed outside of a body: no body begins as in the run before any more."""
        self._left_the_same = False
