"""Writes rows into a memory with updates of another width."""
import tensorflow as tf


class Memory(tf.Module):
    def __init__(self, slots, width):
        super().__init__()
        self.memory = tf.Variable(tf.zeros([slots, width]))

    def write(self, positions, rows):
        updated = tf.tensor_scatter_nd_update(self.memory, positions[:, None], rows)  # BUG raises: rows of 8 for 16
        self.memory.assign(updated)


memory = Memory(10, 16)
memory.write(tf.constant([1, 5]), tf.ones([2, 8]))
print(float(tf.reduce_sum(memory.memory)))
