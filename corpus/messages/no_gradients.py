"""ValueError: No gradients provided for any variable.

No TensorFlow operation that the tape saw leads from the variables to the loss: part of the way ran in NumPy, or a `tf.function` on a layer's
`call` hid sublayers that were not built yet.
"""
import keras
import tensorflow as tf


class Model(keras.Model):
    def __init__(self):
        super().__init__()
        self.dense = keras.layers.Dense(1)

    @tf.function
    def call(self, x):
        return self.dense(x)  # TR316


model = Model()
model.compile("sgd", "mse")
model.fit(tf.ones([4, 3]), tf.ones([4, 1]), verbose=0)
