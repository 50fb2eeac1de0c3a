"""The state of lowering: one `ModuleBuilder` a file, one `FunctionBuilder` a function, one `LoweringFrame` a scope.

Computes: nothing. Needs: the table of handlers (`dispatch.py`) and the positions of the tree's nodes. Gives: the mutable side of
the IR, which `module.py` freezes when all functions of the file are lowered. Bodies are queued, not lowered where they are met, so
that the depth of nested definitions costs no recursion.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, TypeAlias, TypeVar

import libcst as cst

from terra_refactor.ir.function import Decorator, FunctionKind, Parameter
from terra_refactor.ir.ids import FunctionId, OpId
from terra_refactor.ir.ops import Block, DeleteName, Lazy, Literal, LiteralValue, LoadName, Op, Scope, StoreName
from terra_refactor.syntax.location import Span

NameOp: TypeAlias = LoadName | StoreName | DeleteName
ExpressionHandler: TypeAlias = "Callable[[FunctionBuilder, Any], OpId]"
StatementHandler: TypeAlias = "Callable[[FunctionBuilder, Any], None]"
HandlerT = TypeVar("HandlerT")


class FrameKind(Enum):
    MODULE = "module"
    FUNCTION = "function"
    CLASS = "class"
    COMPREHENSION = "comprehension"
    GENERATOR = "generator expression"
    TYPE_PARAMETERS = "type parameters"


@dataclass(eq=False, slots=True)
class LoweringFrame:
    """One scope of the source while its code is lowered.

    A comprehension and the type parameters of a definition have a scope of their own in the source but none in the IR: their
    variables live in `function` under fresh names.
    """

    kind: FrameKind
    function: FunctionBuilder
    parent: LoweringFrame | None
    number: int = 0
    """Creates the fresh names of this frame: `x%number`; 0 if names are unchanged."""
    bound: set[str] = field(default_factory=set)
    declared_global: set[str] = field(default_factory=set)
    declared_nonlocal: set[str] = field(default_factory=set)
    uses: dict[str, list[NameOp]] = field(default_factory=dict)
    """Every operation that loads, stores or deletes a name in this scope: `names.py` sets their `Scope` at the end."""

    def stored_name(self, name: str) -> str:
        """The name under which the function keeps this scope's variable `name`."""
        return f"{name}%{self.number}" if self.number else name


class UnsupportedNodeError(Exception):
    """A node class without a handler: a construct newer than the supported Python versions."""


class HandlerTable(dict[type[cst.CSTNode], HandlerT]):
    """The handler for each node class; a lookup that succeeds is as fast as in a plain dict."""

    def __missing__(self, node_class: type[cst.CSTNode]) -> HandlerT:
        raise UnsupportedNodeError(node_class.__name__)


class ModuleBuilder:
    """The file that is being lowered."""

    def __init__(
        self,
        name: str,
        path: str,
        tree: cst.Module,
        span_of: Callable[[cst.CSTNode], Span],
        expressions: Mapping[type[cst.CSTNode], ExpressionHandler],
        statements: Mapping[type[cst.CSTNode], StatementHandler],
    ) -> None:
        self.name = name
        self.path = path
        self.tree = tree
        self.span_of = span_of
        self.expressions = expressions
        self.statements = statements
        self.functions: list[FunctionBuilder] = []
        self.queue: deque[FunctionBuilder] = deque()
        self.lazy_annotations = False
        """Whether `from __future__ import annotations` was met."""

    def text_of(self, node: cst.CSTNode) -> str:
        """The source text of one node."""
        text: str = self.tree.code_for_node(node)
        return text


