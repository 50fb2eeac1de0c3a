"""The programs of `against.py`: the shim gives what eager execution gives, bit for bit, at every call."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest
import warm_programs

pytest.importorskip("tensorflow")

pytestmark = [pytest.mark.tensorflow, pytest.mark.kept]
# ruff: noqa: PLC0415

NAMES = [
    line.split("(")[0].removeprefix("def ")
    for line in Path(__file__).with_name("against.py").read_text(encoding="utf-8").splitlines()
    if line.startswith("def ") and line.endswith("(co: Decorator) -> Any:")
]


def plain(value: Any) -> Any:
    import numpy as np
    import tensorflow as tf

    if isinstance(value, (tf.Tensor, tf.Variable, np.ndarray)):
        array = np.asarray(value)
        return str(array.dtype), array.shape, array.tolist() if array.dtype == object else array.tobytes()
    if isinstance(value, dict):
        return {name: plain(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return value


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.concurrent] if "thread" in name else []) for name in NAMES]
)
def test_a_program_written_against_the_shim_gives_what_it_gives_eagerly(name: str) -> None:
    import keras

    from terra_refactor.runtime import co_execute
    from tests.runtime import against

    program = getattr(against, name)
    keras.utils.set_random_seed(3)
    eager = plain(program(lambda function: function))
    keras.utils.set_random_seed(3)
    assert plain(program(co_execute)) == eager


FORK = """
import multiprocessing
import tensorflow as tf
from terra_refactor.runtime import co_execute

variable = tf.Variable([0.0, 0.0])
fork = multiprocessing.get_context("fork")

@co_execute
def step(x):
    variable.assign_add(x * 2)
    results = fork.Queue()
    child = fork.Process(target=lambda: results.put(sum(range(10))))
    child.start()
    found = results.get(timeout=30)
    child.join(30)
    assert child.exitcode == 0
    return found, variable + 0

for number in range(1, 5):
    found, value = step(tf.ones(2))
    assert found == 45 and value.numpy().tolist() == [2.0 * number] * 2
"""


@pytest.mark.concurrent
def test_a_process_forked_with_work_in_flight_goes_on() -> None:
    done = subprocess.run(warm_programs.with_tensorflow(FORK), capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr[-2000:]


WITHOUT_OPERATIONS = """
import keras, tensorflow as tf
from terra_refactor.runtime import co_execute

def step(x, y, z, number):
    p = tf.tanh(x)
    if number == 1:
        p._keras_mask = mask
    q = keras.ops.convert_to_tensor(p)  # returns a tensor with a mask, without an operation
    return y - q, q * z, z - 1.0

x, y, z, mask = tf.constant([0.5, -1.0]), tf.constant([1.0, 2.0]), tf.constant([7.0, 9.0]), tf.constant([True, False])
decorated = co_execute(measure=False)(step)
for number in range(5):
    found, expected = (f(x, y, z, number) for f in (decorated, step))
    assert [each.numpy().tolist() for each in found] == [each.numpy().tolist() for each in expected], (number, found)
