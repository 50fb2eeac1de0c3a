"""Data flow of names through the statements of one scope: reads, bindings and liveness.

Computes, on Python's own syntax tree: the names that some statements may read before they bind them, those that they
bind on some or on every path, the names of a scope that are live after a statement, and those bound before one on
every path. Needs: `ast` nodes. Gives: `Usage`, `usage_of`, `ScopeFlow`. Ignores: values; attributes and elements,
which are reads of the name before them. Answers are conservative: a name that may be read counts as read, one that
may stay unbound as unbound.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias
from weakref import WeakKeyDictionary

Statements: TypeAlias = Sequence[ast.stmt]
AstScope: TypeAlias = ast.Module | ast.FunctionDef
_OWN_SCOPE: Final = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
_COMPREHENSIONS: Final = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_MAX_PASSES: Final = 50


@dataclass(slots=True)
class Usage:
    """Reads and bindings of names in a sequence of statements, in execution order.

    Attributes:
        needs: names that may be read before they are bound, each with the first node that reads it.
        binds: names that may be bound, each with the first node that binds it.
        sure: names that are bound on every path that reaches the end.
        ends: whether no path reaches the end.
    """

    needs: dict[str, ast.AST] = field(default_factory=dict)
    binds: dict[str, ast.AST] = field(default_factory=dict)
    sure: set[str] = field(default_factory=set)
    ends: bool = False


def usage_of(block: Statements) -> Usage:
    """Reads and bindings of names in one block."""
    usage = Usage()
    _run(block, usage)
    return usage


def _run(block: Statements, usage: Usage) -> None:
    for statement in block:
        _statement(statement, usage)


def _forked(usage: Usage) -> Usage:
    return Usage(usage.needs, usage.binds, set(usage.sure), usage.ends)


def _joined(usage: Usage, ways: Sequence[Usage]) -> None:
    """Merges the paths that reach one point: a name is certainly bound if every path that continues binds it."""
    through = [way.sure for way in ways if not way.ends]
    if through:
        usage.sure = set.intersection(*through)
    else:
        usage.ends = True


def _read(usage: Usage, node: ast.AST | None) -> None:
    """Records the reads of an expression, and its bindings (`:=`), which are not certain."""
    if node is None:
        return
    read, bound = _names_of(node)
    for name in read:
        if name.id not in usage.sure:
            usage.needs.setdefault(name.id, name)
    for name in bound:
        usage.binds.setdefault(name.id, name)


def _bind(usage: Usage, target: ast.AST) -> None:
    for node in _targets(target):
        if isinstance(node, ast.Name):
            usage.binds.setdefault(node.id, node)
            usage.sure.add(node.id)
        else:
            _read(usage, node)


def _targets(target: ast.AST) -> Iterator[ast.AST]:
    """The names and places that an assignment's left side binds."""
    match target:
        case ast.Tuple(elts=elements) | ast.List(elts=elements):
            for element in elements:
                yield from _targets(element)
        case ast.Starred(value=value):
            yield from _targets(value)
        case _:
            yield target


