"""Runs both versions of a program, and judges the results.

Computes: the verdict about every function to change, and about the run as a whole. Needs: the refactored files, the
decisions, an interpreter with TensorFlow, and what to run: functions on generated arguments, a script, or tests.
Gives: `verify_changes`. Ignores: which changes are worth making.

Original and refactored program run one after the other, each in a process and a copy of the project of its own, with
the same seeds; for a script or tests both processes load TensorFlow in parallel before the first one runs. If only
numbers differ, the original runs once more with other kernels, one thread, and the arguments of functions changed in
their last bit: its difference from itself is rounding.
"""

from __future__ import annotations

import ast
import contextlib
import json
import os
import shutil
import statistics
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from typing_extensions import assert_never

from terra_refactor.classify.decision import Action, Decision
from terra_refactor.errors import UsageError
from terra_refactor.refactor.result import Change, FileRefactoring, Outcome
from terra_refactor.syntax.source import Source
from terra_refactor.verify.child.instrument import definitions
from terra_refactor.verify.copies import copy_project, project_folder
from terra_refactor.verify.process import Child, Ended, never, run_child
from terra_refactor.verify.recipes import constructor_recipes, job_of
from terra_refactor.verify.verdict import (
    FunctionVerdict,
    Limits,
    NoTensorFlowError,
    ProgramVerdict,
    Script,
    Status,
    Tests,
    Timing,
    Verification,
)

SLOWER: Final = 1.05
"""A refactored function whose calls take longer than the original's by this factor counts as slower."""
MIN_TIMED: Final = 10
"""Minimum number of calls from which times are compared."""
CONTROL: Final = {"TF_ENABLE_ONEDNN_OPTS": "0", "OMP_NUM_THREADS": "1", "TF_NUM_INTRAOP_THREADS": "1"}
"""With these settings the kernels sum in another order."""


@dataclass(frozen=True, slots=True)
class Setting:
    """How to run.

    Attributes:
        python: the interpreter that has TensorFlow.
        source: what to run; None to call the functions with arguments built from their known types.
        limits: the limits of each process.
        record: whether calls are recorded in full; otherwise only times are measured, without seeds.
        cancelled: called while something runs; once it returns True, `verify_changes` raises CancelledError.
    """

    python: str
    source: Script | Tests | None = None
    limits: Limits = field(default_factory=Limits)
    record: bool = True
    cancelled: Callable[[], bool] = never


@dataclass(frozen=True, slots=True)
class _Chosen:
    """One function to compare: the decision, its key in the recordings, and its index among definitions of its name."""

    decision: Decision
    change: Change
    key: str
    ordinal: int
    source: Source


def verify_changes(
    files: Sequence[FileRefactoring],
    decisions: Sequence[Decision],
    sources: Mapping[str, Source],
    setting: Setting,
) -> Verification:
    """Runs both versions and compares them.

    Raises:
        UsageError: the interpreter cannot be started, or has no TensorFlow; a script is not below the project's
            folder; copying fails.
        CancelledError: the setting's `cancelled` returned True.
    """
    chosen = _chosen(files, decisions)
    if not chosen:
        return Verification((), None, None)
    on_disk = [source.file for source in sources.values() if source.file is not None]
    if len(on_disk) < len(sources):
        raise UsageError("only files on disk can be run")
    with tempfile.TemporaryDirectory(prefix="terra-refactor-verify-", ignore_cleanup_errors=True) as work:
        try:
            return _Session(Path(work), chosen, files, decisions, sources, setting).run()
        except shutil.Error as error:
            raise UsageError(f"the project cannot be copied: {error.args[0][0][2] if error.args else error}") from error
        except OSError as error:
            raise UsageError(f"the project cannot be copied or run: {error}") from error


def _chosen(files: Sequence[FileRefactoring], decisions: Sequence[Decision]) -> list[_Chosen]:
    extracted = (decision for file in files for decision in file.extracted)
    by_place = {(decision.path, decision.line, decision.qualname): decision for decision in (*decisions, *extracted)}
    chosen = []
    for file in files:
        done = [change for change in file.changes if change.outcome is Outcome.DONE]
        if not done:
            continue
        places = _ordinals(file.source.text)
        for change in done:
            decision = by_place[change.path, change.line, change.qualname]
            ordinal = places.get((change.qualname, change.line), 0)
            chosen.append(_Chosen(decision, change, f"{change.path}:{change.line}", ordinal, file.source))
    return chosen


def _ordinals(text: str) -> dict[tuple[str, int], int]:
    """The index of each definition among those of its name, by name and line."""
    seen: dict[str, int] = {}
    found = {}
    for qualname, node, _ in definitions(ast.parse(text)):
        found[qualname, node.lineno] = seen.get(qualname, 0)
        seen[qualname] = seen.get(qualname, 0) + 1
    return found


