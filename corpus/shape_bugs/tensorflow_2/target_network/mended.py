"""The weights of a network are copied into one of another size."""
import tensorflow as tf


class QNetwork(tf.Module):
    def __init__(self, n_in, hidden, n_out):
        super().__init__()
        self.w1 = tf.Variable(tf.random.normal([n_in, hidden]))
        self.w2 = tf.Variable(tf.random.normal([hidden, n_out]))

    def copy_from(self, other):
        self.w1.assign(other.w1)
        self.w2.assign(other.w2)


online, target = QNetwork(4, 24, 2), QNetwork(4, 24, 2)
target.copy_from(online)
print(target.w1.shape)
