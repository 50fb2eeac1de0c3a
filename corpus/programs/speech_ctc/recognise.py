"""A speech recogniser that is taught without knowing where in the sound its letters are (CTC)."""

import tensorflow as tf

from features import LETTERS, make_words, spectrogram


class Recogniser(tf.keras.Model):
    """Spectrograms to the logits of letters; the blank is 0."""

    def __init__(self, units):
        super().__init__()
        self.first = tf.keras.layers.Conv1D(units, 5, padding="same", activation="relu")
        self.second = tf.keras.layers.Conv1D(units, 5, padding="same", activation="relu")
        self.letters = tf.keras.layers.Dense(len(LETTERS) + 1)

    def call(self, frames):
        return self.letters(self.second(self.first(frames)))


class Trainer:
    """Holds what a step changes."""

    def __init__(self, model, learning_rate):
        self.model = model
        self.optimizer = tf.keras.optimizers.Adam(learning_rate)
        self.seen = tf.Variable(0, trainable=False)

    def loss(self, frames, labels, lengths):
        logits = self.model(frames)
        heard = tf.fill([tf.shape(logits)[0]], tf.shape(logits)[1])
        losses = tf.nn.ctc_loss(labels, logits, lengths, heard, logits_time_major=False, blank_index=0)
        return tf.reduce_mean(losses)

    def step(self, frames, labels, lengths):
        with tf.GradientTape() as tape:
            loss = self.loss(frames, labels, lengths)
        variables = self.model.trainable_variables
        gradients, norm = tf.clip_by_global_norm(tape.gradient(loss, variables), 5.0)
        self.optimizer.apply_gradients(zip(gradients, variables))
        self.seen.assign_add(tf.shape(frames)[0])
        return loss, norm


def greedy(logits):
    """The best letter of each frame, repetitions and blanks taken out: a sparse tensor."""
    moved = tf.transpose(logits, [1, 0, 2])
    heard = tf.fill([tf.shape(moved)[1]], tf.shape(moved)[0])
    decoded, _ = tf.nn.ctc_greedy_decoder(moved, heard, blank_index=0)
    return decoded[0]


def error_rate(logits, labels):
    """Edits between what is heard and what was said, for each letter that was said."""
    said = tf.sparse.from_dense(tf.cast(labels, tf.int64))
    edits = tf.edit_distance(greedy(logits), said, normalize=False)
    return tf.reduce_sum(edits) / tf.cast(tf.size(said.values), tf.float32)


def spell(logits):
    """Words for a person."""
    words = tf.sparse.to_dense(greedy(logits)).numpy()
    return ["".join(LETTERS[letter - 1] for letter in word if letter > 0) for word in words]


def dataset(count, seed):
    sounds, labels, lengths = make_words(count, seed)
    data = tf.data.Dataset.from_tensor_slices((sounds, labels, lengths))
    return data.map(lambda sound, label, length: (spectrogram(sound), label, length))


def main():
    tf.keras.utils.set_random_seed(4)
    train = dataset(160, seed=1).batch(16, drop_remainder=True)
    (frames, labels, _) = next(iter(dataset(32, seed=2).batch(32)))
    model = Recogniser(24)
    model(frames)
    trainer = Trainer(model, 1e-2)
    trainer.optimizer.build(model.trainable_variables)
    for epoch in range(1, 5):
        total = 0.0
        for batch, said, lengths in train:
            loss, _ = trainer.step(batch, said, lengths)
            total += float(loss)
        print(f"epoch {epoch}: loss {total / 10:.2f}, error rate {float(error_rate(model(frames), labels)):.2f}")
    print(trainer.seen.numpy(), spell(model(frames))[:4])


if __name__ == "__main__":
    main()