"""


def test_inputs_of_a_call_without_operations_are_not_counted() -> None:
    """In a process of its own: such a call is noticed once."""
    program = warm_programs.with_tensorflow(WITHOUT_OPERATIONS)
    done = subprocess.run(program, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr[-2000:]


def test_a_kept_scalar_keeps_a_scalar() -> None:
    import gc
    import weakref

    import tensorflow as tf

    from terra_refactor.runtime import co_execute

    kept: list[Any] = []
    made: list[Any] = []

    @co_execute
    def step(x: Any) -> Any:
        large = tf.matmul(x, x)
        made.append(weakref.ref(large))
        kept.append(tf.reduce_mean(large))
        if float(kept[-1]) > 1e9:
            return None
        return large.shape

    for _ in range(6):
        step(tf.ones((8, 8)))
    gc.collect()
    assert all(reference() is None for reference in made[1:])
    assert all(getattr(scalar, "_owner", None) is None for scalar in kept)


def test_inexact_rewrites_are_an_option() -> None:
    import numpy as np
    import tensorflow as tf

    from terra_refactor.runtime import co_execute

    def rounded(x: Any) -> Any:
        return (x + 12582912.0) - 12582912.0

    exact, fast = co_execute(rounded), co_execute(fast_math=True)(rounded)
    x = tf.constant([1.3, 2.6])
    for _ in range(4):
        assert np.array_equal(exact(x), [1.0, 3.0])
        last = fast(x)
    assert np.array_equal(last, x)


def test_kernels_that_round_otherwise_are_an_option() -> None:
    """TensorFlow's remapper makes one kernel of a product, a bias and a tanh, which gives other bits in float32."""
    import numpy as np
    import tensorflow as tf

    from terra_refactor.runtime import co_execute

    def layer(x: Any, w: Any, b: Any) -> Any:
        return tf.tanh(tf.nn.bias_add(x @ w, b))

    draw = np.random.default_rng(3).standard_normal
    operands = [tf.constant(draw(shape), tf.float32) for shape in ((40, 30), (30, 20), (20,))]
    exact, fast = co_execute(measure=False)(layer), co_execute(measure=False, fast_math=True)(layer)
    for _ in range(4):
        assert np.array_equal(exact(*operands), layer(*operands))
        last = fast(*operands)
    assert not np.array_equal(last, layer(*operands))


@pytest.mark.parametrize("seed", range(8))
def test_a_program_of_the_second_generator_means_the_same(seed: int) -> None:
    from terra_refactor.runtime import co_execute
    from tests.runtime.against_generated import difference, source

    assert difference(seed, co_execute) is None, source(seed)


def test_an_interface_with_another_meaning_is_noticed() -> None:
    from terra_refactor.runtime import engine, self_test
    from terra_refactor.runtime.tf_internals import KerasOptimizer

    def apply(self: Any, gradients: Any, variables: Any = None) -> None:
        raise NotImplementedError

    def twice(program: Any, function: Any, args: Any, kwargs: Any) -> Any:
        result = engine.execute(program, function, args, kwargs)
        return (result[0] * 2, *result[1:])

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(KerasOptimizer, "apply", apply)
        assert self_test.changed_interface() == "BaseOptimizer.apply takes self, gradients, variables"
    assert self_test.changed_behaviour(engine.execute) is None
    assert self_test.changed_behaviour(twice) == "a small program gives different numbers than in eager execution"
    assert (
        self_test.changed_behaviour(lambda program, step, args, kwargs: step(*args))
        == "a small program is not co-executed"
    )


def test_an_attribute_that_is_asked_for_with_a_default_is_noticed_when_it_is_gone() -> None:
    import keras

    from terra_refactor.runtime import self_test
    from terra_refactor.runtime.tf_internals import keras_global_state

    assert self_test.lost_attribute() is None
    before = keras_global_state.get_global_attribute("object_name_uids")
    self_test.lost_attribute()
    assert keras_global_state.get_global_attribute("object_name_uids") == before
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(keras.layers.Masking, "call", lambda self, inputs: inputs)
        patch.setattr(keras.layers.Masking, "compute_mask", lambda self, inputs, mask=None: None)
        assert self_test.lost_attribute() == "the mask on a tensor (_keras_mask) is not where the shim expects it"


def test_where_no_constants_are_folded_no_control_dependency_is_reduced() -> None:
    import tensorflow as tf

    from terra_refactor.runtime import segments
    from terra_refactor.runtime.tf_internals import config_pb2, rewriter_config_pb2

    off = rewriter_config_pb2.RewriterConfig.OFF
    variable = tf.Variable(1.0)
    graphs = [
        tf.function(function).get_concrete_function().graph
        for function in (lambda: variable * 2.0, lambda: variable * tf.zeros([]))
    ]
    folded = set()
    for graph in graphs:
        for fast_math in (False, True):
            attributes = segments.call_attributes(graph, fast_math)
            config = config_pb2.ConfigProto.FromString(attributes[attributes.index("config_proto") + 1])
            rewrites = config.graph_options.rewrite_options
            folded.add(rewrites.constant_folding != off)
            assert rewrites.constant_folding != off or rewrites.dependency_optimization == off
    assert folded == {True, False}


