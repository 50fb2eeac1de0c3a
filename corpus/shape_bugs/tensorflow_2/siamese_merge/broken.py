"""Two towers of different width, subtracted."""
import numpy as np
import tensorflow as tf
from tensorflow.keras import layers


def tower(input_dim, units):
    inputs = tf.keras.Input((input_dim,))
    x = layers.Dense(64, activation="relu")(inputs)
    return tf.keras.Model(inputs, layers.Dense(units)(x))


user_tower = tower(20, 32)
item_tower = tower(12, 16)
user_in = tf.keras.Input((20,))
item_in = tf.keras.Input((12,))
score = layers.Dot(axes=1, normalize=True)([user_tower(user_in), item_tower(item_in)])  # BUG raises: 32 and 16
model = tf.keras.Model([user_in, item_in], score)
print(model.predict([np.zeros((4, 20)), np.zeros((4, 12))], verbose=0).shape)
