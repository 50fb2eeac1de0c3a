"""Classes and instances: method resolution order, attribute lookup along it, binding.

Computes: the values of `instance.name` and `Class.name`, by Python's rules, over classes of the program and of
libraries. Needs: the heap (a class is an object whose fields are its attributes) and the registry. Gives: lookups
used by attributes and calls.

Approximates: an instance that represents any subclass (`Interpreter.open_instances`) also has the methods that subclasses override.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Mapping
from itertools import islice

from terra_refactor.analysis.engine import Site
from terra_refactor.analysis.frames import Frame
from terra_refactor.domain.lattice import filter_members, join, join_all
from terra_refactor.domain.state import BASES, CLASS
from terra_refactor.domain.value import (
    BOTTOM,
    OBJECT_DICT,
    UNBOUND,
    BoundMethod,
    Constant,
    EnumMember,
    FrozenDict,
    FunctionValue,
    LibraryValue,
    ModuleValue,
    PartialValue,
    Reference,
    TupleValue,
    UnionValue,
    UnknownValue,
    Value,
    members,
)
from terra_refactor.tf_model import registry
from terra_refactor.tf_model.class_names import CACHED_PROPERTY, CLASS_METHOD, OBJECT, PROPERTY, STATIC_METHOD
from terra_refactor.tf_model.library_members import library_member

FIELDS = "__dataclass_fields__"
"""Field of a class object that is a dataclass or typed named tuple: the names of its fields, as a tuple of constants."""
ANNOTATIONS = "__annotations__"
"""Field of a class object: its annotated names and their annotations, as the content of a dict."""


def annotated_names(annotations: Mapping[str, Value]) -> Value:
    """The form in which a class object keeps its annotated names."""
    return FrozenDict(tuple((Constant(name), annotation) for name, annotation in annotations.items()))


def annotations_of(frame: Frame, cls: Reference) -> dict[str, Value]:
    """The annotated names of a class of the program, in order."""
    kept = frame.state.get((cls.object, ANNOTATIONS))
    if not isinstance(kept, FrozenDict):
        return {}
    return {str(key.value): annotation for key, annotation in kept.items if isinstance(key, Constant)}


def class_of_instance(frame: Frame, value: Value) -> Value | None:
    """The class of an object of the program; None for any other value."""
    if isinstance(value, Constant) and isinstance(value.value, EnumMember):
        return Reference(value.value.cls)
    if not isinstance(value, Reference):
        return None
    return frame.state.get((value.object, CLASS))


def bases_of(frame: Frame, cls: Value) -> tuple[Value, ...]:
    """A class's direct bases."""
    if isinstance(cls, Reference):
        bases = frame.state.get((cls.object, BASES))
        if isinstance(bases, TupleValue):
            return bases.elements
    return ()


def resolution_order(frame: Frame, cls: Value) -> tuple[Value, ...]:
    """The method resolution order (C3), in which library classes represent themselves and their bases. Depth first if C3 has no
    solution."""
    settled = frame.state.settled
    if not isinstance(cls, Reference):
        return (cls,)
    if cls.object in settled.objects:
        known = settled.orders.get(cls.object)
        frame.root.note_fixed((cls.object, BASES))
        if known is None:
            known = settled.orders[cls.object] = _linearize(frame, cls, {})
        return known
    earlier = settled.latest_orders.get(cls.object)
    if earlier is not None and all(bases_of(frame, each) == bases for each, bases in earlier[1]):
        return earlier[0]
    orders: dict[Value, tuple[Value, ...]] = {}
    order = _linearize(frame, cls, orders)
    settled.latest_orders[cls.object] = order, tuple((each, bases_of(frame, each)) for each in orders)
    return order


def _linearize(frame: Frame, cls: Value, known: dict[Value, tuple[Value, ...]]) -> tuple[Value, ...]:
    """Linearizes a class (C3). Each of its bases is linearized once, even if it is reached on several paths or is cyclic."""
    found = known.get(cls)
    if found is None:
        known[cls] = (cls,)  # for a class that is its own base
        found = known[cls] = _linearized(frame, cls, known)
    return found


def _linearized(frame: Frame, cls: Value, known: dict[Value, tuple[Value, ...]]) -> tuple[Value, ...]:
    bases = bases_of(frame, cls)
    if len(bases) == 1 and bases[0] != cls:
        return (
            cls,
            *_linearize(frame, bases[0], known),
        )  # long chains of classes are common, and need no merge
    parts = [deque(_linearize(frame, base, known)) for base in bases if base != cls]
    parts = [part for part in (*parts, deque(bases)) if part]
    # the number of lists in which a class is not the first
    behind = Counter(each for part in parts for each in islice(part, 1, None))
    order: dict[Value, None] = {cls: None}
    while parts:
        head = next((part[0] for part in parts if not behind[part[0]]), parts[0][0])
        order[head] = None
        for part in parts:
            if behind[head] and head in part:
                # C3 has no solution: the class is removed from all lists
                behind.subtract(islice(part, 1, None))
                left = [each for each in part if each != head]
                part.clear()
                part.extend(left)
                behind.update(islice(part, 1, None))
            elif part[0] == head:
                part.popleft()
                if part:
                    behind[part[0]] -= 1
        parts = [part for part in parts if part]
    return tuple(order)


