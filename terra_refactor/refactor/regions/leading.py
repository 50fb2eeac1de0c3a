"""Host statements at the beginning of a tape's block, which may run before the tape is opened.

Computes: whether a statement does nothing that a tape records. Needs: a statement, and the names of the module's host modules. Gives:
`runs_before_tape`, `host_modules`. Ignores: whether it has to move.

    with tf.GradientTape() as tape:                     self.critic.training = True
        self.critic.training = True                     noise = np.random.normal(size=(16, 8))
        noise = np.random.normal(size=(16, 8))    ->    loss = self.train_step(x, noise)
        loss = self.critic(x + noise)

A tape records operations of TensorFlow alone, and arrays and numbers have no gradient, so the statement does the same earlier.
"""

from __future__ import annotations

import ast
from typing import Final

_MODULES: Final = frozenset({"math", "numpy", "random", "time"})
"""Modules whose functions give arrays, numbers and times, none of which a tape knows."""
_BUILTINS: Final = frozenset({"bool", "float", "int", "isinstance", "len", "print", "range", "str"})


def host_modules(module: ast.Module) -> frozenset[str]:
    """The names of a module that only imports of these modules bind."""
    found: set[str] = set()
    others: set[str] = set()
    for node in ast.walk(module):
        match node:
            case ast.Import(names=names):
                for alias in names:
                    name = alias.asname or alias.name.partition(".")[0]
                    (found if alias.name in _MODULES else others).add(name)
            case ast.ImportFrom(names=names):
                others.update(alias.asname or alias.name for alias in names)
            case ast.Name(id=name, ctx=ast.Store() | ast.Del()) | ast.arg(arg=name):
                others.add(name)
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                others.add(name)
            case _:
                pass
    return frozenset(found - others) | (_BUILTINS - others)


def runs_before_tape(statement: ast.stmt, host: frozenset[str]) -> bool:
    """Whether a statement at the beginning of a tape's block does the same before it. `host`: names of modules and of built-ins."""
    match statement:
        case ast.Assign(targets=[ast.Name() | ast.Attribute() as target], value=value):
            return _is_path(target) and (_is_path(value) or _is_host(value, host))
        case ast.AugAssign(target=ast.Name() | ast.Attribute() as target, value=ast.Constant(value=int() | float())):
            return _is_path(target)
        case ast.Expr(value=ast.Call() as value):
            return _is_host(value, host)
        case ast.Expr(value=ast.Constant()) | ast.Pass():
            return True
        case _:
            return False


def _is_path(node: ast.expr) -> bool:
    """Whether it is a name, or attributes of one: it is another name for an existing object."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name)


def _is_host(node: ast.expr, host: frozenset[str]) -> bool:
    """Whether it is a number, or made by host modules of anything that exists."""
    match node:
        case ast.Constant():
            return True
        case ast.UnaryOp(operand=operand):
            return _is_host(operand, host)
        case ast.BinOp(left=left, right=right):
            return _is_host(left, host) and _is_host(right, host)
        case ast.Call(func=func, args=args, keywords=keywords):
            return _is_host_function(func, host) and all(
                _calls_nothing_else(each, host) for each in (*args, *(keyword.value for keyword in keywords))
            )
        case _:
            return False


def _is_host_function(func: ast.expr, host: frozenset[str]) -> bool:
    match func:
        case ast.Name(id=name):
            return name in host & _BUILTINS
        case ast.Attribute(value=ast.Call() as inner):
            return _is_host(inner, host)  # a method of an array: `.astype("float32")`
        case ast.Attribute():
            root: ast.expr = func
            while isinstance(root, ast.Attribute):
                root = root.value
            return isinstance(root, ast.Name) and root.id in host - _BUILTINS
        case _:
            return False


def _calls_nothing_else(node: ast.expr, host: frozenset[str]) -> bool:
    """Whether an argument calls functions of host modules only, and is evaluated once."""
    return all(
        _is_host_function(inner.func, host)
        if isinstance(inner, ast.Call)
        else not isinstance(inner, ast.Lambda | ast.NamedExpr | ast.Await | ast.Yield | ast.YieldFrom)
        for inner in ast.walk(node)
    )
