"""The same program with another layout."""

from __future__ import annotations

import io
import itertools
import random
import tokenize


def respaced(text: str, choice: random.Random, *, often: float = 0.15) -> str:
    """The text with other comments, blank lines, string statements, and line breaks after commas in brackets."""
    lines = text.splitlines(keepends=True)
    tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
    depth = 0
    put: list[tuple[int, int, str]] = []  # line, column, inserted text
    for each, after in itertools.pairwise(tokens):
        depth += (each.string in "([{" and each.type == tokenize.OP) - (
            each.string in ")]}" and each.type == tokenize.OP
        )
        row, column = each.end
        if each.type == tokenize.OP and each.string == "," and depth and choice.random() < often:
            put.append((row, column, choice.choice([" # here, too\n", "\n\n ", "    "])))
        elif each.type == tokenize.NEWLINE and each.string and choice.random() < often:
            texts = ["\n", "# été\n", "        # deep\n"]
            if after.type == tokenize.INDENT:
                texts += [f"{after.string}'''A text\nof two lines.'''\n", f"{after.string}b'bytes' b'and more'\n"]
            put.append((row, column, choice.choice(texts)))
    for row, column, new in sorted(put, reverse=True):
        line = lines[row - 1]
        lines[row - 1] = line[:column] + new + line[column:]
    return choice.choice(["", "# The head.\n\n"]) + "".join(lines)
