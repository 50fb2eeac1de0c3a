"""Cures: what a finding's cure makes of a program, and what it refuses."""

from __future__ import annotations

import textwrap

import pytest
from analysis_support import analyze_text
from cure_support import Case, cure_cases

from terra_refactor.refactor.cures import Curable, Cure, confirm_cures, cure_of
from terra_refactor.refactor.transforms.context import NotMade
from terra_refactor.syntax.edit import apply_edits
from terra_refactor.syntax.source import source_from_text

CASES = cure_cases()


def curable(case: Case) -> Curable:
    """The finding at the marked line, or the hazard there of a function that is no graph."""
    result = analyze_text(case.before)
    places: list[Curable] = [finding for finding in result.findings if finding.rule == case.rule]
    places += [hazard for decision in result.decisions for hazard in decision.hazards if hazard.rule == case.rule]
    found = [place for place in places if place.span.line == case.line]
    assert found, [f"{place.span.line}: {place.rule}" for place in places]
    return next((place for place in found if place.cure is not None), found[0])


def cured(case: Case) -> Cure | NotMade:
    return cure_of(source_from_text(case.before, "m.py"), curable(case))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_cure(case: Case) -> None:
    cure = cured(case)
    if case.after is None:
        assert isinstance(cure, NotMade), apply_edits(case.before, cure.edits)
        assert case.refused is not None and case.refused in cure.reason
        return
    assert isinstance(cure, Cure), cure.reason
    assert apply_edits(case.before, cure.edits) == case.after
    assert cure.rule == case.rule
    if case.assumes == ("nothing",):
        assert cure.assumptions == ()
    else:
        assert set(case.assumes) <= set(cure.assumptions)


@pytest.mark.parametrize("case", [case for case in CASES if case.after is not None], ids=lambda case: case.name)
def test_cured_place_is_not_reported_any_more(case: Case) -> None:
    assert case.after is not None
    before, after = (
        sum(finding.rule == case.rule for finding in analyze_text(text).findings)
        + sum(hazard.rule == case.rule for each in analyze_text(text).decisions for hazard in each.hazards)
        for text in (case.before, case.after)
    )
    assert after < before


def test_only_what_can_be_cured_is_fixable() -> None:
    text = textwrap.dedent(
        """\
        import tensorflow as tf

        @tf.function
        def step(x):
            print("x", x)
            print("x %s" % x)
            return x * 2.0

        step(tf.ones([3]))
        """
    )
    findings = [finding for finding in analyze_text(text).findings if finding.rule == "TR101"]
    confirmed = confirm_cures(findings, {"m.py": source_from_text(text, "m.py")})
    assert [(finding.span.line, finding.fixable) for finding in confirmed] == [(5, True), (6, False)]


def test_other_text_than_was_analysed_is_refused() -> None:
    case = next(case for case in CASES if case.after is not None)
    cure = cure_of(source_from_text("x = 1\n" * 40, "m.py"), curable(case))
    assert isinstance(cure, NotMade) and "position was not found" in cure.reason
