"""Distribution strategies: `strategy.run(step, args=(batch,))`, datasets of each replica, and operations on their results.

Computes: the call of the function: each replica calls it with its own part, of the same types; batches of a dataset
are split among the replicas.

Needs: calls. Gives: `REPLICA_FUNCTIONS`, by canonical name. Ignores: functions whose arguments are not known
individually.
"""

from __future__ import annotations

from typing import Final

from terra_refactor.analysis.configuration import configuration_of
from terra_refactor.analysis.engine import Site
from terra_refactor.analysis.frames import CallArguments
from terra_refactor.analysis.freezing import freeze
from terra_refactor.analysis.transfer.allocation import thaw
from terra_refactor.analysis.transfer.container_methods import BuiltinHandler, argument_at
from terra_refactor.analysis.transfer.iteration import iterate
from terra_refactor.domain.dim import Dim, divide_exactly, loaded, multiply
from terra_refactor.domain.lattice import python_type
from terra_refactor.domain.state import CLASS
from terra_refactor.domain.tensor import TensorType
from terra_refactor.domain.value import (
    NONE,
    UNKNOWN,
    Constant,
    DatasetValue,
    FrozenDict,
    LibraryValue,
    Reference,
    SequenceValue,
    TensorKind,
    TensorValue,
    TupleValue,
    UnknownValue,
    Value,
    is_tensor,
)
from terra_refactor.tf_model.arguments import elements, known_integer, map_structure, python_scalar_dtype
from terra_refactor.tf_model.attributes import REPLICAS as NUMBER
from terra_refactor.tf_model.attributes import STRATEGY
from terra_refactor.tf_model.class_names import MIRRORED, ONE_DEVICE, STRATEGIES
from terra_refactor.tf_model.data.elements import map_components
from terra_refactor.tf_model.interpreted import Interpreted, by_name


def _run(site: Site, arguments: CallArguments, receiver: Value | None) -> Value | None:
    function = argument_at(arguments, 0, "fn")
    if function is None or arguments.open_positional is not None or arguments.open_keywords is not None:
        return None
    given = argument_at(arguments, 1, "args") or TupleValue(())
    named = freeze(site.frame, argument_at(arguments, 2, "kwargs") or NONE)
    parts = iterate(site, given).elements
    if parts is None or not (named == NONE or isinstance(named, FrozenDict)):
        return None
    keywords = tuple(named.items) if isinstance(named, FrozenDict) else ()
    if any(not isinstance(name, Constant) for name, _ in keywords):
        return None
    by_name = tuple((str(name.value), value) for name, value in keywords if isinstance(name, Constant))
    # with several replicas it holds one result for each, of those types; only the strategy accepts it
    return site.call(function, CallArguments(tuple(parts), by_name))


def _reduce(site: Site, arguments: CallArguments, receiver: Value | None) -> Value | None:
    """`strategy.reduce(op, value, axis)`: the types of one replica's value, without the axis if one is given."""
    value, axis = argument_at(arguments, 1, "value"), argument_at(arguments, 2, "axis")
    local = None if isinstance(value, UnknownValue) else value
    if local is None or axis is None:
        return None
    return thaw(site, map_structure(lambda part: _reduced(part, axis), freeze(site.frame, local)), "reduced")


def _reduced(part: Value, axis: Value) -> Value:
    if is_tensor(part) and isinstance(part, TensorValue):
        shape = part.type.shape
        if axis != NONE and shape is not None:
            position = known_integer(axis)
            known = position is not None and -len(shape) <= position < len(shape)
            shape = (
                tuple(size for at, size in enumerate(shape) if at != position % len(shape))
                if known and position is not None
                else None
            )
        return TensorValue(TensorType(part.type.dtype, shape))
    kind = python_type(part)
    return TensorValue(TensorType(python_scalar_dtype(part, numpy=False), ())) if kind is not None else UNKNOWN


def _gather(site: Site, arguments: CallArguments, receiver: Value | None) -> Value | None:
    """`strategy.gather(value, axis)`: the tensors of all replicas, concatenated along the axis."""
    value, axis = argument_at(arguments, 0, "value"), argument_at(arguments, 1, "axis")
    local = None if isinstance(value, UnknownValue) else value
    if not isinstance(local, TensorValue) or not isinstance(axis, Constant) or type(axis.value) is not int:
        return None
    shape, position = local.type.shape, axis.value
    if shape is not None and -len(shape) <= position < len(shape):
        position %= len(shape)
        shape = (*shape[:position], multiply(shape[position], NUMBER), *shape[position + 1 :])
    return TensorValue(TensorType(local.type.dtype, shape))


