"""The magics of IPython, in a real shell; cells that call nothing of TensorFlow's run, the others are only analysed."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell

import terra_refactor
from terra_refactor.classify.decision import Level
from terra_refactor.errors import SourceError
from terra_refactor.ide.ipython import decided

IMPORT = "import tensorflow as tf"
STEP = """\
# one step
def step(x):
    for _ in range(20):
        x = tf.nn.relu(x + 1.0)
    return x
for _ in range(1000):
    y = step(tf.ones([3]))"""

HOT = """\
def hot(x):
    for _ in range(20):
        x = tf.nn.relu(x + 1.0)
    return x
import sys
if sys.argv[900:]:
    for _ in range(1000):
        hot(tf.ones([3]))"""


def test_the_last_cell_is_told_of_with_what_earlier_cells_define(tmp_path: Path) -> None:
    answer = decided([IMPORT, STEP, "z = tf.matmul(y[None], tf.ones([2, 2]))"], str(tmp_path))
    assert answer.lines[0].startswith("line 1: TR401 ")
    assert len(answer.lines) == 1
    whole = decided([IMPORT, STEP, "z = 1"], str(tmp_path), numbers=[1, 4, 5])
    assert [line.partition(".")[0] for line in whole.lines] == ["step: safe · Add @tf"]
    assert decided([IMPORT, "1"], str(tmp_path)).lines == ("nothing here computes with tensors",)


def test_a_cell_is_changed_at_a_level_and_nothing_else_in_it(tmp_path: Path) -> None:
    answer = decided([IMPORT, STEP], str(tmp_path), level=Level.SAFE)
    assert answer.text == STEP.replace("def step", "@tf.function\ndef step")
    assert "+@tf.function" in answer.diff
    assert "```diff" in answer._repr_markdown_()
    missing = decided(
        ["from tensorflow import nn, ones", STEP.replace("tf.nn", "nn").replace("tf.o", "o")],
        str(tmp_path),
        level=Level.SAFE,
    )
    assert missing.text.count("@") == 0
    assert "import tensorflow as tf" in missing.lines[-1]


def test_cells_that_do_not_parse_are_an_error(tmp_path: Path) -> None:
    with pytest.raises(SourceError):
        decided(["def bad(:"], str(tmp_path))


def test_modules_are_found_in_a_project_only(tmp_path: Path) -> None:
    (tmp_path / "layers.py").write_text("import tensorflow as tf\ndef widen(x):\n    return tf.zeros([4, 8])\n")
    cells = ["from layers import widen", "import tensorflow as tf\ntf.matmul(widen(1), tf.ones([4, 2]))"]
    assert "TR401" not in repr(decided(cells, str(tmp_path)))
    (tmp_path / "pyproject.toml").touch()
    assert "TR401" in repr(decided(cells, str(tmp_path)))


def test_the_magics_in_a_shell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    shell: Any = InteractiveShell()
    terra_refactor.load_ipython_extension(shell)

    def run(cell: str) -> str:
        shell.run_cell(cell, store_history=True)
        return "".join(capsys.readouterr())

    run("x = [1]\ndef bad(:")
    assert "nothing here computes with tensors" in run("%%terra\ny = 2\ny + 5")
    assert shell.user_ns["y"] == 2
    assert "nothing here computes with tensors" in run("%terra")
    assert "UsageError: --what: %terra takes" in run("%%terra --what\n1")
    run("def f(x):\n    import tensorflow as tf\n    return tf.matmul(tf.ones([2, 3]), tf.ones([2, 3]))")
    assert "In[5], line 3: TR401" in run("%terra")
    assert "none of safe, speculative, coexec" in run("%terra --level fast")
    replaced = ModuleType("tensorflow")  # the cells only decorate
    replaced.function = lambda function: function  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "tensorflow", replaced)
    run(f"import sys\nif sys.argv[900:]:\n    {IMPORT}")
    assert "hot is not changed: TensorFlow is imported only under a condition" in run(f"%%terra --apply\n{HOT}")
    run(IMPORT)
    assert "+@tf.function" in run(f"%%terra --apply\n{HOT}")
    whole = run("%terra")
    assert "hot: tf.function, safe" in whole and whole.count("hot: safe") == 1  # the first cell is still eager
    run("%reset -f in")
    run(f"{IMPORT}\nimport sys")
    run(HOT)
    assert "hot: safe · Add @tf.function" in run("%terra")
    shell.history_manager.end_session()
