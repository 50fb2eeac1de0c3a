"""Built-in and standard-library functions that call back, look at the heap, or change it.

Computes: `isinstance`, `zip`, `super`, `getattr`, `functools.partial`, ...; methods of containers are in
`container_methods`. Needs: class look-up and containers. Gives: `BUILTINS`, by canonical name; a handler returns None to leave a call
to the declarations of `tf_model`.
"""

from __future__ import annotations

from typing import Final

from terra_refactor.analysis.classes import (
    ANNOTATIONS,
    BASES,
    CACHED_PROPERTY,
    CLASS_METHOD,
    FIELDS,
    PROPERTY,
    STATIC_METHOD,
    annotated_names,
    annotations_of,
    class_of_instance,
)
from terra_refactor.analysis.effects import external_effect, unknown_target, write_effect
from terra_refactor.analysis.facts import ObjectKind
from terra_refactor.analysis.frames import CallArguments, Frame
from terra_refactor.analysis.interpreter import Interpreter
from terra_refactor.analysis.transfer.attributes import attribute_of, set_attribute
from terra_refactor.analysis.transfer.container_methods import CONTAINER_METHODS, BuiltinHandler, argument
from terra_refactor.analysis.transfer.containers import (
    iterate,
    length_of,
    new_list,
    new_set,
)
from terra_refactor.analysis.transfer.mappings import dict_content, new_dict, with_item
from terra_refactor.analysis.truth import truth_of
from terra_refactor.domain.effect import Effect, EffectKind
from terra_refactor.domain.lattice import join, join_all, list_element, without_unbound
from terra_refactor.domain.state import CLASS, ITEMS
from terra_refactor.domain.value import (
    BOTTOM,
    FALSE,
    NONE,
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
)
from terra_refactor.ir import ops
from terra_refactor.ir.function import FunctionKind
from terra_refactor.tf_model import registry

# --- questions --------------------------------------------------------------------------------------------------------------------


def is_instance(
    interpreter: Interpreter, frame: Frame, op: int, arguments: CallArguments, receiver: Value | None
) -> Value | None:
    if len(arguments.positional) != 2:
        return None
    subject, cls = arguments.positional
    answers = {interpreter.is_instance(frame, member, cls) for member in members(subject) if member != UNBOUND}
    return Constant(answers.pop()) if len(answers) == 1 and None not in answers else UNKNOWN_BOOL


def is_subclass(
    interpreter: Interpreter, frame: Frame, op: int, arguments: CallArguments, receiver: Value | None
) -> Value | None:
    return UNKNOWN_BOOL


def length(
    interpreter: Interpreter, frame: Frame, op: int, arguments: CallArguments, receiver: Value | None
) -> Value | None:
    return length_of(interpreter, frame, op, arguments.positional[0]) if arguments.positional else None


def callable_(
    interpreter: Interpreter, frame: Frame, op: int, arguments: CallArguments, receiver: Value | None
) -> Value | None:
    value = argument(arguments, 0)
    if isinstance(value, FunctionValue | BoundMethod | PartialValue):
        return Constant(True)
    return FALSE if isinstance(value, Constant | TensorValue | TupleValue) else UNKNOWN_BOOL


def type_(
    interpreter: Interpreter, frame: Frame, op: int, arguments: CallArguments, receiver: Value | None
) -> Value | None:
    if len(arguments.positional) != 1:
        return UNKNOWN
    results: list[Value] = []
    for member in members(arguments.positional[0]):
        own = class_of_instance(frame, member)
        name = registry.class_of(member)
        results.append(
            own if own is not None else LibraryValue(name) if name is not None else UnknownValue(may_be_tensor=False)
        )
    return join_all(results)


