"""The search for cyclic garbage is off while an analysis runs, and made once after a large one."""

from __future__ import annotations

import gc
import weakref

import pytest

from terra_refactor.workspace.collection import MANY_FILES, collect_after_many, without_collection


class Knot:
    """An object that refers to itself."""

    def __init__(self) -> None:
        self.itself = self


@pytest.mark.parametrize(
    ("files", "enabled", "found"), [(MANY_FILES, False, True), (1, False, False), (MANY_FILES, True, False)]
)
def test_one_search_after_many_files_where_none_comes_by_itself(files: int, enabled: bool, found: bool) -> None:
    before = gc.isenabled()
    try:
        gc.disable()
        knot = weakref.ref(Knot())
        assert knot() is not None
        if enabled:
            gc.enable()
        assert bool(collect_after_many(files)) is found
        if not enabled:
            assert (knot() is None) is found
    finally:
        (gc.enable if before else gc.disable)()


@pytest.mark.parametrize("enabled", [True, False])
def test_the_search_is_as_it_was_behind_an_analysis(enabled: bool) -> None:
    before = gc.isenabled()
    try:
        (gc.enable if enabled else gc.disable)()
        with without_collection():
            assert not gc.isenabled()
        assert gc.isenabled() is enabled
    finally:
        (gc.enable if before else gc.disable)()
