"""What an editor gets, through a real client: VS Code's capabilities and a client that can do nothing."""

from __future__ import annotations

import asyncio
import json
import random
import subprocess
from pathlib import Path
from typing import Any

import pytest
import warm_servers

pytest.importorskip("pygls")

from conversation import Conversation, applied, converse, modern, poor
from lsprotocol import converters, types
from test_server import Client, environment

SHAPES = """\
import tensorflow as tf

def scale(x, w):
    y = tf.matmul(x, w)
    for _ in range(20):
        y = tf.nn.relu(y + 1.0)
    return y
"""
MAIN = """\
import tensorflow as tf
from shapes import scale

result = scale(tf.ones([2, 3]), tf.ones([3, 4]))

for _ in range(1000):
    scale(tf.zeros([2, 3]), tf.zeros([3, 4]))
"""
LOOP = """\
for _ in range(1000):
    result = scale(tf.ones([2, 3]), tf.ones([3, 4]))
"""
SPECULATIVE = """\
import tensorflow as tf
import mystery

def train_step(images):
    y = images
    for _ in range(20):
        y = tf.nn.relu(y * 2.0) + 1.0
    return mystery.scale(y)
"""
FILES = {"shapes.py": SHAPES, "main.py": MAIN, "guess.py": SPECULATIVE}


@pytest.fixture(name="folder")
def _folder(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    for name, text in FILES.items():
        (folder / name).write_text(text)
    return folder


def wrong(text: str) -> str:
    return text.replace("[3, 4]", "[5, 4]")


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


def test_a_quick_fix_is_resolved_when_it_is_chosen(folder: Path) -> None:
    async def scenario(talk: Conversation) -> None:
        shapes = talk.open("shapes.py")
        found = await talk.actions(shapes, 2)
        (fix,) = [action for action in found if action.is_preferred]
        assert fix.kind == types.CodeActionKind.QuickFix
        assert [item.code for item in fix.diagnostics] == ["TR506"]
        assert fix.edit is None
        resolved = await talk.client.code_action_resolve_async(fix)
        (change,) = resolved.edit.document_changes
        assert applied(SHAPES, change.edits) == SHAPES.replace("def scale", "@tf.function\ndef scale")
        assert resolved.edit.change_annotations is None
        talk.change(shapes, "# a line\n" + SHAPES)
        with pytest.raises(Exception, match="has changed since"):
            await talk.client.code_action_resolve_async(fix)

    converse(folder, modern(), scenario)


def test_a_speculative_change_asks_for_confirmation(folder: Path) -> None:
    async def scenario(talk: Conversation) -> None:
        guess = talk.open("guess.py")
        (rewrite,) = await talk.actions(guess, 3, only=["refactor.rewrite"])
        resolved = await talk.client.code_action_resolve_async(rewrite)
        (annotation,) = resolved.edit.change_annotations.values()
        assert annotation.needs_confirmation
        assert "mystery.scale" in annotation.description
        (change,) = resolved.edit.document_changes
        assert all(edit.annotation_id in resolved.edit.change_annotations for edit in change.edits)
        assert await talk.actions(guess, 3, only=["source.terraRefactor"]) == []

    converse(folder, modern(), scenario)


def test_a_poor_client_gets_plain_edits_at_once(folder: Path) -> None:
    async def scenario(talk: Conversation) -> None:
        shapes = talk.open("shapes.py")
        (fix,) = [action for action in await talk.actions(shapes, 2) if action.is_preferred]
        assert fix.edit.document_changes is None
        assert applied(SHAPES, fix.edit.changes[shapes]).count("@tf.function") == 1
        (everything,) = await talk.actions(shapes, 0, only=["source.terraRefactor"])
        assert applied(SHAPES, everything.edit.changes[shapes]).count("@tf.function") == 1
        assert not [action for action in await talk.actions(shapes, 0) if action.disabled]

    converse(folder, poor(), scenario)


def test_what_is_not_possible_says_why(folder: Path) -> None:
    async def scenario(talk: Conversation) -> None:
        text = "import tensorflow as tf\n\ndef one(x):\n    return tf.add(x, 1.0)\n\none(tf.ones([3]))\n"
        uri = talk.open("one.py", text)
        (rewrite,) = [action for action in await talk.actions(uri, 3) if action.disabled]
        assert "1 tensor operation" in rewrite.disabled.reason
        assert not [action for action in await talk.actions(uri, 3, invoked=False) if action.disabled]

    converse(folder, modern(), scenario)


def test_suppression_with_a_reason(folder: Path) -> None:
    async def scenario(talk: Conversation) -> None:
        main = talk.open("main.py", wrong(MAIN))
        shapes = talk.open("shapes.py")
        (ignore,) = [action for action in await talk.actions(shapes, 3) if "Ignore TR401" in action.title]
        request = ignore.data["request"]
        assert await talk.command("terra-refactor.suppress", shapes, request, "known")
        text = applied(SHAPES, talk.applied[0].edit.document_changes[0].edits)
        assert text.splitlines()[3].endswith("# terra: ignore[TR401] known")
        talk.change(shapes, text)
        assert "TR401" not in await talk.rules(shapes)
        assert main

    converse(folder, modern(), scenario)


def test_all_safe_changes_of_the_workspace(folder: Path) -> None:
    cell = {"cell_type": "code", "metadata": {}, "source": SHAPES + LOOP}
    (folder / "closed.ipynb").write_text(json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4}))
    (folder / "main.py").write_text(MAIN + LOOP)  # what runs once gets no graph

    async def scenario(talk: Conversation) -> None:
        assert await talk.command("terra-refactor.applyAllSafe") == 1
        (request,) = talk.applied
        (change,) = request.edit.document_changes
        assert change.text_document.uri == talk.uri("shapes.py")
        assert change.text_document.version is None
        assert any("closed.ipynb" in message for message in talk.shown)
        assert [annotation.needs_confirmation for annotation in request.edit.change_annotations.values()] == [True]
        assert any(getattr(value, "kind", None) == "begin" or value.get("kind") == "begin" for value in talk.progress)

    converse(folder, modern(), scenario)


