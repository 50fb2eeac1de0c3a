"""Arguments of extracted training steps: what the host computes for them, converts for them, and keeps outside."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from region_projects import STEP, analyzed, in_loop, indented, new_text


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


FOLDS = """\
import tensorflow as tf

data = tf.data.Dataset.from_tensor_slices((tf.ones([64, 8]), tf.ones([64, 1]))).batch(8)
for fold in range(3):
    model = tf.keras.Sequential([tf.keras.layers.Dense(8, activation="relu"), tf.keras.layers.Dense(1)])
    optimizer = tf.keras.optimizers.Adam()
    for epoch in range(EPOCHS):
        for x, y in data:
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean((model(x) - y) ** 2)
            grads = tape.gradient(loss, model.trainable_variables)
            optimizer.apply_gradients(zip(grads, model.trainable_variables))
    print(fold, float(loss))
"""


def test_models_that_a_loop_makes_get_a_function_each() -> None:
    # an optimizer that makes its variables in the second trace of one function is an error
    text = new_text(FOLDS.replace("EPOCHS", "100"), "speculative")
    assert "Adam()\n\n    @tf.function\n    def train_step(x, y):\n" in text
    assert "        return loss\n\n    for epoch in range(100):\n" in text
    few = FOLDS.replace("EPOCHS", "2")
    assert new_text(few, "speculative") == few


def test_models_of_the_loop_itself_are_no_arguments() -> None:
    text = FOLDS.replace(
        "    for epoch in range(EPOCHS):\n        for x, y in data:\n",
        "    x = y = tf.ones([8, 8])\n    if fold:\n        if x is y:\n",
    )
    text = text.replace("range(3)", "range(3000)")
    assert new_text(text, "speculative") == text


REPLAY = """\
import random

import numpy as np
import tensorflow as tf


class Agent:
    def __init__(self):
        self.w = tf.Variable(tf.ones([4, 2]))
        self.memory = []

    def learn(self):
        batch = random.sample(self.memory, 8)
        states, actions = (np.array(each) for each in zip(*batch))
        with tf.GradientTape() as tape:
            q = tf.tanh(tf.tanh(states @ self.w) * 2.0) ** 2
            loss = tf.reduce_mean(tf.reduce_sum(q * tf.one_hot(actions, 2), axis=1))
            loss += tf.reduce_sum(self.w ** 2) + tf.reduce_mean(tf.abs(self.w)) + tf.norm(self.w)
        self.w.assign_sub(0.1 * tape.gradient(loss, self.w))
        return loss.numpy()


agent = Agent()
for step in range(500):
    agent.memory.append((np.ones([4], np.float32), random.randint(0, 1)))
    if step > 10:
        agent.learn()
"""


def test_lists_of_python_numbers_are_made_arrays_outside() -> None:
    text = new_text(REPLAY, "speculative")
    assert "    def train_step(self, states, actions):\n        with tf.GradientTape() as tape:\n" in text
    assert "zip(*batch))\n        loss = self.train_step(states, actions)\n        return loss.numpy()\n" in text


def test_a_list_of_arrays_in_the_tape_is_no_argument() -> None:
    text = REPLAY.replace("states @", "np.array(states) @").replace(
        "(np.array(each) for each in zip(*batch))",
        "[], []\n        for state, action in batch:\n            states.append(state)\n            actions.append(action)",
    )
    assert new_text(text, "speculative") == text


LEARNER = """\
import numpy as np
import tensorflow as tf

net = tf.keras.Sequential([tf.keras.layers.Dense(16, activation="relu"), tf.keras.layers.Dense(1)])
opt = tf.keras.optimizers.Adam(1e-3)
memory = np.random.rand(100, 4).astype("float32")
marks = (np.random.rand(100) > 0.5).astype(np.int64)


def learn():
    at = np.random.choice(100, 8)
    states, done = tf.convert_to_tensor(memory[at]), marks[at]
    with tf.GradientTape() as tape:
        value = tf.squeeze(net(states), 1)
        {loss}
    grads = tape.gradient(loss, net.trainable_variables)
    opt.apply_gradients(zip(grads, net.trainable_variables))