def any_all(
    interpreter: Interpreter, frame: Frame, op: int, arguments: CallArguments, receiver: Value | None
) -> Value | None:
    if not arguments.positional:
        return None
    found = iterate(interpreter, frame, op, arguments.positional[0])
    if found.elements is None:
        return UNKNOWN_BOOL
    truths = [truth_of(interpreter, frame, element).value for element in found.elements]
    is_any = "builtins.any" in frame.call_record(op).library
    if is_any:
        return Constant(True) if True in truths else UNKNOWN_BOOL if None in truths else FALSE
    return FALSE if False in truths else UNKNOWN_BOOL if None in truths else Constant(True)


# --- attributes by name -------------------------------------------------------------------------------------------------------------


def get_attribute(
    interpreter: Interpreter, frame: Frame, op: int, arguments: CallArguments, receiver: Value | None
) -> Value | None:
    if len(arguments.positional) < 2:
        return None
    target, name = arguments.positional[:2]
    default = argument(arguments, 2)
    names = [member.value for member in members(name) if isinstance(member, Constant) and isinstance(member.value, str)]
    if len(names) != len(members(name)):
        return UNKNOWN
    results: list[Value] = []
    for member in members(target):
        for text in names:
            value = attribute_of(interpreter, frame, op, member, text)
            if default is not None and (
                value == BOTTOM or (isinstance(value, UnknownValue) and value.reason.startswith("no attr"))
            ):
                value = default
            elif default is not None and _may_be_unset(frame, member, text):
                value = join(value, default)
            results.append(value)
    return join_all(results) if results else UNKNOWN


def _may_be_unset(frame: Frame, owner: Value, name: str) -> bool:
    """Whether only some paths have set the attribute."""
    own = frame.state.get((owner.object, name)) if isinstance(owner, Reference) else None
    return own is not None and UNBOUND in members(own)


def set_attribute_named(
    interpreter: Interpreter, frame: Frame, op: int, arguments: CallArguments, receiver: Value | None
) -> Value | None:
    if len(arguments.positional) != 3:
        return UNKNOWN
    target, name, value = arguments.positional
    for member in members(name):
        if isinstance(member, Constant) and isinstance(member.value, str):
            held = value
            if len(members(name)) > 1:
                # it is this attribute, or one of the others
                for owner in members(target):
                    known = frame.state.get((owner.object, member.value)) if isinstance(owner, Reference) else None
                    held = join(UNBOUND if known is None else known, held)
            set_attribute(interpreter, frame, op, target, member.value, held)
        else:
            for owner in members(target):
                if isinstance(owner, Reference):
                    write_effect(frame, op, owner.object, ".*", "setattr(...)")
                else:
                    frame.add_effect(
                        Effect(
                            EffectKind.STATE_WRITE, unknown_target(owner), "setattr(...)", frame.site(op), assumed=True
                        )
                    )
    return NONE


def has_attribute(
    interpreter: Interpreter, frame: Frame, op: int, arguments: CallArguments, receiver: Value | None
) -> Value | None:
    if len(arguments.positional) != 2:
        return UNKNOWN_BOOL
    target, name = arguments.positional
    if isinstance(target, Reference) and isinstance(name, Constant) and isinstance(name.value, str):
        own = frame.state.get((target.object, name.value))
        if own is not None and UNBOUND not in members(own):
            return Constant(True)
    return UNKNOWN_BOOL


def super_(
    interpreter: Interpreter, frame: Frame, op: int, arguments: CallArguments, receiver: Value | None
) -> Value | None:
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
        owner = interpreter.program.function(owner.parent)
    cls = interpreter.class_of_body.get(owner.id)
    instance = frame.parameters.get(first) if first is not None else None
    if cls is None or instance is None:
        return UNKNOWN
    return join_all(SuperValue(cls, member) for member in members(instance))


# --- making containers and iterators ------------------------------------------------------------------------------------------------


