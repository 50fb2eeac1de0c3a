"""A second generator of programs: typical code of libraries and programs around operations, mixed at random.

`generated.py` mixes operations, tapes and values; this one mixes losses of Keras, slices of variables, other threads, forward
accumulators, attributes and masks on tensors, containers, exceptions, device scopes, generators with open blocks, rows that are
looked up, layers with state and training.
`source(seed)` is the text of a program.

`python -m tests.runtime.against_generated FIRST COUNT` compares that many programs with eager execution; `--xla`
compiles segments with XLA, `--threads` runs two programs at the same time. XLA's kernels round differently, and a
program may amplify that (an optimizer divides a gradient near zero by its magnitude): if float32 differs with XLA,
the same program in float64 decides.
"""

from __future__ import annotations

# ruff: noqa: PLC0415
import random
import sys
from typing import Any

HEAD = """
import keras, threading
import numpy as np, tensorflow as tf
from concurrent.futures import ThreadPoolExecutor

pool = ThreadPoolExecutor(1)
pool.submit(int).result()
dtype = tf.{dtype}
keras_dtype = "{dtype}"

class Codes(keras.layers.Layer):
    # replaces each row by the nearest code, and counts the uses of the codes
    def build(self, shape):
        self.codes = self.add_weight(shape=(4, 3), initializer="ones")
        self.codes.assign(tf.reshape(tf.sin(tf.cast(tf.range(12.0), dtype)), (4, 3)))
        self.uses = self.add_weight(shape=(4,), initializer="zeros", trainable=False)

    def call(self, x, training=None):
        distances = tf.reduce_sum((x[:, tf.newaxis] - self.codes[tf.newaxis]) ** 2, -1)
        nearest = tf.argmin(distances, -1)
        found = tf.gather(self.codes, nearest)
        self.add_loss(tf.reduce_mean((found - tf.stop_gradient(x)) ** 2))
        if training:
            self.uses.assign_add(tf.reduce_sum(tf.one_hot(nearest, 4, dtype=dtype), 0))
        return x + tf.stop_gradient(found - x)

def program(co):
    v = tf.Variable(tf.reshape(tf.cast(tf.range(6.0), dtype) / 3 - 1, (2, 3)))
    w = tf.Variable(tf.cast([[1.0, -1, 2], [0.5, 2, -1], [-2, 1, 0]], dtype))
    dense = keras.layers.Dense(3, activation="{activation}", kernel_initializer="ones", dtype=keras_dtype)
    dense.build((None, 3))
    dense.kernel.assign(w * 3)
    sparse = keras.losses.SparseCategoricalCrossentropy(dtype=keras_dtype)
    dense_loss = keras.losses.{loss}(dtype=keras_dtype)
    optimizer = keras.optimizers.{optimizer}(0.01)
    optimizer.build(dense.trainable_variables)
    first, last = (keras.layers.Dense(3, kernel_initializer="ones", dtype=keras_dtype) for _ in range(2))
    layers = keras.Sequential([keras.Input((3,), dtype=keras_dtype), first, last])
    trained = keras.optimizers.{optimizer}(0.02)
    mean = keras.metrics.Mean(dtype=keras_dtype)
    table = keras.layers.Embedding(4, 3, embeddings_initializer="ones", dtype=keras_dtype)
    table.build()
    table.embeddings.assign(tf.reshape(tf.cast(tf.range(12.0), dtype) / 5 - 1, (4, 3)))
    clipped = keras.optimizers.{optimizer}(0.02, clipnorm=0.3)
    codes = Codes(dtype=keras_dtype)
    codes.build((None, 3))
    array, functions = np.zeros((2, 3), keras_dtype), {{}}
    kept, lock = [], threading.Lock()
    mask = tf.constant([True, False])
    labels, ones = tf.constant([0, 2]), tf.one_hot([0, 2], 3, dtype=dtype)

    def step(x, i):
        y, out = x, []
"""
TAIL = """
        return y, out, v + 0, dense.kernel + 0, first.kernel + 0

    decorated, found = co(step), []
    for i in range({calls}):
        x = tf.cast([[1.0, 2, 3], [-1, 0.5, 4]], dtype) * {scale} * (i % 2 + 1)
        try:
            found.append(decorated(x, i))
        except (ValueError, tf.errors.OpError) as error:
            found.append((type(error).__name__, v.numpy()))
    return found, kept[:4]
"""

