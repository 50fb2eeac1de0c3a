"""A model with a train_step of its own: the reconstruction is compared with flat images."""
import numpy as np
import tensorflow as tf


class Autoencoder(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.encoder = tf.keras.Sequential([tf.keras.layers.Flatten(), tf.keras.layers.Dense(16, activation="relu")])
        self.decoder = tf.keras.Sequential([tf.keras.layers.Dense(784, activation="sigmoid")])

    def call(self, x):
        return self.decoder(self.encoder(x))

    def train_step(self, data):
        with tf.GradientTape() as tape:
            reconstruction = self(data, training=True)
            loss = tf.reduce_mean(tf.square(data - reconstruction))  # BUG raises: (8, 28, 28) - (8, 784)
        grads = tape.gradient(loss, self.trainable_variables)
        self.optimizer.apply_gradients(zip(grads, self.trainable_variables))
        return {"loss": loss}


model = Autoencoder()
model.compile(optimizer="adam")
model.fit(np.random.rand(32, 28, 28).astype("float32"), batch_size=8, epochs=1, verbose=0)
