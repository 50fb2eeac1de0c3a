"""One image is predicted without a batch axis."""
import numpy as np
import tensorflow as tf

model = tf.keras.Sequential([
    tf.keras.layers.Input(shape=(28, 28, 1)),
    tf.keras.layers.Conv2D(4, 5, activation="relu"),
    tf.keras.layers.MaxPooling2D(),
    tf.keras.layers.Flatten(),
    tf.keras.layers.Dense(10),
])


def classify(image):
    image = image.reshape(28, 28, 1)
    scores = model.predict(image[None], verbose=0)
    return int(np.argmax(scores))


print(type(classify(np.zeros(784, dtype=np.float32))))
