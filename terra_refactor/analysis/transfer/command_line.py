"""Options of a program's command line: the options of `argparse`, the flags of `absl` and of TensorFlow 1.

Computes: the type of each option, from its declaration; its value is chosen by the user. A required int, or one whose
default is 2 or more, is a symbolic size of 2 or more (`dim.chosen`), the same wherever it is read. Needs: the heap.
Gives: `COMMAND_LINE`, by canonical name, and `flag_value`. Ignores: subcommands, and options whose name or type is
computed.
"""

from __future__ import annotations

from typing import Final

from terra_refactor.analysis.engine import Recorder, Site
from terra_refactor.analysis.facts import ObjectKind
from terra_refactor.analysis.frames import CallArguments
from terra_refactor.domain.dim import chosen, is_chosen
from terra_refactor.domain.lattice import join, python_type
from terra_refactor.domain.state import CLASS, ITEMS
from terra_refactor.domain.value import (
    FALSE,
    NONE,
    NOT_A_TENSOR,
    TRUE,
    UNBOUND,
    UNKNOWN_BOOL,
    UNKNOWN_FLOAT,
    UNKNOWN_INT,
    UNKNOWN_STR,
    Constant,
    FrozenDict,
    FrozenList,
    LibraryValue,
    PythonType,
    Reference,
    Scalar,
    TupleValue,
    Value,
)
from terra_refactor.tf_model.class_names import FLAG_MODULES, NAMESPACE_OF_OPTIONS, PARSERS
from terra_refactor.tf_model.python_classes import VALUES_OF_CONVERTERS

_OPTIONS: Final = "@options"
"""Field of a parser that holds its declared options, by name."""
_DEFAULTS: Final = "@defaults"
"""Field of a parser that holds the defaults of its options, by name."""
_FLAGS: Final[dict[str, Value]] = {
    "integer": UNKNOWN_INT,
    "float": UNKNOWN_FLOAT,
    "string": UNKNOWN_STR,
    "enum": UNKNOWN_STR,
    "bool": UNKNOWN_BOOL,
    "boolean": UNKNOWN_BOOL,
}


def add_argument(site: Site, arguments: CallArguments, receiver: Value | None) -> Value | None:
    """`parser.add_argument("-n", "--name", type=int, default=3)`."""
    frame = site.frame
    if not isinstance(receiver, Reference):
        return None
    keywords = dict(arguments.keywords)
    names = [value.value for value in arguments.positional if isinstance(value, Constant)]
    texts = [name for name in names if isinstance(name, str)]
    long = [name for name in texts if name.startswith("--")] or texts
    destination = keywords.get("dest", Constant(long[0].lstrip("-").replace("-", "_")) if long else None)
    if not isinstance(destination, Constant) or arguments.open_keywords is not None:
        return None
    required = bool(texts) and not texts[0].startswith("-")
    known = frame.state.get((receiver.object, _OPTIONS))
    items = dict(known.items) if isinstance(known, FrozenDict) else {}
    value = _option(keywords, required=required)
    default = _int_of(keywords.get("default"))
    if value == UNKNOWN_INT and isinstance(destination.value, str):
        if _is_size(keywords, required=required) or (default == 1 and _takes_any(keywords)):
            value = Scalar(PythonType.INT, chosen(destination.value, default))
    items[destination] = value
    frame.state.set((receiver.object, _OPTIONS), FrozenDict(tuple(items.items())))
    usual = frame.state.get((receiver.object, _DEFAULTS))
    defaults = dict(usual.items) if isinstance(usual, FrozenDict) else {}
    defaults[destination] = _without_option(keywords, value, required=required)
    frame.state.set((receiver.object, _DEFAULTS), FrozenDict(tuple(defaults.items())))
    return NOT_A_TENSOR