# Each keeps y a (2, 3) tensor of finite numbers. A list of lines; `{n}` is the statement's number, `{c}` a small number.
STATEMENTS = [
    ["y = tf.tanh(y @ w) + {c}"],
    ["y = keras.ops.{act}(y)", "out.append(hasattr(y, '_keras_logits'))"],
    ["y = tf.nn.{act}(y * {c})", "out.append(hasattr(y, '_keras_logits'))"],
    ["p{n} = tf.nn.softmax(y * 20)", "out.append(sparse(labels, p{n}))", "y = y + p{n}"],
    ["p{n} = keras.activations.softmax(y * 20)", "k{n} = {look}", "out.append(sparse(labels, p{n}))"],
    [
        "p{n} = keras.activations.sigmoid(y * 20)",
        "out.append(dense_loss(ones, p{n}))",
        "p{n}.mine = {c}",
        "kept.append(p{n}.mine)",
    ],
    [
        "with tf.GradientTape() as t{n}:",
        "    p{n} = dense(y)",
        "    {maybe_look}",
        "    l{n} = dense_loss(ones, p{n})",
        "g{n} = t{n}.gradient(l{n}, dense.trainable_variables)",
        "optimizer.apply_gradients(zip(g{n}, dense.trainable_variables))",
        "out.append((l{n}, g{n}))",
    ],
    [
        "with tf.GradientTape() as t{n}:",
        "    t{n}.watch(y)",
        "    p{n} = keras.ops.softmax(dense(y) * 9)",
        "    l{n} = sparse(labels, p{n})",
        "out.append((l{n}, t{n}.gradient(l{n}, y)))",
    ],
    ["v[{r}].assign(y[{s}])", "y = y + v"],
    [
        "s{n} = v[:, {r}:]",
        "v[{s}, i % 3].assign({c})",
        "out.append(s{n})",
        "s{n}.assign(s{n} * 2)",
        "y = y * 0.5 + tf.tanh(v)",
    ],
    ["v[i % 2].assign(tf.sin(y[{r}]))"],
    ["f{n} = pool.submit(lambda y=y: float(tf.reduce_sum(y)))", "out.append(f{n}.result())"],
    ["f{n} = pool.submit(lambda y=y: tf.tanh(y) * v)", "y = y + f{n}.result()"],
    ["with lock:", "    v.assign(tf.tanh(v + y))"],
    ["pool.submit(v.assign_add, tf.ones_like(v) * {c}).result()"],
    [
        "with tf.autodiff.ForwardAccumulator(y, tf.ones_like(y)) as a{n}:",
        "    z{n} = tf.sin(y) * y",
        "    {maybe_look}",
        "out.append(a{n}.jvp(z{n}))",
        "y = tf.tanh(z{n})",
    ],
    [
        "with tf.autodiff.ForwardAccumulator(w, tf.ones_like(w)) as a{n}:",
        "    with tf.GradientTape() as t{n}:",
        "        l{n} = tf.reduce_sum(tf.tanh(y @ w))",
        "    g{n} = t{n}.gradient(l{n}, w)",
        "out.append(a{n}.jvp(g{n}))",
    ],
    ["y.tag = {{'c': {c}, 'self': [y * 2]}}", "{maybe_look}", "out.append((y.tag['c'], y.tag['self'][0]))"],
    ["z{n} = y + 1", "z{n}.parent = y", "kept.append(float(z{n}.parent[0, 0]))", "y = z{n}.parent * 0.5 + z{n}"],
    ["ring{n} = [y, {{}}]", "ring{n}[1]['ring'] = ring{n}", "out.append(ring{n}[1]['ring'][0] * {c})"],
    [
        "pair{n} = (y, y * {c})",
        "out.append({{'a': pair{n}, 'b': [pair{n}, None, 'text']}})",
        "out.append(out[-1]['a'] is pair{n})",
    ],
    [
        "try:",
        "    tf.debugging.assert_less(tf.reduce_max(y), tf.cast({c}, dtype))",
        "except tf.errors.InvalidArgumentError:",
        "    y = y * 0.5",
        "    v.assign(v * 0.9)",
    ],
    [
        "try:",
        "    y = y + tf.gather(y, i % 4 - 1)",
        "except tf.errors.InvalidArgumentError as e:",
        "    out.append(type(e).__name__)",
    ],
    ["if i == {r} + 3:", "    raise ValueError(y)"],
    ["with tf.device('CPU:0'):", "    y = tf.abs(y) + v", "out.append(y.device)"],
    ["with tf.device(None):", "    v.assign(tf.cos(y))"],
    ["y = (tf.exp(y * 1e-3) - 1.0) * {c}"],
    ["y = (y + 1e6) - 1e6 + tf.math.log(1.0 + tf.abs(y) * 1e-5)"],
    ["k{n} = {look}", "y = y * 0.5 if k{n} > 0.7 else y + {c}"],
    ["kept.append(float(tf.reduce_mean(y)))"],
    ["y = y[:, ::-1] + y[i % 2] * {c}"],
    ["y = tf.where(y > 0, y, y * {c}) / (1.0 + tf.reduce_max(tf.abs(y)))"],
    ["tmp{n} = tf.Variable(y)", "tmp{n}.assign_add(tf.ones_like(y))", "y = tmp{n} * 0.3"],
    [
        "def g{n}(y=y):",
        "    with tf.name_scope('g'), tf.GradientTape() as t:",
        "        t.watch(y)",
        "        z = yield tf.sin(y) * y",
        "        z = z * 2 + y",
        "    yield t.gradient(z, y)",
        "h{n} = g{n}()",
        "a{n} = next(h{n})",
        "{maybe_look}",
        "out.append(h{n}.send(tf.tanh(a{n} + v)))",
    ],
    [
        "with tf.GradientTape() as t{n}:",
        "    l{n} = tf.reduce_mean(layers(y))",
        "    {maybe_look}",
        "g{n} = t{n}.gradient(l{n}, layers.trainable_variables)",
        "trained.apply_gradients(zip(g{n}, layers.trainable_variables))",
        "out.append(l{n})",
    ],
    [
        "with tf.GradientTape(persistent=True) as t{n}:",
        "    t{n}.watch(y)",
        "    z{n} = tf.sin(y @ w)",
        "    {maybe_look}",
        "    l{n} = tf.reduce_mean(z{n})",
        "out.append((t{n}.gradient(l{n}, y), t{n}.gradient(z{n}, [w, v])))",
        "del t{n}",
    ],
    [
        "@tf.custom_gradient",
        "def c{n}(x):",
        "    return x * {c}, lambda d: d * 3",
        "with tf.GradientTape() as t{n}:",
        "    t{n}.watch(y)",
        "    z{n} = c{n}(tf.sin(y))",
        "out.append(t{n}.gradient(z{n}, y))",
    ],
    [
        "m{n} = tf.matmul(y, y, transpose_b=True) + tf.eye(2, dtype=dtype) * 3",
        "out.append(tf.linalg.cholesky(m{n}))",
        "y = y * 0.5 + tf.linalg.solve(m{n}, y)",
    ],
    ["y = functions.setdefault({n}, tf.function(lambda x: tf.tanh(x) * {c} + v, autograph=False))(y)"],
    ["out.append(tf.strings.join(['a', tf.as_string(tf.reduce_sum(tf.range(3) + i))]).numpy())"],
    ["y = y + tf.cast(tf.range(3) * i, dtype) * 0.01"],
    ["out.append((y[: i % 2 + 1], tf.reshape(y, (-1,))[i % 4 :]))"],
    ["tf.random.set_seed(i)", "y = y + tf.random.uniform((2, 3), dtype=dtype) * 0.1"],
    ["mean.update_state(y)", "out.append(mean.result() + 0)"],
    ["for b{n} in tf.data.Dataset.from_tensor_slices(y).batch(1):", "    y = y * 0.5 + b{n} * {c}"],
    ["array[:] = i", "y = y + array * 0.01", "array[:] = 77"],
    ["q{n} = tf.boolean_mask(x, x > {c})", "out.append(q{n})", "y = y * (0.5 + 0.1 * int(tf.size(q{n})))"],
    [
        "with tf.GradientTape() as t{n}:",
        "    z{n} = tf.tanh(y @ w) * v + x * {c}",
        "    d{n} = x * {c} + 1.0",
        "    t{n}.watch({watched})",
        "    k{n} = float(tf.reduce_sum(d{n}))",
        "    l{n} = tf.reduce_sum(z{n} * d{n}) * k{n}",
        "    l{n} += tf.reduce_sum(tf.gather(d{n} * z{n}, tf.where(x[:, 0] > 0)[:, 0]))",
        "out.append((l{n}, t{n}.gradient(l{n}, [x, d{n}, v, w])))",
    ],
    [
        "with tf.GradientTape() as t{n}:",
        "    e{n} = {same}",
        "    q{n} = tf.gather(e{n}, [0, i % 3, 0])",
        "    {maybe_look}",
        "    l{n} = tf.reduce_sum(tf.tanh(q{n}) * y[:1])",
        "    if i % 4 == 3:",
        "        l{n} += tf.reduce_sum(tf.gather(e{n}, [2, 2]) * tf.sin(y))",
        "g{n} = t{n}.gradient(l{n}, w)",
        "out.append((type(g{n}).__name__, tf.convert_to_tensor(g{n}), tf.norm(getattr(g{n}, 'values', g{n}))))",
    ],
    [
        "with tf.GradientTape() as t{n}:",
        "    q{n} = table(tf.constant([[0, 1, 0], [2, 0, i % 4]]))",
        "    {maybe_look}",
        "    l{n} = tf.reduce_mean(tf.tanh(q{n}) * tf.reduce_mean(y) + q{n} ** 2)",
        "g{n} = t{n}.gradient(l{n}, table.trainable_variables)",
        "clipped.apply_gradients(zip(g{n}, table.trainable_variables))",
        "out.append((l{n}, type(g{n}[0]).__name__))",
        "y = y * 0.5 + q{n}[:, {r}]",
    ],
    [
        "with tf.GradientTape() as t{n}:",
        "    t{n}.watch(y)",
        "    p{n} = codes(y, training=i % 3 != {r})",
        "    {maybe_look}",
        "    l{n} = tf.add_n(codes.losses) + tf.reduce_mean(tf.sin(p{n}))",
        "g{n} = t{n}.gradient(l{n}, [y, codes.codes.value])",
        "out.append((l{n}, g{n}[0], type(g{n}[1]).__name__, tf.convert_to_tensor(g{n}[1]), codes.uses + 0))",
        "codes.codes.assign_sub(tf.convert_to_tensor(g{n}[1]) * 0.1)",
    ],
    [
        "with tf.GradientTape() as t{n}:",
        "    t{n}.watch(y)",
        "    z{n} = tf.sigmoid(y)",
        "    if i % 3 == {r}:",
        "        z{n}._keras_mask = {mask}",
        "    {maybe_look}",
        "    l{n} = dense_loss(ones, z{n}) + tf.reduce_mean(keras.ops.convert_to_tensor(z{n}) * v)",
        "out.append((l{n}, t{n}.gradient(l{n}, y), hasattr(z{n}, '_keras_mask')))",
    ],
    ["out.append((tf.convert_to_tensor(y) is y, keras.ops.convert_to_tensor(y) is y, tf.cast(y, dtype) is y))"],
    ["for q{n} in (lambda y=y: (yield from (y, y * {c})))():", "    y = y * 0.3 + tf.tanh(q{n})"],
]