for _ in range(1000):
    learn()
"""


def test_an_array_that_meets_a_tensor_is_converted_by_the_call() -> None:
    """Eager operations make float32 of it; a graph would get an int64 tensor."""
    text = LEARNER.format(loss="loss = tf.reduce_mean((0.99 * value * (1 - done) - 1.0) ** 2)")
    new = new_text(text)
    assert '    train_step(states, done.astype("float32"))\n' in new
    assert "        loss = tf.reduce_mean((0.99 * value * (1 - done) - 1.0) ** 2)\n" in new


def test_an_array_may_be_scaled_before_it_meets_a_tensor() -> None:
    text = LEARNER.format(loss="loss = tf.reduce_mean((2.5 * done + 0.99 * value) ** 2)").replace(
        "np.int64", "np.float64"
    )
    assert '    train_step(states, done.astype("float32"))\n' in new_text(text)
    cancelled = text.replace("2.5 * done", "(done - 2.5)")
    assert "astype" not in new_text(cancelled).split("\ndef learn")[-1]


@pytest.mark.parametrize(
    "loss",
    [
        "loss = tf.reduce_mean(value * done) + tf.cast(tf.reduce_max(done), tf.float32)",
        "loss = tf.reduce_mean(value * done) + len([each for each in done])",
        "loss = tf.reduce_mean(value * (done // 2))",
    ],
)
def test_an_array_that_is_used_otherwise_too_is_not_converted(loss: str) -> None:
    assert "astype" not in new_text(LEARNER.format(loss=loss)).split("\ndef learn")[-1]


@pytest.mark.parametrize(
    ("loss", "given", "inside"),
    [
        (
            "loss = tf.reduce_mean(value * tf.constant(done, tf.float32))",
            "tf.constant(done, tf.float32)",
            "value * done_value",
        ),
        (
            "loss = tf.reduce_mean(np.sqrt(1 + done).astype('float32') * value)",
            "np.sqrt(1 + done).astype('float32')",
            "done_value * value",
        ),
        ("done = done + 1\n        loss = tf.reduce_mean(value * np.sqrt(done).astype('float32'))", "", None),
        ("done[0] = 1\n        loss = tf.reduce_mean(value * np.sqrt(done).astype('float32'))", "", None),
    ],
)
def test_what_numpy_makes_of_arrays_comes_before_the_call(loss: str, given: str, inside: str | None) -> None:
    text = new_text(LEARNER.format(loss=loss), "speculative")
    if inside is None:
        assert "def learn():\n    train_step" not in text
        assert "value * np.sqrt(done)" not in text.split("def learn")[0]
        return
    assert f"train_step(states, {given})" in text
    assert inside in text


def test_a_configuration_that_no_graph_takes_gives_its_attributes() -> None:
    text = LEARNER.format(loss="loss = settings.rate * tf.reduce_mean(value) + settings.rate * settings.bound")
    text = text.replace("def learn():", "def learn(settings):").replace("    learn()", "    learn(Settings(0.5))")
    made = "@dataclass\nclass Settings:\n    rate: float\n    bound: float = 1.0\n\n\ndef learn"
    new = new_text("from dataclasses import dataclass\n" + text.replace("def learn", made, 1), "speculative")
    assert "train_step(states, settings.rate, settings.bound)" in new
    assert "loss = rate * tf.reduce_mean(value) + rate * bound" in new


def test_numbers_become_tensors_before_the_step() -> None:
    """Inside of it each reward would be another Python number, and the step traced for each."""
    before = "x = tf.convert_to_tensor(x)\nreward = tf.constant(float(epoch))\n"
    new = new_text(in_loop(before, inside=STEP.replace("- y) ** 2)", "- y) ** 2) * reward")), "speculative")
    assert indented(f"{before}train_step(x, y, reward)\n", 8) in new


ACTOR_CRITIC = """\
import numpy as np
import tensorflow as tf

