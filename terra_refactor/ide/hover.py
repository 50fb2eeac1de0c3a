"""Hover: the facts about the code under the cursor.

Computes: Markdown and its span. Needs: a snapshot and a position. Gives: `hover`, `HoverAnswer`.

On a function's name or decorator: its card (class, reason, assumptions, types, hazards). On a callee: its shape rule with this call's
arguments, its description, and a layer's weights or a model's table. On any other name: its type in each context, its value, or the
reason why it is unknown. On a finding: also the rule's summary.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from keyword import iskeyword

from terra_refactor.domain.value import (
    Bottom,
    BoundMethod,
    LibraryValue,
    Reference,
    UnknownValue,
    Value,
    members,
)
from terra_refactor.ide.diagnostics import diagnostics
from terra_refactor.ide.explanations import PlaceLink, function_card, plain_place
from terra_refactor.ide.layers import layer_card
from terra_refactor.ide.names import fenced, parameter_reason, unknown_reason, value_card
from terra_refactor.ide.operations import call_text, callers_of, operator_text, reached
from terra_refactor.ide.regions import beside_regions, shown_regions
from terra_refactor.ide.size_origins import parameter_origins, size_origins
from terra_refactor.ide.snapshot import NAMED, Snapshot, line_text, name_span
from terra_refactor.ide.unchanged import unchanged_functions
from terra_refactor.ide.values import tensor_text
from terra_refactor.ir import ops
from terra_refactor.ir.function import Function
from terra_refactor.ir.ids import source_name
from terra_refactor.ir.walk import walk
from terra_refactor.rules.no_benefit.missed_hybridization import RULE as MISSED_HYBRIDIZATION
from terra_refactor.rules.registry import all_rules
from terra_refactor.syntax.comments import read_suppressions
from terra_refactor.syntax.deep_stack import deeply
from terra_refactor.syntax.location import Span
from terra_refactor.workspace.printable import as_code

_MOST_CONTEXTS = 4
_MOST_CALLEES = 2
_NAMED_OPERATIONS = (ops.StoreName, ops.StoreAttribute, ops.LoadName, ops.LoadAttribute)
_FENCE = "```text\n"
_END = "\n```"
_WORD = re.compile(r"[^\W\d]\w*")


@dataclass(frozen=True, slots=True)
class HoverAnswer:
    """Markdown about a range of text."""

    span: Span
    text: str


def plain_rule(rule: str) -> str:
    """A rule's id without a link."""
    return rule


@deeply
def hover(
    snapshot: Snapshot,
    path: str,
    line: int,
    column: int,
    rule_link: Callable[[str], str] = plain_rule,
    place_link: PlaceLink = plain_place,
) -> HoverAnswer | None:
    """The hover for a position (both counted from 1), or None. The links are for rules' pages and for lines of files."""
    unchanged = unchanged_functions(snapshot, path)
    lines = None if unchanged is None else unchanged.lines(snapshot, line, column)
    if unchanged is not None and lines is not None:
        answer = hover(unchanged.before, path, line - lines, column, rule_link, place_link)
        return None if answer is None else HoverAnswer(answer.span.down(lines), answer.text)
    parts: list[str] = []
    span: Span | None = None
    card = _card(snapshot, path, line, column, rule_link, place_link)
    if card is not None:
        span, text = card
        parts.append(text)
    else:
        found = _expression(snapshot, path, line, column, place_link)
        if found is not None:
            span, text = found
            parts.append(text)
    for where, text in _rules(snapshot, path, line, column, rule_link, has_card=card is not None):
        span = span if span is not None else where
        parts.append(text)
    if span is None or not parts:
        return None
    if snapshot.left_out:
        files = "one file" if snapshot.left_out == 1 else f"{snapshot.left_out:,} files"
        parts.append(f"_Not analysed yet: {files} that imports connect with this one._")
    return HoverAnswer(span, "\n\n---\n\n".join(parts))


def _card(
    snapshot: Snapshot,
    path: str,
    line: int,
    column: int,
    rule_link: Callable[[str], str],
    place_link: PlaceLink,
) -> tuple[Span, str] | None:
    for function in snapshot.functions(path):
        if function.kind not in NAMED or not _head(function).contains(line, column):
            continue
        place = name_span(snapshot, path, function)
        spans = [place, *(decorator.span for decorator in function.decorators)]
        for span in spans:
            if span.contains(line, column):
                regions = shown_regions(snapshot, path)
                for decision in beside_regions(snapshot.decisions.get(path, ()), regions):
                    if decision.function == function.id:
                        region = regions.best_in(decision)
                        return span, function_card(snapshot, decision, rule_link, place_link, region)
    return None


def _head(function: Function) -> Span:
    """The lines of a function's decorators, and the line of its `def`."""
    first = min([function.def_line, *(decorator.span.line for decorator in function.decorators)])
    return Span(first, 1, function.def_line + 1, 1)


