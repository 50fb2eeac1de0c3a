"""Attributes of instances, classes, modules, tensors and library objects.

Computes: the value of `object.name`; runs properties and `__getattr__` of the program. Needs: class lookup. Gives:
`HANDLERS`, `attribute_of`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from terra_refactor.analysis.classes import (
    bind,
    class_of_instance,
    find_in_class,
    find_method,
    is_library_function,
    is_property,
    overriding,
)
from terra_refactor.analysis.effects import external_effect, unknown_target, write_effect
from terra_refactor.analysis.engine import Code, OpHandler, Site
from terra_refactor.analysis.facts import ObjectKind
from terra_refactor.analysis.frames import CallArguments, Frame
from terra_refactor.analysis.transfer.allocation import thaw
from terra_refactor.analysis.transfer.arrays import array_given_form
from terra_refactor.analysis.transfer.command_line import flag_value
from terra_refactor.analysis.transfer.data_files import attribute_of_path, names_of_archive
from terra_refactor.analysis.transfer.dispatch import is_dispatcher, register_of
from terra_refactor.analysis.transfer.enumerations import member_attribute
from terra_refactor.analysis.transfer.iteration import static_size_value
from terra_refactor.analysis.transfer.kept_tensors import holds_new_tensor, is_known_variable, is_same_variable
from terra_refactor.analysis.transfer.layer_weights import (
    end_of_model,
    layer_setting,
    setting_given_later,
    trainable_weights,
    weight_attribute,
)
from terra_refactor.analysis.transfer.loaded_numbers import (
    attribute_of_loaded,
    attribute_set_from_loaded,
    note_changed,
    set_from_loaded,
)
from terra_refactor.domain.effect import Effect, EffectKind, RootKind, Target
from terra_refactor.domain.lattice import filter_members, join, join_all
from terra_refactor.domain.state import ANY_NAME, CLASS, VIRTUAL, may_be_named, written_to_any
from terra_refactor.domain.value import (
    BOTTOM,
    NO_ATTRIBUTE,
    NONE,
    OBJECT_DICT,
    TRUE,
    UNBOUND,
    UNKNOWN,
    UNKNOWN_STR,
    BoundMethod,
    Constant,
    DTypeValue,
    EnumMember,
    FunctionValue,
    LibraryValue,
    ModuleValue,
    PartialValue,
    Reference,
    ShapeValue,
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
from terra_refactor.ir.ids import FunctionId
from terra_refactor.ir.ops import Op
from terra_refactor.tf_model import registry
from terra_refactor.tf_model.class_names import (
    CLASS_METHOD,
    STATIC_METHOD,
    of_named_tuple,
    of_object,
    of_property,
    of_tf_function,
)
from terra_refactor.tf_model.library_members import library_member
from terra_refactor.tf_model.numpy_api.files import LOADED, array_with
from terra_refactor.tf_model.probability import KEPT_FIELDS
from terra_refactor.tf_model.python_classes import TUPLE

_OF_TENSORS: Final = frozenset({"shape", "dtype", "ndim", "T"})
"""Attributes that are evidence for a tensor if their value is passed to tensor operations."""


def load_attribute(site: Site, op: Op) -> Value:
    assert isinstance(op, ops.LoadAttribute)
    value = site.frame.present(op.object)
    alternatives = members(value)
    if len(alternatives) == 1:
        return attribute_of(site, alternatives[0], op.name)
    # an alternative without the attribute raises, so it is no evidence about the value
    results = [attribute_of(site, member, op.name) for member in alternatives]
    return join_all(result for result in results if result != BOTTOM)


def attribute_of(site: Site, value: Value, name: str) -> Value:
    """`value.name` for one alternative of the value; `BOTTOM` if it certainly does not exist."""
    engine, frame = site.engine, site.frame
    match value:
        case Reference():
            return _object_attribute(site, value, name)
        case Constant(EnumMember() as member):
            return member_attribute(site, member, value, name)
        case ModuleValue() if name == "__dict__":
            return PartialValue(OBJECT_DICT, (value,), ())
        case ModuleValue():
            engine.loader.ensure_run(value.name)
            frame.note_read(site.op, (engine.loader.object_of(value.name), name))
            return engine.loader.member(frame, frame.function.id.module, value.name, name)
        case LibraryValue():
            flag = flag_value(engine, value.name, name)
            return library_member(value.name, name) if flag is None else flag
        case UnknownValue() if value.origin == LOADED:
            array = array_with(name)
            return UNKNOWN if array is None else attribute_of(site, array, name)
        case UnknownValue() if (found := attribute_of_path(value, name)) is not None:
            return found
        case UnknownValue() if name == "files" and (names := names_of_archive(site, value)) is not None:
            return names
        case UnknownValue() if (item := attribute_of_loaded(site, value, name)) is not None:
            return item
        case UnknownValue():
            origin = value.origin
            if origin is not None and name not in _OF_TENSORS:
                origin = replace(origin, is_attribute=True)
            return UnknownValue(value.may_be_tensor, origin, value.reason)
        case TensorValue():
            return _tensor_attribute(site, value, name)
        case SuperValue():
            return _super_attribute(site, value, name)
        case TupleValue() if name in value.fields:
            return value.elements[value.fields.index(name)]
        case TupleValue() if value.fields:
            return _record_attribute(site, value, name)
        case FunctionValue() if name == "register" and is_dispatcher(value):
            return register_of(value)
        case FunctionValue():
            found = _function_attribute(engine, value, name)
            if found == UNKNOWN and not value.wrappers and value.hybrid is None and not name.startswith("__"):
                target = _of_function(engine, value, name)
                read = Effect(EffectKind.STATE_READ, target, f"reads {target}", site.place(), assumed=True)
                frame.add_effect(read)
            return found
        case BoundMethod():
            return value.receiver if name == "__self__" else attribute_of(site, value.function, name)
        case PartialValue() if value.function == OBJECT_DICT:
            return _library_instance_attribute(value, name)
        case PartialValue():
            return _partial_attribute(value, name)
        case _ if value in (NONE, UNBOUND, BOTTOM):
            return BOTTOM
        case _:
            return _library_instance_attribute(value, name)


def _tensor_attribute(site: Site, value: TensorValue, name: str) -> Value:
    if name == "shape":
        if value.kind in (TensorKind.NDARRAY, TensorKind.NUMPY_SCALAR):
            shape = value.type.shape
            return UNKNOWN if shape is None else _shape_tuple(ShapeValue(shape))
        return ShapeValue(value.type.shape, value.traced)
    if name == "dtype":
        return DTypeValue(value.type.dtype)
    return _library_instance_attribute(value, name)


def _shape_tuple(value: ShapeValue) -> Value:
    assert value.shape is not None
    return TupleValue(tuple(static_size_value(dim) for dim in value.shape))


def _library_instance_attribute(value: Value, name: str) -> Value:
    """An attribute of a value whose class is a library's (a tensor, a str, a dataset, a shape)."""
    owner = registry.class_of(value)
    if owner is None:
        return UNKNOWN
    return instance_attribute(owner, value, name)


