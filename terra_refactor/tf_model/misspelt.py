"""Names that no catalogued release of a library has, and that differ by a letter or two from a name that it has.

A call with such a keyword, or a read of such an attribute, certainly raises. A name that differs more may be one of an older release.
Computes: whether a keyword, an attribute or a member of a module is misspelt. Needs: the catalogue. Gives: `is_misspelt_keyword`,
`is_refused_keyword`, `is_misspelt_attribute`, `is_misspelt_member`. Ignores: modules of NumPy, and functions of NumPy, whose members
and parameters were renamed by letters (`np.float`).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Final

from terra_refactor.tf_model import registry
from terra_refactor.tf_model.catalogue import CatalogueFile, catalogue_files, catalogued_members, parse_signature
from terra_refactor.tf_model.name_table import words
from terra_refactor.tf_model.releases import OF_KERAS_1
from terra_refactor.tf_model.spec import ParameterPassing

_WITH_KEYWORDS: Final = (
    "keras.layers.",
    "keras.optimizers.",
    "keras.losses.",
    "keras.metrics.",
    "keras.callbacks.",
    "keras.Model.",
    "keras.Sequential.",
)
"""Names of Keras whose parameters are those of Keras 2 and 3, or were all renamed since Keras 1."""
_OF_LAYERS: Final = words(
    "activity_regularizer autocast batch_input_shape batch_size dtype dynamic implementation input_dim input_dtype input_length "
    "input_shape name time_major trainable weights zero_output_for_mask"
)
"""Keywords that layers accept as `**kwargs`. Source: `keras.layers.Layer` of Keras 2 and 3, `keras.layers.RNN` of Keras 2."""
_OF_OPTIMIZERS: Final = words("clipnorm clipvalue decay global_clipnorm jit_compile learning_rate lr name")
_OF_COMPILE: Final = words("cloning distribute experimental_run_tf_function metrics sample_weight_mode target_tensors")
_ACCEPTING: Final = {
    "keras.layers.": _OF_LAYERS,
    "keras.optimizers.": _OF_OPTIMIZERS,
    "keras.Model.compile": _OF_COMPILE,
    "keras.Sequential.compile": _OF_COMPILE,
}
"""The keywords that classes and methods check which have `**kwargs`."""
_CLOSED: Final = {
    "tensorflow.Tensor": "tensorflow.compat.v1.Tensor",
    "tensorflow.data.Dataset": "tensorflow.compat.v1.data.Dataset",
    "numpy.ndarray": "numpy.ndarray",
}
"""Classes whose instances have no other attributes than those of the class, and what they were in earlier releases."""
_KEPT: Final = words(
    "tensorflow.data tensorflow.image tensorflow.linalg tensorflow.math tensorflow.nn tensorflow.random tensorflow.signal "
    "tensorflow.strings"
)
_SHORTEST: Final = 4
"""Shorter names differ by a letter too easily."""


@cache
def is_misspelt_keyword(name: str, keyword: str) -> bool:
    """Whether a function or class (canonical name) of Keras refuses a keyword that is nearly one of its parameters."""
    if not name.startswith(_WITH_KEYWORDS) or keyword in OF_KERAS_1:
        return False
    known: set[str] = set()
    for signature in _signatures(name):
        if signature is None:
            return False
        parameters = parse_signature(signature)
        if any(parameter.passing is ParameterPassing.VAR_KEYWORD for parameter in parameters):
            accepted = next((names for prefix, names in _ACCEPTING.items() if name.startswith(prefix)), None)
            if accepted is None:
                return False
            known |= accepted
        known |= {parameter.name for parameter in parameters}
    return _is_nearly_one_of(keyword, frozenset(known))


@cache
def is_misspelt_attribute(cls: str, name: str) -> bool:
    """Whether instances of a library class (canonical name) lack an attribute that is nearly one of theirs.

    If they have no other attributes than those of their class, it may be any attribute.
    """
    classes = (cls, *registry.class_bases(cls), _CLOSED.get(cls, cls))
    known = {leaf for file in catalogue_files() for each in classes for leaf in file.owners.get(each, ())}
    if name.startswith("_"):
        return False
    return name not in known if cls in _CLOSED else _is_nearly_one_of(name, frozenset(known))


@cache
def is_misspelt_member(module: str, name: str) -> bool:
    """Whether a module of TensorFlow or Keras (canonical name) lacks a member that is nearly one of its own, in each release.

    Modules of TensorFlow that have kept their names since TensorFlow 1 may lack any member.
    """
    if module.partition(".")[0] not in ("tensorflow", "keras") or name.startswith("_"):
        return False
    if registry.attribute(module, name) is not None or registry.is_former(module, name):
        return False
    return module in _KEPT or _is_nearly_one_of(name, frozenset(catalogued_members(module)))


@cache
def is_refused_keyword(name: str, keyword: str) -> bool:
    """Whether a function of TensorFlow (canonical name) has no such parameter, in any release, and takes no other keywords."""
    if not name.startswith("tensorflow."):
        return False
    former = f"tensorflow.compat.v1{name.removeprefix('tensorflow')}"
    found = [*_signatures(name), *_signatures(former)]
    if not found or None in found:
        return False
    parameters = [parameter for signature in found for parameter in parse_signature(str(signature))]
    return not any(
        parameter.name == keyword or parameter.passing is ParameterPassing.VAR_KEYWORD for parameter in parameters
    )


def _signatures(name: str) -> Iterator[str | None]:
    """The signatures of a name in each release that has it, None for an unknown one."""
    for file in catalogue_files():
        found = _entry(file, name)
        if found is not None:
            number = found[1:].partition(";")[0]
            yield file.signatures[int(number)] if number.isdigit() else None


def _entry(file: CatalogueFile, name: str) -> str | None:
    """The entry of a name in one release, aliases followed; of a method also in the bases of its class."""
    owner, _, leaf = name.rpartition(".")
    known = [file.owners.get(each, {}).get(leaf) for each in (owner, *registry.class_bases(owner))]
    found = next((each for each in known if each is not None), None)
    if found is not None and found.startswith("="):
        return _entry(file, found[1:])
    return found


def _is_nearly_one_of(name: str, known: frozenset[str]) -> bool:
    if len(name) < _SHORTEST or name.lower() in {each.lower() for each in known}:
        return False  # earlier releases had names in lower case, too
    return any(_differs_by_letters(name, each) for each in known if len(each) >= _SHORTEST and not each.startswith("_"))


def _differs_by_letters(first: str, second: str) -> bool:
    """Whether one letter is missing, added or different, or two neighbours are exchanged."""
    if len(first) > len(second):
        first, second = second, first
    if len(second) - len(first) > 1:
        return False
    start = next(
        (place for place, pair in enumerate(zip(first, second, strict=False)) if pair[0] != pair[1]), len(first)
    )
    if len(first) < len(second):
        return first[start:] == second[start + 1 :]
    exchanged = (
        first[start : start + 2] == second[start : start + 2][::-1] and first[start + 2 :] == second[start + 2 :]
    )
    return start < len(first) and (first[start + 1 :] == second[start + 1 :] or exchanged)
