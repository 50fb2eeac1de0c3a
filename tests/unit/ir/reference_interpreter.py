"""Runs the IR on real Python objects.

Computes: the behaviour of a lowered module. Needs: a `ModuleIR` without `async`. Gives: `run_module`, for comparison
with Python on the same text: if both do the same, in the same order, the lowering preserves the program's meaning.
Every step is a generator, so that `yield` in the interpreted program is a `yield` here.
"""

from __future__ import annotations

import builtins
import inspect
import operator
import sys
import types
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from terra_refactor.ir import ops as ir
from terra_refactor.ir.function import Function, FunctionKind, ParameterKind
from terra_refactor.ir.ids import OpId
from terra_refactor.ir.program import ModuleIR

BINARY: Mapping[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "**": operator.pow,
    "@": operator.matmul,
    "<<": operator.lshift,
    ">>": operator.rshift,
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
}
IN_PLACE: Mapping[str, Callable[[Any, Any], Any]] = {
    "+": operator.iadd,
    "-": operator.isub,
    "*": operator.imul,
    "/": operator.itruediv,
    "//": operator.ifloordiv,
    "%": operator.imod,
    "**": operator.ipow,
    "@": operator.imatmul,
    "<<": operator.ilshift,
    ">>": operator.irshift,
    "&": operator.iand,
    "|": operator.ior,
    "^": operator.ixor,
}
COMPARE: Mapping[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
    "is": operator.is_,
    "is not": operator.is_not,
    "in": lambda left, right: left in right,
    "not in": lambda left, right: left not in right,
}
UNARY: Mapping[str, Callable[[Any], Any]] = {
    "-": operator.neg,
    "+": operator.pos,
    "~": operator.invert,
    "not": operator.not_,
}
PARAMETER_KINDS = {
    ParameterKind.POSITIONAL_ONLY: inspect.Parameter.POSITIONAL_ONLY,
    ParameterKind.POSITIONAL: inspect.Parameter.POSITIONAL_OR_KEYWORD,
    ParameterKind.VAR_POSITIONAL: inspect.Parameter.VAR_POSITIONAL,
    ParameterKind.KEYWORD_ONLY: inspect.Parameter.KEYWORD_ONLY,
    ParameterKind.VAR_KEYWORD: inspect.Parameter.VAR_KEYWORD,
}
SELF_MATCHING = (bool, bytearray, bytes, dict, float, frozenset, int, list, set, str, tuple)

Signal = tuple[str, Any]
Run = Generator[Any, Any, "Signal | None"]


@dataclass
class Collected:
    """The element that `CollectElement` passes to its comprehension."""

    value: Any
    key: Any = None


@dataclass
class Activation:
    function: Function
    variables: dict[str, Any]
    """Local variables; the class namespace in a class body."""
    cells: dict[str, dict[str, Any]]
    """Captured variables, own and free ones; each is in a dict of its own, empty while unbound."""
    temporaries: dict[OpId, Any] = field(default_factory=dict)
    first_argument: Any = None
    exceptions: list[BaseException] = field(default_factory=list)


def run_module(module: ModuleIR, names: Mapping[str, Any]) -> dict[str, Any]:
    """Runs the module's body with `names` as initial globals; returns the final globals."""
    interpreter = Interpreter(module, dict(names))
    activation = Activation(module.body, {}, {name: {} for name in module.body.cells})
    finish(interpreter.block(module.body.body, activation))
    return interpreter.globals


def finish(run: Run) -> Signal | None:
    try:
        step = next(run)
    except StopIteration as stop:
        return stop.value  # type: ignore[no-any-return]
    raise AssertionError(f"yielded {step!r} where nothing is to be yielded")


