"""Response times of the language server: from its start to the first diagnostics, and from an edit to the pulled diagnostics,
hover and hints.

    python benchmarks/lsp.py [--edits N] [--starts N] [FILE ...]
    python benchmarks/lsp.py --soak N [--seed N] [--every N] [FOLDER]

Measured from outside, through a real client over standard input and output: wall-clock time, and the server's
processor time for it (if available; more meaningful on a busy machine). Without FILE: a generated file of about 2,000
lines, a generated workspace of 100 files in one chain of imports, and one with a file that 500 others import; before
them, starts on a small workspace without a cache. Prints a table.

`--soak N` makes N random edits in the files of a folder instead (three of ten during the analysis of the previous
one), requests answers after each, regularly compares them (diagnostics, hints, lenses, actions) with those of a
second server without any state, and records the server's memory.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import re
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any

from lsprotocol import types
from pygls.lsp.client import LanguageClient

ROOT = Path(__file__).parents[1]
BLOCK = '''
class Layer{number}:
    """A layer of the made-up model."""

    def __init__(self, size):
        self.size = size
        self.weights = tf.Variable(tf.zeros([size, size]))
        self.bias = tf.Variable(tf.zeros([size]))

    def call(self, inputs, training=False):
        hidden = tf.matmul(inputs, self.weights) + self.bias
        if training:
            hidden = tf.nn.dropout(hidden, 0.5)
        for _ in range(3):
            hidden = tf.nn.relu(hidden * 2.0)
        return hidden


def train{number}(batch, rate):
    layer = Layer{number}(8)
    with tf.GradientTape() as tape:
        outputs = layer.call(batch, training=True)
        loss = tf.reduce_mean(tf.square(outputs))
    gradients = tape.gradient(loss, [layer.weights, layer.bias])
    layer.weights.assign_sub(rate * gradients[0])
    print("loss", float(loss))
    return loss


train{number}(tf.ones([32, 8]), 0.1)
'''


IMPORTER = """\
import tensorflow as tf

from base import Layer0, train0


def step(batch):
    layer = Layer0(8)
    hidden = layer.call(batch)
    return tf.reduce_sum(hidden) + train0(batch, 0.1)


def main():
    print(step(tf.ones([4, 8])))


if __name__ == "__main__":
    main()
