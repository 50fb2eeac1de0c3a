"""Changes that would harm: decorators that are taken away without proof, put on what runs once, or taken back by the next run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from textwrap import dedent

import pytest

from terra_refactor.classify.decision import Action, Classification, Decision, Level
from terra_refactor.config import Config
from terra_refactor.workspace.workspace import Options, analyze, fix


def decide(folder: Path, text: str, *, name: str = "program.py", min_ops: int | None = None) -> Mapping[str, Decision]:
    file = folder / name
    file.parent.mkdir(exist_ok=True)
    file.write_text("import tensorflow as tf\n" + dedent(text))
    report = analyze([str(file.parent)], Options(Config(jobs=1, min_ops=min_ops), use_cache=False))
    return {decision.qualname: decision for decision in report.decisions}


SCRATCH = """
class Sampler:
    def __init__(self):
        self.w = tf.Variable(tf.ones([4]))

    def part(self, x):
        for _ in range(10):
            x = tf.tanh(x * self.w) + self.size
        return x

    @tf.function
    def sample(self, x):
        {before}
        self.size = tf.cast(tf.shape(x)[0], tf.float32)
        return self.part(x)

    {other}

sampler = Sampler()
for number in range(1000):
    sampler.sample(tf.ones([4]))
    {after}
"""


def scratch(folder: Path, *, before: str = "pass", other: str = "", after: str = "pass") -> Decision:
    return decide(folder, SCRATCH.format(before=before, other=other, after=after))["Sampler.sample"]


def test_an_attribute_that_is_a_local_variable_is_no_leak(tmp_path: Path) -> None:
    found = scratch(tmp_path)
    assert (found.classification, found.action) == (Classification.SAFE, Action.NONE)


def test_another_function_that_uses_it_so_reads_its_own(tmp_path: Path) -> None:
    other = "def again(self, x):\n        self.size = 2.0\n        return self.part(x)"
    found = scratch(tmp_path, other=other, after="sampler.again(tf.ones([4]))")
    assert (found.classification, found.action) == (Classification.SAFE, Action.NONE)


def test_a_caller_that_reads_it_afterwards_does_not(tmp_path: Path) -> None:
    other = "def whole(self, x):\n        y = self.sample(x)\n        return y + self.size"
    assert scratch(tmp_path, other=other, after="sampler.whole(tf.ones([4]))").classification is Classification.UNSAFE


@pytest.mark.parametrize(
    "change",
    [
        {"after": "print(sampler.size)"},
        {"after": "getattr(sampler, 'size')"},
        {"other": "def last(self):\n        return self.size"},
        {"other": "def all(self):\n        return self.__dict__"},
        {"before": "x = x + self.size"},
        {"before": "x = self.part(x)"},
    ],
)
def test_an_attribute_that_somebody_else_reads_is_one(tmp_path: Path, change: dict[str, str]) -> None:
    assert scratch(tmp_path, **change).classification is Classification.UNSAFE


def test_an_attribute_that_is_written_on_some_ways_is_one(tmp_path: Path) -> None:
    text = SCRATCH.format(before="pass", other="", after="pass")
    text = text.replace("        self.size = tf.cast", "        if first:\n            self.size = tf.cast")
    text = text.replace("sample(self, x)", "sample(self, x, first)").replace(
        "ones([4]))\n    ", "ones([4]), number == 0)\n    "
    )
    assert decide(tmp_path, text)["Sampler.sample"].classification is Classification.UNSAFE


def test_what_is_stored_for_nobody_in_the_program_takes_no_decorator_away(tmp_path: Path) -> None:
    stores = """
    class Net:
        @tf.function
        def forward(self, x):
            for _ in range(10):
                x = tf.tanh(x) * 2.0
            self.last = x
            return x

    net = Net()
    for _ in range(1000):
        net.forward(tf.ones([3]))
    """
    assert decide(tmp_path, stores)["Net.forward"].action is Action.NONE
    assert decide(tmp_path, stores + "    print(net.last)\n")["Net.forward"].action is Action.REMOVE_TF_FUNCTION


def test_a_name_takes_no_decorator_away(tmp_path: Path) -> None:
    text = """
    @tf.function
    def train_step(images):
        first, second = images
        return first.numpy() + tf.reduce_sum(second)
    """
    assert decide(tmp_path, text)["train_step"].action is not Action.REMOVE_TF_FUNCTION


NESTED = """
@tf.function
def {name}(x):
    for _ in range(8):
        x = tf.tanh(x) * 2.0
    return x

