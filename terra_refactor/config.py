"""The configuration: `[tool.terra-refactor]` in `pyproject.toml`, or `terra-refactor.toml`.

Computes: a checked, frozen `Config`. Needs: a TOML file, or none. Gives: `load_config`, `parse_config`, `KEYS` (the meaning of each
key), `config_schema`, `as_toml`.
Ignores: the command line, whose options override these (`Config.with_options`), and whether a rule of a given name exists.

A file that is found, rather than given by the user, is untrusted, like its repository. It cannot refer to files
outside of that repository, and does not affect where this tool writes.
"""

from __future__ import annotations

import ast
import dataclasses
import difflib
import json
import os
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from terra_refactor.errors import UsageError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib  # type: ignore[import-not-found, unused-ignore]  # installed below 3.11 only

TABLE = "tool.terra-refactor"
OWN_FILE = "terra-refactor.toml"
LEVELS = ("safe", "speculative", "coexec")
SEVERITIES = ("error", "warning", "information")
"""In descending order."""
NEVER = "never"
_TF_VERSION = re.compile(r"[2-9]\.\d+")


@dataclass(frozen=True, slots=True)
class ProjectModel:
    """A user declaration of a function or method that the analysis cannot read. Types are written as annotations."""

    parameters: Mapping[str, str] = field(default_factory=dict)
    returns: str | None = None
    pure: bool = False
    """It changes nothing that outlives the call, draws no random numbers and reads no external state."""


@dataclass(frozen=True, slots=True)
class Config:
    """User settings. Each attribute is the key of the same name, with `-` for `_`.

    `KEYS` has the meaning of each. `file` is not a key, but the file from which this was read, None for the defaults.
    `cache_dir` comes only from the command line.
    """

    extend: str | None = None
    select: tuple[str, ...] = ()
    extend_select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    per_file_ignores: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    severity: Mapping[str, str] = field(default_factory=dict)
    fail_on: str = "information"
    exclude: tuple[str, ...] = ()
    extend_exclude: tuple[str, ...] = ()
    respect_gitignore: bool = True
    min_ops: int | None = None
    tf_version: str | None = None
    jobs: int = 0
    level: str = "safe"
    extract: bool = True
    baseline: str | None = None
    evidence: tuple[str, ...] = ()
    cache_dir: str | None = None
    project_models: Mapping[str, ProjectModel] = field(default_factory=dict)
    file: str | None = None
    notices: tuple[str, ...] = ()
    """Warnings about ignored keys. Not a key itself."""

    @property
    def folder(self) -> str | None:
        """The folder to which relative paths and globs refer: that of the file; None for the current folder."""
        return str(Path(self.file).parent) if self.file is not None else None

    def with_options(self, **options: Any) -> Config:
        """This configuration with the command-line options that are given (not None).

        Raises:
            UsageError: an option has an invalid value.
        """
        given: dict[str, Any] = {}
        for name, value in options.items():
            if value is not None:
                key = name.replace("_", "-")
                given[name] = KEYS[key].check(value, f"`--{key}`")
        return dataclasses.replace(self, **given)


def load_config(explicit: str | Path | None = None, start: str | Path = ".") -> Config:
    """The configuration of a run: the given file, else the nearest one at or above `start`, else the defaults.

    In one folder `terra-refactor.toml` takes precedence over `pyproject.toml`, and a `pyproject.toml` without the
    table is skipped.

    Raises:
        UsageError: the given file cannot be read, or a file does not parse or contains an invalid key or value.
    """
    if explicit is not None:
        return parse_config(_read(Path(explicit)), str(explicit))
    folder = Path(start).absolute()
    for place in (folder, *folder.parents):
        own, project = place / OWN_FILE, place / "pyproject.toml"
        if own.is_file():
            bounds = repository_of(place)
            check_inside(own, bounds, str(own), _HINT)
            return parse_config(_read(own), str(own), bounds)
        if project.is_file() and is_inside(os.path.realpath(project), os.path.realpath(repository_of(place))):
            text = _read(project)
            if "terra-refactor" in text and _own_table(parse_toml(text, str(project))) is not None:
                return parse_config(text, str(project), repository_of(place))
    return Config()


_HINT: Final = "; only a configuration that --config names may do that"


def repository_of(folder: str | Path) -> Path:
    """The folder to which a file in `folder` may refer: the nearest git repository at or above it, or else itself."""
    place = Path(folder).absolute()
    return next((above for above in (place, *place.parents) if os.path.lexists(above / ".git")), place)


