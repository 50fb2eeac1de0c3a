"""Decisions in words: the texts of hover, code lens and action titles about a function.

Computes: Markdown, or a sentence. Needs: a decision, and for a card its snapshot. Gives: `verdict`, `action_title`,
`change_title`, `extraction_title`, `shown_name`, `hazards_in_words`, `assumptions_in_words`, `function_card`, `function_text`.
"""

from __future__ import annotations

from collections.abc import Callable

from typing_extensions import assert_never

from terra_refactor.classify.decision import Action, Classification, Decision, Hazard, Level, ParameterDecision
from terra_refactor.classify.region import RegionDecision
from terra_refactor.domain.evidence import Evidence
from terra_refactor.ide.causes import places_to
from terra_refactor.ide.snapshot import Snapshot
from terra_refactor.ide.values import types_text
from terra_refactor.record.record_file import FunctionSeen
from terra_refactor.rules.registry import all_rules
from terra_refactor.workspace.printable import as_code, in_markdown

_MOST_NAMES = 2
_LONGEST_ARGUMENTS = 60
_LONGEST_ARGUMENT = 12
_MOST_ROWS = 8
"""Maximum number of listed parameters, hazards or effects; the rest is counted."""


def action_title(action: Action) -> str:
    """A short description of an action."""
    match action:
        case Action.ADD_TF_FUNCTION:
            return "Add @tf.function"
        case Action.REMOVE_TF_FUNCTION:
            return "Remove @tf.function"
        case Action.TUNE_TF_FUNCTION:
            return "Change to @tf.function"
        case Action.CO_EXECUTE:
            return "Co-execute"
        case Action.EXTRACT_TF_FUNCTION:
            return "Extract as @tf.function"
        case Action.NONE:
            return "Nothing to do"
        case _:
            assert_never(action)


def shown_name(qualname: str) -> str:
    """A function's name for titles, without the functions in which it is defined: `Model.call` of `factory.<locals>.Model.call`."""
    return qualname.rpartition("<locals>.")[2]


def change_title(decision: Decision) -> str:
    """The proposed change, as it will be written: `Add @tf.function(reduce_retracing=True)`."""
    title = action_title(decision.action)
    if decision.action not in (Action.ADD_TF_FUNCTION, Action.TUNE_TF_FUNCTION) or not decision.proposal.arguments:
        return title
    written = ", ".join(f"{name}={text}" for name, text in decision.proposal.arguments)
    if len(written) > _LONGEST_ARGUMENTS:
        written = ", ".join(
            f"{name}=…" if len(text) > _LONGEST_ARGUMENT else f"{name}={text}"
            for name, text in decision.proposal.arguments
        )
    return f"{title}({written})"


def hazards_in_words(decision: Decision) -> str:
    """The hazards that keep a function from being a graph, as words from the rule names; empty if there is no certain hazard."""
    rules = all_rules()
    found = sorted({hazard.rule for hazard in decision.hazards if not hazard.assumed})
    names = [rules[rule].name.replace("-", " ") if rule in rules else rule for rule in found]
    return ", ".join(names[:_MOST_NAMES]) + (", …" if len(names) > _MOST_NAMES else "")


def extraction_title(region: RegionDecision) -> str:
    """The function that a region should become: `Extract as @tf.function: train_step`."""
    title = "Extract and co-execute" if region.co_execute else action_title(Action.EXTRACT_TF_FUNCTION)
    return f"{title}: {region.function_name}"


def assumptions_in_words(decision: Decision | RegionDecision) -> str:
    """`2 assumptions`."""
    count = len(decision.assumptions)
    return f"{count} assumption{'s' if count != 1 else ''}"


def verdict(decision: Decision, region: RegionDecision | None = None) -> str:
    """The classification and the action, for one line above a function.

    `region` is a part of its code that should become a function.
    """
    parts = [decision.classification.value if not decision.hybrid else f"tf.function, {decision.classification.value}"]
    if decision.classification is Classification.SPECULATIVE:
        parts[0] += f" ({assumptions_in_words(decision)})"
    if decision.classification is Classification.UNSAFE and (hazards := hazards_in_words(decision)):
        parts[0] += f" ({hazards})"
    if region is not None:
        parts.append(extraction_title(region))
    elif decision.action is not Action.NONE:
        parts.append(change_title(decision))
    elif decision.covered_by_graph_callers:
        parts.append("part of its callers' graph")
    return " · ".join(parts)


def function_text(decision: Decision) -> str:
    """The classification of a function and its reason in one plain sentence."""
    assumed = f" It assumes: {'; '.join(decision.assumptions)}." if decision.assumptions else ""
    return f"{shown_name(decision.qualname)}: {verdict(decision)}. {decision.reason[:1].upper()}{decision.reason[1:]}.{assumed}"


