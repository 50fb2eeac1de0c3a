"""Wasserstein GAN with gradient penalty; the critic is trained more often than the generator."""

import tensorflow as tf

LATENT = 4
CRITIC_STEPS = 3


def dense_network(widths, name):
    layers = [tf.keras.Input((widths[0],))]
    layers += [tf.keras.layers.Dense(width, activation="relu") for width in widths[1:-1]]
    return tf.keras.Sequential([*layers, tf.keras.layers.Dense(widths[-1])], name=name)


class WGAN:
    def __init__(self, penalty=10.0):
        self.generator = dense_network([LATENT, 16, 2], "generator")
        self.critic = dense_network([2, 16, 16, 1], "critic")
        self.penalty = penalty
        self.g_opt = tf.keras.optimizers.Adam(1e-3, beta_1=0.5)
        self.c_opt = tf.keras.optimizers.Adam(1e-3, beta_1=0.5)

    def gradient_penalty(self, real, fake):
        alpha = tf.random.uniform([tf.shape(real)[0], 1])
        middle = real + alpha * (fake - real)
        with tf.GradientTape() as tape:
            tape.watch(middle)
            score = self.critic(middle)
        gradients = tape.gradient(score, middle)
        norm = tf.sqrt(tf.reduce_sum(tf.square(gradients), axis=1) + 1e-12)
        return tf.reduce_mean((norm - 1.0) ** 2)

    def critic_step(self, real):
        noise = tf.random.normal([tf.shape(real)[0], LATENT])
        with tf.GradientTape() as tape:
            fake = self.generator(noise)
            loss = tf.reduce_mean(self.critic(fake)) - tf.reduce_mean(self.critic(real))
            loss += self.penalty * self.gradient_penalty(real, fake)
        variables = self.critic.trainable_variables
        self.c_opt.apply_gradients(zip(tape.gradient(loss, variables), variables))
        return loss

    def generator_step(self, batch):
        noise = tf.random.normal([batch, LATENT])
        with tf.GradientTape() as tape:
            loss = -tf.reduce_mean(self.critic(self.generator(noise)))
        variables = self.generator.trainable_variables
        self.g_opt.apply_gradients(zip(tape.gradient(loss, variables), variables))
        return loss

    def train(self, steps, batch):
        for step in range(steps):
            for _ in range(CRITIC_STEPS):
                critic = self.critic_step(tf.random.normal([batch, 2], mean=2.0, stddev=0.2))
            generator = self.generator_step(batch)
            if step % 20 == 0:
                print(f"{step}: critic {float(critic):.2f} generator {float(generator):.2f}")


if __name__ == "__main__":
    WGAN().train(80, 32)