@tf.function
def step(x):
    return tf.reduce_sum({name}(x))
"""
RUN = "\nfor _ in range(1000):\n    step(tf.ones([3]))\n"


def test_what_others_may_call_keeps_its_decorator(tmp_path: Path) -> None:
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "__init__.py").write_text("")
    for name, text, module, action in [
        ("scale", NESTED, "library.py", Action.NONE),
        ("_scale", NESTED, "library.py", Action.REMOVE_TF_FUNCTION),
        ("scale", NESTED + RUN, "program.py", Action.REMOVE_TF_FUNCTION),
        ("scale", NESTED + RUN, "package/module.py", Action.NONE),
    ]:
        assert decide(tmp_path, text.format(name=name), name=module)[name].action is action, (name, module)


BOMB = """
def simulate(x, steps):
    for _ in range({outer}):
        for _ in range({inner}):
            x = x + 0.01 * tf.sin(x) * tf.cos(x)
    return x
"""


@pytest.mark.parametrize("min_ops", [None, 0])
@pytest.mark.parametrize(
    ("outer", "inner", "call"),
    [
        ("steps", "steps", ""),
        ("steps", "7", "\nif __name__ == '__main__':\n    simulate(tf.ones([3]), 20)\n"),
        ("30", "20", "\nsimulate(tf.ones([3]), 20)\n"),
    ],
)
def test_what_unrolls_or_runs_once_gets_no_graph(
    tmp_path: Path, min_ops: int | None, outer: str, inner: str, call: str
) -> None:
    text = BOMB.format(outer=outer, inner=inner) + call
    assert decide(tmp_path, text, min_ops=min_ops)["simulate"].action is Action.NONE


def test_a_loop_of_unknown_length_with_a_long_body_is_an_assumption(tmp_path: Path) -> None:
    body = "".join("        x = tf.tanh(x) * 1.1 + 0.1\n" for _ in range(5))
    found = decide(tmp_path, f"\ndef unroll(x: tf.Tensor, n=3):\n    for _ in range(n):\n{body}    return x\n")[
        "unroll"
    ]
    assert any("loops" in assumption for assumption in found.assumptions)


def test_a_conversion_is_no_evidence_of_a_tensor(tmp_path: Path) -> None:
    text = """
    def total(counts, x):
        n = tf.cast(tf.convert_to_tensor(counts, tf.int32), tf.float32)
        for _ in range(10):
            x = tf.tanh(x * n) + 0.1
        return x
    """
    assert decide(tmp_path, text)["total"].classification is Classification.UNSAFE
    may_be_none = text.replace("counts, x", "counts, x, dtype=None").replace("counts, tf.int32", "counts, dtype")
    assert any("NumPy array" in each for each in decide(tmp_path, may_be_none)["total"].assumptions)


CALLED_IN_A_LOOP = """
class Model:
    def __init__(self, scale):
        self.scale = scale
        self.w = tf.Variable(tf.ones([2]))

def step(given, x):
    for _ in range(10):
        x = tf.tanh(x) * 0.5
        x = {body}
    return x

def make(scale):
    def scaled(x):
        return tf.tanh(tf.sin(x * scale)) * tf.cos(x)
    return scaled

def run(n):
    logs, total = {{}}, 0.0
    for i in range(n):
        logs["loss" + str(i)] = tf.ones([2])
        total += step({given}, tf.ones([2]))
    return total

print(sum(float(step(Model(0.5 * i), tf.ones([2]))[0]) for i in range(8)) if {many} else run(100))
"""


@pytest.mark.parametrize(
    ("given", "body", "many"),
    [
        ("logs", "x + len(given)", False),
        ("[0.5 * hash(k) for k in range(3)]", "x * given[0]", False),
        ("None", "x * given.scale", True),
        ("make(0.5)", "given(x)", False),
    ],
    ids=["a dict that grows", "numbers that are collected", "one of many objects", "a closure"],
)
def test_what_each_call_brings_anew_is_traced_each_time(given: str, body: str, many: bool, tmp_path: Path) -> None:
    found = decide(tmp_path, CALLED_IN_A_LOOP.format(given=given, body=body, many=many), min_ops=0)
    assert found["step"].action is not Action.ADD_TF_FUNCTION
    assert found["make.<locals>.scaled"].action is not Action.ADD_TF_FUNCTION


def test_what_stays_is_traced_once(tmp_path: Path) -> None:
    text = CALLED_IN_A_LOOP.format(given="0.5", body="x * given", many=False).replace('"loss" + str(i)', '"loss"')
    assert decide(tmp_path, text, min_ops=0)["step"].action is Action.ADD_TF_FUNCTION
    kept = text.replace("step(0.5,", "step(logs,").replace("x * given", "x + len(given)")
    assert decide(tmp_path, kept, min_ops=0)["step"].action is Action.ADD_TF_FUNCTION


CONVERTING = """
import functools

