"""The catalogue and its tables against the installed TensorFlow, Keras and NumPy.

An eager-only function must fail inside a traced function and work outside; what is called unsupported by XLA must
work as a graph and fail under `jit_compile=True`; costs are counted again; and the data must be what the generator makes
of the installed versions. What TensorFlow did is kept (`kept_answers`); what the tables say is compared in each run.
"""

from __future__ import annotations

import functools
import gzip
import hashlib
import importlib.metadata
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from kept_answers import Harness, code_of, digest

from terra_refactor.tf_model import registry
from terra_refactor.tf_model.costs import OPERATIONS, STEPPING
from terra_refactor.tf_model.spec import Trait
from terra_refactor.tf_model.traits import TRAITS

pytestmark = pytest.mark.tensorflow

tf = pytest.importorskip("tensorflow")
keras = pytest.importorskip("keras")
np = pytest.importorskip("numpy")

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "terra_refactor" / "tf_model" / "catalogue_data"
RUNS = Harness("catalogue", (Path(__file__),))


@pytest.mark.slow
def test_the_data_is_what_the_generator_makes_of_the_installed_versions() -> None:
    """Fails where an installed version's file is stale; says so where a newer version is installed than the data is of."""
    wanted = {}
    for path in sorted(DATA.glob("*.json.gz")):
        content = json.loads(gzip.decompress(path.read_bytes()))
        library, version = content["library"], content["version"]
        if library == "python":
            installed = ".".join(map(str, sys.version_info[:2]))
        else:
            try:
                installed = importlib.metadata.version(library)
            except importlib.metadata.PackageNotFoundError:
                continue
        if installed == version:
            wanted[library] = version
    if not wanted:
        pytest.skip("the catalogue describes none of the installed versions: run tools/make_catalogue.py")
    generator = ROOT / "tools" / "make_catalogue.py"
    command = [sys.executable, str(generator), "--check", "--only", *sorted(wanted)]

    def ask() -> str:
        result = subprocess.run(
            command, capture_output=True, text=True, check=False, env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"}
        )
        assert result.returncode == 0, f"run tools/make_catalogue.py\n{result.stdout}{result.stderr[-2000:]}"
        return "current"

    data = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(DATA.iterdir())}
    code = [digest(code_of(path)) for path in (generator, generator.with_name("catalogue_libraries.py"))]
    assert RUNS.answer(json.dumps([sys.version, wanted, data, code]), ask) == "current"


class World:
    """Objects that the snippets below act on."""

    def __init__(self, directory: Path) -> None:
        self.path = str(directory)
        self.variable = tf.Variable([1.0, 2.0])
        self.module = tf.Module()
        self.module.variable = self.variable
        self.checkpoint = tf.train.Checkpoint(variable=self.variable)
        self.saved = self.checkpoint.save(f"{self.path}/checkpoint")
        self.manager = tf.train.CheckpointManager(self.checkpoint, f"{self.path}/manager", max_to_keep=2)
        self.ragged = tf.ragged.constant([[1], [2, 3]])
        self.dataset = tf.data.Dataset.range(4)
        self.y = tf.ones([4, 1])
        self.model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1)])
        self.model.compile("sgd", "mse")
        self.model.save(f"{self.path}/model.keras")
        self.table = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(["a"], [1]), -1)


Snippet = Callable[[World, Any], Any]