def _statement(statement: ast.stmt, usage: Usage) -> None:
    match statement:
        case ast.Assign(targets=targets, value=value):
            _read(usage, value)
            for target in targets:
                _bind(usage, target)
        case ast.AugAssign(target=target, value=value):
            _read(usage, value)
            if isinstance(target, ast.Name) and target.id not in usage.sure:
                usage.needs.setdefault(target.id, target)
            _bind(usage, target)
        case ast.AnnAssign(target=target, value=value, annotation=annotation):
            _read(usage, value)
            _read(usage, annotation)
            if value is not None:
                _bind(usage, target)
        case ast.For(target=target, iter=iterable, body=body, orelse=otherwise):
            _read(usage, iterable)
            inner = _forked(usage)
            _bind(inner, target)
            _run(body, inner)
            if runs_at_least_once(iterable) and not inner.ends and not leaves_loop(body):
                usage.sure |= inner.sure
            _run(otherwise, _forked(usage))
        case ast.While(test=test, body=body, orelse=otherwise):
            _read(usage, test)
            _run(body, _forked(usage))
            _run(otherwise, _forked(usage))
        case ast.If(test=test, body=body, orelse=otherwise):
            _read(usage, test)
            ways = [_forked(usage), _forked(usage)]
            _run(body, ways[0])
            _run(otherwise, ways[1])
            _joined(usage, ways)
        case ast.With(items=items, body=body):
            for item in items:
                _read(usage, item.context_expr)
                if item.optional_vars is not None:
                    _bind(usage, item.optional_vars)
            _run(body, usage)
        case ast.Try(body=body, handlers=handlers, orelse=otherwise, finalbody=last):
            ways = [_forked(usage)]
            _run([*body, *otherwise], ways[0])
            for handler in handlers:
                way = _forked(usage)
                _read(way, handler.type)
                if handler.name is not None:
                    way.binds.setdefault(handler.name, handler)
                _run(handler.body, way)
                way.sure.discard(handler.name or "")
                ways.append(way)
            before = _forked(usage)
            _joined(usage, ways)
            # The `finally` block may run after any prefix of the body, so nothing that the body binds is certain
            # there.
            cleaning = _forked(before)
            _run(last, cleaning)
            usage.sure |= cleaning.sure
            usage.ends = usage.ends or cleaning.ends
        case ast.Match(subject=subject, cases=cases):
            _read(usage, subject)
            ways = [_forked(usage)]
            for case in cases:
                way = _forked(usage)
                for node in ast.walk(case.pattern):
                    name = getattr(node, "name", None) or getattr(node, "rest", None)
                    if isinstance(name, str):
                        way.binds.setdefault(name, node)
                        way.sure.add(name)
                    if isinstance(node, ast.MatchValue):
                        _read(way, node.value)
                _read(way, case.guard)
                _run(case.body, way)
                ways.append(way)
            _joined(usage, ways)
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            _read(usage, statement)
            usage.binds.setdefault(statement.name, statement)
            usage.sure.add(statement.name)
        case ast.Import(names=names) | ast.ImportFrom(names=names):
            for alias in names:
                bound = alias.asname or alias.name.partition(".")[0]
                usage.binds.setdefault(bound, statement)
                usage.sure.add(bound)
        case ast.Delete(targets=targets):
            for target in targets:
                _read(usage, target)
                for name in ast.walk(target):
                    if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Del):
                        if name.id not in usage.sure:
                            usage.needs.setdefault(name.id, name)
                        usage.sure.discard(name.id)
        case ast.Return(value=value):
            _read(usage, value)
            usage.ends = True
        case ast.Raise(exc=exception, cause=cause):
            _read(usage, exception)
            _read(usage, cause)
            usage.ends = True
        case ast.Break() | ast.Continue():
            usage.ends = True
        case _:
            for child in ast.iter_child_nodes(statement):
                _read(usage, child)


_NAMES: Final[WeakKeyDictionary[ast.AST, tuple[tuple[ast.Name, ...], tuple[ast.Name, ...]]]] = WeakKeyDictionary()
"""Cache of `_names_of`: each query about a scope needs the same nodes, which do not change."""


def _names_of(node: ast.AST) -> tuple[tuple[ast.Name, ...], tuple[ast.Name, ...]]:
    """The names that evaluating a node may read, and those that a `:=` in it may bind."""
    if isinstance(node, ast.Name):
        return ((node,) if isinstance(node.ctx, ast.Load) else (), ())
    found = _NAMES.get(node)
    if found is None:
        bound = tuple(inner.target for inner in ast.walk(node) if isinstance(inner, ast.NamedExpr))
        found = _NAMES[node] = (tuple(_names_read(node)), bound)
    return found


def names_read(node: ast.AST) -> tuple[ast.Name, ...]:
    """The names that evaluating a node may read, in its scope. Reads of nested functions count when they run."""
    return _names_of(node)[0]


