"""Options that several commands share, each declared once.

Computes: the configuration of a run. Needs: the command line. Gives: the annotated types of the parameters,
`read_config`, `make_options`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from terra_refactor.config import Config, load_config
from terra_refactor.errors import UsageError
from terra_refactor.syntax.source import STDIN_NAME
from terra_refactor.workspace.loading import StandardInput
from terra_refactor.workspace.project import STDIN
from terra_refactor.workspace.workspace import Options, Progress

Paths: TypeAlias = Annotated[
    list[str], typer.Argument(metavar="PATH...", help="Files, folders, or - for one module on standard input.")
]
Format: TypeAlias = Annotated[
    str,
    typer.Option(
        "--format",
        metavar="FORMAT",
        help="text (the default), json, jsonl, sarif, html, github, markdown, gitlab, junit or rdjson.",
    ),
]
Output: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--output",
        metavar="[FORMAT:]FILE",
        help="FILE: write the report there instead of printing it. FORMAT:FILE: write another one, too; may be given several times.",
    ),
]
Select: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--select", metavar="RULES", help="Report only these rules or families (TR3, TR101,shape-mismatch)."),
]
Ignore: TypeAlias = Annotated[
    list[str] | None, typer.Option("--ignore", metavar="RULES", help="Do not report these rules or families.")
]
ConfigFile: TypeAlias = Annotated[
    str | None,
    typer.Option("--config", metavar="FILE", help="Read this file instead of the nearest pyproject.toml."),
]
Exclude: TypeAlias = Annotated[
    list[str] | None, typer.Option("--exclude", metavar="GLOB", help="Do not read what matches (as in .gitignore).")
]
Baseline: TypeAlias = Annotated[
    str | None,
    typer.Option("--baseline", metavar="FILE", help="Do not report what this earlier JSON report has already."),
]
Jobs: TypeAlias = Annotated[
    int | None, typer.Option("--jobs", "-j", metavar="N", help="Worker processes; 0 for one per processor.")
]
NoCache: TypeAlias = Annotated[bool, typer.Option("--no-cache", help="Neither read nor write the analysis cache.")]
Quiet: TypeAlias = Annotated[bool, typer.Option("--quiet", "-q", help="Print only what was asked for.")]
Verbose: TypeAlias = Annotated[
    bool, typer.Option("--verbose", "-v", help="Print types, assumptions, effects and hazards, too.")
]
StdinFilename: TypeAlias = Annotated[
    str | None, typer.Option("--stdin-filename", metavar="NAME", help="What standard input is called in reports.")
]
MinOps: TypeAlias = Annotated[
    int | None,
    typer.Option("--min-ops", metavar="N", help="The fewest tensor operations per call for which converting pays."),
]
TfVersion: TypeAlias = Annotated[
    str | None, typer.Option("--tf-version", metavar="X.Y", help="The TensorFlow that the code is for.")
]


def read_config(
    paths: Sequence[str],
    *,
    config: str | None,
    select: list[str] | None,
    ignore: list[str] | None,
    baseline: str | None,
    jobs: int | None,
    min_ops: int | None = None,
    tf_version: str | None = None,
    level: str | None = None,
) -> Config:
    """The configuration nearest to the first path, with the options of the command line.

    Raises:
        UsageError: the configuration or an option is wrong.
    """
    start = next((path for path in paths if path != STDIN), ".")
    folder = start if os.path.isdir(start) else os.path.dirname(start) or "."
    return load_config(config, folder).with_options(
        select=_codes(select),
        ignore=_codes(ignore),
        baseline=None if baseline is None else str(Path(baseline).absolute()),
        jobs=jobs,
        min_ops=min_ops,
        tf_version=tf_version,
        level=level,
    )


def make_options(
    paths: Sequence[str],
    config: Config,
    *,
    exclude: list[str] | None,
    no_cache: bool,
    stdin_filename: str | None,
    progress: Progress | None,
) -> Options:
    """The options of a run; reads standard input where a path is `-`."""
    stdin: StandardInput | None = None
    if STDIN in paths:
        stdin = StandardInput(sys.stdin.buffer.read(), stdin_filename or STDIN_NAME)
    elif stdin_filename is not None:
        raise UsageError("--stdin-filename: no path is -, so nothing is read from standard input")
    return Options(config=config, exclude=tuple(exclude or ()), stdin=stdin, use_cache=not no_cache, progress=progress)


def _codes(values: list[str] | None) -> list[str] | None:
    """`--select TR1,TR2 --select TR3` as one list."""
    if values is None:
        return None
    return [code for value in values for part in value.split(",") if (code := part.strip())]
