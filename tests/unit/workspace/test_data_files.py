"""Files beside the program: their numbers are the ones of now, and what depends on them is a warning that names the file."""

from __future__ import annotations

import dataclasses
import os
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from terra_refactor.analysis.data_contents import array_header, tree_of
from terra_refactor.config import Config
from terra_refactor.ide.session import Session
from terra_refactor.rules.rule import Finding, Severity
from terra_refactor.workspace.data_files import MAX_BYTES, names_in, read_data_file
from terra_refactor.workspace.results import WorkspaceReport
from terra_refactor.workspace.workspace import Options, analyze


def report(folder: Path, *, use_cache: bool = False) -> WorkspaceReport:
    options = Options(config=Config(jobs=1, cache_dir=str(folder.parent / "cache")), use_cache=use_cache)
    return analyze(["."], options)


def shapes(folder: Path) -> list[Finding]:
    return [finding for finding in report(folder).findings if finding.rule == "TR401"]


HEAD = """
import configparser, csv, json, os, tomllib
from pathlib import Path
import numpy as np
import tensorflow as tf
import yaml

HERE = Path(__file__).resolve().parent
"""
USE = """

def project(x):
    return tf.matmul(x, tf.zeros((7, 3)))


project(tf.zeros((2, units)))
"""


def save(path: Path) -> None:
    np.save(path, np.zeros((4, 5), "float32"))


READERS: list[tuple[str, str | Callable[[Path], None], str, str]] = [
    ("o.json", '{"model": {"units": 5}}', 'units = json.load(open("o.json"))["model"]["units"]', "`model.units` = 5"),
    (
        "o.json",
        '{"units": 5}',
        'with open(HERE / "o.json") as f:\n    units = json.load(f).get("units", 8)',
        "`units` = 5",
    ),
    ("o.json", '{"units": 5}', 'units = json.loads((HERE / "o.json").read_text())["units"]', "`units` = 5"),
    ("o.json", '{"names": [1, 2, 3, 4, 5]}', 'units = len(json.load(open("o.json"))["names"])', "`len(names)` = 5"),
    ("o.json", '{"sizes": [9, 5]}', 'units = json.load(open(f"{HERE}/o.json"))["sizes"][-1]', "`sizes.-1` = 5"),
    (
        "o.toml",
        "[model]\nunits = 5\n",
        'units = tomllib.load(open("o.toml", "rb"))["model"]["units"]',
        "`model.units` = 5",
    ),
    ("o.yaml", "model:\n  units: 5  # wide\n", 'units = yaml.safe_load(open("o.yaml"))["model"]["units"]', "= 5"),
    (
        "o.ini",
        "[DEFAULT]\nunits = 5\n[model]\nname = a\n",
        'options = configparser.ConfigParser()\noptions.read("o.ini")\nunits = options.getint("model", "Units")',
        "`model.Units` = 5",
    ),
    (
        "t.csv",
        "a,b,c,d,e\n1,2,3,4,5\n",
        'with open(os.path.join(os.path.dirname(__file__), "t.csv")) as f:\n    units = len(next(csv.reader(f)))',
        "`columns of t.csv` = 5",
    ),
    ("t.csv", "a;b\n", 'units = len(open("t.csv").readline().strip().split(";")) + 3', "`columns of t.csv` = 2"),
    ("v.txt", "a\nb\nc\nd\ne\n", 'units = len(open("v.txt").read().splitlines())', "`lines of v.txt` = 5"),
    ("v.txt", "a\nb\nc\nd\ne\n", 'units = len([line.strip() for line in open("v.txt")])', "`lines of v.txt` = 5"),
    ("v.txt", "a b c d e", 'units = len(Path("v.txt").read_text().split())', "`parts of v.txt` = 5"),
    ("t.csv", "a,b\n1,2\n3,4\n", 'units = np.loadtxt("t.csv", delimiter=",", skiprows=1).shape[1]', "= 2 in t.csv"),
    ("w.npy", save, 'units = np.load(HERE / "w.npy").shape[1]', "`axis 1 of w.npy` = 5"),
]


