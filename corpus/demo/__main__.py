"""Shows what terra-refactor makes of the bundled example project: `python -m corpus.demo`.

Runs the real commands in the project's folder, `analyze` and then `fix --level speculative --diff`.
TensorFlow is not needed, and nothing is written.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

PROJECT = Path(__file__).parent / "project"
COMMANDS = (
    ("analyze", "."),
    ("fix", "--level", "speculative", "--diff", "."),
)


def main() -> int:
    """Run the commands one after the other; the exit code of the first that fails."""
    repository = str(Path(__file__).resolve().parents[2])
    environment = dict(os.environ)
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, (repository, environment.get("PYTHONPATH"))))
    for arguments in COMMANDS:
        print(f"\n$ terra-refactor {' '.join(arguments)}\n", flush=True)
        finished = subprocess.run(
            [sys.executable, "-m", "terra_refactor", *arguments], cwd=PROJECT, env=environment, check=False
        )
        if finished.returncode != 0:
            return finished.returncode
    return 0


if __name__ == "__main__":
    sys.exit(main())
