"""The shim's report as text.

Computes: a summary of each program. Needs: the registered programs. Gives: `register`, `render`.
Ignores: drawing (picture.py).
"""

from __future__ import annotations

import weakref
from typing import Any

from terra_refactor.runtime import picture
from terra_refactor.runtime.program import Program

_KEPT_OF_THE_GONE = 100
_USUAL = 2  # calls that take a new path at one line in any program: two at most, if the first builds layers
_LISTED = 5

_programs: weakref.WeakSet[Program] = weakref.WeakSet()
_gone: list[str] = []
_speculations: weakref.WeakSet[Any] = weakref.WeakSet()


def register(program: Program) -> None:
    """Adds a program to the report, which lists it even after its function is deleted."""
    _programs.add(program)
    program.at_end = _remember


def _remember(program: Program) -> None:
    if program.calls:
        _gone.append(describe(program))
        del _gone[:-_KEPT_OF_THE_GONE]


def register_speculation(speculation: Any) -> None:
    """Add a speculative function to the report."""
    _speculations.add(speculation)


def programs() -> list[Program]:
    """The registered programs, in order of creation."""
    return sorted(_programs, key=lambda program: program.number)


def render(form: str) -> str:
    """The report in one of its formats."""
    if form == "text":
        return text()
    if form == "svg":
        return picture.svg(programs())
    if form == "html":
        return picture.html(programs(), text())
    raise ValueError(f"the report comes as text, svg or html, not {form!r}")


def text() -> str:
    """The report as text."""
    parts = [*_gone, *(describe(program) for program in programs())]
    parts.extend(speculation.describe() for speculation in _speculations)
    return "\n\n".join(parts) if parts else "no function is co-executed"


def describe(program: Program) -> str:
    """One program, as lines."""
    lines = [f"{program.name}: {program.calls} calls, {program.complete_calls} entirely on known paths"]
    if program.eager_reason is not None:
        lines.append(f"  eager from now on: {program.eager_reason}")
    costs = program.costs
    lines.append(f"  speed: {costs.comparison()}")
    if costs.resting:
        lines.append(f"  eager for the next {costs.resting} calls, because that is faster; then it is tried again")
    if program.frozen and program.eager_reason is None:
        lines.append(f"  no new paths are recorded (max_paths={program.max_paths})")
    lines.append(
        f"  paths: {program.paths} segments recorded, {program.nodes} nodes;"
        f" built {program.segments_built} in {program.build_seconds:.2f} s, run {program.segments_run} times"
    )
    immediate = sum(program.immediates.values())
    total = program.deferred + immediate
    rate = 100.0 * program.deferred / total if total else 0.0
    lines.append(
        f"  operations: {program.deferred} deferred ({rate:.1f} %), {immediate} run at once;"
        f" {program.fetches} values fetched, {program.asides} times data alone computed without waiting for the rest,"
        f" {program.replays} segments run one by one"
    )
    lines.append(f"  time: {program.total_seconds:.3f} s, of which {program.graph_seconds:.3f} s submitting segments")
    for title, counts in (("fell back", program.fallbacks), ("could not be built", program.build_failures)):
        lines.extend(f"  {title}: {reason} ({count} times)" for reason, count in sorted(counts.items()))
    lines.extend(
        f"  left the known paths at {line}{f', {name}' if name else ''} ({count} times)"
        for (line, name), count in program.departures.most_common(_LISTED)
        if count > _USUAL
    )
    lines.extend(f"  run at once: {name} ({count} times)" for name, count in sorted(program.immediates.items()))
    lines.extend(f"  not deferred whole: {name}: {reason}" for name, reason in sorted(program.refusals.items()))
    if program.shadow:
        lines.append(f"  shadow: {program.shadow_checks} segments compared, {len(program.shadow_differences)} differ")
        lines.extend(f"  shadow: {difference}" for difference in program.shadow_differences)
    return "\n".join(lines)
