"""Reverse digit sequences with an attention model: an encoder, a decoder, teacher forcing."""

import numpy as np
import tensorflow as tf

VOCABULARY = 12
START, END = 10, 11
LENGTH = 6


class Encoder(tf.keras.Model):
    def __init__(self, units):
        super().__init__()
        self.embedding = tf.keras.layers.Embedding(VOCABULARY, 16)
        self.gru = tf.keras.layers.GRU(units, return_sequences=True, return_state=True)

    def call(self, x):
        x = self.embedding(x)
        output, state = self.gru(x)
        return output, state


class BahdanauAttention(tf.keras.layers.Layer):
    def __init__(self, units):
        super().__init__()
        self.w1 = tf.keras.layers.Dense(units)
        self.w2 = tf.keras.layers.Dense(units)
        self.v = tf.keras.layers.Dense(1)

    def call(self, query, values):
        query = tf.expand_dims(query, 1)
        score = self.v(tf.nn.tanh(self.w1(query) + self.w2(values)))
        weights = tf.nn.softmax(score, axis=1)
        context = tf.reduce_sum(weights * values, axis=1)
        return context, weights


class Decoder(tf.keras.Model):
    def __init__(self, units):
        super().__init__()
        self.embedding = tf.keras.layers.Embedding(VOCABULARY, 16)
        self.gru = tf.keras.layers.GRU(units, return_sequences=True, return_state=True)
        self.fc = tf.keras.layers.Dense(VOCABULARY)
        self.attention = BahdanauAttention(units)

    def call(self, x, hidden, enc_output):
        context, weights = self.attention(hidden, enc_output)
        x = self.embedding(x)
        x = tf.concat([tf.expand_dims(context, 1), x], axis=-1)
        output, state = self.gru(x, initial_state=hidden)
        output = tf.reshape(output, (-1, output.shape[2]))
        return self.fc(output), state, weights


encoder = Encoder(24)
decoder = Decoder(24)
optimizer = tf.keras.optimizers.Adam(5e-3)
loss_object = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True, reduction="none")


def loss_function(real, pred):
    mask = tf.math.logical_not(tf.math.equal(real, 0))
    loss = loss_object(real, pred)
    mask = tf.cast(mask, dtype=loss.dtype)
    return tf.reduce_mean(loss * mask)


def train_step(inp, targ):
    loss = 0.0
    with tf.GradientTape() as tape:
        enc_output, enc_hidden = encoder(inp)
        dec_hidden = enc_hidden
        dec_input = tf.expand_dims([START] * inp.shape[0], 1)
        for t in range(1, targ.shape[1]):
            predictions, dec_hidden, _ = decoder(dec_input, dec_hidden, enc_output)
            loss += loss_function(targ[:, t], predictions)
            dec_input = tf.expand_dims(targ[:, t], 1)
    batch_loss = loss / int(targ.shape[1])
    variables = encoder.trainable_variables + decoder.trainable_variables
    gradients = tape.gradient(loss, variables)
    optimizer.apply_gradients(zip(gradients, variables))
    return batch_loss


def evaluate(digits):
    """Greedy decoding, one token at a time."""
    enc_out, hidden = encoder(tf.constant([digits]))
    dec_input = tf.expand_dims([START], 0)
    result = []
    for _ in range(LENGTH + 1):
        predictions, hidden, _ = decoder(dec_input, hidden, enc_out)
        predicted = int(tf.argmax(predictions[0]).numpy())
        if predicted == END:
            break
        result.append(predicted)
        dec_input = tf.expand_dims([predicted], 0)
    return result


def make_pairs(count):
    rng = np.random.RandomState(5)
    digits = rng.randint(1, 10, (count, LENGTH))
    target = np.concatenate([np.full((count, 1), START), digits[:, ::-1], np.full((count, 1), END)], axis=1)
    return digits.astype("int32"), target.astype("int32")


def main():
    source, target = make_pairs(512)
    dataset = tf.data.Dataset.from_tensor_slices((source, target)).batch(64, drop_remainder=True)
    for epoch in range(8):
        total = 0.0
        for batch, (inp, targ) in enumerate(dataset):
            total += train_step(inp, targ)
        print(f"epoch {epoch} loss {float(total) / (batch + 1):.2f}")
    print("decoded length", len(evaluate([1, 2, 3, 4, 5, 6])) <= LENGTH + 1)


if __name__ == "__main__":
    main()
