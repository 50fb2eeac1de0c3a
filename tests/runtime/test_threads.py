"""Actions of one thread while another thread, or the shim on it, is half-way."""

from __future__ import annotations

import functools
import threading
import time
from typing import Any

import pytest

pytest.importorskip("tensorflow")

pytestmark = pytest.mark.tensorflow
# ruff: noqa: PLC0415


def ends_only_after(work: Any, let_end: Any) -> None:
    """`work` is still at it after a while on a thread of its own, and ends soon after `let_end`."""
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(0.3)
    assert thread.is_alive()
    let_end()
    thread.join(10)
    assert not thread.is_alive()


def test_every_thread_that_waits_for_segments_waits_until_they_are_done() -> None:
    from terra_refactor.runtime import executor

    done, waiting = threading.Event(), threading.Event()

    class Queue:
        def wait(self) -> None:
            waiting.set()
            done.wait(10)

    executor.outstanding.busy[Queue()] = next(executor.outstanding.numbers)
    first = threading.Thread(target=executor.wait_for_segments, daemon=True)
    first.start()
    assert waiting.wait(10)
    ends_only_after(executor.wait_for_segments, done.set)
    first.join(10)
    assert not executor.outstanding.busy


def test_a_segment_submitted_during_a_wait_is_waited_for_later() -> None:
    from terra_refactor.runtime import executor

    class Queue:
        waits = 0

        def wait(self) -> None:
            self.waits += 1
            if self.waits == 1:
                executor.outstanding.busy[self] = next(executor.outstanding.numbers)

    queue = Queue()
    executor.outstanding.busy[queue] = next(executor.outstanding.numbers)
    executor.wait_for_segments()
    assert queue in executor.outstanding.busy
    executor.wait_for_segments()
    assert queue.waits == 2
    assert not executor.outstanding.busy


