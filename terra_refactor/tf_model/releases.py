"""Changes of behaviour between library releases, and the releases for which a program may be written.

The models are those of TensorFlow 2.16 to 2.21, Keras 3 and NumPy 2. These may reject code that runs in an older
release, and an error matters only in the release with which the code runs. Computes: whether all, some or none of the
releases that a program requires have a behaviour. Needs: requirements in the syntax of packaging tools. Gives:
`Behaviour`, `Releases`, `behaviour_of`. Ignores: installed packages.

Sources: the release notes of TensorFlow 1.15 to 2.21, Keras 2.0 to 3.15 and NumPy 1.20 to 2.4, and `tests/conformance` run in TensorFlow
2.0.4, 2.4.4 and 2.12.1.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Final

from terra_refactor.tf_model.name_table import words
from terra_refactor.tf_model.versions import CATALOGUE_FILES

if TYPE_CHECKING:
    from packaging.specifiers import SpecifierSet

TENSORFLOW: Final = "tensorflow"
KERAS: Final = "keras"
NUMPY: Final = "numpy"

DISTRIBUTIONS: Final[Mapping[str, str]] = {
    **dict.fromkeys(
        words("tensorflow tensorflow-gpu tensorflow-cpu tensorflow-macos tensorflow-intel tensorflow-rocm"), TENSORFLOW
    ),
    "keras": KERAS,
    "numpy": NUMPY,
}
"""Package names in lower case with `-`, and the library that each provides."""


@dataclass(frozen=True, slots=True)
class Behaviour:
    """A behaviour of a library since one of its releases.

    Attributes:
        library: its name.
        since: the first release for which it is known, `X` or `X.Y`.
        before: the behaviour of earlier releases; empty if unknown.
        assumed: whether a program without a known release is assumed to use one with the behaviour. Behaviour that is
            unknown for earlier releases is assumed for them, too.
    """

    library: str
    since: str
    before: str = ""
    assumed: bool = False

    @property
    def condition(self) -> str:
        """The releases with the behaviour, as the end of a sentence."""
        return f"{_UNDER.get((self.library, self.since), f'under {_NAMES[self.library]} {self.since} and newer')}: {self.before}"

    @property
    def is_condition(self) -> bool:
        """Whether it makes a finding doubtful for a program without a known release."""
        return bool(self.before) and not self.assumed


_NAMES: Final = {TENSORFLOW: "TensorFlow", KERAS: "Keras", NUMPY: "NumPy"}
_UNDER: Final = {(KERAS, "3"): "under Keras 3 and TensorFlow 2.16 or newer"}

_MINORS: Final[Mapping[str, tuple[tuple[int, int], ...]]] = {
    TENSORFLOW: (*((1, minor) for minor in range(16)), *((2, minor) for minor in range(22))),
    KERAS: (
        *((0, minor) for minor in range(1, 4)),
        *((1, minor) for minor in range(3)),
        *((2, minor) for minor in range(16)),
        *((3, minor) for minor in range(16)),
    ),
    NUMPY: (*((1, minor) for minor in range(27)), *((2, minor) for minor in range(5))),
}
"""All releases, without their last numbers, oldest first."""
_PATCHES: Final = 12
"""Upper bound for the number of versions `X.Y.Z` of a release `X.Y`."""

_OF_KERAS_3: Final = (2, 16)
"""The first TensorFlow whose Keras is Keras 3."""
_KERAS_OF_TENSORFLOW: Final = {
    (1, 0): ((2, 0), (2, 4)),
    (2, 0): ((2, 4), (3, 0)),
    _OF_KERAS_3: ((3, 0), (4, 0)),
}
"""From this TensorFlow release on, its Keras behaves like the Keras releases in this range."""
_NUMPY_OF_TENSORFLOW: Final = (((2, 13), (1, 24)), ((2, 18), (2, 0)))
"""TensorFlow before the first of a pair requires a NumPy before the second."""


@dataclass(frozen=True, slots=True)
class Releases:
    """The releases for which a program may be written: the listed ones for each listed library, any for others."""

    admitted: Mapping[str, tuple[tuple[int, int], ...]] = field(default_factory=dict)

    def have(self, behaviour: Behaviour) -> bool | None:
        """Whether all of these releases have a behaviour (True), none (False), or some (None)."""
        since = tuple(int(part) for part in behaviour.since.split("."))
        releases = self._of(behaviour.library)
        if not releases:
            return None
        has = {release >= since for release in releases}
        return has.pop() if len(has) == 1 else None

    def excludes_newest(self, library: str) -> bool:
        """Whether the newest release of a library is excluded."""
        releases = self._of(library)
        return bool(releases) and _MINORS[library][-1] not in releases

    @property
    def tensorflow(self) -> str | None:
        """The TensorFlow release `X.Y`, if there is only one; None otherwise."""
        found = self.admitted.get(TENSORFLOW, ())
        return f"{found[0][0]}.{found[0][1]}" if len(found) == 1 else None

    def _of(self, library: str) -> tuple[tuple[int, int], ...]:
        """The releases of a library, including those that follow from TensorFlow's."""
        found, tensorflow = self.admitted.get(library, ()), self.admitted.get(TENSORFLOW, ())
        if library == KERAS and not found and tensorflow:
            spans = {max(span for span in _KERAS_OF_TENSORFLOW if span <= release) for release in tensorflow}
            bounds = [_KERAS_OF_TENSORFLOW[span] for span in spans]
            return tuple(release for release in _MINORS[KERAS] if any(low <= release < end for low, end in bounds))
        if library == TENSORFLOW and not found and (keras := self.admitted.get(KERAS, ())):
            if all(release < (3, 0) for release in keras):
                return tuple(release for release in _MINORS[TENSORFLOW] if release < _OF_KERAS_3)
        if library == NUMPY and not found:
            for before, numpy in _NUMPY_OF_TENSORFLOW:
                if tensorflow and all(release < before for release in tensorflow):
                    return tuple(release for release in _MINORS[NUMPY] if release < numpy)
        return found


