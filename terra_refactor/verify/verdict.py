"""Results of verification.

Computes: nothing. Gives: frozen records that the reports serialise, and the error for an environment in which nothing
can be run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from terra_refactor.classify.decision import Action
from terra_refactor.errors import UsageError


class Status(Enum):
    """The result of running both versions of a function."""

    SAME = "same"
    DIFFERENT = "different"
    """A result, variable, attribute, printed line or exception differs."""
    FAILS = "fails"
    """The refactored function raises, hangs or dies, and the original does not."""
    SLOWER = "slower"
    """Equal results, but slower."""
    NOT_REACHED = "not reached"
    """No call of it could be compared."""


@dataclass(frozen=True, slots=True)
class Timing:
    """The times of the calls of one version.

    Attributes:
        calls: their number.
        median: seconds of a call without a trace; None if there was none.
        tracing: seconds of all calls with a trace.
        traces: number of traces; None if it is not a `tf.function`.
    """

    calls: int
    median: float | None
    tracing: float
    traces: int | None


@dataclass(frozen=True, slots=True)
class FunctionVerdict:
    """One function. `detail` is the first difference, or the reason why nothing was compared."""

    path: str
    qualname: str
    line: int
    action: Action
    status: Status
    detail: str
    compared: int
    before: Timing
    after: Timing

    @property
    def speedup(self) -> float | None:
        """The original's time divided by the refactored one's; None if one is unknown."""
        if not self.before.median or not self.after.median:
            return None
        return self.before.median / self.after.median


@dataclass(frozen=True, slots=True)
class ProgramVerdict:
    """The run of a script or of tests as a whole. `difference` is None if there is none; exit codes are None for a
    stopped run.
    """

    command: str
    difference: str | None
    exit_codes: tuple[int | None, int | None]
    seconds: tuple[float | None, float | None]
    """Of the run, without importing TensorFlow."""
    cpu: tuple[float | None, float | None]
    """Processor time of the same, over all threads; only for scripts."""


@dataclass(frozen=True, slots=True)
class Verification:
    """The complete result. `tensorflow` is the TensorFlow version used."""

    functions: tuple[FunctionVerdict, ...]
    program: ProgramVerdict | None
    tensorflow: str | None

    @property
    def differs(self) -> bool:
        """Whether some behaviour changed."""
        wrong = any(verdict.status in (Status.DIFFERENT, Status.FAILS) for verdict in self.functions)
        return wrong or (self.program is not None and self.program.difference is not None)


class NoTensorFlowError(UsageError):
    """An interpreter that cannot import TensorFlow.

    Attributes:
        python: the interpreter.
        said: Python's error message for the import.
    """

    def __init__(self, python: str, said: str) -> None:
        super().__init__(
            f"{python} cannot import TensorFlow ({said}): --python names another interpreter, or install `terra-refactor[runtime]`"
        )
        self.python = python
        self.said = said


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of a process.

    Attributes:
        function_seconds: maximum time without an event, in a run that calls functions one by one.
        run_seconds: for a script or tests.
        memory: bytes of data; 0 for no limit.
        output: bytes that may be printed.
    """

    function_seconds: float = 60.0
    run_seconds: float = 900.0
    memory: int = 8 << 30
    output: int = 64 << 20


@dataclass(frozen=True, slots=True)
class Script:
    """A script to record: `python FILE ARGUMENTS` or `python -m MODULE ARGUMENTS`."""

    command: str
    file: str | None
    module: str | None
    arguments: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Tests:
    """A run of pytest to record."""

    command: str
    arguments: Sequence[str]
