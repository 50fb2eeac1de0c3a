"""Settings, configuration files, folders and changes on disk, through a real client."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("pygls")

from conversation import Conversation, converse, modern
from lsprotocol import types
from small_project import MAIN, wrong


def test_settings_of_the_editor_win_over_the_project(folder: Path) -> None:
    (folder / "pyproject.toml").write_text('[tool.terra-refactor]\nignore = ["TR506"]\n')

    async def scenario(talk: Conversation) -> None:
        shapes = talk.open("shapes.py")
        await talk.until(lambda: len(talk.registered) > 0)
        assert await talk.rules(shapes) == []
        outline = types.DocumentSymbolParams(types.TextDocumentIdentifier(shapes))
        assert await talk.client.text_document_document_symbol_async(outline) is None
        own = {"ignore": ["TR401"], "inlayHints": {"bindings": False}, "outline": {"enable": True}}
        talk.settings = {None: {}, folder.as_uri(): own}
        talk.client.workspace_did_change_configuration(types.DidChangeConfigurationParams({}))
        await talk.until(lambda: talk.refreshed > 0)
        assert await talk.rules(shapes) == ["TR506"]
        hints = await talk.client.text_document_inlay_hint_async(
            types.InlayHintParams(
                types.TextDocumentIdentifier(shapes), types.Range(types.Position(3, 0), types.Position(4, 0))
            )
        )
        assert not hints
        (symbol,) = await talk.client.text_document_document_symbol_async(outline)
        assert (symbol.name, symbol.detail) == ("scale", "safe · Add @tf.function")

    converse(folder, modern(), scenario)


def test_a_wrong_configuration_is_told_and_the_defaults_are_used(folder: Path) -> None:
    (folder / "pyproject.toml").write_text('[tool.terra-refactor]\nignroe = ["TR506"]\n')

    async def scenario(talk: Conversation) -> None:
        shapes = talk.open("shapes.py")
        assert await talk.rules(shapes) == ["TR506"]
        assert any("did you mean `ignore`" in message for message in talk.shown)
        (folder / "pyproject.toml").write_text('[tool.terra-refactor]\nignore = ["TR506"]\n')
        talk.client.workspace_did_change_watched_files(
            types.DidChangeWatchedFilesParams(
                [types.FileEvent(talk.uri("pyproject.toml"), types.FileChangeType.Changed)]
            )
        )
        assert await talk.rules(shapes) == []

    converse(folder, modern(), scenario)


def test_severities_and_the_log_follow_the_settings(folder: Path) -> None:
    async def scenario(talk: Conversation) -> None:
        shapes = talk.open("shapes.py")
        # the client is asked for its settings while it opens files
        await talk.until(lambda: any("logLevel" in text and "loud" in text for text in talk.shown))
        (found,) = (await talk.pull(shapes)).items
        assert (found.code, found.severity) == ("TR506", types.DiagnosticSeverity.Error)

    converse(folder, modern(), scenario, {None: {"severity": {"TR5": "error"}, "logLevel": "loud"}})


def test_files_that_change_on_disk(folder: Path) -> None:
    async def scenario(talk: Conversation) -> None:
        shapes = talk.open("shapes.py")
        assert "TR401" not in await talk.rules(shapes)
        (folder / "main.py").write_text(wrong(MAIN))
        event = types.FileEvent(talk.uri("main.py"), types.FileChangeType.Changed)
        talk.client.workspace_did_change_watched_files(types.DidChangeWatchedFilesParams([event]))
        assert "TR401" in await talk.rules(shapes)
        (folder / "main.py").unlink()
        event = types.FileEvent(talk.uri("main.py"), types.FileChangeType.Deleted)
        talk.client.workspace_did_change_watched_files(types.DidChangeWatchedFilesParams([event]))
        assert "TR401" not in await talk.rules(shapes)

    converse(folder, modern(), scenario)


def test_several_folders_and_files_of_none(folder: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "pyproject.toml").write_text('[tool.terra-refactor]\nignore = ["TR401"]\n')
    bad = "import tensorflow as tf\ntf.matmul(tf.ones([2, 3]), tf.ones([2, 3]))\n"
    (other / "bad.py").write_text(bad)
    (tmp_path / "lone.py").write_text(bad)

    async def scenario(talk: Conversation) -> None:
        lone = talk.open("../lone.py")
        inside = talk.open("../other/bad.py")
        assert await talk.rules(lone) == ["TR401"]
        assert await talk.rules(inside) == []
        added = types.WorkspaceFoldersChangeEvent([types.WorkspaceFolder(other.as_uri(), "other")], [])
        talk.client.workspace_did_change_workspace_folders(types.DidChangeWorkspaceFoldersParams(added))
        assert await talk.rules(inside) == []
        untitled = "untitled:Untitled-1"
        talk.client.text_document_did_open(
            types.DidOpenTextDocumentParams(types.TextDocumentItem(untitled, "python", 1, bad))
        )
        assert await talk.rules(untitled) == ["TR401"]

    converse(folder, modern(), scenario)
