"""Whole Keras objects as single nodes: library layers and losses.

Computes: for each such object, whether its call may be one node, and the Call for it. Needs: Keras 3 on TensorFlow.
Gives: `hooks`, `per_object`, `method_call`, `from_library`, `plain_attributes`. Ignores: classes of the program:
their Python must run, so their calls are decomposed.

The attributes of an object that was called are structure: when one changes, paths recorded before are invalid (`Epoch`).
"""

from __future__ import annotations

import functools
import os
import sys
import types
import weakref
from collections.abc import Callable, Sequence
from typing import Any

from terra_refactor.runtime.encoding import keras_scope_active
from terra_refactor.runtime.lazy_tensor import LazyTensor
from terra_refactor.runtime.program import Epoch
from terra_refactor.runtime.state import thread
from terra_refactor.runtime.tf_internals import (
    EagerTensor,
    KerasLayer,
    KerasLoss,
    KerasOperation,
    KerasOptimizer,
    KerasSchedule,
    KerasVariable,
    keras,
    keras_config,
    keras_global_state,
    tf,
)
from terra_refactor.runtime.trie import ArrayRule, Arrays, Call
from terra_refactor.runtime.values import hung_on

# attributes that Keras sets internally, and that do not affect the result of a call
_BOOKKEEPING = frozenset(("_called", "_metrics_lock", "_exclude_from_weight_decay_cache", "_parent_path"))
_SETTERS = (
    "set_floatx",
    "set_epsilon",
    "set_image_data_format",
    "set_dtype_policy",
    "set_global_policy",
    "enable_flash_attention",
    "disable_flash_attention",
)
_SETTING_MODULES = (
    "keras.config",
    "keras.backend",
    "keras.mixed_precision",
    "keras.src.backend",
    "keras.src.backend.config",
    "keras._tf_keras.keras.config",
    "keras._tf_keras.keras.backend",
    "keras._tf_keras.keras.mixed_precision",
)
_OPAQUE_LAYERS = frozenset(
    ["Lambda", "TorchModuleWrapper", "JaxLayer", "FlaxLayer", "TFSMLayer", "ActivityRegularization"]
)


def from_library(thing: Any) -> bool:
    module = getattr(thing if isinstance(thing, type) or callable(thing) else type(thing), "__module__", None)
    if module is None:
        module = type(thing).__module__
    return isinstance(module, str) and module.startswith(("keras.", "tensorflow."))


_LIBRARY_DIRECTORIES = tuple(
    os.path.dirname(os.path.abspath(file)) + os.sep for file in (keras.__file__, tf.__file__, __file__)
)
# not run by any call; those of their bases are hooked, or are Keras internals
_NOT_RUN_IN_A_CALL = (
    "__",
    "get_config",
    "from_config",
    "save_",
    "load_",
    "build",
    "compute_output_",
    "quantize",
    "count_",
)
_MACHINERY = ("keras.src.trainers.", "keras.src.saving.", "keras.src.export.", "keras.src.models.model")
_watched: dict[type, tuple[tuple[type, Any, str, Any], ...]] = {}
_every_watched: list[tuple[type, Any, str, Any]] = []  # without duplicates


def is_library_code(function: Any) -> bool:
    """Whether a function belongs to TensorFlow or Keras; a wrapper of the program may have the name of the function
    that it wraps.
    """
    code = getattr(function, "__code__", None)
    return code is None or code.co_filename.startswith(_LIBRARY_DIRECTORIES)


def _methods(kind: type) -> tuple[tuple[type, Any, str, Any], ...]:
    """(class, its attributes, name, function) of the methods of a library class that its calls may run."""
    return tuple(
        (each, vars(each), name, function)
        for each in kind.__mro__
        if each.__module__.startswith("keras.")
        and not each.__module__.startswith(_MACHINERY)
        and each not in (KerasLayer, KerasOperation)
        for name, function in vars(each).items()
        if isinstance(function, types.FunctionType) and not name.startswith(_NOT_RUN_IN_A_CALL)
    )


def library_class(kind: type) -> bool:
    """Whether the class is Keras's own and none of its methods was replaced."""
    if not kind.__module__.startswith("keras."):
        return False
    methods = _watched.get(kind)
    if methods is None:
        methods = _watched[kind] = _methods(kind)
        _collect_watched()
    return all(is_library_code(function) for *_, function in methods)


