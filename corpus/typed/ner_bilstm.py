"""BiLSTM-CRF sequence labelling with padding and a hand written Viterbi."""
import numpy as np
import tensorflow as tf

VOCAB, TAGS, MAXLEN, BATCH = 120, 7, 20, 8


class LinearCRF(tf.keras.layers.Layer):
    def __init__(self, n_tags, **kwargs):
        super().__init__(**kwargs)
        self.n_tags = n_tags

    def build(self, input_shape):
        self.transitions = self.add_weight(name="transitions", shape=(self.n_tags, self.n_tags), initializer="zeros")

    def score(self, emissions, tags, mask):
        emit = tf.gather(emissions, tags, batch_dims=2)
        emit = tf.reduce_sum(emit * mask, axis=1)
        pairs = tf.stack([tags[:, :-1], tags[:, 1:]], axis=-1)
        trans = tf.gather_nd(self.transitions, pairs)
        return emit + tf.reduce_sum(trans * mask[:, 1:], axis=1)

    def log_partition(self, emissions, mask):
        alpha = emissions[:, 0]
        for t in range(1, emissions.shape[1]):
            scores = alpha[:, :, None] + self.transitions[None] + emissions[:, t][:, None, :]
            new = tf.reduce_logsumexp(scores, axis=1)
            alpha = tf.where(mask[:, t, None] > 0, new, alpha)
        return tf.reduce_logsumexp(alpha, axis=1)

    def call(self, emissions, tags, mask):
        return self.log_partition(emissions, mask) - self.score(emissions, tags, mask)

    def decode(self, emissions):
        score = emissions[:, 0]
        history = []
        for t in range(1, emissions.shape[1]):
            total = score[:, :, None] + self.transitions
            history.append(tf.argmax(total, axis=1, output_type=tf.int32))
            score = tf.reduce_max(total, axis=1) + emissions[:, t]
        best = tf.argmax(score, axis=1, output_type=tf.int32)
        path = [best]
        for back in reversed(history):
            best = tf.gather(back, best, batch_dims=1)
            path.append(best)
        return tf.stack(path[::-1], axis=1), tf.reduce_max(score, axis=1)


class Tagger(tf.keras.Model):
    def __init__(self, vocab, tags, dim=16, units=12):
        super().__init__()
        self.embed = tf.keras.layers.Embedding(vocab, dim, mask_zero=True)
        self.lstm = tf.keras.layers.Bidirectional(tf.keras.layers.LSTM(units, return_sequences=True))
        self.drop = tf.keras.layers.SpatialDropout1D(0.1)
        self.proj = tf.keras.layers.TimeDistributed(tf.keras.layers.Dense(tags))

    def call(self, tokens, training=False):
        x = self.embed(tokens)
        x = self.drop(x, training=training)
        return self.proj(self.lstm(x))


def fake_sentences(n):
    rng = np.random.default_rng(4)
    for _ in range(n):
        length = rng.integers(5, MAXLEN + 1)
        words = rng.integers(1, VOCAB, length)
        yield words.astype(np.int32), (words % TAGS).astype(np.int32)


def dataset(n):
    ds = tf.data.Dataset.from_generator(
        lambda: fake_sentences(n), output_types=(tf.int32, tf.int32), output_shapes=((None,), (None,)))
    return ds.padded_batch(BATCH, padded_shapes=([MAXLEN], [MAXLEN]), drop_remainder=True)


def padding_mask(tokens):
    return tf.cast(tf.math.not_equal(tokens, 0), tf.float32)


def train_step(tagger, crf, opt, tokens, tags):
    mask = padding_mask(tokens)
    with tf.GradientTape() as tape:
        nll = crf(tagger(tokens, training=True), tags, mask)
        loss = tf.reduce_mean(nll / tf.reduce_sum(mask, axis=1))
    variables = tagger.trainable_variables + crf.trainable_variables
    grads = tape.gradient(loss, variables)
    grads, norm = tf.clip_by_global_norm(grads, 5.0)
    opt.apply_gradients(zip(grads, variables))
    return loss, norm


def token_accuracy(pred, gold, mask):
    hit = tf.cast(pred == gold, tf.float32) * mask
    return tf.reduce_sum(hit) / tf.reduce_sum(mask)


def confusion(pred, gold, mask):
    weights = tf.reshape(mask, [-1])
    return tf.math.confusion_matrix(tf.reshape(gold, [-1]), tf.reshape(pred, [-1]), TAGS, weights=weights)


def f1_from_confusion(cm):
    tp = tf.linalg.diag_part(cm)
    precision = tf.math.divide_no_nan(tp, tf.reduce_sum(cm, axis=0))
    recall = tf.math.divide_no_nan(tp, tf.reduce_sum(cm, axis=1))
    return tf.math.divide_no_nan(2 * precision * recall, precision + recall)


def main():
    tagger, crf = Tagger(VOCAB, TAGS), LinearCRF(TAGS)
    opt = tf.keras.optimizers.Adam(0.01)
    ds = dataset(32)
    for tokens, tags in ds:
        loss, norm = train_step(tagger, crf, opt, tokens, tags)
    tokens, tags = next(iter(ds))
    path, score = crf.decode(tagger(tokens))
    mask = padding_mask(tokens)
    acc = token_accuracy(path, tags, mask)
    print(float(loss), float(norm), float(acc), f1_from_confusion(confusion(path, tags, mask)).numpy(), score.shape)


if __name__ == "__main__":
    main()
