"""Staging of a function by AutoGraph in one context: the branches and loops that become parts of the graph, and the values in them.

Computes: the branches and loops on tensors, including those on the flags of `break`, `continue` and `return`; the definitions that reach
their ends; the value of a definition. Needs: a view. Gives: `Staging`, by `staging_of`. If only a Python condition decides between
definitions, they are alternatives: a trace has one of them, and it is unknown here which one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from terra_refactor.analysis.facts import BranchKind, ObjectKind
from terra_refactor.domain.lattice import join_all
from terra_refactor.domain.value import (
    BOTTOM,
    NONE,
    UNBOUND,
    UNKNOWN,
    Constant,
    FrozenDict,
    FrozenList,
    Reference,
    TupleValue,
    Value,
    as_symbolic,
    members,
)
from terra_refactor.facts.records import (
    Call,
    Container,
    Display,
    Literal,
    NameRead,
    NameWrite,
    Region,
    RegionKind,
    Return,
)
from terra_refactor.facts.view import ContextView
from terra_refactor.ir.control import ControlSite, Flow, FlowNode, NodeId, NodeKind
from terra_refactor.ir.dataflow import (
    UNBOUND_HERE,
    Definition,
    DefinitionKind,
    Definitions,
    carried,
    merged_by,
    reaching,
)
from terra_refactor.ir.ids import OpId

_STAGED: Final = (BranchKind.TENSOR, BranchKind.DATASET)
_NOWHERE: Final = frozenset({UNBOUND_HERE})


class Staging:
    """The staging of one context."""

    def __init__(self, view: ContextView) -> None:
        self._view = view
        static = view.codes.flow(view.context.function)
        self.flow: Flow = static.flow
        self._live = static.live
        self._nested = static.nested
        self._values: dict[tuple[str, Definition], Value] = {}
        own: dict[tuple[int, int], set[str]] = {}
        for node in self.flow.nodes:
            if node.kind is NodeKind.BIND and node.sites:
                own.setdefault(node.sites[-1], set()).add(node.name)
        self._own: Final = own
        """The variables that an arm itself sets, outside of nested branches and loops."""
        self._fresh = {
            site.head: site.bound - carried(site, self._live) - self.flow.captured
            for site in self.flow.sites
            if site.is_loop
        }
        for (number, arm), names in own.items():
            site = self.flow.sites[number]
            if not site.is_loop:
                handed = self._live[site.before] | self._live[site.after] | self.flow.captured
                self._fresh[site.arms[arm]] = frozenset(names) - handed
        self._solved: dict[bool, dict[NodeId, Definitions]] = {}
        """By whether Python's loops run only once."""
        self._eager: dict[NodeId, Definitions] | None = None
        self.staged: frozenset[int] = frozenset(
            number
            for number, site in enumerate(self.flow.sites)
            if (site.is_loop or not site.flags) and self._kind(site) in _STAGED
        )
        """The sites that are parts of the graph."""
        while self.staged:
            flags = frozenset(
                number
                for number, site in enumerate(self.flow.sites)
                if not site.is_loop and site.flags and self._is_merged(site.flags[0], site.before)
            )
            if flags <= self.staged:
                break
            self.staged |= flags
            self._solved.clear()

    def sites(self) -> Iterator[ControlSite]:
        """The branches and loops of the graph, in order."""
        for number in sorted(self.staged):
            site = self.flow.sites[number]
            if site.before in self._reaching():
                yield site

    def missing(self, site: ControlSite) -> Iterator[tuple[str, bool]]:
        """The names that a branch or loop of the graph reads before it sets them; and whether this holds in every trace.

        An iteration, or a side of a branch, is a function of its own: a variable that it sets and does not return is local to it.
        """
        for number, arm in self.flow.nodes[site.before].sites:
            outer = self.flow.sites[number]
            if outer.is_loop and arm:
                continue
            own = self._own.get((number, arm), frozenset[str]())
            local = self._fresh[outer.head if outer.is_loop else outer.arms[arm]] & own if own else own
            for name in self.names(site):
                found = self.definitions(name, site.before)
                if found is not None and UNBOUND_HERE in found and name in local:
                    yield name, len(found) == 1

    def names(self, site: ControlSite) -> list[str]:
        """The variables that a branch merges or a loop carries."""
        return sorted(carried(site, self._live) if site.is_loop else merged_by(site, self._live))

    def read_first(self, site: ControlSite) -> frozenset[str]:
        """The names whose value from before an iteration is read by the iteration or by the loop's test."""
        exposed: set[str] = set()
        bound: dict[NodeId, frozenset[str]] = {}
        number = self.flow.sites.index(site)
        waiting = [(site.head, frozenset[str]())]
        while waiting:
            place, known = waiting.pop()
            if place in bound and bound[place] <= known:
                continue
            bound[place] = known = known & bound[place] if place in bound else known
            node = self.flow.nodes[place]
            if (number, 0) not in node.sites or place not in self._reaching():
                continue
            exposed.update(name for name in node.reads if name not in known)
            if node.kind is NodeKind.BIND:
                known = known | {node.name}
            waiting.extend((following, known) for following in node.next if following != site.head)
        return frozenset(exposed)

    def definitions(self, name: str, place: NodeId, *, first: bool = False) -> frozenset[Definition] | None:
        """The definitions of a name that reach a node (with `first`, in the first iteration of Python's loops); None if
        no trace reaches it.
        """
        found = self._reaching(once=first).get(place)
        return None if found is None else found.get(name, _NOWHERE)

    def definitions_of(self, read: OpId) -> list[Definition]:
        """Reaching definitions of a name where it is read; none for other expressions."""
        fact = self._view.made(read)
        if not isinstance(fact, NameRead):
            return []
        return [each for place in self.flow.by_op.get(read, ()) for each in self.definitions(fact.name, place) or ()]

    def assignments(self, name: str, op: OpId) -> Iterator[NameWrite]:
        """The assignments whose values a read of a name at an operation may see in eager code, in which no branch merges them."""
        if self._eager is None:
            parameters = frozenset(parameter.name for parameter in self._view.function.parameters)
            self._eager = reaching(self.flow, parameters, self._is_reached, lambda *_: True, {}, {}, lambda *_: False)
        for place in self.flow.by_op.get(op) or self._following(op):
            found = self._eager.get(place, {}).get(name, _NOWHERE)
            for each in sorted(found, key=lambda each: each.place):
                write = self.flow.nodes[each.place].op if each.kind is DefinitionKind.STORED else None
                if isinstance(fact := None if write is None else self._view.made(write), NameWrite):
                    yield fact

    def is_live(self, name: str, op: OpId) -> bool:
        """Whether the value that a variable has before a branch or loop may be read in it or later."""
        return any(name in self._live[site.before] for site in self.flow.sites if site.op == op and not site.flags)

    def is_read_after(self, name: str, op: OpId) -> bool:
        """Whether the value that a variable has after a branch, loop or call may be read: here, or by a nested function that is used."""
        readers = {name, *(inner for _, inner, frees in self._nested if name in frees)}
        sites = (site.after for site in self.flow.sites if site.op == op and not site.flags)
        waiting = list(sites) or [
            following for place in self.flow.by_op.get(op, ()) for following in self.flow.nodes[place].next
        ]
        waiting = waiting or list(self._following(op))
        seen: set[NodeId] = set()
        while waiting:
            place = waiting.pop()
            if place in seen:
                continue
            seen.add(place)
            node = self.flow.nodes[place]
            if not readers.isdisjoint(node.reads):
                return True
            if node.name != name:
                waiting.extend(node.next)
        return False

    def _following(self, op: OpId) -> tuple[NodeId, ...]:
        """The nodes of the next operation in the source that is part of the flow; a call is not."""
        later = min((each for each in self.flow.by_op if each > op), default=None)
        return () if later is None else tuple(self.flow.by_op[later])

    def alternatives(self, name: str, place: NodeId, *, first: bool = False) -> list[Value]:
        """The possible values of a name at a node, over all traces; a container only by its kind."""
        found = self.definitions(name, place, first=first) or ()
        ordered = sorted(found, key=lambda each: (each.place, each.kind.value))
        return list(dict.fromkeys(part for each in ordered for part in members(self.value(name, each))))

    def parts(self, name: str, place: NodeId) -> list[Value]:
        """Like `alternatives`, with the sides of a branch of the graph kept apart."""
        found: set[Definition] = set()
        waiting = set(self.definitions(name, place) or ())
        while waiting:
            each = waiting.pop()
            found.add(each)
            if each.kind is DefinitionKind.MERGED and not self.flow.sites[each.place].is_loop:
                for end in self.flow.sites[each.place].ends:
                    waiting |= (self.definitions(name, end) or frozenset()) - found - {UNBOUND_HERE}
        ordered = sorted(found, key=lambda each: (each.place, each.kind.value))
        return list(dict.fromkeys(part for each in ordered for part in members(self.value(name, each))))

    def value(self, name: str, definition: Definition) -> Value:
        """The value of a definition."""
        key = (name, definition)
        known = self._values.get(key)
        if known is None:
            self._values[key] = BOTTOM  # a merge with itself
            known = self._values[key] = self._find_value(name, definition)
        return known

    def under_staged(self, node: FlowNode) -> bool:
        """Whether it is decided only at run time that a node runs."""
        return any(
            number in self.staged and not (self.flow.sites[number].is_loop and arm) for number, arm in node.sites
        )

    def is_surely_read(self, name: str, place: NodeId) -> bool:
        """Whether a variable is read on every path from a node before it is set again: if it has no value, eager code
        fails there, too.
        """
        waiting, seen = [place], {place}
        while waiting:
            node = self.flow.nodes[waiting.pop()]
            if name in node.reads:
                continue
            if node.kind is NodeKind.EXIT or (node.kind is NodeKind.BIND and node.name == name):
                return False
            waiting.extend(following for following in node.next if following not in seen)
            seen.update(node.next)
        return True

    def may_be_left_out(self, number: OpId) -> bool:
        """Whether it is decided only at run time that an operation runs: it is in a branch of the graph, or after a
        `return` in one.
        """
        around = [region.op for region in self._view.enclosing(number)]
        beside = max(
            (op for op in self.flow.by_op if op <= number and around == [each.op for each in self._view.enclosing(op)]),
            default=None,
        )
        return beside is not None and any(
            self.under_staged(self.flow.nodes[place]) for place in self.flow.by_op[beside]
        )

    def loops_left(self) -> Iterator[tuple[ControlSite, str]]:
        """The Python loops that a tensor condition may leave, each with the flag that it sets."""
        for number, site in enumerate(self.flow.sites):
            if site.is_loop and number not in self.staged:
                for flag in site.flags:
                    if self._is_merged(flag, site.ends[0]):
                        yield site, flag

    def setters(self, loop: ControlSite, flag: str) -> Iterator[ControlSite]:
        """The branches of the graph inside a loop that set a flag; first those that set it directly."""
        number = self.flow.sites.index(loop)
        for inner in self.sites():
            if not inner.is_loop and flag in inner.bound and (number, 0) in self.flow.nodes[inner.before].sites:
                yield inner

    def _kind(self, site: ControlSite) -> BranchKind | None:
        region = self._view.code.regions[site.op]
        return None if region.is_assert else self._view.kind_of(region)

    def _is_merged(self, flag: str, place: NodeId) -> bool:
        found = self.definitions(flag, place) or ()
        return any(each.kind is DefinitionKind.MERGED for each in found)

    def _reaching(self, *, once: bool = False) -> dict[NodeId, Definitions]:
        known = self._solved.get(once)
        if known is None:
            known = self._solved[once] = self._solve(once=once)
        return known

    def _solve(self, *, once: bool) -> dict[NodeId, Definitions]:
        view = self._view
        return reaching(
            self.flow,
            frozenset(parameter.name for parameter in view.function.parameters),
            self._is_reached,
            self._is_feasible,
            {number: frozenset(self.names(self.flow.sites[number])) for number in self.staged},
            self._fresh,
            lambda name, each: each.kind is not DefinitionKind.MERGED and self.value(name, each) in (NONE, UNBOUND),
            once=once,
        )

    def _is_reached(self, node: FlowNode) -> bool:
        fact = None if node.op is None else self._view.made(node.op)
        if isinstance(fact, NameWrite | Return) and fact.value is not None:
            return self._view.context.values[fact.value] is not None
        return True

    def _is_feasible(self, number: int, arm: int, found: Definitions) -> bool:
        site = self.flow.sites[number]
        if number in self.staged:
            return True
        if site.is_loop:
            fact, loop = self._view.branches.get(site.op), self._view.code.regions[site.op]
            if loop.kind is RegionKind.WHILE and isinstance(self._view.made(loop.subject or 0), Literal):
                return arm == 0
            return fact is not None and fact.taken[arm]
        if not site.flags:
            fact = self._view.branches.get(site.op)
            return fact is not None and fact.taken[arm]
        set_ = {
            None if each.kind is not DefinitionKind.STORED else self.flow.nodes[each.place].flag
            for each in found.get(site.flags[0], ())
        }
        return set_ != {arm == 0}

    def _find_value(self, name: str, definition: Definition) -> Value:
        match definition.kind:
            case DefinitionKind.UNBOUND:
                return UNBOUND
            case DefinitionKind.PARAMETER:
                return _content(self._view, self._view.context.parameters.get(name, UNKNOWN))
            case DefinitionKind.STORED:
                node = self.flow.nodes[definition.place]
                match None if node.op is None else self._view.made(node.op):
                    case Return(value=returned) if node.flag is None:
                        return NONE if returned is None else displayed(self._view, returned)
                    case NameWrite(value=stored):
                        return _content(self._view, self._view.value(stored))
                    case _:
                        return Constant(bool(node.flag))
            case _:
                site = self.flow.sites[definition.place]
                places = (site.before, site.ends[0]) if site.is_loop else site.ends
                parts = [part for place in places for part in self.alternatives(name, place)]
                return join_all(as_symbolic(part) for part in parts if part not in (UNBOUND, NONE))


