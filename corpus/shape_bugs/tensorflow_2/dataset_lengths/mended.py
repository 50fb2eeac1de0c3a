"""Images and labels of different number are zipped into one dataset."""
import numpy as np
import tensorflow as tf


def split(array, fraction):
    cut = int(len(array) * fraction)
    return array[:cut], array[cut:]


images = np.zeros((100, 8, 8), np.float32)
labels = np.zeros((100,), np.int64)
train_images, val_images = split(images, 0.8)
train_labels, val_labels = split(labels, 0.8)
dataset = tf.data.Dataset.from_tensor_slices((train_images, train_labels))
print(len(dataset))
