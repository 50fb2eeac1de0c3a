"""Hover."""

from __future__ import annotations

from lsprotocol import types

from lsp_server.rule_pages import rule_link
from lsp_server.server import TerraServer
from terra_refactor.ide.hover import hover
from terra_refactor.syntax.location import Span


def register(server: TerraServer) -> None:
    """Adds the handler."""

    @server.feature(types.TEXT_DOCUMENT_HOVER)
    async def answer(params: types.HoverParams) -> types.Hover | None:
        path, line, column = server.documents.place(params.text_document.uri, params.position)
        snapshot = await server.first(path)
        if snapshot is None:
            return None
        source = snapshot.sources[path]

        def place_link(file: str, number: int, words: str) -> str:
            place = server.documents.locate(snapshot.sources[file], Span(number, 1, number, 1))
            return words if place is None else f"[{words}]({place[0]}#L{place[1].start.line + 1})"

        found = hover(snapshot, path, line, column, rule_link, place_link)
        if found is None:
            return None
        located = server.documents.locate(source, found.span)
        content = types.MarkupContent(types.MarkupKind.Markdown, found.text)
        return types.Hover(content, None if located is None else located[1])
