"""From a program to decisions and findings: the analysis, the rules and the classification, one after the other.

Needs: a lowered program and the configuration. Gives: `judge_program`, `judge_facts`, which starts from finished
facts, and `judged_by`.
"""

from __future__ import annotations

from collections.abc import Callable

from terra_refactor.analysis.driver import AnalysisOptions, analyze_program
from terra_refactor.analysis.facts import ProgramFacts
from terra_refactor.classify.decide import DecisionOptions, decide
from terra_refactor.classify.decision import Decision
from terra_refactor.classify.findings import find
from terra_refactor.config import Config
from terra_refactor.ir.program import Program
from terra_refactor.rules.rule import Finding


def judge_program(
    program: Program, config: Config, progress: Callable[[int, int], None] | None
) -> tuple[tuple[Decision, ...], tuple[Finding, ...]]:
    """What is decided about every function of the program, and what the rules find."""
    return judge_facts(
        program, analyze_program(program, AnalysisOptions(models=config.project_models), progress), config
    )


def judge_facts(
    program: Program, facts: ProgramFacts, config: Config
) -> tuple[tuple[Decision, ...], tuple[Finding, ...]]:
    """What follows from the facts: decisions and findings."""
    decisions = decide(program, facts, DecisionOptions(min_ops=config.min_ops, tf_version=config.tf_version))
    return decisions, find(program, facts, decisions)


def judged_by(config: Config) -> tuple[object, ...]:
    """What the judge looks at in a configuration."""
    return (config.min_ops, config.tf_version, sorted(config.project_models.items()))
