"""Inputs and labels of unequal number in one dataset."""
import numpy as np
import tensorflow as tf


def split(data, labels, fraction=0.8):
    n = int(len(data) * fraction)
    return (data[:n], labels[:n]), (data[n:], labels[n:])


def dataset(features, labels, batch_size):
    return tf.data.Dataset.from_tensor_slices((features, labels)).batch(batch_size)


(train_x, train_y), (val_x, val_y) = split(np.zeros((100, 3)), np.zeros(100))
train = dataset(train_x, train_y, 10)
print(train.element_spec)
