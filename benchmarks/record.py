"""Measures the cost of `terra-refactor record` for a training loop with small steps.

Each loop runs by itself and under `record`, one after the other, in the same interpreter: an eager step of some
thirty operations, an eager step of a small Keras model with Adam, and a `tf.function`. Numbers are processor seconds
of the loop, without the imports; each is the minimum of `--rounds` runs. docs/record.md has the numbers of a run.

Run as `python benchmarks/record.py [--python FILE ...]`, once for each interpreter, which needs TensorFlow.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
STEPS = {"eager": 4000, "keras": 600, "graph": 10_000}
PROGRAM = """\
import sys
import time

import tensorflow as tf


class Net(tf.Module):
    def __init__(self):
        self.w = tf.Variable(tf.random.normal([32, 64]))
        self.v = tf.Variable(tf.random.normal([64, 1]))

    def __call__(self, x):
        return tf.nn.relu(x @ self.w) @ self.v


def loss_of(net, x, y):
    return tf.reduce_mean((net(x) - y) ** 2)


def step(net, x, y):
    with tf.GradientTape() as tape:
        loss = loss_of(net, x, y)
    variables = [net.w, net.v]
    for variable, gradient in zip(variables, tape.gradient(loss, variables)):
        variable.assign_sub(0.01 * gradient)
    return loss


model = tf.keras.Sequential([tf.keras.layers.Dense(64, activation="relu"), tf.keras.layers.Dense(1)])
optimizer = tf.keras.optimizers.Adam()


def keras_step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(x, training=True) - y) ** 2)
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    return loss


@tf.function
def graph_step(net, x, y):
    return step(net, x, y)


def train(kind, steps):
    net, x, y = Net(), tf.random.normal([16, 32]), tf.random.normal([16, 1])
    run = {"eager": lambda: step(net, x, y), "keras": lambda: keras_step(x, y), "graph": lambda: graph_step(net, x, y)}[kind]
    run()
    started = time.process_time()
    for _ in range(steps):
        run()
    print((time.process_time() - started) / steps * 1e6)


train(sys.argv[1], int(sys.argv[2]))
"""


def measure(python: str, folder: str, kind: str, *, recorded: bool) -> float:
    """Microseconds of one step."""
    line = [python, "program.py", kind, str(STEPS[kind])]
    if recorded:
        line = [sys.executable, "-m", "terra_refactor", "record", "-q", "--", *line]
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "PYTHONPATH": str(ROOT) if recorded else ""}
    done = subprocess.run(line, cwd=folder, env=environment, capture_output=True, text=True, check=True)
    return float(done.stdout.split()[-1])


def main() -> None:
    """See the module's docstring."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--python", action="append", help="an interpreter that has TensorFlow; may be given several times"
    )
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    print("| Python | loop | alone, µs per step | recorded | times |\n|---|---|---:|---:|---:|")
    for python in options.python or [sys.executable]:
        version = subprocess.run([python, "-V"], capture_output=True, text=True, check=True).stdout.split()[1]
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "program.py").write_text(PROGRAM, encoding="utf-8")
            for kind in STEPS:
                alone, watched = [], []
                for _ in range(options.rounds):
                    alone.append(measure(python, folder, kind, recorded=False))
                    watched.append(measure(python, folder, kind, recorded=True))
                fast, slow = min(alone), min(watched)
                print(f"| {version} | {kind} | {fast:.0f} | {slow:.0f} | {slow / fast:.2f} |", flush=True)


if __name__ == "__main__":
    main()
