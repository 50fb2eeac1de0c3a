"""Several tapes, or a persistent one, that are open when Python asks for a value: their segments are compiled, up to any
order of gradients.
"""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("tensorflow")

pytestmark = [pytest.mark.tensorflow, pytest.mark.kept]
# ruff: noqa: PLC0415


def compared(step: Any, calls: int = 8) -> Any:
    """Runs a step eagerly and deferred, from the same variables, and compares its results; returns the program."""
    import numpy as np
    import tensorflow as tf

    from terra_refactor.runtime import co_execute
    from terra_refactor.runtime.report import programs

    found = []
    for decorator in (lambda function: function, co_execute(measure=False, name=step.__name__)):
        function = decorator(step)
        variables = [
            tf.Variable(tf.reshape(tf.sin(tf.range(float(rows * columns), dtype=tf.float64)), (rows, columns)))
            for rows, columns in ((3, 4), (4, 4), (4, 1))
        ]
        results = []
        for number in range(calls):
            x = tf.reshape(tf.cos(tf.range(6, dtype=tf.float64) + number), (2, 3))
            flat = tf.nest.flatten([function(x, variables), [each + 0 for each in variables]], expand_composites=True)
            results.append([np.asarray(each) for each in flat])
        found.append(tf.nest.flatten(results))
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(one, other, 1e-11, 1e-11)
    return next(program for program in programs() if program.name == step.__name__)


def is_compiled(program: Any) -> bool:
    """Whether, after the first calls, nothing ran one by one."""
    return program.segments_run > 0 and not program.fallbacks and not program.build_failures and program.replays <= 4


def test_two_tapes_beside_each_other() -> None:
    import tensorflow as tf

    def two_tapes(x: Any, variables: Any) -> Any:
        w, u, v = variables
        with tf.GradientTape() as one, tf.GradientTape() as other:
            fake = tf.tanh(x @ w)
            score = tf.sigmoid(fake @ u) @ v
            real = tf.sigmoid(tf.ones_like(fake) @ u) @ v
            first = tf.reduce_mean((score - 1.0) ** 2)
            if float(first) > 1e3:
                first *= 0.5
            second = tf.reduce_mean(score**2) + tf.reduce_mean((real - 1.0) ** 2) + first * 0.1
        gradients = one.gradient(first, [w, fake]), other.gradient(second, [u, v])
        w.assign_sub(gradients[0][0] * 0.1)
        u.assign_sub(gradients[1][0] * 0.1)
        return first, second, gradients

    assert is_compiled(compared(two_tapes))


def test_a_tape_around_the_gradient_of_another() -> None:
    import tensorflow as tf

    def penalty(x: Any, variables: Any) -> Any:
        w, u, v = variables
        with tf.GradientTape() as outer:
            mixed = x * tf.reduce_sum(w)
            with tf.GradientTape() as inner:
                inner.watch(mixed)
                hidden = tf.tanh(mixed @ w)
                score = tf.exp(hidden @ u * 0.1) @ v
                float(tf.reduce_sum(score))
                score = tf.sin(score) + tf.reduce_sum(mixed)
            slope = inner.gradient(score, mixed)
            float(tf.reduce_sum(slope))
            loss = tf.reduce_sum((tf.norm(slope, axis=1) - 1.0) ** 2) + tf.reduce_mean(score)
        gradients = outer.gradient(loss, [w, u, v, mixed, hidden])
        for variable, gradient in zip(variables, gradients, strict=False):
            variable.assign_sub(gradient * 0.01)
        return loss, slope, gradients

    assert is_compiled(compared(penalty))


def test_a_variable_that_changes_before_its_gradient_is_differentiated() -> None:
    """The gradient belongs to the value that was read."""
    import tensorflow as tf

    def changed(x: Any, variables: Any) -> Any:
        w, u, v = variables
        with tf.GradientTape() as outer, tf.GradientTape() as inner:
            inner.watch(x)
            outer.watch(x)
            y = tf.tanh(x @ w) @ u
            before = w * 2.0
            float(tf.reduce_sum(y))
            w.assign(tf.cos(w))
            z = tf.sin(y) @ v + tf.reduce_sum(w**3)
            float(tf.reduce_sum(z))
            u.assign_add(u * 0.1)
            slopes = inner.gradient(z, [x, w])
            total = tf.reduce_sum(slopes[0] ** 2) + tf.reduce_sum(slopes[1] * before)
        return total, outer.gradient(total, [x, w, u, v, y])

    assert is_compiled(compared(changed))


