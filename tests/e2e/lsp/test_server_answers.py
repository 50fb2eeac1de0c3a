"""Hover, inlay hints, code lenses and call paths through a real client; the same after edits as in a new server."""

from __future__ import annotations

import json
import random
import subprocess
from pathlib import Path
from typing import Any

import pytest
import warm_programs

pytest.importorskip("pygls")

from conversation import Conversation, applied, converse, modern
from lsprotocol import converters, types
from small_project import FILES, MAIN, SHAPES
from test_server import Client, environment


def test_hover_hints_and_lenses(folder: Path) -> None:
    async def scenario(talk: Conversation) -> None:
        shapes = talk.open("shapes.py")
        document = types.TextDocumentIdentifier(shapes)
        hover = await talk.client.text_document_hover_async(types.HoverParams(document, types.Position(3, 4)))
        assert hover is not None
        assert "float32 (2, 4)" in hover.contents.value
        card = await talk.client.text_document_hover_async(types.HoverParams(document, types.Position(2, 5)))
        assert "safe · Add @tf.function" in card.contents.value
        everything = types.Range(types.Position(0, 0), types.Position(99, 0))
        hints = await talk.client.text_document_inlay_hint_async(types.InlayHintParams(document, everything))
        labels = {(hint.position.line, hint.position.character): hint for hint in hints}
        assert labels[3, 5].label == ": float32 (2, 4)"
        parameter = labels[2, 11]
        assert parameter.label == ": float32 (2, 3)"
        assert parameter.text_edits[0].new_text == ": tf.Tensor"
        resolved = await talk.client.inlay_hint_resolve_async(parameter)
        assert "main.py:4" in resolved.tooltip.value
        lenses = await talk.client.text_document_code_lens_async(types.CodeLensParams(document))
        assert [(lens.range.start.line, lens.command.title) for lens in lenses] == [(2, "Add @tf.function")]
        await talk.command(lenses[0].command.command, *lenses[0].command.arguments)
        (edit,) = talk.applied
        (change,) = edit.edit.document_changes
        assert change.text_document.version == 1
        assert "@tf.function\ndef scale" in applied(SHAPES, change.edits)

    converse(folder, modern(), scenario)


async def everything(talk: Conversation, uri: str, text: str) -> list[Any]:
    """Every answer about a text: diagnostics, hints, lenses, tokens, hover and calls at the start of each line, and what the menu of each
    `def` offers, with the types that it would write."""
    document = types.TextDocumentIdentifier(uri)
    lines = text.split("\n")
    whole = types.Range(types.Position(0, 0), types.Position(len(lines), 0))
    found: list[Any] = [(await talk.pull(uri)).items]
    if not any(item.code == "not-analysed" for item in found[0]):  # else they are those of the last text that parsed
        found.append(await talk.client.text_document_inlay_hint_async(types.InlayHintParams(document, whole)))
        found.append(await talk.client.text_document_code_lens_async(types.CodeLensParams(document)))
    found.append(await talk.client.text_document_semantic_tokens_full_async(types.SemanticTokensParams(document)))
    for number, line in enumerate(lines):
        at = types.Position(number, len(line) - len(line.lstrip()))
        found.append(await talk.client.text_document_hover_async(types.HoverParams(document, at)))
        for item in (
            await talk.client.text_document_prepare_call_hierarchy_async(types.CallHierarchyPrepareParams(document, at))
            or ()
        ):
            found.append(item)
            found.append(
                await talk.client.call_hierarchy_incoming_calls_async(types.CallHierarchyIncomingCallsParams(item))
            )
            found.append(
                await talk.client.call_hierarchy_outgoing_calls_async(types.CallHierarchyOutgoingCallsParams(item))
            )
        if line.startswith("def "):
            for action in await talk.actions(uri, number):
                found.append(action.title)
                if action.kind == "refactor.rewrite.writeTypes":
                    found.append((await talk.client.code_action_resolve_async(action)).edit)
    return found


@pytest.mark.slow
def test_random_edits_give_what_a_cold_server_gives(folder: Path) -> None:
    texts = {"main.py": MAIN, "shapes.py": SHAPES}
    choose = random.Random(66)

    async def warm(talk: Conversation) -> None:
        uris = {name: talk.open(name) for name in texts}
        for _ in range(400):
            name = choose.choice(sorted(texts))
            text = texts[name]
            lines = text.split("\n")
            line = choose.randrange(len(lines))
            column = choose.randrange(len(lines[line]) + 1)
            added = choose.choice(["x", "(", ")", "\n", " ", "[3]", "#", "🦆", "", ""])
            removed = 0 if added else min(2, len(lines[line]) - column)
            place = len("\n".join(lines[:line])) + (1 if line else 0) + column
            utf16 = len(lines[line][:column].encode("utf-16-le")) // 2
            end = len(lines[line][: column + removed].encode("utf-16-le")) // 2
            texts[name] = text[:place] + added + text[place + removed :]
            talk.change(uris[name], added, types.Range(types.Position(line, utf16), types.Position(line, end)))
            if choose.random() < 0.05:
                texts[name] = FILES[name]
                talk.change(uris[name], FILES[name])
            if choose.random() < 0.2:
                await talk.pull(uris[name])
            if choose.random() < 0.05:
                await everything(talk, uris[name], texts[name])
        results.append([await everything(talk, uri, texts[name]) for name, uri in uris.items()])

    async def cold(talk: Conversation) -> None:
        uris = {name: talk.open(name, text) for name, text in texts.items()}
        results.append([await everything(talk, uri, texts[name]) for name, uri in uris.items()])

    results: list[list[Any]] = []
    options = {"settings": {"semanticTokens": {"enable": True}}}
    converse(folder, modern(), warm, options=options)
    converse(folder, modern(), cold, options=options)
    assert results[0] == results[1]


