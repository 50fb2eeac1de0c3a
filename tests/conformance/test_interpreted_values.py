"""Values that the analysis computes besides the rules of single functions, compared with programs that run: each variable has the
type that is told. The types of what ran are kept (`kept_answers`).

Each program assigns variables at its top; the type of every array among them, and of every array in a tuple or list, must be the one
that the analysis tells. Names that end in `_open` may be told less of.
"""

from __future__ import annotations

import ast
import textwrap
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("tensorflow")

import numpy as np
import tensorflow as tf
from analysis_support import analyze_files
from kept_answers import Harness

from terra_refactor.domain.lattice import join_all
from terra_refactor.domain.traced import without_marks
from terra_refactor.domain.value import FrozenList, TensorKind, TensorValue, TupleValue, Value
from terra_refactor.ir.ids import FunctionId
from terra_refactor.ir.ops import StoreName
from terra_refactor.ir.walk import walk

pytestmark = pytest.mark.tensorflow

PROGRAMS = {
    "lengths of ranges of floats": """
        import numpy as np

        half = 32 / 2
        depths = np.arange(half)[np.newaxis, :] / half
        centres = np.arange(8 / 2, 64, 8)
        thirds = np.arange(0.0, 1.0, 1 / 3)
        none = np.arange(2.5, 1.0)
        down = np.arange(3.0, 0.0, -0.7)
        whole = np.arange(0.5, 5.5, dtype=np.float32)
    """,
    "first elements of datasets": """
        import tensorflow as tf

        batches = tf.data.Dataset.from_tensor_slices((tf.zeros([40, 2]), tf.zeros([40], tf.int32))).batch(16)
        first, labels = next(iter(batches))
        rest_open, _open = list(batches)[-1]
        iterator = iter(batches)
        for i_open in range(2):
            next(iterator)
        last_open, _open = next(iterator)
        kept, _open = next(iter(batches.prefetch(2)))
        for taken, _open in batches.take(1):
            pass
    """,
    "weights of models": """
        import keras
        import tensorflow as tf

        class Net(keras.Model):
            def __init__(self):
                super().__init__()
                self.norm = keras.layers.BatchNormalization()
                self.out = keras.layers.Dense(2)

            def call(self, x):
                return self.out(self.norm(x))

        net = Net()
        functional = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1)])
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(net(tf.ones([4, 3]), training=True)) + tf.reduce_sum(functional(tf.ones([4, 3])))
        gradients_open = tape.gradient(loss, net.trainable_variables + functional.trainable_weights)
        clipped_open, norm = tf.clip_by_global_norm(gradients_open, 1.0)
        decay = tf.nn.l2_loss(net.trainable_variables[0])
        total = tf.linalg.global_norm(net.trainable_weights)
    """,
    "weights of models of another type": """
        import keras
        import tensorflow as tf

        class Net(keras.Model):
            def __init__(self):
                super().__init__()
                self.out = keras.layers.Dense(2, dtype="float64")

            def call(self, x):
                return self.out(x)

        net = Net()
        made = net(tf.ones([4, 3]))
        total_open = tf.linalg.global_norm(net.trainable_variables)
    """,
    "numbers without end": """
        import math
        import keras
        import numpy as np
        import tensorflow as tf

        best = tf.constant(-np.inf, tf.float64)
        worst = tf.constant(math.inf)
        gaps = np.full([3], np.nan)
        lowest = tf.fill([2, 3], -np.inf)
        cast = tf.cast([1, 2], keras.config.floatx())
        empty = tf.zeros([4], keras.backend.floatx())
        small = np.finfo(np.float32).eps.item()
        shifted = tf.zeros([3]) / (tf.ones([]) + small)
        stepped = tf.zeros([3]) + np.finfo(np.float32).eps
        most = tf.zeros([3], tf.int32) + np.iinfo(np.int32).max
    """,
    "lists that a loop reads and fills": """
        import tensorflow as tf

        def states(first, steps):
            xs = [first]
            for _ in range(steps):
                xs.append(tf.tanh(xs[-1]))
            return tf.stack(xs)

        def backwards(first, steps):
            xs = [first]
            for _ in range(steps):
                xs.insert(0, xs[0] * 2.0)
            return tf.stack(xs, axis=1)

        def replaced(first, steps):
            xs = [first, first]
            for _ in range(steps):
                xs[1:] = []
                xs.append(xs[0])
            return tf.stack(xs)

        def shortened(first, steps):
            xs = [first, first]
            for _ in range(steps):
                xs.append(xs[0])
                del xs[0]
            return tf.stack(xs)

        forward = states(tf.zeros([3]), 40)
        back = backwards(tf.zeros([3]), 40)
        kept_open = replaced(tf.zeros([3]), 40)
        short_open = shortened(tf.zeros([3]), 40)
    """,
    "what the backend decides": """
        import keras
        import numpy as np
        import tensorflow as tf

        if keras.backend.backend() == "tensorflow":
            norm = tf.norm
        else:
            norm = np.linalg.norm
        length = norm(tf.ones([3, 4]), axis=1)
        made = tf.zeros([2]) if keras.config.backend() == "tensorflow" else np.zeros([3])
    """,
    "functions of the host": """
        import numpy as np
        import tensorflow as tf

        def halves(array, factor):
            return array[: array.shape[0] // 2].astype(np.float32) * factor, np.array(3), 1.5

        def rows(tensor):
            return tf.reduce_sum(tensor, axis=0)

        first_open, count, ratio = tf.numpy_function(halves, [tf.zeros([6, 2], tf.float64), 2.0], [tf.float32, tf.int64, tf.float32])
        single = tf.numpy_function(lambda array: array + 1, [tf.zeros([3], tf.int32)], tf.int32)
        alone = tf.numpy_function(lambda array: [array], [tf.zeros([3])], [tf.float32])
        summed = tf.py_function(rows, [tf.ones([4, 5])], tf.float32)
        pair_open = tf.py_function(lambda x, y: (x + y, x - y), [tf.ones([4]), tf.ones([4])], [tf.float32, tf.float32])
        added, taken = tf.py_function(lambda x, y: (x + y, x - y), [tf.ones([4]), tf.ones([4])], [tf.float32, tf.float32])
        listed = tf.py_function(lambda x: [x], [tf.ones([4])], [tf.float32])[0]
        number = tf.py_function(lambda x: 2, [tf.ones([4])], tf.float32)
        counted = tf.data.Dataset.from_tensor_slices(tf.zeros([6, 2])).map(lambda x: tf.numpy_function(lambda a: a[:1], [x], tf.float32))
        for mapped_open in counted:
            pass
    """,
    "counts and entropies": """
        import tensorflow as tf
        from tensorflow.keras import backend as K

        values = tf.constant([1, 1, 2, 3])
        counts = tf.math.bincount(values, minlength=5, maxlength=5)
        weighted = tf.math.bincount(values, weights=tf.ones([4]), minlength=5, maxlength=5)
        at_least_open = tf.math.bincount(values, minlength=2)
        probabilities = tf.fill([3, 4, 5], 0.2)
        binary = K.binary_crossentropy(probabilities, probabilities)
        logits = K.binary_crossentropy(probabilities, probabilities, from_logits=True)
        rows = K.categorical_crossentropy(probabilities, probabilities)
        columns = K.categorical_crossentropy(probabilities, probabilities, axis=1)
        scores = K.categorical_crossentropy(probabilities, probabilities, from_logits=True)
    """,
    "tensor arrays": """
        import tensorflow as tf
        filled = tf.TensorArray(tf.float32, size=4)
        for i_open in range(4):
            filled = filled.write(i_open, tf.zeros([3, 5]))
        stacked = filled.stack()
        element = filled.read(0)
        joined_open = filled.concat()
        several = filled.gather([0, 2])
        whole = tf.TensorArray(tf.int32, size=3).unstack(tf.ones([3, 2], tf.int32))
        again = whole.stack()
        growing = tf.TensorArray(tf.float64, size=0, dynamic_size=True)
        for i_open in tf.range(3):
            growing = growing.write(i_open, tf.zeros([2], tf.float64))
        grown_open = growing.stack()
    """,
    "deferred tensors": """
        import numpy as np
        import tensorflow as tf
        import tensorflow_probability as tfp

        class Parameter(tfp.util.TransformedVariable):
            def __init__(self, value, transform=None, shape=None):
                if transform is None:
                    transform = tfp.bijectors.Identity()
                value = tf.cast(value, tf.float64)
                super().__init__(value, transform, dtype=value.dtype, shape=shape)
                self.prior = None

            @property
            def unconstrained_variable(self):
                return self._pretransformed_input

        softplus = tfp.bijectors.Chain([tfp.bijectors.Shift(np.float64(1.0)), tfp.bijectors.Softplus()])
        p = Parameter([1.5, 2.0], softplus)
        x = tf.ones([3, 2], tf.float64)
        quotient, product = x / p, p * x
        from_array = np.ones([3, 1]) - p
        negative, item, smaller, size, absolute = -p, p[0], p < 1.0, tf.shape(p), abs(p)
        unconstrained = p.unconstrained_variable
        same = p.pretransformed_input
        sizes, dtype = p.shape, p.dtype
        assigned_open = p.assign([3.0, 4.0])
        array, by_numpy, root = p.numpy(), np.log(p), tf.sqrt(p)
        zeros = tf.zeros(p.shape, p.dtype)
        triangle = tfp.util.TransformedVariable(tf.eye(3), tfp.bijectors.FillTriangular())
        matrix, flat_open = triangle + 0.0, triangle.pretransformed_input
        growing = Parameter(tf.ones([2, 2]), shape=[None, 2])
        grown_open = growing + 1.0
        vector_open = growing.unconstrained_variable
        exponent = tfp.util.DeferredTensor(tf.Variable([1.0, 2.0]), tf.exp)
        difference = tf.ones([3, 2]) - exponent
        told = tfp.util.DeferredTensor(tf.Variable([1.0, 2.0]), lambda v: v[:, tf.newaxis], shape=[2, 1])
        column = told * 2.0
        scalar = tfp.util.TransformedVariable(1.0, tfp.bijectors.Exp())
        stacked = tf.stack([scalar, scalar])
    """,
    "lists of a defaultdict": """
        import collections
        import numpy as np
        import tensorflow as tf
        gathered = collections.defaultdict(list)
        for i_open, batch in enumerate(tf.data.Dataset.from_tensor_slices(tf.zeros([48, 6])).batch(4)):
            if i_open >= 2:
                break
            gathered["rows"].append(batch.numpy())
            gathered["more"].append(batch.numpy())
        rows_open = np.concatenate(gathered["rows"], axis=0)
        more_open = np.concatenate(list(gathered.values())[1], axis=0)
    """,
    "numbers that sizes decide": """
        import tensorflow as tf
        sizes = tf.shape(tf.zeros([2, 64, 48, 3]))
        height = tf.math.ceil(sizes[1] / 2**4)
        width = tf.math.floor(sizes[2] / 5)
        across = tf.range(width, dtype=tf.float32) + 0.5
        boxes = tf.reshape(tf.zeros([4 * 9 * 3, 4]), [height * width * 3, 4])
        tiled = tf.tile(tf.zeros([1, 1, 2]), [height, width, 1])
        thirds = tf.range(tf.cast(sizes[1], tf.float32) / 3.0)
        single = tf.range(tf.constant(0.1) * 30.0)
        double_open = tf.range(tf.constant(0.1, tf.float64) * 3)
        never = tf.constant(1.0) / 0.0
        divided = tf.range(tf.divide(sizes[2], 7))
    """,
    "arrays of an index": """
        import numpy as np
        rows, columns = np.mgrid[0:4, 0:6]
        grid = np.mgrid[0:1:5j, 0:2]
        line = np.mgrid[2:9:3]
        y, x = np.ogrid[0:4, 1:3]
        beside = np.c_[np.zeros(3), np.ones(3, np.float32)]
        matrices = np.c_[np.zeros((3, 2)), np.ones(3)]
        numbers = np.c_[1, 2]
        row = np.r_[np.zeros(3), 0, np.ones(2)]
        counted = np.r_[0:4, 7]
    """,
    "states of recurrent layers": """
        import tensorflow as tf
        data = tf.zeros([2, 3, 4])
        last, hidden, carry = tf.keras.layers.RNN(tf.keras.layers.LSTMCell(8), return_state=True)(data)
        steps, state = tf.keras.layers.RNN(tf.keras.layers.GRUCell(5), return_sequences=True, return_state=True)(data)
        plain = tf.keras.layers.RNN(tf.keras.layers.SimpleRNNCell(7))(data)
        wide = tf.zeros([2, tf.keras.layers.LSTMCell(6).units])
    """,
    "a batch of transitions": """
        import random
        from collections import deque, namedtuple
        import numpy as np
        Transition = namedtuple("Transition", ["state", "action", "reward"])
        memory = deque(maxlen=50)
        for i in range(20):
            memory.append(Transition(np.zeros(3, np.float32), i % 2, 0.5))
        batch_open = random.sample(memory, 8)
        states, actions, rewards = map(np.array, zip(*batch_open))
        columns = Transition(*zip(*batch_open))
        stacked = np.stack(columns.state)
        one = random.choice(memory).state
    """,
    "lookups of ragged text": """
        import tensorflow as tf
        words = tf.strings.split(tf.constant(["a b", "c"]))
        ids = tf.keras.layers.StringLookup(vocabulary=["a", "b"])(words)
        dense = ids.to_tensor(shape=(2, 4))
    """,
    "suppression of boxes": """
        import tensorflow as tf
        boxes, scores = tf.zeros([2, 6, 1, 4]), tf.zeros([2, 6, 3])
        kept = tf.image.combined_non_max_suppression(boxes, scores, 5, 7)
        found, sure, kinds, counts = kept
        few = tf.image.combined_non_max_suppression(boxes, scores, 2, 20, pad_per_class=True).nmsed_boxes
        chosen_open, weights_open = tf.image.non_max_suppression_with_scores(tf.zeros([6, 4]), tf.zeros([6]), 3)
    """,
    "element types by name": """
        import numpy as np
        import tensorflow as tf
        single = tf.cast(tf.zeros([3], tf.int32), "float")
        double = tf.cast([1, 2], "double")
        values_open, places = np.unique(np.array([3, 1, 3]), return_inverse=True)
        objects_open = np.array([[1, 2], [3]], dtype=object)
        largest = np.zeros(max(int(np.sum(np.ones(2))) * 0 + 3, 3))
    """,
    "variables of TensorFlow 1": """
        import tensorflow.compat.v1 as tf
        count = tf.Variable(0, name="count", trainable=False)
        weights = tf.Variable(tf.zeros([3, 4]))
        loss = tf.nn.softmax_cross_entropy_with_logits_v2(logits=tf.zeros([5, 4]), labels=tf.zeros([5, 4]))
    """,
    "whole batches come first": """
        import tensorflow as tf
        batches_open = tf.data.Dataset.from_tensor_slices(tf.zeros([5, 3])).batch(2)
        for whole in batches_open.take(2):
            pass
        for again in batches_open.repeat().take(1):
            pass
        for rest_open in batches_open.take(3):
            pass
        for any_open in batches_open.shuffle(3, seed=1).take(1):
            pass
    """,
    "floats of another width": """
        import tensorflow as tf
        tf.keras.backend.set_floatx("float64")
        dense = tf.keras.layers.Dense(3)
        out = dense(tf.zeros([2, 4]))
        kernel = dense.kernel
        tf.keras.backend.set_floatx("float32")
    """,
    "either of two numbers in an array": """
        import random

        import numpy as np
        import tensorflow as tf

        reward = 1.0 if random.random() < 2 else -0.01
        mixed = 1.0 if random.random() < 2 else 2
        rewards = np.array([reward] * 3)
        steps_open = []
        for step in range(100):
            steps_open.append((np.zeros(4, np.float32), 1.0 if step % 2 else -0.01, step))
        states_open, gains_open, numbers_open = zip(*random.sample(steps_open, 8))
        states, gains, numbers = np.array(states_open), np.array(gains_open), np.array(numbers_open)
        narrow = np.array(gains, np.float32)
        tensor = tf.constant([reward, 0.5])
        single = tf.convert_to_tensor(reward)
        of_tensors = tf.stack([tf.zeros([2]) if random.random() < 2 else tf.ones([2]), tf.ones([2])])
        dtype_open = np.array([mixed] * 3)
        tensor_open = tf.constant([mixed, mixed])
        rows_open = np.array([[1.0, 2.0] if random.random() < 2 else [1.0, 2.0, 3.0]] * 2)
    """,
    "moving windows in short loops": """
        import numpy as np

        series = np.zeros((50, 3), np.float32)
        for i in range(0, len(series) - 24 + 1, 2):
            part = series[i : i + 24]
            column = series[i : i + 24, 0]
        for j in range(40, 50):
            short_open = series[j : j + 24]
    """,
    "weights of layers as arrays": """
        import keras
        import numpy as np
        import tensorflow as tf

        embedding = keras.layers.Embedding(50, 16)
        embedding(tf.constant([[1, 2]]))
        table = embedding.get_weights()[0]
        norms = np.linalg.norm(table, axis=1)
        nearest = np.argsort(-norms)[:3]
        dense = keras.layers.Dense(5)
        dense(tf.zeros([2, 7]))
        kernel, bias = dense.get_weights()
        plain = keras.layers.Dense(5, use_bias=False)
        plain(tf.zeros([2, 7]))
        (only,) = plain.get_weights()
        norm = keras.layers.BatchNormalization()
        norm(tf.zeros([2, 7]))
        gamma, beta, mean, variance = norm.get_weights()
        lstm = keras.layers.LSTM(3)
        lstm(tf.zeros([2, 4, 7]))
        of_lstm_open = lstm.get_weights()
    """,
    "texts as sequences of numbers": """
        import random

        import tensorflow as tf
        from tensorflow.keras.preprocessing.sequence import pad_sequences
        from tensorflow.keras.preprocessing.text import Tokenizer

        texts = ["a b", "c", "a d e"]
        tokenizer = Tokenizer(num_words=10)
        tokenizer.fit_on_texts(texts)
        sequences_open = tokenizer.texts_to_sequences(texts)
        longest_open = pad_sequences(sequences_open)
        padded = pad_sequences(sequences_open, maxlen=6, padding="post")
        counts = tokenizer.texts_to_matrix(texts, mode="count")
        rows = tokenizer.sequences_to_matrix(sequences_open)
        unlimited = Tokenizer()
        unlimited.fit_on_texts(texts)
        counts_open = unlimited.texts_to_matrix(texts)
        dataset = tf.data.Dataset.from_tensor_slices(padded).batch(2)
        batch = next(iter(dataset))
    """,
    "masks of layers": """
        import keras
        import numpy as np
        import tensorflow as tf

        masking = keras.layers.Embedding(10, 4, mask_zero=True)
        tokens = tf.constant([[1, 2, 0], [3, 0, 0]])
        mask = masking.compute_mask(tokens)
        of_array = masking.compute_mask(np.ones([5, 2], np.int64))
        nothing_open = keras.layers.Embedding(10, 4).compute_mask(tokens)
        steps = keras.layers.Masking(mask_value=-1.0).compute_mask(tf.zeros([2, 7, 3]))
        lengths = tf.reduce_sum(tf.cast(steps, tf.int32), axis=1)
    """,
}


