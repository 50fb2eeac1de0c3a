"""Sequence to sequence with Bahdanau attention, reading a generator, teacher forcing."""
import random

import tensorflow as tf
from tensorflow.keras.layers import Dense, Embedding, LSTM, Bidirectional

CHARS = "0123456789-/ "
MAX_IN, MAX_OUT = 12, 10
PAD, START = 0, 1


class Vocab:
    def __init__(self, chars):
        self.chars = chars
        self.to_id = {c: i + 2 for i, c in enumerate(chars)}

    def __len__(self):
        return len(self.chars) + 2

    def encode(self, s, length):
        ids = [self.to_id[c] for c in s]
        return ids + [PAD] * (length - len(ids))


vocab = Vocab(CHARS)


def random_pair():
    y, m, d = random.randint(1900, 2050), random.randint(1, 12), random.randint(1, 28)
    return f"{d}/{m}/{y}", f"{y:04d}-{m:02d}-{d:02d}"


def generator():
    for _ in range(64):
        src, tgt = random_pair()
        yield vocab.encode(src, MAX_IN), vocab.encode(tgt, MAX_OUT)


def make_dataset(batch):
    ds = tf.data.Dataset.from_generator(
        generator,
        output_signature=(tf.TensorSpec((MAX_IN,), tf.int32), tf.TensorSpec((MAX_OUT,), tf.int32)),
    )
    return ds.batch(batch, drop_remainder=True)


class Encoder(tf.keras.layers.Layer):
    def __init__(self, vocab_size, emb, units):
        super().__init__()
        self.embedding = Embedding(vocab_size, emb, mask_zero=True)
        self.rnn = Bidirectional(LSTM(units, return_sequences=True, return_state=True))

    def call(self, x):
        x = self.embedding(x)
        out, fh, fc, bh, bc = self.rnn(x)
        return out, tf.concat([fh, bh], -1), tf.concat([fc, bc], -1)


class BahdanauAttention(tf.keras.layers.Layer):
    def __init__(self, units):
        super().__init__()
        self.W1 = Dense(units)
        self.W2 = Dense(units)
        self.V = Dense(1)

    def call(self, query, values, mask=None):
        query_with_time_axis = tf.expand_dims(query, 1)
        score = self.V(tf.nn.tanh(self.W1(query_with_time_axis) + self.W2(values)))
        attention_weights = tf.nn.softmax(score, axis=1)
        context_vector = attention_weights * values
        context_vector = tf.reduce_sum(context_vector, axis=1)
        return context_vector, attention_weights


class Decoder(tf.keras.Model):
    def __init__(self, vocab_size, emb, units):
        super().__init__()
        self.embedding = Embedding(vocab_size, emb)
        self.cell = tf.keras.layers.LSTMCell(units)
        self.fc = Dense(vocab_size)
        self.attention = BahdanauAttention(units)

    def call(self, token, state, enc_output):
        context, weights = self.attention(state[0], enc_output)
        x = tf.concat([context, self.embedding(token)], axis=-1)
        out, state = self.cell(x, state)
        return self.fc(out), state, weights


def loss_function(real, pred):
    loss_object = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True, reduction="none")
    loss_ = loss_object(real, pred)
    mask = tf.cast(tf.math.logical_not(tf.math.equal(real, PAD)), dtype=loss_.dtype)
    return tf.reduce_mean(loss_ * mask)


class Translator(tf.Module):
    def __init__(self, units=24, emb=12):
        super().__init__()
        self.encoder = Encoder(len(vocab), emb, units)
        self.decoder = Decoder(len(vocab), emb, 2 * units)
        self.opt = tf.keras.optimizers.RMSprop(1e-3)

    def forward(self, src, tgt):
        enc, h, c = self.encoder(src)
        state = [h, c]
        token = tf.fill([src.shape[0]], START)
        loss = 0.0
        for t in range(tgt.shape[1]):
            logits, state, _ = self.decoder(token, state, enc)
            loss += loss_function(tgt[:, t], logits)
            token = tgt[:, t]
        return loss / float(tgt.shape[1])

    def train_step(self, src, tgt):
        with tf.GradientTape() as tape:
            loss = self.forward(src, tgt)
        variables = self.encoder.trainable_variables + self.decoder.trainable_variables
        self.opt.apply_gradients(zip(tape.gradient(loss, variables), variables))
        return loss

    def translate(self, src, max_len=MAX_OUT):
        enc, h, c = self.encoder(src)
        state = [h, c]
        token = tf.fill([tf.shape(src)[0]], START)
        tokens, attns = [], []
        for _ in range(max_len):
            logits, state, w = self.decoder(token, state, enc)
            token = tf.argmax(logits, axis=-1, output_type=tf.int32)
            tokens.append(token)
            attns.append(tf.squeeze(w, -1))
        return tf.stack(tokens, axis=1), tf.stack(attns, axis=1)


def exact_match(pred, target):
    same = tf.reduce_all(tf.equal(pred, target), axis=1)
    return tf.reduce_mean(tf.cast(same, tf.float32))


def main():
    model = Translator()
    ds = make_dataset(16)
    for src, tgt in ds:
        loss = model.train_step(src, tgt)
    pred, attn = model.translate(src)
    print(float(loss), pred.shape, attn.shape, float(exact_match(pred, tgt)))


if __name__ == "__main__":
    main()
