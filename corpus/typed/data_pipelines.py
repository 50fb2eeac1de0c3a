"""tf.data: generators, zip, window, padded batches, dictionaries, parsing of examples."""

import functools

import numpy as np
import tensorflow as tf


def walk(steps):
    for length in range(1, steps + 1):
        yield np.arange(length, dtype=np.int32), length % 2


def scale(features, label, factor):
    features = dict(features)
    features["x"] = features["x"] * factor
    return features, label


def to_vector(features, label):
    vector = tf.concat([features["x"], tf.cast(features["n"], tf.float32)[:, None]], axis=-1)
    return vector, tf.one_hot(label, 3)


def make_window(window):
    return window.batch(4, drop_remainder=True)


def split_window(window):
    return window[:-1], window[-1]


def serialize(value, label):
    feature = {
        "value": tf.train.Feature(float_list=tf.train.FloatList(value=value)),
        "label": tf.train.Feature(int64_list=tf.train.Int64List(value=[label])),
    }
    return tf.train.Example(features=tf.train.Features(feature=feature)).SerializeToString()


def parse(serialized):
    parsed = tf.io.parse_single_example(
        serialized,
        {"value": tf.io.FixedLenFeature([3], tf.float32), "label": tf.io.FixedLenFeature([], tf.int64)},
    )
    return parsed["value"], parsed["label"]


def summarize(tokens, label):
    return tf.reduce_sum(tokens, axis=1), label


def show(title, batch):
    print(title, tf.nest.map_structure(lambda t: t.shape.as_list(), batch))


def center(values, mean):
    return values - mean


def main():
    signature = (tf.TensorSpec([None], tf.int32), tf.TensorSpec([], tf.int32))
    sequences = tf.data.Dataset.from_generator(functools.partial(walk, 6), output_signature=signature)
    for tokens, label in sequences.padded_batch(3, padded_shapes=([None], [])):
        show("padded", summarize(tokens, label))

    table = {"x": np.ones((10, 2), np.float32), "n": np.arange(10)}
    labels = np.arange(10) % 3
    rows = tf.data.Dataset.from_tensor_slices((table, labels))
    for batch in rows.batch(5).map(functools.partial(scale, factor=2.0)).map(to_vector):
        show("rows", batch)

    numbers = tf.data.Dataset.range(10).map(lambda n: tf.cast(n, tf.float32))
    for past, future in numbers.window(4, shift=2, drop_remainder=True).flat_map(make_window).map(split_window):
        show("window", (center(past, tf.reduce_mean(past)), future))

    records = [serialize([1.0, 2.0, 3.0], label) for label in range(4)]
    parsed = tf.data.Dataset.from_tensor_slices(records).map(parse, num_parallel_calls=tf.data.AUTOTUNE)
    values, ids = next(iter(tf.data.Dataset.zip((parsed, rows)).map(lambda a, b: a).batch(2)))
    show("parsed", (center(values, tf.reduce_mean(values, axis=0)), ids))


if __name__ == "__main__":
    main()
