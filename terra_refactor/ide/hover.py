"""Hover: what is known about the thing under the cursor.

Computes: Markdown and the span that it speaks of. Needs: a snapshot and a place. Gives: `hover`, `HoverAnswer`.

On a function's name or decorator: its card (class, reason, assumptions, types, hazards). On an expression or a bound name: its type in
each context, when it is, or holds, a tensor. Where a finding is: the rule's summary besides.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from terra_refactor.domain.value import Bottom, FunctionValue, LibraryValue, ModuleValue, Value
from terra_refactor.ide.diagnostics import diagnostics
from terra_refactor.ide.explanations import function_card
from terra_refactor.ide.snapshot import NAMED, Snapshot, name_span
from terra_refactor.ide.values import full_text, tensor_text
from terra_refactor.ir import ops
from terra_refactor.ir.function import Function, FunctionKind
from terra_refactor.ir.walk import walk
from terra_refactor.rules.registry import all_rules
from terra_refactor.syntax.comments import read_suppressions
from terra_refactor.syntax.location import Span

_MOST_CONTEXTS = 4


@dataclass(frozen=True, slots=True)
class HoverAnswer:
    """Markdown about a stretch of text."""

    span: Span
    text: str


def plain_rule(rule: str) -> str:
    """A rule's id without a link."""
    return rule


def hover(
    snapshot: Snapshot, path: str, line: int, column: int, rule_link: Callable[[str], str] = plain_rule
) -> HoverAnswer | None:
    """The answer for a place (both counted from 1), or None where there is nothing to tell."""
    parts: list[str] = []
    span: Span | None = None
    card = _card(snapshot, path, line, column, rule_link)
    if card is not None:
        span, text = card
        parts.append(text)
    else:
        found = _expression(snapshot, path, line, column)
        if found is not None:
            span, text = found
            parts.append(text)
    for where, text in _rules(snapshot, path, line, column, rule_link):
        span = span if span is not None else where
        parts.append(text)
    return None if span is None or not parts else HoverAnswer(span, "\n\n---\n\n".join(parts))


def _card(
    snapshot: Snapshot, path: str, line: int, column: int, rule_link: Callable[[str], str]
) -> tuple[Span, str] | None:
    for function in snapshot.functions(path):
        if function.kind not in NAMED:
            continue
        place = name_span(snapshot, path, function)
        spans = [place, *(decorator.span for decorator in function.decorators)]
        for span in spans:
            if span.contains(line, column):
                for decision in snapshot.decisions.get(path, ()):
                    if decision.function == function.id:
                        return span, function_card(decision, rule_link)
    return None


def _expression(snapshot: Snapshot, path: str, line: int, column: int) -> tuple[Span, str] | None:
    """The smallest expression, binding or parameter at the place whose value is worth telling."""
    for function in snapshot.functions_at(path, line, column):
        contexts = snapshot.contexts(function)
        if function.kind is FunctionKind.CLASS_BODY or not contexts:
            continue
        best: tuple[Span, list[Value]] | None = None
        for parameter in function.parameters:
            if parameter.span.contains(line, column):
                values = [
                    context.parameters[parameter.name] for context in contexts if parameter.name in context.parameters
                ]
                best = (parameter.span, values)
        if best is None:
            for span, results in _at(function, line, column):
                values = [
                    value for context in contexts for result in results if (value := context.values[result]) is not None
                ]
                if values and (best is None or best[0].encloses(span)):
                    best = (span, values)
        if best is not None:
            text = _described(snapshot, best[1])
            return None if text is None else (best[0], text)
    return None


def _at(function: Function, line: int, column: int) -> Iterator[tuple[Span, tuple[int, ...]]]:
    """Operations at a place, each with the operations whose values are shown for it."""
    for op in walk(function.body):
        span = function.spans[op.id]
        if not span.contains(line, column):
            continue
        if isinstance(op, ops.StoreName | ops.StoreAttribute):
            if op.value is not None:
                yield span, (op.value,)
        else:
            yield span, (op.id,)


def _described(snapshot: Snapshot, values: list[Value]) -> str | None:
    distinct = list(dict.fromkeys(value for value in values if not isinstance(value, Bottom)))
    texts = [text for value in distinct if (text := tensor_text(snapshot, [value])) is not None]
    if not texts:
        # modules and functions are named by the editor's own Python support
        told = [value for value in distinct if not isinstance(value, LibraryValue | ModuleValue | FunctionValue)]
        texts = [text for value in told if _is_of_use(text := full_text(snapshot, value))]
        if not texts:
            return None
    rows = list(dict.fromkeys(texts))
    shown = "\n".join(rows[:_MOST_CONTEXTS])
    more = f"\n\n… and {len(rows) - _MOST_CONTEXTS} more" if len(rows) > _MOST_CONTEXTS else ""
    head = "" if len(rows) == 1 else f"{len(rows)} types reach this place:\n\n"
    # a longer fence than any run of backticks in the text, which may quote a string of the file
    fence = "`" * max([3, *(len(run) + 1 for run in re.findall("`+", shown))])
    return f"{head}{fence}text\n{shown}\n{fence}{more}"


def _is_of_use(text: str) -> bool:
    return text.startswith(("shape ", "dtype ", "int ", "TensorSpec"))


def _rules(
    snapshot: Snapshot, path: str, line: int, column: int, rule_link: Callable[[str], str]
) -> Iterator[tuple[Span, str]]:
    rules = all_rules()
    for problem in diagnostics(snapshot, path):
        inside = problem.span.contains(line, column)
        if inside and problem.rule is not None:
            rule = rules[problem.rule]
            cure = f"\n\n{rule.cure}" if rule.cure else ""
            yield problem.span, f"{rule_link(rule.id)} **{rule.name}**: {rule.summary}{cure}"
    for suppression in read_suppressions(snapshot.sources[path].text).entries:
        if suppression.span.contains(line, column):
            for code in suppression.codes:
                named = [rule for rule in rules.values() if rule.id.startswith(code) or rule.name == code]
                for rule in named[:_MOST_CONTEXTS]:
                    yield suppression.span, f"{rule_link(rule.id)} **{rule.name}**: {rule.summary}"
