"""Measures the editor's answers about released files: hover answers for names, and the precision of hints.

Computes: for each file the share of names in functions for which hover has an answer, and the share of inlay hints
that are fully known. Needs: the packages of `corpus/packages` (`python -m corpus fetch`), or files on the command
line. Gives: a table on standard output.

    python benchmarks/editor.py [--unanswered] [FOLDER:FILE ...]

A name is any identifier in a function's text that is not a keyword. A hint is fully known if it has a dtype, and
every size is a number or has a name.
"""

from __future__ import annotations

import argparse
import io
import keyword
import re
import sys
import tempfile
import time
import tokenize
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from terra_refactor.config import Config
from terra_refactor.ide.hover import hover
from terra_refactor.ide.inlay_hints import inlay_hints
from terra_refactor.ide.session import Session
from terra_refactor.ide.snapshot import NAMED, Snapshot
from terra_refactor.syntax.source import display_path

PACKAGES = Path(__file__).resolve().parents[1] / "corpus" / "packages"
FILES = (
    ("attention-5.0.0", "attention/attention.py"),
    ("kapre-0.4.1", "kapre/augmentation.py"),
    ("keras-tcn-3.5.7", "tcn/tcn.py"),
    ("larq-0.14.0", "larq/quantizers.py"),
    ("nobrainer-1.2.1", "nobrainer/models/unetr.py"),
    ("opennmt-tf-2.32.0", "opennmt/layers/transformer.py"),
    ("spektral-1.3.1", "spektral/layers/pooling/src.py"),
    ("tensorflow-recommenders-0.7.7", "tensorflow_recommenders/tasks/retrieval.py"),
    ("tf2-gnn-2.14.0", "tf2_gnn/layers/gnn.py"),
)


@dataclass(frozen=True, slots=True)
class Counts:
    """Counts of one file."""

    names: int
    answered: int
    unknown: int
    """The number of answers that say that nothing is known."""
    hints: int
    known: int
    longest: int
    seconds: float
    """Processor seconds for all hovers."""


def names_in(snapshot: Snapshot, path: str) -> list[tuple[str, int, int]]:
    """The names in functions: text, line, column from 1."""
    spans = [function.span for function in snapshot.functions(path) if function.kind in NAMED]
    found: list[tuple[str, int, int]] = []
    for token in tokenize.generate_tokens(io.StringIO(snapshot.sources[path].text).readline):
        line, column = token.start[0], token.start[1] + 1
        if token.type == tokenize.NAME and not keyword.iskeyword(token.string):
            if any(span.contains(line, column) for span in spans):
                found.append((token.string, line, column))
    return found


def is_fully_known(label: str) -> bool:
    """Whether a hint has a dtype, and a number or a name for each size."""
    return re.search(r"\b(float|int|uint|bool|string|complex|bfloat)\w* \(", label) is not None and not re.search(
        r"\?|\.\.\.|…|shapes", label
    )


def count(root: Path, file: Path, unanswered: Counter[str] | None) -> Counts:
    """Counts one file of a project."""
    with tempfile.TemporaryDirectory() as cache:
        session = Session(str(root), Config(jobs=1, cache_dir=cache))
        path = display_path(file)
        snapshot = session.snapshot(path)
    names = names_in(snapshot, path)
    started = time.process_time()
    answered = unknown = 0
    for name, line, column in names:
        answer = hover(snapshot, path, line, column)
        if answer is not None:
            answered += 1
            unknown += "`: unknown; " in answer.text
        elif unanswered is not None:
            unanswered[name] += 1
    seconds = time.process_time() - started
    hints = inlay_hints(snapshot, path, 1, 10**9)
    known = sum(is_fully_known(hint.label) for hint in hints)
    longest = max((len(hint.label) for hint in hints), default=0)
    return Counts(len(names), answered, unknown, len(hints), known, longest, seconds)


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--unanswered", action="store_true", help="print the names that have no answer")
    parser.add_argument("--hints", action="store_true", help="print the hints")
    parser.add_argument("files", nargs="*", metavar="FOLDER:FILE")
    options = parser.parse_args()
    places = [] if options.files else [(PACKAGES / folder, PACKAGES / folder / file) for folder, file in FILES]
    for given in options.files:
        folder, _, file = given.partition(":")
        places.append((Path(folder), Path(folder) / file))
    unanswered: Counter[str] | None = Counter() if options.unanswered else None
    rows: list[tuple[str, Counts]] = []
    for root, file in places:
        if not file.is_file():
            print(f"not there: {file}", file=sys.stderr)
            continue
        rows.append((f"{root.name}/{file.name}", count(root, file, unanswered)))
    print(f"{'file':<50} names answered (unknown)  hints  known longest   ms/hover")
    for name, row in rows:
        print(
            f"{name:<50} {row.names:>5} {row.answered / max(1, row.names):>8.0%} {row.unknown:>9} {row.hints:>6} "
            f"{row.known / max(1, row.hints):>6.0%} {row.longest:>7} {1000 * row.seconds / max(1, row.names):>10.1f}"
        )
    total = [
        sum(getattr(row, field) for _, row in rows) for field in ("names", "answered", "unknown", "hints", "known")
    ]
    print(
        f"{'all':<50} {total[0]:>5} {total[1] / max(1, total[0]):>8.0%} {total[2]:>9} {total[3]:>6} "
        f"{total[4] / max(1, total[3]):>6.0%} {max((row.longest for _, row in rows), default=0):>7}"
    )
    if unanswered is not None:
        print("without an answer:", ", ".join(f"{name} {number}" for name, number in unanswered.most_common(60)))


if __name__ == "__main__":
    main()