XLA_SIMPLIFIES = "(y + 1e6) - 1e6"  # not `y`: a changed number, as the manual documents


def source(seed: int) -> str:
    """The text of a program; its `program` takes the decorator."""
    choose = random.Random(seed)
    head = HEAD.format(
        dtype=choose.choice(["float32", "float64"]),
        activation=choose.choice(["softmax", "sigmoid", "tanh"]),
        loss=choose.choice(
            ["BinaryCrossentropy", "CategoricalCrossentropy", "CategoricalFocalCrossentropy", "MeanSquaredError"]
        ),
        optimizer=choose.choice(["SGD", "Adam", "RMSprop"]),
    )
    lines = []
    for number in range(choose.randint(3, 12)):
        words = {
            "n": number,
            "c": choose.choice(["0.5", "-0.25", "1.5"]),
            "r": choose.randrange(2),
            "s": choose.randrange(2),
            "act": choose.choice(["softmax", "sigmoid", "relu", "elu"]),
            "look": "float(tf.reduce_mean(y))",
            "watched": choose.choice(["x", "y", "w", f"d{number}"]),
            "mask": choose.choice(["mask", "tf.constant([False, True])", "x[:, 0] > 0.0"]),
            "same": choose.choice(["tf.convert_to_tensor(w)", "tf.identity(w)", "w", "-w", "w + 0"]),
            "maybe_look": choose.choice(["pass", "kept.append(float(tf.reduce_sum(y)))"]),
        }
        lines.extend(" " * 8 + line.format(**words) for line in choose.choice(STATEMENTS))
    return (
        head
        + "\n".join(lines)
        + TAIL.format(scale=choose.choice(["1", "0.1", "3"]), calls=choose.choice([6, 6, 6, 20]))
    )