def instance_attribute(owner: str, receiver: Value, name: str) -> Value:
    """Attribute `name` of an instance of the library class `owner`."""
    rule = registry.attribute_rule(owner, name)
    if rule is not None:
        return rule(receiver)
    canonical = registry.attribute(owner, name)
    if canonical is None:
        return UNKNOWN
    if registry.is_library_property(canonical):
        return UnknownValue()
    entity = registry.lookup(canonical)
    if entity is not None and entity.value is not None:
        return entity.value
    return BoundMethod(LibraryValue(canonical), receiver)


def _record_attribute(site: Site, value: TupleValue, name: str) -> Value:
    """An attribute of a named tuple that is not a field: a method of its class, or of named tuples."""
    if name == "_fields":
        return TupleValue(tuple(Constant(field) for field in value.fields))
    if name in ("_replace", "_asdict", "_make"):
        return BoundMethod(of_named_tuple(name), value)
    found = None if value.cls is None else find_in_class(site.frame, Reference(value.cls), name)
    if found is None or isinstance(found[1], LibraryValue):
        return instance_attribute(TUPLE, value, name)
    if is_property(found[0]):
        assert isinstance(found[0], PartialValue)
        return site.call(found[0].arguments[0], CallArguments((value,)))
    assert value.cls is not None
    return bind(site, found[0], value, Reference(value.cls))


