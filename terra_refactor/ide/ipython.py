"""IPython and JupyterLab without an editor's language server: `%load_ext terra_refactor`.

Computes: the decisions about the functions of a cell, and the cell after the changes. Needs: the running shell; the
cells that it has run are the module, in their order. Gives: `register`, `decided`, `CellAnswer`. Ignores: cells that
are not Python, and cells of other kernels. `%terra` prints the decisions about all functions of the session.
`%%terra` prints those of its cell, then runs it; `%%terra --apply` makes the changes of a level (`--level`, as in
`fix`) in the cell before it runs, and shows them.
"""

from __future__ import annotations

import ast
import contextlib
import difflib
import json
import os
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from terra_refactor.classify.decision import Action, Decision, Level
from terra_refactor.config import Config, load_config
from terra_refactor.errors import SourceError, TerraError, UsageError
from terra_refactor.ide.explanations import function_text
from terra_refactor.ide.session import Session
from terra_refactor.refactor.plan import refactor_file
from terra_refactor.refactor.result import Outcome
from terra_refactor.rules.rule import Finding
from terra_refactor.syntax.source import Source, display_path, source_from_text
from terra_refactor.workspace.printable import in_markdown, printable

_NAME: Final = "session.ipynb"
_MAGIC: Final = "%%terra"
_PROJECT: Final = ("pyproject.toml", "terra-refactor.toml", "setup.py", "setup.cfg", ".git")
"""A folder with one of these files is a project, whose modules the cells may import; other folders are not read."""


@dataclass(frozen=True, slots=True)
class CellAnswer:
    """The output for a cell. `text` is the cell after the changes, unchanged if there are none."""

    lines: tuple[str, ...]
    text: str
    diff: str = ""

    def _repr_markdown_(self) -> str:
        parts = ["\n".join(f"- {in_markdown(line)}" for line in self.lines)]
        if self.diff:
            parts.append(f"```diff\n{self.diff}```")
        return "\n\n".join(parts)

    def __repr__(self) -> str:
        return "\n".join([*map(printable, self.lines), *([self.diff.rstrip("\n")] if self.diff else [])])


def register(shell: Any) -> None:
    """Adds the magics to a shell; IPython calls it for `%load_ext terra_refactor`."""

    from IPython.core.error import UsageError as WrongUse  # noqa: PLC0415 - the shell that calls this has it
    from IPython.display import display  # noqa: PLC0415

    changed: dict[int, tuple[str, str]] = {}

    def whole(line: str) -> CellAnswer:
        with _as_errors_of_the_shell(WrongUse):
            _level(line)
            history = _history(shell, changed)
            return decided([*history.values()], os.getcwd(), numbers=[*history])

    def cell(line: str, text: str) -> None:
        python = _python(shell, text)
        with _as_errors_of_the_shell(WrongUse):
            answer = decided([*_history(shell, changed).values(), python], os.getcwd(), level=_level(line))
        display(answer)  # type: ignore[no-untyped-call]
        if answer.text == python:
            shell.run_cell(text)
            return
        number = len(shell.history_manager.input_hist_raw) - 1
        typed = shell.history_manager.input_hist_raw[number]
        if typed.partition("\n")[2].rstrip("\n") == text.rstrip("\n"):  # false for a cell that is not stored
            changed[number] = (typed, answer.text)
        shell.run_cell(answer.text)

    shell.register_magic_function(whole, "line", "terra")
    shell.register_magic_function(cell, "cell", "terra")


@contextlib.contextmanager
def _as_errors_of_the_shell(wrong_use: type[Exception]) -> Iterator[None]:
    """Prints errors of a call or a cell as one line, without a traceback."""
    try:
        yield
    except TerraError as error:
        raise wrong_use(str(error)) from None


def _level(line: str) -> Level | None:
    """The level of the changes to make, or None for none.

    Raises:
        UsageError: the arguments are invalid.
    """
    words = shlex.split(line)
    level = Level.SAFE
    if "--level" in words:
        at = words.index("--level")
        named = words[at + 1] if at + 1 < len(words) else ""
        if named not in [each.value for each in Level]:
            raise UsageError(f"--level: {named or 'nothing'} is none of {', '.join(each.value for each in Level)}")
        level = Level(named)
        del words[at : at + 2]
    unknown = [word for word in words if word != "--apply"]
    if unknown:
        raise UsageError(f"{unknown[0]}: %terra takes --apply and --level LEVEL")
    return level if "--apply" in words else None


