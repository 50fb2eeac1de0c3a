"""A training step inline in a loop, as an editor offers it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from ide_support import project, shown

from terra_refactor.classify.decision import Action
from terra_refactor.config import Config
from terra_refactor.ide.code_actions import (
    NewText,
    NotPossible,
    OfferKind,
    Request,
    Task,
    best_change,
    code_actions,
    perform,
)
from terra_refactor.ide.code_lens import code_lenses
from terra_refactor.ide.diagnostics import diagnostics
from terra_refactor.ide.hover import hover
from terra_refactor.ide.proving import ProofResult, change_around, prove
from terra_refactor.ide.regions import find_regions, shown_regions
from terra_refactor.ide.session import Session, StaleError
from terra_refactor.ide.whole_project import proposals, safe_changes
from terra_refactor.rules.registry import all_rules
from terra_refactor.syntax.source import source_from_text
from terra_refactor.workspace.workspace import Options, analyze, fix


def test_a_step_is_offered_as_a_function_where_somebody_asks(tmp_path: Path) -> None:
    samples = all_rules()["TR507"].samples
    session = project(tmp_path, {"m.py": samples.bad})
    path = shown(tmp_path, "m.py")
    snapshot = session.snapshot(path)
    line = next(number for number, text in enumerate(samples.bad.splitlines(), 1) if "TR507" in text)
    assert not [offer for offer in code_actions(snapshot, path, line, line) if offer.kind is OfferKind.EXTRACT]
    assert not [offer for offer in code_actions(snapshot, path, 1, 1, explicit=True) if offer.kind is OfferKind.EXTRACT]
    (offer,) = [
        offer for offer in code_actions(snapshot, path, line, line, explicit=True) if offer.kind is OfferKind.EXTRACT
    ]
    assert (offer.title, offer.disabled) == ("Extract as @tf.function: train_step (lines 8 to 10)", None)
    made = perform(snapshot, offer.request)
    assert isinstance(made, NewText)
    assert made.text.replace("  # TR507", "") == samples.good
    gone = Request(Task.EXTRACT, path, qualname="other", line=line)
    assert isinstance(perform(snapshot, gone), NotPossible)


CO_EXECUTED = """\
import numpy as np
import tensorflow as tf

model = tf.keras.Sequential([tf.keras.layers.Dense(8), tf.keras.layers.Dense(1)])
optimizer = tf.keras.optimizers.Adam()
history = []

for step in range(600):
    inputs = tf.random.normal([32, 4])
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(model(inputs, training=True)))
        if float(loss) > 10.0:
            loss = loss * 0.5
            history.append(float(loss))
    gradients = tape.gradient(loss, model.trainable_variables)
    if np.isnan(gradients[0].numpy()).any():
        history.append(-1.0)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
"""


def test_a_step_that_cannot_be_a_graph_is_offered_to_the_shim(tmp_path: Path) -> None:
    session = project(tmp_path, {"m.py": CO_EXECUTED})
    path = shown(tmp_path, "m.py")
    snapshot = session.snapshot(path)
    find_regions(snapshot)
    (lens,) = code_lenses(snapshot, path)
    assert (lens.title, lens.applies) == ("Extract and co-execute: train_step", True)
    assert code_lenses(snapshot, path, co_execution=False) == ()
    (offer,) = [
        each
        for each in code_actions(snapshot, path, 10, 10, explicit=True)
        if each.kind is OfferKind.REWRITE_CO_EXECUTE
    ]
    assert offer.title.startswith("Extract and co-execute: train_step (lines ")
    assert best_change(snapshot, path, lens.qualname, lens.span.line) == offer.request
    made = perform(snapshot, offer.request)
    assert isinstance(made, NewText)
    assert "@co_execute\ndef train_step(" in made.text and "import co_execute" in made.text
    assert [each.title for each in proposals(session, lambda: False, lambda *_: None)] == [lens.title]
    (disabled,) = [
        each
        for each in code_actions(snapshot, path, 10, 10, explicit=True, co_execution=False)
        if each.kind is OfferKind.REWRITE_CO_EXECUTE
    ]
    assert disabled.disabled is not None


CO_EXECUTED_IN_A_FUNCTION = """\
import tensorflow as tf

