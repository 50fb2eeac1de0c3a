"""Diagnostics: pulled by clients that support it, pushed to others, never both for one text.

Diagnostics of notebook cells are always pushed: clients that pull do so for the texts of their tabs
(vscode-languageclient 9), and cells have none. A notebook that is not open has no cells for the client: its findings
have positions in the document on disk, and name the cell.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from hashlib import blake2b

from lsprotocol import types
from typing_extensions import assert_never

from lsp_server.convert import TextPositions
from lsp_server.rule_pages import rule_uri
from lsp_server.server import NAME, TerraServer
from terra_refactor.ide.diagnostics import Problem, Tag, diagnostics
from terra_refactor.ide.regions import are_known
from terra_refactor.ide.snapshot import Snapshot
from terra_refactor.rules.rule import Severity
from terra_refactor.syntax.source import Source
from terra_refactor.workspace.found_region import may_have_regions

SOURCE = "terra-refactor"


def register(server: TerraServer) -> None:
    """Adds the handler."""

    async def regions_found() -> None:
        if server.client.refreshes_diagnostics:
            await server.workspace_diagnostic_refresh_async(None)
        publish_soon(server)

    server.regions_found = regions_found

    @server.feature(
        types.TEXT_DOCUMENT_DIAGNOSTIC,
        types.DiagnosticOptions(inter_file_dependencies=True, workspace_diagnostics=False, identifier=NAME),
    )
    async def pull(params: types.DocumentDiagnosticParams) -> types.DocumentDiagnosticReport:
        uri = params.text_document.uri
        path = server.documents.path_of(uri)
        if server.documents.is_cell(uri):
            return types.RelatedFullDocumentDiagnosticReport(items=[])
        snapshot = await server.first(path)
        if snapshot is not None:
            _look(server, snapshot, path)
        items = [] if snapshot is None else problems_of(server, snapshot, path).get(uri, [])
        result_id = result_id_of(items)
        related = _related(server, snapshot, path) if snapshot is not None and server.client.related_documents else None
        if result_id == params.previous_result_id:
            return types.RelatedUnchangedDocumentDiagnosticReport(result_id=result_id, related_documents=related)
        return types.RelatedFullDocumentDiagnosticReport(items=items, result_id=result_id, related_documents=related)


def _look(server: TerraServer, snapshot: Snapshot, path: str) -> None:
    """The findings about training steps come later, because the program is analysed again for them."""
    if not snapshot.left_out and may_have_regions(snapshot.sources[path]) and not are_known(snapshot):
        server.look_soon(path)


def _related(
    server: TerraServer, snapshot: Snapshot, path: str
) -> dict[str, types.FullDocumentDiagnosticReport | types.UnchangedDocumentDiagnosticReport] | None:
    """Reports of the other open texts in the snapshot, if they differ from those published last."""
    reports: dict[str, types.FullDocumentDiagnosticReport | types.UnchangedDocumentDiagnosticReport] = {}
    for other in server.documents.open_paths():
        if other == path or other not in snapshot.sources or server.documents.is_notebook(other):
            continue
        for uri, items in problems_of(server, snapshot, other).items():
            result_id = result_id_of(items)
            if server.told.get(uri) != result_id:
                server.told[uri] = result_id
                reports[uri] = types.FullDocumentDiagnosticReport(items=items, result_id=result_id)
    return reports or None


def result_id_of(items: Iterable[types.Diagnostic]) -> str:
    """The identity of a list of diagnostics."""
    text = "\n".join(map(repr, items))
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def problems_of(server: TerraServer, snapshot: Snapshot, path: str) -> dict[str, list[types.Diagnostic]]:
    """The diagnostics of a path by the client's texts: every cell of a notebook has an entry."""
    found: dict[str, list[types.Diagnostic]] = {uri: [] for uri in server.documents.parts(path)}
    positions: dict[str, TextPositions] = {}
    for problem in diagnostics(snapshot, path):
        item = _encoded(server, snapshot, path, problem, positions)
        if item is not None:
            found.setdefault(item[0], []).append(item[1])
    return found


