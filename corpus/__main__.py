"""What can be shown on the programs of this folder: `python -m corpus COMMAND`.

`agree` compares the analysis with what reviewers expect; `evaluate` runs the programs before and after the refactorings, and writes docs/evaluation.md.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Do the command."""
    parser = argparse.ArgumentParser(prog="python -m corpus", description=(__doc__ or "").partition("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    agree = commands.add_parser("agree", help="compare the analysis with the sidecars of corpus/programs")
    evaluate = commands.add_parser("evaluate", help="run the programs before and after, and write docs/evaluation.md")
    evaluate.add_argument("--rounds", type=int, default=3, help="pairs of timed runs (3)")
    for command in (agree, evaluate):
        command.add_argument("names", nargs="*", metavar="PROGRAM", help="names of folders of corpus/programs; all if none")
    options = parser.parse_args(arguments)
    if options.command == "agree":
        return _agree(options.names)
    from corpus.evaluate import evaluate as run  # noqa: PLC0415 - the other command needs less

    return run(options.names, options.rounds)


def _agree(names: Sequence[str]) -> int:
    from corpus.expectations import decisions_of, disagreements, missing, programs, said  # noqa: PLC0415 - as above

    count = 0
    for program in programs():
        if names and program.name not in names:
            continue
        decisions = decisions_of(program)
        for text in missing(program, decisions):
            print(f"{program.name}/{text}: not in both the analysis and the expectations")
            count += 1
        for found in disagreements(program, decisions):
            print(said(found))
            count += 1
    print(f"{count} disagreements")
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main())
