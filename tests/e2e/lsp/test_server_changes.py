"""Code actions and commands that change code, through a real client: with confirmation where they assume something."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from lsprotocol import types

pytest.importorskip("pygls")

from conversation import Conversation, applied, converse, modern, poor
from small_project import LOOP, MAIN, SHAPES, SPECULATIVE, wrong


def test_a_quick_fix_is_resolved_when_it_is_chosen(folder: Path) -> None:
    async def scenario(talk: Conversation) -> None:
        shapes = talk.open("shapes.py")
        found = await talk.actions(shapes, 2)
        (fix,) = [action for action in found if action.is_preferred]
        assert fix.kind == types.CodeActionKind.QuickFix
        assert [item.code for item in fix.diagnostics] == ["TR506"]
        assert fix.edit is None
        resolved = await talk.client.code_action_resolve_async(fix)
        (change,) = resolved.edit.document_changes
        assert applied(SHAPES, change.edits) == SHAPES.replace("def scale", "@tf.function\ndef scale")
        assert resolved.edit.change_annotations is None
        talk.change(shapes, "# a line\n" + SHAPES)
        with pytest.raises(Exception, match="has changed since"):
            await talk.client.code_action_resolve_async(fix)

    converse(folder, modern(), scenario)


def test_a_speculative_change_asks_for_confirmation(folder: Path) -> None:
    async def scenario(talk: Conversation) -> None:
        guess = talk.open("guess.py")
        (rewrite,) = await talk.actions(guess, 3, only=["refactor.rewrite"])
        resolved = await talk.client.code_action_resolve_async(rewrite)
        (annotation,) = resolved.edit.change_annotations.values()
        assert annotation.needs_confirmation
        assert "mystery.scale" in annotation.description
        (change,) = resolved.edit.document_changes
        assert all(edit.annotation_id in resolved.edit.change_annotations for edit in change.edits)
        assert await talk.actions(guess, 3, only=["source.terraRefactor"]) == []

    converse(folder, modern(), scenario)


def test_a_poor_client_gets_plain_edits_at_once(folder: Path) -> None:
    async def scenario(talk: Conversation) -> None:
        shapes = talk.open("shapes.py")
        (fix,) = [action for action in await talk.actions(shapes, 2) if action.is_preferred]
        assert fix.edit.document_changes is None
        assert applied(SHAPES, fix.edit.changes[shapes]).count("@tf.function") == 1
        (everything,) = await talk.actions(shapes, 0, only=["source.terraRefactor"])
        assert applied(SHAPES, everything.edit.changes[shapes]).count("@tf.function") == 1
        assert not [action for action in await talk.actions(shapes, 0) if action.disabled]

    converse(folder, poor(), scenario)


def test_what_is_not_possible_says_why(folder: Path) -> None:
    async def scenario(talk: Conversation) -> None:
        text = "import tensorflow as tf\n\ndef one(x):\n    return tf.add(x, 1.0)\n\none(tf.ones([3]))\n"
        uri = talk.open("one.py", text)
        (rewrite,) = [action for action in await talk.actions(uri, 3) if action.disabled]
        assert "1 tensor operation" in rewrite.disabled.reason
        assert not [action for action in await talk.actions(uri, 3, invoked=False) if action.disabled]

    converse(folder, modern(), scenario)


def test_suppression_with_a_reason(folder: Path) -> None:
    async def scenario(talk: Conversation) -> None:
        main = talk.open("main.py", wrong(MAIN))
        shapes = talk.open("shapes.py")
        (ignore,) = [action for action in await talk.actions(shapes, 3) if "Ignore TR401" in action.title]
        request = ignore.data["request"]
        assert await talk.command("terra-refactor.suppress", shapes, request, "known")
        text = applied(SHAPES, talk.applied[0].edit.document_changes[0].edits)
        assert text.splitlines()[3].endswith("# terra: ignore[TR401] known")
        talk.change(shapes, text)
        assert "TR401" not in await talk.rules(shapes)
        assert main

    converse(folder, modern(), scenario)


def test_all_safe_changes_of_the_workspace(folder: Path) -> None:
    cell = {"cell_type": "code", "metadata": {}, "source": SHAPES + LOOP}
    (folder / "closed.ipynb").write_text(json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4}))
    (folder / "main.py").write_text(MAIN + LOOP)  # what runs once gets no graph

    async def scenario(talk: Conversation) -> None:
        assert await talk.command("terra-refactor.applyAllSafe") == 1
        (request,) = talk.applied
        (change,) = request.edit.document_changes
        assert change.text_document.uri == talk.uri("shapes.py")
        assert change.text_document.version is None
        assert any("closed.ipynb" in message for message in talk.shown)
        assert [annotation.needs_confirmation for annotation in request.edit.change_annotations.values()] == [True]
        assert any(getattr(value, "kind", None) == "begin" or value.get("kind") == "begin" for value in talk.progress)

    converse(folder, modern(), scenario)


def test_safe_changes_that_were_chosen_are_made_at_once(folder: Path) -> None:
    (folder / "main.py").write_text(MAIN + LOOP)
    (folder / "second.py").write_text(SHAPES + LOOP)

    async def scenario(talk: Conversation) -> None:
        proposals = await talk.command("terra-refactor.proposals")
        given = [each if isinstance(each, dict) else vars(each) for each in proposals]
        safe = [each for each in given if each["level"] == "safe"]
        assert sorted(each["path"].rpartition("/")[2] for each in safe) == ["second.py", "shapes.py"]
        (chosen,) = [each for each in safe if each["path"].endswith("second.py")]
        assert await talk.command("terra-refactor.applyAllSafe", chosen) == 1
        (request,) = talk.applied
        (change,) = request.edit.document_changes
        assert change.text_document.uri == talk.uri("second.py")
        assert not request.edit.change_annotations
        assert await talk.command("terra-refactor.applyAllSafe", {**chosen, "functionLine": 99}) == 0

    converse(folder, modern(), scenario)


def test_the_changes_of_the_workspace_are_listed_with_the_surest_first(folder: Path) -> None:
    (folder / "maybe.py").write_text(SPECULATIVE)

    async def scenario(talk: Conversation) -> None:
        found = await talk.command("terra-refactor.proposals")
        first, *others = found
        assert (first["qualname"], first["level"], first["line"]) == ("scale", "safe", 3)
        (guess,) = [each for each in others if each["path"].endswith("maybe.py")]
        assert guess["assumptions"]
        assert {each["level"] for each in others} == {"speculative"}

    converse(folder, modern(), scenario)


TRAINING = """\
import tensorflow as tf

