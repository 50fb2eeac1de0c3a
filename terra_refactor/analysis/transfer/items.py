"""Reading, assigning and deleting items: `x[i]`, `x[i] = y`, `del x[i]`.

Computes: items of sequences, dicts, tensors and shapes; changed contents. Needs: the heap. Gives: handlers for `containers`, `item_of`.
"""

from __future__ import annotations

from terra_refactor.analysis.classes import find_in_class, find_method, is_library_function, owner_of_attributes
from terra_refactor.analysis.effects import external_effect, unknown_target, write_effect
from terra_refactor.analysis.engine import Site
from terra_refactor.analysis.facts import ObjectKind
from terra_refactor.analysis.frames import CallArguments, Frame
from terra_refactor.analysis.freezing import freeze
from terra_refactor.analysis.library_rules import over_combinations
from terra_refactor.analysis.transfer import mappings
from terra_refactor.analysis.transfer.allocation import COUNTER, new_list
from terra_refactor.analysis.transfer.arrays import array_changed
from terra_refactor.analysis.transfer.attribute_dicts import item_of_attributes, set_named
from terra_refactor.analysis.transfer.contents import one_of_many
from terra_refactor.analysis.transfer.data_files import array_of_archive
from terra_refactor.analysis.transfer.enumerations import is_named, members_in
from terra_refactor.analysis.transfer.iteration import iterate, python_slice, shape_item
from terra_refactor.analysis.transfer.kept_tensors import holds_new_tensor
from terra_refactor.analysis.transfer.loaded_numbers import (
    environment_variable,
    item_of_loaded,
    note_changed,
    note_environment_changed,
    note_ini_changed,
    section_of_ini,
)
from terra_refactor.analysis.transfer.special_methods import as_index, run_hash
from terra_refactor.analysis.transfer.windows import moving_window, of_window, without_first
from terra_refactor.domain.effect import Effect, EffectKind
from terra_refactor.domain.lattice import (
    join,
    join_all,
    list_element,
)
from terra_refactor.domain.state import DEFAULT_FACTORY, EXISTS, ITEMS
from terra_refactor.domain.value import (
    BOTTOM,
    FALSE,
    NONE,
    UNBOUND,
    UNKNOWN,
    UNKNOWN_INT,
    UNKNOWN_STR,
    Constant,
    DatasetValue,
    FrozenDict,
    FrozenList,
    LibraryValue,
    ModuleValue,
    Origin,
    PartialValue,
    PythonType,
    RangeValue,
    Reference,
    Scalar,
    SequenceValue,
    ShapeValue,
    SliceValue,
    TensorKind,
    TensorValue,
    TupleValue,
    UnknownValue,
    Value,
    members,
    of_release,
    speaks_of_release,
)
from terra_refactor.ir import ops
from terra_refactor.ir.ids import OpId
from terra_refactor.ir.ops import Op
from terra_refactor.tf_model.class_names import ENVIRONMENT, MODULES
from terra_refactor.tf_model.numpy_api.files import LOADED, array_in
from terra_refactor.tf_model.numpy_api.index_objects import index_object
from terra_refactor.tf_model.ops.operators import index_rule
from terra_refactor.tf_model.shape_rules.indexing import refuse_float_index


def load_item(site: Site, op: Op) -> Value:
    assert isinstance(op, ops.LoadItem)
    frame = site.frame
    container, index = frame.present(op.object), frame.value(op.index)
    if all(
        isinstance(member, TupleValue | SequenceValue | TensorValue) or _is_list(site, member)
        for member in members(container)
    ):
        index = as_index(site, index)
    if container == MODULES and (module := _imported(site, op.index)) is not None:
        return module
    window = moving_window(site, op.object, op.index)
    if window is not None and isinstance(container, TensorValue):
        container, index = of_window(container, window), without_first(index)
    combinations = [(member, part) for member in members(container) for part in members(index)]
    return over_combinations(site, "[]", combinations, lambda pair: item_of(site, pair[0], pair[1]))


