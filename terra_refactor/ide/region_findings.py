"""Findings about training steps that could be functions (TR507), as far as the steps of a file are known.

Computes: the findings of `lint`, without looking for steps. Needs: a snapshot. Gives: `shown_findings`, `findings_of_regions`.
Ignores: files of a first answer, whose callers are not analysed yet.
"""

from __future__ import annotations

from collections.abc import Sequence

from terra_refactor.ide.regions import known_regions
from terra_refactor.ide.snapshot import Snapshot
from terra_refactor.rules.no_benefit.missed_extraction import RULE as MISSED_EXTRACTION
from terra_refactor.rules.rule import Finding
from terra_refactor.workspace.found_region import FoundRegion, region_findings
from terra_refactor.workspace.selection import select_findings, without_known


def shown_findings(snapshot: Snapshot, path: str) -> tuple[Finding, ...]:
    """The findings about the known steps of a file; after an edit, those whose code is as it was."""
    if snapshot.left_out or path not in snapshot.module_names:
        return ()
    return findings_of_regions(snapshot, [FoundRegion(each, None) for each in known_regions(snapshot, path)])


def findings_of_regions(snapshot: Snapshot, regions: Sequence[FoundRegion]) -> tuple[Finding, ...]:
    """The findings about steps: selected, not suppressed and not in the baseline."""
    found = region_findings(regions)
    if not found:
        return ()
    sources = {path: snapshot.sources[path] for path in {finding.path for finding in found}}
    decisions = [decision for path in sources for decision in snapshot.decisions.get(path, ())]
    selected = select_findings(found, decisions, snapshot.config, sources)
    # to `select_findings`, suppressions of other rules seem unused
    return tuple(
        finding
        for finding in without_known(selected, snapshot.config, sources).findings
        if finding.rule == MISSED_EXTRACTION.id
    )
