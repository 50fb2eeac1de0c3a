"""Frames of a video into a two-dimensional convolution without TimeDistributed."""
import tensorflow as tf
from tensorflow.keras import layers, models


def video_model(frames, height, width, channels):
    model = models.Sequential()
    model.add(layers.Input((frames, height, width, channels)))
    model.add(layers.TimeDistributed(layers.Conv2D(8, 3, activation="relu")))
    model.add(layers.TimeDistributed(layers.MaxPooling2D(2)))
    model.add(layers.Flatten())
    model.add(layers.LSTM(16))  # BUG raises: Flatten merges the frames, the LSTM wants rank 3
    model.add(layers.Dense(4, activation="softmax"))
    return model


model = video_model(5, 16, 16, 3)
print(model(tf.zeros((2, 5, 16, 16, 3))).shape)
