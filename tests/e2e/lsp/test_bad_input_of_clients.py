"""Invalid requests of clients, and extreme texts: each costs at most its own answer."""

from __future__ import annotations

import asyncio
import gc
import json
import subprocess
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import warm_programs

pytest.importorskip("pygls")

from conversation import Conversation, converse, modern, poor
from lsprotocol import types
from running_time import examples
from test_server import Client, environment

from lsp_server.scheduler import _MOST_UNSEARCHED
from lsp_server.wiring import make_server

DUCK = 'import tensorflow as tf\nname = "🦆é"; y = tf.matmul(tf.ones([2, 3]), tf.ones([2, 3]))\n'
GOOD = """\
import tensorflow as tf

def scale(x):
    y = x * 2.0
    for _ in range(20):
        y = tf.nn.relu(y + 1.0)
    return y

for _ in range(100):
    scale(tf.ones([2, 3]))
"""


def long_text(functions: int) -> str:
    """A module of so many functions, three lines each."""
    code = (f"def f{number}(x):\n    return tf.nn.relu(x) + {number}.0\n\n" for number in range(functions))
    return "import tensorflow as tf\n" + "".join(code)


@pytest.fixture(name="folder")
def _folder(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "good.py").write_text(GOOD)
    return folder


def at(line: int, character: int) -> types.Position:
    return types.Position(line, character)


OUTSIDE = [
    types.Range(at(10_000, 0), at(20_000, 0)),
    types.Range(at(0, 10_000), at(1, 2**31 - 1)),
    types.Range(at(1, 9), at(1, 9)),  # inside of the surrogate pair of the duck
    types.Range(at(1, 30), at(0, 2)),  # the end before the start
]


@pytest.mark.parametrize("where", OUTSIDE, ids=str)
def test_ranges_out_of_bounds(folder: Path, where: types.Range) -> None:
    async def scenario(talk: Conversation) -> None:
        uri = talk.open("duck.py", DUCK)
        document = types.TextDocumentIdentifier(uri)
        await talk.client.text_document_hover_async(types.HoverParams(document, where.start))
        await talk.client.text_document_inlay_hint_async(types.InlayHintParams(document, where))
        await talk.client.text_document_prepare_call_hierarchy_async(
            types.CallHierarchyPrepareParams(document, where.start)
        )
        await talk.client.text_document_semantic_tokens_range_async(types.SemanticTokensRangeParams(document, where))
        context = types.CodeActionContext([], trigger_kind=types.CodeActionTriggerKind.Invoked)
        await talk.client.text_document_code_action_async(types.CodeActionParams(document, where, context))
        talk.change(uri, "", where)
        talk.change(uri, DUCK)
        assert await talk.rules(uri) == ["TR401"]

    converse(folder, modern(), scenario, options={"settings": {"semanticTokens": {"enable": True}}})


def test_an_edit_out_of_bounds_is_made_at_the_nearest_place(folder: Path) -> None:
    async def scenario(talk: Conversation) -> None:
        uri = talk.open("duck.py", DUCK)
        talk.change(uri, "z = tf.matmul(tf.ones([4, 5]), tf.ones([4, 5]))\n", types.Range(at(900, 7), at(400, 9)))
        assert [item.range.start.line for item in (await talk.pull(uri)).items] == [1, 2]

    converse(folder, modern(), scenario)


def test_an_edit_inside_of_a_surrogate_pair_does_not_split_the_character(folder: Path) -> None:
    async def scenario(talk: Conversation) -> None:
        uri = talk.open("duck.py", DUCK)
        talk.change(uri, "ab", types.Range(at(1, 9), at(1, 9)))  # before the duck
        (problem,) = (await talk.pull(uri)).items
        assert problem.range.start == at(1, 20)
        talk.change(uri, "", types.Range(at(1, 11), at(1, 12)))  # from inside of the duck to behind it: all of it
        (problem,) = (await talk.pull(uri)).items
        assert problem.range.start == at(1, 18)

    converse(folder, modern(), scenario)


def test_wrong_versions(folder: Path) -> None:
    async def scenario(talk: Conversation) -> None:
        uri = talk.open("duck.py", DUCK)
        for version in (7, 7, 3, -5, 0):
            talk.versions[uri] = version - 1
            talk.change(uri, DUCK + f"# {version}\n")
        assert await talk.rules(uri) == ["TR401"]
        good = talk.open("good.py")
        (rewrite,) = [action for action in await talk.actions(good, 2) if action.is_preferred]
        talk.versions[good] = 0  # the same version again, with another text
        talk.change(good, "\n" + GOOD)
        with pytest.raises(Exception, match="has changed since"):
            await talk.client.code_action_resolve_async(rewrite)

    converse(folder, modern(), scenario)


