"""Files in which training steps have become functions, as `fix` writes them.

Computes: the changed files. Needs: a snapshot and some of its regions. Gives: `with_functions`, `all_but`.
The program is analysed again with their functions: in a thread, or because a request waits for the result.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from terra_refactor.classify.decision import Decision, Level
from terra_refactor.ide.session import StaleError
from terra_refactor.ide.snapshot import Snapshot
from terra_refactor.ir.build.module import lower_module
from terra_refactor.refactor.plan import refactor_file
from terra_refactor.refactor.result import FileRefactoring
from terra_refactor.syntax.deep_stack import deeply
from terra_refactor.syntax.parse import parse_module
from terra_refactor.syntax.source import Source
from terra_refactor.workspace.extraction import extract_and_refactor
from terra_refactor.workspace.found_region import FoundRegion, LeftOut, with_text
from terra_refactor.workspace.judgement import analyze_and_judge
from terra_refactor.workspace.results import Stats, WorkspaceReport


@deeply
def with_functions(
    snapshot: Snapshot,
    regions: Sequence[FoundRegion],
    level: Level,
    left_out: LeftOut,
    cancelled: Callable[[], bool] = lambda: False,
) -> tuple[FileRefactoring, ...]:
    """The files in which these regions become functions, and then all functions but those of `left_out` are refactored at a level. A
    region whose function does not become a graph stays as it is, with the reason.

    Raises:
        StaleError: `cancelled` said so.
    """

    def advance(_done: int, _total: int) -> None:
        if cancelled():
            raise StaleError("the text has changed")

    def analyze(texts: Mapping[str, str]) -> WorkspaceReport:
        advance(0, 0)
        sources, modules = dict(snapshot.sources), dict(snapshot.program.modules)
        for path, text in texts.items():
            sources[path] = with_text(snapshot.sources[path], text)
            old = modules[snapshot.module_names[path]]
            modules[old.name] = lower_module(parse_module(sources[path]), old.name, is_package=old.is_package)
        program = replace(snapshot.program, modules=modules)
        return _report(sources, analyze_and_judge(program, snapshot.judged_with, advance)[0])

    def refactor(report: WorkspaceReport, left_out: LeftOut) -> tuple[FileRefactoring, ...]:
        by_path: dict[str, list[Decision]] = {}
        for each in report.decisions:
            if (each.path, each.line, each.qualname) not in left_out:
                by_path.setdefault(each.path, []).append(each)
        files = (refactor_file(report.sources[path], decisions, level) for path, decisions in sorted(by_path.items()))
        return tuple(file for file in files if file.changes)

    now = _report(snapshot.sources, [decision for group in snapshot.decisions.values() for decision in group])
    if not regions:
        return refactor(now, left_out)
    return extract_and_refactor(now, regions, left_out, analyze, refactor)


def all_but(snapshot: Snapshot, is_wanted: Callable[[Decision], bool]) -> LeftOut:
    """Every function of a snapshot that is not to change."""
    return {
        (each.path, each.line, each.qualname): "not asked for"
        for group in snapshot.decisions.values()
        for each in group
        if not is_wanted(each)
    }


def _report(sources: Mapping[str, Source], decisions: Sequence[Decision]) -> WorkspaceReport:
    return WorkspaceReport(tuple(decisions), (), (), Stats(0, 0, 0, 0.0), sources)
