"""The runner of programs: one that takes its process with it costs itself only."""

from __future__ import annotations

from pathlib import Path

import pytest
from run_programs import observe

QUITS = "import os\nimport sys\nprint('out of here', file=sys.stderr)\nsys.stderr.flush()\nos._exit(3)\n"


@pytest.mark.tensorflow
@pytest.mark.slow
def test_a_program_that_ends_the_process_costs_itself_only(tmp_path: Path) -> None:
    seen = observe({"first": "value = 1\n", "quits": QUITS, "last": "value = 2\n"}, tmp_path)
    assert seen["first"].graph.values == {"value": ["int", "1"]}
    assert seen["last"].eager.values == {"value": ["int", "2"]}
    with pytest.raises(AssertionError, match=r"exit code 3(?s:.)*out of here"):
        _ = seen["quits"]
