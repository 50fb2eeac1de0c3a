"""Values of the data alone, asked for in the middle of a step: they are computed by themselves, and mean what they meant."""

from __future__ import annotations

from typing import Any

import pytest

tf = pytest.importorskip("tensorflow")

import numpy as np  # noqa: E402

pytestmark = [pytest.mark.tensorflow, pytest.mark.kept, pytest.mark.usefixtures("float64")]


def rows(number: int) -> Any:
    """A batch with another number of positive rows each time."""
    return tf.constant(np.sin(np.arange(12.0) * 1.3 + number * 0.7).reshape(4, 3))


def network(x: Any, weight: Any) -> Any:
    for _ in range(6):
        x = tf.tanh(x @ weight) + 0.1 * x
    return x


def test_selected_rows_of_the_data_under_a_tape(same: Any) -> None:
    def build() -> Any:
        weight = tf.Variable(np.eye(3) * 0.8 + 0.1)

        def step(number: int) -> Any:
            data = rows(number)
            with tf.GradientTape() as tape:
                y = network(data, weight)
                loss = tf.reduce_sum(y**2)
                for part in tf.unstack(data * 2.0):  # each is asked for where all of the network is pending
                    chosen = tf.boolean_mask(part, part > 0.1)
                    if tf.shape(chosen)[0] > 0:
                        loss += tf.reduce_mean(chosen) * tf.reduce_sum(y)
                    y = network(y, weight)
            gradient = tape.gradient(loss, weight)
            weight.assign_sub(0.01 * gradient)
            return loss, gradient

        return step, lambda: weight

    same(build, 10)
    assert same.program.asides >= 10, same.report
    assert same.program.asides_built, same.report


def test_a_number_read_from_the_data_is_no_reason_to_wait(same: Any) -> None:
    def build() -> Any:
        weight = tf.Variable(np.eye(3) * 0.8)

        def step(number: int) -> Any:
            y = network(rows(number), weight)
            longest = int(tf.reduce_max(tf.argmax(rows(number) * 3.0, axis=1)))
            named = y * 0.5
            named.tag = longest
            z = network(named, weight) * (longest + 1.0)
            weight.assign(weight * 0.99)
            return z, float(tf.reduce_sum(z)), named.tag

        return step, lambda: weight

    same(build, 8)
    assert same.program.asides >= 5, same.report


@pytest.mark.parametrize("watched", ["data", "result", "nothing", "outside", "persistent"])
def test_what_a_tape_watches_stays_connected(same: Any, watched: str) -> None:
    """The value that Python reads is used again: its gradient is that of eager execution, None where that is None."""

    def build() -> Any:
        weight = tf.Variable(np.eye(3) * 0.8)

        def body(tape: Any, data: Any) -> Any:
            y = network(data, weight)
            if watched == "data":
                tape.watch(data)
            doubled = data * 2.0
            if watched == "result":
                tape.watch(doubled)
            total = tf.reduce_sum(doubled)
            scale = 1.5 if float(total) > 0 else 0.5
            loss = tf.reduce_sum(network(y * scale, weight)) + tf.reduce_sum(doubled**2) * total
            return loss, [data, doubled, weight]

        def step(number: int) -> Any:
            data = rows(number)
            outer = tf.GradientTape(persistent=watched == "persistent")
            if watched in ("outside", "persistent"):
                with outer:
                    outer.watch(data)
                    loss, sources = body(None, data)
                return loss, outer.gradient(loss, sources)
            with tf.GradientTape() as tape:
                loss, sources = body(tape, data)
            return loss, tape.gradient(loss, sources)

        return step, lambda: weight

    same(build, 8)
    assert bool(same.program.asides) == (watched == "nothing"), same.report


@pytest.mark.parametrize("late", [False, True])
def test_a_tape_that_watches_later_what_was_asked_for(same: Any, late: bool) -> None:
    def build() -> Any:
        weight = tf.Variable(np.eye(3) * 0.8)

        def step(number: int) -> Any:
            data = rows(number)
            with tf.GradientTape() as tape:
                y = network(data, weight)
                doubled = data * 2.0
                total = tf.reduce_sum(y * doubled)
                scale = 1.5 if float(tf.reduce_sum(doubled)) > 0 else 0.5
                if late:
                    tape.watch(doubled)
                loss = total * scale + tf.reduce_sum(doubled**2)
            return loss, tape.gradient(loss, [doubled, weight])

        return step, lambda: weight

    same(build, 8)
    assert bool(same.program.asides) != late, same.report


def test_a_tape_around_the_call_watches_the_data(same: Any) -> None:
    def build() -> Any:
        weight = tf.Variable(np.eye(3) * 0.8)
        found: list[Any] = []

        def step(number: int) -> Any:
            data = rows(number)
            y = network(data, weight)
            doubled = data * 2.0
            scale = 1.5 if float(tf.reduce_sum(doubled)) > 0 else 0.5
            return network(y * scale, weight) + doubled

        return step, lambda: (weight, found)

    def around(wrapped: Any) -> Any:
        def call(number: int) -> Any:
            data = rows(number)
            with tf.GradientTape() as tape:
                tape.watch(data)
                loss = tf.reduce_sum(wrapped(number) * data)
            return loss, tape.gradient(loss, data)

        return call

    def outer() -> Any:
        step, state = build()
        return around(step), state

    same(outer, 6)
    same(build, 6)


def test_what_was_assigned_before_is_seen(same: Any) -> None:
    def build() -> Any:
        weight, count = tf.Variable(np.eye(3) * 0.8), tf.Variable(0, dtype=tf.int64)

        def step(number: int) -> Any:
            y = network(rows(number), weight)
            count.assign_add(number % 2)
            doubled = count * 2
            if int(doubled) % 4 == 0:  # depends on a variable: all that is pending comes first
                y = network(y, weight)
            return y, tf.random.stateless_uniform([2], seed=[1, number]) + tf.cast(doubled, tf.float32)

        return step, lambda: (weight, count)

    same(build, 8)
    assert not same.program.asides, same.report


def test_results_on_the_way_have_known_shapes(same: Any) -> None:
    """The segments before are still under way: what is summed for one tensor, and what is asked of the gradients, must not wait."""

    def build() -> Any:
        weight, table = tf.Variable(np.eye(3) * 0.8), tf.Variable(np.ones((5, 3)))

        def step(number: int) -> Any:
            data = rows(number)
            with tf.GradientTape() as tape:
                y = network(data, weight) + tf.gather(table, [number % 5, 1, 2, 3])
                parts = []
                for index in range(3):
                    kept = tf.where(data[index] > 0.0)
                    parts.append(tf.reduce_sum(tf.gather(y[index], kept[:, 0])))
                    y = network(y, weight)
                loss = tf.add_n(parts) + tf.reduce_sum(y)
            gradients = tape.gradient(loss, [weight, table])
            norm = tf.linalg.global_norm(gradients)
            for variable, gradient in zip((weight, table), gradients, strict=True):
                variable.assign_sub(tf.convert_to_tensor(gradient) * 0.01 / norm)
            return loss, norm

        return step, lambda: (weight, table)

    same(build, 12)
    assert same.program.asides, same.report