def _option(keywords: dict[str, Value], *, required: bool) -> Value:
    """The possible values of an option."""
    action = keywords.get("action")
    if action in (Constant("store_true"), Constant("store_false")) or isinstance(action, LibraryValue):
        return UNKNOWN_BOOL
    if action == Constant("count"):
        return UNKNOWN_INT
    default = keywords.get("default", NONE)
    converter = keywords.get("type")
    if isinstance(converter, LibraryValue) and converter.name in VALUES_OF_CONVERTERS:
        # `type=bool` is true for every non-empty string
        value = VALUES_OF_CONVERTERS[converter.name]
    elif converter is not None:
        return NOT_A_TENSOR
    else:
        value = UNKNOWN_STR
    if action is not None or "nargs" in keywords:
        return NOT_A_TENSOR
    if default == NONE:
        optional = not required and keywords.get("required") != Constant(True)
        return join(value, NONE) if optional else value
    kind = python_type(default)
    return join(value, NOT_A_TENSOR if kind is None else Scalar(kind))


def _without_option(keywords: dict[str, Value], value: Value, *, required: bool) -> Value:
    """The value of an option that is not given."""
    action, default = keywords.get("action"), keywords.get("default")
    if required or isinstance(action, LibraryValue):
        return value
    if default is None:
        stored = {Constant("store_true"): FALSE, Constant("store_false"): TRUE}
        return NONE if action is None else stored.get(action, value) if isinstance(action, Constant) else value
    is_converted = isinstance(default, Constant) and isinstance(default.value, str) and "type" in keywords
    return value if is_converted else default


def _is_size(keywords: dict[str, Value], *, required: bool) -> bool:
    """Whether a numeric option may be a size of 2 or more: by its default, or because it has none."""
    if not _takes_any(keywords):
        return False
    default = keywords.get("default")
    if default is None or default == NONE:
        return required or keywords.get("required") == Constant(True)
    return is_size(default)


def _takes_any(keywords: dict[str, Value]) -> bool:
    """Whether an option takes one number, which may be any of 2 or more."""
    choices = keywords.get("choices")
    return keywords.get("action") is None and (choices is None or _all_sizes(choices))


def _int_of(value: Value | None) -> int | None:
    return value.value if isinstance(value, Constant) and type(value.value) is int else None


def is_size(value: Value) -> bool:
    """Whether a value is an int of 2 or more."""
    return isinstance(value, Constant) and type(value.value) is int and value.value >= 2


def _all_sizes(choices: Value) -> bool:
    return isinstance(choices, TupleValue) and all(map(is_size, choices.elements))


def add_group(site: Site, arguments: CallArguments, receiver: Value | None) -> Value | None:
    """A group's options are those of its parser."""
    return receiver


def parse(site: Site, arguments: CallArguments, receiver: Value | None) -> Value | None:
    """`parser.parse_args()`: an object with an attribute for each option."""
    frame = site.frame
    options = frame.state.get((receiver.object, _OPTIONS)) if isinstance(receiver, Reference) else None
    if not isinstance(receiver, Reference) or not isinstance(options, FrozenDict):
        return None
    texts = arguments.positional[0] if len(arguments.positional) == 1 and not arguments.keywords else None
    content = frame.state.get((texts.object, ITEMS)) if isinstance(texts, Reference) else texts
    usual = frame.state.get((receiver.object, _DEFAULTS))
    unwritten = texts in (None, NONE) and not arguments.keywords and arguments.open_positional is None
    if (content in (FrozenList(()), TupleValue(())) or (site.engine.program.usual and unwritten)) and isinstance(
        usual, FrozenDict
    ):
        # assumes that no option is given
        options = usual
    number = site.allocate(ObjectKind.INSTANCE, "Namespace")
    frame.state.set((number, CLASS), NAMESPACE_OF_OPTIONS)
    given = any(value != NONE for value in (*arguments.positional, *(value for _, value in arguments.keywords)))
    for name, value in options.items:
        assert isinstance(name, Constant) and isinstance(name.value, str)
        # a list of the program's own, of which there may be several, instead of the command line
        open_value = UNKNOWN_INT if given and isinstance(value, Scalar) and is_chosen(value.dim) else value
        frame.state.set((number, name.value), open_value)
    return Reference(number)


