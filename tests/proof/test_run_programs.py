"""The runner of programs: one that takes its process with it costs itself only, and what is kept is what is seen."""

from __future__ import annotations

import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import observations
import pytest
import warm_programs
from observations import Observations, observation, observe, run
from proofs import all_programs

QUITS = "import os\nimport sys\nprint('out of here', file=sys.stderr)\nsys.stderr.flush()\nos._exit(3)\n"


@pytest.mark.tensorflow
@pytest.mark.slow
def test_a_program_that_ends_the_process_costs_itself_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fork(command: list[str], **options: Any) -> subprocess.CompletedProcess[str]:
        script = "import runpy, sys; runpy.run_path(sys.argv.pop(1), run_name='__main__')"
        return subprocess.run(
            warm_programs.with_tensorflow(script, *command[1:]), check=options.pop("check"), **options
        )

    monkeypatch.setattr(observations, "subprocess", SimpleNamespace(run=fork))
    seen, lost = run({"first": "value = 1\n", "quits": QUITS, "last": "value = 2\n"}, tmp_path)
    assert seen["first"]["graph"]["values"] == {"value": ["int", "1"]}
    assert seen["last"]["eager"]["values"] == {"value": ["int", "2"]}
    with pytest.raises(AssertionError, match=r"exit code 3(?s:.)*out of here"):
        _ = Observations(lost)["quits"]


@pytest.mark.tensorflow
@pytest.mark.slow
def test_tensorflow_does_what_is_kept(tmp_path: Path) -> None:
    """A few programs are run again in each run of the tests; `make test-all` runs all."""
    programs = {proof.name: proof.text for proof in all_programs()[:: len(all_programs()) // 10]}
    seen, lost = run(programs, tmp_path)
    assert not lost
    kept = observe(programs, tmp_path)
    assert {name: observation(**runs).verdict for name, runs in seen.items()} == {
        name: each.verdict for name, each in kept.items()
    }
