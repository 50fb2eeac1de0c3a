"""Laws of edits and diffs, on generated texts; `patch` is the judge of the diffs where it is installed."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from terra_refactor.syntax.edit import (
    Edit,
    OverlappingEditsError,
    apply_edits,
    minimal_edits,
    split_lines,
    unified_diff,
)
from terra_refactor.syntax.source import source_from_bytes

LINES = st.lists(st.sampled_from(["a", "b = 1", "", "\tc\x0c", "é", "\\"]), max_size=8)
TEXTS = st.builds(
    lambda lines, ends, last: "".join(f"{line}{ends[number % len(ends)]}" for number, line in enumerate(lines)) + last,
    LINES,
    st.lists(st.sampled_from(["\n", "\r\n"]), min_size=1, max_size=3),
    st.sampled_from(["", "x", "  "]),
)


@given(TEXTS, TEXTS)
def test_minimal_edits_lead_from_one_text_to_the_other(before: str, after: str) -> None:
    edits = minimal_edits(before, after)
    assert apply_edits(before, edits) == after
    assert (not edits) == (before == after)


@given(TEXTS)
def test_lines_are_the_text(text: str) -> None:
    assert "".join(split_lines(text)) == text


@given(st.text(alphabet="abc\n", max_size=30), st.data())
def test_edits_apply_in_any_order(text: str, data: st.DataObject) -> None:
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=8, unique=True)))
    edits = [
        Edit(start, end, data.draw(st.text(alphabet="xy", max_size=3)))
        for start, end in zip(cuts[::2], cuts[1::2], strict=False)
    ]
    expected = text
    for edit in reversed(edits):
        expected = expected[: edit.start] + edit.replacement + expected[edit.end :]
    assert apply_edits(text, data.draw(st.permutations(edits))) == expected


@given(st.binary(max_size=60).map(lambda data: data.replace(b"\0", b"")))
def test_latin_1_bytes_come_back(data: bytes) -> None:
    whole = b"# coding: latin-1\n" + data
    source = source_from_bytes(whole)
    assert source.encode(source.text) == whole


@pytest.mark.skipif(shutil.which("patch") is None, reason="needs `patch`")
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(before=TEXTS, after=TEXTS)
def test_patch_understands_the_diff(tmp_path: Path, before: str, after: str) -> None:
    diff = unified_diff("f.py", before, after)
    assert (diff == "") == (before == after)
    if not diff:
        return
    (tmp_path / "f.py").write_bytes(before.encode())
    (tmp_path / "f.diff").write_bytes(diff.encode())
    done = subprocess.run(
        ["patch", "--binary", "-s", "-p1", "-i", "f.diff"], cwd=tmp_path, capture_output=True, check=False
    )
    assert done.returncode == 0, (done, diff)
    result = tmp_path / "f.py"
    assert (result.read_bytes() if result.exists() else b"") == after.encode()


def test_overlaps() -> None:
    assert apply_edits("abc", [Edit(1, 1, "x"), Edit(1, 2, "y"), Edit(2, 2, "z")]) == "axyzc"
    assert apply_edits("abc", [Edit(1, 2, "y"), Edit(1, 2, "y")]) == "ayc"
    for first, second in (
        (Edit(0, 2, ""), Edit(1, 3, "")),
        (Edit(1, 1, "x"), Edit(1, 1, "y")),
        (Edit(0, 3, ""), Edit(1, 1, "y")),
        (Edit(0, 1, "a"), Edit(0, 1, "b")),
    ):
        with pytest.raises(OverlappingEditsError):
            apply_edits("abc", [second, first])
    with pytest.raises(ValueError, match="beyond the text"):
        apply_edits("abc", [Edit(2, 9, "")])
    with pytest.raises(ValueError, match="is none"):
        Edit(2, 1, "")


def test_the_form_of_a_diff() -> None:
    assert unified_diff("p/f.py", "a\r\nb", "a\r\nc") == (
        "--- a/p/f.py\n+++ b/p/f.py\n@@ -1,2 +1,2 @@\n a\r\n-b\n\\ No newline at end of file\n+c\n\\ No newline at end of file\n"
    )
