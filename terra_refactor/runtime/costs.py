"""Whether co-execution pays off: compares the time of a call under the shim with the time of an eager one.

Computes: from the times of a few calls, the mode of the next ones. Needs: nothing of TensorFlow. Gives: `Costs`,
`Way`. Ignores: why a function is slow.

After a warm-up, a few calls under the shim are timed to the end of their computation, then a few eager ones, without
the shim's hooks; then both again. The modes alternate so that a short load on the machine affects both. If the shim is
slower, the function runs eagerly (it *rests*), and is measured again at increasing intervals. If the shim is faster,
it is also measured again at increasing intervals, and sooner if most calls leave the known paths.
"""

from __future__ import annotations

import enum
import logging
from typing import Final

_log = logging.getLogger("terra_refactor.runtime")

WARM_UP: Final = 8
"""Calls before the first measurement, in which paths are recorded and compiled."""
LONGEST_WARM_UP: Final = 40
"""Maximum number of calls before the first measurement, while new paths are found."""
SETTLED: Final = 4
"""Number of successive calls on known paths after which the warm-up ends."""
TURNS: Final = 2
MOST_TURNS: Final = 4
MOST_TURNS_OF_VARIED: Final = 8
CLOSE: Final = 1.25
"""Ratio of the two times below which more turns are measured: times depend on the inputs."""
LEAST_IN_A_TURN: Final = 3
MOST_IN_A_TURN: Final = 20
TURN: Final = 4e-3
"""Minimum seconds of a turn; a turn of short calls has more calls."""
LONG_CALL: Final = 20e-3
"""Seconds of a call above which the first call of a turn counts: switching between the two modes is negligible."""
CLEARLY: Final = 1.5
"""Two long eager calls that are slower by this factor end the measurement. One may be an outlier; of short calls, on a
busy machine, two in a row often are.
"""
LOSES: Final = 1.02
EAGER_OPERATION: Final = 4e-6
"""Minimum seconds of an operation in eager execution: a call with many operations needs no measurement."""
FIRST_REST: Final = 64
LONGEST_REST: Final = 100_000
TRYING_AGAIN: Final = 0.02
"""Budget for further measurements, as a share of the time of the calls between them."""
VARIED: Final = 1.5
"""Ratio of the slower eager calls to the faster ones above which calls count as different from each other."""
WATCHED: Final = 32
"""Calls after a measurement that the shim won, whose mean time is compared with it."""
ALARM: Final = 1.25
"""Ratio of that mean to the time of eager execution above which the function is measured again. If the shim wins again,
and the mean of the next calls is above it, too, the function rests: rare slow calls have no part in a measurement.
"""
SLOW_TRIES: Final = 4
"""Number of calls that take twice the eager time, after which a new attempt ends: two record and compile."""
PASSED_OVER: Final = 6
"""Maximum number of timed calls per measurement that are discarded because they recorded or compiled something."""
LONGEST_LEARNING: Final = 512
"""The same as a number of calls."""
INVESTMENT: Final = 60.0
"""Maximum total seconds for compiling paths that may recur (sequence lengths recur in the next epoch), before the
function must be faster.
"""
FORGETS: Final = 0.9
"""Decay, per call, of the shares of new paths and of failures among recent calls."""
UNSETTLED: Final = 12
"""Number of recent calls on unknown paths after which the function is measured again."""
LEARNING: Final = 0.3
"""Minimum share of calls that compile a known path, among recent ones, for which the measurement waits."""


class Way(enum.Enum):
    """The mode of a call."""

    FREE = "under the shim"
    TIMED = "under the shim, and timed to its end"
    EAGER = "eagerly, and timed"
    RESTS = "eagerly"


