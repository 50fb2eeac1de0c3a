"""Damaged files, and invariants that hold for all files: mutants of real sources, and one trial of each.

Computes: a mutant of a text (tokens deleted, doubled and exchanged, colliding names, other indentation, joined lines,
truncated bytes, unusual characters, deep nesting), and the invariants violated for a file. Needs: texts and a random
generator. Gives: `mutant_of`, `trial`. Ignores: the content of the analysis's answers. The same seed gives the same
mutants of the same texts.
"""

from __future__ import annotations

import ast
import json
import keyword
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Final

from terra_refactor.classify.decision import Level
from terra_refactor.config import Config
from terra_refactor.errors import SourceError
from terra_refactor.ide.code_actions import code_actions
from terra_refactor.ide.code_lens import code_lenses
from terra_refactor.ide.diagnostics import diagnostics
from terra_refactor.ide.hover import hover
from terra_refactor.ide.inlay_hints import inlay_hints
from terra_refactor.ide.session import Session
from terra_refactor.report.schema import build_report
from terra_refactor.report.to_json import to_json
from terra_refactor.report.to_sarif import to_sarif
from terra_refactor.syntax.source import source_from_bytes
from terra_refactor.workspace.results import FixReport
from terra_refactor.workspace.workspace import Options, fix

_TOKEN: Final = re.compile(r"\w+|[^\w\s]|[^\S\n]+|\n")
_NAME: Final = re.compile(r"\b[A-Za-z_]\w*\b")
_KEYWORDS: Final = frozenset(keyword.kwlist)
_ODD: Final = (
    "\f",
    "\ufeff",
    "\r",
    "\r\n",
    "\0",
    "\\\n",
    "\t",
    "\u2028",
    "\x85",
    "\ud800",
    "é",
    "𝕩",
    ";",
    ":",
    '"""',
    "'",
    "{",
    "#",
    "@",
)
_LINES: Final = (
    "{a} = {a}", "{a} = {b}", "{b} = {a}", "{a}, {b} = {b}, {a}", "{a} += {a}", "{a} = {a}.{b}", "{a} = {a}[{b}]", "{a} = {a}.shape",
    "{a} = [{a}, {b}]", "{a} = {b}({a})", "{a} = lambda: {a}", "for {a} in {a}: {b} = {a}", "while {a}: {a} = {b}", "del {a}",
    "global {a}", "nonlocal {a}", "return {a}", "yield {a}", "import {a}", "from {a} import *", "def {a}({b}): return {a}({b})",
    "class {a}({a}): pass", "with {a} as {a}: pass", "try: {a}\nexcept {a} as {b}: pass", "{a} = {a} + {a}", "{a} = ({b} := {a})",
    "match {a}:\n case {b}: {a} = {b}", "{a} = tf.reshape({a}, {a}.shape)", "@{a}", "@tf.function", "async def {a}(): await {a}",
    "{a}.{b} = {a}", "{a}[{a}] = {a}", "{a} = {{{a}: {b}}}", "{a} = f'{{{a}:{{{b}}}}}'", "{a} = {a} if {a} else {b}",
)  # fmt: skip
"""Lines inserted between others, with names of the file: most of them make a name depend on itself."""

LEVELS: Final = (Level.SAFE, Level.SPECULATIVE, Level.COEXEC)


def mutant_of(text: str, random: Random, others: Sequence[str] = ()) -> bytes:
    """A mutant of a text, by one to four changes; `others` are texts from which parts are taken."""
    keeps_parsing = random.random() < 0.8  # most mutants should get past the parser
    for _ in range(random.choice((1, 1, 2, 3, 4))):
        for _attempt in range(6):
            changed = random.choices(_CHANGES, _WEIGHTS)[0](text, random, others)
            if not keeps_parsing or _parses(changed.encode("utf-8", "surrogatepass")):
                text = changed
                break
    data = text.encode("utf-8", "surrogatepass")
    match random.randrange(25):
        case 0:
            return data[: random.randrange(len(data) + 1)]
        case 1 if data:
            at = random.randrange(len(data))
            return data[:at] + random.randbytes(random.randrange(1, 5)) + data[at + random.randrange(3) :]
        case 2:
            return random.choice(_HEADS) + data
        case _:
            return data


