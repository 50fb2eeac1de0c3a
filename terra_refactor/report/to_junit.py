"""Findings as JUnit XML, for build servers that show tests.

Needs: a `Report` and the paths of the files that were analysed. Gives: a suite for each file, with a failed case for each finding, an error
for a file that could not be analysed, and one passed case where there is nothing to say.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from xml.etree import ElementTree

from terra_refactor.report.schema import DiagnosticEntry, Report

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What XML 1.0 does not allow, even escaped."""


def to_junit(report: Report, files: Iterable[str]) -> str:
    """The document, indented; ends in a newline."""
    by_file: dict[str, list[DiagnosticEntry]] = {path: [] for path in sorted(files)}
    for found in report.diagnostics:
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
        for found in found_here:
            name = f"{found.rule} {found.name} at {str(found.place)[len(path) + 1 :]}"
            case = ElementTree.SubElement(
                suite, "testcase", name=_clean(name), classname=_clean(path), file=_clean(path), line=str(found.line)
            )
            failure = ElementTree.SubElement(case, "failure", type=found.severity, message=_clean(found.message))
            failure.text = _clean(f"{found.place}: {found.rule} [{found.name}] {found.message}")
        if not found_here and error is None:
            ElementTree.SubElement(suite, "testcase", name="no findings", classname=_clean(path))
    root.set("tests", str(tests))
    root.set("failures", str(len(report.diagnostics)))
    root.set("errors", str(len(errors)))
    ElementTree.indent(root)
    text: str = ElementTree.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n'


def _clean(text: str) -> str:
    return _NOT_XML.sub("\N{REPLACEMENT CHARACTER}", text)
