"""The control flow of a function as AutoGraph converts it for a trace.

AutoGraph has no jumps: `break`, `continue` and `return` set flags, and the statements after them run under `if not flag`; loops test the
flags of `break` and `return` between iterations. Before that, the code after an `if` of which one arm always returns moves into the other
arm. Source: the passes break_statements, continue_statements and return_statements, and pyct/cfg.py, of TensorFlow 2.21.

Computes: a graph of the reads and bindings of names. Needs: a function. Gives: `Flow`, by `flow_of`. Its edges are those of AutoGraph's
own analyses: none leaves the middle of a `try` for its handlers. Ignores: attributes and items.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Final, TypeAlias

from terra_refactor.ir import ops
from terra_refactor.ir.function import Function, FunctionKind
from terra_refactor.ir.ids import OpId, source_name
from terra_refactor.ir.walk import operands, walk
from terra_refactor.syntax.deep_stack import call_with_deep_stack

RETURNED: Final = "%returned"
"""The flag that a `return` sets."""
RESULT: Final = "%result"
"""The variable that holds the returned value."""
NodeId: TypeAlias = int


class NodeKind(Enum):
    """The kind of a node of the graph."""

    ENTRY = "entry"
    EXIT = "exit"
    READ = "read"
    BIND = "bind"
    """A name gets a value: `op` is a `StoreName`, a `Return`, or sets a flag."""
    MAY_BIND = "may bind"
    """Like `BIND`, inside an expression that may not run."""
    UNBIND = "unbind"
    PLAIN = "plain"


@dataclass(slots=True)
class FlowNode:
    """One step. `sites` are the branches and loops whose bodies hold it, outermost first, each with the arm (0 or 1)."""

    kind: NodeKind
    op: OpId | None = None
    reads: tuple[str, ...] = ()
    name: str = ""
    """The name that is bound or unbound, if any."""
    flag: bool | None = None
    """The new value of a flag."""
    sites: tuple[tuple[int, int], ...] = ()
    next: list[NodeId] = field(default_factory=list)
    previous: list[NodeId] = field(default_factory=list)


@dataclass(slots=True)
class ControlSite:
    """A branch or a loop. For a branch, `arms` are the first nodes of its two sides and `ends` the last ones; for a
    loop, those of the body and of the path past it.
    """

    op: OpId
    """The `If`, `For` or `While`; for a branch on a flag, the statement that may have set it."""
    is_loop: bool
    flags: tuple[str, ...]
    """A branch: the flag that must be unset for its first arm to run. A loop: the flags that it tests."""
    before: NodeId
    """The node where the branch is decided, or from which the loop is entered."""
    arms: tuple[NodeId, NodeId] = (0, 0)
    ends: tuple[NodeId, NodeId] = (0, 0)
    after: NodeId = 0
    head: NodeId = 0
    """For a loop, the node where each iteration starts with its test."""
    again: NodeId = 0
    """For a loop, the path from an iteration's end to the next one."""
    bound: frozenset[str] = frozenset()
    """The names that its arms bind or unbind."""
    in_python_loop: bool = False


@dataclass(frozen=True, slots=True)
class Flow:
    """The graph of one function."""

    nodes: tuple[FlowNode, ...]
    sites: tuple[ControlSite, ...]
    entry: NodeId
    exit: NodeId
    captured: frozenset[str]
    """Local names that nested functions read (except lambdas, which AutoGraph assumes to be called where they are written), and names of
    other scopes: other code may read them at any time.
    """
    by_op: dict[OpId, tuple[NodeId, ...]]
    """The nodes of an operation."""


def flow_of(function: Function, nested: Iterable[Function] = ()) -> Flow:
    """The control flow of a function.

    `nested` are the functions defined in it: names that only its lambdas read are live there.
    """
    # the code after each early `return` is nested in its other side
    return call_with_deep_stack(lambda: _Builder(function, nested).build())


