"""Abstract values of expressions.

Computes: nothing. Gives: a closed union of frozen, hashable, picklable classes. The lattice operations are in `lattice.py`.

The heap is not part of a value: a mutable object is a `Reference` to an `ObjectId`, and its content is in the state
of the interpreter (`state.py`). Library entities are represented by their canonical name only (`LibraryValue`);
`tf_model` defines their meaning.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import Enum
from types import EllipsisType
from typing import TypeAlias

from terra_refactor.domain.dim import Dim, OpenDim, Why, opened
from terra_refactor.domain.dtype import DType
from terra_refactor.domain.roots import EVERYWHERE, KNOWN, Traced
from terra_refactor.domain.shape import Shape
from terra_refactor.domain.tensor import TensorType

ObjectId: TypeAlias = int
"""Number of an abstract object; its allocation site and class are in the interpreter's object table."""

FunctionKey: TypeAlias = tuple[str, int]
"""Module name and index of a function: the fields of `ir.ids.FunctionId`, which this room does not know."""


class PythonType(Enum):
    """The built-in types for which only the type is tracked when the content is unknown."""

    __hash__ = object.__hash__

    INT = "int"
    FLOAT = "float"
    COMPLEX = "complex"
    BOOL = "bool"
    STR = "str"
    BYTES = "bytes"


class TensorKind(Enum):
    """The kind of array of a `TensorValue`."""

    __hash__ = object.__hash__

    TENSOR = "tensor"
    VARIABLE = "variable"
    NDARRAY = "ndarray"
    NUMPY_SCALAR = "numpy scalar"
    KERAS = "keras tensor"
    """A symbolic input or output of functional model building."""
    SPARSE = "sparse tensor"
    RAGGED = "ragged tensor"
    INDEXED_SLICES = "indexed slices"


@dataclass(frozen=True, slots=True)
class Bottom:
    """No value: unreachable code, or a call that never returns."""


@dataclass(frozen=True, slots=True)
class Unbound:
    """A variable or attribute that has not been set on some path. Occurs in unions."""


@dataclass(frozen=True, slots=True)
class EnumMember:
    """The content of a constant that is a member of an enumeration: an object that is equal only to itself.

    `cls` is the class object, `value` the member's `value`, which contains no heap object. Members of enumerations
    that are numbers or texts as well (`IntEnum`, `class Color(str, Enum)`) are constants with that number or text.
    """

    cls: ObjectId
    name: str
    value: Value = field(compare=False)


@dataclass(frozen=True, slots=True, eq=False)
class Constant:
    """A Python constant. 1, 1.0 and True are three different constants; so are 0.0 and -0.0."""

    value: int | float | complex | bool | str | bytes | EllipsisType | EnumMember | None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Constant) or type(self.value) is not type(other.value):
            return False
        if isinstance(self.value, float | complex):
            return repr(self.value) == repr(other.value)
        return self.value == other.value

    def __hash__(self) -> int:
        return hash((type(self.value), self.value))


@dataclass(frozen=True, slots=True)
class Scalar:
    """A Python number or string with unknown content.

    `dim` is an int's value if it is a symbolic size. `symbolic`: it depends on a tensor's content: it was taken from
    a tensor by `int()` or `float()`, set on one side of a condition on a tensor or in a loop over one, or computed
    from such a value. It is a Python value only in eager code: in a graph AutoGraph converts it to a tensor. Its
    `dim` may then be a plain int, too. `limit` is the maximum of an int that is never negative: the variable of a
    loop over a range that counts up, or a remainder. `release`: computed from the version of a library or of Python,
    so that a test on it selects the code for one release. `wide`: a graph has an int64 or float64 where it has an int32
    or float32 for other numbers: the number of an element of a dataset, the quotient of two ints of which one is
    symbolic, and what is computed from them.
    """

    type: PythonType
    dim: Dim = None
    symbolic: bool = False
    limit: int | None = None
    release: bool = False
    wide: bool = False


