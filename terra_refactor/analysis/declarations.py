"""User declarations about functions that the analysis cannot read: the models of the configuration, and stubs.

Computes: annotations as values, and purity, by full name. Needs: the configuration's models, the texts of `.pyi` files. Gives:
`Declaration`, `read_declarations`.

Ignores: in stubs, everything except functions of modules and classes (conditions, type aliases, attributes), and all
overloads but the last.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from terra_refactor.analysis.written_annotations import Named, library_named, written_annotation
from terra_refactor.config import ProjectModel
from terra_refactor.domain.value import Value
from terra_refactor.tf_model.class_names import unqualified

_SHORT_NAMES: Final = {"tf": "tensorflow", "np": "numpy"}


@dataclass(frozen=True, slots=True)
class Declaration:
    """The declaration of one function: its annotations as values (see `annotations.annotated_value`), and whether it has no effects."""

    parameters: Mapping[str, Value]
    returns: Value | None
    pure: bool = False


def read_declarations(models: Mapping[str, ProjectModel], stubs: Mapping[str, str]) -> dict[str, Declaration]:
    """All declarations by full name.

    `stubs` are stub texts by module name; one that does not parse is ignored. Models override stubs.
    """
    found: dict[str, Declaration] = {}
    for module, text in stubs.items():
        found.update(_declared_in_stub(module, text))
    for name, model in models.items():
        parameters = {parameter: _of_text(text) for parameter, text in model.parameters.items()}
        found[name] = Declaration(parameters, None if model.returns is None else _of_text(model.returns), model.pure)
    return found


def _of_text(text: str) -> Value:
    return written_annotation(ast.parse(text, mode="eval").body, _declared_by(_SHORT_NAMES))


def _declared_in_stub(module: str, text: str) -> Iterator[tuple[str, Declaration]]:
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    names: dict[str, str] = {}
    for node in tree.body:
        if isinstance(node, ast.Import):
            for alias in node.names:
                top = alias.name.partition(".")[0]
                names[alias.asname or top] = alias.name if alias.asname else top
        elif isinstance(node, ast.ImportFrom) and node.module is not None and not node.level:
            names.update({alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names})
    yield from _declared_in_body(module, tree.body, names)


def _declared_in_body(prefix: str, body: list[ast.stmt], names: Mapping[str, str]) -> Iterator[tuple[str, Declaration]]:
    for node in body:
        if isinstance(node, ast.ClassDef):
            yield from _declared_in_body(f"{prefix}.{node.name}", node.body, names)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            every = (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)
            parameters = {
                parameter.arg: written_annotation(parameter.annotation, _declared_by(names))
                for parameter in every
                if parameter.annotation is not None
            }
            returns = None if node.returns is None else written_annotation(node.returns, _declared_by(names))
            yield f"{prefix}.{node.name}", Declaration(parameters, returns)


def _declared_by(names: Mapping[str, str]) -> Named:
    """The full names to which names are bound."""

    def named(name: str) -> Value:
        return library_named(names.get(name) or unqualified(name))

    return named
