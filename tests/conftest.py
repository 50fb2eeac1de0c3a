"""Options and settings that all tests share."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from running_time import LONGEST_FIRST

# A run that fails must fail again tomorrow: the examples are the same in each run, and a busy machine fails none.
# `make explore` looks for new ones.
_BUSY = [HealthCheck.too_slow]
settings.register_profile("repeatable", derandomize=True, database=None, deadline=None, suppress_health_check=_BUSY)
settings.register_profile("explore", derandomize=False, deadline=None, suppress_health_check=_BUSY)
settings.load_profile(os.environ.get("TERRA_REFACTOR_HYPOTHESIS", "repeatable"))

_ALL_NEED_TENSORFLOW = re.compile(r"^pytestmark = .*\bpytest\.mark\.tensorflow\b", re.MULTILINE)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Modules of which each test needs TensorFlow are not imported where such tests are left out: that alone takes five seconds."""
    chosen = config.getoption("markexpr")
    if "not tensorflow" not in chosen or " or " in chosen or not collection_path.name.startswith("test_"):
        return None
    return bool(_ALL_NEED_TENSORFLOW.search(collection_path.read_text(encoding="utf-8"))) or None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Sorts the longest modules to the front."""
    places = {name: place for place, name in enumerate(LONGEST_FIRST)}
    items.sort(key=lambda item: places.get(item.nodeid.partition("::")[0], len(places)))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update", action="store_true", help="write the golden files anew instead of comparing with them")


@pytest.fixture
def update(request: pytest.FixtureRequest) -> bool:
    """Whether golden files are to be written anew."""
    return bool(request.config.getoption("--update"))