def is_inside(real: str, root: str) -> bool:
    """Whether a path equals another one or lies below it; both are real paths."""
    return real == root or real.startswith(root.rstrip(os.sep) + os.sep)


def check_inside(file: str | Path, bounds: Path | None, where: str, hint: str = "") -> None:
    """Raises UsageError if a file lies outside of a folder, also by links."""
    if bounds is not None and not is_inside(os.path.realpath(file), os.path.realpath(bounds)):
        raise UsageError(f"{where}: {file} leads out of {bounds}{hint}")


def parse_config(text: str, file: str, bounds: Path | None = None) -> Config:
    """The configuration in a file's text: the table `tool.terra-refactor` of `pyproject.toml`, otherwise the whole file.

    If `bounds` is given, files that it refers to must lie in that folder.

    Raises:
        UsageError: it does not parse, has an invalid key or value, extends such a file, or refers to a file outside
            of `bounds`.
    """
    values = _values(text, file, (), bounds)
    notices: tuple[str, ...] = ()
    if values.pop("cache_dir", None) is not None:
        notices = (f"{file}: `cache-dir` is not followed; use --cache-dir or the variable TERRA_REFACTOR_CACHE_DIR",)
    return Config(**values, file=file, notices=notices)


def _values(text: str, file: str, extended_by: tuple[str, ...], bounds: Path | None) -> dict[str, Any]:
    """The values in a file, including those of the file that it extends."""
    data = parse_toml(text, file)
    table = _own_table(data)
    if table is None:
        table = {} if Path(file).name == "pyproject.toml" else data
    if not isinstance(table, dict):
        raise UsageError(f"{file}: {TABLE} must be a table")
    values: dict[str, Any] = {}
    for key, value in table.items():
        where = f"{file}:{_line_of_key(text, key)}"
        if key not in KEYS:
            close = difflib.get_close_matches(key.replace("_", "-"), KEYS, n=1)
            hint = f"; did you mean `{close[0]}`?" if close else f"; known keys are {', '.join(sorted(KEYS))}"
            raise UsageError(f"{where}: unknown key `{key}`{hint}")
        values[key.replace("-", "_")] = KEYS[key].check(value, f"{where}: `{key}`")
        for named in (value,) if key in ("extend", "baseline") else value if key == "evidence" else ():
            check_inside(Path(file).parent / named, bounds, f"{where}: `{key}`", _HINT)
    if "extend" not in values:
        return values
    base = str(Path(file).parent / values["extend"])
    seen = (*extended_by, os.path.abspath(file))
    if os.path.abspath(base) in seen:
        raise UsageError(f"{file}:{_line_of_key(text, 'extend')}: `extend` is circular: it leads back to {base}")
    inherited = _values(_read(Path(base)), base, seen, bounds)
    if "baseline" in inherited:  # relative to the file that contains it
        inherited["baseline"] = os.path.abspath(Path(base).parent / inherited["baseline"])
    if "evidence" in inherited:
        inherited["evidence"] = tuple(os.path.abspath(Path(base).parent / each) for each in inherited["evidence"])
    for key in ("extend_select", "extend_exclude"):
        if key in inherited and key in values:
            values[key] = (*inherited[key], *values[key])
    return {**inherited, **values}


def parse_toml(text: str, file: str = "<toml>") -> dict[str, Any]:
    """The data of a TOML text.

    Raises:
        UsageError: it does not parse.
    """
    try:
        data: dict[str, Any] = tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # a number with too many digits raises a plain ValueError
        raise UsageError(f"{file}: does not parse: {error}") from error
    return data


def table_in(data: Mapping[str, Any], *keys: str) -> Mapping[str, Any]:
    """The table under nested keys of TOML data; empty if there is none."""
    for key in keys:
        inner = data.get(key)
        if not isinstance(inner, dict):
            return {}
        data = inner
    return data


_LARGEST: Final = 1_000_000
"""Maximum size of a configuration in bytes: files of a repository are read before any other limit applies."""


def _read(path: Path) -> str:
    try:
        with path.open("rb") as stream:
            data = stream.read(_LARGEST + 1)
        if len(data) > _LARGEST:
            raise UsageError(f"{path}: is larger than {_LARGEST // 1_000} kB, which is too large for a configuration")
        return data.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: is not UTF-8, as TOML has to be") from error


def _own_table(data: Mapping[str, Any]) -> Any:
    tool = data.get("tool")
    return tool.get("terra-refactor") if isinstance(tool, dict) else None


def _line_of_key(text: str, key: str) -> int:
    """The line in which a key is set, counted from 1; the first of that name after the table's header."""
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