def displayed(view: ContextView, number: OpId) -> Value:
    """The result of an operation; for a display its content, which nothing else can have changed at that point, and for other lists and
    dicts their kind.
    """
    match view.made(number):
        case Display(kind=Container.DICT, is_comprehension=False, items=items):
            keys = [NONE if item.key is None else view.value(item.key) for item in items]
            if all(isinstance(key, Constant) and key != NONE for key in keys):
                return FrozenDict(
                    tuple((key, displayed(view, item.value)) for key, item in zip(keys, items, strict=True))
                )
        case Display(kind=Container.LIST, is_comprehension=False, items=items):
            if not any(item.starred for item in items):
                return FrozenList(tuple(displayed(view, item.value) for item in items))
        case _:
            pass
    return _content(view, view.value(number))


def _content(view: ContextView, value: Value) -> Value:
    return join_all(_opened(view, part) for part in members(value))


def _opened(view: ContextView, value: Value) -> Value:
    """A list or dict with unknown content, also as an element of a tuple."""
    if isinstance(value, TupleValue):
        parts = tuple(_content(view, part) for part in value.elements)
        return value if parts == value.elements else replace(value, elements=parts)
    if isinstance(value, Reference):
        match view.facts.objects[value.object].kind:
            case ObjectKind.LIST:
                return FrozenList(None, UNKNOWN)
            case ObjectKind.DICT:
                return FrozenDict((), UNKNOWN)
            case _:
                pass
    return value


