"""Very many files of which few use tensors: files that are not needed are skipped, and the report says so."""

from __future__ import annotations

from pathlib import Path

import pytest

from terra_refactor.config import Config
from terra_refactor.workspace import components
from terra_refactor.workspace.components import AnalysedFiles
from terra_refactor.workspace.results import WorkspaceReport
from terra_refactor.workspace.workspace import Options, analyze

TEXTS = {
    "lib/__init__.py": "",
    "lib/text.py": "def shout(word):\n    print(word)\n",
    "lib/numbers.py": "ONE = 1\n",
    "model.py": "import tensorflow as tf\nfrom lib.text import shout\n\n\n@tf.function\ndef f(x):\n    shout(x)\n    return x\n",
    "main.py": "import model\nfrom lib.numbers import ONE\n\nmodel.f(ONE)\n",
    # imports what the model imports, but no program loads both
    "tool.py": "from lib.text import shout\n\n\ndef run():\n    shout('tool')\n",
    "alone.py": "def g(x):\n    return x  # terra: ignore[TR101]\n",
    "broken.py": "def f(:\n",
}


def run(coverage: AnalysedFiles) -> WorkspaceReport:
    return analyze(["."], Options(config=Config(jobs=1), use_cache=False, coverage=coverage))


@pytest.fixture(name="folder", autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, text in TEXTS.items():
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_text(text)
    return tmp_path


@pytest.mark.parametrize("coverage", [AnalysedFiles.SHOWN, AnalysedFiles.FINDINGS])
def test_of_many_files_only_what_is_loaded_with_tensors_is_analysed(
    coverage: AnalysedFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = run(AnalysedFiles.EVERY)
    assert {decision.path for decision in run(AnalysedFiles.SHOWN).decisions} >= {"tool.py", "alone.py"}
    assert run(coverage).errors == whole.errors
    monkeypatch.setattr(components, "_MANY", 2)
    report = run(coverage)
    assert {decision.path for decision in report.decisions} == {"lib/text.py", "model.py"}
    assert report.findings == whole.findings
    assert [error.path for error in report.errors] == ["broken.py"]
    assert (report.stats.passed_over, report.stats.unparsed) == (3, 0)
    assert report.stats.files == whole.stats.files


def test_of_very_many_it_is_not_seen_whether_they_parse(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(components, "_PARSED_AT_MOST", 1)
    report = run(AnalysedFiles.FINDINGS)
    assert report.errors == ()
    assert report.stats.unparsed == report.stats.passed_over == 3
    assert {(finding.path, finding.rule) for finding in report.findings} >= {("alone.py", "TR901")}
    assert run(AnalysedFiles.EVERY).stats.unparsed == 0
