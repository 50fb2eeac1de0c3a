"""The tables of traits, effects and costs speak of names that exist, under their canonical form."""

from __future__ import annotations

from terra_refactor.tf_model import registry
from terra_refactor.tf_model.catalogue import catalogued_members, entry
from terra_refactor.tf_model.costs import DEFAULT_BY_BASE, OPERATIONS
from terra_refactor.tf_model.effects import EFFECTS
from terra_refactor.tf_model.name_table import name_table, words
from terra_refactor.tf_model.packages import PACKAGE_EFFECTS, PACKAGE_TRAITS, PACKAGES
from terra_refactor.tf_model.python_effects import MUTATING_FUNCTIONS, MUTATING_METHODS, PYTHON_EFFECTS
from terra_refactor.tf_model.traits import TRAITS

TABLES = (TRAITS, EFFECTS, PYTHON_EFFECTS, PACKAGE_EFFECTS, PACKAGE_TRAITS)

NOT_CATALOGUED = words(
    # names of other Python versions, of platforms, and of modules that the catalogue leaves out
    "os.startfile os.setenv typing.override resource.getrusage bz2 lzma faulthandler runpy code pdb secrets wave smtplib readline "
    "webbrowser dis logging.config"
)


def _is_catalogued(name: str) -> bool:
    return name.partition(".")[0] in ("tensorflow", "keras", "numpy") or entry(name.partition(".")[0]) is not None


def test_every_row_is_of_a_canonical_name_that_exists() -> None:
    wrong = []
    for table in TABLES:
        for name in [*table.exact, *table.excluded]:
            excused = any(name == left or name.startswith(f"{left}.") for left in NOT_CATALOGUED)
            if not _is_catalogued(name) or excused:
                continue
            if registry.canonical_name(name) != name or registry.lookup(name) is None:
                wrong.append(f"{name} is {registry.canonical_name(name)}")
    assert wrong == []


def test_every_prefix_has_members() -> None:
    for table in TABLES:
        for name in [*table.below, *table.directly_below]:
            excused = any(name == left or name.startswith(f"{left}.") for left in NOT_CATALOGUED)
            if _is_catalogued(name) and not excused:
                assert catalogued_members(name) or registry.lookup(name) is not None, name
                assert registry.canonical_name(name) == name


def test_every_package_row_is_of_a_package() -> None:
    for table in (PACKAGE_EFFECTS, PACKAGE_TRAITS):
        for name in [*table.exact, *table.below, *table.excluded]:
            assert name.partition(".")[0] in PACKAGES, name


def test_every_cost_is_of_a_name_that_exists() -> None:
    for name, operations in {**OPERATIONS, **DEFAULT_BY_BASE}.items():
        assert operations >= 0
        owner = name.rpartition(".")[0]
        assert registry.lookup(name) is not None and entry(owner) is not None, name


def test_changing_methods_and_functions_exist() -> None:
    for class_name, methods in MUTATING_METHODS.items():
        known = registry.lookup(class_name)
        assert known is not None and known.name == class_name
        for method in methods:
            if not method.startswith("__"):
                assert registry.find_library_method(class_name, method) is not None, (class_name, method)
    for name, parameter in MUTATING_FUNCTIONS.items():
        entity = registry.lookup(name)
        assert entity is not None and entity.parameters is not None, name
        assert parameter in [spec.name for spec in entity.parameters], name


def test_a_table_adds_up_its_rows() -> None:
    table = name_table({"a": "x.* !x.y z.f", "b": "x.? x.y.g", "c": "x.y.g"})
    assert table.of(["x.f"]) == {"a", "b"}
    assert table.of(["x.y"]) == {"b"}
    assert table.of(["x.y.g"]) == {"a", "b", "c"}
    assert table.of(["z.g"]) == frozenset()
    assert table.of(["z.g", "z.f"]) == {"a"}