def test_what_has_been_told_is_not_kept() -> None:
    async def scenario() -> None:
        protocol = make_server().protocol
        for _ in range(20):
            protocol._handle_notification(types.SET_TRACE, types.SetTraceParams(types.TraceValue.Off))
        await asyncio.sleep(0.01)
        assert not protocol._request_futures

    asyncio.run(scenario())


class Knot:
    """Something that only a search for garbage finds."""

    def __init__(self) -> None:
        self.itself = self


def test_garbage_is_looked_for_when_nobody_asks() -> None:
    async def scenario() -> None:
        scheduler = make_server().scheduler
        scheduler.collect_when_idle(2.0)
        knot = weakref.ref(Knot())
        for _ in range(8):
            scheduler.changed()
            await asyncio.sleep(0.01)
        assert knot() is not None, "it was looked for between two keys"
        for _ in range(300):
            await asyncio.sleep(0.1)
            if knot() is None:
                break
        else:
            pytest.fail("it was never looked for")
        busy = weakref.ref(Knot())
        for _ in range(_MOST_UNSEARCHED):
            scheduler.changed()
            await scheduler.in_thread(list)
        assert busy() is None, "it was not looked for, because somebody always typed"

    try:
        asyncio.run(scenario())
    finally:
        gc.unfreeze()
        gc.enable()


def test_texts_that_are_not_open(folder: Path) -> None:
    async def scenario(talk: Conversation) -> None:
        stranger = "file:///no/such/file.py"
        talk.change(stranger, "x = 1")
        talk.client.text_document_did_close(types.DidCloseTextDocumentParams(types.TextDocumentIdentifier(stranger)))
        assert await talk.rules(stranger) == []
        good = talk.open("good.py")
        talk.open("good.py", DUCK)  # a second time: the last text counts
        assert await talk.rules(good) == ["TR401"]
        with pytest.raises(Exception):  # noqa: B017 - whatever error the client makes of it
            await talk.command("terra-refactor.suppress", good, {"task": "nonsense"}, "x")
        assert await talk.rules(good) == ["TR401"]

    converse(folder, modern(), scenario)


@pytest.mark.parametrize("capabilities", [modern, poor])
def test_closed_in_mid_analysis(folder: Path, capabilities: Any) -> None:
    pulls = capabilities is modern

    async def scenario(talk: Conversation) -> None:
        waiting: list[asyncio.Future[Any]] = []
        for _ in range(3):
            long = talk.open("long.py", long_text(1_500))
            everything = types.Range(at(0, 0), at(40_000, 0))
            document = types.TextDocumentIdentifier(long)
            hints = talk.client.text_document_inlay_hint_async(types.InlayHintParams(document, everything))
            waiting.append(asyncio.ensure_future(hints))
            if pulls:
                waiting.append(asyncio.ensure_future(talk.pull(long)))
            await asyncio.sleep(0.3)  # the analysis is on its way
            talk.client.text_document_did_close(types.DidCloseTextDocumentParams(document))
        assert all(not answer or not getattr(answer, "items", answer) for answer in await asyncio.gather(*waiting))
        wrong = talk.open("duck.py", DUCK)
        if pulls:
            assert await talk.rules(wrong) == ["TR401"]
        else:
            await talk.until(lambda: wrong in talk.published)
            assert [item.code for item in talk.published[wrong].diagnostics] == ["TR401"]
            assert not talk.published[talk.uri("long.py")].diagnostics

    converse(folder, capabilities(), scenario)


@pytest.mark.slow
def test_a_document_of_many_thousand_lines(folder: Path) -> None:
    async def scenario(talk: Conversation) -> None:
        text = long_text(examples(usual=1_500, many=10_000)) + "bad = tf.matmul(tf.ones([2, 3]), tf.ones([2, 3]))\n"
        long = talk.open("long.py", text)
        assert "TR401" in await talk.rules(long)
        last = text.count("\n")
        talk.change(long, "[3, 3]", types.Range(at(last - 1, 41), at(last - 1, 47)))
        assert "TR401" not in await talk.rules(long)
        document = types.TextDocumentIdentifier(long)
        few = types.Range(at(last - 3, 0), at(last, 0))
        hints = await talk.client.text_document_inlay_hint_async(types.InlayHintParams(document, few))
        assert [hint.position.line for hint in hints] == [last - 1]

    converse(folder, modern(), scenario, patience=300)