def has_stages(view: ContextView) -> bool:
    """Whether some branch or loop is part of the graph. Tested first, because the flow of a long function is expensive."""
    return any(fact.kind in _STAGED for fact in view.branches.values())


def is_made_within(view: ContextView, number: OpId, region: Region) -> bool:
    """Whether an object was certainly created in the same run of a region, so that nothing before the region refers to it."""
    made = [
        view.facts.objects[member.object] if isinstance(member, Reference) else None
        for member in members(view.value(number))
    ]
    own = [each for each in made if each is not None and each.function == view.context.function and each.op is not None]
    if any(each.op is not None and not region.holds(each.op) for each in own):
        return False
    if made and len(own) == len(made):
        return True
    # the argument of a call: the variable is bound by a call inside the region, on every path to here
    staging = staging_of(view)
    stored = [
        staging.flow.nodes[each.place].op if each.kind is DefinitionKind.STORED else None
        for each in staging.definitions_of(number)
    ]
    return bool(stored) and all(op is not None and region.holds(op) and _brings_a_call(view, op) for op in stored)


def _brings_a_call(view: ContextView, write: OpId) -> bool:
    fact = view.made(write)
    return isinstance(fact, NameWrite) and isinstance(view.made(fact.value), Call)


def staging_of(view: ContextView) -> Staging:
    """The staging of a view. Computed on first use."""
    known = view.staging
    if not isinstance(known, Staging):
        known = view.staging = Staging(view)
    return known