model = tf.keras.Sequential([tf.keras.layers.Dense(8, activation="relu"), tf.keras.layers.Dense(1)])
optimizer = tf.keras.optimizers.Adam()

def train(steps):
    for step in range(steps):
        x = tf.random.normal([32, 4])
        y = tf.random.normal([32, 1])
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(model(x, training=True) - y))
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
        print(step, float(loss))

train(1000)
"""


@pytest.mark.parametrize("capabilities", [modern, poor])
def test_the_lens_of_a_loop_makes_a_function_of_its_step(
    folder: Path, capabilities: Callable[[], types.ClientCapabilities]
) -> None:
    async def scenario(talk: Conversation) -> None:
        document = types.TextDocumentIdentifier(talk.open("train.py", TRAINING))

        async def lenses() -> list[types.CodeLens]:
            return list(await talk.client.text_document_code_lens_async(types.CodeLensParams(document)) or ())

        found = await lenses()
        if capabilities is modern:
            assert found == []  # not known yet, and nothing else is proposed instead
            for _ in range(100):
                refreshed = talk.refreshed
                found = await lenses()
                if found:
                    break
                await talk.until(lambda before=refreshed: talk.refreshed > before)
        (lens,) = found
        assert lens.command is not None
        assert (lens.range.start.line, lens.command.title) == (5, "Extract as @tf.function: train_step")
        listed = await talk.command("terra-refactor.proposals")
        given = [each if isinstance(each, dict) else vars(each) for each in listed]
        (proposal,) = [each for each in given if each["qualname"] == "train"]
        assert (proposal["title"], proposal["isExtraction"]) == (lens.command.title, True)
        await talk.command(lens.command.command, *lens.command.arguments or ())
        (request,) = talk.applied
        changes = request.edit.document_changes
        edits = request.edit.changes[document.uri] if changes is None else changes[0].edits
        assert "    @tf.function\n    def train_step(" in applied(TRAINING, edits)

    converse(folder, capabilities(), scenario)


def test_inferred_types_are_written(folder: Path) -> None:
    async def scenario(talk: Conversation) -> None:
        uri = talk.open("shapes.py")
        (action,) = await talk.actions(uri, 2, only=["refactor.rewrite.writeTypes"])
        assert action.title == "Write types: x: tf.Tensor, w: tf.Tensor → tf.Tensor"
        resolved = await talk.client.code_action_resolve_async(action)
        text = applied(SHAPES, resolved.edit.document_changes[0].edits)
        assert "def scale(x: tf.Tensor, w: tf.Tensor) -> tf.Tensor:" in text
        assert not await talk.actions(uri, 2, only=["refactor.rewrite.writeTypes"], invoked=False)

    converse(folder, modern(), scenario)


def test_the_setting_of_how_types_are_written(folder: Path) -> None:
    async def scenario(talk: Conversation) -> None:
        uri = talk.open("shapes.py")
        await talk.pull(uri)
        (action,) = await talk.actions(uri, 2, only=["refactor.rewrite.writeTypes"])
        resolved = await talk.client.code_action_resolve_async(action)
        text = applied(SHAPES, resolved.edit.document_changes[0].edits)
        assert 'x: Float32[tf.Tensor, "2 3"]' in text
        assert "from jaxtyping import Float32" in text
        assert [each.needs_confirmation for each in resolved.edit.change_annotations.values()] == [True]
        whole = types.InlayHintParams(
            types.TextDocumentIdentifier(uri), types.Range(types.Position(0, 0), types.Position(9, 0))
        )
        hints = await talk.client.text_document_inlay_hint_async(whole)
        (hint,) = [each for each in hints or () if each.data["name"] == "x"]
        assert not hint.text_edits
        hint = await talk.client.inlay_hint_resolve_async(hint)
        text = applied(SHAPES, hint.text_edits)
        assert 'def scale(x: Float32[tf.Tensor, "2 3"], w):' in text
        assert "from jaxtyping import Float32" in text

    settings = {None: {"annotationStyle": "jaxtyping"}}
    converse(folder, modern(), scenario, {**settings, folder.as_uri(): settings[None]})


LOUD = """\
import tensorflow as tf


