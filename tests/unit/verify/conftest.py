"""Children that begin with TensorFlow loaded, for the tests that ask for them."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from warm_children import Warm

from terra_refactor.verify import process


@pytest.fixture(scope="module")
def _waiting() -> Iterator[Warm]:
    warm = Warm(process.BOOTSTRAP)
    yield warm
    warm.close()


@pytest.fixture
def warm_children(_waiting: Warm, monkeypatch: pytest.MonkeyPatch) -> None:
    """Children of `verify` are copies of a process that has loaded TensorFlow, where the system can make such copies."""
    start = process._start

    def begin(python: str, job: str, request: Mapping[str, Any], folder: Path) -> Any:
        if python != sys.executable or request.get("environment"):
            return start(python, job, request, folder)
        return _waiting.child(job, request, folder)

    if hasattr(os, "fork"):
        monkeypatch.setattr(process, "_start", begin)
