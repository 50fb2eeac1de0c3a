"""The form in which library knowledge is declared, and the small protocol between a declaration and the interpreter. Computes: nothing.

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

    __hash__ = object.__hash__  # that of an enumeration is Python code, and sets of these are queried millions of times

    EAGER_ONLY = "eager only"
    """Raises when it meets a symbolic tensor or runs while a graph is traced (`Tensor.numpy`, Keras `fit`): TR301."""
    CONCRETE_ARRAYS = "concrete arrays"
    """Converts its arguments to ndarrays on the host (NumPy, SciPy, pandas, PIL, cv2): raises on symbolic tensors: TR302."""
    TENSOR_OPERATION = "tensor operation"
    """Does tensor work: runs TensorFlow operations."""
    RETURNS_TENSOR = "returns tensor"
    """Returns a tensor (or a structure of them), even where no rule says which."""
    CREATES_STATE = "creates state"
    """Makes variables, layers, metrics, optimizers or models: TR603."""
    TENSOR_STATE = "tensor state"
    """Reads or updates state that TensorFlow owns (variables, optimizers, metrics): fine in a graph."""
    HOST_CALLBACK = "host callback"
    """Runs a function argument as Python at every execution (`tf.py_function`, `tf.numpy_function`)."""
    XLA_UNSUPPORTED = "xla unsupported"
    DATASET = "dataset"
    """Makes or transforms a dataset."""
    TAKES_TENSORS = "takes tensors"
    """Accepts tensors, arrays or numbers where it takes data (its parameters are evidence of kind `usage`)."""
    TRANSPARENT_DECORATOR = "transparent decorator"
    """Applied to a function it gives a function that means the same to its callers (`functools.wraps(f)`, `functools.lru_cache`)."""
    ITERATES = "iterates"
    """Goes through its arguments in Python."""
    ITERATES_FIRST = "iterates first"
    """Of these, functions that iterate over the first argument only: `sum(terms, start)`."""
    ITERATES_DATASETS = "iterates datasets"
    """Of these, functions for which AutoGraph uses a dataset's own function."""
    MAKES_ITERATOR = "makes iterator"
    """Returns an iterator."""
    COMPARES_ELEMENTS = "compares elements"
    """Tests the truth of the elements of its argument, or of comparisons of them."""
    COMPARES_RESULTS = "compares results"
    """Tests the truth of a function's results, or of comparisons."""
    COMPARES_ARGUMENTS = "compares arguments"
    """Compares its arguments if there are several."""
    ORDER_FREE = "order free"
    """Makes the same of its elements in any order."""
    KEEPS_ORDER = "keeps order"
    """Returns a sequence of the elements of its argument, in order."""
    VIEWS_DICT = "views dict"
    """A view of a dict."""
    HASHES_ELEMENTS = "hashes elements"
    """Hashes the elements of its argument."""
    NEEDS_VALUE_OF_FIRST = "needs value of first"
    """Uses its first argument as an index or key, or compares it with its content."""
    MAKES_TEXT = "makes text"
    """The text of its argument."""
    HANDS_ON_TEXT = "hands on text"
    """Its result has the text in it that it is given."""
    KEEPS_ARGUMENT = "keeps argument"
    """Puts an argument into a container."""
    FILLS_LIST = "fills list"
    """Makes a list longer."""
    NEEDS_NUMBER = "needs number"
    """Takes Python numbers only."""
    TAKES_OPEN_SIZES = "takes open sizes"
    """Takes None for a size."""
    READS_SIZE = "reads size"
    """Returns a size, or uses one, as a Python value."""
    NEEDS_RANK = "needs rank"
    """Raises while a graph is traced if the rank of its data is not known."""
    CONVERTS_NUMBERS = "converts numbers"
    """Makes a tensor of a Python number or of a tensor alike."""
    CONVERTS_ARRAYS = "converts arrays"
    """Converts arrays to tensors of any dtype, and tensors not."""
    ONE_DTYPE = "one dtype"
    """Its first two inputs (or the members of the first) have one dtype."""
    RUNS_BRANCHES = "runs branches"
    """Runs one of the functions that it is given in eager code, and all of them while a graph is traced."""
    RUNS_BODY = "runs body"
    """Runs a function as often as tensors say in eager code, and once while a graph is traced."""
    GIVES_OPERATION = "gives operation"
    """Gives None eagerly, and an operation in a graph."""
    READS_KEPT = "reads kept"
    """Reads a file, a dataset, the command line: data that does not change by itself. Advances nothing."""
    OPENS_FILE = "opens file"
    """Opens a file; its second parameter, `mode`, says whether to read it."""
    ENDS_PROGRAM = "ends program"
    """Ends the program, by an exception or at once."""
    KEEPS_SETTING = "keeps setting"
    """Sets a default of the process to the object that it is given; to set the same one again changes nothing."""
    ON_FAILURE_ONLY = "on failure only"
    """Shows its texts only if something fails."""
    DROPPED_BY_XLA = "dropped by xla"
    """Left out under `jit_compile=True`."""
    CHANGES_TENSOR_ARRAY = "changes tensor array"
    """Returns the changed `TensorArray`: eagerly it is the same object, in a graph another."""
    GIVES_SIZE_OF_ARRAY = "gives size of array"
    """The size of a `TensorArray`: that it was made with, unless it may grow."""
    FAILS_ON_VALUES = "fails on values"
    """May raise depending on the content of its arguments, and has no side effects: a graph prunes it if its result is not used."""
    RESIZES = "resizes"
    """The result has another size than the first argument, or than each of the tensors in it."""
    LOOP_OPTIONS = "loop options"
    """Declares the variables that a loop around it may change."""
    LEAVES_GRAPH = "leaves graph"
    """A `with` in which tensors have values."""
    ENTERS_OTHER_GRAPH = "enters other graph"
    """A `with` for another graph."""
    ASKS_FOR_MODE = "asks for mode"
    """Another answer in a graph than eagerly."""
    FED_BY_SESSION = "fed by session"
    """Has a value only in graphs that a session runs."""
    ASSIGNS_REFERENCE = "assigns reference"
    """Takes variables, and slices of variables: eager tensors that know where they are from."""
    READS_VARIABLE = "reads variable"
    """Leaves the graph to read a variable; refuses a tensor of the graph."""
    NORMALISES_BY_BATCH = "normalises by batch"
    """Normalises by the batch in training, unless it is frozen; of a model, as far as is known."""
    ASKS_FOR_CLASS = "asks for class"
    """Tests the class of its first argument."""
    READS_FILE = "reads file"
    """Reads a file when it runs."""
    WRITES_FILE = "writes file"
    """Writes a file when it runs."""
    TAKES_VARIABLES = "takes variables"
    """A method of an optimizer that is given variables."""
    GIVES_INPUT_SHAPE = "gives input shape"
    """Sets the input shape of a model."""
    COMPUTES_GRADIENT = "computes gradient"
    """Computes gradients from the recorded operations."""
    HANDS_BACK = "hands back"
    """Returns its argument."""
    CALLS_UNCONVERTED = "calls unconverted"
    """Calls functions as they are, though it is of TensorFlow."""
    CALLS_CONVERTED = "calls converted"
    """Calls functions as its caller would."""
    CONVERTS_SOURCE = "converts source"
    """Has AutoGraph convert a function."""
    RESHAPES = "reshapes"
    """Returns its data with a different shape."""
    STACKS = "stacks"
    """Stacks parts along a new axis."""
    RUNS_GRAPHS_EAGERLY = "runs graphs eagerly"
    """Has traced functions run as they are."""
    ENDS_EAGER = "ends eager"
    """Turns eager execution off."""
    EAGER_PROGRAMS = "eager programs"
    """Of use in eager programs only."""


