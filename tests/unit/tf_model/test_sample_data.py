"""Arrays of scikit-learn. The expected types are those of its functions, run in version 1.9."""

from __future__ import annotations

import pytest

from terra_refactor.domain.value import TensorKind, TensorValue, TupleValue
from tests.analysis_support import analyze_text

HEAD = """\
import numpy as np
from sklearn import datasets
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import LabelEncoder, MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler
"""
KNOWN = [
    ("load_iris", "r = datasets.load_iris(return_X_y=True)", [("float64", (150, 4)), ("int64", (150,))]),
    ("load_digits", "r = datasets.load_digits(return_X_y=True)", [("float64", (1797, 64)), ("int64", (1797,))]),
    ("load_wine", "r = datasets.load_wine(return_X_y=True)", [("float64", (178, 13)), ("int64", (178,))]),
    (
        "load_breast_cancer",
        "r = datasets.load_breast_cancer(return_X_y=True)",
        [("float64", (569, 30)), ("int64", (569,))],
    ),
    ("load_diabetes", "r = datasets.load_diabetes(return_X_y=True)", [("float64", (442, 10)), ("float64", (442,))]),
    (
        "blobs",
        "r = datasets.make_blobs(n_samples=60, n_features=6, centers=3)",
        [("float64", (60, 6)), ("int64", (60,))],
    ),
    ("blobs by position", "r = datasets.make_blobs(50)", [("float64", (50, 2)), ("int64", (50,))]),
    ("blobs of counts", "r = datasets.make_blobs([3, 4])", [("float64", (7, 2)), ("int64", (7,))]),
    (
        "classification",
        "r = datasets.make_classification(n_samples=30, n_features=5)",
        [("float64", (30, 5)), ("int64", (30,))],
    ),
    (
        "regression",
        "r = datasets.make_regression(n_samples=30, n_features=5, noise=0.1)",
        [("float64", (30, 5)), ("float64", (30,))],
    ),
    ("moons", "r = datasets.make_moons(30, noise=0.1)", [("float64", (30, 2)), ("int64", (30,))]),
    ("circles", "r = datasets.make_circles()", [("float64", (100, 2)), ("int64", (100,))]),
    (
        "split",
        "r = train_test_split(np.zeros((7, 2), 'float32'), np.arange(7), test_size=0.2)",
        [("float32", (5, 2)), ("float32", (2, 2)), ("int64", (5,)), ("int64", (2,))],
    ),
    ("split by default", "r = train_test_split(np.zeros((7, 2)))", [("float64", (5, 2)), ("float64", (2, 2))]),
    (
        "split by number",
        "r = train_test_split(np.zeros((7, 2, 3)), test_size=3, random_state=0)",
        [("float64", (4, 2, 3)), ("float64", (3, 2, 3))],
    ),
    (
        "split by both",
        "r = train_test_split(np.zeros((10, 2)), train_size=0.35, test_size=0.25)",
        [("float64", (3, 2)), ("float64", (3, 2))],
    ),
    (
        "split by train_size",
        "r = train_test_split(np.zeros((10, 2)), train_size=0.35)",
        [("float64", (3, 2)), ("float64", (7, 2))],
    ),
    ("scaled floats", "r = [StandardScaler().fit_transform(np.ones((4, 3), 'float32'))]", [("float32", (4, 3))]),
    (
        "scaled integers",
        "s = MinMaxScaler()\ns.fit(np.arange(6).reshape(3, 2))\nr = [s.transform(np.arange(4).reshape(2, 2))]",
        [("float64", (2, 2))],
    ),
    ("scaled after fit", "r = [RobustScaler().fit(np.ones((4, 3))).transform(np.ones((2, 3)))]", [("float64", (2, 3))]),
    (
        "scaled back",
        "s = MaxAbsScaler().fit(np.ones((4, 3)))\nr = [s.inverse_transform(np.ones((2, 3), 'float32'))]",
        [("float32", (2, 3))],
    ),
    ("labels", "r = [LabelEncoder().fit_transform(np.array(['a', 'b', 'a']))]", [("int64", (3,))]),
]
UNSEEN = {"blobs of counts": [("float64", (None, 2)), ("int64", (None,))]}
"""What the analysis says where it knows less."""


def found(text: str, count: int) -> list[tuple[str | None, object]]:
    names = ", ".join(f"r[{i}]" for i in range(count))
    result = analyze_text(f"{HEAD}{text}\ndef f(*a):\n    return a\nf({names})\n")
    (context,) = result.contexts("f")
    assert isinstance(context.returns, TupleValue)
    types = []
    for value in context.returns.elements:
        assert isinstance(value, TensorValue) and value.kind is TensorKind.NDARRAY
        types.append((value.type.dtype, value.type.shape))
    return types


@pytest.mark.parametrize(("name", "text", "types"), KNOWN, ids=[name for name, *_ in KNOWN])
def test_arrays_of_scikit_learn(name: str, text: str, types: list[tuple[str, tuple[int, ...]]]) -> None:
    assert found(text, len(types)) == UNSEEN.get(name, types)


@pytest.mark.parametrize(
    "text",
    [
        "r = [datasets.load_iris()]",
        "r = [datasets.load_iris(return_X_y=True, as_frame=True)]",
        "r = train_test_split([1, 2, 3])",
        "r = [StandardScaler().fit_transform(open('f'))]",
    ],
)
def test_other_results_are_unknown(text: str) -> None:
    result = analyze_text(f"{HEAD}{text}\ndef f(a):\n    return a\nf(r[0])\n")
    (context,) = result.contexts("f")
    assert not isinstance(context.returns, TensorValue)
