import os

os.environ["CUDA_VISIBLE_DEVICES"] = ""
import tensorflow as tf


@tf.function
def f(x):
    return x
