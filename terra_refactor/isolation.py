"""Keeps our processes from importing modules of the folder that they are started in.

Gives: `leave_current_folder`, the first act of every program of ours; `start_method` for worker processes; `isolated_command` for
other children of ours; `find_program` for those of others.
Needs: only modules that are loaded when Python starts, so that importing this module cannot import a file of the user's. Ignores:
imports by Python itself before our first line (`python -m`, PYTHONPATH): see docs/security.md.

An isolated interpreter (`-I`) has neither the current folder nor PYTHONPATH nor the user's own packages on its path. The parent hands
its own path, which is clean, to the child.
"""

import os
import sys

TYPE_CHECKING = False  # `typing` is not loaded yet
if TYPE_CHECKING:
    from multiprocessing.context import ForkServerContext, SpawnContext

_PACKAGES = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def leave_current_folder() -> None:
    """Removes the current folder from the path, and moves the folders of PYTHONPATH after the installed packages, or removes them if they
    are in that folder.

    The folder of this package stays, at the end, for runs from a checkout.
    """
    try:
        here = os.path.realpath(os.getcwd())
    except OSError:  # a folder that is gone holds nothing
        here = ""
    below = here.rstrip(os.sep) + os.sep
    prefixes = tuple(os.path.abspath(prefix) + os.sep for prefix in (sys.prefix, sys.base_prefix, sys.exec_prefix))
    named = {os.path.abspath(entry) for entry in os.environ.get("PYTHONPATH", "").split(os.pathsep)}
    kept: list[str] = []
    behind: list[str] = []
    for entry in sys.path:
        place = os.path.realpath(entry)
        if entry and os.path.abspath(entry).startswith(prefixes):
            kept.append(entry)  # of the interpreter, which may be that of an environment inside of the current folder
        elif os.path.abspath(entry) == _PACKAGES:
            behind.append(_PACKAGES)
        elif place == here or not entry:
            continue
        elif os.path.abspath(entry) not in named:
            kept.append(entry)
        elif below == os.sep or not place.startswith(below):
            behind.append(entry)
    sys.path[:] = [*kept, *dict.fromkeys(behind)]


def start_method() -> "ForkServerContext | SpawnContext":
    """A way to start worker processes that copies no threads, and in which each process is isolated, helpers of Python's included."""
    import multiprocessing  # noqa: PLC0415 - programs without workers do not need it
    from multiprocessing import util  # noqa: PLC0415

    if not hasattr(util, _MARK):
        flags = util._args_from_interpreter_flags  # type: ignore[attr-defined]
        # the fork server, the resource tracker and spawned workers are all started as `python FLAGS -c CODE`: without -I, the
        # code's own imports look into the current folder first. There is no public way to add a flag
        setattr(util, "_args_from_interpreter_flags", lambda: ["-I", *flags()])  # noqa: B010
        setattr(util, _MARK, True)
    on_linux: bool = sys.platform == "linux"
    return multiprocessing.get_context("forkserver") if on_linux else multiprocessing.get_context("spawn")


_MARK = "_terra_refactor_isolates"


def find_program(name: str) -> str | None:
    """A program in one of the absolute folders of the search path; never one in the current folder, where Windows looks first."""
    import shutil  # noqa: PLC0415 - most runs start no program

    for folder in os.environ.get("PATH", os.defpath).split(os.pathsep):
        if os.path.isabs(folder):
            found = shutil.which(os.path.join(folder, name))
            if found is not None:
                return found
    return None


def isolated_command(module: str) -> list[str]:
    """The command that runs the function `main` of a module of ours in another process."""
    code = f"import sys; sys.path[:] = {[entry for entry in sys.path if entry]!r}; from {module} import main; main()"
    return [sys.executable, "-I", "-c", code]