NEWEST: Final = max(
    (name.removeprefix("tensorflow-") for name in CATALOGUE_FILES if name.startswith("tensorflow-")),
    key=lambda release: tuple(map(int, release.split("."))),
)
"""The best-known release of TensorFlow, assumed if the program's release is unknown."""
UNKNOWN_BEFORE: Final = Behaviour(TENSORFLOW, "2.16")
"""For behaviour that is known only for the releases of the catalogue."""
OF_GRAPHS: Final = Behaviour(TENSORFLOW, "2.0")
"""Behaviour of traced functions; earlier releases run most programs in sessions."""
KERAS_LEAVES_CALL: Final = Behaviour(KERAS, "3", "Keras 2 has `call` and `train_step` converted")
SEEDED_LAYERS_HAVE_VARIABLES: Final = Behaviour(KERAS, "3", "in Keras 2 these layers have no variables")
OPTIMIZERS_HAVE_VARIABLES: Final = Behaviour(TENSORFLOW, "2.11", "earlier optimizers take any variables")
"""Optimizers create their variables for the variables passed to them first."""
MODELS_KEEP_SYMBOLS_OUT: Final = Behaviour(
    KERAS, "2.4", "earlier versions of Keras add such a tensor to the graph of the model", assumed=True
)
"""Traced functions may not use tensors of functional models."""
BEFORE_TENSORFLOW_2: Final = Releases(
    {TENSORFLOW: tuple(release for release in _MINORS[TENSORFLOW] if release < (2, 0))}
)
BEFORE_KERAS_3: Final = Releases({KERAS: tuple(release for release in _MINORS[KERAS] if (2, 0) <= release < (3, 0))})
REFUSES_FLOAT_INDEX: Final = Behaviour(
    NUMPY, "1.12", "older releases convert it, and in Python 2 a quotient of integers is an integer"
)
"""An index or slice bound that is a float is refused."""
BEFORE_KERAS_2: Final = Releases({KERAS: tuple(release for release in _MINORS[KERAS] if release < (2, 0))})
_CHOOSES_ELEMENTS: Final = Behaviour(TENSORFLOW, "2.0", "`tf.where` chooses whole rows by a vector", assumed=True)
_TAKES_POSITIONS: Final = Behaviour(
    TENSORFLOW, "2.0", "TensorFlow 1 accepts keywords only, and earlier releases the logits first", assumed=True
)
_LABELS_AND_LOGITS: Final = words(
    "tensorflow.nn.sigmoid_cross_entropy_with_logits tensorflow.nn.softmax_cross_entropy_with_logits "
    "tensorflow.nn.sparse_softmax_cross_entropy_with_logits"
)
_OF_LAYERS: Final = Behaviour(KERAS, "2.0")
"""Arguments that layers accept: their input specifications."""

