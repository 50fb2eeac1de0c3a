"""The cache gives back what was kept, and nothing that goes wrong with it is ever an error."""

from __future__ import annotations

from pathlib import Path

import pytest

from terra_refactor.ir.build.module import lower_module
from terra_refactor.ir.program import ModuleIR
from terra_refactor.syntax.parse import parse_module
from terra_refactor.syntax.source import source_from_text
from terra_refactor.workspace import cache as cache_module
from terra_refactor.workspace.cache import LoweringCache, ResultCache, cache_info, clean_cache


def lowered(text: str = "def f(x):\n    return [y for y in x if y]\n") -> ModuleIR:
    return lower_module(parse_module(source_from_text(text, "pkg/m.py")), "pkg.m")


def find(cache: LoweringCache, module: ModuleIR) -> ModuleIR | None:
    return cache.find(module.digest, module.name, module.path, is_package=module.is_package)


def test_what_was_kept_is_found(tmp_path: Path) -> None:
    cache, module = LoweringCache(tmp_path), lowered()
    assert find(cache, module) is None
    cache.keep(module)
    assert find(cache, module) == module
    assert cache.find(module.digest, "other", module.path, is_package=False) is None
    assert cache.find("0" * 32, module.name, module.path, is_package=False) is None


def entry(folder: Path) -> Path:
    (found,) = folder.rglob("*.ir")
    return found


@pytest.mark.parametrize("damage", ["empty", "cut", "flipped", "other"])
def test_a_damaged_entry_is_none(tmp_path: Path, damage: str) -> None:
    cache, module = LoweringCache(tmp_path), lowered()
    cache.keep(module)
    file = entry(tmp_path)
    data = file.read_bytes()
    damaged = {
        "empty": b"",
        "cut": data[: len(data) // 2],
        "flipped": data[:-9] + bytes([data[-9] ^ 1]) + data[-8:],
        "other": b"something else",
    }[damage]
    file.write_bytes(damaged)
    assert find(cache, module) is None
    cache.keep(module)
    assert find(cache, module) == module


def test_another_version_finds_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = lowered()
    LoweringCache(tmp_path).keep(module)
    monkeypatch.setattr(cache_module, "generation", lambda: "another")
    assert find(LoweringCache(tmp_path), module) is None
    assert cache_info(tmp_path).stale_entries == 1


def test_a_folder_that_cannot_be_written_is_no_error(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    cache, module = LoweringCache(blocked), lowered()
    cache.keep(module)
    assert find(cache, module) is None


def test_info_and_clean(tmp_path: Path) -> None:
    folder = tmp_path / "lowered"
    cache = LoweringCache(folder)
    for text in ("x = 1\n", "x = 2\n"):
        cache.keep(lowered(text))
    info = cache_info(folder)
    assert (info.entries, info.results, info.stale_entries) == (2, 0, 0)
    assert info.size == sum(file.stat().st_size for file in folder.rglob("*.ir"))
    assert clean_cache(folder).entries == 2
    assert not folder.exists()
    assert clean_cache(folder).entries == 0


@pytest.mark.parametrize("damage", ["empty", "cut", "flipped", "other"])
def test_a_damaged_analysis_is_none(tmp_path: Path, damage: str) -> None:
    cache = ResultCache(tmp_path)
    assert cache.find_analysis("place") is None
    cache.keep_analysis("place", b"what an analysis left")
    assert cache.find_analysis("place") == b"what an analysis left"
    (file,) = tmp_path.rglob("*.analysis")
    data = file.read_bytes()
    damaged = {
        "empty": b"",
        "cut": data[: len(data) // 2],
        "flipped": data[:-9] + bytes([data[-9] ^ 1]) + data[-8:],
        "other": b"something else",
    }[damage]
    file.write_bytes(damaged)
    assert cache.find_analysis("place") is None
    cache.keep_analysis("place", b"another")
    assert cache.find_analysis("place") == b"another"


def test_an_analysis_of_another_version_or_place_is_not_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = ResultCache(tmp_path)
    cache.keep_analysis("place", b"data")
    (file,) = tmp_path.rglob("*.analysis")
    cache.keep_analysis("elsewhere", b"other")
    (other,) = (each for each in tmp_path.rglob("*.analysis") if each != file)
    other.write_bytes(file.read_bytes())  # an entry that stands in the place of another
    assert cache.find_analysis("elsewhere") is None
    monkeypatch.setattr(cache_module, "result_generation", lambda: "another")
    assert ResultCache(tmp_path).find_analysis("place") is None
    assert cache_info(tmp_path).stale_entries == 2
    clean_cache(tmp_path)
    assert not list(tmp_path.rglob("*.analysis"))