def _local_results(site: Site, arguments: CallArguments, receiver: Value | None) -> Value | None:
    """`strategy.experimental_local_results(value)`: a tuple with the value of each replica."""
    value = argument_at(arguments, 0, "value")
    local = None if isinstance(value, UnknownValue) else value
    return None if local is None else SequenceValue(local, "tuple")


def _distribute(site: Site, arguments: CallArguments, receiver: Value | None) -> Value | None:
    """`strategy.experimental_distribute_dataset(dataset)`: each replica gets its part of every batch."""
    dataset = argument_at(arguments, 0, "dataset")
    if not isinstance(dataset, DatasetValue):
        return None
    part = _part_of_one if _has_one_replica(site, receiver) else _part_of_batch
    return DatasetValue(map_components(part, dataset.element), dataset.cardinality)


def _has_one_replica(site: Site, strategy: Value | None) -> bool:
    """Whether a strategy is certainly one of a single device."""
    cls = site.frame.state.get((strategy.object, CLASS)) if isinstance(strategy, Reference) else None
    if strategy is None or not isinstance(cls, LibraryValue):
        return False
    devices = elements(configuration_of(site.frame, strategy).get("devices"))
    return cls.name == ONE_DEVICE or (cls.name == MIRRORED and devices is not None and len(devices) == 1)


def _share(size: Dim) -> Dim:
    """The part of a batch that one replica gets; for batches of one size it is the same in each step."""
    exact = divide_exactly(size, NUMBER)
    return exact if exact is not None or not isinstance(size, int) else loaded(f"{STRATEGY}:{size}", f"{size}/replicas")


def _part_of_one(component: Value) -> Value:
    """The only replica gets batches of a known size whole; a size that is a multiple of the replicas is divided."""
    shape = component.type.shape if isinstance(component, TensorValue) else None
    return component if shape and (shape[0] is None or isinstance(shape[0], int)) else _part_of_batch(component)


def _part_of_batch(component: Value) -> Value:
    if not isinstance(component, TensorValue) or component.kind is not TensorKind.TENSOR:
        return UNKNOWN
    shape = component.type.shape
    if shape:
        shape = (_share(shape[0]), *shape[1:])
    return TensorValue(TensorType(component.type.dtype, shape))


def _distribute_made(site: Site, arguments: CallArguments, receiver: Value | None) -> Value | None:
    """`strategy.distribute_datasets_from_function(make)`: `make` returns the batches of each replica."""
    function = argument_at(arguments, 0, "dataset_fn")
    made = None if function is None else site.call(function, CallArguments((UNKNOWN,)))
    return DatasetValue(made.element) if isinstance(made, DatasetValue) else None


def _distribute_values(site: Site, arguments: CallArguments, receiver: Value | None) -> Value | None:
    """`strategy.experimental_distribute_values_from_function(make)`: the result of `make` for each replica."""
    function = argument_at(arguments, 0, "value_fn")
    return None if function is None else site.call(function, CallArguments((UNKNOWN,)))


def _all_reduce(site: Site, arguments: CallArguments, receiver: Value | None) -> Value | None:
    """`context.all_reduce(op, value)`: the types of one replica's value."""
    value = argument_at(arguments, 1, "value")
    if value is None or isinstance(value, UnknownValue):
        return None
    return thaw(site, map_structure(lambda part: _reduced(part, NONE), freeze(site.frame, value)), "reduced")


_METHODS: Final[dict[str, BuiltinHandler]] = {
    "run": _run,
    "experimental_run_v2": _run,
    "reduce": _reduce,
    "gather": _gather,
    "experimental_local_results": _local_results,
    "experimental_distribute_dataset": _distribute,
    "distribute_datasets_from_function": _distribute_made,
    "experimental_distribute_datasets_from_function": _distribute_made,
    "experimental_distribute_values_from_function": _distribute_values,
}
REPLICA_FUNCTIONS: Final[dict[str, BuiltinHandler]] = {
    **by_name({Interpreted.ALL_REDUCE: _all_reduce}),
    **{f"{name}.{method}": handler for name in STRATEGIES for method, handler in _METHODS.items()},
}
