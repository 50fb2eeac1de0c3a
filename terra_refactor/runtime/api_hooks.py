"""The hooks at the public API: one call of TensorFlow or Keras is one node of the trace.

Computes: a wrapper for each hooked function; installs and removes all hooks. Needs: nothing of the program. Gives:
`install`, `rest`, `remove`. Ignores: calls under other names (`from tensorflow import matmul` before the hooks),
which raw_ops.py catches.
"""

from __future__ import annotations

import functools
import os
import threading
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from terra_refactor.runtime import (
    foreign,
    keras_hooks,
    keras_optimizers,
    random_draws,
    raw_ops,
    replaced,
    run_tapes,
    state,
    varying_index,
)
from terra_refactor.runtime.executor import forget_executors, wait_for_segments
from terra_refactor.runtime.lazy_tensor import LazyTensor, any_kept
from terra_refactor.runtime.op_rules import names
from terra_refactor.runtime.state import forked, thread
from terra_refactor.runtime.tf_internals import (
    EagerTensor,
    Function,
    GradientTape,
    Tensor,
    Variable,
    convert_to_tensor,
    eager_function_run,
    keras,
    ops,
    resource_variable_ops,
    tf,
    variables,
)
from terra_refactor.runtime.trie import ArrayRule, Call
from terra_refactor.runtime.values import as_given, real_value

_NAMESPACES: tuple[Any, ...] = (
    tf,
    tf.math,
    tf.nn,
    tf.linalg,
    tf.signal,
    tf.image,
    tf.random,
    keras.ops,
    keras.src.ops,
    keras.ops.image,
    keras.ops.nn,
    keras.ops.numpy,
    keras.ops.linalg,
)

# Not operations on tensors, or with a meaning that depends on more than their arguments.
_NOT_HOOKED = names(
    """
    as_dtype Assert Graph GradientTape Module Variable autograph case cond control_dependencies
    custom_gradient device dynamic_partition executing_eagerly fori_loop foldl foldr function
    get_current_name_scope get_logger get_static_value grad_pass_through gradients group hessians init_scope
    inside_function is_symbolic_tensor is_tensor load_library load_op_library make_ndarray make_tensor_proto
    map map_fn name_scope no_gradient nondifferentiable_batch_function numpy_function one_shot print py_func
    py_function recompute_grad register_tensor_conversion_function scan stop_recording switch timestamp tuple
    type_spec_from_value variable_creator_scope vectorized_map vectorize while_loop associative_scan
    custom_jvp cast_to_tensor convert_to_numpy shape_n set_seed get_global_generator set_global_generator
    create_rng_state device_scope ragged_fill_empty_rows
    """
)
_CREATIONS = frozenset(
    ["constant", "convert_to_tensor", "zeros", "ones", "fill", "range", "eye", "linspace", "arange", "full", "identity"]
)
_SCALAR_OPERATORS = _BINARY_OPERATORS = names(
    """
    __add__ __radd__ __sub__ __rsub__ __mul__ __rmul__ __truediv__ __rtruediv__ __pow__ __rpow__ __lt__ __le__
    __gt__ __ge__ __matmul__
    """
)
_INDEX_FUNCTIONS = names(
    """
    gather gather_nd embedding_lookup one_hot sparse_softmax_cross_entropy_with_logits sequence_mask take
    take_along_axis unsorted_segment_sum unsorted_segment_mean unsorted_segment_max unsorted_segment_min
    unsorted_segment_prod
    """
)
_SCALAR_METHODS = frozenset(["assign", "assign_add", "assign_sub"])
_SCALAR_FUNCTIONS = frozenset(
    ["add", "subtract", "multiply", "divide", "maximum", "minimum", "pow", "scalar_mul", "greater", "less"]
)
_VARIABLE_METHODS = sorted(
    names(
        """
        assign assign_add assign_sub scatter_sub scatter_add scatter_max scatter_min scatter_mul scatter_div
        scatter_update batch_scatter_update scatter_nd_sub scatter_nd_add scatter_nd_update scatter_nd_max
        scatter_nd_min _read_variable_op read_value value sparse_read gather_nd
        """
    )
)

_GENERATOR_METHODS = ("normal", "uniform", "truncated_normal", "uniform_full_int", "make_seeds")


