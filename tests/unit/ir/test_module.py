"""Kinds, numbering and limits of lowered modules, and that the table of constructs is complete."""

from __future__ import annotations

import gc
import inspect
import pickle

import libcst as cst
import pytest
from lowering import lower_text

from terra_refactor.errors import SourceError
from terra_refactor.ir.build.dispatch import EXPRESSIONS, STATEMENTS
from terra_refactor.ir.build.module import lower_module
from terra_refactor.ir.function import FunctionKind, ParameterKind
from terra_refactor.ir.ops import Op, Scope
from terra_refactor.ir.pprint import format_module
from terra_refactor.ir.walk import OP_CLASSES, walk
from terra_refactor.syntax.deep_stack import call_with_deep_stack
from terra_refactor.syntax.parse import parse_module
from terra_refactor.syntax.source import source_from_text


def node_classes(base: type) -> set[type]:
    newer = {"StarredDictComp", "LazyImport", "LazyImportFrom"}  # of Python 3.15: a clear error, see below
    return {
        cls
        for _, cls in inspect.getmembers(cst, inspect.isclass)
        if issubclass(cls, base)
        and not inspect.isabstract(cls)
        and not cls.__name__.startswith("Base")
        and cls.__name__ not in newer
    }


def test_every_expression_has_a_handler() -> None:
    parts = {cst.From, cst.StarredElement}  # of `yield from` and of displays, which handle them themselves
    assert node_classes(cst.BaseExpression) - parts == set(EXPRESSIONS)


def test_every_statement_has_a_handler() -> None:
    lines = {cst.SimpleStatementLine}
    assert node_classes(cst.BaseSmallStatement) | node_classes(cst.BaseCompoundStatement) - lines == set(STATEMENTS)


def test_kinds_names_and_order() -> None:
    module = lower_text(
        """
        @apply(lambda: 0)
        def first(x=lambda: 1):
            def inner(): pass
        if first:
            class A:
                def method(self):
                    class B:
                        def deep(self): yield
                    return [i for i in (lambda: [])()]
                f = lambda self: 0
        sink()[0] = lambda: 2
        async def last(): pass
        """,
        "pkg.mod",
    )
    assert [(place, f.kind.value, f.qualname, f.def_line) for place, f in enumerate(module.functions)] == [
        (0, "module", "<module>", 1),
        (1, "lambda", "<lambda>", 2),
        (2, "function", "first", 3),
        (3, "lambda", "<lambda>", 3),
        (4, "nested", "first.<locals>.inner", 4),
        (5, "class body", "A", 6),
        (6, "method", "A.method", 7),
        (7, "class body", "A.method.<locals>.B", 8),
        (8, "method", "A.method.<locals>.B.deep", 9),
        (9, "lambda", "A.method.<locals>.<lambda>", 10),
        (10, "lambda", "A.<lambda>", 11),
        (11, "lambda", "<lambda>", 12),
        (12, "function", "last", 13),
    ]
    assert module.functions[8].is_generator and not module.functions[6].is_generator
    assert module.functions[12].is_async
    assert module.functions[4].parent == module.functions[2].id


def test_module_facts() -> None:
    text = '"""Doc."""\nx = 1'
    source = source_from_text(text, "pkg/__init__.py")
    module = lower_module(parse_module(source), "pkg", is_package=True)
    assert (module.name, module.path, module.is_package, module.line_count) == ("pkg", "pkg/__init__.py", True, 2)
    assert module.digest == source.digest
    assert module.body.docstring == "Doc."


def test_parameters() -> None:
    function = lower_text("def f(a, /, b: int = 1, *c, d, e=2, **g): pass\n").functions[1]
    assert [(p.name, p.kind, p.has_default, p.has_annotation) for p in function.parameters] == [
        ("a", ParameterKind.POSITIONAL_ONLY, False, False),
        ("b", ParameterKind.POSITIONAL, True, True),
        ("c", ParameterKind.VAR_POSITIONAL, False, False),
        ("d", ParameterKind.KEYWORD_ONLY, False, False),
        ("e", ParameterKind.KEYWORD_ONLY, True, False),
        ("g", ParameterKind.VAR_KEYWORD, False, False),
    ]
    assert str(function.parameters[1].span) == "1:13-1:14"


def test_decorators_keep_their_text_and_place() -> None:
    function = lower_text("@tf.function(\n    jit_compile=True)\n@other\ndef f(): pass\n").functions[1]
    assert [decorator.text for decorator in function.decorators] == ["tf.function(\n    jit_compile=True)", "other"]
    assert [str(decorator.span) for decorator in function.decorators] == ["1:1-2:22", "3:1-3:7"]
    assert (function.def_line, str(function.span)) == (4, "4:1-4:14")


@pytest.mark.parametrize("body", ['"a" "b"', '"ab"', "'''ab'''", 'r"ab"; pass'])
def test_docstrings(body: str) -> None:
    assert lower_text(f"def f():\n    {body}\n").functions[1].docstring == "ab"