"""


def made_file(lines: int) -> str:
    """A generated module of about that many lines."""
    blocks = lines // BLOCK.count("\n")
    return "import tensorflow as tf\n" + "".join(BLOCK.format(number=number) for number in range(blocks))


def made_workspace(folder: Path, files: int) -> Path:
    """A folder of modules of about 100 lines, each of which imports the one before; returns the last."""
    folder.mkdir()
    for number in range(files):
        before = f"from m{number - 1} import train0 as before\n\nbefore(tf.ones([4, 8]), 0.5)\n" if number else ""
        (folder / f"m{number}.py").write_text(made_file(110) + before)
    return folder / f"m{files - 1}.py"


def made_importers(folder: Path, files: int) -> Path:
    """A folder of modules that all import the same one, create its objects and call its functions; returns that one."""
    folder.mkdir()
    (folder / "base.py").write_text(made_file(110))
    for number in range(files):
        (folder / f"m{number}.py").write_text(IMPORTER)
    return folder / "base.py"


class Editor:
    """A client with a folder and open texts; without a cache folder it has an empty cache.

    With `refreshes` it pulls diagnostics again on the server's request, like VS Code, and so gets first answers about
    large projects.
    """

    def __init__(self, folder: Path, cache: str | None = None, *, refreshes: bool = False) -> None:
        self.folder = folder
        self.refreshes = refreshes
        self.cache = cache or tempfile.mkdtemp()
        self.texts: dict[Path, str] = {}
        self.version = 1
        self.client = LanguageClient("benchmark", "1")
        self.refreshed = asyncio.Event()
        self.client.feature(types.WORKSPACE_DIAGNOSTIC_REFRESH)(lambda _: self.refreshed.set())

    async def start(self) -> None:
        """Starts the server."""
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "XDG_CACHE_HOME": self.cache}
        await self.client.start_io(sys.executable, "-m", "lsp_server", env=environment)
        text = types.TextDocumentClientCapabilities(diagnostic=types.DiagnosticClientCapabilities())
        uri = self.folder.as_uri()
        await self.client.initialize_async(
            types.InitializeParams(
                capabilities=types.ClientCapabilities(
                    text_document=text,
                    workspace=types.WorkspaceClientCapabilities(
                        diagnostics=types.DiagnosticWorkspaceClientCapabilities(refresh_support=self.refreshes)
                    ),
                ),
                root_uri=uri,
                workspace_folders=[types.WorkspaceFolder(uri, "benchmark")],
                initialization_options={"settings": {"semanticTokens": {"enable": True}}},
            )
        )
        self.client.initialized(types.InitializedParams())

    async def stop(self) -> None:
        """Ends the server."""
        await self.client.shutdown_async(None)
        self.client.exit(None)
        await self.client.stop()

    @property
    def process(self) -> int:
        """The server's process."""
        return int(self.client._server.pid)

    def open(self, file: Path) -> None:
        """Opens a file."""
        self.texts[file] = file.read_text(encoding="utf-8")
        item = types.TextDocumentItem(file.as_uri(), "python", self.version, self.texts[file])
        self.client.text_document_did_open(types.DidOpenTextDocumentParams(item))

    def edit(self, file: Path, line: int, start: int, end: int, text: str) -> None:
        """Replaces a part of a line (from 0), like a keystroke; an end beyond the line includes its line break."""
        lines = self.texts[file].splitlines(keepends=True)
        old = lines[line]
        lines[line] = old[:start] + text + old[end:]
        self.texts[file] = "".join(lines)
        last = types.Position(line + 1, 0) if old[:end].endswith("\n") else types.Position(line, _units(old[:end]))
        where = types.Range(types.Position(line, _units(old[:start])), last)
        self._change(file, types.TextDocumentContentChangePartial(where, text))

    def replace(self, file: Path, text: str) -> None:
        """Replaces a whole text."""
        self.texts[file] = text
        self._change(file, types.TextDocumentContentChangeWholeDocument(text))

    def _change(self, file: Path, change: types.TextDocumentContentChangeEvent) -> None:
        self.version += 1
        document = types.VersionedTextDocumentIdentifier(self.version, file.as_uri())
        self.client.text_document_did_change(types.DidChangeTextDocumentParams(document, [change]))

    async def pull(self, file: Path) -> Any:
        """The diagnostics of a file."""
        document = types.TextDocumentIdentifier(file.as_uri())
        return await self.client.text_document_diagnostic_async(types.DocumentDiagnosticParams(document))

    async def answers(self) -> dict[str, object]:
        """All answers about the open files; position requests are made at each function."""
        found: dict[str, object] = {}
        for file, text in self.texts.items():
            document = types.TextDocumentIdentifier(file.as_uri())
            items = found[f"{file.name}, diagnostics"] = (await self.pull(file)).items
            if any(item.code == "not-analysed" for item in items):
                continue  # hints and lenses are those of the last text that parsed
            whole = types.Range(types.Position(0, 0), types.Position(text.count("\n") + 1, 0))
            asked = types.InlayHintParams(document, whole)
            found[f"{file.name}, hints"] = await self.client.text_document_inlay_hint_async(asked)
            lenses = types.CodeLensParams(document)
            found[f"{file.name}, lenses"] = await self.client.text_document_code_lens_async(lenses)
            found[f"{file.name}, actions"] = await self._actions(file, document)
            tokens = types.SemanticTokensParams(document)
            found[f"{file.name}, tokens"] = await self.client.text_document_semantic_tokens_full_async(tokens)
            found[f"{file.name}, calls"] = await self._calls(file, document)
        return found

    async def _calls(self, file: Path, document: types.TextDocumentIdentifier) -> list[object]:
        """The calls along which effects propagate, to and from each `def`."""
        found: list[object] = []
        for number, line in enumerate(self.texts[file].splitlines()):
            if line.lstrip().startswith("def "):
                place = types.CallHierarchyPrepareParams(document, types.Position(number, line.index("def ") + 4))
                for item in await self.client.text_document_prepare_call_hierarchy_async(place) or ():
                    to, come = (
                        types.CallHierarchyIncomingCallsParams(item),
                        types.CallHierarchyOutgoingCallsParams(item),
                    )
                    found.append(item)
                    found.append(await self.client.call_hierarchy_incoming_calls_async(to))
                    found.append(await self.client.call_hierarchy_outgoing_calls_async(come))
        return found

    async def _actions(self, file: Path, document: types.TextDocumentIdentifier) -> list[object]:
        """The code actions at each `def`, with their edits."""
        context = types.CodeActionContext([], trigger_kind=types.CodeActionTriggerKind.Invoked)
        found: list[object] = []
        for number, line in enumerate(self.texts[file].splitlines()):
            if line.lstrip().startswith("def "):
                place = types.Range(types.Position(number, 0), types.Position(number, 0))
                asked = types.CodeActionParams(document, place, context)
                found.append(await self.client.text_document_code_action_async(asked))
        return found

    async def forget(self) -> None:
        """Makes the server drop all its state."""
        await self.client.workspace_execute_command_async(types.ExecuteCommandParams("terra-refactor.clearCache"))


