"""The recorder of corpus/recorder sees what reaches functions, and its comparison keeps to the terms of docs/accuracy.md."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY))

from corpus.recorder.compare import ArrayType, Verdict, compare, covers, generalized, score  # noqa: E402

PROGRAM = """\
import functools
import numpy as np

def decorated(function):
    @functools.wraps(function)
    def wrapper(*arguments):
        return function(*arguments)
    return wrapper

@decorated
def double(x, times=2):
    return x * times

def each(rows):
    for row in rows:
        yield row

class Box:
    def keep(self, value, *, name):
        self.value = value
        return {name: [value]}

for size in (2, 3):
    for row in each(double(np.ones((size, 4), np.float32))):
        Box().keep(row, name="row")
"""


def type_(dtype, *shape):
    return ArrayType(dtype, shape)


@pytest.fixture(scope="module")
def recording(tmp_path_factory):
    root = tmp_path_factory.mktemp("program")
    (root / "program.py").write_text(PROGRAM)
    output = root / "recording.json"
    observe = REPOSITORY / "corpus" / "recorder" / "observe.py"
    subprocess.run([sys.executable, str(observe), str(root), str(output), "program.py"], cwd=root, check=True)
    return root, json.loads(output.read_text())


def test_records_every_function_of_the_project_and_no_other(recording):
    _, recorded = recording
    found = {(function["path"], function["name"]): function for function in recorded["functions"]}
    assert set(found) == {("program.py", name) for name in ("decorated", "wrapper", "double", "each", "keep")}
    assert found["program.py", "double"]["line"] == 10  # its decorator's
    assert found["program.py", "keep"]["calls"] == 5


def test_records_types_of_parameters_results_and_yields(recording):
    _, recorded = recording
    found = {function["name"]: function for function in recorded["functions"]}
    shapes = [entry["shape"] for entry in found["double"]["parameters"]["x"]]
    assert sorted(shapes) == [[2, 4], [3, 4]]
    assert found["double"]["parameters"]["times"] == [{"kind": "primitive"}]
    assert {entry.get("dtype") for entry in found["each"]["returns"]} == {"float32", None}
    (held,) = found["keep"]["returns"]
    assert held["kind"] == "container" and held["held"][0]["shape"] == [4]
    (given,) = found["wrapper"]["parameters"]["arguments"][:1]
    assert given["kind"] == "container"


def report(parameters, returns=()):
    return {
        "functions": [
            {
                "path": "program.py",
                "line": 11,
                "qualname": "double",
                "parameters": parameters,
                "returns": list(returns),
            }
        ]
    }


def told(kind, *types):
    return {"name": "x", "kind": kind, "types": [{"dtype": dtype, "shape": shape} for dtype, shape in types]}


@pytest.mark.parametrize(
    ("said", "verdict"),
    [
        (told("ndarray", ("float32", [2, 4]), ("float32", [3, 4])), Verdict.EXACT),
        (told("ndarray", ("float32", ["N", 4])), Verdict.EXACT),
        (told("ndarray", ("float32", [None, None])), Verdict.IMPRECISE),
        (told("ndarray", (None, ["N", 4])), Verdict.IMPRECISE),
        (told("ndarray", ("float32", [2, 4])), Verdict.WRONG),
        (told("ndarray", ("float64", [None, 4])), Verdict.WRONG),
        (told("ndarray", ("float32", ["N", "N"])), Verdict.WRONG),
        (told("unknown"), Verdict.UNKNOWN),
        (told("primitive"), Verdict.WRONG),
    ],
)
def test_verdicts(recording, said, verdict):
    root, recorded = recording
    (item,) = compare(recorded, report([said]), root).arrays
    assert item.verdict is verdict
    assert score([item]).sound == (verdict in (Verdict.EXACT, Verdict.IMPRECISE))


def seen_with(recorded, name, *kinds):
    """The recording with a parameter of `double` of this name that was given float32 [2] of these kinds."""
    given = [{"kind": kind, "dtype": "float32", "shape": [2], "symbolic": False} for kind in kinds]
    kept = [seen for seen in recorded["functions"] if seen["name"] == "double"]
    return {"functions": [{**seen, "parameters": {name: given}} for seen in kept]}


@pytest.mark.parametrize(
    ("kinds", "said", "verdict"),
    [
        (("deferred tensor",), told("object"), Verdict.UNKNOWN),
        (("deferred tensor", "tensor"), told("object"), Verdict.WRONG),
        (("deferred tensor",), told("primitive"), Verdict.WRONG),
        (("deferred tensor",), told("tensor", ("float32", [2])), Verdict.EXACT),
    ],
)
def test_an_object_that_becomes_a_tensor_may_be_called_one(recording, kinds, said, verdict):
    root, recorded = recording
    found = compare(seen_with(recorded, said["name"], *kinds), report([said]), root)
    assert [item.verdict for item in found.parameters] == [verdict]


def test_self_does_not_count(recording):
    root, recorded = recording
    found = compare(seen_with(recorded, "self", "tensor"), report([{**told("object"), "name": "self"}]), root)
    assert found.functions == 1
    assert not found.parameters


def test_a_parameter_that_never_was_a_tensor_is_a_false_one(recording):
    root, recorded = recording
    assert len(compare(recorded, report([told("tensor", ("float32", ["N", 4]))]), root).false_tensors) == 1
    assert not compare(recorded, report([told("ndarray", ("float32", ["N", 4]))]), root).false_tensors


def test_results_and_functions_that_the_report_lacks(recording):
    root, recorded = recording
    found = compare(recorded, report([], [{"dtype": "float32", "shape": [None, 4]}]), root)
    assert [item.verdict for item in found.returns] == [Verdict.EXACT]
    assert found.functions == 1
    assert len(found.unmatched) == 4


def test_a_symbol_is_one_size():
    assert covers(type_("float32", "N", "N", 3), type_("float32", 2, 2, 3))
    assert not covers(type_("float32", "N", "N"), type_("float32", 2, 3))
    assert covers(ArrayType(None, None), type_("int32", 2, 3))
    assert generalized([type_("int32", 2, 3), type_("int32", 4, 3)]) == generalized([type_("int32", "N", 3)])
