"""Entries count only with the user's own signature, whatever is forged."""

from __future__ import annotations

import os
import pickle
import stat
from collections.abc import Iterator
from hashlib import blake2b
from pathlib import Path

import pytest

from terra_refactor.ir.build.module import lower_module
from terra_refactor.syntax.parse import parse_module
from terra_refactor.syntax.source import source_from_text
from terra_refactor.workspace import cache as cache_module
from terra_refactor.workspace import cache_key as key_module
from terra_refactor.workspace.cache import LoweringCache, ResultCache
from terra_refactor.workspace.cache_key import cache_key

EXECUTED: list[str] = []


def execute(what: str) -> None:
    EXECUTED.append(what)


class Payload:
    def __reduce__(self) -> tuple[object, tuple[str, ...]]:
        return execute, ("ran",)


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    EXECUTED.clear()
    folder = tmp_path / "data"
    monkeypatch.setattr(key_module, "key_folder", lambda: folder)
    return folder


def entry(folder: Path) -> Path:
    (found,) = (file for file in folder.rglob("*") if file.suffix in (".ir", ".result"))
    return found


def forged() -> Iterator[bytes]:
    made = pickle.dumps(Payload())
    for magic in (b"terra-refactor cache\n", b"terra-refactor cache 2\n"):
        for size in (16, 32, 64):
            yield magic + blake2b(made, digest_size=size).digest() + made
            for guess in (bytes(32), b"terra-refactor", b"cache.key"):
                yield magic + blake2b(made, digest_size=size, key=guess).digest() + made
        yield magic + made
        yield magic
    yield made
    yield b""


def test_forged_entries_are_never_unpickled(tmp_path: Path) -> None:
    assert pickle.loads(pickle.dumps(Payload())) is None and EXECUTED == ["ran"]
    EXECUTED.clear()
    cache = ResultCache(tmp_path / "cache")
    cache.keep("key", {"a": 1})
    assert cache.find("key") == {"a": 1}
    for data in forged():
        entry(tmp_path / "cache").write_bytes(data)
        assert cache.find("key") is None
    assert EXECUTED == []


def test_an_entry_counts_only_for_its_key_and_kind(tmp_path: Path) -> None:
    cache = ResultCache(tmp_path / "cache")
    cache.keep("one", "result of one")
    made = entry(tmp_path / "cache")
    data = made.read_bytes()
    made.unlink()
    cache.keep("other", "result of the other")
    entry(tmp_path / "cache").write_bytes(data)
    assert cache.find("other") is None


def test_a_module_is_none_for_another_secret(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = lower_module(parse_module(source_from_text("x = 1\n", "m.py")), "m")
    cache = LoweringCache(tmp_path / "cache")
    cache.keep(module)
    assert cache.find(module.digest, "m", "m.py", is_package=False) == module
    monkeypatch.setattr(key_module, "key_folder", lambda: tmp_path / "another")
    assert cache.find(module.digest, "m", "m.py", is_package=False) is None


def test_the_key_is_made_once_and_private(own_folder: Path) -> None:
    first = cache_key()
    assert first is not None and len(first) == 32
    assert (own_folder / "cache.key").read_bytes() == first
    assert os.listdir(own_folder) == ["cache.key"]
    if os.name == "posix":
        assert stat.S_IMODE((own_folder / "cache.key").stat().st_mode) == 0o600
        assert stat.S_IMODE(own_folder.stat().st_mode) == 0o700
    key_module._key_in.cache_clear()
    assert cache_key() == first


def test_whoever_comes_second_takes_the_first_ones_key(own_folder: Path) -> None:
    first = cache_key()
    key_module._make(own_folder)
    key_module._key_in.cache_clear()
    assert cache_key() == first


@pytest.mark.skipif(os.name != "posix", reason="modes are those of POSIX")
@pytest.mark.parametrize("wrong", ["readable", "writable", "link", "pipe", "short", "long", "folder", "file"])
def test_a_key_that_others_may_know_is_none(wrong: str, own_folder: Path, tmp_path: Path) -> None:
    known = cache_key()
    assert known is not None
    key = own_folder / "cache.key"
    match wrong:
        case "readable":
            key.chmod(0o640)
        case "writable":
            key.chmod(0o602)
        case "link":
            key.rename(tmp_path / "elsewhere")
            key.symlink_to(tmp_path / "elsewhere")
        case "pipe":
            key.unlink()
            os.mkfifo(key, 0o600)
        case "short":
            key.write_bytes(known[:8])
        case "long":
            key.write_bytes(known + b"x")
        case "folder":
            own_folder.chmod(0o777)
        case "file":
            key.unlink()
            own_folder.rmdir()
            own_folder.write_text("no folder")
    key_module._key_in.cache_clear()
    assert cache_key() is None
    cache = ResultCache(tmp_path / "cache")
    cache.keep("key", 1)
    assert cache.find("key") is None
    assert not (tmp_path / "cache").exists()


@pytest.mark.skipif(os.name != "posix", reason="modes are those of POSIX")
def test_a_default_folder_that_an_earlier_version_left_open_is_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "cache"
    folder.mkdir()
    folder.chmod(0o775)
    monkeypatch.setattr(cache_module, "_default_folder", lambda: folder)
    ResultCache(folder).keep("key", 1)
    assert ResultCache(folder).find("key") == 1
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


@pytest.mark.skipif(os.name != "posix", reason="modes are those of POSIX")
def test_a_cache_folder_that_others_may_write_to_is_not_used(tmp_path: Path) -> None:
    folder = tmp_path / "cache"
    folder.mkdir()
    folder.chmod(0o777)
    ResultCache(folder).keep("key", 1)
    assert list(folder.iterdir()) == []


def test_a_key_in_the_current_folder_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "data").mkdir(mode=0o700)
    with open(tmp_path / "data" / "cache.key", "xb", opener=lambda path, flags: os.open(path, flags, 0o600)) as key:
        key.write(bytes(32))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(key_module, "key_folder", lambda: Path("data"))
    assert cache_key() is None
    monkeypatch.setattr(key_module, "key_folder", lambda: tmp_path / "data")
    assert cache_key() == bytes(32)
