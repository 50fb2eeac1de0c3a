"""A training framework in small: an abstract trainer, task classes, metric dictionaries, logging, mixed use of inheritance and hooks."""

import abc
import collections
import logging
import time
from contextlib import contextmanager
from typing import Any, Callable, Dict, Mapping, Optional, Tuple

import numpy as np
import tensorflow as tf

logger = logging.getLogger(__name__)


@contextmanager
def timed(name, sink):
    start = time.perf_counter()
    yield
    sink[name] = time.perf_counter() - start


class Task(tf.Module, metaclass=abc.ABCMeta):
    def __init__(self, params, name=None):
        super().__init__(name=name)
        self.params = params

    @abc.abstractmethod
    def build_model(self) -> tf.keras.Model: ...

    @abc.abstractmethod
    def build_inputs(self, is_training): ...

    def build_losses(self, labels, model_outputs, aux_losses=None):
        losses = [tf.reduce_mean(self.loss_fn(labels, model_outputs))]
        if aux_losses:
            losses.extend(aux_losses)
        return tf.add_n(losses)

    def build_metrics(self, training=True):
        del training
        return []

    def process_metrics(self, metrics, labels, model_outputs):
        for metric in metrics:
            metric.update_state(labels, model_outputs)

    def train_step(self, inputs, model, optimizer, metrics=None):
        if isinstance(inputs, tuple) and len(inputs) == 2:
            features, labels = inputs
        else:
            features, labels = inputs, inputs
        with tf.GradientTape() as tape:
            outputs = model(features, training=True)
            loss = self.build_losses(labels=labels, model_outputs=outputs, aux_losses=model.losses)
        tvars = model.trainable_variables
        grads = tape.gradient(loss, tvars)
        grads, norm = tf.clip_by_global_norm(grads, self.params.get("clip", 1.0))
        optimizer.apply_gradients(list(zip(grads, tvars)))
        logs = {"loss": loss, "grad_norm": norm}
        if metrics:
            self.process_metrics(metrics, labels, outputs)
            logs.update({m.name: m.result() for m in metrics})
        return logs


class ClassificationTask(Task):
    loss_fn = staticmethod(tf.keras.losses.sparse_categorical_crossentropy)

    def build_model(self):
        regularizer = tf.keras.regularizers.L2(self.params["l2"])
        return tf.keras.Sequential(
            [
                tf.keras.layers.Dense(self.params["hidden"], activation="relu", kernel_regularizer=regularizer),
                tf.keras.layers.Dropout(self.params["dropout"]),
                tf.keras.layers.Dense(self.params["classes"], activation="softmax"),
            ]
        )

    def build_inputs(self, is_training):
        rng = np.random.RandomState(int(is_training))
        x = rng.randn(20, 6).astype("float32")
        y = (x.sum(-1) > 0).astype("int64")
        ds = tf.data.Dataset.from_tensor_slices((x, y))
        if is_training:
            ds = ds.shuffle(20).repeat()
        return ds.batch(5, drop_remainder=True)

    def build_metrics(self, training=True):
        return [tf.keras.metrics.SparseCategoricalAccuracy(name="acc")]


class DenoisingTask(Task):
    def loss_fn(self, labels, outputs):
        return tf.reduce_mean(tf.math.squared_difference(labels, outputs), axis=-1)

    def build_model(self):
        encoder = tf.keras.layers.Dense(self.params["hidden"], activation=tf.nn.tanh)
        decoder = tf.keras.layers.Dense(6)
        noise = tf.keras.layers.GaussianNoise(0.1)
        inputs = tf.keras.Input((6,))
        return tf.keras.Model(inputs, decoder(encoder(noise(inputs))))

    def build_inputs(self, is_training):
        x = tf.random.normal((16, 6))
        return tf.data.Dataset.from_tensor_slices(x).repeat(3).batch(4)


REGISTRY: Dict[str, Callable[..., Task]] = {}


def register(name):
    def decorator(cls):
        REGISTRY[name] = cls
        return cls

    return decorator


register("classify")(ClassificationTask)
register("denoise")(DenoisingTask)


class Trainer:
    def __init__(self, task: Task, optimizer: tf.keras.optimizers.Optimizer, callbacks=()):
        self.task = task
        self.model = task.build_model()
        self.optimizer = optimizer
        self.global_step = tf.Variable(0, dtype=tf.int64, trainable=False)
        self.train_metrics = task.build_metrics(training=True)
        self.train_loss = tf.keras.metrics.Mean("training_loss", dtype=tf.float32)
        self.callbacks = list(callbacks)
        self.timings: Dict[str, float] = {}

    def train(self, num_steps: int) -> Dict[str, tf.Tensor]:
        self.train_loop_begin()
        iterator = iter(self.task.build_inputs(is_training=True))
        with timed("train", self.timings):
            for _ in range(num_steps):
                logs = self.train_step(iterator)
                for callback in self.callbacks:
                    callback(self.global_step, logs)
        return self.train_loop_end()

    def train_loop_begin(self):
        self.train_loss.reset_state()
        for metric in self.train_metrics:
            metric.reset_state()

    def train_step(self, iterator):
        def step_fn(inputs):
            logs = self.task.train_step(inputs, model=self.model, optimizer=self.optimizer, metrics=self.train_metrics)
            self.train_loss.update_state(logs["loss"])
            self.global_step.assign_add(1)
            return logs

        return step_fn(next(iterator))

    def train_loop_end(self):
        logs = {"loss": self.train_loss.result()}
        for metric in self.train_metrics:
            logs[metric.name] = metric.result()
        return logs

    def evaluate(self, steps: Optional[int] = None) -> Mapping[str, np.ndarray]:
        outputs = collections.defaultdict(list)
        for i, batch in enumerate(self.task.build_inputs(is_training=False)):
            if steps is not None and i >= steps:
                break
            x, y = batch if isinstance(batch, tuple) else (batch, batch)
            prediction = self.model(x, training=False)
            outputs["prediction"].append(prediction.numpy())
            outputs["label"].append(y.numpy())
        return {k: np.concatenate(v, axis=0) for k, v in outputs.items()}


def log_callback(step: tf.Variable, logs: Dict[str, tf.Tensor]) -> None:
    logger.info("step %d: %s", int(step), {k: float(v) for k, v in logs.items()})


def summarize(results: Mapping[str, np.ndarray]) -> Tuple[float, Tuple[int, ...]]:
    prediction, label = results["prediction"], results["label"]
    error = np.abs(prediction.mean(axis=0) - label.mean(axis=0))
    return float(error.max()), prediction.shape


def run(name: str, **overrides: Any):
    params = {"hidden": 8, "classes": 2, "dropout": 0.2, "l2": 1e-4, **overrides}
    task = REGISTRY[name](params)
    trainer = Trainer(task, tf.keras.optimizers.SGD(0.05), callbacks=[log_callback])
    logs = trainer.train(3)
    return logs, summarize(trainer.evaluate(2))


if __name__ == "__main__":
    for task_name in sorted(REGISTRY):
        logs, summary = run(task_name, clip=0.5)
        print(task_name, sorted(logs), summary[1])
