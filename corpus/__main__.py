"""Measurements on the programs and packages of this folder: `python -m corpus COMMAND`.

On the programs: `agree` compares the analysis with what reviewers expect; `evaluate` runs the programs before and after the
refactorings, and writes docs/evaluation.md; `try` repeats a part of that; `record` runs them (and those of typed/, coexec/ and the
demo) under the recorder, and `types` compares the recorded types with the analysis. On released packages (packages.toml): `fetch`
downloads them; `analyze` runs and checks the tool on them, and compares with the committed results; `accuracy` and `refactor` run
their own tests; `report` writes docs/packages.md and the tables of results in README.md, docs/index.md and docs/comparison.md.
`index` writes corpus/README.md, the index of everything here. `all` runs everything.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

LEVELS = ("safe", "speculative")


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command."""
    options = _parser().parse_args(arguments)
    match options.command:
        case "agree":
            return _agree(options.names)
        case "evaluate":
            from corpus.evaluate import evaluate as run  # noqa: PLC0415 - the other commands need less

            code = run(options.names, options.rounds)
            _write_pages()
            return code
        case "try":
            from corpus.evaluate import try_all  # noqa: PLC0415 - as above

            return try_all(options.names)
        case "record":
            from corpus.recorder.bundled import record_bundled  # noqa: PLC0415 - as above

            return record_bundled(options.names)
        case "types":
            from corpus.recorder.bundled import compare_bundled  # noqa: PLC0415 - as above

            code = compare_bundled()
            _write_pages()
            return code
        case "index":
            from corpus.index import write_index  # noqa: PLC0415 - as above

            return write_index()
        case "all":
            from corpus.whole import run_all  # noqa: PLC0415 - as above

            return run_all()
        case _:
            return _released(options)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m corpus", description=(__doc__ or "").partition("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    agree = commands.add_parser("agree", help="compare the analysis with the sidecars of corpus/programs")
    evaluate = commands.add_parser("evaluate", help="run the programs before and after, and write docs/evaluation.md")
    evaluate.add_argument("--rounds", type=int, default=3, help="pairs of timed runs (3)")
    trying = commands.add_parser("try", help="the part of `evaluate` that decorates what is left alone, to see whether it would pay")
    recording = commands.add_parser("record", help="run the programs eagerly, and keep the types that reach their functions in corpus/recordings")
    commands.add_parser("types", help="compare the analysis with corpus/recordings, and write docs/types.json")
    for command in (agree, evaluate, trying, recording):
        command.add_argument("names", nargs="*", metavar="PROGRAM", help="names of programs; all if none")
    fetch = commands.add_parser("fetch", help="bring the packages of packages.toml into corpus/packages")
    analyze = commands.add_parser("analyze", help="run the tool on the packages, check it, compare with what is committed")
    analyze.add_argument("--renew", action="store_true", help="commit to what is found: write corpus/released/expected")
    analyze.add_argument("--no-fix", action="store_true", help="leave out the refactoring of a copy and its checks")
    analyze.add_argument("--folder", type=Path, action="append", default=[], help="this folder instead of packages")
    accuracy = commands.add_parser("accuracy", help="run the packages' tests under the recorder, and compare the types")
    refactor = commands.add_parser("refactor", help="run the packages' tests before and after all changes of each level")
    refactor.add_argument("--level", choices=LEVELS, action="append", help="this level only")
    for command in (analyze, accuracy, refactor):
        command.add_argument("--timeout", type=float, default=1500, help="seconds for one command (1500)")
    for command in (fetch, analyze, accuracy, refactor):
        command.add_argument("names", nargs="*", metavar="PACKAGE", help="names of packages.toml; all if none")
    commands.add_parser("report", help="write docs/packages.md and the tables of README.md and docs/ from what is committed and what was measured")
    commands.add_parser("index", help="write corpus/README.md, the index of everything in this folder")
    commands.add_parser("all", help="everything that is above but `try`, which `evaluate` does as well, and `record`: the whole evaluation")
    return parser


def _released(options: argparse.Namespace) -> int:
    from corpus.released import commands  # noqa: PLC0415 - the other commands need less
    from corpus.released.manifest import UnknownPackageError, packages  # noqa: PLC0415 - as above

    if options.command == "report":
        _write_pages()
        return 0
    try:
        wanted = packages(options.names)
    except UnknownPackageError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    match options.command:
        case "fetch":
            from corpus.released.fetch import fetch  # noqa: PLC0415 - as above

            return fetch(wanted)
        case "analyze" if options.folder:
            return commands.analyze_folders(options.folder, options.timeout)
        case "analyze":
            return commands.analyze(wanted, renew=options.renew, fix=not options.no_fix, timeout=options.timeout)
        case "accuracy":
            from corpus.released.suites import accuracy  # noqa: PLC0415 - as above

            return accuracy(wanted, options.timeout)
        case _:
            from corpus.released.suites import refactor  # noqa: PLC0415 - as above

            return refactor(wanted, options.level or LEVELS, options.timeout)


def _write_pages() -> None:
    """Writes every page and table that is generated from stored results."""
    from corpus.claims import write_claims  # noqa: PLC0415 - as above
    from corpus.evaluate import renew_page  # noqa: PLC0415 - as above
    from corpus.released.tables import write_tables  # noqa: PLC0415 - as above

    renew_page()
    write_tables()
    write_claims()


def _agree(names: Sequence[str]) -> int:
    """Prints all disagreements.

    Returns 1 for any disagreement other than a different action or a less precise type, which are only counted.
    """
    from corpus.expectations import decisions_of, disagreements, missing, programs, said  # noqa: PLC0415 - as above

    count = wrong = 0
    for program in programs():
        if names and program.name not in names:
            continue
        decisions = decisions_of(program)
        for text in missing(program, decisions):
            print(f"{program.name}/{text}: not in both the analysis and the expectations")
            wrong += 1
        for found in disagreements(program, decisions):
            print(said(found))
            count += 1
            wrong += found.kind not in ("action", "precision")
    print(f"{count} disagreements")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