def _has_changed(methods: Sequence[tuple[type, Any, str, Any]]) -> bool:
    for _, attributes, name, function in methods:  # noqa: SIM110  (at each call of a layer: `any` takes twice as long)
        if attributes.get(name) is not function:
            return True
    return False


def notice_patched_classes() -> None:
    """Invalidates paths that treat objects of a class as one node if a method of the class was replaced."""
    if not _has_changed(_every_watched):
        return
    changed = [kind for kind, methods in _watched.items() if _has_changed(methods)]
    _run_pending_as_it_was(changed)
    for kind in changed:
        del _watched[kind]
    _collect_watched()
    Epoch.advance()


def _collect_watched() -> None:
    _every_watched[:] = {(each[0], each[2]): each for methods in _watched.values() for each in methods}.values()


def _run_pending_as_it_was(changed: list[type]) -> None:
    """Runs pending operations with the methods that their classes had before they were patched."""
    run = thread.run
    if run is None or run.depth or not run.tld.is_eager or not run.pending:
        return
    now = []
    for kind in changed:
        for owner, attributes, name, function in _watched[kind]:
            if attributes.get(name) is not function:
                now.append((owner, name, name in attributes, attributes.get(name)))
                setattr(owner, name, function)
    try:
        run.cut()
    finally:
        for owner, name, there, value in reversed(now):
            if there:
                setattr(owner, name, value)
            else:
                delattr(owner, name)


def plain_attributes(thing: Any, except_for: str = "") -> bool:
    """Whether no attribute of the object is a function or an object of the program that Keras would call."""
    for name, value in list(vars(thing).items()):
        if name == except_for or name.startswith("__") or isinstance(value, (KerasLayer, KerasVariable)):
            continue
        if (callable(value) or hasattr(value, "get_config")) and not from_library(value):
            return False
    return True


def _layer_is_plain(layer: Any) -> bool:
    if not layer.built:
        return False
    for each in layer._flatten_layers():
        if not all(library_class(type(operation)) for operation in getattr(each, "_operations", ())):
            return False  # a functional model also calls operations that are not layers
        if not library_class(type(each)) or type(each).__name__ in _OPAQUE_LAYERS:
            return False
        if not each.built or getattr(each, "activity_regularizer", None) is not None or not plain_attributes(each):
            return False
        if each.compute_dtype != each.variable_dtype or getattr(each, "quantization_mode", None) is not None:
            return False
        if vars(each).get("call") is not None or vars(each).get("_losses"):
            return False
    return True


def _nothing(thing: Any) -> Any:
    return None


def forgotten_in(table: dict[int, Any], thing: Any) -> weakref.ref[Any]:
    """A weak reference to `thing` that removes its entry from `table` when it dies."""
    key = id(thing)
    return weakref.ref(thing, lambda reference: table.pop(key, None))


_structure: dict[int, Any] = {}
"""Weak references to Keras objects on whose attributes paths may depend, by identity."""
_PARTS = (KerasLayer, KerasLoss, KerasOptimizer, KerasSchedule)


def _is_structure(thing: Any, seen: set[int] | None = None) -> None:
    """Records that paths may depend on attributes of `thing` and of the Keras objects in its attributes."""
    seen = set() if seen is None else seen
    if id(thing) in seen:
        return
    if isinstance(thing, _PARTS):
        seen.add(id(thing))
        known = _structure.get(id(thing))
        if known is None or known() is not thing:
            _structure[id(thing)] = forgotten_in(_structure, thing)
        for value in list(vars(thing).values()):
            _is_structure(value, seen)
    elif isinstance(thing, (list, tuple, dict)):
        seen.add(id(thing))
        for value in list(thing.values() if isinstance(thing, dict) else thing):
            _is_structure(value, seen)


def method_call(thing: Any, name: str, original: Any, **options: Any) -> Call:
    """The Call of a method of `thing`. It does not keep `thing` alive; paths with such a call do (`Node.owner`)."""
    owner = weakref.ref(thing)

    def run(*args: Any, **kwargs: Any) -> Any:
        return original(owner(), *args, **kwargs)

    return Call(name, run, run, run, owner=owner, **options)


