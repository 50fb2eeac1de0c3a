"""One-hot labels are given to the loss for class numbers."""
import tensorflow as tf

NUM_CLASSES = 4
loss_object = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
dense = tf.keras.layers.Dense(NUM_CLASSES)


def encode(labels):
    return tf.one_hot(labels, NUM_CLASSES)


def train_step(features, labels):
    with tf.GradientTape() as tape:
        logits = dense(features)
        loss = loss_object(encode(labels), logits)  # BUG raises: labels (8, 4), logits (8, 4)
    return loss, tape.gradient(loss, dense.trainable_variables)


value, _ = train_step(tf.random.normal([8, 3]), tf.constant([0, 1, 2, 3, 0, 1, 2, 3]))
print(value.shape)
