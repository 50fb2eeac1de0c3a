"""TR328: structures that a traced function flattens and cannot rebuild unchanged."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from terra_refactor.analysis.facts import ObjectKind, ParameterFacts
from terra_refactor.domain.value import Constant, Reference, TupleValue, Value, members
from terra_refactor.facts.codes import ClassOutline
from terra_refactor.facts.records import AttributeRead, Call, Imported, ItemRead
from terra_refactor.facts.view import ContextView
from terra_refactor.ir.function import FunctionKind
from terra_refactor.ir.ids import OpId
from terra_refactor.rules.dict_keys import kinds_of_keys
from terra_refactor.rules.rule import LocalHazard, Rule, RuleKind, Samples, Severity
from terra_refactor.tf_model.class_names import ATTRS_DECORATORS

_FRAMES: Final = frozenset({"DataFrame", "Series", "DataArray"})
"""Classes of pandas and xarray with `__array__`. Source: their manuals."""
_TENSORS_HAVE: Final = frozenset({"shape", "dtype", "ndim"})
_NOT_BY_POSITION: Final = frozenset({"kw_only", "init"})
_LOOKS_AT_FIELDS: Final = frozenset({"converter", "convert", "validator"})


def check(view: ContextView) -> Iterator[LocalHazard]:
    if view.context.in_graph and view.facts.functions[view.function.id].hybrid is None:
        return  # inside a graph an argument does not change
    own = 1 if view.function.kind is FunctionKind.METHOD else 0
    for parameter in view.facts.functions[view.function.id].parameters[own:]:
        reads = [read.op for read in view.code.reads_of(parameter.name)]
        found = _obstacle(view, parameter) or _taken_for_array(view, parameter, reads)
        if found is not None and reads:
            yield LocalHazard(reads[0], *found, boundary=True)


def _obstacle(view: ContextView, parameter: ParameterFacts) -> tuple[str, str | None] | None:
    """The problem with the arguments of calls, and the assumption under which there is none."""
    assumed: tuple[str, str | None] | None = None
    for value in (member for each in parameter.values for member in members(each)):
        kinds = kinds_of_keys(value)
        if len(kinds) > 1:
            return (
                f"`{parameter.name}` has keys of several types ({', '.join(sorted(kinds))}): a traced function sorts keys, "
                "which these do not allow",
                None,
            )
        for outline in _classes_of(view, value):
            name = view.program.function(outline.body).name
            message = (
                f"a traced function takes the {name} `{parameter.name}` apart and rebuilds it with symbolic tensors"
            )
            options = _options(view, outline) if is_attrs_class(view, outline) else frozenset()
            if options & _NOT_BY_POSITION:
                return f"{message} by position, which its constructor does not accept", None
            looks = bool(options & _LOOKS_AT_FIELDS) or outline.defines("__attrs_post_init__")
            looks = looks and is_attrs_class(view, outline)
            if looks or (isinstance(value, TupleValue) and outline.defines("__new__")):
                assumed = message, f"`{name}` can be constructed from symbolic tensors, with the same result"
    return assumed


def _taken_for_array(view: ContextView, parameter: ParameterFacts, reads: list[OpId]) -> tuple[str, None] | None:
    """The attribute read from an object that a traced function receives as a tensor, because the object converts to an array."""
    used = next(
        (
            fact.op
            for fact in view.code.of_kind(AttributeRead)
            if fact.owner in reads and fact.name not in _TENSORS_HAVE
        ),
        None,
    )
    used = used or next(
        (fact.op for fact in view.code.of_kind(ItemRead) if fact.owner in reads and view.all_of(fact.index, _is_text)),
        None,
    )
    if used is None:
        return None
    for value in (member for each in parameter.values for member in members(each)):
        name = view.class_of(value)
        classes = () if name is None else view.codes.classes_named(name)
        if any(each.defines("__array__") for each in classes) or (not classes and name in _FRAMES):
            return (
                f"`{view.written(used)}`: a traced function gets a tensor in place of the {name} `{parameter.name}`",
                None,
            )
    return None


def _is_text(value: Value) -> bool:
    return isinstance(value, Constant) and isinstance(value.value, str)


def _classes_of(view: ContextView, value: Value) -> tuple[ClassOutline, ...]:
    """The classes of the program to which a named tuple or instance may belong."""
    number = value.cls if isinstance(value, TupleValue) else value.object if isinstance(value, Reference) else None
    if number is None or view.facts.objects[number].kind not in (ObjectKind.INSTANCE, ObjectKind.CLASS):
        return ()
    return view.codes.classes_named(view.facts.objects[number].name)


def is_attrs_class(view: ContextView, outline: ClassOutline) -> bool:
    """Whether a decorator of the attrs library creates the class, whose objects TensorFlow flattens."""
    for decorator in outline.decorators:
        root, _, name = decorator.partition("(")[0].strip().rpartition(".")
        if root in ("attr", "attrs") and name in ATTRS_DECORATORS:
            return True
        if not root and name in ATTRS_DECORATORS:
            body = view.codes.of(view.program.modules[outline.body.module].body.id)
            return any(each.name is not None and each.module in ("attr", "attrs") for each in body.of_kind(Imported))
    return False


def _options(view: ContextView, outline: ClassOutline) -> frozenset[str]:
    """Constructor parameters derived from the fields of an attrs class."""
    code = view.codes.of(outline.body)
    found = {argument.keyword for call in code.of_kind(Call) for argument in call.arguments if argument.keyword}
    if any("kw_only=True" in decorator.replace(" ", "") for decorator in outline.decorators):
        found.add("kw_only")
    return frozenset(found)


RULE: Final = Rule(
    id="TR328",
    name="rebuilt-argument",
    kind=RuleKind.HAZARD,
    severity=Severity.ERROR,
    summary="A traced function rebuilds structured arguments with symbolic tensors; some classes and dicts do not allow that.",
    explanation=(
        "Dicts, named tuples and objects of attrs classes are structures to TensorFlow: it flattens the argument, and constructs a new "
        "object of the class from symbolic tensors. A `__new__`, a validator, a converter or `__attrs_post_init__` that looks at values "
        "fails then (`float() argument must be a string or a real number, not 'SymbolicTensor'`), and so do classes whose fields cannot be "
        "given by position. The keys of a dict are sorted: `TypeError: '<' not supported between instances of 'int' and 'str'`. An object "
        "with `__array__` (a DataFrame) becomes one tensor, without the attributes of its class."
    ),
    samples=Samples(
        bad="""\
import tensorflow as tf


@tf.function
def step(x, table):
    return x * table["scale"] + table[0]  # TR328


result = step(tf.ones([3]), {"scale": tf.constant(2.0), 0: tf.constant(1.0)})
""",
        good="""\
import tensorflow as tf


@tf.function
def step(x, table):
    return x * table["scale"] + table["0"]


result = step(tf.ones([3]), {"scale": tf.constant(2.0), "0": tf.constant(1.0)})
""",
        near_miss="""\
import tensorflow as tf

TABLE = {"scale": tf.constant(2.0), 0: tf.constant(1.0)}


@tf.function
def step(x):
    return x * TABLE["scale"] + TABLE[0]


result = step(tf.ones([3]))
""",
    ),
    cure="Use keys of one type, or pass the tensors that the object contains.",
    check=check,
    inherited=False,
)
