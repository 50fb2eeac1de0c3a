"""Statements and names around a tape that an extracted step leaves to its caller, or reads itself."""

from __future__ import annotations

from pathlib import Path

import pytest
from region_projects import STEP, analyzed, in_loop, indented, new_text

from terra_refactor.classify.decision import Level

GAN = """\
import numpy as np
import tensorflow as tf


class Gan:
    def __init__(self):
        self.generator = tf.keras.Sequential([tf.keras.layers.Dense(8), tf.keras.layers.Dense(4)])
        self.critic = tf.keras.Sequential([tf.keras.layers.Dense(8), tf.keras.layers.Dense(1)])
        self.optimizer = tf.keras.optimizers.SGD(0.1)
        self.steps = 0

    def update(self):
        size = 16
        with tf.GradientTape() as tape:
{leading}            loss = -tf.reduce_mean(self.critic(self.generator(noise)))
        grads = tape.gradient(loss, self.generator.trainable_variables)
        self.optimizer.apply_gradients(zip(grads, self.generator.trainable_variables))
        return loss


gan = Gan()
for _ in range(1000):
    gan.update()
"""
NOISE = "noise = np.random.normal(0.0, 1.0, (size, 4)).astype('float32')\n"


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def leading(text: str) -> str:
    return GAN.format(leading=indented(text, 12))


def test_host_statements_at_the_beginning_of_a_tape_come_before_the_step() -> None:
    changed = new_text(
        leading("# a step more\nself.generator.training = True\nself.steps += 1\n" + NOISE), "speculative"
    )
    assert "            noise = drawn\n            loss = -tf.reduce_mean" in changed
    assert (
        "    def update(self):\n        size = 16\n        # a step more\n        self.generator.training = True\n"
        "        self.steps += 1\n        loss = self.train_step(np.random.normal(0.0, 1.0, (size, 4)).astype('float32'))\n"
        "        return loss\n"
    ) in changed


@pytest.mark.parametrize(
    "first",
    [
        # what the tape records, and what comes after it
        "scale = tf.reduce_mean(self.generator.trainable_variables[0])\nself.steps += 1\n",
        # host code of the program, which may call anything
        "self.steps = self.critic.count_params()\n",
        "self.kept = [each + 1 for each in self.critic.losses]\nself.steps += 1\n",
    ],
)
def test_other_statements_stay_in_their_tape(first: str) -> None:
    text = leading(first + NOISE)
    changed = new_text(text, "speculative")
    before, _, after = changed.partition("with tf.GradientTape")
    del before
    assert first.split("\n", maxsplit=1)[0] in after


LIST = """\
import numpy as np
import tensorflow as tf


def train(model, optimizer, data, labels):
    variables = {variables}
{above}    for i in range(len(data) // 4):
{inside}        x, y = data[4 * i : 4 * i + 4], labels[4 * i : 4 * i + 4]
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((model(x) - y) ** 2)
        print(loss.numpy())
        grads = tape.gradient(loss, variables)
        optimizer.apply_gradients(zip(grads, variables))


net = tf.keras.Sequential([tf.keras.layers.Dense(8) for _ in range(4)])
sgd = tf.keras.optimizers.SGD(0.1)
images, targets = np.ones([12, 8], np.float32), np.ones([12, 8], np.float32)
net(images[:4])
for _ in range(2000):
    train(net, sgd, images, targets)
"""


def listed(variables: str = "model.trainable_variables", above: str = "", inside: str = "") -> str:
    return LIST.format(variables=variables, above=indented(above, 4), inside=indented(inside, 8))


def test_a_list_of_variables_is_read_from_its_network() -> None:
    variables = "model.trainable_variables"
    (region,) = analyzed(listed()).regions
    assert region.decision.extract
    assert region.decision.level is Level.SPECULATIVE
    assert f"`{variables}` has the same variables in each call" in region.decision.assumptions
    changed = new_text(listed(), "speculative")
    assert f"grads = tape.gradient(loss, {variables})" in changed
    assert f"optimizer.apply_gradients(zip(grads, {variables}))" in changed
    assert f"    variables = {variables}\n" in changed


