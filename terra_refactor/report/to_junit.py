"""Findings as JUnit XML, for build servers that show tests.

Needs: the results of a run. Gives: a suite for each file, with a failed case for each finding, an error for a file that could not be
analysed, and one passed case for a file without either. A case keeps its name when lines move, so that a build server can follow it from
run to run: the name is made of the rule, the function, and a number where one function has several findings of a rule.
"""

from __future__ import annotations

import re
from collections import Counter
from xml.etree import ElementTree

from terra_refactor.report.places import Places
from terra_refactor.rules.rule import Finding
from terra_refactor.workspace.results import WorkspaceReport

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 forbids, even escaped."""


def to_junit(report: WorkspaceReport) -> str:
    """The document, indented; ends in a newline."""
    places = Places(report.sources)
    by_file: dict[str, list[Finding]] = {path: [] for path in sorted(report.sources)}
    for found in report.findings:
        by_file.setdefault(found.path, []).append(found)
    errors = {error.path: error for error in report.errors}
    root = ElementTree.Element("testsuites", name="terra-refactor")
    tests = 0
    for path in sorted({*by_file, *errors}):
        found_here = by_file.get(path, [])
        error = errors.get(path)
        count = max(1, len(found_here) + (error is not None))
        tests += count
        suite = ElementTree.SubElement(
            root,
            "testsuite",
            name=_clean(path),
            tests=str(count),
            failures=str(len(found_here)),
            errors=str(int(error is not None)),
        )
        if error is not None:
            case = ElementTree.SubElement(suite, "testcase", name="analysed", classname=_clean(path))
            ElementTree.SubElement(case, "error", message=_clean(error.message)).text = _clean(
                f"{path}:{error.line or 1}: {error.message}"
            )
        for found, name in zip(found_here, _names(found_here), strict=True):
            place = places.place(path, found.span)
            case = ElementTree.SubElement(
                suite, "testcase", name=_clean(name), classname=_clean(path), file=_clean(path), line=str(place.line)
            )
            failure = ElementTree.SubElement(case, "failure", type=found.severity.value, message=_clean(found.message))
            failure.text = _clean(f"{place}: {found.rule} [{found.name}] {found.message}")
        if not found_here and error is None:
            ElementTree.SubElement(suite, "testcase", name="no findings", classname=_clean(path))
    root.set("tests", str(tests))
    root.set("failures", str(len(report.findings)))
    root.set("errors", str(len(errors)))
    ElementTree.indent(root)
    text: str = ElementTree.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n'


def _names(findings: list[Finding]) -> list[str]:
    """The name of each finding of one file, in their order; no two are the same."""
    seen: Counter[str] = Counter()
    names = []
    for finding in findings:
        name = f"{finding.rule} {finding.name} in {finding.function or 'module'}"
        seen[name] += 1
        names.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return names


def _clean(text: str) -> str:
    return _NOT_XML.sub("\N{REPLACEMENT CHARACTER}", text)
