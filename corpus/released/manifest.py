"""The packages of corpus/packages.toml.

Gives: `packages`, in the order of their names. A package's files are in corpus/packages/NAME-VERSION after `fetch.py`
has downloaded them.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

CORPUS = Path(__file__).resolve().parents[1]
MANIFEST = CORPUS / "packages.toml"
STORE = CORPUS / "packages"
"""Ignored by git."""


class UnknownPackageError(Exception):
    """A name that is not in the manifest."""


@dataclass(frozen=True)
class Suite:
    """How a package's own tests are run here."""

    arguments: tuple[str, ...]
    """Arguments of pytest, from the package's folder."""
    path: str
    """The folder that is put first on `sys.path`, relative to the package's folder."""
    requires: tuple[str, ...]
    """Their requirements besides TensorFlow, in pip's syntax."""
    legacy_keras: bool
    """The package is for Keras 2."""


@dataclass(frozen=True)
class Package:
    """One release."""

    name: str
    version: str
    file: str
    sha256: str
    licence: str
    what: str
    suite: Suite | None

    @property
    def key(self) -> str:
        return f"{self.name}-{self.version}"

    @property
    def folder(self) -> Path:
        return STORE / self.key

    @property
    def marker(self) -> Path:
        """Contains the digest of the unpacked archive; exists only if the folder is complete."""
        return STORE / f"{self.key}.sha256"

    @property
    def fetched(self) -> bool:
        return self.marker.exists() and self.marker.read_text(encoding="utf-8").strip() == self.sha256


def packages(names: Sequence[str] = ()) -> list[Package]:
    """All packages, or the named ones.

    Raises:
        UnknownPackageError: a name is not in the manifest.
    """
    entries = tomllib.loads(MANIFEST.read_text(encoding="utf-8"))["package"]
    found = {name: _package(name, entry) for name, entry in sorted(entries.items())}
    for name in names:
        if name not in found:
            raise UnknownPackageError(f"{name} is not in {MANIFEST.name}; it has {', '.join(found)}")
    return [found[name] for name in found if not names or name in names]


def _package(name: str, entry: dict[str, Any]) -> Package:
    suite = entry.get("suite")
    return Package(
        name,
        entry["version"],
        entry["file"],
        entry["sha256"],
        entry["licence"],
        entry["what"],
        suite and _suite(suite),
    )


def _suite(entry: dict[str, Any]) -> Suite:
    return Suite(
        tuple(entry["arguments"].split()),
        entry.get("path", "."),
        tuple(entry.get("requires", ())),
        entry.get("legacy_keras", False),
    )
