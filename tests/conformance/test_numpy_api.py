"""Every NumPy rule against NumPy: generated arguments; the same shape and dtype, or a less precise answer, or both refuse."""

from __future__ import annotations

import collections
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.conformance.numpy_calls import Array, arrays, check_function, hidden

pytestmark = [pytest.mark.tensorflow]

EXAMPLES = int(os.environ.get("TERRA_CONFORMANCE_EXAMPLES", "20"))

REALS = ("float32", "float64", "int32", "int64", "uint8", "float16", "int8")
NUMBERS = (*REALS, "bool", "complex64", "uint16", "int16")
PLAIN = ("float32", "float64", "int64")
PYTHON = st.sampled_from([2, 3, 1.5, True, 0])
DTYPES = st.sampled_from([np.float32, np.int64, np.float64, float, int, bool, "float32", np.dtype("int32")])
AXIS = st.sampled_from([None, 0, -1, 1, 2, (0, 1), (0,)])
ONE_AXIS = st.sampled_from([0, -1, 1, 2])


@dataclass(frozen=True)
class Case:
    """One row: a name and how to call it."""

    name: str
    positional: st.SearchStrategy[Any]
    keywords: st.SearchStrategy[Mapping[str, Any]] = field(default_factory=lambda: st.just({}))
    receiver: st.SearchStrategy[Any] = field(default_factory=st.none)
    function: Callable[..., Any] | None = None


def options(**strategies: st.SearchStrategy[Any]) -> st.SearchStrategy[Mapping[str, Any]]:
    """Each of these keywords, or not."""
    return st.fixed_dictionaries({}, optional=strategies)


@st.composite
def pairs(draw: st.DrawFn, dtypes: tuple[str, ...] = NUMBERS, count: int = 2) -> tuple[Any, ...]:
    """Operands that mostly broadcast; some are Python numbers or lists."""
    base = draw(st.lists(st.integers(1, 4), max_size=3))
    found: list[Any] = []
    for _ in range(count):
        kind = draw(st.integers(0, 7))
        if kind == 0:
            found.append(draw(PYTHON))
        elif kind == 1:
            found.append([draw(st.sampled_from([1, 2.5])) for _ in range(base[-1] if base else 2)])
        else:
            shape = tuple(
                draw(st.sampled_from([size, size, size, 1, 2])) for size in base[draw(st.integers(0, len(base))) :]
            )
            found.append(Array(draw(st.sampled_from(dtypes)), shape, draw(hidden(shape))))
    return tuple(found)


@st.composite
def alike(draw: st.DrawFn, low: int = 1, high: int = 3, join: bool = True) -> list[Any]:
    """Arrays that can mostly be joined along axis 0 (or stacked)."""
    base = draw(st.lists(st.integers(1, 3), min_size=low, max_size=high))
    found: list[Any] = []
    for _ in range(draw(st.integers(1, 3))):
        shape = list(base)
        if join and shape and draw(st.booleans()):
            shape[0] = draw(st.integers(1, 3))
        if draw(st.integers(0, 9)) == 0:
            shape.append(2)
        found.append(
            Array(
                draw(st.sampled_from(["float32", "float64", "int64", "bool"])), tuple(shape), draw(hidden(tuple(shape)))
            )
        )
    return found


