"""Findings of files that are not open: pulled for the whole workspace, or pushed by the command that analyses it."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pygls")

from conversation import Conversation, converse, modern
from lsprotocol import types

WHOLE = {"settings": {"diagnosticMode": "workspace"}}
WRONG = "import tensorflow as tf\ny = tf.matmul(tf.ones([2, 3]), tf.ones([2, 3]))\n"
STEP = (Path(__file__).parents[3] / "vscode-extension/e2e/project/fit.py").read_text()
RIGHT = WRONG.replace("[2, 3]))", "[3, 2]))")


@pytest.fixture(name="folder")
def _folder(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "wrong.py").write_text(WRONG)
    (folder / "right.py").write_text(RIGHT)
    cells = [
        {"cell_type": "markdown", "metadata": {}, "source": "# Title"},
        {"cell_type": "code", "metadata": {}, "source": WRONG.splitlines(keepends=True)},
    ]
    text = json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}, indent=1)
    (folder / "book.ipynb").write_text(text)
    return folder


async def pull_all(talk: Conversation, known: dict[str, str], token: str | None = None) -> list[Any]:
    """The reports of one request for the workspace; what they say is known afterwards."""
    previous = [types.PreviousResultId(uri, value) for uri, value in known.items()]
    report = await talk.client.workspace_diagnostic_async(
        types.WorkspaceDiagnosticParams(previous, partial_result_token=token)
    )
    known.update({item.uri: item.result_id for item in report.items})
    return list(report.items)


def rules_of(reports: list[Any]) -> dict[str, list[str]]:
    return {Path(item.uri).name: [str(each.code) for each in item.items] for item in reports}


def test_the_workspace_is_pulled_where_that_is_wanted(folder: Path) -> None:
    async def scenario(talk: Conversation) -> None:
        provider = talk.server_capabilities.diagnostic_provider
        assert provider is not None
        assert provider.workspace_diagnostics
        known: dict[str, str] = {}
        first = await pull_all(talk, known)
        assert rules_of(first) == {"wrong.py": ["TR401"], "book.ipynb": ["TR401"]}
        assert [item.version for item in first] == [None, None]

        held = asyncio.ensure_future(pull_all(talk, known))
        done, _ = await asyncio.wait([held], timeout=2)
        assert not done, "nothing is new, and yet there was an answer"
        right = talk.open("right.py")
        talk.change(right, WRONG)
        (report,) = await held
        assert (report.uri, report.version) == (right, 2)
        assert [item.code for item in report.items] == ["TR401"]

        (folder / "wrong.py").write_text(RIGHT)
        event = types.FileEvent(talk.uri("wrong.py"), types.FileChangeType.Changed)
        talk.client.workspace_did_change_watched_files(types.DidChangeWatchedFilesParams([event]))
        assert rules_of(await pull_all(talk, known)) == {"wrong.py": []}

        (folder / "book.ipynb").unlink()
        event = types.FileEvent(talk.uri("book.ipynb"), types.FileChangeType.Deleted)
        talk.client.workspace_did_change_watched_files(types.DidChangeWatchedFilesParams([event]))
        assert rules_of(await pull_all(talk, known)) == {"book.ipynb": []}
        assert talk.publications == 0

    converse(folder, modern(), scenario, options=WHOLE)


def test_partial_results_are_streamed(folder: Path) -> None:
    async def scenario(talk: Conversation) -> None:
        assert await pull_all(talk, {}, token="part") == []
        items = [item for value in talk.progress for item in _parts(value)]
        assert {Path(item["uri"]).name: [each["code"] for each in item["items"]] for item in items} == {
            "wrong.py": ["TR401"],
            "book.ipynb": ["TR401"],
        }

    converse(folder, modern(), scenario, options=WHOLE)


def _parts(value: Any) -> list[Any]:
    """The reports in a partial result, which the client does not know the type of."""
    return list(json.loads(json.dumps(value, default=lambda each: each._asdict()))["items"])


def test_the_workspace_is_not_pulled_unless_it_is_asked_for(folder: Path) -> None:
    async def scenario(talk: Conversation) -> None:
        provider = talk.server_capabilities.diagnostic_provider
        assert provider is not None
        assert not provider.workspace_diagnostics

    converse(folder, modern(), scenario)


def test_findings_of_a_closed_notebook_stand_in_its_document(folder: Path) -> None:
    async def scenario(talk: Conversation) -> None:
        await talk.command("terra-refactor.analyzeWorkspace")
        book, wrong = talk.uri("book.ipynb"), talk.uri("wrong.py")
        await talk.until(lambda: {book, wrong} <= set(talk.published))
        (problem,) = talk.published[book].diagnostics
        assert problem.message.startswith("cell 1, line 2: ")
        line = (folder / "book.ipynb").read_text().splitlines()[problem.range.start.line]
        assert line[problem.range.start.character :].startswith("tf.matmul(")

        talk.open("wrong.py")
        await talk.until(lambda: not talk.published[wrong].diagnostics)
        assert await talk.rules(wrong) == ["TR401"], "told by the pull, and by that alone"
        cell = types.NotebookCell(types.NotebookCellKind.Code, f"{book}#1")
        notebook = types.NotebookDocument(book, "jupyter-notebook", 1, [cell])
        texts = [types.TextDocumentItem(cell.document, "python", 1, WRONG)]
        talk.client.notebook_document_did_open(types.DidOpenNotebookDocumentParams(notebook, texts))
        await talk.until(lambda: not talk.published[book].diagnostics)
        await talk.until(lambda: bool(talk.published.get(cell.document)))
        assert [item.code for item in talk.published[cell.document].diagnostics] == ["TR401"]

    converse(folder, modern(), scenario)


def test_training_steps_in_closed_files_are_found_after_all_other_findings(folder: Path) -> None:
    (folder / "fit.py").write_text(STEP)

    async def pulled(talk: Conversation) -> None:
        known: dict[str, str] = {}
        assert "fit.py" not in rules_of(await pull_all(talk, known)), "the other findings do not wait"
        assert rules_of(await pull_all(talk, known)) == {"fit.py": ["TR507"]}

    async def pushed(talk: Conversation) -> None:
        totals = await talk.command("terra-refactor.analyzeWorkspace")
        assert totals["findings"] == 3, "with the step"
        fit = talk.uri("fit.py")
        await talk.until(lambda: fit in talk.published)
        assert [each.code for each in talk.published[fit].diagnostics] == ["TR507"]

    converse(folder, modern(), pulled, options=WHOLE)
    converse(folder, modern(), pushed)


def test_the_whole_workspace_is_read_from_disk_though_the_editor_has_not_reported_new_files(folder: Path) -> None:
    async def scenario(talk: Conversation) -> None:
        before = await talk.command("terra-refactor.analyzeWorkspace")
        (folder / "new.py").write_text(WRONG)
        (folder / "right.py").write_text(WRONG)
        after = await talk.command("terra-refactor.analyzeWorkspace")
        assert (before["files"], before["findings"]) == (3, 2)
        assert (after["files"], after["findings"]) == (4, 4)
        await talk.until(lambda: talk.uri("new.py") in talk.published)
        (folder / "new.py").unlink()
        assert (await talk.command("terra-refactor.analyzeWorkspace"))["files"] == 3

    converse(folder, modern(), scenario)
