"""Siamese network with triplet loss and hard mining."""
import tensorflow as tf
from tensorflow.keras import Sequential, layers, Model, metrics

H, W = 32, 32
target_shape = (H, W)


def decode(seed):
    img = tf.random.stateless_uniform((48, 48, 3), seed=tf.stack([seed, 0]), maxval=255)
    img = tf.image.convert_image_dtype(img / 255.0, tf.float32)
    return tf.image.resize(img, target_shape)


def preprocess_triplets(anchor, positive, negative):
    return decode(anchor), decode(positive), decode(negative)


def make_dataset(n, batch):
    anchors = tf.data.Dataset.range(n).map(lambda i: tf.cast(i, tf.int32))
    pos = tf.data.Dataset.from_tensor_slices(tf.range(n) + 1)
    neg = tf.data.Dataset.from_tensor_slices(tf.random.shuffle(tf.range(n)))
    ds = tf.data.Dataset.zip((anchors, pos, neg))
    ds = ds.shuffle(buffer_size=128).map(preprocess_triplets)
    return ds.batch(batch, drop_remainder=False).prefetch(tf.data.AUTOTUNE)


def conv_block(x, filters, pool=True):
    x = layers.Conv2D(filters, 3, padding="same", use_bias=False)(x)
    x = layers.BatchNormalization()(x)
    x = layers.Activation("relu")(x)
    if pool:
        x = layers.MaxPooling2D()(x)
    return x


def make_embedding(dim=32):
    inp = layers.Input(target_shape + (3,))
    x = inp
    for f in (8, 16):
        x = conv_block(x, f)
    x = conv_block(x, 32, pool=False)
    x = layers.GlobalAveragePooling2D()(x)
    return Model(inp, layers.Dense(dim)(x), name="Embedding")


class DistanceLayer(layers.Layer):
    def call(self, anchor, positive, negative):
        ap_distance = tf.reduce_sum(tf.square(anchor - positive), -1)
        an_distance = tf.reduce_sum(tf.square(anchor - negative), -1)
        return (ap_distance, an_distance)


class SiameseModel(Model):
    def __init__(self, embedding, margin=0.5):
        super().__init__()
        self.embedding = embedding
        self.distance = DistanceLayer()
        self.margin = margin
        self.loss_tracker = metrics.Mean(name="loss")

    def call(self, inputs):
        a, p, n = inputs
        return self.distance(self.embedding(a), self.embedding(p), self.embedding(n))

    def train_step(self, data):
        with tf.GradientTape() as tape:
            loss = self._compute_loss(data)
        gradients = tape.gradient(loss, self.embedding.trainable_weights)
        self.optimizer.apply_gradients(zip(gradients, self.embedding.trainable_weights))
        self.loss_tracker.update_state(loss)
        return {"loss": self.loss_tracker.result()}

    def test_step(self, data):
        loss = self._compute_loss(data)
        self.loss_tracker.update_state(loss)
        return {"loss": self.loss_tracker.result()}

    def _compute_loss(self, data):
        ap_distance, an_distance = self(data)
        loss = ap_distance - an_distance
        loss = tf.maximum(loss + self.margin, 0.0)
        return loss

    @property
    def metrics(self):
        return [self.loss_tracker]


def pairwise_distances(embeddings, squared=False):
    dot = tf.matmul(embeddings, tf.transpose(embeddings))
    sq = tf.linalg.diag_part(dot)
    dist = tf.expand_dims(sq, 1) - 2.0 * dot + tf.expand_dims(sq, 0)
    dist = tf.maximum(dist, 0.0)
    if not squared:
        mask = tf.cast(tf.equal(dist, 0.0), tf.float32)
        dist = tf.sqrt(dist + mask * 1e-16) * (1.0 - mask)
    return dist


def anchor_positive_mask(labels):
    eye = tf.cast(tf.eye(tf.shape(labels)[0]), tf.bool)
    same = tf.equal(tf.expand_dims(labels, 0), tf.expand_dims(labels, 1))
    return tf.logical_and(tf.logical_not(eye), same)


def batch_hard_triplet_loss(labels, embeddings, margin):
    dist = pairwise_distances(embeddings)
    pos_mask = tf.cast(anchor_positive_mask(labels), tf.float32)
    hardest_pos = tf.reduce_max(pos_mask * dist, axis=1, keepdims=True)
    neg_mask = tf.cast(tf.not_equal(labels[None, :], labels[:, None]), tf.float32)
    max_dist = tf.reduce_max(dist, axis=1, keepdims=True)
    hardest_neg = tf.reduce_min(dist + max_dist * (1.0 - neg_mask), axis=1, keepdims=True)
    return tf.reduce_mean(tf.maximum(hardest_pos - hardest_neg + margin, 0.0)), hardest_pos


def cosine_similarity_report(embedding, sample):
    anchor, positive, negative = sample
    cosine = metrics.CosineSimilarity()
    pos_sim = cosine(embedding(anchor), embedding(positive))
    neg_sim = cosine(embedding(anchor), embedding(negative))
    return pos_sim, neg_sim


if __name__ == "__main__":
    train = make_dataset(40, 16)
    embedding = make_embedding()
    model = SiameseModel(embedding)
    model.compile(optimizer=tf.keras.optimizers.Adam(1e-4), run_eagerly=True)
    model.fit(train, epochs=1, validation_data=make_dataset(16, 16), verbose=0)
    sample = next(iter(train))
    print(cosine_similarity_report(embedding, sample))
    labels = tf.constant([0, 1, 2, 3] * 4)
    emb = embedding(sample[0])
    loss, hp = batch_hard_triplet_loss(labels, tf.math.l2_normalize(emb, axis=1), 0.2)
    print(float(loss), hp.shape)