def loud(x: tf.Tensor) -> tf.Tensor:
    print("values", x)
    for _ in range(20):
        x = tf.nn.relu(x * 0.5 + tf.roll(x, 1, axis=0))
    return x


for _ in range(1000):
    loud(tf.ones([4, 4]))
"""


@pytest.mark.parametrize(
    ("options", "offered"),
    [
        (
            {"asksReason": True, "coExecution": False},
            "Add terra-refactor to the environment of the program, to co-execute loud",
        ),
        ({"asksReason": True}, "Co-execute: loud"),
        ({"coExecution": False}, None),
    ],
)
def test_a_program_without_the_package_is_offered_to_have_it(
    folder: Path, options: dict[str, bool], offered: str | None
) -> None:
    (folder / "loud.py").write_text(LOUD)

    async def scenario(talk: Conversation) -> None:
        place = types.Range(types.Position(3, 0), types.Position(3, 0))
        context = types.CodeActionContext([], trigger_kind=types.CodeActionTriggerKind.Invoked)
        document = types.TextDocumentIdentifier(talk.open("loud.py"))
        found = await talk.client.text_document_code_action_async(types.CodeActionParams(document, place, context))
        possible = [each for each in found or () if getattr(each, "disabled", None) is None]
        titles = [each.title for each in possible if "co-execute" in each.title.lower()]
        assert titles[:1] == ([] if offered is None else [offered])

    converse(folder, modern(), scenario, options=options)
