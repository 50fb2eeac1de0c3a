"""A translation model: the targets are shifted, the logits are not."""
import tensorflow as tf

loss_object = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True, reduction="none")


def loss_function(real, pred):
    mask = tf.cast(tf.not_equal(real, 0), pred.dtype)
    return tf.reduce_mean(loss_object(real, pred) * mask)


class LanguageModel(tf.keras.Model):
    def __init__(self, vocab, units):
        super().__init__()
        self.embed = tf.keras.layers.Embedding(vocab, units)
        self.rnn = tf.keras.layers.GRU(units, return_sequences=True)
        self.out = tf.keras.layers.Dense(vocab)

    def call(self, ids):
        return self.out(self.rnn(self.embed(ids)))


@tf.function
def train_step(model, batch):
    target = batch[:, 1:]
    logits = model(batch[:, :-1])
    return loss_function(target, logits)


batch = tf.random.uniform((8, 12), 1, 50, dtype=tf.int32)
print(train_step(LanguageModel(50, 16), batch) > 0)
