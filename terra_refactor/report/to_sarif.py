"""The report as SARIF 2.1.0, for code scanning services and editors.

Needs: the results of a run with their sources. Gives: one JSON text with one run: every rule with its help, every finding with its
place, the calls that lead to it as a code flow, a fingerprint that survives moved lines, its fix if there is one; suppressed findings
with their reason, and, if the run was compared to a baseline, whether each is new, unchanged or absent. Files that could not be
analysed are notifications. Ignores: the decisions about functions (the finding TR506 reports those that would pay).

Paths are relative to the repository's root (`SRCROOT`), which code scanning services require. Columns are code points.

GitHub accepts 25,000 results per run (and shows the 5,000 most severe), 25,000 rules, 20 tags per rule, 1,000
locations per result and 10,000 per thread flow ("SARIF results exceed one or more limits" in its documentation).
Further results are omitted, the least severe first, with a notification.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path
from typing import Any, Final

from terra_refactor import __version__
from terra_refactor.report.indented import indented_json
from terra_refactor.report.places import Places, ReportPlace, path_as_uri, repository_root
from terra_refactor.rules.registry import all_rules
from terra_refactor.rules.rule import Finding, Rule, RuleKind, Severity
from terra_refactor.rules.tool.unreadable_file import RULE as UNREADABLE
from terra_refactor.syntax.edit import Edit
from terra_refactor.syntax.source import Source
from terra_refactor.workspace.fingerprints import fingerprints
from terra_refactor.workspace.fixes import edits_of_file, fixes_of
from terra_refactor.workspace.results import FileError, KnownFinding, WorkspaceReport

_SCHEMA: Final = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
FINGERPRINT: Final = "terraRefactor/v1"
MAX_RESULTS: Final = 25_000
MAX_LOCATIONS: Final = 1_000
_BASE: Final = "SRCROOT"
DOCUMENTATION_VARIABLE: Final = "TERRA_REFACTOR_DOCUMENTATION"
"""The environment variable for the address of the documentation site: a repository may not choose where its reports link to."""
_LEVELS: Final[Mapping[Severity, str]] = {
    Severity.ERROR: "error",
    Severity.WARNING: "warning",
    Severity.INFORMATION: "note",
}
_ORDER: Final = tuple(_LEVELS)
_KIND_TAGS: Final[Mapping[RuleKind, str]] = {
    RuleKind.HAZARD: "correctness",
    RuleKind.DIAGNOSTIC: "correctness",
    RuleKind.DECISION: "performance",
}


def to_sarif(report: WorkspaceReport) -> str:
    """The log; ends in a newline."""
    log = {"$schema": _SCHEMA, "version": "2.1.0", "runs": [_Run(report).run()]}
    return indented_json(log) + "\n"


class _Run:
    def __init__(self, report: WorkspaceReport) -> None:
        self._report = report
        self._places = Places(report.sources)
        self._rules = {rule: index for index, rule in enumerate(all_rules())}
        self._artifacts: dict[str, int] = {}

    def run(self) -> dict[str, Any]:
        results, left_out = self._results()
        notifications = [self._notification(error) for error in self._report.errors]
        if left_out:
            notifications.append(
                {
                    "level": "warning",
                    "message": {
                        "text": f"{left_out} results of the least severity are left out: a log may hold {MAX_RESULTS}."
                    },
                }
            )
        invocation: dict[str, Any] = {"executionSuccessful": True}
        if notifications:
            invocation["toolExecutionNotifications"] = notifications
        root = repository_root(str(Path.cwd()))
        documentation = documentation_address()
        return {
            "tool": {
                "driver": {
                    "name": "terra-refactor",
                    "semanticVersion": __version__,
                    "version": __version__,
                    **({"informationUri": documentation} if documentation else {}),
                    "rules": [_rule(rule, documentation) for rule in all_rules().values()],
                }
            },
            "automationDetails": {"id": "terra-refactor/"},
            "invocations": [invocation],
            "originalUriBaseIds": {
                _BASE: {
                    "uri": Path(root).as_uri().rstrip("/") + "/",
                    "description": {"text": "The root of the repository, or the folder of the run."},
                }
            },
            "artifacts": [
                {"location": self._artifact_location(path), **self._artifact(path)} for path in tuple(self._artifacts)
            ],
            "results": results,
            "columnKind": "unicodeCodePoints",
        }

    # --- results --------------------------------------------------------------------------------------------------------------------------

    def _results(self) -> tuple[list[dict[str, Any]], int]:
        """All results by position, and the number of omitted ones."""
        report = self._report
        known = report.comparison.known if report.comparison is not None else ()
        suppressed = [entry.finding for entry in report.suppressed]
        found = [*report.findings, *known, *suppressed]
        kept = sorted(range(len(found)), key=lambda index: (_ORDER.index(found[index].severity), index))[:MAX_RESULTS]
        prints = fingerprints(found, report.sources)
        fixes = fixes_of(report, [found[index] for index in kept])
        reasons = {
            len(report.findings) + len(known) + index: entry.reason for index, entry in enumerate(report.suppressed)
        }
        results = []
        for index in sorted(kept, key=lambda index: (found[index].path, found[index].span, found[index].rule, index)):
            result = self._result(found[index], prints[index], fixes.get(found[index], ()))
            if report.comparison is not None:
                is_known = len(report.findings) <= index < len(report.findings) + len(known)
                result["baselineState"] = "unchanged" if is_known else "new"
            if index in reasons:
                suppression = {"kind": "inSource", "status": "accepted"}
                result["suppressions"] = [suppression | ({"justification": reasons[index]} if reasons[index] else {})]
            elif suppressed:
                result["suppressions"] = []  # 3.27.23: if one result has suppressions, all have
            results.append(result)
        gone = report.comparison.gone if report.comparison is not None else ()
        results.extend(self._gone(entry, told=bool(suppressed)) for entry in gone[: MAX_RESULTS - len(results)])
        return results, len(found) + len(gone) - len(results)

    def _result(self, finding: Finding, fingerprint: str, fix: Sequence[Edit]) -> dict[str, Any]:
        place = self._places.place(finding.path, finding.span)
        result: dict[str, Any] = {
            "ruleId": finding.rule,
            "ruleIndex": self._rules.get(finding.rule, -1),
            "level": _LEVELS[finding.severity],
            "message": {"text": _sentence(finding.message)},
            "locations": [self._location(place, finding.function)],
            "partialFingerprints": {FINGERPRINT: fingerprint},
        }
        if finding.related:
            related = [
                (self._places.place(entry.path, entry.span), entry.message)
                for entry in finding.related[: MAX_LOCATIONS - 1]
            ]
            result["relatedLocations"] = [
                self._location(at, message=message) | {"id": number} for number, (at, message) in enumerate(related)
            ]
            steps = [*reversed(related), (place, finding.message)]  # as the program runs: the outermost call first
            result["codeFlows"] = [
                {
                    "threadFlows": [
                        {"locations": [{"location": self._location(at, message=message)} for at, message in steps]}
                    ]
                }
            ]
        if fix and finding.path in self._report.sources:
            result["fixes"] = [self._fix(finding, self._report.sources[finding.path], fix)]
        if place.cell is not None:
            result["properties"] = {"cell": place.cell.index, "cellLine": place.cell.line}
        return result

    def _gone(self, entry: KnownFinding, *, told: bool) -> dict[str, Any]:
        rule = all_rules().get(entry.rule)
        result: dict[str, Any] = {
            "ruleId": entry.rule,
            "ruleIndex": self._rules.get(entry.rule, -1),
            "level": _LEVELS[rule.severity] if rule is not None else "warning",
            "message": {"text": _sentence(entry.message)},
            "locations": [{"physicalLocation": {"artifactLocation": self._artifact_location(entry.path)}}],
            "partialFingerprints": {FINGERPRINT: entry.fingerprint},
            "baselineState": "absent",
        }
        return result | ({"suppressions": []} if told else {})

    def _fix(self, finding: Finding, source: Source, edits: Sequence[Edit]) -> dict[str, Any]:
        replacements = [
            {
                "deletedRegion": {
                    "startLine": span.line,
                    "startColumn": span.column,
                    "endLine": span.end_line,
                    "endColumn": span.end_column,
                },
                "insertedContent": {"text": replacement},
            }
            for span, replacement in edits_of_file(source, edits)
        ]
        return {
            "description": {"text": f"Remove the cause of {finding.rule} {finding.name}."},
            "artifactChanges": [
                {"artifactLocation": self._artifact_location(finding.path), "replacements": replacements}
            ],
        }

    # --- places ---------------------------------------------------------------------------------------------------------------------------

    def _location(self, place: ReportPlace, function: str = "", message: str = "") -> dict[str, Any]:
        region: dict[str, Any] = {
            "startLine": place.line,
            "startColumn": place.column,
            "endLine": place.end_line,
            "endColumn": place.end_column,
        }
        snippet = self._places.line_text(place.path, place.line)
        context = {"startLine": place.line, "endLine": place.line, "snippet": {"text": snippet}}
        physical: dict[str, Any] = {"artifactLocation": self._artifact_location(place.path), "region": region}
        if snippet and place.end_line == place.line:
            region["snippet"] = {"text": snippet[place.column - 1 : place.end_column - 1]}
            physical["contextRegion"] = context
        location: dict[str, Any] = {"physicalLocation": physical}
        if function:
            location["logicalLocations"] = [{"fullyQualifiedName": function, "kind": "function"}]
        if message:
            location["message"] = {"text": _sentence(message)}
        return location

    def _artifact_location(self, path: str) -> dict[str, Any]:
        index = self._artifacts.setdefault(path, len(self._artifacts))
        uri = path_as_uri(path)
        if uri.startswith("file:"):
            return {"uri": uri, "index": index}
        return {"uri": uri, "uriBaseId": _BASE, "index": index}

    def _artifact(self, path: str) -> dict[str, Any]:
        return {} if path.endswith(".ipynb") else {"sourceLanguage": "python"}

    def _notification(self, error: FileError) -> dict[str, Any]:
        physical: dict[str, Any] = {"artifactLocation": self._artifact_location(error.path)}
        if error.line:
            physical["region"] = {"startLine": error.line}
        return {
            "level": "error",
            "descriptor": {"id": UNREADABLE.id},
            "message": {"text": _sentence(error.message)},
            "locations": [{"physicalLocation": physical}],
        }


def documentation_address() -> str:
    """The documentation site: from the user's environment, otherwise from the package's metadata (`project.urls`),
    otherwise empty.
    """
    chosen = os.environ.get(DOCUMENTATION_VARIABLE, "")
    if chosen.startswith(("https://", "http://")):
        return chosen.rstrip("/")
    try:
        addresses = metadata("terra-refactor").get_all("Project-URL") or []
    except PackageNotFoundError:
        return ""
    named: dict[str, str] = dict(address.split(", ", 1) for address in addresses if ", " in address)
    return named.get("Documentation", "").rstrip("/")


def _rule(rule: Rule, documentation: str) -> dict[str, Any]:
    page = {"helpUri": f"{documentation}/rules/{rule.id}/"} if documentation else {}
    return {
        "id": rule.id,
        **page,
        "name": "".join(word.capitalize() for word in rule.name.split("-")),
        "shortDescription": {"text": _sentence(rule.summary)},
        "fullDescription": {"text": _sentence(rule.explanation)},
        "help": {"text": "\n\n".join(part for part in (rule.explanation, rule.cure) if part), "markdown": _help(rule)},
        "defaultConfiguration": {"level": _LEVELS[rule.severity]},
        "properties": {"tags": ["tensorflow", _KIND_TAGS[rule.kind]], "problem.severity": _problem_severity(rule)},
    }


def _problem_severity(rule: Rule) -> str:
    return "recommendation" if rule.severity is Severity.INFORMATION else rule.severity.value


def _help(rule: Rule) -> str:
    parts = [f"# {rule.id} {rule.name}", rule.explanation]
    if rule.cure:
        parts += ["## What to do", rule.cure]
    for title, sample in (("Before", rule.samples.bad), ("After", rule.samples.good)):
        if sample:
            parts += [f"## {title}", "```python\n" + sample.strip("\n") + "\n```"]
    parts.append(f"To ignore one place: `# terra: ignore[{rule.id}]` and the reason.")
    return "\n\n".join(parts)


def _sentence(text: str) -> str:
    """A message in SARIF's form: it ends in a full stop, and brackets are escaped so that they are no links (3.11.6)."""
    escaped = text.replace("\\", "\\\\").replace("[", "\\[").replace("]", "\\]") if "](" in text else text
    return escaped if escaped.endswith((".", "!", "?")) else f"{escaped}."