class _Session:
    def __init__(
        self,
        work: Path,
        chosen: list[_Chosen],
        files: Sequence[FileRefactoring],
        decisions: Sequence[Decision],
        sources: Mapping[str, Source],
        setting: Setting,
    ) -> None:
        self.work = work
        self.chosen = chosen
        self.decisions = decisions
        self.sources = sources
        self.setting = setting
        places = [os.path.realpath(source.file) for source in sources.values() if source.file is not None]
        script = setting.source
        if isinstance(script, Script) and script.file is not None:
            if not os.path.isfile(script.file):
                raise UsageError(f"--run: there is no file {script.file}")
            places.append(os.path.realpath(script.file))
        self.project = project_folder(places)
        self.texts = {file.source.path: file.new_text for file in files}
        self.extracted = {file.source.path: text for file in files if (text := file.extracted_text) is not None}
        """Texts in which statements are extracted as undecorated functions, with which an extracted function is compared."""
        self.ends: dict[str, dict[str, Ended]] = {"before": {}, "after": {}, "control": {}}

    def run(self) -> Verification:
        self._versions(("before", "after"))
        request = {
            "before": str(self.work / "before.run"),
            "after": str(self.work / "after.run"),
            "functions": [each.key for each in self.chosen],
            "program": self.setting.source is not None,
            "result": str(self.work / "result.json"),
        }
        result = self._compare(request)
        if result["rounding"] and _has_difference(result):
            self._versions(("control",))
            result = self._compare({**request, "control": str(self.work / "control.run")})
        return Verification(
            tuple(self._verdict(each, result["functions"][each.key], result["program"]) for each in self.chosen),
            self._program(result["program"]),
            self._tensorflow("before"),
        )

    # --- running ---------------------------------------------------------------------------------------------------------------

    def _versions(self, versions: Sequence[str]) -> None:
        """Runs versions to their end, one after the other; function by function if one breaks the process."""
        requests = {version: self._request(version) for version in versions}
        if self.setting.source is None:
            for version, request in requests.items():
                self._calls(version, request, self.work / version, self._folder(version))
            return
        limits = self.setting.limits
        with contextlib.ExitStack() as stack:
            children = {}
            for version, request in requests.items():
                gate = self.work / f"{version}.gate"
                child = Child(
                    self.setting.python,
                    "run",
                    {**request, "gate": str(gate)},
                    self._folder(version),
                    limits.output,
                    self.setting.cancelled,
                )
                children[version] = stack.enter_context(child), gate
            for version, (child, _) in children.items():
                ended = child.first_event(limits.run_seconds)
                self._check_tensorflow(version, Ended(None, "it has not ended") if ended is None else ended)
            for version, (child, gate) in children.items():
                gate.touch()
                self.ends[version][""] = child.end(limits.run_seconds)

    def _folder(self, version: str) -> Path:
        return self.work / f"{version}.run"

    def _request(self, version: str) -> dict[str, Any]:
        """The request to the process of one version, in a copy created here."""
        copy, folder = self.work / version, self._folder(version)
        folder.mkdir()
        copy_project(self.project, copy, self._replaced(self._texts(version)))
        request: dict[str, Any] = {
            "folder": str(folder),
            "path": self._import_roots(copy),
            "cwd": str(self._cwd(copy)),
            "memory": self.setting.limits.memory,
            "record": self.setting.record,
            "controlled": self.setting.record,
            "shaken": version == "control",
            "environment": CONTROL if version == "control" else {},
            "targets": self._targets(copy),
        }
        match self.setting.source:
            case None:
                pass
            case Script(file=file, module=module, arguments=arguments):
                request |= {
                    "job": "script",
                    "script": None if file is None else str(self._in_copy(file, copy)),
                    "module": module,
                    "arguments": arguments,
                }
            case Tests(arguments=arguments):
                request |= {"job": "tests", "arguments": list(arguments)}
            case _:
                assert_never(self.setting.source)
        return request

    def _calls(self, version: str, request: dict[str, Any], copy: Path, folder: Path) -> None:
        limits = self.setting.limits
        pending = {each.key: job for each in self.chosen if (job := self._job(each, copy)) is not None}
        constructors = constructor_recipes(self.decisions, lambda path: str(self._in_copy(self._file(path), copy)))
        while pending:
            request |= {"job": "calls", "jobs": list(pending.values()), "constructors": constructors}
            ended = run_child(
                self.setting.python,
                "run",
                request,
                folder,
                seconds=limits.run_seconds,
                idle=limits.function_seconds,
                output=limits.output,
                cancelled=self.setting.cancelled,
            )
            self._check_tensorflow(version, ended)
            begun = [event["function"] for event in self._events(version) if event["event"] == "begin"]
            if any(event["event"] == "end" for event in self._events(version)):
                return
            if not begun or begun[-1] not in pending:
                self.ends[version] |= dict.fromkeys(pending, ended)
                return
            self.ends[version][begun[-1]] = ended
            pending = {key: job for key, job in pending.items() if key not in begun}

    def _job(self, each: _Chosen, copy: Path) -> dict[str, Any] | None:
        file = str(self._in_copy(self._file(each.decision.path), copy))
        return job_of(each.decision, each.key, file, lambda path: str(self._in_copy(self._file(path), copy)))

    def _file(self, path: str) -> str:
        file = self.sources[path].file
        assert file is not None
        return file

    def _in_copy(self, file: str, copy: Path) -> Path:
        place = copy / os.path.relpath(os.path.realpath(file), os.path.realpath(self.project))
        return place.with_suffix(".py") if place.suffix == ".ipynb" else place

    def _cwd(self, copy: Path) -> Path:
        """The folder in the copy that corresponds to the current folder, if that is in the project."""
        relative = os.path.relpath(os.getcwd(), os.path.realpath(self.project))
        return copy if relative.startswith(os.pardir) else copy / relative

    def _texts(self, version: str) -> Mapping[str, str]:
        """The texts of a version that differ from disk. A run of the whole program starts from the files on disk."""
        if version == "after":
            return self.texts
        return self.extracted if self.setting.source is None else {}

    def _replaced(self, texts: Mapping[str, str]) -> dict[str, bytes]:
        """Replaced contents of files. A notebook runs as the module of its code cells."""
        replaced = {}
        for path, source in self.sources.items():
            assert source.file is not None
            file = os.path.realpath(source.file)
            text = texts.get(path, source.text)
            if source.notebook is not None:
                replaced[str(Path(file).with_suffix(".py"))] = text.encode()
            elif path in texts:
                replaced[file] = source.encode(text)
        return replaced

    def _import_roots(self, copy: Path) -> list[str]:
        """The folders of the topmost packages of the files to change, in the copy."""
        roots = []
        for each in self.chosen:
            file = self._in_copy(self._file(each.decision.path), copy)
            parts = each.decision.module.partition("@")[0].split(".")
            folder = file.parent if file.name != "__init__.py" else file.parent.parent
            for _ in parts[1:]:
                folder = folder.parent
            if copy in (folder, *folder.parents):
                roots.append(str(folder))
        return list(dict.fromkeys(roots))

    def _targets(self, copy: Path) -> dict[str, list[tuple[str, int, str]]]:
        targets: dict[str, list[tuple[str, int, str]]] = {}
        for each in self.chosen:
            file = os.path.realpath(self._in_copy(self._file(each.decision.path), copy))
            targets.setdefault(file, []).append((each.decision.qualname, each.ordinal, each.key))
        return targets

    def _events(self, version: str) -> list[dict[str, Any]]:
        events = []
        with open(self.work / f"{version}.run" / "events.jsonl", encoding="utf-8") as stream:
            for line in stream:
                try:
                    events.append(json.loads(line))
                except ValueError:
                    break
        return events

    def _tensorflow(self, version: str) -> str | None:
        return next((event["version"] for event in self._events(version) if event["event"] == "tensorflow"), None)

    def _check_tensorflow(self, version: str, ended: Ended) -> None:
        """Whether the child came as far as having TensorFlow.

        Raises:
            UsageError: it did not.
        """
        if self._tensorflow(version) is not None:
            return
        for event in self._events(version):
            if event["event"] == "no tensorflow":
                raise NoTensorFlowError(event["python"], event["message"])
        said = (self.work / f"{version}.run" / "stderr").read_text(encoding="utf-8", errors="replace").strip()
        last = said.splitlines()[-1] if said else ""
        raise UsageError(f"{self.setting.python} did not start: {ended.description}{': ' + last if last else ''}")

    def _compare(self, request: dict[str, Any]) -> dict[str, Any]:
        folder = self.work / "compare.run"
        folder.mkdir(exist_ok=True)
        ended = run_child(
            self.setting.python,
            "compare",
            request,
            folder,
            seconds=600,
            idle=None,
            output=self.setting.limits.output,
            cancelled=self.setting.cancelled,
        )
        try:
            with open(request["result"], encoding="utf-8") as stream:
                result: dict[str, Any] = json.load(stream)
        except OSError as error:
            said = (folder / "stderr").read_text(encoding="utf-8", errors="replace")
            raise UsageError(f"the recordings cannot be compared: {ended.description}: {said[-500:]}") from error
        return result

    # --- judging ---------------------------------------------------------------------------------------------------------------

    def _verdict(self, each: _Chosen, found: dict[str, Any], program: dict[str, Any] | None) -> FunctionVerdict:
        before, after = _timing(found["before"]), _timing(found["after"])
        status, detail = self._status(each, found)
        if each.change.action is Action.EXTRACT_TF_FUNCTION and status is Status.NOT_REACHED:
            status, detail = self._status_by_program(program, after, detail)
        if status is Status.SAME:
            status, detail = _speed(found, before, after)
        decision = each.decision
        return FunctionVerdict(
            decision.path,
            decision.qualname,
            decision.line,
            decision.action,
            status,
            detail,
            found["compared"],
            before,
            after,
        )

    def _status(self, each: _Chosen, found: dict[str, Any]) -> tuple[Status, str]:
        if found["fails"] is not None:
            return Status.FAILS, found["fails"]
        if found["difference"] is not None:
            return Status.DIFFERENT, found["difference"]
        ended = {version: self.ends[version].get(each.key) for version in ("before", "after")}
        if ended["after"] is not None and ended["before"] is None and found["before"]["unreachable"] is None:
            return Status.FAILS, ended["after"].description
        if found["compared"]:
            return Status.SAME, found["stopped"] or ""
        if ended["before"] is not None:
            return Status.NOT_REACHED, f"the original: {ended['before'].description}"
        reason = found["before"]["unreachable"] or found["after"]["unreachable"] or found["stopped"]
        if reason is None and self.setting.source is None and not found["before"]["begun"]:
            reason = _why_no_job(each.decision)
        if reason is None and not self.setting.record:
            return Status.SAME, "only timed"
        return Status.NOT_REACHED, reason or "the run does not call it"

    def _status_by_program(self, program: dict[str, Any] | None, after: Timing, detail: str) -> tuple[Status, str]:
        """The status, from the run as a whole, of statements that are not in a function on disk."""
        judged = self._program(program)
        if judged is None or not after.calls:
            return Status.NOT_REACHED, detail
        if judged.difference is not None:
            return Status.DIFFERENT, judged.difference
        return Status.SAME, "compared by what the program prints and how it ends"

    def _program(self, found: dict[str, Any] | None) -> ProgramVerdict | None:
        source = self.setting.source
        if found is None or source is None:
            return None
        difference = found["difference"]
        for version, name in (("before", "original"), ("after", "refactored")):
            ended = self.ends[version].get("")
            if ended is not None and (ended.stopped is not None or (ended.code or 0) < 0):
                difference = f"the {name} program: {ended.description}"
        first, second = found["exit"]
        seconds, cpu = found["seconds"], found["cpu"]
        return ProgramVerdict(source.command, difference, (first, second), (seconds[0], seconds[1]), (cpu[0], cpu[1]))