@pytest.mark.parametrize(("name", "content", "code", "told"), READERS, ids=[each[2][-40:] for each in READERS])
def test_what_depends_on_a_file_is_a_warning_that_names_it(
    folder: Path, name: str, content: str | Callable[[Path], None], code: str, told: str
) -> None:
    (folder / "m.py").write_text(HEAD + code + USE)
    assert shapes(folder) == []
    file = folder / name
    if isinstance(content, str):
        file.write_text(content)
    else:
        content(file)
    (finding,) = shapes(folder)
    assert finding.severity is Severity.WARNING
    assert told in finding.message
    assert finding.message.endswith(f"in {name})")


def test_names_of_data_files_in_a_text() -> None:
    text = 'open("data/a-b.json"); np.load(HERE / "w.npy"), f"{x}.csv", "v.txt.gz", "NAMES.TXT"  # see notes.toml.\n'
    assert names_in(text) == {"a-b.json", "w.npy", "NAMES.TXT"}
    started = time.perf_counter()
    assert names_in("a" * 2_000_000 + " " + "b.json" * 100_000 + "_") == frozenset()
    assert time.perf_counter() - started < 5


def test_a_number_that_fits_is_no_finding(folder: Path) -> None:
    (folder / "m.py").write_text(HEAD + 'units = json.load(open("o.json"))["units"]' + USE)
    (folder / "o.json").write_text('{"units": 7}')
    assert shapes(folder) == []


LAYER = """
layer = tf.keras.layers.Dense(json.load(open("o.json"))["units"])


def forward(x):
    return layer(x)


loss = tf.keras.losses.MeanSquaredError()(tf.zeros((2, 9)), forward(tf.zeros((2, 4))))
"""


def test_a_size_that_only_a_layer_holds_is_known_to_come_from_the_file(folder: Path) -> None:
    (folder / "m.py").write_text(HEAD + LAYER)
    (folder / "o.json").write_text('{"units": 5}')
    (finding,) = shapes(folder)
    assert finding.severity is Severity.WARNING
    assert "with `units` = 5 in o.json" in finding.message


def test_the_kept_answer_is_renewed_when_the_file_changes(folder: Path) -> None:
    (folder / "m.py").write_text(HEAD + 'units = json.load(open("o.json"))["units"]' + USE)
    counts = []
    for units in (5, 7, 7, 6):
        (folder / "o.json").write_text(f'{{"units": {units}}}')
        made = report(folder, use_cache=True)
        counts.append((len([each for each in made.findings if each.rule == "TR401"]), made.stats.cached_files))
    assert [number for number, _ in counts] == [1, 0, 0, 1]
    assert counts[2][1] == 1  # the same content: the kept result


def test_an_editor_sees_the_file_change(folder: Path) -> None:
    (folder / "m.py").write_text(HEAD + 'units = json.load(open("o.json"))["units"]' + USE)
    file = folder / "o.json"
    file.write_text('{"units": 5}')
    session = Session(str(folder), Config(jobs=1))
    assert [each.rule for each in session.snapshot("m.py").findings.get("m.py", ()) if each.rule == "TR401"] == [
        "TR401"
    ]
    assert session.owns(str(file))
    assert not session.owns(str(folder / "log.json"))
    assert not session.check_disk()
    file.write_text('{"units": 77}')
    assert session.check_disk()
    assert session.fresh("m.py") is None
    assert "77" in next(
        each.message for each in session.snapshot("m.py").findings.get("m.py", ()) if each.rule == "TR401"
    )
    file.write_text('{"units": 7}')
    assert session.check_disk()
    assert not [each for each in session.snapshot("m.py").findings.get("m.py", ()) if each.rule == "TR401"]


