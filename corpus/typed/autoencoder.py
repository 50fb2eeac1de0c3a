"""A variational autoencoder of layers of its own, with build and add_weight."""

import tensorflow as tf
from tensorflow import keras
from tensorflow.keras import layers


class Linear(layers.Layer):
    def __init__(self, units, activation=None, **kwargs):
        super().__init__(**kwargs)
        self.units = units
        self.activation = keras.activations.get(activation)

    def build(self, input_shape):
        self.w = self.add_weight(shape=(input_shape[-1], self.units), initializer="glorot_uniform", trainable=True)
        self.b = self.add_weight(shape=(self.units,), initializer="zeros", trainable=True)

    def call(self, inputs):
        return self.activation(tf.matmul(inputs, self.w) + self.b)


class Sampling(layers.Layer):
    def call(self, inputs):
        z_mean, z_log_var = inputs
        epsilon = tf.random.normal(tf.shape(z_mean))
        return z_mean + tf.exp(0.5 * z_log_var) * epsilon


class Encoder(layers.Layer):
    def __init__(self, latent_dim=4, intermediate_dim=16, name="encoder", **kwargs):
        super().__init__(name=name, **kwargs)
        self.proj = Linear(intermediate_dim, "relu")
        self.mean = Linear(latent_dim)
        self.log_var = Linear(latent_dim)
        self.sampling = Sampling()

    def call(self, inputs):
        x = self.proj(inputs)
        z_mean, z_log_var = self.mean(x), self.log_var(x)
        return z_mean, z_log_var, self.sampling((z_mean, z_log_var))


class Decoder(layers.Layer):
    def __init__(self, original_dim, intermediate_dim=16, name="decoder", **kwargs):
        super().__init__(name=name, **kwargs)
        self.proj = Linear(intermediate_dim, "relu")
        self.out = Linear(original_dim, "sigmoid")

    def call(self, inputs):
        return self.out(self.proj(inputs))


class VAE(keras.Model):
    def __init__(self, original_dim, latent_dim=4):
        super().__init__()
        self.encoder = Encoder(latent_dim)
        self.decoder = Decoder(original_dim)

    def call(self, inputs):
        z_mean, z_log_var, z = self.encoder(inputs)
        return self.decoder(z), z_mean, z_log_var


def kl_divergence(mean, log_var):
    return -0.5 * tf.reduce_mean(log_var - tf.square(mean) - tf.exp(log_var) + 1)


def reconstruction_loss(x, reconstructed):
    return tf.reduce_mean(keras.losses.binary_crossentropy(x, reconstructed))


def train(vae, dataset, optimizer, epochs):
    for _ in range(epochs):
        for step, x_batch in enumerate(dataset):
            with tf.GradientTape() as tape:
                reconstructed, mean, log_var = vae(x_batch)
                loss = reconstruction_loss(x_batch, reconstructed) + kl_divergence(mean, log_var)
            grads = tape.gradient(loss, vae.trainable_weights)
            optimizer.apply_gradients(zip(grads, vae.trainable_weights))
            if step % 2 == 0:
                print("step %d: loss = %.4f" % (step, loss))


if __name__ == "__main__":
    x_train = tf.reshape(tf.random.uniform((32, 8, 8)), (32, 64))
    batches = tf.data.Dataset.from_tensor_slices(x_train).shuffle(32).batch(8, drop_remainder=True)
    train(VAE(64), batches, keras.optimizers.Adam(1e-3), epochs=1)
