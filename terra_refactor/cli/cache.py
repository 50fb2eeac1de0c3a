"""`cache info` and `cache clean`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from terra_refactor.cli.errors import guarded
from terra_refactor.cli.exit_codes import DONE
from terra_refactor.cli.options import CacheDir
from terra_refactor.cli.output import out
from terra_refactor.errors import UsageError
from terra_refactor.workspace.cache import CacheInfo, cache_info, clean_cache

IgnoredConfig = Annotated[str | None, typer.Option("--config", metavar="FILE", hidden=True)]
"""Accepted for scripts of earlier versions: the configuration does not select the cache."""

cache_app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    help="Show or remove the analysis cache.",
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@cache_app.command("info")
@guarded
def info_command(config: IgnoredConfig = None, cache_dir: CacheDir = None) -> int:
    """Print where the cache is and what it contains."""
    del config
    out().print(_described(cache_info(None if cache_dir is None else Path(cache_dir).absolute())), soft_wrap=True)
    return DONE


@cache_app.command("clean")
@guarded
def clean_command(config: IgnoredConfig = None, cache_dir: CacheDir = None) -> int:
    """Remove everything from the cache."""
    del config
    try:
        info = clean_cache(None if cache_dir is None else Path(cache_dir).absolute())
    except OSError as error:
        raise UsageError(f"the cache cannot be removed: {error}") from error
    out().print(
        f"removed {info.entries + info.results + info.stale_entries} entries ({_size(info.size)}) from {info.folder}",
        soft_wrap=True,
    )
    return DONE


def _described(info: CacheInfo) -> str:
    stale = f", {info.stale_entries} of other versions" if info.stale_entries else ""
    unused = f"; not used: {info.unused}" if info.unused is not None else ""
    held = f"{_counted(info.entries, 'module')}, {_counted(info.results, 'result')}"
    return f"{info.folder}: {held}{stale}, {_size(info.size)}{unused}"


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _size(size: int) -> str:
    return f"{size / 1_000_000:.1f} MB" if size >= 1_000_000 else f"{size / 1_000:.1f} kB"
