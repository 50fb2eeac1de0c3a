"""Shapes in the run with all options by default and the files as they stand: `Program.usual`."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import numpy as np
import pytest

from terra_refactor.analysis.data_contents import archive_headers
from terra_refactor.config import Config
from terra_refactor.rules.rule import Finding, Severity
from terra_refactor.workspace import usual_run
from terra_refactor.workspace.data_files import read_data_file
from terra_refactor.workspace.workspace import Options, analyze


def shapes(folder: Path, text: str) -> list[Finding]:
    (folder / "m.py").write_text(HEAD + text)
    options = Options(config=Config(jobs=1), use_cache=False)
    return [finding for finding in analyze(["."], options).findings if finding.rule.startswith("TR4")]


HEAD = """
import argparse, configparser, csv, json, os
import numpy as np
import tensorflow as tf
import yaml
"""
STACK = """
def stack(x, sizes):
    for units in sizes:
        x = tf.keras.layers.Dense(units)(x)
    return x


y = stack(tf.zeros((4, 3)), {sizes}) @ tf.zeros((7, 2))
"""
OPTIONS = """
parser = argparse.ArgumentParser()
parser.add_argument("--width", type=int, default=30)
parser.add_argument("--heads", type=int, default=4)
parser.add_argument("--norm", action="store_true")
parser.add_argument("--sizes", type=int, nargs="+", default=[6, 5])
args = parser.parse_args({given})
x = tf.zeros((2, args.width))
"""
FILES = {
    "a list that a loop goes through": (
        "o.yaml",
        "sizes: [6, 5]\n",
        STACK.format(sizes='yaml.safe_load(open("o.yaml"))["sizes"]'),
    ),
    "a text that is loaded": (
        "o.json",
        '{"sizes": [5]}',
        STACK.format(sizes='json.loads(open("o.json").read())["sizes"]'),
    ),
    "keywords": (
        "o.json",
        '{"rows": 3, "columns": 5}',
        'def make(rows, columns):\n    return tf.zeros((rows, columns))\n\n\ny = make(**json.load(open("o.json"))) @ tf.zeros((7, 2))\n',
    ),
    "a branch": (
        "o.json",
        '{"flat": true, "size": 5}',
        'o = json.load(open("o.json"))\nx = tf.zeros((3, o["size"])) if o["flat"] else tf.zeros((3, 7))\ny = x @ tf.zeros((7, 2))\n',
    ),
    "a power of a quotient": (
        "o.json",
        '{"size": 8, "patch": 4}',
        'o = json.load(open("o.json"))\ny = tf.zeros((3, (o["size"] // o["patch"]) ** 2)) @ tf.zeros((7, 2))\n',
    ),
    "a section that repeats": (
        "o.ini",
        "[m]\nlayers = 2\nunits = 5\n",
        'p = configparser.ConfigParser()\np.read("o.ini")\nx = tf.zeros((2, 3))\nfor _ in range(p["m"].getint("layers")):\n'
        '    x = x @ tf.zeros((3, p.getint("m", "units")))\n',
    ),
    "rows by name": (
        "t.csv",
        "a,b\n1,2\n3,4\n5,6\n",
        'with open("t.csv") as f:\n    found = [float(row["a"]) for row in csv.DictReader(f)]\ny = tf.constant(found) + tf.zeros(7)\n',
    ),
    "rows behind a header": (
        "t.csv",
        "a,b\n1,2\n3,4\n5,6\n",
        'with open("t.csv") as f:\n    reader = csv.reader(f)\n    next(reader)\n    found = [float(row[0]) for row in reader]\n'
        "y = tf.constant(found) + tf.zeros(4)\n",
    ),
}


@pytest.mark.parametrize(("name", "content", "text"), FILES.values(), ids=FILES)
def test_files_as_they_stand(folder: Path, name: str, content: str, text: str) -> None:
    assert shapes(folder, text) == []
    (folder / name).write_text(content)
    (finding,) = shapes(folder, text)
    assert finding.severity is Severity.WARNING
    assert name in finding.message


def test_options_by_default(folder: Path) -> None:
    use = "if args.norm:\n    x = x[:, :7]\ny = tf.keras.Sequential([tf.keras.layers.Dense(n) for n in args.sizes])(x) @ tf.zeros((7, 2))\n"
    (finding,) = shapes(folder, OPTIONS.format(given="") + use)
    assert finding.severity is Severity.WARNING
    assert "in the run with all options by default" in finding.message
    assert shapes(folder, OPTIONS.format(given="") + use.replace("7, 2", "5, 2")) == []
    # of another command line nothing is known
    assert shapes(folder, OPTIONS.format(given="read()") + use) == []


def test_variables_of_the_environment_by_default(folder: Path) -> None:
    use = 'x = tf.zeros((3, 5)) if os.environ.get("FLAT", "1") == "1" else tf.zeros((3, 7))\ny = x @ tf.zeros((7, 2))\n'
    (finding,) = shapes(folder, use)
    assert "the environment's defaults" in finding.message


def test_what_is_found_in_all_runs_is_told_once(folder: Path) -> None:
    (finding,) = shapes(folder, OPTIONS.format(given="") + "y = tf.zeros((3, 5)) @ tf.zeros((7, 2))\n")
    assert finding.severity is Severity.ERROR


def test_large_programs_are_analysed_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(usual_run, "_MOST_LINES", 3)
    name, content, text = FILES["a branch"]
    (folder / name).write_text(content)
    assert shapes(folder, text) == []


ARCHIVE = 'd = np.load("d.npz")\ny = tf.constant(d["x"]) @ tf.zeros((7, 2))\n'
OPENED = 'with np.load("d.npz") as d:\n    x, labels = d["x"], d["y"]\ny = tf.constant(x) @ tf.zeros((7, 2))\n'


@pytest.mark.parametrize("text", [ARCHIVE, OPENED])
@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_archives_of_arrays(folder: Path, text: str, save: object) -> None:
    assert callable(save)
    save(folder / "d.npz", x=np.zeros((4, 5), "float32"), y=np.zeros(4, "int64"))
    (finding,) = shapes(folder, text)
    assert finding.severity is Severity.WARNING
    assert "d.npz" in finding.message


def test_hostile_archives_say_nothing(tmp_path: Path) -> None:
    file = tmp_path / "d.npz"
    np.savez(file, x=np.zeros((2, 3), "int64"), y=np.zeros(3_000_000, "int8"))
    content = read_data_file(str(file))
    assert content is not None
    assert len(content) < 20_000
    assert archive_headers(content) == {"x": ("<i8", (2, 3)), "y": ("|i1", (3_000_000,))}
    whole = file.read_bytes()
    for broken in (whole[:-10], b"", b"PK\x05\x06", whole[:500] + b"\0" * 500 + whole[1000:], b"\0" * 100_000):
        file.write_bytes(broken)
        read_data_file(str(file))
    many = io.BytesIO()
    with zipfile.ZipFile(many, "w") as archive:
        for number in range(600):
            archive.writestr(f"{number}.npy", b"")
    file.write_bytes(many.getvalue())
    assert read_data_file(str(file)) is None
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("x.npy", b"no array")
    content = read_data_file(str(file))
    assert content is not None
    assert archive_headers(content) is None
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("x.npy", b"\0" * 30_000_000)
    assert len(read_data_file(str(file)) or b"") < 10_000
    assert archive_headers(b"[1]") is None
