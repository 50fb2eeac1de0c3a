"""When two recordings are the same: numbers within rounding, texts except clock times, structures exactly."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

np = pytest.importorskip("numpy")

from terra_refactor.verify.child.compare import Comparison, Run, _printed_difference  # noqa: E402 - only with NumPy
from terra_refactor.verify.child.encoding import Encoder, Store  # noqa: E402 - as above


def recording(folder: Path, results: list[Any], printed: str = "", state: Any = 0, raised: Any = None) -> Run:
    folder.mkdir()
    (folder / "stdout").write_text(printed)
    (folder / "stderr").write_text("")
    with open(folder / "numbers.bin", "wb") as numbers, open(folder / "events.jsonl", "w") as events:
        encoder = Encoder(Store(numbers))
        for number, result in enumerate(results, start=1):
            event = {
                "event": "call",
                "function": "f",
                "call": number,
                "arguments": encoder.encode([[], {}]),
                "result": None if raised else encoder.encode(result),
                "raised": raised,
                "state": [["state", encoder.encode(state)]],
                "printed": ["", ""],
                "seconds": 0.1,
                "traces": None,
            }
            events.write(json.dumps(event) + "\n")
        events.write(json.dumps({"event": "end", "exit": 0, "state": [], "raised": None}) + "\n")
    return Run(str(folder))


def compare(tmp_path: Path, left: Any, right: Any, control: Any = None) -> dict[str, Any]:
    before, after = recording(tmp_path / "before", [left]), recording(tmp_path / "after", [right])
    third = recording(tmp_path / "control", [control]) if control is not None else None
    return Comparison(before, after, third, recorded=True).function("f")


ONES = np.ones([2, 3], np.float32)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (ONES, ONES + np.float32(1e-5)),
        (np.array([1e6, 1e-3], np.float32), np.array([1e6, 2e-3], np.float32)),
        (np.array([np.nan, np.inf], np.float64), np.array([np.nan, np.inf], np.float64)),
        ({"a": [1, (2.0, None)]}, {"a": [1, (2.0, None)]}),
        (0.3, 0.1 + 0.2),
        (np.array(["a", "b"], object), np.array(["a", "b"], object)),
    ],
)
def test_the_same(tmp_path: Path, left: Any, right: Any) -> None:
    found = compare(tmp_path, left, right)
    assert (found["compared"], found["difference"], found["fails"]) == (1, None, None)


@pytest.mark.parametrize(
    ("left", "right", "said"),
    [
        (ONES, ONES + np.float32(1e-2), "1.0 eagerly, 1.00999"),
        (ONES.astype(np.float64), ONES.astype(np.float64) + 1e-5, "eagerly"),
        (ONES, ONES.astype(np.float64), "dtype float32 eagerly, float64"),
        (ONES, ONES.T, "shape [2, 3] eagerly, [3, 2]"),
        (np.array([1, 2]), np.array([1, 3]), "2 eagerly, 3"),
        (np.array([1.0, np.nan]), np.array([1.0, 2.0]), "nan eagerly"),
        ([1, 2], (1, 2), "list of 2 eagerly, tuple of 2"),
        ([1, 2], [1], "list of 2 eagerly, list of 1"),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, "key"),
        (1, 1.0, "1 (int) eagerly, 1.0 (float)"),
        (True, 1, "True (bool) eagerly"),
        (None, 0, "None (NoneType) eagerly"),
    ],
)
def test_different(tmp_path: Path, left: Any, right: Any, said: str) -> None:
    assert said in compare(tmp_path, left, right)["difference"]


def test_what_the_original_has_with_itself_is_rounding(tmp_path: Path) -> None:
    moved = ONES + np.float32(0.01)
    (tmp_path / "excused").mkdir()
    assert compare(tmp_path / "excused", ONES, moved, ONES - np.float32(0.005))["difference"] is None
    (tmp_path / "not").mkdir()
    assert compare(tmp_path / "not", ONES, moved, ONES - np.float32(1e-5))["difference"] is not None


def test_an_exception_of_the_refactored_function_fails(tmp_path: Path) -> None:
    before = recording(tmp_path / "before", [1])
    after = recording(tmp_path / "after", [1], raised={"type": "TypeError", "message": "no"})
    assert Comparison(before, after, None, recorded=True).function("f")["fails"] == "call 1 raises TypeError: no"


def test_state_that_differs(tmp_path: Path) -> None:
    before, after = recording(tmp_path / "before", [1], state=3), recording(tmp_path / "after", [1], state=1)
    difference = Comparison(before, after, None, recorded=True).function("f")["difference"]
    assert difference == "call 1: state state: 3 (int) eagerly, 1 (int) refactored"


@pytest.mark.parametrize(
    ("left", "right", "same"),
    [
        ("loss 0.1234", "loss 0.1235", True),
        ("loss 0.12", "loss 0.19", False),
        ("step 3", "step 4", False),
        ("10/10 - 1s 52ms/step - loss: 0.1", "10/10 - 0s 3ms/step - loss: 0.1", True),
        ("a\nb", "a", False),
        ("done", "done\nI0000 00:00:17.1 port.cc:153] oneDNN is on", True),
        ("value nan", "value 1.0", False),
        ("shape (2, 3)", "shape (3, 2)", False),
    ],
)
def test_what_is_printed(left: str, right: str, same: bool) -> None:
    assert (_printed_difference([left, ""], [right, ""], 0) is None) is same


def test_what_tensorflow_prints_to_the_error_stream_counts_as_printed() -> None:
    assert _printed_difference(["loss 1\n", ""], ["", "loss 1\n"], 0) is None
