"""The heads of an attention layer do not divide its width."""
import tensorflow as tf


class MultiHead:
    def __init__(self, d_model, num_heads, depth):
        self.num_heads = num_heads
        self.depth = depth
        self.wq = tf.Variable(tf.random.normal([d_model, d_model]))

    def split(self, x, batch_size):
        x = tf.reshape(x, (batch_size, 11, self.num_heads, self.depth))  # BUG raises: 5 * 24 is not 128
        return tf.transpose(x, perm=[0, 2, 1, 3])

    def __call__(self, x):
        return self.split(tf.matmul(x, self.wq), x.shape[0])


attention = MultiHead(128, 5, 24)
print(attention(tf.random.normal([2, 11, 128])).shape)
