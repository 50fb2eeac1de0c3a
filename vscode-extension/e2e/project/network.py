import tensorflow as tf
from tensorflow import keras
from tensorflow.keras import layers


def build(width):
    inputs = keras.Input((20,))
    hidden = layers.Dense(width, activation="relu")(inputs)
    # 32 rows through a kernel
    product = tf.linalg.matmul(tf.ones([32, 64]), tf.ones([64, 10]))
    print(product.shape)
    return keras.Model(inputs, layers.Dense(10)(hidden))


model = build(27)
