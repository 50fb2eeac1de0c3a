"""Code that runs as a graph: as semantic tokens for editors that support them, and as ranges for the decoration of our
own extension.
"""

from __future__ import annotations

from typing import Any

from lsprotocol import types

from lsp_server.convert import TextPositions, range_as_json
from lsp_server.server import TerraServer
from terra_refactor.ide.graph_code import GraphToken, TokenKind, graph_lines, graph_tokens
from terra_refactor.syntax.location import Span

GRAPH_CODE = "terra-refactor.graphCode"
CHANGED = "terra-refactor/graphCodeChanged"
"""A notification to our extension: the displayed graph code may be stale, although no text of the editor has changed."""
MODIFIERS = ("graph", "eager")
"""`graph` applies to every token; `eager` in addition if other calls run the code eagerly."""
LEGEND = types.SemanticTokensLegend([kind.value for kind in TokenKind], list(MODIFIERS))
_TYPES = {kind: number for number, kind in enumerate(TokenKind)}


def register(server: TerraServer) -> None:
    """Adds the command."""

    @server.command(GRAPH_CODE)
    async def graph_code(uri: str) -> list[dict[str, Any]]:
        """The ranges of a text that run as a graph, each with its function and whether it also runs eagerly."""
        path = server.documents.path_of(uri)
        snapshot = await server.consistent(path)
        if snapshot is None:
            return []
        found: list[dict[str, Any]] = []
        known: dict[str, TextPositions] = {}
        for lines in graph_lines(snapshot, path):
            located = server.documents.locate(snapshot.sources[path], Span(lines.first, 1, lines.last, 1), known)
            if located is not None and located[0] == uri:
                where = range_as_json(located[1])
                found.append({"range": where, "function": lines.function, "eagerlyToo": lines.eagerly_too})
        return found


def offer_semantic_tokens(server: TerraServer) -> None:
    """Adds the handlers of the requests, which are announced to the client."""

    @server.feature(types.TEXT_DOCUMENT_SEMANTIC_TOKENS_FULL, LEGEND)
    async def full(params: types.SemanticTokensParams) -> types.SemanticTokens | None:
        return await _tokens(server, params.text_document.uri, None)

    @server.feature(types.TEXT_DOCUMENT_SEMANTIC_TOKENS_RANGE, LEGEND)
    async def part(params: types.SemanticTokensRangeParams) -> types.SemanticTokens | None:
        return await _tokens(server, params.text_document.uri, params.range)


async def _tokens(server: TerraServer, uri: str, within: types.Range | None) -> types.SemanticTokens | None:
    path = server.documents.path_of(uri)
    snapshot = await server.consistent(path)
    if snapshot is None:
        return None
    data: list[int] = []
    known: dict[str, TextPositions] = {}
    line = character = 0
    for token in graph_tokens(snapshot, path):
        located = server.documents.locate(snapshot.sources[path], token.span, known)
        if located is None or located[0] != uri or located[1].start.line != located[1].end.line:
            continue
        start, end = located[1].start, located[1].end
        if within is not None and not within.start.line <= start.line <= within.end.line:
            continue
        data += [start.line - line, start.character - (character if start.line == line else 0)]
        data += [end.character - start.character, _TYPES[token.kind], _modifiers(token)]
        line, character = start.line, start.character
    return types.SemanticTokens(data)


def _modifiers(token: GraphToken) -> int:
    """Bits of the modifiers, in the order of `MODIFIERS`."""
    return 3 if token.eagerly_too else 1