body = tf.keras.Sequential([tf.keras.layers.Dense(16, activation="relu"), tf.keras.layers.Dense(2)])
opt = tf.keras.optimizers.Adam(1e-3)
rng = np.random.default_rng(1)


def learn(state, reward, next_state, done):
    with tf.GradientTape() as tape:
        value = body(state)[0, 0]
        {target}
        loss = tf.square(target - value) + tf.reduce_mean(tf.square(body(state) - value))
    grads = tape.gradient(loss, body.trainable_variables)
    opt.apply_gradients(zip(grads, body.trainable_variables))
    return loss.numpy()


state = rng.normal(size=(1, 4)).astype("float32")
for step in range(1000):
    next_state = rng.normal(size=(1, 4)).astype("float32")
    print(learn(state, float(step % 7) / 3, next_state, step % 50 == 0))
    state = next_state
"""


def test_a_number_that_meets_a_tensor_is_converted_by_the_call() -> None:
    """A graph would be traced for each reward, and gets it as a tensor."""
    text = ACTOR_CRITIC.format(target="target = reward + (1 - done) * 0.99 * body(next_state)[0, 1]")
    new = new_text(text)
    assert "np.float32(reward)" in new
    assert "np.float32(done)" in new


@pytest.mark.parametrize(
    "target",
    [
        "target = reward + 1.0 if done else reward + body(next_state)[0, 1]",
        "bonus = reward + 0.1\n        target = int(bonus) + (1 - done) * body(next_state)[0, 1]",
        "target = reward / 3 + (1 - done) * body(next_state)[0, 1]",
        "target = reward * len(state) + 1.0",
    ],
)
def test_a_number_that_is_used_otherwise_too_is_not_converted(target: str) -> None:
    assert "np.float" not in new_text(ACTOR_CRITIC.format(target=target))


def test_an_empty_list_begins_the_run_that_appends_to_it() -> None:
    body = (
        "hidden = []\nwith tf.GradientTape() as tape:\n    for _ in range(4):\n        hidden.append(tf.tanh(x @ w))\n"
    )
    body += "    loss = tf.reduce_mean((tf.add_n(hidden) - y) ** 2)\nw.assign_sub(0.1 * tape.gradient(loss, w))\n"
    new = new_text(in_loop(inside=body))
    assert "@tf.function\ndef train_step(x, y):\n    hidden = []\n" in new


def test_the_variables_of_a_model_are_no_arguments() -> None:
    """Keras 3 gives them to a graph as tensors, of which there is no gradient."""
    text = LEARNER.format(loss="loss = tf.reduce_mean(value ** 2)")
    named = text.replace("    with tf.GradientTape", "    params = net.trainable_variables\n    with tf.GradientTape")
    named = named.replace("grads = tape.gradient(loss, net.trainable_variables)", "grads = tape.gradient(loss, params)")
    named = named.replace("zip(grads, net.trainable_variables)", "zip(grads, params)")
    assert "    train_step(states)\n" in new_text(named)
    away = named.replace("    params = net.trainable_variables\n", "").replace("def learn():\n", "def learn(params):\n")
    away = away.replace("    learn()\n", "    learn(net.trainable_variables)\n")
    (region,) = analyzed(away).regions
    assert not region.decision.extract
    assert "receives the variables of a model" in region.decision.reason


AGENT = """\
import numpy as np
import tensorflow as tf


class Agent:
    def __init__(self):
        self.action = None
        self.rate = 1.0
        self.w = tf.Variable(tf.ones([8, 8]))

    def choose(self, x):
        self.rate *= 0.99
        self.action = tf.argmax(x @ self.w, axis=1)
        return self.action.numpy()

    def learn(self, x):
        with tf.GradientTape() as tape:
            h = x
            for _ in range(4):
                h = tf.tanh(h @ self.w)
{lines}
            loss = tf.reduce_mean(h)
        grad = tape.gradient(loss, self.w)
        self.w.assign_sub(0.1 * grad)
        return loss


