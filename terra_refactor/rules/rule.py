"""Rules and their findings.

Computes: nothing. Gives: `Rule`, `LocalHazard`, `Severity`, `Finding`, `RelatedPlace`, `CureHint`. A rule is declared
once, in its own file below `rules/<family>/`, with its id, name, severity, documentation and samples; `explain`, the
manual, SARIF and the editor read that declaration.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Final, TypeAlias

from terra_refactor.ir.ids import OpId
from terra_refactor.syntax.edit import Edit
from terra_refactor.syntax.location import Span
from terra_refactor.tf_model.releases import Behaviour
from terra_refactor.tf_model.spec import ErrorKind

if TYPE_CHECKING:
    from terra_refactor.domain.effect import EffectKind
    from terra_refactor.facts.argument_flow import ArraySource
    from terra_refactor.facts.view import ContextView


class Severity(Enum):
    """Severity of a finding."""

    ERROR = "error"
    """It fails, or silently computes something else; requires proof."""
    WARNING = "warning"
    """It costs time, or is a likely mistake."""
    INFORMATION = "information"


class Family(Enum):
    """Family of a rule, by the hundreds of its id."""

    HOST_EFFECTS = "1"
    RETRACING = "2"
    GRAPH_FAILURES = "3"
    SHAPES = "4"
    NO_BENEFIT = "5"
    MISUSE = "6"
    XLA = "7"
    TOOL = "9"


@dataclass(frozen=True, slots=True)
class Retraces:
    """The reasons for traces, as in a record of a run, that a rule reports, and the remedy."""

    causes: tuple[str, ...]
    advice: str


class CureKind(Enum):
    """The mechanical cures; the value is the id under which an editor offers one. `refactor.cures` makes the edits."""

    TF_PRINT = "print-to-tf-print"
    TENSORFLOW_CALL = "numpy-to-tensorflow"
    DYNAMIC_SIZE = "shape-to-tf-shape"
    TENSOR_ARRAY = "list-to-tensor-array"
    CREATION_OUTSIDE = "creation-moved-out"
    HOISTED_FUNCTION = "tf-function-out-of-loop"
    TENSOR_ARGUMENT = "python-scalar-to-tensor"


Doubt: TypeAlias = "str | Behaviour"
"""A condition for an error in addition to the proof: a property of the program, in words, or a release of a library."""


def in_words(in_use: Doubt | None) -> Doubt | None:
    """The condition under which a graph in use is wrong, phrased as a doubt."""
    return f"only if {in_use}" if isinstance(in_use, str) else in_use


INTERNAL: Final = "internal error: "
"""Prefix of the message of a hazard that reports an internal error."""


class Nature(Enum):
    """The kind of claim that a hazard makes."""

    FOUND = "found"
    INTERNAL_ERROR = "internal error"
    """A check failed: whether the function is safe is unknown."""
    UNCONVERTED = "unconverted"
    """It is a hazard because AutoGraph leaves the code unconverted."""
    UNKNOWABLE = "unknowable"
    """There is no assumption under which it is not a hazard."""
    POSSIBLE = "possible"
    """It is in a function of that name which an unresolved call may run."""
    REFUSED = "refused"
    """Eager execution raises an exception there, and so does the shim, which runs the function as eager code does."""
    RAISED = "raised"
    """It is an exception that a trace raises as another class: it does not concern a caller that is traced together
    with its own handler.
    """


@dataclass(frozen=True, slots=True)
class CureHint:
    """A possible cure of a place, and the data that the edit needs.

    `details` are the fields that the cure of that kind reads (a dtype, the name of an operation); `assumptions` are
    sentences for the user to check.
    """

    kind: CureKind
    details: tuple[tuple[str, str], ...] = ()
    assumptions: tuple[str, ...] = ()

    def detail(self, name: str) -> str:
        """The detail of that name; empty if there is none."""
        return dict(self.details).get(name, "")


@dataclass(frozen=True, slots=True)
class RelatedPlace:
    """Another place of a finding: a call on the path to it, the origin of a shape."""

    path: str
    span: Span
    message: str


@dataclass(frozen=True, slots=True)
class Finding:
    """One diagnostic."""

    rule: str
    """Id, for example `TR401`."""
    name: str
    """Kebab-case name, for example `shape-mismatch`."""
    severity: Severity
    path: str
    span: Span
    message: str
    fixable: bool = False
    """Whether there is a fix: the action of a decision, or a cure of the place."""
    related: tuple[RelatedPlace, ...] = ()
    """The calls that lead there, the nearest first, or other positions in the message."""
    cure: CureHint | None = None
    function: str = ""
    """Qualified name of the function that contains it, or that it is about; empty for a module's own code."""
    fix: tuple[Edit, ...] = ()
    """Edits of this file that remove the finding, if they do not follow from a decision."""
    release: Behaviour | None = None
    """The library release since which it applies, if known; None if it applies to all."""


@dataclass(frozen=True, slots=True)
class Coercion:
    """A conversion of an array by eager code: to a dtype, or to the dtype of a network's results."""

    dtype: str = ""
    network: str = ""


@dataclass(frozen=True, slots=True)
class Subject:
    """What a hazard is about, for code that removes it or counts it; its message is for readers only."""

    written: str = ""
    """The source text of the operation, with `...` for arguments."""
    state: str = ""
    """The attribute or variable whose value a graph keeps."""
    array: str = ""
    """The parameter that is an array."""
    container: str = ""
    """The parameter whose contents are unknown."""
    coercion: Coercion | None = None
    """The conversion of the array."""
    by_numpy: bool = False
    """NumPy computes the operation, by its own rules for dtypes."""


