"""Import folders from build configurations.

Computes: the folders that `pyproject.toml` or `setup.cfg` name as roots of packages. Needs: the text of the configuration.
Gives: `read_package_dirs`.
"""

from __future__ import annotations

import configparser
import posixpath
from collections.abc import Iterator, Mapping
from typing import Any

from terra_refactor.config import parse_toml, table_in
from terra_refactor.errors import UsageError


def read_package_dirs(name: str, text: str, folder: str) -> tuple[str, ...]:
    """The roots that a `pyproject.toml` or `setup.cfg` (by its `name`) in `folder` declares; empty if it does not parse."""
    try:
        if name == "setup.cfg":
            parser = configparser.ConfigParser(interpolation=None, strict=False)
            parser.read_string(text)
            declared = list(_dirs_of_setup_cfg(parser))
        else:
            declared = list(_dirs_of_pyproject(parse_toml(text)))
    except (configparser.Error, UsageError):
        return ()
    return tuple(dict.fromkeys(posixpath.normpath(posixpath.join(folder, path)) for path in declared))


def _dirs_of_setup_cfg(parser: configparser.ConfigParser) -> Iterator[str]:
    for line in parser.get("options", "package_dir", fallback="").splitlines():
        key, sign, value = line.partition("=")
        if sign and not key.strip():
            yield value.strip()
    yield from parser.get("options.packages.find", "where", fallback="").split()


def _dirs_of_pyproject(data: Mapping[str, Any]) -> Iterator[str]:
    tool = table_in(data, "tool")
    setuptools = table_in(tool, "setuptools")
    yield from _strings([table_in(setuptools, "package-dir").get("")])
    yield from _strings(table_in(setuptools, "packages", "find").get("where"))
    for package in _list(table_in(tool, "poetry").get("packages")):
        if isinstance(package, dict):
            yield from _strings([package.get("from")])
    for target in ("wheel", "sdist"):
        hatch = table_in(tool, "hatch", "build", "targets", target)
        yield from (posixpath.dirname(path) or "." for path in _strings(hatch.get("packages")))
        yield from _strings(hatch.get("dev-mode-dirs"))
    yield from _strings(_list(table_in(tool, "pytest", "ini_options").get("pythonpath")))


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _strings(values: Any) -> list[str]:
    return [value for value in _list(values) if isinstance(value, str)]