@pytest.mark.parametrize("body", ['b"ab"', 'f"ab"', "1", "pass", 'x = "ab"', 'f"a" "b"'])
def test_no_docstrings(body: str) -> None:
    assert lower_text(f"def f():\n    {body}\n").functions[1].docstring is None


def test_line_endings_in_strings_are_python_s() -> None:
    module = lower_text("x = '''a\r\nb\rc'''\r\n")
    assert "literal 'a\\nb\\nc'" in format_module(module)


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("x = " + " + ".join(["a"] * 600), "%1198 = %1196 + %1197"),
        ("x = a" + ".b" * 1000, "%1000 = %999.b"),
        ("x = a" + "(1)" * 400, "%800 = call %798(%799)"),
        ("x = " + " or ".join(["a"] * 500), "%998 = load a@global"),
        ("x = " + "[" * 190 + "]" * 190, "%189 = list [%188]"),
        ("x = " + "not " * 1000 + "y", "%1000 = not %999"),
        ("x = " + "lambda: " * 200 + "1", "make function m#1()"),
        ("if a: pass\n" + "elif b: pass\n" * 400, "%801 : if %800"),
    ],
    ids=["sum", "attributes", "calls", "or", "lists", "not", "lambdas", "elif"],
)
def test_deep_source(text: str, part: str) -> None:
    module = lower_text(text + "\n")
    assert part in format_module(module)
    copy = call_with_deep_stack(lambda: pickle.loads(pickle.dumps(module)))
    assert format_module(copy) == format_module(module)


def test_an_endless_literal_is_a_fault_of_the_source() -> None:
    with pytest.raises(SourceError, match=r"m\.py:2: .*integer"):
        lower_text("x = 1\ny = " + "9" * 5000 + "\n")


@pytest.mark.parametrize("text", ["x = [*y for y in z]", "x = {**y for y in z}", "lazy import a"])
def test_newer_constructs_are_faults_of_the_source(text: str) -> None:
    with pytest.raises(SourceError):
        lower_text(text + "\n")


def test_op_classes_are_all_used() -> None:
    """A program with every operation: none is left that the builder never makes."""
    module = lower_text(
        """
        from __future__ import annotations
        import a; from b import c; from d import *
        x: int = -1 + 2 < 3 and (f"{x}", {x: 1}, y[1:], z.w)
        (p, q), r.s, t[0] = (1 if x else 2), 3, 4
        del p, r.s, t[0]
        async def f(x=1):
            assert x
            for i in [i for i in x]:
                if i: continue
                break
            while x: pass
            with x: await x
            try: raise x
            finally: pass
            yield x
            return
        def g():
            yield from x
        class C: pass
        match x:
            case C(1): g()
        """
    )
    made = {type(op) for function in module.functions for op in walk(function.body)}
    assert set(OP_CLASSES) - made == set()
    assert all(issubclass(cls, Op) for cls in OP_CLASSES)


def test_private_names() -> None:
    module = lower_text(
        "class _C:\n    __x = 1\n    def f(self, __p): return self.__x, __p, __y, __z__\nclass __: __k = 1\n"
    )
    text = format_module(module)
    assert "store _C__x@class" in text and "._C__x" in text
    assert "load _C__p" in text and "load _C__y@global" in text and "load __z__@global" in text
    assert "store __k@class" in text


def test_kind_of_comprehension_scope_in_nested_class() -> None:
    module = lower_text("def f(n):\n    class C:\n        xs = [n + i for i in range(n)]\n    return C\n")
    body = module.functions[2]
    assert body.kind is FunctionKind.CLASS_BODY
    assert body.frees == ("n",) and body.locals == ("i%1", "xs")
    scopes = {(op.name, op.scope) for op in walk(body.body) if hasattr(op, "scope")}
    assert scopes == {
        ("n", Scope.FREE),
        ("range", Scope.GLOBAL),
        ("i%1", Scope.LOCAL),
        ("xs", Scope.CLASS),
    }


def test_lowering_leaves_nothing_that_only_a_search_for_cycles_would_find() -> None:
    text = "class A:\n    def f(self, x):\n        return [y + x for y in self.z]\n"
    lower_text(text)  # what is made once is made now
    gc.collect()
    gc.disable()
    try:
        assert len(lower_text(text).functions) == 3
        assert gc.collect() == 0
    finally:
        gc.enable()


def test_numbers_survive_other_functions() -> None:
    """A number is made from the qualified name: what is added or removed elsewhere does not change it."""
    before = lower_text("def f():\n    return lambda: 1\n\nclass A:\n    def m(self): pass\n\ndef f(): pass\n")
    after = lower_text(
        "x = lambda: 0\n\ndef g(): pass\n\nclass A:\n    def n(self): pass\n    def m(self): pass\n\ndef f(): pass\n\ndef f(): pass\n"
    )
    numbers = {(each.qualname, each.def_line): each.id.index for each in after.functions}
    assert numbers[("A.m", 7)] == next(each.id.index for each in before.functions if each.qualname == "A.m")
    assert [each.id.index for each in before.functions if each.qualname == "f"] == [
        numbers[("f", 9)],
        numbers[("f", 11)],
    ]
    assert len(set(numbers.values())) == len(after.functions)
