"""Options in groups: a parameter that is a dataclass of options provides all of its fields as options.

Gives: `grouped`, a decorator of commands. A command with a parameter `run: RunOptions` has each field of `RunOptions`
as an option, at that position; it is called with the instance. So options shared by several commands are declared
once.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
from collections.abc import Callable
from typing import Any, get_type_hints


def grouped(command: Callable[..., int]) -> Callable[..., int]:
    """The command with the fields of its groups as parameters."""
    groups: dict[str, type] = {}
    flat: list[inspect.Parameter] = []
    for parameter in inspect.signature(command, eval_str=True).parameters.values():
        group = parameter.annotation
        if not (isinstance(group, type) and dataclasses.is_dataclass(group)):
            flat.append(parameter)
            continue
        groups[parameter.name] = group
        hints = get_type_hints(group, include_extras=True)
        flat.extend(
            inspect.Parameter(field.name, parameter.KEYWORD_ONLY, default=field.default, annotation=hints[field.name])
            for field in dataclasses.fields(group)
        )

    @functools.wraps(command)
    def run(*arguments: Any, **options: Any) -> int:
        for name, group in groups.items():
            options[name] = group(**{field.name: options.pop(field.name) for field in dataclasses.fields(group)})
        return command(*arguments, **options)

    run.__signature__ = inspect.Signature(flat)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in flat} | {"return": int}
    return run
