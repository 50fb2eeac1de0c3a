"""The process that executes user code: one version of the program, one job.

Run as `bootstrap.py terra_refactor.verify.child.main run REQUEST` (a JSON file). Jobs: `calls` (call functions on arguments
made from recipes), `script` (run the user's script, as `python script.py ARGUMENTS` or `python -m module ARGUMENTS`), `tests`
(run pytest). With `compare` instead of `run` it compares two recordings.

Events are written to the run's folder, one by one; results are never read from the output of user code.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import runpy
import sys
import time
import types
from typing import Any

from terra_refactor.verify.child import determinism
from terra_refactor.verify.child.instrument import compiled, install
from terra_refactor.verify.child.recorder import Recorder, describe_exception
from terra_refactor.verify.child.state import state_of


def main(job: str, request_file: str) -> int:
    """Runs the job."""
    with open(request_file, encoding="utf-8") as stream:
        request = json.load(stream)
    if job == "compare":
        from terra_refactor.verify.child.compare import compare_runs  # noqa: PLC0415 - needs NumPy, the others do not at once

        compare_runs(request)
        return 0
    _limit(request)
    recorder = Recorder(request["folder"], full=request["record"], shaken=request["shaken"])
    sys.dont_write_bytecode = True
    sys.path[:0] = request["path"]
    os.chdir(request["cwd"])
    if request["controlled"]:
        determinism.seed_python()
    try:
        tf = importlib.import_module("tensorflow")
    except ImportError as error:
        recorder.write("no tensorflow", message=str(error), python=sys.executable)
        return 0
    recorder.write("tensorflow", version=tf.__version__)
    if request.get("gate"):
        _wait_for(request["gate"])
    if request["controlled"]:
        determinism.seed_tensorflow(tf)
    targets = {
        path: {(name, ordinal): key for name, ordinal, key in chosen} for path, chosen in request["targets"].items()
    }
    if request["job"] == "calls":
        from terra_refactor.verify.child.calls import make_calls  # noqa: PLC0415 - only this job needs it

        make_calls(recorder, request)
        recorder.flush()
        recorder.write("end", exit=0)
        return 0
    install(targets, recorder)
    started = time.perf_counter()
    if request["job"] == "tests":
        return _tests(recorder, request, started)
    return _script(recorder, request, targets, started)


def _wait_for(gate: str) -> None:
    """Waits until a file exists: another process runs first."""
    while not os.path.exists(gate):
        time.sleep(0.02)


def _limit(request: dict[str, Any]) -> None:
    """Limits the memory of this process.

    TensorFlow reserves much more address space than it uses, so the data size is limited.
    """
    try:
        import resource  # noqa: PLC0415 - only some systems have it
    except ImportError:
        return
    if request["memory"] and hasattr(resource, "RLIMIT_DATA"):
        resource.setrlimit(resource.RLIMIT_DATA, (request["memory"], request["memory"]))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _script(recorder: Recorder, request: dict[str, Any], targets: Any, started: float) -> int:
    """Runs a script to its end as `__main__`, and records how it ended and its global variables."""
    module = types.ModuleType("__main__")
    module.__dict__["__builtins__"] = __builtins__
    sys.modules["__main__"] = module
    raised: BaseException | None = None
    cpu_before = time.process_time()
    try:
        if request["module"]:
            sys.path.insert(0, os.getcwd())  # like `python -m`
            _, spec, code = runpy._get_module_details(request["module"])  # type: ignore[attr-defined]
            module.__spec__ = spec
            module.__package__ = spec.parent
            path = spec.origin
        else:
            path = request["script"]
            with open(path, "rb") as stream:
                text = importlib.util.decode_source(stream.read())
            sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
            code = compiled(text, path, targets.get(os.path.realpath(path), {}))
        module.__file__ = path
        sys.argv[:] = [path, *request["arguments"]]
        exec(code, module.__dict__)
    except BaseException as error:
        raised = error
    seconds, cpu = time.perf_counter() - started, time.process_time() - cpu_before
    status = _exit_status(raised)
    recorder.flush()
    with recorder.quiet():
        state = []
        if request["record"]:
            names = [(name, value) for name, value in module.__dict__.items() if not name.startswith("__")]
            state = [[name, recorder.encoder.encode(value)] for name, value in state_of(names)]
        recorder.write(
            "end",
            exit=status,
            raised=None if raised is None or isinstance(raised, SystemExit) else describe_exception(raised),
            state=state,
            seconds=seconds,
            cpu=cpu,
        )
    if raised is not None and not isinstance(raised, SystemExit):
        import traceback  # noqa: PLC0415 - only for this

        traceback.print_exception(raised)
    return status


def _exit_status(raised: BaseException | None) -> int:
    if raised is None:
        return 0
    if isinstance(raised, SystemExit):
        if raised.code is None:
            return 0
        return raised.code if isinstance(raised.code, int) else 1
    return 1


class _Outcomes:
    """A pytest plugin that records the outcome of each test."""

    def __init__(self) -> None:
        self.outcomes: dict[str, str] = {}

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.outcome != "passed" or report.when == "call":
            self.outcomes[report.nodeid] = report.outcome


def _tests(recorder: Recorder, request: dict[str, Any], started: float) -> int:
    try:
        pytest = importlib.import_module("pytest")
    except ImportError:
        recorder.write("end", exit=4, raised={"type": "ImportError", "message": "pytest is not installed"}, state=[])
        return 4
    plugin = _Outcomes()
    status = int(pytest.main(["-p", "no:cacheprovider", *request["arguments"]], plugins=[plugin]))
    recorder.flush()
    recorder.write(
        "end",
        exit=status,
        raised=None,
        state=[],
        tests=dict(sorted(plugin.outcomes.items())),
        seconds=time.perf_counter() - started,
    )
    return status
