"""Regions for an editor: hot code that is not a function of its own, and the decisions about it.

Needs: a snapshot. Gives: `find_regions`, `regions_at`, `shown_regions`, `beside_regions`, `is_to_be_searched`,
`forget_regions`, `Regions`. `find_regions` analyses the program again with the regions as functions, like the command
line: call it from a thread, or on explicit request. `shown_regions` computes nothing: until the regions of an edited
text are found, it returns those of the previous text whose code is unchanged.
"""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from terra_refactor.classify.decision import Action, Decision
from terra_refactor.classify.judgement import FunctionNames
from terra_refactor.classify.region import RegionDecision
from terra_refactor.ide.session import StaleError
from terra_refactor.ide.snapshot import Snapshot
from terra_refactor.ir.program import Program
from terra_refactor.syntax.deep_stack import deeply
from terra_refactor.syntax.source import Source
from terra_refactor.workspace.found_region import FoundRegion, may_have_regions, outside_shim, without_shim
from terra_refactor.workspace.judgement import RepeatedJudge
from terra_refactor.workspace.judging import judged_by

LOGGER = logging.getLogger(__name__)
MODULE: Final = "<module>"
"""The name of the code around a region that is not in a function."""
_KEPT: Final = 4
_KEPT_TEXTS: Final = 64
_LARGE: Final = 20_000
"""Maximum number of lines of a program whose state is kept between texts, since it takes as much memory as the analysis
itself.
"""


@dataclass(frozen=True, slots=True)
class Regions:
    """The known regions of a file."""

    decisions: tuple[RegionDecision, ...] = ()
    """Their lines are those of the present text."""
    undecided: frozenset[str] = frozenset()
    """Functions around code for which it is unknown whether it becomes a function; no proposal for them is shown before that."""
    are_final: bool = True
    """Whether they are those of the present text."""

    def best_in(self, decision: Decision, *, co_execution: bool = True) -> RegionDecision | None:
        """The region that is proposed instead of a change of the function around it; None if there is none.

        It is the first that becomes a graph; if there is none, and the function itself has no proposed change, the
        first that runs under the shim. Without `co_execution` the program cannot import the shim.
        """
        inside = [each for each in self.decisions if each.inside == decision.qualname]
        shim = co_execution and decision.action is Action.NONE
        return next(
            (each for each in inside if each.extract), next((each for each in inside if shim and each.co_execute), None)
        )


_NONE: Final = Regions()
_Key: TypeAlias = "tuple[str, str]"

_known: OrderedDict[_Key, Mapping[str, tuple[FoundRegion, ...]]] = OrderedDict()
"""The regions of the last few texts, by path."""
_last: OrderedDict[str, tuple[str, tuple[RegionDecision, ...]]] = OrderedDict()
"""By path: the last text whose regions were found, and these."""
_judges: OrderedDict[tuple[str, ...], RepeatedJudge] = OrderedDict()
"""The judge of the program whose regions were found last, by the files of the program."""
_guard: Final = threading.Lock()
_working: Final = threading.Lock()


def find_regions(
    snapshot: Snapshot, cancelled: Callable[[], bool] = lambda: False
) -> Mapping[str, tuple[FoundRegion, ...]]:
    """The regions of all files of a snapshot, by path, equal to those of the command line.

    Raises:
        StaleError: `cancelled` returned True.
    """
    if not snapshot.config.extract:
        return {}
    key = _key(snapshot)
    with _working:
        with _guard:
            known = _known.get(key)
        if known is not None:
            return known
        found: dict[str, tuple[FoundRegion, ...]] = {}
        for each in _found(snapshot, cancelled):
            found[each.decision.path] = (*found.get(each.decision.path, ()), each)
        with _guard:
            _known[key] = found
            while len(_known) > _KEPT:
                _known.popitem(last=False)
            for path in snapshot.module_names:
                decisions = tuple(each.decision for each in found.get(path, ()))
                if decisions or path in _last:
                    _last[path] = (snapshot.sources[path].text, decisions)
                    _last.move_to_end(path)
            while len(_last) > _KEPT_TEXTS:
                _last.popitem(last=False)
        return found


@deeply
def _found(snapshot: Snapshot, cancelled: Callable[[], bool]) -> tuple[FoundRegion, ...]:
    from terra_refactor.workspace.region_trials import find_trials  # noqa: PLC0415 - not for every start
    from terra_refactor.workspace.regions import judge_trials  # noqa: PLC0415

    sources = _readable(snapshot)
    decisions = [decision for path in sources for decision in snapshot.decisions.get(path, ())]
    trials = find_trials(sources, decisions)
    if not trials:
        return ()
    files = tuple(sources)
    judge = _judges.pop(files, None) or RepeatedJudge()

    def advance(_done: int, _total: int) -> None:
        if cancelled():
            raise StaleError("the text has changed")

    def decide(program: Program, names: FunctionNames) -> Sequence[Decision]:
        advance(0, 0)
        return judge.decided_about(program, snapshot.judged_with, names, advance)

    try:
        found = judge_trials(snapshot.program, sources, trials, decide)
    except StaleError:
        _keep(files, judge, snapshot)
        raise
    except Exception:  # after an internal error there are no regions; it is logged
        LOGGER.exception("the regions of %s failed", ", ".join(files))
        return ()
    _keep(files, judge, snapshot)
    return outside_shim(found, decisions)


