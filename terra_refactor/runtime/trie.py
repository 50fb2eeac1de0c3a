"""The trace trie: every path a function was seen to take, one node for each deferred call.

Computes: nothing; holds what recording found. Needs: nothing of TensorFlow. Gives: `Call`, `Node`, templates and `fill`.
Ignores: how calls are matched (run.py) and compiled (segments.py).

A template is the arguments of a call with every tensor replaced by a reference: `SlotRef` (made earlier in the same
segment), `InputRef` (came from outside) or `TapeRef`. Everything else in it is a constant of the path.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any


class Kind(enum.Enum):
    """The action for a call that was recorded before."""

    DEFER = "defer"  # it becomes part of a segment
    DESCEND = "descend"  # its Python runs, and the calls inside it are looked at one by one
    IMMEDIATE = "immediate"  # it runs at once, after what is pending


class Arrays(enum.IntEnum):
    """Which NumPy arrays among a call's arguments become inputs of the segment; the others are constants of the path."""

    CONSTANT = 0  # small ones are constants, larger ones keep the call from being deferred
    DATA = 1  # floating arrays are inputs; small integer ones are constants (shapes, axes)
    INPUT = 2  # all are inputs


class ArrayRule(enum.Enum):
    """When turning an array into a tensor first gives what the call would have made of it."""

    SAME_DTYPE = "same dtype"  # only where every tensor among the arguments has the array's dtype
    HINT = "hint"  # operators: the other operand's dtype is the hint
    OWN = "own"  # the array's own dtype


class Role(enum.Enum):
    """The role of a call for the gradient tapes."""

    OPERATION = "operation"
    PUSH = "push"
    POP = "pop"
    WATCH = "watch"
    GRADIENT = "gradient"


@dataclass(frozen=True, slots=True)
class SlotRef:
    index: int


@dataclass(frozen=True, slots=True)
class InputRef:
    index: int


@dataclass(frozen=True, slots=True)
class TapeRef:
    index: int


@dataclass(frozen=True, slots=True)
class Rebuild:
    """A container: `make` is called with the list of its filled items."""

    make: Callable[[list[Any]], Any]
    items: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Hung:
    """A tensor with its Python attributes (Keras leaves the logits on the result of a softmax)."""

    item: Any
    names: tuple[str, ...]
    values: tuple[Any, ...]


@dataclass(eq=False, slots=True)
class Call:
    """Something that can be deferred. Compared by identity: it is the first element of every key.

    Attributes:
        name: for reports.
        original: what the program would have called; run when the call is not deferred but looked into.
        eager: runs it on real tensors. graph: builds it inside a graph.
        arrays, array_rule: what becomes of NumPy arrays among its arguments.
        convert_scalars: Python numbers among its arguments become tensors of the other operand's dtype, so that a
            number that changes at every step can become an input of the segment.
        creation: makes a tensor out of constants alone; running it at once disturbs nothing.
        descend: always looked into (it draws random numbers, prints, …).
        attributes: Keras' own Python, which looks at what hangs on its tensors (`Hung`).
        rehang: hangs on a deferred result what the call itself hangs on it: functions, which no template holds.
        trusted: known not to fail whatever is inside (a library optimizer's update, a gradient).
        at_varying: with Python's brackets (a tensor or variable, an index, and more): the same call where the index varies.
        raw: the name of the operation when this is one operation and not a function of the API.
        owner: a weak reference to the object whose method this is.
    """

    name: str
    original: Callable[..., Any]
    eager: Callable[..., Any]
    graph: Callable[..., Any]
    role: Role = Role.OPERATION
    convert_scalars: bool = False
    arrays: Arrays = Arrays.CONSTANT
    array_rule: ArrayRule = ArrayRule.SAME_DTYPE
    creation: bool = False
    descend: bool = False
    trusted: bool = False
    attributes: bool = False
    rehang: Callable[..., None] | None = None
    at_varying: Call | None = None
    raw: str | None = None
    owner: Callable[[], Any] | None = None
    _with_arrays: Call | None = None

    def with_arrays(self) -> Call:
        """The same call, with every array among its arguments as an input."""
        if self._with_arrays is None:
            self._with_arrays = replace(self, arrays=Arrays.INPUT)
        return self._with_arrays


