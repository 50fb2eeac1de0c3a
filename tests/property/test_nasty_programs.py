"""Programs that are made to break the analysis cost what their size says, and only themselves: small sizes here, the full ones in
`tools/measure_nasty.py`."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest

from terra_refactor.config import Config
from terra_refactor.workspace.workspace import Options, analyze

sys.path.insert(0, str(Path(__file__).parent))

from nasty_programs import FULL, NASTY

SECONDS = 20.0
"""Limit of processor time. Most take less than one; an exponential analysis would not end."""
SIZES = {name: max(6, size // (4 if size <= 100 else 20)) for name, size in FULL.items()}
SIZES |= {
    "class_lattice": 9,
    "nested_comprehensions": 9,
    "many_lines": 500,
    "dict_item_by_item": 400,
    "huge_dict": 300,
    "call_tree": 40,
}
SIZES |= {name: size // 10 for name, size in SIZES.items() if size >= 100_000}
LIMITED = {"state_tree": FULL["state_tree"], "complete_call_graph": 8}
"""Programs that end only because their steps are limited, with their sizes: a lower limit shows that at less cost."""
SIZES |= {"many_globals_rebound": 75, **LIMITED}
COSTLY = {"many_globals_rebound", "arithmetic_bombs", "complete_call_graph"}
OPTIONS = Options(config=Config(jobs=1, min_ops=0), use_cache=False)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] if name in COSTLY else []) for name in NASTY]
)
def test_a_nasty_program_is_answered(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    if name in LIMITED:
        monkeypatch.setattr("terra_refactor.analysis.driver.MIN_STEPS", 4_000)
    files = NASTY[name](SIZES[name])
    for path, text in files.items():
        target = tmp_path / "project" / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
    started = time.process_time()
    report = analyze(["project"], OPTIONS)
    assert time.process_time() - started < SECONDS
    answered = set(report.sources) | {error.path for error in report.errors}
    assert {f"project/{path}" for path in files} <= answered
    assert not [error for error in report.errors if "inside" in error.message]
    assert not [decision for decision in report.decisions if "internal error" in decision.reason]


REST = """
import time

import tensorflow as tf


def calls(x):
    y = costly(x)
    return tf.nn.relu(tf.matmul(x, x) + tf.matmul(y, y))


def other(x):
    return tf.nn.relu(tf.matmul(x, x)) + 1.0


print(calls(tf.ones([2, 2])), other(tf.ones([2, 2])))
"""


def of(source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, tuple[str, str]]:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "costly.py").write_text(source, encoding="utf-8")
    report = analyze(["costly.py"], OPTIONS)
    return {decision.qualname: (decision.classification.value, decision.reason) for decision in report.decisions}


def test_what_is_not_analysed_to_its_end_costs_its_callers_and_nobody_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("terra_refactor.analysis.frames.MAX_STEPS_OF_A_FRAME", 300)
    loops = "".join("    " * depth + f"    for i{depth} in (1, 2, 3, 4, 5, 6, 7, 8):\n" for depth in range(2))
    body = f"def costly(x):\n{loops}            x = tf.nn.relu(x) + i0 * i1\n    print(time.time())\n    return x\n"
    found = of(body + REST, tmp_path, monkeypatch)
    assert found["costly"] == ("unsafe", "the analysis of it did not finish: too many steps")
    assert found["calls"][0] == "unsafe"
    assert "costly" in found["calls"][1]
    assert found["other"][0] == "safe"


def test_a_long_function_is_not_a_costly_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("terra_refactor.analysis.frames.MAX_STEPS_OF_A_FRAME", 300)
    lines = "    x = tf.nn.relu(x) + 1.0\n" * 200
    found = of(f"def costly(x):\n{lines}    return x\n" + REST, tmp_path, monkeypatch)
    assert {each[0] for each in found.values()} == {"safe"}


def test_effects_that_are_not_kept_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("terra_refactor.analysis.frames.MAX_EFFECTS", 20)
    excused = "".join(f"    try_{number} = unknown_{number}(1)\n" for number in range(20))
    imports = "".join(f"from somewhere import unknown_{number}\n" for number in range(20))
    body = f"{imports}def costly(x):\n{excused}    print(time.time())\n    return x\n"
    found = of(body + REST, tmp_path, monkeypatch)
    assert found["costly"][0] == found["calls"][0] == "unsafe"


def test_half_of_the_steps_are_left_to_the_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("terra_refactor.analysis.driver.MIN_STEPS", 4_000)
    monkeypatch.setattr("terra_refactor.analysis.driver.STEPS_PER_OPERATION", 1)
    tree = "".join(f"def f{n}(x):\n    s.n += 1\n    return f{n + 1}(x) + f{n + 1}(x)\n" for n in range(12))
    body = f"class S: n = 0\n\ns = S()\n{tree}\ndef f12(x):\n    s.n += 1\n    return x * s.n\n\n"
    source = (
        "import tensorflow as tf\n"
        + body
        + "def other(x: tf.Tensor):\n    return tf.nn.relu(tf.matmul(x, x)) + 1.0\n\ndef test(x: tf.Tensor):\n    return f0(x)\n"
    )
    found = of(source, tmp_path, monkeypatch)
    assert "too many steps" in " ".join(reason for _, reason in found.values())
    assert found["other"][0] == "safe"


def test_lists_of_the_same_lists(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lists = "".join(f"    x = [{', '.join(['x'] * 40)}]\n" for _ in range(8))
    body = f"def costly(x):\n{lists}    return tf.nest.flatten(x), tf.stack(x)\n"
    source = f"import tensorflow as tf\n\n{body}\nprint(costly(tf.ones([2])))\n"
    started = time.process_time()
    assert set(of(source, tmp_path, monkeypatch)) == {"costly"}
    assert time.process_time() - started < SECONDS


def test_a_key_beyond_those_that_are_told_apart_leaves_the_others_as_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("terra_refactor.analysis.transfer.mappings.MAX_KEYS", 2)
    stores = "".join(f"TABLE['{number}'] = tf.ones([{number}, 3])\n" for number in (2, 4, 5))
    body = f"TABLE = {{}}\n{stores}def costly(x):\n    return TABLE['2'] + x\n"
    (tmp_path / "table.py").write_text(f"import tensorflow as tf\n{body}\ncostly(tf.ones([5, 3]))\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    # were one of several tables meant, the failure would not be certain of this shape
    (finding,) = [each for each in analyze(["table.py"], OPTIONS).findings if each.rule == "TR401"]
    assert "(2, 3)" in finding.message or "[2, 3]" in finding.message