def test_a_syntax_error_in_every_file(folder: Path) -> None:
    (folder / "good.py").unlink()
    for number in range(30):
        (folder / f"broken{number}.py").write_text(f"import broken{number + 1}\ndef (\n")
    (folder / "book.ipynb").write_text("{ no json")
    (folder / "bytes.py").write_bytes(b"\xff\xfe\x00x = '\x00'\n")

    async def scenario(talk: Conversation) -> None:
        uri = talk.open("broken3.py")
        (told,) = (await talk.pull(uri)).items
        assert (told.severity, told.code, told.range.start.line) == (
            types.DiagnosticSeverity.Information,
            "not-analysed",
            1,
        )
        assert await talk.actions(uri, 1) == []
        document = types.TextDocumentIdentifier(uri)
        assert await talk.client.text_document_hover_async(types.HoverParams(document, at(1, 4))) is None
        counts = await talk.command("terra-refactor.analyzeWorkspace")
        counts = counts if isinstance(counts, dict) else vars(counts)
        assert (counts["files"], counts["errors"], counts["functions"]) == (30, 30, 0)
        assert await talk.command("terra-refactor.applyAllSafe") == 0
        page = await talk.command("terra-refactor.writeReport")
        assert "broken7.py" in Path(page.removeprefix("file://")).read_text()
        talk.change(uri, DUCK)
        assert await talk.rules(uri) == ["TR401"]

    converse(folder, modern(), scenario)


@pytest.mark.parametrize("text", ["def (\n", "x = '\0'\n", "(" * 3000, "x = 1\r\ry = 2\r\n\n", "\ufeffx = 1\n", ""])
def test_texts_that_are_no_python(folder: Path, text: str) -> None:
    async def scenario(talk: Conversation) -> None:
        uri = talk.open("duck.py", DUCK)
        talk.change(uri, text)
        await talk.pull(uri)
        talk.change(uri, DUCK)
        assert await talk.rules(uri) == ["TR401"]

    converse(folder, modern(), scenario)


@pytest.fixture(name="raw")
def _raw(folder: Path) -> Iterator[Client]:
    """A client that sends what the types of the protocol forbid."""
    with subprocess.Popen(
        warm_programs.server(),
        env=environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        cwd=folder,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        client = Client(process.stdout, process.stdin)
        capabilities = {"textDocument": {"diagnostic": {}}}
        options = {"settings": {"semanticTokens": {"enable": True}}}
        start = {"processId": None, "rootUri": folder.as_uri(), "capabilities": capabilities}
        client.request("initialize", {**start, "initializationOptions": options})
        client.send(method="initialized", params={})
        item = {"uri": (folder / "duck.py").as_uri(), "languageId": "python", "version": 1, "text": DUCK}
        client.send(method="textDocument/didOpen", params={"textDocument": item})
        yield client
        client.request("shutdown")
        client.send(method="exit")
        assert process.wait(timeout=30) == 0


WRONG_MESSAGES = [
    ("textDocument/hover", {"position": {"line": -1, "character": -7}}),
    ("textDocument/hover", {"position": {"line": 1.5, "character": "x"}}),
    ("textDocument/hover", {}),
    ("textDocument/inlayHint", {"range": {"start": {"line": 3}, "end": None}}),
    ("textDocument/codeAction", {"range": [], "context": 3}),
    ("workspace/executeCommand", {"command": "terra-refactor.noSuchCommand", "arguments": []}),
    ("workspace/executeCommand", {"command": "terra-refactor.applyFunction", "arguments": [1]}),
    ("workspace/executeCommand", {"command": "terra-refactor.effectsFrom", "arguments": [{"path": 3}, 7]}),
    ("callHierarchy/outgoingCalls", {"item": {"name": "x", "data": {"path": "duck.py"}}}),
    ("callHierarchy/incomingCalls", {"item": None}),
    ("textDocument/prepareCallHierarchy", {"position": {"line": 1.5}}),
    ("textDocument/semanticTokens/range", {"range": []}),
    ("codeAction/resolve", {"title": "x", "data": {"request": {"task": "refactor"}}}),
]


@pytest.mark.parametrize(("method", "params"), WRONG_MESSAGES, ids=lambda each: json.dumps(each)[:60])
def test_messages_that_the_protocol_forbids(folder: Path, raw: Client, method: str, params: dict[str, Any]) -> None:
    document = {"uri": (folder / "duck.py").as_uri()}
    answer = raw.request(method, {"textDocument": document, **params})
    assert "error" in answer or answer.get("result") is None
    report = raw.request("textDocument/diagnostic", {"textDocument": document})
    assert [item["code"] for item in report["result"]["items"]] == ["TR401"]


@pytest.mark.parametrize("half", ["\ud83e", "\udd86"])
def test_half_a_surrogate_pair_in_a_text(folder: Path, raw: Client, half: str) -> None:
    document = {"uri": (folder / "duck.py").as_uri()}
    text = DUCK.replace("🦆", half)
    raw.send(
        method="textDocument/didChange",
        params={"textDocument": {**document, "version": 2}, "contentChanges": [{"text": text}]},
    )
    raw.request("textDocument/diagnostic", {"textDocument": document})
    raw.send(
        method="textDocument/didChange",
        params={"textDocument": {**document, "version": 3}, "contentChanges": [{"text": DUCK}]},
    )
    report = raw.request("textDocument/diagnostic", {"textDocument": document})
    assert [item["code"] for item in report["result"]["items"]] == ["TR401"]
