"""The report `report/1`: one dataclass for each object of its JSON.

Computes: only the translation. Needs: a `WorkspaceReport`. Gives: `Report`, whose fields are the JSON's keys, in
their order. The meaning of every field is fixed; fields are only ever added. Lines and columns are those of the file
on disk; for a notebook, `cell` has the position as the user sees it (the key exists only for notebooks).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from terra_refactor import __version__
from terra_refactor.classify.decision import (
    Classification,
    Decision,
    ExpectedGain,
    Hazard,
    ParameterDecision,
    SideEffect,
)
from terra_refactor.classify.region import RegionDecision
from terra_refactor.domain.dim import Dim, at_defaults, eager, format_dim
from terra_refactor.domain.tensor import TensorType
from terra_refactor.report.places import CellPlace, Places, ReportPlace
from terra_refactor.rules.rule import Finding
from terra_refactor.workspace.pins import AssumedRelease
from terra_refactor.workspace.results import FileError, WorkspaceReport

REPORT_SCHEMA: Final = "terra-refactor/report/1"
OPTIONAL: Final = {"optional": True}
"""Metadata of a field whose key is omitted if it has no value."""


@dataclass(frozen=True, slots=True)
class Tool:
    name: str
    version: str


@dataclass(frozen=True, slots=True)
class TensorTypeEntry:
    """A member of `shape` is an int, null (unknown), or a string: equal symbols are equal sizes."""

    dtype: str | None
    shape: tuple[int | str | None, ...] | None
    usual: tuple[int | str | None, ...] | None = field(default=None, metadata=OPTIONAL)
    """The sizes in the default run (default options, present data files), if they are more precise."""


@dataclass(frozen=True, slots=True)
class ParameterEntry:
    name: str
    kind: str
    evidence: str
    types: tuple[TensorTypeEntry, ...]


@dataclass(frozen=True, slots=True)
class SideEffectEntry:
    kind: str
    line: int
    column: int
    detail: str
    via: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class HazardEntry:
    rule: str
    line: int
    column: int
    message: str
    via: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FunctionEntry:
    path: str
    module: str
    qualname: str
    line: int
    end_line: int
    kind: str
    hybrid: bool
    hybrid_arguments: Mapping[str, str]
    classification: str
    action: str
    reason: str
    assumptions: tuple[str, ...]
    parameters: tuple[ParameterEntry, ...]
    returns: tuple[TensorTypeEntry, ...]
    side_effects: tuple[SideEffectEntry, ...]
    recursive: bool
    tensor_computation: bool
    covered_by_graph_callers: bool
    input_signature: str | None
    hazards: tuple[HazardEntry, ...]
    expected_gain: Mapping[str, int | float | str] | None = None
    cell: CellPlace | None = field(default=None, metadata=OPTIONAL)


@dataclass(frozen=True, slots=True)
class OutputEntry:
    name: str
    types: tuple[TensorTypeEntry, ...]


@dataclass(frozen=True, slots=True)
class RegionEntry:
    """Statements that are not a function. The `types` of an output are those of all outputs, not assigned to single ones."""

    path: str
    module: str
    inside: str
    line: int
    end_line: int
    classification: str
    action: str
    reason: str
    assumptions: tuple[str, ...]
    hazards: tuple[HazardEntry, ...]
    inputs: tuple[ParameterEntry, ...]
    outputs: tuple[OutputEntry, ...]
    function_name: str | None
    cell: CellPlace | None = field(default=None, metadata=OPTIONAL)


@dataclass(frozen=True, slots=True)
class DiagnosticEntry:
    rule: str
    name: str
    severity: str
    path: str
    line: int
    column: int
    end_line: int
    end_column: int
    message: str
    fixable: bool
    cell: CellPlace | None = field(default=None, metadata=OPTIONAL)

    @property
    def place(self) -> ReportPlace:
        """The position."""
        return ReportPlace(self.path, self.line, self.column, self.end_line, self.end_column, self.cell)


@dataclass(frozen=True, slots=True)
class ErrorEntry:
    path: str
    line: int | None
    message: str


@dataclass(frozen=True, slots=True)
class ReleaseEntry:
    library: str
    requirement: str
    path: str | None
    line: int | None
    files: int
    reason: str


@dataclass(frozen=True, slots=True)
class ReportSummary:
    files: int
    lines: int
    functions: int
    safe: int
    unsafe: int
    speculative: int
    actions: Mapping[str, int]
    seconds: float


@dataclass(frozen=True, slots=True)
class Report:
    schema: str
    tool: Tool
    functions: tuple[FunctionEntry, ...]
    diagnostics: tuple[DiagnosticEntry, ...]
    errors: tuple[ErrorEntry, ...]
    summary: ReportSummary
    regions: tuple[RegionEntry, ...] | None = field(default=None, metadata=OPTIONAL)
    releases: tuple[ReleaseEntry, ...] | None = field(default=None, metadata=OPTIONAL)


def build_report(results: WorkspaceReport) -> Report:
    """The report of a run."""
    places = Places(results.sources)
    classes = Counter(decision.classification for decision in results.decisions)
    actions = Counter(decision.action.value for decision in results.decisions)
    actions.update(found.decision.action.value for found in results.regions if found.decision.changes)
    return Report(
        schema=REPORT_SCHEMA,
        tool=Tool("terra-refactor", __version__),
        functions=tuple(_function(decision, places) for decision in results.decisions),
        diagnostics=tuple(diagnostic_entry(finding, places) for finding in results.findings),
        errors=tuple(_error(error) for error in results.errors),
        summary=ReportSummary(
            files=results.stats.files,
            lines=results.stats.lines,
            functions=len(results.decisions),
            safe=classes[Classification.SAFE],
            unsafe=classes[Classification.UNSAFE],
            speculative=classes[Classification.SPECULATIVE],
            actions=dict(sorted(actions.items())),
            seconds=round(results.stats.seconds, 3),
        ),
        regions=tuple(_region(found.decision, places) for found in results.regions) or None,
        releases=tuple(_release(assumed) for assumed in results.releases) or None,
    )


def _release(assumed: AssumedRelease) -> ReleaseEntry:
    return ReleaseEntry(
        library=assumed.library,
        requirement=assumed.requirement,
        path=assumed.path or None,
        line=assumed.line or None,
        files=assumed.files,
        reason=assumed.why,
    )


def _region(decision: RegionDecision, places: Places) -> RegionEntry:
    place = places.at_line(decision.path, decision.line)
    types = tuple(_tensor_type(tensor) for tensor in decision.output_types)
    return RegionEntry(
        path=decision.path,
        module=decision.module,
        inside=decision.inside,
        line=place.line,
        end_line=places.at_line(decision.path, decision.end_line).line,
        classification=decision.classification.value,
        action=decision.action.value,
        reason=decision.reason,
        assumptions=decision.assumptions,
        hazards=tuple(_hazard(hazard, decision.path, places) for hazard in decision.hazards),
        inputs=tuple(_parameter(parameter) for parameter in decision.inputs),
        outputs=tuple(OutputEntry(name, types) for name in decision.outputs),
        function_name=decision.function_name or None,
        cell=place.cell,
    )


def _function(decision: Decision, places: Places) -> FunctionEntry:
    place = places.at_line(decision.path, decision.line)
    return FunctionEntry(
        path=decision.path,
        module=decision.module,
        qualname=decision.qualname,
        line=place.line,
        end_line=places.at_line(decision.path, decision.end_line).line,
        kind=decision.kind.value,
        hybrid=decision.hybrid,
        hybrid_arguments=dict(decision.hybrid_arguments),
        classification=decision.classification.value,
        action=decision.action.value,
        reason=decision.reason,
        assumptions=decision.assumptions,
        parameters=tuple(_parameter(parameter) for parameter in decision.parameters),
        returns=tuple(_tensor_type(tensor) for tensor in decision.returns),
        side_effects=tuple(_side_effect(effect, places) for effect in decision.side_effects),
        recursive=decision.recursive,
        tensor_computation=decision.tensor_computation,
        covered_by_graph_callers=decision.covered_by_graph_callers,
        input_signature=decision.input_signature,
        hazards=tuple(_hazard(hazard, decision.path, places) for hazard in decision.hazards),
        expected_gain=_gain(decision.expected_gain),
        cell=place.cell,
    )


def _gain(gain: ExpectedGain | None) -> Mapping[str, int | float | str] | None:
    return None if gain is None else {"calls": gain.calls, "seconds_saved": gain.seconds_saved, "from": gain.source}


def _parameter(parameter: ParameterDecision) -> ParameterEntry:
    types = tuple(_tensor_type(tensor) for tensor in parameter.types)
    return ParameterEntry(parameter.name, parameter.kind.value, parameter.evidence.value, types)


def _tensor_type(tensor: TensorType) -> TensorTypeEntry:
    if tensor.shape is None:
        return TensorTypeEntry(tensor.dtype, None)
    shape = tuple(_size(dim) for dim in tensor.shape)
    usual = tuple(_size(dim if (size := at_defaults(dim)) is None else size) for dim in tensor.shape)
    return TensorTypeEntry(tensor.dtype, shape, usual if usual != shape else None)


def _size(dim: Dim) -> int | str | None:
    dim = eager(dim)
    return dim if dim is None or isinstance(dim, int) else format_dim(dim)


def _side_effect(effect: SideEffect, places: Places) -> SideEffectEntry:
    place = places.place(effect.path, effect.span)
    return SideEffectEntry(effect.kind, place.line, place.column, effect.detail, effect.via)


def _hazard(hazard: Hazard, path: str, places: Places) -> HazardEntry:
    place = places.place(path, hazard.span)
    return HazardEntry(hazard.rule, place.line, place.column, hazard.message, hazard.via)


def diagnostic_entry(finding: Finding, places: Places) -> DiagnosticEntry:
    """A finding as it appears in the report."""
    place = places.place(finding.path, finding.span)
    return DiagnosticEntry(
        rule=finding.rule,
        name=finding.name,
        severity=finding.severity.value,
        path=finding.path,
        line=place.line,
        column=place.column,
        end_line=place.end_line,
        end_column=place.end_column,
        message=finding.message,
        fixable=finding.fixable,
        cell=place.cell,
    )


def _error(error: FileError) -> ErrorEntry:
    return ErrorEntry(error.path, error.line or None, error.message)
