"""Open notebooks through a real client: one module of several texts."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("pygls")

from conversation import Conversation, applied, converse, modern
from lsprotocol import types
from small_project import LOOP, SHAPES, wrong


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
