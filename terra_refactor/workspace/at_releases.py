"""Adjusts findings to the library releases for which a file is written, and to cells that are known to have run.

Computes: the remaining findings, and their severity. Needs: findings, the sources, and the requirements of the files.
Gives: `at_releases`.

The rules model the errors of certain releases. If a file requires other releases, an error that these are known not
to raise is dropped; one that is certain only for the modelled releases becomes a warning; and one that occurs in
every release, such as a product of (2, 3) and (4, 5), is unchanged. A notebook cell with an output that is not an
error has run to its end, so an error in it is only a warning.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from terra_refactor.classify.written_for import in_releases
from terra_refactor.rules.registry import all_rules
from terra_refactor.rules.rule import Finding, Severity
from terra_refactor.syntax.source import Source
from terra_refactor.workspace.pins import NO_PINS, Pins
from terra_refactor.workspace.ran_cells import RanCells


def at_releases(
    findings: Iterable[Finding], sources: Mapping[str, Source], pins: Mapping[str, Pins]
) -> Iterator[Finding]:
    """The findings as they apply to the releases for which their files are written."""
    ran: dict[str, RanCells] = {}
    for finding in findings:
        asked = pins.get(finding.path, NO_PINS)
        found = in_releases(finding, asked.releases, f"the file is for {'; '.join(map(str, asked.asked))}")
        if found is not None and found.severity is Severity.ERROR:
            source = sources.get(found.path)
            if source is not None and source.notebook is not None and all_rules()[found.rule].raises:
                if found.path not in ran:
                    ran[found.path] = RanCells.of(source.notebook)
                shown = ran[found.path].shows_success(found)
                if shown is not None:
                    found = _as_warning(found, shown)
        if found is not None:
            yield found


def _as_warning(finding: Finding, why: str) -> Finding:
    return replace(finding, severity=Severity.WARNING, message=f"{finding.message} ({why})")