def make_list(
    interpreter: Interpreter, frame: Frame, op: int, arguments: CallArguments, receiver: Value | None
) -> Value | None:
    if not arguments.positional:
        return new_list(interpreter, frame, op, FrozenList(()))
    found = iterate(interpreter, frame, op, arguments.positional[0])
    content = FrozenList(None, found.element) if found.elements is None else FrozenList(found.elements)
    return new_list(interpreter, frame, op, content)


def make_tuple(
    interpreter: Interpreter, frame: Frame, op: int, arguments: CallArguments, receiver: Value | None
) -> Value | None:
    if not arguments.positional:
        return TupleValue(())
    found = iterate(interpreter, frame, op, arguments.positional[0])
    return SequenceValue(found.element) if found.elements is None else TupleValue(found.elements)


def make_set(
    interpreter: Interpreter, frame: Frame, op: int, arguments: CallArguments, receiver: Value | None
) -> Value | None:
    element: Value = BOTTOM
    if arguments.positional:
        element = iterate(interpreter, frame, op, arguments.positional[0]).element
    return new_set(interpreter, frame, op, element)


def make_dict(
    interpreter: Interpreter, frame: Frame, op: int, arguments: CallArguments, receiver: Value | None
) -> Value | None:
    content = FrozenDict((), arguments.open_keywords)
    if arguments.positional:
        first = arguments.positional[0]
        if isinstance(first, Reference) and isinstance(frame.state.get((first.object, ITEMS)), FrozenDict):
            content = dict_content(interpreter, frame, first)
        else:
            found = iterate(interpreter, frame, op, first)
            for pair in found.elements if found.elements is not None else (found.element,):
                parts = iterate(interpreter, frame, op, pair).elements
                if parts is not None and len(parts) == 2:
                    key = parts[0] if found.elements is not None else UNKNOWN
                    content = with_item(content, key, parts[1], single=True)
                elif pair != BOTTOM:
                    content = FrozenDict(content.items, UNKNOWN)
    for name, value in arguments.keywords:
        content = with_item(content, Constant(name), value, single=True)
    return new_dict(interpreter, frame, op, content)


def make_range(
    interpreter: Interpreter, frame: Frame, op: int, arguments: CallArguments, receiver: Value | None
) -> Value | None:
    match arguments.positional:
        case (stop,):
            return RangeValue(Constant(0), stop, Constant(1))
        case (start, stop):
            return RangeValue(start, stop, Constant(1))
        case (start, stop, step):
            return RangeValue(start, stop, step)
        case _:
            return SequenceValue(UNKNOWN_INT, "range")


def zip_(
    interpreter: Interpreter, frame: Frame, op: int, arguments: CallArguments, receiver: Value | None
) -> Value | None:
    found = [iterate(interpreter, frame, op, value) for value in arguments.positional]
    if arguments.open_positional is not None:
        return SequenceValue(SequenceValue(UNKNOWN), "zip")
    known = [part.elements for part in found]
    if known and all(elements is not None for elements in known):
        rows = zip(*[elements or () for elements in known], strict=False)
        return TupleValue(tuple(TupleValue(tuple(row)) for row in rows))
    return SequenceValue(TupleValue(tuple(part.element for part in found)), "zip")


def enumerate_(
    interpreter: Interpreter, frame: Frame, op: int, arguments: CallArguments, receiver: Value | None
) -> Value | None:
    if not arguments.positional:
        return None
    if isinstance(arguments.positional[0], DatasetValue):
        dataset = arguments.positional[0]
        return DatasetValue(TupleValue((UNKNOWN_INT, dataset.element)), dataset.cardinality, dataset.iterator)
    found = iterate(interpreter, frame, op, arguments.positional[0])
    start = argument(arguments, 1, "start")
    first = (
        start.value if isinstance(start, Constant) and isinstance(start.value, int) else 0 if start is None else None
    )
    if found.elements is not None and first is not None:
        return TupleValue(tuple(TupleValue((Constant(first + i), value)) for i, value in enumerate(found.elements)))
    return SequenceValue(TupleValue((UNKNOWN_INT, found.element)), "enumerate")


