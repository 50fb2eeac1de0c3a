"""What production asks of the shim: shadow mode catches what is wrong, nothing stays after `disable`, the report, notebooks."""

from __future__ import annotations

import gc
import subprocess
import warnings
from typing import Any

import pytest
import warm_programs

pytest.importorskip("tensorflow")

pytestmark = pytest.mark.tensorflow
# ruff: noqa: PLC0415


def shadowed(function: Any, *args: Any, **options: Any) -> tuple[list[Any], str]:
    """What four calls in shadow mode return, and the shadow's lines of the report."""
    import numpy as np

    from terra_refactor.runtime import co_execute, report

    step = co_execute(shadow=True, measure=False, name="in the shadow", **options)(function)
    found = [np.asarray(step(*args)) for _ in range(4)]
    mine = report().rpartition("in the shadow: ")[2]
    return found, "\n".join(line for line in mine.splitlines() if "shadow:" in line)


def test_shadow_mode_catches_rewrites_that_are_not_exact() -> None:
    import numpy as np
    import tensorflow as tf

    def rounded(x: Any) -> Any:
        return (x * 0.3 + 12582912.0) - 12582912.0

    def root(x: Any) -> Any:
        return x**0.5

    for function, argument in ((rounded, [1.0, 3.3]), (root, [-float("inf"), 4.0])):
        x = tf.constant(argument)
        found, said = shadowed(function, x, fast_math=True)
        for each in found:  # the segment is not used
            np.testing.assert_array_equal(each, np.asarray(function(x)))
        assert "1 segments compared, 1 differ" in said, said
        found, said = shadowed(function, x)
        assert "1 segments compared, 0 differ" in said, said
        for each in found:
            np.testing.assert_array_equal(each, np.asarray(function(x)))


def test_shadow_mode_catches_what_a_graph_decides_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    """The shim is broken on purpose: Keras' code sees graph tensors, and decides by the kind of the operation."""
    import keras
    import tensorflow as tf

    from terra_refactor.runtime import segments

    weights = tf.Variable([[60.0, 0, 0], [0, 0, 20.0]])
    loss = keras.losses.SparseCategoricalCrossentropy()

    def step() -> Any:
        return loss(tf.constant([1, 1, 2, 2]), tf.nn.softmax(tf.ones((4, 2)) @ weights))

    expected = float(step())
    found, said = shadowed(step)
    assert "0 differ" in said
    assert [float(each) for each in found] == [expected] * 4
    monkeypatch.setattr(segments, "_fill_as_eager", segments.fill)
    found, said = shadowed(step)
    assert "1 differ" in said, said
    assert [float(each) for each in found] == [expected] * 4


def test_shadow_mode_catches_wrong_gradients_under_an_open_tape(monkeypatch: pytest.MonkeyPatch) -> None:
    """The shim is broken on purpose: compiled segments pass on twice the gradient, or none at all."""
    import tensorflow as tf

    from terra_refactor.runtime import tape_segments

    weights = tf.Variable([[0.5, -1.0], [2.0, 0.25]])

    def step() -> Any:
        with tf.GradientTape() as tape:
            y = tf.tanh(tf.ones((3, 2)) @ weights)
            if float(tf.reduce_sum(y)) > 100.0:
                return tf.zeros((2, 2))
            loss = tf.reduce_sum(y * y)
        return tape.gradient(loss, weights)

    expected = step().numpy().tolist()
    found, said = shadowed(step)
    assert "2 segments compared, 0 differ" in said, said
    assert [each.tolist() for each in found] == [expected] * 4
    backward = tape_segments._backward
    for wrong, message in ((lambda each: each * 2.0, "differ by"), (lambda each: None, "none and dense")):
        monkeypatch.setattr(
            tape_segments,
            "_backward",
            lambda *args, wrong=wrong: lambda *given: [wrong(each) for each in backward(*args)(*given)],
        )
        found, said = shadowed(step)
        assert "2 segments compared, 2 differ" in said, said
        assert message in said, said
        assert [each.tolist() for each in found] == [expected] * 4


def test_shadow_mode_catches_wrong_values_of_the_data_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    import numpy as np
    import tensorflow as tf

    from terra_refactor.runtime import aside, co_execute, report

    weights = tf.Variable(tf.ones(3))

    def step(x: Any) -> Any:
        for _ in range(3):
            weights.assign_add(tf.sin(weights) * 0.1)
        mask = tf.logical_and(tf.abs(x * 2.0 - 1.0) > 0.5, tf.cos(x) * 3.0 > 0.1)
        return tf.reduce_sum(tf.boolean_mask(x, mask))

    real = aside.call_now

    def wrong(*args: Any) -> Any:
        return [tf.logical_not(each) if each.dtype == tf.bool else each + 1.0 for each in real(*args)]

    x = tf.constant([0.1, 2.0, 0.9])
    expected = step(x).numpy()
    for broken in (False, True):
        if broken:
            monkeypatch.setattr(aside, "call_now", wrong)
        name = f"data alone {broken}"
        shadowed = co_execute(shadow=True, measure=False, name=name)(step)
        assert [float(shadowed(x)) for _ in range(12)] == [float(expected)] * 12
        said = report().rpartition(f"{name}: ")[2]
        assert ("values of the data alone" in said) is broken, said
    assert np.isfinite(weights.numpy()).all()


