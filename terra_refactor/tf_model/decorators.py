"""Effects of library decorators on the decorated function.

Computes: nothing. Gives: `decoration(name)`, from a decorator's canonical name. Sources: the documentation of each;
`check_shapes`, `gin-config`, `absl`, `multipledispatch`, `deprecated` as published on PyPI. Ignores: effects of
decorators on other parts of the program (registries); such decorators are transparent here, since callers see the
same function.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from functools import cache
from typing import Final

from terra_refactor.tf_model.name_table import words
from terra_refactor.tf_model.registry import canonical_name


class Decoration(Enum):
    """What the decorated name refers to."""

    __hash__ = object.__hash__  # as of `Trait`

    TRANSPARENT = "transparent"
    """An equivalent function: the function itself, or a wrapper that calls it once per call."""
    CACHED = "cached"
    """A wrapper that calls the function once for each distinct tuple of (hashable) arguments: a tensor argument raises."""
    HYBRIDISES = "hybridises"
    """A `tf.function`: the function runs as a graph."""
    PREVENTS_CONVERSION = "prevents conversion"
    """AutoGraph leaves the body unconverted."""
    TRACED = "traced"
    """TensorFlow calls the function while a graph is built or a tape records; it returns tensors."""
    HOST_CALLBACK = "host callback"
    """The function runs as Python, with eager tensors or arrays, in graphs as well (`@tf.py_function(Tout=...)`)."""
    GIVES_GRADIENT = "gives its gradient"
    """The function returns a result and its gradient function: callers receive the result, TensorFlow calls the
    gradient function.
    """
    PROPERTY = "property"
    """An attribute that is computed on each read."""
    CACHED_PROPERTY = "cached property"
    """An attribute that is computed on the first read and stored."""
    STATIC_METHOD = "static method"
    CLASS_METHOD = "class method"
    CONTEXT_MANAGER = "context manager"
    """A generator function that becomes a factory of context managers (and of decorators)."""
    DATACLASS = "dataclass"
    """A class that gets `__init__` and other methods from its annotated fields."""
    TRANSPARENT_CLASS = "transparent class"
    """An unchanged class."""
    DISPATCHES = "dispatches"
    """One of several functions of one name, selected by the arguments' types."""
    OVERLOAD = "overload"
    """A signature for type checkers only: the body never runs."""
    ABSTRACT = "abstract"
    """A method that subclasses override: its own body runs only through `super()`."""
    FIXTURE = "fixture"
    """A test fixture: not callable; its value is passed to parameters of that name."""
    OBJECT = "object"
    """An object that is not a function, and need not be callable in the same way."""
    UNKNOWN = "unknown"


class Form(Enum):
    """The spelling of the decorator."""

    BARE = "bare"
    """`@d`"""
    CALLED = "called"
    """`@d(...)`: the call returns the decorator."""
    EITHER = "either"
    """`@d` and `@d(...)` are both possible."""


