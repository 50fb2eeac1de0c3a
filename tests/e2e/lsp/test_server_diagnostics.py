"""Diagnostics through a real client: pulled by one that can pull, pushed to one that can do nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pygls")

from conversation import Conversation, applied, converse, modern, poor
from lsprotocol import types
from small_project import MAIN, wrong


def test_pulled_diagnostics_have_an_identity_and_reach_other_files(folder: Path) -> None:
    async def scenario(talk: Conversation) -> None:
        shapes, main = talk.open("shapes.py"), talk.open("main.py")
        first = await talk.pull(shapes)
        assert [item.code for item in first.items] == ["TR506"]
        assert (await talk.pull(shapes, first.result_id)).kind == "unchanged"
        talk.change(main, wrong(MAIN))
        report = await talk.pull(main)
        assert report.related_documents is not None
        assert "TR401" in {item.code for item in report.related_documents[shapes].items}
        again = await talk.pull(shapes, first.result_id)
        (mismatch,) = [item for item in again.items if item.code == "TR401"]
        assert mismatch.severity is types.DiagnosticSeverity.Error
        assert mismatch.source == "terra-refactor"
        assert mismatch.range.start.line == 3
        page = Path(mismatch.code_description.href.removeprefix("file://"))
        assert page.read_text().startswith("# TR401")
        assert talk.publications == 0, "a client that pulls is not pushed to"

    converse(folder, modern(), scenario)


def test_a_poor_client_is_pushed_to(folder: Path) -> None:
    async def scenario(talk: Conversation) -> None:
        shapes, main = talk.open("shapes.py"), talk.open("main.py")
        await talk.until(lambda: {shapes, main} <= set(talk.published))
        talk.change(main, wrong(MAIN))
        await talk.until(lambda: "TR401" in {item.code for item in talk.published[shapes].diagnostics})
        await talk.until(lambda: talk.published[main].version == 2)
        talk.client.text_document_did_close(types.DidCloseTextDocumentParams(types.TextDocumentIdentifier(shapes)))
        await talk.until(lambda: not talk.published[shapes].diagnostics)

    converse(folder, poor(), scenario)


def test_the_workspace_is_analysed_and_reported(folder: Path) -> None:
    async def scenario(talk: Conversation) -> None:
        found = await talk.command("terra-refactor.analyzeWorkspace")
        counts = found if isinstance(found, dict) else vars(found)
        assert counts["files"] == 3
        assert counts["safeChanges"] == 1
        await talk.until(lambda: talk.uri("shapes.py") in talk.published)
        page = await talk.command("terra-refactor.writeReport")
        text = Path(page.removeprefix("file://")).read_text()
        assert text.startswith("<!doctype html>") or "<html" in text[:200]
        assert "train_step" in text
        assert isinstance(await talk.command("terra-refactor.clearCache"), int)

    converse(folder, modern(), scenario)


EMOJI = 'import tensorflow as tf\nname = "🦆é"; y = tf.matmul(tf.ones([2, 3]), tf.ones([2, 3]))\n'


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize(
    ("encoding", "column"),
    [
        (types.PositionEncodingKind.Utf8, 21),
        (types.PositionEncodingKind.Utf16, 18),
        (types.PositionEncodingKind.Utf32, 17),
    ],
)
def test_positions_count_in_the_agreed_unit(folder: Path, newline: str, encoding: Any, column: int) -> None:
    async def scenario(talk: Conversation) -> None:
        assert talk.server_capabilities.position_encoding == encoding
        uri = talk.open("duck.py", EMOJI.replace("\n", newline))
        (mismatch,) = (await talk.pull(uri)).items
        assert mismatch.range.start == types.Position(1, column)
        # one character more behind the emoji, by an edit of a part
        after = types.Position(1, column - 4)
        talk.change(uri, "zz", types.Range(after, after))
        (moved,) = (await talk.pull(uri)).items
        assert moved.range.start == types.Position(1, column + 2)
        where = types.Position(1, column + 2)
        hover = await talk.client.text_document_hover_async(types.HoverParams(types.TextDocumentIdentifier(uri), where))
        assert hover is not None

    capabilities = modern()
    capabilities.general = types.GeneralClientCapabilities(position_encodings=[encoding])
    converse(folder, capabilities, scenario)


def test_answers_are_of_the_newest_text(folder: Path) -> None:
    async def scenario(talk: Conversation) -> None:
        shapes, main = talk.open("shapes.py"), talk.open("main.py")
        waiting = []
        for number in range(30):
            talk.change(main, (wrong(MAIN) if number % 2 else MAIN) + f"# {number}\n")
            waiting.append(asyncio.ensure_future(talk.rules(shapes)))
        assert "TR401" in (await asyncio.gather(*waiting))[-1]

    converse(folder, modern(), scenario)


STEP = """\
import tensorflow as tf

