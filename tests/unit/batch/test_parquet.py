"""The result as Parquet: the same as JSON lines, and a run that ends early is taken up from what it left."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from terra_refactor.batch import executors
from terra_refactor.batch.limits import RepositoryLimits
from terra_refactor.batch.manifest import ManifestEntry
from terra_refactor.cli.main import app

CODE = "import tensorflow as tf\n\n\ndef f(x):\n    print(x)\n    return x * 2\n\n\nf(tf.ones([3]))\n"
PARTIAL = Path("out.parquet.partial.jsonl")


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("a", "b"):
        Path(name).mkdir()
        Path(name, "m.py").write_text(CODE)
    Path("m.txt").write_text("a\nb\ngone\n")


def run(output: str) -> Result:
    return CliRunner().invoke(app, ["batch", "m.txt", "--output", output])


def table() -> Any:
    return pytest.importorskip("pyarrow.parquet").read_table("out.parquet")


@pytest.mark.slow
def test_it_says_what_the_lines_say() -> None:
    pytest.importorskip("pyarrow")
    said = run("out.parquet")
    assert said.exit_code == 3
    assert run("out.jsonl").exit_code == 3
    rows = {row["name"]: row for row in table().to_pylist()}
    lines = {line["name"]: line for line in map(json.loads, Path("out.jsonl").read_text().splitlines())}
    assert rows.keys() == lines.keys() == {"a", "b", "gone"}
    for name, line in lines.items():
        row = rows[name]
        assert {key: row[key] for key in ("status", "error", "identity", "kind")} == {
            key: line[key] for key in ("status", "error", "identity", "kind")
        }
        if line["status"] == "done":
            assert row["functions"] == line["summary"]["functions"] == 1
            assert dict(row["actions"]) == line["summary"]["actions"]
            assert dict(row["unsafe_by"]) == line["unsafe_by"] == {"TR101": 1}
        else:
            assert row["functions"] is None
    assert not PARTIAL.exists()


def test_a_run_is_taken_up_from_the_file_and_from_what_an_ended_run_left(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pyarrow")
    assert run("out.parquet").exit_code == 3
    whole = table()
    done: list[str] = []
    real = executors.run_entry

    def noted(entry: ManifestEntry, limits: RepositoryLimits) -> dict[str, Any]:
        done.append(entry.name)
        return real(entry, limits)

    monkeypatch.setattr(executors, "run_entry", noted)
    assert run("out.parquet").exit_code == 3
    assert (done, table()) == ([], whole)
    # a run that ends early leaves lines beside the file
    Path("c").mkdir()
    Path("c", "m.py").write_text(CODE)
    Path("m.txt").write_text("c\n")
    assert run("c.jsonl").exit_code == 0
    Path("c.jsonl").rename(PARTIAL)
    Path("m.txt").write_text("a\nb\nc\n")
    done.clear()
    assert run("out.parquet").exit_code == 0
    assert done == []
    assert sorted(table().column("name").to_pylist()) == ["a", "b", "c", "gone"]
    assert not PARTIAL.exists()


@pytest.mark.parametrize("content", [b"", b"PAR1 no", None])
def test_another_file_is_not_written_to(content: bytes | None) -> None:
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    if content is None:
        parquet.write_table(arrow.table({"x": [1]}), "out.parquet")
        content = Path("out.parquet").read_bytes()
    else:
        Path("out.parquet").write_bytes(content)
    result = run("out.parquet")
    assert (result.exit_code, "out.parquet" in result.stderr) == (2, True)
    assert Path("out.parquet").read_bytes() == content


def test_without_pyarrow_it_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    result = run("out.parquet")
    assert (result.exit_code, "terra-refactor[parquet]" in result.stderr) == (2, True)
    assert not PARTIAL.exists()
