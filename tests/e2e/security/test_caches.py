"""No entry of a cache runs code, wherever it lies and however it came there; and a repository does not choose where the cache lies."""

from __future__ import annotations

import os
import pickle
import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from hashlib import blake2b
from pathlib import Path

import pytest

from tests.e2e.security.conftest import Installed

pytestmark = pytest.mark.slow
MAGICS = (b"terra-refactor cache\n", b"terra-refactor cache 2\n")


class Payload:
    """An object that creates a file when it is unpickled."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self) -> tuple[object, tuple[object, ...]]:
        return exec, (f"open({str(self.marker)!r}, 'a').close()",)


@pytest.fixture
def marker(tmp_path: Path) -> Path:
    return tmp_path / "executed"


def poisons(marker: Path) -> Iterator[bytes]:
    """Forged entries: without a signature, with a checksum as the old form had, or signed with keys that anybody can guess."""
    made = pickle.dumps(Payload(marker))
    yield MAGICS[0] + blake2b(made, digest_size=16).digest() + made
    yield MAGICS[1] + blake2b(made, digest_size=32, key=bytes(32)).digest() + made


def entries(folder: Path) -> list[Path]:
    return [file for file in folder.rglob("*") if file.suffix in (".ir", ".result")]


def cache_of(home: Path) -> Path:
    (found,) = {file.parents[2] for file in entries(home)}
    return found


def poison(folder: Path, forged: bytes) -> None:
    found = entries(folder)
    assert found
    for file in found:
        file.write_bytes(forged)


LINT = ["lint", "--jobs", "1", "."]


def test_forged_entries_in_the_users_own_cache(
    copied: Installed, repository: Callable[..., Path], marker: Path
) -> None:
    folder = repository(2)
    first = copied.run(LINT, folder, start=copied.started)
    for forged in poisons(marker):
        poison(copied.home, forged)
        assert copied.run(LINT, folder).stdout == first.stdout
        assert not marker.exists()


def test_the_entry_of_another_key_does_not_stand_for_this_one(
    copied: Installed, repository: Callable[..., Path], marker: Path
) -> None:
    """Also signed entries count only for what they were made of."""
    folder = repository(2)
    copied.run(LINT, folder)
    for suffix in (".ir", ".result"):
        one, other, *_ = [file for file in entries(copied.home) if file.suffix == suffix] * 2
        one.write_bytes(other.read_bytes())
    assert "Traceback" not in copied.run(LINT, folder).stderr


@pytest.mark.parametrize("place", [".cache", "../repository/.cache"])
def test_a_cache_that_is_committed(
    place: str, copied: Installed, repository: Callable[..., Path], marker: Path
) -> None:
    """Whoever committed it ran the same tool on the same files, with a key of their own."""
    folder = repository(2)
    copied.run([*LINT, "--cache-dir", ".cache"], folder)
    assert entries(folder / ".cache")
    for forged in poisons(marker):
        poison(folder / ".cache", forged)
        (folder / "terra-refactor.toml").write_text(f'cache-dir = "{place}"\n')
        finished = copied.run(LINT, folder)
        assert "`cache-dir` is not followed; use --cache-dir" in finished.stderr
        # even if the user wants that folder
        copied.run(LINT, folder, variables={"TERRA_REFACTOR_CACHE_DIR": str(folder / ".cache")})
        assert not marker.exists()


def test_entries_of_another_user_of_the_tool_are_not_read(
    copied: Installed, repository: Callable[..., Path], tmp_path: Path
) -> None:
    """A whole cache folder that is moved to another home has no key there."""
    folder = repository(2)
    copied.run(LINT, folder)
    other = replace(copied, home=tmp_path / "other")
    place = other.home / cache_of(copied.home).relative_to(copied.home)
    shutil.copytree(cache_of(copied.home), place)
    before = {file: file.stat().st_ino for file in entries(place)}
    other.run(LINT, folder)
    assert {file: file.stat().st_ino for file in entries(place)}.keys() == before.keys()
    assert all(file.stat().st_ino != number for file, number in before.items()), "all were made again"


@pytest.mark.skipif(sys.platform == "win32", reason="modes and owners are those of POSIX")
@pytest.mark.parametrize("wrong", ["readable", "link", "short", "folder", "owner", "fifo"])
def test_a_key_that_others_may_know_is_none(
    wrong: str, copied: Installed, repository: Callable[..., Path], marker: Path
) -> None:
    folder = repository(2)
    copied.run(LINT, folder)
    (key,) = copied.home.rglob("cache.key")
    assert key.stat().st_mode & 0o777 == 0o600
    assert key.parent.stat().st_mode & 0o777 == 0o700
    known = key.read_bytes()
    match wrong:
        case "readable":
            key.chmod(0o644)
        case "link":
            (folder / "key").write_bytes(known)
            (folder / "key").chmod(0o600)
            key.unlink()
            key.symlink_to(folder / "key")
        case "short":
            key.write_bytes(b"")
        case "folder":
            key.parent.chmod(0o777)
        case "owner" if os.geteuid() == 0:
            os.chown(key, 12345, 12345)
        case "owner":
            pytest.skip("only root gives files away")
        case "fifo":
            key.unlink()
            os.mkfifo(key, 0o600)
    poison(copied.home, MAGICS[1] + blake2b(b"", key=known, digest_size=32).digest() + pickle.dumps(Payload(marker)))
    assert copied.run(LINT, folder).returncode == 1, "it has findings, and ends as ever"
    assert not marker.exists()
    assert "not used: there is no private key" in copied.run(["cache", "info"], folder).stdout


def test_the_folder_of_the_cache_is_private(copied: Installed, repository: Callable[..., Path]) -> None:
    folder = repository(2)
    copied.run(LINT, folder)
    cache = cache_of(copied.home)
    for place in (cache, *(place for place in cache.rglob("*") if place.is_dir())):
        assert place.stat().st_mode & 0o077 == 0
    open_to_all = folder / "open"
    open_to_all.mkdir()
    open_to_all.chmod(0o777)
    copied.run([*LINT, "--cache-dir", "open"], folder)
    assert not entries(open_to_all)
    assert (
        "not used: other users can write to its folder"
        in copied.run(["cache", "info", "--cache-dir", "open"], folder).stdout
    )


@pytest.mark.parametrize("place", ["..", "precious"])
def test_cleaning_removes_nothing_but_entries(
    place: str, copied: Installed, repository: Callable[..., Path], tmp_path: Path
) -> None:
    folder = repository(2)
    precious = [tmp_path / "precious" / "a" / "b" / "thesis.tex", folder / "precious" / "a" / "b" / "c.ir"]
    for file in precious:
        file.parent.mkdir(parents=True)
        file.write_text("years of work")
    (folder / "terra-refactor.toml").write_text(f'cache-dir = "{place}"\n')
    copied.run(["cache", "clean"], folder)
    copied.run(["cache", "clean", "--cache-dir", place], folder)  # even by the user's own mistake
    assert all(file.read_text() == "years of work" for file in precious)