RAN = Harness("interpreted_values", (Path(__file__),))
"""The types of the variables of a program."""


def described(value: object) -> Any:
    """The type of what ran: element type and shape of arrays, lists of such; None for what else it is."""
    if isinstance(value, tuple | list):
        return [described(member) for member in value]
    if isinstance(value, np.ndarray | np.generic):
        return None if value.dtype == object else (value.dtype.name, value.shape)
    if isinstance(value, tf.Tensor | tf.Variable | tf.RaggedTensor) or type(value).__name__ == "Variable":
        dtype = getattr(value.dtype, "name", value.dtype)
        return (str(dtype).removesuffix("_ref"), tuple(value.shape))
    return None


def types_of(source: str, name: str) -> dict[str, Any]:
    """The types of a program's variables, as it ran."""
    tf.keras.backend.clear_session()
    ran: dict[str, object] = {}
    try:
        exec(compile(source, name, "exec"), ran)
    finally:
        # Keras keeps the policy that it made of a setting: layers of later tests would have it
        tf.keras.backend.clear_session()
    return {variable: described(value) for variable, value in ran.items() if not variable.startswith("__")}


def told(value: Value | None) -> Any:
    """The same of what the analysis tells of eager code."""
    match without_marks(value) if value is not None else None:
        case TensorValue(type, kind):
            return (type.dtype, type.shape) if kind is not TensorKind.INDEXED_SLICES else None
        case TupleValue(elements):
            return [told(element) for element in elements]
        case FrozenList(elements) if elements is not None:
            return [told(element) for element in elements]
        case _:
            return None


