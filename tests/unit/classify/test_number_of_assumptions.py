"""How many assumptions are too many: those about one network or optimizer of a training step count once."""

from __future__ import annotations

from terra_refactor.classify.assumptions import are_too_many

NETWORKS = [
    sentence
    for name in ("generator", "discriminator", "images", "first_optimizer", "second_optimizer", "self.encoder")
    for sentence in (
        f"`{name}` is a tensor, or a Python value that does not vary",
        f"`{name}.apply` has no side effects",
    )
]
"""Two about each of six."""


def test_what_is_assumed_of_one_thing_counts_once_in_a_step() -> None:
    assert not are_too_many(NETWORKS, is_step=True)
    assert are_too_many(NETWORKS, is_step=False)


def test_the_inputs_and_the_optimizers_of_a_step_count_once_each() -> None:
    inputs = [f"`x{number}` is a tensor, or a Python value that does not vary" for number in range(9)]
    optimizers = [f"`self.optimizer_{number}.apply_gradients` has no side effects" for number in range(9)]
    networks = [f"`self.network{number}` has no side effects" for number in range(6)]
    assert not are_too_many([*inputs, *optimizers, *networks], is_step=True)
    assert are_too_many([*inputs, *optimizers, *networks, "`self.a` has no side effects"], is_step=True)
    assert are_too_many(inputs, is_step=False)


def test_different_things_count_each() -> None:
    layers = [f"`self.layer{number}` has no side effects" for number in range(9)]
    assert are_too_many(layers, is_step=True)
    assert not are_too_many(layers[:8], is_step=True)


def test_sentences_that_name_nothing_first_count_each() -> None:
    assert are_too_many([f"loops of length {number} are short" for number in range(9)], is_step=True)
