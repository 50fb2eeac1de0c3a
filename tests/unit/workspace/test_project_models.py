"""Types and purity that a project tells of its own functions: the key `project-models`, and stubs beside modules."""

from __future__ import annotations

from pathlib import Path

import pytest

from terra_refactor.classify.decision import Classification, Decision
from terra_refactor.config import parse_config
from terra_refactor.workspace.workspace import Options, analyze

TRAIN = """import tensorflow as tf
import fastdata
from fastdata import noise

def train(steps):
    images, labels = fastdata.load("train")
    return tf.reshape(images, [-1, 784]), tf.one_hot(labels, 10)

def jitter(x):
    y = tf.sin(tf.cos(tf.exp(x))) + noise(x)
    return tf.tanh(tf.sqrt(tf.square(y))) * tf.abs(y) + tf.exp(-y) * tf.cos(y) - tf.sin(y) / tf.cosh(y)

def score(query):
    return tf.matmul(query, query, transpose_b=True)

jitter(tf.zeros([4]))
"""
MODELS = """
[project-models."fastdata.load"]
returns = 'tuple[Float32[np.ndarray, "n 28 28 1"], Int64[np.ndarray, "n"]]'
[project-models."fastdata.noise"]
returns = 'Float32[tf.Tensor, "4"]'
pure = true
[project-models."train.score"]
parameters = {query = 'Float32[tf.Tensor, "batch time 64"]'}
"""


@pytest.fixture(autouse=True)
def in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def decisions(folder: Path, configuration: str) -> dict[str, Decision]:
    (folder / "train.py").write_text(TRAIN)
    config = parse_config(f"jobs = 1\nmin-ops = 0\n{configuration}", "terra-refactor.toml")
    report = analyze([str(folder)], Options(config=config, use_cache=False))
    return {decision.qualname: decision for decision in report.decisions}


def shapes(decision: Decision) -> list[str]:
    return [str(found) for found in decision.returns]


def test_models_tell_results_parameters_and_purity(tmp_path: Path) -> None:
    found = decisions(tmp_path, MODELS)
    assert shapes(found["train"]) == ["float32 (n, 784)", "float32 (n, 10)"]
    assert shapes(found["score"]) == ["float32 (batch, time, time)"]
    assert [str(entry) for entry in found["score"].parameters[0].types] == ["float32 (batch, time, 64)"]
    assert found["jitter"].classification is Classification.SAFE


def test_without_them_nothing_is_known(tmp_path: Path) -> None:
    found = decisions(tmp_path, "")
    assert shapes(found["train"]) == ["? (?, 784)", "float32 (...)"]
    assert found["jitter"].classification is not Classification.SAFE


def test_a_stub_tells_types_but_no_purity(tmp_path: Path) -> None:
    (tmp_path / "fastdata.pyi").write_text(
        "import numpy as np\nimport tensorflow as tf\nfrom jaxtyping import Float32, Int64\n\n"
        "def load(split: str) -> \"tuple[Float32[np.ndarray, 'n 28 28 1'], Int64[np.ndarray, 'n']]\": ...\n"
        'def noise(x: tf.Tensor) -> Float32[tf.Tensor, "4"]: ...\n'
    )
    found = decisions(tmp_path, "")
    assert shapes(found["train"]) == ["float32 (n, 784)", "float32 (n, 10)"]
    assert shapes(found["jitter"]) == ["float32 (4,)"]
    assert found["jitter"].classification is not Classification.SAFE
    assert "noise" not in found


def test_a_stub_lies_beside_its_module_in_a_package(tmp_path: Path) -> None:
    package = tmp_path / "pkg"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "layers.py").write_text(
        "import tensorflow as tf\nfrom .native import kernel\n\n"
        "class Attention:\n    def score(self, query):\n        return tf.matmul(query, kernel())\n"
    )
    (package / "layers.pyi").write_text(
        "import tensorflow as tf\nfrom jaxtyping import Float32\n\n"
        'class Attention:\n    def score(self, query: Float32[tf.Tensor, "time 64"]) -> tf.Tensor: ...\n'
    )
    (package / "native.pyi").write_text(
        'import tensorflow as tf\nfrom jaxtyping import Float32\n\ndef kernel() -> Float32[tf.Tensor, "64 8"]: ...\n'
    )
    assert shapes(decisions(tmp_path, "")["Attention.score"]) == ["float32 (time, 8)"]


def test_a_stub_that_does_not_parse_says_nothing(tmp_path: Path) -> None:
    (tmp_path / "fastdata.pyi").write_text("def load(: ...\n")
    assert shapes(decisions(tmp_path, "")["train"]) == ["? (?, 784)", "float32 (...)"]