NO_SUBJECT: Final = Subject()


@dataclass(frozen=True, slots=True)
class LocalHazard:
    """A place in one function, in one context, that would fail in a graph, or whose meaning would change."""

    op: OpId
    message: str
    assumption: str | None = None
    """It is a hazard only if this sentence is wrong (`` `x` is no tensor ``); None if it certainly is one."""
    cure: CureHint | None = None
    parameter: str | None = None
    """It is a hazard only if this parameter is an argument of the graph itself: a value created during the trace does
    not change.
    """
    waits: ArraySource | None = None
    """It is a hazard only for callers that pass an argument of the graph there: a captured variable, or a parameter with an object."""
    boundary: bool = False
    """It is a hazard only if this very function is traced, not if a graph calls it."""
    tensor: OpId | None = None
    """The value that makes it a hazard by being a tensor; None if it depends on no particular value."""
    in_use: Doubt | None = None
    """The condition under which an existing graph is wrong because of it; None if it fails in every trace."""
    nature: Nature = Nature.FOUND
    subject: Subject = NO_SUBJECT
    """Its subject; the source text of the operation is added later."""


Check: TypeAlias = "Callable[[ContextView], Iterator[LocalHazard]]"
EffectCure: TypeAlias = "Callable[[ContextView, OpId], CureHint | None]"
EffectTest: TypeAlias = "Callable[[ContextView, OpId], bool]"


class RuleKind(Enum):
    """The effect of a rule's findings."""

    HAZARD = "hazard"
    """Makes an eager function that reaches it unsafe (or speculative, if only assumed); a diagnostic in code that
    already is a graph.
    """
    DIAGNOSTIC = "diagnostic"
    """Reported wherever it is found; does not affect the decision about the function."""
    DECISION = "decision"
    """Follows from the decision about a function, not from one place."""


@dataclass(frozen=True, slots=True)
class Samples:
    """Programs that demonstrate a rule. Each is a whole module; a line that must be reported ends in `# TRnnn`."""

    bad: str
    good: str
    near_miss: str = ""
    """Similar code that is not reported."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule, declared once."""

    id: str
    name: str
    """Kebab-case; names the reported pattern."""
    kind: RuleKind
    severity: Severity
    summary: str
    """One sentence."""
    explanation: str
    """The effect and its reason, with the text of the run-time error that a user would search for."""
    samples: Samples
    cure: str = ""
    """The recommended alternative."""
    effects: frozenset[EffectKind] = frozenset()
    """The effects that this rule reports."""
    only_effects: EffectTest | None = None
    """The rule reports only the effects that pass this test; a rule of the same kind without a test (None) reports the
    others.
    """
    check: Check | None = None
    """Finds places in one context."""
    cure_of_effect: EffectCure | None = None
    """The cure of an effect that happens at an operation."""
    inherited: bool = True
    """Whether callers have the hazard, too. False for hazards at the boundary of the graph, such as the kind of a result."""
    wrong_in_graph: bool | None = None
    """Whether a graph with it is wrong, rather than only slow or surprising. None: as for its family."""
    since: Behaviour | None = None
    """The release since which a graph with it is wrong; None: since graphs exist."""
    silent: bool = False
    """Whether a graph with it does something else without failing."""
    cured_by_shim: bool = False
    """Whether the shim, which keeps Python's semantics, avoids the hazard."""
    of_set_up: bool = False
    """Whether code with it builds models: it runs once, so speed does not matter."""
    needs_tensors: bool = False
    """Whether it is no hazard at the boundary of a function without tensor computations."""
    speaks_of_sizes: bool = False
    """Whether it is about a size that is unknown in a graph; any input of the tensor may be the reason."""
    compares_structures: bool = False
    """Whether it compares the values of a variable on both sides of a branch, or before and after an iteration."""
    counts_if_used: bool = False
    """Whether it applies only if the operation's result is used."""
    only_decides: bool = False
    """Whether `lint` never reports it: it only explains why a function cannot be assessed."""
    keeps_tensor: bool = False
    """Whether it is about a tensor that outlives the trace."""
    effect_message: str = "`{done}` runs only while a graph is traced, not on every call"
    """Its message about an effect: `done` is the source text, `changed` the changed place in it, `target` the owner of
    that place.
    """
    effect_messages: Mapping[EffectKind, str] = field(default_factory=dict, hash=False)
    """Its messages about particular kinds of effects."""
    failure: ErrorKind | None = None
    """The kind of certainly failing operations that it reports."""
    retraces: Retraces | None = None

    @property
    def family(self) -> Family:
        """The family of the rule."""
        return Family(self.id[2])

    @property
    def raises(self) -> bool:
        """Whether the reported code ends the program when it runs."""
        return self.family in (Family.GRAPH_FAILURES, Family.SHAPES, Family.MISUSE) and not self.silent

    @property
    def breaks_graph(self) -> bool:
        """Whether a graph with it is wrong."""
        return self.family is Family.GRAPH_FAILURES if self.wrong_in_graph is None else self.wrong_in_graph

    def says_of(self, kind: EffectKind, done: str, changed: str, target: str) -> str:
        """The message of an effect."""
        return self.effect_messages.get(kind, self.effect_message).format(done=done, changed=changed, target=target)
