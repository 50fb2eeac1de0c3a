"""Language servers that begin with everything imported: copies (`fork`) of one process that has imported it and does nothing else.

Importing takes a second of processor time, more than most conversations of the tests. `command` gives a command that stands in for
`python -m lsp_server`: it hands its streams, folder and environment to a copy, waits for it, and ends as it ends. The tests in
`test_server.py`, and those with another editor, start the server as a user does. As a script: `wait SOCKET` is the process that
waits, `connect SOCKET` the command. What both need is imported here, what the server needs by the former only.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import struct
import sys

LENGTH = struct.Struct("!I")


def command() -> list[str]:
    """The command for one server; the first call starts the process that waits, which ends with this one."""
    import atexit  # noqa: PLC0415 - only the tests need it
    import shutil  # noqa: PLC0415
    import subprocess  # noqa: PLC0415
    import tempfile  # noqa: PLC0415
    from pathlib import Path  # noqa: PLC0415

    root = str(Path(__file__).parents[1])
    if not hasattr(os, "fork"):
        return [sys.executable, "-m", "lsp_server"]
    if not _waiting:
        folder = tempfile.mkdtemp()
        address = os.path.join(folder, "socket")
        environment = {**os.environ, "PYTHONPATH": root}
        started = [sys.executable, __file__, "wait", address]
        process = subprocess.Popen(started, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"

        def end() -> None:
            process.stdout.close()  # type: ignore[union-attr]
            process.terminate()
            process.wait()
            shutil.rmtree(folder, ignore_errors=True)

        atexit.register(end)
        _waiting.append(address)
    return [sys.executable, "-I", "-S", __file__, "connect", _waiting[0]]


_waiting: list[str] = []


def connect(address: str) -> int:
    """Hand everything to a copy and wait for its end; gives its exit code, negative for a signal."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(address)
        request = json.dumps([os.getcwd(), dict(os.environ)]).encode("utf-8", "surrogateescape")
        socket.send_fds(connection, [LENGTH.pack(len(request))], [0, 1, 2])
        connection.sendall(request)
        # a pipe is at its end when nobody holds it any more
        null = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(null, stream)
        answer = connection.recv(16)
    return int(answer or b"1")


def wait(address: str) -> None:
    """Import what a server imports, and make a copy for each connection."""
    import gc  # noqa: PLC0415

    gc.disable()
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry or ".") != os.path.dirname(__file__)]
    import lsp_server.command  # noqa: PLC0415
    import lsp_server.wiring  # noqa: F401, PLC0415

    gc.freeze()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for the copies
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(address)
        listener.listen()
        os.write(1, b"ready\n")
        while True:
            connection, _ = listener.accept()
            if os.fork() == 0:
                listener.close()
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                _serve(connection)
            connection.close()


def _serve(connection: socket.socket) -> None:
    """Be the server of one connection in a copy of its own, and tell how it ended."""
    head, streams, _, _ = socket.recv_fds(connection, LENGTH.size, 3)
    (length,) = LENGTH.unpack(head)
    request = b""
    while len(request) < length:
        request += connection.recv(length - len(request))
    child = os.fork()
    if child == 0:
        connection.close()
        code = 1
        try:
            folder, environment = json.loads(request.decode("utf-8", "surrogateescape"))
            for number, stream in enumerate(streams):
                os.dup2(stream, number)
                os.close(stream)
            os.chdir(folder)
            os.environ.clear()
            os.environ.update(environment)
            lsp_server = sys.modules["lsp_server.command"]
            sys.argv[:] = ["lsp_server"]
            lsp_server.main()
            code = 0
        except SystemExit as error:
            code = error.code if isinstance(error.code, int) else int(error.code is not None)
        except BaseException:
            sys.excepthook(*sys.exc_info())
        finally:
            for text in (sys.stdout, sys.stderr):
                if not text.closed:  # pygls closes its own
                    text.flush()
            os._exit(code)
    for stream in streams:
        os.close(stream)
    _, status = os.waitpid(child, 0)
    connection.sendall(str(os.waitstatus_to_exitcode(status)).encode())
    os._exit(0)


if __name__ == "__main__":
    if sys.argv[1] == "wait":
        wait(sys.argv[2])
    else:
        sys.exit(connect(sys.argv[2]))