w = tf.Variable(tf.ones([8, 8]))
data = tf.data.Dataset.from_tensor_slices((tf.ones([64, 8]), tf.ones([64, 8]))).batch(8)


def train(epochs):
    for epoch in range(epochs):
        for x, y in data:
            with tf.GradientTape() as tape:
                h = x
                for _ in range(4):
                    h = tf.tanh(h @ w)
                loss = tf.reduce_mean((h - y) ** 2)
                if loss.numpy() > 0.5:
                    loss = loss * 2.0
            grad = tape.gradient(loss, w)
            w.assign_sub(0.1 * grad)


if __name__ == "__main__":
    train(20)
"""


@pytest.mark.parametrize("creates", [False, True])
def test_a_step_of_a_function_that_cannot_be_a_graph_is_offered_to_the_shim(tmp_path: Path, creates: bool) -> None:
    text = CO_EXECUTED_IN_A_FUNCTION
    if creates:
        text = text.replace("        for x, y", "        w = tf.Variable(tf.ones([8, 8]))\n        for x, y")
    session = project(tmp_path, {"m.py": text})
    path = shown(tmp_path, "m.py")
    snapshot = session.snapshot(path)
    assert code_lenses(snapshot, path) == ()  # the regions are not known yet
    find_regions(snapshot)
    (lens,) = code_lenses(snapshot, path)
    assert (lens.title, lens.qualname, lens.span.line) == ("Extract and co-execute: train_step", "train", 7)
    assert code_lenses(snapshot, path, co_execution=False) == ()
    (offer,) = [
        each
        for each in code_actions(snapshot, path, 13, 13, explicit=True)
        if each.kind is OfferKind.REWRITE_CO_EXECUTE
    ]
    assert best_change(snapshot, path, lens.qualname, lens.span.line) == offer.request
    made = perform(snapshot, offer.request)
    assert isinstance(made, NewText)
    assert "    @co_execute\n    def train_step(" in made.text  # beside the loop: the program calls `train` once
    (proposal,) = proposals(session, lambda: False, lambda *_: None)
    assert (proposal.title, proposal.qualname) == (lens.title, "train")
    card = hover(snapshot, path, 7, 5)
    assert card is not None
    assert f"Lines {10 + creates} to {18 + creates} can run under the shim" in card.text and lens.title in card.text


def test_what_stands_in_the_way_is_told(tmp_path: Path) -> None:
    text = all_rules()["TR507"].samples.bad.replace(
        "  # TR507", "\n            first = weights[0]\n            print(first)"
    )
    session = project(tmp_path, {"m.py": text})
    path = shown(tmp_path, "m.py")
    offers = code_actions(session.snapshot(path), path, 8, 8, explicit=True)
    (offer,) = [offer for offer in offers if offer.kind is OfferKind.EXTRACT]
    assert offer.disabled is not None
    assert "print" in offer.disabled


TRAINING = """\
import numpy as np
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
        if step % 100 == 0:
            print(step, float(loss))

