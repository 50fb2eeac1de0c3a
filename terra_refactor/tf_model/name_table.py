"""Tables with one entry for many names.

Computes: the union of a table's rows for a name. Gives: `NameTable`. A row's pattern is a name, or `name.*` for
everything below a module or class, `name.?` for its direct members only, or a name with a leading `!`, which excludes
that name from the patterns above it. Rows are matched against every name of an entity: its own, and for a member of a
class the same member of each base class (`keras.metrics.Mean.update_state` is matched by
`keras.metrics.Metric.update_state`), and for `tensorflow.compat.v1.X` also `tensorflow.X`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

_Item = TypeVar("_Item")


@dataclass(frozen=True, slots=True)
class NameTable(Generic[_Item]):
    """Rows by exact name and by prefix."""

    exact: Mapping[str, frozenset[_Item]]
    below: Mapping[str, frozenset[_Item]]
    directly_below: Mapping[str, frozenset[_Item]]
    excluded: Mapping[str, frozenset[_Item]]

    def of(self, candidates: Iterable[str]) -> frozenset[_Item]:
        """The rows for an entity with these names."""
        found: set[_Item] = set()
        excluded: set[_Item] = set()
        for name in candidates:
            excluded |= self.excluded.get(name, frozenset())
            found |= self.exact.get(name, frozenset()) - excluded
            owner = name.rpartition(".")[0]
            found |= self.directly_below.get(owner, frozenset()) - excluded
            while owner:
                found |= self.below.get(owner, frozenset()) - excluded
                owner = owner.rpartition(".")[0]
        return frozenset(found)


def name_table(rows: Mapping[_Item, str]) -> NameTable[_Item]:
    """The table in which each item has the names that match its patterns, which are separated by white space."""
    exact: dict[str, frozenset[_Item]] = {}
    below: dict[str, frozenset[_Item]] = {}
    directly_below: dict[str, frozenset[_Item]] = {}
    excluded: dict[str, frozenset[_Item]] = {}
    for item, patterns in rows.items():
        for pattern in patterns.split():
            if pattern.startswith("!"):
                part, key = excluded, pattern[1:]
            elif pattern.endswith(".*"):
                part, key = below, pattern[:-2]
            elif pattern.endswith(".?"):
                part, key = directly_below, pattern[:-2]
            else:
                part, key = exact, pattern
            part[key] = part.get(key, frozenset()) | {item}
    return NameTable(exact, below, directly_below, excluded)


def within(owner: str, names: str) -> str:
    """The patterns for several members of one owner: `within("tensorflow.io", "decode_png decode_gif")`."""
    return " ".join(f"{owner}.{name}" for name in names.split())


def words(text: str) -> frozenset[str]:
    """The names in a text, separated by white space."""
    return frozenset(text.split())