def map_(
    interpreter: Interpreter, frame: Frame, op: int, arguments: CallArguments, receiver: Value | None
) -> Value | None:
    if len(arguments.positional) < 2:
        return None
    function, *sources = arguments.positional
    found = [iterate(interpreter, frame, op, source) for source in sources]
    known = [part.elements for part in found]
    if all(elements is not None and len(elements) <= 8 for elements in known):
        rows = list(zip(*[elements or () for elements in known], strict=False))
        return TupleValue(tuple(interpreter.call_value(frame, op, function, CallArguments(tuple(row))) for row in rows))
    row = tuple(part.element for part in found)
    if BOTTOM in row:
        return TupleValue(())
    return SequenceValue(interpreter.call_value(frame, op, function, CallArguments(row)), "map")


def filter_(
    interpreter: Interpreter, frame: Frame, op: int, arguments: CallArguments, receiver: Value | None
) -> Value | None:
    if len(arguments.positional) != 2:
        return None
    function, source = arguments.positional
    element = iterate(interpreter, frame, op, source).element
    if function != NONE and element != BOTTOM:
        interpreter.call_value(frame, op, function, CallArguments((element,)))
    return SequenceValue(element, "filter")


def sorted_(
    interpreter: Interpreter, frame: Frame, op: int, arguments: CallArguments, receiver: Value | None
) -> Value | None:
    if not arguments.positional:
        return None
    found = iterate(interpreter, frame, op, arguments.positional[0])
    key = dict(arguments.keywords).get("key")
    if key is not None and key != NONE and found.element != BOTTOM:
        interpreter.call_value(frame, op, key, CallArguments((found.element,)))
    if found.elements is not None:
        return new_list(interpreter, frame, op, FrozenList((found.element,) * len(found.elements)))
    return new_list(interpreter, frame, op, FrozenList(None, found.element))


def reversed_(
    interpreter: Interpreter, frame: Frame, op: int, arguments: CallArguments, receiver: Value | None
) -> Value | None:
    if not arguments.positional:
        return None
    found = iterate(interpreter, frame, op, arguments.positional[0])
    return SequenceValue(found.element, "iterator") if found.elements is None else TupleValue(found.elements[::-1])


def iter_(
    interpreter: Interpreter, frame: Frame, op: int, arguments: CallArguments, receiver: Value | None
) -> Value | None:
    if len(arguments.positional) != 1:
        return UNKNOWN
    value = arguments.positional[0]
    if isinstance(value, DatasetValue):
        return DatasetValue(value.element, value.cardinality, iterator=True)
    if any(isinstance(member, UnknownValue) for member in members(value)):
        return UnknownValue()
    return SequenceValue(iterate(interpreter, frame, op, value).element, "iterator")


def _is_local_iterator(interpreter: Interpreter, frame: Frame, op: int) -> bool:
    """Whether `next` advances an iterator that this call has made."""
    call = interpreter.op(frame.function, op)
    if not isinstance(call, ops.Call) or not call.arguments:
        return False
    source = interpreter.op(frame.function, call.arguments[0].value)
    if isinstance(source, ops.LoadName):
        return source.scope is ops.Scope.LOCAL and source.name not in frame.parameters
    return isinstance(source, ops.Call | ops.Comprehension)


def next_(
    interpreter: Interpreter, frame: Frame, op: int, arguments: CallArguments, receiver: Value | None
) -> Value | None:
    if not arguments.positional:
        return UNKNOWN
    value = arguments.positional[0]
    if isinstance(value, Reference):
        method = interpreter.find_method(frame, value, "__next__")
        if method is not None:
            return interpreter.call_value(frame, op, method, CallArguments())
    if not isinstance(value, DatasetValue) and not _is_local_iterator(interpreter, frame, op):
        external_effect(frame, op, EffectKind.ITERATE, "next(...)", assumed=not isinstance(value, SequenceValue))
    return iterate(interpreter, frame, op, value).element


