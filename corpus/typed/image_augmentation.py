"""tf.image from decoding to augmentation, with a composed list of functions."""

import tensorflow as tf

SIZE = 24


def fake_png(seed):
    pixels = tf.random.stateless_uniform([32, 40, 3], [seed, 0], maxval=256, dtype=tf.int32)
    return tf.io.encode_png(tf.cast(pixels, tf.uint8))


def decode(data):
    image = tf.io.decode_png(data, channels=3)
    image = tf.image.convert_image_dtype(image, tf.float32)
    return tf.image.resize(image, [SIZE, SIZE])


def flip(image):
    return tf.image.random_flip_left_right(image)


def jitter(image, strength=0.2):
    image = tf.image.random_brightness(image, strength)
    return tf.image.random_contrast(image, 1 - strength, 1 + strength)


def crop(image, size=20):
    return tf.image.resize_with_crop_or_pad(tf.image.random_crop(image, [size, size, 3]), SIZE, SIZE)


def to_patches(images, size):
    patches = tf.image.extract_patches(
        images, sizes=[1, size, size, 1], strides=[1, size, size, 1], rates=[1, 1, 1, 1], padding="VALID"
    )
    return tf.reshape(patches, [tf.shape(images)[0], -1, size * size * 3])


def compose(*functions):
    def composed(image):
        for function in functions:
            image = function(image)
        return image

    return composed


def grayscale_stats(images):
    gray = tf.image.rgb_to_grayscale(images)
    mean = tf.reduce_mean(gray, axis=[1, 2, 3])
    edges = tf.image.sobel_edges(gray)
    return mean, tf.reduce_max(tf.abs(edges), axis=(1, 2))


def mixup(images, labels, alpha):
    weight = tf.random.uniform([tf.shape(images)[0], 1, 1, 1], maxval=alpha)
    mixed = images * (1 - weight) + tf.reverse(images, [0]) * weight
    flat = tf.squeeze(weight, [1, 2, 3])
    return mixed, labels * (1 - flat)[:, None]


augment = compose(flip, jitter, crop)
files = [fake_png(seed) for seed in range(4)]
images = tf.stack([augment(decode(data)) for data in files])
labels = tf.eye(4)
mixed, soft = mixup(images, labels, 0.4)
print(to_patches(mixed, 8).shape, [t.shape for t in grayscale_stats(mixed)], soft.shape)
