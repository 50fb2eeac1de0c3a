"""Creation of functions, classes and instances.

Computes: function objects with their closures, class objects by running their bodies, instances by running their
constructors. Needs: class lookup, calls. Gives: `HANDLERS`, `instantiate`.
"""

from __future__ import annotations

from terra_refactor.analysis.classes import (
    ANNOTATIONS,
    FIELDS,
    annotated_names,
    annotations_of,
    bind,
    find_in_class,
    resolution_order,
)
from terra_refactor.analysis.engine import OpHandler, Site
from terra_refactor.analysis.facts import EntryKind, ObjectKind
from terra_refactor.analysis.frames import CallArguments, Frame
from terra_refactor.analysis.transfer.enumerations import define_members, member_of_value
from terra_refactor.analysis.transfer.iteration import iterate
from terra_refactor.analysis.transfer.loaded_numbers import item_of_loaded
from terra_refactor.domain.lattice import join_all
from terra_refactor.domain.state import BASES, CELL, CLASS
from terra_refactor.domain.value import (
    UNKNOWN,
    Constant,
    FunctionValue,
    LibraryValue,
    PartialValue,
    Reference,
    TupleValue,
    UnknownValue,
    Value,
    members,
)
from terra_refactor.ir import ops
from terra_refactor.ir.ids import FunctionId
from terra_refactor.ir.ops import Op
from terra_refactor.ir.walk import walk
from terra_refactor.tf_model.class_names import CLASS_VARIABLE, NAMED_TUPLE, TYPED_DICT, is_of_enum
from terra_refactor.tf_model.interpreted import Interpreted
from terra_refactor.tf_model.registry import has_trait
from terra_refactor.tf_model.spec import Trait


def make_function(site: Site, op: Op) -> Value:
    assert isinstance(op, ops.MakeFunction)
    engine, frame = site.engine, site.frame
    code = engine.code_of(op.function)
    closure: list[tuple[str, int]] = []
    for name in code.frees:
        cell = frame.cells.get(name, frame.closure.get(name))
        if cell is not None:
            closure.append((name, cell))
    defaults = tuple((name, frame.value(number)) for name, number in op.defaults)
    annotations = tuple((name, frame.value(number)) for name, number in op.annotations)
    value = FunctionValue((op.function.module, op.function.index), tuple(closure), defaults, annotations)
    engine.note_definition(frame, value)
    return value


def make_class(site: Site, op: Op) -> Value:
    assert isinstance(op, ops.MakeClass)
    engine, frame = site.engine, site.frame
    number = site.allocate(ObjectKind.CLASS, op.name, body=op.body)
    cls = Reference(number)
    bases: list[Value] = []
    for base in op.bases:
        value = frame.value(base.value)
        if base.starred:
            bases.extend(iterate(site, value).elements or (UNKNOWN,))
            continue
        alternatives = members(value)
        bases.append(alternatives[0] if len(alternatives) == 1 else _one_base(alternatives))
    keywords = {name: frame.value(value) for name, value in op.keywords}
    frame.state.set((number, BASES), TupleValue(tuple(bases)))
    for base_value in bases:
        if isinstance(base_value, Reference):
            engine.note_subclass(base_value.object, number)
    if "metaclass" in keywords:
        frame.state.set((number, "__metaclass__"), keywords["metaclass"])
    body = engine.code_of(op.body)
    closure = {
        name: cell for name in body.frees if (cell := frame.cells.get(name, frame.closure.get(name))) is not None
    }
    inner = Frame(body, frame.state.call(), closure, {}, frame.module_object, EntryKind.MODULE, frame.in_graph)
    inner.class_object = number
    inner.allocated = set(frame.allocated)
    before = len(inner.allocated)
    summary = engine.run_inline(inner)
    frame.call_record(op.id).callees[summary.identity] = None
    for key, value in inner.root.heap.items():
        frame.state.set(key, value)
    if len(inner.allocated) > before:
        frame.allocated |= inner.allocated
    if "__class__" in inner.cells:
        frame.state.set((inner.cells["__class__"], CELL), cls)
    engine.note_class_of_body(op.body, cls)
    if inner.class_annotations and (NAMED_TUPLE in bases or any(_is_typed_record(base) for base in bases)):
        frame.state.set((number, FIELDS), TupleValue(tuple(Constant(name) for name in inner.class_annotations)))
    frame.state.set((number, ANNOTATIONS), annotated_names(inner.class_annotations))
    define_members(site, cls, tuple(name for owner, name in inner.root.heap if owner == number))
    for candidate in resolution_order(frame, cls)[1:]:
        if isinstance(candidate, Reference):
            hook = frame.state.get((candidate.object, "__init_subclass__"))
            if hook is not None:
                function = bind(site, hook, cls, cls)
                target = function.arguments[0] if isinstance(function, PartialValue) else hook
                arguments = CallArguments(
                    (cls,), tuple((k, v) for k, v in keywords.items() if k not in ("metaclass", "**"))
                )
                site.call(target, arguments)
                break
    return cls