class Interpreter:
    def __init__(self, module: ModuleIR, names: dict[str, Any]) -> None:
        self.module = module
        self.globals = names

    # --- blocks ---

    def block(self, block: ir.Block, act: Activation, item: Any = None) -> Run:
        for op in block:
            if isinstance(op, ir.NextItem):
                act.temporaries[op.id] = item
                continue
            signal = yield from self.statement(op, act)
            if signal is not None:
                return signal
        return None

    def value_of(self, block: ir.Block, value: OpId, act: Activation) -> Generator[Any, Any, Any]:
        signal = yield from self.block(block, act)
        assert signal is None
        return act.temporaries[value]

    def statement(self, op: ir.Op, act: Activation) -> Run:
        t = act.temporaries
        match op:
            case ir.If():
                return (yield from self.block(op.then_block if t[op.test] else op.else_block, act))
            case ir.While():
                while (yield from self.value_of(op.test_block, op.test, act)):
                    signal = yield from self.block(op.body, act)
                    if signal is not None and signal[0] != "continue":
                        return signal if signal[0] == "return" else None
                return (yield from self.block(op.else_block, act))
            case ir.For():
                for item in t[op.iterable]:
                    signal = yield from self.block(op.body, act, item)
                    if signal is not None and signal[0] != "continue":
                        return signal if signal[0] == "return" else None
                return (yield from self.block(op.else_block, act))
            case ir.With():
                return (yield from self.run_with(op, act))
            case ir.Try():
                return (yield from self.run_try(op, act))
            case ir.Return():
                return "return", None if op.value is None else t[op.value]
            case ir.Break():
                return "break", None
            case ir.Continue():
                return "continue", None
            case ir.Raise():
                if op.exception is None:
                    if not act.exceptions:
                        raise RuntimeError("No active exception to reraise")
                    raise act.exceptions[-1]
                if op.cause is None:
                    raise t[op.exception]
                raise t[op.exception] from t[op.cause]
            case ir.CollectElement():
                yield Collected(t[op.value], None if op.key is None else t[op.key])
            case _:
                t[op.id] = yield from self.value(op, act)
        return None

    def run_with(self, op: ir.With, act: Activation) -> Run:
        manager = act.temporaries[op.manager]
        leave = type(manager).__exit__
        entered = type(manager).__enter__(manager)
        try:
            signal = yield from self.block(op.body, act, entered)
        except BaseException as error:
            if not leave(manager, type(error), error, error.__traceback__):
                raise
            return None
        leave(manager, None, None, None)
        return signal

    def run_try(self, op: ir.Try, act: Activation) -> Run:
        try:
            try:
                signal = yield from self.block(op.body, act)
            except BaseException as error:
                for handler in op.handlers:
                    assert not handler.is_group, "exception groups are not interpreted"
                    if handler.type is not None:
                        kinds = yield from self.value_of(handler.type_block, handler.type, act)
                        if not isinstance(error, kinds):
                            continue
                    act.exceptions.append(error)
                    try:
                        signal = yield from self.run_handler(handler.body, act, error)
                    finally:
                        act.exceptions.pop()
                    break
                else:
                    raise
            else:
                if signal is None:
                    signal = yield from self.block(op.else_block, act)
        except BaseException:
            final = yield from self.block(op.final_block, act)
            if final is not None:
                return final
            raise
        final = yield from self.block(op.final_block, act)
        return final if final is not None else signal

    def run_handler(self, body: ir.Block, act: Activation, error: BaseException) -> Run:
        bound = body[1] if len(body) > 1 else None
        if not (isinstance(bound, ir.StoreName) and bound.value == body[0].id):
            return (yield from self.block(body, act, error))
        # The name is unbound however the handler ends, and it may be unbound already.
        assert isinstance(body[-1], ir.DeleteName)
        try:
            return (yield from self.block(body[:-1], act, error))
        finally:
            self.space(bound.name, bound.scope, act).pop(bound.name, None)

    # --- values ---

    def value(self, op: ir.Op, act: Activation) -> Generator[Any, Any, Any]:
        t = act.temporaries
        match op:
            case ir.Literal():
                return op.value
            case ir.FormatString():
                return "".join(part if isinstance(part, str) else self.format(part, t) for part in op.parts)
            case ir.BuildContainer():
                values = [
                    value
                    for element in op.elements
                    for value in (t[element.value] if element.starred else (t[element.value],))
                ]
                return {"tuple": tuple, "list": list, "set": set}[op.kind.value](values)
            case ir.BuildDict():
                made: dict[Any, Any] = {}
                for entry in op.items:
                    if entry.key is None:
                        made.update(t[entry.value])
                    else:
                        made[t[entry.key]] = t[entry.value]
                return made
            case ir.BuildSlice():
                return slice(*(None if part is None else t[part] for part in (op.lower, op.upper, op.step)))
            case ir.LoadName():
                return self.load(op.name, op.scope, act)
            case ir.StoreName():
                if op.value is not None:
                    self.space(op.name, op.scope, act)[op.name] = t[op.value]
            case ir.DeleteName():
                space = self.space(op.name, op.scope, act)
                if op.name not in space:
                    raise self.unbound(op.name, op.scope)
                del space[op.name]
            case ir.LoadAttribute():
                return getattr(t[op.object], op.name)
            case ir.StoreAttribute():
                if op.value is not None:
                    setattr(t[op.object], op.name, t[op.value])
            case ir.DeleteAttribute():
                delattr(t[op.object], op.name)
            case ir.LoadItem():
                return t[op.object][t[op.index]]
            case ir.StoreItem():
                t[op.object][t[op.index]] = t[op.value]
            case ir.DeleteItem():
                del t[op.object][t[op.index]]
            case ir.UnpackElement():
                return self.unpack(op, t)
            case ir.Unary():
                return UNARY[op.operator](t[op.operand])
            case ir.Binary():
                return (IN_PLACE if op.in_place else BINARY)[op.operator](t[op.left], t[op.right])
            case ir.Compare():
                return COMPARE[op.operator](t[op.left], t[op.right])
            case ir.ShortCircuit():
                left = t[op.left]
                if bool(left) is (op.operator == "or"):
                    return left
                return (yield from self.value_of(op.block, op.value, act))
            case ir.IfExpression():
                if t[op.test]:
                    return (yield from self.value_of(op.then_block, op.then_value, act))
                return (yield from self.value_of(op.else_block, op.else_value, act))
            case ir.Lazy():
                return None
            case ir.Call():
                return self.call(op, act)
            case ir.MakeFunction():
                return self.make_function(op, act)
            case ir.MakeClass():
                return self.make_class(op, act)
            case ir.Import():
                whole = __import__(op.module)
                return sys.modules[op.module] if op.whole else whole
            case ir.ImportFrom():
                assert op.level == 0
                return getattr(__import__(op.module, fromlist=[op.name]), op.name)
            case ir.Comprehension():
                return self.comprehend(op, act)
            case ir.Yield():
                return (yield None if op.value is None else t[op.value])
            case ir.YieldFrom():
                return (yield from t[op.value])
            case ir.PatternTest():
                return self.test_pattern(op, t)
            case ir.PatternAttribute():
                names = getattr(t[op.cls], "__match_args__", None)
                if names is None and t[op.cls] in SELF_MATCHING:
                    return t[op.subject]
                return getattr(t[op.subject], names[op.position])
            case _:
                raise AssertionError(f"not interpreted: {op}")
        return None

    def format(self, part: ir.FormatField, t: dict[OpId, Any]) -> str:
        value = t[part.value]
        if part.conversion is not None:
            value = {"r": repr, "s": str, "a": ascii}[part.conversion](value)
        return format(value, "" if part.spec is None else t[part.spec])

    def unpack(self, op: ir.UnpackElement, t: dict[OpId, Any]) -> Any:
        # An iterator can be unpacked only once: the operation of the first target does it for all, and keeps the
        # source with the parts.
        kept = -1 - op.source
        source = t[op.source]
        if op.position == 0:
            values = list(source)
            after = 0 if op.star is None else op.total - op.star - 1
            if len(values) < op.total - (op.star is not None) or (op.star is None and len(values) > op.total):
                raise ValueError("wrong number of values to unpack")
            if op.star is not None:
                end = len(values) - after
                values[op.star : end] = [values[op.star : end]]
            t[kept] = (source, op.total, op.star, values)
        elif kept not in t or t[kept][0] is not source or t[kept][1:3] != (op.total, op.star):
            # Only `match` skips the first element, and its subject is a sequence.
            if op.star is None or op.position < op.star:
                return source[op.position]
            if op.position == op.star:
                return list(source[op.star : len(source) - (op.total - op.star - 1)])
            return source[op.position - op.total]
        return t[kept][3][op.position]

    def test_pattern(self, op: ir.PatternTest, t: dict[OpId, Any]) -> bool:
        subject = t[op.subject]
        match op.kind:
            case ir.PatternKind.SEQUENCE:
                if not isinstance(subject, Sequence) or isinstance(subject, str | bytes | bytearray):
                    return False
                return len(subject) >= op.length if op.at_least else len(subject) == op.length
            case ir.PatternKind.MAPPING:
                return isinstance(subject, Mapping) and all(t[key] in subject for key in op.operands)
            case ir.PatternKind.CLASS:
                return isinstance(subject, t[op.operands[0]]) and all(hasattr(subject, name) for name in op.attributes)

    # --- variables ---

    def space(self, name: str, scope: ir.Scope, act: Activation) -> dict[str, Any]:
        match scope:
            case ir.Scope.GLOBAL:
                return self.globals
            case ir.Scope.CELL | ir.Scope.FREE:
                return act.cells[name]
            case ir.Scope.LOCAL | ir.Scope.CLASS:
                return act.variables

    def load(self, name: str, scope: ir.Scope, act: Activation) -> Any:
        if scope is ir.Scope.BUILTIN:
            return getattr(builtins, name)
        space = self.space(name, scope, act)
        if name in space:
            return space[name]
        if scope in {ir.Scope.GLOBAL, ir.Scope.CLASS}:
            if name in self.globals:
                return self.globals[name]
            if hasattr(builtins, name):
                return getattr(builtins, name)
        raise self.unbound(name, scope)

    def unbound(self, name: str, scope: ir.Scope) -> NameError:
        return UnboundLocalError(name) if scope in {ir.Scope.LOCAL, ir.Scope.CELL} else NameError(name)

    # --- calls and definitions ---

    def call(self, op: ir.Call, act: Activation) -> Any:
        t = act.temporaries
        function = t[op.function]
        if function is super and not op.arguments:
            return super(act.cells["__class__"]["__class__"], act.first_argument)
        positional: list[Any] = []
        keywords: dict[str, Any] = {}
        for argument in op.arguments:
            value = t[argument.value]
            if argument.spread is ir.Spread.STAR:
                positional.extend(value)
            elif argument.spread is ir.Spread.DOUBLE_STAR:
                keywords.update(value)
            elif argument.keyword is not None:
                keywords[argument.keyword] = value
            else:
                positional.append(value)
        return function(*positional, **keywords)

    def make_function(self, op: ir.MakeFunction, act: Activation) -> Any:
        function = self.module.by_index[op.function.index]
        defaults = {name: act.temporaries[value] for name, value in op.defaults}
        signature = inspect.Signature(
            [
                inspect.Parameter(
                    parameter.name,
                    PARAMETER_KINDS[parameter.kind],
                    default=defaults.get(parameter.name, inspect.Parameter.empty),
                )
                for parameter in function.parameters
            ]
        )
        captured = {name: act.cells[name] for name in function.frees}

        def enter(*args: Any, **kwargs: Any) -> Run:
            bound = signature.bind(*args, **kwargs)
            bound.apply_defaults()
            cells: dict[str, dict[str, Any]] = {**captured, **{name: {} for name in function.cells}}
            inner = Activation(function, {}, cells)
            for name, value in bound.arguments.items():
                (cells[name] if name in function.cells else inner.variables)[name] = value
            inner.first_argument = args[0] if args else None
            return self.block(function.body, inner)

        def call(*args: Any, **kwargs: Any) -> Any:
            run = enter(*args, **kwargs)
            if function.is_generator:
                return generate(run)
            signal = finish(run)
            return None if signal is None else signal[1]

        call.__name__, call.__qualname__ = function.name, function.qualname
        return call

    def make_class(self, op: ir.MakeClass, act: Activation) -> type:
        function = self.module.by_index[op.body.index]
        assert function.kind is FunctionKind.CLASS_BODY
        t = act.temporaries
        bases = [value for base in op.bases for value in (t[base.value] if base.starred else (t[base.value],))]
        keywords: dict[str, Any] = {}
        for name, value in op.keywords:
            keywords.update(t[value] if name == "**" else {name: t[value]})
        cells: dict[str, dict[str, Any]] = {name: act.cells[name] for name in function.frees if name in act.cells}
        cells.update({name: {} for name in function.cells})

        def fill(namespace: dict[str, Any]) -> None:
            finish(self.block(function.body, Activation(function, namespace, cells)))

        made = types.new_class(op.name, tuple(bases), keywords, fill)
        if "__class__" in function.cells:
            cells["__class__"]["__class__"] = made
        return made

    def comprehend(self, op: ir.Comprehension, act: Activation) -> Any:
        collected = self.collect(op, iter(act.temporaries[op.iterable]), act)
        match op.kind:
            case ir.ComprehensionKind.LIST:
                return [entry.value for entry in collected]
            case ir.ComprehensionKind.SET:
                return {entry.value for entry in collected}
            case ir.ComprehensionKind.DICT:
                return {entry.key: entry.value for entry in collected}
            case ir.ComprehensionKind.GENERATOR:
                return (entry.value for entry in collected)

    def collect(self, op: ir.Comprehension, items: Iterator[Any], act: Activation) -> Iterator[Collected]:
        for item in items:
            signal = yield from self.block(op.body, act, item)
            assert signal is None


def generate(run: Run) -> Generator[Any, Any, Any]:
    signal = yield from run
    return None if signal is None else signal[1]
