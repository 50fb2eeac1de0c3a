"""Numbers of configuration files and of the environment: JSON, YAML, TOML, INI files, `os.environ`.

Computes: a name for each loaded item, so that an item is the same size wherever it is read. A loaded value may be anything; it is an int
only if it is used as a size (`UnknownValue.number`), and then at least 1. If the file is among the given paths, its present number is the
default. Needs: the heap, which holds later writes into the loaded mapping; the code, to decide whether a file is loaded once. Gives:
`LOADED_NUMBERS`, by canonical name, and functions for items, attributes and methods of loaded mappings. Ignores: writes by unknown
functions.
"""

from __future__ import annotations

import ast
import configparser
import json
from collections.abc import Callable
from typing import Final

from terra_refactor.analysis.data_contents import tree_of
from terra_refactor.analysis.engine import Code, Site
from terra_refactor.analysis.frames import CallArguments
from terra_refactor.analysis.transfer.allocation import thaw
from terra_refactor.analysis.transfer.command_line import is_size
from terra_refactor.analysis.transfer.data_files import file_at
from terra_refactor.domain.dim import KEPT_MARK, SymbolicDim, loaded, loaded_name
from terra_refactor.domain.lattice import join, join_all, python_type
from terra_refactor.domain.state import ITEMS
from terra_refactor.domain.value import (
    LOADED_ITEM,
    NONE,
    TRUE,
    UNKNOWN,
    UNKNOWN_BOOL,
    UNKNOWN_FLOAT,
    UNKNOWN_INT,
    UNKNOWN_STR,
    Constant,
    FrozenDict,
    FrozenList,
    ObjectId,
    Origin,
    PythonType,
    Reference,
    Scalar,
    SequenceValue,
    TupleValue,
    UnknownValue,
    Value,
    members,
)
from terra_refactor.ir import ops
from terra_refactor.ir.function import Function, FunctionKind
from terra_refactor.ir.ids import OpId
from terra_refactor.tf_model.class_names import ENVIRONMENT
from terra_refactor.tf_model.interpreted import Interpreted, by_name
from terra_refactor.tf_model.name_table import words

_STEP: Final = "\t"
"""Separates the module, the operation and the keys of a source."""
_NAME: Final = "\n"
_DEFAULT: Final = "\r"
"""Separates a key from the default for a missing item."""
_MOST_KEYS: Final = 6
"""Maximum nesting of named items: an item of a tree that is searched in a loop has no name."""
_CHANGED: Final = "@changed "
"""Prefix of the fields, in the module that loads a file, that record later writes into the loaded mapping."""
_ANY: Final = "*"
_LENGTH: Final = "len()"
"""The key for the number of items."""
_DEEP: Final = "**"
_FILE: Final = "\v"
"""Prefix of the loaded data file in the second component of a source."""
_SOURCE: Final = "@source"
"""Field of a `ConfigParser`: the name of the file that it has read, or its content."""
_OF_INI: Final = (".ini", ".cfg", ".conf")
_MOST: Final = 10**9
_MOST_PARTS: Final = 400
"""Maximum number of parts of a known loaded text."""


# --- which file ---------------------------------------------------------------------------------------------------------------------


def _source(site: Site, given: Value | None = None) -> str | None:
    """A name for the content that the operation loads from a path, an open file or a text; None if it may load several in one run."""
    place = site.frame.function.id
    file = file_at(site, given)
    name = _STEP.join((place.module, f"{place.index}.{site.op}"))
    if _runs_once(site):
        return name if file is None else f"{name}{_FILE}{file}"
    if file is not None:
        # several calls that load one file load the same content
        return _STEP.join((place.module, f"{_FILE}{file}"))
    # several calls, each with its own constant path: each loads one file
    texts = [value.value for value in site.frame.parameters.values() if isinstance(value, Constant)]
    texts = [text for text in texts if isinstance(text, str)]
    return f"{name} {texts!r}" if texts and not _is_in_loop(site.engine, site.frame.function, site.op) else None


def _is_in_loop(engine: Code, function: Function, op: OpId) -> bool:
    return any(first < op <= last for first, last in engine.code.loops_of(function))