def test_safe_changes_that_were_chosen_are_made_at_once(folder: Path) -> None:
    (folder / "main.py").write_text(MAIN + LOOP)
    (folder / "second.py").write_text(SHAPES + LOOP)

    async def scenario(talk: Conversation) -> None:
        proposals = await talk.command("terra-refactor.proposals")
        given = [each if isinstance(each, dict) else vars(each) for each in proposals]
        safe = [each for each in given if each["level"] == "safe"]
        assert sorted(each["path"].rpartition("/")[2] for each in safe) == ["second.py", "shapes.py"]
        (chosen,) = [each for each in safe if each["path"].endswith("second.py")]
        assert await talk.command("terra-refactor.applyAllSafe", chosen) == 1
        (request,) = talk.applied
        (change,) = request.edit.document_changes
        assert change.text_document.uri == talk.uri("second.py")
        assert not request.edit.change_annotations
        assert await talk.command("terra-refactor.applyAllSafe", {**chosen, "functionLine": 99}) == 0

    converse(folder, modern(), scenario)


def test_inferred_types_are_written(folder: Path) -> None:
    async def scenario(talk: Conversation) -> None:
        uri = talk.open("shapes.py")
        (action,) = await talk.actions(uri, 2, only=["refactor.rewrite.writeTypes"])
        assert action.title == "Write types: x: tf.Tensor, w: tf.Tensor → tf.Tensor"
        resolved = await talk.client.code_action_resolve_async(action)
        text = applied(SHAPES, resolved.edit.document_changes[0].edits)
        assert "def scale(x: tf.Tensor, w: tf.Tensor) -> tf.Tensor:" in text
        assert not await talk.actions(uri, 2, only=["refactor.rewrite.writeTypes"], invoked=False)

    converse(folder, modern(), scenario)


