"""Functions that cannot have a decorator for structural reasons.

Computes: these reasons. Needs: the code and the facts about its class. Gives: `why_not_a_candidate`, `Obstacle`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from terra_refactor.analysis.facts import CallerFact, FunctionFacts, ProgramFacts
from terra_refactor.analysis.testing import is_in_test_file
from terra_refactor.classify.decision import ParameterDecision, ParameterValueKind
from terra_refactor.classify.fresh_arguments import AskFresh, Freshness, freshness
from terra_refactor.classify.steady_arguments import is_steady
from terra_refactor.domain.evidence import Evidence
from terra_refactor.domain.lattice import python_type
from terra_refactor.domain.value import (
    Constant,
    FrozenDict,
    FrozenList,
    LibraryValue,
    PythonType,
    Reference,
    Scalar,
    SequenceValue,
    TensorValue,
    TupleValue,
    UnknownValue,
    Value,
    members,
)
from terra_refactor.facts.class_bases import base_values, derives_from
from terra_refactor.facts.codes import Codes
from terra_refactor.facts.records import Literal
from terra_refactor.ir.function import Function, FunctionKind, ParameterKind
from terra_refactor.ir.ids import FunctionId
from terra_refactor.ir.program import Program
from terra_refactor.rules.graph_failures.unbuilt_keras_call import RULE as UNBUILT_CALL
from terra_refactor.rules.retracing.identity_keyed_argument import RULE as IDENTITY_KEYED
from terra_refactor.rules.retracing.python_scalar_retrace import RULE as PYTHON_SCALAR
from terra_refactor.tf_model import registry
from terra_refactor.tf_model.decorators import Decoration, decoration
from terra_refactor.tf_model.graph_traits import KERAS_BASES, KERAS_STEPS, LAYER, built_in
from terra_refactor.tf_model.registry import has_trait
from terra_refactor.tf_model.spec import Trait

MAX_PYTHON_VALUES: Final = 3
MAX_OPTIONAL_PARTS: Final = 1
"""Maximum number of parts of a container that may be None or a tensor: two parts give four structures, each with a trace."""
"""A parameter that takes more distinct Python values than this would be traced again too often."""
_CALL: Final = ".__call__"
_HIDES: Final = f"decorated, it would hide sublayers that are not built yet ({UNBUILT_CALL.id})"
_KERAS_METHODS: Final = frozenset(
    {
        "call",
        "build",
        "train_step",
        "test_step",
        "predict_step",
        "compute_loss",
        "compute_output_shape",
        "get_config",
        "from_config",
    }
)
_BLOCKING: Final = {
    Decoration.PROPERTY: "it is a property",
    Decoration.CACHED_PROPERTY: "it is a cached property",
    Decoration.CONTEXT_MANAGER: "it is a context manager",
    Decoration.FIXTURE: "it is a test fixture",
    Decoration.OVERLOAD: "it is a signature for type checkers only",
    Decoration.ABSTRACT: "it is abstract: subclasses replace it",
    Decoration.CACHED: "its results are cached by argument",
    Decoration.OBJECT: "its decorator replaces it by another object",
    Decoration.DISPATCHES: "it is one of several implementations, selected by the types of arguments: another object would be registered",
    Decoration.TRACED: "TensorFlow calls it while it builds graphs",
    Decoration.HOST_CALLBACK: "TensorFlow runs it as Python in graphs as well",
    Decoration.GIVES_GRADIENT: "TensorFlow calls it while it builds graphs",
}


@dataclass(frozen=True, slots=True)
class Obstacle:
    """Why a `tf.function` on a definition makes no sense, whatever the body does."""

    reason: str
    varies: bool = False
    """Calls pass Python values that vary."""


def why_not_a_candidate(
    codes: Codes,
    facts: ProgramFacts,
    code: Function,
    found: FunctionFacts,
    parameters: tuple[ParameterDecision, ...],
    ask: AskFresh,
) -> Obstacle | None:
    """The reason why a `tf.function` on this definition makes no sense; None if there is none."""
    reason = _definition_reason(codes, facts, code, found, ask)
    if reason is not None:
        return Obstacle(reason)
    varying = varying_python_value(codes, facts, code, found, parameters)
    return None if varying is None else Obstacle(varying, varies=True)


def _definition_reason(
    codes: Codes,
    facts: ProgramFacts,
    code: Function,
    found: FunctionFacts,
    ask: AskFresh,
) -> str | None:
    """The reason in the definition, its decorators, its class, or the objects that calls create."""
    if code.kind is FunctionKind.LAMBDA:
        return "a lambda cannot have a decorator"
    if code.is_async or code.is_generator:
        return "a generator or coroutine cannot be a graph"
    if code.kind is FunctionKind.NESTED and has_own_gradient(codes.program, facts, code.id):
        return "TensorFlow calls it while it computes gradients"
    if code.name.startswith("__") and code.name.endswith("__") and code.name != "__call__":
        return f"{code.name} is called by Python itself"
    if found.callers == () and (code.name.startswith("test") or code.name in ("main", "setUp", "tearDown")):
        return "it is a test or an entry point"
    keras = _keras_reason(codes, facts, code)
    if keras is not None:
        return keras
    if _is_reached_from_keras_call(codes, facts, found):
        return f"Keras traces it as part of a `call`; {_HIDES}"
    if is_test_code(codes, facts, code):
        return "it is part of a test"
    for decorator in code.decorators:
        name = _decorator_name(code, decorator.text)
        reason = _BLOCKING.get(decoration(name)[0])
        if reason is not None:
            return reason
        if _converts(codes, facts, decorator.text):
            return f"its decorator `{decorator.text}` converts it with AutoGraph, which does not accept a `tf.function`"
    if any(decoration(name)[0] is Decoration.GIVES_GRADIENT for name in found.wrappers) and _has_odd_default(
        codes, code
    ):
        return "in a graph `tf.custom_gradient` converts every argument and every default to a tensor"
    fresh = freshness(code, ask)
    if fresh.how is Freshness.ALWAYS:
        return f"each call passes a new `{fresh.written}`: each would be traced ({IDENTITY_KEYED.id})"
    return None


def _has_odd_default(codes: Codes, code: Function) -> bool:
    """Whether a parameter has a default that is not a number, such as `name=None`: `tf.function` passes it as an argument."""
    if code.parent is None:
        return False
    parent = codes.of(code.parent)
    made = parent.maker_of(code.id)
    defaults = [parent.facts[number] for _, number in made.defaults] if made is not None else []
    return any(isinstance(each, Literal) and not isinstance(each.value, int | float | complex) for each in defaults)


def _converts(codes: Codes, facts: ProgramFacts, decorator: str) -> bool:
    """Whether a decorator of the program passes its function to `tf.autograph.to_graph`, which needs a plain function."""
    name = decorator.partition("(")[0].rpartition(".")[2].strip()
    return any(
        any(has_trait(name, Trait.CONVERTS_SOURCE) for name in call.library)
        for function in codes.functions_named(name)
        for context in facts.contexts_of(function)
        for call in context.calls
    )


def has_own_gradient(program: Program, facts: ProgramFacts, function: FunctionId) -> bool:
    """Whether it is a `tf.custom_gradient` function, or defined in one (like its gradient function): TensorFlow calls both."""
    identity: FunctionId | None = function
    while identity is not None:
        found = facts.functions.get(identity)
        wrappers = () if found is None else found.wrappers
        if any(decoration(name)[0] is Decoration.GIVES_GRADIENT for name in wrappers):
            return True
        identity = program.function(identity).parent
    return False


def _is_reached_from_keras_call(codes: Codes, facts: ProgramFacts, found: FunctionFacts) -> bool:
    """Whether some `call` of a Keras layer or model leads to the function, or a layer of Keras calls it (`Lambda`)."""
    pending, seen = [found], {found.function}
    while pending:
        for caller in pending.pop().callers:
            if _is_call_of_layer(facts, caller):
                return True
            identity = facts.function_of(caller.context)
            if identity in seen:
                continue
            seen.add(identity)
            code = codes.program.function(identity)
            if code.name == "call" and code.parent is not None and is_keras_class(codes, facts, code.parent):
                return True
            pending.append(facts.functions[identity])
    return False


def _is_call_of_layer(facts: ProgramFacts, place: CallerFact) -> bool:
    """Whether a call site calls a layer of Keras, which calls the function itself."""
    layer_calls = (name for call in facts.contexts[place.context].calls if call.op == place.op for name in call.library)
    return any(
        name.endswith(_CALL) and registry.is_library_subclass(name.removesuffix(_CALL), LAYER) for name in layer_calls
    )


def is_test_code(codes: Codes, facts: ProgramFacts, code: Function) -> bool:
    """Whether it is in a test file, or is (in) a method of a test case: tests need no speed, and inspect eager values."""
    if is_in_test_file(codes.program, code):
        return True
    while code.parent is not None:
        if code.kind is FunctionKind.METHOD:
            bases = (member for base in base_values(codes, facts, code.parent) for member in members(base))
            if any(isinstance(base, LibraryValue) and base.name.endswith("TestCase") for base in bases):
                return True
        code = codes.program.function(code.parent)
    return False


def _decorator_name(code: Function, text: str) -> str:
    """The name of a decorator as written, without its arguments; built-in ones by their canonical name."""
    name = text.partition("(")[0].strip()
    return built_in(name) if "." not in name else name


def _keras_reason(codes: Codes, facts: ProgramFacts, code: Function) -> str | None:
    if code.kind is not FunctionKind.METHOD or code.name not in _KERAS_METHODS or code.parent is None:
        return None
    if not is_keras_class(codes, facts, code.parent):
        bases = [member for base in base_values(codes, facts, code.parent) for member in members(base)]
        unknown = any(
            isinstance(base, UnknownValue) or (isinstance(base, LibraryValue) and registry.lookup(base.name) is None)
            for base in bases
        )
        if unknown and code.name in KERAS_STEPS and not facts.functions[code.id].callers:
            return f"Keras calls and traces `{code.name}` itself, if the unknown base class is one of its models"
        return None
    if code.name == "call":
        return f"Keras traces `call` itself in `fit`; {_HIDES}"
    return f"Keras calls and traces `{code.name}` itself"


def is_keras_class(codes: Codes, facts: ProgramFacts, body: FunctionId) -> bool:
    """Whether the class of that body derives from a Keras base class, directly or through classes of the program."""
    return derives_from(codes, facts, body, KERAS_BASES)


def made_by(facts: ProgramFacts, value: Value) -> frozenset[str]:
    """The canonical names of the library functions whose call made an object."""
    made = facts.objects[value.object] if isinstance(value, Reference) else None
    contexts = () if made is None or made.function is None else facts.contexts_of(made.function)
    return frozenset(
        name
        for each in contexts
        for call in each.calls
        if made is not None and call.op == made.op
        for name in call.library
    )


def varying_python_value(
    codes: Codes,
    facts: ProgramFacts,
    code: Function,
    found: FunctionFacts,
    parameters: tuple[ParameterDecision, ...],
) -> str | None:
    """A parameter that takes many Python numbers: each value would cause a trace."""
    kinds = {parameter.name: parameter.kind for parameter in code.parameters}
    for parameter, decided in zip(found.parameters, parameters, strict=True):
        if parameter.evidence is not Evidence.DATAFLOW:
            continue
        if decided.kind is ParameterValueKind.CONTAINER and any(
            _collects_python_numbers(value) or _has_computed_float(value) for value in parameter.values
        ):
            return f"`{parameter.name}` holds Python values that vary: each would be traced ({PYTHON_SCALAR.id})"
        if decided.kind is ParameterValueKind.CONTAINER and any(
            _parts_or_none(value) > MAX_OPTIONAL_PARTS for value in parameter.values
        ):
            return (
                f"`{parameter.name}` holds None in several places where other calls have tensors: "
                f"each pattern would be traced ({PYTHON_SCALAR.id})"
            )
        if decided.kind is not ParameterValueKind.PRIMITIVE:
            continue
        if kinds.get(parameter.name) in (ParameterKind.VAR_POSITIONAL, ParameterKind.VAR_KEYWORD):
            continue
        values = [member for value in parameter.values for member in members(value)]
        numbers = [
            value for value in values if python_type(value) in (PythonType.INT, PythonType.FLOAT, PythonType.STR)
        ]
        unknown = [value for value in numbers if not isinstance(value, Constant)]
        if len(numbers) > MAX_PYTHON_VALUES or (unknown and not is_steady(codes, facts, code.id, parameter.name)):
            return f"`{parameter.name}` gets Python values that vary: each would be traced ({PYTHON_SCALAR.id})"
    return None


def _collects_python_numbers(value: Value) -> bool:
    """Whether it is a list filled with computed Python numbers: each content is another structure."""
    return any(
        isinstance(member, FrozenList) and member.element is not None and _holds_python_numbers(member.element)
        for member in members(value)
    )


def _has_computed_float(value: Value) -> bool:
    """Whether it is a structure with a Python float: a computed float usually differs between calls."""
    parts: list[Value] = []
    for member in members(value):
        match member:
            case TupleValue(elements):
                parts += elements
            case FrozenList(elements):
                parts += elements or ()
            case FrozenDict(items):
                parts += (part for _, part in items)
            case _:
                pass
    return any(
        (isinstance(part, Scalar) and part.type is PythonType.FLOAT and not part.symbolic)
        for whole in parts
        for part in members(whole)
    ) or any(map(_has_computed_float, parts))


def _holds_python_numbers(value: Value) -> bool:
    return any(
        (isinstance(member, Scalar) and not member.symbolic)
        or (isinstance(member, TupleValue) and any(map(_holds_python_numbers, member.elements)))
        for member in members(value)
    )


def _parts_or_none(value: Value) -> int:
    """The number of parts of a structure that are None in some calls, each independently of the others."""
    return max((_optional_parts(member) for member in members(value)), default=0)


def _optional_parts(structure: Value) -> int:
    match structure:
        case TupleValue(elements):
            return sum(_is_optional(element) or _parts_or_none(element) for element in elements)
        case FrozenList(elements, rest):
            known = sum(_is_optional(element) or _parts_or_none(element) for element in elements or ())
            return known if rest is None else known + 2 * (_is_optional(rest) or _parts_or_none(rest))
        case SequenceValue(element):
            # the length is unknown: the largest number
            return 2 * (_is_optional(element) or _parts_or_none(element))
        case _:
            return 0


def _is_optional(value: Value) -> bool:
    alternatives = members(value)
    return any(member == Constant(None) for member in alternatives) and any(
        isinstance(member, TensorValue) for member in alternatives
    )
