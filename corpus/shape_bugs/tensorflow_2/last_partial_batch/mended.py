"""The last batch of a dataset is smaller than the constant it is reshaped to."""
import tensorflow as tf

BATCH = 32
data = tf.random.normal([100, 6, 4])
dataset = tf.data.Dataset.from_tensor_slices(data).batch(BATCH, drop_remainder=True)
w = tf.Variable(tf.random.normal([24, 2]))


def model(x):
    flat = tf.reshape(x, [BATCH, 24])
    return tf.matmul(flat, w)


for batch in dataset:
    out = model(batch)
print(out.shape)
