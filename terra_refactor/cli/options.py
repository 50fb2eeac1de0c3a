"""Options that several commands share, each declared once.

Computes: the configuration of a run. Needs: the command line. Gives: the annotated types of the parameters, and the
groups that several commands share: `RunOptions`, `VerifyOptions`.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from terra_refactor.cli.completion import complete_format, complete_level, complete_rules
from terra_refactor.cli.exit_codes import DONE
from terra_refactor.cli.output import err
from terra_refactor.config import Config, as_toml, load_config
from terra_refactor.errors import UsageError
from terra_refactor.syntax.source import STDIN_NAME
from terra_refactor.verify.commands import script_of, tests_of
from terra_refactor.verify.verdict import Limits, Script, Tests
from terra_refactor.workspace.components import AnalysedFiles
from terra_refactor.workspace.loading import StandardInput
from terra_refactor.workspace.printable import printable
from terra_refactor.workspace.project import STDIN
from terra_refactor.workspace.workspace import Options, ProgressCallback

if TYPE_CHECKING:
    from terra_refactor.verify.session import Setting

Paths: TypeAlias = Annotated[
    list[str],
    typer.Argument(
        metavar="PATH",
        help="Files, folders, or - for one module on standard input.",
        default_factory=lambda: ["."],
        show_default="the current folder",
    ),
]
Format: TypeAlias = Annotated[
    str,
    typer.Option(
        "--format",
        metavar="FORMAT",
        autocompletion=complete_format,
        help="text, json, jsonl, sarif, html, github, markdown, gitlab, junit or rdjson.",
    ),
]
Output: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--output",
        metavar="[FORMAT:]FILE",
        help="Write the report to FILE instead of printing it; each FORMAT:FILE writes another report.",
    ),
]
Select: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--select",
        metavar="RULES",
        autocompletion=complete_rules,
        help="Use only these rules or families (TR3 or TR101,shape-mismatch), or ALL.",
    ),
]
Ignore: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--ignore", metavar="RULES", autocompletion=complete_rules, help="Ignore these rules or families."),
]
ConfigFile: TypeAlias = Annotated[
    str | None,
    typer.Option("--config", metavar="FILE", help="Read this file instead of the nearest pyproject.toml."),
]
Exclude: TypeAlias = Annotated[
    list[str] | None, typer.Option("--exclude", metavar="GLOB", help="Skip paths that match (as in .gitignore).")
]
BaselineOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--baseline", metavar="FILE", help="Do not report the findings listed in this file (see --write-baseline)."
    ),
]
EvidenceFiles: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--evidence",
        metavar="FILE",
        help="Use a record written by `terra-refactor record`; may be given several times.",
    ),
]
WriteBaseline: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--write-baseline",
        help="Write all findings to the baseline (--baseline, else the configuration's, else terra-refactor-baseline.json).",
    ),
]
ShrinkBaseline: TypeAlias = Annotated[
    bool, typer.Option("--shrink-baseline", help="Remove fixed findings from the baseline; add none.")
]
DiffBase: TypeAlias = Annotated[
    str | None,
    typer.Option("--diff-base", metavar="REV", help="Report only findings that are new since this git revision."),
]
Isolated: TypeAlias = Annotated[bool, typer.Option("--isolated", help="Read no configuration file.")]
ShowSettings: TypeAlias = Annotated[
    bool,
    typer.Option("--show-settings", help="Print the settings in effect and where each comes from, and exit."),
]
Jobs: TypeAlias = Annotated[
    int | None,
    typer.Option("--jobs", "-j", metavar="N", help="Worker processes; 0 (the default) for one per processor."),
]
CacheDir: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--cache-dir",
        metavar="FOLDER",
        help="Folder of the analysis cache; by default $TERRA_REFACTOR_CACHE_DIR, else the user's cache folder.",
    ),
]
FollowLinks: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--follow-links", help="Also read symbolic links that lead outside of the paths; never write through them."
    ),
]
NoCache: TypeAlias = Annotated[bool, typer.Option("--no-cache", help="Neither read nor write the analysis cache.")]
Quiet: TypeAlias = Annotated[bool, typer.Option("--quiet", "-q", help="Print only the report.")]
Verbose: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--verbose",
        "-v",
        help="Print everything: types, assumptions and hazards of all functions, all related places, all changes left out.",
    ),
]
EveryFunction: TypeAlias = Annotated[
    bool, typer.Option("--all", "-a", help="List every function, file by file, instead of only those to change.")
]
StdinFilename: TypeAlias = Annotated[
    str | None, typer.Option("--stdin-filename", metavar="NAME", help="The name of standard input in reports.")
]
MinOps: TypeAlias = Annotated[
    int | None,
    typer.Option(
        "--min-ops", metavar="N", help="Minimum number of tensor operations per call for a change (default 15)."
    ),
]
TfVersion: TypeAlias = Annotated[
    str | None, typer.Option("--tf-version", metavar="X.Y", help="The TensorFlow release that the code targets.")
]

LevelOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--level",
        metavar="LEVEL",
        autocompletion=complete_level,
        help="What changes may assume: safe (nothing; the default), speculative (listed assumptions), or coexec (also use co_execute).",
    ),
]
Functions: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--function", metavar="QUALNAME", help="Change only this function; may be given several times."),
]
Run: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--run", metavar="COMMAND", help='Compare both versions on a run of a script: "python train.py --steps 3".'
    ),
]
Pytest: TypeAlias = Annotated[
    str | None,
    typer.Option("--pytest", metavar="ARGUMENTS", help='Compare both versions on a run of tests: "tests/ -k train".'),
]
Python: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--python", metavar="FILE", help="The Python interpreter that has TensorFlow; by default the current one."
    ),
]
Timeout: TypeAlias = Annotated[
    float | None,
    typer.Option(
        "--timeout",
        metavar="SECONDS",
        help="Time limit per function (default 60), or per run with --run and --pytest (900).",
    ),
]
Memory: TypeAlias = Annotated[
    float | None, typer.Option("--memory", metavar="GB", help="Memory limit of a run (default 8); 0 for no limit.")
]


@dataclass(frozen=True, kw_only=True)
class VerifyOptions:
    """Options for running changes before and after."""

    run: Run = None
    tests: Pytest = None
    python: Python = None
    timeout: Timeout = None
    memory: Memory = None

    @property
    def are_given(self) -> bool:
        """Whether one of them is on the command line."""
        return any(option is not None for option in (self.run, self.tests, self.python, self.timeout, self.memory))

    def setting(self) -> Setting:
        """How `verify` runs.

        Raises:
            UsageError: the options contradict each other, or the command cannot be recorded.
        """
        if self.run is not None and self.tests is not None:
            raise UsageError("--run: cannot be combined with --pytest")
        if self.timeout is not None and self.timeout <= 0:
            raise UsageError("--timeout: must be a positive number of seconds")
        if self.memory is not None and self.memory < 0:
            raise UsageError("--memory: must be a number of GB, or 0 for no limit")
        interpreter = shutil.which(self.python) if self.python is not None else sys.executable
        if interpreter is None:
            raise UsageError(f"--python: no such interpreter: {self.python}")
        from terra_refactor.verify.session import Setting  # noqa: PLC0415 - only for what runs programs

        usual = Limits()
        recorded = self.run is not None or self.tests is not None
        limits = Limits(
            function_seconds=self.timeout or usual.function_seconds,
            run_seconds=(self.timeout if recorded and self.timeout is not None else usual.run_seconds),
            memory=usual.memory if self.memory is None else int(self.memory * (1 << 30)),
        )
        source: Script | Tests | None = None
        option, read, text = (
            ("--run", script_of, self.run) if self.run is not None else ("--pytest", tests_of, self.tests)
        )
        if text is not None:
            try:
                source = read(text)
            except UsageError as error:
                raise UsageError(f"{option}: {error}") from error
        return Setting(interpreter, source, limits)


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """Options of every command that analyses."""

    config: ConfigFile = None
    isolated: Isolated = False
    show_settings: ShowSettings = False
    exclude: Exclude = None
    tf_version: TfVersion = None
    evidence: EvidenceFiles = None
    jobs: Jobs = None
    no_cache: NoCache = False
    cache_dir: CacheDir = None
    follow_links: FollowLinks = False
    stdin_filename: StdinFilename = None
    quiet: Quiet = False
    verbose: Verbose = False

    def settings(
        self,
        paths: Sequence[str],
        *,
        select: list[str] | None = None,
        ignore: list[str] | None = None,
        baseline: str | None = None,
        min_ops: int | None = None,
        level: str | None = None,
        fail_on: str | None = None,
    ) -> Config:
        """The configuration nearest to the first path, with the options of the command line.

        Raises:
            UsageError: the configuration or an option is invalid.
        """
        start = next((path for path in paths if path != STDIN), ".")
        folder = start if os.path.isdir(start) else os.path.dirname(start) or "."
        if self.isolated and self.config is not None:
            raise UsageError("--isolated: cannot be combined with --config, which names a file to read")
        found = Config() if self.isolated else load_config(self.config, folder)
        for notice in found.notices:
            err().print(f"warning: {notice}", soft_wrap=True)
        return found.with_options(
            select=_codes(select),
            ignore=_codes(ignore),
            baseline=None if baseline is None else str(Path(baseline).absolute()),
            cache_dir=None if self.cache_dir is None else os.path.abspath(self.cache_dir),
            jobs=self.jobs,
            min_ops=min_ops,
            tf_version=self.tf_version,
            level=level,
            fail_on=fail_on,
            evidence=None if not self.evidence else [os.path.abspath(file) for file in self.evidence],
        )

    def options(
        self,
        paths: Sequence[str],
        config: Config,
        progress: ProgressCallback | None,
        *,
        diff_base: str | None = None,
        coverage: AnalysedFiles = AnalysedFiles.EVERY,
    ) -> Options:
        """The options of a run; reads standard input if a path is `-`."""
        stdin: StandardInput | None = None
        if STDIN in paths:
            stdin = StandardInput(sys.stdin.buffer.read(), self.stdin_filename or STDIN_NAME)
        elif self.stdin_filename is not None:
            raise UsageError("--stdin-filename: no path is -, so nothing is read from standard input")
        return Options(
            config=config,
            exclude=tuple(self.exclude or ()),
            stdin=stdin,
            use_cache=not self.no_cache,
            coverage=coverage,
            diff_base=diff_base,
            follow_links=self.follow_links,
            progress=progress,
        )


def show_settings(config: Config) -> int:
    """Prints the settings as an equivalent configuration file, with a comment about their origin."""
    print(f"# from {printable(config.file, one_line=True)}" if config.file is not None else "# no configuration file")
    print(as_toml(config), end="")
    return DONE


def _codes(values: list[str] | None) -> list[str] | None:
    """`--select TR1,TR2 --select TR3` as one list."""
    if values is None:
        return None
    return [code for value in values for part in value.split(",") if (code := part.strip())]
