"""The types of this folder's own programs: recorded once, and compared with the analysis after each of its changes.

Computes: recordings of `programs/`, `typed/`, `coexec/` and of the demo (`record_bundled`, which runs each program eagerly;
recordings/ keeps the types, and the sources to which they belong), and the comparison with the analysis (`compare_bundled`, which
runs nothing). Needs: what the programs import, for recording only. Gives: docs/types.json and recordings/not_exact.txt, every
inferred type that is not exactly the recorded one.

Ignores: notebooks, which the recorder cannot run. A program with options for sizes is also recorded with other values (`runs.toml`),
because one run does not show that such a size is open.
"""

from __future__ import annotations

import hashlib
import json
import os
import shlex
import shutil
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final

from corpus.beside import on_each_processor
from corpus.expectations import programs
from corpus.recorder.compare import Comparison, Verdict, compare, merged, score, total
from corpus.recorder.recording import KINDS, record
from terra_refactor.config import Config
from terra_refactor.report.schema import build_report
from terra_refactor.report.to_json import plain
from terra_refactor.workspace.workspace import Options, analyze

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

CORPUS: Final = Path(__file__).resolve().parents[1]
RECORDINGS: Final = CORPUS / "recordings"
NOT_EXACT: Final = RECORDINGS / "not_exact.txt"
NUMBERS: Final = CORPUS.parent / "docs" / "types.json"


@dataclass(frozen=True, slots=True)
class Bundled:
    """A program that can be recorded."""

    group: str
    name: str
    root: Path
    """The files that are analysed together and whose functions are recorded."""
    runs: tuple[tuple[str, ...], ...]
    """Command lines, from the root, without the interpreter."""
    sources: tuple[Path, ...]
    eager: bool = True
    """Whether `tf.function`, Keras and `tf.data` run eagerly."""
    drivers: tuple[tuple[str, str], ...] = ()
    """Scripts by name that call functions of sources without a script; the sources are then below a folder `corpus`, as
    in this repository.
    """

    @property
    def file(self) -> Path:
        """The file of its recording."""
        return RECORDINGS / self.group / f"{self.name}.json"

    @property
    def digest(self) -> str:
        """SHA-256 of the sources (and of the runs) of a recording."""
        digest = hashlib.sha256(repr((self.runs, self.drivers)).encode())
        for path in self.sources:
            digest.update(f"{path.relative_to(self.root).as_posix()}\n".encode() + path.read_bytes())
        return digest.hexdigest()


def bundled() -> list[Bundled]:
    """All programs that can be recorded, by group and name.

    Raises ValueError if runs.toml names another.
    """
    special = tomllib.loads((Path(__file__).parent / "runs.toml").read_text(encoding="utf-8"))
    found = []
    for program in (*_programs(), *_typed(), *_coexec(), _demo()):
        others = tuple(tuple(shlex.split(text)) for text in special["runs"].get(program.name, ()))
        found.append(replace(program, runs=(*program.runs, *others), eager=program.name not in special["graphs"]))
    strangers = {*special["runs"], *special["graphs"]} - {program.name for program in found}
    if strangers:
        raise ValueError(f"runs.toml knows programs that are not there: {', '.join(sorted(strangers))}")
    return found


def _programs() -> Iterator[Bundled]:
    for program in programs():
        script = program.script
        if script.file is None:
            command = ("-m", str(script.module), *script.arguments)
        elif script.file.endswith(".ipynb"):
            continue
        else:
            command = (Path(script.file).relative_to(program.folder).as_posix(), *script.arguments)
        yield Bundled("programs", program.name, program.folder, (command,), _sources(program.folder))


def _typed() -> Iterator[Bundled]:
    folder = CORPUS / "typed"
    for path in sorted(folder.glob("*.py")):
        if path.name != "__init__.py":
            yield Bundled("typed", path.stem, folder, ((path.name,),), (path,))


