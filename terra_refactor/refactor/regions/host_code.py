"""Lists, numbers and functions of a module, recognised from its text alone, for statements that print or store results.

Computes: the attributes of a method's object to which the module assigns only lists, or only Python numbers; the
function of a call. Needs: the module's syntax tree and the name of the object. Gives: `HostCode`, `host_code_of`,
`is_untouched`. Ignores: other modules, which are assumed not to store a variable in a class's list of losses.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Final

from terra_refactor.syntax.name_flow import Statements

_SUMMARIES: Final = frozenset({"audio", "histogram", "image", "scalar", "text"})
_PURE: Final = frozenset(
    {
        *("abs", "add", "argmax", "argmin", "cast", "concat", "divide", "equal", "exp", "expand_dims", "greater"),
        *("greater_equal", "identity", "less", "less_equal", "log", "maximum", "minimum", "multiply", "negative"),
        *("norm", "not_equal", "reduce_all", "reduce_any", "reduce_max", "reduce_mean", "reduce_min", "reduce_prod"),
        *("reduce_std", "reduce_sum", "reduce_variance", "reshape", "round", "shape", "sigmoid", "sign", "sqrt"),
        *("square", "squeeze", "stack", "subtract", "tanh", "transpose"),
    }
)
"""TensorFlow operations whose result depends only on their arguments."""
_DTYPES: Final = frozenset({"bool", "float16", "float32", "float64", "int32", "int64"})
_CONTAINERS: Final = frozenset({"defaultdict", "deque", "dict", "list", "OrderedDict"})
_NUMBERS: Final = frozenset({"float", "int", "len", "round"})


@dataclass(frozen=True, slots=True)
class HostCode:
    """Facts about a module from its text, as seen by one of its functions.

    Attributes:
        owner: the name of the method's object; empty outside of methods.
        containers: attributes bound only to lists and dicts.
        numbers: attributes bound only to Python numbers.
        methods: methods whose name is unique among all methods and attributes.
        functions: functions of the module whose name is bound only once.
        settings: names bound only to modules or to parsed command-line options.
        tensorflow: the names of TensorFlow.
    """

    owner: str = ""
    containers: frozenset[str] = frozenset()
    numbers: frozenset[str] = frozenset()
    methods: Mapping[str, ast.FunctionDef] = field(default_factory=dict)
    functions: Mapping[str, ast.FunctionDef] = field(default_factory=dict)
    settings: frozenset[str] = frozenset()
    tensorflow: frozenset[str] = frozenset()

    def is_container(self, node: ast.Attribute) -> bool:
        """Whether it is a list, or dict of lists, of the method's object."""
        return self._is_own(node) and node.attr in self.containers

    def is_number(self, node: ast.Attribute) -> bool:
        """Whether it is a Python number of the method's object, or a setting of the program."""
        if isinstance(node.value, ast.Name) and node.value.id in self.settings:
            return True
        return self._is_own(node) and node.attr in self.numbers

    def _is_own(self, node: ast.Attribute) -> bool:
        return bool(self.owner) and isinstance(node.value, ast.Name) and node.value.id == self.owner

    def is_summary(self, node: ast.expr) -> bool:
        """Whether it is a function that writes a summary."""
        match node:
            case ast.Attribute(value=ast.Attribute(value=ast.Name(id=name), attr="summary"), attr=kind):
                return name in self.tensorflow and kind in _SUMMARIES
            case _:
                return False

    def is_dtype(self, node: ast.expr) -> bool:
        """Whether it is a dtype: `tf.float32`."""
        match node:
            case ast.Attribute(value=ast.Name(id=name), attr=attr):
                return name in self.tensorflow and attr in _DTYPES
            case _:
                return False

    def is_pure(self, call: ast.expr) -> bool:
        """Whether it calls an operation, or a function of the module that only returns results of such operations."""
        match call:
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=attr)):
                return name in self.tensorflow and attr in _PURE
            case ast.Call(func=ast.Attribute(value=ast.Attribute(value=ast.Name(id=name), attr="math"), attr=attr)):
                return name in self.tensorflow and attr in _PURE
            case ast.Call(func=ast.Name()) if (found := self.called(call)) is not None:
                function, given = found
                match function.body:
                    case [ast.Return(value=ast.expr() as value)]:
                        return self._is_made_of(value, frozenset(given))
                    case _:
                        return False
            case _:
                return False

    def _is_made_of(self, node: ast.expr, names: frozenset[str]) -> bool:
        """Whether an expression consists of constants and the given names, combined by operators and pure calls."""
        match node:
            case ast.Constant():
                return True
            case ast.Attribute():
                return self.is_dtype(node)
            case ast.Name(id=name):
                return name in names
            case ast.BinOp(left=left, right=right):
                return self._is_made_of(left, names) and self._is_made_of(right, names)
            case ast.UnaryOp(operand=operand):
                return self._is_made_of(operand, names)
            case ast.Call(func=ast.Attribute(), args=args, keywords=keywords) if self.is_pure(node):
                return all(self._is_made_of(each, names) for each in (*args, *(each.value for each in keywords)))
            case _:
                return False

    def called(self, call: ast.Call) -> tuple[ast.FunctionDef, dict[str, ast.expr]] | None:
        """The function of the module that a call calls, and the arguments by parameter; None if the call is not simple."""
        match call.func:
            case ast.Name(id=name) if name in self.functions:
                function, skipped = self.functions[name], 0
            case ast.Attribute(value=ast.Name(id=owner), attr=name) if owner == self.owner and name in self.methods:
                function, skipped = self.methods[name], 1
            case _:
                return None
        parameters = function.args
        names = [each.arg for each in (*parameters.posonlyargs, *parameters.args)][skipped:]
        if (
            function.decorator_list
            or parameters.vararg is not None
            or parameters.kwarg is not None
            or parameters.kwonlyargs
            or len(call.args) > len(names)
            or any(isinstance(each, ast.Starred) for each in call.args)
            or any(each.arg not in names for each in call.keywords)
        ):
            return None
        defaults = dict(zip(reversed(names), reversed(parameters.defaults), strict=False))
        given = defaults | dict(zip(names, call.args, strict=False))
        given |= {each.arg: each.value for each in call.keywords if each.arg is not None}
        return (function, given) if given.keys() == set(names) else None

    def inside(self, function: ast.FunctionDef) -> HostCode:
        """The same facts as seen by a function of the module."""
        is_method = self.methods.get(function.name) is function
        arguments = [*function.args.posonlyargs, *function.args.args]
        return replace(self, owner=arguments[0].arg if is_method and arguments else "")


