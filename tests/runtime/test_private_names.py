"""The list of private names is complete: the code of the shim is read, and every name that it uses must stand in the list."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("tensorflow")

pytestmark = pytest.mark.tensorflow
# ruff: noqa: PLC0415

ROOM = Path(__file__).parents[2] / "terra_refactor" / "runtime"
DOOR = "tf_internals.py"
LIBRARIES = ("tensorflow", "keras")
OF_PYTHON = {"_abc_impl", "_current_frames", "_fields", "_getframe", "_is_protocol", "_make"}
PRIVATE = re.compile(r"_[A-Za-z]\w*$")


@dataclass
class Names:
    """The names that a room uses: paths from a name of the door, attributes of objects, spelled names, imports outside the door."""

    paths: set[str] = field(default_factory=set)
    attributes: set[str] = field(default_factory=set)
    spelled: set[str] = field(default_factory=set)
    imports: set[str] = field(default_factory=set)
    own: set[str] = field(default_factory=set)


def private_doors(tree: ast.Module) -> set[str]:
    """The names of the door that stand for something private: all but `tf` and `keras`, of which the public part is no matter."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(LIBRARIES):
            found.update(alias.asname or alias.name for alias in node.names)
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            found.add(node.target.id)
    return found


def _chain(node: ast.AST) -> tuple[str, ...]:
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return (node.id, *reversed(parts)) if isinstance(node, ast.Name) else ()


def _of_own_classes(tree: ast.Module) -> set[int]:
    """The `self.name` in classes of the room. In a function that takes the place of a method, `self` is TensorFlow's or Keras' object."""
    return {
        id(node)
        for owner in ast.walk(tree)
        if isinstance(owner, ast.ClassDef)
        for node in ast.walk(owner)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in ("self", "cls")
    }


def _owned(tree: ast.Module) -> Iterator[str]:
    itself = _of_own_classes(tree)
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            yield node.name
        elif id(node) in itself and isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.Assign) and any(getattr(t, "id", "") == "__slots__" for t in node.targets):
            yield from (c.value for c in ast.walk(node.value) if isinstance(c, ast.Constant))


def used_names(sources: dict[str, str]) -> Names:
    trees = {name: ast.parse(text) for name, text in sources.items()}
    doors = private_doors(trees[DOOR])
    found = Names()
    for tree in trees.values():
        found.own.update(_owned(tree))
    for tree in (tree for name, tree in trees.items() if name != DOOR):  # what is missing there is an ImportError
        taken, itself = _taken_from_the_door(tree), _of_own_classes(tree)
        parts: set[int] = set()
        for node in ast.walk(tree):
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                modules = [node.module or ""] if isinstance(node, ast.ImportFrom) else [a.name for a in node.names]
                found.imports.update(module for module in modules if module.split(".")[0] in LIBRARIES)
            elif isinstance(node, ast.Attribute):
                if id(node) not in parts:
                    parts.update(_attribute(node, itself, taken, doors, found))
            elif isinstance(node, ast.BinOp) and isinstance(node.right, ast.Constant):
                parts.add(id(node.right))  # the end of a name that is made up
            elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in parts:
                for word in node.value.split():
                    if word.startswith("TFE_") and word.isidentifier():
                        found.paths.add(f"pywrap_tfe.{word}")
                if PRIVATE.match(node.value):
                    found.spelled.add(node.value)
    return found


def _taken_from_the_door(tree: ast.Module) -> set[str]:
    return {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").endswith("tf_internals")
        for alias in node.names
    }


def _attribute(node: ast.Attribute, itself: set[int], taken: set[str], doors: set[str], found: Names) -> set[int]:
    parts: set[int] = set()
    inner: ast.AST = node
    private = []
    while isinstance(inner, ast.Attribute):
        parts.add(id(inner))
        if PRIVATE.match(inner.attr) and id(inner) not in itself:
            private.append(inner.attr)
        inner = inner.value
    chain = _chain(node)
    if chain and chain[0] in taken and (chain[0] in doors or "src" in chain or private):
        if chain[-1] not in ("__module__", "__qualname__", "__name__", "__mro__"):
            found.paths.add(".".join(chain))
    else:
        found.attributes.update(private)
    return parts


def the_room() -> Names:
    return used_names({path.name: path.read_text() for path in ROOM.glob("*.py") if path.name != "private_names.py"})


def test_every_private_name_that_is_used_is_in_the_list_and_no_other_is() -> None:
    from terra_refactor.runtime import private_names

    used = the_room()
    attributes = {name for *_, names in private_names.ATTRIBUTES for name in names}
    ends = {path.rpartition(".")[2] for path in private_names.PATHS}
    listed = attributes | private_names.SOUGHT | ends | OF_PYTHON
    assert not used.imports
    assert used.paths - private_names.PATHS == set()
    assert {*used.attributes, *used.spelled} - used.own - listed == set()
    everything = used.paths | used.attributes | used.spelled
    dead = {path for path in private_names.PATHS - used.paths if path.rpartition(".")[2] not in used.spelled}
    assert {path for path in dead if not any(each.startswith(path + ".") for each in used.paths)} == set()
    assert (attributes | private_names.SOUGHT) - everything == set()


@pytest.mark.parametrize(
    ("code", "where", "name"),
    [
        ("def f(x):\n    return x._secret", "attributes", "_secret"),
        ("def f(x):\n    return g(x)._secret.value", "attributes", "_secret"),
        ("def f(self):\n    return self._secret", "attributes", "_secret"),
        ("def f(x):\n    return getattr(x, '_secret', None)", "spelled", "_secret"),
        ("from terra_refactor.runtime.tf_internals import ops\nops.secret()", "paths", "ops.secret"),
        ("from terra_refactor.runtime.tf_internals import tf\ntf._secret", "paths", "tf._secret"),
        ("NAMES = 'TFE_Py_Secret TFE_Py_Other'", "paths", "pywrap_tfe.TFE_Py_Secret"),
        ("def f():\n    from tensorflow.python.eager import core", "imports", "tensorflow.python.eager"),
        ("import keras.src.backend", "imports", "keras.src.backend"),
    ],
)
def test_what_is_not_in_the_list_is_noticed(code: str, where: str, name: str) -> None:
    sources = {DOOR: "from tensorflow.python.framework import ops\n", "more.py": code}
    used = used_names(sources)
    assert name in getattr(used, where)
    assert name not in used.own


def test_every_name_is_there() -> None:
    from terra_refactor.runtime import private_names

    assert private_names.lost_name() is None


@pytest.mark.parametrize(
    ("owner", "name", "said"),
    [
        ("gradients_util", "_GradientsHelper", "there is no gradients_util._GradientsHelper"),
        ("KerasLayer", "_get_call_context", "a layer has no _get_call_context"),
    ],
)
def test_a_name_that_is_gone_is_said(monkeypatch: pytest.MonkeyPatch, owner: str, name: str, said: str) -> None:
    from terra_refactor.runtime import private_names, tf_internals

    thing: Any = getattr(tf_internals, owner)
    monkeypatch.delattr(thing, name)
    assert private_names.lost_name() == said
