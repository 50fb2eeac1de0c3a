"""The process that analyses one repository.

Computes: the result of one entry. Needs: a JSON object on standard input (folder, paths, memory limit). Gives: a JSON object on
standard output. Ignores: where the repository came from; the parent process fetched it.

It writes a complete result or an error, never a partial line. The parent enforces its limits, such as the time limit.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections import Counter
from typing import Any


def analyse(folder: str, paths: list[str]) -> dict[str, Any]:
    """Counts of the decisions in a repository."""
    from terra_refactor.classify.decision import Classification  # noqa: PLC0415 - after the limit is set
    from terra_refactor.config import Config, is_inside  # noqa: PLC0415
    from terra_refactor.errors import TerraError, UsageError  # noqa: PLC0415
    from terra_refactor.report.schema import build_report  # noqa: PLC0415
    from terra_refactor.report.to_json import plain  # noqa: PLC0415
    from terra_refactor.workspace.workspace import Options, analyze  # noqa: PLC0415

    os.chdir(folder)
    root = os.path.realpath(folder)
    for path in paths:  # they were given by name before their content was known
        if not is_inside(os.path.realpath(path), root):
            raise UsageError(f"{path}: leads out of the repository")
    report = analyze(paths, Options(config=Config(jobs=1), use_cache=False))
    if not report.decisions and (failed := [error for error in report.errors if error.by_chance]):
        raise TerraError(f"nothing could be analysed: {failed[0].message}")
    unsafe_by: Counter[str] = Counter()
    for decision in report.decisions:
        if decision.classification is Classification.UNSAFE:
            unsafe_by.update({hazard.rule for hazard in decision.hazards if not hazard.assumed})
    return {
        "summary": plain(build_report(report).summary),
        "candidates": sum(each.tensor_computation and not each.hybrid for each in report.decisions),
        "findings": dict(sorted(Counter(finding.rule for finding in report.findings).items())),
        "unsafe_by": dict(sorted(unsafe_by.items())),
        "unreadable_files": len(report.errors),
    }


def main() -> None:
    """Reads the task, runs it, and writes the result."""
    task = json.load(sys.stdin)
    _limit(int(task["memory_mb"]))
    answer: dict[str, Any]
    try:
        answer = {"status": "done", "error": "", **analyse(task["folder"], task["paths"])}
    except MemoryError:
        answer = {"status": "memory", "error": f"needs more than {task['memory_mb']} MB"}
    except Exception as error:
        answer = {"status": "failed", "error": f"{type(error).__name__}: {error}"}
    answer["peak_memory_mb"] = _peak()
    sys.stdout.write(json.dumps(answer, ensure_ascii=True))
    sys.stdout.flush()
    os._exit(0)  # nothing is left to do, and freeing a large heap takes time


def _limit(megabytes: int) -> None:
    if megabytes:
        with contextlib.suppress(ImportError, ValueError, OSError):  # not available on every system
            import resource  # noqa: PLC0415

            resource.setrlimit(resource.RLIMIT_AS, (megabytes << 20, megabytes << 20))


def _peak() -> int | None:
    """The largest resident size, in MB; None if the system does not report it."""
    try:
        import resource  # noqa: PLC0415
    except ImportError:
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak >> 20 if sys.platform == "darwin" else peak >> 10
