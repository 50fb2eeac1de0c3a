"""The trace trie: every recorded path of a function, one node for each deferred call.

Computes: nothing; holds the recordings. Needs: nothing of TensorFlow. Gives: `Call`, `Node`, templates and `fill`.
Ignores: how calls are matched (run.py) and compiled (segments.py).

A template is the arguments of a call with every tensor replaced by a reference: `SlotRef` (computed earlier in the
same segment), `InputRef` (from outside) or `TapeRef`. Everything else in it is a constant of the path.
"""

from __future__ import annotations

import enum
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any


class Kind(enum.Enum):
    """The handling of a call that was recorded before."""

    DEFER = "defer"  # it becomes part of a segment
    DESCEND = "descend"  # its Python runs, and the calls inside it are handled one by one
    IMMEDIATE = "immediate"  # it runs immediately, after all pending operations


class Arrays(enum.IntEnum):
    """Which NumPy arrays among a call's arguments become inputs of the segment; the others are constants of the path."""

    CONSTANT = 0  # small ones are constants, larger ones prevent the call from being deferred
    DATA = 1  # floating-point arrays are inputs; small integer ones are constants (shapes, axes)
    INPUT = 2  # all are inputs


class ArrayRule(enum.Enum):
    """The condition under which converting an array to a tensor first is equivalent to the call's own conversion."""

    SAME_DTYPE = "same dtype"  # only if every tensor argument has the array's dtype
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
    """A tensor with its Python attributes (Keras stores the logits on the result of a softmax)."""

    item: Any
    names: tuple[str, ...]
    values: tuple[Any, ...]


@dataclass(eq=False, slots=True)
class Call:
    """A deferrable call. Compared by identity: it is the first element of every key.

    Attributes:
        name: for reports.
        original: the function that the program would have called; run if the call is decomposed instead of
            deferred.
        eager: runs it on real tensors. graph: builds it inside a graph.
        arrays, array_rule: the handling of NumPy arrays among its arguments.
        convert_scalars: Python numbers among its arguments become tensors of the other operand's dtype, so that a
            number that changes at every step can become an input of the segment.
        creation: creates a tensor only from constants; running it immediately has no other effect.
        descend: always decomposed (it draws random numbers, prints, …).
        attributes: Keras's own Python, which reads the attributes of its tensors (`Hung`).
        rehang: sets the call's own attributes on a deferred result: functions, which templates cannot hold.
        trusted: known not to fail, whatever it runs (a library optimizer's update, a gradient).
        at_varying: with Python's brackets (a tensor or variable, an index, and more): the same call where the index
            varies.
        raw: the name of the operation if this is a single operation and not a function of the API.
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
        """The same call, with every array argument as an input."""
        if self._with_arrays is None:
            self._with_arrays = replace(self, arrays=Arrays.INPUT)
        return self._with_arrays


@dataclass(frozen=True, slots=True)
class SlotSpec:
    """One tensor computed by a node: its dtype (tf.DType), its static shape (tf.TensorShape), and its value if the path
    fixes it.
    """

    dtype: Any
    shape: Any
    static: Any = None
    # the tensor whose elements it contains (a SlotRef or an InputRef), or an exclusive upper bound on its elements,
    # for guards
    source: Any = None
    bound: int | None = None


@dataclass(frozen=True, slots=True)
class Guard:
    """The elements of input `index` must be in [0, bound): otherwise the call would fail, and is run at its own line."""

    index: int
    bound: int


@dataclass(eq=False, slots=True)
class Lost:
    """Objects with a call of their own that a program creates for each call of the function. `newest`: references to
    the newest ones, by identity.
    """

    count: int = 0
    newest: dict[int, Callable[[], Any]] = field(default_factory=dict)


FRESH = 2
"""Number of objects lost at a place after which a call of another one is decomposed: no path with it is taken again."""
MOST_NEWEST = 16


@dataclass(eq=False, slots=True)
class Node:
    """One deferred call at one place of the trie.

    Attributes:
        first_slot: number of slots created before it in its segment.
        args, kwargs: templates.
        result: template of the call's result; slots created by this node appear as SlotRef.
        relaxed: the values that vary here and are inputs since a second value occurred; before that, the key of the
            first value.
        segments: the segments compiled for the path that ends here.
        where: file and line of the program that first made the call.
        owner: the object whose method was called, from the second time on: it lives as long as the path.
        expected: before that, a weak reference to it.
        lost: for each type, objects that died before the call here came a second time.
        pure: it depends only on its operands: on no variable, and on no attributes of tensors.
        watched_later: a tape that is open here later begins to watch operands of the nodes before this one.
        operands: the slots used by the nodes up to this one, computed on request.
        aside: the nodes that must run to compute some results, given by their slots, separately from the other
            pending nodes (aside.py).
        divided: where events of tapes that stay open divide the nodes up to this one, for each set of such tapes
            (flush.py).
        facts: the facts that the path fixes about results of the nodes up to this one, computed on request
            (run.py).
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
    expected: Any = None
    lost: dict[type, Lost] | None = None
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

    def expect(self, key: Any) -> None:
        """Forgets this node, a child of its parent, if the object of its call dies before the call comes again."""
        parent = self.parent
        assert parent is not None and self.call is not None
        if self.call.owner is None:
            return
        owner = self.call.owner()
        kind = type(owner)

        def lose(reference: Any) -> None:
            parent.children.pop(key, None)
            if parent.lost is None:
                parent.lost = {}
            parent.lost.setdefault(kind, Lost()).count += 1

        self.expected = weakref.ref(owner, lose)

    def keep_owner(self) -> None:
        """Keeps the object alive whose call came again."""
        self.owner, self.expected = self.expected(), None

    def is_fresh(self, owner: Any) -> bool:
        """Whether the program creates an object like `owner`, which has no path here, for each call."""
        if self.lost is None:
            return False
        lost = self.lost.get(type(owner))
        if lost is None or lost.count < FRESH:
            return False
        newest = lost.newest
        known = newest.get(id(owner))
        if known is not None and known() is owner:
            del self.lost[type(owner)]  # this one stays: it gets a path
            return False
        newest[id(owner)] = weakref.ref(owner)
        if len(newest) > MOST_NEWEST:
            del newest[next(iter(newest))]
        return True

    def forget_special(self, general: Any) -> None:
        """Removes the recording for the first value, which uses the general one from now on; nothing is compiled only for it."""
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
