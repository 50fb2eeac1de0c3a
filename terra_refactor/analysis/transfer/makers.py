"""Built-in and library functions that create functions, descriptors and record classes, or change their arguments.

Computes: `functools.partial`, `property`, `tf.function`, `dataclass`, `namedtuple`, ... Needs: containers. Gives: `MAKERS`, by
canonical name.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from terra_refactor.analysis.classes import (
    ANNOTATIONS,
    FIELDS,
    annotated_names,
    annotations_of,
)
from terra_refactor.analysis.engine import Site
from terra_refactor.analysis.facts import ObjectKind
from terra_refactor.analysis.frames import CallArguments, Frame
from terra_refactor.analysis.transfer.allocation import new_list
from terra_refactor.analysis.transfer.container_methods import BuiltinHandler, argument_at
from terra_refactor.analysis.transfer.iteration import iterate
from terra_refactor.analysis.transfer.mappings import new_dict
from terra_refactor.domain.lattice import join_all, list_element, without_unbound
from terra_refactor.domain.state import BASES, ITEMS
from terra_refactor.domain.value import (
    BOTTOM,
    NONE,
    UNKNOWN,
    BoundMethod,
    Constant,
    FrozenDict,
    FrozenList,
    FunctionValue,
    LibraryValue,
    PartialValue,
    Reference,
    TupleValue,
    UnionValue,
    Value,
    members,
)
from terra_refactor.tf_model.class_names import CACHED_PROPERTY, CLASS_METHOD, NAMED_TUPLE, PROPERTY, STATIC_METHOD
from terra_refactor.tf_model.interpreted import Interpreted, by_name

MAX_DEPTH_OF_STRUCTURES: Final = 6

# --- functions of functions -----------------------------------------------------------------------------------------------------------


def partial(site: Site, arguments: CallArguments, receiver: Value | None) -> Value | None:
    if not arguments.positional:
        return UNKNOWN
    function, *rest = arguments.positional
    return PartialValue(function, tuple(rest), arguments.keywords)


METHOD_CALLER: Final = LibraryValue(Interpreted.CALL_METHOD.name_of_function)
ATTRIBUTE_GETTER: Final = LibraryValue(Interpreted.GET_ATTRIBUTES.name_of_function)


def _operator(kind: LibraryValue) -> BuiltinHandler:
    """`operator.methodcaller(name, ...)` and similar functions: a function of an object, called with the given arguments."""

    def handler(site: Site, arguments: CallArguments, receiver: Value | None) -> Value | None:
        known = bool(arguments.positional) and arguments.open_positional is None and arguments.open_keywords is None
        return PartialValue(kind, arguments.positional, arguments.keywords) if known else UNKNOWN

    return handler


def _names(value: Value) -> list[str] | None:
    names = [member.value if isinstance(member, Constant) else None for member in members(value)]
    texts = [name for name in names if isinstance(name, str)]
    return texts if texts and len(texts) == len(names) else None


def call_method(site: Site, arguments: CallArguments, receiver: Value | None) -> Value | None:
    """`operator.methodcaller(name, *rest)(object)`: an unresolved call if the name is unknown."""
    if len(arguments.positional) < 2:
        return UNKNOWN
    name, *rest, target = arguments.positional
    names = _names(name)
    if names is None:
        return site.call(UNKNOWN, CallArguments((target, *rest), arguments.keywords))
    given = CallArguments(tuple(rest), arguments.keywords)
    return join_all(site.call(site.attribute(member, each), given) for member in members(target) for each in names)


def get_attributes(site: Site, arguments: CallArguments, receiver: Value | None) -> Value | None:
    """`operator.attrgetter("a", "b.c")(object)`."""
    *given, target = arguments.positional
    results: list[Value] = []
    for each in given:
        names = _names(each)
        if names is None:
            return UNKNOWN
        found: list[Value] = []
        for name in names:
            value = target
            for part in name.split("."):
                value = join_all(site.attribute(member, part) for member in members(value))
            found.append(value)
        results.append(join_all(found))
    return results[0] if len(results) == 1 else TupleValue(tuple(results))


def wraps(site: Site, arguments: CallArguments, receiver: Value | None) -> Value | None:
    return LibraryValue(Interpreted.WRAPPED.name_of_function)


def unchanged(site: Site, arguments: CallArguments, receiver: Value | None) -> Value | None:
    return arguments.positional[0] if arguments.positional else UNKNOWN


def make_property(site: Site, arguments: CallArguments, receiver: Value | None) -> Value | None:
    keywords = dict(arguments.keywords)
    getter = argument_at(arguments, 0, "fget")
    setter = argument_at(arguments, 1, "fset")
    rest = () if setter is None or setter == NONE else (("fset", setter),)
    return PartialValue(PROPERTY, (getter if getter is not None else keywords.get("fget", UNKNOWN),), rest)


def property_setter(site: Site, arguments: CallArguments, receiver: Value | None) -> Value | None:
    if len(arguments.positional) == 2 and isinstance(arguments.positional[0], PartialValue):
        known, setter = arguments.positional[0], arguments.positional[1]
        return PartialValue(known.function, known.arguments, (("fset", setter),))
    return unchanged(site, arguments, receiver)


def property_deleter(site: Site, arguments: CallArguments, receiver: Value | None) -> Value | None:
    return unchanged(site, arguments, receiver)


def _descriptor(kind: LibraryValue) -> BuiltinHandler:
    def handler(site: Site, arguments: CallArguments, receiver: Value | None) -> Value | None:
        return PartialValue(kind, arguments.positional[:1], ()) if arguments.positional else UNKNOWN

    return handler


def tf_function(site: Site, arguments: CallArguments, receiver: Value | None) -> Value | None:
    """`tf.function(f, ...)`: the same function, hybrid; without `f` a decorator."""
    engine = site.engine
    function = argument_at(arguments, 0, "func")
    options = tuple((name, value) for name, value in arguments.keywords if name != "func")
    if function is None or function == NONE:
        return PartialValue(LibraryValue(Interpreted.TF_FUNCTION.name_of_function), (), options)
    positional = dict(zip(("func", "input_signature", "autograph", "jit_compile"), arguments.positional, strict=False))
    options = (*((name, value) for name, value in positional.items() if name != "func"), *options)
    results: list[Value] = []
    for member in members(function):
        match member:
            case FunctionValue():
                hybrid = FunctionValue(
                    member.function, member.closure, member.defaults, member.annotations, options, member.wrappers
                )
                engine.note_wrapped(hybrid)
                results.append(hybrid)
            case BoundMethod(FunctionValue() as inner, owner):
                hybrid = FunctionValue(
                    inner.function, inner.closure, inner.defaults, inner.annotations, options, inner.wrappers
                )
                engine.note_wrapped(hybrid)
                results.append(BoundMethod(hybrid, owner))
            case _:
                results.append(member)
    return join_all(results)


def _map_structure(site: Site, arguments: CallArguments, receiver: Value | None) -> Value | None:
    """`tf.nest.map_structure(f, structure, ...)`: `f` on the leaves; the result has the structure of the first."""
    engine, frame = site.engine, site.frame
    if len(arguments.positional) < 2:
        return None
    function, *structures = arguments.positional

    def walk(parts: tuple[Value, ...], depth: int, tag: object) -> Value:
        first = parts[0]
        if any(part == BOTTOM for part in parts):
            return BOTTOM
        contents = [_structure_of(frame, member) for part in parts for member in members(part)]
        if all(content is None for content in contents):
            return site.call(function, CallArguments(parts))
        if len(parts) == 1 and isinstance(first, UnionValue):
            engine.one_of_several += 1  # a failure with one structure is not definite: another may exclude it
            try:
                return join_all(walk((member,), depth, (tag, "or", i)) for i, member in enumerate(first.members))
            finally:
                engine.one_of_several -= 1
        rows = _rows(contents) if len(contents) == len(parts) and depth < MAX_DEPTH_OF_STRUCTURES else None
        if rows is None:
            return UNKNOWN
        results: dict[Value | None, Value] = {}
        for index, (key, row) in enumerate(rows.items()):
            with frame.apart(index):
                results[key] = walk(row, depth + 1, (tag, key))
        match contents[0]:
            case TupleValue() as whole:
                return replace(whole, elements=tuple(results.values()))
            case FrozenList(None):
                return new_list(site, FrozenList(None, results[None]), tag)
            case FrozenList():
                return new_list(site, FrozenList(tuple(results.values())), tag)
            case _:
                rest = results.pop(None, None)
                items = tuple((key, value) for key, value in results.items() if key is not None)
                return new_dict(site, FrozenDict(items, rest), tag)

    return walk(tuple(structures), 0, "structure")


def _structure_of(frame: Frame, value: Value) -> TupleValue | FrozenList | FrozenDict | None:
    """The structures that `tf.nest` flattens: a tuple itself, or the content of a list or dict; None for a leaf."""
    content = frame.state.get((value.object, ITEMS)) if isinstance(value, Reference) else value
    return content if isinstance(content, TupleValue | FrozenList | FrozenDict) else None


def _rows(
    contents: Sequence[TupleValue | FrozenList | FrozenDict | None],
) -> dict[Value | None, tuple[Value, ...]] | None:
    """The corresponding parts of structures, by position; None if they are not known to have the same positions.

    The position None stands for all others: all elements of a list of unknown length, the unknown keys of a dict.
    """
    sized = not any(isinstance(content, FrozenList) and content.elements is None for content in contents)
    columns: list[dict[Value | None, Value]] = []
    for content in contents:
        match content:
            case TupleValue(elements):
                columns.append({Constant(i): element for i, element in enumerate(elements)})
            case FrozenList(tuple() as elements) if sized:
                columns.append({Constant(i): element for i, element in enumerate(elements)})
            case FrozenList():
                columns.append({None: list_element(content)})
            case FrozenDict(items, rest):
                column: dict[Value | None, Value] = {key: without_unbound(value) for key, value in items}
                columns.append(column if rest is None else {**column, None: rest})
            case None:
                return None
    kinds = {type(content) for content in contents}
    if len(kinds) > 1 or any(column.keys() != columns[0].keys() for column in columns):
        return None
    return {key: tuple(column[key] for column in columns) for key in columns[0]}


# --- classes of records -----------------------------------------------------------------------------------------------------------------


def dataclass(site: Site, arguments: CallArguments, receiver: Value | None) -> Value | None:
    frame = site.frame
    if not arguments.positional:
        return LibraryValue(Interpreted.DATACLASS.name_of_function)
    for member in members(arguments.positional[0]):
        if isinstance(member, Reference):
            names = annotations_of(frame, member)
            frame.state.set((member.object, FIELDS), TupleValue(tuple(Constant(name) for name in names)))
    return arguments.positional[0]


def dataclass_field(site: Site, arguments: CallArguments, receiver: Value | None) -> Value | None:
    return PartialValue(LibraryValue(Interpreted.DATACLASS_FIELD.name_of_function), (), arguments.keywords)


def replaced_record(site: Site, arguments: CallArguments, receiver: Value | None) -> Value | None:
    """`record._replace(field=value)`."""
    if not isinstance(receiver, TupleValue):
        return UNKNOWN
    changed = dict(arguments.keywords)
    elements = tuple(changed.get(field, old) for field, old in zip(receiver.fields, receiver.elements, strict=True))
    return TupleValue(elements, receiver.name, receiver.fields, receiver.cls)


def typed_named_tuple(site: Site, arguments: CallArguments, receiver: Value | None) -> Value | None:
    """`typing.NamedTuple(name, [(field, type), ...])`."""
    name, fields = argument_at(arguments, 0, "typename"), argument_at(arguments, 1, "fields")
    if fields is None or not isinstance(name, Constant) or not isinstance(name.value, str):
        return UNKNOWN
    names: list[str] = []
    for pair in iterate(site, fields).elements or ():
        parts = iterate(site, pair).elements
        if parts is None or not parts or not isinstance(parts[0], Constant) or not isinstance(parts[0].value, str):
            return UNKNOWN
        names.append(parts[0].value)
    return _record_class(site, name.value, names) if names else UNKNOWN


def _record_class(site: Site, name: str, fields: list[str]) -> Reference:
    frame = site.frame
    number = site.allocate(ObjectKind.CLASS, name)
    frame.state.set((number, BASES), TupleValue((NAMED_TUPLE,)))
    frame.state.set((number, ANNOTATIONS), annotated_names(dict.fromkeys(fields, UNKNOWN)))
    return Reference(number)


def named_tuple(site: Site, arguments: CallArguments, receiver: Value | None) -> Value | None:
    name, fields = argument_at(arguments, 0, "typename"), argument_at(arguments, 1, "field_names")
    if fields is None or not isinstance(name, Constant) or not isinstance(name.value, str):
        return UNKNOWN
    names: list[str] | None = None
    if isinstance(fields, Constant) and isinstance(fields.value, str):
        names = fields.value.replace(",", " ").split()
    else:
        found = iterate(site, fields)
        if found.elements is not None and all(isinstance(element, Constant) for element in found.elements):
            names = [str(element.value) for element in found.elements if isinstance(element, Constant)]
    if names is None:
        return UNKNOWN
    made = _record_class(site, name.value, names)
    defaults = dict(arguments.keywords).get("defaults")
    if defaults is not None:
        found = iterate(site, defaults)
        if found.elements is not None and found.elements:
            for field, value in zip(names[-len(found.elements) :], found.elements, strict=False):
                site.frame.state.set((made.object, field), value)
    return made


MAKERS: Final[dict[str, BuiltinHandler]] = by_name(
    {
        Interpreted.PROPERTY: make_property,
        Interpreted.PROPERTY_SETTER: property_setter,
        Interpreted.PROPERTY_OTHER: property_deleter,
        Interpreted.STATIC_METHOD: _descriptor(STATIC_METHOD),
        Interpreted.CLASS_METHOD: _descriptor(CLASS_METHOD),
        Interpreted.CACHED_PROPERTY: _descriptor(CACHED_PROPERTY),
        Interpreted.PARTIAL: partial,
        Interpreted.WRAPS: wraps,
        Interpreted.WRAPPED: unchanged,
        Interpreted.UNCHANGED: unchanged,
        Interpreted.METHOD_CALLER: _operator(METHOD_CALLER),
        Interpreted.CALL_METHOD: call_method,
        Interpreted.ATTRIBUTE_GETTER: _operator(ATTRIBUTE_GETTER),
        Interpreted.GET_ATTRIBUTES: get_attributes,
        Interpreted.TF_FUNCTION: tf_function,
        Interpreted.MAP_STRUCTURE: _map_structure,
        Interpreted.DATACLASS: dataclass,
        Interpreted.DATACLASS_FIELD: dataclass_field,
        Interpreted.NAMED_TUPLE: named_tuple,
        Interpreted.TYPED_NAMED_TUPLE: typed_named_tuple,
        Interpreted.REPLACE_RECORD: replaced_record,
    }
)
