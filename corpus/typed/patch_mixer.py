"""MLP-Mixer / ViT-like patches via keras.io style functional API with custom layers, fit and callbacks."""
import numpy as np
import tensorflow as tf
import keras
from keras import layers, ops

num_classes = 10
input_shape = (32, 32, 3)
patch_size = 8
num_patches = (input_shape[0] // patch_size) ** 2
projection_dim = 24


def prepare_data(n):
    x = np.random.randint(0, 255, size=(n,) + input_shape).astype("uint8")
    y = np.random.randint(0, num_classes, size=(n, 1))
    return x.astype("float32") / 255.0, y


class Patches(layers.Layer):
    def __init__(self, patch_size):
        super().__init__()
        self.patch_size = patch_size

    def call(self, images):
        batch = tf.shape(images)[0]
        patches = tf.image.extract_patches(
            images=images, sizes=[1, self.patch_size, self.patch_size, 1],
            strides=[1, self.patch_size, self.patch_size, 1], rates=[1, 1, 1, 1], padding="VALID")
        return tf.reshape(patches, [batch, -1, patches.shape[-1]])


class PatchEncoder(layers.Layer):
    def __init__(self, num_patches, dim):
        super().__init__()
        self.num_patches = num_patches
        self.projection = layers.Dense(units=dim)
        self.position = layers.Embedding(input_dim=num_patches, output_dim=dim)

    def call(self, patch):
        positions = tf.range(start=0, limit=self.num_patches, delta=1)
        return self.projection(patch) + self.position(positions)


class MLPMixerLayer(layers.Layer):
    def __init__(self, num_patches, hidden, dropout_rate):
        super().__init__()
        self.mlp1 = keras.Sequential([layers.Dense(num_patches, activation="gelu"), layers.Dense(num_patches)])
        self.mlp2 = keras.Sequential([layers.Dense(hidden, activation="gelu"), layers.Dropout(dropout_rate)])
        self.normalize = layers.LayerNormalization(epsilon=1e-6)

    def call(self, inputs):
        x = self.normalize(inputs)
        x_channels = tf.linalg.matrix_transpose(x)
        x = tf.linalg.matrix_transpose(self.mlp1(x_channels)) + inputs
        return x + self.mlp2(self.normalize(x))


def mlp(x, hidden_units, dropout_rate):
    for units in hidden_units:
        x = layers.Dense(units, activation="gelu")(x)
        x = layers.Dropout(dropout_rate)(x)
    return x


def build_classifier(depth=2):
    inputs = layers.Input(shape=input_shape)
    x = Patches(patch_size)(inputs)
    x = PatchEncoder(num_patches, projection_dim)(x)
    for _ in range(depth):
        x = MLPMixerLayer(num_patches, projection_dim, 0.1)(x)
    x = layers.GlobalAveragePooling1D()(x)
    x = mlp(x, [32, 16], 0.2)
    return keras.Model(inputs, layers.Dense(num_classes)(x))


def smooth_labels(y, eps=0.1):
    onehot = tf.one_hot(tf.squeeze(tf.cast(y, tf.int32), -1), num_classes)
    return onehot * (1 - eps) + eps / num_classes


def mixup(x, y, alpha=0.2):
    n = tf.shape(x)[0]
    lam = tf.random.uniform([n], 1 - alpha, 1.0)
    idx = tf.random.shuffle(tf.range(n))
    lx, ly = tf.reshape(lam, [-1, 1, 1, 1]), tf.reshape(lam, [-1, 1])
    return lx * x + (1 - lx) * tf.gather(x, idx), ly * y + (1 - ly) * tf.gather(y, idx)


def accuracy_at_k(logits, y, k=3):
    top = tf.math.top_k(logits, k=k)
    hit = tf.reduce_any(tf.equal(top.indices, tf.cast(y, tf.int32)), axis=1)
    return tf.reduce_mean(tf.cast(hit, tf.float32)), top.values


def saliency(model, x, y):
    x = tf.convert_to_tensor(x)
    with tf.GradientTape() as tape:
        tape.watch(x)
        loss = keras.losses.sparse_categorical_crossentropy(y, model(x), from_logits=True)
    grad = tape.gradient(loss, x)
    return ops.max(ops.abs(grad), axis=-1), loss


def run():
    x, y = prepare_data(96)
    model = build_classifier()
    optimizer = keras.optimizers.AdamW(1e-3, weight_decay=1e-4)
    loss_fn = keras.losses.CategoricalCrossentropy(from_logits=True)
    ds = tf.data.Dataset.from_tensor_slices((x, y)).batch(32).map(lambda a, b: mixup(a, smooth_labels(b)))
    for xb, yb in ds:
        with tf.GradientTape() as tape:
            loss = loss_fn(yb, model(xb, training=True))
        grads = tape.gradient(loss, model.trainable_weights)
        optimizer.apply_gradients(zip(grads, model.trainable_weights))
    logits = model.predict(x, batch_size=32, verbose=0)
    acc, best = accuracy_at_k(logits, y)
    heat, per_example = saliency(model, x[:4], y[:4])
    print(float(loss), float(acc), best.shape, heat.shape, per_example.shape)


if __name__ == "__main__":
    run()
