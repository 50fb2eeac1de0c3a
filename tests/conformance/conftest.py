"""Prints, after the conformance tests, the number of compared calls of each rule and the known imprecisions."""

from __future__ import annotations

import sys

import pytest


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Adds the table to the report of `pytest -v`; one line of totals otherwise."""
    harness = sys.modules.get("harness")
    outcomes = getattr(harness, "OUTCOMES", {})
    if not outcomes:
        return
    agreed = sum(outcome.agreed for outcome in outcomes.values())
    failed = sum(outcome.both_failed for outcome in outcomes.values())
    imprecise = sum(outcome.less_precise for outcome in outcomes.values())
    terminalreporter.write_line(
        f"conformance: {len(outcomes)} rules, {agreed} results agreed, {failed} failures agreed, {imprecise} results less precise"
    )
    if terminalreporter.verbosity < 1:
        return
    for name, outcome in sorted(outcomes.items()):
        note = f"  ({outcome.note})" if outcome.note else ""
        counts = f"{outcome.agreed:5} {outcome.both_failed:5} {outcome.less_precise:5}"
        terminalreporter.write_line(f"  {name:45} {counts}{note}")
