"""Tabular classification: feature columns by hand, mixture of experts, focal loss, k-fold."""
import collections

import numpy as np
import tensorflow as tf

Batch = collections.namedtuple("Batch", ["numeric", "category", "label"])
NUMERIC = 6
CATEGORIES = [7, 12]


def make_table(rows):
    rng = np.random.default_rng(1)
    numeric = rng.normal(size=(rows, NUMERIC)).astype(np.float32)
    category = np.stack([rng.integers(0, c, rows) for c in CATEGORIES], axis=1).astype(np.int32)
    label = (numeric[:, 0] + 0.3 * category[:, 0] > 1.0).astype(np.float32)
    return {"numeric": numeric, "category": category, "label": label}


def take(table, index):
    return {key: value[index] for key, value in table.items()}


def folds(rows, k):
    order = np.random.permutation(rows)
    for part in np.array_split(order, k):
        rest = np.setdiff1d(order, part)
        yield rest, part


def to_batches(table, size):
    ds = tf.data.Dataset.from_tensor_slices(table).batch(size, drop_remainder=True)
    return ds.map(lambda row: Batch(row["numeric"], row["category"], row["label"]))


class Standardize(tf.keras.layers.Layer):
    def __init__(self, mean, std):
        super().__init__()
        self.mean = tf.constant(mean, tf.float32)
        self.std = tf.constant(std, tf.float32)

    def call(self, x):
        return (x - self.mean) / (self.std + 1e-6)


class Expert(tf.keras.layers.Layer):
    def __init__(self, units):
        super().__init__()
        self.hidden = tf.keras.layers.Dense(units, activation=tf.nn.silu)
        self.out = tf.keras.layers.Dense(1)

    def call(self, x):
        return tf.squeeze(self.out(self.hidden(x)), axis=-1)


class MixtureOfExperts(tf.keras.Model):
    def __init__(self, mean, std, n_experts=3, units=16, emb=4):
        super().__init__()
        self.norm = Standardize(mean, std)
        self.embeddings = [tf.keras.layers.Embedding(c, emb) for c in CATEGORIES]
        self.experts = [Expert(units) for _ in range(n_experts)]
        self.gate = tf.keras.layers.Dense(n_experts)

    def features(self, batch):
        embedded = [e(batch.category[:, i]) for i, e in enumerate(self.embeddings)]
        return tf.concat([self.norm(batch.numeric)] + embedded, axis=-1)

    def call(self, batch):
        x = self.features(batch)
        gates = tf.nn.softmax(self.gate(x))
        votes = tf.stack([expert(x) for expert in self.experts], axis=-1)
        return tf.reduce_sum(gates * votes, axis=-1), gates


def focal_loss(labels, logits, gamma=2.0, alpha=0.25):
    p = tf.sigmoid(logits)
    ce = tf.nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=logits)
    p_t = labels * p + (1 - labels) * (1 - p)
    alpha_t = labels * alpha + (1 - labels) * (1 - alpha)
    return alpha_t * tf.pow(1 - p_t, gamma) * ce


def load_balance(gates):
    share = tf.reduce_mean(gates, axis=0)
    return tf.cast(tf.shape(gates)[-1], tf.float32) * tf.reduce_sum(share * share)


def train_batch(model, opt, batch):
    with tf.GradientTape() as tape:
        logits, gates = model(batch)
        loss = tf.reduce_mean(focal_loss(batch.label, logits)) + 0.01 * load_balance(gates)
    grads = tape.gradient(loss, model.trainable_variables)
    opt.apply_gradients((g, v) for g, v in zip(grads, model.trainable_variables) if g is not None)
    return loss


def evaluate(model, batches):
    auc = tf.keras.metrics.AUC()
    preds = []
    for batch in batches:
        logits, _ = model(batch)
        prob = tf.sigmoid(logits)
        auc.update_state(batch.label, prob)
        preds.append(prob)
    return auc.result(), tf.concat(preds, axis=0)


def calibration(prob, bins=5):
    edges = tf.linspace(0.0, 1.0, bins + 1)
    which = tf.searchsorted(edges[1:-1], prob)
    total = tf.math.unsorted_segment_sum(prob, which, bins)
    count = tf.math.unsorted_segment_sum(tf.ones_like(prob), which, bins)
    return tf.math.divide_no_nan(total, count), count


def main():
    table = make_table(240)
    for rest, part in folds(240, 3):
        train, test = take(table, rest), take(table, part)
        model = MixtureOfExperts(train["numeric"].mean(0), train["numeric"].std(0))
        opt = tf.keras.optimizers.Adam()
        for batch in to_batches(train, 32):
            loss = train_batch(model, opt, batch)
        auc, prob = evaluate(model, to_batches(test, 16))
        conf, count = calibration(prob)
        print(float(loss), float(auc), conf.shape)


if __name__ == "__main__":
    main()
