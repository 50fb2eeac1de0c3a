"""Import folders that scripts add.

Computes: the folders that a module adds to `sys.path` by a constant or `__file__`-relative expression.
Needs: a source. Gives: `read_path_additions`.
Ignores: additions that depend on anything else (environment, arguments), and on which path through the script they are made; and files
that the running Python does not parse.

It uses Python's own parser: nothing is edited here, so a run with all other results in the cache need not load
LibCST.
"""

from __future__ import annotations

import ast
import posixpath
import warnings
from collections.abc import Iterator

from terra_refactor.syntax.source import Source

_SAME_PATH = {"os.path.abspath", "os.path.realpath", "os.path.normpath", "os.path.expanduser", "os.fspath", "str"}
_PATH_TYPES = {"Path", "pathlib.Path", "PurePath", "pathlib.PurePath", "PosixPath", "pathlib.PosixPath"}


def read_path_additions(source: Source) -> tuple[str, ...]:
    """The folders that the module adds to `sys.path`, in the order of the text, relative to the current folder with `/`."""
    if "sys.path" not in source.text and "addsitedir" not in source.text:
        return ()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an unknown escape sequence does not matter here
            module = ast.parse(source.text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ()
    nodes = sorted(
        (node for node in ast.walk(module) if isinstance(node, (ast.Assign, ast.AugAssign, ast.Call))),
        key=lambda node: (node.lineno, node.col_offset),
    )
    evaluator = _PathEvaluator(source.path, nodes)
    found = (evaluator.path(expression) for node in nodes for expression in _added_expressions(node))
    return tuple(dict.fromkeys(posixpath.normpath(path or ".") for path in found if path is not None))


def _added_expressions(node: ast.AST) -> Iterator[ast.expr]:
    match node:
        case ast.Call(func=func, args=args):
            match _dotted(func):
                case "sys.path.append" | "site.addsitedir" if args:
                    yield args[0]
                case "sys.path.insert" if len(args) > 1:
                    yield args[1]
                case "sys.path.extend" if args:
                    yield from _listed(args[0])
                case _:
                    pass
        case ast.AugAssign(target=target, value=value) if _dotted(target) == "sys.path":
            yield from _listed(value)
        case ast.Assign(targets=targets, value=value) if any(_dotted(target) == "sys.path" for target in targets):
            yield from _listed(value)
        case _:
            pass


def _listed(node: ast.expr) -> Iterator[ast.expr]:
    """The elements of a list display, or of a sum of list displays."""
    match node:
        case ast.List(elts=elements) | ast.Tuple(elts=elements):
            yield from elements
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            yield from _listed(left)
            yield from _listed(right)
        case _:
            return


def _dotted(node: ast.expr) -> str | None:
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return None
    return ".".join([node.id, *reversed(parts)])


class _PathEvaluator:
    """Evaluates path expressions. A path is text with `/`, relative to the current folder; None is an unknown path."""

    def __init__(self, file: str, nodes: list[ast.Assign | ast.AugAssign | ast.Call]) -> None:
        self._file = file
        self._constants: dict[str, ast.expr | None] = {}
        self._active: set[str] = set()
        for node in nodes:
            match node:
                case ast.Assign(targets=[ast.Name(id=name)], value=value):
                    self._constants[name] = None if name in self._constants else value  # bound twice: unknown
                case _:
                    pass

    def path(self, node: ast.expr) -> str | None:
        match node:
            case ast.Constant(value=str(value)):
                return value.replace("\\", "/")
            case ast.Name(id="__file__"):
                return self._file
            case ast.Name(id=name):
                return self._constant(name)
            case ast.Attribute(value=value, attr="parent"):
                return self._parent(self.path(value))
            case ast.Attribute() if _dotted(node) == "os.pardir":
                return ".."
            case ast.Attribute() if _dotted(node) == "os.curdir":
                return "."
            case ast.Subscript(value=ast.Attribute(value=value, attr="parents"), slice=ast.Constant(value=int(number))):
                return self._ancestor(self.path(value), number)
            case ast.BinOp(left=left, op=ast.Div(), right=right):
                return self._joined([left, right])
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                first, second = self.path(left), self.path(right)
                return first + second if first is not None and second is not None else None
            case ast.Call():
                return self._call(node)
            case _:
                return None

    def _constant(self, name: str) -> str | None:
        value = self._constants.get(name)
        if value is None or name in self._active:
            return None
        self._active.add(name)
        try:
            return self.path(value)
        finally:
            self._active.discard(name)

    def _call(self, node: ast.Call) -> str | None:
        arguments = [argument for argument in node.args if not isinstance(argument, ast.Starred)]
        name = _dotted(node.func)
        if name in {"os.getcwd", "Path.cwd", "pathlib.Path.cwd"}:
            return "."
        if name is not None and arguments:
            if name in _SAME_PATH:
                return self.path(arguments[0])
            if name == "os.path.dirname":
                return self._parent(self.path(arguments[0]))
            if name == "os.path.join" or name in _PATH_TYPES:
                return self._joined(arguments)
        match node.func:
            case ast.Attribute(value=value, attr="resolve" | "absolute" | "expanduser" | "as_posix"):
                return self.path(value)
            case ast.Attribute(value=value, attr="joinpath"):
                return self._joined([value, *arguments])
            case _:
                return None

    def _joined(self, nodes: list[ast.expr]) -> str | None:
        parts = [self.path(node) for node in nodes]
        known = [part for part in parts if part is not None]
        return posixpath.join(*known) if len(known) == len(parts) else None

    def _parent(self, path: str | None) -> str | None:
        if path is None:
            return None
        normal = posixpath.normpath(path or ".")
        if normal == "." or normal.endswith(".."):
            return posixpath.join(normal, "..")
        return posixpath.dirname(normal) or "."

    def _ancestor(self, path: str | None, number: int) -> str | None:
        for _ in range(min(number, 64) + 1):
            path = self._parent(path)
        return path
