"""Creates a `tf.function` before the loop instead of in it.

    for x in data:                     step = tf.function(square)
        step = tf.function(square)     for x in data:
        total += step(x)          ->       total += step(x)

Gives: the edits that move an assignment or a decorated `def`, or that give a name to a function that is created and
called in one expression. Ignores: changes that the loop makes through calls; that the loop changes nothing that the
function reads is an assumption.
"""

from __future__ import annotations

from itertools import count
from typing import Final, TypeAlias

import libcst as cst

from terra_refactor.refactor.identifiers import bound_names, read_names
from terra_refactor.refactor.places import NodePlace
from terra_refactor.refactor.transforms.context import FileContext, Made, NotMade, Transformed
from terra_refactor.rules.rule import CureHint
from terra_refactor.syntax.edit import Edit

Loop: TypeAlias = cst.For | cst.While

_CONSTANT: Final = "what the function reads besides its arguments does not change while the loop runs"


def hoist_function(context: FileContext, place: NodePlace, hint: CureHint) -> Transformed:
    """The edits that move the creation of a traced function out of the innermost loop."""
    loop = next((node for node in place.outwards() if isinstance(node, cst.For | cst.While)), None)
    if loop is None or not isinstance(loop.body, cst.IndentedBlock):
        return NotMade("the loop is in another function, or on one line")
    parent = place.ancestors[-1]
    if isinstance(place.node, cst.Decorator):
        return _moved_definition(context, place, loop)
    if isinstance(parent, cst.Call) and parent.func is place.node:
        return _named(context, place, loop)
    return _moved_assignment(context, place, loop)


def _moved_assignment(context: FileContext, place: NodePlace, loop: Loop) -> Transformed:
    line = place.statement
    if not isinstance(line, cst.SimpleStatementLine) or line not in loop.body.body:
        return NotMade("it is created under a condition in the loop")
    match line.body:
        case [cst.Assign(targets=[cst.AssignTarget(target=cst.Name(name))], value=value)] if value is place.node:
            pass
        case _:
            return NotMade("its result is not assigned to a single name")
    reason = _why_it_stays(loop, read_names(value), name)
    if reason is not None:
        return NotMade(reason)
    return _move(context, loop, line)


def _moved_definition(context: FileContext, place: NodePlace, loop: Loop) -> Transformed:
    definition = next(node for node in place.outwards() if isinstance(node, cst.FunctionDef))
    if definition not in loop.body.body:
        return NotMade("it is created under a condition in the loop")
    own = bound_names(definition.body) | bound_names(definition.params)
    reason = _why_it_stays(loop, read_names(definition) - own, definition.name.value)
    return NotMade(reason) if reason is not None else _move(context, loop, definition)


def _named(context: FileContext, place: NodePlace, loop: Loop) -> Transformed:
    """`tf.function(f)(x)`: binds the function to a name before the loop."""
    assert isinstance(place.node, cst.Call)
    reason = _why_it_stays(loop, read_names(place.node) - bound_names(place.node), None)
    if reason is not None:
        return NotMade(reason)
    base = "traced"
    if place.node.args and isinstance(place.node.args[0].value, cst.Name):
        base = f"traced_{place.node.args[0].value.value}"
    taken = context.names.used
    name = next(name for number in count(1) if (name := base if number == 1 else f"{base}_{number}") not in taken)
    module = context.module
    start, end = module.offsets(place.node)
    at = module.line_start(module.offsets(loop)[0])
    indent = module.text[at : module.offsets(loop)[0]]
    if indent.strip() or set("\r\n").intersection(module.source_of(place.node)):
        return NotMade("the loop or the call spans several lines, or follows other code")
    added = f"{indent}{name} = {module.source_of(place.node)}{module.newline_at(at)}"
    return Made((Edit(at, at, added), Edit(start, end, name)), assumptions=(_CONSTANT,))


def _why_it_stays(loop: Loop, read: frozenset[str], name: str | None) -> str | None:
    """The reason why the code must stay in the loop; None if it can be moved before it."""
    changed = bound_names(loop)
    if name is not None:
        if len([each for each in _binding_statements(loop, name) if each]) > 1:
            return f"`{name}` is set in the loop more than once"
        changed -= {name}
    depends = sorted(read & changed)
    return f"it depends on `{depends[0]}`, which the loop sets" if depends else None


def _binding_statements(loop: Loop, name: str) -> list[bool]:
    return [name in bound_names(statement) for statement in (loop, *loop.body.body)[1:]]


def _move(context: FileContext, loop: Loop, statement: cst.SimpleStatementLine | cst.FunctionDef) -> Transformed:
    """Moves the lines of a statement before the loop, with the loop's indentation."""
    module = context.module
    if len(loop.body.body) == 1:
        return NotMade("the loop does nothing else")
    first: cst.CSTNode = statement
    if isinstance(statement, cst.FunctionDef) and statement.decorators:
        first = statement.decorators[0]
    start = module.line_start(module.offsets(first)[0])
    end = module.line_end(module.offsets(statement)[1])
    at = module.line_start(module.offsets(loop)[0])
    outer = module.text[at : module.offsets(loop)[0]]
    inner = module.text[start : module.offsets(first)[0]]
    if outer.strip() or inner.strip() or not inner.startswith(outer):
        return NotMade("other code precedes the loop or the statement on its line")
    lines = module.text[start:end].splitlines(keepends=True)
    if any(line.strip() and not line.startswith(inner) for line in lines) or '"""' in module.text[start:end]:
        return NotMade("its lines cannot be indented differently")
    moved = "".join(outer + line[len(inner) :] if line.strip() else line for line in lines)
    if isinstance(statement, cst.FunctionDef):
        moved += module.newline_at(at) * (2 if not outer else 1)
    while end < len(module.text) and not module.text[end : module.line_end(end)].strip():
        end = module.line_end(end)
    before = start
    if isinstance(statement, cst.FunctionDef):
        # the blank line between it and the statement above is removed with it
        while before and not module.text[module.line_start(before - 1) : before].strip():
            before = module.line_start(before - 1)
    return Made((Edit(at, at, moved), Edit(before, end, "")), assumptions=(_CONSTANT,))
