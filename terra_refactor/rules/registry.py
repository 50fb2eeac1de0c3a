"""All rules, and their findings.

Computes: the places that each rule's check finds in each context. Needs: the facts. Gives: `all_rules`, `families`, `local_hazards`.
"""

from __future__ import annotations

import importlib
import logging
import pkgutil
from collections.abc import Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING

from terra_refactor.errors import InternalError
from terra_refactor.ir.function import FunctionKind
from terra_refactor.rules.rule import INTERNAL, LocalHazard, Nature, Rule, RuleKind
from terra_refactor.syntax.deep_stack import has_deep_stack
from terra_refactor.tf_model.spec import ErrorKind

if TYPE_CHECKING:
    from terra_refactor.domain.effect import EffectKind
    from terra_refactor.facts.view import ContextView

LOGGER = logging.getLogger(__name__)

RULE_FAMILIES = ("host_effects", "retracing", "graph_failures", "shapes", "no_benefit", "misuse", "xla", "tool")
"""The folders of rules. A rule is a module with a constant `RULE`."""


@cache
def all_rules() -> Mapping[str, Rule]:
    """Every rule by its id, in order."""
    found: dict[str, Rule] = {}
    for family in RULE_FAMILIES:
        package = importlib.import_module(f"terra_refactor.rules.{family}")
        for module_info in pkgutil.iter_modules(package.__path__):
            module = importlib.import_module(f"{package.__name__}.{module_info.name}")
            rule = module.RULE
            if rule.id in found:
                raise InternalError(f"rule {rule.id} is declared twice")
            found[rule.id] = rule
    return dict(sorted(found.items()))


@cache
def families() -> Mapping[str, str]:
    """The title of each family by the first characters of its rules' ids (`TR1`)."""
    titles = (
        (importlib.import_module(f"terra_refactor.rules.{family}").__doc__ or "").strip() for family in RULE_FAMILIES
    )
    return {title[:3]: title for title in titles}


@cache
def rules_by_effect() -> Mapping[EffectKind, tuple[Rule, ...]]:
    """The rules that report each kind of effect: first those that report only some of its effects, among these the
    later family.
    """
    found: dict[EffectKind, list[Rule]] = {}
    narrow = [rule for rule in all_rules().values() if rule.only_effects is not None]
    wide = [rule for rule in all_rules().values() if rule.only_effects is None]
    for rule in (*reversed(narrow), *wide):
        for effect in sorted(rule.effects, key=lambda effect: effect.value):
            found.setdefault(effect, []).append(rule)
    return {effect: tuple(rules) for effect, rules in found.items()}


@cache
def rules_by_failure() -> Mapping[ErrorKind, Rule]:
    """The rule that reports each kind of operation that certainly fails."""
    return {rule.failure: rule for rule in all_rules().values() if rule.failure is not None}


@cache
def rules_by_retrace() -> Mapping[str, Rule]:
    """The rule that reports each reason of a retrace."""
    return {cause: rule for rule in all_rules().values() if rule.retraces for cause in rule.retraces.causes}


@cache
def rule_about_kept_tensors() -> Rule:
    """The rule about tensors that outlive the trace."""
    return next(rule for rule in all_rules().values() if rule.keeps_tensor)


@cache
def checking_rules() -> tuple[Rule, ...]:
    """The rules with a check."""
    return tuple(rule for rule in all_rules().values() if rule.check is not None)


def local_hazards(view: ContextView) -> Iterator[tuple[Rule, LocalHazard]]:
    """Findings of the rules in one context, in the function's own code; for a module body, no graph hazards.

    A failing check affects only the function for which it fails.
    """
    is_module = view.function.kind is FunctionKind.MODULE
    budget = view.codes.budget
    for rule in checking_rules():
        assert rule.check is not None
        if is_module and rule.kind is RuleKind.HAZARD:
            continue  # a module body never runs in a graph, and is never called
        try:
            outer = budget.begin()
            try:
                found = tuple(rule.check(view))
            finally:
                budget.left = outer
        except Exception as error:
            if isinstance(error, RecursionError) and not has_deep_stack():
                raise  # it is repeated on a larger stack
            LOGGER.exception("the check of %s failed in %s", rule.id, view.function.qualname)
            first = view.code.first()
            where = f"the check of {rule.id} in {view.function.qualname} failed ({type(error).__name__}: {error})"
            # with an assumption, since nothing is proven: no diagnostic, and no decorator is removed
            found = (
                ()
                if first is None
                else (
                    LocalHazard(
                        first,
                        INTERNAL + where,
                        f"{where}, but would find nothing",
                        nature=Nature.INTERNAL_ERROR,
                    ),
                )
            )
        for hazard in found:
            yield rule, hazard
