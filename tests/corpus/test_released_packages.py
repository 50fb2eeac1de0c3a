"""Released packages: the manifest, how they are fetched, what is checked on them, and that their summaries are what is committed.

`make test` analyses the packages of a choice (`package_choice.py`), `make test-all` all of them.
"""

from __future__ import annotations

import hashlib
import io
import re
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
from package_choice import LARGEST, chosen, kinds_of, only_in_large
from running_time import runs_everything

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from corpus.released import commands, fetch, manifest, summary, tables
from corpus.released.manifest import Package, packages
from corpus.released.suites import outcomes_of
from corpus.released.trial import Trial, analyze_folder, check_definitions, parsed, try_folder
from terra_refactor.batch.fetch import FetchError

TRAINING = """\
import tensorflow as tf

def normalise(x):
    return (x - tf.reduce_mean(x)) / tf.math.reduce_std(x)

def step(x, w):
    y = normalise(x)
    for _ in range(8):
        y = tf.tanh(tf.matmul(y, w)) + tf.nn.relu(y)
    return tf.reduce_sum(y)

w = tf.ones((3, 3))
while input():
    step(tf.ones((2, 3)), w)
"""


def package(content: bytes, file: str = "tiny-1.0.tar.gz") -> Package:
    return Package("tiny", "1.0", file, hashlib.sha256(content).hexdigest(), "MIT", "nothing", None)


def tarball(**files: str) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as archive:
        for name, text in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(text)
            archive.addfile(member, io.BytesIO(text.encode()))
    return out.getvalue()