EAGER_ONLY: dict[str, Snippet] = {
    "tensorflow.Tensor.numpy": lambda w, t: t.numpy(),
    "tensorflow.Tensor.__array__": lambda w, t: t.__array__(),
    "tensorflow.Tensor.__float__": lambda w, t: t[0, 0].__float__(),
    "tensorflow.Tensor.__index__": lambda w, t: [1, 2, 3][tf.cast(t[0, 0], tf.int32)],
    "tensorflow.Tensor.__complex__": lambda w, t: complex(t[0, 0]),
    "tensorflow.Tensor.__iter__": lambda w, t: [row for row in t],  # noqa: C416 - the loop is the point
    "tensorflow.Tensor.__len__": lambda w, t: t.__len__(),
    "tensorflow.Tensor.backing_device": lambda w, t: t.backing_device,
    "tensorflow.Tensor.cpu": lambda w, t: t.cpu(),
    "tensorflow.Variable.numpy": lambda w, t: w.variable.numpy(),
    "tensorflow.Variable.__array__": lambda w, t: w.variable.__array__(),
    "tensorflow.RaggedTensor.numpy": lambda w, t: w.ragged.with_values(w.ragged.values + 1).numpy(),
    "tensorflow.RaggedTensor.to_list": lambda w, t: w.ragged.with_values(w.ragged.values + 1).to_list(),
    "tensorflow.data.Dataset.as_numpy_iterator": lambda w, t: w.dataset.as_numpy_iterator(),
    "tensorflow.data.Dataset.__len__": lambda w, t: w.dataset.__len__(),
    "tensorflow.saved_model.save": lambda w, t: tf.saved_model.save(w.module, f"{w.path}/saved"),
    "tensorflow.make_ndarray": lambda w, t: tf.make_ndarray(tf.make_tensor_proto(t)),
    "tensorflow.make_tensor_proto": lambda w, t: tf.make_tensor_proto(t),
    "tensorflow.test.compute_gradient": lambda w, t: tf.test.compute_gradient(lambda x: x * 2, [t]),
    "tensorflow.train.Checkpoint.save": lambda w, t: w.checkpoint.save(f"{w.path}/other"),
    "tensorflow.train.Checkpoint.restore": lambda w, t: w.checkpoint.restore(w.saved),
    "tensorflow.train.Checkpoint.read": lambda w, t: w.checkpoint.read(w.saved),
    "tensorflow.train.CheckpointManager.save": lambda w, t: w.manager.save(),
    "keras.Variable.numpy": lambda w, t: w.model.layers[-1].kernel.numpy(),
    "keras.Variable.__array__": lambda w, t: w.model.layers[-1].kernel.__array__(),
    "keras.Model.fit": lambda w, t: w.model.fit(t, w.y, verbose=0),
    "keras.Model.evaluate": lambda w, t: w.model.evaluate(t, w.y, verbose=0),
    "keras.Model.predict": lambda w, t: w.model.predict(t, verbose=0),
    "keras.Model.predict_on_batch": lambda w, t: w.model.predict_on_batch(t),
    "keras.Model.save": lambda w, t: w.model.save(f"{w.path}/again.keras"),
    "keras.Model.save_weights": lambda w, t: w.model.save_weights(f"{w.path}/again.weights.h5"),
    "keras.Model.export": lambda w, t: w.model.export(f"{w.path}/export", verbose=False),
    "keras.Model.compile": lambda w, t: w.model.compile("adam", "mse"),
    "keras.layers.Layer.get_weights": lambda w, t: w.model.layers[-1].get_weights(),
    "keras.models.clone_model": lambda w, t: keras.models.clone_model(w.model),
    "keras.saving.save_model": lambda w, t: keras.saving.save_model(w.model, f"{w.path}/third.keras"),
    "keras.saving.load_model": lambda w, t: keras.saving.load_model(f"{w.path}/model.keras"),
    "keras.ops.convert_to_numpy": lambda w, t: keras.ops.convert_to_numpy(t),
    "keras.utils.clear_session": lambda w, t: keras.utils.clear_session(),
    "keras.utils.pad_sequences": lambda w, t: keras.utils.pad_sequences(t),
    "keras.utils.img_to_array": lambda w, t: keras.utils.img_to_array(t),
    "keras.backend.get_value": lambda w, t: tf.keras.backend.get_value(t),
    "keras.backend.eval": lambda w, t: tf.keras.backend.eval(t),
    "keras.backend.batch_get_value": lambda w, t: tf.keras.backend.batch_get_value([w.variable]),
}

NOT_RUN = {
    # what the installed versions or this machine have not
    "tensorflow.Tensor.tolist": "only NumPy behaviour has it",
    "tensorflow.Tensor.eval": "fails in eager mode too: TensorFlow 1",
    "tensorflow.Variable.eval": "fails in eager mode too: TensorFlow 1",
    "tensorflow.Tensor.gpu": "needs a GPU",
    "tensorflow.Variable.__iter__": "fails in eager mode too",
    "tensorflow.train.CheckpointManager.restore_or_initialize": "restores by Checkpoint.restore",
    "keras.Variable.__float__": "calls keras.Variable.numpy",
    "keras.Variable.__int__": "calls keras.Variable.numpy",
    "keras.Model.train_on_batch": "may work in a graph, but gives tensors for the numbers it promises",
    "keras.Model.test_on_batch": "may work in a graph, but gives tensors for the numbers it promises",
    "keras.Model.fit_generator": "Keras 2",
    "keras.Model.evaluate_generator": "Keras 2",
    "keras.Model.predict_generator": "Keras 2",
    "keras.optimizers.legacy.Optimizer.get_weights": "Keras 2",
    "keras.utils.array_to_img": "needs PIL",
    "keras.utils.save_img": "needs PIL",
}


