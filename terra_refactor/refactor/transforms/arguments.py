"""Source text of the arguments of `tf.function`.

Computes: whether two texts are the same expression; an expression with `tf` replaced by the module's name for
TensorFlow. Gives: `same_expression`, `respell`, `speaks_of_tensorflow`. Ignores: comments within an argument.
"""

# ruff: noqa: N802 - LibCST calls a visitor's methods after its node classes
from __future__ import annotations

import ast

import libcst as cst


def same_expression(left: str, right: str) -> bool:
    """Whether two source texts are the same expression, ignoring white space and quotes."""
    try:
        return ast.dump(_parsed(left)) == ast.dump(_parsed(right))
    except SyntaxError:
        return left.split() == right.split()


def speaks_of_tensorflow(text: str) -> bool:
    """Whether the expression uses the name `tf`."""
    return any(isinstance(node, ast.Name) and node.id == "tf" for node in ast.walk(_parsed(text)))


def respell(text: str, tensorflow: str) -> str:
    """The expression, with `tensorflow` (a dotted name) instead of `tf`."""
    if tensorflow == "tf":
        return text
    replacement = cst.parse_expression(tensorflow)
    return cst.parse_module(f"{text}\n").visit(_Respeller(replacement)).code.removesuffix("\n")


class _Respeller(cst.CSTTransformer):
    def __init__(self, replacement: cst.BaseExpression) -> None:
        super().__init__()
        self.replacement = replacement

    def leave_Attribute(self, original_node: cst.Attribute, updated_node: cst.Attribute) -> cst.BaseExpression:
        return updated_node.with_changes(attr=original_node.attr)

    def leave_Arg(self, original_node: cst.Arg, updated_node: cst.Arg) -> cst.Arg:
        return updated_node.with_changes(keyword=original_node.keyword)

    def leave_Name(self, original_node: cst.Name, updated_node: cst.Name) -> cst.BaseExpression:
        return self.replacement if original_node.value == "tf" else updated_node


def _parsed(text: str) -> ast.Expression:
    return ast.parse(f"({text}\n)", mode="eval")
