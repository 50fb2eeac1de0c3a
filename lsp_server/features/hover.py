"""Hover."""

from __future__ import annotations

from lsprotocol import types

from lsp_server.rule_pages import rule_link
from lsp_server.server import TerraServer
from terra_refactor.ide.hover import hover


def register(server: TerraServer) -> None:
    """Adds the handler."""

    @server.feature(types.TEXT_DOCUMENT_HOVER)
    async def answer(params: types.HoverParams) -> types.Hover | None:
        path, line, column = server.documents.place(params.text_document.uri, params.position)
        snapshot = await server.snapshot(path)
        if snapshot is None:
            return None
        found = hover(snapshot, path, line, column, rule_link)
        if found is None:
            return None
        located = server.documents.locate(snapshot.sources[path], found.span)
        content = types.MarkupContent(types.MarkupKind.Markdown, found.text)
        return types.Hover(content, None if located is None else located[1])
