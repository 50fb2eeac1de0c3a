"""Wraps the prose of Markdown pages at 100 columns.

Computes: pages whose paragraphs and list items fit. Needs: the files that git knows. Gives: `wrap`, for generators of
pages. Ignores: code, tables, headings, HTML, front matter, and single words that are too long. Run as `python -m
corpus.prose [--check] [FILE...]` (or by `make format` and `make lint`); without files, all documentation pages.
"""

from __future__ import annotations

import re
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
WIDTH = 100
# Texts that are test input, not documentation.
IGNORED = re.compile(r"tests/|corpus/demo/")
# `code` and link texts stay on one line if possible.
_UNBROKEN = re.compile(r"`[^`\n]+`|\[[^\]\n]*\]\([^)\n]*\)")
_SPACE = "\N{SYMBOL FOR SPACE}"
_ITEM = re.compile(r"(\s*)((?:[-*+]|\d+[.)])\s+|(?:>\s?)+)?")
_OTHER = re.compile(r"\s*(\||#|<|!!!|\?\?\?|===|\[[^\]]+\]:|!\[|---|```|~~~)")
_NESTING = re.compile(r"!!!|\?\?\?|===")
# Words that Markdown interprets as a list, heading or quotation at the beginning of a line.
_MARKER = re.compile(r"([-*+>]|#+|\d+[.)]|=+)$")


def pages() -> list[Path]:
    """The project's Markdown files that are documentation."""
    listed = subprocess.run(["git", "ls-files", "*.md"], cwd=ROOT, capture_output=True, text=True, check=True)
    return [ROOT / name for name in listed.stdout.split("\n") if name and not IGNORED.match(name)]


def wrap(text: str) -> str:
    """`text` with each paragraph and list item that has a line longer than `WIDTH` wrapped again.

    Other paragraphs keep their line breaks.
    """
    return "\n".join(line for block, prose in _blocks(text) for line in (_wrapped(block) if prose else block))


def _blocks(text: str) -> Iterator[tuple[list[str], bool]]:
    """The lines of `text`, by paragraph and list item; every other line alone, and whether it is prose."""
    paragraph: list[str] = []
    fence = ""
    nested = False  # indented lines belong to a list item, an admonition or a tab, and are not code
    for line in text.split("\n"):
        mark = re.match(r"\s*(```+|~~~+)", line)
        if line.strip() and not line.startswith(" "):
            nested = bool(_item(line)[2] or _NESTING.match(line))
        code = line.startswith("    ") and not nested and not paragraph
        verbatim = bool(fence or mark or code or _OTHER.match(line)) or not line.strip()
        if mark is not None and (not fence or mark[1].startswith(fence)):
            fence = "" if fence else mark[1]
        if paragraph and (verbatim or _item(line)[2]):
            yield paragraph, True
            paragraph = []
        if verbatim:
            yield [line], False
        else:
            paragraph.append(line)
    if paragraph:
        yield paragraph, True


def _item(line: str) -> re.Match[str]:
    """The indentation of a line, and the marker of a list or quotation, which may be missing."""
    found = _ITEM.match(line)
    assert found is not None
    return found


def _wrapped(block: list[str]) -> list[str]:
    first = block[0]
    broken_on_purpose = any(line.endswith(("  ", "\\")) for line in block)
    if all(len(line) <= WIDTH for line in block) or broken_on_purpose:
        return block
    initial = _item(first)[0]
    quoted = initial.lstrip().startswith(">")
    rest = [line.lstrip("> ") if quoted else line.strip() for line in block[1:]]
    if quoted:
        subsequent = initial
    elif rest:
        subsequent = block[1][: len(block[1]) - len(block[1].lstrip())]
    else:
        subsequent = " " * len(initial)
    text = " ".join([first[len(initial) :].strip(), *rest])
    lines = textwrap.wrap(
        _UNBROKEN.sub(lambda found: found[0].replace(" ", _SPACE), text),
        WIDTH,
        initial_indent=initial,
        subsequent_indent=subsequent,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return _without_markers([line.replace(_SPACE, " ") for line in lines], len(subsequent))


def _without_markers(lines: list[str], indent: int) -> list[str]:
    """`lines` without a marker at a beginning: such a word is moved to the previous line."""
    done = lines[:1]
    for line in lines[1:]:
        word, _, rest = line[indent:].partition(" ")
        if not _MARKER.match(word):
            done.append(line)
            continue
        done[-1] += f" {word}"
        if rest:
            done.append(line[:indent] + rest)
    return done


def main(arguments: list[str]) -> int:
    """Wraps the pages, or with `--check` only lists those that are not wrapped; returns the exit code."""
    check = "--check" in arguments
    chosen = [Path(name) for name in arguments if name != "--check"] or pages()
    texts = {path: path.read_text(encoding="utf-8") for path in chosen}
    stale = {path: after for path, text in texts.items() if (after := wrap(text)) != text}
    for path, after in stale.items():
        print(f"{path}: prose longer than {WIDTH} columns{'; run make format' if check else ', wrapped'}")
        if not check:
            path.write_text(after, encoding="utf-8")
    return int(check and bool(stale))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