def smart(f):
    converted = {}

    @functools.wraps(f)
    def wrapper(*args):
        return f(*args) if tf.executing_eagerly() else converted(*args)

    return wrapper

@smart
def step(x):
    for _ in range(10):
        x = tf.tanh(x) * 0.5
    return x

def run():
    for _ in range(200):
        print(step(tf.ones([3])))

run()
"""


def test_what_a_decorator_has_converted_stays_a_plain_function(tmp_path: Path) -> None:
    kept = decide(tmp_path, CONVERTING.format("f"), min_ops=0)["step"]
    assert kept.action is Action.ADD_TF_FUNCTION
    converted = decide(tmp_path, CONVERTING.format("tf.autograph.to_graph(f)"), min_ops=0)["step"]
    assert converted.action is not Action.ADD_TF_FUNCTION


SHOWN = """
import matplotlib.pyplot as plt

class Trainer:
    def __init__(self, options):
        self.options = options

    def show(self, image):
        plt.imshow(image.numpy())

    @tf.function
    def step(self, x):
        x = tf.tanh(x)
        {}
            self.show(x)
        return x

def main(options):
    trainer = Trainer(options)
    for _ in range(100):
        trainer.step(tf.ones([3, 3]))
"""


def test_what_only_a_flag_runs_takes_no_decorator_away(tmp_path: Path) -> None:
    assert decide(tmp_path, SHOWN.format("if self.options.debug:"))["Trainer.step"].action is Action.NONE
    always = decide(tmp_path, SHOWN.format("for _ in range(2):"))["Trainer.step"]
    assert always.action is Action.REMOVE_TF_FUNCTION


OF_ANY_DTYPE = """
def scale(x, n, dtype):
    n = tf.cast(n, {dtype})
    for _ in range(10):
        x = tf.tanh(tf.cast(x, {dtype})) / tf.maximum({first}, {second})
    return x
"""


def test_a_number_before_a_tensor_of_a_chosen_dtype_is_an_assumption(tmp_path: Path) -> None:
    def says(**parts: str) -> bool:
        found = decide(tmp_path, OF_ANY_DTYPE.format(**parts), min_ops=0)["scale"]
        return any("is float32" in each for each in found.assumptions)

    assert says(dtype="dtype", first="1.0", second="n / 2.0")
    assert not says(dtype="dtype", first="n / 2.0", second="1.0")
    assert not says(dtype="tf.float32", first="1.0", second="n / 2.0")


OWN_GRADIENT = """
@tf.custom_gradient
def clip(x, low, name{default}):
    for _ in range(10):
        x = tf.maximum(tf.tanh(x), low)

    def grad(dy):
        return (dy * 0.5,) + (None,) * {count}

    return x, grad

for _ in range(200):
    print(clip(tf.ones([3]), tf.constant(0.1){given}))
"""


def test_a_gradient_of_its_own_gets_every_default_as_a_tensor(tmp_path: Path) -> None:
    refused = decide(tmp_path, OWN_GRADIENT.format(default="=None", count=1, given=""), min_ops=0)["clip"]
    assert refused.action is not Action.ADD_TF_FUNCTION
    given = decide(tmp_path, OWN_GRADIENT.format(default="", count=2, given=", 0.5"), min_ops=0)["clip"]
    assert given.action is Action.ADD_TF_FUNCTION


SIZES = """
def positions(x):
    n = {size}
    steps = tf.range(n, dtype=tf.float32)[None, :, None]
    for _ in range(10):
        x = tf.tanh(x) + tf.sin(steps)
    return x

for n in range(2, 200):
    print(positions(tf.ones([1, n, 2])))
