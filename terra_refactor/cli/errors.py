"""Exit of a command: every kind of failure to one line and one exit code.

Gives: `guarded`, the decorator of every command.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import os
import sys
import traceback
from collections.abc import Callable
from typing import ParamSpec

import typer

from terra_refactor.cli.exit_codes import INTERRUPTED, UNREADABLE, WRONG_CALL
from terra_refactor.cli.output import err
from terra_refactor.errors import SourceError, UsageError

P = ParamSpec("P")
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def guarded(command: Callable[P, int]) -> Callable[P, None]:
    """The command with its result as exit code, and its failures as one line on standard error."""

    @functools.wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            code = command(*args, **kwargs)
            sys.stdout.flush()
        except UsageError as error:
            err().print(f"error: {error}", soft_wrap=True)
            code = WRONG_CALL
        except SourceError as error:
            err().print(f"error: {error}", soft_wrap=True)
            code = UNREADABLE
        except KeyboardInterrupt:
            err().print("interrupted")
            _end_at_once(INTERRUPTED)
        except BrokenPipeError:
            # the reader closed the pipe; no one is left to report to
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            code = 0
        except typer.Exit:
            raise
        except Exception as error:
            if isinstance(error, OSError) and error.errno in _FULL:
                err().print(f"error: the report cannot be written: {error.strerror}", soft_wrap=True)
                _end_at_once(WRONG_CALL)  # otherwise flushing the remaining buffers fails again at exit
            err().print(traceback.format_exc(), end="", soft_wrap=True)
            err().print("error: this is a bug in terra-refactor; no file was left half written", soft_wrap=True)
            code = UNREADABLE
        raise typer.Exit(code)

    run.__annotations__ = {**command.__annotations__, "return": None}
    return run


def _end_at_once(code: int) -> None:
    """Ends the process without waiting for a thread that still analyses."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError):
            stream.flush()
    os._exit(code)
