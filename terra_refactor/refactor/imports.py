"""The expression for TensorFlow in a module, and the place of a missing import.

Computes: the expression for TensorFlow (or for another library name) at a definition. Needs: `ModuleNames`, the definition's site. Gives:
`Reached`, `Missing` (with the import that has to be added) or `Unreachable` with a reason; and the edit that adds imports.

An import is used only if it has certainly run, and its name has no other meaning there. If the module has none, one
is added, unless the module imports TensorFlow conditionally on purpose (in a `try`, under an `if`, inside functions),
which must be preserved.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import count
from typing import Protocol, TypeAlias

import libcst as cst

from terra_refactor.refactor.names import Binding, BindingKind, CstScope, ModuleNames, canonical, dotted_name
from terra_refactor.refactor.text import ModuleText
from terra_refactor.syntax.edit import Edit

_TENSORFLOW = "tensorflow"
RUNTIME = "terra_refactor.runtime"


@dataclass(frozen=True, slots=True)
class Reached:
    """`expression` denotes the wanted name."""

    expression: str


@dataclass(frozen=True, slots=True)
class Missing:
    """`expression` denotes the wanted name once `statement` is among the module's imports."""

    expression: str
    statement: str


@dataclass(frozen=True, slots=True)
class Unreachable:
    """The name is not available here without changing the behaviour of the module; `reason` says why."""

    reason: str


Reach: TypeAlias = Reached | Missing | Unreachable


class Standpoint(Protocol):
    """The place of a lookup: a definition (for its decorators), or an expression."""

    @property
    def enclosing(self) -> tuple[CstScope, ...]:
        """The enclosing scopes, outermost first."""
        ...

    @property
    def line(self) -> int:
        """Its line, from 1."""
        ...


def reach_tensorflow(names: ModuleNames, site: Standpoint) -> Reach:
    """How to refer to the module `tensorflow` at this place: in a decorator of a definition, or in its body."""
    for name in _preferred(names, _TENSORFLOW, ("tf", "tensorflow")):
        if _reliable(names, name, site) == _TENSORFLOW:
            return Reached(name)
    # decorators of the module use its own name `tf`, and also names from a star import above
    if names.comes_from_star("tf") and names.star_line is not None and names.star_line < site.line:
        return Reached("tf")
    conditional = _conditional_import(names)
    if conditional is not None:
        return Unreachable(conditional)
    if _free(names, "tf", _TENSORFLOW):
        return Missing("tf", "import tensorflow as tf")
    if _free(names, "tensorflow", _TENSORFLOW):
        return Missing("tensorflow", "import tensorflow")
    fresh = _fresh_name("tf", names)
    return Missing(fresh, f"import tensorflow as {fresh}")


def reach_tf_function(names: ModuleNames, site: Standpoint) -> Reach:
    """The spelling of `tf.function` in a decorator of this definition: an existing `from tensorflow import function` is used."""
    module = reach_tensorflow(names, site)
    if isinstance(module, Reached):
        return Reached(f"{module.expression}.function")
    for name in _preferred(names, "tensorflow.function", ()):
        if _reliable(names, name, site) == "tensorflow.function":
            return Reached(name)
    if isinstance(module, Missing):
        return Missing(f"{module.expression}.function", module.statement)
    return module


def reach_co_execute(names: ModuleNames, site: Standpoint) -> Reach:
    """How to refer to the shim's decorator."""
    return reach_member(names, site, RUNTIME, "co_execute")


def reach_member(names: ModuleNames, site: Standpoint, module: str, member: str) -> Reached | Missing:
    """How to refer to a module's member at this place."""
    wanted = f"{module}.{member}"
    for name in _preferred(names, wanted, ()):
        if _reliable(names, name, site) == wanted:
            return Reached(name)
    for name in _preferred(names, module, ()):
        if _reliable(names, name, site) == module:
            return Reached(f"{name}.{member}")
    if _free(names, member, wanted):
        return Missing(member, f"from {module} import {member}")
    fresh = _fresh_name(member, names)
    return Missing(fresh, f"from {module} import {member} as {fresh}")


def _targets(bindings: Iterable[Binding]) -> set[str | None]:
    return {None if binding.target is None else canonical(binding.target) for binding in bindings}


def _preferred(names: ModuleNames, target: str, first: tuple[str, ...]) -> list[str]:
    """The names that some import binds to `target`: first those in `first`, then the others, sorted."""
    found = {
        name
        for bindings in names.scopes.values()
        for name, places in bindings.items()
        if any(place.target is not None and canonical(place.target) == target for place in places)
    }
    return sorted(found, key=lambda name: (first.index(name) if name in first else len(first), name))


