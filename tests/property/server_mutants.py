"""The language server on mutants of real files: an editor's requests for invalid text.

Gives: `Server`, a client of a server in a process of its own, and `server_trial`, which opens a file, changes it to
its mutant, makes all of an editor's requests, runs the offered commands, and returns the violated invariants.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random
from types import TracebackType
from typing import Any, Final

ROOT: Final = Path(__file__).parents[2]
INTERNAL_ERROR: Final = -32603
_CAPABILITIES: Final = {
    "general": {"positionEncodings": ["utf-16"]},
    "workspace": {"applyEdit": True, "configuration": True, "workspaceEdit": {"documentChanges": True}},
    "textDocument": {
        "diagnostic": {},
        "codeAction": {"dataSupport": True, "resolveSupport": {"properties": ["edit"]}},
        "inlayHint": {"resolveSupport": {"properties": ["tooltip"]}},
    },
}


class StuckError(Exception):
    """A request without an answer."""


class Server:
    """A server, and the other end of its pipes."""

    def __init__(self, folder: Path, *, patience: float) -> None:
        self.folder, self.patience = folder, patience
        self.log = folder.parent / "server.log"
        self._number = 0
        self._answers: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()

    def __enter__(self) -> Server:
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "XDG_CACHE_HOME": str(self.folder.parent / "cache")}
        command = [sys.executable, "-m", "lsp_server"]
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                command, cwd=self.folder, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log
            )
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()
        uri = self.folder.as_uri()
        self.request(
            "initialize",
            {
                "processId": None,
                "rootUri": uri,
                "capabilities": _CAPABILITIES,
                "workspaceFolders": [{"uri": uri, "name": "x"}],
                "initializationOptions": {"settings": {"semanticTokens": {"enable": True}}},
            },
        )
        self.tell("initialized", {})
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.request("shutdown", None)
            self.tell("exit", None)
            self.process.wait(self.patience)
        else:
            self.process.kill()
            self.process.wait()
        self._listener.join(self.patience)
        for pipe in (self.process.stdin, self.process.stdout):
            assert pipe is not None
            with contextlib.suppress(OSError):
                pipe.close()

    def seconds(self) -> float:
        """The processor time of the server; wall-clock time if not available."""
        try:
            parts = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            return time.monotonic()
        return (int(parts[11]) + int(parts[12])) / os.sysconf("SC_CLK_TCK")

    def tell(self, method: str, params: Any) -> None:
        """Sends a notification."""
        self._send({"jsonrpc": "2.0", "method": method, "params": params})

    def request(self, method: str, params: Any) -> dict[str, Any]:
        """Sends a request; returns the whole answer.

        Raises:
            StuckError: there is none.
        """
        self._number += 1
        self._send({"jsonrpc": "2.0", "id": self._number, "method": method, "params": params})
        end = time.monotonic() + self.patience
        while True:
            try:
                answer = self._answers.get(timeout=max(0.01, end - time.monotonic()))
            except queue.Empty:
                raise StuckError(f"{method} is not answered") from None
            if answer is None:
                raise StuckError(f"the server ends in {method}")
            if answer.get("id") == self._number:
                return answer

    def _send(self, message: dict[str, Any]) -> None:
        data = json.dumps(message).encode()
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(data) + data)
            self.process.stdin.flush()
        except OSError as error:
            raise StuckError(f"the server ends before {message.get('method')}") from error

    def _listen(self) -> None:
        assert self.process.stdout is not None
        while header := self.process.stdout.readline():
            length = 0
            while header.strip():
                name, _, value = header.decode("ascii").partition(":")
                if name.lower() == "content-length":
                    length = int(value)
                header = self.process.stdout.readline()
            message = json.loads(self.process.stdout.read(length))
            if "method" not in message:
                self._answers.put(message)
            elif "id" in message:
                self._send({"jsonrpc": "2.0", "id": message["id"], "result": self._own_answer(message)})
        self._answers.put(None)

    @staticmethod
    def _own_answer(message: dict[str, Any]) -> Any:
        match message["method"]:
            case "workspace/configuration":
                return [None for _ in message["params"]["items"]]
            case "workspace/applyEdit":
                return {"applied": True}
            case _:
                return None


def server_trial(server: Server, name: str, original: str, mutant: str, random: Random, limit: float) -> Iterator[str]:
    """The invariants that the server violates for one file."""
    uri = (server.folder / name).as_uri()
    document = {"uri": uri}
    started, logged = server.seconds(), server.log.stat().st_size
    server.tell(
        "textDocument/didOpen", {"textDocument": {**document, "languageId": "python", "version": 1, "text": original}}
    )
    yield from _asked(server, "textDocument/codeLens", {"textDocument": document})
    _edit(server, uri, 2, original, random)
    server.tell(
        "textDocument/didChange", {"textDocument": {**document, "version": 3}, "contentChanges": [{"text": mutant}]}
    )
    everything = _range(0, 0, mutant.count("\n") + 1, 0)
    offered: list[dict[str, Any]] = []
    yield from _asked(server, "textDocument/diagnostic", {"textDocument": document})
    yield from _asked(server, "textDocument/inlayHint", {"textDocument": document, "range": everything})
    yield from _asked(server, "textDocument/codeLens", {"textDocument": document}, offered)
    yield from _asked(server, "textDocument/semanticTokens/full", {"textDocument": document})
    yield from _asked(server, "textDocument/semanticTokens/range", {"textDocument": document, "range": everything})
    for _ in range(4):
        line = random.randrange(mutant.count("\n") + 1)
        place = {"line": line, "character": random.randrange(40)}
        yield from _asked(server, "textDocument/hover", {"textDocument": document, "position": place})
        items: list[dict[str, Any]] = []
        asked = {"textDocument": document, "position": place}
        yield from _asked(server, "textDocument/prepareCallHierarchy", asked, items)
        for item in items:
            for way in ("incoming", "outgoing"):
                yield from _asked(server, f"callHierarchy/{way}Calls", {"item": item})
        where = _range(line, 0, line, 0)
        context = {"diagnostics": [], "triggerKind": 1}
        yield from _asked(
            server, "textDocument/codeAction", {"textDocument": document, "range": where, "context": context}, offered
        )
    context = {"diagnostics": [], "only": ["source"]}
    yield from _asked(
        server, "textDocument/codeAction", {"textDocument": document, "range": everything, "context": context}, offered
    )
    for each in random.sample(offered, min(6, len(offered))):
        if isinstance(each.get("command"), dict):
            command = each["command"]
            wanted = {"command": command["command"], "arguments": command.get("arguments", [])}
            if not command["command"].startswith("terra-refactor.show"):
                yield from _asked(server, "workspace/executeCommand", wanted)
        elif "data" in each and "title" in each:
            yield from _asked(server, "codeAction/resolve", each)
    for version in range(4, 8):
        _edit(server, uri, version, mutant, random)
    yield from _asked(server, "textDocument/diagnostic", {"textDocument": document})
    server.tell("textDocument/didClose", {"textDocument": document})
    with server.log.open("rb") as log:
        log.seek(logged)
        said = log.read().decode("utf-8", "replace")
    if "Traceback" in said:
        yield "a traceback in the server's log: " + said.strip().splitlines()[-1][:200]
    taken = server.seconds() - started
    if taken > limit:
        yield f"the server takes {taken:.0f} s"


def _asked(
    server: Server, method: str, params: dict[str, Any], offered: list[dict[str, Any]] | None = None
) -> Iterator[str]:
    answer = server.request(method, params)
    error = answer.get("error")
    if error is not None and error.get("code") == INTERNAL_ERROR:
        yield f"{method} fails: {str(error.get('message'))[:200]}"
    result = answer.get("result")
    if offered is not None and isinstance(result, list):
        offered.extend(result)


def _edit(server: Server, uri: str, version: int, text: str, random: Random) -> None:
    """Overwrites a few characters at a random position."""
    line, column = random.randrange(text.count("\n") + 1), random.randrange(30)
    new = random.choice(("x", "(", "\n", "    ", "", '"""', ".", "tf.", "if x:\n", "🦆"))
    change = {"range": _range(line, column, line + random.randrange(2), column + random.randrange(9)), "text": new}
    server.tell(
        "textDocument/didChange", {"textDocument": {"uri": uri, "version": version}, "contentChanges": [change]}
    )


def _range(line: int, column: int, last: int, end: int) -> dict[str, Any]:
    return {"start": {"line": line, "character": column}, "end": {"line": last, "character": end}}
