"""The server object.

Gives: `make_server`. It answers what the protocol asks of every server (initialize, shutdown, exit) and keeps the open
documents; features are added by modules of their own.
"""

from __future__ import annotations

from lsprotocol import types
from pygls.lsp.server import LanguageServer

from terra_refactor import __version__

NAME = "terra-refactor-lsp"


def make_server() -> LanguageServer:
    """A server that is ready to be started."""
    return LanguageServer(NAME, __version__, text_document_sync_kind=types.TextDocumentSyncKind.Incremental)
