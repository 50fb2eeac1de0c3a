"""Reuses the results of module bodies that begin in the same state as in the previous run.

Computes: nothing. Gives: `ModuleBody` (the result of one body, kept for the next run), `ModuleBodies` (of one run).
Needs: the order in which bodies finish, and their writes.

Only earlier bodies change the state of the program that a module's body reads. So its state is that of the previous
run if the same bodies have finished, in the same order, with the same writes, whatever it reads. In addition its log
must be valid (`reuse`). A body that imports a module that has not run yet has no log: it is executed, and compared by
its writes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from terra_refactor.domain.state import HeapKey
from terra_refactor.domain.value import Value


@dataclass(frozen=True, slots=True)
class Beginning:
    """The position in the order of the imports at which a body began."""

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
    """Its writes to the state of the program, in order; None if they are incomplete."""


class ModuleBodies:
    """The bodies that have finished in a run, compared with those of the previous run."""

    def __init__(self, before: Sequence[ModuleBody]) -> None:
        self.finished: list[ModuleBody] = []
        self._before = before
        self._by_name = {body.module: body for body in before}
        self._left_the_same = True
        """All finished bodies made the same writes as in the previous run."""

    def at(self, module: str, beginning: Beginning) -> ModuleBody | None:
        """The result of a body that began in the same state in the previous run."""
        known = self._by_name.get(module)
        return known if known is not None and self._left_the_same and known.beginning == beginning else None

    def finish(self, body: ModuleBody) -> None:
        """Records that a body was executed, or its result reused."""
        place = len(self.finished)
        self.finished.append(body)
        if self._left_the_same:
            known = self._before[place] if place < len(self._before) else None
            self._left_the_same = known is not None and (
                known is body
                or (known.module == body.module and known.writes is not None and known.writes == body.writes)
            )

    def differ(self) -> None:
        """Called when code outside of a body changes the state of the program: no later body begins in the same state."""
        self._left_the_same = False
