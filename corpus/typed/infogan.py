"""InfoGAN-like conditional GAN on ring data with gradient penalty."""
import math

import tensorflow as tf
from tensorflow import keras


class Config:
    batch_size = 64
    noise_dim = 16
    n_classes = 5
    hidden = 64
    n_critic = 2
    gp_weight = 10.0
    steps = 6


def sample_ring(n, n_classes):
    labels = tf.random.uniform((n,), maxval=n_classes, dtype=tf.int32)
    angle = 2.0 * math.pi * tf.cast(labels, tf.float32) / n_classes
    centre = tf.stack([tf.cos(angle), tf.sin(angle)], axis=-1)
    return centre + 0.05 * tf.random.normal(tf.shape(centre)), labels


def make_generator(cfg):
    noise = keras.Input((cfg.noise_dim,))
    label = keras.Input((cfg.n_classes,))
    x = keras.layers.Concatenate()([noise, label])
    for _ in range(2):
        x = keras.layers.Dense(cfg.hidden)(x)
        x = keras.layers.BatchNormalization()(x)
        x = keras.layers.LeakyReLU()(x)
    out = keras.layers.Dense(2)(x)
    return keras.Model([noise, label], out, name="generator")


class Critic(keras.Model):
    def __init__(self, hidden, n_classes):
        super().__init__()
        self.trunk = [keras.layers.Dense(hidden, activation="relu") for _ in range(3)]
        self.score = keras.layers.Dense(1)
        self.code = keras.layers.Dense(n_classes)

    def call(self, points):
        h = points
        for layer in self.trunk:
            h = layer(h)
        return self.score(h), self.code(h)


class InfoGAN:
    def __init__(self, cfg):
        self.cfg = cfg
        self.generator = make_generator(cfg)
        self.critic = Critic(cfg.hidden, cfg.n_classes)
        self.g_opt = keras.optimizers.Adam(1e-4, beta_1=0.5)
        self.c_opt = keras.optimizers.Adam(1e-4, beta_1=0.5)
        self.info_loss = keras.losses.CategoricalCrossentropy(from_logits=True)

    def latent(self, n):
        z = tf.random.normal((n, self.cfg.noise_dim))
        y = tf.random.uniform((n,), maxval=self.cfg.n_classes, dtype=tf.int32)
        return z, tf.one_hot(y, self.cfg.n_classes)

    def gradient_penalty(self, real, fake):
        eps = tf.random.uniform([real.shape[0], 1])
        mixed = eps * real + (1 - eps) * fake
        with tf.GradientTape() as tape:
            tape.watch(mixed)
            score, _ = self.critic(mixed)
        grad = tape.gradient(score, mixed)
        norm = tf.sqrt(tf.reduce_sum(tf.square(grad), axis=1) + 1e-12)
        return tf.reduce_mean((norm - 1.0) ** 2)

    def critic_step(self, real, labels):
        z, c = self.latent(self.cfg.batch_size)
        fake = self.generator([z, c], training=True)
        onehot = tf.one_hot(labels, self.cfg.n_classes)
        with tf.GradientTape() as tape:
            real_score, real_code = self.critic(real)
            fake_score, _ = self.critic(fake)
            w_dist = tf.reduce_mean(real_score) - tf.reduce_mean(fake_score)
            gp = self.gradient_penalty(real, fake)
            loss = -w_dist + self.cfg.gp_weight * gp + self.info_loss(onehot, real_code)
        grads = tape.gradient(loss, self.critic.trainable_variables)
        self.c_opt.apply_gradients(zip(grads, self.critic.trainable_variables))
        return {"loss": loss, "w": w_dist, "gp": gp}

    def generator_step(self):
        z, c = self.latent(self.cfg.batch_size)
        with tf.GradientTape() as tape:
            fake = self.generator([z, c], training=True)
            score, code = self.critic(fake)
            info = self.info_loss(c, code)
            loss = -tf.reduce_mean(score) + info
        grads = tape.gradient(loss, self.generator.trainable_variables)
        self.g_opt.apply_gradients(zip(grads, self.generator.trainable_variables))
        return loss, info

    def fit(self, steps):
        logs = []
        for step in range(steps):
            for _ in range(self.cfg.n_critic):
                real, labels = sample_ring(self.cfg.batch_size, self.cfg.n_classes)
                stats = self.critic_step(real, labels)
            g_loss, info = self.generator_step()
            logs.append(tf.stack([stats["loss"], g_loss, info]))
        return tf.stack(logs)


def mode_coverage(points, n_classes):
    angle = tf.math.atan2(points[:, 1], points[:, 0])
    nearest = tf.cast(tf.round(angle * n_classes / (2 * math.pi)), tf.int32) % n_classes
    counts = tf.math.bincount(nearest, minlength=n_classes, maxlength=n_classes)
    return tf.cast(counts, tf.float32) / tf.cast(tf.size(nearest), tf.float32)


if __name__ == "__main__":
    gan = InfoGAN(Config())
    history = gan.fit(Config.steps)
    z, c = gan.latent(100)
    samples = gan.generator([z, c], training=False)
    cover = mode_coverage(samples, Config.n_classes)
    print(history.shape, cover.numpy())