weights = tf.Variable(tf.zeros([8, 1]))
batches = tf.data.Dataset.from_tensor_slices((tf.ones([640, 8]), tf.ones([640, 1]))).batch(32)

for epoch in range(20):
    for features, targets in batches:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(tf.sigmoid(features @ weights) - targets))
        weights.assign_sub(0.1 * tape.gradient(loss, weights))
    print(epoch, float(loss))
"""


def test_the_finding_about_a_training_step_comes_when_nobody_types(folder: Path) -> None:
    (folder / "loop.py").write_text(STEP)

    async def pushed(talk: Conversation) -> None:
        uri = talk.open("loop.py")
        await talk.until(lambda: uri in talk.published)
        await talk.until(lambda: "TR507" in {item.code for item in talk.published[uri].diagnostics})
        (found,) = [item for item in talk.published[uri].diagnostics if item.code == "TR507"]
        assert (found.severity, found.range.start.line) == (types.DiagnosticSeverity.Information, 7)

    async def pulled(talk: Conversation) -> None:
        uri = talk.open("loop.py")
        first = await talk.pull(uri)
        for _ in range(200):
            if "TR507" in {item.code for item in (await talk.pull(uri)).items}:
                break
            await asyncio.sleep(0.05)
        else:
            raise AssertionError("it never came")
        assert "TR507" not in {item.code for item in first.items}

    converse(folder, poor(), pushed)
    converse(folder, modern(), pulled)


FIT = """\
import tensorflow as tf

weights = tf.Variable(tf.zeros([8, 1]))


def fit(batches):
    for features, targets in batches:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(tf.sigmoid(features @ weights) - targets))
        weights.assign_sub(0.1 * tape.gradient(loss, weights))
        print(float(loss))


fit(tf.data.Dataset.from_tensor_slices((tf.ones([640, 8]), tf.ones([640, 1]))).batch(32))
"""


@pytest.mark.parametrize("capabilities", [modern, poor])
def test_the_finding_about_a_training_step_goes_when_it_is_extracted(
    folder: Path, capabilities: Callable[[], types.ClientCapabilities]
) -> None:
    (folder / "fit.py").write_text(FIT)

    async def scenario(talk: Conversation) -> None:
        uri = talk.open("fit.py")

        async def settles(reported: bool) -> None:
            for _ in range(200):
                refreshed = talk.refreshed, talk.publications
                items = (await talk.pull(uri)).items if capabilities is modern else talk.published[uri].diagnostics
                if ("TR507" in {item.code for item in items}) is reported:
                    return
                # repeats the request when the server asks for a refresh, as editors do
                for _ in range(100):
                    if (talk.refreshed, talk.publications) != refreshed:
                        break
                    await asyncio.sleep(0.05)
                else:
                    break
            raise AssertionError(f"TR507 is {'not ' if reported else ''}reported")

        await talk.until(lambda: capabilities is modern or uri in talk.published)
        await settles(reported=True)
        (action,) = [each for each in await talk.actions(uri, 7) if "Extract" in each.title]
        if action.edit is None:
            action = await talk.client.code_action_resolve_async(action)
        edits = action.edit.document_changes[0].edits if action.edit.document_changes else action.edit.changes[uri]
        text = applied(FIT, edits)
        assert "        with tf.GradientTape() as tape:" in text  # the code of the step has its indentation still
        talk.change(uri, text)
        await settles(reported=False)

    converse(folder, capabilities(), scenario)