def recorded_text(seen: FunctionSeen | None) -> str:
    """Recorded facts about a function: `traced 40× · 2.3 ms per call (400 calls)`; empty if there are none."""
    if seen is None:
        return ""
    graph = seen.graph
    parts: list[str] = []
    calls, seconds = seen.calls, seen.seconds
    if graph is not None and graph.calls:
        calls, seconds = graph.calls, graph.seconds + graph.tracing_seconds
        parts.append(f"traced {graph.traces}×")
    if calls:
        parts.append(f"{_duration(seconds / calls)} per call ({calls} call{'s' if calls != 1 else ''})")
    return " · ".join(parts)


def _duration(seconds: float) -> str:
    if seconds >= 1:
        return f"{seconds:.1f} s"
    return f"{seconds * 1e3:.1f} ms" if seconds >= 1e-3 else f"{seconds * 1e6:.0f} µs"


PlaceLink = Callable[[str, int, str], str]
"""Turns words into a link to a line of a file, or returns them unchanged."""


def plain_place(_path: str, _line: int, words: str) -> str:
    """The words without a link."""
    return words


def function_card(
    snapshot: Snapshot,
    decision: Decision,
    rule_link: Callable[[str], str],
    place_link: PlaceLink = plain_place,
    region: RegionDecision | None = None,
) -> str:
    """All facts about a function, as Markdown. `rule_link` turns a rule's id into a link or plain text; `place_link`
    does so for the calls that lead to a hazard; `region` is a part of its code that should become a function.
    """
    reason = in_markdown(decision.reason)
    lines = [
        f"**{in_markdown(shown_name(decision.qualname))}**: {verdict(decision, region)}",
        reason[:1].upper() + reason[1:] + ".",
    ]
    if recorded := recorded_text(snapshot.program.recorded.get(decision.function)):
        lines.append(f"Recorded: {recorded}.")
    if decision.expected_gain is not None and decision.expected_gain.seconds_saved > 0:
        where = "the recorded run" if decision.expected_gain.source == "record" else "a run"
        lines.append(f"Would save about {decision.expected_gain.seconds_saved:.1f} s in {where}.")
    if region is not None:
        how = "can run under the shim" if region.co_execute else "can be a graph"
        lines.append(f"Lines {region.line} to {region.end_line} {how}: {in_markdown(region.reason)}.")
    elif decision.action is not Action.NONE and decision.level is not Level.SAFE:
        lines.append(f"The change requires a confirmation, or `fix --level {decision.level.value}`.")
    if decision.proposal.arguments:
        written = ", ".join(f"{name}={text}" for name, text in decision.proposal.arguments)
        lines.append(f"Proposed: {as_code(f'@tf.function({written})')}")
    rows = [_parameter_row(parameter) for parameter in decision.parameters if parameter.name not in ("self", "cls")]
    if decision.returns:
        rows.append(f"- returns {as_code(types_text(decision.returns))}")
    lines.append("\n".join(_limited(rows)))
    if decision.assumptions:
        lines.append(
            "Assumes:\n" + "\n".join(_limited([f"- {in_markdown(sentence)}" for sentence in decision.assumptions]))
        )
    hazards = [
        f"- {rule_link(hazard.rule)} {_way(snapshot, decision, hazard, place_link)}: {in_markdown(hazard.message)}"
        for hazard in decision.hazards[:_MOST_ROWS]
    ]
    if hazards:
        lines.append("Hazards:\n" + "\n".join(_limited(hazards, len(decision.hazards))))
    effects = [
        f"- {in_markdown(effect.detail)} (line {effect.span.line}"
        f"{', through ' + in_markdown(' → '.join(effect.via)) if effect.via else ''})"
        for effect in decision.side_effects
    ]
    if effects and not hazards:
        lines.append("Side effects:\n" + "\n".join(_limited(effects)))
    return "\n\n".join(line for line in lines if line)


def _way(snapshot: Snapshot, decision: Decision, hazard: Hazard, place_link: PlaceLink) -> str:
    """`line 14 → helper, line 3 → log, line 8`: each part links to its position, the last one to the hazard."""
    functions = (decision.qualname, *hazard.via)
    parts = [
        place_link(place.path, place.span.line, f"{f'{in_markdown(name)}, ' if at else ''}line {place.span.line}")
        for at, (name, place) in enumerate(zip(functions, places_to(snapshot, decision, hazard), strict=False))
    ]
    return " → ".join([*parts, *map(in_markdown, functions[len(parts) :])])


def _parameter_row(parameter: ParameterDecision) -> str:
    types = f" {as_code(types_text(parameter.types))}" if parameter.types else ""
    evidence = "" if parameter.evidence is Evidence.NONE else f" ({parameter.evidence.value})"
    return f"- {as_code(parameter.name)}: {parameter.kind.value}{types}{evidence}"


def _limited(rows: list[str], count: int = 0) -> list[str]:
    """The first of some rows, and the number of others; `count` is the total number if only the first rows were created."""
    left = max(len(rows), count) - _MOST_ROWS
    return rows if left <= 0 else [*rows[:_MOST_ROWS], f"- … and {left} more"]
