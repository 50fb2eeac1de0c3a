"""Suppression comments: how far each reaches, and what is none."""

from __future__ import annotations

import pytest

from terra_refactor.syntax.comments import SuppressionKind, read_suppressions


def suppressed_lines(text: str, rule: str, name: str = "") -> list[int]:
    found = read_suppressions(text)
    return [line for line in range(1, text.count("\n") + 2) if found.find(rule, line, rule_name=name) is not None]


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("x = 1\ny = 2  # terra: ignore[TR101]\nz = 3\n", [2]),
        ("y = 2  # terra: ignore\n", [1]),
        ("y = 2  #terra:ignore[ TR3 , TR1 ] why not\n", [1]),
        ("y = 2  # terra: ignore[tr101]\n", [1]),
        ("y = 2  # terra: ignore[TR301]\n", []),
        ("y = 2  # noqa # terra: ignore[TR101]\n", [1]),
        ("# terra: ignore[TR101]\n# more words\n\ny = 2\nz = 3\n", [4]),
        ("a\n# terra: off[TR1]\nb\nc\n# terra: on[TR1]\nd\n", [2, 3, 4, 5]),
        ("a\n# terra: off\nb\n", [2, 3, 4]),
        ("# terra: off[TR1]\n# terra: off[TR101]\na\n# terra: on[TR1]\nb\n# terra: on[TR101]\nc\n", [1, 2, 3, 4, 5, 6]),
        ("a\nb  # terra: ignore-file[TR1] all of it\n", [1, 2, 3]),
        ("s = '# terra: ignore'\nt = '''\n# terra: ignore-file\n'''\n", []),
        ("f'{x}'  # terra: ignore\r\ny\r\n", [1]),
        ("def f(:  # terra: ignore\n", [1]),
        ("x  # terra: ignored\n", []),
        ("x  # terra: ignore-all\n", []),
    ],
)
def test_reach(text: str, lines: list[int]) -> None:
    assert suppressed_lines(text, "TR101") == lines


def test_by_name() -> None:
    text = "x  # terra: ignore[host-print-or-log]\n"
    assert suppressed_lines(text, "TR101", "host-print-or-log") == [1]
    assert suppressed_lines(text, "TR102", "host-state-mutation") == []


def test_reason_place_and_nearest_kind() -> None:
    found = read_suppressions("# terra: ignore-file[TR1]\nx  # terra: ignore[TR101]: shown once\n")
    nearest = found.find("TR101", 2)
    assert nearest is not None
    assert (nearest.kind, nearest.reason, str(nearest.span)) == (SuppressionKind.LINE, "shown once", "2:4-2:38")
    other = found.find("TR102", 2)
    assert other is not None and other.kind is SuppressionKind.FILE


def test_a_finding_of_several_lines() -> None:
    found = read_suppressions("f(a,\n  b)  # terra: ignore[TR101]\n")
    assert found.find("TR101", 1, 2) is not None
    assert found.find("TR101", 1) is None


@pytest.mark.parametrize(
    "text", ["x  # terra: ignore[]\n", "x  # terra: ignore[TR101 TR102]\n", "# terra: on[TR1]\n", "# terra: on\n"]
)
def test_malformed(text: str) -> None:
    found = read_suppressions(text)
    assert found.entries == ()
    assert [entry.span.line for entry in found.malformed] == [1]
