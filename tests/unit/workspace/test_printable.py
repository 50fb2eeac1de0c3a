"""Texts from a repository do no harm where they are shown."""

from __future__ import annotations

import pytest

from terra_refactor.workspace.printable import as_code, in_markdown, printable, unlike_command


def test_control_characters_are_written_as_python_writes_them() -> None:
    assert printable("a\x1b[2J\x07\x9b\x7f\u202eb") == "a\\x1b[2J\\x07\\x9b\\x7f\\u202eb"
    assert printable("line\n\ttab ü 中") == "line\n\ttab ü 中"
    assert printable("a\nb\tc\rd", one_line=True) == "a\\nb\\tc\\x0dd"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("::error::x", ": :error::x"),
        ("  ::add-mask::x", "  : :add-mask::x"),
        ("x[::2]", "x[::2]"),
        ("log ##[add-path]x", "log ## [add-path]x"),
    ],
)
def test_no_text_is_a_command_of_a_runner(text: str, shown: str) -> None:
    assert unlike_command(text) == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a [link](https://example.org)", "a [link]\\(https://example.org)"),
        ("![x](https://example.org/x.png)", "![x]\\(https://example.org/x.png)"),
        ("<img src=x> and 1 < 2", "\\<img src=x> and 1 < 2"),
        ("`x[0](1)` and `<b>` stay", "`x[0](1)` and `<b>` stay"),
        ("one ` alone [a](b)", "one ` alone [a]\\(b)"),
        ("`a` ` [x](y)", "`a` ` [x]\\(y)"),
        ("a\n\n# head\n[a]: b", "a # head [a]: b"),
        ("Net.__call__ of train_step", "Net.\\_\\_call\\_\\_ of train_step"),
        ("`__call__` and _a to b_", "`__call__` and \\_a to b\\_"),
    ],
)
def test_a_sentence_makes_no_markup(text: str, shown: str) -> None:
    assert in_markdown(text) == shown


def test_nothing_ends_a_code_span() -> None:
    assert as_code("plain.py") == "`plain.py`"
    assert as_code("a`b``c.py") == "``` a`b``c.py ```"
    assert as_code("a\nb") == "`a\\nb`"