def _is_list(site: Site, value: Value) -> bool:
    return isinstance(value, Reference) and site.engine.objects.facts[value.object].kind is ObjectKind.LIST


def _imported(site: Site, index: OpId) -> ModuleValue | None:
    """The module of the repository for `sys.modules[index]`; `__name__` is the name of the module that contains the code."""
    written, value, loader = site.operation(index), site.frame.value(index), site.engine.loader
    if isinstance(written, ops.LoadName) and written.name == "__name__" and written.scope is ops.Scope.GLOBAL:
        return ModuleValue(site.frame.function.id.module)
    if isinstance(value, Constant) and isinstance(value.value, str) and loader.is_module(value.value):
        return ModuleValue(value.value)
    return None


def item_of(site: Site, container: Value, index: Value) -> Value:
    """`container[index]` for one alternative of each. Raises OperationError if it certainly fails."""
    frame = site.frame
    if isinstance(container, TensorValue | TupleValue) or _is_list(site, container):
        refuse_float_index(index)
    match container:
        case ShapeValue():
            return shape_item(container, index)
        case TensorValue():
            if container.kind is not TensorKind.NDARRAY:
                site.engine.note_usage(index, frame)
            return index_rule(container, freeze(frame, index))
        case TupleValue():
            return _sequence_item(site, container.elements, index, as_tuple=True)
        case SequenceValue():
            return (
                SequenceValue(container.element, container.kind) if isinstance(index, SliceValue) else container.element
            )
        case Constant(str() as text) if (known := _part_of_text(text, index)) is not None:
            return Constant(known)
        case Constant(str()) | Scalar(PythonType.STR):
            return of_release(UNKNOWN_STR) if speaks_of_release(container) else UNKNOWN_STR
        case RangeValue():
            return UNKNOWN_INT if not isinstance(index, SliceValue) else container
        case Reference():
            return _object_item(site, container, index)
        case PartialValue() if (owner := owner_of_attributes(container)) is not None:
            return item_of_attributes(site, owner, index)
        case UnknownValue() if container.origin == LOADED:
            return array_in(index) or UNKNOWN
        case UnknownValue() if (item := item_of_loaded(site, container, index)) is not None:
            return item
        case UnknownValue() if (array := array_of_archive(site, container, index)) is not None:
            return array
        case UnknownValue() if isinstance(index, SliceValue) and container.origin is not None:
            # a slice of a list is a new list, a slice of an array is a view
            return UnknownValue(container.may_be_tensor, Origin("call", f"{container.origin.name}[:]"))
        case UnknownValue():
            return UnknownValue(container.may_be_tensor, container.origin)
        case LibraryValue():
            made = index_object(container.name, freeze(frame, index))
            if made is not None:
                return made
            if container.name == ENVIRONMENT:
                external_effect(site, EffectKind.TIME, "os.environ[...]")
                return environment_variable(site, index) or UNKNOWN_STR
            # a generic such as `Optional[int]`, or a class's `__class_getitem__`
            arguments = index.elements if isinstance(index, TupleValue) else (index,)
            return PartialValue(container, arguments, ())
        case PartialValue():
            return container
        case DatasetValue():
            return UNKNOWN
        case _:
            return BOTTOM if container in (NONE, UNBOUND) else UNKNOWN


def _sequence_item(site: Site, elements: tuple[Value, ...], index: Value, *, as_tuple: bool) -> Value:
    if isinstance(index, Constant) and type(index.value) in (int, bool):
        position = int(index.value)  # type: ignore[arg-type]
        if -len(elements) <= position < len(elements):
            return elements[position]
        if not as_tuple:
            _contradict(site.frame)
        return UNKNOWN
    if isinstance(index, SliceValue):
        known = python_slice(index)
        if known is not None:
            part = elements[known]
            if as_tuple:
                return TupleValue(part)
            return new_list(site, FrozenList(part))
        element = join_all(elements)
        return SequenceValue(element) if as_tuple else new_list(site, FrozenList(None, element))
    return one_of_many(site.frame, join_all(elements), elements) if elements else UNKNOWN


