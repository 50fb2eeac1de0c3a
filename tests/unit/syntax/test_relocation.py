"""Where the places of a text are in one that differs in comments, docstrings and layout only."""

from __future__ import annotations

import ast
import random
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

sys.path.insert(0, str(Path(__file__).parents[2]))

from layout_support import respaced

from terra_refactor.syntax.location import Span
from terra_refactor.syntax.relocation import RelocationError, relocation

OLD = '''"""A module."""
import tensorflow as tf


def f(x, y):
    """Adds."""
    z = tf.add(x, y)  # the sum
    return z
'''
NEW = '''# a comment
"""Another text."""

import tensorflow as tf
def f(
    x,   # first
    y,
):

        z = tf.add(  x
          , y)
        return z'''


def spans(text: str) -> list[Span]:
    """Of each node of Python's tree that is not a text that stands alone, in the order of a walk."""
    lines = text.splitlines()
    tree = ast.parse(text)
    alone = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str | bytes)
        for inner in ast.walk(node)
    }

    def column(line: int, offset: int) -> int:
        return len(lines[line - 1].encode()[:offset].decode()) + 1

    return [
        Span(
            node.lineno,
            column(node.lineno, node.col_offset),
            node.end_lineno or 0,
            column(node.end_lineno or 0, node.end_col_offset or 0),
        )
        for node in ast.walk(tree)
        if isinstance(node, ast.expr | ast.stmt) and id(node) not in alone
    ]


def test_every_node_is_found_again() -> None:
    move = relocation(OLD.replace("x, y):", "x, y, ):"), NEW)
    assert move is not None
    old, new = spans(OLD.replace("x, y):", "x, y, ):")), spans(NEW)
    assert [move.span(each) for each in old] == new


def test_lines_move() -> None:
    move = relocation(OLD, "\n\n" + OLD)
    assert move is not None
    assert (move.line(5), move.end_line(8)) == (7, 10)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("x = 1\n", "x = 2\n"),
        ("x = 'a'\n", "x = 'b'\n"),
        ("f()\n", "'f'\nf(1)\n"),
        ("if a:\n    b()\nc()\n", "if a:\n    b()\n    c()\n"),
        ("x = 'a'\n", "x = 'a' 'b'\n"),
        ("f'{x}'\n", "f'{y}'\n"),
        ("f'{x}'\n", ""),
        ("x\n", "x;\n"),
        ("def f(: pass\n", "def f(:  pass\n"),
        ("x\n", "'text' b'bytes'\nx\n"),
        ("def f():\n    x\n", "def f():\n    x\n    'text'\n"),
        ("def f():\n    x\ny\n", "def f():\n    x\n    'text'\ny\n"),
        ("x = 1\r", "x = 1\r\r"),
        ("x = '''\n'''\n", "x = '''\n\n'''\n"),
    ],
)
def test_texts_that_differ_in_more(old: str, new: str) -> None:
    assert relocation(old, new) is None


def test_what_python_before_3_12_takes_for_a_comment_inside_of_an_f_string() -> None:
    assert relocation('x = f"{d["# a"]}"\n', 'x = f"{d["# b"]}"\n') is None


def test_a_statement_that_is_a_text_may_come_and_go() -> None:
    move = relocation("def f():\n    return 1\n", "def f():\n    'doc'\n\n    b'more' b'bytes'\n    return 1\n")
    assert move is not None
    assert move.span(Span(2, 5, 2, 13)) == Span(5, 5, 5, 13)


def test_a_place_inside_of_a_token_stays_there() -> None:
    move = relocation('x = f"{a} {b}"\n', 'x  =   f"{a} {b}"\n')
    assert move is not None
    assert move.span(Span(1, 8, 1, 9)) == Span(1, 11, 1, 12)
    move = relocation('x = f"""{a}\n{b}"""\n', '\nx  =   f"""{a}\n{b}"""\n')
    assert move is not None
    assert move.span(Span(2, 2, 2, 3)) == Span(3, 2, 3, 3)


def test_an_end_stays_with_the_token_that_ends_there() -> None:
    move = relocation("f(x)(y)\n", "f(x)  (y)\n")
    assert move is not None
    assert move.span(Span(1, 1, 1, 5)) == Span(1, 1, 1, 5)


@pytest.mark.parametrize("span", [Span(1, 1, 2, 2), Span(2, 1, 2, 3), Span(2, 2, 3, 1)])
def test_a_place_at_no_token_is_nowhere(span: Span) -> None:
    move = relocation("# comment\nx = 1\n", "x = 1\n")
    assert move is not None
    with pytest.raises(RelocationError):
        move.span(span)


def test_a_line_that_is_split_is_that_of_its_function() -> None:
    move = relocation("f(a, lambda: b)\n", "f(a,\n  lambda: b)\n")
    assert move is not None
    assert move.line(1) == 2
    assert move.span(Span(1, 1, 1, 1)) == Span(2, 1, 2, 1)


def test_a_line_that_is_split_is_no_line() -> None:
    move = relocation("f(lambda: a, lambda: b)\n", "f(lambda: a,\n  lambda: b)\n")
    assert move is not None
    with pytest.raises(RelocationError):
        move.line(1)
    with pytest.raises(RelocationError):
        move.end_line(1)


PIECES = (
    "x = f(a, [b, c])",
    "def g(p, q=1):\n    r = p + q\n    return r",
    "for i in x:\n    g(i)",
    "y = 'text'",
    "class K:\n    z = 1",
)


@given(st.lists(st.sampled_from(PIECES), min_size=1, max_size=6), st.randoms(use_true_random=False))
def test_nodes_are_found_again_in_any_layout(pieces: list[str], choice: random.Random) -> None:
    text = "\n".join(pieces) + "\n"
    old, new = respaced(text, choice, often=0.5), respaced(text, choice, often=0.5)
    move = relocation(old, new)
    assert move is not None
    assert [move.span(each) for each in spans(old)] == spans(new)
