"""The form of library models, and the protocol between a model and the interpreter. Computes: nothing.

Gives: `Entity` (the model of one qualified name), `BoundCall` (one call of it, arguments bound to parameters) and `Rule` (from a bound
call to the abstract result). A rule is a pure function of its bound call, apart from `BoundCall.invoke`.

Conventions for rules:

- Arguments hold no unions at the top level (the interpreter calls a rule once for each combination and joins) and no references
  to lists, tuples or dicts (they arrive as `FrozenList`, `TupleValue`, `FrozenDict`, nested as deep as they are). Layers, models and
  other instances stay `Reference`s.
- A rule checks its inputs in order, raises `OperationError` if, and only if, the operation certainly fails on these inputs in
  TensorFlow's eager mode and in graphs alike, and then computes the result. Missing information is an unknown dtype, size, rank or value.
- A rule never guesses: less precise is fine, different from TensorFlow is a bug (tests/conformance).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Protocol, TypeAlias

from terra_refactor.domain.effect import EffectKind
from terra_refactor.domain.value import Value
from terra_refactor.tf_model.releases import Behaviour


class EntityKind(Enum):
    MODULE = "module"
    FUNCTION = "function"
    """A function, or a method called with its receiver in `BoundCall.receiver`."""
    CLASS = "class"
    VALUE = "value"
    """A constant such as `tensorflow.float32`; its value is `Entity.value`."""


class Trait(Enum):
    """Traits of a library function or class for hazard rules and the cost model."""

    __hash__ = (
        object.__hash__
    )  # the hash of an enumeration is Python code, and sets of these are queried millions of times

    EAGER_ONLY = "eager only"
    """Raises for a symbolic tensor, or if it runs while a graph is traced (`Tensor.numpy`, Keras `fit`): TR301."""
    CONCRETE_ARRAYS = "concrete arrays"
    """Converts its arguments to ndarrays on the host (NumPy, SciPy, pandas, PIL, cv2): raises on symbolic tensors: TR302."""
    ARRAY_OF_ITSELF = "array of itself"
    """Gives its argument as an array, unchanged otherwise: what is passed is an array, or a list that becomes one."""
    TENSOR_OPERATION = "tensor operation"
    """Runs TensorFlow operations."""
    RETURNS_TENSOR = "returns tensor"
    """Returns a tensor (or a structure of them), even if no rule gives its type."""
    CREATES_STATE = "creates state"
    """Creates variables, layers, metrics, optimizers or models: TR603."""
    TENSOR_STATE = "tensor state"
    """Reads or updates state that TensorFlow owns (variables, optimizers, metrics): fine in a graph."""
    HOST_CALLBACK = "host callback"
    """Runs a function argument as Python on every execution (`tf.py_function`, `tf.numpy_function`)."""
    XLA_UNSUPPORTED = "xla unsupported"
    DATASET = "dataset"
    """Creates or transforms a dataset."""
    TAKES_TENSORS = "takes tensors"
    """Accepts tensors, arrays or numbers as data (so its use of a parameter is evidence of kind `usage`)."""
    TRANSPARENT_DECORATOR = "transparent decorator"
    """Applied to a function, returns a function that is equivalent for callers (`functools.wraps(f)`, `functools.lru_cache`)."""
    ITERATES = "iterates"
    """Iterates over its arguments in Python."""
    ITERATES_FIRST = "iterates first"
    """Functions among these that iterate only over the first argument: `sum(terms, start)`."""
    ITERATES_DATASETS = "iterates datasets"
    """Functions among these for which AutoGraph uses the dataset's own function."""
    MAKES_ITERATOR = "makes iterator"
    """Returns an iterator."""
    COMPARES_ELEMENTS = "compares elements"
    """Tests the truth of the elements of its argument, or of comparisons of them."""
    COMPARES_RESULTS = "compares results"
    """Tests the truth of a function's results, or of comparisons."""
    COMPARES_ARGUMENTS = "compares arguments"
    """Compares its arguments if there are several."""
    ORDER_FREE = "order free"
    """The result does not depend on the order of the elements."""
    KEEPS_ORDER = "keeps order"
    """Returns a sequence of the elements of its argument, in order."""
    VIEWS_DICT = "views dict"
    """A view of a dict."""
    HASHES_ELEMENTS = "hashes elements"
    """Hashes the elements of its argument."""
    NEEDS_VALUE_OF_FIRST = "needs value of first"
    """Uses its first argument as an index or key, or compares it with its content."""
    MAKES_TEXT = "makes text"
    """Returns the text of its argument."""
    HANDS_ON_TEXT = "hands on text"
    """Its result contains the text of its argument."""
    KEEPS_ARGUMENT = "keeps argument"
    """Stores an argument in a container."""
    FILLS_LIST = "fills list"
    """Makes a list longer."""
    NEEDS_NUMBER = "needs number"
    """Accepts only Python numbers."""
    TAKES_OPEN_SIZES = "takes open sizes"
    """Accepts None for a size."""
    READS_SIZE = "reads size"
    """Returns a size, or uses one, as a Python value."""
    NEEDS_RANK = "needs rank"
    """Raises while a graph is traced if the rank of its data is unknown."""
    CONVERTS_NUMBERS = "converts numbers"
    """Converts a Python number or a tensor to a tensor."""
    KEEPS_NUMBERS_TYPE = "keeps type of number"
    """Converts a Python number to a tensor with a dtype that follows from the number's type, unless a dtype is given."""
    CONVERTS_ARRAYS = "converts arrays"
    """Converts arrays, but not tensors, of any dtype."""
    ONE_DTYPE = "one dtype"
    """Its first two inputs (or the members of the first) must have one dtype."""
    RUNS_BRANCHES = "runs branches"
    """Runs one of its function arguments in eager code, and all of them while a graph is traced."""
    RUNS_BODY = "runs body"
    """Runs a function as often as tensors determine in eager code, and once while a graph is traced."""
    GIVES_OPERATION = "gives operation"
    """Returns None eagerly, and an operation in a graph."""
    READS_KEPT = "reads kept"
    """Reads a file, a dataset, the command line: data that does not change by itself. Advances nothing."""
    OPENS_FILE = "opens file"
    """Opens a file; its second parameter, `mode`, says whether to read it."""
    ENDS_PROGRAM = "ends program"
    """Ends the program, by an exception or immediately."""
    KEEPS_SETTING = "keeps setting"
    """Sets a default of the process to its argument; setting the same one again has no effect."""
    ON_FAILURE_ONLY = "on failure only"
    """Shows its message arguments only if something fails."""
    DROPPED_BY_XLA = "dropped by xla"
    """Left out under `jit_compile=True`."""
    CHANGES_TENSOR_ARRAY = "changes tensor array"
    """Returns the changed `TensorArray`: the same object eagerly, another one in a graph."""
    GIVES_SIZE_OF_ARRAY = "gives size of array"
    """The size of a `TensorArray`: its initial size, unless it may grow."""
    FAILS_ON_VALUES = "fails on values"
    """May raise depending on the content of its arguments, and has no side effects: a graph prunes it if its result is not used."""
    RESIZES = "resizes"
    """The result has another size than the first argument, or than each of its tensors."""
    LOOP_OPTIONS = "loop options"
    """Declares the variables that an enclosing loop may change."""
    LEAVES_GRAPH = "leaves graph"
    """A `with` in which tensors have values."""
    ENTERS_OTHER_GRAPH = "enters other graph"
    """A `with` that enters another graph."""
    ASKS_FOR_MODE = "asks for mode"
    """The result differs between a graph and eager code."""
    FED_BY_SESSION = "fed by session"
    """Has a value only in graphs that a session runs."""
    REFUSED_EAGERLY = "refused eagerly"
    """Raises an exception in eager execution, and works in a graph."""
    ASSIGNS_REFERENCE = "assigns reference"
    """Accepts variables and slices of variables, which are eager tensors that know their origin."""
    READS_VARIABLE = "reads variable"
    """Leaves the graph to read a variable; rejects a tensor of the graph."""
    KEEPS_CONTENTS = "keeps contents"
    """Creates a resource that later operations fill: a graph creates it once, and keeps its contents between calls."""
    FILLED_ONCE = "filled once"
    """Creates a resource with fixed contents: a graph fills it once."""
    KEEPS_ADAPTED = "keeps adapted"
    """A call of a layer that computes with what it has learned by `adapt`, outside of variables."""
    ADAPTS = "adapts"
    """Changes what such a layer has learned."""
    NORMALISES_BY_BATCH = "normalises by batch"
    """Uses statistics of the batch during training, unless it is frozen; for a model, if a known layer of it does."""
    ASKS_FOR_CLASS = "asks for class"
    """Tests the class of its first argument."""
    READS_FILE = "reads file"
    """Reads a file when it runs."""
    WRITES_FILE = "writes file"
    """Writes a file when it runs."""
    TAKES_VARIABLES = "takes variables"
    """A method of an optimizer whose argument is a list of variables."""
    GIVES_INPUT_SHAPE = "gives input shape"
    """Sets the input shape of a model."""
    COMPUTES_GRADIENT = "computes gradient"
    """Computes gradients from the recorded operations."""
    EXAMINES_FUNCTION = "examines function"
    """Has another result for a plain Python function than for a traced one, or raises for the traced one."""
    COPIES_DEEPLY = "copies deeply"
    """Copies or serialises its argument with all that it holds, which fails if it holds a traced function."""
    SAVES_MODEL = "saves model"
    """Writes, reads or copies the configuration of a Keras model, in which a traced function has a form that Keras does not read."""
    SAVES_OBJECT = "saves object"
    """Writes an object with its traced methods and their variables."""
    SENDS_TO_PROCESS = "sends to process"
    """Pickles a function that is passed to it, for another process."""
    IN_CONFIGURATION = "in configuration"
    """A function that is passed to it becomes part of the configuration of a Keras model."""
    SETS_SEED = "sets seed"
    """Sets the global seed of TensorFlow's random operations."""
    HANDS_BACK = "hands back"
    """Returns its argument."""
    CALLS_AT_ONCE = "calls at once"
    """Calls functions that are passed to it, before it returns."""
    CALLS_UNCONVERTED = "calls unconverted"
    """Calls functions unconverted, although it belongs to TensorFlow."""
    CALLS_CONVERTED = "calls converted"
    """Calls functions in the same way as its caller."""
    CONVERTS_SOURCE = "converts source"
    """Makes AutoGraph convert a function."""
    RESHAPES = "reshapes"
    """Returns its data with a different shape."""
    STACKS = "stacks"
    """Stacks parts along a new axis."""
    RUNS_GRAPHS_EAGERLY = "runs graphs eagerly"
    """Makes traced functions run eagerly."""
    ENDS_EAGER = "ends eager"
    """Disables eager execution."""
    EAGER_PROGRAMS = "eager programs"
    """Useful only in eager programs."""