class FunctionBuilder:
    """The function that is being lowered. `ops` is the block to which operations are added at the moment."""

    __slots__ = (
        "cells",
        "class_prefix",
        "decorators",
        "def_line",
        "docstring",
        "expressions",
        "frame",
        "frames",
        "frees",
        "fresh_count",
        "id",
        "is_async",
        "is_generator",
        "kind",
        "lower_body",
        "module",
        "name",
        "ops",
        "parameters",
        "parent",
        "qualname",
        "root_frame",
        "span",
        "span_of",
        "spans",
        "statements",
    )

    def __init__(
        self,
        module: ModuleBuilder,
        name: str,
        qualname: str,
        kind: FunctionKind,
        parent: FunctionBuilder | None,
        span: Span,
        lower_body: Callable[[FunctionBuilder], None],
    ) -> None:
        self.module = module
        # The index is given at the end (module.py), when the source order of all functions is known.
        self.id = FunctionId(module.name, len(module.functions))
        self.name = name
        self.qualname = qualname
        self.kind = kind
        self.parent = parent
        self.span = span
        self.def_line = span.line
        self.lower_body = lower_body
        self.parameters: tuple[Parameter, ...] = ()
        self.decorators: tuple[Decorator, ...] = ()
        self.is_generator = False
        self.is_async = False
        self.docstring: str | None = None
        self.cells: set[str] = set()
        self.frees: set[str] = set()
        self.fresh_count = 0
        self.class_prefix: str | None = parent.class_prefix if parent is not None else None
        """`_C` inside `class C`: the prefix of a private name; None outside of classes."""
        self.ops: list[Op] = []
        self.spans: list[Span] = []
        if kind is FunctionKind.MODULE:
            frame_kind = FrameKind.MODULE
        elif kind is FunctionKind.CLASS_BODY:
            frame_kind = FrameKind.CLASS
        else:
            frame_kind = FrameKind.FUNCTION
        self.root_frame: LoweringFrame = LoweringFrame(frame_kind, self, parent.frame if parent is not None else None)
        self.frame: LoweringFrame = self.root_frame
        self.frames: list[LoweringFrame] = [self.root_frame]
        self.span_of = module.span_of
        self.expressions = module.expressions
        self.statements = module.statements
        module.functions.append(self)
        module.queue.append(self)

    def close(self) -> None:
        """Removes references back to this object, so that builders and tree are freed at once, without a search for cycles."""
        self.frames.clear()
        del self.frame, self.root_frame

    # --- operations ---

    def new_id(self, node: cst.CSTNode) -> OpId:
        """The number of the next operation, which is at `node`. The caller must add it to `ops`."""
        spans = self.spans
        spans.append(self.span_of(node))
        return len(spans) - 1

    def literal(self, node: cst.CSTNode, value: LiteralValue) -> OpId:
        """Adds a constant at `node`."""
        op_id = self.new_id(node)
        self.ops.append(Literal(op_id, value))
        return op_id

    def builtin(self, node: cst.CSTNode, name: str) -> OpId:
        """Reads a built-in function that the code at `node` calls without naming it."""
        op_id = self.new_id(node)
        self.ops.append(LoadName(op_id, name, Scope.BUILTIN))
        return op_id

    def value(self, node: cst.BaseExpression) -> OpId:
        """Lowers an expression; the temporary of its value."""
        return self.expressions[type(node)](self, node)

    def statement(self, node: cst.CSTNode) -> None:
        """Lowers one statement, small or compound."""
        self.statements[type(node)](self, node)

    def suite(self, body: cst.BaseSuite | cst.Module) -> None:
        """Lowers the statements of a body into the current block."""
        statements = self.statements
        line_type = cst.SimpleStatementLine
        nodes: Sequence[cst.CSTNode] = body.body
        for node in nodes:
            if type(node) is line_type:
                for small in node.body:
                    statements[type(small)](self, small)
            else:
                statements[type(node)](self, node)

    def suite_block(self, body: cst.BaseSuite) -> Block:
        """Lowers the statements of a body into a block of their own."""
        outer = self.ops
        inner: list[Op] = []
        self.ops = inner
        self.suite(body)
        self.ops = outer
        return tuple(inner)

    def value_block(self, node: cst.BaseExpression) -> tuple[Block, OpId]:
        """Lowers an expression into a block of its own."""
        outer = self.ops
        inner: list[Op] = []
        self.ops = inner
        value = self.value(node)
        self.ops = outer
        return tuple(inner), value

    def lazy(self, node: cst.BaseExpression) -> OpId:
        """Lowers an expression that is evaluated later."""
        op_id = self.new_id(node)
        block, value = self.value_block(node)
        self.ops.append(Lazy(op_id, block, value))
        return op_id

    # --- names ---

    def mangled(self, name: str) -> str:
        """The name that Python uses for `name` here: private names of a class carry the class's name."""
        if self.class_prefix is None or not name.startswith("__") or name.endswith("__"):
            return name
        return self.class_prefix + name

    def load(self, node: cst.CSTNode, name: str) -> OpId:
        """Reads the variable `name`, which must already be mangled."""
        op_id = self.new_id(node)
        op = LoadName(op_id, name, Scope.GLOBAL)
        self.ops.append(op)
        self.frame.uses.setdefault(name, []).append(op)
        return op_id

    def store(
        self,
        node: cst.CSTNode,
        name: str,
        value: OpId | None,
        annotation: OpId | None = None,
        frame: LoweringFrame | None = None,
        *,
        is_expression: bool = False,
    ) -> OpId:
        """Binds the variable `name` (already mangled) in `frame` (default: the current one)."""
        op_id = self.new_id(node)
        op = StoreName(op_id, name, Scope.GLOBAL, value, annotation, is_expression)
        self.ops.append(op)
        if frame is None:
            frame = self.frame
        frame.bound.add(name)
        frame.uses.setdefault(name, []).append(op)
        return op_id

    def delete(self, node: cst.CSTNode, name: str) -> None:
        """Unbinds the variable `name`, which must already be mangled."""
        op = DeleteName(self.new_id(node), name, Scope.GLOBAL)
        self.ops.append(op)
        self.frame.bound.add(name)
        self.frame.uses.setdefault(name, []).append(op)

    def push_frame(self, kind: FrameKind) -> LoweringFrame:
        """Enters a scope whose variables get fresh names; the caller restores `frame`."""
        self.fresh_count += 1
        frame = LoweringFrame(kind, self, self.frame, self.fresh_count)
        self.frames.append(frame)
        self.frame = frame
        return frame