def test_shadow_mode_catches_an_assignment_that_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    import tensorflow as tf

    from terra_refactor.runtime.segments import Segment

    variable = tf.Variable([1.0, 2.0])

    def step() -> Any:
        variable.assign_add([1.0, 1.0])
        return tf.constant(3.0) * 1.0

    run = Segment.run

    def loses_the_assignment(self: Any, values: Any, inputs: Any) -> None:
        before = variable.numpy()
        run(self, values, inputs)
        variable.assign(before)

    monkeypatch.setattr(Segment, "run", loses_the_assignment)
    _, said = shadowed(step)
    assert "1 differ" in said, said
    assert "variable 0" in said
    assert variable.numpy().tolist() == [5.0, 6.0]


NOTHING_LEFT = """
import sys, threading, signal
import keras, tensorflow as tf
from tensorflow.python.framework import ops
from tensorflow.python import pywrap_tfe
import tensorflow.python.eager.polymorphic_function.polymorphic_function

def places():
    found = {}
    for name, module in list(sys.modules.items()):
        if module is None or not name.startswith(("tensorflow", "keras", "threading", "signal")):
            continue
        for attribute, value in list(vars(module).items()):
            found[name, attribute] = value
            if isinstance(value, type) and str(value.__module__).startswith(("tensorflow", "keras", "threading")):
                for member, item in list(vars(value).items()):
                    found[value.__module__, value.__qualname__, member] = item
    return found

def changed(before):
    after = places()
    return sorted(map(str, (key for key, value in before.items() if key in after and after[key] is not value
        and not str(key[-1]).startswith(("_abc", "__", "_tf_deco", "_counter", "_uid")))))

# whatever TensorFlow and Keras load or count at first use is there before
def train(step):
    for number in range(5):
        step(tf.ones((2, 3)), number)

def make():
    dense = keras.layers.Dense(2, activation="softmax")
    dense.build((None, 3))
    loss, optimizer = keras.losses.CategoricalCrossentropy(), keras.optimizers.Adam()
    optimizer.build(dense.trainable_variables)
    def step(x, number):
        with tf.GradientTape() as tape:
            value = loss(tf.one_hot([0, 1], 2), dense(x)) * (1.0 + number)
            float(value)
        optimizer.apply_gradients(zip(tape.gradient(value, dense.trainable_variables), dense.trainable_variables))
        with tf.autodiff.ForwardAccumulator(x, x):
            tf.tanh(x)
        with tf.device("CPU:0"):
            return tf.random.normal((2,)) + value
    return step

train(make())
train(tf.function(make(), autograph=False)) if False else None
before = places()
import terra_refactor.runtime.tf_internals
from terra_refactor.runtime import co_execute, disable, enable, report
quiet = changed(before)
step = co_execute(make())
train(step)
during = changed(before)
del step
disable()
after = changed(before)
print(len(quiet), len(during) > 100, after)
"""