def _coexec() -> Iterator[Bundled]:
    folder = CORPUS / "coexec"
    names = sorted(tomllib.loads((folder / "tf_function.toml").read_text(encoding="utf-8")))
    drivers = tuple((f"run_{name}.py", _STEPS.format(name=name)) for name in names)
    for name in names:
        yield Bundled("coexec", name, folder, ((f"run_{name}.py",),), _sources(folder), drivers=drivers)


_STEPS: Final = """from corpus.coexec import {name}

program = {name}.build("small", "float32")
for arguments in program.arguments(8):
    program.step(*arguments)
"""
"""Builds one of the programs of the co-execution shim in its small size, and runs eight steps."""


def _demo() -> Bundled:
    folder = CORPUS / "demo" / "project"
    return Bundled("demo", "forecast", folder, (("forecast.py", "--epochs", "2"),), _sources(folder))


def _sources(folder: Path) -> tuple[Path, ...]:
    return tuple(sorted(folder.rglob("*.py")))


# --- recording -------------------------------------------------------------------------------------------------------------------------


def record_bundled(names: Sequence[str]) -> int:
    """Runs the programs and stores the types that reach their functions.

    Returns 1 if one of them fails; its recording is then unchanged.
    """
    code = 0
    chosen = [program for program in bundled() if not names or program.name in names]
    for program, (exits, functions) in on_each_processor(_recorded, chosen):
        print(f"{program.group}/{program.name}: {len(functions)} functions" + (f"; ended with {exits}" if any(exits) else ""), flush=True)
        if any(exits):
            code = 1
            continue
        program.file.parent.mkdir(parents=True, exist_ok=True)
        lines = ",\n".join(json.dumps(each, sort_keys=True) for each in functions)
        program.file.write_text(f'{{"sources": "{program.digest}", "functions": [\n{lines}\n]}}\n', encoding="utf-8")
    return code


def _recorded(program: Bundled) -> tuple[list[int], list[dict[str, Any]]]:
    os.environ["PYTHONPATH"] = ""
    exits, recordings = [], []
    with tempfile.TemporaryDirectory() as scratch, _laid_out(program) as root:
        for number, command in enumerate(program.runs):
            output = Path(scratch) / f"{number}.json"
            printed = Path(scratch) / f"{number}.txt"
            try:
                exits.append(record(root, output, list(command), sys.executable, program.eager, printed))
            except SystemExit:  # the interpreter died: there is nothing to store
                exits.append(1)
            if exits[-1]:
                print(printed.read_text(encoding="utf-8", errors="replace")[-2000:])
                break
            recordings.append(json.loads(output.read_text(encoding="utf-8")))
    functions = merged(recordings)["functions"]
    for function in functions:
        del function["calls"]  # counts are not needed here, and differ between runs
    return exits, functions


# --- comparing -------------------------------------------------------------------------------------------------------------------------


def stale() -> list[str]:
    """Programs without a recording, or changed since; and recordings without a program."""
    found = []
    known = set()
    for program in bundled():
        known.add(program.file)
        name = f"{program.group}/{program.name}"
        if not program.file.exists():
            found.append(f"{name} was never recorded")
        elif json.loads(program.file.read_text(encoding="utf-8"))["sources"] != program.digest:
            found.append(f"{name} is not what was recorded")
    found += [f"{path.relative_to(RECORDINGS).as_posix()} is of no program" for path in sorted(RECORDINGS.rglob("*.json")) if path not in known]
    return found


def comparisons() -> dict[str, Comparison]:
    """The comparison of every group. Nothing is run."""
    by_root: dict[tuple[str, Path], list[Bundled]] = defaultdict(list)
    for program in bundled():
        if program.file.exists():
            by_root[program.group, program.root].append(program)
    by_group: dict[str, list[Comparison]] = defaultdict(list)
    for (group, _), found in by_root.items():
        recordings = [json.loads(program.file.read_text(encoding="utf-8")) for program in found]
        with _laid_out(found[0]) as folder:
            by_group[group].append(_named(compare(merged(recordings), _report(folder), folder), found))
    return {group: total(each) for group, each in sorted(by_group.items())}