@pytest.mark.parametrize(
    "text",
    [
        listed(inside="variables = variables[1:]\n"),
        listed(inside="model.trainable = i > 3\n"),
        listed(inside="if i:\n    model = model.inner\n"),
        listed(variables="model.trainable_variables[1:]"),
        listed(variables="list(model.trainable_variables)"),
        listed(above="def other():\n    nonlocal variables\n    variables = []\n\n\n"),
    ],
    ids=["bound again", "trained otherwise", "another network", "some of them", "a copy", "bound by a function"],
)
def test_lists_that_may_be_others_are_not_read_again(text: str) -> None:
    for region in analyzed(text).regions:
        assert not any("has the same variables" in each for each in region.decision.assumptions)
    assert "gradient(loss, model.trainable_variables)" not in new_text(text, "speculative")


CHOSEN = """\
import numpy as np
import tensorflow as tf

import games


class Agent:
    def __init__(self):
        self.actor = tf.keras.Sequential([tf.keras.layers.Dense(8) for _ in range(4)])
        self.optimizer = tf.keras.optimizers.SGD(0.1)

    def learn(self, states):
        values = self.actor(states)
        for _ in range(3):
            chosen = {chosen}
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(self.actor(states[chosen]))
            grads = tape.gradient(loss, self.actor.trainable_variables)
            self.optimizer.apply_gradients(zip(grads, self.actor.trainable_variables))
        return values


agent = Agent()
for _ in range(1000):
    agent.learn(games.play())
"""


def test_what_an_array_of_integers_indexes_is_an_array() -> None:
    """A tensor cannot be indexed with one, eagerly or in a graph."""
    changed = new_text(CHOSEN.format(chosen="np.random.choice(len(states), 8, replace=False)"), "speculative")
    assert "self.train_step(states[chosen])" in changed
    assert "self.actor(states_value)" in changed


def test_a_number_may_index_a_tensor() -> None:
    changed = new_text(CHOSEN.format(chosen="np.random.choice(4)"), "speculative")
    assert "states_value" not in changed


UNKNOWN = """\
import tensorflow as tf

from buffers import make_buffer
from networks import make_network


class Agent:
    def __init__(self):
        self.buffer = make_buffer()
        self.net = make_network()

    def update(self):
        states, targets = self.buffer.sample(32)
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(self.net(states) - targets))
        variables = self.net.trainable_variables
        grads = tape.gradient(loss, variables)
        self.net.optimizer.apply_gradients(zip(grads, variables))


agent = Agent()
for _ in range(1000):
    agent.update()
"""


def test_an_update_by_an_unknown_optimizer_stays_with_its_tape() -> None:
    changed = new_text(UNKNOWN, "speculative")
    assert (
        "        grads = tape.gradient(loss, variables)\n        self.net.optimizer.apply_gradients(zip(grads, variables))\n\n"
        "    def update(self):\n        states, targets = self.buffer.sample(32)\n"
        '        self.train_step(states, tf.cast(targets, "float32"))\n'
    ) in changed


def test_a_number_that_an_array_sums_up_is_added_behind_the_step() -> None:
    inside = STEP.replace("grad =", "total += loss.numpy().mean()\ngrad =")
    changed = new_text("total = 0.0\n" + in_loop(inside=inside, after="print(total)\n"))
    assert "        loss = train_step(x, y)\n        total += loss.numpy().mean()\nprint(total)\n" in changed


def test_what_arrays_compute_with_arguments_stays() -> None:
    inside = STEP.replace("grad =", "total += loss.numpy().mean(axis)\ngrad =")
    text = "axis = None\ntotal = 0.0\n" + in_loop(inside=inside, after="print(total)\n")
    assert "total += loss.numpy().mean(axis)\n        grad =" in new_text(text)


