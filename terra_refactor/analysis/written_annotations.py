"""Annotations that exist only as text: those of stubs and models, and forward references.

Computes: the value of a text as an annotation. Needs: its syntax tree, and the values of names. Gives:
`written_annotation`, `annotation_in_text`, `library_named`, `Named`. Ignores: everything except names, attributes,
subscripts and unions.
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Callable
from typing import TypeAlias

from terra_refactor.domain.lattice import join
from terra_refactor.domain.value import NONE, UNKNOWN, Constant, LibraryValue, PartialValue, Value
from terra_refactor.tf_model import registry
from terra_refactor.tf_model.class_names import is_shaped_array
from terra_refactor.tf_model.library_members import library_member

Named: TypeAlias = Callable[[str], Value]
"""The value of a name without dots; unknown if the name is undefined."""


def annotation_in_text(text: str, named: Named) -> Value:
    """The value of a forward reference; unknown if the text is not an expression."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            node = ast.parse(text.strip(), mode="eval").body
        return written_annotation(node, named)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return UNKNOWN


def written_annotation(node: ast.expr, named: Named) -> Value:
    """The value of the annotation if it were evaluated with these names; unknown if it cannot be."""
    match node:
        case ast.Constant(None):
            return NONE
        case ast.Constant(str(text)):
            return annotation_in_text(text, named)
        case ast.Constant(value) if value is ...:
            return Constant(...)
        case ast.Name(name):
            return named(name)
        case ast.Attribute():
            top, _, rest = ast.unparse(node).partition(".")
            owner = named(top) if top.isidentifier() else UNKNOWN
            return library_named(f"{owner.name}.{rest}") if isinstance(owner, LibraryValue) else UNKNOWN
        case ast.Subscript(base, index):
            generic = written_annotation(base, named)
            arguments = index.elts if isinstance(index, ast.Tuple) else [index]
            if isinstance(generic, LibraryValue) and is_shaped_array(generic.name):
                return PartialValue(generic, tuple(_shape_or_type(argument, named) for argument in arguments), ())
            return PartialValue(generic, tuple(written_annotation(argument, named) for argument in arguments), ())
        case ast.BinOp(left, ast.BitOr(), right):
            return join(written_annotation(left, named), written_annotation(right, named))
        case _:
            return UNKNOWN


def _shape_or_type(node: ast.expr, named: Named) -> Value:
    return Constant(node.value) if isinstance(node, ast.Constant) else written_annotation(node, named)


def library_named(name: str) -> Value:
    """A library's module, class or function by its full name."""
    owner, _, member = registry.canonical_name(name).rpartition(".")
    return library_member(owner, member) if owner else LibraryValue(name)
