"""A character model, and generation one step at a time with the state passed along."""

import tensorflow as tf

TEXT = "the cat sat on the mat and the dog sat on the log " * 20


class CharModel(tf.keras.Model):
    def __init__(self, vocabulary, units):
        super().__init__()
        self.embedding = tf.keras.layers.Embedding(vocabulary, 8)
        self.gru = tf.keras.layers.GRU(units, return_sequences=True, return_state=True)
        self.dense = tf.keras.layers.Dense(vocabulary)

    def call(self, inputs, states=None, return_state=False, training=False):
        x = self.embedding(inputs)
        x, states = self.gru(x, initial_state=states, training=training)
        x = self.dense(x)
        if return_state:
            return x, states
        return x


class OneStep(tf.Module):
    def __init__(self, model, vocabulary, temperature=0.5):
        super().__init__()
        self.model = model
        self.vocabulary = tf.constant(vocabulary)
        self.temperature = temperature

    def generate_one_step(self, ids, states):
        logits, states = self.model(ids, states=states, return_state=True)
        logits = logits[:, -1, :] / self.temperature
        predicted = tf.random.categorical(logits, num_samples=1, dtype=tf.int32)
        return predicted, tf.gather(self.vocabulary, predicted[:, 0]), states


def train_step(model, optimizer, loss_fn, inputs, targets):
    with tf.GradientTape() as tape:
        loss = loss_fn(targets, model(inputs, training=True))
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    return loss


def split(chunk):
    return chunk[:-1], chunk[1:]


def make_dataset(text, vocabulary):
    numbers = [vocabulary.index(c) for c in text]
    dataset = tf.data.Dataset.from_tensor_slices(tf.constant(numbers, tf.int32)).batch(21, drop_remainder=True)
    return dataset.map(split).batch(16, drop_remainder=True)


def main():
    vocabulary = sorted(set(TEXT))
    model = CharModel(len(vocabulary), 24)
    optimizer = tf.keras.optimizers.Adam(0.01)
    loss_fn = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    for epoch in range(20):
        for inputs, targets in make_dataset(TEXT, vocabulary):
            loss = train_step(model, optimizer, loss_fn, inputs, targets)
        if epoch % 5 == 0:
            print(f"epoch {epoch} loss {float(loss):.2f}")
    stepper = OneStep(model, vocabulary)
    ids, states, text = tf.constant([[3]]), tf.zeros([1, 24]), ""
    for _ in range(120):
        ids, character, states = stepper.generate_one_step(ids, states)
        text += character[0].numpy().decode()
    print(len(text), set(text) <= set(vocabulary))


if __name__ == "__main__":
    main()