def _runs_once(site: Site) -> bool:
    """Whether the operation runs once in a run of the program, judged by the names through which its function is called."""
    function, op = site.frame.function, site.op
    seen = set()
    while function.id not in seen and not _is_in_loop(site.engine, function, op):
        if function.kind is FunctionKind.MODULE:
            return True
        seen.add(function.id)
        callers = _callers(site.engine, function)
        if not callers:
            return callers is not None and function.kind in (FunctionKind.FUNCTION, FunctionKind.METHOD)
        if len(callers) > 1:
            return False
        function, op = callers[0]
    return False


def _callers(engine: Code, function: Function) -> list[tuple[Function, OpId]] | None:
    """The operations that call a function by its name, or by that of its class; None if it is referred to in another way."""
    name = function.name
    if name.startswith("__") and function.parent is not None:
        name = engine.code_of(function.parent).name
    found: list[tuple[Function, OpId]] = []
    for module in engine.program.modules.values():
        for code in module.functions:
            if name not in engine.names.of(code).mentioned:
                continue
            index = engine.code.index(code)
            called = {call.function: call.id for call in index.of_kind(ops.Call)}
            loads: tuple[ops.LoadName | ops.LoadAttribute, ...] = (
                *index.of_kind(ops.LoadName),
                *index.of_kind(ops.LoadAttribute),
            )
            for load in loads:
                if load.name == name:
                    call = called.get(load.id)
                    if call is None:
                        return None
                    found.append((code, call))
    return found


# --- items --------------------------------------------------------------------------------------------------------------------------


def is_loaded(value: Value) -> bool:
    """Whether a value is the content of a file, or an item of it."""
    return isinstance(value, UnknownValue) and loaded_name(value.number) is not None


def _named(site: Site, source: str, name: str = "", least: int = 1) -> UnknownValue:
    return UnknownValue(may_be_tensor=False, number=_number(site, source, name, least))


def _number(site: Site, source: str, name: str, least: int = 1) -> SymbolicDim:
    """The number at a place in a file; with its present value, if the file is among the given paths."""
    held = _held(site, source)
    if isinstance(held, str) and held.isdecimal() and len(held) < 10:
        held = int(held)
    if type(held) is not int or not 1 <= held <= _MOST:
        return loaded(source, name, least)
    file = source.split(_STEP)[1].partition(_FILE)[2]
    return loaded(source, name, min(least, held), held, file)


def _held(site: Site, source: str) -> object:
    """The content of a data file at a place; None if there is no such file or place."""
    steps = source.split(_STEP)
    file = steps[1].partition(_FILE)[2] if len(steps) > 1 else ""
    data = site.engine.program.data.get(file) if file else None
    held = None if data is None else tree_of(file, data)
    for step in steps[2:]:
        written, is_kept, _ = step.partition(KEPT_MARK)
        key, has_default, default = written.partition(_DEFAULT)
        if is_kept or held is None:
            return None
        if key == _LENGTH:
            return len(held) if isinstance(held, dict | list | str) else None
        wanted = ast.literal_eval(key)
        if isinstance(held, dict):
            lower = wanted.lower() if isinstance(wanted, str) else wanted
            missing = ast.literal_eval(default) if has_default else None
            held = held.get(wanted, held.get(lower, missing) if file.endswith(_OF_INI) else missing)
        else:
            held = (
                held[wanted]
                if isinstance(held, list) and type(wanted) is int and -len(held) <= wanted < len(held)
                else None
            )
    return held


def _key_of(index: Value) -> str | int | None:
    return index.value if isinstance(index, Constant) and type(index.value) in (str, int) else None  # type: ignore[return-value]


