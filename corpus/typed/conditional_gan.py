"""Pix2pix in small: a U-shaped generator of Sequential blocks, a patch discriminator, a trainer class with checkpoints."""

import os
import tempfile

import tensorflow as tf

OUTPUT_CHANNELS = 3
LAMBDA = 100
IMG_WIDTH = IMG_HEIGHT = 16
BUFFER_SIZE = 8
BATCH_SIZE = 2


def make_pair(seed):
    image = tf.random.stateless_uniform((20, 40, 3), seed=tf.stack([seed, 7]), maxval=255.0)
    return image


def split(image):
    w = tf.shape(image)[1]
    w = w // 2
    input_image = image[:, w:, :]
    real_image = image[:, :w, :]
    return tf.cast(input_image, tf.float32), tf.cast(real_image, tf.float32)


def resize(input_image, real_image, height, width):
    input_image = tf.image.resize(input_image, [height, width], method=tf.image.ResizeMethod.NEAREST_NEIGHBOR)
    real_image = tf.image.resize(real_image, [height, width], method=tf.image.ResizeMethod.NEAREST_NEIGHBOR)
    return input_image, real_image


def random_crop(input_image, real_image):
    stacked_image = tf.stack([input_image, real_image], axis=0)
    cropped_image = tf.image.random_crop(stacked_image, size=[2, IMG_HEIGHT, IMG_WIDTH, 3])
    return cropped_image[0], cropped_image[1]


def normalize(input_image, real_image):
    input_image = (input_image / 127.5) - 1
    real_image = (real_image / 127.5) - 1
    return input_image, real_image


@tf.function()
def random_jitter(input_image, real_image):
    input_image, real_image = resize(input_image, real_image, 18, 18)
    input_image, real_image = random_crop(input_image, real_image)
    if tf.random.uniform(()) > 0.5:
        input_image = tf.image.flip_left_right(input_image)
        real_image = tf.image.flip_left_right(real_image)
    return input_image, real_image


def load_image_train(seed):
    input_image, real_image = split(make_pair(seed))
    input_image, real_image = random_jitter(input_image, real_image)
    input_image, real_image = normalize(input_image, real_image)
    return input_image, real_image


def downsample(filters, size, apply_batchnorm=True):
    initializer = tf.random_normal_initializer(0.0, 0.02)
    result = tf.keras.Sequential()
    result.add(
        tf.keras.layers.Conv2D(filters, size, strides=2, padding="same", kernel_initializer=initializer, use_bias=False)
    )
    if apply_batchnorm:
        result.add(tf.keras.layers.BatchNormalization())
    result.add(tf.keras.layers.LeakyReLU())
    return result


def upsample(filters, size, apply_dropout=False):
    initializer = tf.random_normal_initializer(0.0, 0.02)
    result = tf.keras.Sequential()
    result.add(
        tf.keras.layers.Conv2DTranspose(
            filters, size, strides=2, padding="same", kernel_initializer=initializer, use_bias=False
        )
    )
    result.add(tf.keras.layers.BatchNormalization())
    if apply_dropout:
        result.add(tf.keras.layers.Dropout(0.5))
    result.add(tf.keras.layers.ReLU())
    return result


def Generator():
    inputs = tf.keras.layers.Input(shape=[IMG_HEIGHT, IMG_WIDTH, 3])
    down_stack = [downsample(4, 4, apply_batchnorm=False), downsample(8, 4), downsample(8, 4)]
    up_stack = [upsample(8, 4, apply_dropout=True), upsample(4, 4)]
    last = tf.keras.layers.Conv2DTranspose(OUTPUT_CHANNELS, 4, strides=2, padding="same", activation="tanh")
    x = inputs
    skips = []
    for down in down_stack:
        x = down(x)
        skips.append(x)
    skips = reversed(skips[:-1])
    for up, skip in zip(up_stack, skips):
        x = up(x)
        x = tf.keras.layers.Concatenate()([x, skip])
    x = last(x)
    return tf.keras.Model(inputs=inputs, outputs=x)


