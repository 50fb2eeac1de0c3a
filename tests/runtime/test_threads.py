"""What one thread does while another thread, or the shim on it, is half-way."""

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


def test_a_thread_waits_while_another_runs_what_it_has_deferred(monkeypatch: pytest.MonkeyPatch) -> None:
    from terra_refactor.runtime import foreign

    class Run:
        shared = False
        pending = ("an assignment",)
        depth = 1
        tapes = ()
        lock = threading.RLock()
        flushing = threading.get_ident()

        def end(self) -> None:
            self.pending, self.depth, self.flushing = (), 0, 0

    run = Run()
    monkeypatch.setitem(foreign._runs, threading.get_ident(), run)
    ends_only_after(foreign.before_operation, run.end)
    assert run.shared


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