if __name__ == "__main__":
    agent = Agent()
    for step in range(300):
        x = tf.random.normal([8, 8])
        agent.choose(x)
        agent.learn(x)
"""


@pytest.mark.parametrize(
    ("lines", "given", "body"),
    [
        ("h = h * tf.one_hot(self.action, 8)", "self.action", "h = h * tf.one_hot(action, 8)"),
        (
            "h = h * tf.one_hot(self.action, 8) + tf.one_hot(self.action, 8)",
            "self.action",
            "h = h * tf.one_hot(action, 8) + tf.one_hot(action, 8)",
        ),
        ("h = h * self.rate", "np.float32(self.rate)", "h = h * rate"),
        (
            "noise = np.random.normal(size=(8, 8))\nh = h + noise",
            'np.random.normal(size=(8, 8)).astype("float32")',
            "noise = drawn",
        ),
        (
            "h = h + np.random.normal(size=h.shape[1:]).astype(np.float32)",  # what the run binds
            None,
            "",
        ),
        (
            "h = h + np.random.normal(size=8).astype(np.float32)",
            "np.random.normal(size=8).astype(np.float32)",
            "h = h + drawn",
        ),
        (
            "a = np.random.normal(size=8).astype(np.float32)\nh = h * a + np.random.normal(size=8).astype(np.float32)",
            "np.random.normal(size=8).astype(np.float32), np.random.normal(size=8).astype(np.float32)",
            "h = h * a + drawn_2",
        ),
        (
            "h = h * tf.constant(np.random.normal(), tf.float32) + np.random.normal(size=8).astype(np.float32)",
            None,  # another Python number in each call
            "",
        ),
        (
            "h = h * np.random.normal() + np.random.normal()",
            "np.float32(np.random.normal()), np.float32(np.random.normal())",
            "h = h * drawn + drawn_2",
        ),
    ],
)
def test_host_expressions_around_the_tape_become_arguments(lines: str, given: str | None, body: str) -> None:
    text = new_text(AGENT.replace("{lines}", indented(lines, 12)), "speculative")
    if given is None:
        assert "train_step" not in text
        return
    assert f"self.train_step(x, {given})".replace(" ", "") in re.sub(r"\s", "", text)
    assert f"            {body}\n" in text


@pytest.mark.parametrize(
    "lines",
    [
        "self.rate = self.rate * 0.5\nh = h * self.rate",
        "for _ in range(2):\n    h = h + np.random.normal(size=8).astype(np.float32)",
        "h = h + np.random.normal(size=8).astype(np.float32) if step_of(x) else h",
        "size = 8\nh = h + np.random.normal(size=size).astype(np.float32)",
        "h = [h * self.rate for _ in range(2)][0]",
    ],
)
def test_what_may_not_come_before_the_run_stays_in_it(lines: str) -> None:
    head = "def step_of(x):\n    return x.numpy().sum() > 0\n\n\nclass Agent"
    text = AGENT.replace("{lines}", indented(lines, 12)).replace("class Agent", head)
    assert "train_step" not in new_text(text, "speculative")


def test_a_list_with_a_float_that_each_call_computes_is_a_trace_for_each() -> None:
    text = """\
import tensorflow as tf


class Fading:
    def __init__(self):
        self.w = tf.Variable(tf.ones([8, 8]))
        self.count = 0

    def train(self, x):
        inputs = [self.count / 1000, x]
        with tf.GradientTape() as tape:
            h = inputs[1]
            for _ in range(6):
                h = tf.tanh(h @ self.w) * inputs[0]
            loss = tf.reduce_mean(h ** 2)
        self.w.assign_sub(0.1 * tape.gradient(loss, self.w))
        self.count += 1
        return loss


fading = Fading()
for _ in range(1000):
    fading.train(tf.ones([8, 8]))
