"""Image segmentation with a U-Net: a data generator as `keras.utils.Sequence`, a functional model, Dice loss, prediction masks."""

import argparse
import math

import numpy as np
import tensorflow as tf
from tensorflow.keras import layers, Model, Input
from tensorflow.keras import backend as K

SMOOTH = 1.0


def parse_args(argv=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--image-size", type=int, default=32)
    parser.add_argument("--filters", type=int, default=4)
    parser.add_argument("--batch-size", type=int, default=4)
    parser.add_argument("--samples", type=int, default=10)
    parser.add_argument("--epochs", type=int, default=1)
    return parser.parse_args(argv)


class CircleSequence(tf.keras.utils.Sequence):
    def __init__(self, samples, batch_size, image_size, shuffle=True):
        super().__init__()
        self.samples = samples
        self.batch_size = batch_size
        self.image_size = image_size
        self.shuffle = shuffle
        self.rng = np.random.RandomState(0)
        self.indexes = np.arange(samples)
        self.on_epoch_end()

    def __len__(self):
        return math.ceil(self.samples / self.batch_size)

    def __getitem__(self, index):
        ids = self.indexes[index * self.batch_size : (index + 1) * self.batch_size]
        images = np.zeros((len(ids), self.image_size, self.image_size, 1), dtype=np.float32)
        masks = np.zeros((len(ids), self.image_size, self.image_size, 1), dtype=np.float32)
        for i, _ in enumerate(ids):
            images[i], masks[i] = self.draw()
        return images, masks

    def draw(self):
        ys, xs = np.mgrid[0 : self.image_size, 0 : self.image_size]
        cy, cx = self.rng.randint(8, self.image_size - 8, size=2)
        radius = self.rng.uniform(3, 7)
        mask = ((ys - cy) ** 2 + (xs - cx) ** 2 < radius**2).astype(np.float32)
        image = mask + self.rng.normal(0, 0.2, size=mask.shape)
        return image[..., np.newaxis], mask[..., None]

    def on_epoch_end(self):
        if self.shuffle:
            self.rng.shuffle(self.indexes)


def conv_block(x, filters, dropout=0.0):
    for _ in range(2):
        x = layers.Conv2D(filters, 3, padding="same", kernel_initializer="he_normal")(x)
        x = layers.BatchNormalization()(x)
        x = layers.Activation("relu")(x)
    if dropout > 0:
        x = layers.Dropout(dropout)(x)
    return x


def encoder_block(x, filters, dropout=0.0):
    skip = conv_block(x, filters, dropout)
    return skip, layers.MaxPooling2D(2)(skip)


def decoder_block(x, skip, filters):
    x = layers.Conv2DTranspose(filters, 2, strides=2, padding="same")(x)
    x = layers.Concatenate()([x, skip])
    return conv_block(x, filters)


def build_unet(input_shape, filters=4, depth=3, num_classes=1):
    inputs = Input(input_shape)
    x = inputs
    skips = []
    for level in range(depth):
        skip, x = encoder_block(x, filters * 2**level, dropout=0.1 * level)
        skips.append(skip)
    x = conv_block(x, filters * 2**depth)
    for level, skip in reversed(list(enumerate(skips))):
        x = decoder_block(x, skip, filters * 2**level)
    outputs = layers.Conv2D(num_classes, 1, activation="sigmoid")(x)
    return Model(inputs, outputs, name="unet")


def dice_coefficient(y_true, y_pred):
    y_true_f = K.flatten(y_true)
    y_pred_f = K.flatten(y_pred)
    intersection = K.sum(y_true_f * y_pred_f)
    return (2.0 * intersection + SMOOTH) / (K.sum(y_true_f) + K.sum(y_pred_f) + SMOOTH)


def dice_loss(y_true, y_pred):
    return 1.0 - dice_coefficient(y_true, y_pred)


def bce_dice_loss(y_true, y_pred):
    bce = tf.keras.losses.binary_crossentropy(y_true, y_pred)
    return tf.reduce_mean(bce) + dice_loss(y_true, y_pred)


def iou(mask, prediction):
    intersection = np.logical_and(mask, prediction).sum()
    union = np.logical_or(mask, prediction).sum()
    return intersection / max(union, 1)


def main():
    args = parse_args()
    train = CircleSequence(args.samples, args.batch_size, args.image_size)
    model = build_unet((args.image_size, args.image_size, 1), args.filters)
    model.compile(optimizer=tf.keras.optimizers.Adam(1e-3), loss=bce_dice_loss, metrics=[dice_coefficient])
    model.fit(train, epochs=args.epochs, verbose=0)
    images, masks = train[0]
    predictions = (model.predict(images, verbose=0) > 0.5).astype(np.uint8)
    print([round(float(iou(m, p)), 2) for m, p in zip(masks, predictions)])


if __name__ == "__main__":
    main()