def _contradict(frame: Frame) -> None:
    """The item is missing from a list or dict that other code may fill, so results that depend on the content are uncertain."""
    frame.conditions += 1


def _part_of_text(text: str, index: Value) -> str | None:
    """A character or slice of a known string; None if the index is unknown."""
    if isinstance(index, SliceValue):
        known = python_slice(index)
        return None if known is None else text[known]
    if isinstance(index, Constant) and type(index.value) is int and -len(text) <= index.value < len(text):
        return text[index.value]
    return None


def _object_item(site: Site, container: Reference, index: Value) -> Value:
    frame = site.frame
    content = frame.state.get((container.object, ITEMS))
    frame.note_read(site.op, (container.object, ITEMS))
    if isinstance(content, FrozenList):
        if content.elements is not None:
            return _sequence_item(site, content.elements, index, as_tuple=False)
        if isinstance(index, SliceValue):
            known = python_slice(index)
            length = (
                len(range(content.length)[known]) if known is not None and isinstance(content.length, int) else None
            )
            return new_list(site, FrozenList(None, content.element, length))
        element = list_element(content)
        return element if element != BOTTOM else UNKNOWN
    facts = site.engine.objects.facts[container.object]
    if isinstance(content, FrozenDict):
        run_hash(site, index, mappings.dict_keys_of(content))
        factory = frame.state.get((container.object, DEFAULT_FACTORY))
        if factory is not None and not mappings.has_item(content, index):
            return _made_item(site, container, index, factory)
        if facts.name == COUNTER and not mappings.has_item(content, index):
            # what is not counted yet is 0, and not stored
            return join(mappings.known_item(content, index), Constant(0))
        if mappings.known_item(content, index) == BOTTOM:
            _contradict(frame)
        return one_of_many(frame, mappings.dict_item(content, index), (item for _, item in content.items))
    if facts.kind is ObjectKind.CLASS:
        if (found := members_in(frame, container)) is not None:
            return join_all(each for each in found if is_named(each, index))
        getter = find_in_class(frame, container, "__class_getitem__")
        return container if getter is None else site.call(getter[0], CallArguments((container, index)))
    section = section_of_ini(site, container, index)
    if section is not None:
        return section
    method = find_method(site, container, "__getitem__")
    if method is None:
        return UNKNOWN
    result = site.call(method, CallArguments((index,)))
    missing = find_method(site, container, "__missing__") if is_library_function(method) else None
    if missing is None or is_library_function(missing):
        return result
    # a subclass of dict calls its own `__missing__` for keys that are absent
    return join(result, site.call(missing, CallArguments((index,))))


def _made_item(site: Site, container: Reference, index: Value, factory: Value) -> Value:
    """An item of a `defaultdict` that may be missing: then the factory creates it, and the dict stores it."""
    frame = site.frame
    made = site.call(factory, CallArguments(()))
    # read only now: objects that the factory created here before have been renamed since
    content = frame.state.get((container.object, ITEMS))
    assert isinstance(content, FrozenDict)
    known = mappings.known_item(content, index)
    value = join(known, made)
    frame.state.set((container.object, ITEMS), mappings.with_item(content, index, value, single=known == BOTTOM))
    write_effect(site, container.object, ITEMS, "[...] makes a missing item")
    return value


