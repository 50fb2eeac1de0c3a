"""`cache info` and `cache clean`."""

from __future__ import annotations

import typer

from terra_refactor.cli.errors import guarded
from terra_refactor.cli.exit_codes import DONE
from terra_refactor.cli.options import ConfigFile
from terra_refactor.cli.output import out
from terra_refactor.config import load_config
from terra_refactor.errors import UsageError
from terra_refactor.workspace.cache import CacheInfo, cache_info, clean_cache
from terra_refactor.workspace.workspace import cache_folder_of

cache_app = typer.Typer(no_args_is_help=True, help="The analysis cache: what it holds, and removing it.")


@cache_app.command("info")
@guarded
def info_command(config: ConfigFile = None) -> int:
    """Say where the cache is and what it holds."""
    out().print(_described(cache_info(cache_folder_of(load_config(config)))), soft_wrap=True)
    return DONE


@cache_app.command("clean")
@guarded
def clean_command(config: ConfigFile = None) -> int:
    """Remove everything from the cache."""
    try:
        info = clean_cache(cache_folder_of(load_config(config)))
    except OSError as error:
        raise UsageError(f"the cache cannot be removed: {error}") from error
    out().print(
        f"removed {info.entries + info.results + info.stale_entries} entries ({_size(info.size)}) from {info.folder}",
        soft_wrap=True,
    )
    return DONE


def _described(info: CacheInfo) -> str:
    stale = f", {info.stale_entries} of other versions" if info.stale_entries else ""
    return f"{info.folder}: {info.entries} modules, {info.results} results{stale}, {_size(info.size)}"


def _size(size: int) -> str:
    return f"{size / 1_000_000:.1f} MB" if size >= 1_000_000 else f"{size / 1_000:.1f} kB"