def _reliable(names: ModuleNames, name: str, site: Standpoint) -> str | None:
    """The certain value of `name` when the decorators of `site` are evaluated; None if uncertain."""
    bindings, same_scope = names.bindings(name, site.enclosing)
    running = [binding for binding in bindings if binding.kind is not BindingKind.TYPING_IMPORT]
    targets = _targets(running)
    if len(targets) != 1:
        return None
    if not any(
        binding.kind is BindingKind.IMPORT and (not same_scope or binding.line < site.line) for binding in running
    ):
        return None
    (target,) = targets
    return target


def _conditional_import(names: ModuleNames) -> str | None:
    """The reason why the module must not import TensorFlow unconditionally, or None if it may."""
    running = [
        (depth, binding)
        for depth, bindings in enumerate(names.scopes.values())
        for places in bindings.values()
        for binding in places
        if binding.target is not None
        and (binding.target == _TENSORFLOW or binding.target.startswith(_TENSORFLOW + "."))
        and binding.kind is not BindingKind.TYPING_IMPORT
    ]
    if any(binding.kind is BindingKind.IMPORT and depth == 0 for depth, binding in running):
        return None
    if any(binding.kind is BindingKind.CONDITIONAL_IMPORT for _, binding in running):
        return "TensorFlow is imported only under a condition here, and an import that always runs would change that"
    if running:
        return (
            "TensorFlow is imported only inside functions here, and an import at the top would change when it is loaded"
        )
    return None


def _free(names: ModuleNames, name: str, target: str) -> bool:
    """Whether the module may bind `name` to `target`: the name is unused, or used only for that target at module level."""
    if name not in names.used:
        return True
    if names.has_star_import:
        return False
    module_scope, *inner = names.scopes.values()
    if any(name in scope for scope in inner):
        return False
    bindings = module_scope.get(name, ())
    return bool(bindings) and _targets(bindings) == {target}


def _fresh_name(name: str, names: ModuleNames) -> str:
    """The name with the first number that the module does not use."""
    return next(candidate for number in count(2) if (candidate := f"{name}_{number}") not in names.used)


# --- adding ---------------------------------------------------------------------------------------------------------------------------


def add_imports(module: ModuleText, statements: Iterable[str]) -> list[Edit]:
    """The edits that add import statements to the module, next to its other imports; one edit for each place.

    import numpy as np              import numpy as np
                              ->    import tensorflow as tf
    """
    by_place: dict[int, list[str]] = {}
    blank: dict[int, tuple[int, int]] = {}
    for statement in sorted(set(statements), key=_sort_key):
        place, before, after = _import_place(module, statement)
        by_place.setdefault(place, []).append(statement)
        blank[place] = (before, after)
    edits: list[Edit] = []
    for place, added in sorted(by_place.items()):
        before, after = blank[place]
        newline = (
            module.newline_at(place - 1) if place and module.text[place - 1] in "\r\n" else module.newline_at(place)
        )
        text = "".join(statement + newline for statement in added)
        text = newline * before + text + newline * after
        if place and module.text[place - 1] not in "\r\n":
            text = newline + text.removesuffix(newline)  # the last line has no line ending: leave it so
        edits.append(Edit(place, place, text))
    return edits


def _sort_key(statement: str) -> tuple[bool, str]:
    return (statement.startswith("from "), statement.split()[1])


def _import_place(module: ModuleText, statement: str) -> tuple[int, int, int]:
    """Offset of the line before which the statement is inserted, and the numbers of blank lines before and after it."""
    imports = _leading_imports(module)
    third_party = [line for line in imports if _is_third_party(line)]
    if third_party:
        group = _group_of(module, third_party[-1], imports)
        style_line = [line for line in group if _line_key(line) < _sort_key(statement)]
        if style_line:
            return module.line_end(module.offsets(style_line[-1])[1]), 0, 0
        return module.line_start(module.offsets(group[0])[0]), 0, 0
    ordinary = [line for line in imports if not _is_relative(line) and not _is_future(line)]
    if ordinary:
        return module.line_end(module.offsets(ordinary[-1])[1]), 1, 0
    if imports:
        first = imports[-1]
        if _is_future(first):
            return module.line_end(module.offsets(first)[1]), 1, 0
        return module.line_start(module.offsets(imports[0])[0]), 0, 1
    return _place_without_imports(module)