def _one_base(alternatives: tuple[Value, ...]) -> Value:
    """The base used if there are several (`Model if keras3 else Layer`): a class of the program if possible."""
    for alternative in alternatives:
        if isinstance(alternative, Reference):
            return alternative
    for alternative in alternatives:
        if isinstance(alternative, LibraryValue):
            return alternative
    return UNKNOWN


def _is_typed_record(base: Value) -> bool:
    return isinstance(base, LibraryValue) and base in (NAMED_TUPLE, TYPED_DICT)


def instantiate(site: Site, cls: Reference, arguments: CallArguments) -> Value:
    """`cls(arguments)` for a class of the program."""
    frame = site.frame
    facts = site.engine.objects.facts[cls.object]
    order = resolution_order(frame, cls)
    libraries = [candidate for candidate in order if isinstance(candidate, LibraryValue)]
    if NAMED_TUPLE in libraries:
        return _record(site, cls, facts.name, arguments)
    metaclass = find_in_class(frame, cls, "__metaclass__")
    hook = None
    if metaclass is not None and isinstance(metaclass[0], Reference):
        hook = find_in_class(frame, metaclass[0], "__call__")
    if hook is None or not isinstance(hook[0], FunctionValue):
        return _construct(site, cls, libraries, order, arguments)
    site.call(hook[0], arguments.with_first(cls))
    instance = _construct(site, cls, libraries, order, arguments)
    if isinstance(instance, Reference) and _sets_attributes(site, FunctionId(*hook[0].function)):
        site.engine.write_any_name(frame, instance.object, "", UNKNOWN)
    return instance


def _sets_attributes(site: Site, hook: FunctionId) -> bool:
    """Whether the `__call__` of a metaclass sets attributes of an object that it holds in a local variable."""
    code = site.engine.program.function(hook)
    local = {
        op.id
        for op in walk(code.body)
        if isinstance(op, ops.LoadName)
        and op.scope is ops.Scope.LOCAL
        and all(parameter.name != op.name for parameter in code.parameters)
    }
    return any(isinstance(op, ops.StoreAttribute) and op.object in local for op in walk(code.body))


def _construct(
    site: Site,
    cls: Reference,
    libraries: list[LibraryValue],
    order: tuple[Value, ...],
    arguments: CallArguments,
) -> Value:
    """The object created by the constructors of a class."""
    frame = site.frame
    facts = site.engine.objects.facts[cls.object]
    if any(is_of_enum(candidate.name) for candidate in libraries):
        if (
            len(arguments.positional) == 1
            and (member := member_of_value(frame, cls, arguments.positional[0])) is not None
        ):
            return member
        return UnknownValue(may_be_tensor=False)
    number = site.allocate(ObjectKind.INSTANCE, facts.name, tag=("instance", cls.object))
    instance = Reference(number)
    frame.state.set((number, CLASS), cls)
    constructor = find_in_class(frame, cls, "__new__")
    if constructor is not None and isinstance(constructor[0], FunctionValue):
        made = site.call(constructor[0], arguments.with_first(cls))
        if isinstance(made, Reference) and frame.state.get((made.object, CLASS)) is not None:
            instance = made
        elif not isinstance(made, UnknownValue) and not isinstance(made, Reference):
            return made
    initializer = find_in_class(frame, cls, "__init__")
    if initializer is not None and not isinstance(initializer[1], LibraryValue):
        bound = bind(site, initializer[0], instance, cls)
        site.call(bound, arguments)
        return instance
    fields = _fields_of(site, order)
    if fields:
        _initialize_fields(site, instance, fields, arguments)
        hook = find_in_class(frame, cls, "__post_init__")
        if hook is not None:
            site.call(bind(site, hook[0], instance, cls), CallArguments())
    elif initializer is not None and isinstance(initializer[0], LibraryValue):
        site.call(bind(site, initializer[0], instance, cls), arguments)
    return instance