def item_of_loaded(site: Site, container: Value, index: Value, default: Value | None = None) -> Value | None:
    """`container[index]`, or `default` if it is missing, of loaded content; None if it is unknown."""
    known = loaded_name(container.number) if isinstance(container, UnknownValue) else None
    key = _key_of(index)
    if known is None or known[0].count(_STEP) > _MOST_KEYS:
        return None
    if key is None:
        return each_item(container) if python_type(index) is PythonType.STR or isinstance(index, UnknownValue) else None
    source, shown = f"{known[0]}{_STEP}{key!r}", f"{known[1]}.{key}" if known[1] else str(key)
    if _is_changed(site, known[0], repr(key)):
        return None
    held = _held(site, source) if site.engine.program.usual else None
    if isinstance(held, str):
        return Constant(held)
    if default is None or default == NONE:
        return _named(site, source, shown)
    content = site.frame.state.get((default.object, ITEMS)) if isinstance(default, Reference) else None
    if content == FrozenDict(()):
        return _named(site, f"{source}{_DEFAULT}{{}}", shown)
    if not isinstance(default, Constant):
        return None
    return _named(site, f"{source}{_DEFAULT}{default.value!r}", shown, 2 if is_size(_as_number(default)) else 1)


def length_of_loaded(site: Site, container: Value) -> Value | None:
    """`len(container)` of loaded content: one number, as long as nothing is written into it."""
    known = loaded_name(container.number) if isinstance(container, UnknownValue) else None
    if known is None or _is_changed(site, known[0], _LENGTH):
        return None
    shown = f"len({known[1]})" if known[1] else "length"
    return Scalar(PythonType.INT, _number(site, f"{known[0]}{_STEP}{_LENGTH}", shown))


def _as_number(value: Value) -> Value:
    """The int that a string represents."""
    text = value.value if isinstance(value, Constant) else None
    return Constant(int(text)) if isinstance(text, str) and text.isdecimal() and len(text) < 10 else value


def each_item(container: Value) -> Value | None:
    """An item of a loaded mapping under an unknown key."""
    known = loaded_name(container.number) if isinstance(container, UnknownValue) else None
    return None if known is None else UnknownValue(False, Origin(LOADED_ITEM, _NAME.join(known)))


def _mapping_of(site: Site, item: Value) -> UnknownValue | None:
    """The mapping of which a value is an item under an unknown key."""
    if not isinstance(item, UnknownValue) or item.origin is None or item.origin.root != LOADED_ITEM:
        return None
    source, _, shown = item.origin.name.partition(_NAME)
    return _named(site, source, shown)


def attribute_set_from_loaded(site: Site, held: Value, name: str) -> Value:
    """The value of an attribute `name` that was set to the item with this name in a loaded mapping."""
    if not any(_mapping_of(site, member) for member in members(held)):
        return held
    return join_all(
        member
        if (mapping := _mapping_of(site, member)) is None
        else item_of_loaded(site, mapping, Constant(name)) or UNKNOWN
        for member in members(held)
    )


def set_from_loaded(site: Site, item: Value, name: str, held: Value) -> Value | None:
    """An attribute with value `held` after items of a loaded mapping were set under their own names; None if unknown."""
    mapping = _mapping_of(site, item)
    found = None if mapping is None else item_of_loaded(site, mapping, Constant(name))
    known = loaded_name(found.number) if isinstance(found, UnknownValue) else None
    if known is None:
        return None
    before = loaded_name(held.number) if isinstance(held, UnknownValue) else None
    if before is not None and before[0].startswith(f"{known[0]}{KEPT_MARK}"):
        return held
    if not isinstance(held, Constant) or type(held.value) is not int:
        return None
    return _named(site, f"{known[0]}{KEPT_MARK}{held.value!r}", known[1], 2 if is_size(held) else 1)


def items_of_loaded(container: Value) -> Value | None:
    """`container.items()`."""
    item = each_item(container)
    return None if item is None else SequenceValue(TupleValue((UNKNOWN_STR, item)), "dict_items")


def unpacked_from_loaded(site: Site, container: Value, count: int) -> tuple[Value, ...] | None:
    """The items of a loaded list of known length."""
    items = [item_of_loaded(site, container, Constant(position)) for position in range(count)]
    return None if None in items else tuple(item for item in items if item is not None)


def attribute_of_loaded(site: Site, container: Value, name: str) -> Value | None:
    """`container.name` of loaded content: its item of that name, unless containers have such a method."""
    return None if name.startswith("_") or name in _METHODS else item_of_loaded(site, container, Constant(name))


# --- writes into loaded content -----------------------------------------------------------------------------------------------------


