"""`record` on small programs without TensorFlow: what it sees, and that the program runs as it would."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

from terra_refactor.errors import UsageError
from terra_refactor.record.child.main import Session
from terra_refactor.record.child.places import definitions
from terra_refactor.record.launch import program_of
from terra_refactor.record.record_file import (
    FunctionSeen,
    Record,
    merged_records,
    parse_record,
    read_record,
    record_to_json,
)


def run(folder: Path, text: str, *arguments: str, command: tuple[str, ...] = ()) -> tuple[int, Record, str]:
    """Record a script; its exit code, the record, and what it printed."""
    (folder / "program.py").write_text(textwrap.dedent(text), encoding="utf-8")
    line = [sys.executable, "-m", "terra_refactor", "record", "-q", "-o", "out.json", "--"]
    finished = subprocess.run(
        [*line, *(command or (sys.executable, "program.py", *arguments))],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])},
    )
    assert (folder / "out.json").exists(), finished.stderr
    return finished.returncode, read_record(str(folder / "out.json")), finished.stdout + finished.stderr


def function(record: Record, name: str) -> FunctionSeen:
    return next(each for each in record.functions if each.qualname == name)


def test_calls_types_and_values_are_seen(tmp_path: Path) -> None:
    code, record, printed = run(
        tmp_path,
        """
        import sys

        class Box:
            def add(self, x, *, scale=1):
                return [x, self.inner(x) * scale]

            @staticmethod
            def inner(x):
                return x + 1.0

        def count(n):
            for i in range(n):
                yield i

        def fail():
            raise ValueError("no")

        def main():
            box = Box()
            for n in range(5):
                box.add(n, scale=n % 2)
            assert list(count(4)) == [0, 1, 2, 3]
            try:
                fail()
            except ValueError:
                pass
            return (lambda a: a)(len(sys.argv[1]))

        print("result", main())
        """,
        "secret-token",
    )
    assert code == 0
    assert printed.strip() == "result 12"
    add = function(record, "Box.add")
    assert (add.calls, add.line) == (5, 5)
    scale = next(each for each in add.parameters if each.name == "scale")
    assert (scale.values, scale.distinct) == ((0, 1), 2)
    assert scale.types[0].type == ("primitive", "int")
    assert add.returns[0].type == ("container", "list", None, (("primitive", "float"), ("primitive", "int")))
    assert function(record, "count").calls == 1
    assert function(record, "fail").calls == 1
    assert function(record, "main.<locals>.<lambda>").calls == 1
    assert add.seconds > 0 and add.own_seconds is not None and add.own_seconds <= add.seconds
    assert function(record, "main").seconds >= add.seconds
    found = definitions((tmp_path / "program.py").read_bytes())
    assert (add.qualname, add.line, add.digest) == found[5, "add"]


def test_no_text_is_written(tmp_path: Path) -> None:
    code, _, _ = run(
        tmp_path,
        """
        import sys
        def login(password, key, number, options):
            return password
        login(sys.argv[1], b"hunter2-bytes", 12345678901234, {"hunter2": 1, "field": sys.argv[1]})
        """,
        "hunter2-text",
    )
    text = (tmp_path / "out.json").read_text()
    assert code == 0 and "login" in text
    assert "hunter2" not in text and "12345678901234" not in text


@pytest.mark.parametrize(
    ("ending", "code"),
    [
        ("raise SystemExit(7)", 7),
        ("raise RuntimeError('broken')", 1),
        ("import os; os._exit(5)", 5),
        ("import os; os.chdir('/'); raise SystemExit(3)", 3),
        ("import os, signal; os.kill(os.getpid(), signal.SIGINT)", 130),
    ],
)
def test_the_exit_code_is_the_programs_and_what_was_seen_is_kept(tmp_path: Path, ending: str, code: int) -> None:
    found, record, _ = run(tmp_path, f"def f(x):\n    return x\nfor n in range(9):\n    f(n)\n{ending}\n")
    assert found == code == record.exit_code
    assert function(record, "f").calls == 9


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_threads_and_forked_workers_are_seen(tmp_path: Path) -> None:
    code, record, _ = run(
        tmp_path,
        """
        import multiprocessing, os, threading
        def work(x):
            return x * 2
        if __name__ == "__main__":
            threads = [threading.Thread(target=work, args=(n,)) for n in range(3)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            context = multiprocessing.get_context("fork")
            workers = [context.Process(target=work, args=(n,)) for n in range(4)]
            for worker in workers:
                worker.start()
            for worker in workers:
                worker.join()
            if os.fork() == 0:
                work(1)
                os._exit(0)
            os.wait()
        """,
    )
    assert code == 0
    assert function(record, "work").calls == 8
    assert record.processes == 6


def test_the_same_command_line_and_path(tmp_path: Path) -> None:
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pkg" / "__init__.py").write_text("")
    (tmp_path / "pkg" / "__main__.py").write_text(
        "import sys\nfrom pkg import other\nprint(other.f(len(sys.argv)), __name__)\n"
    )
    (tmp_path / "pkg" / "other.py").write_text("def f(n):\n    return n\n")
    code, record, printed = run(tmp_path, "", command=(sys.executable, "-O", "-m", "pkg", "one"))
    assert (code, printed.strip()) == (0, "2 __main__")
    assert function(record, "f").path == "pkg/other.py"


def test_what_starts_no_python_is_an_error(tmp_path: Path) -> None:
    for command in ([], ["no-such-program-anywhere"], [sys.executable, "-c", "1"], ["sh", "-c", "true"]):
        with pytest.raises(UsageError, match="record"):
            program_of(command)
    script = tmp_path / "tool"
    script.write_text(f"#!{sys.executable} -I\n")
    script.chmod(0o755)
    program = program_of([str(script), "-x"])
    assert (program.python, program.options, program.arguments) == (sys.executable, ("-I",), ("-x",))


def test_a_record_that_is_none_is_an_error() -> None:
    for text in ("", "[]", '{"schema": "x"}', '{"schema": "terra-refactor/record/1"}', "[" * 100_000):
        with pytest.raises(UsageError, match="record"):
            parse_record(text, "r.json")


def test_processes_are_merged_and_survive_the_file() -> None:
    parameter: dict[str, Any] = {"name": "n", "types": [], "values": [1, 2], "distinct": 2}
    graph = {"calls": 3, "inner_calls": 0, "seconds": 1.0, "traces": 2, "tracing_seconds": 0.5, "objects": 1}
    cause = {"cause": "value", "parameter": "n", "traces": 1, "examples": [{"value": 1}]}
    seen = {
        "path": "a.py",
        "qualname": "f",
        "line": 1,
        "digest": "d",
        "calls": 2,
        "estimated": False,
        "seconds": 1.0,
        "own_seconds": 0.5,
        "detailed_calls": 2,
        "traced_calls": 0,
        "parameters": [parameter],
        "returns": [],
        "graph": {**graph, "causes": [cause]},
    }
    one = {
        "schema": "terra-refactor/record/1",
        "tool": {"name": "terra-refactor", "version": "1"},
        "root": "sub",
        "python": "3.12",
        "tensorflow": None,
        "seconds": 1,
        "exit_code": 0,
        "complete": True,
        "processes": 1,
        "notices": [],
        "files": [{"path": "a.py", "digest": "x"}],
        "functions": [seen],
    }
    first = parse_record(json.dumps(one), "/somewhere/r.json")
    assert first.root == "/somewhere/sub"
    seen["parameters"] = [{**parameter, "values": [2, 3]}]
    both = merged_records([first, parse_record(json.dumps(one), "/somewhere/r.json")])
    (found,) = both.functions
    assert (found.calls, found.seconds, both.processes) == (4, 2.0, 2)
    assert found.parameters[0].values == (1, 2, 3)
    assert found.graph is not None and (found.graph.traces, found.graph.causes[0].traces) == (4, 2)
    assert parse_record(record_to_json(both), "/r.json").functions == both.functions


def test_a_killed_program_leaves_what_was_written_before(tmp_path: Path) -> None:
    session = Session(str(tmp_path), str(tmp_path / "part"))
    (tmp_path / "program.py").write_text("def outer():\n    inner()\n\n\ndef inner():\n    write()\n")
    scope: dict[str, Any] = {"write": session.write}
    exec(compile((tmp_path / "program.py").read_text(), str(tmp_path / "program.py"), "exec"), scope)
    session.observer.start()
    try:
        scope["outer"]()
    finally:
        session.observer.stop()
    data = json.loads((tmp_path / f"part.{os.getpid()}").read_text())
    assert not data["complete"]
    assert {each["qualname"]: (each["calls"], each["seconds"] > 0) for each in data["functions"]} == {
        "outer": (1, True),
        "inner": (1, True),
    }


@pytest.mark.slow
@pytest.mark.tensorflow
def test_traces_and_their_causes(tmp_path: Path) -> None:
    code, record, printed = run(
        tmp_path,
        """
        import tensorflow as tf

        @tf.function
        def scaled(x, n):
            return inner(x) * tf.cast(n, tf.float32)

        @tf.function
        def inner(x):
            return tf.where(tf.reduce_sum(x) > 0, x, -x)

        class Model(tf.Module):
            def __init__(self):
                self.w = None

            @tf.function
            def go(self, x, flag=True):
                if self.w is None:
                    self.w = tf.Variable(2.0)
                return self.w * x if flag else x

            def eager(self, x):
                return tf.nn.relu(x)

        for n in range(10):
            scaled(tf.ones([3]), n)
        for size in (1, 2, 3, 3):
            scaled(tf.ones([size]), 0)
        models = [Model(), Model()]
        for model in models:
            for flag in (True, False):
                model.go(tf.ones([2]), flag=flag)
                model.eager(tf.ones([2, 3]))
        print(float(tf.reduce_sum(scaled(tf.ones([3]), 2))))
        """,
    )
    assert code == 0 and printed.startswith("6.0")
    scaled = function(record, "scaled")
    assert scaled.graph is not None
    causes = {(each.cause, each.parameter): each for each in scaled.graph.causes}
    assert (scaled.graph.calls, scaled.graph.traces, scaled.calls) == (15, 12, 0)
    assert causes["value", "n"].traces == 9
    assert causes["shape", "x"].traces == 2
    assert {"value": 9} in causes["value", "n"].examples
    inner = function(record, "inner").graph
    assert inner is not None and inner.calls == 0 and inner.traces == 3
    go = function(record, "Model.go")
    assert go.graph is not None and go.graph.objects == 2
    assert {each.cause: each.traces for each in go.graph.causes} == {
        "first": 1,
        "new function": 1,
        "variables": 2,
        "value": 2,
    }
    eager = function(record, "Model.eager")
    assert eager.calls == 4
    assert next(each for each in eager.parameters if each.name == "x").types[0].type == ("tensor", "float32", (2, 3))
    assert eager.returns[0].type == ("tensor", "float32", (2, 3))
