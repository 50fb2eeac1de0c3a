"""Resizing and cropping a whole batch with a function for one picture."""
import numpy as np
import tensorflow as tf

images = tf.placeholder(tf.float32, [None, 40, 40, 3])


def augment(image):
    image = tf.random_crop(image, [32, 32, 3])  # BUG raises: the batch has rank 4
    image = tf.image.random_flip_left_right(image)
    return tf.image.per_image_standardization(image)


batch = augment(images)
with tf.Session() as sess:
    print(sess.run(batch, {images: np.zeros((2, 40, 40, 3))}).shape)
