"""An immutable snapshot of a component.

Computes: lookups only. Needs: the session, which creates it. Gives: `name_span`, `line_text`, `tensorflow_name`, and
`Snapshot`, frozen: every answer to the editor is computed from one snapshot, so it never mixes two versions of a
text.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise

from terra_refactor.analysis.facts import ContextFacts, ProgramFacts
from terra_refactor.classify.decision import Decision
from terra_refactor.config import Config
from terra_refactor.ir import ops
from terra_refactor.ir.function import Function, FunctionKind
from terra_refactor.ir.program import ModuleIR, Program
from terra_refactor.rules.rule import Finding
from terra_refactor.syntax.location import Span
from terra_refactor.syntax.source import Source
from terra_refactor.workspace.results import FileError

NAMED = (FunctionKind.FUNCTION, FunctionKind.METHOD, FunctionKind.NESTED)
"""The kinds of functions defined by `def`."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The facts about one component of a project."""

    identity: str
    """Identifies the texts and the configuration."""
    config: Config
    judged_with: Config = field(repr=False)
    """The configuration, adjusted to the project, for example to the TensorFlow release that it requires."""
    program: Program = field(repr=False)
    facts: ProgramFacts = field(repr=False)
    sources: Mapping[str, Source] = field(repr=False)
    """By path as in reports; including files that do not parse."""
    module_names: Mapping[str, str] = field(repr=False)
    """By path; only for lowered files."""
    decisions: Mapping[str, tuple[Decision, ...]] = field(repr=False)
    """By path, in source order."""
    findings: Mapping[str, tuple[Finding, ...]] = field(repr=False)
    """By path, in source order, without suppressed ones."""
    errors: Mapping[str, FileError] = field(repr=False)
    """By path: files that could not be lowered."""
    left_out: int = 0
    """Number of connected files that are not analysed yet: their calls of this code are unknown."""
    parsed: Mapping[str, Snapshot] = field(default_factory=dict, repr=False, compare=False)
    """By path: for a file that could not be lowered, the last snapshot in which it was."""
    before: Snapshot | None = field(default=None, repr=False, compare=False)
    """For a first answer after an edit: the earlier facts about all files (`ide.unchanged`)."""

    @property
    def paths(self) -> tuple[str, ...]:
        """The files of the component, sorted."""
        return tuple(sorted(self.sources))

    def module(self, path: str) -> ModuleIR | None:
        """The lowered file; None if it does not parse."""
        name = self.module_names.get(path)
        return None if name is None else self.program.modules[name]

    def functions(self, path: str) -> tuple[Function, ...]:
        """All functions of a file, the module's body first; () for one that does not parse."""
        module = self.module(path)
        return () if module is None else module.functions

    def contexts(self, function: Function) -> tuple[ContextFacts, ...]:
        """The contexts in which a function was analysed."""
        return self.facts.contexts_of(function.id)

    def functions_at(self, path: str, line: int, column: int) -> Iterator[Function]:
        """The functions whose text contains a position (both counted from 1), innermost first."""
        for function in reversed(self.functions(path)):
            if function.span.contains(line, column):
                yield function

    def decision_around(self, path: str, line: int) -> Decision | None:
        """The innermost decided function, except lambdas, whose lines contain a line (from 1)."""
        around = [
            decision
            for decision in self.decisions.get(path, ())
            if decision.line <= line <= decision.end_line and decision.kind is not FunctionKind.LAMBDA
        ]
        return min(around, key=lambda decision: decision.end_line - decision.line, default=None)


def tensorflow_name(snapshot: Snapshot, path: str) -> str | None:
    """The name of TensorFlow at module level; None if it is not imported there as a module."""
    functions = snapshot.functions(path)
    if not functions:
        return None
    for op, following in pairwise(functions[0].body):
        if isinstance(op, ops.Import) and op.module == "tensorflow" and isinstance(following, ops.StoreName):
            return following.name
    return None


def name_span(snapshot: Snapshot, path: str, function: Function) -> Span:
    """The position of a function's name in its `def`."""
    text = snapshot.sources[path].text
    line = line_text(text, function.def_line)
    start = line.find(f" {function.name}", function.span.column - 1)
    column = start + 2 if start >= 0 else function.span.column
    return Span(function.def_line, column, function.def_line, column + len(function.name))


def line_text(text: str, number: int) -> str:
    """A line (from 1) of a text, without its `\n`; empty where there is none."""
    lines = _lines(text)
    return lines[number - 1] if 0 < number <= len(lines) else ""


@lru_cache(maxsize=4)
def _lines(text: str) -> tuple[str, ...]:
    return tuple(text.split("\n"))
