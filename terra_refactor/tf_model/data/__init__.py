"""`tf.data`: sources of datasets, transformations of their elements, and iteration.

Computes: the structure of one element and, if known, the number of elements. Gives: `RULES`, `ATTRIBUTES`, a file per family.

Source: `tf.data.Dataset`. In structures tuples and dicts are structures, lists are tensors. A size that differs between elements (the
last batch) is unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from terra_refactor.domain.value import UNKNOWN, DatasetValue, Value
from terra_refactor.tf_model import arguments as read
from terra_refactor.tf_model.data import batching, reading, sources, transformations
from terra_refactor.tf_model.data.elements import INT64_SCALAR, DatasetMethod
from terra_refactor.tf_model.spec import BoundCall, OperationRule


def _receiver(call: BoundCall) -> DatasetValue | None:
    return call.receiver if isinstance(call.receiver, DatasetValue) else None


def _on_dataset(transform: DatasetMethod) -> OperationRule:
    """The rule of a dataset's method; for an unknown dataset the result is an unknown dataset."""

    def rule(call: BoundCall) -> Value:
        dataset = _receiver(call)
        return transform(call, DatasetValue(UNKNOWN) if dataset is None else dataset)

    return rule


def _of_argument(transform: DatasetMethod) -> OperationRule:
    """A function that takes the dataset as its first argument."""

    def rule(call: BoundCall) -> Value:
        dataset = read.first_of(call, "dataset", "dataset_or_iterator")
        return transform(call, dataset if isinstance(dataset, DatasetValue) else DatasetValue(UNKNOWN))

    return rule


_METHODS: Final[Mapping[str, DatasetMethod]] = {**transformations.METHODS, **batching.METHODS, **reading.METHODS}

_OLD_METHODS: Final = (
    "shuffle prefetch cache with_options take skip repeat shard filter batch padded_batch unbatch map flat_map interleave apply "
    "concatenate window"
)
"""Methods that `tf.compat.v1.data.Dataset` defines itself; the others it inherits."""


def _rules() -> dict[str, OperationRule]:
    rules: dict[str, OperationRule] = {}
    new, old = "tensorflow.data.Dataset", "tensorflow.compat.v1.data.Dataset"
    for name, transform in _METHODS.items():
        rules[f"{new}.{name}"] = _on_dataset(transform)
    for name in _OLD_METHODS.split():
        rules[f"{old}.{name}"] = rules[f"{new}.{name}"]
    for name, rule in sources.DATASET_CONSTRUCTORS.items():
        rules[f"{new}.{name}"] = rules[f"{old}.{name}"] = rule
    rules[f"{new}.counter"] = sources.counter
    rules[f"{new}.random"] = lambda call: DatasetValue(INT64_SCALAR)
    rules[f"{new}.load"] = sources.unknown_dataset
    rules[f"{new}.sample_from_datasets"] = rules[f"{new}.choose_from_datasets"] = sources.mixed
    for name in ("make_one_shot_iterator", "make_initializable_iterator"):
        rules[f"{old}.{name}"] = _on_dataset(reading.iterator)
    for name in ("TFRecordDataset", "TextLineDataset", "FixedLengthRecordDataset"):
        rules[f"tensorflow.data.{name}"] = rules[f"tensorflow.compat.v1.data.{name}"] = sources.strings
    for name in ("__next__", "get_next"):
        rules[f"tensorflow.data.Iterator.{name}"] = _on_dataset(reading.next_element)
    rules["tensorflow.compat.v1.data.Iterator.get_next"] = _on_dataset(reading.next_element)
    rules["tensorflow.data.Iterator.__iter__"] = _on_dataset(reading.iterator)
    rules["tensorflow.compat.v1.data.make_one_shot_iterator"] = _of_argument(reading.iterator)
    rules["tensorflow.compat.v1.data.make_initializable_iterator"] = _of_argument(reading.iterator)
    rules["tensorflow.data.experimental.get_single_element"] = _of_argument(reading.next_element)
    rules["tensorflow.data.experimental.cardinality"] = _of_argument(reading.cardinality)
    rules["tensorflow.data.experimental.get_structure"] = _of_argument(
        lambda call, dataset: reading.element_spec(dataset)
    )
    rules["tensorflow.compat.v1.data.get_output_types"] = _of_argument(
        lambda call, dataset: reading.output_types(dataset)
    )
    rules["tensorflow.compat.v1.data.get_output_shapes"] = _of_argument(
        lambda call, dataset: reading.output_shapes(dataset)
    )
    rules["tensorflow.data.experimental.Counter"] = sources.counter
    for name in ("sample_from_datasets", "choose_from_datasets"):
        rules[f"tensorflow.data.experimental.{name}"] = sources.mixed
    return rules


RULES: Final[Mapping[str, OperationRule]] = _rules()

ATTRIBUTES: Final[Mapping[str, Callable[[Value], Value]]] = {
    f"{owner}.{name}": rule
    for owner in (
        "tensorflow.data.Dataset",
        "tensorflow.data.Iterator",
        "tensorflow.compat.v1.data.Dataset",
        "tensorflow.compat.v1.data.Iterator",
    )
    for name, rule in reading.ATTRIBUTES.items()
}
