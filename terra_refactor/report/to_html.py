"""The report as one self-contained HTML file, for a team.

Needs: the results of a run with their sources. Gives: a page with totals, and their trend if the run was compared to a baseline; the
proposed changes; the functions in a table with search and filters, each with its class, reason, assumptions, parameters, hazards, and
the diff of its change; the findings; the call graph, coloured by the parts that run in graphs. The page's parts are in `page/`; the
data is JSON inside of it. Ignores: the time of day. The same code gives the same page, except for the seconds of the run.
"""

from __future__ import annotations

import json
from base64 import b64encode
from dataclasses import dataclass, field
from hashlib import sha256
from importlib import resources
from typing import Any

from terra_refactor import __version__
from terra_refactor.classify.decision import Decision
from terra_refactor.report.agenda import AgendaItem, agenda_of, saved
from terra_refactor.report.call_graph import draw_call_graph, regions
from terra_refactor.report.places import Places
from terra_refactor.report.schema import build_report
from terra_refactor.report.to_json import plain
from terra_refactor.rules.registry import all_rules
from terra_refactor.rules.rule import Finding
from terra_refactor.syntax.edit import apply_edits, unified_diff
from terra_refactor.workspace.fixes import edits_by_function
from terra_refactor.workspace.results import WorkspaceReport


def to_html(report: WorkspaceReport) -> str:
    """The page; ends in a newline."""
    data = json.dumps(_data(report), ensure_ascii=False, separators=(",", ":"))
    # in a script element, only these can end it or begin a comment
    data = data.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")
    page = _part("page.html")
    script = _part("page.js")
    # even if a text of the repository were interpreted as markup, no other script would run, and nothing would be
    # loaded
    policy = "sha256-" + b64encode(sha256(script.encode()).digest()).decode()
    parts = (("/*hash*/", policy), ("/*style*/", _part("style.css")), ("/*data*/", data), ("/*script*/", script))
    for mark, text in parts:
        before, found, after = page.partition(mark)
        assert found, mark
        page = before + text + after
    return page


def _part(name: str) -> str:
    return resources.files("terra_refactor.report").joinpath(f"page/{name}").read_text(encoding="utf-8")


def _data(report: WorkspaceReport) -> dict[str, Any]:
    places = Places(report.sources)
    summary = plain(build_report(report).summary)
    numbers = {decision.function: number for number, decision in enumerate(report.decisions)}
    graph = draw_call_graph(report.decisions)
    texts = _Texts()
    return {
        "version": __version__,
        "summary": summary,
        "comparison": _comparison(report),
        "agenda": _agenda(report, places),
        "functions": _functions(report, places, texts),
        "findings": [_finding(finding, places) for finding in report.findings],
        "suppressed": len(report.suppressed),
        "errors": [
            {"place": f"{error.path}:{error.line}" if error.line else error.path, "message": error.message}
            for error in report.errors
        ],
        "rules": {rule.id: {"name": rule.name, "summary": rule.summary} for rule in all_rules().values()},
        "graph": {
            "nodes": [
                {"f": numbers[node.function], "region": node.region.value, "x": node.x, "y": node.y, "w": node.width}
                for node in graph.nodes
            ],
            "edges": [[numbers[a], numbers[b]] for a, b in graph.edges],
            "leftOut": graph.left_out,
            "width": graph.width,
            "height": graph.height,
        },
        "texts": list(texts.numbers),
    }


@dataclass(frozen=True, slots=True)
class _Texts:
    """Texts by number: the functions of a repository repeat the same hazards and assumptions many times."""

    numbers: dict[str, int] = field(default_factory=dict)

    def number(self, text: str) -> int:
        return self.numbers.setdefault(text, len(self.numbers))


def _comparison(report: WorkspaceReport) -> dict[str, Any] | None:
    if report.comparison is None:
        return None
    return {
        "name": report.comparison.name,
        "known": len(report.comparison.known),
        "gone": [
            {"path": entry.path, "rule": entry.rule, "message": entry.message} for entry in report.comparison.gone
        ],
        "totals": dict(report.comparison.totals),
    }


def _agenda(report: WorkspaceReport, places: Places) -> dict[str, Any]:
    """The leading entries; `f` is the index of a function among the functions, null for statements that are not a
    function yet.
    """
    agenda = agenda_of(report)
    numbers = {
        (decision.path, decision.line, decision.qualname): number for number, decision in enumerate(report.decisions)
    }

    def entry(item: AgendaItem) -> dict[str, Any]:
        return {
            "f": numbers.get((item.path, item.line, item.name)),
            "name": item.name,
            "place": places.at_line(item.path, item.line).spoken,
            "action": item.action.value,
            "level": item.level.value,
            "seconds": round(saved(item.gain), 1),
            "calls": 0 if item.gain is None else item.gain.calls,
            "recorded": item.gain is not None and item.gain.source == "record",
            "reason": item.reason,
            "rule": item.rule,
        }

    return {"changes": list(map(entry, agenda.changes)), "heldBack": list(map(entry, agenda.held_back))}


def _functions(report: WorkspaceReport, places: Places, texts: _Texts) -> list[dict[str, Any]]:
    edits = edits_by_function(report)
    where = regions(report.decisions)
    entries = []
    for decision in report.decisions:
        own = edits.get(decision.function)
        source = report.sources.get(decision.path)
        diff = unified_diff(decision.path, source.text, apply_edits(source.text, own)) if own and source else ""
        entry = {**_function(decision, places, texts), "region": where[decision.function].value, "diff": diff}
        # the page treats missing keys as empty: most functions have no hazards, effects or change
        entries.append({name: value for name, value in entry.items() if value or name == "path"})
    return entries


def _function(decision: Decision, places: Places, texts: _Texts) -> dict[str, Any]:
    """A function's entry. Assumptions, effects and hazards are lists of text numbers, in an order that the page's
    script knows.
    """
    number = texts.number
    return {
        "path": number(decision.path),
        "line": places.at_line(decision.path, decision.line).spoken.removeprefix(f"{decision.path}, "),
        "name": decision.qualname,
        "hybrid": decision.hybrid,
        "class": decision.classification.value,
        "action": decision.action.value,
        "level": decision.level.value,
        "reason": decision.reason,
        "assumptions": list(map(number, decision.assumptions)),
        "signature": decision.input_signature,
        "parameters": [
            {
                "name": parameter.name,
                "kind": parameter.kind.value,
                "evidence": parameter.evidence.value,
                "types": [str(tensor) for tensor in parameter.types],
            }
            for parameter in decision.parameters
        ],
        "returns": [str(tensor) for tensor in decision.returns],
        "effects": [
            [
                number(effect.kind),
                number(effect.detail),
                number(places.place(effect.path, effect.span).spoken),
                *map(number, effect.via),
            ]
            for effect in decision.side_effects
        ],
        "hazards": [
            [
                number(hazard.rule),
                number(hazard.message),
                number(places.place(decision.path, hazard.span).spoken),
                *map(number, hazard.via),
            ]
            for hazard in decision.hazards
        ],
    }


def _finding(finding: Finding, places: Places) -> dict[str, Any]:
    return {
        "rule": finding.rule,
        "severity": finding.severity.value,
        "path": finding.path,
        "place": places.place(finding.path, finding.span).spoken,
        "function": finding.function,
        "message": finding.message,
        "fixable": finding.fixable,
        "related": [
            {"place": places.place(related.path, related.span).spoken, "message": related.message}
            for related in finding.related
        ],
    }