def _of_function(engine: Code, value: FunctionValue, name: str) -> Target:
    """The place of an attribute of a function object, which outlives every call."""
    return Target(RootKind.GLOBAL, f"{engine.program.function(FunctionId(*value.function)).name}.{name}")


def _is_made_here(frame: Frame, value: FunctionValue) -> bool:
    return any(made.function == value.function and made.closure == value.closure for made in frame.made)


def _function_attribute(engine: Code, value: FunctionValue, name: str) -> Value:
    if name == "__name__" and value.hybrid is None and not value.wrappers:
        code = engine.program.function(FunctionId(*value.function))
        if code.kind is not FunctionKind.NESTED and not code.decorators:
            return Constant(code.name)  # a nested function may have that of another: `functools.wraps`
    if name in ("__name__", "__qualname__", "__doc__", "__module__"):
        return UNKNOWN_STR
    if name == "__wrapped__" and value.hybrid is None and not value.wrappers:
        return UNKNOWN  # with `functools.wraps` it belongs to another function
    if name in ("python_function", "__wrapped__"):
        return FunctionValue(value.function, value.closure, value.defaults, value.annotations, None, value.wrappers)
    if value.hybrid is not None and name in (
        "get_concrete_function",
        "experimental_get_tracing_count",
        "pretty_printed_signature",
    ):
        return BoundMethod(of_tf_function(name), value)
    return UNKNOWN


def _partial_attribute(value: PartialValue, name: str) -> Value:
    if name in ("setter", "getter", "deleter") and is_property(value):
        # `@x.setter`: applied to a function, it gives a property with that setter
        return PartialValue(of_property(name), (value,), ())
    if name == "func":
        return value.function
    return UNKNOWN


def _super_attribute(site: Site, value: SuperValue, name: str) -> Value:
    frame = site.frame
    receiver_class = class_of_instance(frame, value.receiver) or value.receiver
    results: list[Value] = []
    for candidate in members(receiver_class):
        found = find_in_class(frame, candidate, name, after=value.cls)
        if found is None and isinstance(value.cls, Reference):
            # the receiver's class is not known to derive from it: search after the class itself
            found = find_in_class(frame, value.cls, name, after=value.cls)
        if found is not None:
            results.append(bind(site, found[0], value.receiver, candidate))
        elif name in (
            "__init__",
            "__init_subclass__",
            "__setattr__",
            "__new__",
            "__getattribute__",
            "__repr__",
            "__str__",
            "__eq__",
        ):
            results.append(BoundMethod(of_object(name), value.receiver))
    return join_all(results) if results else UNKNOWN


