"""How many small mistakes in the rooms that decide would the test-suite notice? A sample of mutants, each run against the fast tests.

Run it as `python tools/check_mutants.py ROOM... --number N [--seed S] [--tests PATH...]`; a room is a folder (or file) of terra_refactor/.
In a copy of the repository it makes one change at a time (a comparison turned round, `and` for `or`, a condition negated, a constant,
an arithmetic sign, a statement left out) and runs the tests until the first fails. A mutant that no test notices has survived: it is
printed as a diff, and is either a missing test or no mistake at all. The exit code is 1 if one survived. The same seed gives the same
sample of the same sources.
"""

from __future__ import annotations

import argparse
import ast
import copy
import difflib
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
TESTS = ("tests/cases", "tests/unit/rules", "tests/unit/classify", "tests/golden", "tests/property")
TURNED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
SIGNS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.FloorDiv: ast.Mult,
    ast.BitOr: ast.BitAnd,
    ast.BitAnd: ast.BitOr,
}


def mutants(node: ast.AST) -> Iterator[ast.AST | None]:
    """What may stand in place of a node by mistake; None for nothing at all."""
    match node:
        case ast.Compare(ops=[operator]) if type(operator) in TURNED:
            yield ast.Compare(node.left, [TURNED[type(operator)]()], node.comparators)
        case ast.BoolOp():
            yield ast.BoolOp(ast.Or() if isinstance(node.op, ast.And) else ast.And(), node.values)
            yield from node.values[:1]
        case ast.UnaryOp(op=ast.Not()):
            yield node.operand
        case ast.BinOp() if type(node.op) in SIGNS and not isinstance(node.left, ast.Constant | ast.JoinedStr):
            yield ast.BinOp(node.left, SIGNS[type(node.op)](), node.right)
        case ast.Constant(value=bool()):
            yield ast.Constant(not node.value)
        case ast.Constant(value=int()):
            yield ast.Constant(node.value + 1)
        case ast.If() | ast.While() | ast.IfExp():
            changed = copy.copy(node)
            changed.test = ast.UnaryOp(ast.Not(), node.test)
            yield changed
        case ast.Continue() | ast.Break():
            yield ast.Pass()
        case ast.Expr(value=ast.Call()) | ast.AugAssign():
            yield ast.Pass()
        case ast.Return(value=ast.expr()) if not isinstance(node.value, ast.Constant):
            yield ast.Return(ast.Constant(None))


def places(tree: ast.Module) -> Iterator[tuple[ast.AST, str, int | None, ast.AST]]:
    """Each node of functions' bodies (annotations and defaults left out), with where it hangs: parent, field, index."""
    waiting: list[tuple[ast.AST, bool]] = [(tree, False)]
    while waiting:
        parent, inside = waiting.pop()
        for name, value in ast.iter_fields(parent):
            if name in (
                "annotation",
                "returns",
                "decorator_list",
                "args" if isinstance(parent, ast.FunctionDef) else "",
            ):
                continue
            members = value if isinstance(value, list) else [value]
            for number, child in enumerate(members):
                if isinstance(child, ast.AST):
                    if inside:
                        yield parent, name, number if isinstance(value, list) else None, child
                    waiting.append((child, inside or isinstance(child, ast.FunctionDef)))


def sample(paths: list[Path], number: int, seed: int) -> list[tuple[Path, str, str]]:
    """Files with their text before and after one mistake (both as `ast` writes them), chosen at random; each place once."""
    found = []
    for path in paths:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for parent, name, index, child in places(tree):
            for mutant in mutants(child):
                found.append((path, tree, parent, name, index, child, mutant))
    chosen = random.Random(seed).sample(found, min(number, len(found)))
    print(f"{len(chosen)} of {len(found)} mutants of {len(paths)} files", flush=True)
    texts = []
    for path, tree, parent, name, index, child, mutant in chosen:
        before = ast.unparse(tree)
        _put(parent, name, index, mutant)
        after = ast.unparse(ast.fix_missing_locations(tree))
        _put(parent, name, index, child)
        texts.append((path, before, after))
    return texts


def _put(parent: ast.AST, name: str, index: int | None, value: ast.AST | None) -> None:
    if index is None:
        setattr(parent, name, value)
    else:
        getattr(parent, name)[index] = value


def check(root: Path, tests: list[str], timeout: float) -> tuple[str, float]:
    """`survived`, or the test that noticed; and the seconds."""
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-x",
        "-p",
        "no:cacheprovider",
        "-m",
        "not slow and not tensorflow",
    ]
    started = time.perf_counter()
    try:
        done = subprocess.run(
            [*command, "--no-header", "--tb=no", *tests],
            cwd=root,
            env={**os.environ, "PYTHONPATH": str(root)},
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return "does not end", time.perf_counter() - started
    seconds = time.perf_counter() - started
    if done.returncode == 0:
        return "survived", seconds
    lines = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    return (lines or done.stdout.splitlines()[-1:] or ["?"])[0][:140], seconds


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("rooms", nargs="+", metavar="ROOM")
    parser.add_argument("--number", type=int, default=20, help="mutants of all rooms together (20)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--tests", nargs="+", default=list(TESTS))
    options = parser.parse_args()
    survived = 0
    with tempfile.TemporaryDirectory() as scratch:
        root = Path(scratch) / "repository"
        tracked = subprocess.run(["git", "ls-files", "-z"], cwd=REPOSITORY, capture_output=True, text=True, check=True)
        for name in filter(None, tracked.stdout.split("\0")):
            if (REPOSITORY / name).is_file() and not name.startswith("vscode-extension/"):
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(REPOSITORY / name, root / name)
        paths = [
            path
            for room in options.rooms
            for path in sorted(
                [root / "terra_refactor" / room]
                if room.endswith(".py")
                else (root / "terra_refactor" / room).rglob("*.py")
            )
        ]
        said, seconds = check(root, options.tests, 3600)
        if said != "survived":
            raise SystemExit(f"error: the tests fail without a mutant: {said}")
        print(f"without a mutant: {seconds:.0f} s", flush=True)
        for number, (path, before, after) in enumerate(sample(paths, options.number, options.seed), start=1):
            original = path.read_text(encoding="utf-8")
            path.write_text(after, encoding="utf-8")
            said, spent = check(root, options.tests, 3 * seconds + 60)
            path.write_text(original, encoding="utf-8")
            print(f"{number}: {path.relative_to(root)}: {said} ({spent:.0f} s)", flush=True)
            if said == "survived":
                survived += 1
                print(
                    "\n".join(difflib.unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=2)),
                    flush=True,
                )
    print(f"{options.number - survived} of {options.number} mutants were noticed")
    return 1 if survived else 0


if __name__ == "__main__":
    sys.exit(main())
