"""Counts the names of TensorFlow, Keras and NumPy that a tree of Python sources uses, and those known to the registry.

Run it as `python tools/count_names.py DIRECTORY...`: it prints each canonical name with the number of its uses, most used first, and
at the end the share that resolves (canonical name known, kind known, parameters known for callables) and the share that has a rule,
both by name and by use. `--top 400` counts the most used ones only, `--unresolved` and `--no-rule` print only what lacks either.
Files that do not parse are counted and skipped.
"""

from __future__ import annotations

import argparse
import ast
import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from terra_refactor.analysis.transfer.builtin_functions import BUILTINS
from terra_refactor.tf_model.decorators import Decoration, decoration
from terra_refactor.tf_model.factories import FACTORIES
from terra_refactor.tf_model.registry import canonical_name, lookup
from terra_refactor.tf_model.spec import EntityKind

ROOTS = ("tensorflow", "keras", "tf_keras", "numpy")


class Names(ast.NodeVisitor):
    """The dotted names of a module that start at an import, fully qualified."""

    def __init__(self) -> None:
        self.imported: dict[str, str] = {}
        self.found: Counter[str] = Counter()
        self.called: set[str] = set()

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            if alias.asname is not None:
                self.imported[alias.asname] = alias.name
            else:
                top = alias.name.partition(".")[0]
                self.imported[top] = top

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        if node.module is not None and not node.level:
            for alias in node.names:
                self.imported[alias.asname or alias.name] = f"{node.module}.{alias.name}"

    def visit_Call(self, node: ast.Call) -> None:
        name = self.full_name(node.func)
        if name is not None:
            self.called.add(name)
        self.generic_visit(node)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        name = self.full_name(node)
        if name is None:
            self.generic_visit(node)
        else:
            self.found[name] += 1

    def visit_Name(self, node: ast.Name) -> None:
        name = self.full_name(node)
        if name is not None and isinstance(node.ctx, ast.Load):
            self.found[name] += 1

    def full_name(self, node: ast.expr) -> str | None:
        parts: list[str] = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name) or node.id not in self.imported:
            return None
        return ".".join([self.imported[node.id], *reversed(parts)])


def is_interpreted(name: str) -> bool:
    """Whether a function has no rule because the analysis interprets it itself: it uses the heap, creates an object, or
    wraps functions.
    """
    return name in BUILTINS or name in FACTORIES or decoration(name)[0] is not Decoration.UNKNOWN


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("directory", nargs="+", type=Path)
    parser.add_argument("--top", type=int, default=500)
    parser.add_argument("--unresolved", action="store_true", help="print only names that do not resolve")
    parser.add_argument("--no-rule", action="store_true", help="print only called functions without a rule")
    options = parser.parse_args()
    uses: Counter[str] = Counter()
    called: set[str] = set()
    unreadable = 0
    for directory in options.directory:
        for path in sorted(directory.rglob("*.py")):
            try:
                tree = ast.parse(path.read_bytes())
            except (SyntaxError, ValueError, RecursionError):
                unreadable += 1
                continue
            names = Names()
            names.visit(tree)
            for name, number in names.found.items():
                if name.partition(".")[0] in ROOTS:
                    canonical = canonical_name(name)
                    uses[canonical] += number
                    if name in names.called:
                        called.add(canonical)
    taken = sorted(uses.items(), key=lambda item: (-item[1], item[0]))[: options.top]
    total = sum(number for _, number in taken)
    resolved_names = resolved_uses = ruled_names = ruled_uses = called_names = called_uses = 0
    for name, number in taken:
        entity = lookup(name)
        needs_parameters = name in called and entity is not None and entity.kind is EntityKind.FUNCTION
        resolved = entity is not None and (entity.parameters is not None or not needs_parameters)
        has_rule = entity is not None and (entity.rule is not None or is_interpreted(name))
        resolved_names += resolved
        resolved_uses += number * resolved
        if needs_parameters:
            called_names += 1
            called_uses += number
            ruled_names += has_rule
            ruled_uses += number * has_rule
        hidden = (options.unresolved and resolved) or (options.no_rule and (has_rule or not needs_parameters))
        if not hidden:
            kind = entity.kind.value if entity is not None else "unknown"
            print(f"{number:6} {name}  {kind}{'' if has_rule else ', no rule'}")
    print(f"{len(taken)} names, {total} uses; {unreadable} files do not parse")
    print(f"resolved: {resolved_names / max(len(taken), 1):.1%} of names, {resolved_uses / max(total, 1):.1%} of uses")
    print(
        f"with a rule: {ruled_names / max(called_names, 1):.1%} of called functions, {ruled_uses / max(called_uses, 1):.1%} of uses"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
