"""Requests for changes as JSON: sent to the client in an action's data, and sent back when the action is chosen."""

from __future__ import annotations

from typing import Any

from terra_refactor.ide.annotations import AnnotationStyle
from terra_refactor.ide.code_actions import Request, Task
from terra_refactor.syntax.location import Span


def encoded(request: Request) -> dict[str, Any]:
    """A request as JSON."""
    span = request.span
    return {
        "task": request.task.value,
        "path": request.path,
        "qualname": request.qualname,
        "line": request.line,
        "rule": request.rule,
        "span": None if span is None else [span.line, span.column, span.end_line, span.end_column],
        "reason": request.reason,
        "style": request.style.value,
    }


def decoded(data: Any) -> Request:
    """The request that a client sends back.

    Raises:
        KeyError, TypeError, ValueError: it is not a request.
    """
    span = data.get("span")
    return Request(
        Task(data["task"]),
        str(data["path"]),
        str(data.get("qualname", "")),
        int(data.get("line", 0)),
        str(data.get("rule", "")),
        None if span is None else Span(*map(int, span)),
        str(data.get("reason", "")),
        AnnotationStyle(data.get("style", "auto")),
    )