train(1000)
"""


def test_one_step_has_one_proposal(tmp_path: Path) -> None:
    session = project(tmp_path, {"m.py": TRAINING})
    path = shown(tmp_path, "m.py")
    snapshot = session.snapshot(path)
    (decision,) = snapshot.decisions[path]
    assert decision.action is Action.CO_EXECUTE
    for line in (7, 12):  # the `def`, and a line of the step
        offers = [offer for offer in code_actions(snapshot, path, line, line, explicit=True) if not offer.disabled]
        assert [offer.kind for offer in offers] == [OfferKind.EXTRACT, OfferKind.REFACTOR_ALL]
    # the other lines of the loop are no step: nothing is proposed twice there either
    kinds = {offer.kind for offer in code_actions(snapshot, path, 16, 16, explicit=True) if not offer.disabled}
    assert OfferKind.REWRITE_CO_EXECUTE not in kinds


def test_the_lens_and_the_list_have_the_same_proposal(tmp_path: Path) -> None:
    session = project(tmp_path, {"m.py": TRAINING})
    path = shown(tmp_path, "m.py")
    snapshot = session.snapshot(path)
    undecided = shown_regions(snapshot, path)
    assert (undecided.undecided, undecided.are_final) == ({"train"}, False)
    assert code_lenses(snapshot, path) == ()  # nothing that the next answer would take back
    assert not [offer for offer in code_actions(snapshot, path, 7, 7) if offer.kind is OfferKind.REWRITE_CO_EXECUTE]
    find_regions(snapshot)
    (lens,) = code_lenses(snapshot, path)
    (proposal,) = proposals(session, lambda: False, lambda *_: None)
    assert lens.title == "Extract as @tf.function: train_step"
    assert (proposal.title, proposal.qualname, proposal.line) == (lens.title, lens.qualname, lens.span.line)
    card = hover(snapshot, path, 7, 6)
    assert card is not None
    assert "· Extract as @tf.function: train_step" in card.text
    assert "Co-execute" not in card.text
    made = perform(snapshot, best_change(snapshot, path, lens.qualname, lens.span.line))
    assert isinstance(made, NewText)
    assert "@tf.function" in made.text
    assert "def train_step(" in made.text


def test_an_edit_elsewhere_keeps_what_is_known_of_a_step(tmp_path: Path) -> None:
    session = project(tmp_path, {"m.py": TRAINING})
    path = shown(tmp_path, "m.py")
    find_regions(session.snapshot(path))
    session.set_buffer(path, source_from_text(f"import os\n{TRAINING}", path))
    moved = session.snapshot(path)
    (lens,) = code_lenses(moved, path)
    assert (lens.title, lens.span.line) == ("Extract as @tf.function: train_step", 8)
    session.set_buffer(path, source_from_text(TRAINING.replace("model(x, training=True)", "model(x + 1.0)"), path))
    edited = session.snapshot(path)
    assert code_lenses(edited, path) == ()  # its code is another: nothing is known of it
    find_regions(edited)
    assert [lens.title for lens in code_lenses(edited, path)] == ["Extract as @tf.function: train_step"]


def test_a_step_of_a_script_has_a_line_above_it(tmp_path: Path) -> None:
    text = TRAINING.replace("def train(steps):", "if True:").replace("range(steps)", "range(1000)")
    session = project(tmp_path, {"m.py": text.replace("\ntrain(1000)\n", "")})
    path = shown(tmp_path, "m.py")
    snapshot = session.snapshot(path)
    find_regions(snapshot)
    (lens,) = code_lenses(snapshot, path)
    assert (lens.qualname, lens.title) == ("<module>", "Extract as @tf.function: train_step")
    assert isinstance(perform(snapshot, best_change(snapshot, path, lens.qualname, lens.span.line)), NewText)


def test_the_regions_of_a_text_that_changes_are_not_kept(tmp_path: Path) -> None:
    session = project(tmp_path, {"m.py": TRAINING})
    path = shown(tmp_path, "m.py")
    snapshot = session.snapshot(path)
    with pytest.raises(StaleError):
        find_regions(snapshot, lambda: True)
    assert not shown_regions(snapshot, path).are_final
    assert len(find_regions(snapshot)[path]) == 1


BOTH = f"""\
{TRAINING}

def evaluate(x):
    for _ in range(20):
        x = tf.matmul(x, x) + tf.nn.relu(x)
    return x

for _ in range(100):
    evaluate(tf.ones([8, 8]))
