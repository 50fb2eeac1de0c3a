"""Calls along which effects travel, and code that runs as a graph: as requests, and as the commands of our own extension."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pygls")

from conversation import Conversation, converse, modern
from lsprotocol import types

NOISE = """\
def log(values):
    print("values", values)
    return values * 2.0
"""
MAIN = """\
import tensorflow as tf
from noise import log


@tf.function
def graph(values):
    é = values * 2.0; hidden = log(é)
    return hidden


graph(tf.ones([2, 2]))
"""


@pytest.fixture(name="noisy")
def _noisy(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "noise.py").write_text(NOISE)
    (folder / "main.py").write_text(MAIN)
    return folder


def words(text: str, data: list[int], legend: types.SemanticTokensLegend) -> list[tuple[int, str, str, list[str]]]:
    """The tokens in words: line (from 0), text, type, modifiers."""
    lines = text.split("\n")
    found, line, start = [], 0, 0
    for at in range(0, len(data), 5):
        down, right, length, kind, bits = data[at : at + 5]
        line, start = line + down, right + (0 if down else start)
        modifiers = [name for number, name in enumerate(legend.token_modifiers) if bits & 1 << number]
        units = lines[line].encode("utf-16-le")[2 * start : 2 * (start + length)]
        found.append((line, units.decode("utf-16-le"), legend.token_types[kind], modifiers))
    return found


def test_calls_lead_from_a_graph_to_the_effect_and_back(noisy: Path) -> None:
    async def scenario(talk: Conversation) -> None:
        assert talk.server_capabilities.call_hierarchy_provider is not None
        document = types.TextDocumentIdentifier(talk.open("main.py"))
        place = types.CallHierarchyPrepareParams(document, types.Position(5, 4))
        (graph,) = await talk.client.text_document_prepare_call_hierarchy_async(place)
        assert (graph.name, graph.kind) == ("graph", types.SymbolKind.Function)
        assert graph.detail.startswith("tf.function, unsafe (host print or log)")
        (call,) = await talk.client.call_hierarchy_outgoing_calls_async(types.CallHierarchyOutgoingCallsParams(graph))
        assert (call.to.name, call.to.uri) == ("log", talk.uri("noise.py"))
        (where,) = call.from_ranges
        assert (where.start, where.end) == (types.Position(6, 31), types.Position(6, 37))
        effects = await talk.client.call_hierarchy_outgoing_calls_async(types.CallHierarchyOutgoingCallsParams(call.to))
        assert [(each.to.name, each.to.kind) for each in effects] == [
            ('print("values", values)', types.SymbolKind.Event)
        ]
        end = effects[0].to
        assert end.detail == "TR101 host print or log"
        assert not await talk.client.call_hierarchy_outgoing_calls_async(types.CallHierarchyOutgoingCallsParams(end))
        (back,) = await talk.client.call_hierarchy_incoming_calls_async(types.CallHierarchyIncomingCallsParams(call.to))
        assert (back.from_.name, list(back.from_ranges)) == ("graph", [where])
        nothing = types.CallHierarchyPrepareParams(document, types.Position(0, 0))
        assert (await talk.client.text_document_prepare_call_hierarchy_async(nothing))[
            0
        ].kind is types.SymbolKind.Module

    converse(noisy, modern(), scenario)


@pytest.mark.parametrize("data", [None, 3, {}, {"path": "nowhere.py", "index": 0}, {"path": "main.py", "index": "x"}])
def test_an_item_that_is_none_of_ours_has_no_calls(noisy: Path, data: Any) -> None:
    async def scenario(talk: Conversation) -> None:
        where = types.Range(types.Position(0, 0), types.Position(0, 0))
        item = types.CallHierarchyItem("x", types.SymbolKind.Function, talk.open("main.py"), where, where, data=data)
        assert not await talk.client.call_hierarchy_outgoing_calls_async(types.CallHierarchyOutgoingCallsParams(item))
        assert not await talk.client.call_hierarchy_incoming_calls_async(types.CallHierarchyIncomingCallsParams(item))

    converse(noisy, modern(), scenario)


def test_names_of_graph_code_are_tokens_where_they_are_wanted(noisy: Path) -> None:
    async def scenario(talk: Conversation) -> None:
        provider = talk.server_capabilities.semantic_tokens_provider
        assert isinstance(provider, types.SemanticTokensOptions)
        document = types.TextDocumentIdentifier(talk.open("main.py"))
        found = await talk.client.text_document_semantic_tokens_full_async(types.SemanticTokensParams(document))
        assert words(MAIN, found.data, provider.legend) == [
            (5, "graph", "function", ["graph"]),
            (5, "values", "parameter", ["graph"]),
            (6, "é", "variable", ["graph"]),
            (6, "values", "parameter", ["graph"]),
            (6, "hidden", "variable", ["graph"]),
            (6, "log", "function", ["graph"]),
            (6, "é", "variable", ["graph"]),
            (7, "hidden", "variable", ["graph"]),
        ]
        part = types.SemanticTokensRangeParams(document, types.Range(types.Position(7, 0), types.Position(9, 0)))
        of_part = await talk.client.text_document_semantic_tokens_range_async(part)
        assert words(MAIN, of_part.data, provider.legend) == [(7, "hidden", "variable", ["graph"])]
        log = types.TextDocumentIdentifier(talk.open("noise.py", NOISE.replace("print", "#🦆\n    print")))
        others = await talk.client.text_document_semantic_tokens_full_async(types.SemanticTokensParams(log))
        assert [each[1] for each in words(NOISE.replace("print", "#🦆\n    print"), others.data, provider.legend)] == [
            "log",
            "values",
            "values",
            "values",
        ]

    converse(noisy, modern(), scenario, options={"settings": {"semanticTokens": {"enable": True}}})


@pytest.mark.parametrize(
    ("options", "hierarchy", "tokens"),
    [
        (None, True, False),
        ({"settings": {"callHierarchy": {"enable": False}}}, False, False),
        ({"asksReason": True, "settings": {"semanticTokens": {"enable": True}}}, False, False),
    ],
)
def test_what_an_editor_takes_from_one_server_is_offered_as_the_settings_say(
    noisy: Path, options: Any, hierarchy: bool, tokens: bool
) -> None:
    async def scenario(talk: Conversation) -> None:
        assert (talk.server_capabilities.call_hierarchy_provider is not None) is hierarchy
        assert (talk.server_capabilities.semantic_tokens_provider is not None) is tokens

    converse(noisy, modern(), scenario, options=options)


def test_our_own_extension_has_commands_instead(noisy: Path) -> None:
    async def scenario(talk: Conversation) -> None:
        uri = talk.open("main.py")
        (lines,) = await talk.command("terra-refactor.graphCode", uri)
        assert (lines["range"]["start"]["line"], lines["range"]["end"]["line"]) == (5, 7)
        assert (lines["function"], lines["eagerlyToo"]) == ("graph", False)
        item = await talk.command("terra-refactor.effectsAt", uri, 5, 4)
        assert (item["name"], item["uri"]) == ("graph", uri)
        (log,) = await talk.command("terra-refactor.effectsFrom", item["data"])
        assert (log["name"], log["calls"]) == (
            "log",
            [{"start": {"line": 6, "character": 31}, "end": {"line": 6, "character": 37}}],
        )
        (effect,) = await talk.command("terra-refactor.effectsFrom", log["data"])
        assert (effect["name"], effect["calls"][0]["start"]["line"]) == ('print("values", values)', 1)
        assert await talk.command("terra-refactor.effectsFrom", effect["data"]) == []
        (back,) = await talk.command("terra-refactor.effectsTo", log["data"])
        assert (back["name"], back["uri"]) == ("graph", uri)

    converse(noisy, modern(), scenario, options={"asksReason": True})
