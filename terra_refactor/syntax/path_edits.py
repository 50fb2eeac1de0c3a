"""What scripts add to the folders that imports are looked up in.

Computes: the folders that a module adds to `sys.path` by a constant or `__file__`-relative expression.
Needs: a parsed module. Gives: `read_path_additions`.
Ignores: additions that depend on anything else (environment, arguments), and on which path through the script they are made.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator

import libcst

from terra_refactor.syntax.parse import ParsedModule
from terra_refactor.syntax.walk import descend

_SAME_PATH = {"os.path.abspath", "os.path.realpath", "os.path.normpath", "os.path.expanduser", "os.fspath", "str"}
_PATH_TYPES = {"Path", "pathlib.Path", "PurePath", "pathlib.PurePath", "PosixPath", "pathlib.PosixPath"}


def read_path_additions(parsed: ParsedModule) -> tuple[str, ...]:
    """The folders that the module adds to `sys.path`, in the order of the text, relative to the current folder with `/`."""
    if "sys.path" not in parsed.source.text and "addsitedir" not in parsed.source.text:
        return ()
    evaluator = _PathEvaluator(parsed)
    found = (evaluator.path(expression) for expression in _added_expressions(parsed.module))
    return tuple(dict.fromkeys(posixpath.normpath(path or ".") for path in found if path is not None))


def _added_expressions(module: libcst.Module) -> Iterator[libcst.BaseExpression]:
    for node in descend(module):
        match node:
            case libcst.Call(func=func, args=args):
                match _dotted(func):
                    case "sys.path.append" | "site.addsitedir" if args:
                        yield args[0].value
                    case "sys.path.insert" if len(args) > 1:
                        yield args[1].value
                    case "sys.path.extend" if args:
                        yield from _listed(args[0].value)
                    case _:
                        pass
            case libcst.AugAssign(target=target, value=value) if _dotted(target) == "sys.path":
                yield from _listed(value)
            case libcst.Assign(targets=targets, value=value) if any(
                _dotted(target.target) == "sys.path" for target in targets
            ):
                yield from _listed(value)
            case _:
                pass


def _listed(node: libcst.BaseExpression) -> Iterator[libcst.BaseExpression]:
    """The elements of a list written out, also of a sum of lists."""
    match node:
        case libcst.List(elements=elements) | libcst.Tuple(elements=elements):
            yield from (element.value for element in elements)
        case libcst.BinaryOperation(left=left, operator=libcst.Add(), right=right):
            yield from _listed(left)
            yield from _listed(right)
        case _:
            return


def _dotted(node: libcst.CSTNode) -> str | None:
    parts: list[str] = []
    while isinstance(node, libcst.Attribute):
        parts.append(node.attr.value)
        node = node.value
    if not isinstance(node, libcst.Name):
        return None
    return ".".join([node.value, *reversed(parts)])


class _PathEvaluator:
    """Evaluates path expressions. A path is text with `/`, relative to the current folder; None stands for what is not known."""

    def __init__(self, parsed: ParsedModule) -> None:
        self._file = parsed.source.path
        self._constants: dict[str, libcst.BaseExpression | None] = {}
        self._active: set[str] = set()
        for node in descend(parsed.module):
            if (
                isinstance(node, libcst.Assign)
                and len(node.targets) == 1
                and isinstance(node.targets[0].target, libcst.Name)
            ):
                name = node.targets[0].target.value
                self._constants[name] = None if name in self._constants else node.value  # bound twice: not known

    def path(self, node: libcst.BaseExpression) -> str | None:
        match node:
            case libcst.SimpleString():
                value = node.evaluated_value
                return value.replace("\\", "/") if isinstance(value, str) else None
            case libcst.Name(value="__file__"):
                return self._file
            case libcst.Name(value=name):
                return self._constant(name)
            case libcst.Attribute(value=value, attr=libcst.Name(value="parent")):
                return self._parent(self.path(value))
            case libcst.Attribute() if _dotted(node) == "os.pardir":
                return ".."
            case libcst.Attribute() if _dotted(node) == "os.curdir":
                return "."
            case libcst.Subscript(value=libcst.Attribute(value=value, attr=libcst.Name(value="parents"))):
                return self._ancestor(self.path(value), node)
            case libcst.BinaryOperation(left=left, operator=libcst.Divide(), right=right):
                return self._joined([left, right])
            case libcst.BinaryOperation(left=left, operator=libcst.Add(), right=right):
                first, second = self.path(left), self.path(right)
                return first + second if first is not None and second is not None else None
            case libcst.Call():
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

    def _call(self, node: libcst.Call) -> str | None:
        arguments = [argument.value for argument in node.args if argument.keyword is None and not argument.star]
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
            case libcst.Attribute(
                value=value, attr=libcst.Name(value="resolve" | "absolute" | "expanduser" | "as_posix")
            ):
                return self.path(value)
            case libcst.Attribute(value=value, attr=libcst.Name(value="joinpath")):
                return self._joined([value, *arguments])
            case _:
                return None

    def _joined(self, nodes: list[libcst.BaseExpression]) -> str | None:
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

    def _ancestor(self, path: str | None, node: libcst.Subscript) -> str | None:
        match node.slice:
            case [libcst.SubscriptElement(slice=libcst.Index(value=libcst.Integer() as number))]:
                for _ in range(min(number.evaluated_value, 64) + 1):
                    path = self._parent(path)
                return path
            case _:
                return None
