"""`batch`: many repositories into one file of results."""

from __future__ import annotations

import gc
from pathlib import Path
from typing import Annotated

import typer

from terra_refactor.batch.executors import run_locally, run_on_dask
from terra_refactor.batch.limits import RepositoryLimits, RepositoryStatus
from terra_refactor.batch.manifest import read_manifest
from terra_refactor.batch.parquet import SUFFIX, ParquetFile
from terra_refactor.batch.results import ResultFile
from terra_refactor.batch.summary import print_summary
from terra_refactor.cli.errors import guarded
from terra_refactor.cli.exit_codes import DONE, UNREADABLE
from terra_refactor.cli.options import Jobs, Quiet
from terra_refactor.cli.output import err, out, progress_callback
from terra_refactor.errors import UsageError
from terra_refactor.workspace.pool import available_jobs

Manifest = Annotated[
    str,
    typer.Argument(
        metavar="MANIFEST", help="A text file with one repository per line, or a TOML file of [[repository]] tables."
    ),
]
Results = Annotated[
    str,
    typer.Option(
        "--output",
        metavar="FILE",
        help="The result file, JSON lines or FILE.parquet; a repeated run continues it.",
    ),
]
Executor = Annotated[str, typer.Option("--executor", metavar="NAME", help="local or dask.")]
SchedulerOption = Annotated[
    str | None,
    typer.Option(
        "--scheduler", metavar="ADDRESS", help="With --executor dask: the address of the cluster's scheduler."
    ),
]
RepositoryTimeout = Annotated[float, typer.Option("--timeout", metavar="SECONDS", help="Time limit per repository.")]
RepositoryMemory = Annotated[
    int, typer.Option("--memory", metavar="MB", help="Memory limit per repository; 0 for no limit.")
]
Retry = Annotated[bool, typer.Option("--retry", help="Also repeat repositories that failed.")]


_LIMITS = RepositoryLimits()


@guarded
def batch_command(
    manifest: Manifest,
    *,
    output: Results = "terra-refactor-batch.jsonl",
    executor: Executor = "local",
    scheduler: SchedulerOption = None,
    jobs: Jobs = None,
    timeout: RepositoryTimeout = _LIMITS.seconds,
    memory: RepositoryMemory = _LIMITS.memory_mb,
    retry: Retry = False,
    quiet: Quiet = False,
) -> int:
    """Analyse many repositories, each in its own process, into one file."""
    if executor not in ("local", "dask"):
        raise UsageError(f"--executor: must be local or dask, not {executor}")
    if (executor == "dask") != (scheduler is not None):
        raise UsageError("--executor dask requires --scheduler ADDRESS, and --scheduler requires --executor dask")
    if timeout <= 0 or memory < 0 or (jobs is not None and jobs < 0):
        raise UsageError("--timeout must be positive; --memory and --jobs must be non-negative integers")
    gc.enable()  # a long-running command
    entries = read_manifest(Path(manifest))
    limits = RepositoryLimits(timeout, memory)
    opened = ParquetFile(Path(output)) if output.endswith(SUFFIX) else ResultFile(Path(output))
    with opened as results, progress_callback(quiet=quiet) as progress:
        todo = results.todo(entries, retry=retry)
        done = len(entries) - len(todo)
        if done and not quiet:
            err().print(f"{done} of {len(entries)} are in {output} already", soft_wrap=True)
        if progress is not None:
            progress("repositories", done, len(entries))
        lines = (
            run_locally(todo, limits, jobs or available_jobs())
            if scheduler is None
            else run_on_dask(todo, limits, scheduler)
        )
        for line in lines:
            results.add(line)
            done += 1
            if progress is not None:
                progress("repositories", done, len(entries))
        own = [results.lines[entry.identity] for entry in entries]
    if not quiet:
        print_summary(out(), own)
    return DONE if all(line["status"] == RepositoryStatus.DONE.value for line in own) else UNREADABLE