REPLAYED = """\
import numpy as np
import tensorflow as tf

from workers import next_batch


class Learner:
    def __init__(self):
        self.net = tf.keras.Sequential([tf.keras.layers.Dense(8) for _ in range(4)])
        self.optimizer = tf.keras.optimizers.SGD(0.1)

    def update(self, batches):
        for weights, batch in batches:
            {taken}
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(tf.square(self.net(states)))
            grads = tape.gradient(loss, self.net.trainable_variables)
            self.optimizer.apply_gradients(zip(grads, self.net.trainable_variables))


learner = Learner()
for _ in range(1000):
    learner.update(next_batch())
"""


@pytest.mark.parametrize(
    "taken",
    [
        "states, rewards = zip(*batch)\n            states = np.vstack(states).astype('float32')",
        "states = np.stack([each.state for each in batch]).astype('float32')",
        "states = np.stack([np.vstack(each.states) for each in batch]).astype('float32')",
    ],
)
def test_arrays_in_batches_of_unknown_content_are_joined_outside(taken: str) -> None:
    """A graph gets tensors in their place, which NumPy cannot join."""
    changed = new_text(REPLAYED.format(taken=taken), "speculative")
    assert "self.train_step(states" in changed
    step = changed.partition("def train_step")[2].partition("def ")[0]
    assert "np." not in step


def test_a_number_as_shape_stays_eager() -> None:
    """`tf.reshape(y, -1)` works eagerly; in a graph, the shape must have one axis."""
    changed = new_text(in_loop("y = tf.reshape(y, -1)\ny = tf.reshape(y, [-1, 8])\n"))
    assert "        y = tf.reshape(y, -1)\n        train_step(x, y)\n" in changed


def test_a_list_as_shape_is_part_of_the_step() -> None:
    changed = new_text(in_loop("y = tf.reshape(y, [-1])\ny = tf.reshape(y, [-1, 8])\n"))
    assert "        train_step(x, y)\n" in changed
    assert "    y = tf.reshape(y, [-1])\n" in changed.partition("for epoch")[0]


PAIR = """\
import tensorflow as tf


class Pair(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.g = tf.keras.Sequential([tf.keras.layers.Dense(8, activation="relu"), tf.keras.layers.Dense(4)])
        self.h = tf.keras.Sequential([tf.keras.layers.Dense(8, activation="relu"), tf.keras.layers.Dense(4)])
        self.first, self.second = tf.keras.optimizers.SGD(0.1), tf.keras.optimizers.SGD(0.1)
        self.count = 0

    def update(self, x, y):
        total, shown = 0, []
        for seen, net, optimizer in {iterable}:
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(tf.square(seen - net(seen)))
            grads = tape.gradient(loss, net.trainable_variables)
            optimizer.apply_gradients(zip(grads, net.trainable_variables))
            total += loss
            shown.append(loss){jump}
        self.count += 1
        if self.count % 30 == 0:
            print(total)
        return total, loss


pair = Pair()
for _ in range(1000):
    pair.update(tf.ones([16, 4]), tf.zeros([16, 4]))
"""
NETWORKS = "zip([x, y], [self.g, self.h], [self.first, self.second])"


def test_a_loop_over_networks_is_part_of_the_step() -> None:
    """A function for one iteration would create variables in its second trace, for the second network."""
    changed = new_text(PAIR.format(iterable=NETWORKS, jump=""))
    start = PAIR.index("        total, shown"), PAIR.index("{jump}")
    body = PAIR[start[0] : start[1]].replace("{iterable}", NETWORKS)
    assert (
        f"    @tf.function\n    def train_step(self, x, y):\n{body}\n        return total, loss\n"
        in changed.replace("def _train_step_on_batch(", "def train_step(")
    )
    assert "        self.count += 1\n        if self.count % 30 == 0:\n            print(total)\n" in changed


