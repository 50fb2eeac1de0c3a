"""The language server, spoken to as an editor does: messages over standard input and output, or a socket."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import pytest

pytest.importorskip("pygls")

ROOT = Path(__file__).parents[3]
COMMAND = [sys.executable, "-m", "lsp_server"]
INITIALIZE = {"processId": None, "rootUri": None, "capabilities": {}}


class Client:
    """A language client of the barest kind."""

    def __init__(self, reader: IO[bytes], writer: IO[bytes]) -> None:
        self.reader = reader
        self.writer = writer
        self.last_id = 0

    def send(self, **message: Any) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self.writer.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
        self.writer.flush()

    def read(self) -> dict[str, Any]:
        length = 0
        while (line := self.reader.readline().strip()) != b"":
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
        message: dict[str, Any] = json.loads(self.reader.read(length))
        return message

    def request(self, method: str, params: Any = None) -> dict[str, Any]:
        self.last_id += 1
        self.send(id=self.last_id, method=method, **({} if params is None else {"params": params}))
        while True:
            message = self.read()
            if message.get("id") == self.last_id:
                return message


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT)}


@pytest.fixture(name="process")
def _process() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(
        COMMAND, env=environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def converse(client: Client) -> None:
    answer = client.request("initialize", INITIALIZE)["result"]
    assert answer["serverInfo"]["name"] == "terra-refactor-lsp"
    assert answer["capabilities"]["textDocumentSync"]["openClose"] is True
    client.send(method="initialized", params={})
    assert client.request("no/such/method", {})["error"]["code"] == -32601
    assert client.request("shutdown")["result"] is None
    client.send(method="exit")


def test_initialize_and_shutdown_over_standard_streams(process: subprocess.Popen[bytes]) -> None:
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    converse(Client(process.stdout, process.stdin))
    assert process.wait(timeout=30) == 0
    assert b"Traceback" not in process.stderr.read()


def test_initialize_and_shutdown_over_tcp() -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with subprocess.Popen([*COMMAND, "--tcp", f"127.0.0.1:{port}"], env=environment()) as process:
        try:
            connection = connected(port)
            with connection, connection.makefile("rb") as reader, connection.makefile("wb") as writer:
                converse(Client(reader, writer))
        finally:
            process.kill()


def connected(port: int) -> socket.socket:
    """A connection, as soon as the server listens."""
    for _ in range(300):
        try:
            return socket.create_connection(("127.0.0.1", port), timeout=60)
        except ConnectionRefusedError:
            time.sleep(0.1)
    raise AssertionError("the server did not listen")


@pytest.mark.parametrize("address", ["localhost", "localhost:", "localhost:http", "localhost:70000"])
def test_a_wrong_address_is_a_usage_error(address: str) -> None:
    finished = subprocess.run(
        [*COMMAND, "--tcp", address], env=environment(), capture_output=True, text=True, check=False
    )
    assert finished.returncode == 2
    assert "is not HOST:PORT" in finished.stderr


def test_a_missing_extra_is_said() -> None:
    probe = "import sys; sys.modules['pygls'] = None; from lsp_server.command import main; main([])"
    finished = subprocess.run(
        [sys.executable, "-c", probe], env=environment(), capture_output=True, text=True, check=False
    )
    assert finished.returncode == 2
    assert "terra-refactor[lsp]" in finished.stderr
