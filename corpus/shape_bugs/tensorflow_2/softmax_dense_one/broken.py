"""A yes-or-no classifier that ends in a softmax over one unit."""
import tensorflow as tf


def build_classifier(n_features):
    return tf.keras.Sequential([
        tf.keras.layers.Input(shape=(n_features,)),
        tf.keras.layers.Dense(4, activation="relu", kernel_initializer="ones"),
        tf.keras.layers.Dense(1, activation="softmax", kernel_initializer="ones"),  # BUG silent: always 1
    ])


model = build_classifier(3)
model.compile(optimizer="sgd", loss="binary_crossentropy")
print(model(tf.constant([[0.1, 0.2, 0.3], [-1.0, 2.0, 0.5]])))
