"""Code actions: the offers at a position, and the text after one of them.

Computes: the offers for some lines, cheaply; and, for a chosen one, the new text. Needs: a snapshot. Gives: `code_actions`, `perform`,
`best_change`, `refactored`, `all_safe`, `one_for_each_change`, `Offer`, `Request`, `NewText`.
Ignores: how edits are sent; `NewText` holds the whole new text of one file.

Levels are those of the decision. Uncertain changes are never among the safe fixes, and carry their assumptions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Set
from dataclasses import dataclass, replace
from enum import Enum

from typing_extensions import assert_never

from terra_refactor.classify.decision import Action, Classification, Decision, Hazard, Level
from terra_refactor.classify.region import RegionDecision
from terra_refactor.ide.annotations import AnnotationStyle, KnownTypes, known_types, write_types
from terra_refactor.ide.explanations import action_title, change_title, extraction_title, shown_name
from terra_refactor.ide.extracting import all_but, with_functions
from terra_refactor.ide.region_findings import shown_findings
from terra_refactor.ide.regions import MODULE, beside_regions, find_regions, known_regions, regions_at, shown_regions
from terra_refactor.ide.shape_cures import shape_cure
from terra_refactor.ide.snapshot import Snapshot
from terra_refactor.ir.function import FunctionKind
from terra_refactor.refactor.cures import TITLES, cure_of
from terra_refactor.refactor.plan import refactor_file
from terra_refactor.refactor.result import Change, FileRefactoring, Outcome
from terra_refactor.refactor.transforms.context import NotMade
from terra_refactor.rules.no_benefit.missed_extraction import RULE as MISSED_EXTRACTION
from terra_refactor.rules.rule import Finding
from terra_refactor.syntax.deep_stack import deeply
from terra_refactor.syntax.edit import apply_edits
from terra_refactor.syntax.location import Span
from terra_refactor.syntax.suppress import suppressed_text
from terra_refactor.workspace.found_region import chosen_regions

NO_SHIM = "terra-refactor is not installed in the environment of the program: install it there first (`pip install terra-refactor`)"


class Task(Enum):
    """The requested action. The values are sent to the editor and back."""

    REFACTOR = "refactor"
    EXTRACT = "extract"
    CURE = "cure"
    SHAPE = "shape"
    SUPPRESS = "suppress"
    ANNOTATE = "annotate"
    FIX_ALL = "fix-all"
    REFACTOR_ALL = "refactor-all"


@dataclass(frozen=True, slots=True)
class Request:
    """One action, in serialisable form. A function is identified by the line of its `def`, a finding by rule and span."""

    task: Task
    path: str
    qualname: str = ""
    line: int = 0
    rule: str = ""
    span: Span | None = None
    reason: str = ""
    style: AnnotationStyle = AnnotationStyle.AUTO


class OfferKind(Enum):
    """The kinds of the protocol."""

    QUICK_FIX = "quickfix"
    REWRITE_ADD = "refactor.rewrite.addTfFunction"
    REWRITE_REMOVE = "refactor.rewrite.removeTfFunction"
    REWRITE_TUNE = "refactor.rewrite.tuneTfFunction"
    REWRITE_CO_EXECUTE = "refactor.rewrite.coExecute"
    REWRITE_CURE = "refactor.rewrite.cureHazard"
    REWRITE_TYPES = "refactor.rewrite.writeTypes"
    EXTRACT = "refactor.extract.tfFunction"
    FIX_ALL = "source.fixAll.terra-refactor"
    """Fixes of findings only: an editor that fixes all on save requests this kind without user interaction."""
    REFACTOR_ALL = "source.terraRefactor"
    """Adding, removing and tuning decorators: only on explicit request of this kind."""


@dataclass(frozen=True, slots=True)
class Offer:
    """An entry of the menu."""

    title: str
    kind: OfferKind
    request: Request
    finding: Finding | None = None
    """The finding that it removes."""
    preferred: bool = False
    disabled: str | None = None
    """The reason why it is disabled; None if it is not."""
    assumptions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class NewText:
    """A file after an action."""

    path: str
    text: str
    title: str
    assumptions: tuple[str, ...]
    """Assumptions that the user should confirm first; () for a safe change."""


@dataclass(frozen=True, slots=True)
class NotPossible:
    """The action is not possible; `reason` is a sentence for the user."""

    reason: str


@deeply
def code_actions(
    snapshot: Snapshot,
    path: str,
    first_line: int,
    last_line: int,
    *,
    explicit: bool = False,
    co_execution: bool = True,
    style: AnnotationStyle = AnnotationStyle.AUTO,
) -> tuple[Offer, ...]:
    """The offers for some lines (from 1, both included). `explicit`: the user opened the menu, so refactorings of the
    enclosing function are listed, including impossible ones with the reason. Without `co_execution` the shim is one
    of these. `style`: the notation of inferred types.
    """
    offers = (
        *_for_findings(snapshot, path, first_line, last_line),
        *_for_hazards(snapshot, path, first_line, last_line),
        *_rewrites(snapshot, path, first_line, last_line, explicit=explicit),
        *(_extractions(snapshot, path, first_line, last_line) if explicit else ()),
        *(_types(snapshot, path, first_line, last_line, style) if explicit else ()),
        *_all_at_once(snapshot, path),
    )
    if co_execution:
        return offers
    return tuple(
        replace(offer, disabled=NO_SHIM) if offer.kind is OfferKind.REWRITE_CO_EXECUTE else offer
        for offer in offers
        if explicit or offer.kind is not OfferKind.REWRITE_CO_EXECUTE
    )


def one_for_each_change(offers: Iterable[Offer]) -> tuple[Offer, ...]:
    """Removes duplicate offers: a refactoring is offered as the fix of a finding, and by itself."""
    found: dict[Request, Offer] = {}
    for offer in offers:
        found.setdefault(offer.request, offer)
    return tuple(found.values())


def _for_findings(snapshot: Snapshot, path: str, first_line: int, last_line: int) -> Iterator[Offer]:
    here = [
        finding
        for finding in (*snapshot.findings.get(path, ()), *shown_findings(snapshot, path))
        if finding.span.line <= last_line and first_line <= finding.span.end_line
    ]
    for finding in here:
        if finding.rule == MISSED_EXTRACTION.id:
            yield from _for_region(snapshot, path, finding)
            continue
        decision = _decision_of(snapshot, path, finding)
        if finding.fixable and decision is not None and decision.action is not Action.NONE:
            yield Offer(
                f"{change_title(decision)}: {shown_name(decision.qualname)}",
                OfferKind.QUICK_FIX,
                _refactoring(path, decision),
                finding,
                preferred=decision.level is Level.SAFE,
                assumptions=_assumptions(decision),
            )
        if finding.cure is not None:
            request = Request(Task.CURE, path, rule=finding.rule, span=finding.span)
            yield Offer(TITLES[finding.cure.kind], OfferKind.QUICK_FIX, request, finding)
        elif (shape := shape_cure(snapshot, finding)) is not None:
            request = Request(Task.SHAPE, path, rule=finding.rule, span=finding.span)
            yield Offer(shape.title, OfferKind.QUICK_FIX, request, finding)
        elif finding.fix:
            request = Request(Task.CURE, path, rule=finding.rule, span=finding.span)
            yield Offer(f"Remove what {finding.rule} reports", OfferKind.QUICK_FIX, request, finding)
    for finding in here:
        request = Request(Task.SUPPRESS, path, rule=finding.rule, span=finding.span)
        yield Offer(f"Ignore {finding.rule} ({finding.name}) here", OfferKind.QUICK_FIX, request, finding)


def _for_region(snapshot: Snapshot, path: str, finding: Finding) -> Iterator[Offer]:
    """The extraction of the training step of a finding."""
    for region in known_regions(snapshot, path):
        if region.extract and region.line == finding.span.line:
            yield Offer(
                extraction_title(region),
                OfferKind.QUICK_FIX,
                _extraction(region),
                finding,
                preferred=region.level is Level.SAFE,
                assumptions=_region_assumptions(region),
            )


def _for_hazards(snapshot: Snapshot, path: str, first_line: int, last_line: int) -> Iterator[Offer]:
    """Hazards in code that is not yet a graph: not reported, but curable if the user wants the graph."""
    found = {(finding.rule, finding.span) for finding in snapshot.findings.get(path, ())}
    for decision in snapshot.decisions.get(path, ()):
        for hazard in decision.hazards:
            here = hazard.span.line <= last_line and first_line <= hazard.span.end_line
            if here and hazard.cure is not None and (hazard.rule, hazard.span) not in found:
                found.add((hazard.rule, hazard.span))
                title = f"{TITLES[hazard.cure.kind]}, so that {shown_name(decision.qualname)} can be a graph"
                request = Request(Task.CURE, path, rule=hazard.rule, span=hazard.span)
                yield Offer(title, OfferKind.REWRITE_CURE, request)


def _decision_of(snapshot: Snapshot, path: str, finding: Finding) -> Decision | None:
    """The function of a finding about a whole function."""
    for decision in snapshot.decisions.get(path, ()):
        function = snapshot.program.function(decision.function)
        if decision.line == finding.span.line or any(
            decorator.span == finding.span for decorator in function.decorators
        ):
            return decision
    return None


def _rewrites(snapshot: Snapshot, path: str, first_line: int, last_line: int, *, explicit: bool) -> Iterator[Offer]:
    inner: dict[int, Decision] = {}
    for decision in _beside_regions(snapshot, path, first_line, last_line, explicit=explicit):
        if decision.kind is FunctionKind.LAMBDA:
            continue
        function = snapshot.program.function(decision.function)
        head = min([decision.line, *(decorator.span.line for decorator in function.decorators)])
        end = decision.end_line if explicit else decision.line
        if head <= last_line and first_line <= end:
            if explicit and head < first_line:
                inner = {0: decision}  # in source order: the last one is the innermost function around the position
            else:
                inner[decision.line] = decision
    for decision in inner.values():
        if decision.action is not Action.NONE:
            yield Offer(
                f"{change_title(decision)}: {shown_name(decision.qualname)}{_how_sure(decision)}",
                _rewrite_kind(decision.action),
                _refactoring(path, decision),
                assumptions=_assumptions(decision),
            )
        elif explicit and (decision.tensor_computation or decision.classification is Classification.UNSAFE):
            title = action_title(Action.REMOVE_TF_FUNCTION if decision.hybrid else Action.ADD_TF_FUNCTION)
            kind = OfferKind.REWRITE_REMOVE if decision.hybrid else OfferKind.REWRITE_ADD
            name = shown_name(decision.qualname)
            yield Offer(f"{title}: {name}", kind, _refactoring(path, decision), disabled=decision.reason)


def _beside_regions(
    snapshot: Snapshot, path: str, first_line: int, last_line: int, *, explicit: bool
) -> tuple[Decision, ...]:
    """The decisions about a file, without co-execution of functions whose lines contain a region that becomes, or may
    become, a graph. `explicit`: regions are searched for.
    """
    decisions = snapshot.decisions.get(path, ())
    around = [
        decision
        for decision in decisions
        if decision.action is Action.CO_EXECUTE and decision.line <= last_line and first_line <= decision.end_line
    ]
    if not around:
        return decisions
    if explicit and any(regions_at(snapshot, path, each.line, each.end_line) for each in around):
        find_regions(snapshot)
    return beside_regions(decisions, shown_regions(snapshot, path))


def _types(snapshot: Snapshot, path: str, first_line: int, last_line: int, style: AnnotationStyle) -> Iterator[Offer]:
    """The inferred types of the function whose header is at the position."""
    for function in snapshot.functions(path):
        if first_line <= function.def_line <= last_line:
            known = known_types(snapshot, function, style)
            if known is not None:
                request = Request(Task.ANNOTATE, path, qualname=function.qualname, line=function.def_line, style=style)
                yield Offer(
                    f"Write types: {known.summary}",
                    OfferKind.REWRITE_TYPES,
                    request,
                    assumptions=_type_assumptions(known),
                )


def _type_assumptions(known: KnownTypes) -> tuple[str, ...]:
    if not known.with_shapes:
        return ()
    return ("calls from other code use the same dtypes and sizes as the calls in this project",)


def _extractions(snapshot: Snapshot, path: str, first_line: int, last_line: int) -> Iterator[Offer]:
    """The training steps at the position that could be functions; at the header of a function, those that replace the shim."""
    for decision in snapshot.decisions.get(path, ()):
        if decision.action is Action.CO_EXECUTE and first_line <= decision.line <= last_line:
            last_line = max(last_line, decision.end_line)
    for found in regions_at(snapshot, path, first_line, last_line):
        region = found.decision
        lines = f"lines {region.line} to {region.end_line}"
        title = action_title(Action.EXTRACT_TF_FUNCTION)
        request = _extraction(region)
        if region.changes:
            yield Offer(
                f"{extraction_title(region)} ({lines})",
                OfferKind.EXTRACT if region.extract else OfferKind.REWRITE_CO_EXECUTE,
                request,
                assumptions=_region_assumptions(region),
            )
        if not region.extract:
            yield Offer(f"{title}: {lines}", OfferKind.EXTRACT, request, disabled=region.reason)


def _extraction(region: RegionDecision) -> Request:
    return Request(Task.EXTRACT, region.path, qualname=region.qualname, line=region.line)


def best_change(snapshot: Snapshot, path: str, qualname: str, line: int) -> Request:
    """The change that is proposed first for a function, or for code of a module (`MODULE`) at the line: that of its lens. It may also be
    named by the function that a training step at the line becomes."""
    for found in regions_at(snapshot, path, line, line):
        if found.decision.changes and (found.decision.qualname, found.decision.line) == (qualname, line):
            return _extraction(found.decision)
    around = [
        decision
        for decision in snapshot.decisions.get(path, ())
        if (decision.qualname, decision.line) == (qualname, line)
    ]
    if qualname == MODULE:
        lines = (line, line)
    elif around and around[0].action in (Action.NONE, Action.CO_EXECUTE):
        lines = (around[0].line, around[0].end_line)
    else:
        return Request(Task.REFACTOR, path, qualname, line)
    for found in regions_at(snapshot, path, *lines):
        if found.decision.changes and found.decision.inside == qualname:
            return _extraction(found.decision)
    return Request(Task.REFACTOR, path, qualname, line)


def _region_assumptions(decision: RegionDecision) -> tuple[str, ...]:
    return () if decision.level is Level.SAFE else decision.assumptions or (decision.reason,)


def _all_at_once(snapshot: Snapshot, path: str) -> Iterator[Offer]:
    fixable = _fixed_findings(snapshot, path)
    if fixable:
        count = "one finding" if len(fixable) == 1 else f"all {len(fixable)} findings that have a fix"
        yield Offer(f"terra-refactor: fix {count}", OfferKind.FIX_ALL, Request(Task.FIX_ALL, path))
    safe = [
        decision
        for decision in snapshot.decisions.get(path, ())
        if decision.action is not Action.NONE and decision.level is Level.SAFE
    ]
    regions = shown_regions(snapshot, path)
    number = len(safe) + sum(map(_is_safe, regions.decisions))
    if number or not regions.are_final:
        count = "one safe change" if number == 1 else f"all {number} safe changes"
        if not regions.are_final:
            count = "all safe changes"
        yield Offer(f"terra-refactor: make {count}", OfferKind.REFACTOR_ALL, Request(Task.REFACTOR_ALL, path))


def _is_safe(region: RegionDecision) -> bool:
    return region.extract and region.level is Level.SAFE


def _fixed_findings(snapshot: Snapshot, path: str) -> list[Finding]:
    """The findings that a certain edit removes; cures may have assumptions and are offered separately."""
    return [finding for finding in snapshot.findings.get(path, ()) if finding.fix]


def _refactoring(path: str, decision: Decision) -> Request:
    return Request(Task.REFACTOR, path, qualname=decision.qualname, line=decision.line)


def _rewrite_kind(action: Action) -> OfferKind:
    match action:
        case Action.ADD_TF_FUNCTION:
            return OfferKind.REWRITE_ADD
        case Action.REMOVE_TF_FUNCTION:
            return OfferKind.REWRITE_REMOVE
        case Action.TUNE_TF_FUNCTION:
            return OfferKind.REWRITE_TUNE
        case Action.CO_EXECUTE:
            return OfferKind.REWRITE_CO_EXECUTE
        case Action.NONE | Action.EXTRACT_TF_FUNCTION:
            raise ValueError("not a change of a function")
        case _:
            assert_never(action)


def _how_sure(decision: Decision) -> str:
    count = len(decision.assumptions)
    if count and decision.level is not Level.SAFE:
        return f" ({count} assumption{'s' if count != 1 else ''})"
    if (
        decision.level is Level.SAFE or decision.action is Action.CO_EXECUTE
    ):  # actions whose title is the name of their level
        return ""
    return f" ({decision.level.value})"


def _assumptions(decision: Decision) -> tuple[str, ...]:
    if decision.level is Level.SAFE:
        return ()
    if not decision.assumptions and decision.action is Action.ADD_TF_FUNCTION:
        return (f"it pays: {decision.reason}",)
    return decision.assumptions or (decision.reason,)


@deeply
def perform(snapshot: Snapshot, request: Request) -> NewText | NotPossible:
    """The file after an action. The snapshot must be of the text for which the action was offered."""
    source = snapshot.sources.get(request.path)
    if source is None or request.path in snapshot.errors:
        return NotPossible("the file does not parse")
    match request.task:
        case Task.REFACTOR:
            return _refactored(snapshot, request)
        case Task.EXTRACT:
            return _extracted(snapshot, request)
        case Task.CURE:
            return _cured(snapshot, request)
        case Task.SHAPE:
            return _reshaped(snapshot, request)
        case Task.ANNOTATE:
            return _annotated(snapshot, request)
        case Task.SUPPRESS:
            assert request.span is not None
            text = suppressed_text(source.text, request.rule, request.span, request.reason)
            if text is None:
                return NotPossible("no comment can suppress this line; use `# terra: off` and `# terra: on` around it")
            return NewText(request.path, text, f"Ignore {request.rule}", ())
        case Task.FIX_ALL:
            edits = {edit: None for finding in _fixed_findings(snapshot, request.path) for edit in finding.fix}
            return NewText(request.path, apply_edits(source.text, tuple(edits)), "Fix all findings", ())
        case Task.REFACTOR_ALL:
            return all_safe(snapshot, request.path)
        case _:
            assert_never(request.task)


def all_safe(
    snapshot: Snapshot,
    path: str,
    only: Set[tuple[str, str, int]] | None = None,
    cancelled: Callable[[], bool] = lambda: False,
) -> NewText:
    """A file with its safe changes: those of `fix --level safe`. With `only`, those of the functions of these paths, qualified names and
    lines; a training step that becomes a function has the name and line of the function around it, or `MODULE` and its own line.

    Raises:
        StaleError: `cancelled` said so.
    """
    regions = find_regions(snapshot, cancelled).get(path, ())
    lines = {decision.qualname: decision.line for decision in snapshot.decisions.get(path, ())}
    chosen = [
        found
        for found in chosen_regions(regions, Level.SAFE, (), {})
        if only is None or (path, found.decision.inside, lines.get(found.decision.inside, found.decision.line)) in only
    ]
    others = all_but(
        snapshot, lambda each: each.path == path and (only is None or (path, each.qualname, each.line) in only)
    )
    for done in with_functions(snapshot, chosen, Level.SAFE, others, cancelled):
        if done.source.path == path:
            return NewText(path, done.new_text, "Make all safe changes", ())
    return NewText(path, snapshot.sources[path].text, "Make all safe changes", ())


def refactored(snapshot: Snapshot, request: Request) -> tuple[Decision, FileRefactoring] | NotPossible:
    """The file with one function's change, and its decision."""
    for decision in snapshot.decisions.get(request.path, ()):
        if decision.line == request.line and decision.qualname == request.qualname:
            source = snapshot.sources[request.path]
            done = refactor_file(source, [decision], Level.COEXEC, frozenset({decision.qualname}))
            failure = _failure(done.changes)
            return (decision, done) if failure is None else NotPossible(failure)
    return NotPossible(f"{shown_name(request.qualname)} is not there any more")