DECIDED = """
options = json.load(open("o.json"))
weights = np.load("w.npy")
table = np.loadtxt("t.csv", delimiter=",")


def step(x, scale):
    if x.shape[0] > 3:
        x = x + 1.0
    return tf.reduce_sum(x * scale)


def run(count):
    total = 0.0
    for _ in range(count):
        total = total + step(tf.zeros((options["batch"], 3)), options["scale"])
        total = total + step(tf.constant(weights), 2.0)
        total = total + step(tf.constant(table, tf.float32), 2.0)
    if options["batch"] == 4:
        return total
    return total * 2.0


run(options["count"])
"""


def test_decisions_do_not_depend_on_what_files_hold(folder: Path) -> None:
    (folder / "m.py").write_text(HEAD + DECIDED)

    def decided() -> list[object]:
        return [
            (each.qualname, each.classification, each.action, each.level, each.reason)
            for each in report(folder).decisions
        ]

    without = decided()
    assert without
    (folder / "o.json").write_text('{"batch": 4, "scale": 3, "count": 2}')
    save(folder / "w.npy")
    (folder / "t.csv").write_text("1,2\n3,4\n")
    assert decided() == without


WRITTEN = """
if not os.path.exists("o.json"):
    pass
with open("o.json", "w") as f:
    json.dump({"units": 7}, f)
units = json.load(open("o.json"))["units"]
"""


def test_a_file_that_the_program_writes_says_nothing(folder: Path) -> None:
    (folder / "m.py").write_text(HEAD + WRITTEN + USE)
    (folder / "o.json").write_text('{"units": 5}')
    assert shapes(folder) == []


def test_files_of_one_name_that_differ_say_nothing(folder: Path) -> None:
    (folder / "deep").mkdir()
    (folder / "deep" / "m.py").write_text(HEAD + 'units = json.load(open("o.json"))["units"]' + USE)
    (folder / "o.json").write_text('{"units": 5}')
    (folder / "deep" / "o.json").write_text('{"units": 7}')
    assert shapes(folder) == []
    (folder / "deep" / "o.json").unlink()
    assert len(shapes(folder)) == 1


def test_links_pipes_and_large_files_are_not_read(folder: Path) -> None:
    (folder / "m.py").write_text(HEAD + 'units = json.load(open("o.json"))["units"]' + USE)
    outside = folder.parent / "o.json"
    outside.write_text('{"units": 5}')
    file = folder / "o.json"
    file.symlink_to(outside)
    assert shapes(folder) == []
    assert read_data_file(str(file)) is None
    file.unlink()
    os.mkfifo(file)
    assert shapes(folder) == []
    assert read_data_file(str(file)) is None
    file.unlink()
    file.write_text('{"units": 5, "more": "' + "x" * MAX_BYTES + '"}')
    assert shapes(folder) == []
    file.unlink()
    (folder.parent / "elsewhere").mkdir()
    outside.rename(folder.parent / "elsewhere" / "o.json")
    (folder / "data").symlink_to(folder.parent / "elsewhere")
    (folder / "m.py").write_text(HEAD + 'units = json.load(open("data/o.json"))["units"]' + USE)
    assert shapes(folder) == []
    (folder / "m.py").write_text(HEAD + 'units = json.load(open("../elsewhere/o.json"))["units"]' + USE)
    assert shapes(folder) == []


def test_names_and_keys_with_strange_characters_break_nothing(folder: Path) -> None:
    strange = folder / "a\tb\nc\fd"
    strange.mkdir()
    (strange / "o.json").write_text('{"units": 5}')
    (strange / "m.py").write_text(HEAD + 'units = json.load(open(HERE / "o.json"))["units"]' + USE)
    keys = 'units = json.load(open("o.json"))["a\\f\\n\\v\\tb"]'
    (folder / "m.py").write_text(HEAD + keys + USE)
    (folder / "o.json").write_text('{"a\\f\\n\\u000b\\tb": 5}')
    made = report(folder)
    assert not made.errors
    assert [each.path for each in made.findings if each.rule == "TR401"] == ["m.py"]