def _typical(times: list[float], varied: bool = False) -> float:
    """Typical time of a call: the mean of the faster half, which excludes outliers.

    Calls that differ from each other (`varied`) all count, except for the slowest eighth: the faster half of a few
    would be other calls in each mode.
    """
    lower = sorted(times)[: len(times) - len(times) // 8 if varied else (len(times) + 1) // 2]
    return sum(lower) / len(lower)


def _are_varied(times: list[float]) -> bool:
    """Whether the slower half of the calls, without outliers, takes much longer than the faster half."""
    ordered = sorted(times)
    half = len(ordered) // 2
    upper = ordered[half : len(ordered) - len(ordered) // 8]
    return half > 1 and sum(upper) * half > VARIED * sum(ordered[:half]) * len(upper)


class Costs:
    """Costs of the calls of one co-executed function."""

    def __init__(self, name: str, measures: bool = True) -> None:
        self.name = name
        self.measures = measures
        self.until_measured = WARM_UP
        self.warmed_up = 0
        self.in_a_row = 0  # calls on known paths
        self.settled_for = 64  # calls after a measurement that the shim won
        self.rest = FIRST_REST
        self.resting = 0
        self.missed = 0
        self.slow_tries: int | None = None  # while it is tried again
        self.trying = 0  # calls of this try
        self.spent = 0.0  # their total seconds, including the switch of hooks
        self.turn = Way.TIMED  # of the measurement
        self.turns = 0
        self.turn_calls = 0
        self.turn_seconds = 0.0
        self.timed: list[float] = []
        self.eager: list[float] = []
        self.deferred: list[float] = []  # operations of the timed calls
        self.varied = False  # the calls of this measurement differ from each other
        self.unsettled = False  # it began although calls still leave the known paths: what that costs counts
        self.passed_over = 0
        self.watched = 0  # calls since the shim won
        self.watched_seconds = 0.0
        self.alarms = 0  # in a row
        self.new_share = 0.0  # share of recent calls on new paths
        self.learning_share = 0.0  # share of recent calls that compiled something on a known path
        self.counted = 0
        self.failing = 0.0  # share of recent calls that raised
        self.invested = 0.0  # seconds
        self.operations = 0
        self.shim_seconds: float | None = None
        self.eager_seconds: float | None = None
        self.rests = 0
        self.said = False

    def way(self) -> Way:
        """The mode of the next call."""
        if not self.measures:
            return Way.FREE
        if self.resting:
            self.resting -= 1
            if not self.resting:
                self.until_measured, self.warmed_up, self.slow_tries = SETTLED, 0, 0
                self.trying, self.spent = 0, 0.0
            return Way.RESTS
        return Way.FREE if self.until_measured else self.turn

    def ran(
        self,
        way: Way,
        seconds: float,
        operations: int,
        missed: bool,
        new: bool | None = None,
        failed: bool = False,
    ) -> None:
        """Records a call that ran in the given way.

        Args:
            way: the result of `way`.
            seconds: its duration.
            operations: the number of deferred or immediate operations.
            missed: it recorded or compiled something, or ran operations one by one that will be compiled next time.
            new: it took an unknown path; `missed` if not given.
            failed: it raised. Such a call may end early, so only the more frequent kind of calls is compared.
        """
        self.counted += 1
        self.failing += max(1.0 - FORGETS, 1.0 / self.counted) * (failed - self.failing)
        usual = failed == (self.failing > 0.5)
        new = missed if new is None else new
        self.trying += 1
        self.spent += seconds
        if way is Way.EAGER:
            if self.turn is way and usual:
                self._in_turn(self.eager, seconds)
            return
        self.new_share = FORGETS * self.new_share + (1.0 - FORGETS) * new
        self.learning_share = FORGETS * self.learning_share + (1.0 - FORGETS) * (missed and not new)
        if missed:
            self.invested += seconds
        learns = missed and not new and self._may_learn()
        slow = self.slow_tries is not None and self.eager_seconds is not None and seconds > 2 * self.eager_seconds
        if slow and not learns:
            assert self.slow_tries is not None
            self.slow_tries += 1
            if self.slow_tries >= SLOW_TRIES:
                self._lost()
                return
        self.in_a_row = 0 if missed else self.in_a_row + 1
        if way is Way.TIMED:
            self.operations = max(self.operations, operations)
            if learns or (missed and not self.unsettled and self.passed_over < PASSED_OVER):
                self.passed_over += not learns
            elif self.turn is way and usual:
                self.deferred.append(operations)
                self._in_turn(self.timed, seconds)
        elif self.until_measured:
            self._warm_up(missed)
            self._watch(seconds)

    def _warm_up(self, missed: bool) -> None:
        self.warmed_up += 1
        self.until_measured -= 1
        if not self.until_measured and self.in_a_row < SETTLED:
            waits = self.warmed_up < LONGEST_WARM_UP or (self.learning_share > LEARNING and self._may_learn())
            self.until_measured, self.unsettled = int(waits), not waits
        self.missed = self.missed + 1 if missed else max(0, self.missed - 1)
        if self.missed >= UNSETTLED and self.shim_seconds is not None and self.slow_tries is None:
            self.until_measured = self.missed = 0

    def _watch(self, seconds: float) -> None:
        """Compares calls after the shim has won with the measurement."""
        if self.eager_seconds is None or self.slow_tries is not None or not self.until_measured:
            return
        self.watched += 1
        self.watched_seconds += seconds
        if self.watched < WATCHED:
            return
        mean = self.watched_seconds / self.watched
        self.watched, self.watched_seconds = 0, 0.0
        if mean <= ALARM * self.eager_seconds:
            self.alarms = 0
        elif self.alarms:
            self.shim_seconds = mean
            self._lost()
        else:
            self.alarms = 1
            self.until_measured, self.unsettled = 0, True

    def _may_learn(self) -> bool:
        """Whether a call that compiles something on a known path is an investment: the path will be fast."""
        return self.new_share < 0.5 and self.warmed_up < LONGEST_LEARNING and self.invested < INVESTMENT

    def _in_turn(self, times: list[float], seconds: float) -> None:
        """Records a call of the current turn of the measurement."""
        self.turn_calls += 1
        self.turn_seconds += seconds
        if self.turn_calls > 1 or seconds > LONG_CALL:
            times.append(seconds)
        if (
            self.turn is Way.EAGER
            and len(self.eager) > 1
            and min(self.eager) > max(LONG_CALL, CLEARLY * _typical(self.timed, varied=True))
        ):
            self._decide()
        elif self.turn_calls > MOST_IN_A_TURN or (self.turn_calls > LEAST_IN_A_TURN and self.turn_seconds > TURN):
            self._end_turn()

    def _end_turn(self) -> None:
        self.turn_calls, self.turn_seconds = 0, 0.0
        if self.turn is Way.TIMED:
            few = _typical(self.deferred)
            if not self.eager and _typical(self.timed, varied=True) < few * EAGER_OPERATION:
                self._won()
            else:
                self.turn = Way.EAGER
            return
        self.turn = Way.TIMED
        self.turns += 1
        self.varied = self.varied or _are_varied(self.eager)
        shim, eager = self._typical_times()
        apart = not eager / CLOSE < shim < eager * CLOSE
        most, least = (MOST_TURNS_OF_VARIED, MOST_TURNS) if self.varied else (MOST_TURNS, TURNS)
        clear = min(self.timed) > CLEARLY * _typical(self.eager, varied=True)
        if self.turns == most or (self.turns >= least and apart) or clear:
            self._decide()

    def _typical_times(self) -> tuple[float, float]:
        all_count = self.varied or self.unsettled
        return _typical(self.timed, all_count), _typical(self.eager, all_count)

    def _decide(self) -> None:
        self.shim_seconds, self.eager_seconds = self._typical_times()
        if self.shim_seconds > LOSES * self.eager_seconds:
            self._lost()
        else:
            self._won()

    def _start_over(self) -> None:
        self.timed, self.eager, self.deferred = [], [], []
        self.varied = self.unsettled = False
        self.watched, self.watched_seconds = 0, 0.0
        self.turn, self.turns, self.turn_calls, self.turn_seconds = Way.TIMED, 0, 0, 0.0
        self.missed = self.warmed_up = self.passed_over = 0
        self.slow_tries = None

    def _won(self) -> None:
        if self.eager_seconds is None:
            self.shim_seconds = _typical(self.timed)
        self._start_over()
        if not self.alarms:
            self.rest = FIRST_REST
        self.until_measured = self.settled_for
        close = self.eager_seconds is not None and self.eager_seconds < CLEARLY * (self.shim_seconds or 0.0)
        self.settled_for = min((4 if close else 8) * self.settled_for, 1_000_000)

    def _lost(self) -> None:
        assert self.shim_seconds is not None and self.eager_seconds is not None
        eager = max(self.eager_seconds, 1e-6)
        again = self.slow_tries is not None
        cost = self.spent - self.trying * eager if again else (SETTLED + LEAST_IN_A_TURN) * self.shim_seconds
        self.resting = min(max(self.rest, int(cost / eager / TRYING_AGAIN)), LONGEST_REST)
        self._start_over()
        self.rest = min(4 * self.rest, LONGEST_REST)
        self.settled_for = 64
        self.rests += 1
        if not self.said:
            self.said = True
            _log.warning("%s runs eagerly for now: %s", self.name, self.comparison())

    def comparison(self) -> str:
        """The last measurement, in words."""
        if self.shim_seconds is None:
            return "not measured yet"
        if self.eager_seconds is None:
            return f"{1e3 * self.shim_seconds:.3g} ms a call, less than its {self.operations} operations alone take eagerly"
        factor = self.eager_seconds / self.shim_seconds
        return f"{1e3 * self.shim_seconds:.3g} ms a call co-executed, {1e3 * self.eager_seconds:.3g} ms eagerly: {factor:.2f} ×"
