"""Changes the arguments of an existing `@tf.function`.

    @tf.function(experimental_relax_shapes=True)       ->      @tf.function(reduce_retracing=True)

Needs: a decision whose proposal is the complete new list of arguments. Gives: edits of single keyword arguments: values replaced,
arguments inserted after the last one, arguments removed; correct arguments and comments are not touched.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import libcst as cst

from terra_refactor.classify.decision import Decision
from terra_refactor.refactor.imports import Missing, Unreachable, reach_tensorflow
from terra_refactor.refactor.locate import DecoratorSite, DefinitionSite
from terra_refactor.refactor.transforms.arguments import respell, same_expression, speaks_of_tensorflow
from terra_refactor.refactor.transforms.context import FileContext, Made, NotMade, Transformed
from terra_refactor.refactor.transforms.placement import decorators_named
from terra_refactor.refactor.transforms.remove import no_decorator_reason
from terra_refactor.syntax.edit import Edit
from terra_refactor.tf_model.graph_traits import TF_FUNCTION


@dataclass(frozen=True, slots=True)
class _KeywordSite:
    """A keyword argument in the text, by offsets; `comma_end` is the offset after its comma, None if there is no comma."""

    keyword: str
    start: int
    value_start: int
    end: int
    comma_end: int | None


def tune_tf_function(context: FileContext, site: DefinitionSite, decision: Decision) -> Transformed:
    """The edits that give the definition's `tf.function` the proposed arguments."""
    found = decorators_named(context.names, site, TF_FUNCTION)
    if not found:
        return NotMade(no_decorator_reason(decision))
    if len(found) > 1:
        return NotMade("it is decorated with `tf.function` twice")
    (decorator,) = found
    wanted = decision.proposal.arguments
    missing: Missing | None = None
    if any(speaks_of_tensorflow(text) for _, text in wanted):
        module = reach_tensorflow(context.names, site)
        if isinstance(module, Unreachable):
            return NotMade(module.reason)
        if isinstance(module, Missing):
            missing = module
        wanted = tuple((keyword, respell(text, module.expression)) for keyword, text in wanted)
    call = decorator.node.decorator
    if not isinstance(call, cst.Call):
        edits = _first_arguments(context, call, decorator, wanted)
    else:
        keywords = [argument for argument in call.args if argument.keyword is not None]
        positional = [argument for argument in call.args if argument.keyword is None]
        is_partial = context.names.resolve(call.func, site.enclosing) != TF_FUNCTION
        if any(argument.star for argument in call.args) or len(positional) > int(is_partial):
            return NotMade("its arguments are not all written as keywords: change it by hand")
        edits = _changed_arguments(context, call, keywords, wanted, keep_parentheses=is_partial)
    if not edits:
        return NotMade("its `tf.function` has these arguments already")
    needed = missing is not None and any(f"{missing.expression}." in edit.replacement for edit in edits)
    return Made(tuple(edits), (missing.statement,) if missing is not None and needed else ())


def _written(arguments: Sequence[tuple[str, str]]) -> str:
    return ", ".join(f"{keyword}={text}" for keyword, text in arguments)


def _first_arguments(
    context: FileContext, expression: cst.BaseExpression, decorator: DecoratorSite, wanted: Sequence[tuple[str, str]]
) -> list[Edit]:
    """Turns `@tf.function` into a call with arguments."""
    if not wanted:
        return []
    end = context.module.offsets(expression)[1] if not expression.lpar else decorator.end
    return [Edit(end, end, f"({_written(wanted)})")]


def _changed_arguments(
    context: FileContext,
    call: cst.Call,
    keywords: Sequence[cst.Arg],
    wanted: Sequence[tuple[str, str]],
    *,
    keep_parentheses: bool,
) -> list[Edit]:
    sites = [_keyword_site(context, argument) for argument in keywords]
    proposed = dict(wanted)
    text = context.module.text
    kept = [site for site in sites if site.keyword in proposed]
    new = [(keyword, value) for keyword, value in wanted if keyword not in {site.keyword for site in sites}]
    opening, closing = _parentheses(context, call)
    if not kept and not keep_parentheses:
        after = f"({_written(new)})" if new else ""
        if not sites and not new:
            return []
        return [Edit(opening, closing, after)]
    edits = [
        Edit(site.value_start, site.end, proposed[site.keyword])
        for site in kept
        if not same_expression(text[site.value_start : site.end], proposed[site.keyword])
    ]
    removed = [site for site in sites if site.keyword not in proposed]
    if new and removed:
        # the new arguments replace the first removed one
        edits.append(_exchange(context, removed.pop(0), new))
        new = []
    edits.extend(_removals(context, call, removed))
    if new:
        edits.extend(_insertion(context, call, sites, new, opening))
    return sorted(edits)


