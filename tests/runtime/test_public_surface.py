"""Importing, switching off, bad input and the report."""

from __future__ import annotations

import subprocess
import sys
from typing import Any
from xml.etree import ElementTree

import pytest

from terra_refactor.runtime import co_execute, co_executing, disable, enable, report, speculative

# ruff: noqa: PLC0415
WITHOUT_TENSORFLOW = """
import sys
class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("tensorflow", "keras"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Refuse())
import terra_refactor.runtime as runtime
rooms = [name for name in sys.modules if name.startswith("terra_refactor.") and not name.startswith("terra_refactor.runtime")]
assert not rooms, rooms
@runtime.co_execute
def step(x):
    return x
runtime.report()
try:
    step(1)
except ImportError as error:
    print(error)
runtime.disable()
print(step(2))
"""


def test_without_tensorflow_importing_works_and_using_names_the_extra() -> None:
    done = subprocess.run([sys.executable, "-c", WITHOUT_TENSORFLOW], capture_output=True, text=True, check=True)
    assert "terra-refactor[runtime]" in done.stdout
    assert done.stdout.endswith("2\n")


@pytest.mark.tensorflow
def test_importing_does_not_import_tensorflow() -> None:
    code = "import sys, terra_refactor.runtime; print('tensorflow' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_bad_calls_are_refused() -> None:
    with pytest.raises(TypeError, match="decorates a function"):
        co_execute(3)  # type: ignore[type-var]
    with pytest.raises(ValueError, match="max_paths"):
        co_execute(max_paths=0)(lambda: None)
    with pytest.raises(ValueError, match="text, svg or html"):
        report("pdf")


def test_the_environment_variable_and_the_switch(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*args: Any) -> Any:
        raise AssertionError("the shim was used")

    from terra_refactor.runtime import api

    monkeypatch.setenv("TERRA_REFACTOR_DISABLE", "1")
    assert co_execute(lambda x: x + 1)(1) == 2
    assert speculative(lambda x: x + 1)(1) == 2
    with co_executing("nothing"):
        pass
    monkeypatch.setenv("TERRA_REFACTOR_DISABLE", "0")
    assert not api.is_disabled()
    disable()
    assert co_execute(lambda x: x + 1)(1) == 2
    enable()
    assert not api.is_disabled()


@pytest.mark.tensorflow
def test_functions_that_do_no_tensor_work_or_cannot_be_served() -> None:
    tf = pytest.importorskip("tensorflow")

    @co_execute
    def plain(values: list[int]) -> int:
        values.append(1)
        return sum(values)

    assert [plain([1, 2]) for _ in range(3)] == [4, 4, 4]

    @co_execute(name="a generator")
    def generate() -> Any:
        yield tf.constant(1.0) + 1.0

    assert [float(value) for _ in range(2) for value in generate()] == [2.0, 2.0]
    assert "a generator function: its body runs after the call has returned" in report()

    namespace: dict[str, Any] = {"tf": tf}
    exec("def clears(x):\n    y = tf.tanh(x)\n    globals().clear()\n    return y * 2.0", namespace)
    clears = co_execute(namespace["clears"])
    assert float(clears(tf.constant(0.0))) == 0.0
    with pytest.raises(NameError):
        clears(tf.constant(0.0))


@pytest.mark.tensorflow
def test_the_report_tells_and_draws() -> None:
    tf = pytest.importorskip("tensorflow")

    @co_execute(name="reported <step>")
    def step(x: Any) -> Any:
        y = tf.tanh(x)
        if float(y[0]) > 0.5:
            y = y * 2.0
        return tf.boolean_mask(y, y > 0.0)

    for number in range(6):
        step(tf.constant([number % 2 * 1.0, 0.5]))
    text = report()
    assert "reported <step>: 6 calls" in text
    assert "run at once: Where" in text
    picture = ElementTree.fromstring(report("svg"))
    labels = [element.text or "" for element in picture.iter("{http://www.w3.org/2000/svg}text")]
    assert "reported <step>" in labels
    assert any("tanh" in label for label in labels)
    assert "reported &lt;step&gt;" in report("html")
