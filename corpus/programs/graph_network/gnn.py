"""Message passing on a random graph with segment sums; node classification."""

import numpy as np
import tensorflow as tf


class MessagePassing(tf.keras.layers.Layer):
    def __init__(self, units):
        super().__init__()
        self.message = tf.keras.layers.Dense(units, activation="relu")
        self.update = tf.keras.layers.Dense(units, activation="relu")

    def call(self, nodes, edges):
        sources, targets = edges[:, 0], edges[:, 1]
        messages = self.message(tf.concat([tf.gather(nodes, sources), tf.gather(nodes, targets)], axis=1))
        summed = tf.math.unsorted_segment_sum(messages, targets, num_segments=tf.shape(nodes)[0])
        return self.update(tf.concat([nodes, summed], axis=1))


class NodeClassifier(tf.keras.Model):
    def __init__(self, classes):
        super().__init__()
        self.first = MessagePassing(16)
        self.second = MessagePassing(16)
        self.head = tf.keras.layers.Dense(classes)

    def call(self, nodes, edges):
        return self.head(self.second(self.first(nodes, edges), edges))


def masked_loss(labels, logits, mask):
    loss = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
    mask = tf.cast(mask, loss.dtype)
    return tf.reduce_sum(loss * mask) / tf.maximum(tf.reduce_sum(mask), 1.0)


def masked_accuracy(labels, logits, mask):
    right = tf.cast(tf.equal(tf.argmax(logits, axis=1, output_type=tf.int32), labels), tf.float32)
    mask = tf.cast(mask, tf.float32)
    return tf.reduce_sum(right * mask) / tf.reduce_sum(mask)


def train_step(model, optimizer, nodes, edges, labels, mask):
    with tf.GradientTape() as tape:
        loss = masked_loss(labels, model(nodes, edges), mask)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    return loss


def evaluate(model, nodes, edges, labels, mask):
    return masked_accuracy(labels, model(nodes, edges), mask)


def make_graph(count, neighbours):
    rng = np.random.RandomState(19)
    labels = rng.randint(0, 3, count)
    nodes = rng.normal(0, 1, (count, 8)) + labels[:, None]
    edges = [(i, j) for i in range(count) for j in rng.choice(count, neighbours) if labels[i] == labels[j] or j % 5 == 0]
    return (
        tf.constant(nodes, tf.float32),
        tf.constant(edges, tf.int32),
        tf.constant(labels, tf.int32),
        tf.constant(rng.uniform(0, 1, count) < 0.6),
    )


def main():
    nodes, edges, labels, mask = make_graph(60, 4)
    model = NodeClassifier(3)
    optimizer = tf.keras.optimizers.Adam(1e-2)
    for step in range(150):
        loss = train_step(model, optimizer, nodes, edges, labels, mask)
        if step % 30 == 0:
            accuracy = evaluate(model, nodes, edges, labels, tf.logical_not(mask))
            print(f"{step}: loss {float(loss):.3f} accuracy {float(accuracy):.2f}")


if __name__ == "__main__":
    main()
