"""Findings as JUnit XML, for build servers that show tests.

Needs: the results of a run. Gives: a suite for each file, with a failed case for each finding, an error for a file that could not be
analysed, and one passed case for a file without either. A case keeps its name when lines move and when other findings come or go, so that
a build server can follow it from run to run: the name consists of the rule, the function and the text of the line, and of a number if one
function has several findings of a rule in equal lines.
"""

from __future__ import annotations

import re
from collections import Counter
from hashlib import blake2b
from typing import Final
from xml.etree import ElementTree

from terra_refactor.report.places import Places
from terra_refactor.rules.rule import Finding
from terra_refactor.syntax.edit import split_lines
from terra_refactor.syntax.source import Source
from terra_refactor.workspace.results import WorkspaceReport

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 forbids, even escaped."""
_LONGEST: Final = 80
"""Maximum length of a line's text in a name; a longer one is truncated, and a digest of the whole is appended."""


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
        for found, name in zip(found_here, _names(found_here, report.sources.get(path)), strict=True):
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


def _names(findings: list[Finding], source: Source | None) -> list[str]:
    """The names of the findings of one file, in their order, without duplicates."""
    lines = [] if source is None else split_lines(source.text)
    seen: Counter[str] = Counter()
    names = []
    for finding in findings:
        line = lines[finding.span.line - 1] if finding.span.line <= len(lines) else ""
        name = f"{finding.rule} {finding.name} in {finding.function or 'module'}: {_short(line)}"
        seen[name] += 1
        names.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return names


def _short(line: str) -> str:
    text = " ".join(line.split())
    if len(text) <= _LONGEST:
        return text
    digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=3).hexdigest()
    return f"{text[:_LONGEST].rstrip()}… ({digest})"


def _clean(text: str) -> str:
    return _NOT_XML.sub("\N{REPLACEMENT CHARACTER}", text)