"""


def test_a_size_that_varies_and_is_used_is_an_assumption(tmp_path: Path) -> None:
    used = decide(tmp_path, SIZES.format(size="x.shape[1]"), min_ops=0)["positions"]
    assert any("same shape" in each for each in used.assumptions)
    relaxed = decide(tmp_path, SIZES.format(size="tf.shape(x)[1]"), min_ops=0)["positions"]
    assert not relaxed.assumptions


PARTS = """
def converted(rows):
    results = []
    for row in rows:
        result = {}
        for key, value in row.items():
            dtype = tf.int32 if key in ("senders", "receivers") else None
            result[key] = tf.convert_to_tensor(value, dtype)
        results.append(result)
    return results

def joined(rows):
    rows = [dict(row) for row in rows]
    rows = converted(rows)
    return tf.concat([tf.tanh(row["nodes"]) * 2.0 + 1.0 for row in rows], 0)

def run(loader):
    for rows in loader:
        print(joined(rows))
"""


def test_what_is_converted_may_be_a_part_of_an_argument(tmp_path: Path) -> None:
    found = decide(tmp_path, PARTS, min_ops=0)
    assert {found[name].classification for name in ("converted", "joined")} == {Classification.UNSAFE}
    unchanged = decide(tmp_path, PARTS.replace("tf.int32 if", "None if"), min_ops=0)
    assert unchanged["converted"].classification is not Classification.UNSAFE


def test_a_slice_of_a_variable_is_an_argument_that_cannot_be_assigned(tmp_path: Path) -> None:
    text = """
    def assign(part, value):
        tf.compat.v1.assign(part, tf.tanh(value))
        return part

    def run():
        weights = tf.Variable(tf.zeros([3]))
        for i in range(100):
            {}
    """
    sliced = decide(tmp_path, text.format("assign(weights[0], tf.ones([]))"), min_ops=0)
    assert sliced["assign"].classification is Classification.UNSAFE
    whole = decide(tmp_path, text.format("assign(weights, tf.ones([3]))"), min_ops=0)
    assert whole["assign"].classification is not Classification.UNSAFE


def test_the_shim_is_no_help_where_keras_works_or_once(tmp_path: Path) -> None:
    text = """
    import numpy as np
    model = tf.keras.Sequential([tf.keras.layers.Input([3]), tf.keras.layers.Dense(3), tf.keras.layers.Dense(3)])

    def guess(x):
        return int(np.argmax(model.predict(x)))

    def report(x):
        for _ in range(20):
            x = tf.tanh(x) * 1.01
            print(float(tf.reduce_sum(x)))

    if __name__ == "__main__":
        report(tf.ones([3]))
        for _ in range(1000):
            guess(tf.ones([1, 3]))
    """
    found = decide(tmp_path, text)
    assert found["guess"].action is found["report"].action is Action.NONE


TWICE = {
    "a decorator of the user's": """
        @tf.function
        def _inner(x):
            for _ in range(8):
                x = tf.tanh(x) * 2.0
            return x

        def outer(x):
            for _ in range(8):
                x = tf.tanh(x) * 2.0
            return _inner(x) + 1.0

        if __name__ == "__main__":
            for _ in range(500):
                outer(tf.ones([3]))
    """,
    "a method that is an argument": """
        class Model:
            def __init__(self):
                self.w = tf.Variable(0.5)

            def f(self, x):
                return tf.tanh(x * self.w)

        def integrate(f, x):
            for _ in range(10):
                x = x + 0.1 * f(x)
            return x

        def run(n):
            x, model = tf.ones([4]), Model()
            for _ in range(n):
                x = integrate(model.f, x)
            return x

        if __name__ == "__main__":
            run(500)
    """,
    "a long function with a part that pays": """
        def part(x):
            for _ in range(40):
                x = tf.tanh(x) * 2.0
            return x

        def whole(x):
            for _ in range(40):
                x = part(x) + tf.sin(x) * tf.cos(x)
            return x

        whole(tf.ones([3]))
    """,
}


@pytest.mark.parametrize("min_ops", [None, 0])
@pytest.mark.parametrize("level", list(Level))
@pytest.mark.parametrize("case", TWICE)
def test_a_second_fix_changes_nothing(tmp_path: Path, case: str, level: Level, min_ops: int | None) -> None:
    file = tmp_path / "program.py"
    file.write_text("import tensorflow as tf\n" + dedent(TWICE[case]))
    options = Options(Config(jobs=1, min_ops=min_ops, level=level), use_cache=False)
    for changes in fix([str(file)], options).files:
        file.write_text(changes.new_text)
    once = file.read_text()
    assert all(changes.new_text == once for changes in fix([str(file)], options).files)
