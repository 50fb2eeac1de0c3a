"""Decision about a function: classification and action.

Computes: nothing. Gives: frozen records that the report serialises, the refactorings apply, and the editor shows. The
terms are those of the report (`report/1`).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from terra_refactor.classify.sample import Sample
from terra_refactor.domain.evidence import Evidence
from terra_refactor.domain.tensor import TensorType
from terra_refactor.ir.function import FunctionKind, ParameterKind
from terra_refactor.ir.ids import FunctionId
from terra_refactor.rules.rule import NO_SUBJECT, CureHint, Subject
from terra_refactor.syntax.location import Span


class Classification(Enum):
    """Whether graph execution keeps the meaning."""

    SAFE = "safe"
    SPECULATIVE = "speculative"
    """It does if the listed assumptions hold."""
    UNSAFE = "unsafe"
    """It does not, or it is unknown."""


class Action(Enum):
    """The change to make."""

    ADD_TF_FUNCTION = "add_tf_function"
    REMOVE_TF_FUNCTION = "remove_tf_function"
    TUNE_TF_FUNCTION = "tune_tf_function"
    CO_EXECUTE = "co_execute"
    EXTRACT_TF_FUNCTION = "extract_tf_function"
    """Only for statements that are not a function yet, never for a function."""
    NONE = "none"


class Level(Enum):
    """The level of `fix`; each level includes those before it."""

    SAFE = "safe"
    SPECULATIVE = "speculative"
    COEXEC = "coexec"


class ParameterValueKind(Enum):
    """The coarse kind of a parameter; one word of the report."""

    TENSOR = "tensor"
    VARIABLE = "variable"
    NDARRAY = "ndarray"
    PRIMITIVE = "primitive"
    CONTAINER = "container"
    OBJECT = "object"
    FUNCTION = "function"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class ParameterDecision:
    """Kind and evidence of a parameter, and the distinct tensor types that reach it."""

    name: str
    kind: ParameterValueKind
    evidence: Evidence
    types: tuple[TensorType, ...]
    form: ParameterKind = ParameterKind.POSITIONAL
    """How the argument is passed."""
    required: bool = False
    """It has no default, and is neither `*args` nor `**kwargs`."""
    samples: tuple[Sample, ...] = ()
    """Values that could be passed."""


@dataclass(frozen=True, slots=True)
class SideEffect:
    """A Python side effect of a call of the function. `via` names the functions on the path, outermost first."""

    kind: str
    span: Span
    """In the file of the function in which the effect occurs."""
    path: str
    detail: str
    via: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Hazard:
    """A reason why graph execution would fail or differ; `span` is in the decided function (at the call, if `via` is
    not empty).
    """

    rule: str
    span: Span
    message: str
    via: tuple[str, ...]
    assumed: bool = False
    """It is a hazard only if an assumption fails: the function is speculative, not unsafe."""
    cure: CureHint | None = None
    """A possible cure of the place; only for hazards in the function's own code."""
    subject: Subject = NO_SUBJECT
    is_reason: bool = False
    """The reason of the decision is about it."""
    is_possible: bool = False
    """It is in a method that an unresolved call may run: no change is proposed under the assumption that it does not."""


@dataclass(frozen=True, slots=True)
class HybridArguments:
    """Arguments of the `tf.function` to add or change: keyword and source text, in the order of the source."""

    arguments: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class ExpectedGain:
    """The expected gain of the action in a run."""

    calls: int
    seconds_saved: float
    source: str
    """`record`: from recorded runs; `estimate`: from the known calls of the program."""


@dataclass(frozen=True, slots=True)
class GraphPays:
    """Why a function should become a graph."""

    operations: int
    paid_after: float | None
    """The number of calls after which its trace pays off, if it is unknown whether there are that many."""
    repeated: bool
    """Code of the project calls it repeatedly."""
    traces: str = ""
    """The arguments of which each structure is a trace."""

    def text(self, assumptions: int) -> str:
        """The reason in words, with that number of assumptions."""
        held = "one assumption holds" if assumptions == 1 else f"{assumptions} assumptions hold"
        parts = [
            f"about {self.operations} tensor operations per call"
            + ("" if assumptions else " and nothing that a graph would change")
        ]
        if assumptions:
            parts.append(f"safe if {held}")
        if self.paid_after is not None:
            parts.append(f"pays off after about {self.paid_after:.0f} calls; the number of calls is unknown")
        if not self.repeated:
            parts.append("no repeated call is visible in the project")
        if self.traces:
            parts.append(f"a trace for each structure of {self.traces}")
        return "; ".join(parts)


@dataclass(frozen=True, slots=True)
class Decision:
    """The complete decision about one function."""

    function: FunctionId
    path: str
    module: str
    qualname: str
    line: int
    """The line of `def` (or `lambda`), from 1."""
    end_line: int
    kind: FunctionKind
    hybrid: bool
    """It already is a `tf.function`."""
    hybrid_arguments: tuple[tuple[str, str], ...]
    """The arguments of its present `tf.function`, as source text."""
    classification: Classification
    action: Action
    level: Level
    """The lowest level at which `fix` performs the action."""
    reason: str
    assumptions: tuple[str, ...]
    parameters: tuple[ParameterDecision, ...]
    returns: tuple[TensorType, ...]
    side_effects: tuple[SideEffect, ...]
    recursive: bool
    tensor_computation: bool
    covered_by_graph_callers: bool
    input_signature: str | None
    """Source text of a signature that matches every known call, or None."""
    proposal: HybridArguments
    """Only with `add_tf_function` and `tune_tf_function`: the proposed arguments of the decorator."""
    hazards: tuple[Hazard, ...]
    callees: tuple[FunctionId, ...] = ()
    """Functions of the program that it calls directly, sorted."""
    runs_in_graph: bool = False
    """Some analysed call runs it inside a graph."""
    runs_eagerly: bool = False
    """Some analysed call runs it outside of graphs."""
    expected_gain: ExpectedGain | None = None
    """The expected gain of the action; None if unknown."""
    covered_at_speculative: bool = False
    """With the changes of level `speculative`, every caller is a graph, so it needs no change of its own at that level."""
    rule: str = ""
    """Id of the rule in the reason; empty if there is none."""
    operations: int = 0
    """Estimated tensor operations of one eager call."""
    held_back: bool = False
    """A graph of it would pay off, were it not for a hazard in its own code."""
    pays: GraphPays | None = None
    """The reason, if it is that a graph pays."""