def _fields_of(site: Site, order: tuple[Value, ...]) -> tuple[str, ...]:
    """The fields of a dataclass (or attrs class), those of its bases first."""
    frame = site.frame
    names: dict[str, None] = {}
    for candidate in reversed(order):
        if isinstance(candidate, Reference) and frame.state.get((candidate.object, FIELDS)) is not None:
            for name, annotation in annotations_of(frame, candidate).items():
                inner = annotation.function if isinstance(annotation, PartialValue) else annotation
                if inner != CLASS_VARIABLE:
                    names[name] = None
    return tuple(names)


def _initialize_fields(site: Site, instance: Reference, fields: tuple[str, ...], arguments: CallArguments) -> None:
    frame = site.frame
    positional = list(arguments.positional)
    keywords = dict(arguments.keywords)
    cls = frame.state.get((instance.object, CLASS))
    assert cls is not None
    for name in fields:
        if positional:
            value = positional.pop(0)
        elif name in keywords:
            value = keywords.pop(name)
        else:
            default = find_in_class(frame, cls, name)
            opened = [part for part in (arguments.open_positional, arguments.open_keywords) if part is not None]
            found = _default_of(site, default[0]) if default is not None else UNKNOWN
            mapping = arguments.open_mapping
            item = None
            if mapping is not None and len(opened) == 1:
                item = item_of_loaded(site, mapping, Constant(name), None if default is None else found)
            value = item if item is not None else join_all([found, *opened]) if opened else found
        frame.state.set((instance.object, name), value)


def _default_of(site: Site, default: Value) -> Value:
    """The value of a field that was not passed: `field(default=...)`, `field(default_factory=...)` or the class attribute."""
    if isinstance(default, PartialValue) and isinstance(default.function, LibraryValue):
        keywords = dict(default.keywords)
        if default.function.name == Interpreted.DATACLASS_FIELD.name_of_function:
            if "default_factory" in keywords:
                return _made_by_factory(site, keywords["default_factory"])
            return keywords.get("default", UNKNOWN)
    return default


def _made_by_factory(site: Site, factory: Value) -> Value:
    """The default that `field(default_factory=...)` makes.

    An empty `list()` or `dict()` is not recorded as a call of this operation: rules would take the arguments of the class for its
    own.
    """
    record = site.frame.call_record(site.op)
    before = set(record.library)
    made = site.call(factory, CallArguments())
    for name in set(record.library) - before if isinstance(factory, LibraryValue) else ():
        if has_trait(name, Trait.ITERATES):
            del record.library[name]
    return made


def _record(site: Site, cls: Reference, name: str, arguments: CallArguments) -> Value:
    frame = site.frame
    fields: tuple[str, ...] = ()
    for candidate in resolution_order(frame, cls):
        if isinstance(candidate, Reference) and annotations_of(frame, candidate):
            fields = tuple(annotations_of(frame, candidate))
            break
    positional, keywords = list(arguments.positional), dict(arguments.keywords)
    elements: list[Value] = []
    for field in fields:
        if positional:
            elements.append(positional.pop(0))
        elif field in keywords:
            elements.append(keywords[field])
        else:
            default = find_in_class(frame, cls, field)
            opened = [part for part in (arguments.open_positional, arguments.open_keywords) if part is not None]
            elements.append(UNKNOWN if default is None else join_all([default[0], *opened]))
    return TupleValue(tuple(elements), name, fields, cls.object)


HANDLERS: dict[type[Op], OpHandler] = {
    ops.MakeFunction: make_function,
    ops.MakeClass: make_class,
}
