"""Code lens over functions; a click makes the change, or explains why there is none."""

from __future__ import annotations

from lsprotocol import types

from lsp_server.convert import TextPositions
from lsp_server.features.commands import APPLY_FUNCTION, EXPLAIN_FUNCTION
from lsp_server.server import TerraServer
from terra_refactor.ide.code_lens import code_lenses


def register(server: TerraServer) -> None:
    """Adds the handler."""

    @server.feature(types.TEXT_DOCUMENT_CODE_LENS)
    async def lenses(params: types.CodeLensParams) -> list[types.CodeLens] | None:
        uri = params.text_document.uri
        documents = server.documents
        path = documents.path_of(uri)
        settings = server.settings_of(documents.session(path).root)
        if not settings.code_lens:
            return None
        snapshot = await server.with_regions(path, soon=False)
        if snapshot is None:
            return None
        found: list[types.CodeLens] = []
        positions: dict[str, TextPositions] = {}
        for lens in code_lenses(snapshot, path, every=settings.every_lens, co_execution=server.client.runs_shim):
            located = documents.locate(snapshot.sources[path], lens.span, positions)
            if located is None or located[0] != uri:
                continue
            command = APPLY_FUNCTION if lens.applies else EXPLAIN_FUNCTION
            arguments = [uri, lens.qualname, lens.span.line]
            found.append(types.CodeLens(located[1], types.Command(lens.title, command, arguments=arguments)))
        return found