def sum_(
    interpreter: Interpreter, frame: Frame, op: int, arguments: CallArguments, receiver: Value | None
) -> Value | None:
    if not arguments.positional:
        return None
    found = iterate(interpreter, frame, op, arguments.positional[0])
    if isinstance(found.element, TensorValue):
        return TensorValue(found.element.type) if found.element.kind is not TensorKind.NDARRAY else found.element
    if found.elements is not None and all(isinstance(element, Constant) for element in found.elements):
        try:
            return Constant(sum(element.value for element in found.elements if isinstance(element, Constant)))  # type: ignore[misc]
        except TypeError:
            return UNKNOWN
    return None


def reduce_(
    interpreter: Interpreter, frame: Frame, op: int, arguments: CallArguments, receiver: Value | None
) -> Value | None:
    if len(arguments.positional) < 2:
        return None
    function, source = arguments.positional[:2]
    found = iterate(interpreter, frame, op, source)
    result = argument(arguments, 2)
    if found.elements is not None and len(found.elements) <= 12:
        rest = list(found.elements)
        if result is None:
            result = rest.pop(0) if rest else UNKNOWN
        for element in rest:
            result = interpreter.call_value(frame, op, function, CallArguments((result, element)))
        return result
    first = join(found.element, result) if result is not None else found.element
    return join(first, interpreter.call_value(frame, op, function, CallArguments((first, found.element))))


# --- functions of functions -----------------------------------------------------------------------------------------------------------


def partial(
    interpreter: Interpreter, frame: Frame, op: int, arguments: CallArguments, receiver: Value | None
) -> Value | None:
    if not arguments.positional:
        return UNKNOWN
    function, *rest = arguments.positional
    return PartialValue(function, tuple(rest), arguments.keywords)


def wraps(
    interpreter: Interpreter, frame: Frame, op: int, arguments: CallArguments, receiver: Value | None
) -> Value | None:
    return LibraryValue("functools.wraps()")


def unchanged(
    interpreter: Interpreter, frame: Frame, op: int, arguments: CallArguments, receiver: Value | None
) -> Value | None:
    return arguments.positional[0] if arguments.positional else UNKNOWN


def make_property(
    interpreter: Interpreter, frame: Frame, op: int, arguments: CallArguments, receiver: Value | None
) -> Value | None:
    keywords = dict(arguments.keywords)
    getter = argument(arguments, 0, "fget")
    setter = argument(arguments, 1, "fset")
    rest = () if setter is None or setter == NONE else (("fset", setter),)
    return PartialValue(PROPERTY, (getter if getter is not None else keywords.get("fget", UNKNOWN),), rest)


def property_setter(
    interpreter: Interpreter, frame: Frame, op: int, arguments: CallArguments, receiver: Value | None
) -> Value | None:
    if len(arguments.positional) == 2 and isinstance(arguments.positional[0], PartialValue):
        known, setter = arguments.positional[0], arguments.positional[1]
        return PartialValue(known.function, known.arguments, (("fset", setter),))
    return unchanged(interpreter, frame, op, arguments, receiver)


def property_deleter(
    interpreter: Interpreter, frame: Frame, op: int, arguments: CallArguments, receiver: Value | None
) -> Value | None:
    return unchanged(interpreter, frame, op, arguments, receiver)


def _descriptor(kind: LibraryValue) -> BuiltinHandler:
    def handler(
        interpreter: Interpreter, frame: Frame, op: int, arguments: CallArguments, receiver: Value | None
    ) -> Value | None:
        return PartialValue(kind, arguments.positional[:1], ()) if arguments.positional else UNKNOWN

    return handler


