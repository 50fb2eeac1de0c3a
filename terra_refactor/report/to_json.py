"""The report as JSON, for programs.

Needs: a `Report`. Gives: text that follows `report-1.schema.json` (packaged beside this file), the same from run to
run but for `seconds`.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from importlib import resources
from typing import Any

from terra_refactor.report.schema import Report


def to_json(report: Report) -> str:
    """The whole report; ends in a newline."""
    return json.dumps(_plain(report), indent=2, ensure_ascii=False) + "\n"


def json_schema() -> dict[str, Any]:
    """The JSON Schema that every report follows."""
    text = resources.files("terra_refactor.report").joinpath("report-1.schema.json").read_text(encoding="utf-8")
    schema: dict[str, Any] = json.loads(text)
    return schema


def _plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value):
        return {field.name: _plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, tuple):
        return [_plain(member) for member in value]
    if isinstance(value, Mapping):
        return {key: _plain(member) for key, member in value.items()}
    return value
