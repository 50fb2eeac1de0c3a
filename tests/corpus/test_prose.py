"""Pages of Markdown are wrapped without a change of what they say."""

from __future__ import annotations

import pytest

from corpus.prose import WIDTH, wrap

WORDS = "one sentence of some words that says very little and is repeated until it is longer than a line. " * 2


def test_a_paragraph_and_the_items_of_a_list_fit() -> None:
    text = f"{WORDS}\n\n- {WORDS}\n  {WORDS}\n    - {WORDS}\n1. {WORDS}\n\n> {WORDS}\n> {WORDS}\n"
    wrapped = wrap(text)
    assert max(map(len, wrapped.split("\n"))) <= WIDTH
    assert wrapped.replace("\n> ", " ").split() == text.replace("\n> ", " ").split()
    assert [line[:6] for line in wrapped.split("\n") if line.lstrip().startswith(("-", "1"))] == [
        "- one ",
        "    - ",
        "1. one",
    ]
    assert wrap(wrapped) == wrapped


@pytest.mark.parametrize(
    "text",
    [
        f"```python\n{WORDS}\n\n# {WORDS}\n```",
        f"    ```text\n    {WORDS}\n    ```",
        f"Run\n\n    $ {WORDS}\n    $ {WORDS}\n",
        f"````\n```\n{WORDS}\n```\n{WORDS}\n````",
        f"| {WORDS} | {WORDS} |",
        f"## {WORDS}",
        f"<p>{WORDS}</p>",
        f"![{WORDS}](picture.png)",
        f"{WORDS.strip()}  \na line that was broken on purpose",
        "`" + "x" * 120 + "`.",
        "short lines\nstay as\nthey are",
    ],
)
def test_other_text_stays(text: str) -> None:
    assert wrap(text) == text


def test_code_and_links_are_not_broken() -> None:
    filler = "word " * 18
    assert (
        wrap(f"{filler}`with tf.GradientTape() as tape:` ends")
        .split("\n")[1]
        .startswith("`with tf.GradientTape() as tape:`")
    )
    assert (
        wrap(f"{filler}[a page of this site](page.md#a-section) ends")
        .split("\n")[1]
        .startswith("[a page of this site](page.md#a-section)")
    )


@pytest.mark.parametrize("marker", ["-", "+", "12.", "#", ">", "1)"])
def test_no_line_begins_with_what_markdown_takes_for_something_else(marker: str) -> None:
    text = f"{'x' * 50} {'y' * 48} {marker} {'z' * 30}"
    lines = wrap(text).split("\n")
    assert not any(line.startswith(marker) for line in lines)
    assert " ".join(lines) == text
