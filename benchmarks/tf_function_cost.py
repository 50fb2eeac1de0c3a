"""Measures the costs that decide whether `tf.function` pays off: eager operations, calls of a traced function, and
retraces.

Numbers, each the fastest of many short rounds, on the CPU only: one small operation run eagerly (several kinds), the
same operation inside a graph, one call of a traced function by its number of tensor arguments, one trace of a
function by its number of operations, and the last two again for a function whose caller records it with an eager tape
and asks for the gradient; and training steps with their own tape, by the operations that the analysis counts in them.
These give the break-even point: with fewer operations in a call, calling the graph costs more than it saves. The
default of `--min-ops` (`terra_refactor/classify/benefit.py`) and the costs in `terra_refactor/classify/calls.py` come
from here; docs/benchmarks.md has the numbers of a run.

Run as `python benchmarks/tf_function_cost.py`; `--quick` takes a fifth of the time and is less exact. Needs TensorFlow.
"""

from __future__ import annotations

import argparse
import math
import os
import re
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import tensorflow as tf

from terra_refactor.classify.benefit import DEFAULT_MIN_OPS, Count
from terra_refactor.classify.calls import calls_until_paid
from terra_refactor.config import Config
from terra_refactor.workspace.workspace import Options, analyze

TRAINING_STEP = """
import tensorflow as tf


def build():
{build}
    optimizer = tf.keras.optimizers.Adam(0.01)

    def step(x, y):
        with tf.GradientTape() as tape:
            loss = loss_of(y, predict(x))
        gradients = tape.gradient(loss, variables())
        optimizer.apply_gradients(zip(gradients, variables()))
        return loss

    return step


def run(count):
    step = build()
    for _ in range(count):
        step({x}, {y})
"""
"""A training step in a function, as in typical programs."""
_OF_A_MODEL = """
    loss_of = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    def predict(x):
        return model(x, training=True)
    def variables():
        return model.trainable_variables
"""
_DENSE = (
    """
    model = tf.keras.Sequential([
        tf.keras.Input((8,)), {layers} tf.keras.layers.Dense(4),
    ])
"""
    + _OF_A_MODEL
)
_CONVOLUTIONS = (
    """
    model = tf.keras.Sequential([
        tf.keras.Input((16, 16, 1)),
        tf.keras.layers.Conv2D(8, 3, activation="relu"),
        tf.keras.layers.MaxPooling2D(),
        tf.keras.layers.Conv2D(16, 3, activation="relu"),
        tf.keras.layers.Flatten(),
        tf.keras.layers.Dense(4),
    ])
"""
    + _OF_A_MODEL
)
_BY_HAND = """
    weights = [tf.Variable(tf.random.normal([8, 8], stddev=0.3)) for _ in range({depth})]
    def loss_of(y, predicted):
        return tf.reduce_mean(tf.square(predicted - tf.cast(y, tf.float32)[:, None]))
    def predict(x):
        for weight in weights:
            x = tf.nn.softplus(x @ weight) - 0.1 * x
        return x
    def variables():
        return weights
"""
_ROWS = ("tf.ones([32, 8])", "tf.zeros([32], tf.int32)")
TRAINING_STEPS = {
    "two dense layers": (_DENSE.format(layers='tf.keras.layers.Dense(16, activation="relu"),'), *_ROWS),
    "five dense layers": (_DENSE.format(layers='tf.keras.layers.Dense(16, activation="relu"),' * 4), *_ROWS),
    "two convolutions": (_CONVOLUTIONS, "tf.ones([32, 16, 16, 1])", _ROWS[1]),
    "three layers by hand": (_BY_HAND.format(depth=3), *_ROWS),
    "ten layers by hand": (_BY_HAND.format(depth=10), *_ROWS),
}
CHAIN = 64
"""Operations in the graph used to determine the cost of one operation in a graph."""
ROUND = 20
"""Calls in a round."""
ARGUMENTS = (0, 1, 2, 4, 8, 16, 32)
TRACED_OPERATIONS = (1, 10, 100, 1000)
TAPED_OPERATIONS = (2, 8, 32, 128)


