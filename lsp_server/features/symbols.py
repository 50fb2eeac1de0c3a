"""Document symbols, if enabled in the settings: an editor's Python support has its own outline."""

from __future__ import annotations

from lsprotocol import types

from lsp_server.server import TerraServer
from terra_refactor.ide.snapshot import Snapshot
from terra_refactor.ide.symbols import Symbol, symbols

_KINDS = {"class body": types.SymbolKind.Class, "method": types.SymbolKind.Method}


def register(server: TerraServer) -> None:
    """Adds the handler."""

    @server.feature(types.TEXT_DOCUMENT_DOCUMENT_SYMBOL)
    async def answer(params: types.DocumentSymbolParams) -> list[types.DocumentSymbol] | None:
        uri = params.text_document.uri
        path = server.documents.path_of(uri)
        if not server.settings_of(server.documents.session(path).root).outline:
            return None
        snapshot = await server.consistent(path)
        if snapshot is None:
            return None
        return _encoded(server, snapshot, path, uri, symbols(snapshot, path))


def _encoded(
    server: TerraServer, snapshot: Snapshot, path: str, uri: str, found: tuple[Symbol, ...]
) -> list[types.DocumentSymbol]:
    source = snapshot.sources[path]
    encoded: list[types.DocumentSymbol] = []
    for symbol in found:
        whole = server.documents.locate(source, symbol.span)
        name = server.documents.locate(source, symbol.name_span)
        if whole is None or name is None or whole[0] != uri or name[0] != uri:
            continue
        encoded.append(
            types.DocumentSymbol(
                name=symbol.name,
                kind=_KINDS.get(symbol.kind.value, types.SymbolKind.Function),
                range=whole[1],
                selection_range=name[1],
                detail=symbol.detail,
                children=_encoded(server, snapshot, path, uri, symbol.inner),
            )
        )
    return encoded