def Discriminator():
    inp = tf.keras.layers.Input(shape=[IMG_HEIGHT, IMG_WIDTH, 3], name="input_image")
    tar = tf.keras.layers.Input(shape=[IMG_HEIGHT, IMG_WIDTH, 3], name="target_image")
    x = tf.keras.layers.concatenate([inp, tar])
    down1 = downsample(4, 4, False)(x)
    zero_pad1 = tf.keras.layers.ZeroPadding2D()(down1)
    conv = tf.keras.layers.Conv2D(8, 4, strides=1, use_bias=False)(zero_pad1)
    leaky_relu = tf.keras.layers.LeakyReLU()(tf.keras.layers.BatchNormalization()(conv))
    last = tf.keras.layers.Conv2D(1, 4, strides=1)(tf.keras.layers.ZeroPadding2D()(leaky_relu))
    return tf.keras.Model(inputs=[inp, tar], outputs=last)


loss_object = tf.keras.losses.BinaryCrossentropy(from_logits=True)


def generator_loss(disc_generated_output, gen_output, target):
    gan_loss = loss_object(tf.ones_like(disc_generated_output), disc_generated_output)
    l1_loss = tf.reduce_mean(tf.abs(target - gen_output))
    total_gen_loss = gan_loss + (LAMBDA * l1_loss)
    return total_gen_loss, gan_loss, l1_loss


def discriminator_loss(disc_real_output, disc_generated_output):
    real_loss = loss_object(tf.ones_like(disc_real_output), disc_real_output)
    generated_loss = loss_object(tf.zeros_like(disc_generated_output), disc_generated_output)
    return real_loss + generated_loss


class Trainer:
    def __init__(self, directory):
        self.generator = Generator()
        self.discriminator = Discriminator()
        self.generator_optimizer = tf.keras.optimizers.Adam(2e-4, beta_1=0.5)
        self.discriminator_optimizer = tf.keras.optimizers.Adam(2e-4, beta_1=0.5)
        self.checkpoint = tf.train.Checkpoint(generator=self.generator, discriminator=self.discriminator)
        self.prefix = os.path.join(directory, "ckpt")

    def train_step(self, input_image, target, step):
        with tf.GradientTape() as gen_tape, tf.GradientTape() as disc_tape:
            gen_output = self.generator(input_image, training=True)
            disc_real_output = self.discriminator([input_image, target], training=True)
            disc_generated_output = self.discriminator([input_image, gen_output], training=True)
            gen_total_loss, gen_gan_loss, gen_l1_loss = generator_loss(disc_generated_output, gen_output, target)
            disc_loss = discriminator_loss(disc_real_output, disc_generated_output)
        generator_gradients = gen_tape.gradient(gen_total_loss, self.generator.trainable_variables)
        discriminator_gradients = disc_tape.gradient(disc_loss, self.discriminator.trainable_variables)
        self.generator_optimizer.apply_gradients(zip(generator_gradients, self.generator.trainable_variables))
        self.discriminator_optimizer.apply_gradients(
            zip(discriminator_gradients, self.discriminator.trainable_variables)
        )
        return gen_total_loss, disc_loss

    def fit(self, train_ds, steps):
        for step, (input_image, target) in train_ds.repeat().take(steps).enumerate():
            losses = self.train_step(input_image, target, step)
            self.report(step, *losses)
        self.checkpoint.save(file_prefix=self.prefix)

    def report(self, step, gen_loss, disc_loss):
        print(f"{int(step)}: {float(gen_loss):.2f} {float(disc_loss):.2f}")


def generate_images(model, test_input, tar):
    prediction = model(test_input, training=True)
    display_list = [test_input[0], tar[0], prediction[0]]
    return [image * 0.5 + 0.5 for image in display_list]


train_dataset = tf.data.Dataset.range(5).map(load_image_train, num_parallel_calls=tf.data.AUTOTUNE)
train_dataset = train_dataset.shuffle(BUFFER_SIZE).batch(BATCH_SIZE)
with tempfile.TemporaryDirectory() as folder:
    trainer = Trainer(folder)
    trainer.fit(train_dataset, steps=2)
for example_input, example_target in train_dataset.take(1):
    images = generate_images(trainer.generator, example_input, example_target)
    print(len(images))
