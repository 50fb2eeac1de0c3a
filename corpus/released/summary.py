"""The numbers and names of a report that are committed for each package, and their differences.

Computes: `summary_of`, from a report of `analysis.py`; everything in it is the same in each run. Gives:
`differences`, one line for each change, for display; `read` and `write` for corpus/released/expected.

Terms. A **candidate** is a function (no lambda) outside of tests that is a `tf.function` already, or that has a
parameter that is, or holds, a tensor or a variable. **Refactored** is a candidate with an action; its level is the
lowest one at which `fix` makes it. A candidate without an action is **refused**, for a reason: the first rule that
makes it unsafe, or the report's sentence without names and numbers.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from terra_refactor.rules.registry import all_rules

EXPECTED = Path(__file__).parent / "expected"
LEVELS = ("safe", "speculative", "coexec")
CLASSES = ("safe", "speculative", "unsafe")

Summary = dict[str, Any]


def summary_of(report: Mapping[str, Any]) -> Summary:
    """The committed part of a report."""
    functions = [entry for entry in report["functions"] if not in_tests(entry["path"])]
    candidates = [entry for entry in functions if is_candidate(entry)]
    changed = [entry for entry in candidates if entry["action"] != "none"]
    refused = [entry for entry in candidates if entry["action"] == "none"]
    return {
        "files": report["summary"]["files"],
        "lines": report["summary"]["lines"],
        "functions": len(report["functions"]),
        "functions_in_tests": len(report["functions"]) - len(functions),
        "unreadable_files": len(report["errors"]),
        "candidates": {
            "all": len(candidates),
            "tf_function_already": sum(entry["hybrid"] for entry in candidates),
            **{name: sum(entry["classification"] == name for entry in candidates) for name in CLASSES},
        },
        "refactored": {
            level: {action: _names(changed, level, action) for action in _actions(changed, level)} for level in LEVELS
        },
        "refused": _counted(_refusal(entry) for entry in refused),
        "assumptions": _counted(
            without_names(text) for entry in changed if entry["level"] == "speculative" for text in entry["assumptions"]
        ),
        "findings": _counted(entry["rule"] for entry in report["diagnostics"] if not in_tests(entry["path"])),
    }


def in_tests(path: str) -> bool:
    """Whether a file is part of a test-suite, by its name or its folder's."""
    *folders, name = path.split("/")
    stem = name.partition(".")[0]
    return (
        any(folder in ("test", "tests", "testing") for folder in folders)
        or stem.startswith("test_")
        or stem.endswith("_test")
        or stem == "conftest"
    )


def is_candidate(entry: Mapping[str, Any]) -> bool:
    """Whether a graph could be useful for a function."""
    if entry["kind"] == "lambda":
        return False  # it cannot have a decorator
    return entry["hybrid"] or any(
        parameter["kind"] in ("tensor", "variable") or (parameter["kind"] == "container" and parameter["types"])
        for parameter in entry["parameters"]
    )


def without_names(text: str) -> str:
    """A sentence of the report without the parts that differ between functions."""
    plain = re.sub(r"`[^`]*`", "…", text).replace("operation per", "operations per")
    return re.sub(r"TR\d+|\d+", lambda found: found[0] if found[0][0] == "T" else "N", plain)


def _refusal(entry: Mapping[str, Any]) -> str:
    rule = entry["refused_by"]
    return f"{rule} {all_rules()[rule].name}" if rule else without_names(entry["reason"])


def _actions(changed: list[Mapping[str, Any]], level: str) -> list[str]:
    return sorted({entry["action"] for entry in changed if entry["level"] == level})


def _names(changed: list[Mapping[str, Any]], level: str, action: str) -> list[str]:
    chosen = [entry for entry in changed if entry["level"] == level and entry["action"] == action]
    return sorted(f"{entry['path']}: {entry['qualname']}" for entry in chosen)


def _counted(texts: Iterator[str]) -> dict[str, int]:
    return dict(sorted(Counter(texts).items()))


def read(key: str) -> Summary | None:
    """The committed summary of a package, if there is one."""
    path = EXPECTED / f"{key}.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None


def write(key: str, summary: Summary) -> None:
    """Writes a summary to commit."""
    EXPECTED.mkdir(exist_ok=True)
    text = json.dumps(summary, indent=1, ensure_ascii=False)
    (EXPECTED / f"{key}.json").write_text(text + "\n", encoding="utf-8")


def differences(expected: Any, present: Any, place: str = "") -> Iterator[str]:
    """The changes from one summary to the other, one line each: numbers as `before → now`, added items with `+`, removed ones with `-`."""
    if isinstance(expected, dict) and isinstance(present, dict):
        for key in [*expected, *(key for key in present if key not in expected)]:
            inner = f"{place}, {key}" if place else key
            sides = [side.get(key, _nothing(expected.get(key, present.get(key)))) for side in (expected, present)]
            yield from differences(sides[0], sides[1], inner)
    elif isinstance(expected, list) and isinstance(present, list):
        gone, come = Counter(expected) - Counter(present), Counter(present) - Counter(expected)
        yield from (f"- {place}: {name}" for name in gone.elements())
        yield from (f"+ {place}: {name}" for name in come.elements())
    elif expected != present:
        yield f"  {place}: {expected} → {present}"


def _nothing(like: Any) -> Any:
    return type(like)()
