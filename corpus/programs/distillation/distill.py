"""Knowledge distillation: a large teacher, a small student, an abstract base for steps."""

import abc

import numpy as np
import tensorflow as tf


class Step(abc.ABC):
    """One step of training; subclasses say what the loss is."""

    def __init__(self, model, learning_rate):
        self.model = model
        self.optimizer = tf.keras.optimizers.Adam(learning_rate)
        self.seen = 0

    @abc.abstractmethod
    def loss(self, x, y):
        """The loss of a batch."""

    def __call__(self, x, y):
        with tf.GradientTape() as tape:
            loss = self.loss(x, y)
        gradients = tape.gradient(loss, self.model.trainable_variables)
        self.optimizer.apply_gradients(zip(gradients, self.model.trainable_variables))
        self.seen += 1
        return loss


class TeacherStep(Step):
    def loss(self, x, y):
        return tf.reduce_mean(
            tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=self.model(x, training=True))
        )


class StudentStep(Step):
    def __init__(self, model, teacher, learning_rate, temperature=3.0):
        super().__init__(model, learning_rate)
        self.teacher = teacher
        self.temperature = temperature

    def loss(self, x, y):
        soft = tf.nn.softmax(self.teacher(x) / self.temperature)
        logits = self.model(x, training=True)
        hard = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits))
        distance = tf.nn.softmax_cross_entropy_with_logits(labels=soft, logits=logits / self.temperature)
        return 0.3 * hard + 0.7 * tf.reduce_mean(distance) * self.temperature**2


def network(width):
    return tf.keras.Sequential(
        [tf.keras.Input((6,)), tf.keras.layers.Dense(width, activation="relu"), tf.keras.layers.Dense(3)]
    )


def accuracy(model, x, y):
    return tf.reduce_mean(tf.cast(tf.equal(tf.argmax(model(x), 1, output_type=tf.int32), y), tf.float32))


def train(step, dataset, epochs):
    for _ in range(epochs):
        for x, y in dataset:
            loss = step(x, y)
    return float(loss)


def main():
    rng = np.random.RandomState(73)
    x = rng.normal(0, 1, (512, 6)).astype("float32")
    y = np.argmax(x[:, :3] + 0.5 * x[:, 3:], axis=1).astype("int32")
    dataset = tf.data.Dataset.from_tensor_slices((x, y)).batch(64, drop_remainder=True)
    teacher, student = network(64), network(8)
    teacher_step = TeacherStep(teacher, 0.01)
    print(f"teacher loss {train(teacher_step, dataset, 12):.2f}")
    student_step = StudentStep(student, teacher, 0.01)
    print(f"student loss {train(student_step, dataset, 12):.2f}")
    print("steps", teacher_step.seen, student_step.seen, "better than chance", bool(accuracy(student, x, y) > 0.4))


if __name__ == "__main__":
    main()