class Composite:
    """A value with parts. What visits all of them is found once for each value: its hash, the objects in them
    (`lattice.references`), and whether they have marks (`traced.is_marked`).
    """

    __slots__ = ("hashed", "marked", "objects")
    hashed: int
    objects: frozenset[ObjectId]
    marked: bool


def _hashed(value: Composite, *parts: object) -> int:
    found = hash(parts)
    object.__setattr__(value, "hashed", found)
    return found


@dataclass(frozen=True, slots=True)
class TensorValue(Composite):
    """A tensor, variable or array.

    `content` is the abstract content of a small one: a `Constant` or `Scalar` for rank 0, a `TupleValue` of such for
    rank 1 and so on (`tf.shape(x)` has a content of sizes). `variable` identifies a variable's allocation. Other
    details, such as the `layout` of a Keras tensor, are dropped.
    """

    type: TensorType
    kind: TensorKind = TensorKind.TENSOR
    content: Value | None = None
    variable: ObjectId | None = None
    traced: Traced = KNOWN
    """Open parts while a graph is traced, other than its sizes."""

    def __hash__(self) -> int:
        try:
            return self.hashed
        except AttributeError:
            return _hashed(self, self.type, self.kind, self.content, self.variable, self.traced)


@dataclass(frozen=True, slots=True)
class TupleValue(Composite):
    """A tuple by its elements; for a named tuple also its name, its fields, and its class if the program defines it."""

    elements: tuple[Value, ...]
    name: str | None = None
    fields: tuple[str, ...] = ()
    cls: ObjectId | None = None

    def __hash__(self) -> int:
        try:
            return self.hashed
        except AttributeError:
            return _hashed(self, self.elements, self.name, self.fields, self.cls)


@dataclass(frozen=True, slots=True)
class SequenceValue(Composite):
    """An immutable sequence or iterator of unknown length.

    `kind` is its Python type: `tuple`, `set`, `iterator`, `generator`, `zip`, ...
    """

    element: Value
    kind: str = "tuple"
    length: Dim = None
    """Length, if known."""

    def __hash__(self) -> int:
        try:
            return self.hashed
        except AttributeError:
            return _hashed(self, self.element, self.kind, self.length)


@dataclass(frozen=True, slots=True)
class RangeValue(Composite):
    """`range(start, stop, step)` of Python ints."""

    start: Value
    stop: Value
    step: Value

    def __hash__(self) -> int:
        try:
            return self.hashed
        except AttributeError:
            return _hashed(self, self.start, self.stop, self.step)


@dataclass(frozen=True, slots=True)
class SliceValue(Composite):
    """`slice(lower, upper, step)`; an absent bound is `Constant(None)`."""

    lower: Value
    upper: Value
    step: Value

    def __hash__(self) -> int:
        try:
            return self.hashed
        except AttributeError:
            return _hashed(self, self.lower, self.upper, self.step)


@dataclass(frozen=True, slots=True)
class FrozenList(Composite):
    """The content of a list passed to a library operation: each element, or one `element` that stands for an unknown
    number.

    Only `tf_model` sees it; in the interpreter a list is a `Reference`.
    """

    elements: tuple[Value, ...] | None
    element: Value | None = None
    length: Dim = None
    """Length, if it is known although `elements` is None."""

    def __hash__(self) -> int:
        try:
            return self.hashed
        except AttributeError:
            return _hashed(self, self.elements, self.element, self.length)


@dataclass(frozen=True, slots=True)
class FrozenDict(Composite):
    """The content of a dict passed to a library operation; `rest` is the join of the values under unknown keys."""

    items: tuple[tuple[Value, Value], ...]
    rest: Value | None = None

    def __hash__(self) -> int:
        try:
            return self.hashed
        except AttributeError:
            return _hashed(self, self.items, self.rest)