def test_every_answer_is_of_the_protocols_type(folder: Path) -> None:
    """Raw messages, structured by the types of the protocol: a key that it does not know, or a missing one, is an error."""
    converter = converters.get_converter()
    capabilities = converter.unstructure(modern())
    uri = (folder / "shapes.py").as_uri()
    document = {"uri": uri}
    whole = {"start": {"line": 0, "character": 0}, "end": {"line": 9, "character": 0}}
    with subprocess.Popen(
        warm_programs.server(), env=environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=folder
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        client = Client(process.stdout, process.stdin)
        start = {
            "processId": None,
            "rootUri": folder.as_uri(),
            "capabilities": {**capabilities, "workspace": {}},
            "initializationOptions": {"settings": {"semanticTokens": {"enable": True}}},
        }
        answers: dict[str, Any] = {"initialize": client.request("initialize", start)}
        client.send(method="initialized", params={})
        noisy = f"{SHAPES}\ndef log(x):\n    print(x)\n"
        item = {"uri": uri, "languageId": "python", "version": 1, "text": noisy}
        client.send(method="textDocument/didOpen", params={"textDocument": item})
        for method, params in (
            ("textDocument/diagnostic", {"textDocument": document}),
            ("textDocument/hover", {"textDocument": document, "position": {"line": 2, "character": 5}}),
            ("textDocument/inlayHint", {"textDocument": document, "range": whole}),
            ("textDocument/codeLens", {"textDocument": document}),
            ("textDocument/codeAction", {"textDocument": document, "range": whole, "context": {"diagnostics": []}}),
            ("textDocument/semanticTokens/full", {"textDocument": document}),
            ("textDocument/semanticTokens/range", {"textDocument": document, "range": whole}),
            ("textDocument/prepareCallHierarchy", {"textDocument": document, "position": {"line": 8, "character": 5}}),
        ):
            answers[method] = client.request(method, params)
        answers["inlayHint/resolve"] = client.request(
            "inlayHint/resolve", answers["textDocument/inlayHint"]["result"][0]
        )
        answers["codeAction/resolve"] = client.request(
            "codeAction/resolve", answers["textDocument/codeAction"]["result"][0]
        )
        called = {"item": answers["textDocument/prepareCallHierarchy"]["result"][0]}
        answers["callHierarchy/outgoingCalls"] = client.request("callHierarchy/outgoingCalls", called)
        client.request("shutdown")
        client.send(method="exit")
    for method, answer in answers.items():
        assert answer.get("result"), (method, answer)
        response = types.METHOD_TO_TYPES[method][1]
        assert response is not None
        structured = converter.structure(answer, response)
        again = json.loads(json.dumps(converter.unstructure(structured, response)))
        assert again["result"] == answer["result"], method


NOISY = """\
import tensorflow as tf

def log(x):
    print(x)

class Net:
    def inner(self, x):
        log(x)
        return x * 2.0

    def step(self, x):
        return self.inner(x) + 1.0

net = Net()
for _ in range(1000):
    net.step(tf.ones([2, 3]))
"""


def test_the_way_to_the_cause_names_each_call(tmp_path: Path) -> None:
    (tmp_path / "noisy.py").write_text(NOISY)

    async def scenario(talk: Conversation) -> None:
        noisy = talk.open("noisy.py")
        (way,) = await talk.command("terra-refactor.causes", noisy, 12)
        assert (way["function"], way["rule"]) == ("Net.step", "TR101")
        assert [step["range"]["start"]["line"] + 1 for step in way["steps"]] == [12, 8, 4]
        assert [step["message"] for step in way["steps"]][:2] == ["Net.step calls Net.inner", "Net.inner calls log"]
        assert await talk.command("terra-refactor.causes", noisy, 1) == []
        name = types.HoverParams(types.TextDocumentIdentifier(noisy), types.Position(10, 9))
        card = (await talk.client.text_document_hover_async(name)).contents.value
        assert f"[line 12]({noisy}#L12) → [Net.inner, line 8]({noisy}#L8) → [log, line 4]({noisy}#L4)" in card

    converse(tmp_path, modern(), scenario)
