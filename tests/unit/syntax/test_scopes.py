"""Scopes where names are not what they seem. Agreement with CPython at large: tests/property/test_syntax_stdlib.py."""

from __future__ import annotations

import textwrap

import libcst
import pytest

from terra_refactor.syntax.scopes import BindingKind, Scope, ScopeKind, analyze_scopes


def scopes(text: str) -> dict[str, Scope]:
    return {scope.qualname: scope for scope in analyze_scopes(libcst.parse_module(textwrap.dedent(text))).scopes}


def test_local_cell_free_global() -> None:
    found = scopes("""
        def outer(a):
            b = 1
            def inner():
                nonlocal b
                b = a + c + len
            return inner
    """)
    outer, inner = found["outer"], found["outer.<locals>.inner"]
    assert [outer.resolve(name) for name in ("a", "b", "inner", "c")] == [
        ScopeKind.CELL,
        ScopeKind.CELL,
        ScopeKind.LOCAL,
        ScopeKind.GLOBAL,
    ]
    assert [inner.resolve(name) for name in ("a", "b", "c", "len")] == [
        ScopeKind.FREE,
        ScopeKind.FREE,
        ScopeKind.GLOBAL,
        ScopeKind.GLOBAL,
    ]
    assert inner.owner("b") is outer
    assert inner.owner("c") is found[""]
    assert outer.parameters == ("a",)


def test_a_class_body_is_not_seen_by_its_methods() -> None:
    found = scopes("""
        x = 0
        class C:
            x = 1
            y = x
            def method(self):
                return x, super().method
    """)
    assert found["C"].resolve("x") is ScopeKind.CLASS
    assert found["C.method"].resolve("x") is ScopeKind.GLOBAL
    assert found["C.method"].resolve("__class__") is ScopeKind.FREE
    assert found["C.method"].owner("__class__") is found["C"]


def test_private_names_are_mangled() -> None:
    found = scopes("""
        def f(__x):
            class _C:
                __y = __x
                def g(self, __z):
                    return __z
    """)
    assert found["f.<locals>._C"].resolve("__y") is ScopeKind.CLASS
    assert set(found["f.<locals>._C"].bindings) == {"_C__y", "g"}
    assert found["f.<locals>._C"].resolve("__x") is ScopeKind.GLOBAL
    assert found["f.<locals>._C.g"].parameters == ("self", "_C__z")


@pytest.mark.parametrize("declaration", ["", "global last"])
def test_walrus_in_a_comprehension_binds_outside(declaration: str) -> None:
    found = scopes(f"""
        def f(items):
            {declaration or "pass"}
            return [last := item for item in items if item]
    """)
    inner = found["f.<locals>.<listcomp>"]
    assert inner.resolve("item") is ScopeKind.LOCAL
    assert inner.resolve("last") is (ScopeKind.GLOBAL if declaration else ScopeKind.FREE)
    assert found["f"].resolve("last") is (ScopeKind.GLOBAL if declaration else ScopeKind.CELL)
    assert found["f"].resolve("items") is ScopeKind.LOCAL


def test_every_form_of_binding() -> None:
    found = scopes("""
        def f(p, *args, k=1, **kw):
            import a.b, c as d
            from e import g as h
            with m() as (n, *o): pass
            for q, r[s] in t: pass
            try: pass
            except E as u: pass
            match v:
                case {"k": w, **x}: pass
                case [y, *z]: pass
                case P(aa=bb) | bb as cc: pass
            dd += 1
            ee: int
            del gg
            hh.ii = jj[kk] = 0
            if (ll := 1): pass
            lambda mm: mm
            class nn: pass
    """)["f"]
    bound = set(found.bindings)
    assert bound == {
        *(
            "p",
            "args",
            "k",
            "kw",
            "a",
            "d",
            "h",
            "n",
            "o",
            "q",
            "u",
            "w",
            "x",
            "y",
            "z",
            "bb",
            "cc",
            "dd",
            "ee",
            "gg",
            "ll",
            "nn",
        ),
    }
    assert {"r", "s", "t", "m", "E", "v", "P", "hh", "jj", "kk", "dd"} <= found.uses
    assert not {"ii", "aa", "b"} & (found.uses | bound)
    assert found.bindings["dd"] == {BindingKind.AUGMENTED}
    assert found.parameters == ("p", "args", "k", "kw")


def test_defaults_decorators_and_annotations_belong_outside() -> None:
    found = scopes("""
        def outer():
            x = 1
            @x
            def f(a: x = x) -> x:
                pass
            return lambda b=x: b
    """)
    assert "x" not in found["outer.<locals>.f"].uses
    assert found["outer"].resolve("x") is ScopeKind.LOCAL
    assert found["outer.<locals>.<lambda>"].uses == {"b"}


def test_a_global_function_has_a_plain_qualname() -> None:
    assert "g" in scopes("def f():\n    global g\n    def g(): pass\n")


def test_type_parameters() -> None:
    found = analyze_scopes(libcst.parse_module("def f[T](x: T) -> T:\n    y: T = x\n    return y\n")).scopes
    function = found[-1]
    assert function.qualname == "f"
    assert function.resolve("T") is ScopeKind.FREE


def test_scope_of_a_node_without_scope() -> None:
    module = libcst.parse_module("x = 1\n")
    table = analyze_scopes(module)
    assert table.scope_of(module) is table.module_scope
    with pytest.raises(KeyError):
        table.scope_of(module.body[0])
