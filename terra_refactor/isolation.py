"""Prevents our processes from importing modules of their current folder.

Gives: `leave_current_folder`, the first call of each of our programs; `start_method` for worker processes;
`isolated_command` for our other child processes; `find_program` for other programs. Needs: only modules that are
loaded when Python starts, so that importing this module cannot import a user's file. Ignores: imports by Python
itself before our first line (`python -m`, PYTHONPATH): see docs/security.md.

An isolated interpreter (`-I`) has neither the current folder nor PYTHONPATH nor the user's own packages on its path.
The parent passes its own path, which is clean, to the child.
"""

import os
import sys

TYPE_CHECKING = False  # `typing` is not imported yet
if TYPE_CHECKING:
    from multiprocessing.context import ForkServerContext, SpawnContext

_PACKAGES = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def leave_current_folder() -> None:
    """Removes the current folder from the path, and moves the folders of PYTHONPATH after the installed packages, or
    removes them if they are in the current folder.

    This package's own folder stays, at the end, for runs from a checkout.
    """
    try:
        here = os.path.realpath(os.getcwd())
    except OSError:  # a folder that no longer exists is harmless
        here = ""
    below = here.rstrip(os.sep) + os.sep
    prefixes = tuple(os.path.abspath(prefix) + os.sep for prefix in (sys.prefix, sys.base_prefix, sys.exec_prefix))
    named = {os.path.abspath(entry) for entry in os.environ.get("PYTHONPATH", "").split(os.pathsep)}
    kept: list[str] = []
    behind: list[str] = []
    for entry in sys.path:
        place = os.path.realpath(entry)
        if entry and os.path.abspath(entry).startswith(prefixes):
            kept.append(entry)  # folders of the interpreter, which may be in an environment inside the current folder
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
    """A start method for worker processes that copies no threads and isolates each process, including Python's helper
    processes.
    """
    import multiprocessing  # noqa: PLC0415 - programs without workers do not need it
    from multiprocessing import util  # noqa: PLC0415

    if not hasattr(util, _MARK):
        flags = util._args_from_interpreter_flags  # type: ignore[attr-defined]
        # the fork server, the resource tracker and spawned workers are all started as `python FLAGS -c CODE`: without
        # -I, their imports search the current folder first. There is no public way to add a flag
        setattr(util, "_args_from_interpreter_flags", lambda: ["-I", *flags()])  # noqa: B010
        setattr(util, _MARK, True)
    on_linux: bool = sys.platform == "linux"
    return multiprocessing.get_context("forkserver") if on_linux else multiprocessing.get_context("spawn")


_MARK = "_terra_refactor_isolates"


def find_program(name: str) -> str | None:
    """A program in one of the absolute folders of the search path; never one in the current folder, which Windows
    searches first.
    """
    import shutil  # noqa: PLC0415 - most runs start no program

    for folder in os.environ.get("PATH", os.defpath).split(os.pathsep):
        if os.path.isabs(folder):
            found = shutil.which(os.path.join(folder, name))
            if found is not None:
                return found
    return None


def isolated_command(module: str) -> list[str]:
    """The command that runs the function `main` of one of our modules in another process."""
    code = f"import sys; sys.path[:] = {[entry for entry in sys.path if entry]!r}; from {module} import main; main()"
    return [sys.executable, "-I", "-c", code]
