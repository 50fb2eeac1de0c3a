"""The report as one HTML file that needs nothing else: what a team looks at.

Needs: the results of a run with their sources. Gives: a page with totals, and their trend where the run was compared to a baseline; the
functions in a table with search and filters, each with its class, reason, assumptions, parameters, hazards, and the diff of its change; the
findings; the call graph with what runs in graphs coloured. The page's parts lie in `page/`; the data is JSON inside of it.
Ignores: the time of day. The same code gives the same page, but for the seconds of the run.
"""

from __future__ import annotations

import json
from base64 import b64encode
from hashlib import sha256
from importlib import resources
from typing import Any

from terra_refactor import __version__
from terra_refactor.classify.decision import Decision
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
    # inside of a script element only these could end it or begin a comment
    data = data.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")
    page = _part("page.html")
    script = _part("page.js")
    # should a text of the repository ever come out as markup, then no other script runs, and nothing is loaded
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
    return {
        "version": __version__,
        "summary": summary,
        "comparison": _comparison(report),
        "functions": _functions(report, places),
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
    }


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


def _functions(report: WorkspaceReport, places: Places) -> list[dict[str, Any]]:
    edits = edits_by_function(report)
    where = regions(report.decisions)
    entries = []
    for decision in report.decisions:
        own = edits.get(decision.function)
        source = report.sources.get(decision.path)
        diff = unified_diff(decision.path, source.text, apply_edits(source.text, own)) if own and source else ""
        entries.append({**_function(decision, places), "region": where[decision.function].value, "diff": diff})
    return entries


def _function(decision: Decision, places: Places) -> dict[str, Any]:
    return {
        "path": decision.path,
        "place": places.at_line(decision.path, decision.line).spoken,
        "name": decision.qualname,
        "kind": decision.kind.value,
        "hybrid": decision.hybrid,
        "class": decision.classification.value,
        "action": decision.action.value,
        "level": decision.level.value,
        "reason": decision.reason,
        "assumptions": list(decision.assumptions),
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
            {
                "kind": effect.kind,
                "detail": effect.detail,
                "place": places.place(effect.path, effect.span).spoken,
                "via": list(effect.via),
            }
            for effect in decision.side_effects
        ],
        "hazards": [
            {
                "rule": hazard.rule,
                "message": hazard.message,
                "place": places.place(decision.path, hazard.span).spoken,
                "via": list(hazard.via),
                "assumed": hazard.assumed,
            }
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
