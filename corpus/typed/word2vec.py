"""Skip-gram with sampled softmax; batches from a deque, nearest words by cosine."""

import collections
import random

import numpy as np
import tensorflow as tf

random.seed(4)
corpus = ("the quick brown fox jumps over the lazy dog while the cat sleeps on the mat " * 8).split()

embedding_size = 12
max_vocabulary_size = 20
skip_window = 2
num_skips = 2
num_sampled = 5

count = [("UNK", -1)]
count.extend(collections.Counter(corpus).most_common(max_vocabulary_size - 1))
word2id = {word: i for i, (word, _) in enumerate(count)}
id2word = dict(zip(word2id.values(), word2id.keys()))
vocabulary_size = len(id2word)
data = [word2id.get(word, 0) for word in corpus]
data_index = 0


def next_batch(batch_size, num_skips, skip_window):
    global data_index
    batch = np.ndarray(shape=(batch_size), dtype=np.int32)
    labels = np.ndarray(shape=(batch_size, 1), dtype=np.int32)
    span = 2 * skip_window + 1
    buffer = collections.deque(maxlen=span)
    if data_index + span > len(data):
        data_index = 0
    buffer.extend(data[data_index : data_index + span])
    data_index += span
    for i in range(batch_size // num_skips):
        context_words = [w for w in range(span) if w != skip_window]
        for j, context_word in enumerate(random.sample(context_words, num_skips)):
            batch[i * num_skips + j] = buffer[skip_window]
            labels[i * num_skips + j, 0] = buffer[context_word]
        if data_index == len(data):
            buffer.extend(data[0:span])
            data_index = span
        else:
            buffer.append(data[data_index])
            data_index += 1
    return batch, labels


embedding = tf.Variable(tf.random.normal([max_vocabulary_size, embedding_size]))
nce_weights = tf.Variable(tf.random.normal([max_vocabulary_size, embedding_size]))
nce_biases = tf.Variable(tf.zeros([max_vocabulary_size]))


def get_embedding(x):
    return tf.nn.embedding_lookup(embedding, x)


def nce_loss(x_embed, y):
    y = tf.cast(y, tf.int64)
    return tf.reduce_mean(
        tf.nn.nce_loss(
            weights=nce_weights,
            biases=nce_biases,
            labels=y,
            inputs=x_embed,
            num_sampled=num_sampled,
            num_classes=max_vocabulary_size,
        )
    )


def evaluate(x_embed):
    x_embed = tf.cast(x_embed, tf.float32)
    x_norm = x_embed / tf.sqrt(tf.reduce_sum(tf.square(x_embed)))
    embedding_norm = embedding / tf.sqrt(tf.reduce_sum(tf.square(embedding), 1, keepdims=True))
    return tf.matmul(x_norm, embedding_norm, transpose_b=True)


optimizer = tf.optimizers.SGD(0.1)


def run_optimization(x, y):
    with tf.GradientTape() as g:
        emb = get_embedding(x)
        loss = nce_loss(emb, y)
    gradients = g.gradient(loss, [embedding, nce_weights, nce_biases])
    optimizer.apply_gradients(zip(gradients, [embedding, nce_weights, nce_biases]))


x_test = np.array([word2id[w] for w in ("fox", "dog", "cat")])
for step in range(1, 5):
    batch_x, batch_y = next_batch(8, num_skips, skip_window)
    run_optimization(batch_x, batch_y)
similarity = evaluate(get_embedding(x_test)).numpy()
for i in range(len(x_test)):
    nearest = (-similarity[i, :]).argsort()[1:4]
    print(id2word[x_test[i]], [id2word.get(n, "?") for n in nearest])
