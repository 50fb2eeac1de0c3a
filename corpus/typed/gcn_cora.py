"""Graph convolution and graph attention on a random citation graph."""
import numpy as np
import tensorflow as tf


def make_graph(num_nodes, num_feats, num_classes, seed=0):
    rng = np.random.RandomState(seed)
    adj = (rng.rand(num_nodes, num_nodes) < 0.05).astype(np.float32)
    adj = np.maximum(adj, adj.T)
    feats = rng.binomial(1, 0.1, size=(num_nodes, num_feats)).astype(np.float32)
    labels = rng.randint(num_classes, size=num_nodes)
    return adj, feats, labels


def normalize_adj(adj):
    adj = adj + np.eye(adj.shape[0], dtype=np.float32)
    d_inv_sqrt = np.power(adj.sum(1), -0.5)
    d_mat = np.diag(d_inv_sqrt)
    return (d_mat @ adj @ d_mat).astype(np.float32)


def to_sparse(adj):
    row, col = np.nonzero(adj)
    idx = np.stack([row, col], axis=1).astype(np.int64)
    return tf.sparse.reorder(tf.SparseTensor(idx, adj[row, col], adj.shape))


def masks(n, train_share=0.5):
    cut = int(n * train_share)
    idx = np.arange(n)
    return tf.constant(idx < cut), tf.constant(idx >= cut)


class GraphConv(tf.keras.layers.Layer):
    def __init__(self, units, activation=None, **kw):
        super().__init__(**kw)
        self.units = units
        self.activation = tf.keras.activations.get(activation)

    def build(self, input_shape):
        self.kernel = self.add_weight(name="kernel", shape=(input_shape[-1], self.units))
        self.bias = self.add_weight(name="bias", shape=(self.units,), initializer="zeros")
        super().build(input_shape)

    def call(self, x, adj):
        support = tf.matmul(x, self.kernel)
        out = tf.sparse.sparse_dense_matmul(adj, support) + self.bias
        return self.activation(out)


class GraphAttention(tf.keras.layers.Layer):
    def __init__(self, units, heads=2):
        super().__init__()
        self.units, self.heads = units, heads
        self.dense = tf.keras.layers.Dense(units * heads, use_bias=False)

    def build(self, shape):
        self.attn_src = self.add_weight(shape=(self.heads, self.units), name="src")
        self.attn_dst = self.add_weight(shape=(self.heads, self.units), name="dst")

    def scores(self, h, a):
        return tf.einsum("nhu,hu->nh", h, a)

    def call(self, x, edges):
        n = tf.shape(x)[0]
        h = tf.reshape(self.dense(x), (-1, self.heads, self.units))
        src, dst = edges[:, 0], edges[:, 1]
        logits = tf.gather(self.scores(h, self.attn_src), src) + tf.gather(self.scores(h, self.attn_dst), dst)
        logits = tf.nn.leaky_relu(logits, 0.2)
        weights = tf.exp(logits - tf.reduce_max(logits))
        norm = tf.math.unsorted_segment_sum(weights, dst, n)
        coef = weights / (tf.gather(norm, dst) + 1e-9)
        msgs = tf.gather(h, src) * coef[..., None]
        out = tf.math.unsorted_segment_sum(msgs, dst, n)
        return tf.reshape(out, (n, self.heads * self.units))


class GNN(tf.keras.Model):
    def __init__(self, hidden, classes, dropout=0.5):
        super().__init__()
        self.gc1 = GraphConv(hidden, "relu")
        self.gat = GraphAttention(8)
        self.gc2 = GraphConv(classes)
        self.dropout = tf.keras.layers.Dropout(dropout)

    def call(self, inputs, training=False):
        x, adj, edges = inputs
        x = self.dropout(x, training=training)
        h = self.gc1(x, adj)
        h = tf.concat([h, self.gat(x, edges)], axis=1)
        h = self.dropout(h, training=training)
        return self.gc2(h, adj)


def masked_softmax_cross_entropy(preds, labels, mask):
    loss = tf.nn.softmax_cross_entropy_with_logits(logits=preds, labels=labels)
    mask = tf.cast(mask, tf.float32)
    mask /= tf.reduce_mean(mask)
    loss *= mask
    return tf.reduce_mean(loss)


def masked_accuracy(preds, labels, mask):
    correct = tf.equal(tf.argmax(preds, 1), tf.argmax(labels, 1))
    acc = tf.cast(correct, tf.float32)
    mask = tf.cast(mask, tf.float32)
    return tf.reduce_sum(acc * mask) / tf.reduce_sum(mask)


def l2_penalty(variables, rate=5e-4):
    return rate * tf.add_n([tf.nn.l2_loss(v) for v in variables])


def train(model, inputs, y, train_mask, epochs):
    opt = tf.keras.optimizers.Adam(0.01)
    accs = tf.TensorArray(tf.float32, size=epochs)
    for epoch in range(epochs):
        with tf.GradientTape() as tape:
            logits = model(inputs, training=True)
            loss = masked_softmax_cross_entropy(logits, y, train_mask)
            loss += l2_penalty(model.trainable_variables)
        grads = tape.gradient(loss, model.trainable_variables)
        opt.apply_gradients(zip(grads, model.trainable_variables))
        accs = accs.write(epoch, masked_accuracy(logits, y, train_mask))
    return accs.stack(), loss


def main():
    adj, feats, labels = make_graph(100, 20, 4)
    sparse_adj = to_sparse(normalize_adj(adj))
    edges = tf.where(adj > 0)
    y = tf.one_hot(labels, 4)
    train_mask, test_mask = masks(100)
    model = GNN(16, 4)
    accs, loss = train(model, (tf.constant(feats), sparse_adj, edges), y, train_mask, epochs=5)
    logits = model((tf.constant(feats), sparse_adj, edges))
    print(accs.numpy(), float(masked_accuracy(logits, y, test_mask)))


main()
