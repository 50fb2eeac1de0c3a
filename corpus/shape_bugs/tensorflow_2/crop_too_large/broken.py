"""A centre crop that is larger than the pictures."""
import tensorflow as tf

CROP = 224


def center_crop(images, size):
    top = (images.shape[1] - size) // 2
    return tf.image.crop_to_bounding_box(images, max(top, 0), max(top, 0), size, size)  # BUG raises: 224 of 200 rows


def preprocess(images):
    return center_crop(images, CROP) / 127.5 - 1.0


print(preprocess(tf.ones([2, 200, 200, 3])).shape)
