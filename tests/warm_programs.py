"""Programs of the tests as forks of a process that has imported everything they need and does nothing else.

Importing the tool takes 0.6 to 1 s of processor time and TensorFlow 3 s, more than most commands, conversations and
programs of the tests; the tool's tables, created on first use, take another 0.1 s, so one small file is analysed in
advance. `tool`, `server` and `with_tensorflow` return a command that replaces `python -m terra_refactor`, `python -m
lsp_server` and `python -c CODE`: it passes its arguments, streams, folder and environment to a fork, waits for it,
and exits with its exit code. A fork ignores settings that Python and TensorFlow read from the environment at their
start (`PYTHONUTF8`, `TF_USE_LEGACY_KERAS`), and signals reach the command, not the fork: tests of these start the
program like a user, and so does at least one test of each kind.

The workers of one run share these processes: the first worker that needs one starts it, and it ends with the run.

As a script: `wait PROGRAM SOCKET RUN` is the process that is forked (RUN is the process of the run), `connect SOCKET
ARGUMENT ...` the command. Both use the imports at the top; everything else is imported where it is used.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import struct
import sys

LENGTH = struct.Struct("!I")
TIMES = "TERRA_REFACTOR_TIMES"
"""The variable of `processor_time.py`; repeated here because the command must start fast."""
OF_OTHER_PROCESSES = ("terra_refactor.runtime", "terra_refactor.verify.child", "terra_refactor.record.child")
"""Packages that a run of the tool does not import."""


def tool(*arguments: str, python: str = sys.executable) -> list[str]:
    """The command for one run of the tool, as installed in an environment."""
    return _command("terra_refactor", arguments, python)


def server() -> list[str]:
    """The command for one language server."""
    return _command("lsp_server", (), sys.executable)


def with_tensorflow(code: str, *arguments: str) -> list[str]:
    """The command for a program with TensorFlow loaded, but not used."""
    return _command("tensorflow", ("-c", code, *arguments), sys.executable)


def _command(program: str, arguments: tuple[str, ...], python: str) -> list[str]:
    """The first call for a program starts the process that is forked."""
    if not hasattr(os, "fork"):
        return [python, *([] if program == "tensorflow" else ["-m", program]), *arguments]
    if (program, python) not in _waiting:
        _waiting[program, python] = _start(program, python)
    return [sys.executable, "-I", "-S", __file__, "connect", _waiting[program, python], *arguments]


_waiting: dict[tuple[str, str], str] = {}


def _start(program: str, python: str) -> str:
    """The address of a waiting process, which another worker may have started."""
    import fcntl  # noqa: PLC0415 - only the tests need it
    import hashlib  # noqa: PLC0415
    import tempfile  # noqa: PLC0415

    run = os.environ.get("PYTEST_XDIST_TESTRUNUID")
    if run is None:
        return _start_new(program, python, tempfile.mkdtemp(), os.getpid())
    name = hashlib.sha256(f"{run} {program} {python}".encode()).hexdigest()[:16]
    folder = os.path.join(tempfile.gettempdir(), f"terra-{name}")
    os.makedirs(folder, mode=0o700, exist_ok=True)
    with open(os.path.join(folder, "lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        address = os.path.join(folder, "socket")
        return address if os.path.exists(address) else _start_new(program, python, folder, os.getppid())


def _start_new(program: str, python: str, folder: str, run: int) -> str:
    """The address of a new waiting process, which removes its folder and ends soon after the process `run` has ended."""
    import subprocess  # noqa: PLC0415 - only the tests need it
    from pathlib import Path  # noqa: PLC0415

    root = str(Path(__file__).parents[1])
    address = os.path.join(folder, "socket")
    environment = {**os.environ, "PYTHONPATH": root, "PYTHONUTF8": "1"}
    if python != sys.executable:  # has a copy of the packages
        del environment["PYTHONPATH"]
    started = [python, __file__, "wait", program, address, str(run)]
    process = subprocess.Popen(
        started, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, start_new_session=True
    )
    _started.append(process)
    assert process.stdout is not None
    with process.stdout:
        assert process.stdout.readline() == b"ready\n"
    return address


_started: list[object] = []
"""Processes without a `wait`: they end after this one."""


def connect(address: str, arguments: list[str]) -> int:
    """Passes everything to a fork and waits for its end; returns its exit code, negative for a signal."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(address)
        request = json.dumps([arguments, os.getcwd(), dict(os.environ)]).encode("utf-8", "surrogateescape")
        socket.send_fds(connection, [LENGTH.pack(len(request))], [0, 1, 2])
        connection.sendall(request)
        # a pipe ends when no process holds it any more
        null = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(null, stream)
        answer = connection.recv(16)
    return int(answer or b"1")