def _why_no_job(decision: Decision) -> str:
    if "<locals>" in decision.qualname:
        return "it is defined inside of a function: --run or --pytest can reach it"
    for parameter in decision.parameters:
        if not parameter.samples:
            return f"no argument can be generated for `{parameter.name}`, whose type is unknown: --run or --pytest record calls"
    return "no call could be generated: --run or --pytest record calls"


def _has_difference(result: Mapping[str, Any]) -> bool:
    program = result["program"]
    return any(
        found["difference"] or (found["stopped"] and "other arguments" in found["stopped"])
        for found in result["functions"].values()
    ) or bool(program and program["difference"])


def _timing(found: Mapping[str, Any]) -> Timing:
    seconds = found["seconds"]
    return Timing(found["calls"], statistics.median(seconds) if seconds else None, found["tracing"], found["traces"])


def _speed(found: Mapping[str, Any], before: Timing, after: Timing) -> tuple[Status, str]:
    """Whether the refactored function is as fast; only if there are enough calls, and the difference is clear."""
    old, new = found["before"]["seconds"], found["after"]["seconds"]
    if (
        after.traces is not None
        and after.calls >= MIN_TIMED
        and after.traces > after.calls / 2
        and not found["before"]["traces"]
    ):
        return Status.SLOWER, f"it is retraced at {after.traces} of {after.calls} calls"
    if min(len(old), len(new)) < MIN_TIMED or before.median is None:
        return Status.SAME, found["stopped"] or ""
    if statistics.quantiles(new, n=4)[0] > SLOWER * before.median:
        return (
            Status.SLOWER,
            f"{_microseconds(before.median)} a call before, {_microseconds(statistics.median(new))} after",
        )
    return Status.SAME, found["stopped"] or ""


def _microseconds(seconds: float) -> str:
    return f"{seconds * 1e6:,.0f} µs"