_HEADS: Final = (
    b"\xef\xbb\xbf", b"\xff\xfe", b"# coding: rot13\n", b"# coding: hex\n", b"# coding: utf-7\n", b"# coding: latin-1\n", b"\f", b" ",
    b"# coding: no-such\n", b"# coding: utf-16\n", b"#!/bin/sh\r# coding: punycode\n", b"# coding: idna\n", b"# coding: undefined\n",
    b"# coding: unicode_escape\n", b"# coding: utf-8-sig\n", b"# coding: shift_jis\n", b"# coding: zlib\n", b"# coding: mbcs\n",
)  # fmt: skip


def _tokens(text: str, random: Random, others: Sequence[str]) -> str:
    tokens = _TOKEN.findall(text)
    if not tokens:
        return text
    at, to = random.randrange(len(tokens)), random.randrange(len(tokens))
    match random.randrange(5):
        case 0:
            del tokens[at]
        case 1:
            tokens.insert(at, tokens[at])
        case 2:
            tokens[at], tokens[to] = tokens[to], tokens[at]
        case 3:
            tokens[at] = tokens[to]
        case _:
            del tokens[at : at + random.randrange(2, 9)]
    return "".join(tokens)


def _names_of(text: str) -> list[str]:
    return [name for name in _NAME.findall(text) if name not in _KEYWORDS]


def _one_name(text: str, random: Random, others: Sequence[str]) -> str:
    places = [found for found in _NAME.finditer(text) if found.group() not in _KEYWORDS]
    if not places:
        return text
    place, new = random.choice(places), random.choice(places).group()
    return text[: place.start()] + new + text[place.end() :]


def _near_name(text: str, random: Random, others: Sequence[str]) -> str:
    """Replaces a name by a nearby one, which is likely a variable of the same function."""
    places = [found for found in _NAME.finditer(text) if found.group() not in _KEYWORDS]
    if len(places) < 2:
        return text
    at = random.randrange(len(places))
    new = places[min(len(places) - 1, max(0, at + random.randint(-6, 6)))].group()
    return text[: places[at].start()] + new + text[places[at].end() :]


def _all_of_a_name(text: str, random: Random, others: Sequence[str]) -> str:
    names = sorted(set(_names_of(text)))
    if not names:
        return text
    old, new = random.choice(names), random.choice(names)
    return re.sub(rf"\b{re.escape(old)}\b", lambda _: new, text)


def _new_line(text: str, random: Random, others: Sequence[str]) -> str:
    names = _names_of(text) or ["x"]
    lines = text.split("\n")
    at = random.randrange(len(lines))
    near = _names_of("\n".join(lines[max(0, at - 4) : at + 4])) or names
    indent = lines[at][: len(lines[at]) - len(lines[at].lstrip())]
    made = random.choice(_LINES).format(a=random.choice(near), b=random.choice((*near, *random.sample(names, 1))))
    lines.insert(at, "\n".join(indent + line for line in made.split("\n")))
    return "\n".join(lines)


def _lines(text: str, random: Random, others: Sequence[str]) -> str:
    lines = text.split("\n")
    at, to = random.randrange(len(lines)), random.randrange(len(lines))
    count = random.randrange(1, 12)
    match random.randrange(6):
        case 0:
            del lines[at]
        case 1:
            lines[at], lines[to] = lines[to], lines[at]
        case 2:
            lines[to:to] = lines[at : at + count]
        case 3:
            lines[at : at + 2] = ["".join(lines[at : at + 2])]
        case 4:
            lines[at] = random.choice((" ", "    ", "\t")) + lines[at]
        case _:
            lines[at : at + count] = [line.removeprefix("    ") for line in lines[at : at + count]]
    return "\n".join(lines)