_ROWS: Final[Mapping[tuple[Decoration, Form], str]] = {
    (Decoration.HYBRIDISES, Form.EITHER): """
        tensorflow.function tensorflow.python.eager.def_function.function tensorflow.contrib.eager.defun
        tensorflow.python.eager.function.defun tensorflow.compat.v1.wrap_function tf_agents.utils.common.function
        tf_agents.utils.common.function_in_tf1
    """,
    (Decoration.PREVENTS_CONVERSION, Form.EITHER): """
        tensorflow.autograph.experimental.do_not_convert tensorflow.python.autograph.impl.api.do_not_convert
    """,
    (Decoration.TRACED, Form.BARE): "tensorflow.recompute_grad tensorflow.grad_pass_through keras.remat",
    (Decoration.HOST_CALLBACK, Form.CALLED): "tensorflow.py_function tensorflow.numpy_function",
    (Decoration.GIVES_GRADIENT, Form.BARE): """
        tensorflow.custom_gradient tensorflow.contrib.eager.custom_gradient keras.ops.custom_gradient
    """,
    (Decoration.TRANSPARENT, Form.BARE): """
        check_shapes.inherit_check_shapes
        tensorflow.Module.with_name_scope atexit.register typing.final typing.override typing.no_type_check typing.runtime_checkable
        typing_extensions.final typing_extensions.override typing_extensions.runtime_checkable typeguard.typechecked
        tensorflow.python.util.tf_export.kwarg_only wrapt.decorator
        tensorflow.python.framework.test_util.run_v1_only tensorflow.python.framework.test_util.run_v2_only
        tensorflow.python.framework.test_util.run_in_graph_and_eager_modes
        tensorflow.python.framework.test_util.run_all_in_graph_and_eager_modes tensorflow.python.framework.test_util.disable_xla
        tensorflow.python.util.dispatch.add_dispatch_support nose.tools.nottest nose.tools.istest
        tensorflow.python.trackable.base.no_automatic_dependency_tracking
    """,
    (Decoration.TRANSPARENT, Form.CALLED): """
        functools.wraps functools.update_wrapper typing.dataclass_transform typing_extensions.dataclass_transform
        check_shapes.check_shapes gin.external_configurable
        deprecated.deprecated deprecated.sphinx.deprecated deprecated.sphinx.versionadded deprecated.sphinx.versionchanged
        deprecation.deprecated warnings.deprecated typing_extensions.deprecated numpy.deprecate
        tensorflow.python.util.deprecation.deprecated tensorflow.python.util.deprecation.deprecated_args
        tensorflow.python.util.deprecation.deprecated_arg_values tensorflow.python.util.deprecation.deprecated_alias
        tensorflow.RegisterGradient tensorflow.experimental.dispatch_for_api tensorflow.experimental.dispatch_for_unary_elementwise_apis
        tensorflow.experimental.dispatch_for_binary_elementwise_apis tensorflow.test.disable_with_predicate
        tensorflow.python.util.tf_export.tf_export tensorflow.python.util.tf_export.keras_export keras.src.api_export.keras_export
        tensorflow_probability.python.internal.tf_util.preserve_static_shape
        tensorflow.device tensorflow.name_scope
        absl.testing.parameterized.parameters absl.testing.parameterized.named_parameters absl.testing.parameterized.product
        absl.testing.flagsaver.flagsaver parameterized.parameterized parameterized.parameterized.expand
        unittest.skip unittest.skipIf unittest.skipUnless unittest.mock.patch unittest.mock.patch.object unittest.mock.patch.dict
        mock.patch mock.patch.object tenacity.retry retrying.retry backoff.on_exception beartype.beartype
        hypothesis.given hypothesis.settings hypothesis.example hydra.main click.option click.argument click.pass_context
        tensorflow_probability.python.internal.test_util.test_all_tf_execution_regimes
    """,
    (Decoration.TRANSPARENT, Form.EITHER): """
        gin.configurable gin.register jaxtyping.jaxtyped pytest.mark.* unittest.expectedFailure
        tensorflow_addons.utils.types.typechecked
        tensorflow_probability.python.internal.docstring_util.expand_docstring
    """,
    (Decoration.TRANSPARENT_CLASS, Form.BARE): """
        functools.total_ordering enum.unique six.python_2_unicode_compatible
        tensorflow.python.framework.test_util.for_all_test_methods
    """,
    (Decoration.TRANSPARENT_CLASS, Form.CALLED): """
        six.add_metaclass keras.saving.register_keras_serializable keras.utils.register_keras_serializable
        tensorflow.python.framework.type_spec_registry.register
    """,
    (Decoration.CACHED, Form.EITHER): "functools.lru_cache",
    (Decoration.CACHED, Form.BARE): "functools.cache",
    (Decoration.CACHED, Form.CALLED): "cachetools.cached joblib.Memory.cache",
    (Decoration.PROPERTY, Form.BARE): """
        builtins.property abc.abstractproperty types.DynamicClassAttribute enum.property
    """,
    (
        Decoration.CACHED_PROPERTY,
        Form.BARE,
    ): "functools.cached_property cached_property.cached_property werkzeug.utils.cached_property",
    (Decoration.STATIC_METHOD, Form.BARE): "builtins.staticmethod abc.abstractstaticmethod",
    (Decoration.CLASS_METHOD, Form.BARE): "builtins.classmethod abc.abstractclassmethod",
    (Decoration.CONTEXT_MANAGER, Form.BARE): """
        contextlib.contextmanager contextlib.asynccontextmanager tensorflow.python.util.tf_contextlib.contextmanager
    """,
    (Decoration.DATACLASS, Form.EITHER): """
        dataclasses.dataclass attr.s attr.attrs attr.dataclass attr.define attr.frozen attr.mutable attrs.define attrs.frozen attrs.mutable
        pydantic.dataclasses.dataclass chex.dataclass flax.struct.dataclass
    """,
    (Decoration.DISPATCHES, Form.BARE): "functools.singledispatch functools.singledispatchmethod",
    (Decoration.DISPATCHES, Form.EITHER): "functools.singledispatch.register",
    (
        Decoration.DISPATCHES,
        Form.CALLED,
    ): "multipledispatch.dispatch multipledispatch.Dispatcher.register plum.dispatch",
    (Decoration.OVERLOAD, Form.BARE): "typing.overload typing_extensions.overload",
    (Decoration.ABSTRACT, Form.BARE): "abc.abstractmethod",
    (Decoration.FIXTURE, Form.EITHER): "pytest.fixture pytest.yield_fixture pytest_asyncio.fixture",
    (
        Decoration.OBJECT,
        Form.CALLED,
    ): "typer.Typer.command numba.vectorize numba.guvectorize",
    (
        Decoration.OBJECT,
        Form.EITHER,
    ): "numba.jit numba.njit numpy.vectorize jax.jit jax.vmap jax.grad jax.pmap torch.jit.script ray.remote "
    "click.command click.group",
    (Decoration.OBJECT, Form.BARE): "jax.custom_jvp jax.custom_vjp",
}
"""Decorators by effect and spelling; `name.*` matches everything below a name."""


@cache
def _decorators() -> Mapping[str, tuple[Decoration, Form]]:
    return {canonical_name(name): row for row, names in _ROWS.items() for name in words(names)}


def decoration(name: str) -> tuple[Decoration, Form]:
    """The effect and the spelling of the decorator of that name (canonical or not); `UNKNOWN` for unknown decorators."""
    table = _decorators()
    canonical = canonical_name(name)
    if canonical in table:
        return table[canonical]
    while canonical:
        canonical = canonical.rpartition(".")[0]
        if f"{canonical}.*" in table:
            return table[f"{canonical}.*"]
    return (Decoration.UNKNOWN, Form.EITHER)
