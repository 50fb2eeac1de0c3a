"""Inferred types that are written into a signature, as `tf.Tensor` or with sizes."""

from __future__ import annotations

import textwrap
from dataclasses import replace
from pathlib import Path

import pytest
from ide_support import project, shown

from terra_refactor.domain.dim import symbol
from terra_refactor.domain.dtype import BFLOAT16, BOOL, FLOAT32, STRING, UINT8
from terra_refactor.domain.tensor import TensorType
from terra_refactor.ide.annotations import AnnotationStyle
from terra_refactor.ide.code_actions import NewText, NotPossible, OfferKind, code_actions, perform
from terra_refactor.refactor.annotate import annotated, written_type
from terra_refactor.refactor.transforms.context import NotMade
from terra_refactor.syntax.edit import apply_edits
from terra_refactor.syntax.source import source_from_text

BODY = """
    def scale(x, w, rate=0.1, *, names=None):
        return tf.matmul(x, w) * rate

    scale(tf.ones([2, 3]), tf.ones([3, 4]))
    scale(tf.ones([5, 3]), tf.ones([3, 4]))
"""
PLAIN = "import tensorflow as tf\n" + textwrap.dedent(BODY)
SHAPED = "import tensorflow as tf\nfrom jaxtyping import Int32\n" + textwrap.dedent(BODY)


def written(
    folder: Path, text: str, style: AnnotationStyle = AnnotationStyle.AUTO, name: str = "scale"
) -> tuple[str, tuple[str, ...]]:
    """The title of the offer for a function, and the text behind it with what is assumed."""
    session = project(folder, {"m.py": text})
    path = shown(folder, "m.py")
    snapshot = session.snapshot(path)
    line = next(each.def_line for each in snapshot.functions(path) if each.name == name)
    offers = code_actions(snapshot, path, line, line, explicit=True, style=style)
    (offer,) = [each for each in offers if each.kind is OfferKind.REWRITE_TYPES]
    new = perform(snapshot, offer.request)
    assert isinstance(new, NewText)
    assert new.assumptions == offer.assumptions
    return offer.title, (new.text, *new.assumptions)


def test_tensors_are_written_and_nothing_else(tmp_path: Path) -> None:
    title, (text,) = written(tmp_path, PLAIN)
    assert title == "Write types: x: tf.Tensor, w: tf.Tensor → tf.Tensor"
    assert "def scale(x: tf.Tensor, w: tf.Tensor, rate=0.1, *, names=None) -> tf.Tensor:\n" in text
    assert text.startswith("import tensorflow as tf\n\n")


def test_sizes_are_written_where_the_project_uses_jaxtyping(tmp_path: Path) -> None:
    _, (text, assumption) = written(tmp_path, SHAPED)
    assert 'def scale(x: Float32[tf.Tensor, "_ 3"], w: Float32[tf.Tensor, "3 4"], rate=0.1, *, names=None)' in text
    assert ' -> Float32[tf.Tensor, "_ 4"]:\n' in text
    assert "from jaxtyping import Float32\n" in text
    assert "sizes" in assumption


def test_the_setting_wins_over_what_the_project_uses(tmp_path: Path) -> None:
    assert 'x: Float32[tf.Tensor, "_ 3"]' in written(tmp_path, PLAIN, AnnotationStyle.JAXTYPING)[1][0]
    (tmp_path / "other").mkdir()
    assert "x: tf.Tensor, w" in written(tmp_path / "other", SHAPED, AnnotationStyle.TENSOR)[1][0]


def test_what_is_written_is_read_back_as_the_same_types(tmp_path: Path) -> None:
    _, (text, _) = written(tmp_path, SHAPED)
    again = project(tmp_path / "again", {"m.py": text.partition("\n\nscale(")[0]})
    path = shown(tmp_path / "again", "m.py")
    snapshot = again.snapshot(path)
    function = next(each for each in snapshot.functions(path) if each.name == "scale")
    facts = snapshot.facts.functions[function.id]
    assert [str(value) for each in facts.parameters[:2] for value in each.values if hasattr(value, "type")]
    types = [value.type for each in facts.parameters[:2] for value in each.values if hasattr(value, "type")]
    assert types == [TensorType(FLOAT32, (None, 3)), TensorType(FLOAT32, (3, 4))]


def test_names_of_sizes_are_those_of_the_source(tmp_path: Path) -> None:
    text = """
        import jaxtyping as jt
        import tensorflow as tf

        @tf.function(input_signature=[tf.TensorSpec([None, 8], tf.float32)])
        def flat(x):
            batch = tf.shape(x)[0]
            return tf.reshape(x, (batch, 2, 4))
    """
    _, (new, *_) = written(tmp_path, text, name="flat")
    assert 'def flat(x: jt.Float32[tf.Tensor, "batch 8"])' in new
    assert "import jaxtyping as jt\nimport tensorflow as tf\n" in new


