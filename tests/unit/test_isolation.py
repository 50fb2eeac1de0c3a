"""Our processes look for no module in the folder that they are started in."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from terra_refactor import isolation

ROOT = Path(isolation.__file__).parents[1]
POOL = f"""\
import sys
sys.path.append({str(ROOT)!r})
from terra_refactor.isolation import isolated_command, leave_current_folder, start_method
leave_current_folder()
from concurrent.futures import ProcessPoolExecutor
import subprocess

def of_worker():
    return sys.flags.isolated, [entry for entry in sys.path if entry.startswith({{here!r}})]

if __name__ == "__main__":
    with ProcessPoolExecutor(1, mp_context=start_method()) as executor:
        print(executor.submit(of_worker).result())
    # a module whose `main` there is: the start of it is what counts
    print(subprocess.call(isolated_command("timeit"), stdout=subprocess.DEVNULL))
"""


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    folder = tmp_path / "hostile"
    folder.mkdir()
    for name in sys.stdlib_module_names - set(sys.builtin_module_names):
        (folder / f"{name}.py").write_text(f"open({str(tmp_path / 'executed')!r}, 'a').write(__name__ + ' ')\n")
    return folder


def test_every_process_is_isolated(hostile: Path, tmp_path: Path) -> None:
    """The fork server and the tracker of resources, which Python starts, and the children that we start."""
    script = tmp_path / "script.py"
    script.write_text(POOL.format(here=str(hostile)))
    done = subprocess.run([sys.executable, str(script)], cwd=hostile, capture_output=True, text=True, check=False)
    assert not (tmp_path / "executed").exists(), (tmp_path / "executed").read_text()
    assert done.stdout.splitlines() == ["(1, [])", "0"], done.stderr


def test_the_path_afterwards(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    here, library, other = tmp_path / "here", tmp_path / "library", tmp_path / "other"
    for folder in (here / "src", library, other):
        folder.mkdir(parents=True)
    (tmp_path / "link").symlink_to(here)
    standard = [entry for entry in sys.path if entry.startswith(sys.base_prefix)]
    named = [str(here), str(here / "src"), str(library)]
    monkeypatch.chdir(here)
    monkeypatch.setenv("PYTHONPATH", ":".join(["", *named]))
    monkeypatch.setattr(sys, "path", ["", str(tmp_path / "link"), *named, str(ROOT), *standard, str(other)])
    isolation.leave_current_folder()
    assert sys.path == [*standard, str(other), str(library), str(ROOT)]


def test_a_checkout_stays_importable_from_its_own_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    standard = [entry for entry in sys.path if entry.startswith(sys.base_prefix)]
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(sys, "path", [str(ROOT), *standard])
    isolation.leave_current_folder()
    assert sys.path == [*standard, str(ROOT)]


@pytest.mark.skipif(sys.platform == "win32", reason="the script is one of a shell")
def test_programs_come_from_absolute_folders(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for folder in ("here", "bin"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "tool").write_text("#!/bin/sh\n")
        (tmp_path / folder / "tool").chmod(0o755)
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setenv("PATH", f"::.:{tmp_path / 'bin'}")
    assert isolation.find_program("tool") == str(tmp_path / "bin" / "tool")
    monkeypatch.setenv("PATH", ":.")
    assert isolation.find_program("tool") is None
