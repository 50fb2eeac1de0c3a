"""How many assumptions are too many: those about one network or optimizer of a training step count once."""

from __future__ import annotations

from dataclasses import replace

from analysis_support import analyze_text

from terra_refactor.classify.assumptions import Assumption, are_too_many, thing_of
from terra_refactor.classify.reached_hazard import ReachedHazard
from terra_refactor.domain.effect import EffectSite
from terra_refactor.rules.host_effects.unresolved_call import RULE as UNRESOLVED_CALL
from terra_refactor.rules.rule import Subject

CALL = ReachedHazard(UNRESOLVED_CALL.id, EffectSite("m", 0, 0), (), "", "it has no side effects", is_effect=True)


def of_call(called: str) -> Assumption:
    sentence = f"`{called}` has no side effects"
    return Assumption(sentence, thing_of(replace(CALL, subject=Subject(called))) or sentence)


def test_what_is_assumed_of_one_thing_counts_once_in_a_step() -> None:
    names = ("generator", "discriminator", "images", "encoder", "self.decoder", "self.encoder")
    found = [of_call(f"{name}.{method}") for name in names for method in ("encode", "losses[0].update")]
    assert not are_too_many(found, is_step=True)
    assert are_too_many(found, is_step=False)


def test_all_optimizers_count_once() -> None:
    optimizers = [of_call(f"self.optimizer_{number}.apply_gradients") for number in range(9)]
    networks = [of_call(f"self.network{number}") for number in range(7)]
    assert not are_too_many([*optimizers, *networks], is_step=True)
    assert are_too_many([*optimizers, *networks, of_call("self.a")], is_step=True)


def test_different_things_count_each() -> None:
    layers = [of_call(f"self.layer{number}") for number in range(9)]
    assert are_too_many(layers, is_step=True)
    assert not are_too_many(layers[:8], is_step=True)


def test_an_item_or_a_result_is_the_thing_that_it_comes_from() -> None:
    things = {thing_of(replace(CALL, subject=Subject(text))) for text in ("nets[0]", "nets.first(...).run", "nets")}
    assert things == {"nets"}
    assert thing_of(replace(CALL, subject=Subject("(...)"))) is None
    assert thing_of(replace(CALL, parameter="x", subject=Subject("nets"))) == "x"
    assert thing_of(replace(CALL, subject=Subject("done", "self.count"))) == "self.count"


def test_an_assumption_of_a_rule_counts_for_itself() -> None:
    assert thing_of(replace(CALL, is_effect=False, subject=Subject("nets"))) is None


STEP = """
import tensorflow as tf


def step({parameters}, net, opt):
    with tf.GradientTape() as tape:
        loss = tf.add_n([tf.reduce_sum(net(each)) for each in [{parameters}]])
    opt.apply_gradients(zip(tape.gradient(loss, net.trainable_variables), net.trainable_variables))
    return loss
"""


def test_all_inputs_count_once() -> None:
    names = ", ".join(f"x{number}" for number in range(10))
    decision = analyze_text(STEP.format(parameters=names)).decision("step")
    assert len(decision.assumptions) > 8
    assert "too many" not in decision.reason