def _readable(snapshot: Snapshot) -> dict[str, Source]:
    """The files that were analysed."""
    return {path: snapshot.sources[path] for path in sorted(snapshot.module_names)}


def _keep(files: tuple[str, ...], judge: RepeatedJudge, snapshot: Snapshot) -> None:
    """Keeps a judge for the next text of the same program; only for one program at a time."""
    _judges.clear()
    if sum(module.line_count for module in snapshot.program.modules.values()) <= _LARGE:
        _judges[files] = judge


def forget_regions() -> None:
    """Drops everything that can be recomputed."""
    with _working, _guard:
        _known.clear()
        _last.clear()
        _judges.clear()
        _places.clear()


def _key(snapshot: Snapshot) -> _Key:
    return snapshot.identity, repr(judged_by(snapshot.judged_with))


@deeply
def regions_at(snapshot: Snapshot, path: str, first_line: int, last_line: int) -> tuple[FoundRegion, ...]:
    """The regions of a file that share a line with some lines (from 1, both included)."""
    here = [place for place in _candidates(snapshot, path) if place.first <= last_line and first_line <= place.last]
    if not here:
        return ()
    return tuple(
        found
        for found in find_regions(snapshot).get(path, ())
        if found.decision.line <= last_line and first_line <= found.decision.end_line
    )


@deeply
def shown_regions(snapshot: Snapshot, path: str) -> Regions:
    """The known regions of a file, without searching for them."""
    with _guard:
        known = _known.get(_key(snapshot))
    if known is not None:
        return Regions(tuple(each.decision for each in known.get(path, ())))
    places = _candidates(snapshot, path)
    if not places:
        return _NONE
    carried = _carried(path, snapshot.sources[path].text)
    undecided = frozenset(
        place.inside
        for place in places
        if not any(each.inside == place.inside and each.line <= place.tape <= each.end_line for each in carried)
    )
    return Regions(tuple(each for each in carried if each.inside not in undecided), undecided, are_final=False)


def known_regions(snapshot: Snapshot, path: str) -> tuple[RegionDecision, ...]:
    """The decisions about the regions of a file that are known, without reading the file: after an edit, those whose code is as it was."""
    with _guard:
        known = _known.get(_key(snapshot))
    if known is not None:
        return tuple(each.decision for each in known.get(path, ()))
    return _carried(path, snapshot.sources[path].text)


def are_known(snapshot: Snapshot) -> bool:
    """Whether the regions of the files as they are were looked for."""
    with _guard:
        return _key(snapshot) in _known


def is_to_be_searched(snapshot: Snapshot) -> bool:
    """Whether the files may have regions that are not known yet."""
    readable = (snapshot.sources[path] for path in snapshot.module_names)
    return snapshot.config.extract and any(map(may_have_regions, readable)) and not are_known(snapshot)


def _carried(path: str, text: str) -> tuple[RegionDecision, ...]:
    """The decisions about the regions of the previous text that occur exactly once in this one, with the same lines."""
    with _guard:
        before, decisions = _last.get(path, ("", ()))
    old, new = before.split("\n"), text.split("\n")
    found: list[RegionDecision] = []
    for each in decisions:
        code = old[each.line - 1 : each.end_line]
        places = [at for at in range(len(new)) if new[at] == code[0] and new[at : at + len(code)] == code]
        if len(places) == 1:
            moved = places[0] + 1 - each.line
            found.append(replace(each, line=each.line + moved, end_line=each.end_line + moved))
    return tuple(found)


def beside_regions(decisions: Iterable[Decision], regions: Regions) -> tuple[Decision, ...]:
    """The decisions; functions whose training step is, or may be, extracted as a graph are not co-executed, as in `fix`."""
    found = [FoundRegion(each, None) for each in regions.decisions]
    return tuple(
        replace(each, action=Action.NONE)
        if each.action is Action.CO_EXECUTE and each.qualname in regions.undecided
        else each
        for each in without_shim(decisions, found)
    )


@dataclass(frozen=True, slots=True)
class _Place:
    """A candidate: the enclosing function, and its lines."""

    inside: str
    tape: int
    first: int
    last: int


_places: OrderedDict[tuple[str, str], tuple[_Place, ...]] = OrderedDict()


def _candidates(snapshot: Snapshot, path: str) -> tuple[_Place, ...]:
    """The candidates of a file, which is parsed for this."""
    source = snapshot.sources.get(path)
    if source is None or path not in snapshot.module_names or not snapshot.config.extract:
        return ()
    if "GradientTape" not in source.text:
        return ()
    key = (path, snapshot.identity)
    with _guard:
        known = _places.get(key)
    if known is not None:
        return known
    from terra_refactor.workspace.region_trials import trials_of  # noqa: PLC0415 - not for every start

    found: list[_Place] = []
    for trial in trials_of(path, _readable(snapshot), snapshot.decisions.get(path, ())):
        statements = trial.candidate.statements
        last = statements[-1].end_lineno or statements[-1].lineno
        inside = trial.candidate.scope.qualname or MODULE
        found.append(_Place(inside, trial.candidate.anchor.lineno, statements[0].lineno, last))
    with _guard:
        _places[key] = tuple(found)
        while len(_places) > _KEPT_TEXTS:
            _places.popitem(last=False)
    return tuple(found)