def _object_attribute(site: Site, value: Reference, name: str) -> Value:
    engine, frame = site.engine, site.frame
    facts = engine.objects.facts[value.object]
    if facts.kind is ObjectKind.CLASS:
        return _class_attribute(site, value, name)
    if facts.container_class is not None:
        return instance_attribute(facts.container_class, value, name)
    own = frame.state.get((value.object, name))
    of_file = own
    own = None if own is None else attribute_set_from_loaded(site, own, name)
    frame.note_read(site.op, (value.object, name))
    cls = frame.state.get((value.object, CLASS))
    if name == "__class__":
        return UNKNOWN if cls is None else cls
    if name == "__dict__" and value.object not in frame.allocated:
        # all of its attributes: other code may set them between two calls
        written, target = site.written(site.op), Target(RootKind.UNKNOWN, "", ".__dict__", value.object)
        frame.add_effect(Effect(EffectKind.STATE_READ, target, written, site.place(), assumed=True))
    if name == "__dict__":
        return PartialValue(OBJECT_DICT, (value,), ())
    if own is not None and own != BOTTOM:
        set_here = filter_members(own, lambda member: member != UNBOUND)
        if own == set_here:
            return own
        if _is_only_any(frame, value, name, set_here) and _is_code(frame, cls, name):
            found = _through_class(site, value, cls, name)
            return set_here if found is None else found
        rest = _through_class(site, value, cls, name)
        if rest is None:
            return set_here
        if of_file is not None and own != of_file:
            of_file = filter_members(of_file, lambda member: member != UNBOUND)
            return set_from_loaded(site, of_file, name, rest) or join(set_here, rest)
        # if the program sets it, the attribute may not be that of the library's class
        return join(set_here, UNKNOWN if _is_taken_to_exist(rest) else rest)
    weight = weight_attribute(site, value, name)
    if weight is not None:
        return weight
    setting = layer_setting(frame, value, name)
    if setting is not None:
        return setting
    found = _through_class(site, value, cls, name)
    if found is not None:
        return found
    # attributes set by the constructor that the catalogue does not list
    rule = registry.attribute_rule(cls.name, name) if isinstance(cls, LibraryValue) else None
    if rule is not None:
        return thaw(site, rule(value), "attribute")
    end = end_of_model(site, value, name)
    if end is not None:
        return thaw(site, end, "attribute")
    if name == "__setattr__":
        return BoundMethod(of_object("__setattr__"), value)
    if value.object in engine.open_instances:
        return UnknownValue(reason=f"attribute {name} is not set in the program")
    return UnknownValue(reason=NO_ATTRIBUTE)


def _is_only_any(frame: Frame, value: Reference, name: str, held: Value) -> bool:
    """Whether an attribute is set only by assignments under unknown names."""
    written = frame.state.get((value.object, ANY_NAME))
    if written is None:
        return False
    any_name = members(join_all(each for start, each in written_to_any(written) if may_be_named(name, start)))
    is_open = any(isinstance(member, UnknownValue) for member in any_name)
    return all(member in any_name or (is_open and isinstance(member, UnknownValue)) for member in members(held))


def _is_code(frame: Frame, cls: Value | None, name: str) -> bool:
    """Whether the class has a method or property of that name; an unknown name is assumed to be a data attribute."""
    for candidate in () if cls is None else members(cls):
        found = find_in_class(frame, candidate, name)
        if found is not None and isinstance(found[0], FunctionValue | PartialValue | LibraryValue):
            return True
    return False


def _is_taken_to_exist(attribute: Value) -> bool:
    member = attribute.function if isinstance(attribute, BoundMethod) else attribute
    return isinstance(member, LibraryValue) and registry.is_taken_to_exist(member.name)


def _through_class(site: Site, value: Reference, cls: Value | None, name: str) -> Value | None:
    frame = site.frame
    if cls is None:
        return UNKNOWN
    results: list[Value] = []
    for candidate in members(cls):
        found = find_in_class(frame, candidate, name)
        extra = overriding(site, value, candidate, name)
        if found is None:
            results.extend(_bound_attribute(site, value, candidate, attribute) for attribute in extra)
            if not extra:
                getter = find_in_class(frame, candidate, "__getattr__")
                if getter is not None and not isinstance(getter[1], LibraryValue):
                    method = bind(site, getter[0], value, candidate)
                    results.append(site.call(method, CallArguments((Constant(name),))))
            continue
        _note_class_read(site, found, name)
        results.append(_bound_attribute(site, value, candidate, found[0]))
        results.extend(_bound_attribute(site, value, candidate, attribute) for attribute in extra)
    return join_all(results) if results else None


