"""Names that statements read, bind and leave unbound."""

from __future__ import annotations

import ast

import pytest

from terra_refactor.syntax.name_flow import ScopeFlow, Statements, inner_blocks, usage_of


def block_at(tree: ast.Module, line: int) -> tuple[Statements, int]:
    """The innermost block with a statement that begins on a line, and its place there."""
    found: tuple[Statements, int] | None = None

    def look(block: Statements) -> None:
        nonlocal found
        for at, statement in enumerate(block):
            if statement.lineno == line and found is None:
                found = block, at
            for inner in inner_blocks(statement):
                look(inner)
            if isinstance(statement, ast.FunctionDef):
                look(statement.body)

    look(tree.body)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("text", "needs", "binds", "sure"),
    [
        ("a = b", "b", "a", "a"),
        ("a = 1\nb = a", "", "ab", "ab"),
        ("a += 1", "a", "a", "a"),
        ("if c:\n    a = 1\nb = a", "ca", "ab", "b"),
        ("if c:\n    a = 1\nelse:\n    a = 2\nb = a", "c", "ab", "ab"),
        ("for i in r:\n    a = i\nb = a", "ra", "iab", "b"),
        ("for i in r:\n    s = s + i", "rs", "is", ""),
        ("for i in [r, s]:\n    a = i\nb = a", "rs", "iab", "iab"),
        ("for i, j in zip([r], (s, t)):\n    a = i\nb = a", ("zip", *"rst"), "ijab", "ijab"),
        ("for i in [r]:\n    if i:\n        break\n    a = i\nb = a", "ra", "iab", "b"),
        ("for i in [r]:\n    if i:\n        a = i\nb = a", "ra", "iab", "ib"),
        ("for i in []:\n    a = i\nb = a", "a", "iab", "b"),
        ("for i in [*r]:\n    a = i\nb = a", "ra", "iab", "b"),
        ("for i in range(3):\n    a = i\nb = a", ("range",), "iab", "iab"),
        ("for i in [r]:\n    for j in s:\n        break\n    a = i\nb = a", "rs", "ijab", "iab"),
        ("while c:\n    a = 1", "c", "a", ""),
        ("with o() as f:\n    a = f", "o", "fa", "fa"),
        ("try:\n    a = f()\nexcept E:\n    a = 0", "fE", "a", "a"),
        ("try:\n    a = f()\nexcept E:\n    pass\nb = a", "fEa", "ab", "b"),
        ("try:\n    a = f()\nexcept E:\n    raise\nb = a", "fE", "ab", "ab"),
        ("a = [x * y for x in b]", "yb", "a", "a"),
        ("a = [x for x in x]", "x", "a", "a"),
        ("a = lambda x: x + y", "y", "a", "a"),
        ("a, (b, *c) = d", "d", "abc", "abc"),
        ("a.x = b\nc[i] = d", "abcid", "", ""),
        ("b = (a := f()) + a", "fa", "ba", "b"),
        ("del a", "a", "", ""),
        ("a = 1\ndel a\nb = a", "a", "ab", "b"),
        ("def f(x=d):\n    return x + y", "dy", "f", "f"),
        ("match s:\n    case [a, b]:\n        c = a", "s", "abc", ""),
    ],
)
def test_usage(text: str, needs: str | tuple[str, ...], binds: str, sure: str) -> None:
    usage = usage_of(ast.parse(text).body)
    assert (set(usage.needs), set(usage.binds), usage.sure) == (set(needs), set(binds), set(sure))


@pytest.mark.parametrize(
    ("text", "line", "live"),
    [
        ("a = 1\nb = 2\nprint(a)", 1, "a"),
        ("for i in r:\n    a = 1\n    print(i)\nprint(a)", 2, "air"),
        # the next iteration reads it, if it is not bound again before
        ("for i in r:\n    print(a)\n    a = 1", 3, "a"),
        ("for i in r:\n    a = 0\n    print(a)\n    b = a", 4, ""),
        ("for i in r:\n    a = 1\n    break\nprint(a)", 2, "a"),
        ("for i in r:\n    a = 1\n    continue\nprint(b)\nb = 1", 2, "b"),
        ("while c:\n    a = 1\n    c = a", 2, "a"),
        # a handler may run after any statement of the body
        ("try:\n    a = 1\n    b = 2\nexcept E:\n    print(a)", 2, "a"),
        ("try:\n    a = 1\nfinally:\n    print(a)", 2, "a"),
        ("a = 1\ndef f():\n    return a", 1, "a"),
        ("a = 1\nwith o() as a:\n    print(a)", 1, ""),
        ("if c:\n    a = 1\nelse:\n    a = 2\nprint(a)", 2, "a"),
    ],
)
def test_live_after(text: str, line: int, live: str) -> None:
    tree = ast.parse(text)
    block, at = block_at(tree, line)
    flow = ScopeFlow(tree)
    assert flow.live_after(block, at + 1) == set(live) & flow.names


@pytest.mark.parametrize(
    ("text", "line", "bound"),
    [
        ("a = 1\nb = 2\nc = 3", 3, "ab"),
        ("if c:\n    a = 1\nb = 2", 3, ""),
        ("if c:\n    a = 1\nelse:\n    raise E\nb = 2", 5, "a"),
        ("for i in r:\n    a = 1\nb = 2", 3, ""),
        ("for i in [r]:\n    a = 1\nb = 2", 3, "ia"),
        ("for i in [r]:\n    if i:\n        continue\n    a = 1\nb = 2", 5, ""),
        ("for i in r:\n    b = 2\n    a = b", 2, "i"),
        ("for i in r:\n    if i:\n        continue\n    else:\n        a = 1\n    b = 2", 6, "ia"),
        ("a = 1\ndel a\nb = 2", 3, ""),
        ("try:\n    a = 1\nexcept E:\n    pass\nb = 2", 5, ""),
        ("with o() as f:\n    a = 1\nb = 2", 3, "fa"),
    ],
)
def test_bound_before(text: str, line: int, bound: str) -> None:
    tree = ast.parse(text)
    block, at = block_at(tree, line)
    assert ScopeFlow(tree).bound_before(block, at) == set(bound)


def test_parameters_and_names_of_a_function() -> None:
    function = ast.parse("def f(a, *b, c=1, **d):\n    global g\n    g = 1\n    e = a\n    return e\n").body[0]
    assert isinstance(function, ast.FunctionDef)
    flow = ScopeFlow(function)
    assert flow.names == {"a", "b", "c", "d", "e"}
    assert flow.bound_before(function.body, 2) == {"a", "b", "c", "d", "g"}
