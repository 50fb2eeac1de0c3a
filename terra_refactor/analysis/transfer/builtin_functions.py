"""Built-in and standard-library functions that call back into the program, or read or change the heap.

Computes: `isinstance`, `zip`, `super`, `getattr`, ...; functions that create functions are in `makers`, methods of containers in
`container_methods`. Needs: class lookup and containers. Gives: `BUILTINS`, by canonical name; a handler returns None to leave a call to
the declarations of `tf_model`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from terra_refactor.analysis.classes import (
    class_of_instance,
    find_method,
    owner_of_attributes,
)
from terra_refactor.analysis.effects import external_effect
from terra_refactor.analysis.engine import Site
from terra_refactor.analysis.facts import BranchKind, ObjectKind
from terra_refactor.analysis.frames import CallArguments, Frame
from terra_refactor.analysis.instances import is_instance
from terra_refactor.analysis.transfer.allocation import COUNTER, new_list, new_set, thaw
from terra_refactor.analysis.transfer.attribute_dicts import set_named
from terra_refactor.analysis.transfer.attributes import attribute_of
from terra_refactor.analysis.transfer.container_methods import CONTAINER_METHODS, BuiltinHandler, argument_at
from terra_refactor.analysis.transfer.deep_copies import copy_deeply
from terra_refactor.analysis.transfer.dispatch import REGISTRATIONS
from terra_refactor.analysis.transfer.iteration import iterate, length_of
from terra_refactor.analysis.transfer.iterators import ITERATOR_FUNCTIONS
from terra_refactor.analysis.transfer.kept_iterators import is_kept_iterator
from terra_refactor.analysis.transfer.loaded_numbers import is_loaded, length_of_loaded
from terra_refactor.analysis.transfer.makers import MAKERS
from terra_refactor.analysis.transfer.mappings import dict_content, new_dict, with_item
from terra_refactor.analysis.transfer.operators import added
from terra_refactor.analysis.transfer.ordering import ORDERING, note_decision, note_truth
from terra_refactor.analysis.transfer.special_methods import run_equality
from terra_refactor.analysis.truth import truth_of
from terra_refactor.domain.dim import Dim
from terra_refactor.domain.effect import Effect, EffectKind, RootKind, Target
from terra_refactor.domain.lattice import join, join_all
from terra_refactor.domain.state import CLASS, DEFAULT_FACTORY, ITEMS
from terra_refactor.domain.value import (
    BOTTOM,
    FALSE,
    INT_OF_DATASET,
    NO_ATTRIBUTE,
    NONE,
    OBJECT_DICT,
    UNBOUND,
    UNKNOWN,
    UNKNOWN_BOOL,
    UNKNOWN_INT,
    BoundMethod,
    Constant,
    DatasetValue,
    FrozenDict,
    FrozenList,
    FunctionValue,
    LibraryValue,
    ModuleValue,
    PartialValue,
    RangeValue,
    Reference,
    SequenceValue,
    SuperValue,
    TensorKind,
    TensorValue,
    TupleValue,
    UnknownValue,
    Value,
    members,
    of_release,
)
from terra_refactor.ir import ops
from terra_refactor.ir.function import FunctionKind
from terra_refactor.ir.ids import OpId
from terra_refactor.tf_model import registry
from terra_refactor.tf_model.data.elements import taken
from terra_refactor.tf_model.interpreted import Interpreted, by_name

# --- questions --------------------------------------------------------------------------------------------------------------------


def _isinstance(site: Site, arguments: CallArguments, receiver: Value | None) -> Value | None:
    if len(arguments.positional) != 2:
        return None
    subject, cls = arguments.positional
    answers = {is_instance(site, member, cls) for member in members(subject) if member != UNBOUND}
    return Constant(answers.pop()) if len(answers) == 1 and None not in answers else UNKNOWN_BOOL


def is_subclass(site: Site, arguments: CallArguments, receiver: Value | None) -> Value | None:
    return UNKNOWN_BOOL


def _len(site: Site, arguments: CallArguments, receiver: Value | None) -> Value | None:
    if not arguments.positional:
        return None
    given = arguments.positional[0]
    return length_of_loaded(site, given) or length_of(site, given)


def callable_(site: Site, arguments: CallArguments, receiver: Value | None) -> Value | None:
    value = argument_at(arguments, 0)
    if isinstance(value, FunctionValue | BoundMethod | PartialValue) and owner_of_attributes(value) is None:
        return Constant(True)
    plain = isinstance(value, Constant | TensorValue | TupleValue)
    return FALSE if plain and value is not None and find_method(site, value, "__call__") is None else UNKNOWN_BOOL


def type_(site: Site, arguments: CallArguments, receiver: Value | None) -> Value | None:
    if len(arguments.positional) != 1:
        return UNKNOWN
    results: list[Value] = []
    for member in members(arguments.positional[0]):
        own = class_of_instance(site.frame, member)
        is_tensor = isinstance(member, TensorValue) and member.kind is TensorKind.TENSOR
        name = registry.EAGER_TENSOR if is_tensor else registry.class_of(member)
        results.append(
            own if own is not None else LibraryValue(name) if name is not None else UnknownValue(may_be_tensor=False)
        )
    return join_all(results)


def any_(site: Site, arguments: CallArguments, receiver: Value | None) -> Value | None:
    return _any_all(site, arguments, decisive=True)


def all_(site: Site, arguments: CallArguments, receiver: Value | None) -> Value | None:
    return _any_all(site, arguments, decisive=False)


def _any_all(site: Site, arguments: CallArguments, *, decisive: bool) -> Value | None:
    """`any` or `all`: the result is that of the first element whose truth is `decisive`."""
    if not arguments.positional:
        return None
    found = iterate(site, arguments.positional[0])
    if found.kind is not BranchKind.TENSOR:
        note_truth(site, *(found.elements if found.elements is not None else (found.element,)))
    if found.elements is None:
        return UNKNOWN_BOOL
    truths = [truth_of(site, element).value for element in found.elements]
    if decisive in truths:
        return Constant(decisive)
    return UNKNOWN_BOOL if None in truths else Constant(not decisive)


def asked_truth(site: Site, arguments: CallArguments, receiver: Value | None) -> Value | None:
    """Records the truth test by `operator.truth` and `operator.not_`; their results are computed elsewhere."""
    note_truth(site, *arguments.positional[:1])
    return None


def asked_membership(site: Site, arguments: CallArguments, receiver: Value | None) -> Value | None:
    """Records the comparisons by `operator.contains(values, value)`."""
    if len(arguments.positional) == 2:
        found = iterate(site, arguments.positional[0])
        if found.element != BOTTOM:
            note_truth(site, arguments.positional[1], *(found.elements or (found.element,)))
            run_equality(site, arguments.positional[1], found.element)
    return None


# --- attributes by name -------------------------------------------------------------------------------------------------------------


def get_attribute(site: Site, arguments: CallArguments, receiver: Value | None) -> Value | None:
    if len(arguments.positional) < 2:
        return None
    target, name = arguments.positional[:2]
    default = argument_at(arguments, 2)
    names = [member.value for member in members(name) if isinstance(member, Constant) and isinstance(member.value, str)]
    if len(names) != len(members(name)):
        return UNKNOWN
    results: list[Value] = []
    for member in members(target):
        for text in names:
            value = attribute_of(site, member, text)
            if default is not None and (
                value == BOTTOM or (isinstance(value, UnknownValue) and value.reason == NO_ATTRIBUTE)
            ):
                value = default
            elif default is not None and _may_be_unset(site.frame, member, text):
                value = join(value, default)
            results.append(value)
    return join_all(results) if results else UNKNOWN


def _may_be_unset(frame: Frame, owner: Value, name: str) -> bool:
    """Whether the attribute is set only on some paths."""
    own = frame.state.get((owner.object, name)) if isinstance(owner, Reference) else None
    return own is not None and UNBOUND in members(own)


def set_attribute_named(site: Site, arguments: CallArguments, receiver: Value | None) -> Value | None:
    if len(arguments.positional) != 3:
        return UNKNOWN
    target, name, value = arguments.positional
    set_named(site, target, name, value, "setattr(...)", _written_name(site))
    return NONE


def _written_name(site: Site) -> OpId | None:
    """The operand with the name in `setattr(target, name, value)` or `__setattr__`; None if something else calls it."""
    match site.operation(site.op):
        case ops.Call(function=function, arguments=(*_, name, value)):
            called = site.operation(function)
            if name.spread is value.spread is ops.Spread.PLAIN and isinstance(called, ops.LoadName | ops.LoadAttribute):
                return name.value if called.name in ("setattr", "__setattr__") else None
    return None


def has_attribute(site: Site, arguments: CallArguments, receiver: Value | None) -> Value | None:
    if len(arguments.positional) != 2:
        return UNKNOWN_BOOL
    target, name = arguments.positional
    if isinstance(target, Reference) and isinstance(name, Constant) and isinstance(name.value, str):
        own = site.frame.state.get((target.object, name.value))
        if own is not None and UNBOUND not in members(own):
            return Constant(True)
    # the attributes of a library depend on its release
    return of_release(UNKNOWN_BOOL) if isinstance(target, LibraryValue) else UNKNOWN_BOOL


def super_(site: Site, arguments: CallArguments, receiver: Value | None) -> Value | None:
    engine, frame = site.engine, site.frame
    if len(arguments.positional) == 2:
        return SuperValue(arguments.positional[0], arguments.positional[1])
    if arguments.positional:
        return UNKNOWN
    code = frame.function
    first = code.parameters[0].name if code.parameters else None
    owner = code
    while owner.kind is not FunctionKind.CLASS_BODY:
        if owner.parent is None:
            return UNKNOWN
        owner = engine.code_of(owner.parent)
    cls = engine.class_with_body(owner.id)
    instance = frame.parameters.get(first) if first is not None else None
    if cls is None or instance is None:
        return UNKNOWN
    return join_all(SuperValue(cls, member) for member in members(instance))


# --- making containers and iterators ------------------------------------------------------------------------------------------------


def make_list(site: Site, arguments: CallArguments, receiver: Value | None) -> Value | None:
    if not arguments.positional:
        return new_list(site, FrozenList(()))
    found = iterate(site, arguments.positional[0])
    content = FrozenList(None, found.element, found.length) if found.elements is None else FrozenList(found.elements)
    return new_list(site, content)


def make_tuple(site: Site, arguments: CallArguments, receiver: Value | None) -> Value | None:
    if not arguments.positional:
        return TupleValue(())
    found = iterate(site, arguments.positional[0])
    return SequenceValue(found.element, length=found.length) if found.elements is None else TupleValue(found.elements)


def make_set(site: Site, arguments: CallArguments, receiver: Value | None) -> Value | None:
    return _new_set_of(site, arguments, "set")


def make_frozenset(site: Site, arguments: CallArguments, receiver: Value | None) -> Value | None:
    return _new_set_of(site, arguments, "frozenset")


def _new_set_of(site: Site, arguments: CallArguments, name: str) -> Value:
    element: Value = BOTTOM
    if arguments.positional:
        element = iterate(site, arguments.positional[0]).element
    return new_set(site, element, name)


def make_dict(site: Site, arguments: CallArguments, receiver: Value | None) -> Value | None:
    if len(arguments.positional) == 1 and not arguments.keywords and is_loaded(arguments.positional[0]):
        return arguments.positional[0]
    return new_dict(site, _dict_from(site, arguments))


def _dict_from(site: Site, arguments: CallArguments) -> FrozenDict:
    """The content of `dict(*arguments)`."""
    content = FrozenDict((), arguments.open_keywords)
    if arguments.positional:
        first = arguments.positional[0]
        if isinstance(first, Reference) and isinstance(site.frame.state.get((first.object, ITEMS)), FrozenDict):
            content = dict_content(site, first)
        else:
            found = iterate(site, first)
            for pair in found.elements if found.elements is not None else (found.element,):
                parts = iterate(site, pair).elements
                if parts is not None and len(parts) == 2:
                    key = parts[0] if found.elements is not None else UNKNOWN
                    content = with_item(content, key, parts[1], single=True)
                elif pair != BOTTOM:
                    content = FrozenDict(content.items, UNKNOWN)
    for name, value in arguments.keywords:
        content = with_item(content, Constant(name), value, single=True)
    return content


def make_deque(site: Site, arguments: CallArguments, receiver: Value | None) -> Value | None:
    # the length is not tracked: with `maxlen`, a new element removes an old one
    given = argument_at(arguments, 0, "iterable")
    element = BOTTOM if given is None or given == NONE else iterate(site, given).element
    return new_list(site, FrozenList(None, element), name="deque")


def make_ordered_dict(site: Site, arguments: CallArguments, receiver: Value | None) -> Value | None:
    return new_dict(site, _dict_from(site, arguments), name="OrderedDict")


def make_default_dict(site: Site, arguments: CallArguments, receiver: Value | None) -> Value | None:
    factory = arguments.positional[0] if arguments.positional else NONE
    rest = CallArguments(arguments.positional[1:], arguments.keywords, None, arguments.open_keywords)
    made = new_dict(site, _dict_from(site, rest), name="defaultdict")
    if factory != NONE and isinstance(made, Reference):
        site.frame.state.set((made.object, DEFAULT_FACTORY), factory)
    return made


def make_counter(site: Site, arguments: CallArguments, receiver: Value | None) -> Value | None:
    counted = arguments.positional or arguments.open_positional is not None
    content = FrozenDict((), UNKNOWN) if counted else _dict_from(site, arguments)
    return new_dict(site, content, name=COUNTER)


def make_range(site: Site, arguments: CallArguments, receiver: Value | None) -> Value | None:
    match arguments.positional:
        case (stop,):
            return RangeValue(Constant(0), stop, Constant(1))
        case (start, stop):
            return RangeValue(start, stop, Constant(1))
        case (start, stop, step):
            return RangeValue(start, stop, step)
        case _:
            return SequenceValue(UNKNOWN_INT, "range")


def zip_(site: Site, arguments: CallArguments, receiver: Value | None) -> Value | None:
    found = [iterate(site, value) for value in arguments.positional]
    if arguments.open_positional is not None:
        return _transposed(arguments) or SequenceValue(SequenceValue(UNKNOWN), "zip")
    if not found:
        return TupleValue(())
    known = [part.elements for part in found]
    if known and all(elements is not None for elements in known):
        rows = zip(*[elements or () for elements in known], strict=False)
        return TupleValue(tuple(TupleValue(tuple(row)) for row in rows))
    lengths = [part.length for part in found]
    if all(isinstance(length, int) for length in lengths):
        shortest: Dim = min(length for length in lengths if isinstance(length, int))
    else:
        shortest = lengths[0] if all(length == lengths[0] for length in lengths) else None
    return SequenceValue(TupleValue(tuple(part.element for part in found)), "zip", shortest)


def _transposed(arguments: CallArguments) -> Value | None:
    """`zip(*rows)` of rows that are tuples of one length: a tuple for each of their members. None for others."""
    row = arguments.open_positional
    if arguments.positional or not isinstance(row, TupleValue):
        return None
    return TupleValue(tuple(SequenceValue(element, length=arguments.open_count) for element in row.elements))


def enumerate_(site: Site, arguments: CallArguments, receiver: Value | None) -> Value | None:
    if not arguments.positional:
        return None
    if isinstance(arguments.positional[0], DatasetValue):
        dataset = arguments.positional[0]
        # AutoGraph converts it to `dataset.enumerate()`, whose numbers are tensors
        number = UNKNOWN_INT if dataset.iterator else INT_OF_DATASET
        return replace(dataset, element=TupleValue((number, dataset.element)), last=None, lead=None)
    found = iterate(site, arguments.positional[0])
    start = argument_at(arguments, 1, "start")
    first = (
        start.value if isinstance(start, Constant) and isinstance(start.value, int) else 0 if start is None else None
    )
    if found.elements is not None and first is not None:
        return TupleValue(tuple(TupleValue((Constant(first + i), value)) for i, value in enumerate(found.elements)))
    return SequenceValue(TupleValue((UNKNOWN_INT, found.element)), "enumerate", found.length)


def map_(site: Site, arguments: CallArguments, receiver: Value | None) -> Value | None:
    if len(arguments.positional) < 2:
        return None
    function, *sources = arguments.positional
    found = [iterate(site, source) for source in sources]
    known = [part.elements for part in found]
    if all(elements is not None and len(elements) <= 8 for elements in known):
        rows = list(zip(*[elements or () for elements in known], strict=False))
        results: list[Value] = []
        for index, arrived in enumerate(rows):
            with site.frame.apart(index):
                results.append(site.call(function, CallArguments(arrived)))
        return TupleValue(tuple(results))
    row = tuple(part.element for part in found)
    if BOTTOM in row:
        return TupleValue(())
    length = found[0].length if len(found) == 1 else None
    return SequenceValue(site.call(function, CallArguments(row)), "map", length)


def filter_(site: Site, arguments: CallArguments, receiver: Value | None) -> Value | None:
    if len(arguments.positional) != 2:
        return None
    function, source = arguments.positional
    element = iterate(site, source).element
    if element != BOTTOM:
        note_decision(site, element if function == NONE else site.call(function, CallArguments((element,))))
    return SequenceValue(element, "filter")


def reversed_(site: Site, arguments: CallArguments, receiver: Value | None) -> Value | None:
    if not arguments.positional:
        return None
    found = iterate(site, arguments.positional[0])
    if found.elements is not None:
        return TupleValue(found.elements[::-1])
    return SequenceValue(found.element, "iterator", found.length)


def iter_(site: Site, arguments: CallArguments, receiver: Value | None) -> Value | None:
    if len(arguments.positional) == 2:
        # `iter(function, sentinel)` calls the function for each element
        return SequenceValue(site.call(arguments.positional[0], CallArguments()), "iterator")
    if len(arguments.positional) != 1:
        return UNKNOWN
    value = arguments.positional[0]
    if isinstance(value, DatasetValue):
        return replace(value, iterator=True, last=None)
    if is_kept_iterator(site, value):
        return value
    if any(isinstance(member, UnknownValue) for member in members(value)):
        return UnknownValue()
    return SequenceValue(iterate(site, value).element, "iterator")


def _asked(site: Site) -> ops.Op | None:
    """The operation whose result is the argument of `next`."""
    call = site.operation(site.op)
    if not isinstance(call, ops.Call) or not call.arguments:
        return None
    return site.operation(call.arguments[0].value)


def _is_local_iterator(frame: Frame, source: ops.Op | None) -> bool:
    """Whether `next` advances an iterator that this call has created."""
    if isinstance(source, ops.LoadName):
        return source.scope is ops.Scope.LOCAL and source.name not in frame.parameters
    return isinstance(source, ops.Call | ops.Comprehension)


def next_(site: Site, arguments: CallArguments, receiver: Value | None) -> Value | None:
    frame = site.frame
    if not arguments.positional:
        return UNKNOWN
    value = arguments.positional[0]
    if isinstance(value, Reference):
        method = find_method(site, value, "__next__")
        if method is not None:
            return site.call(method, CallArguments())
    source = _asked(site)
    if isinstance(value, SequenceValue) and isinstance(source, ops.LoadName | ops.LoadAttribute):
        frame.advanced = True  # a value bound to a name can be advanced again
    if is_kept_iterator(site, value):
        return iterate(site, value).element
    if not isinstance(value, DatasetValue) and not _is_local_iterator(frame, source):
        external_effect(site, EffectKind.ITERATE, "next(...)", assumed=not isinstance(value, SequenceValue))
    if isinstance(value, DatasetValue) and value.lead is not None and _is_fresh(frame, source):
        return thaw(site, taken(value.lead[0]), "element")
    return iterate(site, value).element


def _is_fresh(frame: Frame, source: ops.Op | None) -> bool:
    """Whether `next` is applied to the result of `iter`: `next(iter(dataset))`."""
    return isinstance(source, ops.Call) and set(Interpreted.ITER.names) == frame.call_record(source.id).library.keys()


def sum_(site: Site, arguments: CallArguments, receiver: Value | None) -> Value | None:
    if not arguments.positional:
        return None
    found = iterate(site, arguments.positional[0])
    start = argument_at(arguments, 1, "start") or Constant(0)
    # unknown length: as one element, and as several
    elements = found.elements if found.elements is not None else (found.element, found.element)
    total = start
    several: Value = BOTTOM
    for number, element in enumerate(elements):
        total = added(site, total, element)
        if found.elements is None and number == 0:
            several = total
    return join(several, total)


def reduce_(site: Site, arguments: CallArguments, receiver: Value | None) -> Value | None:
    if len(arguments.positional) < 2:
        return None
    function, source = arguments.positional[:2]
    found = iterate(site, source)
    result = argument_at(arguments, 2)
    if found.elements is not None and len(found.elements) <= 12:
        rest = list(found.elements)
        if result is None:
            result = rest.pop(0) if rest else UNKNOWN
        for index, element in enumerate(rest):
            with site.frame.apart(index):
                result = site.call(function, CallArguments((result, element)))
        return result
    first = join(found.element, result) if result is not None else found.element
    return join(first, site.call(function, CallArguments((first, found.element))))


# --- objects and modules -------------------------------------------------------------------------------------------------------------


def object_init(site: Site, arguments: CallArguments, receiver: Value | None) -> Value | None:
    return NONE


def object_new(site: Site, arguments: CallArguments, receiver: Value | None) -> Value | None:
    cls = argument_at(arguments, 0)
    if not isinstance(cls, Reference):
        return UNKNOWN
    facts = site.engine.objects.facts[cls.object]
    number = site.allocate(ObjectKind.INSTANCE, facts.name, tag=("instance", cls.object))
    site.frame.state.set((number, CLASS), cls)
    return Reference(number)


def object_setattr(site: Site, arguments: CallArguments, receiver: Value | None) -> Value | None:
    if receiver is not None:
        arguments = arguments.with_first(receiver)
    return set_attribute_named(site, arguments, None)


def module_globals(site: Site, arguments: CallArguments, receiver: Value | None) -> Value | None:
    _note_namespace(site, "globals()")
    return PartialValue(OBJECT_DICT, (ModuleValue(site.frame.function.id.module),), ())


def vars_(site: Site, arguments: CallArguments, receiver: Value | None) -> Value | None:
    if not arguments.positional:
        return UnknownValue()
    owner = arguments.positional[0]
    if isinstance(owner, Reference) and site.engine.objects.facts[owner.object].kind is ObjectKind.INSTANCE:
        return attribute_of(site, owner, "__dict__")
    if isinstance(owner, ModuleValue):
        return PartialValue(OBJECT_DICT, (owner,), ())
    _note_namespace(site, "vars(...)")
    return UnknownValue()


def _note_namespace(site: Site, written: str) -> None:
    """Records the read of a namespace as an effect: reads through it are not followed, and other code may change it between two calls."""
    site.frame.add_effect(
        Effect(EffectKind.STATE_READ, Target(RootKind.GLOBAL, written), written, site.place(), assumed=True)
    )


def cast(site: Site, arguments: CallArguments, receiver: Value | None) -> Value | None:
    return arguments.positional[1] if len(arguments.positional) > 1 else UNKNOWN


def import_by_name(site: Site, arguments: CallArguments, receiver: Value | None) -> Value | None:
    engine = site.engine
    name = argument_at(arguments, 0)
    if isinstance(name, Constant) and isinstance(name.value, str):
        if engine.loader.is_module(name.value):
            engine.loader.ensure_run(name.value)
            return ModuleValue(name.value)
        return LibraryValue(registry.canonical_name(name.value))
    return UnknownValue()


BUILTINS: Final[dict[str, BuiltinHandler]] = {
    **CONTAINER_METHODS,
    **MAKERS,
    **REGISTRATIONS,
    **ITERATOR_FUNCTIONS,
    **ORDERING,
    **by_name(
        {
            Interpreted.COPY_DEEPLY: copy_deeply,
            Interpreted.ISINSTANCE: _isinstance,
            Interpreted.ISSUBCLASS: is_subclass,
            Interpreted.LEN: _len,
            Interpreted.CALLABLE: callable_,
            Interpreted.TYPE: type_,
            Interpreted.ANY: any_,
            Interpreted.ALL: all_,
            Interpreted.GETATTR: get_attribute,
            Interpreted.SETATTR: set_attribute_named,
            Interpreted.HASATTR: has_attribute,
            Interpreted.SUPER: super_,
            Interpreted.LIST: make_list,
            Interpreted.TUPLE: make_tuple,
            Interpreted.SET: make_set,
            Interpreted.FROZENSET: make_frozenset,
            Interpreted.DICT: make_dict,
            Interpreted.ORDERED_DICT: make_ordered_dict,
            Interpreted.DEFAULT_DICT: make_default_dict,
            Interpreted.COUNTER: make_counter,
            Interpreted.DEQUE: make_deque,
            Interpreted.RANGE: make_range,
            Interpreted.ZIP: zip_,
            Interpreted.ENUMERATE: enumerate_,
            Interpreted.MAP: map_,
            Interpreted.FILTER: filter_,
            Interpreted.REVERSED: reversed_,
            Interpreted.ITER: iter_,
            Interpreted.NEXT: next_,
            Interpreted.SUM: sum_,
            Interpreted.GLOBALS: module_globals,
            Interpreted.VARS: vars_,
            Interpreted.REDUCE: reduce_,
            Interpreted.TRUTH: asked_truth,
            Interpreted.CONTAINS: asked_membership,
            Interpreted.CAST: cast,
            Interpreted.IMPORT: import_by_name,
            Interpreted.OBJECT_INIT: object_init,
            Interpreted.OBJECT_NEW: object_new,
            Interpreted.OBJECT_SETATTR: object_setattr,
        }
    ),
}