def per_object(original: Any, make: Callable[[Any, Any], Call | None], state: Callable[[Any], Any] = _nothing) -> Any:
    """A hook for a method with a separate Call for each object, created by `make(object, original)`, which may return
    None.

    The Call is valid while `state(object)`, which may change without an attribute being set, is the same.
    """
    by_id: dict[int, tuple[Any, int, Call | None, Any]] = {}

    @functools.wraps(original)
    def hooked(self: Any, *args: Any, **kwargs: Any) -> Any:
        run = thread.run
        if run is None or run.depth or not run.tld.is_eager or keras_scope_active():
            return original(self, *args, **kwargs)
        known = by_id.get(id(self))
        if known is None or known[1] != Epoch.value or known[0]() is not self or known[3] != state(self):
            call = make(self, original)
            _is_structure(self)
            by_id[id(self)] = known = (forgotten_in(by_id, self), Epoch.value, call, state(self))
        call = known[2]
        if call is None or _carries_mask(args):  # a loss reads the mask of its predictions
            return original(self, *args, **kwargs)
        return run.call(call, args, kwargs)

    return hooked


def _layer_hook() -> Any:
    original = KerasLayer.__call__
    plain: dict[int, tuple[Any, int, dict[Any, Call] | None]] = {}

    def calls_of(layer: Any) -> dict[Any, Call] | None:
        if _has_changed(_watched.get(type(layer), ())):
            notice_patched_classes()
        known = plain.get(id(layer))
        if known is None or known[1] != Epoch.value or known[0]() is not layer:
            fits = _layer_is_plain(layer)
            if not fits and not layer.built:
                return None  # it may become plain when it is built
            for each in layer._flatten_layers():
                _is_structure(each)
            plain[id(layer)] = known = (forgotten_in(plain, layer), Epoch.value, {} if fits else None)
        return known[2]

    @functools.wraps(original)
    def hooked(self: Any, *args: Any, **kwargs: Any) -> Any:
        run = thread.run
        if run is None or run.depth or not run.tld.is_eager:
            return original(self, *args, **kwargs)
        calls = calls_of(self)
        if calls is None or _carries_mask(args) or (kwargs and _carries_mask(kwargs.values())):
            return original(self, *args, **kwargs)
        context = keras_global_state.get_global_attribute("current_call_ctx")
        training = getattr(context, "training", None) if context is not None else None
        extra = None if context is None else tuple(sorted(set(vars(context)) - {"entry_layer", "training"}))
        if extra or (context is not None and getattr(context, "mask", None) is not None):
            return original(self, *args, **kwargs)
        if keras_scope_active():
            return original(self, *args, **kwargs)
        call = calls.get(training)
        if call is None:
            call = calls[training] = _layer_call(self, original, training)
        return run.call(call, args, kwargs)

    return hooked


def _carries_mask(values: Any) -> bool:
    """Whether a tensor in the values has a Keras mask, which keys do not contain."""
    for value in values:
        kind = type(value)
        if kind is LazyTensor or kind is EagerTensor:  # reading a missing attribute takes much longer
            if value.__dict__ or (kind is LazyTensor and value._value is not None):
                if hung_on(value).get("_keras_mask") is not None:
                    return True
        elif isinstance(value, (list, tuple)):
            if _carries_mask(value):
                return True
        elif isinstance(value, dict):
            if _carries_mask(value.values()):
                return True
        elif getattr(value, "_keras_mask", None) is not None:
            return True
    return False


def _layer_call(layer: Any, original: Any, training: Any) -> Call:
    owner: Callable[[], Any] = weakref.ref(layer)

    def direct(*args: Any, **kwargs: Any) -> Any:
        return original(owner(), *args, **kwargs)

    def in_context(*args: Any, **kwargs: Any) -> Any:
        layer = owner()
        outer = keras_global_state.get_global_attribute("current_call_ctx")
        keras_global_state.set_global_attribute("current_call_ctx", None)
        try:
            if training is not None:
                context = layer._get_call_context()
                context.training = training
            return original(layer, *args, **kwargs)
        finally:
            keras_global_state.set_global_attribute("current_call_ctx", outer)

    return Call(
        f"keras {type(layer).__name__} {layer.name}",
        direct,
        in_context,
        in_context,
        attributes=True,
        arrays=Arrays.DATA,
        array_rule=ArrayRule.OWN,
        owner=owner,
    )


