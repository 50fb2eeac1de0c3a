"""Descriptions of values: tensors, objects, functions, library entities.

Computes: Markdown of one value. Needs: a snapshot. Gives: `value_card`, `library_card`, `program_function_card`, `parameter_reason`,
`unknown_reason`, `creation_call`, `created_class`, `fenced`.
"""

from __future__ import annotations

import re

from terra_refactor.analysis.facts import ObjectFacts, ObjectKind
from terra_refactor.domain.effect import EffectKind
from terra_refactor.domain.evidence import Evidence
from terra_refactor.domain.value import (
    Bottom,
    BoundMethod,
    Constant,
    EnumMember,
    FunctionValue,
    LibraryValue,
    ModuleValue,
    PartialValue,
    Reference,
    SuperValue,
    Unbound,
    UnionValue,
    UnknownValue,
    Value,
)
from terra_refactor.ide.snapshot import Snapshot
from terra_refactor.ide.values import full_text, tensor_text
from terra_refactor.ir import ops
from terra_refactor.ir.function import Function, FunctionKind
from terra_refactor.ir.ids import FunctionId
from terra_refactor.ir.walk import walk
from terra_refactor.tf_model.registry import lookup
from terra_refactor.tf_model.spec import Entity, EntityKind, ParameterPassing, Trait
from terra_refactor.tf_model.summaries import description_of
from terra_refactor.workspace.printable import as_code, in_markdown

_LONGEST_VALUE = 200
_MOST_PARAMETERS = 8

_SHORT_NAMES = (("tensorflow.", "tf."), ("numpy.", "np."), ("builtins.", ""))
_EFFECTS = {
    EffectKind.PRINT: "Prints; in a graph only while it is traced.",
    EffectKind.INPUT_OUTPUT: "Does input or output; in a graph only while it is traced.",
    EffectKind.RANDOM: "Draws random numbers on the host: a graph keeps those of its trace.",
    EffectKind.TIME: "Differs from call to call: a graph keeps the value of its trace.",
    EffectKind.TENSOR_RANDOM: "Draws new numbers on every call, in a graph too.",
    EffectKind.TENSOR_STATE: "Updates variables: runs on every call, in a graph too.",
}


def short_name(name: str) -> str:
    """The usual spelling of a canonical name."""
    for full, short in _SHORT_NAMES:
        if name.startswith(full):
            return short + name.removeprefix(full)
    return name


def fenced(text: str) -> str:
    """A block of text, in a fence longer than any run of backticks in it."""
    fence = "`" * max([3, *(len(run) + 1 for run in re.findall("`+", text))])
    return f"{fence}text\n{text}\n{fence}"


def value_card(snapshot: Snapshot, value: Value) -> str | None:
    """Description of a value as Markdown; None if there is nothing to say."""
    match value:
        case Bottom() | Unbound():
            return None
        case LibraryValue(name):
            return library_card(name)
        case FunctionValue((module, index)):
            return program_function_card(snapshot, snapshot.program.modules[module].by_index[index])
        case BoundMethod(function):
            return value_card(snapshot, function)
        case PartialValue(function):
            inner = value_card(snapshot, function)
            return None if inner is None else f"`functools.partial` of\n\n{inner}"
        case ModuleValue(name):
            return f"module {as_code(name)} of this project"
        case SuperValue(cls):
            return f"the bases of {_object_text(snapshot, cls)}"
        case Reference(number):
            return _object_card(snapshot, snapshot.facts.objects[number])
        case UnknownValue():
            return None
        case UnionValue(members):
            cards = dict.fromkeys(card for member in members if (card := value_card(snapshot, member)) is not None)
            return " or ".join(list(cards)[:3]) if len(cards) <= 3 and all("\n" not in card for card in cards) else None
        case Constant(content) if content is None:
            return fenced("None")
        case Constant(EnumMember(cls, name)):
            return f"member {as_code(name)} of {as_code(snapshot.facts.objects[cls].name)}"
        case Constant(content):
            return fenced(_cut(f"{type(content).__name__} {content!r}"))
        case _:
            shown = tensor_text(snapshot, [value])
            return fenced(_cut(full_text(snapshot, value) if shown is None else shown))


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST_VALUE else text[: _LONGEST_VALUE - 1] + "…"


def _object_text(snapshot: Snapshot, value: Value) -> str:
    if isinstance(value, Reference):
        return as_code(snapshot.facts.objects[value.object].name)
    return as_code(full_text(snapshot, value))


def _object_card(snapshot: Snapshot, found: ObjectFacts) -> str:
    match found.kind:
        case ObjectKind.CLASS:
            return _class_card(snapshot, found)
        case ObjectKind.INSTANCE:
            cls = created_class(snapshot, found)
            head = f"object of class {as_code(short_name(cls) if cls is not None else found.name)}"
            line = None if cls is None else description_of(cls)
            made = creation_text(snapshot, found)
            return "\n\n".join(part for part in (head + (f": {as_code(made)}" if made else ""), line) if part)
        case ObjectKind.LIST | ObjectKind.DICT | ObjectKind.SET:
            return fenced(found.name)
        case _:
            return f"{found.kind.value} {as_code(found.name)}"


def _class_card(snapshot: Snapshot, found: ObjectFacts) -> str:
    head = f"class {found.name}"
    docstring: str | None = None
    if found.function is not None and found.op is not None:
        function = snapshot.program.function(found.function)
        for op in walk(function.body):
            if isinstance(op, ops.MakeClass) and op.id == found.op:
                bases = [_base_text(snapshot, found.function, base.value) for base in op.bases]
                head += f"({', '.join(bases)})" if bases else ""
                docstring = snapshot.program.function(op.body).docstring
    return "\n\n".join([fenced(head), *_first_line(docstring)])


