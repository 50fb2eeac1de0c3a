"""Runs one of the programs eagerly, as its author wrote it: `python -m corpus.coexec NAME [STEPS]`.

Prints what each step returns, and leaves results and state in global variables, where `terra-refactor verify --run` compares them.
"""

from __future__ import annotations

import argparse

from corpus.coexec.program import NAMES, build, record

parser = argparse.ArgumentParser(prog="python -m corpus.coexec")
parser.add_argument("name", choices=NAMES)
parser.add_argument("steps", type=int, nargs="?", default=4)
options = parser.parse_args()
done = record(build(options.name, "small", "float32"), options.steps)
results, printed, state = done.results, done.printed, done.state
print(printed, end="")
for number, result in enumerate(results):
    print(number, result)