def test_the_setting_of_how_types_are_written(folder: Path) -> None:
    async def scenario(talk: Conversation) -> None:
        uri = talk.open("shapes.py")
        await talk.pull(uri)
        (action,) = await talk.actions(uri, 2, only=["refactor.rewrite.writeTypes"])
        resolved = await talk.client.code_action_resolve_async(action)
        text = applied(SHAPES, resolved.edit.document_changes[0].edits)
        assert 'x: Float32[tf.Tensor, "2 3"]' in text
        assert "from jaxtyping import Float32" in text
        assert [each.needs_confirmation for each in resolved.edit.change_annotations.values()] == [True]
        whole = types.InlayHintParams(
            types.TextDocumentIdentifier(uri), types.Range(types.Position(0, 0), types.Position(9, 0))
        )
        hints = await talk.client.text_document_inlay_hint_async(whole)
        (hint,) = [each for each in hints or () if each.data["name"] == "x"]
        assert not hint.text_edits
        hint = await talk.client.inlay_hint_resolve_async(hint)
        text = applied(SHAPES, hint.text_edits)
        assert 'def scale(x: Float32[tf.Tensor, "2 3"], w):' in text
        assert "from jaxtyping import Float32" in text

    settings = {None: {"annotationStyle": "jaxtyping"}}
    converse(folder, modern(), scenario, {**settings, folder.as_uri(): settings[None]})


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


def codes(talk: Conversation, uri: str) -> list[str]:
    """The rules of the diagnostics that were published last for a text."""
    published = talk.published.get(uri)
    return [] if published is None else [str(item.code) for item in published.diagnostics]


def notebook_of(uri: str, *sources: str) -> types.DidOpenNotebookDocumentParams:
    """A notebook as VS Code opens it. A source that begins with a heading is text, one that begins with a brace is in another language."""
    languages = [{"# ": "markdown", "{\n": "javascript"}.get(source[:2], "python") for source in sources]
    cells = [
        types.NotebookCell(
            types.NotebookCellKind.Markup if language == "markdown" else types.NotebookCellKind.Code, f"{uri}#{number}"
        )
        for number, language in enumerate(languages)
    ]
    texts = [
        types.TextDocumentItem(cell.document, language, 1, source)
        for cell, language, source in zip(cells, languages, sources, strict=True)
    ]
    return types.DidOpenNotebookDocumentParams(types.NotebookDocument(uri, "jupyter-notebook", 1, cells), texts)


def test_a_notebook_is_one_module_of_several_texts(folder: Path) -> None:
    async def scenario(talk: Conversation) -> None:
        uri = talk.uri("book.ipynb")
        first = "%matplotlib inline\nimport tensorflow as tf"
        params = notebook_of(uri, "# Title", first, SHAPES.partition("\n\n")[2].rstrip("\n"), LOOP)
        talk.client.notebook_document_did_open(params)
        texts = {item.uri: item.text for item in params.cell_text_documents}
        await talk.until(lambda: codes(talk, f"{uri}#2") == ["TR506"])
        assert codes(talk, f"{uri}#3") == []
        assert await talk.rules(f"{uri}#2") == [], "what is pushed is not pulled, too"
        hints = await talk.client.text_document_inlay_hint_async(
            types.InlayHintParams(
                types.TextDocumentIdentifier(f"{uri}#2"), types.Range(types.Position(0, 0), types.Position(9, 0))
            )
        )
        assert (1, ": float32 (2, 4)") in [(hint.position.line, hint.label) for hint in hints]
        (everything,) = await talk.actions(f"{uri}#2", 0, only=["notebook.source.terraRefactor"])
        resolved = await talk.client.code_action_resolve_async(everything)
        changes = {change.text_document.uri: change.edits for change in resolved.edit.document_changes}
        assert set(changes) == {f"{uri}#2"}
        assert applied(texts[f"{uri}#2"], changes[f"{uri}#2"]).startswith("@tf.function\ndef scale")
        talk.client.notebook_document_did_change(
            types.DidChangeNotebookDocumentParams(
                types.VersionedNotebookDocumentIdentifier(2, uri),
                types.NotebookDocumentChangeEvent(
                    cells=types.NotebookDocumentCellChanges(
                        text_content=[
                            types.NotebookDocumentCellContentChanges(
                                types.VersionedTextDocumentIdentifier(2, f"{uri}#3"),
                                [types.TextDocumentContentChangeWholeDocument(wrong(LOOP))],
                            )
                        ]
                    )
                ),
            )
        )
        await talk.until(lambda: "TR401" in codes(talk, f"{uri}#2"))
        talk.client.notebook_document_did_close(
            types.DidCloseNotebookDocumentParams(
                types.NotebookDocumentIdentifier(uri),
                [types.TextDocumentIdentifier(item.uri) for item in params.cell_text_documents],
            )
        )
        assert await talk.rules(talk.open("shapes.py")) == ["TR506"]

    converse(folder, modern(), scenario)