@pytest.mark.parametrize(
    ("iterable", "jump"),
    [
        (
            NETWORKS,
            "\n            if self.count > 900:\n                break",
        ),  # `loss` may be bound by the first one alone
        ("self.pairs(x, y)", ""),  # `loss` may stay unbound
    ],
)
def test_a_loop_over_networks_that_may_not_run_to_its_end_stays(iterable: str, jump: str) -> None:
    text = PAIR.format(iterable=iterable, jump=jump)
    assert new_text(text, "speculative") == text


INSIDE = """\
import tensorflow as tf


def train(model, data, board):
    optimizer = tf.keras.optimizers.SGD(0.1)
    losses = []
    if board:
        writer = tf.summary.create_file_writer("logs")
    step = 0
    for epoch in range(20):
        for x, y in data:
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(tf.square(model(x) - y))
                grads = tape.gradient(loss, model.trainable_variables)
                optimizer.apply_gradients(zip(grads, model.trainable_variables))
                # shown
                if board:
                    with writer.as_default():
                        tf.summary.scalar("loss", loss, step=step)
                step += 1
    return losses


net = tf.keras.Sequential([tf.keras.layers.Dense(8, activation="relu"), tf.keras.layers.Dense(8)])
train(net, tf.data.Dataset.from_tensor_slices((tf.ones([64, 8]), tf.ones([64, 8]))).batch(8), False)
"""


def test_what_follows_the_update_in_a_tape_comes_after_the_step() -> None:
    """`writer` is bound in one branch only, so it is no argument."""
    changed = new_text(INSIDE)
    assert (
        "            loss = train_step(x, y)\n"
        "            # shown\n"
        "            if board:\n"
        "                with writer.as_default():\n"
        '                    tf.summary.scalar("loss", loss, step=step)\n'
        "            step += 1\n"
        "    return losses\n"
    ) in changed
    assert "apply_gradients(zip(grads, model.trainable_variables))\n        return loss\n" in changed


def test_what_a_tape_records_stays_in_it() -> None:
    """The gradient comes later, and the other context manager closes with the tape."""
    later = INSIDE.replace("                grads = tape", "                pass\n            grads = tape").replace(
        "                optimizer.apply", "            optimizer.apply"
    )
    again = INSIDE.replace("as tape:", "persistent=True) as tape:").replace("Tape() per", "Tape(per")
    for text in (
        # the next iteration asks the same tape, or a statement that stays does
        again.replace(
            "            with tf",
            "            if step:\n                print(tape.gradient(loss, x))\n            with tf",
        ),
        again.replace("    return losses", "    return losses, tape.gradient(loss, x)"),
        later.replace("                pass\n", "                step += 1\n                loss = loss * step\n"),
        INSIDE.replace("as tape:", "as tape, tf.device(str(epoch)):"),
    ):
        assert "            loss = train_step(x, y)\n            step += 1\n" not in new_text(text)


ATTACK = """\
import tensorflow as tf


def attack(model, image: tf.Tensor, label: tf.Tensor, steps={steps}):
    for _ in range(steps):
        with tf.GradientTape() as tape:
            tape.watch(image)
            loss = tf.reduce_mean(tf.square(model(image) - label))
        gradient = tape.gradient(loss, image)
        image = tf.clip_by_value(image + 0.01 * tf.sign(gradient), 0.0, 1.0)
    return image
"""


def test_a_long_loop_around_a_gradient_is_no_graph_but_its_body_is() -> None:
    """A trace of the function would have a hundred copies of the model and its gradient."""
    changed = new_text(ATTACK.format(steps=100), "speculative")
    assert "@tf.function\ndef gradient_step(model, label, image):\n" in changed
    assert (
        "    for _ in range(steps):\n        image = gradient_step(model, label, image)\n    return image\n" in changed
    )
    assert "@tf.function\ndef attack(" in new_text(ATTACK.format(steps=3), "speculative")