def _base_text(snapshot: Snapshot, function: FunctionId, op: int) -> str:
    for value in snapshot.facts.values_of(function, op):
        match value:
            case LibraryValue(name):
                return short_name(name)
            case Reference(number):
                return snapshot.facts.objects[number].name
            case _:
                pass
    return "?"


def _first_line(docstring: str | None) -> list[str]:
    line = (docstring or "").strip().partition("\n")[0].strip()
    return [in_markdown(line)] if line else []


def created_class(snapshot: Snapshot, found: ObjectFacts) -> str | None:
    """The canonical name of the library class of an object; None if the program defines the class."""
    call = creation_call(snapshot, found)
    if call is None or found.function is None:
        return None
    for value in snapshot.facts.values_of(found.function, call.function):
        if isinstance(value, LibraryValue):
            return value.name
    return None


def creation_call(snapshot: Snapshot, found: ObjectFacts) -> ops.Call | None:
    """The call that creates an object."""
    if found.function is None or found.op is None:
        return None
    for op in walk(snapshot.program.function(found.function).body):
        if op.id == found.op:
            return op if isinstance(op, ops.Call) else None
    return None


def creation_text(snapshot: Snapshot, found: ObjectFacts) -> str | None:
    """The source of the call that creates an object, if it is on one line."""
    if found.function is None or found.op is None or creation_call(snapshot, found) is None:
        return None
    function = snapshot.program.function(found.function)
    source = snapshot.sources.get(snapshot.program.modules[found.function.module].path)
    span = function.spans[found.op]
    if source is None or span.line != span.end_line:
        return None
    return _cut(source.text.split("\n")[span.line - 1][span.column - 1 : span.end_column - 1])


def library_card(name: str) -> str:
    """Description of a library module, class, function or value."""
    entity = lookup(name)
    if entity is None or entity.kind is EntityKind.MODULE:
        kind = "module" if entity is not None or "." not in name else "name"
        return f"{kind} {as_code(short_name(name) if '.' in name else name)} of a library"
    head = short_name(entity.name)
    if entity.kind is EntityKind.CLASS:
        head = "class " + head
    if entity.parameters is not None:
        head += _signature(entity)
    notes = [description_of(entity.name)]
    notes.extend(note for kind, note in _EFFECTS.items() if kind in entity.effects)
    if Trait.EAGER_ONLY in entity.traits:
        notes.append("Fails in a graph: it needs the value of an eager tensor, or is not meant to be traced.")
    elif Trait.CONCRETE_ARRAYS in entity.traits:
        notes.append("Works on NumPy arrays: fails on the symbolic tensors of a graph.")
    return "\n\n".join([fenced(head), *(note for note in notes if note)])


def _signature(entity: Entity) -> str:
    shown: list[str] = []
    star = False
    for parameter in entity.parameters or ():
        text = parameter.name
        if parameter.passing is ParameterPassing.VAR_POSITIONAL:
            text, star = f"*{text}", True
        elif parameter.passing is ParameterPassing.VAR_KEYWORD:
            text = f"**{text}"
        elif parameter.passing is ParameterPassing.KEYWORD_ONLY and not star:
            shown.append("*")
            star = True
        if parameter.has_default:
            default = parameter.default
            text += f"={default.value!r}" if isinstance(default, Constant) else "=…"
        shown.append(text)
    if len(shown) > _MOST_PARAMETERS:
        shown = [*shown[:_MOST_PARAMETERS], "…"]
    return f"({', '.join(shown)})"


def program_function_card(snapshot: Snapshot, function: Function) -> str:
    """A function of the project: the known types of its parameters and result, the first line of its documentation, the
    decision.
    """
    facts = snapshot.facts.functions.get(function.id)
    known = {parameter.name: parameter for parameter in facts.parameters} if facts is not None else {}
    shown: list[str] = []
    for parameter in function.parameters:
        values = known[parameter.name].values if parameter.name in known else ()
        text = tensor_text(snapshot, values) if values else None
        shown.append(f"{parameter.name}: {text}" if text is not None else parameter.name)
    result = None if facts is None else tensor_text(snapshot, [facts.returns])
    head = "lambda" if function.kind is FunctionKind.LAMBDA else f"def {function.qualname}"
    flat = f"{head}({', '.join(shown)})" + (f" -> {result}" if result is not None else "")
    if len(flat) > 100 and shown:
        flat = f"{head}(\n    " + ",\n    ".join(shown) + "\n)" + (f" -> {result}" if result is not None else "")
    return "\n\n".join([fenced(flat), *_first_line(function.docstring)])


def parameter_reason(evidence: Evidence, callers: int) -> str:
    """The reason why a parameter is unknown."""
    if callers:
        return "its callers pass unknown values"
    if evidence is Evidence.KEYWORD:
        return "only its name suggests a tensor"
    return "the project does not call this function"


def unknown_reason(value: UnknownValue) -> str:
    """The reason why a value is unknown."""
    if value.reason:
        return in_markdown(value.reason)
    if value.origin is not None and value.origin.name:
        source = {
            "parameter": "it comes from the parameter {}",
            "global": "it comes from the global {}",
            "library": "it comes from {}, which the analysis does not model",
            "call": "it comes from the call of {}, which is not resolved",
        }.get(value.origin.root)
        if source is not None:
            return source.format(as_code(value.origin.name))
    return "the analysed code does not determine it"
