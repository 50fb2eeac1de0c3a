"""Calls functions with arguments built from the known types of their parameters.

Computes: for each function some recorded calls on fresh arguments, then timed calls. Needs: the jobs of the request.
Gives: `make_calls`. A function whose arguments cannot be built is `unreachable`, with the reason.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
import time
from typing import Any, Final

from terra_refactor.verify.child.building import Builder, CannotBuildError
from terra_refactor.verify.child.recorder import Recorder, describe_exception

CALLS: Final = 3
"""Recorded calls of each variant of the arguments: the second and third reveal state frozen by the first."""
TIMED_SECONDS: Final = 0.6
MAX_TIMED: Final = 400


def make_calls(recorder: Recorder, request: dict[str, Any]) -> None:
    """Calls every function of the request."""
    finder = _Finder()
    builder = Builder(finder.find, request["constructors"])
    for job in request["jobs"]:
        recorder.write("begin", function=job["key"])
        try:
            _call(recorder, builder, finder, job)
        except CannotBuildError as error:
            recorder.write("unreachable", function=job["key"], reason=str(error))
        recorder.flush()


def _call(recorder: Recorder, builder: Builder, finder: _Finder, job: dict[str, Any]) -> None:
    owner, _, name = job["qualname"].rpartition(".")
    file, module = job["file"], job["module"]
    for index, variant in enumerate(job["variants"]):
        seed = f"{job['qualname']} {index}"
        with recorder.quiet():
            receiver: list[Any] = []
            if job["static"] and owner:
                function = getattr(finder.find(file, module, owner), name)
            elif owner:
                instance = builder.instance([file, module, owner], seed)
                function, receiver = getattr(type(instance), name), [instance]
            else:
                function = finder.find(file, module, name)
        last: tuple[list[Any], dict[str, Any]] = ([], {})
        failed = False
        for number in range(CALLS):
            with recorder.quiet():
                arguments = [builder.build(item, f"{seed} {number} {i}") for i, item in enumerate(variant["arguments"])]
                keywords = {
                    key: builder.build(item, f"{seed} {number} {key}") for key, item in variant["keywords"].items()
                }
            last = ([*receiver, *arguments], keywords)
            try:
                recorder.call(job["key"], function, tuple(last[0]), keywords, bound=bool(receiver))
            except Exception:
                failed = True
        if failed:
            continue
        end = time.perf_counter() + TIMED_SECONDS
        count = 0
        target = function.__get__(receiver[0], type(receiver[0])) if receiver else function
        times = []
        with recorder.quiet():
            while time.perf_counter() < end and count < MAX_TIMED:
                count += 1
                started = time.perf_counter()
                try:
                    target(*last[0][len(receiver) :], **last[1])
                except Exception:  # for example an exhausted dataset, or a counter at its limit
                    break
                times.append(round(time.perf_counter() - started, 7))
        recorder.write("timed", function=job["key"], seconds=times)


class _Finder:
    """Objects of the program by file, module and qualified name."""

    def __init__(self) -> None:
        self._modules: dict[str, Any] = {}
        self._failed: dict[str, str] = {}

    def find(self, file: str, module: str, qualname: str) -> Any:
        """The object.

        Raises:
            CannotBuildError: its module cannot be imported, or has no such object.
        """
        found = self._module(file, module)
        for part in qualname.split("."):
            try:
                found = getattr(found, part)
            except AttributeError as error:
                raise CannotBuildError(f"{module} does not define `{qualname}`") from error
        return found

    def _module(self, file: str, name: str) -> Any:
        if file in self._failed:
            raise CannotBuildError(self._failed[file])
        if file not in self._modules:
            try:
                self._modules[file] = _import(file, name)
            except BaseException as error:
                if isinstance(error, KeyboardInterrupt):
                    raise
                described = describe_exception(error)
                text = f"importing {name} raised {described['type']}: {described['message']}"
                self._failed[file] = text
                raise CannotBuildError(text) from error
        return self._modules[file]


def _import(file: str, name: str) -> Any:
    """The module by its name, if that resolves to this file; otherwise the file by itself."""
    if all(part.isidentifier() for part in name.split(".")):
        known = sys.modules.get(name)
        spec = importlib.util.find_spec(name) if known is None else known.__spec__
        if spec is not None and spec.origin is not None and os.path.realpath(spec.origin) == os.path.realpath(file):
            return importlib.import_module(name)
    spec = importlib.util.spec_from_file_location(os.path.splitext(os.path.basename(file))[0], file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules.setdefault(spec.name, module)
    sys.path.insert(0, os.path.dirname(file))
    spec.loader.exec_module(module)
    return module
