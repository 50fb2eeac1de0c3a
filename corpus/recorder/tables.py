"""The content of docs/types.json as Markdown: one table for docs/accuracy.md and docs/evaluation.md, one row for README.md."""

from __future__ import annotations

import json
from typing import Any

from corpus.recorder.bundled import NUMBERS
from corpus.recorder.recording import KINDS


def numbers() -> dict[str, Any]:
    """The counts that `python -m corpus types` wrote."""
    found: dict[str, Any] = json.loads(NUMBERS.read_text(encoding="utf-8"))
    return found


def table() -> list[str]:
    """A row for each group of programs and kind of answer, with `all` at the end."""
    found = numbers()
    lines = [
        "| programs | functions | what | number | recognised | precision | sound | exact | less precise | unknown | wrong |",
        "|---|---:|---|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for group in sorted(found, key=lambda name: (name == "all", name)):
        entry = found[group]
        for kind in KINDS:
            if kind in entry["kinds"]:
                one = entry["kinds"][kind]
                precision = ""
                if kind == "parameters":
                    precision = _share(one["recognised"], one["recognised"] + entry["false_tensors"])
                sound = one["exact"] + one["imprecise"]
                shares = [_share(one["recognised"], one["number"]), precision, *(_share(each, one["number"]) for each in (sound, one["exact"]))]
                counts = [str(one[name]) for name in ("imprecise", "unknown", "wrong")]
                lines.append(f"| {group} | {entry['functions']} | {kind} | {one['number']} | {' | '.join([*shares, *counts])} |")
    return lines


def claim() -> str:
    """The results for all programs in a sentence."""
    entry = numbers()["all"]
    parameters, returns = entry["kinds"]["parameters"], entry["kinds"]["returns"]
    precision = _share(parameters["recognised"], parameters["recognised"] + entry["false_tensors"])
    wrong = sum(one["wrong"] for one in entry["kinds"].values())
    return (
        f"{_share(parameters['recognised'], parameters['number'])} of {parameters['number']} tensor parameters recognised (precision {precision}), "
        f"{_share(parameters['exact'], parameters['number'])} exactly; {_share(returns['exact'], returns['number'])} of {returns['number']} results exactly; "
        f"{wrong} wrong"
    )


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f}%" if whole else ""