class ParameterPassing(Enum):
    POSITIONAL_ONLY = "positional only"
    POSITIONAL = "positional or keyword"
    VAR_POSITIONAL = "*args"
    KEYWORD_ONLY = "keyword only"
    VAR_KEYWORD = "**kwargs"


@dataclass(frozen=True, slots=True)
class ParameterSpec:
    """One parameter of a library function; `default` is its value where it is a plain constant."""

    name: str
    passing: ParameterPassing = ParameterPassing.POSITIONAL
    has_default: bool = False
    default: Value | None = None


class Invoker(Protocol):
    """Calls a value abstractly, in the place of the library."""

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
    """By parameter name. A parameter that was not passed has its default if that is a plain constant, else it is absent."""
    extra_arguments: tuple[Value, ...] = ()
    """Arguments bound to `*args`."""
    extra_keywords: Mapping[str, Value] = field(default_factory=dict)
    """Arguments bound to `**kwargs`."""
    receiver: Value | None = None
    """`self` of a method."""
    configuration: Mapping[str, Value] = field(default_factory=dict)
    """For a method of a library class's instance: the arguments of its constructor, by parameter name, with defaults."""
    incomplete: bool = False
    """A `*` or `**` argument of unknown content was passed: an absent argument may be present after all."""
    invoke: Invoker = never_invoke

    def argument(self, name: str) -> Value | None:
        """The argument bound to parameter `name`, or None if it was not passed and has no plain default."""
        return self.arguments.get(name)


class ErrorKind(Enum):
    """The problem; each is a rule of the TR4xx family."""

    SHAPE = "shape"
    RANK = "rank"
    DTYPE = "dtype"


class OperationError(Exception):
    """An operation that certainly fails on its inputs.

    Attributes:
        kind: which rule of the TR4xx family it is.
        message: one sentence that names both shapes (or dtypes) and the axis.
        arguments: names of the parameters whose values contradict each other.
        only: since when it is refused, where releases before are known to do something else; None if it fails everywhere.
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
"""From a bound call to the abstract result. Raises OperationError where the operation certainly fails."""


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
    """The result of a call (for a class: of its constructor, where an instance is a plain value such as a variable or a spec)."""
    operations: int = 0
    """Estimated number of eager operations of one call, for the cost model."""