"""
    assert "    def train_step(self, inputs)" not in new_text(text, "speculative")
    # a whole number says which layer it is
    assert "(self, inputs)" in new_text(text.replace("self.count / 1000", "3"), "speculative")


def test_options_may_be_shown_and_a_function_called_eval() -> None:
    shown = in_loop().replace("w = tf", "import argparse\n\nargs = argparse.Namespace()\nprint(vars(args))\nw = tf")
    assert "@tf.function\ndef train_step(x, y):" in new_text(shown)
    tested = in_loop(after="    print(eval(w))\n").replace("w = tf", "def eval(w):\n    return tf.norm(w)\n\n\nw = tf")
    assert "@tf.function\ndef train_step(x, y):" in new_text(tested)
    looking = in_loop(after='    print(eval("loss"))\n')
    assert new_text(looking) == looking


def test_a_step_behind_a_loop_of_steps_is_one_of_its_own() -> None:
    text = """\
import tensorflow as tf


class Pair:
    def __init__(self):
        self.w = tf.Variable(tf.ones([8, 8]))
        self.v = tf.Variable(tf.ones([8, 8]))

    def train(self, memory):
        x = memory.pop()
        for _ in range(5):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(tf.tanh(tf.tanh(tf.tanh(x @ self.w) @ self.w) @ self.w) ** 2)
            self.w.assign_sub(0.1 * tape.gradient(loss, self.w))
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.tanh(tf.tanh(tf.tanh(x @ self.v) @ self.v) @ self.v) ** 2)
        self.v.assign_sub(0.1 * tape.gradient(loss, self.v))
        return loss.numpy()


pair = Pair()
for _ in range(500):
    print(pair.train([tf.ones([8, 8])]))
"""
    after = new_text(text, "speculative")
    assert after.count("@tf.function") == 2
    assert after.count("        with tf.GradientTape() as tape:") == 2


NETWORKS = """\
import tensorflow as tf


def losses(real, fake):
    return tf.reduce_mean(tf.nn.softplus(-real)) + tf.reduce_mean(tf.nn.softplus(fake)), tf.reduce_mean(tf.nn.softplus(-fake))


def train_step(data, generator, discriminator, generator_optimizer, discriminator_optimizer, size):
    noise = tf.random.normal([size, 8])
    with tf.GradientTape() as g, tf.GradientTape() as d:
        fake = generator(noise, training=True)
        d_loss, g_loss = losses(discriminator(data, training=True), discriminator(fake, training=True))
    generator_optimizer.apply_gradients(zip(g.gradient(g_loss, generator.trainable_variables), generator.trainable_variables))
    grads = d.gradient(d_loss, discriminator.trainable_variables)
    discriminator_optimizer.apply_gradients(zip(grads, discriminator.trainable_variables))
    return g_loss, d_loss


def train(batches, networks, optimizers):
    for batch in batches:
        train_step(batch, *networks, *optimizers, len(batch))
"""


def test_a_step_may_assume_several_things_of_each_network_and_optimizer() -> None:
    """An unknown optimizer that is given gradients updates variables: it is a step whatever its batches are."""
    text = new_text(NETWORKS, "speculative")
    assert "@tf.function\ndef train_step(data, generator" in text
    assert new_text(NETWORKS) == NETWORKS
    given = ", ".join(f"network{number}" for number in range(7))
    called = " + ".join(f"network{number}(data)" for number in range(7))
    many = NETWORKS.replace("size):", f"size, {given}):").replace("(generator(noise, training=True)", f"({called}")
    many = many.replace("fake = generator(noise, training=True)", f"fake = generator(noise, training=True) + {called}")
    assert new_text(many, "speculative") == many


FRESH_NETWORKS = """\
import tensorflow as tf


def adapt(make_network, make_optimizer, batches):
    for images, labels in batches:
        network, optimizer = make_network(), make_optimizer()
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(network(images) - labels)) + tf.reduce_sum(tf.abs(tf.tanh(images)))
        grads = tape.gradient(loss, network.trainable_variables)
        optimizer.apply_gradients(zip(grads, network.trainable_variables))
        print(float(loss))