def test_what_has_its_types_is_not_offered(tmp_path: Path) -> None:
    session = project(
        tmp_path, {"m.py": PLAIN.replace("x, w, rate", "x: object, w: object, rate").replace("):", ") -> object:")}
    )
    path = shown(tmp_path, "m.py")
    snapshot = session.snapshot(path)
    assert not [
        each for each in code_actions(snapshot, path, 3, 3, explicit=True) if each.kind is OfferKind.REWRITE_TYPES
    ]
    assert not [
        each for each in code_actions(snapshot, path, 4, 4, explicit=True) if each.kind is OfferKind.REWRITE_TYPES
    ]


def test_a_function_that_moved_is_not_changed(tmp_path: Path) -> None:
    session = project(tmp_path, {"m.py": PLAIN})
    path = shown(tmp_path, "m.py")
    snapshot = session.snapshot(path)
    offers = code_actions(snapshot, path, 3, 3, explicit=True)
    (offer,) = [each for each in offers if each.kind is OfferKind.REWRITE_TYPES]
    moved = project(tmp_path / "b", {"m.py": "\n" + PLAIN})
    request = replace(offer.request, path=shown(tmp_path / "b", "m.py"))
    assert isinstance(perform(moved.snapshot(request.path), request), NotPossible)


@pytest.mark.parametrize(
    ("tensor", "text"),
    [
        (TensorType(FLOAT32, (2, 3)), ("Float32", "2 3")),
        (TensorType(FLOAT32, ()), ("Float32", "")),
        (TensorType(BFLOAT16, None), ("BFloat16", "...")),
        (TensorType(UINT8, (None, symbol("height"))), ("UInt8", "_ height")),
        (TensorType(BOOL, (symbol("lambda"),)), ("Bool", "_")),
        (TensorType(None, (2,)), ("Shaped", "2")),
        (TensorType(STRING, (2,)), None),
    ],
)
def test_types_in_the_words_of_jaxtyping(tensor: TensorType, text: tuple[str, str] | None) -> None:
    assert written_type(tensor) == text


@pytest.mark.parametrize(
    ("head", "new"),
    [
        ("def f(x): return x", "def f(x: tf.Tensor) -> tf.Tensor: return x"),
        ("def f(x=(1, (2)), /): return x", "def f(x: tf.Tensor=(1, (2)), /) -> tf.Tensor: return x"),
        (
            "def f(\n    x,  # a ) here\n) : return x",
            "def f(\n    x: tf.Tensor,  # a ) here\n) -> tf.Tensor : return x",
        ),
        ("def f(*, x): return x", "def f(*, x: tf.Tensor) -> tf.Tensor: return x"),
        ("def f(x: int): return x", "def f(x: int) -> tf.Tensor: return x"),
        ("def f(x) -> int: return x", "def f(x: tf.Tensor) -> int: return x"),
    ],
)
def test_where_types_are_written(head: str, new: str) -> None:
    text = f"import tensorflow as tf\n{head}\n"
    tensor = TensorType(FLOAT32, (2,))
    edits = annotated(source_from_text(text, "m.py"), 2, {"x": tensor}, tensor, with_shapes=False)
    assert not isinstance(edits, NotMade)
    assert apply_edits(text, edits) == f"import tensorflow as tf\n{new}\n"


def test_a_name_that_is_taken_gets_another() -> None:
    text = "import tensorflow as tf\nFloat32 = 3\n\ndef f(x):\n    return x\n"
    edits = annotated(source_from_text(text, "m.py"), 4, {"x": TensorType(FLOAT32, (2,))}, None, with_shapes=True)
    assert not isinstance(edits, NotMade)
    new = apply_edits(text, edits)
    assert "from jaxtyping import Float32 as Float32_2\n" in new
    assert 'def f(x: Float32_2[tf.Tensor, "2"]):' in new


def test_what_is_only_used_like_a_tensor_is_not_written(tmp_path: Path) -> None:
    text = """\
        import tensorflow as tf

        def zeros(variables, name):
            return [tf.zeros_like(each) for each in variables[name]]

        def fit(variables, x):
            for name in ("first", "second"):
                zeros(variables, name)
            return tf.matmul(x, x)

        fit(unknown, tf.ones([2, 2]))
        """
    session = project(tmp_path, {"m.py": textwrap.dedent(text)})
    path = shown(tmp_path, "m.py")
    snapshot = session.snapshot(path)
    titles = [
        offer.title
        for line in (3, 6)
        for offer in code_actions(snapshot, path, line, line, explicit=True)
        if offer.kind is OfferKind.REWRITE_TYPES
    ]
    assert titles == ["Write types: x: tf.Tensor → tf.Tensor"]