def _loss_options(loss: Any) -> Any:
    """The options of a loss that wraps a function; a dictionary that the program may change."""
    options = vars(loss).get("_fn_kwargs")
    return tuple((name, repr(value)) for name, value in options.items()) if options else ()


def _loss_call(loss: Any, original: Any) -> Call | None:
    if not library_class(type(loss)) or not plain_attributes(loss):
        return None
    function = getattr(loss, "fn", None)
    if function is not None and not from_library(function):
        return None
    name = f"keras {type(loss).__name__}"
    return method_call(loss, name, original, attributes=True, arrays=Arrays.DATA, array_rule=ArrayRule.OWN)


def global_settings() -> tuple[Any, ...]:
    """Keras's global settings, on which operations depend implicitly."""
    return (
        keras_config._FLOATX,
        keras_config._EPSILON,
        keras_config._IMAGE_DATA_FORMAT,
        getattr(keras_global_state.get_global_attribute("dtype_policy"), "name", None),
        keras_global_state.get_global_attribute("flash_attention"),
    )


def _run_pending() -> Any:
    """Runs pending operations before the change: a replay or a build runs the object's Python again."""
    run = thread.run
    if run is not None and not run.depth and run.tld.is_eager:
        run.cut()
    return run


def _end_epoch() -> None:
    _run_pending()
    Epoch.advance()


def setting_hook(original: Any) -> Any:
    """A hook for a function that changes a global setting on which operations depend."""

    @functools.wraps(original)
    def change(*args: Any, **kwargs: Any) -> Any:
        run = _run_pending()
        result = original(*args, **kwargs)
        if run is not None and not run.depth:
            run.start_segment()  # at the root for the new settings
        return result

    return change


def _setting_hooks() -> list[tuple[Any, str, Any]]:
    return [
        (owner, name, setting_hook(vars(owner)[name]))
        for module in _SETTING_MODULES
        if (owner := sys.modules.get(module)) is not None
        for name in _SETTERS
        if name in vars(owner)
    ]


def _attribute_hook(owner: Any) -> Any:
    """A hook for setting attributes of library objects, which are structure: a change ends the current epoch."""
    original = owner.__setattr__

    def __setattr__(self: Any, name: str, value: Any) -> None:  # noqa: N807
        called = id(self) in _structure  # no path depends on an object that was never called
        if (
            called
            and type(self).__module__.startswith("keras.")
            and name not in _BOOKKEEPING
            and not name.startswith("_self_")
        ):
            before = vars(self).get(name, _attribute_hook)
            if before is not value and not (type(before) is type(value) and _equal(before, value)):
                if vars(self).get("built", before is not _attribute_hook) and name != "learning_rate":
                    _end_epoch()
        original(self, name, value)
        if called:
            _is_structure(value)

    return __setattr__


def _equal(one: Any, other: Any) -> bool:
    return isinstance(one, (bool, int, float, str, bytes, type(None))) and one == other


def _trainable_hook() -> Any:
    original = KerasVariable.trainable

    def change(self: Any, value: Any) -> None:
        if self.trainable != value:
            _end_epoch()
        original.fset(self, value)

    return property(original.fget, change, original.fdel, original.__doc__)


def hooks() -> list[tuple[Any, str, Any]]:
    """(owner, attribute, replacement) of the hooks on Keras that runs need."""
    return [
        (KerasLayer, "__call__", _layer_hook()),
        (KerasLoss, "__call__", per_object(KerasLoss.__call__, _loss_call, _loss_options)),
        *_setting_hooks(),
    ]


def standing_hooks() -> list[tuple[Any, str, Any]]:
    """The hooks that detect changes of assumptions of paths, also between two runs."""
    return [
        (KerasLayer, "__setattr__", _attribute_hook(KerasLayer)),
        (KerasOptimizer, "__setattr__", _attribute_hook(KerasOptimizer)),
        (KerasLoss, "__setattr__", _attribute_hook(KerasLoss)),
        (KerasSchedule, "__setattr__", _attribute_hook(KerasSchedule)),
        (KerasVariable, "trainable", _trainable_hook()),
    ]
