"""TensorFlow is the judge: what the rules report is wrong as a graph and right eagerly, and what they do not report agrees.

The analyser is asked twice: about the program with its `tf.function`s (what `lint` says), and about the same program before anybody
decorated it (what is decided: a function that would be wrong as a graph must not be called safe).
"""

from __future__ import annotations

import pytest
from analysis_support import Result, analyze_text
from observations import Observation, observe
from proofs import Proof, all_programs, checked_and_fine

from terra_refactor.classify.decision import Action, Classification
from terra_refactor.rules.registry import all_rules
from terra_refactor.rules.rule import RuleKind, Severity

PROGRAMS = all_programs()
NOT_RUN = frozenset({"TR107"})
"""Needs a library that does not exist, because it must be unknown."""
RETRACING = frozenset({"TR201", "TR202", "TR203", "TR204", "TR503"})
"""Graphs that are right, and are built too often."""
ANY_MODE = frozenset(
    {
        "TR401",
        "TR402",
        "TR403",
        "TR404",
        "TR405",
        "TR407",
        "TR501",
        "TR502",
        "TR504",
        "TR505",
        "TR506",
        "TR507",
        "TR602",
        "TR606",
    }
)
"""Not about a difference between eager and graph."""
FAILS_ANYWAY = frozenset({"TR313", "TR604"})
"""Wrong with the TensorFlow and Keras that run here in any mode, and reported in any mode."""
OF_THE_DECORATOR = ("TR309", "autograph=False")
"""Hazards that only an argument of `tf.function` brings: without it the function is safe."""
RUN = tuple(proof for proof in PROGRAMS if proof.rule not in NOT_RUN)
FINE = checked_and_fine()
HAZARDS = frozenset(rule.id for rule in all_rules().values() if rule.kind is RuleKind.HAZARD)


@pytest.fixture(scope="module")
def observations(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Observation]:
    return observe({proof.name: proof.text for proof in (*RUN, *FINE)}, tmp_path_factory.mktemp("programs"))


def reported(result: Result) -> list[str]:
    return [f"{finding.span.line}: {finding.rule} {finding.message}" for finding in result.findings]


@pytest.mark.tensorflow
@pytest.mark.slow
@pytest.mark.parametrize("proof", [proof for proof in RUN if proof.rule not in ANY_MODE], ids=lambda proof: proof.name)
def test_tensorflow_says_so(proof: Proof, observations: dict[str, Observation]) -> None:
    seen = observations[proof.name]
    if proof.bad and proof.rule in FAILS_ANYWAY:
        assert seen.graph.error is not None
        return
    assert seen.eager.error is None, "the program is wrong eagerly, too"
    if proof.rule in RETRACING:
        assert seen.graph.error is None
        most = max(seen.graph.traces, seen.graph.functions)
        assert most > 2 if proof.bad else seen.graph.traces <= 2, (seen.graph.traces, seen.graph.functions)
    elif proof.bad:
        assert not seen.same, "as a graph it is the same"
    else:
        assert seen.same, seen.difference


@pytest.mark.parametrize("proof", PROGRAMS, ids=lambda proof: proof.name)
def test_lint_says_so(proof: Proof) -> None:
    rule = all_rules()[proof.rule]
    if rule.kind is RuleKind.HAZARD and rule.severity is Severity.INFORMATION:
        pytest.skip("not a part of lint")
    if proof.rule == "TR507":
        pytest.skip("it needs the text, too: tests/unit/workspace/test_regions.py")
    result = analyze_text(proof.text)
    if proof.bad:
        assert proof.marked, "the program has no mark"
        assert result.lines(proof.rule) == proof.marked, reported(result)
    else:
        assert result.lines(proof.rule) == (), reported(result)


@pytest.mark.parametrize("proof", [proof for proof in PROGRAMS if proof.rule in HAZARDS], ids=lambda proof: proof.name)
def test_decision_says_so(proof: Proof) -> None:
    if proof.bad and (proof.rule in OF_THE_DECORATOR or any(option in proof.text for option in OF_THE_DECORATOR)):
        pytest.skip("the decorator brings it")
    result = analyze_text(proof.eager_text)
    about = [decision for decision in result.decisions if any(hazard.rule == proof.rule for hazard in decision.hazards)]
    if proof.bad:
        assert about, [(decision.qualname, decision.classification.value) for decision in result.decisions]
        assert all(decision.classification is not Classification.SAFE for decision in about)
    else:
        certain = [
            decision.qualname
            for decision in about
            if any(hazard.rule == proof.rule and not hazard.assumed for hazard in decision.hazards)
            and decision.action is not Action.NONE
        ]
        assert certain == []


@pytest.mark.tensorflow
@pytest.mark.slow
@pytest.mark.parametrize("proof", FINE, ids=lambda proof: proof.name)
def test_fine_program_agrees(proof: Proof, observations: dict[str, Observation]) -> None:
    seen = observations[proof.name]
    assert seen.eager.error is None
    assert seen.same, seen.difference
    assert seen.graph.traces <= 2


@pytest.mark.parametrize("proof", FINE, ids=lambda proof: proof.name)
def test_fine_program_is_not_reported(proof: Proof) -> None:
    result = analyze_text(proof.text)
    assert [text for text in reported(result) if "TR506" not in text] == []


@pytest.mark.parametrize("proof", FINE, ids=lambda proof: proof.name)
def test_fine_program_is_not_unsafe(proof: Proof) -> None:
    result = analyze_text(proof.eager_text)
    unsafe = [
        (decision.qualname, decision.reason)
        for decision in result.decisions
        if decision.classification is Classification.UNSAFE and decision.qualname in _decorated(proof.text)
    ]
    assert unsafe == []


def _decorated(text: str) -> frozenset[str]:
    return frozenset(decision.qualname for decision in analyze_text(text).decisions if decision.hybrid)
