"""A decoder that starts with the encoder's state of another width."""
import tensorflow as tf


class Encoder(tf.keras.Model):
    def __init__(self, vocab, dim, units):
        super().__init__()
        self.embedding = tf.keras.layers.Embedding(vocab, dim)
        self.gru = tf.keras.layers.GRU(units, return_sequences=True, return_state=True)

    def call(self, x):
        return self.gru(self.embedding(x))


class Decoder(tf.keras.Model):
    def __init__(self, vocab, dim, units):
        super().__init__()
        self.embedding = tf.keras.layers.Embedding(vocab, dim)
        self.gru = tf.keras.layers.GRU(units, return_sequences=True, return_state=True)
        self.fc = tf.keras.layers.Dense(vocab)

    def call(self, x, hidden):
        x = self.embedding(x)
        output, state = self.gru(x, initial_state=hidden)
        return self.fc(output), state


encoder = Encoder(100, 16, 128)
decoder = Decoder(120, 16, 128)
tokens = tf.ones((4, 9), tf.int32)
_, hidden = encoder(tokens)
logits, _ = decoder(tf.ones((4, 1), tf.int32), hidden)
print(logits.shape)
