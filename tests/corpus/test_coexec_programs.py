"""The ten programs of corpus/coexec are what `tf_function.toml` says they are.

Eager execution is repeatable, and `tf.function` on the step agrees, differs or raises as stated.
Results are kept, and a program runs again when its text changes. The shim is compared by `benchmarks/coexec.py --check`, in processes of
its own.
"""

import json
import math
import sys
from pathlib import Path

import pytest
from kept_answers import Harness, code_of

pytest.importorskip("tensorflow")
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import keras
import numpy as np
import tensorflow as tf

import corpus.coexec
from corpus.coexec.program import NAMES, Program, Record, build, expectations, first_difference, record

pytestmark = [pytest.mark.tensorflow, pytest.mark.slow]

EXPECTED = expectations()
# Enough for the second look at every silent difference: SDPoint's first two draws differ.
STEPS = 6
FOLDER = Path(corpus.coexec.__file__).parent
RUNS = Harness("coexec_programs", (FOLDER / "program.py", FOLDER / "bert_encoder.py", Path(__file__)))
_eager: dict[str, Record] = {}


@pytest.fixture(autouse=True)
def _float_type():
    before = keras.config.floatx()
    yield
    keras.config.set_floatx(before)


def eager(name: str) -> Record:
    """The results of eager execution in float64; made once for each program."""
    if name not in _eager:
        _eager[name] = record(build(name, "small", "float64"), STEPS)
    return _eager[name]


def named(outcome: str) -> list[str]:
    return [name for name in NAMES if EXPECTED[name].outcome == outcome]


def test_every_program_has_an_expectation_and_half_of_them_cannot_be_a_tf_function():
    assert list(EXPECTED) and set(EXPECTED) == set(NAMES)
    assert len(named("raises")) + len(named("differs")) >= 5
    assert all(EXPECTED[name].hazards for name in NAMES if EXPECTED[name].outcome != "agrees")


def seen(name, what):
    """The answer of a function of this module about a program, as kept in JSON."""
    question = f"{what.__name__} {name} {STEPS} {EXPECTED[name].where} {code_of(FOLDER / f'{name}.py')}"
    return json.loads(RUNS.answer(question, lambda: json.dumps(what(name))))


def twice(name):
    """Two eager runs, and what one of them changed."""
    first = eager(name)
    program = build(name, "small", "float64")
    before = program.state()["variables"]
    again = record(program, STEPS)
    losses = [
        np.asarray(loss)
        for result in again.results
        for loss in (result.values() if isinstance(result, dict) else [result])
    ]
    return {
        "difference": first_difference(first, again),
        "variables": len(before),
        "changed": sum(not np.array_equal(value, before[key]) for key, value in again.state["variables"].items()),
        "losses": sorted(
            {f"{loss.dtype.name}, {'all' if np.all(np.isfinite(loss)) else 'not all'} finite" for loss in losses}
        ),
    }


def graph(name):
    """A run as a graph against an eager one: the exception, or where they differ, also within what the table names."""
    program = build(name, "small", "float64")
    try:
        actual = record(program, STEPS, tf.function(program.step))
    except Exception as error:
        return {"raises": type(error).__name__}
    found = {"difference": _place(first_difference(eager(name), actual))}
    if EXPECTED[name].where:
        part, key = EXPECTED[name].where.split(".")
        found["within"] = _place(first_difference(_only(eager(name), part, key), _only(actual, part, key)))
    return found


def _place(difference):
    return difference and difference.partition(":")[0]


@pytest.mark.parametrize("name", NAMES)
def test_trains_eagerly_and_repeatably(name):
    found = seen(name, twice)
    assert found["difference"] is None
    assert found["changed"] > found["variables"] / 2, "a training step changes most of the variables"
    assert found["losses"] == ["float64, all finite"]


@pytest.mark.parametrize("name", named("agrees"))
def test_tf_function_agrees(name):
    assert seen(name, graph) == {"difference": None}


@pytest.mark.parametrize("name", named("raises"))
def test_tf_function_raises(name):
    assert seen(name, graph) == {"raises": EXPECTED[name].error}


@pytest.mark.parametrize("name", named("differs"))
def test_tf_function_differs_where_it_is_said_to(name):
    found = seen(name, graph)
    assert found["difference"] is not None
    assert found["within"] is not None and found["within"].startswith(EXPECTED[name].where)


def _only(whole: Record, part: str, key: str) -> Record:
    return Record((), "", {"variables": {}, "host": {}, part: {key: whole.state[part][key]}})


def paths(name):
    """Evidence that the branches that make a program hard are taken."""
    if name == "dcgan":
        return min(float(result["accuracy"]) for result in record(build(name, "small", "float64"), 40).results)
    host = {"sdpoint": "steps_of", "faster_rcnn": "foreground", "bert_classification": "losses"}[name]
    return len(eager(name).state["host"][host])


def test_the_paths_of_the_programs_are_taken():
    """The branches that make the programs hard are not dead within the steps that are compared."""
    assert seen("sdpoint", paths) > 1
    assert 0 < seen("faster_rcnn", paths) < STEPS, "some images hold no true box"
    assert seen("dcgan", paths) < 0.9
    assert seen("bert_classification", paths)


def _record(results=(), printed="", host=None, variables=None) -> Record:
    return Record(tuple(results), printed, {"host": host or {}, "variables": variables or {}})


@pytest.mark.parametrize(
    ("left", "right", "where"),
    [
        (_record([1.0]), _record([1.0 + 1e-9]), "results[0]"),
        (_record([np.float64(1.0)]), _record([np.float32(1.0)]), "results[0]"),
        (_record([1.0]), _record([1.0, 1.0]), "results"),
        (_record([math.nan]), _record([1.0]), "results[0]"),
        (_record(printed="a\n"), _record(printed="a\na\n"), "printed"),
        (_record(host={"n": 1}), _record(host={"n": 1.0}), "host.n"),
        (_record(host={"n": [1, 2]}), _record(host={"n": [2, 1]}), "host.n[0]"),
        (_record(host={"a": 1, "b": 2}), _record(host={"b": 2, "a": 1}), "host"),
        (_record(variables={"0 w": np.zeros(2)}), _record(variables={"0 w": np.full(2, 1e-11)}), "variables.0 w"),
    ],
)
def test_first_difference_finds(left, right, where):
    assert first_difference(left, right).startswith(where + ":")


def test_first_difference_lets_rounding_pass():
    assert first_difference(_record([np.array([1.0, 0.0])]), _record([np.array([1.0 + 1e-12, 1e-13])])) is None
    assert first_difference(_record([np.array([np.nan])]), _record([np.array([np.nan])])) is None


def test_an_unknown_name_is_refused():
    with pytest.raises(ValueError, match="no program 'alexnet'"):
        build("alexnet")


def test_batches_go_round():
    program = Program(step=print, batches=[(0,), (1,), (2,)], variables=[])
    assert list(program.arguments(4, start=2)) == [(2,), (0,), (1,), (2,)]
