"""A file of a large project: what is wrong in it at once, the rest when all that imports connect with it is analysed."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("pygls")

from conversation import Conversation, converse, modern, poor
from lsprotocol import types

MAIN = """\
import tensorflow as tf

def step(x):
    for _ in range(20):
        x = tf.nn.relu(x * 2.0 + 1.0)
    return x

tf.matmul(tf.ones([2, 3]), tf.ones([2, 3]))
"""
CALLER = """\
import tensorflow as tf
import {others}
from main import step

for _ in range(1000):
    step(tf.ones([2, 3]))
"""
MODULES = 12


@pytest.fixture(name="folder")
def _folder(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "main.py").write_text(MAIN)
    (folder / "caller.py").write_text(CALLER.format(others=", ".join(f"m{number}" for number in range(MODULES))))
    for number in range(MODULES):
        body = "".join(f"def f{each}(x):\n    y = x + {each}\n    return [y, y]\n\n" for each in range(120))
        (folder / f"m{number}.py").write_text(body)
    return folder


def test_what_is_wrong_is_told_at_once_and_the_rest_when_all_is_known(folder: Path) -> None:
    async def scenario(talk: Conversation) -> None:
        uri = talk.open("main.py")
        first = (await talk.pull(uri)).items
        assert [item.code for item in first] == ["TR401"]
        where = types.HoverParams(types.TextDocumentIdentifier(uri), types.Position(7, 4))
        hover = await talk.client.text_document_hover_async(where)
        assert hover is not None
        assert isinstance(hover.contents, types.MarkupContent)
        known = "Not analysed yet" not in hover.contents.value
        await talk.until(lambda: talk.refreshed > 0)
        whole = (await talk.pull(uri)).items
        assert [item.code for item in whole] == ["TR506", "TR401"]
        assert not known or len(first) == len(whole)
        later = await talk.client.text_document_hover_async(where)
        assert later is not None
        assert isinstance(later.contents, types.MarkupContent)
        assert "Not analysed yet" not in later.contents.value

    converse(folder, modern(), scenario)


def test_what_changes_code_waits_for_the_whole(folder: Path) -> None:
    async def scenario(talk: Conversation) -> None:
        uri = talk.open("main.py")
        lenses = await talk.client.text_document_code_lens_async(
            types.CodeLensParams(types.TextDocumentIdentifier(uri))
        )
        assert [lens.command.title for lens in lenses or () if lens.command is not None] == ["Add @tf.function"]

    converse(folder, modern(), scenario)


def test_a_client_that_is_told_without_asking_hears_both(folder: Path) -> None:
    async def scenario(talk: Conversation) -> None:
        uri = talk.open("main.py")
        await talk.until(lambda: uri in talk.published)
        assert "TR401" in [item.code for item in talk.published[uri].diagnostics]
        await talk.until(lambda: "TR506" in [item.code for item in talk.published[uri].diagnostics])
        assert talk.publications >= 2

    converse(folder, poor(), scenario)


def test_edits_while_the_whole_is_analysed(folder: Path) -> None:
    async def scenario(talk: Conversation) -> None:
        uri = talk.open("main.py")
        for number in range(4):
            talk.change(uri, MAIN.replace("2, 3]))", "3, 2]))") + f"# {number}\n")
            assert "TR401" not in await talk.rules(uri)
        talk.change(uri, MAIN)
        assert "TR401" in await talk.rules(uri)
        await talk.until(lambda: talk.refreshed > 0)
        assert await talk.rules(uri) == ["TR506", "TR401"]

    converse(folder, modern(), scenario)