def test_every_option_reaches_the_function_that_is_decorated_with_options() -> None:
    from terra_refactor.runtime import co_execute
    from terra_refactor.runtime.report import programs

    step = co_execute(measure=False, fast_math=True, name="with options")(lambda: 1)
    program = next(program for program in programs() if program.name == "with options")
    assert step() == 1
    assert not program.costs.measures
    assert program.fast_math


HOOKS_AT_REST = """
import threading
import tensorflow as tf
from tensorflow.python import pywrap_tfe
from terra_refactor.runtime import api_hooks, co_execute, disable
from terra_refactor.runtime.report import programs

fast_path, add = pywrap_tfe.TFE_Py_FastPathExecute, tf.add
notify, clear_caches = threading.Condition.notify, pywrap_tfe.TFE_ContextClearCaches

def at_rest():
    return pywrap_tfe.TFE_Py_FastPathExecute is fast_path and tf.add is add

def lose():
    costs.timed, costs.eager = [2.0] * 4, [1.0] * 4
    costs._decide()
    api_hooks.rest()
    step(x, False)

kept = []

@co_execute
def step(x, keep):
    y = tf.nn.relu(x)
    if keep:
        kept.append(y * 2.0)
    return y

x = tf.ones(3)
costs = programs()[-1].costs
for number in range(12):
    step(x, number % 2 == 0)
lose()
assert costs.resting
assert tf.add is add and pywrap_tfe.TFE_Py_FastPathExecute is not fast_path  # what the program keeps needs the hook
assert tf.add(kept[5], kept[0]).numpy().tolist() == [4.0] * 3
kept.clear()
built = programs()[-1].segments_built
while costs.resting:
    step(x, False)
for _ in range(6):
    step(x, False)
assert not at_rest() and programs()[-1].segments_built == built  # it has known its paths since before the rest
lose()
for _ in range(20):
    step(x, False)
assert costs.resting and at_rest()
disable()
assert threading.Condition.notify is notify and pywrap_tfe.TFE_ContextClearCaches is clear_caches
"""


