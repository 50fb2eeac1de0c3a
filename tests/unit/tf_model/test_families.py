"""The list of rule modules, and that all that they declare is reached through the registry."""

from __future__ import annotations

import importlib
import pkgutil

import terra_refactor.tf_model as room
from terra_refactor.tf_model import registry


def test_every_rule_and_attribute_is_found_by_its_name() -> None:
    for module_name in registry.NAME_FAMILIES:
        module = importlib.import_module(module_name)
        for name, rule in getattr(module, "RULES", {}).items():
            entity = registry.lookup(name)
            assert entity is not None, (module_name, name)
            # a module may give one rule under several names of one function
            assert entity.rule is rule or (entity.name != name and entity.rule is not None), (module_name, name)
        for name, attribute in getattr(module, "ATTRIBUTES", {}).items():
            owner, _, leaf = registry._catalogue_name(name).rpartition(".")
            assert registry.attribute_rule(owner, leaf) is attribute, (module_name, name)


def test_every_module_with_rules_is_a_family_or_part_of_one() -> None:
    for info in pkgutil.walk_packages(room.__path__, f"{room.__name__}."):
        module = importlib.import_module(info.name)
        if hasattr(module, "RULES"):
            package = info.name.rpartition(".")[0]
            assert info.name in registry.NAME_FAMILIES or package in registry.NAME_FAMILIES, info.name


def test_no_name_has_rules_in_two_modules() -> None:
    seen: dict[str, str] = {}
    for module_name in registry.NAME_FAMILIES:
        for name in getattr(importlib.import_module(module_name), "RULES", {}):
            canonical = registry._catalogue_name(name)
            assert seen.setdefault(canonical, module_name) == module_name, (name, module_name, seen[canonical])