def test_a_wait_that_comes_just_before_a_segment_is_submitted_does_not_count_for_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The executor of a thread is still empty for whoever waits between its entry and the segment."""
    import tensorflow as tf

    from terra_refactor.runtime import co_execute, executor

    total, mean = tf.Variable(0.0), tf.ones((256, 256)) / 256  # whose powers are exact

    @co_execute(measure=False)
    def step(x: Any) -> None:
        for _ in range(150):
            x = x @ mean
        total.assign_add(tf.reduce_sum(x))

    submit, waits = executor.original_execute, []

    def submit_after_a_wait(*args: Any) -> Any:
        if executor._executors.before is not None:
            waiting = threading.Thread(target=executor.wait_for_segments)
            waiting.start()
            waiting.join()
            waits.append(total)
        return submit(*args)

    monkeypatch.setattr(executor, "original_execute", submit_after_a_wait)
    found = []
    for wanted in range(1, 9):
        step(mean)
        reading = threading.Thread(target=lambda: found.append(float(total)))
        reading.start()
        reading.join()
        assert found[-1] == 256.0 * wanted
    assert waits


def test_a_thread_waits_while_another_runs_what_it_has_deferred(monkeypatch: pytest.MonkeyPatch) -> None:
    from terra_refactor.runtime import foreign

    class Run:
        shared = False
        pending = ("an assignment",)
        depth = 1
        tapes = ()
        real_tapes = ()
        lock = threading.RLock()
        flushing = threading.get_ident()

        def end(self) -> None:
            self.pending, self.depth, self.flushing = (), 0, 0

    run = Run()
    monkeypatch.setitem(foreign._runs, threading.get_ident(), run)
    ends_only_after(foreign.before_operation, run.end)
    assert run.shared


def deferred_and_asked_for_elsewhere(own_tape: bool, wait: Any, ask: Any) -> Any:
    """A thread defers an assignment and a tensor, lets another one have that, and waits. Gives what `ask` gave, and the gradient.

    `wait` and `ask` share a queue whose methods no hook sees.
    """
    import contextlib
    import queue

    import tensorflow as tf

    from terra_refactor.runtime import co_execute

    v, x = tf.Variable([1.0, 2.0]), tf.constant([0.5, -0.5])
    there: Any = queue.SimpleQueue()
    back: Any = queue.SimpleQueue()
    ended = threading.Event()

    @co_execute(measure=False)
    def step() -> Any:
        with tf.GradientTape() if own_tape else contextlib.nullcontext() as tape:
            y = tf.tanh(x * v)
            there.put(y)
            wait(back, ended)
            total = tf.reduce_sum(y * y)
        return tape.gradient(total, v) if own_tape else total

    answers = []

    def other() -> None:
        for _ in range(4):
            try:
                answers.append(ask(there.get(), v))
            except Exception as error:
                answers.append(str(error))
            ended.set()
            back.put(None)

    thread = threading.Thread(target=other)
    thread.start()
    results = []
    for _ in range(4):
        ended.clear()
        results.append(step().numpy().tolist())
        back.get(timeout=1) if back.qsize() else None
    thread.join()
    assert all(result == results[0] for result in results)
    return answers, results[0]


def test_what_another_thread_runs_for_a_blocked_one_is_on_none_of_its_tapes() -> None:
    import tensorflow as tf

    def ask(y: Any, v: Any) -> Any:
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(y)
            total = tf.reduce_sum(y * 3.0)
        return tape.gradient(total, v), len(tape.watched_variables()), tape.gradient(total, y).numpy().tolist()

    answers, _ = deferred_and_asked_for_elsewhere(False, lambda back, _: back.get(timeout=20), ask)
    assert answers == [(None, 0, [3.0, 3.0])] * 4


def test_a_thread_that_waits_has_run_what_it_deferred_under_its_tapes() -> None:
    import numpy as np
    from tensorflow.python import pywrap_tfe

    def ask(y: Any, _: Any) -> Any:
        return y.numpy().tolist(), pywrap_tfe.TFE_Py_TapeSetIsEmpty()

    answers, gradient = deferred_and_asked_for_elsewhere(True, lambda _, ended: ended.wait(10), ask)
    tanh = np.tanh([0.5, -1.0])
    assert all(empty for _, empty in answers)
    np.testing.assert_allclose([values for values, _ in answers], [tanh] * 4, 1e-6)
    np.testing.assert_allclose(gradient, 2 * tanh * (1 - tanh**2) * [0.5, -0.5], 1e-5)


def test_a_tape_is_not_entered_on_a_thread_that_is_not_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    import numpy as np
    from tensorflow.python import pywrap_tfe

    from terra_refactor.runtime import foreign

    monkeypatch.setattr(foreign, "LONGEST_FOR_A_VALUE", 2.5)

    def ask(y: Any, _: Any) -> Any:
        try:
            return y.numpy().tolist()
        finally:
            assert pywrap_tfe.TFE_Py_TapeSetIsEmpty()

    answers, gradient = deferred_and_asked_for_elsewhere(True, lambda back, _: back.get(timeout=20), ask)
    tanh = np.tanh([0.5, -1.0])
    np.testing.assert_allclose(gradient, 2 * tanh * (1 - tanh**2) * [0.5, -0.5], 1e-5)
    for answer in answers:  # the first call is eager, and its tensor real
        if isinstance(answer, str):
            assert "blocked under an open tape" in answer
        else:
            np.testing.assert_allclose(answer, tanh, 1e-6)


def test_a_thread_in_the_middle_of_a_library_is_not_blocked_in_its_own_python() -> None:
    from terra_refactor.runtime import foreign

    for name, expected in (("program", True), ("keras.src.layers", False), ("terra_refactor.runtime.run", False)):
        space: dict[str, Any] = {"__name__": name}
        exec("def wait(event): event.wait(10)", space)
        event = threading.Event()
        thread = threading.Thread(target=space["wait"], args=(event,))
        thread.start()
        time.sleep(0.1)
        assert thread.ident is not None
        assert foreign._in_its_own_python(thread.ident) is expected
        event.set()
        thread.join()


FIRST_SEGMENT_IN_AN_ITERATOR = """
import threading
import tensorflow as tf
from terra_refactor.runtime import co_execute