class ParameterPassing(Enum):
    POSITIONAL_ONLY = "positional only"
    POSITIONAL = "positional or keyword"
    VAR_POSITIONAL = "*args"
    KEYWORD_ONLY = "keyword only"
    VAR_KEYWORD = "**kwargs"


@dataclass(frozen=True, slots=True)
class ParameterSpec:
    """One parameter of a library function; `default` is its value if that is a plain constant."""

    name: str
    passing: ParameterPassing = ParameterPassing.POSITIONAL
    has_default: bool = False
    default: Value | None = None


class Invoker(Protocol):
    """Calls a value abstractly, on behalf of the library."""

    def __call__(self, function: Value, arguments: Sequence[Value], *, graph: bool = False) -> Value:
        """The result of `function(*arguments)`; `graph` if the library traces it as a graph. `UNKNOWN` if it cannot be called."""
        ...


def never_invoke(function: Value, arguments: Sequence[Value], *, graph: bool = False) -> Value:
    """The invoker of a call without an interpreter (tests of rules that take no functions)."""
    raise AssertionError(f"this rule was not expected to call {function} with {arguments} (graph={graph})")


@dataclass(frozen=True, slots=True)
class BoundCall:
    """One call of a library function, arguments bound to its parameters."""

    name: str
    """The canonical name of the callee."""
    arguments: Mapping[str, Value]
    """By parameter name. A parameter that was not passed has its default if that is a plain constant; otherwise it is absent."""
    extra_arguments: tuple[Value, ...] = ()
    """Arguments bound to `*args`."""
    extra_keywords: Mapping[str, Value] = field(default_factory=dict)
    """Arguments bound to `**kwargs`."""
    receiver: Value | None = None
    """`self` of a method."""
    configuration: Mapping[str, Value] = field(default_factory=dict)
    """For a method of a library instance: its constructor arguments by parameter name, with defaults."""
    incomplete: bool = False
    """A `*` or `**` argument of unknown content was passed, so an absent argument may have been passed."""
    invoke: Invoker = never_invoke

    def argument(self, name: str) -> Value | None:
        """The argument bound to parameter `name`, or None if it was not passed and has no plain default."""
        return self.arguments.get(name)


