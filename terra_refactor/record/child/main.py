"""Runs the user's program in this process under observation, and writes a record.

Run as `bootstrap.py terra_refactor.record.child.main REQUEST` with REQUEST a JSON file: `root`, `part` (the file to write, to which
the number of the process is added), `mode` (`script` or `module`), `target` and `arguments`.

The program runs as with `python SCRIPT ARGUMENTS` or `python -m MODULE ARGUMENTS`. The record is written when it
ends, also by an exception, `sys.exit` or `os._exit`, in each process that it forks; and every ten seconds, in case it
is killed. Each time the file is replaced atomically.
"""

from __future__ import annotations

import contextlib
import json
import os
import platform
import runpy
import sys
import threading
import time
from typing import Any, NoReturn

from terra_refactor.record.child.describe import NOT_WRITTEN
from terra_refactor.record.child.observer import MAX_VALUES, ObservedParameter, Observer, Seen
from terra_refactor.record.child.places import Place, definitions, digest_of, text_of
from terra_refactor.record.child.traces import GraphSeen, Traces


class Session:
    """The state of one process."""

    def __init__(self, root: str, part: str) -> None:
        self.part = part
        self.started = time.perf_counter()
        self.lock = threading.Lock()
        self.observer = Observer(root, self.write)
        self.traces = Traces(self.observer)
        self.process = os.getpid()
        self._places: dict[str, dict[tuple[int, str], Place]] = {}

    def start(self) -> None:
        """Starts the observation."""
        os.register_at_fork(after_in_child=self._forked) if hasattr(os, "register_at_fork") else None
        leave = os._exit

        def _exit(status: int) -> NoReturn:
            # a forked worker of `multiprocessing` also ends like this
            with contextlib.suppress(Exception):
                self.finish()
            leave(status)

        os._exit = _exit
        self.traces.install()
        self.observer.start()

    def finish(self) -> None:
        """Ends the observation when the program has ended."""
        self.observer.stop()
        self.traces.check()
        self.write(complete=True)

    def _forked(self) -> None:
        self.lock = threading.Lock()
        self.process = os.getpid()
        self.started = time.perf_counter()
        self.observer.restart_after_fork()

    def write(self, *, complete: bool = False) -> None:
        """Writes the record so far."""
        if not self.lock.acquire(blocking=complete, timeout=5.0 if complete else -1):
            return
        self.observer.local.busy = True
        try:
            file = f"{self.part}.{self.process}"
            temporary = f"{file}.new"
            with open(temporary, "w", encoding="utf-8") as stream:
                json.dump(self.content(complete), stream)
            os.replace(temporary, file)
        except OSError:
            return
        finally:
            self.observer.local.busy = False
            self.lock.release()

    def content(self, complete: bool) -> dict[str, Any]:
        """The record of this process."""
        tensorflow = sys.modules.get("tensorflow")
        notices = list(self.traces.notices)
        if self.observer.lost:
            notices.append("the program set a profile function of its own: calls after that were not recorded")
        running = self.observer.open_seconds()
        functions = [
            entry
            for seen in self.observer.seen()
            if (entry := self._function(seen, running.get(id(seen.code), 0.0))) is not None
        ]
        return {
            "python": platform.python_version(),
            "tensorflow": getattr(tensorflow, "__version__", None),
            "seconds": round(time.perf_counter() - self.started, 3),
            "complete": complete,
            "notices": notices,
            "files": [
                {"path": path, "digest": digest_of(text_of(data))}
                for path, (_, data) in sorted(dict(self.observer.texts).items())
            ],
            "functions": functions,
        }

    def _function(self, seen: Seen, running: float) -> dict[str, Any] | None:
        if seen.path not in self.observer.texts:
            return None
        places = self._places.get(seen.path)
        if places is None:
            places = self._places[seen.path] = definitions(self.observer.texts[seen.path][1])
        place = places.get((seen.code.co_firstlineno, seen.code.co_name))
        if place is None:
            return None  # several lambdas on one line, or code that a program generated from its own source
        seconds = seen.seconds + seen.estimated_seconds + running
        own = seen.clean_own / seen.clean_total * seconds if seen.clean_total else None
        return {
            "path": seen.path,
            "qualname": place[0],
            "line": place[1],
            "digest": place[2],
            "calls": seen.calls + round(seen.estimated),
            "estimated": seen.estimated > 0,
            "seconds": round(seconds, 6),
            "own_seconds": None if own is None else round(own, 6),
            "detailed_calls": seen.detailed,
            "traced_calls": seen.staged,
            "parameters": [_parameter(name, parameter) for name, parameter in seen.parameters.items()],
            "returns": [{"type": each, "calls": count} for each, count in seen.returns.items()],
            "graph": None if seen.graph is None else _graph(seen.graph),
        }


def _parameter(name: str, parameter: ObservedParameter) -> dict[str, Any]:
    values = list(parameter.values.values())
    shown = [value for value in values if value is not NOT_WRITTEN]
    return {
        "name": name,
        "types": [{"type": each, "calls": count} for each, count in parameter.types.items()],
        "values": shown[:MAX_VALUES],
        "distinct": len(values),
    }


def _graph(graph: GraphSeen) -> dict[str, Any]:
    return {
        "calls": graph.calls,
        "inner_calls": graph.inner_calls,
        "seconds": round(graph.seconds, 6),
        "traces": graph.traces,
        "tracing_seconds": round(graph.tracing_seconds, 6),
        "objects": len(graph.objects),
        "causes": [
            {"cause": kind, "parameter": parameter or None, "traces": cause.traces, "examples": cause.examples}
            for (kind, parameter), cause in graph.causes.items()
        ],
    }


def main(request_file: str) -> int:
    """Runs the program; returns its exit code if it ends normally."""
    with open(request_file, encoding="utf-8") as stream:
        request = json.load(stream)
    session = Session(request["root"], request["part"])
    target, arguments = request["target"], request["arguments"]
    sys.argv = [target, *arguments]
    session.start()
    try:
        if request["mode"] == "module":
            sys.path.insert(0, os.getcwd())
            runpy.run_module(target, run_name="__main__", alter_sys=True)
        else:
            sys.path.insert(0, os.path.dirname(os.path.realpath(target)))
            runpy.run_path(target, run_name="__main__")
    finally:
        session.finish()
    return 0