def hook(original: Any, call: Call) -> Any:
    """A function that goes through the run if one is active on this thread."""

    @functools.wraps(original)
    def hooked(*args: Any, **kwargs: Any) -> Any:
        run = thread.run
        if run is None or run.depth:
            result = original(*args, **kwargs)
            # outside of a function, or where nothing is deferred any more, a tensor stays the program's object, too
            if type(result) is EagerTensor and (run is None or (run.passive and run.depth == 1)):
                return as_given(result, args)
            return result
        return run.call(call, args, kwargs)

    hooked.__coexec_original__ = original  # type: ignore[attr-defined]
    return hooked


def _function_call(name: str, function: Any) -> Call:
    return Call(
        name,
        function,
        function,
        function,
        convert_scalars=name.rpartition(".")[2] in _SCALAR_FUNCTIONS,
        creation=name.rpartition(".")[2] in _CREATIONS,
        attributes=name.startswith("keras."),
        array_rule=ArrayRule.OWN if name.rpartition(".")[2] in _INDEX_FUNCTIONS else ArrayRule.SAME_DTYPE,
    )


def _api_hooks() -> list[tuple[Any, str, Any]]:
    made: dict[int, Any] = {}
    hooks: list[tuple[Any, str, Any]] = []
    for namespace in _NAMESPACES:
        for name, function in sorted(vars(namespace).items()):
            if name.startswith("_") or name in _NOT_HOOKED or not isinstance(function, types.FunctionType):
                continue
            if not keras_hooks.is_library_code(function):
                continue  # a replacement by the program is Python code of its own
            if namespace is tf.random and not name.startswith("stateless"):
                continue  # their Python code draws the seeds; the operations inside are caught one by one
            if id(function) not in made:
                made[id(function)] = hook(function, _function_call(f"{namespace.__name__}.{name}", function))
            hooks.append((namespace, name, made[id(function)]))
    return hooks


def _operator_hooks() -> list[tuple[Any, str, Any]]:
    hooks: list[tuple[Any, str, Any]] = []
    resource_variable = resource_variable_ops.ResourceVariable  # some methods are overridden in the subclass
    owners = (Tensor, ops._EagerTensorBase, variables.Variable, Variable, resource_variable, keras.Variable)
    for name in sorted(Tensor.OVERLOADABLE_OPERATORS):
        for owner in owners:
            if owner is keras.Variable and name == "__getitem__":
                continue  # it is that of the TensorFlow variable inside
            if name in vars(owner):
                hooks.append(_method_hook(owner, name, "Tensor", name in _SCALAR_OPERATORS))
    for name in _VARIABLE_METHODS:
        for owner in (Variable, resource_variable):
            if name in vars(owner):
                hooks.append(_method_hook(owner, name, "Variable", name in _SCALAR_METHODS))
    return hooks


def _generator_hooks() -> list[tuple[Any, str, Any]]:
    """A draw of a generator is one call: the state that it reads and advances is a variable."""
    generator = tf.random.Generator
    return [
        (generator, name, keras_hooks.per_object(getattr(generator, name), _generator_call))
        for name in _GENERATOR_METHODS
    ]


def _generator_call(generator: Any, original: Any) -> Call | None:
    if type(generator) is not tf.random.Generator:
        return None
    return keras_hooks.method_call(generator, f"Generator.{original.__name__}", original)


def _method_hook(owner: Any, name: str, kind: str, scalars: bool) -> tuple[Any, str, Any]:
    original = vars(owner)[name]
    call = Call(f"{kind}.{name}", original, original, original, convert_scalars=scalars)
    if name == "__getitem__":
        call.at_varying = varying_index.TAKE
        if owner is not Tensor and owner is not ops._EagerTensorBase:
            call.rehang = _assignable(original)
    if name in _BINARY_OPERATORS:
        call.array_rule = ArrayRule.HINT
    return owner, name, hook(original, call)


def _assignable(getitem: Any) -> Any:
    """Support for `variable[0].assign(x)`: TensorFlow sets the method on the slice."""

    def assign(variable: Any, index: Any, value: Any) -> Any:
        return getitem(variable, index).assign(value)

    call = Call("Variable.__getitem__.assign", assign, assign, assign, at_varying=varying_index.PUT)

    def rehang(lazy: Any, variable: Any, index: Any) -> None:
        def assign_to_slice(val: Any, name: Any = None) -> Any:
            run = thread.run
            if run is None or run.depth:
                return assign(variable, index, real_value(val))
            if isinstance(val, (bool, int, float, np.ndarray, np.generic)):  # data, of any type
                val = convert_to_tensor(val.copy() if isinstance(val, np.ndarray) else val, variable.dtype)
                run.facts.pop(id(val), None)
            return run.call(call, (variable, index, val), {})

        lazy.assign = assign_to_slice

    return rehang