def _place(site: Site, source: str, key: str) -> tuple[ObjectId, str]:
    """The field that records whether an item has changed."""
    steps = source.split(_STEP)
    module = steps[0] if steps[0] in site.engine.program.modules else next(iter(site.engine.program.modules))
    path = _STEP.join(step.partition(_DEFAULT)[0] for step in (*steps, key))
    return site.engine.loader.object_of(module), f"{_CHANGED}{path}"


def _is_changed(site: Site, source: str, key: str) -> bool:
    steps = source.split(_STEP)
    places = [_place(site, source, key), _place(site, source, _ANY)]
    places += [_place(site, _STEP.join(steps[:count]), _DEEP) for count in range(1, len(steps) + 1)]
    return any(site.frame.state.get(place) is not None for place in places)


def note_changed(site: Site, container: Value, index: Value | None, *, deep: bool = False) -> None:
    """Records a write into loaded content: under that key, or under any."""
    known = loaded_name(container.number) if isinstance(container, UnknownValue) else None
    if known is not None:
        key = None if index is None else _key_of(index)
        _change(site, known[0], _DEEP if deep else _ANY if key is None else repr(key))
        _change(site, known[0], _LENGTH)


def note_environment_changed(site: Site, index: Value) -> None:
    """`os.environ[index] = ...`."""
    key = _key_of(index)
    _change(site, ENVIRONMENT, _ANY if key is None else repr(key))


def _change(site: Site, source: str, key: str) -> None:
    place = _place(site, source, key)
    site.engine.unsettle(place)
    site.frame.state.set(place, TRUE)


# --- methods ------------------------------------------------------------------------------------------------------------------------

_READING: Final = frozenset({"get", "getint"})
_CHANGING: Final = words("pop popitem setdefault update clear append extend insert remove sort reverse")
_METHODS: Final = _CHANGING | words(
    "get getint getfloat getboolean items keys values copy index count split strip lower upper format join startswith endswith replace "
    "shape dtype"
)


def method_of_loaded(site: Site, container: Value, name: str, arguments: CallArguments) -> Value | None:
    """`container.name(...)` of loaded content; None if the result is unknown. Records its changes."""
    if not is_loaded(container):
        return None
    key = arguments.positional[0] if arguments.positional else None
    keywords = dict(arguments.keywords)
    second = arguments.positional[1] if len(arguments.positional) > 1 else None
    default = second or keywords.get("default") or keywords.get("fallback")
    found = items_of_loaded(container) if name == "items" and not arguments.positional else None
    if key is not None and (name in _READING or name in _PARSING or name == "pop"):
        found = item_of_loaded(site, container, key, default)
    if name in _PARSING and isinstance(found, Constant):
        found = _parsed(name, found)
    if name == "getint" and isinstance(found, UnknownValue):
        found = Scalar(PythonType.INT, found.number)
    if name in _CHANGING or name not in _METHODS:
        note_changed(site, container, key if name == "pop" else None, deep=name not in _METHODS)
    return found


_PARSING: Final[dict[str, Callable[[str], object]]] = {
    "getint": int,
    "getfloat": float,
    "getboolean": lambda text: configparser.ConfigParser.BOOLEAN_STATES[text.lower()],
}


def _parsed(method: str, text: Constant) -> Value:
    """The value to which a method of an INI section converts a string."""
    try:
        made = _PARSING[method](str(text.value))
    except (ValueError, LookupError):
        return UNKNOWN
    return Constant(made) if isinstance(made, int | float) else UNKNOWN


# --- origins of loaded content ------------------------------------------------------------------------------------------------------


def _load(site: Site, arguments: CallArguments, receiver: Value | None) -> Value | None:
    given = arguments.positional[0] if arguments.positional else None
    content = _as_it_stands(site, given)
    if content is not None:
        return thaw(site, content, "loaded")
    source = _source(site, given)
    return None if source is None else _named(site, source)


def _as_it_stands(site: Site, given: Value | None) -> Value | None:
    """The present content of a file; only in the analysis of the default run."""
    program = site.engine.program
    file = file_at(site, given) if program.usual else None
    tree = None if file is None else tree_of(file, program.data[file])
    return None if tree is None else _frozen(tree, [_MOST_PARTS])


