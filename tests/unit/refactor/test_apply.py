"""Writing: the file is replaced as a whole, keeps what it is, and is never left half written."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest
from made_decisions import decide_for

from terra_refactor.classify.decision import Action, Level
from terra_refactor.errors import SourceError
from terra_refactor.refactor.apply import write_file
from terra_refactor.refactor.plan import refactor_file
from terra_refactor.refactor.result import FileRefactoring
from terra_refactor.syntax.source import read_source, source_from_text

BEFORE = "import tensorflow as tf\n\n\ndef f(x):\n    return x\n"
AFTER = BEFORE.replace("def f", "@tf.function\ndef f")


def refactored(path: Path) -> FileRefactoring:
    source = read_source(path)
    return refactor_file(source, decide_for(source, {"*": (Action.ADD_TF_FUNCTION, ())}), Level.SAFE)


def leftovers(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


def test_mode_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "script.py"
    path.write_text(BEFORE)
    path.chmod(0o751)
    write_file(refactored(path))
    assert path.read_text() == AFTER
    assert stat.S_IMODE(path.stat().st_mode) == 0o751
    assert leftovers(tmp_path) == ["script.py"]


def test_a_symbolic_link_stays_one(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    target = tmp_path / "real" / "module.py"
    target.write_text(BEFORE)
    link = tmp_path / "link.py"
    link.symlink_to(Path("real") / "module.py")
    write_file(refactored(link))
    assert link.is_symlink()
    assert target.read_text() == AFTER
    assert leftovers(tmp_path / "real") == ["module.py"]


def test_a_file_that_changed_meanwhile_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "module.py"
    path.write_text(BEFORE)
    planned = refactored(path)
    path.write_text(BEFORE + "# saved by an editor\n")
    with pytest.raises(SourceError, match="changed on disk"):
        write_file(planned)
    assert path.read_text() == BEFORE + "# saved by an editor\n"
    assert leftovers(tmp_path) == ["module.py"]


def test_a_file_that_vanished_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "module.py"
    path.write_text(BEFORE)
    planned = refactored(path)
    path.unlink()
    with pytest.raises(SourceError, match="does not exist"):
        write_file(planned)
    assert leftovers(tmp_path) == []


def test_standard_input_is_not_a_file() -> None:
    source = source_from_text(BEFORE)
    planned = refactor_file(source, decide_for(source, {"*": (Action.ADD_TF_FUNCTION, ())}), Level.SAFE)
    with pytest.raises(SourceError, match="not a file"):
        write_file(planned)


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write everything")
def test_a_read_only_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "module.py"
    path.write_text(BEFORE)
    path.chmod(0o444)
    with pytest.raises(SourceError, match="permission"):
        write_file(refactored(path))
    assert path.read_text() == BEFORE


@pytest.mark.parametrize("name", ["fsync", "replace", "chmod"])
def test_a_failure_at_any_step_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    path = tmp_path / "module.py"
    path.write_text(BEFORE)
    planned = refactored(path)

    def fail(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, name, fail)
    with pytest.raises(SourceError, match="No space left"):
        write_file(planned)
    monkeypatch.undo()
    assert path.read_text() == BEFORE
    assert leftovers(tmp_path) == ["module.py"]


def test_an_interrupt_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "module.py"
    path.write_text(BEFORE)
    planned = refactored(path)

    def interrupt(_: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_file(planned)
    monkeypatch.undo()
    assert path.read_text() == BEFORE
    assert leftovers(tmp_path) == ["module.py"]


KILLED = """
    import sys
    from terra_refactor.refactor.apply import write_file
    from terra_refactor.refactor.result import FileRefactoring
    from terra_refactor.syntax.source import read_source

    old, new = "# old\\n" * 200_000, "# new\\n" * 200_000
    print("ready", flush=True)
    while True:
        for text in (new, old):
            source = read_source(sys.argv[1])
            write_file(FileRefactoring(source, (), text))
"""


@pytest.mark.slow
def test_a_kill_leaves_the_old_or_the_new_text(tmp_path: Path) -> None:
    path = tmp_path / "module.py"
    old, new = "# old\n" * 200_000, "# new\n" * 200_000
    path.write_text(old)
    for attempt in range(12):
        process = subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(KILLED), str(path)], stdout=subprocess.PIPE, text=True
        )
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(0.01 + 0.007 * attempt)
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stdout.close()
        assert path.read_text() in (old, new)


def test_text_that_the_encoding_cannot_hold_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "module.py"
    path.write_bytes("# coding: latin-1\n# é\n".encode("latin-1"))
    source = read_source(path)
    with pytest.raises(SourceError, match="does not fit"):
        write_file(FileRefactoring(source, (), source.text + "# €\n"))
    assert path.read_bytes() == "# coding: latin-1\n# é\n".encode("latin-1")