def test_disable_leaves_nothing_in_tensorflow_keras_or_threading() -> None:
    done = subprocess.run(
        warm_programs.with_tensorflow(NOTHING_LEFT), capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.split(maxsplit=2) == ["0", "True", "[]\n"], done.stdout


def test_the_report_has_speed_reasons_and_functions_that_are_gone() -> None:
    import tensorflow as tf

    from terra_refactor.runtime import co_execute, report

    def lives_shortly() -> None:
        @co_execute(name="lives shortly")
        def step(x: Any) -> Any:
            for _ in range(30):
                x = tf.tanh(x) + 1.0
            kept = tf.boolean_mask(x, x > 0.0)
            return tf.reduce_sum(kept)

        # on a busy machine the shim measures later
        for call in range(2000):
            step(tf.ones((3,)))
            if call >= 40 and "ms a call" in report().rpartition("lives shortly: ")[2]:
                break

    lives_shortly()
    gc.collect()
    mine = report().rpartition("lives shortly: ")[2]
    assert "calls, " in mine.splitlines()[0]
    assert "ms a call" in mine.splitlines()[1]
    assert "run at once: Where" in mine
    assert "deferred (" in mine


def test_the_report_says_where_calls_leave_the_known_paths() -> None:
    import tensorflow as tf

    from terra_refactor.runtime import co_execute, report

    def a_variable_in_each_call(x: Any) -> Any:
        variable = tf.Variable(x)
        variable.assign_add(x)
        return tf.reduce_sum(variable * 2.0)

    def the_same(x: Any) -> Any:
        return tf.reduce_sum(tf.tanh(x) * 2.0)

    for name, function in (("new variables", a_variable_in_each_call), ("the same path", the_same)):
        step = co_execute(measure=False, name=name)(function)
        for _ in range(6):
            step(tf.ones((3,)))
    said = report()
    line = a_variable_in_each_call.__code__.co_firstlineno + 2
    expected = f"left the known paths at {__file__}:{line}, Variable.assign_add (6 times)"
    assert expected in said.rpartition("new variables: ")[2], said
    assert "left the known paths" not in said.rpartition("the same path: ")[2], said


def test_a_problem_of_the_self_test_is_one_warning_and_everything_is_eager(monkeypatch: pytest.MonkeyPatch) -> None:
    import tensorflow as tf

    from terra_refactor.runtime import co_execute, engine, self_test

    monkeypatch.setattr(engine, "_tested", [])
    monkeypatch.setattr(engine, "_untrusted", [])
    monkeypatch.setattr(self_test, "changed_interface", lambda: "BaseOptimizer.apply takes self, apples")
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        first, second = (co_execute(lambda x, k=k: tf.tanh(x) * k, name=f"step {k}") for k in (1.0, 2.0))
        results = [float(step(tf.constant(0.0)) + 1.0) for step in (first, second, first, second)]
    assert results == [1.0] * 4
    assert [str(each.message) for each in said if "apples" in str(each.message)], [str(each.message) for each in said]
    assert len([each for each in said if "apples" in str(each.message)]) == 1


def test_an_index_that_changes_becomes_an_input() -> None:
    import tensorflow as tf

    from terra_refactor.runtime import co_execute, report

    x = tf.reshape(tf.sin(tf.range(400.0)), (20, 20))
    variable = tf.Variable(x)
    indexings: dict[str, Any] = {
        "an element": lambda i: variable[i, 19 - i] + x[i][i],
        "a row": lambda i: tf.tanh(x[i]),
        "a column": lambda i: tf.tanh(x[:, -1 - i]),
        "a batch": lambda i: tf.tanh(x[i : i + 1, i // 20 :]),
        "a row that is assigned": lambda i: variable[i].assign(x[19 - i]) + 0.0,
        "an element that is assigned": lambda i: variable[i, 19 - i].assign(0.5 * i) + 0.0,
    }
    for name, function in indexings.items():
        step = co_execute(measure=False, name=name)(function)
        for number in range(20):
            assert (step(number).numpy() == function(number).numpy()).all()
        said = report().rpartition(f"{name}: ")[2]
        assert said.startswith(tuple(f"20 calls, {calls} entirely" for calls in (18, 17, 16))), said
        assert "built 1 in" in said


def test_cells_of_a_notebook(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cell is run again, its function is defined again, fails, is interrupted, and is looked at between cells."""
    shells = pytest.importorskip("IPython.core.interactiveshell")
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    cells = [
        "import tensorflow as tf, numpy as np\n"
        "from terra_refactor.runtime import co_execute, co_executing, report\n"
        "v, history = tf.Variable([1.0, 2.0]), []",
        "@co_execute(name='of a cell')\n"
        "def step(x, fail=False):\n"
        "    with tf.GradientTape() as tape:\n"
        "        loss = tf.reduce_sum(tf.tanh(v) * x)\n"
        "    v.assign_sub(0.1 * tape.gradient(loss, v))\n"
        "    if fail:\n"
        "        raise KeyboardInterrupt\n"
        "    history.append(loss)\n"
        "    return loss",
        "for _ in range(4):\n    step(tf.constant([1.0, -1.0]))",
        "step(tf.constant([1.0, -1.0]), True)",
        "with co_executing('a block of a cell'):\n    total = tf.add_n(history) * 2.0\ntotal",
        "step(tf.ones((3,)))",  # fails: the shapes do not fit
        "float(total), np.asarray(v).tolist(), len(history), repr(history[-1])",
    ]

    def run(decorated: bool) -> Any:
        shell: Any = shells.InteractiveShell()
        results = []
        for cell in cells[:2] + cells[2:] + cells[1:3] + cells[-1:]:  # the function is defined again in the middle
            text = cell if decorated else cell.replace("@co_execute(name='of a cell')\n", "")
            done = shell.run_cell(text, store_history=True)
            error = done.error_in_exec
            results.append((type(error).__name__, repr(done.result)))
        return results

    eager, ours = run(False), run(True)
    assert ours == eager
    assert [name for name, _ in ours].count("KeyboardInterrupt") == 1
    assert [name for name, _ in ours].count("InvalidArgumentError") == 1
    from terra_refactor.runtime import report

    assert report().count("of a cell: ") >= 2