def tf_function(
    interpreter: Interpreter, frame: Frame, op: int, arguments: CallArguments, receiver: Value | None
) -> Value | None:
    """`tf.function(f, ...)`: the same function, hybrid; without `f` a decorator."""
    function = argument(arguments, 0, "func")
    options = tuple((name, value) for name, value in arguments.keywords if name != "func")
    if function is None or function == NONE:
        return PartialValue(LibraryValue("tensorflow.function"), (), options)
    positional = dict(zip(("func", "input_signature", "autograph", "jit_compile"), arguments.positional, strict=False))
    options = (*((name, value) for name, value in positional.items() if name != "func"), *options)
    results: list[Value] = []
    for member in members(function):
        match member:
            case FunctionValue():
                hybrid = FunctionValue(
                    member.function, member.closure, member.defaults, member.annotations, options, member.wrappers
                )
                interpreter.note_wrapped(hybrid)
                results.append(hybrid)
            case BoundMethod(FunctionValue() as inner, owner):
                hybrid = FunctionValue(
                    inner.function, inner.closure, inner.defaults, inner.annotations, options, inner.wrappers
                )
                interpreter.note_wrapped(hybrid)
                results.append(BoundMethod(hybrid, owner))
            case _:
                results.append(member)
    return join_all(results)


def map_structure(
    interpreter: Interpreter, frame: Frame, op: int, arguments: CallArguments, receiver: Value | None
) -> Value | None:
    """`tf.nest.map_structure(f, structure, ...)`: `f` on the leaves; the result has the structure of the first."""
    if len(arguments.positional) < 2:
        return None
    function, *structures = arguments.positional

    def walk(parts: list[Value], depth: int, tag: object) -> Value:
        first = parts[0]
        if (
            depth < 6
            and isinstance(first, TupleValue)
            and all(isinstance(part, TupleValue) and len(part.elements) == len(first.elements) for part in parts)
        ):
            rows = zip(*[part.elements for part in parts if isinstance(part, TupleValue)], strict=True)
            return TupleValue(
                tuple(walk(list(row), depth + 1, (tag, i)) for i, row in enumerate(rows)), first.name, first.fields
            )
        contents = [frame.state.get((part.object, ITEMS)) if isinstance(part, Reference) else None for part in parts]
        content = contents[0]
        if depth < 6 and isinstance(content, FrozenList) and all(isinstance(other, FrozenList) for other in contents):
            if content.elements is not None and all(
                isinstance(other, FrozenList)
                and other.elements is not None
                and len(other.elements) == len(content.elements)
                for other in contents
            ):
                rows = zip(*[other.elements or () for other in contents if isinstance(other, FrozenList)], strict=True)
                results = tuple(walk(list(row), depth + 1, (tag, i)) for i, row in enumerate(rows))
                return new_list(interpreter, frame, op, FrozenList(results), tag)
            element = walk(
                [list_element(other) for other in contents if isinstance(other, FrozenList)], depth + 1, (tag, "*")
            )
            return new_list(interpreter, frame, op, FrozenList(None, element), tag)
        if depth < 6 and isinstance(content, FrozenDict) and len(parts) == 1:
            items = tuple(
                (key, walk([without_unbound(value)], depth + 1, (tag, str(key)))) for key, value in content.items
            )
            rest = None if content.rest is None else walk([content.rest], depth + 1, (tag, "**"))
            return new_dict(interpreter, frame, op, FrozenDict(items, rest), tag)
        if any(part == BOTTOM for part in parts):
            return BOTTOM
        return interpreter.call_value(frame, op, function, CallArguments(tuple(parts)))

    return walk(structures, 0, "structure")


# --- classes of records -----------------------------------------------------------------------------------------------------------------


def dataclass(
    interpreter: Interpreter, frame: Frame, op: int, arguments: CallArguments, receiver: Value | None
) -> Value | None:
    if not arguments.positional:
        return LibraryValue("dataclasses.dataclass")
    for member in members(arguments.positional[0]):
        if isinstance(member, Reference):
            names = annotations_of(frame, member)
            frame.state.set((member.object, FIELDS), TupleValue(tuple(Constant(name) for name in names)))
    return arguments.positional[0]


