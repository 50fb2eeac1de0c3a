"""`python -m terra_refactor.analysis FILE...`: the IR and the facts of a few files, as the golden tests show them. For developers."""

from __future__ import annotations

import sys
from pathlib import Path

from terra_refactor.analysis.driver import AnalysisOptions, analyze_program
from terra_refactor.analysis.dump import format_facts
from terra_refactor.ir.build.module import lower_module
from terra_refactor.ir.pprint import format_module
from terra_refactor.ir.program import Program
from terra_refactor.syntax.parse import parse_module
from terra_refactor.syntax.source import read_source


class _FilesByName:
    """Resolves imports among files of one folder."""

    def __init__(self, names: set[str]) -> None:
        self.names = names

    def resolve(self, importing_module: str, name: str, level: int) -> str | None:
        return name if name in self.names else None


def main(arguments: list[str]) -> int:
    """Prints the facts of the files; with `--ir` their IR too, with `--values` every operation's value."""
    paths = [argument for argument in arguments if not argument.startswith("--")]
    if not paths:
        print(__doc__, file=sys.stderr)
        return 2
    modules = {Path(path).stem: lower_module(parse_module(read_source(path)), Path(path).stem) for path in paths}
    program = Program(modules, _FilesByName(set(modules)))
    if "--ir" in arguments:
        for module in modules.values():
            print(format_module(module))
    print(format_facts(program, analyze_program(program, AnalysisOptions()), values="--values" in arguments), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