def _keyword_site(context: FileContext, argument: cst.Arg) -> _KeywordSite:
    assert argument.keyword is not None
    start = context.module.offsets(argument.keyword)[0]
    value_start, end = _expression_offsets(context, argument.value)
    comma_end: int | None = None
    if isinstance(argument.comma, cst.Comma):
        comma_end = _comma_after(context.module.text, end)
    return _KeywordSite(argument.keyword.value, start, value_start, end, comma_end)


def _expression_offsets(context: FileContext, expression: cst.BaseExpression) -> tuple[int, int]:
    """Offsets of an expression including its parentheses, which LibCST's positions exclude."""
    start, end = context.module.offsets(expression)
    text = context.module.text
    for _ in expression.lpar:
        start = text.rindex("(", 0, start)
    for _ in expression.rpar:
        end = _skip_space(text, end) + 1
    return start, end


def _skip_space(text: str, at: int) -> int:
    """Offset of the next character that is not white space, a comment or a line continuation."""
    while text[at] in " \t\f\r\n\\#":
        if text[at] == "#":
            while text[at] not in "\r\n":
                at += 1
        else:
            at += 1
    return at


def _comma_after(text: str, end: int) -> int:
    return _skip_space(text, end) + 1


def _parentheses(context: FileContext, call: cst.Call) -> tuple[int, int]:
    """Offsets of the call's opening parenthesis and of the end of its closing one."""
    _, end = context.module.offsets(call)
    _, after_function = _expression_offsets(context, call.func)
    return _skip_space(context.module.text, after_function), end


def _last_argument_end(context: FileContext, call: cst.Call) -> int:
    return _expression_offsets(context, call.args[-1].value)[1]


def _alone_on_its_lines(context: FileContext, start: int, end: int) -> bool:
    module = context.module
    before = module.text[module.line_start(start) : start]
    after = module.text[end : module.line_end(end)].strip()
    return not before.strip() and (not after or after.startswith("#"))


def _removals(context: FileContext, call: cst.Call, removed: Sequence[_KeywordSite]) -> list[Edit]:
    """The edits that remove arguments: whole lines if nothing else is on them, otherwise each with the comma and the
    space after it.

    For the last arguments, without a following comma, the preceding comma is removed.
    """
    module, text = context.module, context.module.text
    ends = [_expression_offsets(context, argument.value)[1] for argument in call.args]
    goes = {site.end: site for site in removed}
    tail: list[_KeywordSite] = []
    while ends and ends[-1] in goes:
        tail.insert(0, goes[ends.pop()])
    if tail and ends and tail[-1].comma_end is None and not set("\r\n#").intersection(text[ends[-1] : tail[-1].end]):
        edits = [Edit(ends[-1], tail[-1].end, "")]
        removed = [site for site in removed if site not in tail]
    else:
        edits = []
    for site in removed:
        end = site.comma_end or site.end
        if _alone_on_its_lines(context, site.start, end):
            edits.append(Edit(module.line_start(site.start), module.line_end(end), ""))
            continue
        while site.comma_end is not None and text[end] in " \t":
            end += 1
        edits.append(Edit(site.start, end, ""))
    return edits


def _exchange(context: FileContext, site: _KeywordSite, new: Sequence[tuple[str, str]]) -> Edit:
    """Replaces a removed argument by new ones; a comment after it on its own line is removed with it."""
    module = context.module
    end = site.comma_end or site.end
    if not _alone_on_its_lines(context, site.start, end):
        return Edit(site.start, site.end, _written(new))
    start, end = module.line_start(site.start), module.line_end(end)
    indent = module.text[start : site.start]
    lines = [f"{indent}{keyword}={value},{module.newline_at(site.start)}" for keyword, value in new]
    text = "".join(lines)
    if site.comma_end is None:
        text = text[: text.rindex(",")] + module.newline_at(site.start)
    return Edit(start, end, text)


def _insertion(
    context: FileContext, call: cst.Call, sites: Sequence[_KeywordSite], new: Sequence[tuple[str, str]], opening: int
) -> list[Edit]:
    module, text = context.module, context.module.text
    if not call.args:
        return [Edit(opening + 1, opening + 1, _written(new))]
    last = call.args[-1]
    end = _last_argument_end(context, call)
    has_comma = isinstance(last.comma, cst.Comma)
    if sites and sites[-1].end == end and _alone_on_its_lines(context, sites[-1].start, sites[-1].comma_end or end):
        site = sites[-1]
        indent = text[module.line_start(site.start) : site.start]
        lines = [f"{indent}{keyword}={value}," for keyword, value in new]
        if not has_comma:
            lines[-1] = lines[-1].removesuffix(",")
        place = module.line_end(site.comma_end or end)
        edits = [] if has_comma else [Edit(end, end, ",")]
        return [*edits, Edit(place, place, "".join(line + module.newline_at(site.start) for line in lines))]
    return [Edit(end, end, ", " + _written(new))]
