"""Diagnostics of the whole workspace, pulled: for clients that pull, if the setting `diagnosticMode` is `workspace`.

A request is held until there are new diagnostics, so that a polling client is idle. Diagnostics of a component are
recomputed when one of its texts changes, after a pause in the typing: open texts come first. Findings about training
steps (TR507) need another analysis of the component, so they follow when all others have been sent.
"""

from __future__ import annotations

import asyncio
import functools
import logging
from collections.abc import AsyncIterator, Iterable, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from lsprotocol import types

from lsp_server.features.diagnostics import problems_of, result_id_of
from lsp_server.server import TerraServer
from terra_refactor.errors import SourceError
from terra_refactor.ide.regions import is_to_be_searched
from terra_refactor.ide.session import Session, StaleError
from terra_refactor.ide.snapshot import Snapshot

LOGGER = logging.getLogger(__name__)
_PAUSE: Final = 0.5
"""Seconds without a change before the workspace is analysed."""
_NOTHING: Final = result_id_of([])


@dataclass(frozen=True, slots=True)
class _Told:
    """The diagnostics of a component, and their dependencies."""

    state: tuple[str, tuple[str, ...]]
    items: Mapping[str, list[types.Diagnostic]]
    """By the client's URI."""
    has_steps: bool = False
    """Whether training steps are still to be searched for."""


_Computed: TypeAlias = dict[tuple[Session, tuple[str, ...]], _Told]
"""By session and component."""


def register(server: TerraServer) -> None:
    """Adds the handler."""
    computed: _Computed = {}

    @server.feature(types.WORKSPACE_DIAGNOSTIC)
    async def pull(params: types.WorkspaceDiagnosticParams) -> types.WorkspaceDiagnosticReport:
        known = {each.uri: each.value for each in params.previous_result_ids}
        token = params.partial_result_token
        answer: list[types.WorkspaceDocumentDiagnosticReport] = []
        streamed = False
        while not server.scheduler.stopped and not answer and not streamed:
            await _quiet(server)
            generation = server.documents.generation
            try:
                for search in (_news, _steps):
                    if answer:
                        break  # the next request gets the rest
                    async for reports in search(server, computed, known, generation):
                        known.update({report.uri: report.result_id or "" for report in reports})
                        if token is None:
                            answer.extend(reports)
                        elif reports:
                            streamed = True
                            part = types.WorkspaceDiagnosticReportPartialResult(reports)
                            server.progress(types.ProgressParams(token, part))
            except StaleError:
                continue  # from the beginning, when it is quiet: a text has changed, or a request for an open file comes first
            if server.documents.generation == generation and not answer and not streamed:
                await server.scheduler.next_change()
        return types.WorkspaceDiagnosticReport(answer)


async def _quiet(server: TerraServer) -> None:
    """Waits until nothing has changed for a moment."""
    while not server.scheduler.stopped:
        try:
            await asyncio.wait_for(server.scheduler.next_change(), _PAUSE)
        except asyncio.TimeoutError:
            return


async def _news(
    server: TerraServer,
    computed: _Computed,
    known: Mapping[str, str],
    generation: int,
) -> AsyncIterator[list[types.WorkspaceFullDocumentDiagnosticReport]]:
    """Changed diagnostics, one component at a time, then empty reports for files that no longer have any.

    Raises:
        StaleError: a text has changed.
    """
    there: set[str] = set()
    used: set[tuple[Session, tuple[str, ...]]] = set()
    for folder in tuple(server.documents.folders):
        session = folder.session
        if not server.settings_of(session.root).enable:
            continue
        _check(server, generation)
        for component, identity in (await server.scheduler.in_thread(session.identities)).items():
            key = (session, component)
            used.add(key)
            state = (identity, tuple(path for path in component if server.documents.is_notebook(path)))
            told = computed.get(key)
            if told is None or told.state != state:
                told = computed[key] = await _told(server, session, component, state, generation)
            _check(server, generation)
            there.update(told.items)
            yield _reports(server, told.items, known)
    for key in computed.keys() - used:
        del computed[key]
    yield _reports(server, {uri: [] for uri in known if uri not in there}, known)


async def _steps(
    server: TerraServer,
    computed: _Computed,
    known: Mapping[str, str],
    generation: int,
) -> AsyncIterator[list[types.WorkspaceFullDocumentDiagnosticReport]]:
    """Diagnostics that changed because training steps were found, one component at a time.

    Raises:
        StaleError: a text has changed.
    """
    for key, before in tuple(computed.items()):
        if before.has_steps:
            told = computed[key] = await _told(server, *key, before.state, generation, with_steps=True)
            _check(server, generation)
            yield _reports(server, told.items, known)


def _check(server: TerraServer, generation: int) -> None:
    """Raises StaleError if a text has changed since, or if analysis has stopped."""
    if server.scheduler.stopped or server.documents.generation != generation:
        raise StaleError("a text has changed")


async def _told(
    server: TerraServer,
    session: Session,
    component: tuple[str, ...],
    state: tuple[str, tuple[str, ...]],
    generation: int,
    *,
    with_steps: bool = False,
) -> _Told:
    """The diagnostics of a component. `with_steps`: training steps are searched for first."""
    _check(server, generation)

    def stale() -> bool:
        return server.scheduler.stopped or server.documents.generation != generation

    try:
        work = functools.partial(session.snapshot, component[0], stale)
        snapshot: Snapshot = await server.scheduler.in_thread(work)
        if with_steps and not await server.scheduler.regions(snapshot):
            raise StaleError("a text has changed")
    except SourceError as error:
        LOGGER.info("%s", error)
        return _Told(state, {})
    except StaleError:
        raise
    except Exception:  # an internal error affects only this component
        LOGGER.exception("the analysis of %s failed", component[0])
        return _Told(state, {})
    # before the findings are read: another request may find the steps meanwhile
    has_steps = not with_steps and is_to_be_searched(snapshot)
    found: dict[str, list[types.Diagnostic]] = {}
    for path in snapshot.paths:
        if not server.documents.is_notebook(path):  # diagnostics of the cells of open ones are pushed
            found.update(problems_of(server, snapshot, path))
    return _Told(state, found, has_steps)


def _reports(
    server: TerraServer, items: Mapping[str, Iterable[types.Diagnostic]], known: Mapping[str, str]
) -> list[types.WorkspaceFullDocumentDiagnosticReport]:
    found: list[types.WorkspaceFullDocumentDiagnosticReport] = []
    for uri, problems in items.items():
        listed = list(problems)
        identity = result_id_of(listed)
        if known.get(uri, _NOTHING) != identity:
            version = server.documents.version_of(uri)
            found.append(types.WorkspaceFullDocumentDiagnosticReport(uri, listed, version=version, result_id=identity))
    return found
