"""corpus/README.md: the index of all programs and packages with which the tool is demonstrated and measured.

Computes: the page, from sidecars, docstrings, marks, and the manifest of packages. The programs of the rules' proofs are with the
tests that run them (tests/proof), and the index lists them. Runs nothing.
"""

from __future__ import annotations

import ast
import importlib.util
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

from corpus.expectations import programs
from corpus.messages import message_programs
from corpus.prose import wrap
from corpus.released.manifest import CORPUS, packages
from corpus.shape_bugs import shape_bugs
from terra_refactor.rules.registry import all_rules

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

INDEX = CORPUS / "README.md"
PROOFS = CORPUS.parent / "tests" / "proof" / "proofs.py"


def write_index() -> int:
    """Write the page."""
    INDEX.write_text(index(), encoding="utf-8")
    return 0


def index() -> str:
    """The page."""
    parts = [_head(), _programs(), _hazards(), _shape_bugs(), _messages(), _co_execution(), _typed(), _packages()]
    return wrap("\n\n".join("\n".join(part) for part in parts) + "\n")


def _head() -> list[str]:
    return [
        "# The corpus",
        "",
        "Every program and package that the tool is shown, tested and measured on. Written by `python -m corpus index`; do not edit.",
        "",
        "| command | does | writes |",
        "|---|---|---|",
        "| `python -m corpus all` | all of the next eight, one after the other: the whole evaluation (`make evaluation`) | their files, and what each took |",
        "| `python -m corpus agree` | compares the analysis with what a reviewer expects of each function of `programs/` | |",
        "| `python -m corpus types` | compares the types of the analysis with `recordings/`, what reached the functions of `programs/`, `typed/`, `coexec/` and `demo/` | docs/types.json, [docs/accuracy.md](../docs/accuracy.md) |",
        "| `python -m corpus evaluate` | runs `programs/` before and after the changes | [docs/evaluation.md](../docs/evaluation.md) |",
        "| `python -m corpus fetch` | brings the packages of `packages.toml` | `packages/`, which git ignores |",
        "| `python -m corpus analyze` | runs the tool on the packages, checks it, compares with `released/expected/`; `--renew` writes that; `--folder` takes any folder | docs/packages.json |",
        "| `python -m corpus refactor` | packages' own tests before and after all changes | docs/packages.json |",
        "| `python -m corpus accuracy` | types in packages' own tests against the analysis | docs/packages.json |",
        "| `python -m corpus report` | the tables over the packages | [docs/packages.md](../docs/packages.md) |",
        "| `python -m corpus record` | runs these programs eagerly, under the recorder (some ten minutes) | `recordings/` |",
        "| `python -m corpus.recorder` | types that reach functions of any program that runs, against the analysis | ([docs/accuracy.md](../docs/accuracy.md)) |",
        "| `python -m corpus.coexec NAME` | runs one of the programs of the shim (`make coexec` times them) | |",
        "| `python -m corpus.demo` | `make demo`: analyses and fixes `demo/project` | |",
    ]


def _programs() -> list[str]:
    found = programs()
    functions = sum(len(program.expectations) for program in found)
    rows = []
    for program in found:
        count = len([path for path in program.folder.rglob("*") if path.suffix in (".py", ".ipynb")])
        pays = sum(expectation.pays for expectation in program.expectations)
        rows.append(
            (f"[{program.name}](programs/{program.name})", program.title, f"`{program.command}`", count, len(program.expectations), pays)
        )
    return [
        "## Programs with a reviewer's expectations",
        "",
        f"{len(found)} programs with {functions} functions, like what people write; `expected.toml` beside each says what a reviewer expects, and was written before the "
        "tool was asked. *Pay* are functions that a graph makes faster in that program.",
        "",
        *_table(("program", "what", "run", "files", "functions", "pay"), rows),
    ]


