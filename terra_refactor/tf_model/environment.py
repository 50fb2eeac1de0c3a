"""Library constants that depend on the machine or the releases with which a program runs.

Computes: the Python type of such a constant, or that of its parts, and whether it depends on a release. Needs:
canonical names. Gives: `constant_of`, `known_truth`, `for_release`. Ignores: the machine and the releases with which
the analysis itself runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

from terra_refactor.domain.value import (
    UNKNOWN_BOOL,
    UNKNOWN_INT,
    UNKNOWN_STR,
    Constant,
    TupleValue,
    UnionValue,
    Value,
    of_release,
)
from terra_refactor.tf_model.name_table import words

_NUMBER: Final = of_release(UNKNOWN_INT)
_TEXT: Final = of_release(UNKNOWN_STR)
_FLAG: Final = of_release(UNKNOWN_BOOL)

_CONSTANTS: Final[Mapping[str, Value]] = {
    **dict.fromkeys(
        words(
            "os.name os.sep os.pathsep os.linesep os.curdir os.pardir os.extsep os.devnull os.defpath "
            "os.path.sep os.path.pathsep posixpath.sep sys.platform sys.byteorder sys.executable sys.prefix "
            "sys.base_prefix sys.exec_prefix sys.base_exec_prefix sys.abiflags"
        ),
        UNKNOWN_STR,
    ),
    **dict.fromkeys(words("sys.maxsize sys.maxunicode sys.maxint"), UNKNOWN_INT),
    **dict.fromkeys(words("sys.hexversion sys.api_version"), _NUMBER),
    **dict.fromkeys(
        words(
            "sys.version numpy.version.version numpy.version.full_version torch.version.cuda tensorflow.version.VERSION "
            "tensorflow.version.GIT_VERSION tensorflow.version.COMPILER_VERSION tensorflow.__git_version__ "
            "tensorflow.__compiler_version__"
        ),
        _TEXT,
    ),
    **dict.fromkeys(words("six.PY2 six.PY3 six.PY34"), _FLAG),
    "sys.version_info": TupleValue(
        (_NUMBER, _NUMBER, _NUMBER, _TEXT, _NUMBER),
        "sys.version_info",
        ("major", "minor", "micro", "releaselevel", "serial"),
    ),
}
"""By canonical name."""

_FORMER: Final = {
    "tensorflow.VERSION": "tensorflow.version.VERSION",
    "tensorflow.GIT_VERSION": "tensorflow.version.GIT_VERSION",
    "tensorflow.COMPILER_VERSION": "tensorflow.version.COMPILER_VERSION",
}


_OF_TENSORFLOW: Final = words("tensorflow.__version__ tensorflow.version.VERSION")
_PATCHES: Final = 6
"""Maximum number of versions `X.Y.Z` of a release `X.Y` of TensorFlow."""

_release: ContextVar[str | None] = ContextVar("release", default=None)


@contextmanager
def for_release(version: str | None) -> Iterator[None]:
    """Sets the release of TensorFlow (`X.Y`) of the program, as given by the user: its version is then known except for
    the last number.
    """
    token = _release.set(version)
    try:
        yield
    finally:
        _release.reset(token)


def knows_release() -> bool:
    """Whether the user has given the program's TensorFlow release."""
    return _release.get() is not None


def constant_of(name: str) -> Value | None:
    """The known value of the constant of that canonical name; None for other names."""
    name = name.replace("tensorflow.compat.v1.", "tensorflow.")
    name = _FORMER.get(name, name)
    release = _release.get()
    if release is not None and name in _OF_TENSORFLOW:
        return UnionValue(tuple(Constant(f"{release}.{patch}") for patch in range(_PATCHES)))
    if name.endswith(".__version__"):
        # a convention of all packages
        return _TEXT
    return _CONSTANTS.get(name)


TYPE_CHECKING: Final = words("typing.TYPE_CHECKING typing_extensions.TYPE_CHECKING")
"""Constants that are True for type checkers, and False wherever the program runs."""


def known_truth(name: str) -> bool | None:
    """The truth of a constant without a known value; None if unknown."""
    return False if name in TYPE_CHECKING else None