def dataclass_field(
    interpreter: Interpreter, frame: Frame, op: int, arguments: CallArguments, receiver: Value | None
) -> Value | None:
    return PartialValue(LibraryValue("dataclasses.field"), (), arguments.keywords)


def replaced_record(
    interpreter: Interpreter, frame: Frame, op: int, arguments: CallArguments, receiver: Value | None
) -> Value | None:
    """`record._replace(field=value)`."""
    if not isinstance(receiver, TupleValue):
        return UNKNOWN
    changed = dict(arguments.keywords)
    elements = tuple(changed.get(field, old) for field, old in zip(receiver.fields, receiver.elements, strict=True))
    return TupleValue(elements, receiver.name, receiver.fields, receiver.cls)


def typed_named_tuple(
    interpreter: Interpreter, frame: Frame, op: int, arguments: CallArguments, receiver: Value | None
) -> Value | None:
    """`typing.NamedTuple(name, [(field, type), ...])`."""
    name, fields = argument(arguments, 0, "typename"), argument(arguments, 1, "fields")
    if fields is None or not isinstance(name, Constant) or not isinstance(name.value, str):
        return UNKNOWN
    names: list[str] = []
    for pair in iterate(interpreter, frame, op, fields).elements or ():
        parts = iterate(interpreter, frame, op, pair).elements
        if parts is None or not parts or not isinstance(parts[0], Constant) or not isinstance(parts[0].value, str):
            return UNKNOWN
        names.append(parts[0].value)
    return _record_class(interpreter, frame, op, name.value, names) if names else UNKNOWN


def _record_class(interpreter: Interpreter, frame: Frame, op: int, name: str, fields: list[str]) -> Reference:
    number = interpreter.allocate(frame, op, ObjectKind.CLASS, name)
    frame.state.set((number, BASES), TupleValue((LibraryValue("typing.NamedTuple"),)))
    frame.state.set((number, ANNOTATIONS), annotated_names(dict.fromkeys(fields, UNKNOWN)))
    return Reference(number)


def named_tuple(
    interpreter: Interpreter, frame: Frame, op: int, arguments: CallArguments, receiver: Value | None
) -> Value | None:
    name, fields = argument(arguments, 0, "typename"), argument(arguments, 1, "field_names")
    if fields is None or not isinstance(name, Constant) or not isinstance(name.value, str):
        return UNKNOWN
    names: list[str] | None = None
    if isinstance(fields, Constant) and isinstance(fields.value, str):
        names = fields.value.replace(",", " ").split()
    else:
        found = iterate(interpreter, frame, op, fields)
        if found.elements is not None and all(isinstance(element, Constant) for element in found.elements):
            names = [str(element.value) for element in found.elements if isinstance(element, Constant)]
    if names is None:
        return UNKNOWN
    made = _record_class(interpreter, frame, op, name.value, names)
    defaults = dict(arguments.keywords).get("defaults")
    if defaults is not None:
        found = iterate(interpreter, frame, op, defaults)
        if found.elements is not None and found.elements:
            for field, value in zip(names[-len(found.elements) :], found.elements, strict=False):
                frame.state.set((made.object, field), value)
    return made


# --- objects and modules -------------------------------------------------------------------------------------------------------------


def object_init(
    interpreter: Interpreter, frame: Frame, op: int, arguments: CallArguments, receiver: Value | None
) -> Value | None:
    return NONE


def object_new(
    interpreter: Interpreter, frame: Frame, op: int, arguments: CallArguments, receiver: Value | None
) -> Value | None:
    cls = argument(arguments, 0)
    if not isinstance(cls, Reference):
        return UNKNOWN
    facts = interpreter.objects.facts[cls.object]
    number = interpreter.allocate(frame, op, ObjectKind.INSTANCE, facts.name, tag=("instance", cls.object))
    frame.state.set((number, CLASS), cls)
    return Reference(number)