def _refactored(snapshot: Snapshot, request: Request) -> NewText | NotPossible:
    done = refactored(snapshot, request)
    if isinstance(done, NotPossible):
        return done
    decision, file = done
    title = f"{change_title(decision)}: {shown_name(decision.qualname)}"
    return NewText(request.path, file.new_text, title, _assumptions(decision))


def _extracted(snapshot: Snapshot, request: Request) -> NewText | NotPossible:
    """The file with one region extracted as a function."""
    for found in regions_at(snapshot, request.path, request.line, request.line):
        decision = found.decision
        if decision.changes and (decision.line, decision.qualname) == (request.line, request.qualname):
            text = apply_edits(snapshot.sources[request.path].text, found.edits)
            return NewText(request.path, text, extraction_title(decision), _region_assumptions(decision))
    return NotPossible(f"{shown_name(request.qualname)} cannot be extracted there any more")


def _annotated(snapshot: Snapshot, request: Request) -> NewText | NotPossible:
    """The file with the inferred types in the signature of a function."""
    for function in snapshot.functions(request.path):
        if (function.def_line, function.qualname) == (request.line, request.qualname):
            known = known_types(snapshot, function, request.style)
            if known is None:
                return NotPossible("no parameter of it is known to be a tensor")
            edits = write_types(snapshot, request.path, function, known)
            if isinstance(edits, NotMade):
                return NotPossible(edits.reason)
            text = apply_edits(snapshot.sources[request.path].text, edits)
            return NewText(request.path, text, f"Write types: {known.summary}", _type_assumptions(known))
    return NotPossible(f"{shown_name(request.qualname)} is not there any more")


