"""The library releases that the files of a project require.

Computes: the requirements for a few libraries in build configurations, requirements lists, environments, Dockerfiles
and notebook cells. Needs: their names and texts. Gives: `read_requirements`, `read_cell_requirements`, `Requirement`.
A `setup.py` is parsed and never run: only literal lists count. Ignores: lock files, extras, and included files.
"""

from __future__ import annotations

import ast
import configparser
import re
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from terra_refactor.config import parse_toml, table_in
from terra_refactor.errors import UsageError
from terra_refactor.tf_model.releases import DISTRIBUTIONS, TENSORFLOW

MAX_LENGTH: Final = 1_000_000
"""Maximum number of characters read of a file."""
_MAX_LINE: Final = 2_000


@dataclass(frozen=True, slots=True, order=True)
class Requirement:
    """The requirement of a line.

    Attributes:
        library: its name in `tf_model.releases`.
        specifier: a version specifier (`>=2.3,<2.5`).
        line: its line number, counted from 1; 0 if unknown.
        conditional: whether it applies only to some machines or Python versions.
    """

    library: str
    specifier: str
    line: int = 0
    conditional: bool = False


def is_requirements_file(name: str) -> bool:
    """Whether a file of that name may contain requirements."""
    return _reader_of(name) is not None


def read_requirements(name: str, text: str) -> tuple[Requirement, ...]:
    """The requirements of a file, in the order of its lines; empty if it does not parse."""
    reader = _reader_of(name)
    if reader is None or len(text) > MAX_LENGTH:
        return ()
    try:
        return tuple(dict.fromkeys(reader(text)))
    except (configparser.Error, UsageError, SyntaxError, ValueError, RecursionError, MemoryError):
        return ()


def read_cell_requirements(source: str) -> tuple[Requirement, ...]:
    """The installations and version selections in the shell lines and magics of a notebook cell; lines are relative to
    the cell.
    """
    found: list[Requirement] = []
    for number, line in enumerate(source.splitlines(), 1):
        text = line.strip()
        if text.startswith(("!", "%")) and len(text) <= _MAX_LINE:
            magic = _CHOSEN_GENERATION.match(text)
            if magic is not None:
                found.append(Requirement(TENSORFLOW, f"=={magic[1]}.*", number))
            found.extend(_installed(text, number))
    return tuple(found)


_CHOSEN_GENERATION: Final = re.compile(r"%tensorflow_version\s+([12])(?:\.x)?\s*$")
_REQUIREMENT: Final = re.compile(
    r"\s*(?P<name>[A-Za-z0-9][\w.-]*)\s*(?:\[[^\]]*\])?\s*\(?\s*(?P<specifier>(?:[<>=!~]=?=?\s*[^\s,;)]+(?:\s*,\s*[<>=!~]=?=?\s*[^\s,;)]+)*)?),?\s*\)?\s*(?P<marker>;.*)?$"
)
_INSTALLS: Final = re.compile(r"\b(?:pip[\d.]*|conda|mamba)\s+install\s+(?P<rest>[^|&\n]*)")
_WORD: Final = re.compile(r"\"[^\"]*\"|'[^']*'|[^\s\"']+")
_IMAGE: Final = re.compile(
    r"\s*FROM\s+(?:--\S+\s+)?(?:\S+/)?tensorflow/tensorflow:(?P<version>\d+\.\d+(?:\.\d+)?)", re.IGNORECASE
)


def _parsed(text: str, line: int, *, of_conda: bool = False) -> Requirement | None:
    """One requirement in the syntax of `pip`, or of `conda`, where `=2.3` means 2.3 and its patches."""
    match = _REQUIREMENT.match(text) if len(text) <= _MAX_LINE else None
    if match is None:
        return None
    library = DISTRIBUTIONS.get(re.sub(r"[-_.]+", "-", match["name"]).lower())
    specifier = re.sub(r"\s", "", match["specifier"]).strip(",")
    if library is None or not specifier:
        return None
    if of_conda:
        specifier = ",".join(_of_conda(part) for part in specifier.split(","))
    return Requirement(library, specifier, line, match["marker"] is not None)


def _of_conda(part: str) -> str:
    match = re.match(r"=([^=].*)$", part)
    if match is None:
        return part
    version = match[1].partition("=")[0]  # the rest is the build
    return f"=={version.removesuffix('.*').removesuffix('*')}.*"


def _lines(text: str) -> Iterator[Requirement]:
    for number, line in enumerate(text.splitlines(), 1):
        found = _parsed(re.sub(r"(?:^|\s)#.*$", "", line), number)
        if found is not None:
            yield found


def _environment(text: str) -> Iterator[Requirement]:
    """List items of a conda environment, including those for pip."""
    for number, line in enumerate(text.splitlines(), 1):
        match = re.match(r"\s*-\s+[\"']?(?:[\w-]+::)?([^\"'#]+)", line)
        if match is not None:
            found = _parsed(match[1].strip(), number, of_conda=True)
            if found is not None:
                yield found


