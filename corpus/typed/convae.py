"""Convolutional autoencoder for denoising small images."""
import numpy as np
import tensorflow as tf
from tensorflow.keras import layers, losses
from tensorflow.keras.models import Model

IMG = 28
LATENT = 64


def load_data(n_train=256, n_test=64):
    rng = np.random.default_rng(0)
    x_train = rng.random((n_train, IMG, IMG)).astype("float32")
    x_test = rng.random((n_test, IMG, IMG)).astype("float32")
    return x_train[..., tf.newaxis], x_test[..., tf.newaxis]


def add_noise(images, noise_factor=0.2):
    noisy = images + noise_factor * tf.random.normal(shape=images.shape)
    return tf.clip_by_value(noisy, clip_value_min=0.0, clip_value_max=1.0)


class Denoise(Model):
    def __init__(self):
        super(Denoise, self).__init__()
        self.encoder = tf.keras.Sequential([
            layers.Input(shape=(IMG, IMG, 1)),
            layers.Conv2D(16, (3, 3), activation="relu", padding="same", strides=2),
            layers.Conv2D(8, (3, 3), activation="relu", padding="same", strides=2),
        ])
        self.decoder = tf.keras.Sequential([
            layers.Conv2DTranspose(8, kernel_size=3, strides=2, activation="relu", padding="same"),
            layers.Conv2DTranspose(16, kernel_size=3, strides=2, activation="relu", padding="same"),
            layers.Conv2D(1, kernel_size=(3, 3), activation="sigmoid", padding="same"),
        ])

    def call(self, x):
        encoded = self.encoder(x)
        decoded = self.decoder(encoded)
        return decoded


def psnr(a, b):
    return tf.image.psnr(a, b, max_val=1.0)


def sobel_loss(y_true, y_pred):
    edges_true = tf.image.sobel_edges(y_true)
    edges_pred = tf.image.sobel_edges(y_pred)
    return tf.reduce_mean(tf.abs(edges_true - edges_pred))


def train_step(model, optimizer, noisy, clean, alpha):
    with tf.GradientTape() as tape:
        recon = model(noisy, training=True)
        mse = tf.reduce_mean(tf.square(recon - clean), axis=[1, 2, 3])
        loss = tf.reduce_mean(mse) + alpha * sobel_loss(clean, recon)
    grads = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(grads, model.trainable_variables))
    return loss, mse


def error_map(model, batch):
    recon = model(batch)
    err = tf.abs(recon - batch)
    flat = tf.reshape(err, (tf.shape(err)[0], -1))
    return tf.reshape(flat / tf.reduce_max(flat, axis=1, keepdims=True), tf.shape(err))


def find_threshold(errors, num_std=1.0):
    return tf.reduce_mean(errors) + num_std * tf.math.reduce_std(errors)


def predict_anomaly(model, data, threshold):
    recon = model(data)
    loss = losses.mae(tf.reshape(recon, (-1, IMG * IMG)), tf.reshape(data, (-1, IMG * IMG)))
    return tf.math.less(loss, threshold), loss


def main():
    x_train, x_test = load_data()
    noisy_train = add_noise(x_train)
    noisy_test = add_noise(x_test)
    ds = tf.data.Dataset.from_tensor_slices((noisy_train, x_train)).shuffle(256).batch(32)
    model = Denoise()
    opt = tf.keras.optimizers.Adam(1e-3)
    alpha = tf.constant(0.1)
    for epoch in range(2):
        history = []
        for noisy, clean in ds:
            loss, per_image = train_step(model, opt, noisy, clean, alpha)
            history.append(loss)
        print(epoch, float(tf.add_n(history) / len(history)))
    out = model(noisy_test)
    print(psnr(out, tf.constant(x_test)).shape)
    emap = error_map(model, tf.constant(x_test[:10]))
    _, errs = predict_anomaly(model, noisy_test, 0.5)
    th = find_threshold(errs)
    ok, _ = predict_anomaly(model, noisy_test[:16], th)
    print(ok.shape, emap.shape)


if __name__ == "__main__":
    main()
