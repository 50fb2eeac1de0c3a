import tensorflow as tf

from model import Tower

tower = Tower(8)
batch = tf.ones([32, 8])
for _ in range(1000):
    outputs = tower.forward(batch)
    spread = tower.spread(batch)
wrong = tf.matmul(batch, tf.ones([32, 4]))
