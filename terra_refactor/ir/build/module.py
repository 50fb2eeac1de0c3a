"""The entry of lowering: from a parsed file to `ModuleIR`.

Computes: the IR of one file. Needs: its tree and the positions of the tree's nodes (`syntax`). Gives: `lower_module`.
Ignores: other files; nothing is imported or looked up.
"""

from __future__ import annotations

from terra_refactor.errors import SourceError
from terra_refactor.ir.build.builder import FunctionBuilder, ModuleBuilder, UnsupportedNodeError
from terra_refactor.ir.build.dispatch import EXPRESSIONS, STATEMENTS
from terra_refactor.ir.build.literals import docstring_of
from terra_refactor.ir.build.names import local_names, resolve_names
from terra_refactor.ir.function import Function, FunctionKind
from terra_refactor.ir.ids import numbers_of
from terra_refactor.ir.program import ModuleIR
from terra_refactor.syntax.deep_stack import call_with_deep_stack
from terra_refactor.syntax.lines import line_count
from terra_refactor.syntax.location import Spans
from terra_refactor.syntax.parse import ParsedModule
from terra_refactor.syntax.positions import measure_spans


def lower_module(parsed: ParsedModule, name: str, *, is_package: bool = False) -> ModuleIR:
    """Lowers one file. `name` is the module's name in its repository; `is_package` is true for an `__init__.py`.

    Raises:
        SourceError: an integer literal is longer than Python takes, or a construct is newer than the supported versions.
    """
    return call_with_deep_stack(lambda: _lower(parsed, name, is_package))


def _lower(parsed: ParsedModule, name: str, is_package: bool) -> ModuleIR:
    source = parsed.source
    tree = parsed.module
    positions = measure_spans(parsed)
    module = ModuleBuilder(name, source.path, tree, positions.span, EXPRESSIONS, STATEMENTS)

    def lower_body(f: FunctionBuilder) -> None:
        f.docstring = docstring_of(tree)
        f.suite(tree)

    FunctionBuilder(module, "<module>", "<module>", FunctionKind.MODULE, None, positions.span(tree), lower_body)
    while module.queue:
        function = module.queue.popleft()
        try:
            function.lower_body(function)
        except UnsupportedNodeError as error:
            raise SourceError(
                source.path, f"has a construct that is not supported yet: {error}", function.def_line
            ) from error
    resolve_names(module)
    # Bodies were lowered after the surrounding code, and `f()[0] = lambda: 1` evaluates from the right: the source
    # order is only known now. Operations and builders share the identities, which are not published yet.
    inner = sorted(module.functions[1:], key=lambda function: function.span)
    for function, index in zip(inner, numbers_of([function.qualname for function in inner]), strict=True):
        object.__setattr__(function.id, "index", index)
    functions = tuple(_freeze(function) for function in (module.functions[0], *inner))
    for builder in module.functions:
        builder.close()
    module.functions.clear()
    return ModuleIR(
        name=name,
        path=source.path,
        is_package=is_package,
        functions=functions,
        digest=source.digest,
        line_count=line_count(source.text),
    )


def _freeze(function: FunctionBuilder) -> Function:
    return Function(
        id=function.id,
        name=function.name,
        qualname=function.qualname,
        kind=function.kind,
        parent=function.parent.id if function.parent is not None else None,
        parameters=function.parameters,
        body=tuple(function.ops),
        locals=tuple(sorted(local_names(function) - function.cells)),
        cells=tuple(sorted(function.cells)),
        frees=tuple(sorted(function.frees)),
        decorators=function.decorators,
        is_generator=function.is_generator,
        is_async=function.is_async,
        docstring=function.docstring,
        spans=Spans(function.spans),
        def_line=function.def_line,
        span=function.span,
    )
