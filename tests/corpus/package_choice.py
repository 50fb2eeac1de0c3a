"""The released packages that `make test` analyses: a few that together show every kind of decision of all packages.

The kinds of decisions of a package come from its committed summary: at each level the actions; the reasons of
refusals; the assumptions; the rules of findings. Packages of more than LARGEST lines are left to `make test-all`:
their unique kinds are covered by the files of `kinds_of_decisions/`. Of the others, first come packages with a unique
kind, then, until nothing is missing, the one with the most missing kinds for its size. So the choice follows the
committed summaries.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from corpus.released.summary import Summary

LARGEST = 6_000
"""Lines of the largest package that `make test` analyses.

Of the larger ones, GPflow, nobrainer and OpenNMT-tf take two minutes together; t3f, DeepCTR and ashpy, and larq, bellman
and tensorflow-recommenders, half a minute each three.
"""


def kinds_of(summary: Summary) -> frozenset[tuple[str, str]]:
    """The kinds of decisions that a package shows."""
    refactored = {(f"{level} {action}", "") for level, actions in summary["refactored"].items() for action in actions}
    others = {(part, text) for part in ("refused", "assumptions", "findings") for text in summary[part]}
    return frozenset(refactored | others)


def only_in_large(summaries: Mapping[str, Summary]) -> frozenset[tuple[str, str]]:
    """The kinds of decisions that no package of at most LARGEST lines shows."""
    large = {key for key, each in summaries.items() if each["lines"] > LARGEST}
    shown = (kinds_of(each) for key, each in summaries.items() if key not in large)
    return frozenset(kind for key in large for kind in kinds_of(summaries[key])).difference(*shown)


def chosen(summaries: Mapping[str, Summary]) -> list[str]:
    """The chosen packages, sorted."""
    summaries = {key: each for key, each in summaries.items() if each["lines"] <= LARGEST}
    kinds = {name: kinds_of(summary) for name, summary in summaries.items()}
    shown = Counter(kind for each in kinds.values() for kind in each)
    choice = {name for name, each in kinds.items() if any(shown[kind] == 1 for kind in each)}
    missing = set(shown).difference(*(kinds[name] for name in choice))
    while missing:
        best = max(sorted(kinds), key=lambda name: len(kinds[name] & missing) / max(1, summaries[name]["lines"]))
        choice.add(best)
        missing -= kinds[best]
    return sorted(choice)
