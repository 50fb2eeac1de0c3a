"""The report as JSON, for programs: as one document, or line by line.

Needs: a `Report`. Gives: `to_json`, `to_json_lines`: text that conforms to `report-1.schema.json` (packaged next to
this file), equal from run to run except for `seconds`.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from importlib import resources
from typing import Any

from terra_refactor.report.indented import indented_json
from terra_refactor.report.schema import Report


def to_json(report: Report) -> str:
    """The whole report; ends in a newline."""
    return indented_json(report) + "\n"


def to_json_lines(report: Report) -> str:
    """One object per line, each with a `type`: `run` first, then every `function`, `region`, `diagnostic`, `error` and
    `release`, then `summary`.

    Except for `type`, the objects are those of the whole report.
    """
    lines: list[tuple[str, Any]] = [("run", {"schema": report.schema, "tool": plain(report.tool)})]
    lines.extend(("function", plain(entry)) for entry in report.functions)
    lines.extend(("region", plain(entry)) for entry in report.regions or ())
    lines.extend(("diagnostic", plain(entry)) for entry in report.diagnostics)
    lines.extend(("error", plain(entry)) for entry in report.errors)
    lines.extend(("release", plain(entry)) for entry in report.releases or ())
    lines.append(("summary", plain(report.summary)))
    return "".join(json.dumps({"type": kind, **entry}, ensure_ascii=False) + "\n" for kind, entry in lines)


def json_schema() -> dict[str, Any]:
    """The JSON Schema to which every report conforms."""
    text = resources.files("terra_refactor.report").joinpath("report-1.schema.json").read_text(encoding="utf-8")
    schema: dict[str, Any] = json.loads(text)
    return schema


def plain(value: Any) -> Any:
    """A record of the report as JSON values: objects, arrays, strings, numbers."""
    if dataclasses.is_dataclass(value):
        return {
            field.name: plain(member)
            for field in dataclasses.fields(value)
            if (member := getattr(value, field.name)) is not None or not field.metadata.get("optional")
        }
    if isinstance(value, tuple):
        return [plain(member) for member in value]
    if isinstance(value, Mapping):
        return {key: plain(member) for key, member in value.items()}
    return value