def is_slow_glob(pattern: str) -> bool:
    """Whether matching a name of n characters may take n to the power of more than `_MOST_STARS` steps."""
    return any(part.count("*") > _MOST_STARS for part in pattern.split("/"))


_MOST_STARS: Final = 4
"""Per name: pathspec's regular expressions try all ways to divide it among the stars."""


def _globs(value: Any, where: str) -> tuple[str, ...]:
    globs = _names(value, where)
    for glob in globs:
        if is_slow_glob(glob):
            raise UsageError(f"{where} takes globs with no more than {_MOST_STARS} stars in one name, not `{glob}`")
    return globs


def _names_by_glob(value: Any, where: str) -> Mapping[str, tuple[str, ...]]:
    if not isinstance(value, dict):
        raise UsageError(f"{where} takes a table of lists of strings by glob, not {_described(value)}")
    _globs(sorted(value), where)
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
    raise UsageError(
        f'{where} takes a version of TensorFlow 2 or later as "X.Y", such as "2.21", not {_described(value)}'
    )


def _level(value: Any, where: str) -> str:
    return _one_of(LEVELS, value, where)


def _one_of(words: tuple[str, ...], value: Any, where: str) -> str:
    if isinstance(value, str) and value in words:
        return value
    close = difflib.get_close_matches(value, words, n=1) if isinstance(value, str) else []
    hint = f"; did you mean `{close[0]}`?" if close else ""
    raise UsageError(f"{where} takes one of {', '.join(words)}, not {_described(value)}{hint}")


def _text(value: Any, where: str) -> str:
    if isinstance(value, str) and value:
        return value
    raise UsageError(f"{where} takes a path, not {_described(value)}")


def _described(value: Any) -> str:
    """A value in TOML's terms."""
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


def _severity(value: Any, where: str) -> str:
    return _one_of(SEVERITIES, value, where)


def _severities(value: Any, where: str) -> Mapping[str, str]:
    if not isinstance(value, dict):
        raise UsageError(f"{where} takes a table of severities by rule, not {_described(value)}")
    return {rule: _severity(word, f"{where}, {rule!r},") for rule, word in sorted(value.items())}


def _fail_on(value: Any, where: str) -> str:
    return _one_of((*SEVERITIES, NEVER), value, where)