def _names_read(node: ast.AST) -> Iterator[ast.Name]:
    match node:
        case ast.Name(ctx=ast.Load()):
            yield node
        case ast.Lambda(args=arguments, body=body):
            yield from _of_function(arguments, [body])
        case ast.FunctionDef(args=arguments, body=body) | ast.AsyncFunctionDef(args=arguments, body=body):
            for decorator in node.decorator_list:
                yield from _names_read(decorator)
            yield from _of_function(arguments, body)
        case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
            bound = {
                inner.id
                for generator in node.generators
                for inner in ast.walk(generator.target)
                if isinstance(inner, ast.Name)
            }
            for child in ast.iter_child_nodes(node):
                for name in _names_read(child):
                    # the first iterable is evaluated outside, where the names mean something else
                    if name.id not in bound or _is_inside(name, node.generators[0].iter):
                        yield name
        case _:
            for child in ast.iter_child_nodes(node):
                yield from _names_read(child)


def _is_inside(name: ast.Name, node: ast.AST) -> bool:
    return any(inner is name for inner in ast.walk(node))


def _of_function(arguments: ast.arguments, body: Sequence[ast.AST]) -> Iterator[ast.Name]:
    for default in [*arguments.defaults, *arguments.kw_defaults]:
        if default is not None:
            yield from _names_read(default)
    own = {argument.arg for argument in _arguments(arguments)}
    own |= {
        inner.id
        for statement in body
        for inner in ast.walk(statement)
        if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store)
    }
    declared = declared_names(body)
    for statement in body:
        for name in _names_read(statement):
            if name.id not in own or name.id in declared:
                yield name


