"""Creates a variable, layer, metric or optimizer once: in `__init__`, or in the module.

    class Model(tf.Module):                    class Model(tf.Module):
        def __init__(self):                        def __init__(self):
            super().__init__()                         super().__init__()
                                                       self.w = tf.Variable(1.0)
        @tf.function                      ->
        def run(self, x):                          @tf.function
            w = tf.Variable(1.0)                   def run(self, x):
            return x * w                               return x * self.w

Gives: the edits that move one creation whose arguments are known at the new place, too. Rejects creations that need
local variables, or are under a condition.
"""

from __future__ import annotations

import re

import libcst as cst

from terra_refactor.refactor.identifiers import bound_names, occurrences, read_names
from terra_refactor.refactor.places import NodePlace
from terra_refactor.refactor.transforms.context import FileContext, Made, NotMade, Transformed
from terra_refactor.rules.rule import CureHint
from terra_refactor.syntax.edit import Edit


def creation_moved_out(context: FileContext, place: NodePlace, hint: CureHint) -> Transformed:
    """The edits that move a creation to `__init__` (of a method's class) or before the function."""
    function = place.function
    if not isinstance(place.node, cst.Call) or function is None:
        return NotMade("it is not a plain call in a function")
    if any(isinstance(node, cst.Lambda | cst.CompFor | cst.For | cst.While | cst.If) for node in place.outwards()):
        return NotMade("it is in a loop, under a condition, or in a lambda")
    name, removed = _target(place)
    own = bound_names(function.params) | bound_names(function.body)
    needed = read_names(place.node) & own
    owner = place.enclosing[-2]
    if isinstance(owner, cst.ClassDef):
        return _to_init(context, place, function, owner, name, removed, needed)
    if len(place.enclosing) != 2:
        return NotMade("it is in a nested function")
    return _to_module(context, place, function, name, removed, needed)


def _target(place: NodePlace) -> tuple[str, cst.SimpleStatementLine | None]:
    """The name for the created object, and the removed assignment; None if it is created within an expression."""
    line = place.statement
    if isinstance(line, cst.SimpleStatementLine):
        match line.body:
            case [cst.Assign(targets=[cst.AssignTarget(target=cst.Name(name))], value=value)] if value is place.node:
                return name, line
    assert isinstance(place.node, cst.Call)
    called = place.node.func
    last = called.attr.value if isinstance(called, cst.Attribute) else "made"
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", last).lower(), None


def _to_init(
    context: FileContext,
    place: NodePlace,
    function: cst.FunctionDef,
    owner: cst.ClassDef,
    name: str,
    removed: cst.SimpleStatementLine | None,
    needed: frozenset[str],
) -> Transformed:
    module = context.module
    me = function.params.params[0].name.value if function.params.params else ""
    init = next(
        (node for node in owner.body.body if isinstance(node, cst.FunctionDef) and node.name.value == "__init__"), None
    )
    if init is None or not isinstance(init.body, cst.IndentedBlock) or me != init.params.params[0].name.value:
        return NotMade("its class has no `__init__`")
    if needed - {me}:
        return NotMade(f"it needs `{min(needed - {me})}`, which only the method has")
    class_text = module.text[slice(*module.offsets(owner))]
    if re.search(rf"\b{me}\.{name}\b", class_text):
        return NotMade(f"`{me}.{name}` is there already")
    last = init.body.body[-1]
    if isinstance(last, cst.SimpleStatementLine) and isinstance(last.body[-1], cst.Return | cst.Raise):
        return NotMade("`__init__` does not run to its end")
    at = module.line_end(module.offsets(last)[1])
    start = module.offsets(init.body.body[0])[0]
    indent = module.text[module.line_start(start) : start]
    if indent.strip() or set("\r\n").intersection(module.source_of(place.node)):
        return NotMade("it spans several lines, or follows other code")
    added = Edit(at, at, f"{indent}{me}.{name} = {module.source_of(place.node)}{module.newline_at(start)}")
    return _made(context, place, function, name, removed, f"{me}.{name}", added)


def _to_module(
    context: FileContext,
    place: NodePlace,
    function: cst.FunctionDef,
    name: str,
    removed: cst.SimpleStatementLine | None,
    needed: frozenset[str],
) -> Transformed:
    module = context.module
    if needed:
        return NotMade(f"it needs `{min(needed)}`, which only the function has")
    outside = len(occurrences(module.tree, name)) - len(occurrences(function, name))
    if outside or (removed is None and name in context.names.used):
        return NotMade(f"`{name}` means something else in the module")
    if set("\r\n").intersection(module.source_of(place.node)):
        return NotMade("it spans several lines")
    first: cst.CSTNode = function.decorators[0] if function.decorators else function
    at = module.line_start(module.offsets(first)[0])
    indent = module.text[at : module.offsets(first)[0]]
    newline = module.newline_at(at)
    blank = newline * (3 if not indent else 2)
    added = Edit(at, at, f"{indent}{name} = {module.source_of(place.node)}{blank}")
    return _made(context, place, function, name, removed, name, added)


def _made(
    context: FileContext,
    place: NodePlace,
    function: cst.FunctionDef,
    name: str,
    removed: cst.SimpleStatementLine | None,
    written: str,
    added: Edit,
) -> Transformed:
    module = context.module
    assert isinstance(place.node, cst.Call)
    kind = module.source_of(place.node.func)
    assumption = f"the result of `{kind}` is meant to be one object that is kept between calls"
    if removed is None:
        start, end = module.offsets(place.node)
        return Made(tuple(sorted([added, Edit(start, end, written)])), assumptions=(assumption,))
    uses = [
        use for use in occurrences(function.body, name) if not _is_within(module.offsets(use), module.offsets(removed))
    ]
    if any(name in bound_names(statement) for statement in function.body.body if statement is not removed):
        return NotMade(f"`{name}` is also set elsewhere")
    if removed not in function.body.body or len(function.body.body) == 1:
        return NotMade("it is inside another statement, or it is the only statement of the function")
    start, end = module.offsets(removed)
    edits = [added, Edit(module.line_start(start), module.line_end(end), "")]
    if written != name:
        edits.extend(Edit(*module.offsets(use), written) for use in uses)
    return Made(tuple(sorted(edits)), assumptions=(assumption,))


def _is_within(inner: tuple[int, int], outer: tuple[int, int]) -> bool:
    return outer[0] <= inner[0] and inner[1] <= outer[1]