"""


def test_unknown_networks_that_each_iteration_makes_are_no_arguments() -> None:
    """The optimizer of the second would make its variables in a second trace, which raises."""
    assert new_text(FRESH_NETWORKS, "speculative") == FRESH_NETWORKS
    once = FRESH_NETWORKS.replace("        network, optimizer = make_network(), make_optimizer()\n", "")
    once = once.replace("    for images", "    network, optimizer = make_network(), make_optimizer()\n    for images")
    # made by each call of `adapt`, they are found where they are made
    assert "    @tf.function\n    def train_step(images, labels):\n" in new_text(once, "speculative")


ACTION = """\
import tensorflow as tf


class Agent:
    def __init__(self):
        self.action = None
        self.net = tf.keras.Sequential([tf.keras.layers.Dense(64), tf.keras.layers.Dense(64), tf.keras.layers.Dense(2)])
        self.optimizer = tf.keras.optimizers.Adam(0.001)

    def choose(self, observation):
        logits = self.net(tf.convert_to_tensor([observation]))
        self.action = tf.argmax(logits, axis=1)
        return self.action.numpy()[0]

    def learn(self, state, reward):
        state = tf.convert_to_tensor([state], dtype=tf.float32)
        reward = tf.convert_to_tensor(reward, dtype=tf.float32)
        with tf.GradientTape() as tape:
            logits = self.net(state)
            loss = reward * tf.nn.sparse_softmax_cross_entropy_with_logits(self.action, logits)
        grads = tape.gradient(loss, self.net.trainable_variables)
        self.optimizer.apply_gradients(zip(grads, self.net.trainable_variables))
"""


def test_an_attribute_that_another_method_sets_is_an_argument() -> None:
    # nothing calls the methods here, so that the attribute keeps its value would be an assumption, which is false
    text = new_text(ACTION, "speculative")
    assert "    def train_step(self, state, reward, action):\n" in text
    assert "        self.train_step(state, reward, self.action)\n" in text
    (found,) = analyzed(ACTION).regions
    assert found.decision.assumptions == ()


def test_a_network_that_another_method_replaces_is_an_assumption() -> None:
    # with another network as argument, the optimizer would make its variables in a second trace
    text = ACTION.replace(
        "    def learn(",
        "    def load(self, path):\n        self.net = tf.keras.models.load_model(path)\n\n    def learn(",
    )
    assert "        self.train_step(state, reward, self.action)\n" in new_text(text, "speculative")
    (found,) = analyzed(text).regions
    assert "`self.net` does not change between calls" in found.decision.assumptions


HELPED = """\
import tensorflow as tf

net = tf.keras.Sequential([tf.keras.layers.Dense(16, activation="relu"), tf.keras.layers.Dense(8)])
opt = tf.keras.optimizers.Adam(1e-3)
data = tf.data.Dataset.from_tensor_slices(tf.random.normal([64, 8])).batch(8)


def loss_of(x, temperature):
    return tf.reduce_mean((net(x) / temperature - x) ** 2){more}


def main():
    temperature = 5.0
    for _ in range(20):
        temperature = max(0.5, temperature * 0.9)
        for x in data:
            with tf.GradientTape() as tape:
                loss = loss_of(x, temperature)
            grads = tape.gradient(loss, net.trainable_variables)
            opt.apply_gradients(zip(grads, net.trainable_variables))


main()
"""


def test_a_number_that_a_function_combines_with_a_tensor_is_converted_by_the_call() -> None:
    assert "            train_step(tf.cast(temperature, tf.float32), x)\n" in new_text(HELPED.format(more=""))
    for more in (" + float(temperature > 1)", " * temperature if temperature > 1 else 0.0", " + len(str(temperature))"):
        text = HELPED.format(more=more)
        assert new_text(text, "speculative") == text


def test_the_number_of_the_epoch_is_converted_without_numpy_too() -> None:
    new = new_text(in_loop(inside=STEP.replace("    loss =", "    h = h * epoch\n    loss =")))
    assert "        train_step(tf.cast(epoch, tf.float32), x, y)\n" in new
