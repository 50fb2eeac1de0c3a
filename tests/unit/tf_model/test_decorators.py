"""Effects of library decorators on functions, and consistency of the tables."""

from __future__ import annotations

import pytest

from terra_refactor.tf_model.decorators import _ROWS, Decoration, Form, decoration
from terra_refactor.tf_model.name_table import words
from terra_refactor.tf_model.registry import lookup
from terra_refactor.tf_model.spec import Trait
from terra_refactor.tf_model.traits import TRAITS


@pytest.mark.parametrize(
    ("name", "kind", "form"),
    [
        ("tensorflow.function", Decoration.HYBRIDISES, Form.EITHER),
        ("tensorflow.custom_gradient", Decoration.GIVES_GRADIENT, Form.BARE),
        ("tensorflow.autograph.experimental.do_not_convert", Decoration.PREVENTS_CONVERSION, Form.EITHER),
        ("tensorflow.keras.utils.register_keras_serializable", Decoration.TRANSPARENT_CLASS, Form.CALLED),
        ("functools.wraps", Decoration.TRANSPARENT, Form.CALLED),
        ("functools.lru_cache", Decoration.CACHED, Form.EITHER),
        ("functools.cached_property", Decoration.CACHED_PROPERTY, Form.BARE),
        ("contextlib.contextmanager", Decoration.CONTEXT_MANAGER, Form.BARE),
        ("abc.abstractmethod", Decoration.ABSTRACT, Form.BARE),
        ("builtins.property", Decoration.PROPERTY, Form.BARE),
        ("builtins.staticmethod", Decoration.STATIC_METHOD, Form.BARE),
        ("builtins.classmethod", Decoration.CLASS_METHOD, Form.BARE),
        ("typing.overload", Decoration.OVERLOAD, Form.BARE),
        ("dataclasses.dataclass", Decoration.DATACLASS, Form.EITHER),
        ("gin.configurable", Decoration.TRANSPARENT, Form.EITHER),
        ("pytest.fixture", Decoration.FIXTURE, Form.EITHER),
        ("pytest.mark.parametrize", Decoration.TRANSPARENT, Form.EITHER),
        ("pytest.mark.slow", Decoration.TRANSPARENT, Form.EITHER),
        ("check_shapes.inherit_check_shapes", Decoration.TRANSPARENT, Form.BARE),
        ("functools.singledispatch", Decoration.DISPATCHES, Form.BARE),
        ("multipledispatch.dispatch", Decoration.DISPATCHES, Form.CALLED),
        ("my_package.my_decorator", Decoration.UNKNOWN, Form.EITHER),
        ("tensorflow.reshape", Decoration.UNKNOWN, Form.EITHER),
    ],
)
def test_a_decorator_does_one_thing(name: str, kind: Decoration, form: Form) -> None:
    assert decoration(name) == (kind, form)


def test_no_decorator_has_two_rows() -> None:
    names = [name for row in _ROWS.values() for name in words(row)]
    assert sorted(names) == sorted(set(names))


def test_catalogued_decorators_exist() -> None:
    for row in _ROWS.values():
        for name in words(row):
            package = name.partition(".")[0]
            if package in (
                "tensorflow",
                "keras",
                "functools",
                "contextlib",
                "abc",
                "builtins",
                "typing",
                "dataclasses",
            ):
                private = name.startswith(("tensorflow.python.", "tensorflow.contrib.", "keras.src."))
                newer_python = name in ("typing.override", "warnings.deprecated")
                of_function = name == "functools.singledispatch.register"  # an attribute of what the decorator gives
                assert private or newer_python or of_function or lookup(name) is not None, name


def test_the_trait_of_transparent_decorators_is_of_decorators() -> None:
    for name, traits in TRAITS.exact.items():
        if Trait.TRANSPARENT_DECORATOR in traits:
            assert decoration(name)[0] is not Decoration.UNKNOWN, name