def _note_class_read(site: Site, found: tuple[Value, Value], name: str) -> None:
    """Records the read of a class's own data: other code may set it on the class."""
    attribute, owner = found
    if isinstance(owner, Reference) and not isinstance(attribute, FunctionValue | PartialValue | LibraryValue):
        site.frame.note_read(site.op, (owner.object, name))


def _bound_attribute(site: Site, value: Reference, cls: Value, attribute: Value) -> Value:
    if is_property(attribute):
        assert isinstance(attribute, PartialValue)
        getter = attribute.arguments[0]
        return site.call(getter, CallArguments((value,)))
    if isinstance(attribute, LibraryValue) and registry.is_library_property(attribute.name):
        kept = KEPT_FIELDS.get(attribute.name)
        if kept is not None:
            return _object_attribute(site, value, kept)
        weights = trainable_weights(site.engine, attribute.name)
        if weights is None:
            owner, _, name = attribute.name.rpartition(".")
            rule = registry.attribute_rule(owner, name)
            end = end_of_model(site, value, name) if rule is None else rule(value)
            found = UnknownValue() if end is None else end
        else:
            found = weights
        # a new list each time
        return thaw(site, found, "attribute")
    method = _descriptor_method(site, attribute, "__get__")
    if method is not None:
        return site.call(method, CallArguments((value, cls)))
    return bind(site, attribute, value, cls)


def _descriptor_method(site: Site, attribute: Value, name: str) -> Value | None:
    """The method `__get__` or `__set__` of a class attribute that is an instance of a class of the program; None if it
    has none.
    """
    if (
        not isinstance(attribute, Reference)
        or site.engine.objects.facts[attribute.object].kind is not ObjectKind.INSTANCE
    ):
        return None
    method = find_method(site, attribute, name)
    return None if method is None or is_library_function(method) else method


def _class_attribute(site: Site, value: Reference, name: str) -> Value:
    if name == "__name__":
        return Constant(site.engine.objects.facts[value.object].name)
    found = find_in_class(site.frame, value, name)
    if found is None or isinstance(found[0], LibraryValue):
        if name == "register":
            # an abstract class: other classes may be registered as its subclasses
            site.frame.state.set((value.object, VIRTUAL), TRUE)
    if found is None:
        return UnknownValue(reason=NO_ATTRIBUTE)
    _note_class_read(site, found, name)
    attribute = found[0]
    if isinstance(attribute, PartialValue):
        if attribute.function.__class__ is LibraryValue and attribute.function in (
            STATIC_METHOD,
            CLASS_METHOD,
        ):
            return bind(site, attribute, value, value)
        return attribute
    if isinstance(attribute, LibraryValue) and registry.binding(attribute.name) is registry.MethodBinding.CLASS:
        return BoundMethod(attribute, value)
    return attribute


def store_attribute(site: Site, op: Op) -> None:
    assert isinstance(op, ops.StoreAttribute)
    frame = site.frame
    if op.value is None:
        return
    target, value = frame.present(op.object), frame.value(op.value)
    set_attribute(site, target, op.name, value)
    array_given_form(site, op.object, op.name, value)


