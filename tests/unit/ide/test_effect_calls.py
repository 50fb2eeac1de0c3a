"""The call hierarchy of effects: what reaches a function, from where, and whom it gives it to."""

from __future__ import annotations

from pathlib import Path

from ide_support import project, shown

from terra_refactor.ide.effect_calls import Carrying, carried_from, carried_to, carrier_at
from terra_refactor.ide.snapshot import Snapshot

MAIN = """\
import tensorflow as tf
import helpers


def log(values):
    print("values", values)
    return values * 2.0


def inner(values):
    return log(values) + tf.reduce_sum(log(values))


def pure(values):
    return tf.nn.relu(values)


class Net:
    def step(self, values):
        self.seen = 1
        return inner(pure(values)) + helpers.noisy(values)


@tf.function
def graph(values):
    return inner(values)


net = Net()
net.step(tf.ones([2, 2]))
graph(tf.ones([2, 2]))
pure(tf.ones([2]))
"""
HELPERS = """\
import random


def noisy(values):
    return values * random.random() + values.numpy().sum()
"""


def analysed(folder: Path) -> tuple[Snapshot, str]:
    session = project(folder, {"m.py": MAIN, "helpers.py": HELPERS})
    path = shown(folder, "m.py")
    return session.snapshot(path), path


def at(snapshot: Snapshot, path: str, text: str, inside: str = "") -> tuple[str, str, int] | None:
    """Name, file and number of the function that the hierarchy begins with, at the first place of a text."""
    source = snapshot.sources[path].text
    offset = source.index(text) + text.index(inside)
    line = source.count("\n", 0, offset) + 1
    found = carrier_at(snapshot, path, line, offset - source.rfind("\n", 0, offset))
    return None if found is None else (found.name, found.path.rpartition("/")[2], found.index)


def named(found: tuple[Carrying, ...]) -> list[tuple[str, list[int]]]:
    return [(each.carrier.name, [span.line for span in each.calls]) for each in found]


def test_it_begins_with_what_is_called_at_the_place_and_else_with_the_function_around_it(tmp_path: Path) -> None:
    snapshot, path = analysed(tmp_path)

    def name(text: str, inside: str = "") -> tuple[str, str] | None:
        found = at(snapshot, path, text, inside)
        return None if found is None else found[:2]

    assert name("def inner") == ("inner", "m.py")
    assert name("inner(pure(values))") == ("inner", "m.py")
    assert name("helpers.noisy", "noisy") == ("noisy", "helpers.py")
    assert name("helpers.noisy") == ("Net.step", "m.py")  # the module is not what is called
    assert name("self.seen") == ("Net.step", "m.py")
    assert name("graph(tf.ones", "tf") == ("m.py", "m.py")
    assert name("def pure") is None  # nothing reaches it
    assert name("pure(tf.ones") is None


def test_effects_come_from_places_of_the_own_code_and_along_calls(tmp_path: Path) -> None:
    snapshot, path = analysed(tmp_path)
    step = at(snapshot, path, "def step")
    assert step is not None
    found = carried_from(snapshot, path, step[2])
    assert named(found) == [("self.seen", [20]), ("inner", [21]), ("noisy", [21])]
    assert found[0].carrier.kind is None
    assert found[0].carrier.detail == "TR102 host state mutation"
    assert found[1].carrier.detail == "unsafe (host print or log)"
    assert found[2].carrier.path.endswith("helpers.py")
    inner = at(snapshot, path, "def inner")
    assert inner is not None
    (log,) = carried_from(snapshot, path, inner[2])
    assert (log.carrier.name, [(span.line, span.column) for span in log.calls]) == ("log", [(11, 12), (11, 40)])
    ((name, lines),) = named(carried_from(snapshot, path, log.carrier.index))
    assert (name, lines) == ('print("values", values)', [6])


def test_effects_travel_to_callers_graphs_and_modules_among_them(tmp_path: Path) -> None:
    snapshot, path = analysed(tmp_path)
    inner = at(snapshot, path, "def inner")
    step = at(snapshot, path, "def step")
    assert inner is not None
    assert step is not None
    assert named(carried_to(snapshot, path, inner[2])) == [("Net.step", [21]), ("graph", [26])]
    assert named(carried_to(snapshot, path, step[2])) == [("m.py", [30])]


def test_a_function_that_is_reached_by_two_ways_shows_both(tmp_path: Path) -> None:
    text = """\
        import tensorflow as tf

        def log(values):
            print(values)
            return values

        def one(values):
            return log(values)

        def two(values):
            return log(values)

        def both(values):
            return one(values) + two(values)

        both(tf.ones([2]))
        """
    session = project(tmp_path, {"m.py": text})
    path = shown(tmp_path, "m.py")
    snapshot = session.snapshot(path)
    both, log = at(snapshot, path, "def both"), at(snapshot, path, "def log")
    assert both is not None
    assert log is not None
    assert named(carried_from(snapshot, path, both[2])) == [("one", [14]), ("two", [14])]
    assert named(carried_to(snapshot, path, log[2])) == [("one", [8]), ("two", [11])]


def test_a_function_that_calls_itself_carries_to_itself(tmp_path: Path) -> None:
    text = """\
        import tensorflow as tf

        def count(values, left):
            print(left)
            return values if left == 0 else count(values, left - 1)

        count(tf.ones([2]), 3)
        """
    session = project(tmp_path, {"m.py": text})
    path = shown(tmp_path, "m.py")
    snapshot = session.snapshot(path)
    count = at(snapshot, path, "def count")
    assert count is not None
    assert ("count", [5]) in named(carried_to(snapshot, path, count[2]))
    assert ("count", [5]) in named(carried_from(snapshot, path, count[2]))


def test_what_is_no_function_of_the_file_has_no_calls(tmp_path: Path) -> None:
    snapshot, path = analysed(tmp_path)
    assert carried_from(snapshot, path, 1_000_000) == ()
    assert carried_to(snapshot, path, 1_000_000) == ()
    assert carried_from(snapshot, "other.py", 0) == ()


def test_a_hazard_of_a_gradient_that_a_tape_calls_has_its_way(tmp_path: Path) -> None:
    text = """\
        import tensorflow as tf

        def noisy(upstream):
            return upstream * upstream.numpy()

        @tf.custom_gradient
        def double(x):
            def backwards(upstream):
                return noisy(upstream)

            return x * 2.0, backwards

        def step(x):
            return double(x)

        step(tf.ones([2]))
        """
    session = project(tmp_path, {"m.py": text})
    path = shown(tmp_path, "m.py")
    snapshot = session.snapshot(path)
    step, backwards = at(snapshot, path, "def step"), at(snapshot, path, "def backwards")
    assert step is not None
    assert backwards is not None
    assert named(carried_from(snapshot, path, step[2])) == [("double", [14]), ("double.<locals>.backwards", [14])]
    assert named(carried_from(snapshot, path, backwards[2])) == [("noisy", [9])]
    assert named(carried_to(snapshot, path, backwards[2])) == [("step", [14])]
