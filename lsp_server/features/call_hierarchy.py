"""Call hierarchy of effects and hazards: as requests of the protocol, and as commands for our own extension.

VS Code accepts a call hierarchy from one extension only, so ours uses the commands for a view of its own, and is not
offered the requests.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from lsprotocol import types

from lsp_server.convert import TextPositions, range_as_json
from lsp_server.server import TerraServer
from terra_refactor.ide.effect_calls import Carrier, carried_from, carried_to, carrier_at
from terra_refactor.ide.snapshot import Snapshot
from terra_refactor.syntax.location import Span

EFFECTS_AT = "terra-refactor.effectsAt"
EFFECTS_FROM = "terra-refactor.effectsFrom"
EFFECTS_TO = "terra-refactor.effectsTo"
_KINDS = {
    "method": types.SymbolKind.Method,
    "class body": types.SymbolKind.Class,
    "module": types.SymbolKind.Module,
}


def register(server: TerraServer) -> None:
    """Adds the commands. An item is sent to the client and back; an item of a text that has changed since is identified
    by its number.
    """

    @server.command(EFFECTS_AT)
    async def effects_at(uri: str, line: int, character: int) -> dict[str, Any] | None:
        """The function at a position (from 0), with its effects; null if none reach it."""
        item = await _prepared(server, uri, types.Position(line, character))
        return None if item is None else _as_json(item)

    @server.command(EFFECTS_FROM)
    async def effects_from(data: dict[str, Any]) -> list[dict[str, Any]]:
        return [_as_json(item, ranges) for item, ranges in await _other_ends(server, data, incoming=False)]

    @server.command(EFFECTS_TO)
    async def effects_to(data: dict[str, Any]) -> list[dict[str, Any]]:
        return [_as_json(item, ranges) for item, ranges in await _other_ends(server, data, incoming=True)]


def offer_call_hierarchy(server: TerraServer) -> None:
    """Adds the handlers of the requests, which are announced to the client."""

    @server.feature(types.TEXT_DOCUMENT_PREPARE_CALL_HIERARCHY)
    async def prepare(params: types.CallHierarchyPrepareParams) -> list[types.CallHierarchyItem] | None:
        item = await _prepared(server, params.text_document.uri, params.position)
        return None if item is None else [item]

    @server.feature(types.CALL_HIERARCHY_INCOMING_CALLS)
    async def incoming(params: types.CallHierarchyIncomingCallsParams) -> list[types.CallHierarchyIncomingCall]:
        found = await _other_ends(server, params.item.data, incoming=True)
        return [types.CallHierarchyIncomingCall(item, ranges) for item, ranges in found]

    @server.feature(types.CALL_HIERARCHY_OUTGOING_CALLS)
    async def outgoing(params: types.CallHierarchyOutgoingCallsParams) -> list[types.CallHierarchyOutgoingCall]:
        found = await _other_ends(server, params.item.data, incoming=False)
        return [types.CallHierarchyOutgoingCall(item, ranges) for item, ranges in found]


async def _prepared(server: TerraServer, uri: str, position: types.Position) -> types.CallHierarchyItem | None:
    path, line, column = server.documents.place(uri, position)
    snapshot = await server.snapshot(path)
    found = None if snapshot is None else carrier_at(snapshot, path, line, column)
    return None if snapshot is None or found is None else _item(server, snapshot, found, {})


async def _other_ends(
    server: TerraServer, data: Any, *, incoming: bool
) -> list[tuple[types.CallHierarchyItem, list[types.Range]]]:
    """The items at the other end of the calls, with the positions of these; none for items of other servers."""
    if not isinstance(data, dict) or not isinstance(data.get("path"), str) or not isinstance(data.get("index"), int):
        return []
    path, index = data["path"], data["index"]
    snapshot = await server.snapshot(path)
    if snapshot is None or data.get("place"):
        return []
    found = carried_to(snapshot, path, index) if incoming else carried_from(snapshot, path, index)
    known: dict[str, TextPositions] = {}
    ends = []
    for each in found:
        item = _item(server, snapshot, each.carrier, known)
        if item is not None:
            calling = each.carrier.path if incoming else path
            ends.append((item, [where for _, where in _places(server, snapshot, calling, each.calls, known)]))
    return ends


def _places(
    server: TerraServer, snapshot: Snapshot, path: str, spans: Iterable[Span], known: dict[str, TextPositions]
) -> list[tuple[str, types.Range]]:
    source = snapshot.sources[path]
    return [place for span in spans if (place := server.documents.locate(source, span, known)) is not None]


def _item(
    server: TerraServer, snapshot: Snapshot, found: Carrier, known: dict[str, TextPositions]
) -> types.CallHierarchyItem | None:
    places = _places(server, snapshot, found.path, (found.span, found.name_span), known)
    if len(places) != 2:
        return None  # a cell that the client does not have
    (uri, whole), (_, name) = places
    return types.CallHierarchyItem(
        name=found.name,
        kind=types.SymbolKind.Event if found.kind is None else _KINDS.get(found.kind.value, types.SymbolKind.Function),
        uri=uri,
        range=whole,
        selection_range=name,
        detail=found.detail,
        data={"path": found.path, "index": found.index, "place": found.kind is None},
    )


def _as_json(item: types.CallHierarchyItem, ranges: Iterable[types.Range] = ()) -> dict[str, Any]:
    return {
        "name": item.name,
        "kind": int(item.kind),
        "detail": item.detail or "",
        "uri": item.uri,
        "range": range_as_json(item.range),
        "selectionRange": range_as_json(item.selection_range),
        "calls": [range_as_json(each) for each in ranges],
        "data": item.data,
    }
