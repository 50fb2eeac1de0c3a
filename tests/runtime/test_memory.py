"""Memory: segments that run out of it, programs that die, and long training."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import weakref
from typing import Any

import numpy as np
import pytest
import warm_programs

tf = pytest.importorskip("tensorflow")

import keras  # noqa: E402

from terra_refactor.runtime import co_execute  # noqa: E402

pytestmark = [pytest.mark.tensorflow, pytest.mark.slow]

OUT_OF_MEMORY = """
import resource
import tensorflow as tf
from terra_refactor.runtime import co_execute, report

before, after = tf.Variable(0.0), tf.Variable(0.0)

@co_execute(name="hungry")
def step(x):
    before.assign_add(1.0)
    y = tf.reduce_sum(tf.sin(tf.tile(x, [2**22])))
    after.assign_add(1.0)
    return y

for _ in range(4):
    good = float(step(tf.ones([8])))
assert "run 3 times" in report(), report()
pages = int(open("/proc/self/statm").read().split()[0])
soft, hard = resource.getrlimit(resource.RLIMIT_AS)
resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + 2**26, hard))
hoard = []
try:
    while True:  # in pieces half as large as what the step needs: what is small still fits
        hoard.append(tf.fill([2**24], 0.0))
except tf.errors.ResourceExhaustedError:
    pass
for _ in range(2):
    try:
        float(step(tf.ones([8])))
    except tf.errors.ResourceExhaustedError:
        print("out of memory")
del hoard
resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
counted = float(before), float(after)
print(4.0 <= counted[0] <= 6.0, 4.0 <= counted[1] <= 6.0)
for _ in range(3):
    assert float(step(tf.ones([8]))) == good
print(float(before) - counted[0], float(after) - counted[1])
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="sets a limit as Linux does")
def test_a_segment_that_runs_out_of_memory_says_so_and_later_ones_run() -> None:
    done = subprocess.run(warm_programs.with_tensorflow(OUT_OF_MEMORY), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.splitlines() == ["out of memory", "out of memory", "True True", "3.0 3.0"]


def test_models_die_with_the_function_that_trained_them() -> None:
    def train() -> list[Any]:
        model = keras.Sequential([keras.Input([3]), keras.layers.Dense(4), keras.layers.Dense(1)])
        loss, optimizer = keras.losses.MeanSquaredError(), keras.optimizers.Adam(0.01)
        inner = tf.function(lambda x: x * 2.0)
        generator = tf.random.Generator.from_seed(1)

        @co_execute
        def step(x: Any) -> Any:
            with tf.GradientTape() as tape:
                value = loss(tf.ones([2, 1]), model(inner(x) + generator.normal([2, 3])))
            gradients = tape.gradient(value, model.trainable_variables)
            optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
            return value

        for _ in range(4):
            step(tf.ones([2, 3]))
        return [weakref.ref(thing) for thing in (model.layers[0], loss, optimizer, inner, generator)]

    left = train()
    gc.collect()
    keras.backend.clear_session()
    gc.collect()
    assert [reference() for reference in left] == [None] * len(left)


SOAK = """
import gc, sys
import numpy as np
import tensorflow as tf
import keras
from terra_refactor.runtime import co_execute

keras.utils.set_random_seed(1)
dense = keras.layers.Dense(8, activation="tanh")
dense.build((None, 8))
optimizer = keras.optimizers.Adam(1e-3)
optimizer.build(dense.trainable_variables)
kept = []

def step(number):
    x = tf.random.normal([4, 8])
    with tf.GradientTape() as tape:
        y = dense(x) * (1.0 + number % 7)
        if number % 3 == 0 and float(tf.reduce_sum(y)) > 0.0:
            y = tf.sin(y)
        loss = tf.reduce_mean(y ** 2)
    optimizer.apply_gradients(zip(tape.gradient(loss, dense.trainable_variables), dense.trainable_variables))
    kept.append(loss)
    return loss

def resident():
    gc.collect()
    return int(open("/proc/self/statm").read().split()[1]) * 4096 / 2**20

if sys.argv[1] == "shim":
    step = co_execute(step)
steps = int(sys.argv[2])
for number in range(steps // 10):
    step(number)
start = resident()
for number in range(steps):
    step(number)
print(resident() - start)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads the memory in use as Linux tells it")
def test_long_training_takes_no_more_memory_than_eager_execution() -> None:
    steps = os.environ.get("TERRA_REFACTOR_SOAK", "1000")
    growth = {}
    for mode in ("eager", "shim"):
        done = subprocess.run(
            warm_programs.with_tensorflow(SOAK, mode, steps), capture_output=True, text=True, check=True
        )
        growth[mode] = float(done.stdout)
    # MB; the kernels of random numbers grow for eager execution, and every loss of the history is kept by both
    assert growth["shim"] <= growth["eager"] + 8.0, growth
    print(growth)


def test_what_a_call_made_is_freed_when_nobody_holds_it() -> None:
    @co_execute
    def step(x: Any) -> Any:
        return tf.reduce_sum(tf.tanh(x) * np.float32(2.0))

    for _ in range(3):
        step(tf.ones([4]))
    result = step(tf.ones([4]))
    alive = weakref.ref(result)
    del result
    gc.collect()
    assert alive() is None