def set_attribute(site: Site, target: Value, name: str, value: Value) -> None:
    """`target.name = value`."""
    engine, frame = site.engine, site.frame
    alternatives = members(target)
    for member in alternatives:
        match member:
            case Reference() if name == "__dict__":
                engine.write_any_name(frame, member.object, "", UNKNOWN)
                write_effect(site, member.object, f".{ANY_NAME}", ".__dict__ = ...")
            case Reference():
                cls = class_of_instance(frame, member)
                setter = None
                for candidate in () if cls is None else members(cls):
                    found = find_in_class(frame, candidate, name)
                    if found is not None and is_property(found[0]):
                        assert isinstance(found[0], PartialValue)
                        setter = dict(found[0].keywords).get("fset")
                    elif found is not None:
                        setter = _descriptor_method(site, found[0], "__set__")
                if setter is not None:
                    site.call(setter, CallArguments((member, value)))
                    continue
                is_hooked = _call_hook(site, member, cls, name, value)
                key = (member.object, name)
                if is_known_variable(value) and is_same_variable(frame.state.get(key), value):
                    continue
                engine.unsettle(key)
                if len(alternatives) > 1 or is_hooked:
                    known = frame.state.get(key)
                    frame.state.set(key, value if known is None else join(known, value))
                else:
                    engine.write(frame, key, value)
                setting_given_later(frame, member, name)
                kept = member.object not in frame.allocated and holds_new_tensor(site, value)
                write_effect(site, member.object, f".{name}", f".{name} = ...", keeps_tensor=kept)
            case ModuleValue():
                number = engine.loader.object_of(member.name)
                engine.unsettle((number, name))
                known = frame.state.get((number, name))
                frame.state.set((number, name), value if known is None else join(known, value))
                engine.loader.note_name(member.name, name)
                write_effect(site, number, f".{name}", f"{member.name}.{name} = ...")
            case UnknownValue():
                note_changed(site, member, Constant(name))
                effect = Effect(
                    EffectKind.STATE_WRITE, unknown_target(member), f".{name} = ...", site.place(), assumed=True
                )
                frame.add_effect(effect)
            case LibraryValue():
                external_effect(site, EffectKind.STATE_WRITE, f"{member.name}.{name} = ...")
            case FunctionValue() if _is_made_here(frame, member):
                # objects created in this call are local to it, or are its result
                continue
            case FunctionValue():
                # attributes of functions have no place in the heap: reads of them are unknown
                frame.add_effect(
                    Effect(
                        EffectKind.STATE_WRITE,
                        _of_function(engine, member, name),
                        f".{name} = ...",
                        site.place(),
                    )
                )
            case Constant(EnumMember() as held):
                place = Target(RootKind.GLOBAL, f"{held.name}.{name}")
                frame.add_effect(Effect(EffectKind.STATE_WRITE, place, f".{name} = ...", site.place()))
            case _:
                # a setter of a library object (a tensor, an optimizer's learning rate), which has no Python side
                # effect here
                continue


def _call_hook(site: Site, target: Reference, cls: Value | None, name: str, value: Value) -> bool:
    """Runs the program's `__setattr__` of an object; returns False if its class has none."""
    is_hooked = False
    for candidate in () if cls is None else members(cls):
        hook = find_in_class(site.frame, candidate, "__setattr__")
        if hook is not None and isinstance(hook[0], FunctionValue):
            site.call(bind(site, hook[0], target, candidate), CallArguments((Constant(name), value)))
            is_hooked = True
    return is_hooked


def delete_attribute(site: Site, op: Op) -> None:
    assert isinstance(op, ops.DeleteAttribute)
    engine, frame = site.engine, site.frame
    alternatives = members(frame.present(op.object))
    for member in alternatives:
        if isinstance(member, Reference):
            key = (member.object, op.name)
            engine.unsettle(key)
            known = frame.state.get(key)
            if len(alternatives) > 1 and known is not None:
                frame.state.set(key, join(known, UNBOUND))
            else:
                engine.write(frame, key, UNBOUND)
            write_effect(site, member.object, f".{op.name}", f"del .{op.name}")
        elif isinstance(member, UnknownValue):
            effect = Effect(
                EffectKind.STATE_WRITE, unknown_target(member), f"del .{op.name}", site.place(), assumed=True
            )
            frame.add_effect(effect)


HANDLERS: dict[type[Op], OpHandler] = {
    ops.LoadAttribute: load_attribute,
    ops.StoreAttribute: store_attribute,
    ops.DeleteAttribute: delete_attribute,
}
