"""Lists that a loop fills: `xs = []`, then `for ...: xs.append(...)`.

Computes: the lists to which each iteration of a loop appends exactly one element. Needs: the IR of the loop and the
state before it. Gives: `lists_filled`, from which the lengths after the loop follow. Ignores: aliased lists, and
lists that the loop uses more than once except to read an element; loops that an iteration may leave early; appends
under a condition.
"""

from __future__ import annotations

from collections import Counter

from terra_refactor.analysis.engine import Site
from terra_refactor.analysis.facts import ObjectKind
from terra_refactor.domain.dim import Dim
from terra_refactor.domain.lattice import list_length, names_object
from terra_refactor.domain.state import ITEMS
from terra_refactor.domain.value import FrozenList, ObjectId, Reference, Value
from terra_refactor.ir import ops
from terra_refactor.ir.function import FunctionKind
from terra_refactor.ir.walk import walk

_LEAVING = (ops.Break, ops.Continue, ops.Return, ops.Raise, ops.Yield, ops.YieldFrom, ops.Await)


def lists_filled(site: Site, loop: ops.For) -> dict[ObjectId, Dim]:
    """The lists that get one element per iteration, with their lengths before the loop."""
    appended = [name for op in loop.body if isinstance(op, ops.Call) and (name := _appended_to(site, op)) is not None]
    if not appended:
        return {}
    mentioned: Counter[str] = Counter()
    code = tuple(walk(loop.body))
    # `xs[-1]`: reading an element does not change the length
    read = {op.object for op in code if isinstance(op, ops.LoadItem)} - {
        op.object for op in code if isinstance(op, ops.StoreItem | ops.DeleteItem)
    }
    for op in code:
        if isinstance(op, _LEAVING):
            return {}
        if op.id in read:
            continue
        if isinstance(op, ops.LoadName | ops.StoreName | ops.DeleteName):
            mentioned[op.name] += 1
    found: dict[ObjectId, Dim] = {}
    for name in appended:
        number = _only_name_of(site, name) if mentioned[name] == 1 else None
        content = None if number is None else site.frame.state.get((number, ITEMS))
        if number is not None and isinstance(content, FrozenList):
            found[number] = list_length(content)
    return found


def _appended_to(site: Site, call: ops.Call) -> str | None:
    """`name` if the call is `name.append(...)` or `name.insert(...)`."""
    method = site.operation(call.function)
    if not isinstance(method, ops.LoadAttribute) or method.name not in ("append", "insert"):
        return None
    owner = site.operation(method.object)
    return owner.name if isinstance(owner, ops.LoadName) else None


def _only_name_of(site: Site, name: str) -> ObjectId | None:
    """The list that a variable holds, if this call created it and it has no alias."""
    engine, frame = site.engine, site.frame
    state = frame.state
    module = engine.loader.object_of(frame.function.id.module)
    value: Value | None = state.locals.get(name)
    is_global = value is None and frame.function.kind is FunctionKind.MODULE
    if is_global:
        value = state.get((module, name))
        if _is_used_by_functions(site, name):
            return None
    if not isinstance(value, Reference) or engine.objects.facts[value.object].kind is not ObjectKind.LIST:
        return None
    number = value.object
    if number not in frame.allocated:
        return None
    if any(names_object(other, number) for local, other in state.locals.items() if local != name):
        return None
    current = state
    while True:
        for key, held in current.heap.items():
            if key[0] != number and key != (module, name) and names_object(held, number):
                return None
        if current.parent is None or (current.reads is not None and frame.function.kind is not FunctionKind.CLASS_BODY):
            # outside of a call nothing refers to the objects that it created (a class body runs in the enclosing
            # call)
            return number
        current = current.parent


def _is_used_by_functions(site: Site, name: str) -> bool:
    """Whether a function of the module, which the loop may call, mentions the global variable."""
    return any(
        isinstance(op, ops.LoadName | ops.StoreName) and op.name == name
        for function in site.engine.program.modules[site.frame.function.id.module].functions
        if function.kind is not FunctionKind.MODULE
        for op in walk(function.body)
    )
