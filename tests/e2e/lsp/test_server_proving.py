"""A change is proven by running the program with and without it, for a client that agrees to that."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from lsprotocol import types

pytest.importorskip("pygls")

from conversation import Conversation, applied, converse, modern
from small_project import MAIN, SHAPES


def bare(folder: Path) -> str:
    """A new interpreter without TensorFlow."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder.parent / "bare")], check=True)
    return str(folder.parent / "bare" / "bin" / "python")


@pytest.mark.slow
@pytest.mark.tensorflow
def test_a_change_is_made_if_running_both_versions_shows_the_same(folder: Path) -> None:
    without = bare(folder)

    async def scenario(talk: Conversation) -> None:
        shapes = talk.open("shapes.py")
        how = {"python": [without, sys.executable], "run": "python main.py"}
        proof = await talk.command("terra-refactor.prove", shapes, "scale", 3, how)
        assert proof is not None, talk.shown
        assert (proof["status"], proof["applied"]) == ("same", True), proof["sentence"]
        assert "| traces | – | 1 in" in proof["page"]
        (edit,) = talk.applied
        assert "@tf.function\ndef scale" in applied(SHAPES, edit.edit.document_changes[0].edits)
        talk.change(shapes, SHAPES.replace("x, w)", "x, w )", 1))
        assert await talk.command("terra-refactor.prove", shapes, "scale", 3, {}) is None
        assert "save these files first, because the versions on disk are run" in talk.shown[-1]
        assert len(talk.applied) == 1

    converse(folder, modern(), scenario, options={"asksReason": True}, patience=120)


REGISTERED = """\
import tensorflow as tf


@tf.keras.utils.register_keras_serializable(package="own")
def scaled(x: tf.Tensor) -> tf.Tensor:
    for _ in range(20):
        x = tf.nn.relu(x * 0.5 + tf.roll(x, 1, axis=0))
    return x


for _ in range(10):
    scaled(tf.ones([4, 4]))
"""


@pytest.mark.slow
@pytest.mark.tensorflow
def test_what_a_proven_change_assumes_is_confirmed_after_the_comparison(folder: Path) -> None:
    (folder / "registered.py").write_text(REGISTERED)

    async def scenario(talk: Conversation) -> None:
        proof = await talk.command(
            "terra-refactor.prove", talk.open("registered.py"), "", 6, {"run": "python registered.py"}
        )
        assert proof is not None, talk.shown
        assert (proof["status"], proof["applied"], proof["review"]) == ("same", False, True), proof["sentence"]
        assert talk.applied == []
        assert await talk.command(
            "terra-refactor.applyFunction", talk.uri("registered.py"), proof["qualname"], proof["line"]
        )
        (edit,) = talk.applied
        (annotation,) = edit.edit.change_annotations.values()
        assert annotation.needs_confirmation and "register_keras_serializable" in annotation.description

    converse(folder, modern(), scenario, options={"asksReason": True}, patience=120)


@pytest.mark.parametrize("asks", [True, False])
def test_an_interpreter_without_tensorflow_is_named(folder: Path, asks: bool) -> None:
    python = bare(folder)

    async def scenario(talk: Conversation) -> None:
        proof = await talk.command("terra-refactor.prove", talk.open("shapes.py"), "scale", 3, {"python": python})
        said = f"nothing was run: {python} cannot import TensorFlow"
        if asks:  # that client lets the user choose another
            assert proof["status"] == "no TensorFlow"
            assert proof["sentence"].startswith(said)
            assert talk.shown == []
        else:
            assert proof is None
            assert said in talk.shown[-1]
        assert talk.applied == []

    async def agreeing(talk: Conversation) -> None:
        @talk.client.feature(types.WINDOW_SHOW_MESSAGE_REQUEST)
        def agree(params: types.ShowMessageRequestParams) -> types.MessageActionItem:
            return params.actions[0]

        await scenario(talk)

    converse(folder, modern(), agreeing, options={"asksReason": asks})


def test_nothing_is_run_for_a_client_that_does_not_say_yes(folder: Path) -> None:
    (folder / "main.py").write_text(f"{MAIN}open('ran', 'w')\n")

    async def scenario(talk: Conversation) -> None:
        assert await talk.command("terra-refactor.prove", talk.open("shapes.py"), "scale", 3, {}) is None

    converse(folder, modern(), scenario)
    assert not (folder / "ran").exists()