def _hazards() -> list[str]:
    proofs = _load(PROOFS)
    counts: dict[str, Counter[str]] = {}
    for proof in proofs.all_programs():
        kind = "sample" if "_sample_" in proof.name else "bad" if proof.bad else "fine"
        counts.setdefault(proof.rule, Counter())[kind] += 1
    rows = []
    for rule, count in sorted(counts.items()):
        file = proofs.FOLDER / f"{rule.lower()}.txt"
        where = f"[{file.name}](../tests/proof/programs/{file.name})" if file.exists() else ""
        name = all_rules()[rule].name
        rows.append((f"[{rule}](../docs/rules/{rule}.md)", name, count["bad"], count["fine"], count["sample"], where))
    total = Counter[str]()
    for count in counts.values():
        total.update(count)
    return [
        "## Hazards",
        "",
        f"What a graph fails at or changes, each shown by programs that TensorFlow runs eagerly and as graphs: {total['bad']} that differ, {total['fine']} that look alike and agree, {total['sample']} "
        f"samples of the rules' declarations, and {len(proofs.checked_and_fine())} programs that people worry about and that agree ([fine.txt](../tests/proof/programs/fine.txt)). "
        "They lie in tests/proof, beside the tests that run them.",
        "",
        *_table(("rule", "name", "differ", "agree", "samples", "programs"), rows),
    ]


def proof_counts() -> tuple[int, int]:
    """The numbers of proof programs that differ as graphs, and that agree; including the samples of the rules' declarations."""
    proofs = _load(PROOFS)
    every = proofs.all_programs()
    bad = sum(proof.bad for proof in every)
    return bad, len(every) - bad + len(proofs.checked_and_fine())


def _shape_bugs() -> list[str]:
    found = shape_bugs()
    rows = []
    for bug in found:
        marked = bug.broken.read_text(encoding="utf-8").splitlines()[bug.line - 1]
        why = marked.partition("# BUG ")[2].partition(": ")[2]
        place = f"[{bug.name}](shape_bugs/tensorflow_{bug.generation}/{bug.name})"
        rows.append((place, bug.generation, "silent" if bug.silent else "raises", why))
    return [
        "## Shape bugs",
        "",
        f"{len(found)} pairs of a broken and a fixed program: {sum(bug.generation == 1 for bug in found)} for TensorFlow 1, {sum(bug.generation == 2 for bug in found)} for TensorFlow 2, "
        f"{sum(bug.silent for bug in found)} of them wrong without an error.",
        "",
        *_table(("pair", "TensorFlow", "TensorFlow says", "why it is wrong"), rows),
    ]


def _messages() -> list[str]:
    return [
        "## Programs that print an error message",
        "",
        f"`messages/` holds {len(message_programs())} programs, each with the message that TensorFlow gives it and the rule that finds the cause "
        "([the page](../docs/rules/messages.md), `tests/proof/test_messages.py`). `tutorial/` holds the script of "
        "[the tutorial](../docs/tutorial.md).",
    ]


def _co_execution() -> list[str]:
    entries = tomllib.loads((CORPUS / "coexec" / "tf_function.toml").read_text(encoding="utf-8"))
    rows = [
        (f"[{name}](coexec/{name}.py)", entry["model"], entry["outcome"], ", ".join(entry.get("hazards", ())))
        for name, entry in sorted(entries.items())
    ]
    return [
        "## Programs of the co-execution shim",
        "",
        "Training steps that are hard to convert; what a plain `tf.function` does to each, seen in TensorFlow.",
        "",
        *_table(("program", "model", "with `tf.function`", "hazards"), rows),
    ]


def _typed() -> list[str]:
    paths = [path for path in sorted((CORPUS / "typed").glob("*.py")) if path.name != "__init__.py"]
    rows = [(f"[{path.stem}](typed/{path.name})", _summary(path)) for path in paths]
    return ["## Programs that the types are measured on", "", *_table(("program", "what"), rows)]


def _packages() -> list[str]:
    rows = [(package.name, package.version, package.what, package.licence, "yes" if package.suite else "") for package in packages()]
    return [
        "## Released packages",
        "",
        "Pinned by digest in [packages.toml](packages.toml); none of their files is in this repository. "
        "[docs/packages.md](../docs/packages.md) has what the tool says of them. *Tests*: their own tests run here.",
        "",
        *_table(("package", "version", "for", "licence", "tests"), rows),
    ]


def _table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> list[str]:
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    return lines + [f"| {' | '.join(str(cell).replace('|', chr(92) + '|') for cell in row)} |" for row in rows]


def _summary(path: Path) -> str:
    """The first sentence of a module's docstring."""
    return (ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or "").partition("\n")[0]


def _load(path: Path) -> ModuleType:
    """Loads a module of the tests, which are not a package."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules.setdefault(path.stem, module)  # dataclasses look up their module
    spec.loader.exec_module(module)
    return module