def test_a_third_order_and_a_persistent_tape() -> None:
    import tensorflow as tf

    def third(x: Any, variables: Any) -> Any:
        w, u, v = variables
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(x)
            y = tf.reduce_sum(tf.sin(tf.tanh(x @ w) @ u) @ v)
            float(y)
            one = tape.gradient(y, x)
            float(tf.reduce_sum(one))
            two = tape.gradient(one, x)
            float(tf.reduce_sum(two))
            total = tf.reduce_sum(two**2)
        return y, one, two, tape.gradient(total, [x, w, u, v]), tape.gradient(y, [v, w])

    assert is_compiled(compared(third))


def test_rows_that_are_looked_up_under_two_tapes() -> None:
    import tensorflow as tf

    def rows(x: Any, variables: Any) -> Any:
        w, u, _ = variables
        with tf.GradientTape() as outer:
            with tf.GradientTape() as inner:
                found = tf.gather(w, [0, 2, 0])
                read = tf.gather(tf.convert_to_tensor(u), [1, 1])
                float(tf.reduce_sum(found))
                y = tf.reduce_sum(tf.sin(found) * tf.reduce_sum(read)) + tf.reduce_sum(x * w[:, :3][:2])
            slopes = inner.gradient(y, [w, u, found])
            total = tf.add_n([tf.reduce_sum(tf.convert_to_tensor(slope) ** 2) for slope in slopes])
        return (
            [type(slope).__name__ == "IndexedSlices" for slope in slopes],
            total,
            outer.gradient(total, [w, u, found]),
        )

    compared(rows)


def test_rows_that_are_looked_up_after_a_value_was_read() -> None:
    import tensorflow as tf

    def later(x: Any, variables: Any) -> Any:
        w, u, _ = variables
        with tf.GradientTape() as outer:
            with tf.GradientTape() as inner:
                read = tf.convert_to_tensor(w)
                same = tf.identity(u)
                float(tf.reduce_sum(x))
                y = tf.reduce_sum(tf.sin(tf.gather(read, [0, 2, 0]))) * tf.reduce_sum(tf.gather(same, [1, 1]) ** 2)
            slopes = inner.gradient(y, [w, u])
            total = tf.add_n([tf.reduce_sum(slope.values**2) for slope in slopes])
        return total, [slope.indices for slope in slopes], outer.gradient(total, [w, u])

    compared(later)


def test_a_jacobian_under_another_tape() -> None:
    import tensorflow as tf

    def jacobian(x: Any, variables: Any) -> Any:
        w, u, v = variables
        with tf.GradientTape() as outer:
            with tf.GradientTape(persistent=True) as inner:
                inner.watch(x)
                y = tf.tanh(x @ w) @ u
                float(tf.reduce_sum(y))
                z = tf.sin(y) @ v
            slopes = inner.jacobian(z, x), inner.gradient(y, w)
            total = tf.reduce_sum(slopes[0] ** 2) + tf.reduce_sum(slopes[1] ** 2)
        return slopes, total, outer.gradient(total, [w, u, v, y])

    assert is_compiled(compared(jacobian))


def test_shadow_mode_compares_segments_under_two_tapes() -> None:
    import tensorflow as tf

    from terra_refactor.runtime import co_execute
    from terra_refactor.runtime.report import programs

    variable = tf.Variable([1.0, 2.0])

    @co_execute(shadow=True, measure=False, name="shadow of two tapes")
    def step(x: Any) -> Any:
        with tf.GradientTape() as one, tf.GradientTape() as other:
            y = tf.sin(variable * x)
            float(y[0])
            z = tf.reduce_sum(y**2)
        return one.gradient(z, variable), other.gradient(y, variable)

    x = tf.constant([0.5, -1.0])
    found = [tf.nest.map_structure(lambda each: each.numpy().tolist(), step(x)) for _ in range(5)]
    assert all(each == found[0] for each in found)
    program = next(program for program in programs() if program.name == "shadow of two tapes")
    assert program.shadow_checks
    assert not program.shadow_differences
