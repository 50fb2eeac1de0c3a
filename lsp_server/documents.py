"""The open texts of the editor, and their projects.

Needs: the client's notifications about folders, texts and notebooks. Gives: `Documents`: the conversion between URIs
and paths of the core, including positions, and the `Session` of each path.

A text belongs to the innermost workspace folder around it; outside of all folders, or if the project's configuration
excludes it, it is a project of its own. The cells of a notebook are separate texts for the client, and one module for
the core.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from urllib.parse import unquote, urlsplit

from lsprotocol import types
from pygls import uris

from lsp_server.convert import TextPositions
from terra_refactor.errors import SourceError
from terra_refactor.ide.session import Session
from terra_refactor.syntax.edit import Edit, minimal_edits
from terra_refactor.syntax.location import Span
from terra_refactor.syntax.source import Source, display_path, source_from_text


@dataclass(slots=True)
class OpenText:
    """A text that the client has open: a file, an unsaved text, or a cell."""

    uri: str
    version: int
    text: str
    language: str


@dataclass(slots=True)
class OpenNotebook:
    """A notebook that the client has open: the kinds and URIs of its cells, in order."""

    uri: str
    version: int
    cells: list[types.NotebookCell]


@dataclass(frozen=True, slots=True)
class Folder:
    """A workspace folder with its project."""

    uri: str
    path: str
    session: Session


@dataclass(slots=True)
class Documents:
    """All open texts. Lives on the event loop; sessions may be used from other threads."""

    make_session: Callable[[str], Session]
    encoding: types.PositionEncodingKind = types.PositionEncodingKind.Utf16
    folders: list[Folder] = field(default_factory=list)
    texts: dict[str, OpenText] = field(default_factory=dict)
    notebooks: dict[str, OpenNotebook] = field(default_factory=dict)
    generation: int = 0
    """Incremented on every change."""
    _lone: dict[str, Session] = field(default_factory=dict)
    _cells: dict[str, str] = field(default_factory=dict)
    """Cell URI to notebook URI."""
    _uris: dict[str, str] = field(default_factory=dict)
    """Path of the core to the client's URI, of open texts and notebooks."""

    # --- folders -------------------------------------------------------------------------------------------------------------------

    def add_folder(self, uri: str) -> None:
        """Adds a folder to the workspace."""
        path = uris.to_fs_path(uri)
        if path is None or any(folder.uri == uri for folder in self.folders):
            return
        self.folders.append(Folder(uri, path, self.make_session(path)))
        self._reassign()

    def remove_folder(self, uri: str) -> None:
        """Removes a folder from the workspace."""
        self.folders = [folder for folder in self.folders if folder.uri != uri]
        self._reassign()

    def remake_sessions(self) -> None:
        """Reloads all projects after a change of settings or configurations."""
        self.folders = [replace(folder, session=self.make_session(folder.path)) for folder in self.folders]
        self._reassign()

    def _reassign(self) -> None:
        self._lone.clear()
        self.generation += 1
        for path in tuple(self._uris):
            self._put(path)

    def sessions(self) -> tuple[Session, ...]:
        """All projects."""
        return (*(folder.session for folder in self.folders), *self._lone.values())

    def session(self, path: str) -> Session:
        """The project of a path as in reports."""
        file = os.path.abspath(path)
        around = [folder for folder in self.folders if folder.session.owns(file)]
        if around and not self._is_unsaved(path):
            best = max(around, key=lambda folder: len(folder.path)).session
            if best.buffer(path) is not None or not os.path.exists(file) or path in best.files():
                return best
        session = self._lone.get(path)
        if session is None:
            session = self._lone[path] = self.make_session(file)
        return session

    def _is_unsaved(self, path: str) -> bool:
        uri = self._uris.get(path)
        return uri is not None and uris.to_fs_path(uri) is None

    # --- texts ---------------------------------------------------------------------------------------------------------------------

    def open_text(self, item: types.TextDocumentItem) -> None:
        """A text was opened."""
        self.texts[item.uri] = _opened(item)
        path = self.path_of(item.uri)
        if item.uri not in self._cells:
            self._uris[path] = item.uri
        self._put(path)

    def change_text(self, uri: str, version: int, changes: Sequence[types.TextDocumentContentChangeEvent]) -> None:
        """Applies changes to a text. Changes of texts that are not open are ignored."""
        document = self.texts.get(uri)
        if document is None:
            return
        self._apply(document, version, changes)
        self._put(self.path_of(uri))

    def _apply(self, document: OpenText, version: int, changes: Sequence[types.TextDocumentContentChangeEvent]) -> None:
        for change in changes:
            if isinstance(change, types.TextDocumentContentChangePartial):
                positions = TextPositions(document.text, self.encoding)
                start, end = positions.offset(change.range.start), positions.offset(change.range.end)
                start, end = min(start, end), max(start, end)
                document.text = document.text[:start] + change.text + document.text[end:]
            else:
                document.text = change.text
        document.version = version

    def close_text(self, uri: str) -> None:
        """A text was closed."""
        if self.texts.pop(uri, None) is not None and uri not in self._cells:
            self._drop(self.path_of(uri))

    def open_notebook(self, notebook: types.NotebookDocument, texts: Iterable[types.TextDocumentItem]) -> None:
        """A notebook was opened."""
        self.notebooks[notebook.uri] = OpenNotebook(notebook.uri, notebook.version, list(notebook.cells))
        for cell in notebook.cells:
            self._cells[cell.document] = notebook.uri
        for item in texts:
            self.texts[item.uri] = _opened(item)
        path = self.path_of(notebook.uri)
        self._uris[path] = notebook.uri
        self._put(path)

    def change_notebook(self, uri: str, version: int, change: types.NotebookDocumentChangeEvent) -> None:
        """Cells were added, removed or changed."""
        notebook = self.notebooks.get(uri)
        if notebook is None:
            return
        notebook.version = version
        cells = change.cells
        if cells is not None:
            if cells.structure is not None:
                array = cells.structure.array
                notebook.cells[array.start : array.start + array.delete_count] = array.cells or []
                for item in cells.structure.did_open or ():
                    self.texts[item.uri] = _opened(item)
                for closed in cells.structure.did_close or ():
                    self.texts.pop(closed.uri, None)
                    self._cells.pop(closed.uri, None)
            for known in notebook.cells:
                self._cells[known.document] = uri
            for data in cells.data or ():
                notebook.cells = [data if cell.document == data.document else cell for cell in notebook.cells]
            for text in cells.text_content or ():
                document = self.texts.get(text.document.uri)
                if document is not None:
                    self._apply(document, text.document.version, text.changes)
        self._put(self.path_of(uri))

    def close_notebook(self, uri: str) -> None:
        """A notebook was closed."""
        notebook = self.notebooks.pop(uri, None)
        if notebook is None:
            return
        path = self.path_of(uri)
        for cell in notebook.cells:
            self._cells.pop(cell.document, None)
            self.texts.pop(cell.document, None)
        self._drop(path)

    def _put(self, path: str) -> None:
        """Passes the present text to its project."""
        self.generation += 1
        uri = self._uris[path]
        session = self.session(path)
        session.set_buffer(path, self._source(uri, path))

    def _drop(self, path: str) -> None:
        self.generation += 1
        self.session(path).drop_buffer(path)
        self._lone.pop(path, None)
        self._uris.pop(path, None)

    def _source(self, uri: str, path: str) -> Source:
        notebook = self.notebooks.get(uri)
        text = self.texts[uri].text if notebook is None else self._notebook_text(notebook)
        try:
            return source_from_text(text, path)
        except SourceError:  # a null byte: the parser reports it for a text that Python cannot represent
            return source_from_text(text.replace("\0", "�"), path)

    def _notebook_text(self, notebook: OpenNotebook) -> str:
        cells: list[dict[str, object]] = [
            {
                "cell_type": "code" if self._is_python(cell) else "markdown",
                "metadata": {},
                "source": self.texts[cell.document].text if cell.document in self.texts else "",
            }
            for cell in notebook.cells
        ]
        return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5})

    # --- names ---------------------------------------------------------------------------------------------------------------------

    def path_of(self, uri: str) -> str:
        """The path of a URI, as in reports; for a cell, that of its notebook."""
        uri = self._cells.get(uri, uri)
        file = uris.to_fs_path(uri)
        if file is not None and urlsplit(uri).scheme == "file":
            return display_path(file)
        name: str = unquote(urlsplit(uri).path).strip("/").replace("/", "_") or "untitled"
        suffix = ".ipynb" if uri in self.notebooks and not name.endswith(".ipynb") else ""
        return f"{name}{suffix}"

    def uri_of(self, path: str) -> str:
        """The URI of a path: the client's own if it is open."""
        known = self._uris.get(path)
        if known is not None:
            return known
        uri: str | None = uris.from_fs_path(os.path.abspath(path))
        assert uri is not None
        return uri

    def is_open(self, path: str) -> bool:
        """Whether the client has the text open."""
        return path in self._uris

    def is_cell(self, uri: str) -> bool:
        """Whether a URI is that of a cell of an open notebook."""
        return uri in self._cells

    def is_notebook(self, path: str) -> bool:
        """Whether a path is an open notebook."""
        return self._uris.get(path, "") in self.notebooks

    def open_paths(self) -> tuple[str, ...]:
        """All open texts and notebooks, sorted."""
        return tuple(sorted(self._uris))

    def version_of(self, uri: str) -> int | None:
        """The version of an open text; None if it is not open."""
        document = self.texts.get(uri)
        return None if document is None else document.version

    # --- places --------------------------------------------------------------------------------------------------------------------

    def place(self, uri: str, position: types.Position) -> tuple[str, int, int]:
        """Path, line and column (from 1) of a position of the client."""
        path = self.path_of(uri)
        document = self.texts.get(uri)
        if document is None:
            return path, position.line + 1, position.character + 1
        line, column = TextPositions(document.text, self.encoding).place(position)
        source = self._cell_source(uri)
        if source is not None and source.notebook is not None:
            line = source.notebook.module_line(self._cell_index(uri), line)
        return path, line, column

    def locate(
        self, source: Source, span: Span, known: dict[str, TextPositions] | None = None
    ) -> tuple[str, types.Range] | None:
        """URI and range of a span of a file; None for a position in an open notebook for which the client has no
        text.

        For a notebook that is not open it is the position in the document on disk. `known` caches the lines of texts
        for further queries.
        """
        known = {} if known is None else known
        if source.notebook is None:
            return self.uri_of(source.path), self._positions(source.path, source.text, known).range(span)
        notebook = self.notebooks.get(self._uris.get(source.path, ""))
        if notebook is None:
            first = source.notebook.document_place(span.line, span.column)
            last = source.notebook.document_place(span.end_line, span.end_column)
            written = Span(*first, *max(first, last))
            return self.uri_of(source.path), self._positions(source.path, source.notebook.document, known).range(
                written
            )
        start, end = source.notebook.cell_line(span.line), source.notebook.cell_line(span.end_line)
        if start is None or start[0] >= len(notebook.cells):
            return None
        if end is None or end[0] != start[0]:
            end = (start[0], start[1])
        uri = notebook.cells[start[0]].document
        document = self.texts.get(uri)
        if document is None:
            return None
        inside = Span(start[1], span.column, end[1], span.end_column)
        return uri, self._positions(uri, document.text, known).range(inside)

    def _positions(self, name: str, text: str, known: dict[str, TextPositions]) -> TextPositions:
        found = known.get(name)
        if found is None:
            found = known[name] = TextPositions(text, self.encoding)
        return found

    def parts(self, path: str) -> tuple[str, ...]:
        """The client's texts that make up a path: the cells of a notebook, otherwise one."""
        notebook = self.notebooks.get(self._uris.get(path, ""))
        if notebook is None:
            return (self.uri_of(path),)
        return tuple(cell.document for cell in notebook.cells if self._is_python(cell))

    def _is_python(self, cell: types.NotebookCell) -> bool:
        """Whether a cell is Python code."""
        text = self.texts.get(cell.document)
        return cell.kind is types.NotebookCellKind.Code and (text is None or text.language == "python")

    def text_edits(self, source: Source, new_text: str) -> dict[str, list[types.TextEdit]]:
        """The edits, by the client's texts, that lead from a source to a new text.

        Raises:
            SourceError: the new text cannot be split into the cells of the notebook.
        """
        notebook = source.notebook
        if notebook is None:
            positions = TextPositions(source.text, self.encoding)
            return {self.uri_of(source.path): _edits(positions, minimal_edits(source.text, new_text))}
        edits: dict[str, list[types.TextEdit]] = {}
        opened = self.notebooks.get(self._uris.get(source.path, ""))
        if opened is None:
            raise SourceError(source.path, "the notebook is not open")
        for cell, new in zip(notebook.cells, notebook.cell_sources(new_text, source.path), strict=True):
            if new != cell.source:
                positions = TextPositions(cell.source, self.encoding)
                edits[opened.cells[cell.index].document] = _edits(positions, minimal_edits(cell.source, new))
        return edits

    def _cell_source(self, uri: str) -> Source | None:
        if uri not in self._cells:
            return None
        path = self.path_of(uri)
        return self.session(path).buffer(path)

    def _cell_index(self, uri: str) -> int:
        notebook = self.notebooks[self._cells[uri]]
        return next(index for index, cell in enumerate(notebook.cells) if cell.document == uri)


def _opened(item: types.TextDocumentItem) -> OpenText:
    return OpenText(item.uri, item.version, item.text, str(item.language_id))


def _edits(positions: TextPositions, edits: Iterable[Edit]) -> list[types.TextEdit]:
    return [positions.text_edit(edit) for edit in edits]
