"""Feeds of TensorFlow 1: `sess.run(fetches, feed_dict)`, `tensor.eval(feed_dict)`, `operation.run(feed_dict)`.

Computes: whether the values fit the fed tensors. Needs: dicts whose keys are tensors (`mappings`). Gives:
`check_feeds`, which records a failure if one certainly does not.

Ignores: the class of the object, since sessions come from many sources (a supervisor, a test case, a parameter), and
no other method takes a dict with tensors as keys; dtypes, because NumPy converts the values.
"""

from __future__ import annotations

from terra_refactor.analysis.engine import Engine, Site
from terra_refactor.analysis.frames import CallArguments, Frame
from terra_refactor.analysis.freezing import freeze
from terra_refactor.analysis.library_rules import over_combinations
from terra_refactor.domain.shape import Shape
from terra_refactor.domain.value import UNBOUND, UNKNOWN, FrozenDict, TensorKind, TensorValue, Value, members
from terra_refactor.ir import ops
from terra_refactor.tf_model.arguments import converted_type
from terra_refactor.tf_model.shape_rules.feeding import check_feed

_POSITIONS = {"run": (0, 1), "eval": (0,), "partial_run": (1, 2)}
"""Positions of the feeds among each method's arguments, if not passed by keyword: the first of these that is a dict
with tensors as keys.
"""


def check_feeds(site: Site, arguments: CallArguments) -> None:
    """Records a failure if a call feeds a tensor a value that certainly does not fit it."""
    feeds = _feeds(site, arguments)
    if feeds is None:
        return
    for key, value in feeds.items:
        if not isinstance(key, TensorValue):
            continue
        declared, name = key.type.shape, _name_of(site.engine, key)

        def check(member: Value, declared: Shape = declared, name: str = name) -> Value:
            check_feed(declared, converted_type(member, numpy=True).shape, name)
            return UNKNOWN

        alternatives = [member for member in members(value) if member != UNBOUND]
        over_combinations(site, "feed_dict", alternatives, check)


def _feeds(site: Site, arguments: CallArguments) -> FrozenDict | None:
    frame = site.frame
    given = dict(arguments.keywords).get("feed_dict")
    if given is not None:
        return _under_tensors(frame, given)
    called = site.operation(site.op)
    function = site.operation(called.function) if isinstance(called, ops.Call) else None
    if not isinstance(function, ops.LoadAttribute):
        return None
    for position in _POSITIONS.get(function.name, ()):
        if position < len(arguments.positional):
            found = _under_tensors(frame, arguments.positional[position])
            if found is not None:
                return found
    return None


def _under_tensors(frame: Frame, value: Value) -> FrozenDict | None:
    """The content of a dict that has tensors as keys; None for anything else."""
    found = freeze(frame, value)
    if isinstance(found, FrozenDict) and any(isinstance(key, TensorValue) for key, _ in found.items):
        return found
    return None


def _name_of(engine: Engine, key: TensorValue) -> str:
    """The placeholder's name in a message: the line where it is created."""
    facts = engine.objects.facts[key.variable] if key.variable is not None else None
    if facts is None or facts.function is None or facts.op is None:
        return "a tensor"
    what = "variable" if key.kind is TensorKind.VARIABLE else "placeholder"
    return f"the {what} of line {engine.line_of(facts.function, facts.op)}"
