"""A multi-layer perceptron written by hand with tf.Module."""
import tensorflow as tf

tf.random.set_seed(22)


def xavier_init(shape):
    in_dim, out_dim = shape
    lim = tf.sqrt(6.0) / tf.sqrt(tf.cast(in_dim + out_dim, tf.float32))
    return tf.random.uniform(shape=(in_dim, out_dim), minval=-lim, maxval=lim, seed=22)


class DenseLayer(tf.Module):
    def __init__(self, out_dim, weight_init=xavier_init, activation=tf.identity):
        super().__init__()
        self.out_dim = out_dim
        self.weight_init = weight_init
        self.activation = activation
        self.built = False

    def __call__(self, x):
        if not self.built:
            self.in_dim = x.shape[1]
            self.w = tf.Variable(self.weight_init(shape=(self.in_dim, self.out_dim)))
            self.b = tf.Variable(tf.zeros(shape=(self.out_dim,)))
            self.built = True
        z = tf.add(tf.matmul(x, self.w), self.b)
        return self.activation(z)


class MLP(tf.Module):
    def __init__(self, layers):
        super().__init__()
        self.layers = layers

    def __call__(self, x, preds=False):
        for layer in self.layers:
            x = layer(x)
        return x


def cross_entropy_loss(y_pred, y):
    sparse_ce = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=y_pred)
    return tf.reduce_mean(sparse_ce)


def accuracy(y_pred, y):
    class_preds = tf.argmax(tf.nn.softmax(y_pred), axis=1)
    is_equal = tf.equal(y, class_preds)
    return tf.reduce_mean(tf.cast(is_equal, tf.float32))


class Adam:
    def __init__(self, learning_rate=1e-3, beta_1=0.9, beta_2=0.999, ep=1e-7):
        self.beta_1 = beta_1
        self.beta_2 = beta_2
        self.learning_rate = learning_rate
        self.ep = ep
        self.t = 1.0
        self.v_dvar, self.s_dvar = [], []
        self.built = False

    def apply_gradients(self, grads, vars):
        if not self.built:
            for var in vars:
                v = tf.Variable(tf.zeros(shape=var.shape))
                s = tf.Variable(tf.zeros(shape=var.shape))
                self.v_dvar.append(v)
                self.s_dvar.append(s)
            self.built = True
        for i, (d_var, var) in enumerate(zip(grads, vars)):
            self.v_dvar[i].assign(self.beta_1 * self.v_dvar[i] + (1 - self.beta_1) * d_var)
            self.s_dvar[i].assign(self.beta_2 * self.s_dvar[i] + (1 - self.beta_2) * tf.square(d_var))
            v_bc = self.v_dvar[i] / (1 - (self.beta_1 ** self.t))
            s_bc = self.s_dvar[i] / (1 - (self.beta_2 ** self.t))
            var.assign_sub(self.learning_rate * (v_bc / (tf.sqrt(s_bc) + self.ep)))
        self.t += 1.0
        return


def train_step(x_batch, y_batch, loss, acc, model, optimizer):
    with tf.GradientTape() as tape:
        y_pred = model(x_batch)
        batch_loss = loss(y_pred, y_batch)
    batch_acc = acc(y_pred, y_batch)
    grads = tape.gradient(batch_loss, model.variables)
    optimizer.apply_gradients(grads, model.variables)
    return batch_loss, batch_acc


def val_step(x_batch, y_batch, loss, acc, model):
    y_pred = model(x_batch)
    batch_loss = loss(y_pred, y_batch)
    batch_acc = acc(y_pred, y_batch)
    return batch_loss, batch_acc


def train_model(mlp, train_data, val_data, loss, acc, optimizer, epochs):
    train_losses, train_accs = [], []
    for epoch in range(epochs):
        batch_losses, batch_accs = [], []
        for x_batch, y_batch in train_data:
            l, a = train_step(x_batch, y_batch, loss, acc, mlp, optimizer)
            batch_losses.append(l)
            batch_accs.append(a)
        for x_batch, y_batch in val_data:
            val_step(x_batch, y_batch, loss, acc, mlp)
        train_losses.append(tf.reduce_mean(batch_losses))
        train_accs.append(tf.reduce_mean(batch_accs))
    return train_losses, train_accs


def preprocess(x, y):
    return tf.reshape(x, shape=[-1, 784]) / 255.0, y


x = tf.random.uniform((320, 28, 28), 0, 255)
y = tf.random.uniform((320,), 0, 10, dtype=tf.int64)
train_data = tf.data.Dataset.from_tensor_slices((x[:256], y[:256])).shuffle(300).batch(64).map(preprocess)
val_data = tf.data.Dataset.from_tensor_slices((x[256:], y[256:])).batch(64).map(preprocess)

mlp_model = MLP([
    DenseLayer(out_dim=70, activation=tf.nn.relu),
    DenseLayer(out_dim=50, activation=tf.nn.relu),
    DenseLayer(out_dim=10),
])
losses, accs = train_model(mlp_model, train_data, val_data, loss=cross_entropy_loss, acc=accuracy,
                           optimizer=Adam(), epochs=2)
print([float(l) for l in losses])