def _cured(snapshot: Snapshot, request: Request) -> NewText | NotPossible:
    """The file after the cure of one finding, or of one hazard of a function that is not a graph yet."""
    source = snapshot.sources[request.path]
    for place in _curable(snapshot, request.path):
        if (place.rule, place.span) != (request.rule, request.span):
            continue
        if isinstance(place, Finding) and place.cure is None:
            text = apply_edits(source.text, place.fix)
            return NewText(request.path, text, f"Remove what {place.rule} reports", ())
        cure = cure_of(source, place)
        if isinstance(cure, NotMade):
            return NotPossible(cure.reason)
        return NewText(request.path, apply_edits(source.text, cure.edits), cure.title, cure.assumptions)
    return NotPossible(f"{request.rule} is not reported there any more")


def _reshaped(snapshot: Snapshot, request: Request) -> NewText | NotPossible:
    """The file after the cure of an operation that fails."""
    for finding in snapshot.findings.get(request.path, ()):
        if (finding.rule, finding.span) == (request.rule, request.span):
            cure = shape_cure(snapshot, finding)
            if cure is not None:
                text = apply_edits(snapshot.sources[request.path].text, cure.edits)
                return NewText(request.path, text, cure.title, ())
    return NotPossible(f"{request.rule} is not reported there any more")


def _curable(snapshot: Snapshot, path: str) -> Iterator[Finding | Hazard]:
    yield from snapshot.findings.get(path, ())
    for decision in snapshot.decisions.get(path, ()):
        yield from (hazard for hazard in decision.hazards if hazard.cure is not None)


def _failure(changes: tuple[Change, ...]) -> str | None:
    for change in changes:
        if change.outcome is not Outcome.DONE:
            return change.reason
    return None
