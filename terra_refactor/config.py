"""The configuration: `[tool.terra-refactor]` in `pyproject.toml`, or `terra-refactor.toml`.

Computes: a checked, frozen `Config`. Needs: a TOML file, or none. Gives: `load_config`, `parse_config`.
Ignores: the command line, whose options win over these (`Config.with_options`), and whether a rule of a given name exists.
"""

from __future__ import annotations

import dataclasses
import difflib
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from terra_refactor.errors import UsageError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib  # type: ignore[import-not-found, unused-ignore]  # installed below 3.11 only

TABLE = "tool.terra-refactor"
OWN_FILE = "terra-refactor.toml"
LEVELS = ("safe", "speculative", "coexec")
_TF_VERSION = re.compile(r"\d+\.\d+")


@dataclass(frozen=True, slots=True)
class Config:
    """What a user may set. Each attribute is the key of the same name, with `-` for `_`.

    Attributes:
        select: rules or families to report; empty for all.
        ignore: rules or families not to report.
        per_file_ignores: rules or families not to report, by glob of the path.
        exclude: globs of paths that are not read, as in a `.gitignore`.
        respect_gitignore: whether what git ignores is not read.
        min_ops: the least estimated number of tensor operations per call for which converting pays; None for the built-in default.
        tf_version: the TensorFlow that the code is for, as `X.Y`; None for the newest known.
        jobs: number of worker processes; 0 for one per processor.
        level: how much `fix` may assume: `safe`, `speculative` or `coexec`.
        baseline: file of findings that are known already, relative to the configuration's folder.
        cache_dir: folder of the analysis cache; None for the user's cache folder.
        file: the file that this was read from, None for the defaults. Not a key.
    """

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    per_file_ignores: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    exclude: tuple[str, ...] = ()
    respect_gitignore: bool = True
    min_ops: int | None = None
    tf_version: str | None = None
    jobs: int = 0
    level: str = "safe"
    baseline: str | None = None
    cache_dir: str | None = None
    file: str | None = None

    @property
    def folder(self) -> str | None:
        """The folder that relative paths and globs count from: that of the file; None for the current folder."""
        return str(Path(self.file).parent) if self.file is not None else None

    def with_options(self, **options: Any) -> Config:
        """This configuration with the options of a command line, where they are given (not None).

        Raises:
            UsageError: an option has a value that the configuration would not take.
        """
        given: dict[str, Any] = {}
        for name, value in options.items():
            if value is not None:
                key = name.replace("_", "-")
                given[name] = _CHECKS[key](value, f"`--{key}`")
        return dataclasses.replace(self, **given)


def load_config(explicit: str | Path | None = None, start: str | Path = ".") -> Config:
    """The configuration of a run: the file asked for, else the nearest one at or above `start`, else the defaults.

    In one folder `terra-refactor.toml` wins over `pyproject.toml`, and a `pyproject.toml` without the table is passed over.

    Raises:
        UsageError: the file asked for cannot be read, or a file found does not parse or holds a wrong key or value.
    """
    if explicit is not None:
        return parse_config(_read(Path(explicit)), str(explicit))
    folder = Path(start).absolute()
    for place in (folder, *folder.parents):
        own = place / OWN_FILE
        if own.is_file():
            return parse_config(_read(own), str(own))
        project = place / "pyproject.toml"
        if project.is_file():
            text = _read(project)
            if "terra-refactor" in text and _own_table(parse_toml(text, str(project))) is not None:
                return parse_config(text, str(project))
    return Config()


def parse_config(text: str, file: str) -> Config:
    """The configuration that a file's text holds: its table `tool.terra-refactor`, or, in a file of another name, all of it.

    Raises:
        UsageError: it does not parse, or holds a wrong key or value.
    """
    data = parse_toml(text, file)
    table = _own_table(data)
    if table is None:
        table = {} if Path(file).name == "pyproject.toml" else data
    if not isinstance(table, dict):
        raise UsageError(f"{file}: {TABLE} must be a table")
    values: dict[str, Any] = {}
    for key, value in table.items():
        where = f"{file}:{_line_of_key(text, key)}"
        if key not in _CHECKS:
            close = difflib.get_close_matches(key.replace("_", "-"), _CHECKS, n=1)
            hint = f"; did you mean `{close[0]}`?" if close else f"; known keys are {', '.join(sorted(_CHECKS))}"
            raise UsageError(f"{where}: unknown key `{key}`{hint}")
        values[key.replace("-", "_")] = _CHECKS[key](value, f"{where}: `{key}`")
    return Config(**values, file=file)


