"""The literate cases beside this file: what the analysis says of the programs in them. The notation is described in README.md."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from analysis_support import Result, analyze_files

from terra_refactor.analysis.dump import format_value
from terra_refactor.classify.decide import DecisionOptions
from terra_refactor.classify.decision import Decision
from terra_refactor.domain.effect import Effect, EffectSite
from terra_refactor.domain.lattice import join_all
from terra_refactor.domain.value import Value
from terra_refactor.ir import ops
from terra_refactor.ir.function import Function
from terra_refactor.ir.walk import walk
from terra_refactor.rules.rule import INTERNAL

HERE = Path(__file__).parent
_BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_FILE = re.compile(r"# file: (\S+)\n")
_MARK = re.compile(
    r"# (reveal|effects?|hazard|decide|reason|assumes|covered|contexts|problem|unreachable)(?:: ?(.*))?$"
)
_OPTION = re.compile(r"^Options: `min_ops = (\d+)`", re.MULTILINE)


@dataclass(frozen=True)
class Expectation:
    """One fact that a comment claims."""

    path: str
    line: int
    kind: str
    text: str


@dataclass(frozen=True)
class Case:
    """One section of a Markdown file: a program and what is expected of it."""

    name: str
    files: dict[str, str]
    expectations: tuple[Expectation, ...]
    options: DecisionOptions


def read_cases(path: Path) -> Iterator[Case]:
    """The cases of one Markdown file."""
    for section in re.split(r"^## ", path.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]:
        title, _, text = section.partition("\n")
        files: dict[str, str] = {}
        for block in _BLOCK.findall(text):
            named = _FILE.match(block)
            files[named[1] if named else "m.py"] = block
        expectations = tuple(
            Expectation(name, number, mark[1], (mark[2] or "").strip())
            for name, content in files.items()
            for number, line in enumerate(content.splitlines(), start=1)
            for part in line.split("  # ")[1:]
            if (mark := _MARK.match(f"# {part.rstrip()}"))
        )
        option = _OPTION.search(text)
        options = DecisionOptions(min_ops=int(option[1]) if option else None)
        yield Case(f"{path.stem}: {title}", files, expectations, options)


CASES = [case for path in sorted(HERE.rglob("*.md")) if path.name != "README.md" for case in read_cases(path)]


class Checker:
    """Says what the analysis has at the places of a case."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self.result: Result = analyze_files(case.files, case.options)
        self.modules = {module.path: module for module in self.result.program.modules.values()}

    def failures(self) -> list[str]:
        wrong = [
            f"{identity}: {found.problem}"
            for identity, found in self.result.facts.functions.items()
            if found.problem is not None and found.problem.startswith("internal error")
        ]
        # a check that fails makes its function unsafe, which is what many cases expect
        wrong += [
            f"{decision.path}:{hazard.span.line}: {hazard.message}"
            for decision in self.result.decisions
            for hazard in decision.hazards
            if hazard.message.startswith(INTERNAL)
        ]
        for expected in self.case.expectations:
            actual = self.actual(expected)
            if actual != expected.text:
                wrong.append(f"{expected.path}:{expected.line} {expected.kind}: {expected.text!r}, but is {actual!r}")
        wrong.extend(self.unexpected_hazards())
        return wrong

    def actual(self, expected: Expectation) -> str:
        path, line = expected.path, expected.line
        match expected.kind:
            case "reveal":
                values = self.values_at(path, line)
                return self.shown(join_all(values)) if values else "unreachable"
            case "unreachable":
                return "" if not self.values_at(path, line) else self.shown(join_all(self.values_at(path, line)))
            case "effect":
                found = sorted({self.effect(effect) for effect in self.effects_at(path, line)})
                return "; ".join(part for part in found if part in expected.text.split("; ")) or "; ".join(found)
            case "effects":
                contexts = self.result.facts.contexts_of(self.decision(path, line).function)
                found = sorted({self.effect(effect) for context in contexts for effect in context.effects})
                return "; ".join(found) or "none"
            case "hazard":
                return ", ".join(sorted(self.hazards_at(path, line)))
            case "decide":
                decision = self.decision(path, line)
                return f"{decision.classification.value} {decision.action.value}"
            case "reason":
                reason = self.decision(path, line).reason
                return expected.text if expected.text in reason else reason
            case "assumes":
                return "; ".join(self.decision(path, line).assumptions) or "nothing"
            case "covered":
                return "yes" if self.decision(path, line).covered_by_graph_callers else "no"
            case "contexts":
                return str(len(self.result.facts.contexts_of(self.decision(path, line).function)))
            case "problem":
                return self.result.facts.functions[self.decision(path, line).function].problem or "none"
            case kind:
                raise AssertionError(f"no such expectation: {kind}")

    def decision(self, path: str, line: int) -> Decision:
        """The decision about the function whose `def` is on the line."""
        found = [decision for decision in self.result.decisions if (decision.path, decision.line) == (path, line)]
        assert len(found) == 1, f"{path}:{line}: {len(found)} functions start here"
        return found[0]

    def values_at(self, path: str, line: int) -> list[Value]:
        """The values of the statement on the line: what it assigns or returns, else its outermost expression; over all contexts."""
        for function in self.modules[path].functions:
            numbers = [number for op in walk(function.body) if (number := _subject(function, op, line)) is not None]
            if not numbers:
                numbers = _outermost(function, line)
            if numbers:
                contexts = self.result.facts.contexts_of(function.id)
                values = (context.value(numbers[-1]) for context in contexts)
                return [value for value in values if value is not None]
        raise AssertionError(f"{path}:{line}: nothing to reveal")

    def shown(self, value: Value) -> str:
        return format_value(self.result.program, self.result.facts, value)

    def effects_at(self, path: str, line: int) -> Iterator[Effect]:
        """The effects that come about on the line: of its own, and of what it calls."""
        for context in self.result.facts.contexts:
            for effect in context.effects:
                site = (effect.via or (effect.site,))[0]
                if self.place(site) == (path, line):
                    yield effect

    def place(self, site: EffectSite) -> tuple[str, int]:
        module = self.result.program.modules[site.module]
        return module.path, module.by_index[site.function].span_of(site.op).line

    def effect(self, effect: Effect) -> str:
        """`kind target`, with `via` and the lines of the calls between, and `?` for one that is only assumed."""
        lines = "".join(f" > {self.place(site)[1]}" for site in (*effect.via, effect.site)[1:])
        return f"{effect.kind.value}{'?' if effect.assumed else ''} {effect.target}{lines}"

    def hazards_at(self, path: str, line: int) -> set[str]:
        """The rules that are broken on the line, by a hazard of the function that the line is in (`?` if only assumed) or a finding."""
        found = {
            hazard.rule + ("?" if hazard.assumed else "")
            for decision in self.result.decisions
            for hazard in decision.hazards
            if (decision.path, hazard.span.line) == (path, line)
        }
        findings = {f.rule for f in self.result.findings if (f.path, f.span.line) == (path, line)}
        return found | {rule for rule in findings if rule + "?" not in found}

    def unexpected_hazards(self) -> Iterator[str]:
        """Where a case speaks of hazards, it names them all."""
        expected = {(item.path, item.line) for item in self.case.expectations if item.kind == "hazard"}
        if not expected:
            return
        for decision in self.result.decisions:
            for hazard in decision.hazards:
                if (decision.path, hazard.span.line) not in expected:
                    yield f"{decision.path}:{hazard.span.line} has {hazard.rule} unexpectedly: {hazard.message}"


