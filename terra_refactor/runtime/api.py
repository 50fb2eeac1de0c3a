"""The public interface: decorators, the context manager, the switch and the report.

Computes: nothing itself; decides whether a call goes through the shim or runs directly. Needs: TensorFlow when a
decorated function is first called, never before. Gives: `co_execute`, `co_executing`, `speculative`, `report`,
`disable`, `enable`. Ignores: how anything is executed (engine.py).
"""

from __future__ import annotations

import contextlib
import functools
import os
import sys
from collections.abc import Callable
from typing import Any, TypeVar, overload

from terra_refactor.runtime import report as reports
from terra_refactor.runtime.costs import Way
from terra_refactor.runtime.program import Program
from terra_refactor.runtime.state import hooks

F = TypeVar("F", bound=Callable[..., Any])

DISABLE_VARIABLE = "TERRA_REFACTOR_DISABLE"
MAX_PATHS = 256

_disabled = False


def is_disabled() -> bool:
    """Whether the shim is disabled, by `disable` or by the environment variable TERRA_REFACTOR_DISABLE."""
    return _disabled or os.environ.get(DISABLE_VARIABLE, "").lower() not in ("", "0", "false", "no")


@overload
def co_execute(function: F) -> F: ...
@overload
def co_execute(
    *,
    xla: bool = False,
    shadow: bool = False,
    max_paths: int = MAX_PATHS,
    fast_math: bool = False,
    measure: bool = True,
    name: str | None = None,
) -> Callable[[F], F]: ...
def co_execute(
    function: Any = None,
    *,
    xla: bool = False,
    shadow: bool = False,
    max_paths: int = MAX_PATHS,
    fast_math: bool = False,
    measure: bool = True,
    name: str | None = None,
) -> Any:
    """Runs a function with eager semantics, and its TensorFlow operations as compiled segments.

    Python runs exactly as written at every call; operations wait until Python needs a value, and then run together.
    After Kim et al., "Terra: Imperative-Symbolic Co-Execution of Imperative Deep Learning Programs" (NeurIPS 2021).

    Args:
        function: the function, when used as a bare decorator.
        xla: compile segments with XLA, except those that draw random numbers.
        shadow: compare the first run of each segment with eager execution, and use it only if they agree.
        max_paths: maximum number of recorded segments; further ones run eagerly.
        fast_math: let TensorFlow's graph optimiser rewrite arithmetic in ways that are not exact (`exp(x) - 1` as
            `expm1(x)`).
        measure: run a few calls eagerly for comparison, and run eagerly for a while if that is faster.
        name: for the report; the function's qualified name by default.

    Raises:
        ImportError: at the first call, when TensorFlow is missing or too old.
    """
    if function is None:
        return functools.partial(
            co_execute,
            xla=xla,
            shadow=shadow,
            max_paths=max_paths,
            fast_math=fast_math,
            measure=measure,
            name=name,
        )
    if not callable(function):
        raise TypeError(f"co_execute decorates a function, not {type(function).__name__}")
    if max_paths < 1:
        raise ValueError(f"max_paths is at least 1, not {max_paths}")
    program = Program(
        str(name or getattr(function, "__qualname__", repr(function))), xla, shadow, max_paths, fast_math, measure
    )
    reports.register(program)
    costs = program.costs

    @functools.wraps(function)
    def co_executed(*args: Any, **kwargs: Any) -> Any:
        if costs.resting > 1 and not hooks.installed:  # the shim is not active: the call costs almost nothing
            costs.resting -= 1
            return function(*args, **kwargs)
        if is_disabled() or program.eager_reason is not None:
            return function(*args, **kwargs)
        way = costs.way()
        from terra_refactor.runtime import engine  # noqa: PLC0415  (TensorFlow only on use)

        if way is Way.RESTS:
            return engine.at_rest(program, function, args, kwargs)
        if program.calls == 0:
            program.eager_reason = engine.obstacle(function)
        return engine.execute(program, function, args, kwargs, way)

    return co_executed


_blocks: dict[str, Program] = {}


def co_executing(
    name: str,
    *,
    xla: bool = False,
    shadow: bool = False,
    max_paths: int = MAX_PATHS,
    fast_math: bool = False,
    measure: bool = True,
) -> contextlib.AbstractContextManager[None]:
    """`co_execute` for the statements of a `with` block; blocks of the same name share compiled segments.

    Tensors created in the block may be used after it: they get their values when it ends.
    """
    if is_disabled():
        return contextlib.nullcontext()
    from terra_refactor.runtime import engine  # noqa: PLC0415  (TensorFlow only on use)

    program = _blocks.get(name)
    if program is None:
        program = _blocks[name] = Program(name, xla, shadow, max_paths, fast_math, measure)
        reports.register(program)
    return engine.Block(program)


def speculative(
    function: Any = None, *, calls: int = 2, jit_compile: bool | None = None, reduce_retracing: bool = False
) -> Any:
    """A `tf.function` that is compared with eager execution before it is trusted (see speculative.py)."""
    if function is None:
        return functools.partial(speculative, calls=calls, jit_compile=jit_compile, reduce_retracing=reduce_retracing)
    made: list[Any] = []

    @functools.wraps(function)
    def speculated(*args: Any, **kwargs: Any) -> Any:
        if is_disabled():
            return function(*args, **kwargs)
        if not made:
            import terra_refactor.runtime.tf_internals  # noqa: F401, PLC0415  (first: it says what to install)
            from terra_refactor.runtime.speculative import Speculation  # noqa: PLC0415  (TensorFlow only on use)

            made.append(Speculation(function, calls, jit_compile, reduce_retracing))
            reports.register_speculation(made[0])
        return made[0](*args, **kwargs)

    return speculated


def disable() -> None:
    """Disables the shim: decorated functions run as if undecorated, and the hooks on TensorFlow's API are removed."""
    global _disabled  # noqa: PLW0603  (one switch for the process is the meaning)
    _disabled = True
    api_hooks = sys.modules.get("terra_refactor.runtime.api_hooks")
    if api_hooks is not None:
        api_hooks.remove()


def enable() -> None:
    """Enables the shim again."""
    global _disabled  # noqa: PLW0603
    _disabled = False


def report(format: str = "text") -> str:  # noqa: A002  (the word a caller expects)
    """A report of the shim, per function: paths, segments, hit rate, fallbacks with reasons, times.

    Args:
        format: "text", "svg" (a picture of the trace graph) or "html" (both, as a page).

    Raises:
        ValueError: for another format.
    """
    return reports.render(format)
