"""Limits and outcome of one repository: the records that processes exchange.

Gives: `RepositoryLimits`, `RepositoryStatus`, and the form of a result line, which is a JSON object: `schema`, `name`, `kind`,
`location`, `revision`, `identity`, `version` (of this program), `status`, `error`, `seconds`, `peak_memory_mb`, and for analysed
repositories `summary` (as in report/1), `candidates`, `findings` (by rule), `unsafe_by` (functions that each rule makes unsafe),
`unreadable_files`.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Final

BATCH_SCHEMA: Final = "terra-refactor/batch/1"


class RepositoryStatus(Enum):
    """Its outcome."""

    DONE = "done"
    FAILED = "failed"
    """It could not be fetched or analysed; `error` has the reason."""
    TIMEOUT = "timeout"
    MEMORY = "memory"


@dataclass(frozen=True, slots=True)
class RepositoryLimits:
    """Limits for one repository, including fetching it."""

    seconds: float = 600.0
    memory_mb: int = 4096
    """Address space of the analysing process; 0 for no limit."""
