"""The server with all its features.

Gives: `make_server`.
"""

from __future__ import annotations

from lsp_server.features import (
    call_hierarchy,
    code_actions,
    code_lens,
    commands,
    diagnostics,
    graph_code,
    hover,
    inlay_hints,
    symbols,
    synchronization,
)
from lsp_server.server import TerraServer

FEATURES = (
    synchronization,
    diagnostics,
    hover,
    inlay_hints,
    code_lens,
    code_actions,
    symbols,
    call_hierarchy,
    graph_code,
    commands,
)


def make_server() -> TerraServer:
    """A server that is ready to be started."""
    server = TerraServer()
    for feature in FEATURES:
        feature.register(server)
    return server
