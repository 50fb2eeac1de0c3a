"""The dtype of the trainable weights of Keras's models and layers, from the code of the whole program.

Computes: whether any code may give a weight another type than Keras's default. Needs: the IR, and the known packages.
Gives: `WeightCode` (of one function), `weights_are_default` (of a program).

Approximates: code is judged by the names that it uses, regardless of whether, when and with what it runs. Ignores: dtypes passed by
position to a constructor, and by name to a function under another name than `dtype`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from terra_refactor.ir.function import Function
from terra_refactor.ir.ids import OpId
from terra_refactor.ir.ops import (
    BuildDict,
    Call,
    Import,
    ImportFrom,
    ImportStar,
    Literal,
    LoadAttribute,
    LoadName,
    Op,
    Spread,
    StoreAttribute,
)
from terra_refactor.ir.program import Program
from terra_refactor.tf_model.name_table import words
from terra_refactor.tf_model.packages import PACKAGES, TENSOR_PACKAGES

_DTYPES: Final = frozenset({"dtype", "dtype_policy"})
_LOADERS: Final = words(
    "load_model model_from_json model_from_config model_from_yaml saved_model SavedModel TFSMLayer KerasLayer from_pretrained quantize"
)
"""Names of functions that load models, or change a model's dtypes."""
_WITHOUT_WEIGHTS: Final = words(
    "Input InputLayer InputSpec KerasTensor TensorSpec SparseTensorSpec RaggedTensorSpec TensorArray TensorArraySpec SparseTensor "
    "IndexedSlices FixedLenFeature FixedLenSequenceFeature VarLenFeature RaggedFeature DataFrame Series CategoryEncoding"
)
"""Classes whose `dtype` is not that of a weight."""
_MAKERS: Final = words("add_weight add_variable get_variable Variable variable __init__ dict partial")
"""Functions that create a weight, or pass `dtype` on to one that does."""
_VARIABLES: Final = words("Variable variable get_variable")
_KEEP_TO_DEFAULT: Final = words(
    "einops etils tree wrapt decorator deprecated deprecation gin hydra keras_tuner multipledispatch optree ray sacred "
    "tensorflow_datasets tensorflow_io tensorflow_text toolz typeguard keras tensorflow tf_keras numpy"
)


@dataclass(frozen=True, slots=True)
class WeightCode:
    """The effect of a function's own code on the dtypes of weights."""

    asks: bool
    """It may give a weight another type than Keras's default."""
    imported: frozenset[tuple[str, int]]
    """The modules that it imports, with the number of leading dots."""

    @staticmethod
    def of(code: Mapping[OpId, Op]) -> WeightCode:
        """Computed from the operations of a function."""
        imported = {
            (op.module, 0 if isinstance(op, Import) else op.level)
            for op in code.values()
            if isinstance(op, Import | ImportFrom | ImportStar)
        }
        return WeightCode(any(_asks(op, code.get) for op in code.values()), frozenset(imported))


def _asks(op: Op, find: Callable[[OpId], Op | None]) -> bool:
    match op:
        case LoadAttribute(name=name) | LoadName(name=name) if name in _LOADERS:
            return True
        case StoreAttribute(name=name) if name in _DTYPES:
            return True
        case BuildDict(items=items):
            keys = (find(item.key) for item in items if item.key is not None)
            return any(isinstance(key, Literal) and key.value in _DTYPES for key in keys)
        case Call():
            return _call_asks(op, find)
        case _:
            return False


def _call_asks(call: Call, find: Callable[[OpId], Op | None]) -> bool:
    callee = find(call.function)
    name = callee.name if isinstance(callee, LoadAttribute | LoadName) else ""
    given = {argument.keyword: find(argument.value) for argument in call.arguments if argument.keyword is not None}
    wanted = [value for keyword, value in given.items() if keyword in _DTYPES]
    if wanted:
        if all(_is_default(value) for value in wanted):
            return False
        makes = name in _MAKERS or name[:1].isupper() or not isinstance(callee, LoadAttribute)
        return makes and name not in _WITHOUT_WEIGHTS
    if name in _VARIABLES:
        # has the dtype of its initial value
        trainable = given.get("trainable")
        return not (isinstance(trainable, Literal) and trainable.value is False)
    if name in ("add_weight", "add_variable"):
        plain = [argument for argument in call.arguments if argument.keyword is None]
        return len(plain) > 2 or any(argument.spread is Spread.STAR for argument in plain)
    return False


def _is_default(value: Op | None) -> bool:
    match value:
        case Literal(value=None | "float32"):
            return True
        case LoadAttribute(name="float32"):
            return True
        case _:
            return False


def weights_are_default(program: Program, code: Callable[[Function], WeightCode]) -> bool:
    """Whether all trainable weights of Keras models in a program have the default dtype: no code requests another one,
    or loads weights.
    """
    imported: dict[tuple[str, int, str], None] = {}
    for module in program.modules.values():
        for function in module.functions:
            known = code(function)
            if known.asks:
                return False
            imported.update(((name, level, module.name), None) for name, level in known.imported)
    return all(_keeps_to_default(program, *found) for found in imported)


def _keeps_to_default(program: Program, name: str, level: int, importing: str) -> bool:
    top = name.partition(".")[0]
    if level or top in _KEEP_TO_DEFAULT or top in sys.stdlib_module_names:
        return True
    if top in PACKAGES:
        return top not in TENSOR_PACKAGES
    return program.imports.resolve(importing, name, level) is not None