def set_defaults(site: Site, arguments: CallArguments, receiver: Value | None) -> Value | None:
    """`parser.set_defaults(name=value)`: changes the defaults of options to values that are not tracked."""
    options = site.frame.state.get((receiver.object, _OPTIONS)) if isinstance(receiver, Reference) else None
    if isinstance(receiver, Reference) and isinstance(options, FrozenDict):
        site.frame.state.set((receiver.object, _DEFAULTS), UNBOUND)
        changed = {name for name, _ in arguments.keywords}
        items = []
        for name, value in options.items:
            is_changed = arguments.open_keywords is not None or (isinstance(name, Constant) and name.value in changed)
            items.append((name, NOT_A_TENSOR if is_changed else value))
        site.frame.state.set((receiver.object, _OPTIONS), FrozenDict(tuple(items)))
    return NOT_A_TENSOR


def parse_known(site: Site, arguments: CallArguments, receiver: Value | None) -> Value | None:
    """`parser.parse_known_args()`: the object, and the list of remaining arguments."""
    parsed = parse(site, arguments, receiver)
    if parsed is None:
        return None
    number = site.allocate(ObjectKind.LIST, "list")
    site.frame.state.set((number, ITEMS), FrozenList(None, UNKNOWN_STR))
    return TupleValue((parsed, Reference(number)))


def define_flag(site: Site, arguments: CallArguments, receiver: Value | None) -> Value | None:
    """`flags.DEFINE_integer(name, default, help)`: a flag of that type, or None if that is its default."""
    engine, frame = site.engine, site.frame
    (called,) = frame.call_record(site.op).library if len(frame.call_record(site.op).library) == 1 else ("",)
    value = _FLAGS.get(called.rpartition("DEFINE_")[2], NOT_A_TENSOR)
    keywords = dict(arguments.keywords)
    names = (*arguments.positional[:1], *(keywords[key] for key in ("name", "flag_name") if key in keywords))
    defaults = (*arguments.positional[1:2], *(keywords[key] for key in ("default", "default_value") if key in keywords))
    if names and isinstance(names[0], Constant) and isinstance(names[0].value, str):
        name = names[0].value
        found = join(value, NONE) if not defaults or defaults[0] == NONE else value
        default = _int_of(defaults[0]) if len(defaults) == 1 else None
        if found == UNKNOWN_INT and (all(map(is_size, defaults)) or default == 1):
            found = Scalar(PythonType.INT, chosen(name, default))
        if engine.program.usual and len(defaults) == 1:
            found = defaults[0]
        engine.spoil_logs()
        known = engine.flags.get(name)
        engine.flags[name] = found if known is None else join(known, found)
    return None


def flag_value(engine: Recorder, owner: str, name: str) -> Value | None:
    """`FLAGS.name`; None if there is no such flag."""
    return engine.flag(name) if owner in _FLAG_VALUES else None


_FLAG_VALUES: Final = frozenset(f"{module}.FLAGS" for module in FLAG_MODULES)


COMMAND_LINE: Final = {
    **{f"{parser}.add_argument": add_argument for parser in PARSERS},
    **{f"{parser}.add_argument_group": add_group for parser in PARSERS},
    **{f"{parser}.add_mutually_exclusive_group": add_group for parser in PARSERS},
    **{f"{parser}.parse_args": parse for parser in PARSERS},
    **{f"{parser}.set_defaults": set_defaults for parser in PARSERS},
    **{f"{parser}.parse_known_args": parse_known for parser in PARSERS},
    **{f"{module}.DEFINE_{kind}": define_flag for module in FLAG_MODULES for kind in (*_FLAGS, "list", "multi_string")},
}