def _splice(text: str, random: Random, others: Sequence[str]) -> str:
    lines = text.split("\n")
    more = random.choice(others).split("\n") if others else lines
    at, start = random.randrange(len(lines)), random.randrange(len(more))
    lines[at:at] = more[start : start + random.randrange(1, 30)]
    return "\n".join(lines)


def _odd_character(text: str, random: Random, others: Sequence[str]) -> str:
    at = random.randrange(len(text) + 1)
    return text[:at] + random.choice(_ODD) + text[at:]


def _end(text: str, random: Random, others: Sequence[str]) -> str:
    ends = (
        "    # end\n",
        "\n    # a\n  # b\n\t# c",
        "\\\n",
        "   ",
        "\f\n \f",
        "\n\n    \n    # x\n\n",
        "# no newline",
        "\r\n  # r\r\n",
    )
    return (text.rstrip("\n") + "\n" if random.random() < 0.7 else text) + random.choice(ends)


def _newlines(text: str, random: Random, others: Sequence[str]) -> str:
    if random.random() < 0.4:
        return text.replace("\n", random.choice(("\r\n", "\r")))
    return re.sub("\n", lambda _: random.choice(("\n", "\r\n", "\r", "\n")), text)


def _deep(text: str, random: Random, others: Sequence[str]) -> str:
    """An unusually large expression, or many repetitions of a part of the file."""
    names = _names_of(text) or ["x"]
    a, b = random.choice(names), random.choice(names)
    size = random.choice((20, 190, 400, 1_500))
    lines = text.split("\n")
    at = random.randrange(len(lines))
    indent = lines[at][: len(lines[at]) - len(lines[at].lstrip())]
    made = random.choice(
        (
            lambda: f"{a} = " + " + ".join([a] * size),
            lambda: f"{a} = " + "(" * min(size, 190) + b + ")" * min(size, 190),
            lambda: f"{a} = {b}" + ".a" * size,
            lambda: f"{a} = {b}" + f"({a})" * size,
            lambda: f"{a} = " + "not " * size + b,
            lambda: f"{a} = [" + ", ".join(["1"] * size * 10) + "]",
            lambda: "\n".join(f"{indent}{a} = {a} + {a}" for _ in range(size)).lstrip(),
            lambda: "\n".join([f"if {a}: pass", *(f"{indent}elif {a} == {number}: {b} = {number}" for number in range(size))]),
            lambda: "\n".join(f"{indent}{a}_{number + 1} = {a}_{number} * {a}_{number}" for number in range(min(size, 400))).lstrip(),
            lambda: "\n".join(f"{indent}{' ' * depth}if {a}:" for depth in range(min(size, 90))).lstrip() + " pass",
            lambda: "\n".join(f"{indent}def f{n}({a}): return f{n + 1}({a}) + f{n}({b})" for n in range(min(size, 60))).lstrip(),
        )
    )()  # fmt: skip
    lines.insert(at, indent + made)
    return "\n".join(lines)


_CHANGES: Final[tuple[Callable[[str, Random, Sequence[str]], str], ...]] = (
    _tokens, _one_name, _near_name, _all_of_a_name, _new_line, _lines, _splice, _odd_character, _end, _newlines, _deep,
)  # fmt: skip
_WEIGHTS: Final = (3, 4, 6, 4, 8, 4, 3, 1, 1, 1, 1)


def mutant_of_notebook(document: str, random: Random, others: Sequence[str] = ()) -> bytes:
    """A mutant of a notebook: of a cell's source, or of the document itself."""
    if random.random() < 0.3:
        return mutant_of(document, random, others)
    data = json.loads(document)
    cells = [cell for cell in data.get("cells", ()) if cell.get("cell_type") == "code"]
    for cell in random.sample(cells, min(len(cells), 3)):
        source = "".join(cell["source"])
        changed = mutant_of(source, random, others).decode("utf-8", "replace")
        magic = random.choice(
            (
                "",
                "",
                "",
                "%time ",
                "!ls ",
                "%%bash\n",
                "x = !ls\n",
                "?print\n",
                "%%time\n",
                "f?\n",
                "%%writefile a.py\n",
            )
        )
        cell["source"] = random.choice(
            (changed.splitlines(keepends=True), magic + changed, [magic, changed], magic + changed, 3, None)
        )
    if random.random() < 0.1:
        data[random.choice(("nbformat", "cells", "metadata"))] = random.choice((3, None, [], {}, "x"))
    return json.dumps(data, indent=random.choice((None, 1, 2)), ensure_ascii=random.random() < 0.5).encode()


