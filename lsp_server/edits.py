"""Workspace edits: versioned, annotated and confirmed as far as the client can.

Gives: `workspace_edit`. A change with assumptions has an annotation that asks for confirmation and lists them.
"""

from __future__ import annotations

from collections.abc import Iterable

from lsprotocol import types

from lsp_server.server import TerraServer
from terra_refactor.ide.code_actions import NewText
from terra_refactor.ide.snapshot import Snapshot

TO_CONFIRM = "terra-refactor/toConfirm"
"""Tells VS Code's extension that a preview of assumptions follows."""


def workspace_edit(
    server: TerraServer, snapshots: Iterable[tuple[Snapshot, NewText]], *, confirm: bool = False
) -> types.WorkspaceEdit:
    """The edit that leads to some new texts. `confirm`: the user reviews all of it first, if the client supports
    that. Its caller sends the edit at once: our own client is told that a preview follows.

    Raises:
        SourceError: a notebook cannot be given the text.
    """
    client = server.client
    documents: list[types.TextDocumentEdit | types.CreateFile | types.RenameFile | types.DeleteFile] = []
    plain: dict[str, list[types.TextEdit]] = {}
    annotations: dict[str, types.ChangeAnnotation] = {}
    for snapshot, new in snapshots:
        asks = bool(new.assumptions) or confirm
        identifier = f"{new.path}: {new.title}"
        if client.annotates_changes and asks:
            description = "; ".join(new.assumptions) if new.assumptions else "safe: nothing is assumed"
            label = f"{new.title}, assuming" if new.assumptions else new.title
            annotations[identifier] = types.ChangeAnnotation(label, needs_confirmation=True, description=description)
        for uri, edits in server.documents.text_edits(snapshot.sources[new.path], new.text).items():
            plain.setdefault(uri, []).extend(edits)
            marked: list[types.TextEdit | types.AnnotatedTextEdit | types.SnippetTextEdit] = [
                types.AnnotatedTextEdit(identifier, edit.range, edit.new_text) if identifier in annotations else edit
                for edit in edits
            ]
            version = server.documents.version_of(uri)
            documents.append(
                types.TextDocumentEdit(types.OptionalVersionedTextDocumentIdentifier(uri, version), marked)
            )
    if annotations and client.asks_reason:
        server.protocol.notify(TO_CONFIRM)
    if client.document_changes:
        return types.WorkspaceEdit(document_changes=documents, change_annotations=annotations or None)
    return types.WorkspaceEdit(changes=plain)