def test_cells_of_an_open_notebook_have_the_numbers_that_they_have_in_the_file(folder: Path) -> None:
    async def scenario(talk: Conversation) -> None:
        for selector in talk.server_capabilities.notebook_document_sync.notebook_selector:
            assert selector.cells is None, "a client that leaves out cells makes the server count the others only"
        uri = talk.uri("book.ipynb")
        talk.client.notebook_document_did_open(notebook_of(uri, "# Title", "{\n}}", SHAPES.rstrip("\n"), LOOP))
        await talk.until(lambda: codes(talk, f"{uri}#2") == ["TR506"])
        assert codes(talk, f"{uri}#1") == [], "code in another language is not read as Python"
        page = await talk.command("terra-refactor.writeReport")
        assert "book.ipynb, cell 2, line 3" in Path(page.removeprefix("file://")).read_text()

    converse(folder, modern(), scenario)


def test_answers_are_of_the_newest_text(folder: Path) -> None:
    async def scenario(talk: Conversation) -> None:
        shapes, main = talk.open("shapes.py"), talk.open("main.py")
        waiting = []
        for number in range(30):
            talk.change(main, (wrong(MAIN) if number % 2 else MAIN) + f"# {number}\n")
            waiting.append(asyncio.ensure_future(talk.rules(shapes)))
        assert "TR401" in (await asyncio.gather(*waiting))[-1]

    converse(folder, modern(), scenario)


@pytest.mark.slow
async def everything(talk: Conversation, uri: str, text: str) -> list[Any]:
    """Every answer about a text: diagnostics, hints, lenses, hover at the start of each line, and what the menu of each `def` offers, with
    the types that it would write."""
    document = types.TextDocumentIdentifier(uri)
    lines = text.split("\n")
    whole = types.Range(types.Position(0, 0), types.Position(len(lines), 0))
    found: list[Any] = [(await talk.pull(uri)).items]
    found.append(await talk.client.text_document_inlay_hint_async(types.InlayHintParams(document, whole)))
    found.append(await talk.client.text_document_code_lens_async(types.CodeLensParams(document)))
    for number, line in enumerate(lines):
        at = types.Position(number, len(line) - len(line.lstrip()))
        found.append(await talk.client.text_document_hover_async(types.HoverParams(document, at)))
        if line.startswith("def "):
            for action in await talk.actions(uri, number):
                found.append(action.title)
                if action.kind == "refactor.rewrite.writeTypes":
                    found.append((await talk.client.code_action_resolve_async(action)).edit)
    return found


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
    converse(folder, modern(), warm)
    converse(folder, modern(), cold)
    assert results[0] == results[1]


