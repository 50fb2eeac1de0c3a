"""JSON, indented by two spaces.

Computes: the text of `json.dumps(..., indent=2, ensure_ascii=False)`. Needs: JSON values, and records of the report.
Gives: `indented_json`. Python's own encoder uses its C implementation only without indentation; with it, it takes
several times as long, which is a large part of a run with only cache hits.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from json.encoder import encode_basestring
from typing import Any

_STEP = "  "


def indented_json(value: Any) -> str:
    """The text, without a trailing newline. A record becomes an object of its fields; None is omitted for `optional`
    fields.

    Raises:
        TypeError: the value has no JSON form.
    """
    parts: list[str] = []
    _Writer(parts).write(value, "\n")
    return "".join(parts)


class _Writer:
    """Appends the parts of a text."""

    def __init__(self, parts: list[str]) -> None:
        self._append = parts.append
        self._fields: dict[type, tuple[tuple[str, str, bool], ...]] = {}

    def write(self, value: Any, newline: str) -> None:
        """Writes a value; `newline` starts a line at the present indentation."""
        kind = type(value)
        if kind is str:
            self._append(encode_basestring(value))
        elif value is None:
            self._append("null")
        elif kind is bool:
            self._append("true" if value else "false")
        elif kind is int:
            self._append(int.__repr__(value))
        elif isinstance(value, (tuple, list)):
            self._write_array(value, newline)
        elif isinstance(value, Mapping):
            self._write_object(value, newline)
        elif dataclasses.is_dataclass(kind):
            self._write_record(value, kind, newline)
        else:
            self._append(json.dumps(value, ensure_ascii=False))

    def _write_array(self, values: tuple[Any, ...] | list[Any], newline: str) -> None:
        if not values:
            self._append("[]")
            return
        inner = newline + _STEP
        before = "[" + inner
        for value in values:
            self._append(before)
            self.write(value, inner)
            before = "," + inner
        self._append(newline + "]")

    def _write_object(self, members: Mapping[Any, Any], newline: str) -> None:
        if not members:
            self._append("{}")
            return
        inner = newline + _STEP
        before = "{" + inner
        for key, value in members.items():
            if type(key) is not str:
                raise TypeError(f"object keys must be strings, not {key!r}")
            self._append(before + encode_basestring(key) + ": ")
            self.write(value, inner)
            before = "," + inner
        self._append(newline + "}")

    def _write_record(self, record: Any, kind: type, newline: str) -> None:
        inner = newline + _STEP
        mark = "{"
        for name, written, optional in self._fields.get(kind) or self._fields_of(kind):
            value = getattr(record, name)
            if value is None and optional:
                continue
            self._append(mark + inner + written)
            self.write(value, inner)
            mark = ","
        self._append("{}" if mark == "{" else newline + "}")

    def _fields_of(self, kind: type) -> tuple[tuple[str, str, bool], ...]:
        fields = tuple(
            (field.name, encode_basestring(field.name) + ": ", bool(field.metadata.get("optional")))
            for field in dataclasses.fields(kind)
        )
        self._fields[kind] = fields
        return fields