def _named(comparison: Comparison, found: Sequence[Bundled]) -> Comparison:
    """The comparison with the program's name before each place, if every program is a separate folder."""
    if len(found) > 1:
        return comparison
    prefix = f"{found[0].name}/"
    items = {
        name: tuple(replace(item, place=prefix + item.place) for item in getattr(comparison, name))
        for name in ("parameters", "containers", "arrays", "returns")
    }
    texts = {name: tuple(prefix + text for text in getattr(comparison, name)) for name in ("false_tensors", "unmatched")}
    return replace(comparison, **items, **texts)


@contextmanager
def _laid_out(program: Bundled) -> Iterator[Path]:
    """The folder in which a program is run and analysed."""
    if not program.drivers:
        yield program.root
        return
    with tempfile.TemporaryDirectory() as scratch:
        copy = Path(os.path.realpath(scratch)) / "corpus"
        copy.mkdir()
        (copy / "__init__.py").touch()
        shutil.copytree(program.root, copy / program.root.name, ignore=shutil.ignore_patterns("__pycache__"))
        for name, text in program.drivers:
            (copy.parent / name).write_text(text, encoding="utf-8")
        yield copy.parent


def _report(root: Path) -> Mapping[str, Any]:
    # the types do not depend on the steps of loops that could become functions, whose trials take a third of the time
    options = Options(Config(jobs=1, extract=False), use_cache=False)
    with _inside(root):
        report: Mapping[str, Any] = plain(build_report(analyze(["."], options)))
    return report


@contextmanager
def _inside(folder: Path) -> Iterator[None]:
    before = os.getcwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def numbers(found: Mapping[str, Comparison]) -> dict[str, Any]:
    """The counts of each group and of all, in the form of docs/types.json."""
    rows = {**found, "all": total(list(found.values()))}
    return {
        group: {
            "functions": comparison.functions,
            "false_tensors": len(comparison.false_tensors),
            "kinds": {kind: asdict(one) for kind in KINDS if (one := score(getattr(comparison, kind))).number},
        }
        for group, comparison in rows.items()
    }


def not_exact(found: Mapping[str, Comparison]) -> list[str]:
    """A line for every inferred type that is not exactly the recorded one, for every false tensor, and every function
    that the analysis does not list.
    """
    lines = []
    for group, comparison in found.items():
        for kind in KINDS:
            lines += [
                f"{group}/{item} [{kind}, {item.verdict.value}]" for item in getattr(comparison, kind) if item.verdict is not Verdict.EXACT
            ]
        lines += [f"{group}/{text} [false tensor]" for text in comparison.false_tensors]
        lines += [f"{group}/{text} [not listed]" for text in comparison.unmatched]
    return sorted(lines)


def compare_bundled() -> int:
    """Compares and writes the results. Returns 1 if a type is wrong, or a recording does not match its program."""
    for problem in stale():
        print(f"{problem} (python -m corpus record)")
    found = comparisons()
    lines = not_exact(found)
    before = NOT_EXACT.read_text(encoding="utf-8").splitlines() if NOT_EXACT.exists() else []
    for line in sorted(set(lines) - set(before)):
        print(f"+ {line}")
    for line in sorted(set(before) - set(lines)):
        print(f"- {line}")
    NOT_EXACT.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    counted = numbers(found)
    NUMBERS.write_text(json.dumps(counted, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    for kind, one in counted["all"]["kinds"].items():
        print(f"{kind}: {one['exact']} of {one['number']} exact, {one['imprecise']} less precise, {one['unknown']} unknown, {one['wrong']} wrong")
    return int(bool(stale()) or any(one["wrong"] for one in counted["all"]["kinds"].values()))
