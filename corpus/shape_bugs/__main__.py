"""Prints the index of the gallery: `python -m corpus.shape_bugs`."""

from __future__ import annotations

from corpus.shape_bugs import shape_bugs


def main() -> None:
    """One line for each pair, and the number of pairs of each kind."""
    bugs = shape_bugs()
    for bug in bugs:
        kind = "silent" if bug.silent else "raises"
        print(f"{bug.generation}  {kind}  {bug.name:32} line {bug.line:3}  {bug.function or '-'}")
    inside = sum(bug.function is not None for bug in bugs)
    print(
        f"{len(bugs)} pairs: {sum(bug.generation == 1 for bug in bugs)} of TensorFlow 1, {sum(bug.silent for bug in bugs)} silent, "
        f"{inside} ({inside / len(bugs):.0%}) in a function, with values that a call brings"
    )


if __name__ == "__main__":
    main()
