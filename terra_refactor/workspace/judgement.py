"""Decisions and findings from facts, for one program, or for one that is being edited.

Needs: a lowered program and the configuration. Gives: `judge_facts`, which starts from finished facts, and
`RepeatedJudge`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final

from terra_refactor.analysis.driver import AnalysisOptions, analyze_program
from terra_refactor.analysis.facts import ProgramFacts
from terra_refactor.analysis.reuse import SummaryStore
from terra_refactor.classify.alike import Edited, Seen, is_alike
from terra_refactor.classify.decide import DecisionOptions, decide
from terra_refactor.classify.decision import Decision
from terra_refactor.classify.findings import find
from terra_refactor.classify.hazards import HazardMap
from terra_refactor.classify.judgement import FunctionNames
from terra_refactor.config import Config
from terra_refactor.ir.program import Program
from terra_refactor.rules.rule import Finding
from terra_refactor.syntax.deep_stack import call_with_deep_stack
from terra_refactor.workspace.usual_run import UsualRuns, with_usual_run

_NEARLY_ALL: Final = 1.5
"""Ratio of contexts to reused contexts up to which few contexts are new."""
_LITTLE: Final = 0.25
"""The fraction of a budget that two runs together may use such that neither exceeds it: each entry has half of the
remaining steps.
"""


class _CheckpointError(BaseException):
    """Ends the analysis in a copy of the process. Not an error."""


def analyze_and_judge(
    program: Program, config: Config, progress: Callable[[int, int], None] | None
) -> tuple[tuple[Decision, ...], tuple[Finding, ...]]:
    """The decision about every function of the program, and the findings of the rules."""
    return judge_facts(program, analyze_program(program, _options(config), progress), config)


def _options(config: Config) -> AnalysisOptions:
    return AnalysisOptions(models=config.project_models, tf_version=config.tf_version)


def judge_facts(
    program: Program, facts: ProgramFacts, config: Config
) -> tuple[tuple[Decision, ...], tuple[Finding, ...]]:
    """Results derived from the facts: decisions and findings."""
    return call_with_deep_stack(lambda: _judge(HazardMap(program, facts), program, config))


def _judge(hazards: HazardMap, program: Program, config: Config) -> tuple[tuple[Decision, ...], tuple[Finding, ...]]:
    try:
        decisions, findings = _judged(hazards, config)
    finally:
        hazards.end()
    return decisions, with_usual_run(program, findings, _options(config), None)


def _judged(hazards: HazardMap, config: Config) -> tuple[tuple[Decision, ...], tuple[Finding, ...]]:
    decisions = decide(hazards, _decision_options(config))
    hazards.check()
    return decisions, find(hazards, decisions)


def _decision_options(config: Config) -> DecisionOptions:
    return DecisionOptions(min_ops=config.min_ops, tf_version=config.tf_version)


class RepeatedJudge:
    """Analyses and judges successive states of one program, reusing the results of the last state.

    Its results equal those of `judge_program`.
    """

    def __init__(self) -> None:
        self._store = SummaryStore()
        self._usual = UsualRuns()
        """State of the default run, which is not stored for other processes."""
        self._hazards: HazardMap | None = None
        self.is_restored = False
        """Its state was restored from another process."""
        self.restored_from: str | None = None
        """A text that identifies the last judged program."""
        self.is_checkpoint: Callable[[], bool] | None = None
        """Called regularly in a full analysis: whether this process is a copy that must store finished contexts."""
        self.end_checkpoint: Callable[[], object] | None = None
        """Stores these, and ends the copy."""
        self.seen: Seen | None = None
        """The dependencies of the decisions about `decided_about`, if they are to be recorded."""
        self.expected: Seen | None = None
        """The dependencies to compare in the next judged program."""
        self.is_as_expected = False
        """Whether all of these were unchanged in the program judged last."""

    @property
    def kept_contexts(self) -> int:
        """The number of contexts of the last program that were reused from the one before."""
        return self._store.taken_over

    @property
    def has_much_that_is_new(self) -> bool:
        """Whether storing is worthwhile, which takes a third of the time of a full analysis: not if little is new."""
        return len(self._store.by_identity) > _NEARLY_ALL * self._store.taken_over

    def kept(self) -> tuple[object, ...]:
        """Its state about the last judged program, as data; if the analysis is unfinished, the finished contexts."""
        return self._store.kept(), None if self._hazards is None else self._hazards.kept()

    @staticmethod
    def restored(kept: tuple[Any, ...], program: Program, config: Config) -> RepeatedJudge:
        """A judge with the stored state of the last judgement of this program, with this configuration."""
        store, hazards = kept
        judge = RepeatedJudge()
        options = _options(config)
        judge._store.begin(program, options.models, options.tf_version)
        judge._store.restore(store, program)
        judge._hazards = None if hazards is None else HazardMap.restored(hazards, program)
        judge.is_restored = True
        return judge

    def judge(
        self, program: Program, config: Config, progress: Callable[[int, int], None] | None
    ) -> tuple[ProgramFacts, tuple[Decision, ...], tuple[Finding, ...]]:
        """The facts, decisions and findings of the present program."""
        return call_with_deep_stack(lambda: self._judge(program, config, progress), at_once=True)

    def decided(
        self, program: Program, config: Config, progress: Callable[[int, int], None] | None
    ) -> tuple[tuple[Decision, ...], tuple[Finding, ...]]:
        """Only the decisions and findings, as `judge_program` returns them."""
        _, decisions, findings = self.judge(program, config, progress)
        return decisions, findings

    def decided_about(
        self,
        program: Program,
        config: Config,
        names: FunctionNames,
        progress: Callable[[int, int], None] | None = None,
    ) -> tuple[Decision, ...]:
        """The decisions about functions with such a path and name; others are examined only as far as these require."""

        def judge() -> tuple[Decision, ...]:
            _, hazards = self._advance(program, config, progress)
            try:
                decisions = decide(hazards, _decision_options(config), names)
                if self.seen is not None:
                    about = [decision.function for decision in decisions]
                    self.seen.add(hazards, self._store.executed, about, self._store.share_of_steps)
            finally:
                hazards.end()
            self._hazards = hazards
            return decisions

        return call_with_deep_stack(judge, at_once=True)

    def _judge(
        self, program: Program, config: Config, progress: Callable[[int, int], None] | None
    ) -> tuple[ProgramFacts, tuple[Decision, ...], tuple[Finding, ...]]:
        facts, hazards = self._advance(program, config, progress)
        try:
            decisions, findings = _judged(hazards, config)
            if self.is_as_expected:
                assert self._store.edited is not None
                self.is_as_expected = hazards.answers_are_steady(Edited(self._store.edited, facts))
        finally:
            hazards.end()
        findings = with_usual_run(program, findings, _options(config), self._usual)
        self._hazards = hazards
        return facts, decisions, findings

    def _check(self, hazards: HazardMap, progress: Callable[[int, int], None] | None) -> None:
        """Lets the progress callback cancel the judgement here: the next one resumes from the answers so far."""
        if progress is None:
            return
        try:
            progress(1, 1)
        except BaseException:
            hazards.forget_moved_decisions()
            self._hazards = hazards
            raise

    def _advance(
        self, program: Program, config: Config, progress: Callable[[int, int], None] | None
    ) -> tuple[ProgramFacts, HazardMap]:
        """The facts of the present program, and the queries about them."""

        def advance(done: int, total: int) -> None:
            if self.is_checkpoint is not None and self.is_checkpoint():
                raise _CheckpointError
            if progress is not None:
                progress(done, total)

        try:
            facts = analyze_program(program, _options(config), advance, self._store)
        except _CheckpointError:
            assert self.end_checkpoint is not None, "a copy of the process has work to do"
            self.end_checkpoint()
            raise
        earlier, self._hazards = self._hazards, None
        expected, self.expected = self.expected, None
        others = () if expected is None else expected.looks
        hazards = HazardMap(program, facts, remembers=True, earlier=earlier, others=others)
        hazards.check = partial(self._check, hazards, progress)
        self.is_as_expected = (
            expected is not None
            and earlier is not None
            and self._store.edited is not None
            and self._store.share_of_steps + expected.share_of_steps < _LITTLE
            and is_alike(earlier, hazards, Edited(self._store.edited, facts), expected)
        )
        return facts, hazards