def plain(value: Any) -> Any:
    """A value with arrays in place of tensors, for `gap`."""
    import numpy as np
    import tensorflow as tf

    if isinstance(value, (tf.Tensor, tf.Variable)):
        return np.asarray(value)
    if isinstance(value, dict):
        return {name: plain(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return value


def gap(one: Any, other: Any) -> str | None:
    """The first difference of two results beyond rounding."""
    import numpy as np

    if isinstance(one, dict) and isinstance(other, dict):
        one, other = [*one, *one.values()], [*other, *other.values()]
    if isinstance(one, list) and isinstance(other, list):
        if len(one) != len(other):
            return f"{len(one)} and {len(other)} items"
        return next((found for pair in zip(one, other, strict=True) if (found := gap(*pair)) is not None), None)
    if isinstance(one, (float, np.ndarray)) and type(one) is type(other):
        first, second = np.asarray(one), np.asarray(other)
        if first.dtype != second.dtype or first.shape != second.shape:
            return f"{first.dtype}{first.shape} and {second.dtype}{second.shape}"
        wide = 2e-4 if first.dtype == np.float32 or isinstance(one, float) else 1e-10
        same = (
            np.allclose(first, second, wide, wide, equal_nan=True)
            if first.dtype.kind == "f"
            else (first == second).all()
        )
        return None if same else f"{first.tolist()} and {second.tolist()}"
    return None if type(one) is type(other) and one == other else f"{one!r} and {other!r}"


def program(seed: int, wide: bool = False) -> Any:
    """The program of a seed, and a function that ends its thread. `wide`: in float64."""
    space: dict[str, Any] = {}
    text = source(seed).replace("float32", "float64") if wide else source(seed)
    exec(compile(text, f"<program {seed}>", "exec"), space)
    return space["program"], space["pool"].shutdown


def run(function: Any, decorator: Any) -> Any:
    """The result of a program, or its failure."""
    try:
        return plain(function(decorator))
    except Exception as error:
        return f"{type(error).__name__}: {str(error)[:200]}"


def difference(seed: int, co: Any, wide: bool = False) -> str | None:
    """The difference between the program of a seed under `co` and eager execution."""
    import keras

    function, end = program(seed, wide)
    results = []
    for decorator in (lambda step: step, co):
        keras.utils.set_random_seed(1)
        results.append(run(function, decorator))
    end()
    return gap(*results)


def differences_in_threads(seeds: list[int], co: Any) -> list[str | None]:
    """Like `difference`, for programs that run at the same time, each on its own thread."""
    from concurrent.futures import ThreadPoolExecutor

    programs = [program(seed) for seed in seeds]
    expected = [run(function, lambda step: step) for function, _ in programs]
    with ThreadPoolExecutor(len(seeds)) as threads:
        actual = list(threads.map(lambda each: run(each[0], co), programs))
    for _, end in programs:
        end()
    return [gap(*pair) for pair in zip(expected, actual, strict=True)]


def main(first: int, count: int, options: list[str]) -> int:
    """Compares programs, and prints the differences."""
    import functools

    from terra_refactor.runtime import co_execute

    co: Any = functools.partial(co_execute, xla=True) if "--xla" in options else co_execute
    different = left_out = 0
    step = 2 if "--threads" in options else 1
    for seed in range(first, first + count, step):
        seeds = list(range(seed, seed + step))
        if "--xla" in options and any(XLA_SIMPLIFIES in source(each) for each in seeds):
            left_out += step
            continue
        # the process has one random stream: which program draws first is not specified
        alone = step == 1 or any("set_seed" in source(each) for each in seeds)
        found = [difference(each, co) for each in seeds] if alone else differences_in_threads(seeds, co)
        for each, what in zip(seeds, found, strict=True):
            if what is not None and "--xla" in options and difference(each, co, wide=True) is None:
                print(f"program {each}: only in the last digits of float32: {what[:300]}", flush=True)
            elif what is not None:
                different += 1
                print(f"program {each}: {what[:300]}", flush=True)
    print(f"{count - left_out} programs from {first} {' '.join(options)}: {different} different", flush=True)
    return different


if __name__ == "__main__":
    raise SystemExit(bool(main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:])))