class ErrorKind(Enum):
    """The kind of error; each except NONE is a rule of the TR4xx family."""

    SHAPE = "shape"
    RANK = "rank"
    DTYPE = "dtype"
    NONE = "none"
    """None in place of a tensor; never reported, since another method probably sets the attribute."""


class OperationError(Exception):
    """An operation that certainly fails on its inputs.

    Attributes:
        kind: the rule of the TR4xx family.
        message: one sentence that names both shapes (or dtypes) and the axis.
        arguments: names of the parameters whose values contradict each other.
        only: the release since which it fails, if earlier releases are known to behave differently; None if it fails
            everywhere.
    """

    def __init__(
        self, kind: ErrorKind, message: str, arguments: tuple[str, ...] = (), only: Behaviour | None = None
    ) -> None:
        super().__init__(message)
        self.only = only
        self.kind = kind
        self.message = message
        self.arguments = arguments


OperationRule: TypeAlias = Callable[[BoundCall], Value]
"""From a bound call to the abstract result. Raises OperationError if the operation certainly fails."""


@dataclass(frozen=True, slots=True)
class Entity:
    """The declaration of one qualified name."""

    name: str
    """Canonical: aliases are resolved by the registry, for example `tensorflow.keras.layers.Dense` to `keras.layers.Dense`."""
    kind: EntityKind
    parameters: tuple[ParameterSpec, ...] | None = None
    """Parameters of a function or of a class's constructor, without `self`; None if unknown."""
    bases: tuple[str, ...] = ()
    """Canonical names of a class's bases, in method resolution order, without itself and `object`."""
    value: Value | None = None
    """Value of a constant."""
    effects: frozenset[EffectKind] = frozenset()
    """Side effects of a call outside the program."""
    traits: frozenset[Trait] = frozenset()
    rule: OperationRule | None = None
    """The result of a call (for a class: of its constructor, if an instance is a plain value such as a variable or a spec)."""
    operations: int = 0
    """Estimated number of eager operations of one call, for the cost model."""
