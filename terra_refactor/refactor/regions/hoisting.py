"""Host expressions of a run that the call of its function evaluates, and passes as arguments.

Computes: the attribute reads, and the calls with a new result each time, that can be evaluated before the run. Needs: a candidate, a
line and its hazard. Gives: `Hoisted`, `hoisted_inside`, `attribute_behind`, `attributes_of`, `call_behind`, `made_of_arrays`,
`with_arguments`; also `evaluated_in`, `on_one_line` and `free_name`. Ignores: whether a graph keeps the meaning with the argument; the
function with the argument is judged again.

    with tf.GradientTape() as tape:                        def train_step(self, x, action, noise):
        loss = self.loss(x + np.random.normal(size=n),         with tf.GradientTape() as tape:
                         self.action)              ->              loss = self.loss(x + noise, action)

                                                           self.train_step(x, self.action, np.random.normal(size=n))

A graph keeps the value of `self.action` at trace time; as an argument it has the value of each call. Nothing in the
run may change the value: no statement writes an attribute of that name, or binds a name in the expression. A callee
might; then the function writes Python state, and is not converted. Calls that draw random numbers keep their order,
which is that of the arguments.

NumPy expressions of the run's array arguments need arrays: `np.sqrt(rate) * x`, `table[rows]`, `tf.constant(x)`. If
they use nothing else, they are evaluated before the run, still by NumPy.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from terra_refactor.refactor.regions.candidates import Candidate
from terra_refactor.syntax.name_flow import Statements, usage_of

_PLAIN: Final = (
    *(ast.Name, ast.Constant, ast.Attribute, ast.Subscript, ast.Tuple, ast.List, ast.BinOp, ast.UnaryOp, ast.keyword),
    *(ast.expr_context, ast.operator, ast.unaryop),
)
"""Syntax allowed in the arguments of a hoisted call."""
_LATER: Final = (
    *(ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.IfExp, ast.BoolOp, ast.JoinedStr),
    *(ast.NamedExpr, ast.Await, ast.Yield, ast.YieldFrom),
)
"""Parts of these may not be evaluated, or not exactly once, or have no position in the text."""


_FILLED_BY_CALLS: Final = frozenset({"losses", "updates"})
"""Lists that Keras fills on each layer call: before the run they hold those of the previous call."""


@dataclass(frozen=True, eq=False)
class Hoisted:
    """An expression that became an argument.

    Attributes:
        name: the parameter.
        text: the argument in the call.
        nodes: the nodes of the run that the parameter replaces.
    """

    name: str
    text: str
    nodes: tuple[ast.expr, ...]


def is_used_as_object(candidate: Candidate, hoisted: Hoisted) -> bool:
    """Whether the run calls the value, or reads an attribute of it."""
    places = set(map(id, hoisted.nodes))
    return any(
        (isinstance(node, ast.Call) and id(node.func) in places)
        or (isinstance(node, ast.Attribute) and id(node.value) in places)
        for statement in candidate.statements
        for node in ast.walk(statement)
    )


def hoisted_inside(candidate: Candidate, hoisted: Sequence[Hoisted]) -> tuple[Hoisted, ...]:
    """The expressions that the run still evaluates: what a statement outside evaluates itself is no argument."""
    inside = {id(node) for statement in candidate.statements for node in ast.walk(statement)}
    left = (replace(each, nodes=tuple(node for node in each.nodes if id(node) in inside)) for each in hoisted)
    return tuple(each for each in left if each.nodes)


def attribute_behind(candidate: Candidate, line: int, state: str, others: Sequence[Hoisted]) -> Hoisted | None:
    """The attribute `state` on a line, if a single read before the run can replace all reads in it;
    excluding `others`.
    """
    for node in _evaluated_once(candidate):
        if not isinstance(node, ast.Attribute) or not node.lineno <= line <= (node.end_lineno or line):
            continue
        text = ast.unparse(node)
        if text != state or any(each.text == text for each in others):
            continue
        nodes = tuple(
            each
            for statement in candidate.statements
            for each in ast.walk(statement)
            if isinstance(each, ast.Attribute) and isinstance(each.ctx, ast.Load) and ast.unparse(each) == text
        )
        inside_later = {
            id(inner)
            for statement in candidate.statements
            for each in ast.walk(statement)
            if isinstance(each, _LATER)
            for inner in ast.walk(each)
        }
        root = _root(node)
        if (
            root is None
            or root.id in usage_of(candidate.statements).binds
            or node.attr in _FILLED_BY_CALLS | _written(candidate.statements)
            or any(id(each) in inside_later or not on_one_line(each) for each in nodes)
        ):
            return None
        return Hoisted(free_name(candidate, node.attr.strip("_") or "value", others), text, nodes)
    return None


def call_behind(candidate: Candidate, line: int, call: str, others: Sequence[Hoisted]) -> Hoisted | None:
    """The call on a line that is written so (`f(...)`), if it can be evaluated before the run; excluding `others`."""
    known = {id(node) for each in others for node in each.nodes}
    binds, written = usage_of(candidate.statements).binds, _written(candidate.statements)
    around = {
        id(node.func.value): node
        for node in _evaluated_once(candidate)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
    }
    for node in _evaluated_once(candidate):
        if not isinstance(node, ast.Call) or not node.lineno <= line <= (node.end_lineno or line):
            continue
        if f"{ast.unparse(node.func)}(...)" != call or _root(node.func) is None:
            continue
        inner: list[ast.AST] = list(ast.walk(node.func))
        whole: ast.Call | None = node
        outer = node
        while whole is not None:
            outer = whole
            inner += [each for part in (*whole.args, *whole.keywords) for each in ast.walk(part)]
            whole = around.get(id(whole))  # a method of its result: `.astype(...)`
        names = {each.id for each in inner if isinstance(each, ast.Name)}
        attributes = {each.attr for each in inner if isinstance(each, ast.Attribute)}
        if (
            all(isinstance(each, _PLAIN) for each in inner)
            and not names & binds.keys()
            and not attributes & written
            and on_one_line(outer)
            and id(outer) not in known
        ):
            return Hoisted(free_name(candidate, "drawn", others), ast.unparse(outer), (outer,))
    return None


def attributes_of(candidate: Candidate, name: str, others: Sequence[Hoisted]) -> tuple[Hoisted, ...]:
    """The attributes of an object that the run reads, if it does not use the object in other ways or change these attributes."""
    nodes = [node for statement in candidate.statements for node in ast.walk(statement)]
    parents = _parents(candidate.statements)
    later = {id(inner) for node in nodes if isinstance(node, ast.Lambda | ast.JoinedStr) for inner in ast.walk(node)}
    if name in usage_of(candidate.statements).binds:
        return ()
    places: dict[str, list[ast.expr]] = {}
    for node in nodes:
        if not isinstance(node, ast.Name) or node.id != name:
            continue
        read = parents.get(id(node))
        if (
            not isinstance(read, ast.Attribute)
            or read.attr in _FILLED_BY_CALLS | _written(candidate.statements)
            or id(read) in later
            or not on_one_line(read)
        ):
            return ()
        around = parents.get(id(read))
        if isinstance(around, ast.Call) and around.func is read:
            return ()
        places.setdefault(ast.unparse(read), []).append(read)
    found: list[Hoisted] = []
    for text, reads in places.items():
        new = free_name(candidate, text.rpartition(".")[2].strip("_") or "value", [*others, *found])
        found.append(Hoisted(new, text, tuple(reads)))
    return tuple(found)


def made_of_arrays(
    candidate: Candidate,
    line: int,
    source: str,
    others: Sequence[Hoisted],
    given: frozenset[str],
    numpy: str | None,
) -> Hoisted | None:
    """The expression around an operation that is written so (`f(...)`, `x[...]`, `a + b`); it consists of arrays and numbers that
    are arguments of the run.
    """
    parents = _parents(candidate.statements)
    known = {id(inner) for each in others for node in each.nodes for inner in _expressions(node)}
    binds = usage_of(candidate.statements).binds.keys()
    constant = given - binds - _changed_in_place(candidate.statements)
    host = _Host(constant, numpy, frozenset(binds), _written(candidate.statements) | _FILLED_BY_CALLS)
    for node in _evaluated_once(candidate):
        if not node.lineno <= line <= (node.end_lineno or line):
            continue
        match node:
            case ast.Call(func=func) if source == f"{ast.unparse(func)}(...)":
                host = replace(host, called=ast.unparse(func))
            case ast.Subscript(value=value) if source == f"{ast.unparse(value)}[...]":
                host = replace(host, called="")
            case ast.BinOp() if source == ast.unparse(node):
                host = replace(host, called="")
            case _:
                continue
        if not host.makes(node):
            continue
        whole: ast.AST = node
        while isinstance(above := parents.get(id(whole)), _WHOLE):
            if isinstance(above, ast.Attribute) and isinstance(method := parents.get(id(above)), ast.Call):
                above = method
            if not host.makes(above):
                break
            whole = above
        assert isinstance(whole, ast.expr)
        names = [each.id for each in ast.walk(whole) if isinstance(each, ast.Name) and each.id in constant]
        if names and on_one_line(whole) and not any(id(inner) in known for inner in _expressions(whole)):
            text = ast.unparse(whole)
            if isinstance(whole, ast.BinOp | ast.UnaryOp | ast.Compare):
                text = f"({text})"  # a method of the result may be called
            return Hoisted(free_name(candidate, f"{names[0]}_value", others), text, (whole,))
    return None


_HOST_NODES: Final = (
    *(ast.Constant, ast.BinOp, ast.UnaryOp, ast.Compare, ast.Subscript, ast.Slice, ast.Tuple, ast.keyword),
    *(ast.expr_context, ast.operator, ast.unaryop, ast.cmpop),
)
_WHOLE: Final = (ast.BinOp, ast.UnaryOp, ast.Compare, ast.Subscript, ast.Attribute, ast.Call)
_OF_ARRAYS: Final = frozenset(
    {
        *(
            "all",
            "any",
            "argmax",
            "argmin",
            "astype",
            "clip",
            "copy",
            "cumsum",
            "flatten",
            "max",
            "mean",
            "min",
            "ravel",
        ),
        *("repeat", "reshape", "round", "squeeze", "std", "sum", "take", "transpose"),
    }
)
"""Array methods without side effects that use only the array and their arguments."""


@dataclass(frozen=True, slots=True)
class _Host:
    """The permitted parts of host expressions.

    Attributes:
        names: arrays, and other arguments that the run does not change.
        numpy: the name of the NumPy module.
        binds: the names that the run binds.
        written: the attributes that it sets, on any object.
        called: a function that may be called besides NumPy's.
    """

    names: frozenset[str]
    numpy: str | None
    binds: frozenset[str]
    written: frozenset[str]
    called: str = ""

    def makes(self, node: ast.AST) -> bool:
        """Whether an expression consists of these names, NumPy functions, Python operators, and the given function."""
        match node:
            case ast.Name(id=name):
                return name in self.names
            case ast.Call(func=func, args=arguments, keywords=keywords):
                text = ast.unparse(func)
                is_known = text == self.called or (
                    self.numpy is not None and text.startswith(f"{self.numpy}.") and ".random" not in text
                )
                if not is_known:
                    is_known = isinstance(func, ast.Attribute) and func.attr in _OF_ARRAYS and self.makes(func.value)
                return is_known and all(self._takes(each) for each in (*arguments, *keywords))
            case ast.Attribute(attr="T" | "shape" | "dtype", value=value):
                return self.makes(value)
            case ast.Attribute(value=ast.Name(id=name)):
                return name in (self.numpy, self.called.partition(".")[0])  # `np.float32`, `tf.float32`
            case _ if isinstance(node, _HOST_NODES):
                return all(map(self.makes, ast.iter_child_nodes(node)))
            case _:
                return False

    def _takes(self, argument: ast.AST) -> bool:
        """Whether it may be an argument; lists of sizes are included, with attributes that the run does not set."""
        match argument:
            case ast.keyword(value=value):
                return self._takes(value)
            case ast.List(elts=parts) | ast.Tuple(elts=parts):
                return all(self._is_fixed(part) or self._takes(part) for part in parts)
            case _:
                return self.makes(argument)

    def _is_fixed(self, node: ast.expr) -> bool:
        root = _root(node) if isinstance(node, ast.Attribute) else None
        return (
            isinstance(node, ast.Attribute)
            and root is not None
            and root.id not in self.binds
            and node.attr not in self.written
        )


def _changed_in_place(statements: Statements) -> frozenset[str]:
    """The names whose elements or attributes some statements set, or on which they call a method that may change them."""
    found: set[str] = set()
    for statement in statements:
        for node in ast.walk(statement):
            match node:
                case ast.Subscript(value=value, ctx=ast.Store() | ast.Del()):
                    pass
                case ast.Attribute(value=value, ctx=ast.Store() | ast.Del()):
                    pass
                case ast.Call(func=ast.Attribute(value=value, attr=attr)) if attr not in _OF_ARRAYS:
                    pass
                case ast.AugAssign(target=value):
                    pass
                case _:
                    continue
            while isinstance(value, ast.Attribute | ast.Subscript):
                value = value.value
            if isinstance(value, ast.Name):
                found.add(value.id)
    return frozenset(found)


def _parents(statements: Statements) -> dict[int, ast.AST]:
    """By identity, the parent of each node."""
    return {
        id(child): node
        for statement in statements
        for node in ast.walk(statement)
        for child in ast.iter_child_nodes(node)
        if not isinstance(child, ast.expr_context | ast.operator | ast.unaryop | ast.cmpop)
    }


def with_arguments(statements: Statements, hoisted: Sequence[Hoisted]) -> Statements:
    """The statements with the expressions replaced by parameters. Statements without such expressions are the same objects."""
    names = {id(node): each.name for each in hoisted for node in each.nodes}
    if not names:
        return statements
    found: list[ast.stmt] = []
    for statement in statements:
        if any(id(node) in names for node in ast.walk(statement)):
            # a copy identifies its nodes by the original ones
            places = {id(node) for node in ast.walk(statement)} & names.keys()
            memo: dict[int, object] = {
                place: ast.copy_location(ast.Name(names[place], ast.Load()), node)
                for node in ast.walk(statement)
                if (place := id(node)) in places and isinstance(node, ast.expr)
            }
            found.append(copy.deepcopy(statement, memo))
        else:
            found.append(statement)
    return found


def _evaluated_once(candidate: Candidate) -> Iterator[ast.expr]:
    """The expressions that one pass through the run evaluates exactly once, in source order."""
    for statement in candidate.statements:
        yield from _of_statement(statement, is_anchor=statement.lineno == candidate.anchor.lineno)


def _of_statement(statement: ast.stmt, *, is_anchor: bool) -> Iterator[ast.expr]:
    match statement:
        case ast.With(body=body) if is_anchor:
            for inner in body:
                yield from _of_statement(inner, is_anchor=False)
        case ast.Assign(value=value) | ast.AugAssign(value=value) | ast.Expr(value=value):
            yield from _of_expression(value)
        case ast.AnnAssign(value=ast.expr() as value):
            yield from _of_expression(value)
        case _:
            return


def evaluated_in(statement: ast.stmt) -> Iterator[ast.expr]:
    """The expressions that a statement evaluates exactly once, in source order, without those of inner blocks."""
    return _of_statement(statement, is_anchor=False)


def _of_expression(node: ast.AST) -> Iterator[ast.expr]:
    if isinstance(node, _LATER):
        return
    if isinstance(node, ast.expr):
        yield node
    for child in ast.iter_child_nodes(node):
        yield from _of_expression(child)


def _root(node: ast.expr) -> ast.Name | None:
    while isinstance(node, ast.Attribute):
        node = node.value
    return node if isinstance(node, ast.Name) else None


def _written(statements: Statements) -> frozenset[str]:
    """The attributes that some statements set or delete, on any object."""
    return frozenset(
        node.attr
        for statement in statements
        for node in ast.walk(statement)
        if isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load)
    )


def _expressions(node: ast.expr) -> Iterator[ast.expr]:
    return (inner for inner in ast.walk(node) if isinstance(inner, ast.expr))


def on_one_line(node: ast.expr) -> bool:
    """Whether an expression is on one line of the source."""
    return node.lineno == node.end_lineno


def free_name(candidate: Candidate, base: str, others: Sequence[Hoisted]) -> str:
    """A name that is unused in the run's scopes and in its module."""
    used = {each.name for each in others} | candidate.scope.flow.names | usage_of(candidate.statements).needs.keys()
    for outer in (*candidate.scope.outer, candidate.scope.node):
        used |= usage_of(outer.body).binds.keys()
    number, name = 1, base
    while name in used:
        number += 1
        name = f"{base}_{number}"
    return name
