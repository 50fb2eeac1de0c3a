"""The analysis of one folder, in a process of its own: `python -m corpus.released.analysis`, in the folder (which git may ignore).

It prints the output of `analyze --no-cache --format json .` with two more keys for each function: `level`, the lowest level at which
`fix` makes the action (null without one), and `refused_by`, the first rule whose hazard makes the function unsafe (null without one).
"""

from __future__ import annotations

import json
import sys

from terra_refactor.classify.decision import Action, Classification
from terra_refactor.config import Config
from terra_refactor.report.schema import build_report
from terra_refactor.report.to_json import plain
from terra_refactor.workspace.workspace import Options, analyze


def main() -> None:
    """Analyses the current folder."""
    results = analyze(["."], Options(Config(respect_gitignore=False), use_cache=False))
    report = plain(build_report(results))
    for entry, decision in zip(report["functions"], results.decisions, strict=True):
        unsafe = decision.classification is Classification.UNSAFE
        certain = [hazard.rule for hazard in decision.hazards if not hazard.assumed]
        entry["level"] = None if decision.action is Action.NONE else decision.level.value
        entry["refused_by"] = certain[0] if unsafe and certain else None
    json.dump(report, sys.stdout)


if __name__ == "__main__":
    main()
