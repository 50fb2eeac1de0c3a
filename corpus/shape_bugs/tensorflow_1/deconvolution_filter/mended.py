"""An upsampling layer whose filter has its channels in the order of a convolution."""
import tensorflow as tf


def conv(x, n_in, n_out, name):
    w = tf.get_variable(name, [3, 3, n_in, n_out])
    return tf.nn.relu(tf.nn.conv2d(x, w, strides=[1, 2, 2, 1], padding='SAME'))


def deconv(x, n_in, n_out, size, name):
    w = tf.get_variable(name, [3, 3, n_out, n_in])
    shape = [4, size, size, n_out]
    return tf.nn.conv2d_transpose(x, w, shape, strides=[1, 2, 2, 1], padding='SAME')


image = tf.placeholder(tf.float32, [4, 16, 16, 3])
down = conv(image, 3, 24, 'down')
up = deconv(down, 24, 3, 16, 'up')
difference = tf.reduce_mean(tf.squared_difference(image, up))
print(difference.shape)
