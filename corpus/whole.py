"""The whole evaluation by one command: `python -m corpus all`.

Runs every part one after the other, each in a process of its own, with its output; measures the time of each; and writes the tables
at the end. A failing part does not prevent the others from running. The times go to docs/packages.json.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time

from corpus.released.commands import keep_times
from corpus.released.measuring import REPOSITORY

PARTS = ("agree", "types", "fetch", "analyze", "refactor", "accuracy", "evaluate")
"""`make coexec` is excluded because it takes as long as it is allowed, and `record` because it changes only with the programs."""
PAGES = ("report", "index")


def run_all() -> int:
    """Runs every part and writes every page. Returns 1 if one of the parts fails."""
    code = 0
    times: dict[str, dict[str, float]] = {}
    for part in PARTS:
        print(f"== python -m corpus {part}", flush=True)
        before, started = _cpu(), time.perf_counter()
        code |= _run(part)
        times[part] = {"cpu": round(_cpu() - before, 1), "wall": round(time.perf_counter() - started, 1)}
        keep_times(times)
    for page in PAGES:
        code |= _run(page)
    print(f"{sum(each['wall'] for each in times.values()) / 60:.1f} minutes")
    return code


def _run(part: str) -> int:
    return int(subprocess.run([sys.executable, "-m", "corpus", part], cwd=REPOSITORY, check=False).returncode != 0)


def _cpu() -> float:
    """Processor seconds of all finished child processes."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