def _load_text(read: Callable[[str], object]) -> Callable[[Site, CallArguments, Value | None], Value | None]:
    def load(site: Site, arguments: CallArguments, receiver: Value | None) -> Value | None:
        given = arguments.positional[0] if arguments.positional else None
        keywords = {name for name, _ in arguments.keywords}
        if len(arguments.positional) == 1 and keywords <= {"Loader"} and isinstance(given, Constant):
            try:
                content = _frozen(read(str(given.value)), [_MOST_PARTS])
            except (ValueError, RecursionError):
                return None
            return None if content is None else thaw(site, content, "loaded")
        return _load(site, arguments, receiver)

    return load


def _tree_of_text(ending: str) -> Callable[[str], object]:
    def read(text: str) -> object:
        tree = tree_of(f"text{ending}", text.encode())
        if tree is None:
            raise ValueError(f"no {ending} text")
        return tree

    return read


def _frozen(value: object, left: list[int]) -> Value | None:
    """Content of a known text; None if it has too many parts."""
    left[0] -= 1
    if left[0] < 0:
        return None
    match value:
        case dict():
            items = [(Constant(key), _frozen(item, left)) for key, item in value.items() if isinstance(key, str | int)]
            known = tuple((key, item) for key, item in items if item is not None)
            return FrozenDict(known) if len(known) == len(value) else None
        case list():
            elements = [_frozen(item, left) for item in value]
            present = tuple(element for element in elements if element is not None)
            return FrozenList(present) if len(present) == len(elements) else None
        case None | bool() | int() | float() | str():
            return Constant(value)
        case _:
            return None


def environment_variable(site: Site, index: Value, default: Value | None = None) -> Value | None:
    """`os.environ[index]`: a string that may represent a number; None if unknown."""
    key = _key_of(index)
    if key is None or _is_changed(site, ENVIRONMENT, repr(key)):
        return None
    if site.engine.program.usual and default is not None and default != NONE:
        return default
    text = "" if default is None else f"{_DEFAULT}{default.value!r}" if isinstance(default, Constant) else None
    if text is None:
        return None
    least = 2 if default is not None and is_size(_as_number(default)) else 1
    spelled = None if default is None else _as_number(default)
    usual = (
        spelled.value if isinstance(spelled, Constant) and type(spelled.value) is int and spelled.value > 0 else None
    )
    number = loaded(f"{ENVIRONMENT}{_STEP}{key!r}{text}", str(key), least, usual)
    if default is None or (isinstance(default, Constant) and isinstance(default.value, str)):
        return Scalar(PythonType.STR, number)
    return join(Scalar(PythonType.STR, number), NONE) if default == NONE else UnknownValue(False, number=number)


def _get_environment(site: Site, arguments: CallArguments, receiver: Value | None) -> Value | None:
    keywords = dict(arguments.keywords)
    key = arguments.positional[0] if arguments.positional else keywords.get("key")
    second = arguments.positional[1] if len(arguments.positional) > 1 else keywords.get("default", NONE)
    return None if key is None else environment_variable(site, key, second)


def _set_environment(site: Site, arguments: CallArguments, receiver: Value | None) -> Value | None:
    """The operations that change a variable, or any variable if it is unknown which."""
    note_environment_changed(site, arguments.positional[0] if arguments.positional else UNKNOWN)
    return None


def same_items(site: Site, arguments: CallArguments, receiver: Value | None) -> Value | None:
    """An object whose attributes or items are those of a loaded mapping. A write into one is assumed to be a write into both."""
    given = arguments.positional[0] if len(arguments.positional) == 1 else arguments.open_mapping
    alone = not arguments.keywords and (arguments.open_keywords is None) == bool(arguments.positional)
    return given if given is not None and alone and is_loaded(given) else None


# --- INI files ----------------------------------------------------------------------------------------------------------------------


def _read_ini(site: Site, arguments: CallArguments, receiver: Value | None) -> Value | None:
    if isinstance(receiver, Reference):
        place = (receiver.object, _SOURCE)
        source = _source(site, arguments.positional[0] if arguments.positional else None)
        first = site.frame.state.get(place) is None and source is not None
        site.frame.state.set(place, Constant(source) if first else UNKNOWN)
    return None


