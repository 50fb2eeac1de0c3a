"""Word level GRU language model with a custom GRU cell and sampling."""
import os
import time

import numpy as np
import tensorflow as tf

TEXT = ("the quick brown fox jumps over the lazy dog and then the dog sleeps while the fox runs away " * 20).strip()
BATCH = 8
SEQ = 16
EMBED = 32
UNITS = 48


def build_vocab(text):
    words = text.split()
    vocab = sorted(set(words))
    word2idx = {w: i for i, w in enumerate(vocab)}
    idx2word = np.array(vocab)
    ids = np.array([word2idx[w] for w in words])
    return ids, word2idx, idx2word


def split_input_target(chunk):
    return chunk[:-1], chunk[1:]


class GRUCell(tf.keras.layers.Layer):
    def __init__(self, units, **kwargs):
        super().__init__(**kwargs)
        self.units = units

    def build(self, input_shape):
        d = input_shape[-1]
        self.wz = self.add_weight(shape=(d, self.units), initializer="glorot_uniform", name="wz")
        self.uz = self.add_weight(shape=(self.units, self.units), initializer="orthogonal", name="uz")
        self.wh = self.add_weight(shape=(d, self.units), initializer="glorot_uniform", name="wh")
        self.uh = self.add_weight(shape=(self.units, self.units), initializer="orthogonal", name="uh")
        self.bz = self.add_weight(shape=(self.units,), initializer="zeros", name="bz")

    def call(self, x, h):
        z = tf.sigmoid(x @ self.wz + h @ self.uz + self.bz)
        cand = tf.tanh(x @ self.wh + h @ self.uh)
        return (1.0 - z) * h + z * cand


class LanguageModel(tf.keras.Model):
    def __init__(self, vocab_size, embed, units):
        super().__init__()
        self.embedding = tf.keras.layers.Embedding(vocab_size, embed)
        self.cell = GRUCell(units)
        self.dropout = tf.keras.layers.Dropout(0.1)
        self.head = tf.keras.layers.Dense(vocab_size)
        self.units = units

    def initial_state(self, batch):
        return tf.zeros((batch, self.units))

    def call(self, tokens, state=None, training=False):
        x = self.embedding(tokens)
        if state is None:
            state = self.initial_state(tf.shape(tokens)[0])
        outputs = []
        for t in range(tokens.shape[1]):
            state = self.cell(x[:, t], state)
            outputs.append(state)
        h = tf.stack(outputs, axis=1)
        h = self.dropout(h, training=training)
        return self.head(h), state


def masked_loss(labels, logits, pad=-1):
    mask = tf.cast(labels != pad, tf.float32)
    per_token = tf.keras.losses.sparse_categorical_crossentropy(tf.maximum(labels, 0), logits, from_logits=True)
    return tf.reduce_sum(per_token * mask) / tf.reduce_sum(mask)


def clip_grads(grads, norm):
    clipped, global_norm = tf.clip_by_global_norm(grads, norm)
    return clipped, global_norm


def train_step(model, opt, inp, tgt):
    with tf.GradientTape() as tape:
        logits, _ = model(inp, training=True)
        loss = masked_loss(tgt, logits)
    grads = tape.gradient(loss, model.trainable_variables)
    grads, norm = clip_grads(grads, 1.0)
    opt.apply_gradients(zip(grads, model.trainable_variables))
    return loss, norm


def sample(logits, temperature):
    return tf.squeeze(tf.random.categorical(logits / temperature, num_samples=1), axis=-1)


def generate(model, start_ids, num_words, temperature=1.0):
    ids = tf.expand_dims(start_ids, 0)
    result = []
    state = None
    for _ in range(num_words):
        logits, state = model(ids, state)
        nxt = sample(logits[:, -1, :], temperature)
        ids = nxt[:, tf.newaxis]
        result.append(nxt[0])
    return tf.stack(result)


def main():
    ids, word2idx, idx2word = build_vocab(TEXT)
    ds = tf.data.Dataset.from_tensor_slices(ids)
    seqs = ds.batch(SEQ + 1, drop_remainder=True)
    dataset = seqs.map(split_input_target).shuffle(100).batch(BATCH, drop_remainder=True)
    model = LanguageModel(len(word2idx), EMBED, UNITS)
    opt = tf.keras.optimizers.Adam(learning_rate=0.005)
    for epoch in range(2):
        start = time.time()
        for step, (inp, tgt) in enumerate(dataset):
            loss, norm = train_step(model, opt, inp, tgt)
        print(f"epoch {epoch} {loss.numpy():.3f} {norm.numpy():.3f} {time.time() - start:.1f}")
    out = generate(model, tf.constant([word2idx["the"], word2idx["quick"]]), 5)
    print(" ".join(idx2word[out.numpy()]))


if __name__ == "__main__":
    main()
