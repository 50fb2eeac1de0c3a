"""Evidence from a notebook's saved outputs about which cells have run to their end.

Computes: whether code that should fail according to a finding has run without failing. Needs: the document. Gives:
`RanCells`.

A cell that has run has a number, and an error that ended it is among its outputs. The statements of a cell have not
failed if it has run. The body of a function has not failed if all cells from its definition to the end of the
notebook have run, and its callers with them. A cell may have been edited since, which is not visible: the conclusion
is a doubt, not proof. Ignores: the text of outputs.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from terra_refactor.rules.rule import Finding
from terra_refactor.syntax.notebook import Notebook


@dataclass(frozen=True, slots=True)
class RanCells:
    """The code cells of a notebook in order: the index of each in the document, and whether it has run to its end
    (None: it is empty).
    """

    notebook: Notebook
    ran: Mapping[int, bool | None]

    @staticmethod
    def of(notebook: Notebook) -> RanCells:
        """Evidence from the document of a notebook."""
        try:
            document = json.loads(notebook.document)
        except (ValueError, RecursionError):
            document = {}
        return RanCells(notebook, {place: _has_run(cell) for place, cell in _code_cells(document)})

    def shows_success(self, finding: Finding) -> str | None:
        """The reason why the outputs show that the reported code has run without failing, as the end of a sentence;
        None if they do not.
        """
        lines = [finding.span.line]
        # the calls that lead there, including the outermost one
        lines += [place.span.line for place in finding.related if place.path == finding.path]
        cells = [found[0] for line in lines if (found := self.notebook.cell_line(line)) is not None]
        if not cells:
            return None
        first = cells[0]
        if finding.function:
            later = [ran for place, ran in self.ran.items() if place >= first and ran is not None]
            return "but the notebook shows that all cells from this one on have run" if later and all(later) else None
        return "but the notebook shows that this cell has run" if self.ran.get(first) else None


def _code_cells(document: Any) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """The code cells with their indices, counted as in `Notebook`."""
    cells = document.get("cells") if isinstance(document, dict) else None
    if cells is None and isinstance(document, dict):
        cells = [
            cell
            for sheet in document.get("worksheets") or ()
            if isinstance(sheet, dict)
            for cell in sheet.get("cells") or ()
        ]
    for place, cell in enumerate(cells if isinstance(cells, list) else ()):
        if isinstance(cell, dict) and cell.get("cell_type") == "code":
            yield place, cell


def _has_run(cell: Mapping[str, Any]) -> bool | None:
    source = cell.get("source", cell.get("input", ""))
    text = "".join(part for part in source if isinstance(part, str)) if isinstance(source, list) else str(source)
    if not text.strip():
        return None
    number, outputs = cell.get("execution_count", cell.get("prompt_number")), cell.get("outputs")
    kinds = (
        [output.get("output_type") for output in outputs if isinstance(output, dict)]
        if isinstance(outputs, list)
        else []
    )
    if {"error", "pyerr"} & set(kinds):
        return False
    return (isinstance(number, int) and number > 0) or bool(kinds)
