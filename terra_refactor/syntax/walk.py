"""Going through a syntax tree.

Computes: the children of a node that carry meaning: expressions, statements, parameters, patterns.
Needs: a LibCST node. Gives: `child_nodes`, `descend`.
Ignores: whitespace, comments, punctuation, operators' spelling and parentheses.

LibCST's visitors rebuild the tree as they go, which is most of their cost; here nothing is built.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import libcst

_NO_MEANING = frozenset(
    {
        "asynchronous", "colon", "comma", "comment", "dot", "equal", "first_colon", "footer", "header", "lbrace", "lbracket",
        "leading_lines", "leading_whitespace", "lines_after_decorators", "lpar", "newline", "operator", "posonly_ind", "rbrace",
        "rbracket", "relative", "rpar", "second_colon", "semicolon", "separator", "trailing_comma", "trailing_whitespace",
    }
)  # fmt: skip

_fields: dict[type, tuple[str, ...]] = {}


def _meaningful_fields(kind: type[libcst.CSTNode]) -> tuple[str, ...]:
    names = tuple(
        field.name
        for field in dataclasses.fields(kind)
        if field.name not in _NO_MEANING and not field.name.startswith("whitespace")
    )
    _fields[kind] = names
    return names


def child_nodes(node: libcst.CSTNode) -> Iterator[libcst.CSTNode]:
    """The children that carry meaning, in the order of the node's fields, which is mostly that of the text."""
    kind = type(node)
    for name in _fields.get(kind) or _meaningful_fields(kind):
        value = getattr(node, name)
        if isinstance(value, libcst.CSTNode):
            yield value
        elif isinstance(value, (tuple, list)):
            for item in value:
                if isinstance(item, libcst.CSTNode):
                    yield item


def descend(node: libcst.CSTNode) -> Iterator[libcst.CSTNode]:
    """The node and all below it that carry meaning, parents first, in the order of the text as far as `child_nodes` has it."""
    stack = [node]
    while stack:
        current = stack.pop()
        yield current
        stack.extend(reversed(list(child_nodes(current))))
