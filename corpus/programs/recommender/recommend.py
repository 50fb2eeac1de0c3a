"""Matrix factorisation with biases and negative samples, on variables of our own."""

import numpy as np
import tensorflow as tf


class MatrixFactorisation(tf.Module):
    def __init__(self, users, items, factors=8):
        super().__init__()
        self.user_factors = tf.Variable(tf.random.normal([users, factors], stddev=0.1, seed=1))
        self.item_factors = tf.Variable(tf.random.normal([items, factors], stddev=0.1, seed=2))
        self.user_bias = tf.Variable(tf.zeros([users]))
        self.item_bias = tf.Variable(tf.zeros([items]))
        self.items = items

    def __call__(self, user, item):
        u = tf.nn.embedding_lookup(self.user_factors, user)
        i = tf.nn.embedding_lookup(self.item_factors, item)
        bias = tf.gather(self.user_bias, user) + tf.gather(self.item_bias, item)
        return tf.reduce_sum(u * i, axis=1) + bias

    def scores(self, user):
        """Scores of all items for each user of a batch."""
        u = tf.gather(self.user_factors, user)
        return tf.matmul(u, self.item_factors, transpose_b=True) + self.item_bias


def bpr_loss(positive, negative):
    return -tf.reduce_mean(tf.math.log_sigmoid(positive - negative))


def regularisation(model, user, item):
    u = tf.gather(model.user_factors, user)
    i = tf.gather(model.item_factors, item)
    return 1e-4 * (tf.reduce_sum(u**2) + tf.reduce_sum(i**2))


def train_step(model, optimizer, user, item):
    negative = tf.random.uniform(tf.shape(item), 0, model.items, dtype=tf.int32)
    with tf.GradientTape() as tape:
        loss = bpr_loss(model(user, item), model(user, negative)) + regularisation(model, user, item)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    return loss


def recall_at(model, users, seen, k):
    """Share of users whose favourite is among the k best; ranks with NumPy."""
    scores = model.scores(tf.constant(users)).numpy()
    top = np.argsort(-scores, axis=1)[:, :k]
    return float(np.mean([seen[user] in row for user, row in zip(users, top)]))


def make_clicks(users, items, count):
    rng = np.random.RandomState(11)
    user = rng.randint(0, users, count)
    item = (user * 3 + rng.randint(0, 3, count)) % items
    return user.astype("int32"), item.astype("int32")


def main():
    users, items = 50, 40
    user, item = make_clicks(users, items, 4000)
    dataset = tf.data.Dataset.from_tensor_slices((user, item)).shuffle(4000, seed=3).batch(100, drop_remainder=True)
    model = MatrixFactorisation(users, items)
    optimizer = tf.keras.optimizers.Adam(0.01)
    for epoch in range(6):
        losses = [train_step(model, optimizer, u, i) for u, i in dataset]
        print(f"epoch {epoch} loss {float(tf.reduce_mean(losses)):.3f}")
    favourite = {u: (u * 3) % items for u in range(users)}
    print("recall", recall_at(model, list(range(users)), favourite, 10) >= 0.0)


if __name__ == "__main__":
    main()
