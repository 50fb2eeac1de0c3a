"""Inlay hints; the tooltip is computed on request."""

from __future__ import annotations

from typing import Any

from lsprotocol import types

from lsp_server.convert import TextPositions
from lsp_server.server import TerraServer
from terra_refactor.ide.annotations import with_type_of, writes_shapes
from terra_refactor.ide.inlay_hints import Hint, HintKind, hint_details, inlay_hints
from terra_refactor.ide.snapshot import Snapshot


def register(server: TerraServer) -> None:
    """Adds the handlers."""

    @server.feature(types.TEXT_DOCUMENT_INLAY_HINT, types.InlayHintOptions(resolve_provider=True))
    async def hints(params: types.InlayHintParams) -> list[types.InlayHint] | None:
        uri = params.text_document.uri
        documents = server.documents
        path, first, _ = documents.place(uri, params.range.start)
        _, last, _ = documents.place(uri, params.range.end)
        settings = server.settings_of(documents.session(path).root)
        kinds = [HintKind(kind) for kind in settings.hints]
        snapshot = await server.first(path) if kinds else None
        if snapshot is None:
            return None
        found: list[types.InlayHint] = []
        with_shapes = writes_shapes(snapshot, settings.annotation_style)
        positions: dict[str, TextPositions] = {}
        for hint in inlay_hints(snapshot, path, first, last, kinds, unknown_sizes=settings.unknown_sizes):
            located = documents.locate(snapshot.sources[path], hint.span, positions)
            if located is not None and located[0] == uri:
                found.append(_encoded(path, hint, located[1].end, written_later=with_shapes))
        return found

    @server.feature(types.INLAY_HINT_RESOLVE)
    async def resolve(hint: types.InlayHint) -> types.InlayHint:
        data: Any = hint.data
        if isinstance(data, dict):
            path = str(data.get("path", ""))
            snapshot = await server.consistent(path) if server.documents.is_open(path) else None
            if snapshot is not None:
                text = hint_details(snapshot, path, int(data["function"]), str(data["name"]), int(data["line"]))
                if text:
                    hint.tooltip = types.MarkupContent(types.MarkupKind.Markdown, text)
                if data.get("writes"):
                    hint.text_edits = _edits(server, snapshot, path, int(data["function"]), str(data["name"]))
        return hint


def _edits(server: TerraServer, snapshot: Snapshot, path: str, index: int, name: str) -> list[types.TextEdit] | None:
    """The edits that write the type of a parameter, including the import; None unless they are all in one text, as
    required for a hint.
    """
    style = server.settings_of(server.documents.session(path).root).annotation_style
    function = next((each for each in snapshot.functions(path) if each.id.index == index), None)
    text = None if function is None else with_type_of(snapshot, path, function, name, style)
    if text is None:
        return None
    edits = server.documents.text_edits(snapshot.sources[path], text)
    return next(iter(edits.values())) if len(edits) == 1 else None


def _before(hint: Hint) -> str:
    """The text between the code and the type."""
    if hint.kind is HintKind.LAYER:
        return " → "
    return " " if hint.annotated else ": "


def _encoded(path: str, hint: Hint, position: types.Position, *, written_later: bool) -> types.InlayHint:
    """`written_later`: the edits of a double click are computed when the hint is resolved."""
    now = hint.annotation is not None and not written_later
    edits = [types.TextEdit(types.Range(position, position), hint.annotation or "")] if now else None
    return types.InlayHint(
        position=position,
        label=_before(hint) + hint.label,
        kind=types.InlayHintKind.Type,
        text_edits=edits,
        padding_left=False,
        data={
            "path": path,
            "function": hint.function.index,
            "name": hint.name,
            "line": hint.span.line,
            "writes": hint.annotation is not None and written_later,
        },
    )