_NEVER_TENSORS = frozenset((bool, int, float, complex, str, bytes, type(None), dict, list, tuple, np.ndarray))


def _is_tensor_hook() -> Any:
    """A faster `is_tensor`: for other values TensorFlow checks a protocol, which takes longer than deferring a call."""
    original = tf.is_tensor

    @functools.wraps(original)
    def is_tensor(x: Any) -> Any:
        kind = type(x)
        if kind is LazyTensor or kind is EagerTensor:
            return True
        return False if kind in _NEVER_TENSORS else original(x)

    return is_tensor


def _dispatch_hook() -> Any:
    """`dispatch_for_api` of a hooked function: TensorFlow looks up the function itself in a table."""
    original = tf.experimental.dispatch_for_api

    @functools.wraps(original)
    def dispatch_for_api(api: Any, *signatures: Any) -> Any:
        return original(getattr(api, "__coexec_original__", api), *signatures)

    return dispatch_for_api


def _deferring() -> Any:
    """The run that defers a tape event; None if the event happens now."""
    run = thread.run
    if run is None or run.depth or not run.tld.is_eager:
        return None
    if run.shared:
        run.share()
        return None
    return run


def _tape_hooks() -> list[tuple[Any, str, Any]]:
    def push(self: Any) -> None:
        run = _deferring()
        if run is None:
            (run_tapes.real_push if tf.executing_eagerly() else run_tapes.original_push)(self)
        else:
            run_tapes.push(run, self)

    def pop(self: Any) -> None:
        run = _deferring()
        if run is None:
            run_tapes.real_pop(self)
        else:
            run_tapes.pop(run, self)

    def watch(self: Any, tensor: Any) -> None:
        run = _deferring()
        if run is None:
            run_tapes.original_watch(self, tensor)
        else:
            run_tapes.watch(run, self, tensor)

    def gradient(self: Any, *args: Any, **kwargs: Any) -> Any:
        run = _deferring()
        if run is None:
            return run_tapes.real_gradient(self, *args, **kwargs)
        return run_tapes.gradient(run, self, args, kwargs)

    hooks = [
        (GradientTape, "_push_tape", push),
        (GradientTape, "_pop_tape", pop),
        (GradientTape, "watch", functools.wraps(run_tapes.original_watch)(watch)),
        (GradientTape, "gradient", functools.wraps(run_tapes.original_gradient)(gradient)),
    ]
    for name in ("jacobian", "batch_jacobian", "watched_variables", "reset"):
        hooks.append((GradientTape, name, _really(getattr(GradientTape, name))))
    return hooks


def _really(original: Any) -> Any:
    """Makes the tape real, then runs the original method."""

    @functools.wraps(original)
    def hooked(self: Any, *args: Any, **kwargs: Any) -> Any:
        run = thread.run
        if run is None or run.depth or not run.tld.is_eager:
            return original(self, *args, **kwargs)
        call = Call(f"GradientTape.{original.__name__}", original, original, original)
        return run.immediate(call, (self, *args), kwargs)

    return hooked


class _Layer:
    """Hooks that are installed and removed together. They are created once, and again for functions patched since.

    Paths are keyed by the calls that the hooks pass to a run: recreated hooks know no path.
    """

    def __init__(self, make: Callable[[], list[tuple[Any, str, Any]]]) -> None:
        self.make = make
        self.made: list[tuple[Any, str, Any, Any]] = []  # owner, name, original (or _ABSENT), replacement
        self.in_place = False

    def put(self) -> None:
        """Install the hooks. After an interruption some may be missing; the next call installs them."""
        if self.in_place:
            return
        if not self.made or not all(self._is_there(each) for each in self.made):
            self.take_away()
            self.made = [(owner, name, vars(owner).get(name, _ABSENT), hook) for owner, name, hook in self.make()]
        for owner, name, _, replacement in self.made:
            _set(owner, name, replacement)
        self.in_place = True

    def take_away(self) -> None:
        """Removes the hooks. If the program has replaced a hook by a function, that stays."""
        self.in_place = False
        for owner, name, was, replacement in reversed(self.made):
            if vars(owner).get(name) is replacement:
                if was is _ABSENT:
                    delattr(owner, name)
                else:
                    _set(owner, name, was)

    @staticmethod
    def _is_there(hook: tuple[Any, str, Any, Any]) -> bool:
        owner, name, was, replacement = hook
        found = vars(owner).get(name, _ABSENT)
        return found is was or found is replacement