def work(found):
    numbers = iter(tf.data.Dataset.range(1000).map(lambda i: tf.cast(i, tf.float32)))
    v = tf.Variable(1.0)

    @co_execute(measure=False)
    def step(x):
        v.assign(tf.tanh(x) + v * 0.5)
        return v + next(numbers)

    for _ in range(20):
        found.append(float(step(tf.constant(1.0))))

co_execute(lambda x: x + 1)(tf.constant(1.0))
results = [[] for _ in range(12)]
for found in results:
    thread = threading.Thread(target=work, args=(found,))
    thread.start()
    thread.join()
assert all(found == results[0] and len(found) == 20 for found in results)
"""

FIRST_CALLS = """
import threading, warnings
import tensorflow as tf
from terra_refactor.runtime import co_execute, report

warnings.simplefilter("error")
ended, failures, begin = threading.Event(), [], threading.Barrier(3)

def run(name):
    v = tf.Variable([1.0, 2.0])
    @co_execute(name=name, measure=False)
    def step(x):
        v.assign(tf.tanh(v * x + 1.0))
        return tf.reduce_sum(v)
    begin.wait()
    try:
        for _ in range(4):
            step(tf.constant(0.5))
    except BaseException as error:
        failures.append(error)

def disturb():
    begin.wait()
    while not ended.is_set():
        tf.tanh(tf.ones(3))

threads = [threading.Thread(target=run, args=(name,)) for name in ("one", "other")]
threads.append(threading.Thread(target=disturb))
for thread in threads:
    thread.start()
for thread in threads[:2]:
    thread.join()
ended.set()
threads[2].join()
assert not failures, failures
assert "not as the shim expects" not in report(), report()
"""


@pytest.mark.slow
@pytest.mark.parametrize("program", [FIRST_SEGMENT_IN_AN_ITERATOR, FIRST_CALLS], ids=["in_an_iterator", "first_calls"])
def test_threads_in_a_process_of_their_own(program: str) -> None:
    """`next` of an iterator gives its thread another executor for a moment, and frees it: a segment submitted there must not keep it."""
    import subprocess

    import warm_programs

    done = subprocess.run(
        warm_programs.with_tensorflow(program), capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]


@pytest.mark.slow
def test_a_lock_orders_a_thread_that_reads_and_one_that_builds_a_segment() -> None:
    import tensorflow as tf

    from terra_refactor.runtime import co_execute

    counter, lock, released = tf.Variable(0.0), threading.Lock(), threading.Event()
    weights = [tf.Variable(tf.ones((4, 4)) * 0.1) for _ in range(60)]

    @co_execute
    def write(steps: int) -> float:
        with lock:
            counter.assign_add(1.0)
        released.set()
        x = tf.ones((4, 4))
        with tf.GradientTape() as tape:
            for weight in weights[:steps]:
                x = tf.nn.softmax(x @ weight) + x
            total = tf.reduce_sum(x)
        return float(sum(float(tf.reduce_sum(each)) for each in tape.gradient(total, weights[:steps])))

    for wanted in range(1, 9):
        released.clear()
        writer = threading.Thread(target=write, args=(50 + wanted // 2,))
        writer.start()
        assert released.wait(60)
        time.sleep((0, 0.1, 0.3, 0.5)[wanted // 2 % 4])
        with lock:
            found = float(counter)
        writer.join()
        assert found == wanted


@pytest.mark.slow
@pytest.mark.parametrize("seed", [20024, 20038])
def test_two_programs_at_the_same_time_mean_what_they_mean_alone(seed: int) -> None:
    from terra_refactor.runtime import co_execute
    from tests.runtime.against_generated import differences_in_threads

    for _ in range(6):
        found = differences_in_threads([seed, seed + 1], functools.partial(co_execute, measure=False))
        assert found == [None, None]
