"""Members of library modules and classes as values.

Computes: the value of `module.name` for a library module or class. Needs: the registry. Gives: `library_member`.
"""

from __future__ import annotations

from terra_refactor.domain.value import LibraryValue, Value
from terra_refactor.tf_model import registry
from terra_refactor.tf_model.environment import constant_of


def library_member(owner: str, name: str) -> Value:
    """Member `name` of a library module or class: its value if it is a constant, otherwise the entity by its canonical name."""
    canonical = registry.attribute(owner, name)
    if canonical is None:
        canonical = registry.canonical_name(f"{owner}.{name}")
    entity = registry.lookup(canonical)
    if entity is not None and entity.value is not None:
        return entity.value
    constant = constant_of(canonical)
    return LibraryValue(canonical) if constant is None else constant
