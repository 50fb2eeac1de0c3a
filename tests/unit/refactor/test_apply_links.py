"""Writing goes where reading was, whatever was exchanged for a link in between."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from hashlib import blake2b
from pathlib import Path

import pytest

from terra_refactor.config import Config
from terra_refactor.errors import SourceError
from terra_refactor.refactor.apply import replace_file, write_file
from terra_refactor.refactor.result import FileRefactoring
from terra_refactor.syntax.source import Source
from terra_refactor.workspace.loading import read_project

TEXT = "x = 1\n"


@pytest.fixture
def places(tmp_path: Path) -> tuple[Path, Path]:
    """A repository, and a folder outside that holds the same files."""
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    for folder in (inside, outside):
        (folder / "pkg").mkdir(parents=True)
        (folder / "pkg" / "m.py").write_text(TEXT)
    return inside, outside


def read(folder: Path, *, follow_links: bool = False) -> Source:
    (task,) = read_project([str(folder)], Config(), follow_links=follow_links).tasks.values()
    return task.source


def exchange_file(inside: Path, outside: Path) -> None:
    (inside / "pkg" / "m.py").unlink()
    (inside / "pkg" / "m.py").symlink_to(outside / "pkg" / "m.py")


def exchange_folder(inside: Path, outside: Path) -> None:
    shutil.rmtree(inside / "pkg")
    (inside / "pkg").symlink_to(outside / "pkg")


def exchange_root(inside: Path, outside: Path) -> None:
    shutil.rmtree(inside)
    inside.symlink_to(outside)


@pytest.mark.parametrize("exchange", [exchange_file, exchange_folder, exchange_root])
def test_a_link_that_appears_before_writing(exchange: Callable[[Path, Path], None], places: tuple[Path, Path]) -> None:
    inside, outside = places
    refactoring = FileRefactoring(read(inside), (), TEXT + "y = 2\n")
    exchange(inside, outside)
    with pytest.raises(SourceError, match="leads to another file"):
        write_file(refactoring)
    assert (outside / "pkg" / "m.py").read_text() == TEXT


@pytest.mark.parametrize("exchange", [exchange_file, exchange_folder, exchange_root])
def test_a_link_that_appears_while_writing(
    exchange: Callable[[Path, Path], None], places: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """After the last look at the path: as if `realpath` had been asked just before."""
    inside, outside = places
    source = read(inside)
    assert source.real is not None
    monkeypatch.setattr(os.path, "realpath", lambda path: source.real if path == source.file else path)
    exchange(inside, outside)
    with pytest.raises(SourceError, match="symbolic link"):
        write_file(FileRefactoring(source, (), TEXT + "y = 2\n"))
    assert (outside / "pkg" / "m.py").read_text() == TEXT
    assert sorted(os.listdir(outside / "pkg")) == ["m.py"]


def test_a_link_that_appears_at_the_last_moment(places: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """The folder is open by then: what its path leads to does not matter any more."""
    inside, outside = places
    source = read(inside)
    synchronise = os.fsync

    def swap(descriptor: int) -> None:
        synchronise(descriptor)
        monkeypatch.undo()
        (inside / "pkg").rename(inside / "moved")
        (inside / "pkg").symlink_to(outside / "pkg")

    monkeypatch.setattr(os, "fsync", swap)
    write_file(FileRefactoring(source, (), TEXT + "y = 2\n"))
    assert (outside / "pkg" / "m.py").read_text() == TEXT
    assert (inside / "moved" / "m.py").read_text() == TEXT + "y = 2\n"
    assert sorted(os.listdir(outside / "pkg")) == ["m.py"]


def test_what_links_lead_to_outside_is_never_written(places: tuple[Path, Path]) -> None:
    inside, outside = places
    exchange_folder(inside, outside)
    source = read(inside, follow_links=True)
    assert source.is_outside
    with pytest.raises(SourceError, match="lies outside of the given paths"):
        write_file(FileRefactoring(source, (), TEXT + "y = 2\n"))
    assert (outside / "pkg" / "m.py").read_text() == TEXT


def test_a_path_with_a_link_in_it_is_no_real_path(places: tuple[Path, Path]) -> None:
    inside, outside = places
    exchange_folder(inside, outside)
    digest = blake2b(TEXT.encode(), digest_size=16).hexdigest()
    with pytest.raises(SourceError, match="became a symbolic link"):
        replace_file(str(inside / "pkg" / "m.py"), b"y = 2\n", expected_digest=digest, shown="m.py")
    assert (outside / "pkg" / "m.py").read_text() == TEXT
