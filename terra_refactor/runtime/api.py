"""The public surface: decorators, the context manager, the switch and the report.

Computes: nothing itself; decides whether a call runs through the shim or straight.
Needs: TensorFlow when a decorated function is first called.
Gives: `co_execute`, `co_executing`, `speculative`, `report`, `disable`, `enable`.
"""

from __future__ import annotations

import contextlib
import functools
import os
from collections.abc import Callable, Iterator
from typing import Any, TypeVar, overload

F = TypeVar("F", bound=Callable[..., Any])

DISABLE_VARIABLE = "TERRA_REFACTOR_DISABLE"
_fallbacks: dict[str, str] = {}


@overload
def co_execute(function: F) -> F: ...
@overload
def co_execute(
    *, xla: bool = False, shadow: bool = False, max_paths: int = 64, name: str | None = None
) -> Callable[[F], F]: ...
def co_execute(
    function: Any = None, *, xla: bool = False, shadow: bool = False, max_paths: int = 64, name: str | None = None
) -> Any:
    """Run `function` with eager meaning and compiled segments (see `docs/shim.md`)."""
    if function is None:
        return functools.partial(co_execute, xla=xla, shadow=shadow, max_paths=max_paths, name=name)

    @functools.wraps(function)
    def run(*args: Any, **kwargs: Any) -> Any:
        _fallbacks[name or function.__qualname__] = "segments are not built yet: every call is eager"
        return function(*args, **kwargs)

    return run


@contextlib.contextmanager
def co_executing(name: str, *, xla: bool = False, shadow: bool = False, max_paths: int = 64) -> Iterator[None]:
    """The same for a block of statements."""
    _fallbacks[name] = "segments are not built yet: every call is eager"
    yield


def speculative(function: F) -> F:
    """A `tf.function` that is compared with eager execution (not built yet: eager)."""
    _fallbacks[function.__qualname__] = "not built yet: every call is eager"
    return function


def disable() -> None:
    """Switch the shim off: decorated functions run as if they were not decorated."""
    os.environ[DISABLE_VARIABLE] = "1"


def enable() -> None:
    """Switch the shim on again."""
    os.environ.pop(DISABLE_VARIABLE, None)


def report() -> str:
    """What the shim did, per function, as text."""
    return "\n".join(f"{function}: {reason}" for function, reason in sorted(_fallbacks.items()))