@dataclass(frozen=True, slots=True)
class OperationCost:
    """The time of one operation of a kind, in microseconds.

    eager: called from Python
    in_graph: inside a traced function; the share of one operation of a chain of them
    """

    kind: str
    eager: float
    in_graph: float

    @property
    def saved(self) -> float:
        """The time that an operation saves in a graph."""
        return self.eager - self.in_graph


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="a fifth of the rounds")
    options = parser.parse_args(arguments)
    rounds = 40 if options.quick else 200
    tf.config.set_visible_devices([], "GPU")
    tf.get_logger().setLevel("ERROR")  # functions are traced on purpose
    console = Console()
    load = ", ".join(f"{value:.1f}" for value in os.getloadavg())
    console.print(f"TensorFlow {tf.__version__}, {os.cpu_count()} processors, load before the run {load}")

    costs = [measure_operation(kind, operation, rounds) for kind, operation in operations().items()]
    _print_operations(console, costs)
    calls = {count: measure_call(count, rounds) for count in ARGUMENTS}
    fixed, for_each = fit_line(calls)
    _print_calls(console, calls, fixed, for_each)
    traces = {count: measure_trace(count, max(3, rounds // 20)) for count in TRACED_OPERATIONS}
    trace_fixed, trace_each = fit_line(traces)
    _print_traces(console, traces)
    _print_break_even(console, costs, calls, trace_fixed, trace_each)
    _print_steps(console, {name: measure_step(*parts, max(20, rounds // 2)) for name, parts in TRAINING_STEPS.items()})
    _print_taped(console, {count: measure_taped(count, max(6, rounds // 4)) for count in TAPED_OPERATIONS})
    return 0


def operations() -> dict[str, Callable[[Any], Any]]:
    """Small operations that keep the shape of their operand, float32[8, 8]."""
    size = 8
    other = tf.ones([size, size])
    weights = tf.linalg.eye(size)
    row = tf.zeros([size])
    index = tf.range(size)
    variable = tf.Variable(other)
    return {
        "x + y": lambda x: x + other,
        "tf.tanh": tf.tanh,
        "tf.matmul": lambda x: tf.matmul(x, weights),
        "broadcast x + row": lambda x: x + row,
        "tf.nn.softmax": tf.nn.softmax,
        "tf.reshape": lambda x: tf.reshape(x, [size, size]),
        "tf.gather": lambda x: tf.gather(x, index),
        "x[0:8]": lambda x: x[0:size],
        "read a variable": lambda x: variable.read_value(),
    }


def measure_operation(kind: str, operation: Callable[[Any], Any], rounds: int) -> OperationCost:
    """One kind of operation, eagerly and in a graph."""
    start = tf.ones([8, 8])

    def chain(x: Any, count: int) -> Any:
        for _ in range(count):
            x = operation(x)
        return x

    long = tf.function(lambda x: chain(x, CHAIN), autograph=False)
    short = tf.function(lambda x: chain(x, 1), autograph=False)
    in_long = fastest(lambda: long(start), rounds)
    in_short = fastest(lambda: short(start), rounds)
    eager = fastest(lambda: operation(start), rounds)
    return OperationCost(kind, eager, max(0.0, (in_long - in_short) / (CHAIN - 1)))


def measure_call(arguments: int, rounds: int) -> float:
    """Microseconds of a call of a traced function that returns its first argument, or a constant."""
    given = [tf.ones([8, 8]) for _ in range(arguments)]

    @tf.function(autograph=False)
    def traced(*tensors: Any) -> Any:
        return tf.identity(tensors[0]) if tensors else tf.constant(1.0)

    return fastest(lambda: traced(*given), rounds)


def measure_trace(operations_in_it: int, rounds: int) -> float:
    """Microseconds of the first call of a function with that many operations; each round traces a new function."""
    start = tf.ones([8, 8])

    def once() -> float:
        def body(x: Any) -> Any:
            for _ in range(operations_in_it):
                x = tf.tanh(x)
            return x

        function = tf.function(body)
        before = time.perf_counter()
        function(start)
        return (time.perf_counter() - before) * 1e6

    once()
    return min(once() for _ in range(rounds))


@dataclass(frozen=True, slots=True)
class TapedCost:
    """A call under an eager tape and its gradient, in microseconds.

    eager: all operations, and those of the gradient, called from Python
    traced: the function is a graph, and so is its gradient
    trace: the first call and the first gradient, which make both graphs
    """

    eager: float
    traced: float
    trace: float


def measure_taped(operations_in_it: int, rounds: int) -> TapedCost:
    """A function of that many operations of mixed kinds, called under a tape of its eager caller."""
    start, other = tf.ones([8, 8]), tf.linalg.eye(8)
    variable = tf.Variable(start)

    def body(x: Any) -> Any:
        x = x * variable
        for number in range(operations_in_it - 1):
            kind = number % 3
            x = tf.tanh(x) if kind == 0 else tf.matmul(x, other) if kind == 1 else x + other
        return x

    def step(function: Callable[[Any], Any]) -> Any:
        with tf.GradientTape() as tape:
            result = function(start)
        return tape.gradient(result, variable)

    def first() -> float:
        function = tf.function(body)
        before = time.perf_counter()
        step(function)
        return (time.perf_counter() - before) * 1e6

    traced = tf.function(body)
    return TapedCost(
        fastest(lambda: step(body), rounds),
        fastest(lambda: step(traced), rounds),
        min(first() for _ in range(max(3, rounds // 10))),
    )


@dataclass(frozen=True, slots=True)
class StepCost:
    """One training step, in microseconds.

    operations: what the analysis counts in it
    eager: a call
    traced: a call of the graph
    trace: the first call, which makes the graph (twice: the optimizer makes its variables in the first)
    """

    operations: int
    eager: float
    traced: float
    trace: float


def measure_step(build: str, x: str, y: str, calls: int) -> StepCost:
    """A training step: medians of calls of the step and of its graph, and the first call of two graphs (the faster one)."""
    source = TRAINING_STEP.format(build=build, x=x, y=y)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "program.py")
        file.write_text(source + '\n\nif __name__ == "__main__":\n    run(1000)\n')
        report = analyze([str(file)], Options(Config(jobs=1), use_cache=False))
    (reason,) = (each.reason for each in report.decisions if each.qualname == "build.<locals>.step")
    (operations,) = re.findall(r"about (\d+) tensor operations", reason)
    namespace: dict[str, Any] = {}
    exec(source, namespace)
    given = [eval(text, {"tf": tf}) for text in (x, y)]

    def times(step: Callable[..., Any]) -> list[float]:
        results = []
        for _ in range(calls):
            before = time.perf_counter()
            step(*given)
            results.append((time.perf_counter() - before) * 1e6)
        return results

    eager = times(namespace["build"]())
    graphs = [times(tf.function(namespace["build"]())) for _ in range(2)]
    return StepCost(
        int(operations), statistics.median(eager), statistics.median(graphs[1]), min(each[0] for each in graphs)
    )


def fastest(call: Callable[[], Any], rounds: int) -> float:
    """Microseconds of one call: the fastest of the rounds, since other load on the machine only increases the time.

    A round is short, so that on a busy machine some rounds are undisturbed.
    """
    for _ in range(10):
        call()
    results = []
    for _ in range(rounds):
        before = time.perf_counter()
        for _ in range(ROUND):
            call()
        results.append((time.perf_counter() - before) / ROUND * 1e6)
    return min(results)


def fit_line(points: dict[int, float]) -> tuple[float, float]:
    """Least squares: the fixed cost, and the cost per unit."""
    slope, intercept = statistics.linear_regression(list(points), list(points.values()))
    return intercept, slope


def break_even(call: float, saved: float) -> float:
    """Operations per call from which the graph is faster; infinite if an operation saves nothing."""
    return math.ceil(call / saved) if saved > 0 else math.inf


def _print_operations(console: Console, costs: Sequence[OperationCost]) -> None:
    table = Table("operation on float32[8, 8]", "eager, µs", "in a graph, µs", "saved, µs", title="One operation")
    for cost in costs:
        table.add_row(cost.kind, f"{cost.eager:.1f}", f"{cost.in_graph:.2f}", f"{cost.saved:.1f}")
    console.print(table)


def _print_calls(console: Console, calls: dict[int, float], fixed: float, for_each: float) -> None:
    table = Table("tensor arguments", "µs", title="One call of a traced function")
    for count, cost in calls.items():
        table.add_row(str(count), f"{cost:.1f}")
    console.print(table)
    console.print(f"fitted: {fixed:.1f} µs a call and {for_each:.2f} µs an argument")


def _print_traces(console: Console, traces: dict[int, float]) -> None:
    table = Table("operations", "ms", title="One trace, the first run included")
    for count, cost in traces.items():
        table.add_row(str(count), f"{cost / 1000:.1f}")
    console.print(table)


def _print_taped(console: Console, costs: dict[int, TapedCost]) -> None:
    table = Table("operations", "eager, µs", "traced, µs", "first call, ms", title="Under the caller's eager tape")
    for count, cost in costs.items():
        table.add_row(str(count), f"{cost.eager:.0f}", f"{cost.traced:.0f}", f"{cost.trace / 1000:.1f}")
    console.print(table)
    call, _ = fit_line({count: cost.traced for count, cost in costs.items()})
    _, saved = fit_line({count: cost.eager - cost.traced for count, cost in costs.items()})
    fixed, for_each = fit_line({count: cost.trace for count, cost in costs.items()})
    console.print(
        f"fitted: {call:.0f} µs a call, {saved:.1f} µs saved by an operation, "
        f"{fixed / 1000:.1f} ms a trace and {for_each / 1000:.2f} ms an operation"
    )


def _print_steps(console: Console, costs: dict[str, StepCost]) -> None:
    table = Table(
        "step", "operations", "eager, ms", "graph, ms", "first, ms", "saved/op, µs", "traced/op, ms", "paid after", "model",
        title="Training steps with their own tape",
    )  # fmt: skip
    for name, cost in costs.items():
        saved = cost.eager - cost.traced
        count = Count(cost.operations, cost.operations, differentiated=True)
        table.add_row(
            name, str(cost.operations), f"{cost.eager / 1000:.1f}", f"{cost.traced / 1000:.2f}", f"{cost.trace / 1000:.0f}",
            f"{saved / cost.operations:.0f}", f"{cost.trace / cost.operations / 1000:.2f}", f"{cost.trace / saved:.0f}",
            f"{calls_until_paid(count):.0f}",
        )  # fmt: skip
    console.print(table)


def _print_break_even(
    console: Console, costs: Sequence[OperationCost], calls: dict[int, float], trace_fixed: float, trace_each: float
) -> None:
    saved = statistics.median(cost.saved for cost in costs)
    table = Table(
        "tensor arguments",
        "break-even, operations a call",
        "for twice as fast",
        "calls until a trace of 100 operations is paid",
        title=f"Break-even, at {saved:.1f} µs saved by an operation (the median)",
    )
    eager = statistics.median(cost.eager for cost in costs)
    for count, call in calls.items():
        half = saved - eager / 2  # n·eager = 2·(call + n·in_graph)
        gain = 100 * saved - call
        paid = math.ceil((trace_fixed + 100 * trace_each) / gain) if gain > 0 else math.inf
        table.add_row(str(count), f"{break_even(call, saved):.0f}", f"{break_even(call, half):.0f}", f"{paid:.0f}")
    console.print(table)
    console.print(f"The built-in default of --min-ops is {DEFAULT_MIN_OPS}.")


if __name__ == "__main__":
    sys.exit(main())