# --- what must hold ----------------------------------------------------------------------------------------------------------------


def trial(
    path: Path, original: str, data: bytes, stage: Callable[[str], None], level: Level = Level.SPECULATIVE
) -> Iterator[str]:
    """The invariants that the tool violates for one file; any exception is a violation. The file at `path` is written."""
    config = Config(level=level.value, min_ops=0, jobs=1)
    options = Options(config=config, use_cache=False)
    path.write_bytes(data)
    stage("analyze")
    fixed = fix([str(path)], options)
    yield from _answered(path, fixed)
    stage("print")
    to_json(build_report(fixed.report)).encode()
    to_sarif(fixed.report).encode()
    stage("fix again")
    yield from _stable(path, data, fixed, options, of_findings=False)
    stage("lint --fix")
    of_findings = fix([str(path)], options, of_findings=True)
    stage("lint --fix again")
    yield from _stable(path, data, of_findings, options, of_findings=True)
    stage("edit")
    path.write_bytes(data)
    yield from _edited(path, original, data, config)


def _answered(path: Path, fixed: FixReport) -> Iterator[str]:
    report = fixed.report
    answered = set(report.sources) | {error.path for error in report.errors}
    if path.name not in {Path(name).name for name in answered}:
        yield "the file is neither analysed nor among the errors"
    for error in report.errors:
        if "inside" in error.message:
            yield f"a bug costs the file: {error.message}"
    for decision in report.decisions:
        if "internal error" in decision.reason:
            yield f"a bug costs a function: {decision.reason}"
    for file in fixed.files:
        for change in file.changes:
            # a file whose encoding is not reversible is analysed, and reported as unchangeable
            if change.outcome.value == "failed" and "could not be changed" not in change.reason:
                yield f"a change failed: {change.reason}"


def _stable(path: Path, data: bytes, fixed: FixReport, options: Options, *, of_findings: bool) -> Iterator[str]:
    """The result of `fix` parses if the file did, and a second `fix` writes nothing."""
    path.write_bytes(data)
    for file in fixed.files:
        if not file.changed:
            continue
        new = file.source.encode(file.new_text)
        if file.source.notebook is None and _parses(data) and not _parses(new):
            yield "what fix writes does not parse"
            continue
        path.write_bytes(new)
        again = fix([str(path)], options, of_findings=of_findings)
        if any(error.path == file.source.path for error in again.report.errors):
            yield "what fix writes cannot be analysed"
        for second in again.files:
            if second.changed:
                yield "a second fix changes something"
    path.write_bytes(data)


def _parses(data: bytes) -> bool:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(data, "<mutant>", "exec", ast.PyCF_ONLY_AST, dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError, LookupError):
        return False
    return True


def _edited(path: Path, original: str, data: bytes, config: Config) -> Iterator[str]:
    """An editor's requests, for the old text and then for the new one."""
    try:
        mutant = source_from_bytes(data, str(path))
        before = source_from_bytes(original.encode("utf-8", "surrogatepass"), str(path))
    except SourceError:
        return
    session = Session(str(path), config)
    name = mutant.path
    for source in (before, mutant):
        session.set_buffer(name, replace(source, file=None))
        snapshot = session.snapshot(name)
        if name not in snapshot.paths and name not in snapshot.errors:
            yield "the editor gets no answer"
        diagnostics(snapshot, name)
        code_lenses(snapshot, name)
        lines = source.text.count("\n") + 1
        inlay_hints(snapshot, name, 1, lines)
        code_actions(snapshot, name, 1, lines)
        for line in range(1, min(lines, 60), 7):
            hover(snapshot, name, line, 9)