def _subject(function: Function, op: ops.Op, line: int) -> int | None:
    """The operation whose value is revealed, if `op` is the statement on the line."""
    match op:
        case (
            ops.StoreName(value=value)
            | ops.StoreAttribute(value=value)
            | ops.StoreItem(value=value)
            | ops.Return(value=value)
        ):
            return value if function.span_of(op.id).line == line else None
        case _:
            return None


def _outermost(function: Function, line: int) -> list[int]:
    """The expressions of a line that no other one on it contains, in order."""
    found = [op.id for op in walk(function.body) if function.span_of(op.id).line == line]
    return [
        number
        for number in found
        if not any(other != number and function.span_of(other).encloses(function.span_of(number)) for other in found)
        or all(function.span_of(other) == function.span_of(number) for other in found)
    ]


def _parameter(case: Case) -> object:
    """A known gap must fail: once it is closed, its case moves to where it belongs."""
    known = case.name.startswith("known_gaps:")
    return pytest.param(case, id=case.name, marks=pytest.mark.xfail(strict=True, reason="a known gap") if known else ())


@pytest.mark.parametrize("case", [_parameter(case) for case in CASES])
def test_case(case: Case) -> None:
    assert case.expectations, "the case expects nothing"
    failures = Checker(case).failures()
    assert not failures, "\n".join(failures)


def test_every_comment_is_read() -> None:
    """A mark with a spelling mistake would be a comment that expects nothing."""
    unread = [
        f"{case.name}: {line}"
        for case in CASES
        for content in case.files.values()
        for line in content.splitlines()
        for part in line.split("  # ")[1:]
        if not _MARK.match(f"# {part.rstrip()}")
    ]
    assert not unread
