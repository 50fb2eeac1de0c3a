"""Shapes in the default run of a program: without options, with the present files and environment.

Computes: the findings of the shape rules of a second analysis, in which options, data files and environment variables have their values
of that run (`Program.usual`): branches on them are decided, loops over their lists have a known length, and arithmetic with them has
known results. Needs: the program, and the findings of the first analysis. Gives: `with_usual_run`, `UsualRuns`.

A finding that only this analysis has is a warning, and its message names the run. Decisions come from the first
analysis, and hold in all runs. Ignores: programs that read no numbers from outside, and large ones, whose analysis
would take twice as long.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from posixpath import basename
from typing import Final

from terra_refactor.analysis.driver import AnalysisOptions, analyze_program
from terra_refactor.analysis.reuse import SummaryStore
from terra_refactor.classify.findings import find_shapes
from terra_refactor.classify.hazards import HazardMap
from terra_refactor.classify.shape_findings import doubted
from terra_refactor.ir import ops
from terra_refactor.ir.ids import FunctionId
from terra_refactor.ir.program import Program
from terra_refactor.ir.walk import walk
from terra_refactor.rules.rule import Finding
from terra_refactor.tf_model.name_table import words

_MOST_LINES: Final = 4_000
"""Maximum number of lines of all modules that are analysed a second time."""
_OPTIONS: Final = words("add_argument DEFINE_integer DEFINE_float DEFINE_string DEFINE_bool DEFINE_boolean DEFINE_enum")
_ENVIRONMENT: Final = words("environ getenv")
_MOST_FILES: Final = 3


@dataclass(slots=True)
class UsualRuns:
    """The results of the default runs of one program, which the next state of it may reuse."""

    store: SummaryStore = field(default_factory=SummaryStore)
    named: dict[FunctionId, tuple[object, frozenset[str]]] = field(default_factory=dict)
    """By function: its body, and the attributes that it reads among those that contain sources of numbers."""

    def begin(self, program: Program) -> frozenset[str]:
        """The attributes with sources of numbers that a program reads."""
        known, self.named = self.named, {}
        for module in program.modules.values():
            for function in module.functions:
                found = known.get(function.id)
                if found is None or found[0] is not function.body:
                    read = (op.name for op in walk(function.body) if isinstance(op, ops.LoadAttribute))
                    found = function.body, (_OPTIONS | _ENVIRONMENT).intersection(read)
                self.named[function.id] = found
        return frozenset().union(*(read for _, read in self.named.values() if read))


def with_usual_run(
    program: Program, findings: tuple[Finding, ...], options: AnalysisOptions, runs: UsualRuns | None
) -> tuple[Finding, ...]:
    """The findings, including those of the shape rules that only the default run shows; sorted by position.

    `runs` are those of earlier states.
    """
    sources = tuple(_sources(program, (runs or UsualRuns()).begin(program)))
    if not sources or sum(module.line_count for module in program.modules.values()) > _MOST_LINES:
        return findings
    usual = replace(program, usual=True)
    hazards = HazardMap(usual, analyze_program(usual, options, None, None if runs is None else runs.store))
    try:
        found = find_shapes(hazards)
    finally:
        hazards.end()
    why = f"in the run with {' and '.join(sources)}"
    known = {(finding.path, finding.span) for finding in findings if finding.rule in {each.rule for each in found}}
    new: dict[tuple[object, ...], Finding] = {}
    for each in found:
        if (each.path, each.span) not in known:
            new.setdefault((each.rule, each.path, each.span), doubted(each, why))
    return _sorted((*findings, *new.values())) if new else findings


def _sources(program: Program, named: frozenset[str]) -> Iterator[str]:
    """The sources of the program's numbers, in words."""
    if named & _OPTIONS:
        yield "all options by default"
    if program.data:
        names = sorted(map(basename, program.data))
        yield ", ".join(names[:_MOST_FILES]) + (", ..." if len(names) > _MOST_FILES else "") + " as it stands"
    if named & _ENVIRONMENT:
        yield "the environment's defaults"


def _sorted(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    return tuple(sorted(findings, key=lambda each: (each.path, each.span, each.rule, each.message)))