def parse_toml(text: str, file: str = "<toml>") -> dict[str, Any]:
    """The data of a TOML text.

    Raises:
        UsageError: it does not parse.
    """
    try:
        data: dict[str, Any] = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise UsageError(f"{file}: does not parse: {error}") from error
    return data


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: is not UTF-8, as TOML has to be") from error


def _own_table(data: Mapping[str, Any]) -> Any:
    tool = data.get("tool")
    return tool.get("terra-refactor") if isinstance(tool, dict) else None


def _line_of_key(text: str, key: str) -> int:
    """The line in which a key is set, counted from 1; the first of that name after the table's head."""
    head = re.search(r"^[ \t]*\[tool\.\"?terra-refactor\"?", text, re.MULTILINE)
    start = head.start() if head is not None else 0
    quoted = rf"[\"']?{re.escape(key)}[\"']?"
    pattern = re.compile(
        rf"^[ \t]*(?:tool\.terra-refactor\.)?{quoted}[ \t]*[=.]|^[ \t]*\[[^\]\n]*{quoted}[ \t]*[\].]", re.MULTILINE
    )
    found = pattern.search(text, start) or pattern.search(text)
    return text.count("\n", 0, found.start() if found is not None else start) + 1


def _names(value: Any, where: str) -> tuple[str, ...]:
    if isinstance(value, (list, tuple)) and all(isinstance(item, str) for item in value):
        return tuple(value)
    raise UsageError(f"{where} takes a list of strings, not {_described(value)}")


def _names_by_glob(value: Any, where: str) -> Mapping[str, tuple[str, ...]]:
    if not isinstance(value, dict):
        raise UsageError(f"{where} takes a table of lists of strings by glob, not {_described(value)}")
    return {glob: _names(names, f"{where}, {glob!r},") for glob, names in sorted(value.items())}


def _flag(value: Any, where: str) -> bool:
    if isinstance(value, bool):
        return value
    raise UsageError(f"{where} takes true or false, not {_described(value)}")


def _count(value: Any, where: str) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    raise UsageError(f"{where} takes a whole number from 0, not {_described(value)}")


def _version(value: Any, where: str) -> str:
    if isinstance(value, str) and _TF_VERSION.fullmatch(value):
        return value
    raise UsageError(f'{where} takes a version as "X.Y", such as "2.21", not {_described(value)}')


def _level(value: Any, where: str) -> str:
    if isinstance(value, str) and value in LEVELS:
        return value
    close = difflib.get_close_matches(value, LEVELS, n=1) if isinstance(value, str) else []
    hint = f"; did you mean `{close[0]}`?" if close else ""
    raise UsageError(f"{where} takes one of {', '.join(LEVELS)}, not {_described(value)}{hint}")


def _text(value: Any, where: str) -> str:
    if isinstance(value, str) and value:
        return value
    raise UsageError(f"{where} takes a path, not {_described(value)}")


def _described(value: Any) -> str:
    """A value in the words of TOML."""
    match value:
        case bool():
            return str(value).lower()
        case str():
            return f'the string "{value}"'
        case list() | tuple():
            return "a list"
        case dict():
            return "a table"
        case _:
            return str(value)


_CHECKS: Mapping[str, Callable[[Any, str], Any]] = {
    "select": _names,
    "ignore": _names,
    "per-file-ignores": _names_by_glob,
    "exclude": _names,
    "respect-gitignore": _flag,
    "min-ops": _count,
    "tf-version": _version,
    "jobs": _count,
    "level": _level,
    "baseline": _text,
    "cache-dir": _text,
}