def _leading_imports(module: ModuleText) -> list[cst.SimpleStatementLine]:
    """The import lines of the module body before its first function, class or block."""
    found: list[cst.SimpleStatementLine] = []
    for statement in module.tree.body:
        if isinstance(statement, cst.FunctionDef | cst.ClassDef):
            break
        if isinstance(statement, cst.SimpleStatementLine) and all(
            isinstance(small, cst.Import | cst.ImportFrom) for small in statement.body
        ):
            found.append(statement)
    return found


def _place_without_imports(module: ModuleText) -> tuple[int, int, int]:
    """After the docstring if there is one; else before the first statement and the comment that belongs to it."""
    body = module.tree.body
    if not body:
        return len(module.text), 0, 0
    first = body[0]
    if isinstance(first, cst.SimpleStatementLine) and _is_docstring(first):
        return module.line_end(module.offsets(first)[1]), 1, int(len(body) > 1 and not _blank_before(module, body[1]))
    place = _above_decorators(module, first)
    attached = place
    while attached:
        above = module.line_start(attached - 1)
        if not module.text[above:attached].lstrip(" \t\f").startswith("#"):
            break
        attached = above
    if attached and attached != place and not module.text[module.line_start(attached - 1) : attached].strip():
        place = attached  # a blank line separates the comment from the header: it belongs to the statement
    return place, 0, 2 if isinstance(first, cst.FunctionDef | cst.ClassDef) else 1


def _above_decorators(module: ModuleText, statement: cst.CSTNode) -> int:
    if isinstance(statement, cst.FunctionDef | cst.ClassDef) and statement.decorators:
        return module.line_start(module.offsets(statement.decorators[0])[0])
    return module.line_start(module.offsets(statement)[0])


def _blank_before(module: ModuleText, statement: cst.CSTNode) -> bool:
    place = _above_decorators(module, statement)
    return bool(place) and not module.text[module.line_start(place - 1) : place].strip()


def _is_docstring(line: cst.SimpleStatementLine) -> bool:
    first = line.body[0]
    return isinstance(first, cst.Expr) and isinstance(first.value, cst.SimpleString | cst.ConcatenatedString)


def _modules(line: cst.SimpleStatementLine) -> list[str]:
    found: list[str] = []
    for small in line.body:
        if isinstance(small, cst.Import):
            found.extend(dotted_name(alias.name) or "" for alias in small.names)
        elif isinstance(small, cst.ImportFrom):
            found.append("." * len(small.relative) + (dotted_name(small.module) or "" if small.module else ""))
    return found


def _line_key(line: cst.SimpleStatementLine) -> tuple[bool, str]:
    return (isinstance(line.body[0], cst.ImportFrom), _modules(line)[0])


def _is_relative(line: cst.SimpleStatementLine) -> bool:
    return any(name.startswith(".") for name in _modules(line))


def _is_future(line: cst.SimpleStatementLine) -> bool:
    return "__future__" in _modules(line)


_KNOWN_THIRD_PARTY = frozenset(
    [
        "absl",
        "cv2",
        "flax",
        "gym",
        "gymnasium",
        "h5py",
        "jax",
        "keras",
        "keras_cv",
        "keras_nlp",
        "keras_tuner",
        "matplotlib",
        "numpy",
        "optax",
        "pandas",
        "PIL",
        "scipy",
        "seaborn",
        "six",
        "skimage",
        "sklearn",
        "sonnet",
        "tensorboard",
        "tensorflow",
        "tensorflow_addons",
        "tensorflow_datasets",
        "tensorflow_hub",
        "tensorflow_probability",
        "tensorflow_text",
        "terra_refactor",
        "tf_keras",
        "torch",
        "tqdm",
        "transformers",
    ]
)
"""Third-party packages, next to which TensorFlow is imported. Other packages may be the project's own."""


def _is_third_party(line: cst.SimpleStatementLine) -> bool:
    return any(name.partition(".")[0] in _KNOWN_THIRD_PARTY for name in _modules(line))


def _group_of(
    module: ModuleText, line: cst.SimpleStatementLine, imports: list[cst.SimpleStatementLine]
) -> list[cst.SimpleStatementLine]:
    """The contiguous import lines around `line`."""
    at = imports.index(line)
    first = last = at
    while first and _adjacent(module, imports[first - 1], imports[first]):
        first -= 1
    while last + 1 < len(imports) and _adjacent(module, imports[last], imports[last + 1]):
        last += 1
    group = imports[first : last + 1]
    return [entry for entry in group if not _is_future(entry) and not _is_relative(entry)]


def _adjacent(module: ModuleText, upper: cst.SimpleStatementLine, lower: cst.SimpleStatementLine) -> bool:
    return module.line_end(module.offsets(upper)[1]) == module.line_start(module.offsets(lower)[0])