def test_a_file_that_is_excluded_is_not_read(folder: Path) -> None:
    (folder / "m.py").write_text(HEAD + 'units = json.load(open("o.json"))["units"]' + USE)
    (folder / "o.json").write_text('{"units": 5}')
    config = dataclasses.replace(Config(jobs=1), extend_exclude=("o.json",))
    assert not [
        each for each in analyze(["."], Options(config=config, use_cache=False)).findings if each.rule == "TR401"
    ]


LAUGHS = b"a0: &a0 {x: 1}\n" + b"".join(
    b"a%d: &a%d %%(open)s" % (n, n) + b", ".join([b"*a%d" % (n - 1)] * 9) + b"%(close)s\n" for n in range(1, 10)
)


@pytest.mark.parametrize(
    ("path", "data"),
    [
        ("a.json", b'{"units": 5'),
        ("a.json", b"[" * 100_000),
        ("a.json", b"1" * 10_000),
        ("a.json", b"\xff\xfe"),
        ("a.toml", b"units = "),
        ("a.ini", b"units = 5"),
        ("a.yaml", b"a: &b [*b]\n"),
        ("a.yaml", b"a: *b\n"),
        ("a.yaml", LAUGHS % {b"open": b"[", b"close": b"]"}),
        ("a.yaml", LAUGHS % {b"open": b"{<<: [", b"close": b"]}"}),
        ("a.yaml", b"a: 1\n---\nb: 2\n"),
        ("a.yaml", b"[" * 100_000),
        ("a.yaml", b"a: " + b"1:" * 50_000 + b"1"),
        ("a.yaml", b'a: !!int "' + b"1:" * 50_000 + b'1"'),
        ("a.yaml", b'a: !!int ""\n'),
        ("a.yaml", b"a: !Custom 3\n"),
        ("a.yaml", b"? [1]\n: 2\n"),
        ("a.yaml", b"- 1\n" * 60_000),
        ("a.yaml", b"a: !!python/object/apply:os.system ['true']\n"),
        ("a.yaml", b"a:\n" + b"".join(b" " * depth + b"a:\n" for depth in range(1, 200))),
        ("a.yaml", b"a: 'open\n"),
        ("a.py", b"1"),
    ],
)
def test_malformed_content_says_nothing(path: str, data: bytes) -> None:
    assert tree_of(path, data) is None


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("a: 1\nb:\n  c: [1, 2]\n  d: 'x'\n", {"a": 1, "b": {"c": [1, 2], "d": "x"}}),
        ("---\na:\n- 1\n- 2\nb: true\n", {"a": [1, 2], "b": True}),
        ("- name: x\n  size: 3\n- name: y\n  size: 4\n", [{"name": "x", "size": 3}, {"name": "y", "size": 4}]),
        ("rate: 1.0e-3\nempty:\n", {"rate": 0.001, "empty": None}),
        (
            "base: &base {units: 5}\nwide:\n  <<: *base\n  depth: 2\n",
            {"base": {"units": 5}, "wide": {"units": 5, "depth": 2}},
        ),
        (
            "a: 1_000\nb: 0x10\nc: 1e-3\nd: yes\ne: {f: [1, 'x']}\n",
            {"a": 1000, "b": 16, "c": "1e-3", "d": True, "e": {"f": [1, "x"]}},
        ),
    ],
)
def test_yaml_as_its_loader_reads_it(text: str, tree: object) -> None:
    assert tree_of("a.yaml", text.encode()) == tree


def test_headers_of_arrays(tmp_path: Path) -> None:
    file = tmp_path / "a.npy"
    np.save(file, np.zeros((2, 3), "int64"))
    assert array_header(file.read_bytes()) == ("<i8", (2, 3))
    assert array_header(file.read_bytes()[:20]) is None
    assert array_header(b"\x93NUMPY\x01\x00\x10\x00__import__('os')") is None
    np.save(file, np.zeros(2, [("a", "i4")]))
    assert array_header(file.read_bytes()) is None
