"""No mutant of a real file ends, hangs or confuses the tool: a small sample, always the same. `tools/fuzz_files.py` tries as many as one
has time for, of any files."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from random import Random

import pytest
from running_time import examples

sys.path.insert(0, str(Path(__file__).parent))

from file_mutants import LEVELS, mutant_of, mutant_of_notebook, trial
from server_mutants import Server, server_trial

CORPUS = Path(__file__).parents[2] / "corpus"
FILES = sorted(path for path in (CORPUS / "programs").rglob("*.py") if 500 < path.stat().st_size < 5_000)


def test_the_sample_is_not_empty() -> None:
    assert len(FILES) > 20


@pytest.mark.parametrize(
    "seed", [*range(8), 33, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(8, examples(14, 20)))]
)
def test_a_mutant_keeps_the_promises(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    random = Random(seed)
    texts = [path.read_text(encoding="utf-8") for path in random.sample(FILES, 3)]
    data = mutant_of(texts[0], random, texts)
    assert list(trial(Path("mutant.py"), texts[0], data, lambda _: None, random.choice(LEVELS))) == []


@pytest.mark.parametrize("seed", range(5))
def test_a_mutant_of_a_notebook_keeps_the_promises(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    random = Random(f"notebook {seed}")
    texts = [path.read_text(encoding="utf-8") for path in random.sample(FILES, 4)]
    cells = [{"cell_type": "code", "metadata": {}, "source": text.splitlines(keepends=True)} for text in texts]
    document = json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}, indent=1)
    data = mutant_of_notebook(document, random, texts)
    assert list(trial(Path("mutant.ipynb"), document, data, lambda _: None)) == []


def test_the_server_keeps_the_promises(tmp_path: Path) -> None:
    pytest.importorskip("pygls")
    folder = tmp_path / "project"
    folder.mkdir()
    with Server(folder, patience=120.0) as server:
        for seed in range(4):
            random = Random(f"server {seed}")
            texts = [path.read_text(encoding="utf-8") for path in random.sample(FILES, 3)]
            mutant = mutant_of(texts[0], random, texts).decode("utf-8", "replace")
            (folder / "mutant.py").write_text(texts[0], encoding="utf-8")
            assert list(server_trial(server, "mutant.py", texts[0], mutant, random, limit=60.0)) == []