def test_every_answer_is_of_the_protocols_type(folder: Path) -> None:
    """Raw messages, structured by the types of the protocol: a key that it does not know, or a missing one, is an error."""
    converter = converters.get_converter()
    capabilities = converter.unstructure(modern())
    uri = (folder / "shapes.py").as_uri()
    document = {"uri": uri}
    whole = {"start": {"line": 0, "character": 0}, "end": {"line": 9, "character": 0}}
    with subprocess.Popen(
        warm_servers.command(), env=environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=folder
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        client = Client(process.stdout, process.stdin)
        start = {"processId": None, "rootUri": folder.as_uri(), "capabilities": {**capabilities, "workspace": {}}}
        answers: dict[str, Any] = {"initialize": client.request("initialize", start)}
        client.send(method="initialized", params={})
        item = {"uri": uri, "languageId": "python", "version": 1, "text": SHAPES}
        client.send(method="textDocument/didOpen", params={"textDocument": item})
        for method, params in (
            ("textDocument/diagnostic", {"textDocument": document}),
            ("textDocument/hover", {"textDocument": document, "position": {"line": 2, "character": 5}}),
            ("textDocument/inlayHint", {"textDocument": document, "range": whole}),
            ("textDocument/codeLens", {"textDocument": document}),
            ("textDocument/codeAction", {"textDocument": document, "range": whole, "context": {"diagnostics": []}}),
        ):
            answers[method] = client.request(method, params)
        answers["inlayHint/resolve"] = client.request(
            "inlayHint/resolve", answers["textDocument/inlayHint"]["result"][0]
        )
        answers["codeAction/resolve"] = client.request(
            "codeAction/resolve", answers["textDocument/codeAction"]["result"][0]
        )
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


@pytest.mark.slow
@pytest.mark.tensorflow
def test_a_change_is_made_if_running_both_versions_shows_the_same(folder: Path) -> None:
    async def scenario(talk: Conversation) -> None:
        shapes = talk.open("shapes.py")
        proof = await talk.command("terra-refactor.prove", shapes, "scale", 3, {"run": "python main.py"})
        assert proof is not None, talk.shown
        assert (proof["status"], proof["applied"]) == ("same", True), proof["sentence"]
        assert "| traces | – | 1 in" in proof["page"]
        (edit,) = talk.applied
        assert "@tf.function\ndef scale" in applied(SHAPES, edit.edit.document_changes[0].edits)
        talk.change(shapes, SHAPES.replace("x, w)", "x, w )", 1))
        assert await talk.command("terra-refactor.prove", shapes, "scale", 3, {}) is None
        assert "what is not saved cannot be run" in talk.shown[-1]
        assert len(talk.applied) == 1

    converse(folder, modern(), scenario, options={"asksReason": True}, patience=120)


def test_nothing_is_run_for_a_client_that_does_not_say_yes(folder: Path) -> None:
    (folder / "main.py").write_text(f"{MAIN}open('ran', 'w')\n")

    async def scenario(talk: Conversation) -> None:
        assert await talk.command("terra-refactor.prove", talk.open("shapes.py"), "scale", 3, {}) is None

    converse(folder, modern(), scenario)
    assert not (folder / "ran").exists()


def test_severities_and_the_log_follow_the_settings(folder: Path) -> None:
    async def scenario(talk: Conversation) -> None:
        shapes = talk.open("shapes.py")
        (found,) = (await talk.pull(shapes)).items
        assert (found.code, found.severity) == ("TR506", types.DiagnosticSeverity.Error)
        assert any("logLevel" in text and "loud" in text for text in talk.shown)

    converse(folder, modern(), scenario, {None: {"severity": {"TR5": "error"}, "logLevel": "loud"}})


def test_the_changes_of_the_workspace_are_listed_with_the_surest_first(folder: Path) -> None:
    (folder / "maybe.py").write_text(SPECULATIVE)

    async def scenario(talk: Conversation) -> None:
        found = await talk.command("terra-refactor.proposals")
        first, *others = found
        assert (first["qualname"], first["level"], first["line"]) == ("scale", "safe", 3)
        (guess,) = [each for each in others if each["path"].endswith("maybe.py")]
        assert guess["assumptions"]
        assert {each["level"] for each in others} == {"speculative"}

    converse(folder, modern(), scenario)