@pytest.fixture
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A place for packages that is empty."""
    inner = tmp_path / "packages"
    monkeypatch.setattr(manifest, "STORE", inner)
    monkeypatch.setattr(fetch, "STORE", inner)
    return inner


def test_the_manifest_pins_enough_packages_and_names_no_host() -> None:
    found = packages()
    assert len(found) >= 25
    for each in found:
        assert re.fullmatch(r"[0-9a-f]{64}", each.sha256), each.name
        assert each.version in each.file and each.licence and each.what
    assert "://" not in manifest.MANIFEST.read_text(encoding="utf-8")
    assert [each.name for each in packages(["t3f", "larq"])] == ["larq", "t3f"]
    with pytest.raises(manifest.UnknownPackageError, match="no-such"):
        packages(["no-such"])


def test_the_index_is_the_one_of_pip(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_INDEX_URL", "https://index.example/root/simple/")
    assert fetch.index_url() == "https://index.example/root/simple"


@pytest.mark.parametrize(
    "page",
    [
        b'{"files": [{"filename": "tiny-1.0.tar.gz", "url": "../../files/tiny-1.0.tar.gz"}]}',
        b'<html><a href="../../files/tiny-1.0.tar.gz#sha256=00" data-requires-python="&gt;=3">tiny-1.0.tar.gz</a></html>',
    ],
)
def test_a_file_is_found_on_both_forms_of_the_page(page: bytes) -> None:
    assert fetch.file_address(page, "tiny-1.0.tar.gz") == "../../files/tiny-1.0.tar.gz"
    with pytest.raises(FetchError, match=r"no tiny-2\.0"):
        fetch.file_address(page, "tiny-2.0.tar.gz")


def served(monkeypatch: pytest.MonkeyPatch, content: bytes) -> list[str]:
    """An index that has one file; gives the addresses that were asked for."""
    asked: list[str] = []

    def read(address: str) -> bytes:
        asked.append(address)
        page = b'{"files": [{"filename": "tiny-1.0.tar.gz", "url": "/files/tiny-1.0.tar.gz"}]}'
        return page if address.endswith("/tiny/") else content

    monkeypatch.setattr(fetch, "_read", read)
    monkeypatch.setenv("PIP_INDEX_URL", "https://index.example/simple")
    return asked


def test_fetching_unpacks_once_and_goes_on_where_it_was_interrupted(
    shelf: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = tarball(**{"tiny-1.0/tiny.py": "x = 1\n"})
    asked = served(monkeypatch, content)
    wanted = package(content)
    assert fetch.fetch([wanted]) == 0
    assert asked == ["https://index.example/simple/tiny/", "https://index.example/files/tiny-1.0.tar.gz"]
    assert (shelf / "tiny-1.0" / "tiny.py").read_text() == "x = 1\n"
    assert fetch.fetch([wanted]) == 0 and len(asked) == 2, "what is there is not asked for again"
    wanted.marker.unlink()  # as if it had been interrupted
    (shelf / "tiny-1.0" / "left.py").write_text("half")
    assert fetch.fetch([wanted]) == 0 and len(asked) == 4
    assert sorted(path.name for path in shelf.iterdir()) == ["tiny-1.0", "tiny-1.0.sha256"]
    assert not (shelf / "tiny-1.0" / "left.py").exists()


def test_another_digest_is_refused(
    shelf: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    served(monkeypatch, tarball(**{"tiny-1.0/tiny.py": "x = 2\n"}))
    assert fetch.fetch([package(b"another")]) == 1
    assert "digest" in capsys.readouterr().err
    assert list(shelf.iterdir()) == []


def test_an_archive_cannot_write_outside_of_its_folder(shelf: Path, tmp_path: Path) -> None:
    shelf.mkdir()
    escaping = tarball(**{"tiny-1.0/a.py": "", "../../escaped.py": "x = 1\n"})
    with pytest.raises(FetchError):
        fetch.store(package(escaping), escaping)
    wheel = io.BytesIO()
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("../../escaped.py", "x = 1\n")
        archive.writestr("tiny/a.py", "")
    whole = package(wheel.getvalue(), "tiny-1.0-py3-none-any.whl")
    fetch.store(whole, wheel.getvalue())
    assert (shelf / "tiny-1.0" / "tiny" / "a.py").exists()
    assert [path for path in tmp_path.rglob("escaped.py") if whole.folder not in path.parents] == []


def test_a_change_of_the_code_shows_in_the_difference(tmp_path: Path) -> None:
    folder = tmp_path / "tiny"
    folder.mkdir()
    (folder / "training.py").write_text(TRAINING)
    first = summary.summary_of(analyze_folder(folder, 60).report)
    assert first["refactored"]["safe"] == {"add_tf_function": ["training.py: step"]}
    assert list(summary.differences(first, first)) == []
    (folder / "training.py").write_text(
        TRAINING.replace("    y = normalise(x)\n", "    y = normalise(x)\n    print('step')\n")
    )
    second = summary.summary_of(analyze_folder(folder, 60).report)
    told = list(summary.differences(first, second))
    assert "- refactored, safe, add_tf_function: training.py: step" in told
    assert "+ refactored, coexec, co_execute: training.py: step" in told
    assert "  candidates, unsafe: 0 → 1" in told
    assert {line.replace("+ ", "~ ").replace("- ", "+ ").replace("~ ", "- ") for line in told if line[0] in "+-"} == {
        line for line in summary.differences(second, first) if line[0] in "+-"
    }


def test_the_checks_of_a_trial_hold_and_can_fail(tmp_path: Path) -> None:
    folder = tmp_path / "tiny"
    folder.mkdir()
    (folder / "training.py").write_text(TRAINING)
    (folder / "broken.py").write_text("def f(:\n")
    trial = try_folder(folder, 60)
    assert trial.failures == []
    assert (trial.changes, trial.changed_files) == (1, 1)
    functions = trial.report["functions"]
    for wrong, text in ((functions[1:], "is not in the report"), ([*functions, functions[0]], "once too often")):
        again = Trial("tiny", report={**trial.report, "functions": wrong})
        check_definitions(again, parsed(folder))
        (failure,) = again.failures
        assert text in failure


def test_what_is_a_test_and_what_a_candidate() -> None:
    assert [
        path
        for path in ("a/tests/b.py", "a/b_test.py", "test_a.py", "a/latest.py", "a/protest/b.py")
        if summary.in_tests(path)
    ] == [
        "a/tests/b.py",
        "a/b_test.py",
        "test_a.py",
    ]
    entry = {"kind": "function", "hybrid": False, "parameters": [{"kind": "container", "types": []}]}
    assert not summary.is_candidate(entry)
    assert summary.is_candidate({**entry, "hybrid": True})
    assert not summary.is_candidate({**entry, "hybrid": True, "kind": "lambda"})
    assert summary.is_candidate({**entry, "parameters": [{"kind": "variable", "types": []}]})
    assert summary.without_names("about 34 operations of `f` (TR201)") == "about N operations of … (TR201)"


def test_outcomes_are_read_from_a_junit_file(tmp_path: Path) -> None:
    file = tmp_path / "results.xml"
    file.write_text(
        "<testsuites><testsuite><testcase classname='a' name='one'/><testcase classname='a' name='two'><failure/></testcase>"
        "<testcase classname='b' name='three'><skipped/></testcase></testsuite></testsuites>"
    )
    assert outcomes_of(file) == {"a.one": "passed", "a.two": "failed", "b.three": "skipped"}


def test_every_package_has_a_summary_and_no_other_is_committed() -> None:
    assert sorted(path.stem for path in summary.EXPECTED.glob("*.json")) == sorted(each.key for each in packages())


def test_the_page_is_what_the_committed_files_say() -> None:
    assert tables.PAGE.read_text(encoding="utf-8") == tables.page(), "stale: python -m corpus report"


def committed() -> dict[str, summary.Summary]:
    found = {each.key: summary.read(each.key) for each in packages()}
    return {key: each for key, each in found.items() if each is not None}


def test_the_choice_shows_every_kind_of_decision() -> None:
    summaries = committed()
    choice = chosen(summaries)
    shown = set().union(*(kinds_of(summaries[key]) for key in choice)) | only_in_large(summaries)
    assert shown == set().union(*map(kinds_of, summaries.values()))
    assert len(choice) < len(summaries)
    few = {"a": {"refactored": {}, "refused": {"x": 1}, "assumptions": {}, "findings": {"TR101": 2}, "lines": 9}}
    few["b"] = {**few["a"], "findings": {}, "lines": 3}
    few["c"] = {**few["a"], "refactored": {"safe": {"add_tf_function": ["f"]}}, "findings": {}, "refused": {}}
    assert chosen(few) == ["a", "c"]
    few["d"] = {**few["a"], "lines": 1}
    assert chosen(few) == ["c", "d"]
    assert only_in_large(few) == set()
    few["e"] = {**few["a"], "assumptions": {"y": 1}, "lines": LARGEST + 1}
    assert chosen(few) == ["c", "d"]
    assert only_in_large(few) == {("assumptions", "y")}


def test_what_only_a_large_package_shows_is_shown_by_small_files() -> None:
    found = summary.summary_of(analyze_folder(Path(__file__).parent / "kinds_of_decisions", 60).report)
    assert only_in_large(committed()) - kinds_of(found) == set()


def wanted() -> list[Package]:
    """The packages that are analysed: all in `make test-all`, and in each other run those of the choice, the longest first."""
    summaries = committed()
    choice = summaries.keys() if runs_everything() else set(chosen(summaries))
    found = [each for each in packages() if each.key in choice]
    return sorted(found, key=lambda each: -summaries[each.key]["lines"])


@pytest.mark.slow
@pytest.mark.parametrize("released", wanted(), ids=lambda released: released.name)
def test_a_package_is_judged_as_is_committed(released: Package) -> None:
    if not released.fetched:
        pytest.skip("not fetched: python -m corpus fetch")
    trial = analyze_folder(released.folder, 1500)
    assert trial.failures == []
    changed = commands.difference(released, summary.summary_of(trial.report))
    assert changed == [], "\n" + "\n".join([*changed, "if that is right: python -m corpus analyze --renew"])