def test_every_eager_only_row_is_run_or_excused() -> None:
    rows = {name for name, traits in TRAITS.exact.items() if Trait.EAGER_ONLY in traits}
    assert rows == set(EAGER_ONLY) | set(NOT_RUN)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Callable[[], World]:
    """Makes the world when it is first asked for."""
    return functools.cache(lambda: World(tmp_path_factory.mktemp("world")))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", sorted(EAGER_ONLY))
def test_eager_only_calls_fail_in_graphs_alone(name: str, tmp_path: Path) -> None:
    def ask() -> str:
        snippet = EAGER_ONLY[name]
        eager_world, graph_world = World(tmp_path / "eager"), World(tmp_path / "graph")
        argument = tf.ones([4, 3])
        snippet(eager_world, argument)

        @tf.function
        def traced(tensor: Any) -> Any:
            result = snippet(graph_world, tensor)
            return result if isinstance(result, tf.Tensor) else tensor

        with pytest.raises(Exception):  # noqa: B017 - each raises its own kind
            traced(argument)
            traced(argument + 1)
        return "fails in graphs alone"

    assert RUNS.answer(f"eager only: {name}", ask) == "fails in graphs alone"


XLA_UNSUPPORTED: dict[str, Snippet] = {
    "tensorflow.strings.join": lambda w, t: tf.strings.length(tf.strings.join([tf.strings.as_string(t), "a"])),
    "tensorflow.strings.as_string": lambda w, t: tf.strings.length(tf.strings.as_string(t)),
    "tensorflow.strings.to_number": lambda w, t: tf.strings.to_number(tf.strings.as_string(t)),
    "tensorflow.strings.regex_replace": lambda w, t: tf.strings.length(
        tf.strings.regex_replace(tf.strings.as_string(t), "a", "b")
    ),
    "tensorflow.print": lambda w, t: tf.print(t, output_stream="file:///dev/null"),
    "tensorflow.py_function": lambda w, t: tf.py_function(lambda x: x + 1, [t], tf.float32),
    "tensorflow.numpy_function": lambda w, t: tf.numpy_function(lambda x: x + 1, [t], tf.float32),
    "tensorflow.lookup.StaticHashTable.lookup": lambda w, t: w.table.lookup(tf.strings.as_string(t[0])),
    "tensorflow.io.serialize_tensor": lambda w, t: tf.strings.length(tf.io.serialize_tensor(t)),
    "tensorflow.io.encode_png": lambda w, t: tf.strings.length(
        tf.io.encode_png(tf.cast(t[..., None, None], tf.uint8)[0])
    ),
    "tensorflow.data.Dataset.reduce": lambda w, t: w.dataset.reduce(tf.constant(0, tf.int64), lambda a, b: a + b),
    "tensorflow.histogram_fixed_width": lambda w, t: tf.histogram_fixed_width(t, [0.0, 1.0]),
    "tensorflow.fingerprint": lambda w, t: tf.fingerprint(t),
    "tensorflow.nn.ctc_greedy_decoder": lambda w, t: tf.nn.ctc_greedy_decoder(t[:, None], [4])[1],
    "tensorflow.sparse.sparse_dense_matmul": lambda w, t: tf.sparse.sparse_dense_matmul(
        tf.sparse.from_dense(t), t, adjoint_b=True
    ),
    "tensorflow.image.crop_and_resize": lambda w, t: tf.image.crop_and_resize(
        t[None, ..., None], [[0.0, 0.0, 1.0, 1.0]], [0], [4, 4]
    ),
    "tensorflow.image.draw_bounding_boxes": lambda w, t: tf.image.draw_bounding_boxes(
        tf.tile(t[None, ..., None], [1, 1, 1, 3]), [[[0.0, 0.0, 1.0, 1.0]]], [[1.0, 1.0, 1.0]]
    ),
    "tensorflow.image.adjust_jpeg_quality": lambda w, t: tf.image.adjust_jpeg_quality(t[..., None], 50),
    "tensorflow.math.segment_sum": lambda w, t: tf.math.segment_sum(t, [0, 0, 1, 1]),
    "tensorflow.linalg.lu": lambda w, t: tf.linalg.lu(t[:3] + tf.eye(3))[0],
    "tensorflow.linalg.det": lambda w, t: tf.linalg.det(t[:3] + tf.eye(3)),
    "tensorflow.linalg.eig": lambda w, t: tf.linalg.eig(t[:3] + tf.eye(3))[0],
    "tensorflow.linalg.sqrtm": lambda w, t: tf.linalg.sqrtm(t[:3] + tf.eye(3)),
    "tensorflow.random.poisson": lambda w, t: tf.random.poisson([2], t),
    "tensorflow.random.gamma": lambda w, t: tf.random.gamma([2], t),
    "tensorflow.random.stateless_binomial": lambda w, t: tf.random.stateless_binomial([4, 3], [1, 2], t, 0.5),
    "tensorflow.sets.union": lambda w, t: tf.sets.union(tf.cast(t, tf.int32), tf.cast(t, tf.int32)).values,
    "tensorflow.RaggedTensor.to_tensor": lambda w, t: tf.RaggedTensor.from_row_lengths(t, [1, 3]).to_tensor(),
    "tensorflow.edit_distance": lambda w, t: tf.edit_distance(
        tf.sparse.from_dense(tf.cast(t, tf.int64)), tf.sparse.from_dense(tf.cast(t, tf.int64))
    ),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", sorted(XLA_UNSUPPORTED))
def test_what_xla_cannot_compile_fails_to_compile(name: str, world: Callable[[], World]) -> None:
    entity = registry.lookup(name)
    assert entity is not None and Trait.XLA_UNSUPPORTED in entity.traits
    snippet = XLA_UNSUPPORTED[name]

    def ask() -> str:
        made = world()

        def run(tensor: Any) -> Any:
            result = snippet(made, tensor)
            return result if isinstance(result, tf.Tensor) else tensor

        tf.function(run)(tf.ones([4, 3]))
        with pytest.raises(Exception):  # noqa: B017 - each raises its own kind
            tf.function(run, jit_compile=True)(tf.ones([4, 3]))
        return "fails to compile"

    assert RUNS.answer(f"XLA: {name}", ask) == "fails to compile"


def operations_of(call: Callable[[], object]) -> int:
    """The number of operations that the runtime executes eagerly in the second of two calls."""
    op_callbacks = pytest.importorskip("tensorflow.python.framework.op_callbacks")
    seen: list[object] = []

    def count(
        op_type: object, inputs: object, attrs: object, outputs: object, op_name: object = None, graph: object = None
    ) -> None:
        if graph is None:
            seen.append(op_type)

    call()
    op_callbacks.add_op_callback(count)
    try:
        call()
    finally:
        op_callbacks.remove_op_callback(count)
    return len(seen)


def _costs() -> dict[str, Callable[[], object]]:
    x, image, sequence = tf.ones([4, 8]), tf.ones([2, 16, 16, 3]), tf.ones([4, 6, 8])
    labels, logits = tf.constant([0, 1, 2, 3]), tf.ones([4, 5])
    dense, conv, norm = (
        keras.layers.Dense(4),
        keras.layers.Conv2D(4, 3),
        keras.layers.LayerNormalization(),
    )
    attention = keras.layers.MultiHeadAttention(2, 4)
    optimizer = keras.optimizers.Adam()
    variables = [tf.Variable(tf.ones([4])) for _ in range(4)]
    mean = keras.metrics.Mean()
    loss = keras.losses.MeanSquaredError()
    return {
        "keras.layers.Dense.__call__": lambda: dense(x),
        "keras.layers.Conv2D.__call__": lambda: conv(image),
        "keras.layers.LayerNormalization.__call__": lambda: norm(x),
        "keras.layers.MultiHeadAttention.__call__": lambda: attention(sequence, sequence),
        "keras.optimizers.Adam.apply_gradients": lambda: optimizer.apply_gradients(
            zip([tf.ones([4])] * 4, variables, strict=True)
        ),
        "keras.metrics.Mean.update_state": lambda: mean.update_state(x),
        "keras.losses.MeanSquaredError.__call__": lambda: loss(x, x),
        "tensorflow.nn.moments": lambda: tf.nn.moments(x, [0]),
        "tensorflow.clip_by_norm": lambda: tf.clip_by_norm(x, 1.0),
        "tensorflow.boolean_mask": lambda: tf.boolean_mask(x, [True] * 4),
        "tensorflow.nn.softmax_cross_entropy_with_logits": lambda: tf.nn.softmax_cross_entropy_with_logits(
            tf.one_hot(labels, 5), logits
        ),
    }


def test_costs_are_about_what_the_runtime_executes() -> None:
    for name, call in _costs().items():
        measured = operations_of(call)
        assert OPERATIONS[name] / 2 <= measured <= OPERATIONS[name] * 2, (
            f"{name}: {OPERATIONS[name]}, measured {measured}"
        )


@pytest.mark.parametrize("steps", [6, 20])
def test_what_steps_through_time_executes_so_much_for_each_step(steps: int) -> None:
    found = json.loads(RUNS.answer(f"{steps} steps", lambda: json.dumps(_stepping(steps))))
    assert found.keys() == STEPPING.keys()
    for name, (operations, nodes) in found.items():
        row = STEPPING[name]
        expected = row.fixed + steps * row.each
        assert 0.8 * expected <= operations <= 1.25 * expected
        assert 0.8 * row.nodes <= nodes <= 1.25 * row.nodes


def _stepping(steps: int) -> dict[str, tuple[int, int]]:
    """By name of a call, its eager operations and the nodes of its graph."""
    logits, lengths = tf.random.normal([4, steps, 8]), tf.fill([4], steps)
    images = tf.ones([4, steps, 8, 8, 3])
    layers = {
        "Bidirectional": keras.layers.Bidirectional(keras.layers.LSTM(4)),
        "GRU": keras.layers.GRU(4),
        "LSTM": keras.layers.LSTM(4),
        "RNN": keras.layers.RNN(keras.layers.LSTMCell(4)),
        "SimpleRNN": keras.layers.SimpleRNN(4),
    }
    convolution = keras.layers.ConvLSTM2D(2, 3)
    calls = {
        "tensorflow.nn.ctc_loss": lambda: tf.nn.ctc_loss(
            [[1, 2, 3]] * 4, logits, [3] * 4, lengths, logits_time_major=False, blank_index=0
        ),
        "keras.layers.ConvLSTM2D.__call__": lambda: convolution(images, training=True),
        **{
            f"keras.layers.{name}.__call__": functools.partial(layer, logits, training=True)
            for name, layer in layers.items()
        },
    }
    found = {}
    for name, call in calls.items():
        operations = operations_of(call)
        graph = tf.function(call, autograph=False).get_concrete_function().graph.as_graph_def()
        nodes = len(graph.node) + sum(len(function.node_def) for function in graph.library.function)
        found[name] = (operations, nodes)
    return found


def test_operations_without_a_row_execute_about_one() -> None:
    x = tf.ones([4, 8])
    for name, call in {
        "tensorflow.math.add": lambda: tf.add(x, x),
        "tensorflow.reshape": lambda: tf.reshape(x, [-1]),
        "tensorflow.nn.relu": lambda: tf.nn.relu(x),
        "tensorflow.math.reduce_mean": lambda: tf.reduce_mean(x),
    }.items():
        entity = registry.lookup(name)
        assert entity is not None and name not in OPERATIONS
        assert entity.operations == operations_of(call) == 1


@pytest.mark.parametrize(
    "alias",
    [
        "tensorflow.add",
        "tensorflow.compat.v1.matmul",
        "tensorflow.keras.losses.mse",
        "tensorflow.keras.utils.to_categorical",
        "keras.Layer",
        "numpy.absolute",
        "tensorflow.optimizers.Adam",
        "tensorflow.compat.v1.train.load_checkpoint",
    ],
)
def test_an_alias_is_the_same_object(alias: str) -> None:
    def resolve(name: str) -> object:
        package, *rest = name.split(".")
        value = {"tensorflow": tf, "keras": keras, "numpy": np}[package]
        for leaf in rest:
            value = getattr(value, leaf)
        return value

    assert resolve(alias) is resolve(registry.canonical_name(alias))


def test_instances_have_the_attributes_that_the_registry_says() -> None:
    instances = {
        "tensorflow.Tensor": tf.ones([2, 3]),
        "tensorflow.Variable": tf.Variable([1.0]),
        "tensorflow.data.Dataset": tf.data.Dataset.range(3),
        "numpy.ndarray": np.ones([2]),
        "keras.layers.Dense": keras.layers.Dense(1),
        "keras.optimizers.Adam": keras.optimizers.Adam(),
        "keras.metrics.Mean": keras.metrics.Mean(),
        "keras.KerasTensor": keras.Input((3,)),
        "tensorflow.RaggedTensor": tf.ragged.constant([[1], [2, 3]]),
        "tensorflow.sparse.SparseTensor": tf.sparse.from_dense([[1.0]]),
        "tensorflow.TensorShape": tf.TensorShape([1, None]),
        "tensorflow.TensorSpec": tf.TensorSpec([1]),
    }
    for class_name, instance in instances.items():
        public = [name for name in dir(type(instance)) if not name.startswith("_")]
        assert [name for name in public if registry.attribute(class_name, name) is None] == [], class_name
