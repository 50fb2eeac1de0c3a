"""Judging several components in worker processes.

Computes: the result of each component. Needs: their lowered programs, and a function that judges one. Gives:
`judge_many`, `worthwhile_workers`, `prepare_workers`. A component is analysed as a program of its own, so the process
does not matter. A component that a worker cannot judge (it dies, exceeds its share of the memory, or its program is
nested too deeply to be sent) is judged in this process, after the others.
"""

from __future__ import annotations

import contextlib
import gc
import signal
from collections.abc import Callable, Iterator, Mapping, MutableSequence, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from multiprocessing import forkserver
from typing import Final

from terra_refactor.config import Config
from terra_refactor.ir.program import ModuleIR
from terra_refactor.isolation import start_method
from terra_refactor.syntax.source import Source
from terra_refactor.workspace.component_result import ComponentResult
from terra_refactor.workspace.evidence import NO_EVIDENCE
from terra_refactor.workspace.judged_component import Keeper, judged_component
from terra_refactor.workspace.judging import judge_program
from terra_refactor.workspace.loading import LoadedProgram, ReadProject, lowered_program
from terra_refactor.workspace.pool import end_processes, processors_for
from terra_refactor.workspace.results import FileError

_WORTH_PROCESSES: Final = 40_000
"""Characters of source text whose analysis takes one or two seconds, more than starting the processes."""
_MOMENT: Final = 0.05
_PRELOADED: Final = "terra_refactor.workspace.preloaded"


@dataclass(frozen=True, slots=True)
class ComponentTask:
    """One component, with the data that can be sent to a worker."""

    group: tuple[str, ...]
    modules: Mapping[str, ModuleIR]
    errors: tuple[FileError, ...]
    """Errors of files that could not be lowered."""
    cached_files: int
    config: Config
    keeper: Keeper | None

    def loaded(self, project: ReadProject) -> LoadedProgram:
        """Its program."""
        return LoadedProgram(lowered_program(project, self.modules), self.errors, self.cached_files)

    def sources(self, project: ReadProject) -> dict[str, Source]:
        """The texts of its files, by path."""
        return {path: project.tasks[path].source for path in self.group}


def prepare_workers() -> None:
    """Starts the process from which workers are forked (on Linux): it imports the analysis for all of them while files
    are lowered.
    """
    context = start_method()
    if context.get_start_method() == "forkserver":
        context.set_forkserver_preload([_PRELOADED])
        forkserver.ensure_running()


def worthwhile_workers(project: ReadProject, groups: Sequence[Sequence[str]], jobs: int) -> int:
    """The number of processes worth using for these components; 1: only this one. `jobs` 0 stands for all processors."""
    workers = min(processors_for(jobs), len(groups))
    if workers < 2:
        return 1
    sizes = [_size(project, group) for group in groups]
    longest = max(*sizes, sum(sizes) // workers)
    return workers if sum(sizes) - longest >= _WORTH_PROCESSES else 1


def _size(project: ReadProject, group: Sequence[str]) -> int:
    return sum(len(project.tasks[path].source.text) for path in group)


def judge_many(
    project: ReadProject,
    tasks: dict[int, ComponentTask],
    workers: int,
    judge_here: Callable[[ComponentTask], ComponentResult],
    advance: Callable[[Mapping[int, float]], None],
) -> Iterator[tuple[int, ComponentResult]]:
    """The results of the components with their keys in `tasks`, from which they are removed; in order of completion.

    `advance` regularly receives the analysed share of each component that a worker has begun; it may raise to cancel.

    Raises:
        TerraError: the judge raises it.
    """
    if workers > 1:
        yield from _judge_in_workers(project, tasks, workers, advance)
    for key in list(tasks):
        yield key, judge_here(tasks.pop(key))


def _judge_in_workers(
    project: ReadProject, tasks: dict[int, ComponentTask], workers: int, advance: Callable[[Mapping[int, float]], None]
) -> Iterator[tuple[int, ComponentResult]]:
    """The results of the components that workers can judge."""
    needed = {path: project.tasks[path] for task in tasks.values() for path in task.group}
    shared = ReadProject(needed, project.index, (), stubs=project.stubs, data=project.data)
    # largest first, so that no single worker is left with a large one at the end
    order = sorted(tasks, key=lambda key: -_size(project, tasks[key].group))
    context = start_method()
    shares = context.RawArray("d", len(order))
    executor = ProcessPoolExecutor(
        workers, mp_context=context, initializer=_start_worker, initargs=(shared, workers, shares)
    )
    try:
        futures: dict[Future[ComponentResult], int] = {
            executor.submit(_judge, tasks[key], place): key for place, key in enumerate(order)
        }
        pending = set(futures)
        while pending:
            done, pending = wait(pending, timeout=_MOMENT, return_when=FIRST_COMPLETED)
            advance({key: share for key, share in zip(order, shares, strict=True) if share and key in tasks})
            for future in done:
                error = future.exception()
                if isinstance(error, BrokenProcessPool):
                    raise error
                if error is None:
                    key = futures.pop(future)
                    del tasks[key]
                    yield key, future.result()
    except BrokenProcessPool:
        end_processes(executor)
    except BaseException:
        end_processes(executor)
        raise
    else:
        executor.shutdown()


# --- in a worker process --------------------------------------------------------------------------------------------------------------

_own: dict[str, tuple[ReadProject, int, MutableSequence[float]]] = {}
"""The state of a worker process: the project, the number of processes, and the shared memory for the analysed shares."""


def _start_worker(project: ReadProject, workers: int, shares: MutableSequence[float]) -> None:
    gc.disable()  # see `collection`
    with contextlib.suppress(ValueError):
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the main process handles interrupts
    _own["project"] = project, workers, shares


def _judge(task: ComponentTask, place: int) -> ComponentResult:
    project, workers, shares = _own["project"]

    def tell(done: int, total: int) -> None:
        shares[place] = max(shares[place], done / max(total, 1))  # a later round begins at 0 again

    return judged_component(
        task.sources(project),
        task.loaded(project),
        task.config,
        judge_program,
        tell,
        NO_EVIDENCE,
        task.keeper,
        workers,
    )