def test_while_a_function_rests_nothing_of_the_shim_is_in_place_that_nobody_needs() -> None:
    done = subprocess.run(
        warm_programs.with_tensorflow(HOOKS_AT_REST), capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr[-2000:]


OBSTRUCTED = """
import keras
import tensorflow as tf
from tensorflow.python import pywrap_tfe

from terra_refactor.runtime import co_execute
from terra_refactor.runtime.report import programs

fast_path, add = pywrap_tfe.TFE_Py_FastPathExecute, tf.add
variable = tf.Variable(0.0)
layer = keras.layers.Dense(1, kernel_initializer="ones")
layer.build((None, 2))

def at_rest():
    return pywrap_tfe.TFE_Py_FastPathExecute is fast_path and tf.add is add

@co_execute(measure=False)
def step(x):
    variable.assign_add(tf.reduce_sum(layer(x)))
    return variable + 0.0

program = programs()[-1]
total, where = 0.0, []

def call(times):
    global total
    for _ in range(times):
        total += 4.0
        assert float(step(tf.ones((2, 2)))) == total
        where.append(at_rest())

call(4)
assert not at_rest() and program.deferred
for sights in (8, 16):
    where.clear()
    keras.mixed_precision.set_global_policy("mixed_float16")
    call(2 * sights)
    assert where == [False] * (sights - 1) + [True] * (sights + 1)  # nothing is in place for calls that are eager
    keras.mixed_precision.set_global_policy("float32")
    before = program.deferred
    call(4)
    assert not at_rest() and program.deferred > before
assert program.fallbacks == {"a mixed-precision policy": 48}
"""


def test_hooks_are_removed_while_every_call_falls_back() -> None:
    done = subprocess.run(
        warm_programs.with_tensorflow(OBSTRUCTED), capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr[-2000:]


RAISES = """
import tensorflow as tf

from terra_refactor.runtime import co_execute
from terra_refactor.runtime.report import programs

@co_execute
def step(x):
    raise ValueError(float(tf.reduce_sum(x)))

costs = programs()[-1].costs
for number in range(600):
    try:
        step(tf.fill((2,), float(number)))
    except ValueError as error:
        assert error.args == (2.0 * number,)
assert costs.rests and costs.eager_seconds is not None
"""


def test_a_function_that_raises_each_time_rests_where_it_is_slower() -> None:
    done = subprocess.run(
        warm_programs.with_tensorflow(RAISES), capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr[-2000:]


def test_what_hangs_on_a_tensor_goes_along_into_a_call_that_is_not_deferred() -> None:
    import keras
    import tensorflow as tf

    from terra_refactor.runtime import co_execute

    losses = [keras.losses.SparseCategoricalCrossentropy(), keras.losses.SparseCategoricalCrossentropy(reduction="sum")]

    def step(x: Any, number: int) -> Any:
        probabilities = keras.activations.softmax(x * 20.0)
        float(tf.reduce_mean(x))
        return losses[number](tf.constant([0]), probabilities)

    x = tf.constant([[1.0, 2.0, 3.0]])
    # the second loss comes when nothing new is recorded any more, after a part that is known
    deferred = co_execute(max_paths=1, measure=False)(step)
    for number in (0, 0, 0, 0, 1):
        assert float(deferred(x, number)) == float(step(x, number)) == 40.0


def test_nothing_of_a_segment_is_left_to_the_garbage_collector() -> None:
    import gc

    import tensorflow as tf

    from terra_refactor.runtime import co_execute
    from terra_refactor.runtime.lazy_tensor import LazyTensor

    @co_execute(measure=False)
    def step(x: Any) -> Any:
        for _ in range(4):
            x = tf.tanh(x) + 1.0
        return tf.reduce_sum(x)

    gc.collect()
    gc.disable()
    try:
        for _ in range(6):
            step(tf.ones(3))
        assert not [thing for thing in gc.get_objects() if type(thing) is LazyTensor]
    finally:
        gc.enable()


def test_a_tape_that_was_entered_while_the_shim_rested_is_not_overlooked() -> None:
    import tensorflow as tf

    from terra_refactor.runtime import api_hooks, co_execute

    variable = tf.Variable([1.0, 2.0])

    def inner_loss(y: Any) -> Any:
        z = y * y * 0.5  # exact in any order of additions
        float(tf.reduce_sum(z))
        return tf.reduce_sum(z**2)

    def outer_gradient(function: Any, rests: bool) -> Any:
        if rests:
            api_hooks.rest()
        with tf.GradientTape() as outer:
            y = variable * 2.0
            before = function(y)  # the hooks are in place again
            with tf.GradientTape() as inner:
                inner.watch(y)
                loss = function(y)
            slope = inner.gradient(loss, y)
            total = tf.reduce_sum(slope * slope) + before + loss
        return outer.gradient(total, variable).numpy().tolist()

    expected = outer_gradient(inner_loss, False)
    deferred = co_execute(measure=False)(inner_loss)
    for number in range(6):
        assert outer_gradient(deferred, number % 2 == 1) == expected


def test_arrays_that_name_segments_are_inputs() -> None:
    import numpy as np
    import tensorflow as tf

    from terra_refactor.runtime import co_execute
    from terra_refactor.runtime.report import programs

    def sums(x: Any, segments: Any) -> Any:
        return tf.math.unsorted_segment_sum(x, segments, 4) * 2.0

    deferred = co_execute(measure=False, name="segments of arrays")(sums)
    choose = np.random.RandomState(0)
    for _ in range(8):
        x, segments = tf.constant(choose.randn(6, 2), tf.float32), choose.randint(0, 4, 6)
        assert deferred(x, segments).numpy().tobytes() == sums(x, segments).numpy().tobytes()
    program = next(program for program in programs() if program.name == "segments of arrays")
    assert program.complete_calls >= 4