def wait(program: str, address: str, run: str) -> None:
    """Imports what a program imports, and forks for each connection, until the process `run` has ended."""
    import gc  # noqa: PLC0415
    import shutil  # noqa: PLC0415

    gc.disable()
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry or ".") != os.path.dirname(__file__)]
    if program == "lsp_server":
        import lsp_server.command  # noqa: PLC0415
        import lsp_server.wiring  # noqa: F401, PLC0415
    elif program == "tensorflow":
        import tensorflow  # noqa: F401, PLC0415
    else:
        import importlib  # noqa: PLC0415
        import pkgutil  # noqa: PLC0415

        import terra_refactor  # noqa: PLC0415

        for each in pkgutil.walk_packages(terra_refactor.__path__, "terra_refactor."):
            if not each.name.startswith(OF_OTHER_PROCESSES) and not each.name.endswith("__main__"):
                importlib.import_module(each.name)
    if program != "tensorflow":
        _make_tables(program)
    gc.freeze()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the forks are never waited for
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(address)
        listener.listen()
        listener.settimeout(1.0)
        os.write(1, b"ready\n")
        while True:
            try:
                connection, _ = listener.accept()
            except TimeoutError:
                if _is_alive(int(run)):
                    continue
                shutil.rmtree(os.path.dirname(address), ignore_errors=True)
                return
            if os.fork() == 0:
                listener.close()
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                _serve(program, connection)
            connection.close()


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _make_tables(program: str) -> None:
    """Analyses a file, so that the tool's tables, which depend only on its code, are created; and runs one command."""
    import tempfile  # noqa: PLC0415

    from terra_refactor.config import Config  # noqa: PLC0415
    from terra_refactor.workspace import cache  # noqa: PLC0415
    from terra_refactor.workspace.workspace import Options, analyze  # noqa: PLC0415

    cache.generation()
    cache.result_generation()
    with tempfile.TemporaryDirectory() as folder, open(os.devnull, "w", encoding="utf-8") as nothing:
        file = os.path.join(folder, "a.py")
        with open(file, "w", encoding="utf-8") as stream:
            stream.write(
                "import tensorflow as tf\n\n\n@tf.function\ndef f(x):\n    print(x)\n    return tf.tanh(x)\n\n\nf(tf.ones([2]))\n"
            )
        analyze([file], Options(Config(jobs=1), use_cache=False))
        if program == "terra_refactor":
            streams = sys.stdout, sys.stderr
            sys.stdout = sys.stderr = nothing
            try:
                _run(program, ["explain", "TR101"])
            except SystemExit:
                pass
            finally:
                sys.stdout, sys.stderr = streams


def _serve(program: str, connection: socket.socket) -> None:
    """Runs the program of one connection in a fork, and reports how it ended."""
    head, streams, _, _ = socket.recv_fds(connection, LENGTH.size, 3)
    (length,) = LENGTH.unpack(head)
    request = b""
    while len(request) < length:
        request += connection.recv(length - len(request))
    arguments, folder, environment = json.loads(request.decode("utf-8", "surrogateescape"))
    child = os.fork()
    if child == 0:
        connection.close()
        code = 1
        try:
            for number, stream in enumerate(streams):
                os.dup2(stream, number)
                os.close(stream)
            _open_streams()
            os.chdir(folder)
            os.environ.clear()
            os.environ.update(environment)
            _run(program, arguments)
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
    _, status, usage = os.wait4(child, 0)
    if file := os.environ.get(TIMES):
        line = {"test": environment.get("PYTEST_CURRENT_TEST", f"copies of {program}").partition(" (")[0]}
        line |= {"own": 0.0, "children": round(usage.ru_utime + usage.ru_stime, 3), "clock": 0.0}
        with open(file, "a", encoding="utf-8") as lines:
            lines.write(json.dumps(line) + "\n")
    connection.sendall(str(os.waitstatus_to_exitcode(status)).encode())
    os._exit(0)


def _open_streams() -> None:
    """New text streams: those of the waiting process know whether its own could be read again from an earlier position."""
    encoding = sys.stdout.encoding
    sys.stdin = open(0, encoding=encoding, closefd=False)  # noqa: SIM115 - for as long as the process lives
    sys.stdout = open(1, "w", encoding=encoding, errors=sys.stdout.errors, closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", 1, encoding=encoding, errors=sys.stderr.errors, closefd=False)  # noqa: SIM115


def _run(program: str, arguments: list[str]) -> None:
    """The program's `__main__` without the imports."""
    sys.argv[:] = [program, *arguments]
    if program == "tensorflow":
        _, code, *rest = arguments
        sys.argv[:] = ["-c", *rest]
        sys.path[:0] = ["", *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
        main = type(sys)("__main__")
        sys.modules["__main__"] = main
        exec(compile(code, "<string>", "exec"), main.__dict__)
    elif program == "lsp_server":
        sys.modules["lsp_server.command"].main()
    else:
        sys.modules["terra_refactor.cli.main"].main()


if __name__ == "__main__":
    if sys.argv[1] == "wait":
        wait(*sys.argv[2:])
    else:
        sys.exit(connect(sys.argv[2], sys.argv[3:]))
