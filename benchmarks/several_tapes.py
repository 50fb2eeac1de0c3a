"""Times steps with several tapes: eagerly, with `tf.function` and with the co-execution shim.

A GAN with two tapes beside each other, a gradient penalty (a tape around the gradient of another) and a persistent
tape. Each reads values under the open tapes, which a `tf.function` cannot do: there, the read is left out, and the
time shows what a graph without reads would cost.

The modes take turns, one block of steps each, in one process. Prints milliseconds a step, processor time of the process
and wall time, the fastest of the blocks, and the largest relative difference from eager execution in float64.

Run as `python benchmarks/several_tapes.py [--steps 20] [--blocks 5] [--width 64]`.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import keras
import numpy as np
import tensorflow as tf

from terra_refactor.runtime import co_execute

PROGRAMS = ("gan", "penalty", "persistent")
MODES = ("eager", "tf.function", "shim")
WARM_UP = 8


def build(name: str, width: int, look: Callable[[Any], Any]) -> tuple[Any, list[Any]]:
    """A step of (real, noise), and the variables that it trains. `look` reads a value."""
    keras.utils.set_random_seed(1)
    generator, critic = (
        keras.Sequential(
            [keras.Input((8,)), *(keras.layers.Dense(width, "tanh") for _ in range(3)), keras.layers.Dense(last)]
        )
        for last in (8, 1)
    )
    ours, theirs = generator.trainable_variables, critic.trainable_variables
    optimizers = [keras.optimizers.Adam(1e-3) for _ in range(2)]
    for optimizer, variables in zip(optimizers, (ours, theirs), strict=True):
        optimizer.build(variables)
    entropy = keras.losses.BinaryCrossentropy(from_logits=True)

    def train(first: Any, second: Any) -> None:
        optimizers[0].apply_gradients(zip(first, ours, strict=True))
        optimizers[1].apply_gradients(zip(second, theirs, strict=True))

    def gan(real: Any, noise: Any) -> Any:
        with tf.GradientTape() as first, tf.GradientTape() as second:
            fake = generator(noise, training=True)
            on_real, on_fake = critic(real, training=True), critic(fake, training=True)
            look(tf.reduce_mean(on_real))
            loss = entropy(tf.ones_like(on_fake), on_fake)
            other = entropy(tf.ones_like(on_real), on_real) + entropy(tf.zeros_like(on_fake), on_fake)
        train(first.gradient(loss, ours), second.gradient(other, theirs))
        return loss + other

    def penalty(real: Any, noise: Any) -> Any:
        with tf.GradientTape() as outer:
            fake = generator(noise, training=True)
            mixed = 0.5 * (real + fake)
            with tf.GradientTape() as inner:
                inner.watch(mixed)
                score = critic(mixed, training=True)
                look(tf.reduce_mean(score))
            slope = inner.gradient(score, mixed)
            off = tf.reduce_mean((tf.norm(slope, axis=1) - 1.0) ** 2)
            loss = tf.reduce_mean(critic(fake)) - tf.reduce_mean(critic(real)) + 10.0 * off
        gradients = outer.gradient(loss, ours + theirs)
        train(gradients[: len(ours)], gradients[len(ours) :])
        return loss

    def persistent(real: Any, noise: Any) -> Any:
        with tf.GradientTape(persistent=True) as tape:
            fake = generator(noise, training=True)
            on_fake = critic(fake, training=True)
            look(tf.reduce_mean(on_fake))
            loss = tf.reduce_mean((on_fake - 1.0) ** 2) + tf.reduce_mean(tf.abs(fake - real))
            other = tf.reduce_mean(on_fake**2) + tf.reduce_mean((critic(real) - 1.0) ** 2)
        train(tape.gradient(loss, ours), tape.gradient(other, theirs))
        return loss + other

    return {"gan": gan, "penalty": penalty, "persistent": persistent}[name], ours + theirs


def compare(name: str, width: int, steps: int, blocks: int) -> None:
    """Prints a line for each mode."""
    draw = np.random.RandomState(0)
    batches = [[tf.constant(draw.randn(16, 8), keras.config.floatx()) for _ in range(2)] for _ in range(steps)]
    wrap: dict[str, Any] = {
        "eager": lambda step: step,
        "tf.function": tf.function,
        "shim": co_execute(measure=False),
    }
    runs = {}
    for mode in MODES:
        step, variables = build(name, width, float if mode != "tf.function" else lambda value: value)
        runs[mode] = wrap[mode](step), variables
    times: dict[str, list[tuple[float, float]]] = {mode: [] for mode in MODES}
    for block in range(blocks + 1):
        for mode, (step, variables) in runs.items():
            started = time.process_time(), time.perf_counter()
            for batch in batches[: WARM_UP if block == 0 else steps]:
                step(*batch)
            np.asarray(variables[-1])
            if block:
                times[mode].append(
                    ((time.process_time() - started[0]) / steps, (time.perf_counter() - started[1]) / steps)
                )
    expected = [np.asarray(variable) for variable in runs["eager"][1]]
    for mode in MODES:
        processor, wall = (1e3 * min(each) for each in zip(*times[mode], strict=True))
        found = [np.asarray(variable) for variable in runs[mode][1]]
        gap = max(float(np.max(np.abs(a - b)) / np.max(np.abs(a))) for a, b in zip(expected, found, strict=True))
        print(
            f"{name:10} {mode:11} processor {processor:7.2f} ms, wall {wall:7.2f} ms, difference {gap:.1e}", flush=True
        )


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description="Times steps with several tapes.")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--blocks", type=int, default=5)
    parser.add_argument("--width", type=int, default=64)
    options = parser.parse_args()
    keras.config.set_floatx("float64")
    keras.config.set_dtype_policy("float64")
    for name in PROGRAMS:
        compare(name, options.width, options.steps, options.blocks)
    print("load", *(f"{each:.1f}" for each in os.getloadavg()))


if __name__ == "__main__":
    main()