def _history(shell: Any, changed: Mapping[int, tuple[str, str]]) -> dict[int, str]:
    """The cells that have run, as Python, by number, except those that do not parse, which failed when they ran.

    The running cell is excluded. `changed`: cells as typed, and the texts that ran instead, by number; numbers start
    again after `%reset`.
    """
    found = {}
    for number, raw in enumerate(shell.history_manager.input_hist_raw[:-1]):
        head, _, rest = raw.partition("\n")
        typed, ran = changed.get(number, ("", ""))
        text = ran if typed == raw and ran else _python(shell, rest if head.startswith(_MAGIC) else raw)
        if number and not _has_magic(text):
            found[number] = text
    return found


def _python(shell: Any, text: str) -> str:
    """A cell with IPython syntax replaced by the equivalent calls."""
    transformed: str = shell.transform_cell(text)
    return transformed if _has_magic(text) else text


def _has_magic(text: str) -> bool:
    """Whether a text is not plain Python."""
    try:
        ast.parse(text)
    except (SyntaxError, ValueError):
        return True
    return False


def decided(
    cells: Sequence[str], folder: str, *, level: Level | None = None, numbers: Sequence[int] = ()
) -> CellAnswer:
    """The answer about the functions of the last cell; with `numbers` from the shell, about those of all cells. With a
    level, the last cell is changed.

    Raises:
        SourceError: the cells are not Python.
    """
    inside = any(os.path.exists(os.path.join(folder, name)) for name in _PROJECT)
    file = os.path.join(folder, _NAME)
    session = Session(folder if inside else file, load_config(None, folder) if inside else Config())
    path = display_path(file)
    document = json.dumps(
        {
            "cells": [{"cell_type": "code", "metadata": {}, "source": text} for text in cells],
            "metadata": {},
            "nbformat": 4,
            "nbformat_minor": 5,
        }
    )
    source = source_from_text(document, path)
    session.set_buffer(path, source)
    snapshot = session.snapshot(path)
    if path in snapshot.errors:
        raise SourceError(path, snapshot.errors[path].message)
    last = len(cells) - 1
    decisions = [each for each in snapshot.decisions.get(path, ()) if numbers or _cell_of(source, each.line) == last]
    findings = [each for each in snapshot.findings.get(path, ()) if numbers or _cell_of(source, each.span.line) == last]
    told = [each for each in decisions if _says_something(each)]
    changing = {each.line for each in told if each.action is not Action.NONE}
    lines = [*map(function_text, told)]
    lines.extend(_told(source, each, numbers) for each in findings if not (each.fixable and each.span.line in changing))
    text, diff = (cells[last] if cells else ""), ""
    if level is not None and cells:
        text, said = _changed(source, decisions, level, cells)
        lines.extend(said)
        before, after = (each.splitlines(keepends=True) for each in (_ended(cells[last]), _ended(text)))
        diff = "".join(difflib.unified_diff(before, after, "cell", "cell, changed", n=1))
    return CellAnswer(tuple(lines) or ("nothing here computes with tensors",), text, diff)


def _says_something(decision: Decision) -> bool:
    return decision.tensor_computation or decision.hybrid or decision.action is not Action.NONE


def _cell_of(source: Source, line: int) -> int | None:
    assert source.notebook is not None
    place = source.notebook.cell_line(line)
    return None if place is None else place[0]


def _told(source: Source, finding: Finding, numbers: Sequence[int]) -> str:
    assert source.notebook is not None
    place = source.notebook.cell_line(finding.span.line)
    if place is None:
        return f"{finding.rule} {finding.message}"
    cell = f"In[{numbers[place[0]]}], " if numbers else ""
    return f"{cell}line {place[1]}: {finding.rule} {finding.message}"


def _changed(
    source: Source, decisions: Sequence[Decision], level: Level, cells: Sequence[str]
) -> tuple[str, tuple[str, ...]]:
    """The last cell after the changes. Changes that also affect another cell, such as an import, are reported but not made."""
    assert source.notebook is not None
    done = refactor_file(source, decisions, level)
    changed = source.notebook.cell_sources(done.new_text, source.path)
    if changed[:-1] != tuple(cells[:-1]):
        return cells[-1], ("nothing is changed: the change needs `import tensorflow as tf` first",)
    left = [change for change in done.changes if change.outcome is not Outcome.DONE]
    return changed[-1], tuple(f"{change.qualname} is not changed: {change.reason}" for change in left)


def _ended(text: str) -> str:
    return text if text.endswith("\n") else f"{text}\n"
