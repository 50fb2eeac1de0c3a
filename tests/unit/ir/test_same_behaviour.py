"""A lowered program, interpreted, does what Python does with the program's text: the same steps, in the same order."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from typing import Any

import pytest
from lowering import lower_text
from reference_interpreter import run_module

PROGRAMS: dict[str, str] = {
    "order of operands": """
        log(1) + log(2) * log(3) - log(4)
        log([1])[log(0)]
        log({})[log("k")] = log("value first")
        (log(a) for a in log([1]))
        [log(1), *log([2])], {log(3): log(4), **log({5: 6})}, {log(7)}
        log([0, 1, 2, 3])[log(1):log(3):log(1)]
        log(9) if log(0) else log(8)
    """,
    "arguments": """
        def f(*args, **kwargs): return log((args, kwargs))
        f(log(1), *log([2, 3]), log(4), k=log(5), **log({"z": 6}))
        f(a=log("keyword"), *log(["star first"]))
    """,
    "chained comparison": """
        log(1) < log(2) < log(0) < log(5)
        log(1) < log(2) <= log(2) != log(3)
        x = log(3) in log([3]) is not log(None)
        log(x)
    """,
    "short circuit": """
        log(log(0) and log(1) or log(2))
        log(not log("") or log(3))
        log((log(0) or log([])) and log(1))
    """,
    "assignment": """
        class Box: pass
        box, items = Box(), [0, 0, 0]
        def get(name, value): log(name); return value
        get("object", box).a = get("list", items)[get("index", 1)] = get("value", 7)
        log((box.a, items))
        (a, *b), [get("box", box).c, items[a - 1]] = iter([iter([1, 2, 3]), (4, 5)])
        log((a, b, box.c, items))
        *a, b = c, (d, *e) = [1, [2, 3]]
        log((a, b, c, d, e))
    """,
    "wrong unpacking": """
        a, b = 1, 2
        try:
            a, b, c = log((3, 4))
        except ValueError as error:
            log("refused")
        log((a, b))
        try:
            error
        except NameError:
            log("deleted")
    """,
    "augmented assignment": """
        class Box: n = 1
        box = Box()
        def get(name, value): log(name); return value
        xs = ys = [1]
        xs += [2]
        log(ys)
        get("box", box).n *= get("factor", 5)
        get("xs", xs)[get("index", 0)] -= get("minus", 3)
        log((box.n, Box.n, xs))
    """,
    "annotations": """
        def name(x): log(x); return x
        a: name("annotation of a") = name("value of a")
        b: name("annotation of b")
        def f(x: name("x") = name("default")) -> name("return"):
            y: name("never") = 2
            return x, y
        log(f())
        class C:
            z: name("z") = 1
    """,
    "decorators": """
        def decorate(label):
            log(label)
            def apply(f):
                log(("apply", label, f.__name__))
                return f
            return apply
        @decorate("outer")
        @decorate("inner")
        def f(x=log("default")): return x
        @decorate("class")
        class C(log(object), metaclass=log(type)):
            log("body")
            @decorate("method")
            def m(self): pass
        log(f())
    """,
    "parameters": """
        def f(a, b=2, /, c=3, *args, d, e=5, **kwargs): return log((a, b, c, args, d, e, kwargs))
        f(1, d=4)
        f(1, 2, 3, 4, 5, d=6, x=7)
        g = lambda *, k=log(1): k
        log(g(k=2) + g())
    """,
    "closures": """
        def counter():
            n = 0
            def add(by=1):
                nonlocal n
                n += by
                return n
            return add
        c = counter()
        c(); c(5)
        log(c())
        def outer(x):
            def middle():
                def inner(): return x
                return inner
            x += 1
            return middle()()
        log(outer(1))
        def setter():
            global made
            made = "global"
        setter()
        log(made)
    """,
    "unbound": """
        def f():
            log("before")
            print(x)
            x = 1
        f()
    """,
    "classes": """
        n = "global"
        def make():
            n = "enclosing"
            class C:
                log(n)
                m = n
                xs = [n for _ in range(1)]
                def get(self): return n
            return C
        C = make()
        log((C.m, C.xs, C().get()))
        class D:
            n = n + "!"
            log(n)
            ys = [i for i in range(len(n)) if i > 5]
        log((D.n, D.ys))
    """,
    "super and private names": """
        class A:
            def __init__(self, v): self.__v = v
            def get(self): return self.__v
            @classmethod
            def make(cls): return cls(3)
        class B(A):
            def __init__(self, v):
                super().__init__(v + 1)
                self.__v = "own"
            def get(self): return super().get(), self.__v, __class__.__name__
        log(B.make().get())
        log(sorted(vars(B(1))))
    """,
    "loops": """
        for i in range(6):
            if i == 1: continue
            if i == 4: break
            log(i)
        else:
            log("not reached")
        for i in []: pass
        else: log("empty")
        while log(i) < 6:
            i += 1
            if i == 5: continue
        else:
            log("end")
        for x, (y, *z) in [(1, "abc"), (2, [3])]: log((x, y, z))
        def f():
            for i in range(3):
                while True:
                    if i: return i
                    break
        log(f())
    """,
    "try": """
        def run(kind):
            try:
                log("body")
                if kind: raise kind("oops")
            except (ValueError, KeyError) as error:
                log(type(error).__name__)
                return "handled"
            except log(TypeError):
                raise RuntimeError("again") from None
            else:
                log("else")
            finally:
                log("finally")
            return "end"
        log(run(None)); log(run(ValueError)); log(run(KeyError))
        try: run(TypeError)
        except RuntimeError as error: log(repr(error.__cause__))
        def override():
            try: return "body"
            finally: return "finally"
        log(override())
        def loop():
            for i in range(3):
                try:
                    if i == 1: continue
                    log(i)
                finally:
                    log("f")
        loop()
        try:
            try: 1 / 0
            except ZeroDivisionError: raise
        except ArithmeticError as e: log("reraised")
    """,
    "with": """
        class M:
            def __init__(self, name, swallow=False): self.name, self.swallow = name, swallow
            def __enter__(self): log(("enter", self.name)); return self.name, 1
            def __exit__(self, kind, error, trace): log(("exit", self.name, kind and kind.__name__)); return self.swallow
        with M("a") as (x, y), M("b"), M("c", True):
            log((x, y))
            raise ValueError
        log("after")
        def f():
            with M("d"): return "returned"
        log(f())
        with M("e"): raise KeyError("out")
    """,
    "assert": """
        assert log(1), log("not evaluated")
        try: assert log(0)
        except AssertionError as e: log(e.args)
        assert log([]), log("message")
    """,
    "comprehensions": """
        x = "outer"
        log([x * y for x in log([1, 2, 3]) if log(x) > 1 for y in range(x) if y])
        log({k: v for k, v in [(1, 2), (3, 4)]}); log({x % 2 for x in range(5)}); log(x)
        log([[y for y in x] for x in ["ab", "c"]])
        def f(xs):
            fs = [lambda: (x, len(xs)) for x in xs]
            last = [hit := x for x in xs]
            return [g() for g in fs], hit, sum(x for x in xs if x)
        log(f([1, 2]))
        g = (log(i) for i in log([1, 2]))
        log("not yet")
        log(list(g))
        log({log(k): log(v) for k, v in [(1, 2)]})
    """,
    "generators": """
        def gen(n):
            for i in range(n):
                got = yield i
                if got: log(("got", got))
            return "done"
        def outer():
            log((yield from gen(2)))
            try: yield "last"
            finally: log("closed")
        for v in outer(): log(v)
        g = gen(3); next(g); log(g.send("hello"))
        h = outer(); next(h); next(h); log(next(h)); h.close()
    """,
    "f-strings": """
        x, w = 3.14159, 8
        log(f"{x:{w}.2f}|{x!r:>{w + 2}}|{'s'!a}|{{}}|" "plain" f"{x=}|{w = :03d}")
        log(f"{log(1)}{log(2):{log(3)}}")
        log("a\\x41\\u0042\\N{LATIN SMALL LETTER C}\\101\\q" r"\\n" '''
        line''' "")
        log(b"\\xff\\0\\'\\d" rb"\\x")
    """,
    "walrus": """
        def f(xs):
            while (n := len(xs)) > 1: xs.pop()
            return n, [y := n + 1, y ** 2]
        log(f([1, 2, 3]))
        log(any((found := v) > 1 for v in [1, 2, 3])); log(found)
    """,
    "del": """
        class C: pass
        c = C(); c.x = 1
        a, b, d = 1, [1, 2, 3], {"k": 1}
        del a, b[log(0)], (d["k"], c.x)
        log((b, d, hasattr(c, "x")))
        a
    """,
    "imports": """
        import os.path
        import os.path as p, math
        from math import pi as tau, floor
        log((os.path is p, math.floor(tau), floor(2.5)))
    """,
    "match": """
        class Point:
            __match_args__ = ("x", "y")
            def __init__(self, x, y): self.x, self.y = x, y
        class Color: RED = "red"
        def f(v):
            match v:
                case 0 | 1: return "small"
                case -2 | "two": return "two"
                case None | True: return "singleton"
                case Color.RED: return "red"
                case [] | (): return "empty"
                case [x] if x == 5: return "five"
                case [x, [y, *_], *rest]: return "nested", x, y, rest
                case [*_, {"k": k}] | [_, {"j": k}, _]: return "last", k
                case [first, *_, last] as whole: return "ends", first, last, len(whole)
                case {"a": 1, "b": b, **rest}: return "mapping", b, rest
                case {"a": [_, q]}: return "deep", q
                case Point(0, y=0): return "origin"
                case Point(x, y) if x == y: return "diagonal", x
                case Point(x=x): return "point", x
                case int(n) | float(n): return "number", n
                case str() as s: return "text", s
                case {}: return "empty mapping"
                case other: return "other", type(other).__name__
        for v in [0, 1, -2, "two", None, True, "red", [], (), [5], [1, [2, 3], 4, 5], [3, {"k": 9}], [1, {"j": 2}, 3],
                  [1, 2, 3], {"a": 1, "b": 2, "c": 3}, {"a": [1, 2]}, Point(0, 0), Point(2, 2), Point(1, 2), 7, 2.5,
                  "text", {"z": 1}, {1}, [6]]:
            log(f(v))
        def g(v):
            match v:
                case [a, log.x]: return a
            return "none"
        match log(1), log(2):
            case (1, y) if log(y) > 5: log("no")
            case (1, y): log(("yes", y))
    """,
    "exception escapes": """
        def f(x): return 10 // x
        log(f(log(5)))
        log(f(log(0)))
        log("not reached")
    """,
}


def behaviour(run: Callable[[dict[str, Any]], object]) -> tuple[list[str], str]:
    """The log of a run, and its outcome."""
    logged: list[str] = []

    def log(value: Any) -> Any:
        logged.append(repr(value))
        return value

    try:
        run({"log": log, "__name__": "m"})
    except Exception as error:
        return logged, type(error).__name__
    return logged, "end"


@pytest.mark.parametrize("title", PROGRAMS)
@pytest.mark.filterwarnings("ignore:invalid escape:DeprecationWarning", "ignore:invalid escape:SyntaxWarning")
@pytest.mark.filterwarnings("ignore:.return. in a .finally. block:SyntaxWarning")
def test_program(title: str) -> None:
    text = textwrap.dedent(PROGRAMS[title])
    code = compile(text, "m.py", "exec", dont_inherit=True)
    module = lower_text(text)
    expected = behaviour(lambda names: exec(code, names))
    assert behaviour(lambda names: run_module(module, names)) == expected
    assert expected[0]