class _Builder:
    def __init__(self, function: Function, nested: Iterable[Function]) -> None:
        self.function = function
        inner = tuple(nested)
        self.lambdas = {each.id: each.frees for each in inner if each.kind is FunctionKind.LAMBDA}
        kept = {name for each in inner if each.kind is not FunctionKind.LAMBDA for name in each.frees}
        read_by_lambdas = {name for frees in self.lambdas.values() for name in frees}
        self.captured = {name for name in function.cells if name in kept or name not in read_by_lambdas}
        self.nodes: list[FlowNode] = []
        self.sites: list[ControlSite] = []
        self.path: tuple[tuple[int, int], ...] = ()
        self.ops = {op.id: op for op in walk(function.body)}
        self.leaving: list[set[str]] = []
        """The flags that each open block may have set."""
        self.loops: list[OpId] = []
        self.here: NodeId | None = None

    def build(self) -> Flow:
        entry = self.here = self._node(NodeKind.ENTRY)
        self._flag(RETURNED, False, None)
        self._block(self._rewritten(self.function.body)[0])
        exit_ = self._add(NodeKind.EXIT, reads=(RETURNED, RESULT))
        by_op: dict[OpId, list[NodeId]] = {}
        for number, node in enumerate(self.nodes):
            for following in node.next:
                self.nodes[following].previous.append(number)
            if node.op is not None:
                by_op.setdefault(node.op, []).append(number)
        bound: list[set[str]] = [set() for _ in self.sites]
        for node in self.nodes:
            # a comprehension's variables exist in it alone: they are not variables of the branches and loops around it
            for number, arm in node.sites if node.name and source_name(node.name) == node.name else ():
                if not (self.sites[number].is_loop and arm):
                    bound[number].add(node.name)
        for site, found in zip(self.sites, bound, strict=True):
            site.bound = frozenset(found)
        outer = {
            op.name
            for op in self.ops.values()
            if isinstance(op, ops.StoreName) and op.scope not in (ops.Scope.LOCAL, ops.Scope.CELL)
        }
        return Flow(
            tuple(self.nodes),
            tuple(self.sites),
            entry,
            exit_,
            frozenset(outer | self.captured),
            {op: tuple(numbers) for op, numbers in by_op.items()},
        )

    # --- nodes and edges

    def _node(self, kind: NodeKind, op: OpId | None = None, reads: Iterable[str] = (), name: str = "") -> NodeId:
        self.nodes.append(FlowNode(kind, op, tuple(reads), name, sites=self.path))
        return len(self.nodes) - 1

    def _add(self, kind: NodeKind, op: OpId | None = None, reads: Iterable[str] = (), name: str = "") -> NodeId:
        """Adds a node after the current one."""
        number = self._node(kind, op, reads, name)
        self._to(number)
        self.here = number
        return number

    def _to(self, number: NodeId) -> None:
        if self.here is not None:
            self.nodes[self.here].next.append(number)

    def _flag(self, name: str, value: bool, op: OpId | None) -> None:
        self.nodes[self._add(NodeKind.BIND, op, name=name)].flag = value
        if value and self.leaving:
            self.leaving[-1].add(name)

    # --- statements

    def _rewritten(self, block: ops.Block) -> tuple[ops.Block, bool]:
        """A block in which the code after a branch with a `return` on one side is moved to the other side; and whether
        the block always returns.
        """
        returns = False
        done: list[ops.Op] = []
        for position, op in enumerate(block):
            if isinstance(op, ops.If):
                then_block, then_returns = self._rewritten(op.then_block)
                else_block, else_returns = self._rewritten(op.else_block)
                rest: ops.Block = ()
                if then_returns or else_returns:
                    returns = returns or (then_returns and else_returns)
                    rest, rest_returns = self._rewritten(block[position + 1 :])
                    returns = returns or rest_returns
                    if then_returns:
                        else_block = (*else_block, *rest)
                    else:
                        then_block = (*then_block, *rest)
                done.append(ops.If(op.id, op.test, then_block, else_block, op.is_assert, op.is_case))
                if then_returns or else_returns:
                    return tuple(done), returns
                continue
            if isinstance(op, ops.Return):
                returns = True
            elif isinstance(op, ops.With):
                body, inner = self._rewritten(op.body)
                returns = returns or inner
                op = ops.With(op.id, op.manager, body, op.is_async)  # noqa: PLW2901
            done.append(op)
        return tuple(done), returns

    def _block(self, block: Sequence[ops.Op]) -> set[str]:
        """Lowers a block; returns the flags that it may have set."""
        self.leaving.append(set())
        for position, op in enumerate(block):
            before = set(self.leaving[-1])
            self._statement(op)
            flags = self.leaving[-1] - before
            rest = block[position + 1 :]
            if flags and rest:
                self._guarded(op, sorted(flags, key=lambda flag: flag != RETURNED), rest)
                break
        return self.leaving.pop()

    def _guarded(self, op: ops.Op, flags: Sequence[str], rest: Sequence[ops.Op]) -> None:
        """Code that runs only while none of these flags is set; the flag of `return` is tested first."""
        site = self._open(op.id, (flags[0],), reads=(flags[0],))

        def inside() -> None:
            if len(flags) > 1:
                self._guarded(op, flags[1:], rest)
            else:
                self.leaving[-1] |= self._block(rest)

        self._arm(site, 0, inside)
        self._arm(site, 1, lambda: None)
        self._close(site)

    def _open(self, op: OpId, flags: tuple[str, ...], reads: Iterable[str] = ()) -> int:
        before = self._add(NodeKind.PLAIN, op, reads)
        self.sites.append(ControlSite(op, False, flags, before, in_python_loop=bool(self.loops)))
        return len(self.sites) - 1

    def _arm(self, number: int, arm: int, inside: Callable[[], None]) -> None:
        site, outer = self.sites[number], self.path
        self.here = site.before
        self.path = (*outer, (number, arm))
        start = self._add(NodeKind.PLAIN)
        inside()
        end = self._add(NodeKind.PLAIN)
        self.path = outer
        if arm == 0:
            site.arms, site.ends = (start, 0), (end, 0)
        else:
            site.arms, site.ends = (site.arms[0], start), (site.ends[0], end)

    def _close(self, number: int) -> None:
        site = self.sites[number]
        site.after = self._node(NodeKind.PLAIN)
        for end in site.ends:
            self.nodes[end].next.append(site.after)
        self.here = site.after

    def _statement(self, op: ops.Op) -> None:
        match op:
            case ops.If():
                site = self._open(op.id, ())
                for arm, block in enumerate((op.then_block, op.else_block)):

                    def inside(block: ops.Block = block) -> None:
                        self.leaving[-1] |= self._block(block)

                    self._arm(site, arm, inside)
                self._close(site)
            case ops.For() | ops.While():
                self._loop(op)
            case ops.With():
                self.leaving[-1] |= self._block(op.body)
            case ops.Try():
                self._try(op)
            case ops.Return():
                self._flag(RETURNED, True, op.id)
                self._add(NodeKind.BIND, op.id, name=RESULT)
            case ops.Break() | ops.Continue() if self.loops:
                if isinstance(op, ops.Break):
                    self._flag(f"%break {self.loops[-1]}", True, op.id)
                self._flag(f"%continue {self.loops[-1]}", True, op.id)
            case ops.Raise():
                self.here = None
                self._add(NodeKind.PLAIN, op.id)
            case ops.LoadName():
                self._add(NodeKind.READ, op.id, (op.name,))
            case ops.StoreName():
                if op.value is not None:
                    self._add(NodeKind.BIND, op.id, name=op.name)
            case ops.DeleteName():
                self._add(NodeKind.UNBIND, op.id, (op.name,), op.name)
            case ops.ShortCircuit() | ops.IfExpression() | ops.Comprehension() | ops.Lazy():
                for inner in walk((op,)):
                    if isinstance(inner, ops.LoadName):
                        self._add(NodeKind.READ, inner.id, (inner.name,))
                    elif isinstance(inner, ops.StoreName) and inner.value is not None:
                        # what reads a comprehension's variable runs only after it is bound
                        own = source_name(inner.name) != inner.name
                        self._add(NodeKind.BIND if own else NodeKind.MAY_BIND, inner.id, name=inner.name)
                    elif isinstance(inner, ops.MakeFunction):
                        self._made(inner)
            case ops.MakeFunction():
                self._made(op)
            case _:
                pass

    def _made(self, op: ops.MakeFunction) -> None:
        read = [name for name in self.lambdas.get(op.function, ()) if name in self.function.cells]
        if read:
            self._add(NodeKind.READ, op.id, read)

    def _loop(self, op: ops.For | ops.While) -> None:
        left, skipped = f"%break {op.id}", f"%continue {op.id}"
        leaves = {type(inner) for inner in _own_jumps(op.body)}
        if ops.Break in leaves:
            self._flag(left, False, None)
        returns = any(isinstance(inner, ops.Return) for inner in walk(op.body))
        flags = (*((RETURNED,) if returns else ()), *((left,) if ops.Break in leaves else ()))
        before = self._add(NodeKind.PLAIN, op.id)
        number = len(self.sites)
        site = ControlSite(op.id, True, flags, before, in_python_loop=bool(self.loops))
        self.sites.append(site)
        outer, self.path = self.path, (*self.path, (number, 0))
        # AutoGraph assumes that the iterated value is read for each iteration
        read = self._names_of(op.iterable) if isinstance(op, ops.For) else ()
        head = site.head = self._add(NodeKind.PLAIN, None, (*flags, *read))
        if isinstance(op, ops.While):
            for part in op.test_block:
                self._statement(part)
        start = self._add(NodeKind.PLAIN)
        if leaves:
            self._flag(skipped, False, None)
        self.loops.append(op.id)
        body = self._rewritten(op.body)[0]
        flags_set = self._block(body)
        self.loops.pop()
        end = self._add(NodeKind.PLAIN)
        site.again = self._add(NodeKind.PLAIN)
        self.nodes[site.again].next.append(head)
        self.path = (*outer, (number, 1))
        # leaving the loop: without a run of its body, and after some
        past = self._node(NodeKind.PLAIN)
        self.nodes[before].next.append(past)
        self.path = outer
        site.after = self._node(NodeKind.PLAIN)
        self.nodes[past].next.append(site.after)
        self.nodes[end].next.append(site.after)
        site.arms, site.ends = (start, past), (end, past)
        self.here = site.after
        self.leaving[-1] |= flags_set - {left, skipped}
        self.leaving[-1].discard(skipped)
        if op.else_block and ops.Break in leaves:
            self._guarded(op, [left], op.else_block)
        elif op.else_block:
            self.leaving[-1] |= self._block(op.else_block)

    def _try(self, op: ops.Try) -> None:
        self.leaving[-1] |= self._block(self._rewritten((*op.body, *op.else_block))[0])
        ends = [self.here]
        for handler in op.handlers:
            self.here = ends[0]
            for part in handler.type_block:
                self._statement(part)
            self.leaving[-1] |= self._block(self._rewritten(handler.body)[0])
            ends.append(self.here)
        self.here = self._node(NodeKind.PLAIN)
        for end in ends:
            if end is not None:
                self.nodes[end].next.append(self.here)
        self.leaving[-1] |= self._block(self._rewritten(op.final_block)[0])

    def _names_of(self, number: OpId) -> tuple[str, ...]:
        """The variables that an expression reads."""
        found: list[str] = []
        waiting = [number]
        while waiting:
            op = self.ops.get(waiting.pop())
            if isinstance(op, ops.LoadName):
                found.append(op.name)
            elif op is not None and not isinstance(op, ops.StoreName):
                waiting.extend(operands(op))
        return tuple(dict.fromkeys(found))


def _own_jumps(body: ops.Block) -> list[ops.Op]:
    """The `break`s and `continue`s of a loop itself."""
    found: list[ops.Op] = []
    waiting = [body]
    while waiting:
        for op in waiting.pop():
            match op:
                case ops.Break() | ops.Continue():
                    found.append(op)
                case ops.If(then_block=then_block, else_block=else_block):
                    waiting += [then_block, else_block]
                case ops.With(body=inner):
                    waiting.append(inner)
                case ops.Try():
                    waiting += [op.body, op.else_block, op.final_block, *(each.body for each in op.handlers)]
                case ops.For(else_block=else_block) | ops.While(else_block=else_block):
                    waiting.append(else_block)
                case _:
                    pass
    return found
