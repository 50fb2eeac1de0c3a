"""From a program to decisions and findings: the analysis, the rules and the classification.

Needs: a lowered program and the configuration. Gives: `judge_program`, `judged_by`, `place_of_analysis`. A run with
only cache hits judges nothing, and does not import the analysis.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from terra_refactor.classify.decision import Decision
from terra_refactor.config import Config
from terra_refactor.ir.program import Program
from terra_refactor.rules.rule import Finding
from terra_refactor.workspace.data_files import digests_of


def judge_program(
    program: Program, config: Config, progress: Callable[[int, int], None] | None
) -> tuple[tuple[Decision, ...], tuple[Finding, ...]]:
    """The decision about every function of the program, and the findings of the rules."""
    from terra_refactor.workspace.judgement import analyze_and_judge  # noqa: PLC0415

    return analyze_and_judge(program, config, progress)


def judged_by(config: Config) -> tuple[object, ...]:
    """The part of a configuration that affects decisions."""
    return (config.extract, config.min_ops, config.tf_version, sorted(config.project_models.items()))


def place_of_analysis(
    config: Config, stubs: Mapping[str, str], data: Mapping[str, bytes], files: Iterable[tuple[str, str, bool]]
) -> str:
    """A text with all dependencies of an analysis except the texts of files: the path of each file, its module name,
    and whether it is a package.
    """
    return repr(("analysis", judged_by(config), sorted(stubs.items()), digests_of(data), sorted(files)))