def _installed(text: str, number: int) -> Iterator[Requirement]:
    for match in _INSTALLS.finditer(text):
        for word in _WORD.findall(match["rest"]):
            found = _parsed(word.strip("\"'"), number)
            if found is not None:
                yield found


def _dockerfile(text: str) -> Iterator[Requirement]:
    for number, line in enumerate(text.splitlines(), 1):
        if len(line) > _MAX_LINE:
            continue
        image = _IMAGE.match(line)
        if image is not None:
            yield Requirement(TENSORFLOW, f"=={image['version']}" + ".*" * (image["version"].count(".") == 1), number)
        if not line.lstrip().startswith("#"):
            yield from _installed(line, number)


def _setup_cfg(text: str) -> Iterator[Requirement]:
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    parser.read_string(text)
    for line in parser.get("options", "install_requires", fallback="").splitlines():
        found = _parsed(line, _line_of(text, line))
        if found is not None:
            yield found


def _toml(text: str) -> Iterator[Requirement]:
    """`project.dependencies`, and those of Poetry; also a `Pipfile`."""
    data = parse_toml(text)
    declared = table_in(data, "project").get("dependencies")
    for each in declared if isinstance(declared, list) else ():
        found = _parsed(each, _line_of(text, each)) if isinstance(each, str) else None
        if found is not None:
            yield found
    for table in (table_in(data, "tool", "poetry", "dependencies"), table_in(data, "packages")):
        for name, wanted in table.items():
            version = wanted.get("version") if isinstance(wanted, dict) else wanted
            if isinstance(version, str):
                conditional = isinstance(wanted, dict) and not {"markers", "python", "platform"}.isdisjoint(wanted)
                found = _parsed(f"{name} {_of_poetry(version)}", _line_of(text, name))
                if found is not None:
                    yield Requirement(found.library, found.specifier, found.line, conditional)


def _of_poetry(version: str) -> str:
    """A specifier of Poetry or Pipenv as one of pip: there `^2.3`, `~2.3` and `2.3` have their own meaning."""
    return ",".join(filter(None, (_bounds(part.strip()) for part in version.split(","))))


def _bounds(part: str) -> str:
    match = re.match(r"(\^|~(?!=)|)\s*(\d+(?:\.\d+)*)(\.\*)?$", part)
    if match is None:
        return "" if part == "*" else part
    sign, version, star = match.groups()
    if sign == "":
        return f"=={version}{star or ''}"
    numbers = [int(number) for number in version.split(".")]
    at = next((place for place, number in enumerate(numbers) if number), 0) if sign == "^" else min(1, len(numbers) - 1)
    end = ".".join(str(number) for number in (*numbers[:at], numbers[at] + 1))
    return f">={version},<{end}"


def _setup(text: str) -> Iterator[Requirement]:
    """The list in `setup(install_requires=...)`, literal or bound to a name of the module."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tree = ast.parse(text)
    names = {
        target.id: statement.value
        for statement in tree.body
        if isinstance(statement, ast.Assign)
        for target in statement.targets
        if isinstance(target, ast.Name)
    }
    for call in ast.walk(tree):
        if not isinstance(call, ast.Call):
            continue
        for keyword in call.keywords:
            if keyword.arg != "install_requires":
                continue
            value = names.get(keyword.value.id) if isinstance(keyword.value, ast.Name) else keyword.value
            for item in value.elts if isinstance(value, ast.List | ast.Tuple) else ():
                if isinstance(item, ast.Constant) and isinstance(item.value, str):
                    found = _parsed(item.value, item.lineno)
                    if found is not None:
                        yield found


def _line_of(text: str, part: str) -> int:
    """The first line that contains a text; 0 if there is none."""
    wanted = part.strip()
    return next((number for number, line in enumerate(text.splitlines(), 1) if wanted and wanted in line), 0)


_READERS: Final[tuple[tuple[re.Pattern[str], Callable[[str], Iterable[Requirement]]], ...]] = (
    (re.compile(r"setup\.py$"), _setup),
    (re.compile(r"setup\.cfg$"), _setup_cfg),
    (re.compile(r"pyproject\.toml$|Pipfile$"), _toml),
    (re.compile(r"[\w.-]*requirements?[\w.-]*\.(?:txt|in)$", re.IGNORECASE), _lines),
    (re.compile(r"[\w.-]*(?:environment|conda)[\w.-]*\.ya?ml$", re.IGNORECASE), _environment),
    (re.compile(r"Dockerfile[\w.-]*$|[\w.-]+\.[Dd]ockerfile$"), _dockerfile),
)


def _reader_of(name: str) -> Callable[[str], Iterable[Requirement]] | None:
    return next((reader for pattern, reader in _READERS if pattern.match(name)), None)