@dataclass(frozen=True, slots=True)
class SlotSpec:
    """One tensor made by a node: its dtype (tf.DType), its static shape (tf.TensorShape), and its value when the path fixes it."""

    dtype: Any
    shape: Any
    static: Any = None
    # the tensor whose elements it holds (a SlotRef or an InputRef), or an exclusive upper bound on its elements, for guards
    source: Any = None
    bound: int | None = None


@dataclass(frozen=True, slots=True)
class Guard:
    """The elements of input `index` must be in [0, bound): else the call would fail, and is run at its own line."""

    index: int
    bound: int


@dataclass(eq=False, slots=True)
class Node:
    """One deferred call at one place of the trie.

    Attributes:
        first_slot: number of slots made before it in its segment.
        args, kwargs: templates.
        result: template of what the call returns; slots made by this node appear as SlotRef.
        relaxed: what varies here and is an input since a second value came; with the key of the first value until then.
        segments: what was compiled for the path that ends here.
        where: file and line of the program that made the call first.
        owner: the object whose method was called: it lives as long as the path.
        pure: it works on its operands alone: on no variable, and on nothing that hangs on tensors.
        watched_later: a tape that is open here begins to watch, later on, what the nodes before this one worked on.
        operands: the slots that the nodes up to this one work on, once it has been asked for.
        aside: what must run to compute some results, given by their slots, apart from all that is pending here (aside.py).
        divided: where the events of tapes that stay open divide the nodes up to this one, for each set of such tapes (flush.py).
        facts: what the path fixes of the results of the nodes up to this one, once it has been asked for (run.py).
    """

    parent: Node | None = None
    call: Call | None = None
    kind: Kind = Kind.DEFER
    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = field(default_factory=dict)
    result: Any = None
    specs: tuple[SlotSpec, ...] = ()
    single: bool = False
    hangs: bool = False
    has_facts: bool = False
    first_slot: int = 0
    guards: tuple[Guard, ...] = ()
    tape: int = -1
    extra: Any = None
    where: str = ""
    owner: Any = None
    children: dict[Any, Node] = field(default_factory=dict)
    pure: bool = False
    watched_later: bool = False
    operands: tuple[int, ...] | None = None
    aside: dict[tuple[int, ...], Any] = field(default_factory=dict)
    divided: dict[frozenset[int], Any] = field(default_factory=dict)
    facts: tuple[Any, ...] | None = None
    relaxed: dict[Any, Any] = field(default_factory=dict)
    segments: dict[Any, Any] = field(default_factory=dict)
    seen: int = 0
    hits: int = 0

    def forget_special(self, general: Any) -> None:
        """Remove the recording for the first value, which uses the general one from now on; nothing is compiled for it alone."""
        special = self.relaxed.get(general)
        if special is not None:
            self.children.pop(special, None)
            self.relaxed[general] = None


def fill(template: Any, slots: Sequence[Any], inputs: Sequence[Any], tapes: Sequence[Any]) -> Any:
    """The value of a template, given the values of slots, inputs and tapes."""
    kind = type(template)
    if kind is SlotRef:
        return slots[template.index]
    if kind is InputRef:
        return inputs[template.index]
    if kind is Rebuild:
        return template.make([fill(item, slots, inputs, tapes) for item in template.items])
    if kind is TapeRef:
        return tapes[template.index]
    if kind is Hung:
        tensor = fill(template.item, slots, inputs, tapes)
        for name, value in zip(template.names, template.values, strict=True):
            setattr(tensor, name, fill(value, slots, inputs, tapes))
        return tensor
    return template


def references(template: Any) -> list[Any]:
    """The SlotRefs and InputRefs in a template, in order."""
    kind = type(template)
    if kind is SlotRef or kind is InputRef:
        return [template]
    if kind is Rebuild:
        return [reference for item in template.items for reference in references(item)]
    if kind is Hung:
        return [reference for item in (template.item, *template.values) for reference in references(item)]
    return []


def node_references(node: Node) -> list[Any]:
    """The SlotRefs and InputRefs that a node reads."""
    found = [reference for template in node.args for reference in references(template)]
    for template in node.kwargs.values():
        found.extend(references(template))
    return found