"""


def test_all_safe_changes_are_those_of_the_command_line(tmp_path: Path) -> None:
    session = project(tmp_path, {"m.py": BOTH, "n.py": all_rules()["TR507"].samples.bad})
    made = {new.path: new.text for _, new in safe_changes(session, lambda: False, lambda *_: None)}
    fixed = fix([str(tmp_path)], Options(config=Config(level="safe", jobs=1), use_cache=False))
    assert made == {file.source.path: file.new_text for file in fixed.files if file.changed}
    assert made[shown(tmp_path, "m.py")].count("@tf.function") == 2
    path = shown(tmp_path, "m.py")
    (offer,) = [
        offer
        for offer in code_actions(session.snapshot(path), path, 1, 1, explicit=True)
        if offer.kind is OfferKind.REFACTOR_ALL
    ]
    assert offer.title == "terra-refactor: make all 2 safe changes"
    result = perform(session.snapshot(path), offer.request)
    assert isinstance(result, NewText)
    assert result.text == made[path]


def test_of_safe_changes_the_chosen_ones_are_made(tmp_path: Path) -> None:
    session = project(tmp_path, {"m.py": BOTH})
    path = shown(tmp_path, "m.py")
    listed = {each.qualname: each.line for each in proposals(session, lambda: False, lambda *_: None)}
    for name, other in (("train", "evaluate"), ("evaluate", "train_step")):
        ((_, new),) = safe_changes(session, lambda: False, lambda *_: None, frozenset({(path, name, listed[name])}))
        before = new.text.split(f"def {name if name == 'evaluate' else 'train_step'}(")[0]
        assert before.rstrip().endswith("@tf.function")
        assert new.text.count("@tf.function") == 1, other


@pytest.mark.tensorflow
@pytest.mark.slow
@pytest.mark.usefixtures("warm_children")
def test_a_step_is_proven_before_it_is_a_function(tmp_path: Path) -> None:
    session = project(tmp_path, {"m.py": TRAINING.replace("train(1000)", "train(20)")})
    path = shown(tmp_path, "m.py")
    snapshot = session.snapshot(path)
    for line in (7, 12):  # the function around it, and a line of it
        request = change_around(snapshot, path, line)
        assert isinstance(request, Request)
        assert (request.task, request.qualname) == (Task.EXTRACT, "train.<locals>.train_step")
    proof = prove(snapshot, request, [sys.executable], f"python {tmp_path / 'm.py'}", lambda: False)
    assert isinstance(proof, ProofResult)
    assert proof.holds, proof.sentence
    assert proof.sentence.startswith("train_step: the same with and without the change")
    assert proof.page.startswith("# Extract as @tf.function: train_step\n")
    gone = prove(snapshot, Request(Task.EXTRACT, path, "other", 12), [sys.executable], "", lambda: False)
    assert isinstance(gone, NotPossible)


def test_the_finding_of_lint_is_shown_when_the_steps_are_known(tmp_path: Path) -> None:
    session = project(tmp_path, {"m.py": TRAINING})
    path = shown(tmp_path, "m.py")
    snapshot = session.snapshot(path)
    assert not [problem for problem in diagnostics(snapshot, path) if problem.rule == "TR507"]
    find_regions(snapshot)
    (problem,) = [problem for problem in diagnostics(snapshot, path) if problem.rule == "TR507"]
    linted = analyze([str(tmp_path)], Options(config=Config(jobs=1), use_cache=False)).findings
    (finding,) = [finding for finding in linted if finding.rule == "TR507"]
    assert (problem.span, problem.severity, problem.message) == (finding.span, finding.severity, finding.message)
    line = finding.span.line
    fixes = [offer for offer in code_actions(snapshot, path, line, line) if offer.kind is OfferKind.QUICK_FIX]
    assert [offer.title for offer in fixes] == [
        "Extract as @tf.function: train_step",
        "Ignore TR507 (missed-extraction) here",
    ]
    assert fixes[0].preferred
    assert isinstance(perform(snapshot, fixes[0].request), NewText)
    # in another text, it is where its code is
    session.set_buffer(path, source_from_text(f"import os\n{TRAINING}", path))
    (moved,) = [each for each in diagnostics(session.snapshot(path), path) if each.rule == "TR507"]
    assert moved.span.line == line + 1


@pytest.mark.parametrize("how", ["comment", "ignored"])
def test_the_finding_can_be_silenced(tmp_path: Path, how: str) -> None:
    code = "random.normal([32, 4])"
    text = TRAINING.replace(code, f"{code}  # terra: ignore[TR507]") if how == "comment" else TRAINING
    (tmp_path / "m.py").write_text(text)
    session = Session(str(tmp_path), Config(jobs=1, ignore=("TR507",) if how == "ignored" else ()))
    path = shown(tmp_path, "m.py")
    snapshot = session.snapshot(path)
    assert not diagnostics(snapshot, path)  # the comment is not reported as unused: regions have not been searched yet
    find_regions(snapshot)
    assert not diagnostics(snapshot, path)