def _units(text: str) -> int:
    """The length of a text in the protocol's units."""
    return len(text.encode("utf-16-le")) // 2


def processor_time(process: int) -> float:
    """Processor seconds of a process, including ended threads; 0 if not available."""
    try:
        return time.clock_gettime(~process << 3 | 2)  # the clock of another process, see clock_getcpuclockid(3)
    except (AttributeError, OSError):
        return 0.0


def memory_of(process: int) -> int:
    """Resident memory in MB; 0 if not available."""
    try:
        pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    except OSError:
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE") // 1_000_000


class Timings:
    """The times of one kind of request: wall-clock time, and processor time of the server."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.clock: list[float] = []
        self.processor: list[float] = []

    async def time(self, process: int, work: Callable[[], Awaitable[object]]) -> None:
        """Runs some work, and records its time."""
        before, started = processor_time(process), time.perf_counter()
        await work()
        self.clock.append(time.perf_counter() - started)
        self.processor.append(processor_time(process) - before)

    def print(self) -> None:
        """One line of the table, in milliseconds."""
        clock, processor = (_middle_and_high(seconds) for seconds in (self.clock, self.processor))
        print(f"  {self.name:<34} {clock} {processor}   ({len(self.clock)})", flush=True)


def _middle_and_high(seconds: list[float]) -> str:
    ordered = sorted(seconds)
    high = ordered[min(len(ordered) - 1, int(len(ordered) * 0.95))]
    return f"{statistics.median(ordered) * 1000:8.0f} {high * 1000:8.0f}"


def head(title: str) -> None:
    """The header of a table."""
    print(f"{title}; milliseconds of the clock and of the server's processor: median, 95th percentile (number)")


async def measure_starts(file: Path, starts: int) -> None:
    """The time from the start of a server to the diagnostics of a file."""
    timings = Timings("start to first diagnostics")
    for number in range(starts + 1):
        editor = Editor(file.parent)
        started = time.perf_counter()
        await editor.start()
        editor.open(file)
        await editor.pull(file)
        if number:  # the first start after a change of our own code compiles it
            timings.clock.append(time.perf_counter() - started)
            timings.processor.append(processor_time(editor.process))
        await editor.stop()
    files = list(file.parent.glob("*.py"))
    head(f"{len(files)} files, {sum(each.read_text().count(chr(10)) for each in files)} lines")
    timings.print()


async def measure(file: Path, edits: int) -> None:
    """The table of one file."""
    editor = Editor(file.parent, refreshes=True)
    first = Timings("start to first diagnostics")

    async def begin() -> None:
        await editor.start()
        editor.open(file)
        await editor.pull(file)

    await first.time(0, begin)
    first.processor = [processor_time(editor.process)]
    head(f"{file.name}: {editor.texts[file].count(chr(10))} lines")
    first.print()
    choose = random.Random(1)
    hovering, hinting = Timings("hover"), Timings("inlay hints of a screen")
    pull = partial(editor.pull, file)

    def ends() -> list[int]:
        """The lines that end a statement in a function."""
        lines = editor.texts[file].splitlines()
        return [number for number, line in enumerate(lines) if re.match(r" {8}.*\)(?: |  # key)*$", line)]

    def comment() -> int:
        line = choose.choice(ends())
        end = len(editor.texts[file].splitlines()[line])
        editor.edit(file, line, end, end, " " if choose.random() < 0.5 else "  # key")
        return line

    def expression() -> int:
        """Changes a number in a function, or the argument of a call."""
        lines = editor.texts[file].splitlines()
        places = [(number, found) for number, line in enumerate(lines) for found in re.finditer(r"\b\d\.\d\b", line)]
        line, found = choose.choice([place for place in places if lines[place[0]].startswith(" " * 8)])
        new = choose.choice(["0.5", "1.5", "(2.0 + 1.0)", "-1.0"])
        editor.edit(file, line, *found.span(), new)
        return line

    def statement() -> int:
        """Adds a statement in a function, between two others."""
        line = choose.choice(ends())
        before = editor.texts[file].splitlines()[line]
        indent = before[
            : len(before) - len(before.lstrip())
        ]  # removing more would end the block, and the text would no longer parse
        new = choose.choice(["tf.debugging.assert_all_finite(1.0, 'x')", "scale = tf.ones([2, 3]) * 2.0", "count = 1"])
        editor.edit(file, line, 0, 0, f"{indent}{new}\n")
        return line

    def gap() -> int:
        """Adds an empty line between functions: everything below moves."""
        lines = editor.texts[file].splitlines()
        line = choose.choice([number for number, text in enumerate(lines) if text.startswith("def ")])
        editor.edit(file, line, 0, 0, "\n")
        return line

    kinds = {
        "a comment in a function": comment,
        "an expression in a function": expression,
        "a new statement in a function": statement,
        "a line between functions": gap,
    }
    document = types.TextDocumentIdentifier(file.as_uri())
    for name, make in kinds.items():
        timings = Timings(f"{name}, to diagnostics")
        for _ in range(edits):
            line = make()
            await timings.time(editor.process, pull)
            asked = types.HoverParams(document, types.Position(line, 12))
            await hovering.time(editor.process, partial(editor.client.text_document_hover_async, asked))
            screen = types.Range(types.Position(max(0, line - 25), 0), types.Position(line + 25, 0))
            wanted = types.InlayHintParams(document, screen)
            await hinting.time(editor.process, partial(editor.client.text_document_inlay_hint_async, wanted))
        timings.print()
    hovering.print()
    hinting.print()
    await editor.stop()


_HASTE = 0.3
"""Share of the random edits followed by the next one during their analysis."""
LINES = ("print('x')", "x = 1", "x = tf.zeros([2, 3])", "items = [1, 2]", "raise ValueError", "pass", "@tf.function")


def random_edit(editor: Editor, file: Path, choose: random.Random) -> None:
    """A random edit: a character anywhere, a changed number or name, an added or removed line, or a comment."""
    text = editor.texts[file]
    lines = text.splitlines() or [""]
    at = choose.randrange(len(lines))
    line = lines[at]
    kind = choose.randrange(8)
    numbers = list(re.finditer(r"\b\d+(?:\.\d+)?\b", line))
    names = list(re.finditer(r"\b[A-Za-z_]{1,16}\b", line))
    if kind <= 1 and numbers:
        editor.edit(file, at, *choose.choice(numbers).span(), choose.choice(["0", "1", "7", "2.5"]))
    elif kind <= 3 and names:
        other = choose.choice(re.findall(r"\b[A-Za-z_]{1,16}\b", text))
        editor.edit(file, at, *choose.choice(names).span(), other)
    elif kind == 4:
        indent = line[: len(line) - len(line.lstrip())]
        editor.edit(file, at, 0, 0, f"{indent}{choose.choice(LINES)}\n")
    elif kind == 5 and len(lines) > 1:
        editor.edit(file, at, 0, len(line) + 1, "")
    elif kind == 6:
        editor.edit(file, at, len(line), len(line), "  # a comment")
    else:
        column = choose.randrange(len(line) + 1)
        added = choose.choice(["x", "(", ")", " ", "1", ":", "#", ",", "=", "é", "🦆", "", "", ""])
        editor.edit(file, at, column, column + (0 if added else 1), added)


async def soak(folder: Path, edits: int, seed: int, every: int) -> int:
    """Random edits in the files of a folder, compared with a server without state; returns the number of different answers."""
    cache = tempfile.mkdtemp()  # of both: diagnostics link to pages of rules in it
    warm, cold = Editor(folder, cache), Editor(folder, cache)
    files = sorted(folder.glob("*.py"))
    for editor in (warm, cold):
        await editor.start()
        for file in files:
            editor.open(file)
    original = dict(warm.texts)
    choose = random.Random(seed)
    compared = different = 0
    hasty: list[asyncio.Future[Any]] = []
    print(f"{folder.name}: {len(files)} files, {edits} random edits from seed {seed}", flush=True)
    for number in range(1, edits + 1):
        file = choose.choice(files)
        random_edit(warm, file, choose)
        if number % 20 == 0:  # otherwise hardly any text would still be valid Python
            for each in files:
                if warm.texts[each] != original[each]:
                    warm.replace(each, original[each])
        if choose.random() < _HASTE:
            hasty.append(asyncio.ensure_future(warm.pull(file)))
            await asyncio.sleep(choose.random() / 10)
        else:
            await warm.pull(file)
        if number % every == 0:
            await asyncio.gather(*hasty)
            hasty.clear()
            for each in files:
                if cold.texts[each] != warm.texts[each]:
                    cold.replace(each, warm.texts[each])
            await cold.forget()
            mine, its = await warm.answers(), await cold.answers()
            compared += 1
            if mine != its:
                different += 1
                kept = Path(tempfile.mkdtemp(prefix="terra-soak-"))
                for each, text in warm.texts.items():
                    (kept / each.name).write_text(text, encoding="utf-8")
                names = ", ".join(name for name, answer in mine.items() if answer != its[name])
                (kept / "answers.txt").write_text(f"{mine}\n\n{its}\n", encoding="utf-8")
                print(f"  {number:>6}: DIFFERENT in {names}; the texts are in {kept}", flush=True)
        if number % max(1, edits // 10) == 0:
            print(
                f"  {number:>6}: {compared - different} of {compared} equal, {memory_of(warm.process)} MB", flush=True
            )
    await warm.stop()
    await cold.stop()
    return different


def main() -> int:
    """Runs the requested measurements; returns 1 if an answer differed."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--edits", type=int, default=60, help="edits of each kind")
    parser.add_argument("--starts", type=int, default=5)
    parser.add_argument("--soak", type=int, default=0)
    parser.add_argument("--seed", type=int, default=2)
    parser.add_argument("--every", type=int, default=10, help="how many edits of a soak go to one comparison")
    parser.add_argument("places", nargs="*", type=Path)
    options = parser.parse_args()
    places: list[Path] = [place.absolute() for place in options.places]
    with tempfile.TemporaryDirectory() as temporary:
        if options.soak:
            program = places[0] if places else ROOT / "corpus/programs/vae"
            folder = Path(temporary, program.name)
            shutil.copytree(program, folder)
            return min(1, asyncio.run(soak(folder, options.soak, options.seed, options.every)))
        if not places:
            asyncio.run(measure_starts(made_workspace(Path(temporary, "small"), 5), options.starts))
            one = Path(temporary, "one")
            one.mkdir()
            (one / "big.py").write_text(made_file(2000))
            places = [
                one / "big.py",
                made_workspace(Path(temporary, "many"), 100),
                made_importers(Path(temporary, "importers"), 500),
            ]
        for file in places:
            asyncio.run(measure(file, options.edits))
    return 0


if __name__ == "__main__":
    sys.exit(main())
