"""Copies of a project, so that a run cannot affect the user's files.

Computes: the project's folder, and a copy of it with some texts replaced. Needs: the files that were analysed. Gives:
`project_folder`, `copy_project`. Ignores: version control, environments and caches, which are left out. Files above
`LARGE` bytes (data sets) are linked; a run that writes into one in place would change the original.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

LARGE: Final = 32 << 20
_MARKS: Final = (".git", "pyproject.toml", "setup.py", "setup.cfg")
_LEFT_OUT: Final = frozenset(
    {
        ".git",
        ".hg",
        ".svn",
        "__pycache__",
        "node_modules",
        ".venv",
        "venv",
        ".tox",
        ".nox",
        ".mypy_cache",
        ".ruff_cache",
    }
    | {".pytest_cache", ".ipynb_checkpoints", ".idea", ".vscode", "build", "dist"}
)


def project_folder(files: Iterable[str]) -> Path:
    """The project folder (with a project marker) that contains the files; if there is none, the innermost folder that
    contains them and is not a package.
    """
    folders = [os.path.dirname(os.path.realpath(file)) for file in files]
    common = Path(os.path.commonpath(folders))
    outside = (Path.home(), Path(common.anchor))
    for folder in (common, *common.parents):
        if folder in outside:
            break
        if any((folder / mark).exists() for mark in _MARKS):
            return folder
    while (common / "__init__.py").exists() and common.parent not in outside:
        common = common.parent  # absolute imports of a package are resolved from its parent folder
    return common


def copy_project(folder: Path, target: Path, replaced: Mapping[str, bytes]) -> None:
    """Copies a folder. `replaced` has other contents for some of its files, by real path.

    Raises:
        OSError: something cannot be read, or the disk is full.
    """
    shutil.copytree(folder, target, symlinks=True, ignore=_ignored, copy_function=_copy, ignore_dangling_symlinks=True)
    for file, data in replaced.items():
        place = target / os.path.relpath(file, os.path.realpath(folder))
        place.unlink(missing_ok=True)  # it may be a link
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(data)


def _ignored(folder: str, names: list[str]) -> set[str]:
    return {
        name
        for name in names
        if (name in _LEFT_OUT and os.path.isdir(os.path.join(folder, name)))
        or os.path.exists(os.path.join(folder, name, "pyvenv.cfg"))
        or _is_special(os.path.join(folder, name))
    }


def _is_special(path: str) -> bool:
    """Sockets, pipes and devices cannot be copied."""
    return not (os.path.islink(path) or os.path.isfile(path) or os.path.isdir(path))


def _copy(source: str, target: str) -> None:
    if os.path.getsize(source) > LARGE:
        os.symlink(os.path.realpath(source), target)
    else:
        shutil.copy2(source, target)