NO_HOST_CODE: Final = HostCode()


def host_code_of(module: ast.Module, owner: str) -> HostCode:
    """Facts about a module from its text, as seen by a method with that name for its object, or by a function (empty)."""
    return replace(_of_module(module), owner=owner)


@lru_cache(maxsize=2)
def _of_module(module: ast.Module) -> HostCode:
    """The same facts as seen by a function. The tree is queried for each tape in it, and does not change."""
    nodes = list(ast.walk(module))
    stored: dict[str, list[ast.expr | None]] = {}
    for node, value in _stores(nodes):
        stored.setdefault(node.attr, []).append(value)
    bound = Counter(node.id for node in nodes if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load))
    bound.update(
        alias.asname or alias.name.partition(".")[0]
        for node in nodes
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    )
    bound.update(argument.arg for node in nodes if isinstance(node, ast.arg) for argument in [node])
    defined = Counter(
        node.name for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
    )
    methods = {
        each.name: each
        for node in nodes
        if isinstance(node, ast.ClassDef)
        for each in node.body
        if isinstance(each, ast.FunctionDef) and defined[each.name] == 1 and each.name not in stored
    }
    functions = {
        each.name: each
        for each in module.body
        if isinstance(each, ast.FunctionDef) and defined[each.name] == 1 and not bound[each.name]
    }
    modules = {
        alias.asname or alias.name
        for statement in module.body
        if isinstance(statement, ast.Import)
        for alias in statement.names
        if "." not in (alias.asname or alias.name)
    }
    options = {
        target.id
        for node in nodes
        if isinstance(node, ast.Assign) and _is_command_line(node.value)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    return HostCode(
        "",
        # a name that a class also defines is a property
        frozenset(name for name, values in stored.items() if all(map(_is_container, values)) and not defined[name]),
        frozenset(name for name, values in stored.items() if all(map(_is_number, values)) and not defined[name]),
        methods,
        functions,
        frozenset(name for name in modules | options if bound[name] == 1),
        frozenset(
            alias.asname or alias.name
            for statement in module.body
            if isinstance(statement, ast.Import)
            for alias in statement.names
            if alias.name == "tensorflow"
        ),
    )


def _is_command_line(value: ast.expr) -> bool:
    """Whether it parses the arguments of the program."""
    match value:
        case ast.Call(func=ast.Attribute(attr="parse_args")):
            return True
        case _:
            return False


def is_untouched(host: HostCode, attribute: str, behind: Statements) -> bool:
    """Whether some statements neither name an attribute nor pass on the method's object, or call it or its methods."""
    nodes = [node for statement in behind for node in ast.walk(statement)]
    if any(isinstance(node, ast.Attribute) and node.attr == attribute for node in nodes):
        return False
    looked = {
        id(node.value)
        for node in nodes
        if isinstance(node, ast.Attribute)
        and not any(isinstance(call, ast.Call) and call.func is node for call in nodes)
    }
    return all(
        id(node) in looked for node in nodes if isinstance(node, ast.Name) and host.owner and node.id == host.owner
    )


def _stores(nodes: list[ast.AST]) -> Iterator[tuple[ast.Attribute, ast.expr | None]]:
    """The attributes that a module sets, each with the assigned expressions; None if the text does not determine them."""
    shown: dict[int, ast.expr] = {}
    for node in nodes:
        match node:
            case ast.Assign(targets=targets, value=value):
                shown.update({id(target): value for target in targets})
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                shown[id(target)] = value
            case ast.AugAssign(target=target, value=value):
                shown[id(target)] = value
            case _:
                pass
    for node in nodes:
        if isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load):
            yield node, shown.get(id(node))


def _is_container(value: ast.expr | None) -> bool:
    match value:
        case ast.List() | ast.ListComp():
            return True
        case ast.Dict(values=values):
            return all(map(_is_container, values))
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)):
            return name in _CONTAINERS
        case _:
            return False


def _is_number(value: ast.expr | None) -> bool:
    match value:
        case ast.Constant(value=int() | float()):
            return True
        case ast.Call(func=ast.Name(id=name)):
            return name in _NUMBERS
        case ast.BinOp(left=left, right=right):
            return _is_number(left) and _is_number(right)
        case _:
            return False
