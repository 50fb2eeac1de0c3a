"""Analyses a source text for a test, like `analyze` and `lint`: from the text to decisions and findings."""

from __future__ import annotations

import textwrap
from collections.abc import Collection
from dataclasses import dataclass

from terra_refactor.analysis.driver import AnalysisOptions, analyze_program
from terra_refactor.analysis.facts import ContextFacts, ProgramFacts
from terra_refactor.classify.decide import DecisionOptions, decide
from terra_refactor.classify.decision import Decision
from terra_refactor.classify.findings import find
from terra_refactor.classify.hazards import HazardMap
from terra_refactor.ir.build.module import lower_module
from terra_refactor.ir.program import Program
from terra_refactor.rules.rule import Finding
from terra_refactor.syntax.modules import build_module_index
from terra_refactor.syntax.parse import parse_module
from terra_refactor.syntax.source import source_from_text
from terra_refactor.workspace.loading import ProjectImports


@dataclass(frozen=True, slots=True)
class FilesByName:
    """Imports among modules in one folder."""

    names: Collection[str]

    def resolve(self, importing_module: str, name: str, level: int) -> str | None:
        return name if name in self.names else None


@dataclass(frozen=True, slots=True)
class Result:
    """The analysis results about a program."""

    program: Program
    facts: ProgramFacts
    decisions: tuple[Decision, ...]
    findings: tuple[Finding, ...]

    def decision(self, qualname: str) -> Decision:
        """The decision about the function of that name; KeyError if there is none, or more than one."""
        found = [decision for decision in self.decisions if decision.qualname == qualname]
        if len(found) != 1:
            raise KeyError(qualname)
        return found[0]

    def contexts(self, qualname: str) -> tuple[ContextFacts, ...]:
        """The contexts of the function of that name."""
        return self.facts.contexts_of(self.decision(qualname).function)

    def lines(self, rule: str) -> tuple[int, ...]:
        """The lines of a rule's findings, sorted, without duplicates."""
        return tuple(sorted({finding.span.line for finding in self.findings if finding.rule == rule}))

    def rules_of(self, qualname: str) -> tuple[str, ...]:
        """The rules whose hazards make the function unsafe, sorted."""
        return tuple(sorted({hazard.rule for hazard in self.decision(qualname).hazards if not hazard.assumed}))


def analyze_modules(texts: dict[str, str], options: DecisionOptions | None = None) -> Result:
    """Analyses modules, given by name; each is a file `<name>.py`."""
    modules = {
        name: lower_module(parse_module(source_from_text(textwrap.dedent(text), f"{name}.py")), name)
        for name, text in texts.items()
    }
    program = Program(modules, FilesByName(frozenset(modules)))
    facts = analyze_program(program, AnalysisOptions())
    hazards = HazardMap(program, facts)
    decisions = decide(hazards, options or DecisionOptions())
    return Result(program, facts, decisions, find(hazards, decisions))


def analyze_files(texts: dict[str, str], options: DecisionOptions | None = None) -> Result:
    """Analyses files, given by path, including packages and relative imports."""
    index = build_module_index(sorted(texts))
    names = {path: index.module_of(path).name for path in sorted(texts)}
    modules = {}
    for path, name in names.items():
        parsed = parse_module(source_from_text(textwrap.dedent(texts[path]), path))
        modules[name] = lower_module(parsed, name, is_package=index.module_of(path).is_package)
    program = Program(modules, ProjectImports(index, {name: path for path, name in names.items()}, names))
    facts = analyze_program(program, AnalysisOptions())
    hazards = HazardMap(program, facts)
    decisions = decide(hazards, options or DecisionOptions())
    return Result(program, facts, decisions, find(hazards, decisions))


def analyze_text(text: str, options: DecisionOptions | None = None) -> Result:
    """Analyses one module, `m.py`."""
    return analyze_modules({"m": text}, options)