def find_in_class(frame: Frame, cls: Value, name: str, *, after: Value | None = None) -> tuple[Value, Value] | None:
    """The attribute `name` of a class and the class that defines it; the search starts after `after` (for `super()`)."""
    order = resolution_order(frame, cls)
    if after is not None:
        order = order[order.index(after) + 1 :] if after in order else ()
    for candidate in order:
        match candidate:
            case Reference():
                value = frame.state.get((candidate.object, name))
                if value is not None:
                    value = filter_members(value, lambda member: member != UNBOUND)
                    if value != BOTTOM:
                        return value, candidate
            case LibraryValue():
                if registry.attribute(candidate.name, name) is not None:
                    return library_member(candidate.name, name), candidate
                if registry.lookup(candidate.name) is None and candidate != OBJECT:
                    return UnknownValue(reason=f"{candidate.name} is not known"), candidate
            case PartialValue():
                # a generic base such as `Generic[T]` or `Sequence[int]`
                continue
            case _:
                return UnknownValue(), candidate
    return None


def bind(site: Site, attribute: Value, receiver: Value, cls: Value) -> Value:
    """The result of looking up a class attribute on an instance: functions become methods, properties are marked by the caller."""
    if isinstance(attribute, UnionValue):
        return join_all(bind(site, member, receiver, cls) for member in attribute.members)
    if isinstance(attribute, FunctionValue):
        return BoundMethod(attribute, receiver)
    if isinstance(attribute, LibraryValue):
        binding = registry.binding(attribute.name)
        if binding is registry.MethodBinding.INSTANCE:
            return BoundMethod(attribute, receiver)
        if binding is registry.MethodBinding.CLASS:
            return BoundMethod(attribute, cls)
        return attribute
    if isinstance(attribute, PartialValue):
        if attribute.function == STATIC_METHOD:
            return attribute.arguments[0]
        if attribute.function == CLASS_METHOD:
            return BoundMethod(attribute.arguments[0], cls)
    return attribute


def owner_of_attributes(value: Value | None) -> Reference | ModuleValue | None:
    """The instance or module whose `__dict__` the value is; None for other values."""
    if isinstance(value, PartialValue) and value.function == OBJECT_DICT:
        owner = value.arguments[0]
        return owner if isinstance(owner, Reference | ModuleValue) else None
    return None


def is_property(attribute: Value) -> bool:
    """Whether reading the attribute on an instance runs a function of the program."""
    return isinstance(attribute, PartialValue) and attribute.function in (PROPERTY, CACHED_PROPERTY)


def overriding(site: Site, receiver: Reference, cls: Value, name: str) -> tuple[Value, ...]:
    """Attributes of that name in subclasses, if the object may be an instance of one."""
    engine = site.engine
    if receiver.object not in engine.open_instances or not isinstance(cls, Reference):
        return ()
    found: list[Value] = []
    pending = list(engine.subclasses_of(cls.object))
    seen: set[int] = set()
    while pending and len(found) < 6:
        number = pending.pop(0)
        if number in seen:
            continue
        seen.add(number)
        pending.extend(engine.subclasses_of(number))
        value = site.frame.state.get((number, name))
        if value is not None and value not in found:
            found.append(value)
    return tuple(found)


def find_method(site: Site, receiver: Value, name: str) -> Value | None:
    """The bound special method `name` of an instance (looked up in its class only); None if it certainly has none."""
    frame = site.frame
    cls = class_of_instance(frame, receiver)
    if cls is None:
        return None
    result: Value | None = None
    for candidate in members(cls):
        found = find_in_class(frame, candidate, name)
        if found is None:
            continue
        bound = bind(site, found[0], receiver, candidate)
        result = bound if result is None else join(result, bound)
    return result


def class_name(frame: Frame, instance: Value) -> str | None:
    """The canonical name of an instance's library class; None if the program defines the class."""
    cls = class_of_instance(frame, instance)
    return cls.name if isinstance(cls, LibraryValue) else None


def is_library_function(value: Value) -> bool:
    """Whether calling the value runs no code of the program."""
    return isinstance(value, LibraryValue) or (
        isinstance(value, BoundMethod) and isinstance(value.function, LibraryValue)
    )


def definitely_subclass(frame: Frame, cls: Value, base: Value) -> bool | None:
    """Whether `cls` is `base` or derives from it; None if unknown."""
    unsure = False
    for candidate in resolution_order(frame, cls):
        if candidate == base:
            return True
        if isinstance(candidate, LibraryValue):
            if isinstance(base, LibraryValue):
                if registry.is_library_subclass(candidate.name, base.name):
                    return True
                if registry.lookup(candidate.name) is None:
                    unsure = True
        elif isinstance(candidate, UnknownValue):
            unsure = True
    return None if unsure else False