KERAS_1: Final = words(
    "border_mode subsample dim_ordering nb_filter nb_row nb_col nb_epoch filter_length subsample_length atrous_rate output_dim init "
    "inner_init W_regularizer b_regularizer U_regularizer W_constraint b_constraint consume_less dropout_W dropout_U"
)
"""Parameters of layers before Keras 2, whose other parameters and their order differ, too."""
OF_KERAS_1: Final = KERAS_1 | words("nb_val_samples pool_length samples_per_epoch show_accuracy")
"""Parameters of layers and methods of models that no release since Keras 2 has."""
KERNELS_BY_POSITION: Final = {"keras.layers.Conv2D": 3, "keras.layers.Conv3D": 4}
"""Called with this many positional arguments or more, `keras` itself before 2.4 takes those after the first as the sizes of a kernel."""
OLDER_PARAMETERS: Final = {"keras.layers.": KERAS_1, "keras.optimizers.": frozenset({"lr"})}
"""Parameters of constructors that Keras 3 rejects, by the prefix of the class name."""
OLDER_METHODS: Final = words("fit_generator evaluate_generator predict_generator predict_classes")
"""Methods of models that Keras 3 no longer has."""
BACKEND_OF_KERAS_3: Final = words(
    "backend clear_session epsilon floatx get_uid image_data_format is_float_dtype is_int_dtype is_keras_tensor result_type set_epsilon "
    "set_floatx set_image_data_format standardize_dtype"
)
"""Names of `keras.backend` since Keras 3; `tf.keras.backend` has kept the others."""
_PACKAGES: Final = words("tensorflow tf")
_IN_EVERY_RELEASE: Final = words(
    "abs add add_n argmax argmin batch_to_space broadcast_to cast clip_by_value concat constant convert_to_tensor cumsum divide "
    "einsum equal expand_dims fill gather gather_nd greater greater_equal less less_equal linalg.matmul linalg.matvec "
    "logical_and logical_not logical_or math.add math.add_n math.argmax math.argmin math.cumsum math.divide math.divide_no_nan "
    "math.equal math.exp math.floordiv math.greater math.greater_equal math.less math.less_equal math.log math.maximum "
    "math.minimum math.mod math.multiply math.not_equal math.pow math.reduce_max math.reduce_mean math.reduce_min math.reduce_prod "
    "math.reduce_sum math.scalar_mul math.square math.squared_difference math.sqrt math.subtract math.truediv matmul maximum minimum "
    "multiply nn.bias_add nn.conv1d nn.conv2d nn.conv3d nn.relu nn.sigmoid_cross_entropy_with_logits nn.softmax "
    "nn.softmax_cross_entropy_with_logits nn.sparse_softmax_cross_entropy_with_logits not_equal one_hot ones pad pow range "
    "reduce_max reduce_mean reduce_min reduce_prod reduce_sum repeat reshape reverse scatter_nd slice split sqrt square squeeze stack "
    "strided_slice subtract tensordot tile transpose truediv unstack zeros"
)
"""Functions whose shape and dtype arithmetic has not changed since TensorFlow 1."""


def behaviour_of(operation: str, *, by_position: bool = False) -> Behaviour | None:
    """The release since which an operation rejects its arguments; None if all releases do.

    Operators, and functions that exist in every release, compute the same in all of them. Other functions may have
    had different parameters, or may not have existed.
    """
    package, _, name = operation.partition(".")
    if by_position and f"{TENSORFLOW}.{name}" in _LABELS_AND_LOGITS:
        return _TAKES_POSITIONS
    if package == KERAS:
        return _OF_LAYERS if name.startswith("layers.") else UNKNOWN_BEFORE
    if package in _PACKAGES:
        if name == "where":
            return _CHOOSES_ELEMENTS
        return None if name in _IN_EVERY_RELEASE else OF_GRAPHS
    return None


@cache
def admitted_by(library: str, requirement: str) -> tuple[tuple[int, int], ...]:
    """The releases `X.Y` of a library that a version specifier such as `>=2.3,<2.5` admits, oldest first; () if it is
    not a specifier.

    A specifier without an upper bound admits every later release.
    """
    from packaging.specifiers import InvalidSpecifier, SpecifierSet  # noqa: PLC0415 - most programs ask for no release

    try:
        specifiers = SpecifierSet(requirement)
    except InvalidSpecifier:
        return ()
    return tuple(release for release in _MINORS[library] if _admits(specifiers, release))


def _admits(specifiers: SpecifierSet, release: tuple[int, int]) -> bool:
    from packaging.version import InvalidVersion, Version  # noqa: PLC0415

    candidates = [f"{release[0]}.{release[1]}.{patch}" for patch in range(_PATCHES)]
    for each in specifiers:
        try:
            named = Version(each.version.removesuffix(".*"))
        except InvalidVersion:
            continue
        if (named.major, named.minor) == release:
            candidates.append(str(named))
    return any(specifiers.contains(candidate, prereleases=True) for candidate in candidates)