def object_setattr(
    interpreter: Interpreter, frame: Frame, op: int, arguments: CallArguments, receiver: Value | None
) -> Value | None:
    if receiver is not None:
        arguments = arguments.with_first(receiver)
    return set_attribute_named(interpreter, frame, op, arguments, None)


def module_globals(
    interpreter: Interpreter, frame: Frame, op: int, arguments: CallArguments, receiver: Value | None
) -> Value | None:
    return UnknownValue()


def cast(
    interpreter: Interpreter, frame: Frame, op: int, arguments: CallArguments, receiver: Value | None
) -> Value | None:
    return arguments.positional[1] if len(arguments.positional) > 1 else UNKNOWN


def import_by_name(
    interpreter: Interpreter, frame: Frame, op: int, arguments: CallArguments, receiver: Value | None
) -> Value | None:
    name = argument(arguments, 0)
    if isinstance(name, Constant) and isinstance(name.value, str):
        if interpreter.loader.is_module(name.value):
            interpreter.loader.ensure_run(name.value)
            return ModuleValue(name.value)
        return LibraryValue(registry.canonical_name(name.value))
    return UnknownValue()


BUILTINS: Final[dict[str, BuiltinHandler]] = {
    **CONTAINER_METHODS,
    "builtins.isinstance": is_instance,
    "builtins.issubclass": is_subclass,
    "builtins.len": length,
    "builtins.callable": callable_,
    "builtins.type": type_,
    "builtins.any": any_all,
    "builtins.all": any_all,
    "builtins.getattr": get_attribute,
    "builtins.setattr": set_attribute_named,
    "builtins.hasattr": has_attribute,
    "builtins.super": super_,
    "builtins.list": make_list,
    "builtins.tuple": make_tuple,
    "builtins.set": make_set,
    "builtins.frozenset": make_set,
    "builtins.dict": make_dict,
    "collections.OrderedDict": make_dict,
    "builtins.range": make_range,
    "builtins.zip": zip_,
    "builtins.enumerate": enumerate_,
    "builtins.map": map_,
    "builtins.filter": filter_,
    "builtins.sorted": sorted_,
    "builtins.reversed": reversed_,
    "builtins.iter": iter_,
    "builtins.next": next_,
    "builtins.sum": sum_,
    "builtins.globals": module_globals,
    "builtins.property": make_property,
    "builtins.property.setter": property_setter,
    "builtins.property.deleter": property_deleter,
    "builtins.property.getter": property_deleter,
    "builtins.staticmethod": _descriptor(STATIC_METHOD),
    "builtins.classmethod": _descriptor(CLASS_METHOD),
    "functools.cached_property": _descriptor(CACHED_PROPERTY),
    "abc.abstractproperty": make_property,
    "functools.partial": partial,
    "functools.partialmethod": partial,
    "functools.reduce": reduce_,
    "functools.wraps": wraps,
    "functools.wraps()": unchanged,
    "abc.abstractmethod": unchanged,
    "typing.cast": cast,
    "typing.overload": unchanged,
    "importlib.import_module": import_by_name,
    "tensorflow.function": tf_function,
    "tensorflow.nest.map_structure": map_structure,
    "keras.tree.map_structure": map_structure,
    "dataclasses.dataclass": dataclass,
    "attr.s": dataclass,
    "attr.attrs": dataclass,
    "attrs.define": dataclass,
    "attrs.frozen": dataclass,
    "attr.define": dataclass,
    "dataclasses.field": dataclass_field,
    "collections.namedtuple": named_tuple,
    "typing.NamedTuple": typed_named_tuple,
    "typing.NamedTuple._replace": replaced_record,
    "builtins.object.__init__": object_init,
    "builtins.object.__init_subclass__": object_init,
    "builtins.object.__new__": object_new,
    "builtins.object.__setattr__": object_setattr,
}