_ABSENT = object()


def _set(owner: Any, name: str, value: Any) -> None:
    if isinstance(owner, types.ModuleType):
        vars(owner)[name] = value  # bypassing the notification (replaced.py)
    else:
        setattr(owner, name, value)


def _hooks_at_the_api() -> list[tuple[Any, str, Any]]:
    hooks = [*_api_hooks(), *_operator_hooks(), *_generator_hooks(), *_tape_hooks(), *foreign.thread_hooks()]
    hooks.extend((*keras_hooks.hooks(), *keras_optimizers.hooks()))
    hooks.append((Function, "__call__", _function_hook()))
    hooks.append((tf, "is_tensor", _is_tensor_hook()))
    hooks.append((tf.experimental, "dispatch_for_api", _dispatch_hook()))
    run_eagerly = keras_hooks.setting_hook(eager_function_run.run_functions_eagerly)
    hooks.extend((owner, "run_functions_eagerly", run_eagerly) for owner in (eager_function_run, tf.config))
    return hooks


_api = _Layer(_hooks_at_the_api)
_below = _Layer(raw_ops.raw_hooks)
_standing = _Layer(lambda: [*raw_ops.standing_hooks(), *keras_hooks.standing_hooks()])
_at_fork: list[bool] = []
switching = threading.RLock()
"""Lock for installing and removing hooks and for registering a run, so that no run begins without hooks."""


def install() -> None:
    """Installs all hooks; a second call does nothing."""
    if _api.in_place:
        return
    with switching:
        state.hooks.installed = True
        if not _standing.in_place:
            raw_ops.count_accumulators()
            _standing.put()
        if not _at_fork:
            _at_fork.append(True)
            os.register_at_fork(before=_before_fork, after_in_child=_in_forked_child)
        _below.put()
        _api.put()
        replaced.watch((owner, name) for owner, name, *_ in _api.made if owner in _NAMESPACES)


def are_standing() -> bool:
    """Whether the hooks are installed that stay while functions rest."""
    return _standing.in_place


def _before_fork() -> None:
    """Waits for all segments before a fork: the child has none of TensorFlow's threads, so their results would never
    arrive there.
    """
    run = thread.run
    if run is not None and not run.depth and run.tld.is_eager:
        run.cut()
    wait_for_segments()


def _in_forked_child() -> None:
    """Defers nothing in a forked process, which has no threads to run segments."""
    forget_executors()
    foreign.forget_other_threads()
    run = thread.run
    if run is not None:
        run.passive = True
        run.depth += 1
    forked.append(True)


def _function_hook() -> Any:
    hooked = keras_hooks.per_object(Function.__call__, _function_graph_call)
    original = Function.__call__

    @functools.wraps(original)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        if eager_function_run.RUN_FUNCTIONS_EAGERLY:  # then it is plain Python
            return original(self, *args, **kwargs)
        return hooked(self, *args, **kwargs)

    return call


def _function_graph_call(function: Any, original: Any) -> Call:
    return keras_hooks.method_call(function, f"tf.function {getattr(function, '__name__', '')}", original)


def rest() -> None:
    """Removes the hooks temporarily, and with them their cost per operation, unless a run is active on any thread.

    The hooks below the API stay while the program has deferred tensors from earlier calls, which operations accept
    only with them, and while kernels are behind the random numbers drawn. Those at the beginning and end of blocks
    stay.
    """
    with switching:
        if foreign.other_runs() or not _below.in_place:
            return
        wait_for_segments()
        _take_the_api_away()
        if not any_kept() and random_draws.may_look_away():
            _below.take_away()


def _take_the_api_away() -> None:
    state.hooks.installed = False
    state.hooks.generation += 1
    _api.take_away()


def remove() -> None:
    """Removes the hooks after running all deferred operations.

    Those below the API stay while the program has deferred tensors.
    """
    run = thread.run
    if run is not None and not run.depth:
        run.bail_out("switched off in the middle of a call")
    wait_for_segments()
    rest()
    with switching:
        _take_the_api_away()
        replaced.unwatch()
        if not _below.in_place:
            _standing.take_away()
