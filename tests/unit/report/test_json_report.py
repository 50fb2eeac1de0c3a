"""The JSON report of real programs follows the schema, and says what the contract says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from terra_refactor.config import Config
from terra_refactor.report.schema import build_report
from terra_refactor.report.to_json import json_schema, to_json
from terra_refactor.workspace.workspace import Options, analyze

PROGRAM = """
import tensorflow as tf


class Model(tf.Module):
    def __init__(self):
        self.w = tf.Variable(tf.zeros([3, 4]))
        self.calls = 0

    def step(self, x, flag=True):
        self.calls += 1
        print("step", x)
        return tf.matmul(x, self.w)


@tf.function(reduce_retracing=True)
def graph(x):
    def inner(y):
        return y * 2
    return inner(x).numpy()


double = lambda x: x * 2
model = Model()
model.step(tf.zeros([2, 3]))
graph(tf.zeros([5]))
"""


@pytest.fixture(name="report")
def _report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.chdir(tmp_path)
    Path("pkg").mkdir()
    Path("pkg", "train.py").write_text(PROGRAM)
    Path("broken.py").write_text("x = 1\ndef f(:\n")
    results = analyze(["."], Options(config=Config(jobs=1), use_cache=False))
    return json.loads(to_json(build_report(results)))


def test_it_follows_the_schema(report: Any) -> None:
    jsonschema.Draft202012Validator.check_schema(json_schema())
    jsonschema.validate(report, json_schema())


def test_the_schema_is_strict(report: Any) -> None:
    report["functions"][0]["classification"] = "perhaps"
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(report, json_schema())


def test_every_def_and_lambda_is_listed_once(report: Any) -> None:
    names = [(entry["qualname"], entry["kind"], entry["line"]) for entry in report["functions"]]
    assert names == [
        ("Model.__init__", "method", 6),
        ("Model.step", "method", 10),
        ("graph", "function", 17),
        ("graph.<locals>.inner", "nested", 18),
        ("<lambda>", "lambda", 23),
    ]
    assert {entry["path"] for entry in report["functions"]} == {"pkg/train.py"}


def test_a_hybrid_function_tells_its_arguments(report: Any) -> None:
    graph = report["functions"][2]
    assert graph["hybrid"] is True
    assert graph["hybrid_arguments"] == {"reduce_retracing": "True"}


def test_tensor_types_are_those_of_the_call(report: Any) -> None:
    step = report["functions"][1]
    x = next(parameter for parameter in step["parameters"] if parameter["name"] == "x")
    assert x["kind"] == "tensor"
    assert x["evidence"] == "dataflow"
    assert x["types"] == [{"dtype": "float32", "shape": [2, 3]}]
    assert step["parameters"][0] == {"name": "self", "kind": "object", "evidence": "dataflow", "types": []}


def test_side_effects_have_places(report: Any) -> None:
    step = report["functions"][1]
    assert step["classification"] == "unsafe"
    assert ("print", 12, 9) in {(effect["kind"], effect["line"], effect["column"]) for effect in step["side_effects"]}


def test_a_broken_file_is_an_error_with_its_line(report: Any) -> None:
    (error,) = report["errors"]
    assert (error["path"], error["line"]) == ("broken.py", 2)
    assert "does not parse" in error["message"]


def test_the_summary_counts(report: Any) -> None:
    summary = report["summary"]
    assert summary["files"] == 1
    assert summary["functions"] == 5 == summary["safe"] + summary["unsafe"] + summary["speculative"]
    assert sum(summary["actions"].values()) == 5
