"""Keras functional and sequential models, residual blocks made by functions, two inputs, compile and fit."""

import numpy as np
from tensorflow import keras
from tensorflow.keras import layers


def conv_block(x, filters, kernel_size=3, strides=1):
    x = layers.Conv2D(filters, kernel_size, strides=strides, padding="same", use_bias=False)(x)
    x = layers.BatchNormalization()(x)
    return layers.ReLU()(x)


def residual_block(x, filters, downsample=False):
    shortcut = x
    y = conv_block(x, filters, strides=2 if downsample else 1)
    y = conv_block(y, filters)
    if downsample:
        shortcut = layers.Conv2D(filters, 1, strides=2, padding="same")(shortcut)
    return layers.Add()([shortcut, y])


def build_encoder(shape=(16, 16, 3)):
    inputs = keras.Input(shape=shape)
    x = conv_block(inputs, 8)
    for index, filters in enumerate([8, 16]):
        x = residual_block(x, filters, downsample=index != 0)
    outputs = layers.GlobalAveragePooling2D()(x)
    return keras.Model(inputs, outputs, name="encoder")


def merge_features(image_features, table):
    scaled = layers.Dense(16, activation="tanh")(table)
    return layers.Concatenate()([image_features, scaled])


def build_model():
    encoder = build_encoder()
    image = keras.Input((16, 16, 3), name="image")
    table = keras.Input((5,), name="table")
    merged = merge_features(encoder(image), table)
    head = keras.Sequential([layers.Dropout(0.2), layers.Dense(4, activation="softmax")])
    return keras.Model([image, table], head(merged))


def focal_loss(y_true, y_pred, gamma=2.0):
    probability = keras.ops.sum(y_true * y_pred, axis=-1)
    return -((1.0 - probability) ** gamma) * keras.ops.log(probability + 1e-7)


def main():
    model = build_model()
    model.compile(optimizer="adam", loss=focal_loss, metrics=["accuracy"])
    images = np.random.rand(12, 16, 16, 3).astype("float32")
    table = np.random.rand(12, 5).astype("float32")
    labels = keras.utils.to_categorical(np.random.randint(0, 4, size=12), num_classes=4)
    model.fit([images, table], labels, batch_size=4, epochs=1, verbose=0)
    print(model.predict([images, table], verbose=0).shape)


main()
