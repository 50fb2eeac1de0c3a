"""The cost of programs that are designed to break the analysis: seconds of processor time, memory, and the report.

Run it as `python tools/measure_nasty.py [NAME...] [--limit SECONDS] [--command analyze|lint|fix]`. Each program of
`tests/property/nasty_programs.py` is written at its full size and analysed by the command in a process of its own.
"""

from __future__ import annotations

import argparse
import collections
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(REPOSITORY / "tests" / "property"))

from nasty_programs import FULL, NASTY  # noqa: E402 - after the path is set


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--limit", type=int, default=60)
    parser.add_argument("--memory", type=float, default=4.0, help="GiB")
    parser.add_argument("--command", default="analyze")
    parser.add_argument("--scale", type=float, default=1.0)
    options = parser.parse_args()
    slow = 0
    for name in options.names or NASTY:
        seconds, peak, told = measure(name, options)
        slow += seconds > 10 or "answered" not in told
        print(f"{name:34} {seconds:7.1f} s {peak:6.0f} MB  {told}", flush=True)
    return 1 if slow else 0


def measure(name: str, options: argparse.Namespace) -> tuple[float, float, str]:
    """Seconds of processor time, memory in MB, and the state of the report for one program."""
    files = NASTY[name](max(1, int(FULL[name] * options.scale)))

    limit = int(options.memory * 2**30)
    limited = (
        "import resource, runpy, sys; "
        f"resource.setrlimit(resource.RLIMIT_CPU, ({options.limit}, {options.limit + 5})); "
        f"resource.setrlimit(resource.RLIMIT_AS, ({limit}, {limit})); "
        "runpy.run_module('terra_refactor', run_name='__main__', alter_sys=True)"
    )
    with tempfile.TemporaryDirectory() as folder:
        for path, text in files.items():
            target = Path(folder, "project", path)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8")
        command = [sys.executable, "-P", "-c", limited, options.command, "project", "--no-cache", "--jobs=1"]
        if options.command == "analyze":
            command += ["--format", "json", "--output", "report.json"]
        process = subprocess.Popen(
            command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
        )  # fmt: skip
        assert process.stderr is not None
        said = process.stderr.read().decode("utf-8", "replace")
        _, status, usage = os.wait4(process.pid, 0)
        code = os.waitstatus_to_exitcode(status)
        report = Path(folder, "report.json")
        if not report.exists() or options.command != "analyze":
            last = said.strip().splitlines()[-1:] or [""]
            told = "answered" if code in (0, 1, 3) and options.command != "analyze" else "no report"
            return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, f"{told} (exit {code}) {last[0][:160]}"
        return (
            usage.ru_utime + usage.ru_stime,
            usage.ru_maxrss / 1024,
            _told(json.loads(report.read_text("utf-8")), files),
        )


def _told(report: dict[str, object], files: dict[str, str]) -> str:
    functions, errors = report["functions"], report["errors"]
    assert isinstance(functions, list)
    assert isinstance(errors, list)
    answered = {each["path"] for each in functions} | {each["path"] for each in errors}
    classes = collections.Counter(each["classification"] for each in functions)
    lost = [path for path in files if f"project/{path}" not in answered and "def " in files[path]]
    told = f"{'answered' if not lost else f'LOST {len(lost)}'}: {dict(classes)}"
    reasons = collections.Counter(
        each["reason"][:70]
        for each in functions
        if "internal" in each["reason"] or "budget" in each["reason"] or "much" in each["reason"]
    )
    told += "".join(f"; {reason}" for reason, _ in reasons.most_common(2))
    return told + "".join(f"; {error['path']}: {error['message'][:90]}" for error in errors[:2])


if __name__ == "__main__":
    sys.exit(main())