@dataclass(frozen=True, slots=True)
class Reference:
    """A mutable object (instance, list, dict, set, class) by its identity."""

    object: ObjectId


@dataclass(frozen=True, slots=True, eq=True)
class FunctionValue(Composite):
    """A Python function object: its code and the objects that hold its captured variables and defaults."""

    function: FunctionKey
    closure: tuple[tuple[str, ObjectId], ...] = ()
    """For each free variable the object (a cell) that holds it."""
    defaults: tuple[tuple[str, Value], ...] = ()
    annotations: tuple[tuple[str, Value], ...] = ()
    hybrid: tuple[tuple[str, Value], ...] | None = None
    """The arguments of the `tf.function` that wraps it; None if it is not wrapped, () if wrapped without arguments."""
    wrappers: tuple[str, ...] = ()
    """Qualified names of the library decorators that keep the function callable as it is, outermost last."""

    def __hash__(self) -> int:
        # the other fields rarely distinguish two values, and are long
        return hash((self.function, self.closure))


@dataclass(frozen=True, slots=True)
class BoundMethod(Composite):
    """A function (a `FunctionValue` or a `LibraryValue`) with its first argument."""

    function: Value
    receiver: Value

    def __hash__(self) -> int:
        try:
            return self.hashed
        except AttributeError:
            return _hashed(self, self.function, self.receiver)


@dataclass(frozen=True, slots=True)
class PartialValue(Composite):
    """A `functools.partial`."""

    function: Value
    arguments: tuple[Value, ...]
    keywords: tuple[tuple[str, Value], ...]

    def __hash__(self) -> int:
        try:
            return self.hashed
        except AttributeError:
            return _hashed(self, self.function, self.arguments, self.keywords)


@dataclass(frozen=True, slots=True)
class ModuleValue:
    """A module of the repository."""

    name: str


@dataclass(frozen=True, slots=True)
class LibraryValue:
    """A module, class, function or object of a library by its canonical qualified name, for example `tensorflow.math.add`."""

    name: str


OBJECT_DICT = LibraryValue("builtins.object.__dict__")
"""Applied to an instance (`PartialValue`): its attributes as a dict."""


@dataclass(frozen=True, slots=True)
class SuperValue(Composite):
    """`super()`: attributes are looked up after `cls` in the method resolution order of `receiver`."""

    cls: Value
    receiver: Value

    def __hash__(self) -> int:
        try:
            return self.hashed
        except AttributeError:
            return _hashed(self, self.cls, self.receiver)


@dataclass(frozen=True, slots=True)
class DatasetValue(Composite):
    """A `tf.data.Dataset` (or, if `iterator`, its iterator) by the structure of one element."""

    element: Value
    cardinality: Dim = None
    iterator: bool = False
    last: Value | None = None
    """The last element, if it is known to differ: the remainder that does not fill a batch."""
    lead: tuple[Value, int] | None = None
    """The known values of the first elements, if they are more precise: whole batches."""
    counted: Dim = None
    """The number of elements if TensorFlow does not know it (`cardinality` is None), as for a generator."""
    endless: bool = False
    """It never ends (`repeat()`) or is empty, so every batch is full."""

    @property
    def number(self) -> Dim:
        """The number of elements, even if TensorFlow does not know it."""
        return self.counted if self.cardinality is None else self.cardinality

    def __hash__(self) -> int:
        try:
            return self.hashed
        except AttributeError:
            return _hashed(
                self, self.element, self.cardinality, self.iterator, self.last, self.lead, self.counted, self.endless
            )


@dataclass(frozen=True, slots=True)
class SpecValue:
    """A `tf.TensorSpec` (or sparse, ragged, variable spec by `kind`)."""

    type: TensorType
    kind: TensorKind = TensorKind.TENSOR


