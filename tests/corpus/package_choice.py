"""Which of the released packages `make test` analyses: few that together show every kind of decision that all of them show.

The kinds of decisions of a package come from its committed summary: at each level the actions; the reasons of refusals; the assumptions; the rules of
findings. First come the packages that alone show something, then, until nothing is missing, the one that shows the most of what is missing
for its lines. So the choice follows what is committed. `make test-all` analyses all packages.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from corpus.released.summary import Summary


def kinds_of(summary: Summary) -> frozenset[tuple[str, str]]:
    """The kinds of decisions that a package shows."""
    refactored = {(f"{level} {action}", "") for level, actions in summary["refactored"].items() for action in actions}
    others = {(part, text) for part in ("refused", "assumptions", "findings") for text in summary[part]}
    return frozenset(refactored | others)


def chosen(summaries: Mapping[str, Summary]) -> list[str]:
    """The packages of the choice, sorted."""
    kinds = {name: kinds_of(summary) for name, summary in summaries.items()}
    shown = Counter(kind for each in kinds.values() for kind in each)
    choice = {name for name, each in kinds.items() if any(shown[kind] == 1 for kind in each)}
    missing = set(shown).difference(*(kinds[name] for name in choice))
    while missing:
        best = max(sorted(kinds), key=lambda name: len(kinds[name] & missing) / max(1, summaries[name]["lines"]))
        choice.add(best)
        missing -= kinds[best]
    return sorted(choice)