def one(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return strategy.map(lambda value: (value,))


ANY = one(arrays(NUMBERS))
REAL = one(arrays(REALS))
NESTED = st.one_of(
    arrays(NUMBERS),
    st.sampled_from([[1, 2, 3], [[1.0, 2.0], [3.0, 4.0]], 5, 2.5, True, [1, 2.5], (1, 2), [True, False], [], [[]]]),
)
SHAPE = st.one_of(
    st.integers(0, 4), st.lists(st.integers(0, 3), max_size=3).map(tuple), st.lists(st.integers(1, 3), max_size=3)
)
SIZE = st.one_of(st.none(), SHAPE)

UNARY = [
    "exp",
    "sqrt",
    "log",
    "sin",
    "cos",
    "tanh",
    "log1p",
    "expm1",
    "square",
    "absolute",
    "abs",
    "fabs",
    "negative",
    "sign",
    "isnan",
    "isinf",
    "isfinite",
    "logical_not",
    "ceil",
    "floor",
    "rint",
    "real",
    "imag",
    "conj",
    "exp2",
    "log2",
    "log10",
    "reciprocal",
    "degrees",
    "nan_to_num",
    "arctan",
    "trunc",
    "positive",
    "signbit",
]
BINARY = [
    "add",
    "subtract",
    "multiply",
    "divide",
    "true_divide",
    "power",
    "mod",
    "floor_divide",
    "maximum",
    "minimum",
    "equal",
    "not_equal",
    "less",
    "greater_equal",
    "greater",
    "logical_and",
    "logical_or",
    "arctan2",
    "logaddexp",
    "hypot",
    "remainder",
    "fmod",
    "bitwise_and",
    "bitwise_or",
    "fmax",
]
REDUCTIONS = [
    "sum",
    "prod",
    "mean",
    "std",
    "var",
    "max",
    "min",
    "all",
    "any",
    "amax",
    "nansum",
    "nanmean",
    "nanmax",
    "ptp",
    "median",
]
METHODS = (
    "sum",
    "prod",
    "mean",
    "std",
    "var",
    "max",
    "min",
    "all",
    "any",
    "argmax",
    "argmin",
)


def cases() -> list[Case]:
    rows = [Case(f"numpy.{name}", one(st.one_of(arrays(NUMBERS), PYTHON, st.just([1, 2, 3])))) for name in UNARY]
    rows += [Case(f"numpy.{name}", pairs()) for name in BINARY]
    rows += [
        Case(
            f"numpy.{name}",
            one(st.one_of(arrays(NUMBERS), st.just([1, 2]))),
            options(axis=AXIS, keepdims=st.booleans()),
        )
        for name in REDUCTIONS
    ]
    rows += [
        Case(f"numpy.ndarray.{name}", st.just(()), options(axis=ONE_AXIS), arrays(REALS, low=1)) for name in METHODS
    ]
    rows += [
        Case(f"numpy.{name}", REAL, options(axis=ONE_AXIS))
        for name in ("argmax", "argmin", "cumsum", "cumprod", "count_nonzero", "sort", "argsort")
    ]
    rows += [
        Case("numpy.sum", one(arrays(REALS)), options(axis=ONE_AXIS, dtype=DTYPES)),
        Case(
            "numpy.percentile", st.tuples(arrays(PLAIN, low=1), st.sampled_from([50, [25, 75]])), options(axis=ONE_AXIS)
        ),
        Case("numpy.average", one(arrays(PLAIN, low=1)), options(axis=ONE_AXIS)),
        Case("numpy.where", st.tuples(arrays(("bool",)), PYTHON, arrays(NUMBERS))),
        Case("numpy.where", one(arrays(("bool", "float32")))),
        Case("numpy.where", pairs(count=3)),
        Case("numpy.clip", st.tuples(arrays(PLAIN), st.sampled_from([0, 0.5]), st.sampled_from([1, 2.5, None]))),
        Case("numpy.isclose", pairs(PLAIN)),
        Case("numpy.round", REAL),
        Case("numpy.array", one(NESTED), options(dtype=DTYPES, ndmin=st.integers(0, 3))),
        Case("numpy.asarray", one(NESTED), options(dtype=DTYPES)),
        *[Case(f"numpy.{name}", one(SHAPE), options(dtype=DTYPES)) for name in ("zeros", "ones", "empty")],
        Case("numpy.full", st.tuples(SHAPE, PYTHON), options(dtype=DTYPES)),
        *[
            Case(f"numpy.{name}", one(NESTED), options(dtype=DTYPES))
            for name in ("zeros_like", "ones_like", "empty_like")
        ],
        Case("numpy.full_like", st.tuples(arrays(NUMBERS), PYTHON)),
        Case(
            "numpy.arange",
            st.one_of(
                st.tuples(st.integers(0, 6)),
                st.tuples(st.integers(0, 3), st.integers(0, 9)),
                st.tuples(st.integers(0, 3), st.integers(0, 9), st.sampled_from([1, 2, -1])),
                st.just((0.0, 1.0, 0.25)),
                st.just((2.5,)),
                st.tuples(st.floats(-3, 3), st.floats(-3, 9), st.sampled_from([0.5, 0.3, -0.7, 1.0, 1])),
            ),
            options(dtype=st.sampled_from([np.float32, "int32"])),
        ),
        Case(
            "numpy.linspace",
            st.tuples(st.sampled_from([0, 0.0, -1.0]), st.sampled_from([1, 2.0])),
            options(num=st.integers(0, 6), dtype=st.just(np.float32), retstep=st.booleans()),
        ),
        Case(
            "numpy.eye",
            st.one_of(st.tuples(st.integers(0, 4)), st.tuples(st.integers(0, 4), st.integers(0, 4))),
            options(dtype=DTYPES),
        ),
        Case("numpy.identity", one(st.integers(0, 4))),
        Case("numpy.hanning", one(st.integers(-1, 4))),
        Case("numpy.kaiser", st.tuples(st.integers(-1, 4), st.sampled_from([0.0, 14.0]))),
        Case(
            "numpy.meshgrid",
            st.lists(arrays(PLAIN, 1, 1), min_size=1, max_size=3).map(tuple),
            options(indexing=st.sampled_from(["ij", "xy"])),
        ),
        *[
            Case(f"numpy.{name}", one(st.one_of(PYTHON, arrays(REALS))))
            for name in ("float32", "int64", "float64", "bool_", "uint8")
        ],
        Case(
            "numpy.reshape",
            st.tuples(
                arrays(PLAIN), st.one_of(st.sampled_from([-1, (-1, 1), (1, -1), (2, -1), (-1, 2, 2), (4,), (2, 2)]))
            ),
        ),
        Case(
            "numpy.ndarray.reshape",
            st.sampled_from([(-1,), (-1, 1), ((2, -1),), (1, -1), (4,), (2, 3), ((-1, 4),)]),
            receiver=arrays(PLAIN),
        ),
        Case("numpy.ndarray.transpose", st.sampled_from([(), (1, 0), ((1, 0),), (0, 2, 1)]), receiver=arrays(PLAIN)),
        Case("numpy.transpose", st.tuples(arrays(PLAIN), st.sampled_from([None, (1, 0), [0, 2, 1], (-1, 0)]))),
        *[
            Case(f"numpy.{name}", ANY)
            for name in (
                "ravel",
                "squeeze",
                "tril",
                "triu",
                "atleast_1d",
                "atleast_2d",
                "atleast_3d",
                "unique",
                "nonzero",
                "argwhere",
                "flatnonzero",
                "ndim",
                "size",
                "shape",
                "copy",
                "flip",
            )
        ],
        Case("numpy.squeeze", one(arrays(PLAIN, sizes=st.integers(1, 2))), options(axis=AXIS)),
        Case("numpy.expand_dims", st.tuples(arrays(PLAIN), st.sampled_from([0, -1, 1, (0, 1), 2]))),
        Case("numpy.swapaxes", st.tuples(arrays(PLAIN), ONE_AXIS, ONE_AXIS)),
        Case(
            "numpy.moveaxis",
            st.tuples(arrays(PLAIN), st.sampled_from([0, -1, (0, 1)]), st.sampled_from([0, -1, 1, (1, 0)])),
        ),
        Case("numpy.concatenate", one(alike()), options(axis=st.sampled_from([0, 1, -1, None]))),
        Case("numpy.concatenate", one(arrays(PLAIN, low=1))),
        Case("numpy.stack", one(alike(join=False, low=0)), options(axis=st.sampled_from([0, 1, -1]))),
        *[Case(f"numpy.{name}", one(alike(low=0))) for name in ("vstack", "hstack", "dstack", "column_stack")],
        Case(
            "numpy.split",
            st.tuples(arrays(PLAIN, low=1), st.sampled_from([1, 2, 3, [1], [1, 2], (0, 3)])),
            options(axis=ONE_AXIS),
        ),
        Case(
            "numpy.array_split",
            st.tuples(arrays(PLAIN, low=1), st.sampled_from([1, 2, 3, [1, 2]])),
            options(axis=ONE_AXIS),
        ),
        Case("numpy.repeat", st.tuples(arrays(PLAIN), st.integers(0, 3)), options(axis=AXIS)),
        Case("numpy.tile", st.tuples(arrays(PLAIN), st.sampled_from([2, (1, 2), (2, 1, 1), [3]]))),
        Case("numpy.broadcast_to", st.tuples(arrays(PLAIN, sizes=st.just(1)), st.just((2, 3)))),
        Case(
            "numpy.broadcast_shapes",
            st.lists(st.lists(st.sampled_from([1, 2]), max_size=3).map(tuple), min_size=1, max_size=3).map(tuple),
        ),
        Case(
            "numpy.pad",
            st.tuples(
                arrays(PLAIN, low=1), st.sampled_from([1, (1, 2), ((1, 0),), ((0, 1), (2, 0)), [(1, 1), (0, 0)]])
            ),
        ),
        Case("numpy.roll", st.tuples(arrays(PLAIN), st.integers(0, 3)), options(axis=ONE_AXIS)),
        Case(
            "numpy.take", st.tuples(arrays(PLAIN, low=1), st.sampled_from([0, [0], [[0, 0]]])), options(axis=ONE_AXIS)
        ),
        Case("numpy.unique", ANY, options(return_counts=st.booleans(), return_index=st.booleans())),
        Case("numpy.diag", ANY, options(k=st.integers(-2, 2))),
        Case("numpy.diagonal", one(arrays(PLAIN, low=2))),
        Case("numpy.trace", one(arrays(PLAIN, low=2))),
        Case("numpy.diff", one(arrays(PLAIN, low=1)), options(n=st.integers(1, 2), axis=ONE_AXIS)),
        Case("numpy.append", st.tuples(arrays(PLAIN), arrays(PLAIN)), options(axis=ONE_AXIS)),
        Case("numpy.searchsorted", st.tuples(arrays(PLAIN, 1, 1), arrays(PLAIN))),
        Case("numpy.histogram", one(arrays(PLAIN, low=1)), options(bins=st.integers(1, 5))),
        Case("numpy.bincount", one(arrays(("int64",), 1, 1))),
        Case("numpy.isin", st.tuples(arrays(PLAIN), st.just([1, 2]))),
        Case("numpy.cov", one(arrays(PLAIN, 2, 2)), options(rowvar=st.booleans())),
        Case("numpy.setdiff1d", st.tuples(arrays(PLAIN, 1, 1), arrays(PLAIN, 1, 1))),
        Case("numpy.interp", st.tuples(arrays(PLAIN), st.just([1.0, 2.0]), st.just([1.0, 2.0]))),
        Case("numpy.ndarray.astype", one(DTYPES), receiver=arrays(REALS)),
        *[
            Case(f"numpy.ndarray.{name}", st.just(()), receiver=arrays(REALS, low=1))
            for name in ("flatten", "ravel", "squeeze", "copy", "tolist", "tobytes", "argsort", "nonzero", "sort")
        ],
        Case("numpy.ndarray.item", st.just(()), receiver=arrays(REALS, low=1, sizes=st.just(1))),
        Case("numpy.matmul", st.tuples(arrays(PLAIN, 1, 3, st.integers(2, 3)), arrays(PLAIN, 1, 3, st.integers(2, 3)))),
        Case("numpy.dot", st.tuples(arrays(PLAIN, 0, 3, st.integers(2, 3)), arrays(PLAIN, 0, 3, st.integers(2, 3)))),
        Case("numpy.inner", st.tuples(arrays(PLAIN, 0, 2, st.integers(2, 3)), arrays(PLAIN, 0, 2, st.integers(2, 3)))),
        Case("numpy.outer", st.tuples(arrays(PLAIN, 0, 2), arrays(PLAIN, 0, 2))),
        Case(
            "numpy.tensordot",
            st.tuples(arrays(PLAIN, 2, 3, st.just(2)), arrays(PLAIN, 2, 3, st.integers(2, 3))),
            options(axes=st.sampled_from([0, 1, 2, ([0], [1]), (1, 0)])),
        ),
        Case(
            "numpy.einsum",
            st.tuples(
                st.sampled_from(["ij,jk->ik", "ij,ij->i", "ij,ij->", "ij,kj->ikj"]),
                arrays(PLAIN, 2, 2, st.integers(2, 3)),
                arrays(PLAIN, 2, 2, st.integers(2, 3)),
            ),
        ),
        Case("numpy.linalg.norm", one(arrays(REALS, 1, 2)), options(axis=ONE_AXIS, keepdims=st.booleans())),
        Case(
            "numpy.linalg.svd", one(arrays(PLAIN, 2, 3)), options(full_matrices=st.booleans(), compute_uv=st.booleans())
        ),
        *[Case(f"numpy.fft.{name}", one(arrays(REALS, 2, 3))) for name in ("fft", "ifft", "fft2", "fftn")],
        Case("numpy.polynomial.hermite.hermgauss", one(st.integers(1, 5))),
        Case("numpy.linalg.eig", one(arrays(PLAIN, 2, 3, st.just(2)))),
        Case("numpy.linalg.eigvals", one(arrays(PLAIN, 2, 3, st.just(2)))),
        Case("numpy.linalg.qr", one(arrays(PLAIN, 2, 3))),
        *[
            Case(f"numpy.linalg.{name}", one(arrays((*PLAIN, "complex64"), 2, 3, st.just(1))))
            for name in ("inv", "cholesky", "det", "eigvalsh", "slogdet", "pinv", "matrix_rank")
        ],
        Case("numpy.linalg.solve", st.tuples(arrays(PLAIN, 2, 2, st.just(1)), arrays(PLAIN, 1, 2, st.integers(1, 2)))),
    ]
    for owner in ("numpy.random", "numpy.random.RandomState", "numpy.random.Generator"):
        target: Any = {
            "numpy.random": np.random,
            "numpy.random.RandomState": np.random.RandomState(0),
            "numpy.random.Generator": np.random.default_rng(0),
        }[owner]

        def row(name: str, positional: Any, keywords: Any = None, owner: str = owner, target: Any = target) -> Case:
            return Case(
                f"{owner}.{name}",
                positional,
                st.just({}) if keywords is None else keywords,
                function=getattr(target, name),
            )

        rows += [
            row("normal", st.just(()), options(size=SIZE)),
            row("normal", st.tuples(arrays(PLAIN), PYTHON), options(size=st.none())),
            row("uniform", st.just((0, 1)), options(size=SIZE)),
            row("poisson", st.just((3,)), options(size=SIZE)),
            row(
                "choice", st.tuples(st.one_of(st.just(5), st.just([1, 2, 3]), arrays(PLAIN, 1, 1))), options(size=SIZE)
            ),
            row("permutation", st.tuples(st.one_of(st.just(5), arrays(PLAIN, 1, 2)))),
            row("exponential", st.just(()), options(size=SIZE)),
            row("random", st.just(()), options(size=SIZE)),
        ]
        if owner != "numpy.random.Generator":
            rows += [
                row("rand", st.lists(st.integers(1, 3), max_size=3).map(tuple)),
                row("randn", st.lists(st.integers(1, 3), max_size=3).map(tuple)),
                row("randint", st.just((0, 5)), options(size=SIZE, dtype=st.sampled_from([np.int32, np.int64]))),
            ]
        else:
            rows += [
                row("integers", st.just((0, 5)), options(size=SIZE)),
                row("standard_normal", st.just(()), options(size=SIZE)),
            ]
    return rows


CASES = cases()
PRECISION: dict[str, collections.Counter[bool | None]] = collections.defaultdict(collections.Counter)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_function(case: Case) -> None:
    @settings(
        max_examples=EXAMPLES, deadline=None, database=None, derandomize=True, suppress_health_check=list(HealthCheck)
    )
    @given(case.positional, case.keywords, case.receiver)
    def check(positional: Any, keywords: Mapping[str, Any], receiver: Any) -> None:
        PRECISION[case.name][
            check_function(case.name, positional, keywords, receiver=receiver, function=case.function)
        ] += 1

    check()


def test_precision_is_reported(capsys: pytest.CaptureFixture[str]) -> None:
    """Prints how often each rule knew everything; one that never does would be worthless."""
    with capsys.disabled():
        for name, counts in sorted(PRECISION.items()):
            if counts[False] > counts[True]:
                print(f"\n{name}: precise {counts[True]}, less {counts[False]}, refused {counts[None]}", end="")
    data_dependent = {
        "numpy.unique",
        "numpy.nonzero",
        "numpy.argwhere",
        "numpy.flatnonzero",
        "numpy.bincount",
        "numpy.setdiff1d",
        "numpy.histogram",
        "numpy.ndarray.nonzero",
        "numpy.linalg.eig",
        "numpy.linalg.eigvals",
    }
    assert all(counts[True] for name, counts in PRECISION.items() if name not in data_dependent)
