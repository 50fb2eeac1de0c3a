"""Verifies a change before it is made, by running the program with and without it.

Computes: the comparison of one function. Needs: a snapshot, the request for a refactoring, and the command to run.
Gives: `prove`, `change_around`, `ProofResult`. Ignores: the user's consent to running their code, which the caller
must obtain.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from terra_refactor.classify.decision import Action, Decision, Level
from terra_refactor.errors import SourceError
from terra_refactor.ide.code_actions import NotPossible, Request, Task, best_change, refactored
from terra_refactor.ide.explanations import change_title, extraction_title, shown_name
from terra_refactor.ide.extracting import all_but, with_functions
from terra_refactor.ide.regions import regions_at
from terra_refactor.ide.session import StaleError
from terra_refactor.ide.snapshot import Snapshot
from terra_refactor.refactor.result import FileRefactoring, Outcome
from terra_refactor.syntax.source import Source, read_source
from terra_refactor.verify.commands import source_of
from terra_refactor.verify.process import CancelledError
from terra_refactor.verify.session import MIN_TIMED, Setting, verify_changes
from terra_refactor.verify.verdict import FunctionVerdict, NoTensorFlowError, ProgramVerdict, Status, Timing
from terra_refactor.workspace.printable import as_code, in_markdown

_WORDS = {
    Status.SAME: "the same with and without the change",
    Status.DIFFERENT: "different with the change",
    Status.FAILS: "fails with the change",
    Status.SLOWER: "the same, but slower with the change",
    Status.NOT_REACHED: "not proven: no call could be compared",
}


@dataclass(frozen=True, slots=True)
class ProofResult:
    """The result of running both versions."""

    status: Status
    sentence: str
    """A message."""
    page: str
    """The comparison, as Markdown."""

    @property
    def holds(self) -> bool:
        """Whether the change keeps the compared behaviour and is not slower."""
        return self.status is Status.SAME


@dataclass(frozen=True, slots=True)
class NoTensorFlow(NotPossible):
    """No interpreter has TensorFlow; the reason names those that were tried."""


def change_around(snapshot: Snapshot, path: str, line: int) -> Request | NotPossible:
    """The change of the training step at a line (from 1) that could be a function, else that of the innermost function around it."""
    for found in regions_at(snapshot, path, line, line):
        if found.decision.extract:
            return Request(Task.EXTRACT, path, found.decision.qualname, found.decision.line)
    decision = snapshot.decision_around(path, line)
    if decision is None:
        return NotPossible("there is no function here")
    best = best_change(snapshot, path, decision.qualname, decision.line)
    if best.task is Task.EXTRACT:
        return best
    if decision.action is Action.NONE:
        return NotPossible(f"there is no change of {shown_name(decision.qualname)} to prove: {decision.reason}")
    return Request(Task.REFACTOR, path, decision.qualname, decision.line)


def prove(
    snapshot: Snapshot, request: Request, pythons: Sequence[str], command: str, cancelled: Callable[[], bool]
) -> ProofResult | NotPossible:
    """Run the program with and without one refactoring. The files must be saved: the versions on disk run.

    The first of `pythons` that has TensorFlow is the interpreter; `command` is `python SCRIPT ...` or `pytest ...`, or
    empty to call the function on generated arguments.

    Raises:
        UsageError: nothing can be run: an interpreter does not start, or there is no script.
        StaleError: `cancelled` returned True.
    """
    source = source_of(command)
    on_disk = {path: _read(path) for path in snapshot.paths}
    saved = {
        path: read for path, read in on_disk.items() if read is not None and read.text == snapshot.sources[path].text
    }
    if len(saved) < len(on_disk):
        return NotPossible(
            f"save these files first, because the versions on disk are run: {', '.join(sorted({*on_disk} - {*saved}))}"
        )
    done = _changed(snapshot, request, cancelled)
    if isinstance(done, NotPossible):
        return done
    decision, file, title = done
    decisions = [each for path in snapshot.paths for each in snapshot.decisions.get(path, ())]
    refused = []
    for python in pythons:
        setting = Setting(python, source, cancelled=cancelled)
        try:
            verification = verify_changes([replace(file, source=saved[request.path])], decisions, saved, setting)
            break
        except CancelledError as error:
            raise StaleError("cancelled") from error
        except NoTensorFlowError as error:
            refused.append(f"{error.python} cannot import TensorFlow ({error.said})")
    else:
        return NoTensorFlow(f"nothing was run: {'; '.join(refused)}")
    (verdict,) = verification.functions
    program = verification.program
    status = verdict.status
    if program is not None and program.difference is not None and status in (Status.SAME, Status.SLOWER):
        status = Status.DIFFERENT
    said = f"{shown_name(decision.qualname)}: {_WORDS[status]}{_measured(verdict)}"
    if status not in (Status.SAME, Status.SLOWER):
        why = verdict.detail or ("" if program is None or program.difference is None else program.difference)
        said += f" ({why})" if why else ""
    return ProofResult(
        status,
        said,
        "\n\n".join([f"# {in_markdown(title)}", *_page(verdict, program, status, verification.tensorflow)]) + "\n",
    )


def _changed(
    snapshot: Snapshot, request: Request, cancelled: Callable[[], bool]
) -> tuple[Decision, FileRefactoring, str] | NotPossible:
    """The decision about the function that changes or is made, the file in which it is, and the change in words."""
    if request.task is not Task.EXTRACT:
        done = refactored(snapshot, request)
        return (
            done
            if isinstance(done, NotPossible)
            else (*done, f"{change_title(done[0])}: {shown_name(done[0].qualname)}")
        )
    for found in regions_at(snapshot, request.path, request.line, request.line):
        if found.region is not None and (found.decision.qualname, found.decision.line) == (
            request.qualname,
            request.line,
        ):
            files = with_functions(snapshot, [found], Level.COEXEC, all_but(snapshot, lambda _: False), cancelled)
            reasons = [each.reason for file in files for each in file.changes if each.outcome is not Outcome.DONE]
            if reasons or not files or not files[0].extracted:
                return NotPossible(reasons[0] if reasons else f"{shown_name(request.qualname)} cannot be extracted")
            return files[0].extracted[0], files[0], extraction_title(found.decision)
    return NotPossible(f"{shown_name(request.qualname)} cannot be extracted there any more")


def _read(path: str) -> Source | None:
    """A file on disk; None if it cannot be read."""
    try:
        return read_source(path)
    except SourceError:
        return None


def _measured(verdict: FunctionVerdict) -> str:
    if not verdict.compared:
        return ""
    # a few calls are no evidence about time
    timed = verdict.speedup is not None and min(verdict.before.calls, verdict.after.calls) >= MIN_TIMED
    faster = f", {verdict.speedup:.1f} × as fast" if timed else ""
    return f" in {verdict.compared} compared call{'s' if verdict.compared != 1 else ''}{faster}"


def _page(
    verdict: FunctionVerdict, program: ProgramVerdict | None, status: Status, tensorflow: str | None
) -> list[str]:
    parts = [f"**{_WORDS[status][:1].upper()}{_WORDS[status][1:]}**{_measured(verdict)}."]
    if verdict.detail:
        parts.append(in_markdown(verdict.detail))
    timings = (verdict.before, verdict.after)
    if any(each.median is not None for each in timings):
        rows = ["| | before | after |", "|---|---|---|"]
        rows.append(f"| calls | {' | '.join(str(each.calls) for each in timings)} |")
        rows.append(f"| median of a call | {' | '.join(map(_median, timings))} |")
        rows.append(f"| traces | {' | '.join(map(_traces, timings))} |")
        parts.append("\n".join(rows))
    if program is None:
        parts.append("Run: the function alone, on generated arguments of the inferred types.")
    else:
        said = "output, exit code and variables are the same" if program.difference is None else program.difference
        parts.append(f"Run: {as_code(program.command)}: {in_markdown(said)}.")
    parts.append(f"With TensorFlow {tensorflow}, in copies of the project. No file of yours was changed by the runs.")
    return parts


def _median(timing: Timing) -> str:
    return "–" if timing.median is None else f"{timing.median * 1e6:,.0f} µs"


def _traces(timing: Timing) -> str:
    return "–" if timing.traces is None else f"{timing.traces} in {timing.tracing:.2f} s"
