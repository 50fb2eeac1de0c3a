"""The methods of data classes, compiled once: the same classes, from code that an earlier process has kept."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "terra_refactor"
PROGRAM = """\
import dataclasses, sys
sys.path.insert(0, {folder!r})
import generated_methods as methods
methods.reuse_generated_methods([dataclasses])
known = len(methods._known)
import shapes
one, other = shapes.Size(1, "a"), shapes.Size(1, "a")
assert one == other and hash(one) == hash(other) and repr(one) == "Size(number=1, name='a')", one
assert shapes.Size.__init__.__annotations__ == {{"number": "int", "name": "str", "return": None}}, shapes.Size.__init__.__annotations__
try:
    one.number = 2
except dataclasses.FrozenInstanceError:
    pass
else:
    raise AssertionError("not frozen")
print(known, len(methods._new))
methods.keep_generated_methods()
"""
SHAPES = """\
from __future__ import annotations
from dataclasses import dataclass

@dataclass(frozen=True, slots=True)
class Size:
    number: int
    name: str
"""


@pytest.fixture(name="folder")
def _folder(tmp_path: Path) -> Path:
    shutil.copy(PACKAGE / "generated_methods.py", tmp_path)
    (tmp_path / "shapes.py").write_text(SHAPES)
    return tmp_path


def run(folder: Path, **variables: str) -> tuple[int, int]:
    """How many methods were known at the start of a process, and how many it compiled itself."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    program = PROGRAM.format(folder=str(folder))
    done = subprocess.run(
        [sys.executable, "-I", *variables.pop("flags", "").split(), "-c", program],
        env={**environment, **variables},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    known, new = map(int, done.stdout.split())
    return known, new


def kept(folder: Path) -> Path:
    (file,) = (folder / "__pycache__").glob("methods_of_classes.*.pyc")
    return file


def test_the_second_process_compiles_nothing(folder: Path) -> None:
    known, new = run(folder)
    assert known == 0 < new
    assert run(folder) == (new, 0)


def test_a_class_that_changed_is_compiled_again(folder: Path) -> None:
    _, new = run(folder)
    (folder / "shapes.py").write_text(SHAPES.replace("name: str", "name: str = 'b'"))
    known, compiled = run(folder)
    assert known == new
    assert 0 < compiled < new


@pytest.mark.parametrize("damage", [b"", b"generated methods 1\n", b"other"])
def test_what_cannot_be_read_is_as_good_as_nothing(folder: Path, damage: bytes) -> None:
    _, new = run(folder)
    file = kept(folder)
    whole = file.read_bytes()
    file.write_bytes(damage)
    assert run(folder) == (0, new)
    file.write_bytes(whole[: len(whole) // 2])
    assert run(folder) == (0, new)
    assert run(folder) == (new, 0)


def test_nothing_is_written_where_python_writes_nothing(folder: Path) -> None:
    run(folder, flags="-B")
    assert not (folder / "__pycache__").exists()


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_cannot_be_written_is_no_error(folder: Path) -> None:
    folder.chmod(0o500)
    try:
        known, new = run(folder)
    finally:
        folder.chmod(0o700)
    assert known == 0 < new
