"""How long the language server takes: from an edit to the pulled diagnostics, hover, hints, and from its start to the first diagnostics.

    python benchmarks/lsp.py [--edits N] [--soak N] [FILE ...]

Measured from outside, through a real client over standard input and output, in wall-clock seconds. Without FILE: a made-up file of
about 2,000 lines, and a made-up workspace of 100 files in one chain of imports. `--soak N` makes N random edits instead, compares the
answer with that of a cold analysis now and then, and watches the server's memory. Prints a table.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
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


def made_file(lines: int) -> str:
    """A module of about that many lines."""
    blocks = lines // BLOCK.count("\n")
    return "import tensorflow as tf\n" + "".join(BLOCK.format(number=number) for number in range(blocks))


def made_workspace(folder: Path, files: int) -> Path:
    """A folder of modules of some 100 lines, each of which imports the one before; gives the last."""
    for number in range(files):
        before = f"from m{number - 1} import train0 as before\n\nbefore(tf.ones([4, 8]), 0.5)\n" if number else ""
        (folder / f"m{number}.py").write_text(made_file(110) + before)
    return folder / f"m{files - 1}.py"


class Editor:
    """A client with one file open."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.uri = file.as_uri()
        self.text = file.read_text(encoding="utf-8")
        self.version = 1
        self.client = LanguageClient("benchmark", "1")
        self.published = asyncio.Event()

    async def start(self) -> float:
        """Starts the server and opens the file; gives the seconds until the first diagnostics."""
        started = time.perf_counter()
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "XDG_CACHE_HOME": tempfile.mkdtemp()}
        await self.client.start_io(sys.executable, "-m", "lsp_server", env=environment)
        text = types.TextDocumentClientCapabilities(diagnostic=types.DiagnosticClientCapabilities())
        folder = self.file.parent.as_uri()
        await self.client.initialize_async(
            types.InitializeParams(
                capabilities=types.ClientCapabilities(text_document=text),
                root_uri=folder,
                workspace_folders=[types.WorkspaceFolder(folder, "benchmark")],
            )
        )
        self.client.initialized(types.InitializedParams())
        item = types.TextDocumentItem(self.uri, "python", 1, self.text)
        self.client.text_document_did_open(types.DidOpenTextDocumentParams(item))
        await self.pull()
        return time.perf_counter() - started

    async def stop(self) -> None:
        await self.client.shutdown_async(None)
        self.client.exit(None)
        await self.client.stop()

    def edit(self, line: int, start: int, end: int, text: str) -> None:
        """Replaces a part of a line (from 0), as a key does."""
        lines = self.text.splitlines(keepends=True)
        lines[line] = lines[line][:start] + text + lines[line][end:]
        self.text = "".join(lines)
        self.version += 1
        where = types.Range(types.Position(line, start), types.Position(line, end))
        self.client.text_document_did_change(
            types.DidChangeTextDocumentParams(
                types.VersionedTextDocumentIdentifier(self.version, self.uri),
                [types.TextDocumentContentChangePartial(where, text)],
            )
        )

    async def pull(self) -> Any:
        return await self.client.text_document_diagnostic_async(
            types.DocumentDiagnosticParams(types.TextDocumentIdentifier(self.uri))
        )


async def timed(work: Callable[[], Awaitable[Any]]) -> float:
    """Seconds that something takes."""
    started = time.perf_counter()
    await work()
    return time.perf_counter() - started


def row(name: str, seconds: list[float]) -> None:
    """One line of the table: median and 95th percentile, in milliseconds."""
    ordered = sorted(seconds)
    high = ordered[min(len(ordered) - 1, int(len(ordered) * 0.95))]
    print(f"  {name:<34} {statistics.median(seconds) * 1000:8.0f} {high * 1000:8.0f}   ({len(seconds)})", flush=True)


async def measure(file: Path, edits: int) -> None:
    """The table of one file."""
    editor = Editor(file)
    first = await editor.start()
    print(f"{file.name}: {editor.text.count(chr(10))} lines; milliseconds: median, 95th percentile (number)")
    row("start to first diagnostics", [first])
    choose = random.Random(1)
    lines = editor.text.splitlines()
    bodies = [
        number for number, line in enumerate(lines) if line.startswith("        ") and line.rstrip().endswith(")")
    ]
    diagnosing, hovering, hinting = [], [], []
    document = types.TextDocumentIdentifier(editor.uri)
    for number in range(edits):
        line = choose.choice(bodies)
        end = len(editor.text.splitlines()[line])
        editor.edit(line, end, end, " " if number % 2 else "  # key")
        diagnosing.append(await timed(editor.pull))
        asked = types.HoverParams(document, types.Position(line, 12))
        hovering.append(await timed(partial(editor.client.text_document_hover_async, asked)))
        screen = types.Range(types.Position(max(0, line - 25), 0), types.Position(line + 25, 0))
        wanted = types.InlayHintParams(document, screen)
        hinting.append(await timed(partial(editor.client.text_document_inlay_hint_async, wanted)))
    row("edit in a body to diagnostics", diagnosing)
    row("hover", hovering)
    row("inlay hints of a screen", hinting)
    heads = [number for number, line in enumerate(lines) if line.startswith("def ")]
    changing = []
    for _ in range(max(3, edits // 10)):
        line = choose.choice(heads)
        editor.edit(line, 0, 0, "\n")
        changing.append(await timed(editor.pull))
    row("edit between functions", changing)
    await editor.stop()


def memory_of(process: int) -> int:
    """Resident memory in MB; 0 where the system does not tell."""
    try:
        pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    except OSError:
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE") // 1_000_000


async def soak(file: Path, edits: int) -> None:
    """Random edits; every hundredth time the answer is compared with a cold server's."""
    editor = Editor(file)
    await editor.start()
    choose = random.Random(2)
    original = editor.text
    process = editor.client._server.pid
    print(f"{file.name}: {edits} random edits")
    for number in range(1, edits + 1):
        lines = editor.text.splitlines()
        line = choose.randrange(len(lines))
        column = choose.randrange(len(lines[line]) + 1)
        added = choose.choice(["x", "(", ")", " ", "1", ":", "#", ",", "=", "", "", ""])
        editor.edit(line, column, column + (0 if added else 1), added)
        if number % 25 == 0:
            editor.version += 1
            editor.text = original
            editor.client.text_document_did_change(
                types.DidChangeTextDocumentParams(
                    types.VersionedTextDocumentIdentifier(editor.version, editor.uri),
                    [types.TextDocumentContentChangeWholeDocument(original)],
                )
            )
        if number % 5 == 0:
            await editor.pull()
        if number % max(1, edits // 10) == 0:
            warm = await editor.pull()
            cold = Editor(file)
            cold.text = editor.text
            await cold.start()
            same = warm.items == (await cold.pull()).items
            await cold.stop()
            print(f"  {number:>6}: {'equal' if same else 'DIFFERENT'}, {memory_of(process)} MB", flush=True)
    await editor.stop()


def main() -> None:
    """Measures what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--edits", type=int, default=60)
    parser.add_argument("--soak", type=int, default=0)
    parser.add_argument("files", nargs="*", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        one, many = Path(folder, "one"), Path(folder, "many")
        one.mkdir()
        many.mkdir()
        (one / "big.py").write_text(made_file(2000))
        files = [file.absolute() for file in options.files] or [one / "big.py", made_workspace(many, 100)]
        for file in files:
            asyncio.run(soak(file, options.soak) if options.soak else measure(file, options.edits))


if __name__ == "__main__":
    main()
