"""Processor time of each test: a plugin, and a script that sums up its output.

`TERRA_REFACTOR_TIMES=build/times.jsonl make test` appends a line for each test: its id, the processor seconds of its
process and of its finished children, and wall-clock seconds. `python tests/processor_time.py build/times.jsonl`
prints the sums of the rooms, and the slowest modules and tests. Waiting (for a server, a limit) shows as wall time
without processor time. The forked children of `warm_children.py` are counted in a worker's last test; those of
`warm_programs.py` write their own lines, with the test if they know it.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections import defaultdict
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

SETTING = "TERRA_REFACTOR_TIMES"
SHOWN = 30
"""Number of modules and tests that are printed."""


class ProcessorTime:
    """Writes a line for each test, and one for the collection."""

    def __init__(self, file: Path) -> None:
        self.file = file
        file.parent.mkdir(parents=True, exist_ok=True)

    def _tell(self, name: str, before: tuple[float, float, float]) -> None:
        own, children, clock = (after - each for after, each in zip(_now(), before, strict=True))
        line = {"test": name, "own": round(own, 3), "children": round(children, 3), "clock": round(clock, 3)}
        # in one write, since workers write at the same time
        with self.file.open("a", encoding="utf-8") as stream:
            stream.write(json.dumps(line) + "\n")

    @pytest.hookimpl(wrapper=True)
    def pytest_collection(self) -> Generator[None, object, object]:
        before = _now()
        result = yield
        self._tell("collection", before)
        return result

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        before = _now()
        result = yield
        self._tell(item.nodeid, before)
        return result


def _now() -> tuple[float, float, float]:
    times = os.times()
    return times.user + times.system, times.children_user + times.children_system, time.monotonic()


def sums(lines: list[dict[str, Any]], parts: int | None) -> dict[str, tuple[float, float]]:
    """Processor seconds and wall-clock seconds, in descending order, by the first `parts` components of the path; by
    test for None.
    """
    found: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])
    for line in lines:
        path = line["test"].partition("::")[0]
        name = line["test"] if parts is None else "/".join(path.split("/")[:parts])
        found[name][0] += line["own"] + line["children"]
        found[name][1] += line["clock"]
    return {name: (cpu, clock) for name, (cpu, clock) in sorted(found.items(), key=lambda each: (-each[1][0], each[0]))}


def main(file: str) -> None:
    """Prints the sums of a file written by the plugin."""
    lines = [json.loads(line) for line in Path(file).read_text(encoding="utf-8").splitlines()]
    for title, parts in (("rooms", 2), ("modules", 9), ("tests", None)):
        print(f"{title}: processor seconds, seconds of the clock")
        for name, (cpu, clock) in list(sums(lines, parts).items())[:SHOWN]:
            print(f"{cpu:9.1f} {clock:9.1f}  {name}")


if __name__ == "__main__":
    main(sys.argv[1])