@dataclass(frozen=True, slots=True)
class ShapeValue:
    """A `tf.TensorShape` (`x.shape` of a tensor). The interpreter determines the result of reading an element."""

    shape: Shape
    traced: Traced = KNOWN
    """Which parts a trace does not know, for an unknown rank."""


@dataclass(frozen=True, slots=True)
class DTypeValue:
    """A `tf.DType` or NumPy dtype; `dtype` is None if its name is unknown."""

    dtype: DType | None


@dataclass(frozen=True, slots=True)
class Origin:
    """The origin of an unknown value: the root of its access path, for effects on it.

    `root` is `parameter`, `global`, `library`, or `call`; `name` is its name.
    """

    root: str
    name: str
    is_attribute: bool = False
    """It is an attribute that tensors do not have, so its uses are no evidence about the type of its owner."""


@dataclass(frozen=True, slots=True)
class UnknownValue:
    """An unknown value, perhaps known not to be a tensor, with its origin."""

    may_be_tensor: bool = True
    origin: Origin | None = None
    reason: str = ""
    """The reason: `budget`, `unresolved import`, ...; empty in ordinary cases."""
    number: Dim = None
    """Its int value if it is an int, for use as a size: a number of a configuration file."""


LOADED_ITEM = "loaded item"
"""As the root of an origin: the values of a mapping loaded from a file, which `name` identifies; the key is unknown."""
NAMED_LIKE_A_TENSOR = "named like a tensor"
"""As the reason of an unknown value: a parameter with such a name, or a value computed from one.

The name is no evidence for its type, but for the cost of computing with it.
"""
RECORDED_AS_A_TENSOR = "a tensor in recorded runs"
"""As the reason of an unknown value: a parameter that was a tensor in recorded runs."""
NO_ATTRIBUTE = "no attribute"
"""As the reason of an unknown value: an attribute that the object, or its class, does not have."""
NOT_BOUND = "not bound here"
"""As the reason of an unknown value: a read of a variable that no assignment reaches, which raises."""
SUGGESTED = frozenset({NAMED_LIKE_A_TENSOR, RECORDED_AS_A_TENSOR})


@dataclass(frozen=True, slots=True)
class UnionValue(Composite):
    """One of several values: at least two, none of them a union or implied by another, in the order in which they were added."""

    members: tuple[Value, ...]

    def __hash__(self) -> int:
        try:
            return self.hashed
        except AttributeError:
            return _hashed(self, self.members)


Value: TypeAlias = (
    Bottom
    | Unbound
    | Constant
    | Scalar
    | TensorValue
    | TupleValue
    | SequenceValue
    | RangeValue
    | SliceValue
    | FrozenList
    | FrozenDict
    | Reference
    | FunctionValue
    | BoundMethod
    | PartialValue
    | ModuleValue
    | LibraryValue
    | SuperValue
    | DatasetValue
    | SpecValue
    | ShapeValue
    | DTypeValue
    | UnknownValue
    | UnionValue
)
"""The closed union of abstract values."""

BOTTOM = Bottom()
UNBOUND = Unbound()
NONE = Constant(None)
TRUE = Constant(True)
FALSE = Constant(False)
UNKNOWN = UnknownValue()
NOT_A_TENSOR = UnknownValue(may_be_tensor=False)
UNKNOWN_INT = Scalar(PythonType.INT)
UNKNOWN_FLOAT = Scalar(PythonType.FLOAT)
UNKNOWN_BOOL = Scalar(PythonType.BOOL)
UNKNOWN_STR = Scalar(PythonType.STR)