def agree(ran: Any, ours: Any, *, may_be_open: bool) -> bool:
    if ran is None or (ours is None and may_be_open):
        return True
    if isinstance(ran, list):
        if not any(member is not None for member in ran):
            return True
        return isinstance(ours, list) and all(
            agree(a, b, may_be_open=may_be_open) for a, b in zip(ran, ours, strict=True)
        )
    if not may_be_open:
        return bool(ran == ours)
    dtype, shape = ours
    sizes = shape is None or all(size in (None, real) for size, real in zip(shape, ran[1], strict=True))
    return dtype in (None, ran[0]) and sizes


@pytest.mark.parametrize("name", PROGRAMS)
def test_variables_have_the_types_that_are_told(name: str) -> None:
    source = textwrap.dedent(PROGRAMS[name])
    if "tensorflow_probability" in source:
        pytest.importorskip("tensorflow_probability")
    ran = ast.literal_eval(RAN.answer(source, lambda: repr(types_of(source, name))))
    result = analyze_files({"m.py": source})
    (body,) = result.facts.contexts_of(FunctionId("m", 0))
    values: dict[str, list[Value]] = {}
    for op in walk(result.program.function(FunctionId("m", 0)).body):
        if isinstance(op, StoreName) and (value := body.value(op.value)) is not None:
            values.setdefault(op.name, []).append(value)
    wrong = {
        variable: (ran[variable], told(join_all(found)))
        for variable, found in values.items()
        if not agree(ran[variable], told(join_all(found)), may_be_open=variable.endswith("_open"))
    }
    assert not wrong
    assert any(value is not None for value in ran.values())