def _read_ini_text(site: Site, arguments: CallArguments, receiver: Value | None) -> Value | None:
    given = arguments.positional[0] if arguments.positional else None
    if not isinstance(receiver, Reference) or not isinstance(given, Constant):
        return _read_ini(site, arguments, receiver)
    parser = configparser.ConfigParser(interpolation=None)
    place = (receiver.object, _SOURCE)
    try:
        parser.read_string(str(given.value))
    except configparser.Error:
        return _read_ini(site, arguments, receiver)
    content = _frozen({name: dict(section) for name, section in parser.items()}, [_MOST_PARTS])
    first = site.frame.state.get(place) is None and content is not None
    site.frame.state.set(place, content if first and content is not None else UNKNOWN)
    return None


def section_of_ini(site: Site, receiver: Reference, index: Value) -> Value | None:
    """`parser[index]`; None if it is unknown."""
    source = site.frame.state.get((receiver.object, _SOURCE))
    if isinstance(source, Constant):
        return item_of_loaded(site, _named(site, str(source.value)), index)
    if isinstance(source, FrozenDict) and index in dict(source.items):
        return thaw(site, dict(source.items)[index], "section")
    return None


def note_ini_changed(site: Site, receiver: Reference) -> None:
    """Records a write into a parser."""
    if site.frame.state.get((receiver.object, _SOURCE)) is not None:
        site.frame.state.set((receiver.object, _SOURCE), UNKNOWN)


def _set_ini(site: Site, arguments: CallArguments, receiver: Value | None) -> Value | None:
    if isinstance(receiver, Reference):
        note_ini_changed(site, receiver)
    return None


def _get_ini(otherwise: Value, *, number: bool) -> Callable[[Site, CallArguments, Value | None], Value | None]:
    def get(site: Site, arguments: CallArguments, receiver: Value | None) -> Value | None:
        if not isinstance(receiver, Reference) or len(arguments.positional) != 2:
            return None
        section, key = arguments.positional
        default = dict(arguments.keywords).get("fallback")
        source = site.frame.state.get((receiver.object, _SOURCE))
        if isinstance(source, FrozenDict):
            content = dict(source.items).get(section)
            text = dict(content.items).get(key) if isinstance(content, FrozenDict) else None
            if isinstance(text, Constant):
                return _as_number(text) if number else text if otherwise == UNKNOWN_STR else otherwise
        found = None
        if isinstance(source, Constant):
            held = item_of_loaded(site, _named(site, str(source.value)), section)
            found = None if held is None else item_of_loaded(site, held, key, default)
        if isinstance(found, Constant) and isinstance(found.value, str):
            methods: dict[Value, str] = {UNKNOWN_INT: "getint", UNKNOWN_FLOAT: "getfloat", UNKNOWN_BOOL: "getboolean"}
            method = methods.get(otherwise)
            return found if method is None else _parsed(method, found)
        if isinstance(found, UnknownValue):
            if number:
                return Scalar(PythonType.INT, found.number)
            if otherwise == UNKNOWN_STR and (default is None or isinstance(default, Constant)):
                return Scalar(PythonType.STR, found.number) if default is None else found
        return otherwise if default is None else join(otherwise, default)

    return get


LOADED_NUMBERS: Final = by_name(
    {
        Interpreted.LOAD_FILE: _load,
        Interpreted.YAML_TEXT: _load_text(_tree_of_text(".yaml")),
        Interpreted.TOML_TEXT: _load_text(_tree_of_text(".toml")),
        Interpreted.SAME_ITEMS: same_items,
        Interpreted.JSON_TEXT: _load_text(json.loads),
        Interpreted.GET_ENVIRONMENT: _get_environment,
        Interpreted.SET_ENVIRONMENT: _set_environment,
        Interpreted.READ_INI: _read_ini,
        Interpreted.READ_INI_TEXT: _read_ini_text,
        Interpreted.SET_INI: _set_ini,
        Interpreted.GET_INI: _get_ini(UNKNOWN_STR, number=False),
        Interpreted.GET_INI_INT: _get_ini(UNKNOWN_INT, number=True),
        Interpreted.GET_INI_FLOAT: _get_ini(UNKNOWN_FLOAT, number=False),
        Interpreted.GET_INI_BOOL: _get_ini(UNKNOWN_BOOL, number=False),
    }
)