def as_symbolic(value: Value) -> Value:
    """A Python number or string as one that depends on a tensor's content (see `Scalar.symbolic`).

    Other values are returned unchanged.
    """
    match value:
        case Constant(bool()):
            return Scalar(PythonType.BOOL, None, symbolic=True)
        case Constant(int() as number):
            return Scalar(PythonType.INT, _as_tensor(number), symbolic=True, wide=is_wide(value))
        case Constant(float()):
            return Scalar(PythonType.FLOAT, None, symbolic=True)
        case Constant(str()):
            return Scalar(PythonType.STR, None, symbolic=True)
        case Scalar(type=kind, dim=dim, limit=limit, wide=wide):
            if kind is PythonType.INT and not isinstance(dim, OpenDim):
                dim = _as_tensor(dim)
            return Scalar(kind, dim, symbolic=True, limit=limit, wide=wide)
        case _:
            return value


def _as_tensor(dim: Dim) -> Dim:
    return opened(dim, EVERYWHERE, Why.CONTENT, is_tensor=True)


INT_OF_DATASET = Scalar(PythonType.INT, _as_tensor(None), symbolic=True, wide=True)
"""The length of a dataset, or the number of an element: an int64 tensor in a graph."""


def is_wide(value: Value) -> bool:
    """Whether the value is a Python number that a graph replaces by an int64 or float64."""
    if isinstance(value, Constant):
        return type(value.value) is int and not -(2**31) <= value.value < 2**31
    return isinstance(value, Scalar) and value.wide


def is_symbolic_number(value: Value) -> bool:
    """Whether the value is a Python number that a graph replaces by a tensor."""
    return isinstance(value, Scalar) and value.symbolic


def is_length_in_graph(value: Value) -> bool:
    """Whether the value is, or is computed from, the length of a tensor that is unknown in a graph: a tensor while it
    is traced.
    """
    return isinstance(value, Scalar) and isinstance(value.dim, OpenDim) and value.dim.is_tensor


def of_release(value: Value) -> Value:
    """The value marked as computed from the version of a library (see `Scalar.release`). Constants stay constants."""
    match value:
        case Scalar(release=False):
            return replace(value, release=True)
        case TupleValue():
            return replace(value, elements=tuple(of_release(element) for element in value.elements))
        case SequenceValue():
            return replace(value, element=of_release(value.element))
        case FrozenList(elements=None, element=element) if element is not None:
            return replace(value, element=of_release(element))
        case FrozenList(elements=elements) if elements is not None:
            return replace(value, elements=tuple(of_release(element) for element in elements))
        case UnionValue():
            return UnionValue(tuple(of_release(member) for member in value.members))
        case _:
            return value


def speaks_of_release(value: Value) -> bool:
    """Whether the value, or a part of it, is computed from the version of a library."""
    match value:
        case Scalar():
            return value.release
        case TupleValue():
            return any(speaks_of_release(element) for element in value.elements)
        case SequenceValue():
            return speaks_of_release(value.element)
        case FrozenList(elements=elements, element=element):
            return any(
                speaks_of_release(part) for part in (*(elements or ()), *(() if element is None else (element,)))
            )
        case UnionValue():
            return any(speaks_of_release(member) for member in value.members)
        case _:
            return False


UNKNOWN_TENSOR = TensorValue(TensorType())


def members(value: Value) -> tuple[Value, ...]:
    """The alternatives of a value: a union's members, nothing for `Bottom`, else the value itself."""
    if type(value) is UnionValue:
        return value.members
    if type(value) is Bottom:
        return ()
    return (value,)


def is_tensor(value: Value) -> bool:
    """True if every alternative is a tensor of TensorFlow (no ndarray), and there is one."""
    alternatives = members(value)
    return bool(alternatives) and all(
        isinstance(member, TensorValue) and member.kind not in (TensorKind.NDARRAY, TensorKind.NUMPY_SCALAR)
        for member in alternatives
    )


def may_be_tensor(value: Value) -> bool:
    """True if some alternative is, or may be, a tensor of TensorFlow."""
    return any(
        (isinstance(member, TensorValue) and member.kind not in (TensorKind.NDARRAY, TensorKind.NUMPY_SCALAR))
        or (isinstance(member, UnknownValue) and member.may_be_tensor)
        for member in members(value)
    )