def _expression(
    snapshot: Snapshot, path: str, line: int, column: int, place_link: PlaceLink
) -> tuple[Span, str] | None:
    """The smallest expression, binding or parameter at the position, with its facts."""
    word = _word_at(snapshot, path, line, column)
    for function in snapshot.functions_at(path, line, column):
        for parameter in function.parameters:
            if parameter.span.contains(line, column):
                origins = parameter_origins(snapshot, function, parameter.name, place_link, line)
                return parameter.span, _joint(_parameter(snapshot, function, parameter.name), origins)
        best = _smallest(function, line, column)
        if best is None:
            continue
        if word is not None and iskeyword(word[1]):
            return None
        span, op = best
        text = _told(snapshot, function, op, "" if word is None else word[1])
        if text is None:
            return None
        text = _joint(text, _origins(snapshot, function, op, line, place_link))
        return (span, text) if word is None or span.line == span.end_line else (word[0], text)
    return None


def _joint(text: str, origins: str) -> str:
    return f"{text}\n\n{origins}" if origins else text


def _origins(snapshot: Snapshot, function: Function, op: ops.Op, line: int, place_link: PlaceLink) -> str:
    """The origins of the sizes of a variable; those of a call are in its rule."""
    match op:
        case ops.StoreName(value=result) | ops.StoreAttribute(value=result) if result is not None:
            return size_origins(snapshot, function, result, place_link, line)
        case ops.LoadName() | ops.LoadAttribute() if op.id not in callers_of(function):
            return size_origins(snapshot, function, op.id, place_link, line)
        case _:
            return ""


def _word_at(snapshot: Snapshot, path: str, line: int, column: int) -> tuple[Span, str] | None:
    """The identifier at a position."""
    for found in _WORD.finditer(line_text(snapshot.sources[path].text, line)):
        if found.start() < column <= found.end():
            return Span(line, found.start() + 1, line, found.end() + 1), found[0]
    return None


def _smallest(function: Function, line: int, column: int) -> tuple[Span, ops.Op] | None:
    """The operation with the smallest text around a position; among equal texts the last one that runs."""
    best: tuple[Span, ops.Op] | None = None
    for op in walk(function.body):
        span = function.spans[op.id]
        if span.contains(line, column) and (best is None or best[0].encloses(span)):
            # a lambda's return has the text of its expression
            if not (isinstance(op, ops.Return) and best is not None and best[0] == span):
                best = (span, op)
    return best


def _told(snapshot: Snapshot, function: Function, op: ops.Op, word: str) -> str | None:
    """Hover text of an operation. `word` is the identifier under the cursor, or empty."""
    contexts = snapshot.contexts(function)
    stands_for = source_name(op.name) if isinstance(op, _NAMED_OPERATIONS) else ""
    if _is_private(word, stands_for):
        stands_for = word
    match op:
        case ops.StoreName(value=result) | ops.StoreAttribute(value=result):
            if result is None:
                return None
            return _values(snapshot, function, result, word if word == stands_for else None)
        case ops.LoadName(name=name, scope=ops.Scope.GLOBAL) if (
            word == name and next(reached(contexts, op.id), None) is None
        ):
            return _global(snapshot, function, name) or _values(snapshot, function, op.id, name)
        case ops.LoadName() | ops.LoadAttribute():
            call = callers_of(function).get(op.id) if word == stands_for else None
            if call is not None:
                return _call(snapshot, function, op, call, word)
            return _values(snapshot, function, op.id, word if word == stands_for else None)
        case ops.Call(arguments=arguments):
            for argument in arguments:
                if word and argument.keyword == word:
                    told = _values(snapshot, function, argument.value, word)
                    return f"argument {as_code(word)}\n\n{told}"
            return _values(snapshot, function, op.id, None)
        case ops.Binary() | ops.Compare():
            return operator_text(snapshot, contexts, op) or _values(snapshot, function, op.id, None)
        case ops.Import() | ops.ImportFrom():
            return _values(snapshot, function, op.id, word) if word else None
        case ops.DeleteName(name=name) | ops.DeleteAttribute(name=name):
            return f"{as_code(word)} is unbound here" if word == name or _is_private(word, name) else None
        case _:
            return _values(snapshot, function, op.id, None)


def _is_private(word: str, name: str) -> bool:
    """Whether a name is a private one of a class, with the class's name before it: `_Net__size` for `__size`."""
    return word.startswith("__") and not word.endswith("__") and name.startswith("_") and name.endswith(word)


def _call(snapshot: Snapshot, function: Function, op: ops.Op, call: ops.Call, name: str) -> str:
    """The callee, its shape rule with the arguments of this call, and the result."""
    contexts = snapshot.contexts(function)
    parts: list[str] = []
    made = [value for value in reached(contexts, call.id) if isinstance(value, Reference)]
    filled = None if made else call_text(snapshot, contexts, call, name)
    if filled is not None:
        parts.append(filled)
    called = list(dict.fromkeys(reached(contexts, op.id)))
    for value in dict.fromkeys([*called, *made]):
        if isinstance(value, Reference):
            card = layer_card(snapshot, snapshot.facts.objects[value.object])
            if card is not None and card not in parts:
                parts.append(card)
                break
    parts.extend(dict.fromkeys(filter(None, (_summary(snapshot, value) for value in called))))
    cards = dict.fromkeys(card for value in called if (card := value_card(snapshot, value)) is not None)
    parts.extend(list(cards)[:_MOST_CALLEES])
    if not parts:
        return _values(snapshot, function, op.id, name) or ""
    return "\n\n".join(parts)


