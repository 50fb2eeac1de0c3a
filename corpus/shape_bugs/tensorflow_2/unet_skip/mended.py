"""A U-Net whose skip connection meets a decoder of another size, since the encoder pads nothing."""
import tensorflow as tf
from tensorflow.keras import layers


def double_conv(x, filters):
    x = layers.Conv2D(filters, 3, padding="same", activation="relu")(x)
    return layers.Conv2D(filters, 3, padding="same", activation="relu")(x)


def build_unet(size=64):
    inputs = layers.Input((size, size, 3))
    c1 = double_conv(inputs, 8)
    p1 = layers.MaxPooling2D(2)(c1)
    c2 = double_conv(p1, 16)
    u1 = layers.Conv2DTranspose(8, 2, strides=2)(c2)
    m1 = layers.Concatenate()([c1, u1])
    outputs = layers.Conv2D(1, 1, activation="sigmoid")(m1)
    return tf.keras.Model(inputs, outputs)


model = build_unet()
print(model.output_shape)