def _encoded(
    server: TerraServer, snapshot: Snapshot, path: str, problem: Problem, positions: dict[str, TextPositions]
) -> tuple[str, types.Diagnostic] | None:
    closed_notebook = snapshot.sources[path].notebook is not None and not server.documents.is_open(path)
    place = server.documents.locate(snapshot.sources[path], problem.span, positions)
    if place is None:
        return None
    uri, where = place
    if where.start == where.end:
        where = _whole_line(server, uri, where)
    related: list[types.DiagnosticRelatedInformation] = []
    for other in problem.related:
        source = snapshot.sources.get(other.path)
        located = None if source is None else server.documents.locate(source, other.span, positions)
        if located is not None:
            related.append(types.DiagnosticRelatedInformation(types.Location(*located), other.message))
    page = None if problem.rule is None else rule_uri(problem.rule)
    return uri, types.Diagnostic(
        range=where,
        severity=_severity(problem.severity),
        code=problem.rule or problem.name,
        code_description=None if page is None else types.CodeDescription(page),
        source=SOURCE,
        message=_in_cell(snapshot.sources[path], problem) if closed_notebook else problem.message,
        tags=[_tag(tag) for tag in problem.tags] or None,
        related_information=related or None,
        data=None if problem.rule is None else {"rule": problem.rule, "fixable": problem.fixable},
    )


def _in_cell(source: Source, problem: Problem) -> str:
    """The message with the cell and line that the user sees in a notebook."""
    inside = None if source.notebook is None else source.notebook.cell_line(problem.span.line)
    return problem.message if inside is None else f"cell {inside[0]}, line {inside[1]}: {problem.message}"


def _whole_line(server: TerraServer, uri: str, where: types.Range) -> types.Range:
    """Underlines the text of the line if a diagnostic has only a line."""
    document = server.documents.texts.get(uri)
    if document is None:
        return where
    positions = TextPositions(document.text, server.documents.encoding)
    number = min(where.start.line + 1, positions.line_count)
    line = positions.line(number)
    first = len(line) - len(line.lstrip()) + 1
    return types.Range(positions.position(number, first), positions.position(number, len(line.rstrip()) + 1))


def _severity(severity: Severity) -> types.DiagnosticSeverity:
    match severity:
        case Severity.ERROR:
            return types.DiagnosticSeverity.Error
        case Severity.WARNING:
            return types.DiagnosticSeverity.Warning
        case Severity.INFORMATION:
            return types.DiagnosticSeverity.Information
        case _:
            assert_never(severity)


def _tag(tag: Tag) -> types.DiagnosticTag:
    match tag:
        case Tag.UNNECESSARY:
            return types.DiagnosticTag.Unnecessary
        case Tag.DEPRECATED:
            return types.DiagnosticTag.Deprecated
        case _:
            assert_never(tag)


# --- pushed ----------------------------------------------------------------------------------------------------------------------------


def publish_soon(server: TerraServer) -> None:
    """Publishes the diagnostics of the open texts that are not pulled, after the analysis of the newest text."""
    if server.publishing is not None:
        server.publishing.cancel()
    server.publishing = asyncio.ensure_future(_publish(server))
    server.keep(server.publishing)


async def _publish(server: TerraServer) -> None:
    for path in server.documents.open_paths():
        if server.client.pulls and not server.documents.is_notebook(path):
            continue
        snapshot = await server.first(path)
        if not server.documents.is_open(path):
            continue
        if snapshot is not None:
            _look(server, snapshot, path)
        found = {} if snapshot is None else problems_of(server, snapshot, path)
        for uri in server.documents.parts(path):
            publish(server, uri, found.get(uri, []))


def publish(server: TerraServer, uri: str, items: list[types.Diagnostic]) -> None:
    """Publishes diagnostics, unless the client already has the same."""
    version = server.documents.version_of(uri)
    result_id = f"{version} {result_id_of(items)}"
    if server.told.get(uri) != result_id:
        server.told[uri] = result_id
        server.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, items, version))


def publish_closed(server: TerraServer, snapshot: Snapshot) -> None:
    """Publishes the findings of files that are not open: they are not pulled, unless the client pulls the whole workspace."""
    for path in snapshot.paths:
        if not server.documents.is_open(path):
            for uri, items in problems_of(server, snapshot, path).items():
                publish(server, uri, items)
                server.pushed_closed.add(uri)


def text_opened(server: TerraServer, uri: str) -> None:
    """A text or notebook was opened: its diagnostics are from now on reported as for every open text."""
    if uri in server.pushed_closed:
        server.pushed_closed.discard(uri)
        server.told.pop(uri, None)
        server.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, []))


def forget(server: TerraServer, closed: Iterable[str], *, pushed: bool = False) -> None:
    """Texts were closed: clears their diagnostics. `pushed`: they are cells."""
    for uri in closed:
        server.told.pop(uri, None)
        if pushed or not server.client.pulls:
            server.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, []))
