"""Options and settings that all tests share."""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from kept_answers import UNKEPT
from processor_time import SETTING as TIMES
from processor_time import ProcessorTime
from running_time import is_left_out, place_of, unit_of
from warm_children import Warm

# A failing run must fail again: the examples are the same in each run, and slowness is not a failure. `make explore`
# searches for new examples.
_BUSY = [HealthCheck.too_slow]
settings.register_profile("repeatable", derandomize=True, database=None, deadline=None, suppress_health_check=_BUSY)
settings.register_profile("explore", derandomize=False, deadline=None, suppress_health_check=_BUSY)
settings.load_profile(os.environ.get("TERRA_REFACTOR_HYPOTHESIS", "repeatable"))


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Test modules whose tests all have a deselected mark are not imported: importing TensorFlow takes five seconds."""
    if not collection_path.name.startswith("test_"):
        return None
    return is_left_out(collection_path.read_text(encoding="utf-8"), config.getoption("markexpr")) or None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Sorts the slowest tests to the front."""
    items.sort(key=lambda item: place_of(item.nodeid))


def pytest_collection_finish() -> None:
    """Freezes all imported objects: Keras, and tests, run the garbage collector hundreds of times."""
    gc.collect()
    gc.freeze()


def pytest_configure(config: pytest.Config) -> None:
    """Reduces the frequency of garbage collections, since analyses create few cycles; records the time of each test on
    request. SIGINT raises KeyboardInterrupt, also where a shell started the tests in the background and has it ignored.
    """
    gc.set_threshold(200_000, 10, 20)
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if file := os.environ.get(TIMES):
        config.pluginmanager.register(ProcessorTime(Path(file)))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Modules with independent tests are spread over the workers; each other module runs in one worker."""
    from xdist.scheduler import LoadScopeScheduling  # noqa: PLC0415 - xdist may be missing

    if config.getoption("dist") != "loadscope":
        return None

    class Scheduling(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return unit_of(nodeid)

    return Scheduling(config, log)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """A worker reports its questions without a kept answer."""
    output = getattr(session.config, "workeroutput", None)
    if output is not None:
        output["unkept"] = dict(UNKEPT)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Sums up the workers' questions without a kept answer."""
    UNKEPT.update(getattr(node, "workeroutput", {}).get("unkept", {}))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Reports why a run took longer than necessary."""
    if UNKEPT:
        questions = ", ".join(f"{name} {number}" for name, number in sorted(UNKEPT.items()))
        terminalreporter.write_line(f"questions to TensorFlow without a kept answer (`make answers`): {questions}")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update", action="store_true", help="rewrite the golden files instead of comparing with them")


@pytest.fixture(scope="session")
def _waiting() -> Iterator[Warm]:
    warm = Warm()
    yield warm
    warm.close()


@pytest.fixture
def warm_children(_waiting: Warm, monkeypatch: pytest.MonkeyPatch) -> None:
    """Children of `verify` are forked from a process that has loaded TensorFlow, if the system supports it."""
    from terra_refactor.verify import process  # noqa: PLC0415 - few tests need it

    start = process._start

    def begin(python: str, job: str, request: Mapping[str, Any], folder: Path) -> Any:
        if python != sys.executable or request.get("environment"):
            return start(python, job, request, folder)
        return _waiting.child(process.BOOTSTRAP, job, request, folder)

    if hasattr(os, "fork"):
        monkeypatch.setattr(process, "_start", begin)


@pytest.fixture
def update(request: pytest.FixtureRequest) -> bool:
    """Whether golden files are rewritten."""
    return bool(request.config.getoption("--update"))
