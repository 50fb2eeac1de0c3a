"""Skip-gram: labels of the noise-contrastive loss."""
import numpy as np
import tensorflow as tf

vocabulary_size = 500
embedding_size = 16
batch_size = 32
num_sampled = 8


def generate_batch(size):
    batch = np.ndarray(shape=(size), dtype=np.int32)
    labels = np.ndarray(shape=(size, 1), dtype=np.int32)
    for i in range(size):
        batch[i] = i % vocabulary_size
        labels[i, 0] = (i + 1) % vocabulary_size
    return batch, labels


graph = tf.Graph()
with graph.as_default():
    train_inputs = tf.placeholder(tf.int32, shape=[batch_size])
    train_labels = tf.placeholder(tf.int32, shape=[batch_size])
    embeddings = tf.Variable(tf.random_uniform([vocabulary_size, embedding_size], -1.0, 1.0))
    embed = tf.nn.embedding_lookup(embeddings, train_inputs)
    nce_weights = tf.Variable(tf.truncated_normal([vocabulary_size, embedding_size]))
    nce_biases = tf.Variable(tf.zeros([vocabulary_size]))
    loss = tf.reduce_mean(tf.nn.nce_loss(nce_weights, nce_biases, train_labels, embed, num_sampled, vocabulary_size))  # BUG raises: labels must be (batch, 1)
    init = tf.global_variables_initializer()

with tf.Session(graph=graph) as session:
    session.run(init)
    batch_inputs, batch_labels = generate_batch(batch_size)
    print(session.run(loss, {train_inputs: batch_inputs, train_labels: batch_labels}) > 0)
