"""Writes TFRecord files and reads them back: examples, parsing specs, interleave, decoding, augmentation, a model with fit."""

import glob
import os
import tempfile
from functools import partial

import numpy as np
import tensorflow as tf

AUTOTUNE = tf.data.AUTOTUNE
IMAGE_SIZE = [16, 16]
CLASSES = ["daisy", "dandelion", "roses"]


def _bytes_feature(value):
    if isinstance(value, type(tf.constant(0))):
        value = value.numpy()
    return tf.train.Feature(bytes_list=tf.train.BytesList(value=[value]))


def _int64_feature(value):
    return tf.train.Feature(int64_list=tf.train.Int64List(value=[value]))


def _float_feature(values):
    return tf.train.Feature(float_list=tf.train.FloatList(value=values))


def image_example(image, label, box):
    image_string = tf.io.encode_jpeg(image)
    feature = {
        "height": _int64_feature(image.shape[0]),
        "width": _int64_feature(image.shape[1]),
        "label": _int64_feature(label),
        "box": _float_feature(box),
        "image_raw": _bytes_feature(image_string),
    }
    return tf.train.Example(features=tf.train.Features(feature=feature))


def write_shards(directory, shards=2, per_shard=5):
    rng = np.random.RandomState(1)
    for shard in range(shards):
        path = os.path.join(directory, f"flowers-{shard:02d}.tfrec")
        with tf.io.TFRecordWriter(path) as writer:
            for _ in range(per_shard):
                image = rng.randint(0, 255, size=(20, 24, 3)).astype(np.uint8)
                label = int(rng.randint(len(CLASSES)))
                example = image_example(image, label, rng.rand(4).tolist())
                writer.write(example.SerializeToString())
    return sorted(glob.glob(os.path.join(directory, "*.tfrec")))


def decode_image(image_data):
    image = tf.image.decode_jpeg(image_data, channels=3)
    image = tf.cast(image, tf.float32) / 255.0
    return tf.image.resize(image, IMAGE_SIZE)


def read_tfrecord(example, labeled):
    features = {"image_raw": tf.io.FixedLenFeature([], tf.string), "box": tf.io.FixedLenFeature([4], tf.float32)}
    if labeled:
        features["label"] = tf.io.FixedLenFeature([], tf.int64)
    example = tf.io.parse_single_example(example, features)
    image = decode_image(example["image_raw"])
    if labeled:
        label = tf.cast(example["label"], tf.int32)
        return image, label
    return image, example["box"]


def load_dataset(filenames, labeled=True):
    ignore_order = tf.data.Options()
    ignore_order.experimental_deterministic = False
    dataset = tf.data.Dataset.from_tensor_slices(filenames)
    dataset = dataset.interleave(tf.data.TFRecordDataset, cycle_length=2, num_parallel_calls=AUTOTUNE)
    dataset = dataset.with_options(ignore_order)
    return dataset.map(partial(read_tfrecord, labeled=labeled), num_parallel_calls=AUTOTUNE)


def augment(image, label):
    image = tf.image.random_flip_left_right(image)
    image = tf.image.random_brightness(image, 0.1)
    image = tf.image.resize_with_crop_or_pad(image, IMAGE_SIZE[0] + 4, IMAGE_SIZE[1] + 4)
    image = tf.image.random_crop(image, size=[*IMAGE_SIZE, 3])
    return image, label


def one_hot(image, label):
    return image, tf.one_hot(label, len(CLASSES))


def get_dataset(filenames, batch_size, training=True):
    dataset = load_dataset(filenames)
    if training:
        dataset = dataset.cache().shuffle(64).map(augment).repeat(2)
    dataset = dataset.map(one_hot)
    dataset = dataset.batch(batch_size, drop_remainder=training)
    return dataset.prefetch(AUTOTUNE)


def parse_batch(serialized):
    spec = {
        "image_raw": tf.io.FixedLenFeature([], tf.string),
        "label": tf.io.FixedLenFeature([], tf.int64, default_value=0),
        "box": tf.io.VarLenFeature(tf.float32),
    }
    parsed = tf.io.parse_example(serialized, spec)
    boxes = tf.sparse.to_dense(parsed["box"], default_value=0.0)
    return parsed["label"], boxes


class Standardize(tf.keras.layers.Layer):
    def build(self, input_shape):
        self.mean = self.add_weight(shape=(input_shape[-1],), initializer="zeros", trainable=False, name="mean")
        super().build(input_shape)

    def call(self, images):
        moments = tf.nn.moments(images, axes=[1, 2], keepdims=True)
        return (images - moments[0] - self.mean) / tf.sqrt(moments[1] + 1e-6)


def build_model():
    base = tf.keras.Sequential(
        [
            tf.keras.layers.Input((*IMAGE_SIZE, 3)),
            tf.keras.layers.SeparableConv2D(4, 3, activation="relu"),
            tf.keras.layers.AveragePooling2D(2),
        ]
    )
    base.trainable = False
    inputs = tf.keras.Input(shape=(IMAGE_SIZE[0], IMAGE_SIZE[1], 3))
    x = Standardize()(inputs)
    x = base(x, training=False)
    x = tf.keras.layers.GlobalAveragePooling2D()(x)
    outputs = tf.keras.layers.Dense(len(CLASSES), activation="softmax")(x)
    return tf.keras.Model(inputs, outputs)


def main():
    with tempfile.TemporaryDirectory() as directory:
        filenames = write_shards(directory)
        train_ds = get_dataset(filenames[:1], 2)
        valid_ds = get_dataset(filenames[1:], 2, training=False)
        model = build_model()
        model.compile(optimizer="adam", loss="categorical_crossentropy", metrics=["accuracy"])
        model.fit(train_ds, validation_data=valid_ds, epochs=1, verbose=0)
        for serialized in tf.data.TFRecordDataset(filenames).batch(3).take(1):
            labels, boxes = parse_batch(serialized)
            print(labels.shape, boxes.shape)
        image_batch, box_batch = next(iter(load_dataset(filenames, labeled=False).batch(4)))
        print(image_batch.shape, box_batch.shape)


if __name__ == "__main__":
    main()