def _annotation(value: Any, where: str) -> str:
    if not isinstance(value, str):
        raise UsageError(f"{where} takes a type as in an annotation, not {_described(value)}")
    try:
        ast.parse(value.strip(), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise UsageError(f"{where} takes a type as in an annotation; {value!r} does not parse") from error
    return value.strip()


def _project_models(value: Any, where: str) -> Mapping[str, ProjectModel]:
    if not isinstance(value, dict):
        raise UsageError(f"{where} takes a table of models by full name, not {_described(value)}")
    return {name: _project_model(model, f"{where}, {name!r},") for name, model in sorted(value.items())}


def _project_model(value: Any, where: str) -> ProjectModel:
    if not isinstance(value, dict):
        raise UsageError(f"{where} takes a table, not {_described(value)}")
    unknown = sorted(set(value) - {"parameters", "returns", "pure"})
    if unknown:
        close = difflib.get_close_matches(unknown[0], ("parameters", "returns", "pure"), n=1)
        hint = f"; did you mean `{close[0]}`?" if close else "; known keys are parameters, pure, returns"
        raise UsageError(f"{where} has an unknown key `{unknown[0]}`{hint}")
    parameters = value.get("parameters", {})
    if not isinstance(parameters, dict):
        raise UsageError(f"{where} `parameters` takes a table of types by name, not {_described(parameters)}")
    return ProjectModel(
        {name: _annotation(text, f"{where} parameter {name!r}") for name, text in sorted(parameters.items())},
        None if "returns" not in value else _annotation(value["returns"], f"{where} `returns`"),
        _flag(value.get("pure", False), f"{where} `pure`"),
    )


@dataclass(frozen=True, slots=True)
class Key:
    """One key of the configuration."""

    check: Callable[[Any, str], Any]
    """Checks a value; returns it as in `Config`, or raises UsageError with its position."""
    schema: Mapping[str, Any]
    """Its JSON Schema."""
    help: str


_STRINGS: Mapping[str, Any] = {"type": "array", "items": {"type": "string"}}
_PATH: Mapping[str, Any] = {"type": "string", "minLength": 1}
_WHOLE: Mapping[str, Any] = {"type": "integer", "minimum": 0}
_TYPE: Mapping[str, Any] = {"type": "string", "minLength": 1}
KEYS: Mapping[str, Key] = {
    "extend": Key(
        _text, _PATH, "A file whose values apply to keys that this one does not set; relative to this file's folder."
    ),
    "select": Key(
        _names, _STRINGS, "Rules or families to report (`TR3`, `TR101`, `shape-mismatch`); empty, or `ALL`, for all."
    ),
    "extend-select": Key(_names, _STRINGS, "Rules or families to report besides those of `select`."),
    "ignore": Key(_names, _STRINGS, "Rules or families not to report."),
    "per-file-ignores": Key(
        _names_by_glob,
        {"type": "object", "additionalProperties": _STRINGS},
        "Rules or families not to report, by glob of the path.",
    ),
    "severity": Key(
        _severities,
        {"type": "object", "additionalProperties": {"enum": list(SEVERITIES)}},
        "`error`, `warning` or `information` by rule or family, instead of the rule's default; a rule overrides its family.",
    ),
    "fail-on": Key(
        _fail_on,
        {"enum": [*SEVERITIES, NEVER]},
        "The lowest severity for which `lint` exits with 1, or `never`.",
    ),
    "exclude": Key(_globs, _STRINGS, "Globs of paths to skip, as in a `.gitignore`."),
    "extend-exclude": Key(_globs, _STRINGS, "Globs in addition to `exclude`, also to that of an extended file."),
    "respect-gitignore": Key(_flag, {"type": "boolean"}, "Skip files that git ignores."),
    "min-ops": Key(
        _count,
        _WHOLE,
        "Minimum estimated number of tensor operations per call for a function to be converted; by default 15.",
    ),
    "tf-version": Key(
        _version,
        {"type": "string", "pattern": f"^{_TF_VERSION.pattern}$"},
        "TensorFlow release that the code targets, as `X.Y`: decides comparisons with `tf.__version__` and which "
        "errors apply; by default what the project requires.",
    ),
    "jobs": Key(_count, _WHOLE, "Number of worker processes; 0 for one per processor."),
    "level": Key(_level, {"enum": list(LEVELS)}, "How much `fix` may assume: `safe`, `speculative` or `coexec`."),
    "extract": Key(
        _flag,
        {"type": "boolean"},
        "Extract training steps that are inline in loops into functions (`extract_tf_function`).",
    ),
    "baseline": Key(_text, _PATH, "File of known findings, relative to this file's folder."),
    "evidence": Key(
        _names,
        _STRINGS,
        "Files that `terra-refactor record` wrote, relative to this file's folder; see docs/record.md.",
    ),
    "cache-dir": Key(
        _text,
        _PATH,
        "Ignored, with a warning: a repository may not choose the cache folder. Use `--cache-dir` or "
        "`TERRA_REFACTOR_CACHE_DIR`.",
    ),
    "project-models": Key(
        _project_models,
        {
            "type": "object",
            "additionalProperties": {
                "type": "object",
                "properties": {
                    "parameters": {"type": "object", "additionalProperties": _TYPE},
                    "returns": _TYPE,
                    "pure": {"type": "boolean"},
                },
                "additionalProperties": False,
            },
        },
        "Types and purity of functions whose code the analysis cannot read, by full name; see below.",
    ),
}


def config_schema() -> dict[str, Any]:
    """The JSON Schema of the table, for editors; `config.schema.json` next to this file is equal."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "terra-refactor",
        "description": f"The table {TABLE} of a pyproject.toml, or all of a {OWN_FILE}.",
        "type": "object",
        "properties": {name: {**key.schema, "description": key.help} for name, key in KEYS.items()},
        "additionalProperties": False,
    }


def as_toml(config: Config) -> str:
    """The configuration as an equivalent file, without keys that have no value."""
    lines: list[str] = []
    for name in KEYS:
        value = getattr(config, name.replace("-", "_"))
        if value is not None and name not in ("extend", "cache-dir"):
            lines.append(f"{name} = {_toml(value)}")
    return "".join(f"{line}\n" for line in lines)


def _toml(value: Any) -> str:
    match value:
        case ProjectModel(parameters, returns, pure):
            given = {"parameters": parameters, "returns": returns, "pure": pure}
            return _toml({name: member for name, member in given.items() if member})
        case Mapping():
            return "{" + ", ".join(f"{json.dumps(key)} = {_toml(member)}" for key, member in value.items()) + "}"
        case tuple():
            return "[" + ", ".join(_toml(member) for member in value) + "]"
        case _:
            text = json.dumps(value, ensure_ascii=False)  # JSON strings, numbers and booleans are valid TOML
            return re.sub(
                "[\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]", lambda found: f"\\u{ord(found[0]):04x}", text
            )
