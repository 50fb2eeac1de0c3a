"""Which calls bind: `Function.accepts` against Python itself, for all small signatures."""

from __future__ import annotations

from itertools import combinations

from lowering import lower_text

PARTS = ("a, /", "a=1, /", "b", "b=1", "*args", "*", "c", "c=1", "**rest")
NAMES = ("a", "b", "c", "z")


def binds(function: object, positional: int, keywords: tuple[str, ...]) -> bool:
    try:
        function(*range(positional), **dict.fromkeys(keywords, 0))  # type: ignore[operator]
    except TypeError:
        return False
    return True


def signatures() -> list[str]:
    parts = (chosen for size in range(5) for chosen in combinations(PARTS, size))
    found = []
    for chosen in parts:
        text = f"def f({', '.join(chosen)}): pass\n"
        try:
            compile(text, "m.py", "exec")
        except SyntaxError:
            continue
        found.append(text)
    return found


def test_a_call_binds_as_in_python() -> None:
    texts = signatures()
    assert len(texts) > 50
    calls = [(count, names) for count in range(4) for size in range(3) for names in combinations(NAMES, size)]
    seen = set()
    for text in texts:
        namespace: dict[str, object] = {}
        exec(text, namespace)
        function = next(each for each in lower_text(text).functions if each.name == "f")
        for positional, keywords in calls:
            expected = binds(namespace["f"], positional, keywords)
            assert function.accepts(positional, keywords) is expected, (text, positional, keywords)
            seen.add(expected)
    assert seen == {True, False}
