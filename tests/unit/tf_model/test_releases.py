"""Which releases have a behaviour, as far as a program's requirements say which they are."""

from __future__ import annotations

import pytest

from terra_refactor.tf_model.releases import KERAS, NUMPY, TENSORFLOW, Behaviour, Releases, admitted_by, behaviour_of

SINCE_2_4 = Behaviour(TENSORFLOW, "2.4")
KERAS_3 = Behaviour(KERAS, "3", "another thing")


def releases(**asked: str) -> Releases:
    return Releases({library: admitted_by(library, specifier) for library, specifier in asked.items()})


@pytest.mark.parametrize(
    ("specifier", "has"),
    [
        ("==2.3.1", False),
        ("==2.3", False),
        ("<2.4", False),
        ("~=2.4.0", True),
        (">=2.4", True),
        ("==2.*", None),
        ("==2.4.0rc1", True),
        ("==99", None),
        ("nonsense", None),
    ],
)
def test_whether_all_none_or_some_have_it(specifier: str, has: bool | None) -> None:
    assert releases(tensorflow=specifier).have(SINCE_2_4) is has


def test_nothing_that_is_asked_for_says_nothing() -> None:
    assert Releases().have(SINCE_2_4) is None
    assert not Releases().excludes_newest(TENSORFLOW)


@pytest.mark.parametrize(
    ("asked", "has"),
    [
        ({"tensorflow": "==2.15"}, False),
        ({"tensorflow": "==2.16.1"}, True),
        ({"tensorflow": ">=2.15"}, None),
        ({"keras": "<3"}, False),
        ({"tensorflow": "==2.16.1", "keras": "==2.15"}, False),
    ],
)
def test_keras_follows_from_tensorflow_unless_it_is_asked_for(asked: dict[str, str], has: bool | None) -> None:
    assert releases(**asked).have(KERAS_3) is has


def test_an_older_keras_excludes_newer_releases_of_tensorflow() -> None:
    assert releases(keras="==2.4.3").excludes_newest(TENSORFLOW)
    assert releases(keras=">=2").excludes_newest(TENSORFLOW) is False


def test_numpy_follows_from_what_tensorflow_requires() -> None:
    assert releases(tensorflow="==2.4").have(Behaviour(NUMPY, "1.24")) is False
    assert releases(tensorflow="==2.16.1").have(Behaviour(NUMPY, "2.0")) is False
    assert releases(tensorflow="==2.20").have(Behaviour(NUMPY, "2.0")) is None


def test_the_one_release_that_is_asked_for() -> None:
    assert releases(tensorflow="==2.3.1").tensorflow == "2.3"
    assert releases(tensorflow=">=2.3,<2.5").tensorflow is None


@pytest.mark.parametrize("operation", ["@", "+", "tf.linalg.matmul", "tensorflow.reshape", "numpy.concatenate"])
def test_arithmetic_is_that_of_every_release(operation: str) -> None:
    assert behaviour_of(operation) is None


@pytest.mark.parametrize("operation", ["tf.image.resize", "tensorflow.where", "keras.losses.Huber"])
def test_other_functions_are_known_since_a_release(operation: str) -> None:
    found = behaviour_of(operation)
    assert found is not None
    assert releases(tensorflow="==1.15").have(found) is False
