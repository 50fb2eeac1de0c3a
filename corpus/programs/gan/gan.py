"""A small GAN on points of a ring: two networks, two tapes, two optimizers."""

import math

import tensorflow as tf

NOISE = 8
BATCH = 64


def make_generator():
    return tf.keras.Sequential(
        [
            tf.keras.Input((NOISE,)),
            tf.keras.layers.Dense(32),
            tf.keras.layers.LeakyReLU(),
            tf.keras.layers.Dense(2),
        ]
    )


def make_discriminator():
    return tf.keras.Sequential(
        [
            tf.keras.Input((2,)),
            tf.keras.layers.Dense(32),
            tf.keras.layers.LeakyReLU(),
            tf.keras.layers.Dropout(0.2),
            tf.keras.layers.Dense(1),
        ]
    )


generator = make_generator()
discriminator = make_discriminator()
cross_entropy = tf.keras.losses.BinaryCrossentropy(from_logits=True)
generator_optimizer = tf.keras.optimizers.Adam(1e-3)
discriminator_optimizer = tf.keras.optimizers.Adam(1e-3)


def discriminator_loss(real_output, fake_output):
    real_loss = cross_entropy(tf.ones_like(real_output), real_output)
    fake_loss = cross_entropy(tf.zeros_like(fake_output), fake_output)
    return real_loss + fake_loss


def generator_loss(fake_output):
    return cross_entropy(tf.ones_like(fake_output), fake_output)


def real_points(batch):
    angle = tf.random.uniform([batch], 0.0, 2.0 * math.pi)
    return tf.stack([tf.cos(angle), tf.sin(angle)], axis=1) + tf.random.normal([batch, 2], stddev=0.02)


def train_step(points):
    noise = tf.random.normal([BATCH, NOISE])
    with tf.GradientTape() as gen_tape, tf.GradientTape() as disc_tape:
        generated = generator(noise, training=True)
        real_output = discriminator(points, training=True)
        fake_output = discriminator(generated, training=True)
        gen_loss = generator_loss(fake_output)
        disc_loss = discriminator_loss(real_output, fake_output)
    gen_gradients = gen_tape.gradient(gen_loss, generator.trainable_variables)
    disc_gradients = disc_tape.gradient(disc_loss, discriminator.trainable_variables)
    generator_optimizer.apply_gradients(zip(gen_gradients, generator.trainable_variables))
    discriminator_optimizer.apply_gradients(zip(disc_gradients, discriminator.trainable_variables))
    return gen_loss, disc_loss


def show(step, gen_loss, disc_loss):
    radius = tf.reduce_mean(tf.norm(generator(tf.ones([4, NOISE]) * 0.1), axis=1))
    print(f"step {step}: generator {float(gen_loss):.3f}, discriminator {float(disc_loss):.3f}, radius {float(radius):.2f}")


def train(steps):
    for step in range(steps):
        gen_loss, disc_loss = train_step(real_points(BATCH))
        if step % 50 == 0:
            show(step, gen_loss, disc_loss)
    return generator


if __name__ == "__main__":
    train(250)