def _arguments(arguments: ast.arguments) -> Iterator[ast.arg]:
    yield from (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
    yield from (extra for extra in (arguments.vararg, arguments.kwarg) if extra is not None)


def declared_names(body: Iterable[ast.AST]) -> set[str]:
    """Names that are declared `global` or `nonlocal` anywhere inside."""
    return {
        name
        for statement in body
        for node in ast.walk(statement)
        if isinstance(node, ast.Global | ast.Nonlocal)
        for name in node.names
    }


def statements_of_scope(block: Statements) -> Iterator[ast.stmt]:
    """All statements of a scope, in the order of the text, without those of functions and classes in it."""
    for statement in block:
        yield statement
        for inner in inner_blocks(statement):
            yield from statements_of_scope(inner)


def runs_at_least_once(iterable: ast.expr) -> bool:
    """Whether a loop over an expression runs, judged by its text: a display with elements, or a `zip` of such."""
    match iterable:
        case ast.List(elts=elements) | ast.Tuple(elts=elements):
            return any(not isinstance(element, ast.Starred) for element in elements)
        case ast.Call(func=ast.Name(id="zip" | "enumerate" | "reversed"), args=[_, *_] as given):
            return all(map(runs_at_least_once, given))
        case ast.Call(func=ast.Name(id="range"), args=[ast.Constant(value=int(number))]):
            return number > 0
        case _:
            return False


def leaves_loop(body: Statements) -> bool:
    """Whether a `break` or `continue` in the body of a loop ends an iteration before its last statement."""
    for statement in body:
        if isinstance(statement, ast.Break | ast.Continue):
            return True
        inner = (statement.orelse,) if isinstance(statement, ast.For | ast.While) else inner_blocks(statement)
        if any(map(leaves_loop, inner)):
            return True
    return False


def inner_blocks(statement: ast.stmt) -> tuple[Statements, ...]:
    """The blocks that a statement holds in the same scope."""
    match statement:
        case ast.If() | ast.For() | ast.While() | ast.AsyncFor():
            return (statement.body, statement.orelse)
        case ast.With() | ast.AsyncWith():
            return (statement.body,)
        case ast.Try():
            handlers = (handler.body for handler in statement.handlers)
            return (statement.body, *handlers, statement.orelse, statement.finalbody)
        case ast.Match():
            return tuple(case.body for case in statement.cases)
        case _:
            return ()


class ScopeFlow:
    """Liveness and bindings of names in one whole scope: a module or a function."""

    def __init__(self, scope: AstScope) -> None:
        self.scope = scope
        usage = usage_of(scope.body)
        declared = set() if isinstance(scope, ast.Module) else _declared_here(scope.body)
        self.parameters = (
            frozenset[str]()
            if isinstance(scope, ast.Module)
            else frozenset(argument.arg for argument in _arguments(scope.args))
        )
        self.names: frozenset[str] = frozenset(usage.binds) - declared | self.parameters
        """The names that are local to the scope."""
        self.everywhere: frozenset[str] = self._read_by_functions()
        """The names that nested functions read, which may be called at any time."""

    def _read_by_functions(self) -> frozenset[str]:
        found: set[str] = set()
        for statement in statements_of_scope(self.scope.body):
            if isinstance(statement, _OWN_SCOPE):
                found.update(name.id for name in names_read(statement))
        return frozenset(found) & self.names

    def kept_by_lambdas(self, outside: Statements) -> frozenset[str]:
        """The names that lambdas outside of some statements of the scope read."""
        inside = {id(node) for statement in outside for node in ast.walk(statement)}
        found: set[str] = set()
        for statement in statements_of_scope(self.scope.body):
            if isinstance(statement, _OWN_SCOPE):
                continue
            for node in ast.walk(statement):
                if isinstance(node, ast.Lambda) and id(node) not in inside:
                    found.update(name.id for name in names_read(node))
        return frozenset(found) & self.names

    def live_after(self, block: Statements, end: int) -> frozenset[str]:
        """The names of the scope that may be read after the statement before `block[end]`, before they are bound again."""
        finder = _Liveness(block, end)
        at_end = set(self.everywhere)
        finder.before(self.scope.body, at_end, _Exits(at_end, set(), set(), set()))
        return frozenset(finder.found) & self.names | self.everywhere

    def bound_before(self, block: Statements, start: int) -> frozenset[str]:
        """The names of the scope that are bound on every path that leads to `block[start]`."""
        finder = _Bound(block, start)
        finder.after(self.scope.body, set(self.parameters))
        return frozenset(finder.found or ())


def _declared_here(block: Statements) -> set[str]:
    return {
        name
        for statement in statements_of_scope(block)
        if isinstance(statement, ast.Global | ast.Nonlocal)
        for name in statement.names
    }


@dataclass(frozen=True, slots=True)
class _Exits:
    """The live names at the target of a jump."""

    returned: set[str]
    broken: set[str]
    continued: set[str]
    raised: set[str]


class _Liveness:
    """Backward analysis of the blocks of a scope."""

    def __init__(self, block: Statements, end: int) -> None:
        self.block = block
        self.end = end
        self.found: set[str] = set()

    def before(self, block: Statements, live: set[str], exits: _Exits) -> set[str]:
        live = set(live)
        for at in range(len(block), -1, -1):
            if block is self.block and at == self.end:
                self.found |= live
            if at:
                live = self._statement(block[at - 1], live, exits) | exits.raised
        return live

    def _statement(self, statement: ast.stmt, live: set[str], exits: _Exits) -> set[str]:
        match statement:
            case ast.If(test=test, body=body, orelse=otherwise):
                return self.before(body, live, exits) | self.before(otherwise, live, exits) | _reads(test)
            case ast.For(target=target, iter=iterable, body=body, orelse=otherwise):
                after = self.before(otherwise, live, exits)
                bound = {node.id for node in ast.walk(target) if isinstance(node, ast.Name)}
                return self._loop(body, after, live, bound, _reads(target), exits) | _reads(iterable)
            case ast.While(test=test, body=body, orelse=otherwise):
                after = self.before(otherwise, live, exits) | _reads(test)
                return self._loop(body, after, live, set(), _reads(test), exits)
            case ast.With(items=items, body=body):
                live = self.before(body, live, exits)
                for item in reversed(items):
                    if item.optional_vars is not None:
                        live = live - _names_bound(item.optional_vars) | _reads(item.optional_vars)
                    live |= _reads(item.context_expr)
                return live
            case ast.Try(body=body, handlers=handlers, orelse=otherwise, finalbody=last):
                after = self.before(last, live, exits)
                # A `finally` block runs on every jump out of the statement.
                jumps = _Exits(
                    exits.returned | after, exits.broken | after, exits.continued | after, exits.raised | after
                )
                caught = set(after)
                for handler in handlers:
                    inside = self.before(handler.body, after, jumps)
                    caught |= inside | _reads(handler.type)
                inner = _Exits(jumps.returned, jumps.broken, jumps.continued, jumps.raised | caught)
                return self.before(body, self.before(otherwise, after, jumps), inner)
            case ast.Match(subject=subject, cases=cases):
                found = set(live)
                for case in cases:
                    found |= self.before(case.body, live, exits) | _reads(case.pattern) | _reads(case.guard)
                return found | _reads(subject)
            case ast.Return(value=value):
                return exits.returned | _reads(value)
            case ast.Raise():
                return exits.raised | _reads(statement)
            case ast.Break():
                return set(exits.broken)
            case ast.Continue():
                return set(exits.continued)
            case _:
                usage = usage_of([statement])
                return live - usage.sure | set(usage.needs)

    def _loop(
        self, body: Statements, after: set[str], broken: set[str], bound: set[str], read: set[str], exits: _Exits
    ) -> set[str]:
        """The live names before a loop's next iteration, or its end."""
        head = after | read
        for _ in range(_MAX_PASSES):
            inner = _Exits(exits.returned, broken, head, exits.raised)
            wider = head | self.before(body, head, inner) - bound
            if wider == head:
                break
            head = wider
        return head


def _reads(node: ast.AST | None) -> set[str]:
    return set() if node is None else {name.id for name in names_read(node)}


def _names_bound(target: ast.AST) -> set[str]:
    return {node.id for node in _targets(target) if isinstance(node, ast.Name)}


class _Bound:
    """Forward analysis of the blocks of a scope: the names that are certainly bound; None if no path reaches the point."""

    def __init__(self, block: Statements, start: int) -> None:
        self.block = block
        self.start = start
        self.found: set[str] | None = None

    def after(self, block: Statements, bound: set[str] | None) -> set[str] | None:
        bound = None if bound is None else set(bound)
        for at, statement in enumerate(block):
            if block is self.block and at == self.start and bound is not None:
                self.found = set(bound) if self.found is None else self.found & bound
            if bound is not None:
                bound = self._statement(statement, bound)
        return bound

    def _statement(self, statement: ast.stmt, bound: set[str]) -> set[str] | None:
        match statement:
            case ast.If(body=body, orelse=otherwise):
                return _both(self.after(body, bound), self.after(otherwise, bound))
            case ast.For(target=target, iter=iterable, body=body, orelse=otherwise):
                after = self.after(body, bound | _names_bound(target))
                if after is not None and runs_at_least_once(iterable) and not leaves_loop(body):
                    bound = bound | after
                # The body may not run at all, or be left by `break`, which skips the `else` block.
                self.after(otherwise, bound)
                return bound - _deleted(statement)
            case ast.While(body=body, orelse=otherwise):
                self.after(body, bound)
                self.after(otherwise, bound)
                return bound - _deleted(statement)
            case ast.With(items=items, body=body):
                for item in items:
                    if item.optional_vars is not None:
                        bound = bound | _names_bound(item.optional_vars)
                return self.after(body, bound)
            case ast.Try(body=body, handlers=handlers, orelse=otherwise, finalbody=last):
                start = bound - _deleted(statement)
                way = self.after(otherwise, self.after(body, bound)) if otherwise else self.after(body, bound)
                for handler in handlers:
                    caught = self.after(handler.body, start | ({handler.name} if handler.name else set()))
                    way = _both(way, None if caught is None else caught - {handler.name})
                cleaned = self.after(last, start)
                return None if way is None or cleaned is None else way | cleaned
            case ast.Match(cases=cases):
                ways: set[str] | None = set(bound)
                for case in cases:
                    inside = bound | set(usage_of([ast.Match(ast.Constant(0), [case])]).binds) - set(
                        usage_of(case.body).binds
                    )
                    ways = _both(ways, self.after(case.body, inside))
                return ways
            case ast.Return() | ast.Raise() | ast.Break() | ast.Continue():
                return None
            case ast.Delete():
                return bound - _deleted(statement)
            case _:
                return bound | usage_of([statement]).sure


def _both(first: set[str] | None, second: set[str] | None) -> set[str] | None:
    if first is None or second is None:
        return second if first is None else first
    return first & second


def _deleted(statement: ast.stmt) -> set[str]:
    return {node.id for node in ast.walk(statement) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Del)}