def store_item(site: Site, op: Op) -> None:
    assert isinstance(op, ops.StoreItem)
    frame = site.frame
    container, index, value = frame.present(op.object), frame.value(op.index), frame.value(op.value)
    alternatives = members(container)
    for member in alternatives:
        owner = owner_of_attributes(member)
        if owner is not None:
            set_named(site, owner, index, value, site.written(site.op), op.index)
        elif isinstance(member, Reference):
            _store_into(site, member, index, value, certain=len(alternatives) == 1)
        elif isinstance(member, UnknownValue):
            note_changed(site, member, index)
            effect = Effect(
                EffectKind.STATE_WRITE,
                unknown_target(member),
                f"{site.written(op.object)}[...] = ...",
                site.place(),
                assumed=True,
            )
            frame.add_effect(effect)
        elif isinstance(member, TensorValue) and member.kind is TensorKind.NDARRAY:
            # arrays have no identity here, so it is unknown whether other code refers to this one
            if not array_changed(site, op.object) and not _is_made_here(site, op.object):
                detail = f"{site.written(op.object)}[...] = ... on an array"
                effect = Effect(EffectKind.STATE_WRITE, unknown_target(member), detail, site.place(), assumed=True)
                frame.add_effect(effect)
        elif isinstance(member, LibraryValue):
            external_effect(site, EffectKind.INPUT_OUTPUT, f"{member.name}[...] = ...")
            if member.name == ENVIRONMENT:
                note_environment_changed(site, index)


def _is_made_here(site: Site, number: int) -> bool:
    """Whether an array is held only by a local variable that is not a parameter (or is the direct result of a call), so
    that changes stay local.
    """
    op = site.operation(number)
    if isinstance(op, ops.LoadName):
        return op.scope is ops.Scope.LOCAL and op.name not in site.frame.parameters
    return isinstance(op, ops.Call)


def _store_into(site: Site, container: Reference, index: Value, value: Value, *, certain: bool) -> None:
    frame = site.frame
    key = (container.object, ITEMS)
    content = frame.state.get(key)
    single = certain and frame.state.get((container.object, EXISTS)) != FALSE
    kept = container.object not in frame.allocated and holds_new_tensor(site, value)
    if isinstance(content, FrozenList):
        new: Value
        position = index.value if isinstance(index, Constant) else None
        if (
            content.elements is not None
            and type(position) is int
            and -len(content.elements) <= position < len(content.elements)
        ):
            elements = list(content.elements)
            elements[position] = value if single else join(elements[position], value)
            new = FrozenList(tuple(elements))
        elif isinstance(index, SliceValue):
            spread = iterate(site, value)
            new = FrozenList(None, join(list_element(content), spread.element))
        else:
            element = join(list_element(content), value)
            new = FrozenList(None, element)
            if content.elements is not None:
                new = FrozenList(tuple(join(old, value) for old in content.elements))
        frame.state.set(key, new)
        write_effect(site, container.object, ITEMS, "[...] = ...", keeps_tensor=kept)
        return
    if isinstance(content, FrozenDict):
        frame.state.set(key, mappings.with_item(content, index, value, single=single))
        write_effect(site, container.object, ITEMS, "[...] = ...", keeps_tensor=kept)
        return
    method = find_method(site, container, "__setitem__")
    if method is not None and not is_library_function(method):
        site.call(method, CallArguments((index, value)))
    else:
        note_ini_changed(site, container)
        write_effect(site, container.object, ITEMS, "[...] = ...", keeps_tensor=kept)


def delete_item(site: Site, op: Op) -> None:
    assert isinstance(op, ops.DeleteItem)
    frame = site.frame
    container, index = frame.present(op.object), frame.value(op.index)
    for member in members(container):
        if isinstance(member, Reference):
            key = (member.object, ITEMS)
            content = frame.state.get(key)
            if isinstance(content, FrozenList):
                frame.state.set(key, FrozenList(None, list_element(content)))
            elif isinstance(content, FrozenDict):
                single = len(members(container)) == 1 and frame.state.get((member.object, EXISTS)) != FALSE
                frame.state.set(key, mappings.without_item(content, index, single=single))
            write_effect(site, member.object, ITEMS, "del ...[...]")
        elif isinstance(member, UnknownValue):
            note_changed(site, member, index)
            frame.add_effect(
                Effect(
                    EffectKind.STATE_WRITE,
                    unknown_target(member),
                    f"del {site.written(op.object)}[...]",
                    site.place(),
                    assumed=True,
                )
            )