def _summary(snapshot: Snapshot, called: Value) -> str | None:
    """For `model.summary`: the table of the model's layers."""
    match called:
        case BoundMethod(LibraryValue("keras.Model.summary"), Reference(number)):
            return layer_card(snapshot, snapshot.facts.objects[number])
        case _:
            return None


def _parameter(snapshot: Snapshot, function: Function, name: str) -> str:
    contexts = snapshot.contexts(function)
    values = [context.parameters[name] for context in contexts if name in context.parameters]
    text = _described(snapshot, values)
    facts = snapshot.facts.functions.get(function.id)
    known = next((parameter for parameter in facts.parameters if parameter.name == name), None) if facts else None
    if text is not None:
        return text
    if facts is None or known is None:
        return f"{as_code(name)}: unknown; no analysed code calls this function"
    return f"{as_code(name)}: unknown; {parameter_reason(known.evidence, len(facts.callers))}"


def _values(snapshot: Snapshot, function: Function, result: int, name: str | None) -> str | None:
    """The values of an operation in all contexts. With a name there is always an answer, at least why it is unknown."""
    values = list(reached(snapshot.contexts(function), result))
    text = _described(snapshot, values)
    if text is not None or name is None:
        return text
    if not values:
        return f"{as_code(name)}: unknown; no analysed call reaches this place"
    reasons = [unknown_reason(value) for each in values for value in members(each) if isinstance(value, UnknownValue)]
    return f"{as_code(name)}: unknown; {reasons[0] if reasons else 'the analysed code does not determine it'}"


def _global(snapshot: Snapshot, function: Function, name: str) -> str | None:
    """A name of the module that is bound once, in code that no analysed call reaches."""
    body = snapshot.program.modules[function.id.module].body
    bound = [op.value for op in walk(body.body) if isinstance(op, ops.StoreName) and op.name == name]
    if len(bound) != 1 or bound[0] is None:
        return None
    return _described(snapshot, list(reached(snapshot.contexts(body), bound[0])))


def _described(snapshot: Snapshot, values: list[Value]) -> str | None:
    distinct = list(dict.fromkeys(value for value in values if not isinstance(value, Bottom)))
    texts = [text for value in distinct if (text := tensor_text(snapshot, [value])) is not None]
    if not texts:
        for value in distinct:
            if isinstance(value, Reference):
                card = layer_card(snapshot, snapshot.facts.objects[value.object])
                if card is not None:
                    return "\n\n".join(filter(None, [card, value_card(snapshot, value)]))
        cards = dict.fromkeys(card for value in distinct if (card := value_card(snapshot, value)) is not None)
        return _joined(list(cards)) or None
    rows = list(dict.fromkeys(texts))
    shown = "\n".join(rows[:_MOST_CONTEXTS])
    more = f"\n\n… and {len(rows) - _MOST_CONTEXTS} more" if len(rows) > _MOST_CONTEXTS else ""
    head = "" if len(rows) == 1 else f"{len(rows)} types reach this place:\n\n"
    return f"{head}{fenced(shown)}{more}"


def _joined(cards: list[str]) -> str:
    """The first cards; one-line cards, such as those of numbers, in one block."""
    lines = [card.removeprefix(_FENCE).removesuffix(_END) for card in cards]
    if all("\n" not in line and fenced(line) == card for line, card in zip(lines, cards, strict=True)):
        more = f"\n… and {len(lines) - _MOST_CONTEXTS} more" if len(lines) > _MOST_CONTEXTS else ""
        return fenced("\n".join(lines[:_MOST_CONTEXTS]) + more) if lines else ""
    return "\n\n".join(cards[:_MOST_CALLEES])


def _rules(
    snapshot: Snapshot, path: str, line: int, column: int, rule_link: Callable[[str], str], *, has_card: bool
) -> Iterator[tuple[Span, str]]:
    """The rules of the findings and suppressions at the position, without those that repeat the card."""
    rules = all_rules()
    for problem in diagnostics(snapshot, path):
        inside = problem.span.contains(line, column)
        if inside and problem.rule is not None and not (has_card and problem.rule == MISSED_HYBRIDIZATION.id):
            rule = rules[problem.rule]
            cure = f"\n\n{rule.cure}" if rule.cure else ""
            yield problem.span, f"{rule_link(rule.id)} **{rule.name}**: {rule.summary}{cure}"
    for suppression in read_suppressions(snapshot.sources[path].text).entries:
        if suppression.span.contains(line, column):
            for code in suppression.codes:
                named = [rule for rule in rules.values() if rule.id.startswith(code) or rule.name == code]
                for rule in named[:_MOST_CONTEXTS]:
                    yield suppression.span, f"{rule_link(rule.id)} **{rule.name}**: {rule.summary}"
